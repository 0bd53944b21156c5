"""What a front end shows of a session: the scene once, then pictures and numbers, and what its hand may do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.build_grabs import nearest_weights
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.solver import tool_poses
from rheotwin.tensors import padded
from rheotwin.touch.beside import Beside
from rheotwin.touch.hand import Live
from rheotwin.touch.loop import Loop, Wanted
from rheotwin.touch.session import forces_of, save_session
from rheotwin.touch.surface import Surface, tool_triangles

NUMBERS = ("time", "pace", "met", "work", "clamped", "held", "indentation", "remains", "beside")
"""What every picture tells first; then hand and point (3 each) [m], forces, and those of the second body."""
SLIDERS = ("young", "viscosity", "voigt_viscosity", "series_viscosity")
"""Numbers of a law that can be changed on the way."""


class Show:
    """A session as others see and lead it; all but `Wanted` is done in the thread of the loop."""

    def __init__(self, live: Live, folder: Path, *, pace: float, beside: Beside | None = None) -> None:
        if live.problem.dimension == 1:
            raise RheotwinError("touch: a line of particles has no surface to see; lead it by --script")
        self.folder, self.beside, self.saved = folder, beside, ""
        self.wanted = Wanted(live.period)
        self.loop = Loop(live, self.wanted, pace=pace)
        self.surface = Surface.of(live.simplices)
        self.parts = 1
        self.names = list(forces_of(live.problem, live.simulation))
        self.numbers = np.zeros(len(NUMBERS) + 6 + 2 * len(self.names))
        self.version, self._picture = 0, b""
        self.touched: Indices | None = None
        self.loop.watchers.append(self.look)
        self.look()

    @property
    def live(self) -> Live:
        """The simulation as it is; a change of law exchanges it."""
        return self.loop.live

    def scene(self) -> dict[str, Any]:
        """Return what a front end must know once."""
        live = self.live
        about = [f"{live.solver.name}: {live.steps} steps of {live.simulation.step_size:.3g} s a period of the hand"]
        if self.beside is not None:
            about += [f"the second body is {self.beside.name} under the same hand, at its own pace"]
        return described(live.problem, self.surface, live.solver.name, self.names, about) | {
            "kernel": live.simulation.statistics().get("kernel", ""),
            "beside": None if self.beside is None else self.beside.name,
            "movable": [tool.row for tool in live.tools],
            "period": live.period,
        }

    def look(self) -> None:
        """Take the numbers and the picture of this moment."""
        live, loop = self.live, self.loop
        forces, held = loop.forces[-1][1] if loop.forces else dict.fromkeys(self.names, 0.0), live.held
        x, dimension = live.simulation.positions, live.problem.dimension
        hand, point, remains, deep = np.zeros(3), np.zeros(3), 0.0, 0.0
        if held is not None:
            self.touched = held.nodes
            point[:dimension] = held.weights @ x[held.nodes]
            hand[:dimension] = live.path_of(held)[-2] if len(live.path_of(held)) > 1 else point[:dimension]
            deep = float(np.linalg.norm(point[:dimension] - held.at))
        elif self.touched is not None:
            remains = float(np.linalg.norm((x - live.problem.points)[self.touched].mean(axis=0)))
        for tool in live.tools if held is None else ():
            deep = max(deep, float(np.linalg.norm(live.poses(tool)[-2][:3])))
        kept, behind = loop.kept, 0.0 if self.beside is None else self.beside.time
        told = [live.time, loop.pace or 0.0, kept.met / max(1, kept.periods), kept.work / max(1, kept.periods)]
        told += [float(live.clamped), float(held is not None), deep, remains, behind]
        second = [] if self.beside is None else [self.beside.forces.get(name, 0.0) for name in self.names]
        numbers = np.array([*told, *hand, *point, *forces.values(), *(second or [0.0] * len(self.names))])
        poses = tool_poses(live.problem, live.simulation).reshape(-1, 4)
        pictures = [self.surface.picture(x)]
        if self.beside is not None:
            pictures += [self.surface.picture(self.beside.positions)]
        head = np.array([self.version + 1, len(numbers), len(poses), len(pictures)], np.float64)
        parts = [head.tobytes(), numbers.astype(np.float64).tobytes(), poses.tobytes(), *pictures]
        self.numbers, self._picture = numbers, b"".join(parts)
        self.version += 1

    def picture(self) -> bytes:
        """Return the newest picture: head, numbers and poses as 64-bit numbers, then places and normals."""
        return self._picture

    # -- what a hand may do -------------------------------------------------------------------------------------------

    def press_body(self, face: int, hit: Array) -> None:
        """Take hold of a point of a triangle of the surface."""
        dimension, simplices = self.live.problem.dimension, self.live.simplices
        if not (0 <= face < len(simplices) and np.isfinite(hit).all()):
            return

        def order(live: Live) -> None:
            found = nearest_weights(live.simulation.positions, simplices[face : face + 1], hit[:dimension])
            self.wanted.hand = live.pick(*found)

        self.wanted.orders.append(order)

    def lead(self, place: Array) -> None:
        """Bring the hand to a place (3,) [m]."""
        if np.isfinite(place).all() and self.wanted.hand is not None:
            self.wanted.hand = place[: self.live.problem.dimension]

    def lead_tool(self, row: int, moved: Array) -> None:
        """Bring a tool to a displacement (3,) [m] from where it was at rest."""
        names = {tool.row: tool.name for tool in self.live.tools}
        if row in names and np.isfinite(moved).all():
            pose = np.append(moved, 0.0)
            pose[self.live.problem.dimension : 3] = 0.0
            self.wanted.tools[names[row]] = pose

    def release(self) -> None:
        """Let go."""
        self.wanted.hand = None
        self.wanted.release()

    def do(self, order: str, value: Any = None) -> None:
        """Carry out an order of a front end: reset, pause, go, pace, save, law."""
        loop = self.loop
        if order == "reset":
            loop.orders.append(self._reset)
        elif order in ("pause", "go"):
            loop.paused = order == "pause"
        elif order == "pace" and isinstance(value, int | float) and 0.001 <= value <= 10.0:
            loop.pace = float(value)
        elif order == "save":
            loop.orders.append(self.save)
        elif order == "law" and isinstance(value, list) and len(value) == 3:
            loop.orders.append(lambda: self._change(*value))

    def _reset(self) -> None:
        self.wanted.tools.clear()
        self.wanted.hand, self.touched = None, None
        self.wanted.orders.clear()
        self.loop.begin_again()
        if self.beside is not None:
            self.beside.begin_again(self.live)
        self.look()

    def save(self) -> None:
        """Keep the session up to now."""
        if self.live.row:
            save_session(self.live, self.folder, self.loop.forces, {"kept": self.loop.kept.to_data()})
            self.saved = str(self.folder)

    def _change(self, law: str, key: str, value: float) -> None:
        """Give a law another number; what was before is a session of its own."""
        known = self.live.scene.laws.get(law)
        if known is None or key not in SLIDERS or not isinstance(getattr(known, key, None), float):
            return
        if not (isinstance(value, int | float) and np.isfinite(value) and value > 0.0):
            return
        try:
            changed = self.live.changed(law, key, float(value))
        except RheotwinError as error:
            self.loop.message = f"{law}.{key} = {value:g} is not taken: {error}"
            return
        if self.live.row:
            self.parts += 1
            before = self.folder.with_name(f"{self.folder.name}-{self.parts - 1}")
            save_session(self.live, before, self.loop.forces, {"kept": self.loop.kept.to_data()})
        with self.loop.lock:
            self.loop.live = changed
            self.loop.forces.clear()
        if self.beside is not None:
            self.beside.change(law, key, float(value), self.live)
        self.loop.message = f"{law}.{key} is now {value:g}"


def described(
    problem: Problem, surface: Surface, solver: str, forces: Sequence[str], about: Sequence[str]
) -> dict[str, Any]:
    """Return what a front end must know of a problem to draw it, and the sentences of its legend."""
    scene, specs = problem.scene, problem.scene.bodies
    laws = {
        name: {key: getattr(law, key) for key in SLIDERS if isinstance(getattr(law, key, None), float)}
        for name, law in scene.laws.items()
        if any(name in (body.law, *(part.law for part in body.parts.values())) for body in specs.values())
    }
    made = {body.name: scene.laws[specs[body.name].law] for body in problem.bodies}
    bodies = [
        f"{b.name}: {b.mesh.p.shape[1]} nodes of {specs[b.name].law} ({made[b.name].model})" for b in problem.bodies
    ]
    middle = 0.5 * (problem.points.min(axis=0) + problem.points.max(axis=0))
    first = [body.first_node for body in problem.bodies]
    return {
        "title": scene.title or "A body to touch",
        "dimension": problem.dimension,
        "solver": solver,
        "legend": [*bodies, *about, "orange: the hand; tools that a hand can move are ochre, all others grey"],
        "nodes": len(surface.nodes),
        "triangles": surface.triangles.ravel().tolist(),
        "owner": (np.searchsorted(first, surface.nodes, side="right") - 1).tolist(),
        "extent": problem.extent,
        "centre": padded(middle[None])[0].tolist(),
        "tools": [
            {
                "name": tool.name,
                "plane": scene.tools[tool.name].shape == "plane",
                "centre": tool.geometry[:3].tolist(),
                "axis": tool.geometry[3:6].tolist(),
                "points": np.round(points, 9).ravel().tolist(),
                "triangles": triangles.ravel().tolist(),
            }
            for tool, (points, triangles) in zip(problem.tools, tool_triangles(problem), strict=True)
        ],
        "laws": laws,
        "movable": [],
        "numbers": [*NUMBERS, *(f"{of}.{axis}" for of in ("hand", "point") for axis in "xyz")],
        "forces": list(forces),
    }


def text(show: Show) -> str:
    """Return the scene for a front end as JSON."""
    return json.dumps({"scene": show.scene()})
