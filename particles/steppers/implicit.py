"""Linearly implicit Euler: forces at the end of the step, linear in the velocities there; order 1, stable at any step.

    (M + h C') v' = M v + h (F_outside(t') + F0),      x' = x + h v'

F0 and C' are those of `tangent`. The matrix is never formed: conjugate gradients on the elements, with the masses as
preconditioner. Starting from the old velocities, every iterate then has the momentum and the angular momentum of the
exact solution. Forces that keep the shape are taken at the start of the step, as an explicit rule does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.lumped import late
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.all_forces import Forces, force_stages
from rheotwin.particles.state import begin_forces, drift
from rheotwin.particles.steppers.first_order import clear
from rheotwin.particles.steppers.tangent import arm_stages, new_tangent, rate_stages, tangent_stages
from rheotwin.particles.steppers.touching import add_stop_forces, no_stops, project, renewing_stages, stop_stages
from rheotwin.particles.steps import Surroundings

SMALL = 1e-8
"""Residual, relative to that of the velocities to start from, at which those of a step count as found."""
NEGLIGIBLE = 1e-10
"""Residual, relative to the momenta and tensions that cancel in it, below which nothing is left to find."""


class Solve(NamedTuple):
    """The linear system, vectors (N, 3): right-hand side, residual, direction, its image.

    `numbers`: r . M^-1 r, below which it is small enough, the iterations of this solve and of all.
    """

    wanted: Array
    residual: Array
    direction: Array
    image: Array
    numbers: Array


RHO, TARGET, TAKEN, WORK = range(4)
"""Places in `numbers`."""


@compiled(inside=True)
def _begin_residual(mass: Array, v: Array, wanted: Array, residual: Array) -> None:
    """Put b - M v into `residual`."""
    for node in range(v.shape[0]):
        for c in range(3):
            residual[node, c] = wanted[node, c] - mass[node] * v[node, c]


@compiled(inside=True)
def _norm(vectors: Array, mass: Array) -> float:
    """Return r . M^-1 r."""
    total = 0.0
    for node in range(vectors.shape[0]):
        for c in range(3):
            total += vectors[node, c] * vectors[node, c] / mass[node]
    return total


@compiled(inside=True)
def _begin_gradients(
    mass: Array, free: Array, contact: Indices, normal: Array, residual: Array, direction: Array, image: Array,
    numbers: Array, floor: float, ahead: int,
) -> int:  # fmt: skip
    """Start conjugate gradients until the free residual is small (r . M^-1 r below `floor`), or skip them."""
    project(contact, normal, free, residual)
    numbers[RHO] = _norm(residual, mass)
    numbers[TARGET], numbers[TAKEN] = max(SMALL * SMALL * numbers[RHO], floor), 0.0
    for node in range(mass.shape[0]):
        for c in range(3):
            direction[node, c] = residual[node, c] / mass[node]
            image[node, c] = 0.0
    return 0 if numbers[RHO] > numbers[TARGET] else ahead


@compiled(inside=True)
def _improve(
    mass: Array, free: Array, contact: Indices, normal: Array, residual: Array, direction: Array, image: Array,
    numbers: Array, v: Array, back: int,
) -> int:  # fmt: skip
    """Improve velocities along the direction, whose `image` has the forces of elements; go back until it suffices."""
    energy, count = 0.0, v.shape[0]
    for node in range(count):
        for c in range(3):
            image[node, c] += mass[node] * direction[node, c]
    project(contact, normal, free, image)
    for node in range(count):
        for c in range(3):
            energy += direction[node, c] * image[node, c]
    along, before = numbers[RHO] / energy, numbers[RHO]
    for node in range(count):
        for c in range(3):
            v[node, c] += along * direction[node, c]
            residual[node, c] -= along * image[node, c]
    numbers[RHO] = _norm(residual, mass)
    for node in range(count):
        for c in range(3):
            direction[node, c] = residual[node, c] / mass[node] + numbers[RHO] / before * direction[node, c]
            image[node, c] = 0.0
    numbers[TAKEN] += 1.0
    numbers[WORK] += 1.0
    return -back if numbers[RHO] > numbers[TARGET] and numbers[TAKEN] < 3 * count + 100 else 0


@compiled(inside=True)
def _floor(tension: Array, pull: Array, gradient: Array, v: Array, mass: Array, h: float) -> float:
    """Return the square norm below which a residual is negligible beside momenta and tensions."""
    total, lightest, corners = 0.0, mass[0], gradient.shape[1]
    for node in range(mass.shape[0]):
        lightest = min(lightest, mass[node])
        for c in range(3):
            total += mass[node] * v[node, c] ** 2
    for edge in range(tension.shape[0]):
        total += 2.0 * (h * tension[edge]) ** 2 / lightest
    for cell in range(pull.shape[0]):
        for corner in range(corners):
            for c in range(3):
                total += (h * pull[cell] * gradient[cell, corner, c]) ** 2 / lightest
    return NEGLIGIBLE * NEGLIGIBLE * total


@compiled(inside=True)
def _aim(mass: Array, v: Array, force: Array, h: float, wanted: Array) -> None:
    """Put M v + h F, the right-hand side, into `wanted`."""
    for node in range(v.shape[0]):
        for c in range(3):
            wanted[node, c] = mass[node] * v[node, c] + h * force[node, c]


def implicit_steps(
    forces: Forces, others: Forces, around: Surroundings, h: float, work: Array
) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken.

    `forces` holds edges and cells, `others` all kinds but these; `work` (1,) counts iterations.
    """
    boundary, state, end = around.boundary, around.state, around.clock.end
    nodes, x, v, force = boundary.nodes, state.positions, state.velocities, state.force
    tangent, stops, turn = new_tangent(forces.edges, forces.cells, h), no_stops(boundary), np.zeros(2, np.int64)
    numbers = np.zeros(WORK + 1)
    wanted, rest, direction, image_of = (np.empty_like(x) for _ in range(4))
    solve, floor = Solve(wanted, rest, direction, image_of, numbers), np.zeros(1)

    def exerted(velocities: Array, factor: Any, out: Array) -> list[Stage]:
        return rate_stages(forces.edges, forces.cells, tangent, velocities, factor, out)

    residual = [
        Stage(_begin_residual, (nodes.mass, v, solve.wanted, solve.residual)),
        *exerted(v, STEP, solve.residual),
    ]
    system = (nodes.mass, nodes.free, stops.contact, stops.normal, *solve[1:])
    image = exerted(solve.direction, float(-h), solve.image)
    improve = [*image, Stage(_improve, (*system, v, len(image) + 1))]
    solving = [*residual, Stage(_begin_gradients, (*system, Now(floor), len(improve))), *improve, *residual]
    held, entering = boundary.held, (x, v, STEP, late(boundary.contact), state.reaction)
    stages = [
        Stage(begin_forces, (nodes.weight, force)),
        *around.loads(end),
        *force_stages(others, state),
        *tangent_stages(forces.edges, forces.cells, tangent, nodes, state, force),
        Stage(_floor, (tangent.tension, tangent.pull, tangent.gradient, v, nodes.mass, STEP), into=floor),
        Stage(_aim, (nodes.mass, v, force, STEP, solve.wanted)),
        *around.hold(),
        Stage(clear, (state.reaction,)),
        *stop_stages(stops, boundary, state, end, turn),
        *solving,
        *renewing_stages(stops, boundary, state, solve.residual, turn, len(solving)),
        *arm_stages(forces.edges, forces.cells, tangent, state),
        *around.contact(),
        Stage(add_stop_forces, (stops, nodes.free, held.node, held.component, solve.residual, *entering)),
        Stage(drift, (v, STEP, x)),
        *around.last_look(),
    ]
    steps = around.bind(stages, h)

    def take(first: int, count: int) -> int:
        taken = steps(first, count)
        work[0] = numbers[WORK]
        return taken

    return take
