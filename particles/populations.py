"""Runs of many sets of laws of one truss or lattice, one in each lane of a vector (calibration, sections 14 and 15).

Inertia is negligible in bodies that are calibrated, so masses are raised where a step of h [s] needs it. Elements of
law g have the viscosity c_g = eta + sum kappa (1 - exp(-A h))/A + k h/2 in a step; C = sum c_g L_g. With the largest
eigenvalue a_ig of sum n n^T over those at particle i, and mu_g of A_g^-1 L_g, A_g = diag(a_ig),

    h/M_i = min(h/m_i, 2 SHARE/sum_g mu_g c_g a_ig),      so that   max eig M^-1 C h <= 2 SHARE < 2.

A step then does not depend on the set. The loops are in `rheotwin.particles.forces.in_lanes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.errors import RheotwinError
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import aligned
from rheotwin.materials import Channel
from rheotwin.particles.edge_laws import BodyLaws, body_laws, voxel_laws
from rheotwin.particles.forces.elements import ARM_ROWS, ARMS, STIFFNESS, VISCOSITY
from rheotwin.particles.forces.global_pressure import GlobalPressure, body_volumes
from rheotwin.particles.forces.in_lanes import edges_in_lanes, halves_in_lanes, moves_in_lanes, pressure_in_lanes
from rheotwin.particles.forces.voxel_centre import half_matrix, half_vectors
from rheotwin.particles.stability import edge_matrix, largest_eigenvalue
from rheotwin.particles.steps import pack_loads
from rheotwin.particles.truss import Truss, TrussOptions, truss
from rheotwin.population import Courses, Laws
from rheotwin.problem import Problem, held_by
from rheotwin.solver import RUNAWAY
from rheotwin.tensors import padded

STEPS = 2000
"""Steps of a run: the papers' 2 ms in 4 s, at which S is within 2 % of that of short steps."""
SHARE = 0.92
"""Share of the largest stable h/M that particles take."""
SAME_STEP = 1e-9
"""Relative difference of two steps that is rounding."""
NOTHING = 1e-9
"""Force of a pressure that has lost the whole volume, over that of the shortest edge, that is none."""
ROOM = 3.9
"""Largest h^2 K/M + 2 h C/M of a step, which is stable below 4."""


@dataclass(frozen=True)
class _Piece:
    """Steps of one length [s] with the same supports: components (nodes, components) held by each, by its number."""

    program: Program
    first: int
    count: int
    step: float
    end: float
    held: list[tuple[int, Indices, Indices]]


@dataclass
class _Elements:
    """Elements of one kind in lanes: `ends` as its loop wants them, the group of each and its law, l0 [m].

    `bounds` (groups, N) are mu_g a_ig/2.
    """

    loop: Any
    ends: tuple[Integers, ...]
    group: Integers
    names: tuple[str, ...]
    share: float
    rest: Array
    bounds: Array
    states: Array = field(default_factory=lambda: np.zeros(0))
    inverse: Array = field(default_factory=lambda: np.zeros(0))

    def stage(self, lanes: int, arms: int, spring: bool, constants: Array, at: tuple[Array, ...]) -> Stage:
        """Return the stage of these elements with constants (groups, rows, S), on places, velocities and forces."""
        rest = self.rest.astype(constants.dtype)
        made = self.loop(lanes, arms, spring)
        return Stage(made, (*self.ends, self.group, rest, self.inverse, self.states, constants, *at))


def _groups(problem: Problem, laws: Sequence[BodyLaws], elements: Indices) -> tuple[Integers, tuple[str, ...]]:
    """Return the group of each element (M, corners), one for each law of each body, and the names of their laws."""
    group = np.zeros(len(elements), np.int32)
    names: list[str] = []
    for body, own in zip(problem.bodies, laws, strict=True):
        inside = (elements[:, 0] >= body.nodes.start) & (elements[:, 0] < body.nodes.stop)
        group[inside] = len(names) + own.of(elements[inside] - body.first_node)
        names += own.names
    return group, tuple(names)


