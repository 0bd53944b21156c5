"""Quasi-static runs of viscoelastic linear tetrahedra of several laws, with one constant matrix (spec 2.3, M = 0).

Forces balance at the end of every step. With kappa, d and the gain of `rheotwin.fem.steppers.quasi_static`,

    sum_X J_X (kappa u_(n+1) + (g_inf - kappa) u_n + d w_n) = f_(n+1),    w_(n+1) = d w_n + gain (u_(n+1) - u_n)

for the bulk and the shear channel of every region. Solving for u_(n+1) and not for the increment spares elastic
regions their history force. Internal variables w are nodal vectors of a region, exact because it has one law. The
matrix goes straight to block rows; a multigrid solve starts from the best combination of earlier solutions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.assembly import DROPPED, TetGeometry, block_pattern, hold, stiffness, tet_geometry
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.fast.tet_forces import add_tet_forces
from rheotwin.fem.linear import Multigrid, WarmStart, factorise, multigrid, rigid_body_modes
from rheotwin.fem.steppers.quasi_static import channel_step
from rheotwin.fem.steppers.scheme import ChannelStep
from rheotwin.materials import Channel
from rheotwin.materials.law import Law

Array = NDArray[np.float64]

TOLERANCE = 1e-8
"""Residual over load at which a step's iteration stops: forces to eight digits."""


@dataclass(frozen=True)
class _Region:
    """The elements of one law, with nodes numbered within the region."""

    tets: TetGeometry
    edge: TetGeometry
    """Those elements that have held components: they pass prescribed motion on, and feel reactions."""
    nodes: NDArray[np.int64]
    channels: tuple[Channel, Channel]
    """Bulk and shear."""
    steps: tuple[ChannelStep, ChannelStep]
    memories: tuple[Array, Array]
    """w (arms, nodes, 3) [Pa m] per channel; written in place."""

    @property
    def remembers(self) -> bool:
        """Tell whether past motion acts on the next step: elastic regions forget it."""
        return any(len(step.gain) or channel.viscosity for step, channel in zip(self.steps, self.channels, strict=True))

    def past(self, which: int, u: Array) -> Array:
        """Return (g_inf - kappa) u + sum d w of one channel on the region's nodes."""
        step = self.steps[which]
        past = (step.on_displacement - step.stiffness) * u
        for decay, memory in zip(step.on_memory, self.memories[which], strict=True):
            past += decay * memory  # not by a BLAS product, which would start threads for it
        return np.asarray(past)

    def state(self, which: int, u: Array, rate: Array) -> Array:
        """Return s = g_inf u + sum w + eta u' of one channel."""
        channel = self.channels[which]
        state: Array = channel.equilibrium * u + self.memories[which].sum(axis=0) + channel.viscosity * rate
        return state

    def remember(self, du: Array) -> None:
        """Advance the internal variables."""
        for step, memory in zip(self.steps, self.memories, strict=True):
            for arm, (decay, gain) in enumerate(zip(step.decay, step.gain, strict=True)):
                memory[arm] *= decay
                memory[arm] += gain * du


