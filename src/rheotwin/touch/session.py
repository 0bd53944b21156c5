"""What a session leaves: a scene that repeats it bit for bit, the forces shown, and how the time was kept."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.grabs import GRAB
from rheotwin.errors import RheotwinError
from rheotwin.loop import run_loop
from rheotwin.observers import Observer, Watched
from rheotwin.problem import Problem
from rheotwin.running import RunRequest, check_request, run_scene, scene_as_run
from rheotwin.scene import load_scene
from rheotwin.scene.base import AXES
from rheotwin.schedule import Stop, plan
from rheotwin.solver import Simulation
from rheotwin.touch.hand import HAND, Held, Live

SCENE, FORCES, ABOUT, BEGAN = "scene.toml", "forces.csv", "session.json", "began.npz"
SAMPLE = 0.01
"""Time between two rows of forces [s]."""
FRAME = 0.04
"""Time between two frames of the series that a replay writes [s]."""


def periods(time: float, period: float) -> int:
    """Return how many periods fit into a time [s], at least one."""
    return max(1, round(time / period))


def thinned(rows: Array) -> Indices:
    """Return which rows of a table (n, c) are needed: all but those inside a stretch where nothing changes."""
    same = np.all(rows[1:] == rows[:-1], axis=1)
    return (
        np.flatnonzero(~np.concatenate([[False], same[:-1] & same[1:], [False]]))
        if len(rows) > 2
        else np.arange(len(rows))
    )


def grab_table(live: Live, held: Held) -> dict[str, Any]:
    """Return a grab as a table of a scene."""
    rows = live.path_of(held)
    kept = thinned(rows)
    stiffness, damping, most = held.springs
    return {
        "body": held.body,
        "at": held.at.tolist(),
        "times": live.grid[held.first + kept].tolist(),
        "position": rows[kept].tolist(),
        "since": float(live.grid[held.begin]),
        "until": float(live.grid[len(live.grid) - 1 if held.end is None else held.end]),
        "stiffness": stiffness,
        "damping": damping,
        "most_force": most,
    }


def tool_table(times: Array, poses: Array, dimension: int) -> dict[str, Any]:
    """Return poses (n, 4) [m, m, m, rad] as the motion of a tool in a scene."""
    found: dict[str, Any] = {"times": times.tolist(), "displacement": poses[:, :dimension].tolist()}
    return found | ({"angle": poses[:, 3].tolist()} if poses[:, 3].any() else {})


def session_scene(live: Live) -> dict[str, Any]:
    """Return the data of the scene that repeats what was done so far."""
    data, dimension = scene_as_run(live.scene), live.problem.dimension
    data["title"] = f"{live.scene.title} (by hand)" if live.scene.title else "A session by hand"
    data["duration"] = live.time
    grabs = [*live.grabs, *([] if live.held is None else [live.held])]
    data["grabs"] = {f"{HAND}-{number}": grab_table(live, held) for number, held in enumerate(grabs, start=1)}
    led = {tool.name: tool for tool in live.tools}
    for tool in live.problem.tools:
        spec = data["tools"][tool.name]
        if tool.name in led:
            rows = live.poses(led[tool.name])
            if rows.any():
                kept = thinned(rows)
                spec["motion"] = tool_table(live.grid[kept], rows[kept], dimension)
        elif spec.get("motion") and (spec["motion"].get("velocity") or spec["motion"].get("angular_velocity")):
            spec["motion"] = tool_table(tool.motion.times, tool.motion.values, dimension)
    interval = round(periods(FRAME, live.period) * live.period, 12)
    sample = round(periods(SAMPLE, live.period) * live.period, 12)
    data["output"] = {
        "interval": min(interval, live.time),
        "probe_interval": min(sample, live.time),
        "fields": data["output"]["fields"],
    }
    options = live.options.model_dump(mode="json") | {"step": live.simulation.step_size}
    data["solvers"] = {**data["solvers"], live.solver.name: options}
    return data


def toml_text(data: Mapping[str, Any], place: str = "") -> str:
    """Return tables as TOML, numbers to their last digit; what is None is left out."""
    plain, tables = [], []
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            tables.append(toml_text(value, f"{place}.{json.dumps(name)}" if place else json.dumps(name)))
        elif value is not None:
            plain.append(f"{json.dumps(name)} = {_value(value)}")
    head = [f"[{place}]"] if place and (plain or not tables) else []
    return "\n".join([*head, *plain, ""] * bool(plain or head) + tables)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        inner = (f"{json.dumps(name)} = {_value(item)}" for name, item in value.items() if item is not None)
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def forces_of(problem: Problem, simulation: Simulation) -> dict[str, float]:
    """Return the forces [N] on tools and on the hand as they are shown, whichever of its grabs it has."""
    axes, found = AXES[: problem.dimension], dict[str, float]()
    for name, force in simulation.reactions().items():
        is_hand = name.startswith(GRAB)
        if is_hand or (name.startswith("tool.") and name.count(".") == 1):
            for k, axis in enumerate(axes):
                key = f"{GRAB}{HAND}.force_{axis}" if is_hand else f"{name}.force_{axis}"
                found[key] = found.get(key, 0.0) + float(force[k])
    return found


def fingerprint(simulation: Simulation) -> str:
    """Return what tells one state from every other: a digest of the bits of positions and velocities."""
    states = (simulation.positions, simulation.velocities)
    return sha256(b"".join(np.ascontiguousarray(state, float).tobytes() for state in states)).hexdigest()


def save_session(
    live: Live, folder: Path, forces: Sequence[tuple[float, Mapping[str, float]]], about: Mapping[str, Any]
) -> None:
    """Write scene, shown forces and account of a session into `folder`, over those of an earlier one."""
    if live.row == 0:
        raise RheotwinError("touch: nothing has happened yet; there is no session to keep")
    folder.mkdir(parents=True, exist_ok=True)
    repeat = f"# Repeat it bit for bit: rheotwin run {SCENE} --solver {live.solver.name}\n"
    (folder / BEGAN).unlink(missing_ok=True)
    if live.began is not None:
        state: dict[str, Any] = dict(live.began)
        np.savez(folder / BEGAN, **state)
        repeat = "# A law was changed on the way: `rheotwin touch FOLDER --replay` goes on from there.\n"
    (folder / SCENE).write_text(repeat + toml_text(session_scene(live)) + "\n", encoding="utf-8")
    with (folder / FORCES).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["time [s]", *(f"{name} [N]" for name in (forces[0][1] if forces else {}))])
        table.writerows([time, *values.values()] for time, values in forces)
    told = {
        "solver": live.solver.name,
        "period": live.period,
        "duration": live.time,
        "grabs": len(live.grabs) + (live.held is not None),
        "clamped": live.clamped,
        "energy": live.account(),
        "fingerprint": fingerprint(live.simulation),
        **about,
    }
    (folder / ABOUT).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


class _Repeated(Observer):
    """Keeps what a replay is compared by: forces at the rows of its probes, and its last state."""

    def __init__(self) -> None:
        self.forces: dict[float, dict[str, float]] = {}
        self.fingerprint = ""

    def stop(self, run: Watched, stop: Stop) -> None:
        """Note the forces."""
        self.forces[stop.time] = forces_of(run.problem, run.simulation)

    def finish(self, run: Watched, *, status: str, message: str) -> None:
        """Note the end."""
        self.fingerprint = fingerprint(run.simulation)


def _go_on(request: RunRequest, began: Path, repeated: _Repeated) -> None:
    """Repeat what followed a change of the law, from the state that it found; leaves no record."""
    problem, solver, options = check_request(request)
    simulation = solver.start(problem, options)
    state = {name: array for name, array in np.load(began).items() if not name.startswith(GRAB)}
    simulation.restore(state | {name: array for name, array in simulation.save().items() if name.startswith(GRAB)})
    run = Watched(problem, simulation, problem.scene.duration)
    run_loop(run, plan(problem.scene), [repeated])


@dataclass(frozen=True)
class Replay:
    """Whether a session was repeated bit for bit, by how much shown forces were missed [N], and at how many times."""

    same: bool
    miss: float
    times: int


def replay(folder: Path, record: Path) -> Replay:
    """Run the scene of a session with its solver into `record`, and compare."""
    try:
        told = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        with (folder / FORCES).open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
    except OSError as error:
        raise RheotwinError(
            f"{folder}: holds no session ({error.strerror}); name a folder that `touch` wrote"
        ) from None
    repeated = _Repeated()
    request = RunRequest(load_scene(folder / SCENE), told["solver"], record, overwrite=True)
    if (folder / BEGAN).exists():
        _go_on(request, folder / BEGAN, repeated)
    else:
        outcome = run_scene(request, observers=[repeated])
        if outcome.status != "complete":
            raise RheotwinError(f"{record}: {outcome.message}")
    names, miss, times = [name.removesuffix(" [N]") for name in head[1:]], 0.0, 0
    for row in rows:
        again = repeated.forces.get(float(row[0]))
        if again is not None:
            times += 1
            misses = (abs(float(text) - again.get(name, 0.0)) for name, text in zip(names, row[1:], strict=True))
            miss = max(miss, *misses)
    return Replay(repeated.fingerprint == told["fingerprint"], miss, times)
