"""A record as one page to look at in three dimensions, offline: 16-bit places, deflated, and a slider of time."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from zlib import compress

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array
from rheotwin.build import build_problem
from rheotwin.build_grabs import touchable
from rheotwin.constraints.contact.setup import poses_at
from rheotwin.constraints.grabs import GRAB, Grab
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.record import Record
from rheotwin.scene import scene_from_data
from rheotwin.touch.hand import HAND
from rheotwin.touch.page_files import page_file
from rheotwin.touch.show import NUMBERS, described
from rheotwin.touch.surface import Surface

MOST_FRAMES = 300
FINEST = 65534
"""Steps of places over the extent of the whole motion, which 16 bits can tell apart."""


def packed(array: NDArray[Any]) -> str:
    """Return an array deflated, as text."""
    return b64encode(compress(np.ascontiguousarray(array).tobytes(), 9)).decode()


def packed_places(places: Array) -> tuple[str, list[float], float]:
    """Return places (frames, n, 3) [m] as 16-bit differences from frame to frame, lowest corner and unit."""
    low = places.min(axis=(0, 1))
    unit = float(np.ptp(places, axis=(0, 1)).max()) / FINEST or 1.0
    steps = np.round((places - low) / unit).astype(np.int64) - FINEST // 2
    changes = np.diff(steps, axis=0, prepend=0)  # they wrap, and the page wraps them back
    return packed(changes.astype(np.int16)), low.tolist(), unit


def session_data(record: Record) -> dict[str, Any]:
    """Return what the page plays: scene, times, places, numbers and poses of tools."""
    problem = build_problem(scene_from_data(record.manifest.scene, base=record.folder))
    if problem.dimension == 1:
        raise RheotwinError(f"{record.folder}: a line of particles has no surface to see")
    surface = Surface.of(np.concatenate([touchable(body) for body in problem.bodies]))
    chosen = np.unique(np.linspace(0, len(record.times) - 1, min(len(record.times), MOST_FRAMES)).round().astype(int))
    times, whole = record.times[chosen], np.array([record.positions(int(frame)) for frame in chosen])
    tools = [f"tool.{tool.name}.force_{axis}" for tool in problem.tools for axis in "xyz"[: problem.dimension]]
    names = tools + [f"{GRAB}{HAND}.force_{axis}" for axis in "xyz"[: problem.dimension]] * bool(problem.grabs)
    rows = [_numbers(problem, record, names, float(time), x) for time, x in zip(times, whole, strict=True)]
    places, low, unit = packed_places(whole[:, surface.nodes])
    poses = np.array([poses_at(problem.tools, float(time)) for time in times]).reshape(len(times), -1)
    about = [f"{record.manifest.solver.name}: {record.times[-1]:g} s in steps of {record.manifest.step.size:.3g} s"]
    scene = described(problem, surface, record.manifest.solver.name, names, about)
    played = {"times": times.tolist(), "places": places, "low": low, "unit": unit}
    return {"scene": scene, **played, "numbers": packed(np.array(rows)), "poses": packed(poses)}


def _numbers(problem: Problem, record: Record, names: list[str], time: float, x: Array) -> list[float]:
    """Return the numbers of a picture at `time` [s] of nodes at x (N, 3) [m]."""
    probes, told = record.probes, dict.fromkeys(NUMBERS, 0.0) | {"time": time}
    row, hand, point = int(np.argmin(np.abs(probes["time"] - time))), np.zeros(3), np.zeros(3)
    forces = dict.fromkeys(names, 0.0)
    for column, values in probes.items():
        name = GRAB + HAND + column[column.index(".force_") :] if column.startswith(GRAB) else column
        if name in forces:
            forces[name] += float(values[row])
    for grab in problem.grabs:
        shown = grab.weights @ x[grab.nodes]
        if grab.begin <= time < grab.end:
            hand[: problem.dimension], point = grab.path.at(time), shown
            told |= {"held": 1.0, "indentation": _moved(problem, grab, shown)}
        elif grab.end <= time:
            told["remains"] = _moved(problem, grab, shown)
    return [*told.values(), *hand, *point, *forces.values(), *([0.0] * len(forces))]


def _moved(problem: Problem, grab: Grab, point: Array) -> float:
    rest = grab.weights @ problem.points[grab.nodes]
    return float(np.linalg.norm(point[: problem.dimension] - rest))


def session_page(record: Record) -> str:
    """Return the page of a record, complete in itself."""
    data = json.dumps(session_data(record)).replace("</", "<\\/")
    page, bundle = page_file("index.html").decode(), page_file("bundle.js").decode().replace("</script", "<\\/script")
    return page.replace("<!--SESSION-->", f"<script>window.SESSION = {data};</script>").replace(
        '<script src="bundle.js"></script>', f"<script>{bundle}</script>"
    )


def write_page(record: Record, path: Path) -> None:
    """Write the page of a record."""
    text = session_page(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