class QuasiStaticTets:
    """A body of linear tetrahedra on its quasi-static way; node vectors are (N, 3)."""

    def __init__(
        self,
        points: Array,
        corners: NDArray[Any],
        regions: Sequence[tuple[NDArray[Any], Law]],
        held: NDArray[np.bool_],
        step: float,
        *,
        tolerance: float = TOLERANCE,
    ) -> None:
        """Assemble and set up the solver.

        `points` (N, 3) [m], `corners` (M, 4); every region is a mask or the numbers of its elements, and a law; held
        (N, 3) marks prescribed components; `step` [s].
        """
        points = np.ascontiguousarray(points, dtype=float)
        self._h, self._held = step, held
        self._active = np.flatnonzero(~held.all(axis=1))
        if not len(self._active):
            raise RheotwinError("supports: every node is held, so there is nothing to solve for; free some nodes")
        self._regions, matrix = _assemble(points, np.asarray(corners), regions, held, self._active, step)
        hold(matrix, held[self._active])
        self._solver = _Solver(matrix, points[self._active], held[self._active], tolerance)
        self.displacement: Array = np.zeros_like(points)
        """u [m]."""
        self.rate: Array = np.zeros_like(points)
        """Mean velocity [m/s] of the last step."""

    @property
    def unknowns(self) -> int:
        """Number of free components."""
        return int(self._held.size - np.count_nonzero(self._held))

    def statistics(self) -> dict[str, Any]:
        """Return the solver's name and its iterations so far."""
        return {"linear_solver": self._solver.name, "iterations": self._solver.iterations}

    def step(self, prescribed: Array, load: Array | None = None) -> None:
        """Take one step to held displacements `prescribed` (N, 3) [m] and nodal forces `load` (N, 3) [N] at its end."""
        target = np.where(self._held, prescribed, 0.0)
        force = np.zeros_like(target)
        for region in self._regions:
            before, driven = self.displacement[region.nodes], target[region.nodes]
            out = np.zeros_like(before)
            if region.remembers:
                add_tet_forces(region.tets, region.past(0, before), region.past(1, before), out)
            bulk, shear = region.steps
            add_tet_forces(region.edge, bulk.stiffness * driven, shear.stiffness * driven, out)
            force[region.nodes] -= out
        if load is not None:
            force += load
        right = np.where(self._held, 0.0, force)[self._active]
        after = target
        after[self._active] += self._solver.solve(right.ravel()).reshape(-1, 3)
        change = after - self.displacement
        for region in self._regions:
            region.remember(change[region.nodes])
        self.displacement, self.rate = after, change / self._h

    def reactions(self) -> Array:
        """Return the forces (N, 3) [N] that hold the held components; zero on free ones."""
        force = np.zeros_like(self.displacement)
        for region in self._regions:
            u, rate = self.displacement[region.nodes], self.rate[region.nodes]
            out = np.zeros_like(u)
            add_tet_forces(region.edge, region.state(0, u, rate), region.state(1, u, rate), out)
            force[region.nodes] += out
        return np.where(self._held, force, 0.0)

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        state = {"displacement": self.displacement, "rate": self.rate, "solutions": self._solver.save()}
        for number, region in enumerate(self._regions):
            state |= {f"memory_{number}_{which}": memory for which, memory in enumerate(region.memories)}
        return {name: np.array(array) for name, array in state.items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        self.displacement, self.rate = np.array(state["displacement"]), np.array(state["rate"])
        self._solver.restore(state["solutions"])
        for number, region in enumerate(self._regions):
            for which, memory in enumerate(region.memories):
                memory[...] = state[f"memory_{number}_{which}"]


class _Solver:
    """Multigrid with a warm start where pyamg is installed, else a factor of the same matrix."""

    def __init__(self, matrix: BlockRows, points: Array, held: NDArray[np.bool_], tolerance: float) -> None:
        self.iterations = 0
        self._warm = WarmStart(matrix)
        if multigrid.installed():
            modes = rigid_body_modes(points)
            modes[held.ravel()] = 0.0
            self.name = "amg"
            self._multigrid: Multigrid | None = Multigrid.of(matrix, modes, tolerance)
        else:
            self._multigrid = None
            self._factor = factorise(matrix.to_sparse().tocsr())
            self.name = self._factor.solver

    def solve(self, right: Array) -> Array:
        """Solve for one right-hand side."""
        if self._multigrid is None:
            return self._factor.solve(right)
        outcome = self._multigrid.solve(right, self._warm.guess(right))
        self._warm.remember(outcome.solution)
        self.iterations += outcome.iterations
        return outcome.solution

    def save(self) -> Array:
        """Return the solutions a warm start needs."""
        return self._warm.save()

    def restore(self, solutions: Array) -> None:
        """Take over saved solutions."""
        self._warm.restore(solutions)


def _assemble(
    points: Array,
    corners: NDArray[Any],
    regions: Sequence[tuple[NDArray[Any], Law]],
    held: NDArray[np.bool_],
    active: NDArray[np.int64],
    h: float,
) -> tuple[list[_Region], BlockRows]:
    """Return the regions and the matrix sum kappa_X J_X on the active nodes."""
    members = [np.arange(len(corners))[elements] for elements, _ in regions]
    if not np.array_equal(np.sort(np.concatenate(members)), np.arange(len(corners))):
        raise RheotwinError("regions: they must hold every tetrahedron exactly once; give the rest a law of its own")
    tets = tet_geometry(points, corners[np.concatenate(members)])
    row = np.full(len(points), DROPPED, dtype=np.int32)
    row[active] = np.arange(len(active), dtype=np.int32)
    lame, shear = np.empty(len(corners)), np.empty(len(corners))
    prepared, first = [], 0
    for elements, (_, law) in zip(members, regions, strict=True):
        rows = slice(first, first + len(elements))
        region = _region(tets.subset(rows), law, held, h)
        bulk, shear[rows] = (step.stiffness for step in region.steps)
        lame[rows] = bulk - 2.0 / 3.0 * shear[rows]
        prepared.append(region)
        first = rows.stop
    matrix = stiffness(block_pattern(row[tets.corners], len(active)), tets, lame, shear)
    return prepared, matrix


def _region(tets: TetGeometry, law: Law, held: NDArray[np.bool_], h: float) -> _Region:
    """Number the nodes of a region and prepare its channels for step `h` [s]."""
    present = np.zeros(len(held), dtype=bool)
    present[tets.corners] = True
    nodes = np.flatnonzero(present)
    local = np.zeros(len(held), dtype=np.int32)
    local[nodes] = np.arange(len(nodes), dtype=np.int32)
    own = TetGeometry(tets.gradients, tets.volumes, local[tets.corners])
    channels = law.channel("bulk"), law.channel("shear")
    bulk, shear = (np.zeros((len(channel.times), len(nodes), 3)) for channel in channels)
    touched: NDArray[np.bool_] = np.any(held, axis=1)
    edge = own.subset(np.any(touched[tets.corners], axis=1))
    return _Region(
        own, edge, nodes, channels, (channel_step(channels[0], h), channel_step(channels[1], h)), (bulk, shear)
    )
