"""A hand in a running simulation: it writes the rows of motion tables just before the loop reads them.

Time is cut into periods T; row k of every live table belongs to the time k T. In period k the loop reads rows k and
k + 1, and k + 2 where a time is rounded up. So when period k begins, row k + 2 is written, and never again: a table
that is read back from a file has the same rows at the same times, and the run is the same bit for bit. Between two
rows the hand moves at constant velocity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any, Protocol, cast

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.build import build_problem
from rheotwin.build_grabs import hand_springs, nearest_weights, touchable
from rheotwin.constraints.contact.pack import smallest_spacing
from rheotwin.constraints.grabs import Grab, Grabs
from rheotwin.constraints.motion import Motion, Tables
from rheotwin.constraints.tools import PLANE
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.running import scene_as_run
from rheotwin.scene import Scene, scene_from_data
from rheotwin.solver import Simulation, check_capabilities, checked_options, find_solver

HAND = "hand"
"""Name of the live grab among the reactions."""
ROWS = ceil(600 / 1e-3) + 3
"""Rows of a live table: ten minutes at 1 kHz."""
FASTEST = 0.5
"""Share of the smallest distance of nodes by which a hand may move in a period: more would pass a feature unseen."""
SAFETY = 0.25
"""Share of the stable step at rest, unless the scene says otherwise: elements that a hand draws out are stiffer."""
LIVE = ("truss", "shear-volume", "local-shape", "fem")
"""Solvers that can be live; `fem` by its explicit stepper."""


class LiveSimulation(Simulation, Protocol):
    """A simulation that a hand can write into."""

    def live_arrays(self) -> tuple[Grabs, Tables]:
        """Return the points hands hold and the motions of tools, as the next step will read them."""


@dataclass
class Held:
    """A grab as it will be written: point at rest, first row, hand at each row, when it began and ended [rows]."""

    body: str
    at: Array
    first: int
    springs: tuple[float, float, float]
    nodes: Indices
    weights: Array
    begin: int
    end: int | None = None
    path: Array = field(default_factory=lambda: np.zeros((0, 3)))


@dataclass(frozen=True)
class LiveTool:
    """A tool that the hand can move: its row among the tools, and where its motion table begins."""

    name: str
    row: int


def live_scene(scene: Scene, period: float) -> Scene:
    """Return the scene with the longest duration of a session, and nothing planned on the way."""
    span = (ROWS - 3) * period
    data: dict[str, Any] = scene_as_run(scene)
    data["duration"], data["output"] = span, {"interval": span, "fields": list(scene.output.fields)}
    return scene_from_data(data)


class Live:
    """A simulation with a hand in it; `period` [s] is that of the hand."""

    def __init__(
        self, scene: Scene, solver: str, options: Mapping[str, Any], *, period: float, case: str | None = None
    ) -> None:
        self.scene, self.solver, self.period = scene.with_case(case), find_solver(solver), period
        self.grid = np.round(np.arange(ROWS) * period, 12)
        given = {**self.scene.solvers.get(solver, {}), **options}
        if solver == "fem":
            given = {"stepper": "central-difference"} | given
        elif "safety" in self.solver.options.model_fields:
            given = {"safety": SAFETY} | given
        self.options = checked_options(self.solver, given)
        self.problem = self._live_problem(build_problem(live_scene(self.scene, period)))
        check_capabilities(self.solver, self.problem)
        started = self.solver.start(self.problem, self.options)
        if not hasattr(started, "live_arrays"):
            raise RheotwinError(f"--solver {solver}: it cannot be live; choose one of {', '.join(LIVE)}")
        self.simulation = cast(LiveSimulation, started)
        self.steps = round(period / self.simulation.step_size)
        self.spacing = smallest_spacing(self.problem)
        self.most_step = FASTEST * self.spacing
        self.simplices = np.concatenate([touchable(body) for body in self.problem.bodies])
        shown = {tool.name: row for row, tool in enumerate(self.problem.tools)}
        self.tools = [LiveTool(name, shown[name]) for name in self._movable]
        self._start = self.simulation.save()
        self.begin_again()

    @property
    def _movable(self) -> list[str]:
        """Tools that no motion and no force moves; planes stay."""
        spec = self.scene.tools
        return [
            tool.name
            for tool in self.problem.tools
            if spec[tool.name].motion is None and tool.drive is None and tool.shape != PLANE
        ]

    def _live_problem(self, problem: Problem) -> Problem:
        """Return the problem with live tables: of the tools no motion moves, and of a point that nothing holds yet."""
        late = [item.support for item in problem.prescribed if item.begin > 0.0 or np.isfinite(item.end)]
        if late:
            raise RheotwinError(
                f"supports.{late[0]}: a support that comes or goes cannot be live; hold it all the time"
            )
        if problem.grabs:
            raise RheotwinError("grabs: this scene has hands of its own; `rheotwin run` repeats them")
        self.problem = problem
        tools = tuple(
            replace(tool, motion=Motion(self.grid, np.zeros((ROWS, 4)))) if tool.name in self._movable else tool
            for tool in problem.tools
        )
        path = Motion(self.grid, np.zeros((ROWS, problem.dimension)))
        hand = Grab(HAND, np.zeros(1, np.int64), np.ones(1), path, np.inf, np.inf, 0.0, 0.0, 0.0)
        return replace(problem, tools=tools, grabs=(hand,), tick=Fraction(str(self.period)))

    def begin_again(self) -> None:
        """Go back to the start, and forget the session."""
        self.simulation.restore(self._start)
        grabs, tables = self.simulation.live_arrays()
        grabs.times[:] = np.inf
        grabs.tables.values[:] = 0.0
        for tool in self.tools:
            tables.values[tables.offset[tool.row] : tables.offset[tool.row + 1]] = 0.0
        self.row = 0
        self.held: Held | None = None
        self.grabs: list[Held] = []
        self.clamped = 0
        self.events: dict[int, tuple[Indices, Array] | None] = {}
        """What happened at which row: took hold of a point, or let go (None)."""
        self.began: Mapping[str, Array] | None = None
        """The state a changed law found, None where the session began at rest."""

    def changed(self, law: str, key: str, value: float) -> Live:
        """Return the same bodies where they are, of a law with another number; a replay then needs the state."""
        data = scene_as_run(self.scene)
        data["laws"][law][key] = value
        given = self.options.model_dump(mode="json", exclude_unset=True)
        other = Live(scene_from_data(data), self.solver.name, given, period=self.period, case=self.scene.case)
        pairs: Any = zip(self.simulation.live_arrays(), other.simulation.live_arrays(), strict=True)
        for mine, theirs in pairs:
            for name, array in mine._asdict().items():
                if name in ("node", "weight", "times", "spring", "values"):
                    getattr(theirs, name)[...] = array
        hand, into = (live.simulation.live_arrays()[0].tables.values for live in (self, other))
        into[...] = hand
        step = other.simulation.step_size
        at = {"step_size": np.array(step), "step_count": np.array(self.row * other.steps)}
        other.began = {**self.simulation.save(), **at}
        other.simulation.restore(other.began)
        other.row, other.held, other.grabs, other.clamped = self.row, self.held, list(self.grabs), self.clamped
        return other

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return float(self.grid[self.row])

    @property
    def is_full(self) -> bool:
        """Whether the session has used up its rows."""
        return self.row + 3 >= ROWS

    def nearest(self, point: Array) -> tuple[Indices, Array]:
        """Return nodes and weights of the nearest touchable place to a point (d,) [m] of space now."""
        return nearest_weights(self.simulation.positions, self.simplices, point)

    def pick(self, nodes: Indices, weights: Array) -> Array | None:
        """Take hold of a point from the next row on, if no other is held; return where it is [m]."""
        if self.held is not None:
            return None
        body = self.problem.body_of(int(nodes[0]))
        at = weights @ self.problem.points[nodes]
        own = np.concatenate([touchable(body)])
        nodes, weights = nearest_weights(self.problem.points, own, at)  # as a scene will find it
        grabs, _ = self.simulation.live_arrays()
        springs = hand_springs(float(self.problem.masses[body.nodes].sum()), self.problem.extent)
        grabs.node[0], grabs.weight[0] = nodes[0], 0.0
        grabs.node[0, : len(nodes)], grabs.weight[0, : len(nodes)] = nodes, weights
        grabs.spring[0] = springs
        there = weights @ self.simulation.positions[nodes]
        self.held = Held(body.name, at, self.row, springs, nodes, weights, begin=self.row + 1)
        grabs.tables.values[self.row : self.row + 2, : len(there)] = there
        grabs.times[0] = self.grid[self.held.begin], np.inf
        self.events[self.row] = nodes, weights
        return np.asarray(there)

    def release(self) -> None:
        """Let go from the next row on."""
        if self.held is not None and self.held.end is None:
            self.events[self.row] = None
            self.held.end = max(self.row + 1, self.held.begin + 1)
            self.simulation.live_arrays()[0].times[0, 1] = self.grid[self.held.end]

    def path_of(self, held: Held) -> Array:
        """Return where the hand is at each row of a grab (n, d) [m]."""
        if len(held.path):
            return held.path
        values = self.simulation.live_arrays()[0].tables.values
        return np.array(values[held.first : self.row + 2, : self.problem.dimension])

    def poses(self, tool: LiveTool) -> Array:
        """Return the poses (n, 4) [m, m, m, rad] of a tool at each row so far."""
        tables = self.simulation.live_arrays()[1]
        return np.array(tables.values[tables.offset[tool.row] :][: self.row + 2])

    def period_begins(self, hand: Array | None, tools: Mapping[str, Array], follow: float = 1.0) -> None:
        """Write the row after next: the hand goes to `hand` (d,) [m], tools to poses (4,), or a share `follow` there.

        Nothing goes further in a period than `most_step`; what wanted to is counted.
        """
        grabs, tables = self.simulation.live_arrays()
        row, held = self.row + 2, self.held
        if held is not None:
            path = grabs.tables.values[:, : self.problem.dimension]
            path[row] = path[row - 1]
            if hand is not None:
                path[row] += self._clamped(follow * (hand - path[row - 1]))
            if held.end is not None and row > held.end:
                held.path = np.array(path[held.first : row + 1])
                self.grabs.append(held)
                self.held = None
        for tool in self.tools:
            poses = tables.values[tables.offset[tool.row] :]
            poses[row] = poses[row - 1]
            if tool.name in tools:
                step = follow * (tools[tool.name] - poses[row - 1])
                step[:3] = self._clamped(step[:3])
                poses[row] += step

    def _clamped(self, step: Array) -> Array:
        length = float(np.linalg.norm(step))
        if length <= self.most_step:
            return step
        self.clamped += 1
        return step * (self.most_step / length)

    def advance(self) -> bool:
        """Take the steps of this period; return whether they could be taken."""
        count = (self.row + 1) * self.steps
        self.simulation.advance((count + 0.25) * self.simulation.step_size, self.steps)
        self.row += 1
        return self.simulation.step_count == count and bool(np.isfinite(self.simulation.positions).all())

    def account(self) -> dict[str, float]:
        """Return the account of energy [J]: given by hand, tools, weight; kinetic, stored; the rest is dissipated."""
        found = dict(self.simulation.energy())
        if "external" in found:  # finite elements keep the whole account
            return found
        moved = self.simulation.positions - self.problem.points
        found["weight"] = float(self.problem.masses @ (moved @ self.problem.gravity))
        given = found["hand"] + found["tools"] + found["weight"]
        return found | {"dissipated": given - found["kinetic"] - found["stored"]}