def _largest(directions: Array, node: Indices, group: Indices | Integers, groups: int, count: int) -> Array:
    """Return the largest eigenvalue (groups, count) of the sum of n n^T over what each node has of each group."""
    sums = np.zeros((groups, count, 3, 3))
    np.add.at(sums, (group, node), directions[:, :, None] * directions[:, None, :])
    return np.asarray(np.linalg.eigvalsh(sums)[..., -1])


def _scale(bounds: Array, matrix: csr_matrix, problem: Problem) -> None:
    """Multiply a_ig (N,) by mu_g/2 of a matrix L_g on the components that are ever free."""
    always = [item for item in problem.prescribed if item.begin <= 0.0 and item.end >= problem.scene.duration]
    free = (held_by(always, problem.points.shape) < 0) & (bounds > 0.0)[:, None]
    bounds *= 0.5 * largest_eigenvalue(matrix, np.repeat(bounds, problem.dimension), free.ravel())


def _edge_elements(made: Truss, options: TrussOptions) -> _Elements:
    """Return the edges, each at its first particle."""
    problem, ends = made.problem, np.sort(made.network.edges, axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, rest = ends[order], made.network.rest_length[order]
    group, names = _groups(problem, body_laws(problem, options), ends)
    first = np.searchsorted(ends[:, 0], np.arange(len(problem.points) + 1)).astype(np.int32)
    directions = padded(problem.points[ends[:, 1]] - problem.points[ends[:, 0]]) / rest[:, None]
    both = np.concatenate([directions, directions]), np.concatenate([ends[:, 0], ends[:, 1]]), np.tile(group, 2)
    bounds = _largest(*both, len(names), len(problem.points))
    for g, own in enumerate(bounds):
        _scale(own, edge_matrix(problem.points, ends[group == g], np.ones(np.count_nonzero(group == g))), problem)
    other = np.ascontiguousarray(ends[:, 1], np.int32)
    return _Elements(edges_in_lanes, (first, other), group, names, 1.0, rest, bounds)


def _half_elements(made: Truss, options: TrussOptions) -> _Elements:
    """Return the half elements in voxels; at a particle also those of its voxels' middles count, an eighth of them."""
    problem, halves = made.problem, made.shape.halves
    cells, corners = halves.cells, halves.cells.shape[1]
    group, names = _groups(problem, voxel_laws(problem, options), cells)
    directions = half_vectors(cells, padded(problem.points)) / halves.length[:, None]
    each, count = np.repeat(group, corners), len(problem.points)
    bounds = _largest(directions, cells.ravel(), each, len(names), count)
    voxel = np.repeat(np.arange(len(cells)), corners)
    own = _largest(directions, voxel, np.zeros(len(voxel), np.int64), 1, len(cells))[0]
    np.add.at(bounds, (each, cells.ravel()), np.repeat(own / corners, corners))
    for g, part in enumerate(bounds):
        _scale(part, half_matrix(cells, padded(problem.points), (each == g).astype(float), problem.dimension), problem)
    ends = (np.ascontiguousarray(cells, np.int32),)
    return _Elements(halves_in_lanes, ends, group, names, options.local_volume_scale, halves.length, bounds)


def _obstacle(made: Truss) -> str | None:
    """Say what of a truss lanes do not know."""
    problem, options, shape = made.problem, made.options, made.shape
    kept = {"topology_stiffness": shape.topology, "element_pressure": shape.element_pressure}
    unknown = {
        'match = "edge" is missing: the laws are not those of edges': options.match != "edge",
        "its laws are not linear": made.network.nonlinear,
        "it has tools": problem.tools,
        "it has contact": problem.contact is not None,
        "it has links": problem.links,
        "hands hold it": problem.grabs,
        "it has forces of other packages": options.forces,
        "its supports are constraints": made.holds_supports,
        "a support begins later": any(item.begin > 0.0 for item in problem.prescribed),
        "its bodies move at the start": problem.start_velocities.any(),
        "it has hanging nodes": any(len(body.hanging) for body in problem.bodies),
        'its stepper is not "semi-implicit"': options.stepper != "semi-implicit",
        "it has several bodies and a global pressure": shape.global_pressure is not None and len(problem.bodies) > 1,
        "its bodies are no solids with a global pressure": shape.global_pressure is not None and problem.dimension < 3,
    } | {f"it has {name}": force is not None for name, force in kept.items()}
    return next((reason for reason, present in unknown.items() if present), None)


def _pressure_that_acts(made: Truss, moduli: Sequence[float]) -> GlobalPressure | None:
    """Return the global pressure, with dV/dx at rest; none that only has a record tell the volume."""
    pressure = made.shape.global_pressure
    if pressure is None:
        return None
    volume = float(body_volumes(pressure, padded(made.problem.points))[0])  # leaves dV/dx behind
    most = pressure.stiffness * volume * float(np.abs(pressure.gradient).max())
    weak = most < NOTHING * min(moduli) * float(made.network.rest_length.min())
    return None if weak and pressure.damping == 0.0 else pressure


class TrussPopulation:
    """Runs of a truss, `lanes` sets of laws at a time (`rheotwin.population.Population`)."""

    def __init__(self, problem: Problem, options: TrussOptions) -> None:
        made = truss(problem, options.model_copy(update={"step": None}))
        if obstacle := _obstacle(made):
            raise RheotwinError(f"several sets of laws at a time are beyond this scene: {obstacle}")
        self._problem, self._scene_laws = problem, problem.scene.laws
        single = options.precision == "single"
        self.lanes = 16 if single else 8
        self._dtype: type[np.floating[Any]] = np.float32 if single else np.float64
        self._parts = [_edge_elements(made, options)]
        if len(made.shape.halves.cells):
            self._parts.append(_half_elements(made, options))
        self._names = [name for part in self._parts for name in part.names]
        self._shares = [part.share for part in self._parts for _ in part.names]
        self._bounds = np.concatenate([part.bounds for part in self._parts])
        channels = [self._scene_laws[name].law().channel("young") for name in self._names]
        self._arms = max(len(channel.times) for channel in channels)
        self._spring = any(channel.equilibrium != 0.0 for channel in channels)
        self._pressure = _pressure_that_acts(made, [channel.instantaneous for channel in channels])
        self._wanted = options.step or problem.scene.duration / STEPS
        self._plans: dict[tuple[float, ...], list[_Piece]] = {}
        size = len(problem.points) * self.lanes
        self._at = tuple(aligned((3, size), self._dtype) for _ in range(3))
        self._lightness = aligned((1, size), self._dtype)
        self._constants = aligned((len(self._names), ARMS + ARM_ROWS * self._arms, self.lanes), self._dtype)
        for part in self._parts:
            part.states = aligned((len(part.rest), self._arms, self.lanes), self._dtype)
            part.inverse = aligned((1, len(part.rest) * self.lanes), self._dtype)

    def run(self, sets: Sequence[Laws], times: Array) -> Courses:
        """Return the courses of up to `lanes` sets of laws at increasing times [s]."""
        plan = self._plan(tuple(float(time) for time in times))
        channels, reasons = self._channels(sets)
        self._begin()
        places = np.zeros((len(times), 3, len(self._problem.points), self.lanes))
        forces = {f"support.{item.support}": np.zeros((len(times), 3, self.lanes)) for item in self._problem.prescribed}
        due = {float(time): number for number, time in enumerate(times)}
        if 0.0 in due:
            places[due[0.0]] = self._now(0)
        step = 0.0
        for piece in plan:
            if abs(piece.step - step) > SAME_STEP * step:
                step = piece.step
                self._put_constants(channels, step)
            piece.program.step = piece.step
            piece.program.run(piece.first, piece.count)
            if piece.end in due:
                places[due[piece.end]] = self._now(0)
                pull = self._now(2)
                for index, node, component in piece.held:
                    name = f"support.{self._problem.prescribed[index].support}"
                    np.add.at(forces[name][due[piece.end]], component, pull[component, node])
        self._find_diverged(places, reasons)
        return Courses(places, forces, tuple(reasons))

    def _now(self, which: int) -> Array:
        """Return places, velocities or forces (3, N, S) as they are now."""
        return np.asarray(self._at[which].reshape(3, -1, self.lanes))

    def _begin(self) -> None:
        self._at[0][...] = np.repeat(padded(self._problem.points).T, self.lanes, axis=1)
        self._at[1][...] = 0.0
        for part in self._parts:
            part.states[...] = 0.0
            part.inverse[0] = np.repeat(1.0 / part.rest, self.lanes)

    def _channels(self, sets: Sequence[Laws]) -> tuple[list[list[Channel]], list[str | None]]:
        """Return the channels of every group in every lane, and why a set has none; idle lanes run the last set."""
        usual = {name: law.law() for name, law in self._scene_laws.items() if name in self._names}
        found: list[list[Channel]] = []
        reasons: list[str | None] = []
        for laws in sets:
            channels = [{**usual, **laws}[name].channel("young") for name in self._names]
            reasons.append(self._unfit(channels))
            found.append(channels)
        good = [channels for channels, reason in zip(found, reasons, strict=True) if reason is None]
        spare = good[-1] if good else [usual[name].channel("young") for name in self._names]
        found = [channels if reason is None else spare for channels, reason in zip(found, reasons, strict=True)]
        return found + [spare] * (self.lanes - len(found)), reasons

    def _unfit(self, channels: Sequence[Channel]) -> str | None:
        """Say why lanes cannot step a set: without a viscosity beside all springs nothing damps raised masses."""
        for name, channel in zip(self._names, channels, strict=True):
            if not channel.viscosity > 0.0:
                return f"laws.{name}: has no viscosity beside its springs, which steps with raised masses need"
            if len(channel.times) > self._arms or (channel.equilibrium != 0.0 and not self._spring):
                return f"laws.{name}: has other parts than in the scene"
        return None

    def _put_constants(self, channels: Sequence[Sequence[Channel]], h: float) -> None:
        """Put the constants of steps of `h` [s] into their lanes, and h/M of every particle."""
        constants = np.zeros(self._constants.shape)
        for lane, own in enumerate(channels):
            for group, (channel, share) in enumerate(zip(own, self._shares, strict=True)):
                column = constants[group, :, lane]
                column[STIFFNESS], column[VISCOSITY] = share * channel.equilibrium, share * channel.viscosity
                for arm, (strength, time) in enumerate(zip(channel.strengths, channel.times, strict=True)):
                    first = ARMS + ARM_ROWS * arm
                    column[first : first + ARM_ROWS] = share * strength, np.exp(-h / time), -time * np.expm1(-h / time)
        self._constants[...] = constants
        effective = constants[:, VISCOSITY] + 0.5 * h * constants[:, STIFFNESS]
        effective += (constants[:, ARMS::ARM_ROWS] * constants[:, ARMS + 2 :: ARM_ROWS]).sum(axis=1)
        light = np.minimum(h / self._problem.masses[:, None], SHARE / (self._bounds.T @ effective))
        if self._pressure is not None:
            squares = (self._pressure.gradient[:, :3] ** 2).sum(axis=1)
            rate = self._pressure.stiffness * h + 2.0 * self._pressure.damping
            added = rate * (light[self._pressure.nodes] * squares[:, None]).sum(axis=0)
            light *= np.minimum(1.0, ROOM / (4.0 * SHARE + added))
        self._lightness[0] = light.ravel()

    def _find_diverged(self, places: Array, reasons: list[str | None]) -> None:
        away = np.abs(places - padded(self._problem.points).T[:, :, None]).max(axis=(0, 1, 2))
        for lane, reason in enumerate(reasons):
            if reason is None and not away[lane] <= RUNAWAY * self._problem.extent:
                reasons[lane] = "diverged"

    def _plan(self, times: tuple[float, ...]) -> list[_Piece]:
        if times not in self._plans:
            self._plans[times] = self._made(times)
        return self._plans[times]

    def _made(self, times: tuple[float, ...]) -> list[_Piece]:
        """Cut the run at outputs and where a support ends or changes its speed; bind the steps of each piece."""
        problem, loads = self._problem, pack_loads(self._problem)
        marks = {0.0, *times}
        for item in problem.prescribed:
            marks |= {item.begin, item.end, *item.motion.times.tolist()}
        cuts = [time for time in sorted(marks) if 0.0 <= time <= times[-1]]
        counts = [ceil((end - begin) / self._wanted * (1.0 - 1e-9)) for begin, end in pairwise(cuts)]
        ends = [np.linspace(*pair, n + 1) for pair, n in zip(pairwise(cuts), counts, strict=True)]
        speeds = np.zeros((sum(counts), len(problem.prescribed), 3))
        for index, item in enumerate(problem.prescribed):
            if item.motion.moves:
                way = np.concatenate([np.diff([item.motion.at(t) for t in part], axis=0) for part in ends])
                h = np.concatenate([np.full(n, part[1] - part[0]) for part, n in zip(ends, counts, strict=True)])
                speeds[:, index, : way.shape[1]] = way / h[:, None]
        middles = np.concatenate([0.5 * (part[1:] + part[:-1]) for part in ends])
        factors = np.array([[load.factor.at(t)[0] for load in problem.loads] for t in middles]).reshape(
            len(middles), -1
        )
        weight = padded(problem.masses[:, None] * problem.gravity)
        begin_forces, move = moves_in_lanes(self.lanes)
        phases: dict[tuple[int, ...], tuple[Program, Any]] = {}
        pieces: list[_Piece] = []
        first = 0
        for part, count in zip(ends, counts, strict=True):
            active = tuple(k for k, item in enumerate(problem.prescribed) if item.begin <= part[0] < item.end)
            if active not in phases:
                owners = held_by([problem.prescribed[k] for k in active], problem.points.shape)
                node, component = np.nonzero(owners >= 0)
                motion = np.array(active, np.int64)[owners[node, component]]
                clock, force = Clock(), self._at[2]
                stages = [
                    Stage(begin_forces, (weight, loads.node, loads.share, loads.motion, factors, clock.number, force)),
                    *self._force_stages(),
                    Stage(move, (self._lightness, node, component, motion, speeds, clock.number, STEP, *self._at)),
                ]
                held = [(k, node[motion == k], component[motion == k]) for k in active]
                phases[active] = Program(stages, 1.0, clock), held
            program, held = phases[active]
            pieces.append(_Piece(program, first, count, (part[-1] - part[0]) / count, float(part[-1]), held))
            first += count
        return pieces

    def _force_stages(self) -> list[Stage]:
        first = 0
        stages: list[Stage] = []
        for part in self._parts:
            constants = self._constants[first : first + len(part.names)]
            stages.append(part.stage(self.lanes, self._arms, self._spring, constants, self._at))
            first += len(part.names)
        if self._pressure is not None:
            p = self._pressure
            gradient = aligned((3, len(p.nodes) * self.lanes), self._dtype)
            numbers = (p.faces, p.weight / 6.0, p.nodes, float(p.rest[0]), p.stiffness, p.damping)
            x, v, force = self._at
            stages.append(Stage(pressure_in_lanes(self.lanes), (*numbers, x, v, gradient, force)))
        return stages
