"""Neo-Hookean bodies in explicit steps: the loop of `explicit_loop` with the forces of `neo_hookean`.

    v <- v + h M^-1 (f(t) + f_int(u)),  then supports and contact,      u <- u + h v

Order 2; large rotations and strains. The stable step is that of the body at rest: leave a margin for elements that
are squeezed, whose lowest height bounds the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.assembly import block_pattern, stiffness, tet_geometry
from rheotwin.fem.fast.explicit_boundary import hold, keep_outside, load_nodes
from rheotwin.fem.fast.explicit_packing import Boundary, Outside, no_outside
from rheotwin.fem.fast.explicit_stability import largest_eigenvalue, stable_step_of
from rheotwin.fem.fast.neo_hookean import CHUNK, NeoHookeanTets, add_forces, add_forces_in_parts
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int32]


class Body(NamedTuple):
    """Constant arrays of the loop: corners and constants of the elements, 1/mass per component [1/kg]."""

    corners: Integers
    constants: Array
    inverse_mass: Array


class Flight(NamedTuple):
    """What a step changes: u, v, internal force (N 3,); and scratch (parts, 2, 9 CHUNK), (parts, N 3).

    The velocity stands half a step back (at the start: at t = 0).
    """

    displacement: Array
    velocity: Array
    force: Array
    scratch: Array
    private: Array


@compiled(contract=True, nogil=True)
def _kick(v: Array, external: Array, force: Array, inverse_mass: Array, kick: float) -> None:
    for q in range(v.size):
        v[q] += kick * inverse_mass[q] * (external[q] + force[q])


@compiled(contract=True, nogil=True)
def _drift(u: Array, v: Array, h: float, runaway: float) -> bool:
    """u <- u + h v; tell whether every component is still within the runaway distance."""
    within = True
    for q in range(u.size):
        u[q] += h * v[q]
        within &= np.abs(u[q]) <= runaway
    return within


@compiled(nogil=True)
def advance(
    first: int, count: int, h: float, body: Body, flight: Flight, boundary: Boundary, outside: Outside
) -> tuple[int, int]:
    """Take `count` steps from step number `first`; return steps taken and elements found inside out.

    Stops before the step that would use an inverted element, and after one in which a node ran away.
    """
    u, v, force = flight.displacement, flight.velocity, flight.force
    for step in range(first, first + count):
        end, kick = (step + 1) * h, h if step > 0 else 0.5 * h
        load_nodes(boundary, outside, step * h)
        force[:] = 0.0
        inverted = add_forces(body.corners, body.constants, u, flight.scratch[0], force)
        if inverted:
            return step - first, inverted
        _kick(v, outside.external, force, body.inverse_mass, kick)
        hold(boundary, outside, u, v, end, h, kick)
        keep_outside(boundary, outside, u, v, end, h, kick)
        if not _drift(u, v, h, boundary.nodes.runaway):
            return step + 1 - first, 0
    return count, 0


@compiled
def advance_in_parts(
    first: int, count: int, h: float, body: Body, flight: Flight, boundary: Boundary, outside: Outside
) -> tuple[int, int]:
    """As `advance`, the elements shared out over as many threads as there are private forces."""
    u, v, force = flight.displacement, flight.velocity, flight.force
    for step in range(first, first + count):
        end, kick = (step + 1) * h, h if step > 0 else 0.5 * h
        load_nodes(boundary, outside, step * h)
        force[:] = 0.0
        inverted = add_forces_in_parts(body.corners, body.constants, u, flight.scratch, flight.private, force)
        if inverted:
            return step - first, inverted
        _kick(v, outside.external, force, body.inverse_mass, kick)
        hold(boundary, outside, u, v, end, h, kick)
        keep_outside(boundary, outside, u, v, end, h, kick)
        if not _drift(u, v, h, boundary.nodes.runaway):
            return step + 1 - first, 0
    return count, 0


@dataclass(frozen=True)
class NeoHookeanModel:
    """Elastic tetrahedra prepared for explicit steps of one size `step` [s]."""

    step: float
    stable_step: float
    tets: NeoHookeanTets
    boundary: Boundary

    @classmethod
    def build(cls, boundary: Boundary, tets: NeoHookeanTets, step: float) -> NeoHookeanModel:
        """Prepare elements whose points are the boundary's nodes."""
        return cls(step, _stable_step(boundary, tets), tets, boundary)

    @cached_property
    def body(self) -> Body:
        """The arrays of the loop."""
        return Body(self.tets.corners, self.tets.constants, 1.0 / self.boundary.nodes.mass)

    def start(self, velocity: Array | None = None, *, threads: int = 1) -> tuple[Flight, Outside]:
        """Return the state at t = 0, undeformed, with flat velocity (N 3,) [m/s] (default: at rest)."""
        size = self.boundary.nodes.rest.size
        flight = Flight(
            displacement=np.zeros(size),
            velocity=np.zeros(size) if velocity is None else np.array(velocity, dtype=float),
            force=np.zeros(size),
            scratch=np.zeros((threads, 2, 9 * CHUNK)),
            private=np.zeros((threads, size if threads > 1 else 0)),
        )
        return flight, no_outside(self.boundary)

    def advance(self, state: tuple[Flight, Outside], first: int, count: int) -> int:
        """Take `count` steps from step number `first` in place; return steps taken, fewer if a node ran away.

        An element turned inside out is a fault that is named; the state is the last good one.
        """
        flight, outside = state
        loop = advance if len(flight.scratch) == 1 else advance_in_parts
        taken, inverted = loop(first, count, self.step, self.body, flight, self.boundary, outside)
        if inverted:
            time = (first + taken) * self.step
            raise RheotwinError(f"t = {time:.6g} s: {self.tets.inverted(flight.displacement)}")
        return int(taken)


def _stable_step(boundary: Boundary, tets: NeoHookeanTets) -> float:
    """Return the largest stable step [s] of the undeformed body: linear elements with lambda = K - 2 mu/3."""
    corners = tets.corners[: tets.count]
    geometry = tet_geometry(tets.points, corners)
    shear, bulk = tets.rows[:, 9] / geometry.volumes, tets.rows[:, 10] / geometry.volumes
    matrix = stiffness(block_pattern(corners, len(tets.points)), geometry, bulk - (2.0 / 3.0) * shear, shear)
    return stable_step_of(largest_eigenvalue(matrix.to_sparse().tocsr(), boundary.nodes.mass, 3), 0.0)
