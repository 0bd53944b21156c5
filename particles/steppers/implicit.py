"""Linearly implicit Euler: forces at the end of the step, linear in the velocities there; order 1, stable at any step.

    (M + h C') v' = M v + h (F_outside(t') + F0),      x' = x + h v'

F0 and C' are those of `tangent`. The matrix is never formed: conjugate gradients on the elements, with the masses as
preconditioner. Starting from the old velocities, every iterate then has the momentum and the angular momentum of the
exact solution. Forces that keep the shape are taken at the start of the step, as an explicit rule does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.all_forces import Forces, force_stages
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.node_loops import begin_forces, drift
from rheotwin.particles.state import State
from rheotwin.particles.steppers.first_order import clear
from rheotwin.particles.steppers.tangent import (
    Tangent,
    add_rate_forces,
    end_arms,
    new_tangent,
    start_cells,
    start_edges,
)
from rheotwin.particles.steppers.touching import (
    Stops,
    add_stop_forces,
    begin_stops,
    no_stops,
    project,
    update_stops,
)
from rheotwin.particles.steps import Surroundings

Array = NDArray[np.float64]

SMALL = 1e-8
"""Residual, relative to that of the velocities to start from, at which those of a step count as found."""
NEGLIGIBLE = 1e-10
"""Residual, relative to the momenta and tensions that cancel in it, below which nothing is left to find."""
ROUNDS = 30
"""Most rounds of a step in which nodes are stopped by tools; the first half may also let go."""


class Solve(NamedTuple):
    """Scratch of the linear system, all (N, 3): right-hand side, residual, direction, its image."""

    wanted: Array
    residual: Array
    direction: Array
    image: Array


@compiled
def _residual(
    edges: Elements, cells: Elements, tangent: Tangent, mass: Array, solve: Solve, v: Array, h: float
) -> None:
    """Put b - A v into `solve.residual`."""
    for node in range(v.shape[0]):
        for c in range(3):
            solve.residual[node, c] = solve.wanted[node, c] - mass[node] * v[node, c]
    add_rate_forces(edges, cells, tangent, v, h, solve.residual)


@compiled
def _norm(vectors: Array, mass: Array) -> float:
    """Return r . M^-1 r."""
    total = 0.0
    for node in range(vectors.shape[0]):
        for c in range(3):
            total += vectors[node, c] * vectors[node, c] / mass[node]
    return total


@compiled
def _conjugate_gradients(
    edges: Elements, cells: Elements, tangent: Tangent, mass: Array, free: Array, stops: Stops, solve: Solve, v: Array,
    h: float, floor: float,
) -> int:  # fmt: skip
    """Improve the velocities `v` until the free residual is small (r . M^-1 r below `floor`); return the iterations."""
    residual, direction, image = solve.residual, solve.direction, solve.image
    _residual(edges, cells, tangent, mass, solve, v, h)
    project(stops, free, residual)
    rho = _norm(residual, mass)
    target = max(SMALL * SMALL * rho, floor)
    for node in range(v.shape[0]):
        for c in range(3):
            direction[node, c] = residual[node, c] / mass[node]
    most: int = 3 * v.shape[0] + 100
    for iteration in range(most):
        if not rho > target:
            return iteration
        image[:] = 0.0
        add_rate_forces(edges, cells, tangent, direction, -h, image)
        energy = 0.0
        for node in range(v.shape[0]):
            for c in range(3):
                image[node, c] += mass[node] * direction[node, c]
        project(stops, free, image)
        for node in range(v.shape[0]):
            for c in range(3):
                energy += direction[node, c] * image[node, c]
        along = rho / energy
        for node in range(v.shape[0]):
            for c in range(3):
                v[node, c] += along * direction[node, c]
                residual[node, c] -= along * image[node, c]
        before = rho
        rho = _norm(residual, mass)
        for node in range(v.shape[0]):
            for c in range(3):
                direction[node, c] = residual[node, c] / mass[node] + rho / before * direction[node, c]
    return most


@compiled(allocates=True)
def _floor(tangent: Tangent, edges: int, state: State, mass: Array, h: float) -> float:
    """Return the square norm below which a residual is negligible beside momenta and tensions."""
    total = 0.0
    for node in range(mass.shape[0]):
        for c in range(3):
            total += mass[node] * state.velocities[node, c] ** 2
    lightest = mass.min()
    for edge in range(edges):
        total += 2.0 * (h * tangent.tension[edge]) ** 2 / lightest
    for cell in range(tangent.pull.shape[0]):
        total += np.sum((h * tangent.pull[cell] * tangent.gradient[cell]) ** 2) / lightest
    return NEGLIGIBLE * NEGLIGIBLE * total


@compiled
def _aim(mass: Array, v: Array, force: Array, h: float, wanted: Array) -> None:
    """Put M v + h F, the right-hand side, into `wanted`."""
    for node in range(v.shape[0]):
        for c in range(3):
            wanted[node, c] = mass[node] * v[node, c] + h * force[node, c]


@compiled
def _solve(
    edges: Elements, cells: Elements, tangent: Tangent, boundary: Boundary, stops: Stops, solve: Solve, state: State,
    h: float, floor: float, work: Array,
) -> None:  # fmt: skip
    """Find the velocities at the end of the step, and which nodes tools stop; `work` (1,) counts iterations."""
    nodes, v = boundary.nodes, state.velocities
    touchable = boundary.tools.candidate.shape[0] > 0
    for turn in range(ROUNDS):
        work[0] += _conjugate_gradients(edges, cells, tangent, nodes.mass, nodes.free, stops, solve, v, h, floor)
        _residual(edges, cells, tangent, nodes.mass, solve, v, h)
        if not (touchable and update_stops(stops, boundary, state, solve.residual, h, turn < ROUNDS // 2)):
            break


def implicit_steps(
    forces: Forces, others: Forces, around: Surroundings, h: float, work: Array
) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken.

    `forces` holds edges and cells, `others` all kinds but these; `work` (1,) counts iterations.
    """
    boundary, state, end = around.boundary, around.state, around.clock.end
    nodes, x, v, force = boundary.nodes, state.positions, state.velocities, state.force
    edges, cells = forces.edges, forces.cells
    tangent, stops = new_tangent(edges, cells, h), no_stops(boundary)
    solve, floor = Solve(*(np.empty_like(x) for _ in range(4))), np.zeros(1)
    stages = [
        Stage(begin_forces, (nodes.weight, force)),
        *around.loads(end),
        *force_stages(others, state),
        Stage(start_edges, (edges, tangent, nodes, state, STEP, force)),
        Stage(start_cells, (cells, tangent, state, force)),
        Stage(_floor, (tangent, len(edges.rest), state, nodes.mass, STEP), into=floor),
        Stage(_aim, (nodes.mass, v, force, STEP, solve.wanted)),
        *around.hold(),
        Stage(clear, (state.reaction,)),
        Stage(begin_stops, (stops, boundary, state, end, STEP)),
        Stage(_solve, (edges, cells, tangent, boundary, stops, solve, state, STEP, Now(floor), work)),
        Stage(end_arms, (edges, cells, tangent, state)),
        *around.contact(),
        Stage(add_stop_forces, (stops, boundary, state, solve.residual, STEP)),
        Stage(drift, (v, STEP, x)),
        *around.last_look(),
    ]
    return around.bind(stages, h)
