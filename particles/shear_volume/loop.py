"""The compiled time loop of `shear-volume`: that of `particles.kernel` with other elements.

One step, in the order that keeps the scheme stable at any relaxation time:

    (a)  arms advance to where the last step has led, exact for its constant rates; forces of elements
    (b)  v += h F / m,   then held components and contact; with patches that keep their volume their pressures too
    (c)  x += h v

Elements may be much stiffer than at rest, squeezed ones above all: where they say so the step is divided, before it is
taken, into equal halves, quarters ... of which each is looked at again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, apply_loads, room_for_contact
from rheotwin.particles.exact_tools import Push
from rheotwin.particles.kernel import CHECK_EVERY, move, runs_away
from rheotwin.particles.node_loops import begin_forces
from rheotwin.particles.shear_volume.forces import Forces, add_element_forces
from rheotwin.particles.shear_volume.incompressible.step import close_step
from rheotwin.particles.shear_volume.state import State

Array = NDArray[np.float64]

FINEST = 1024
"""Most parts of a step."""
LONGEST = 4.0
"""How many times as long as this part the last one counts at most: after a shock it tells nothing."""


@compiled(inside=True, spliced=True)
def _step(
    step: int, h: float, viscous: bool, forces: Forces, pressure: Any, push: Push, state: State, boundary: Boundary
) -> None:  # fmt: skip
    force, done = state.force, 0
    while done < FINEST:
        begin_forces(boundary.nodes.weight, force)
        apply_loads(boundary.loads, (step + done / FINEST) * h, force)
        parts = add_element_forces(forces, state, state.positions, state.velocities, state.part[0], force)
        size = FINEST - done
        if parts > 1.0 or done > 0:
            size = _part(parts, done)
        part, before = h * (size / FINEST), state.part[0] if state.part[0] > 0.0 else h
        done += size
        if not viscous:
            _stagger(boundary.nodes.mass, state, before, part)
        _close(pressure, push, state, boundary, (step + done / FINEST) * h, before, part)
        state.part[0] = 0.0 if size == FINEST else part
        state.divided[0] += 1 if done == FINEST and size < FINEST else 0


@compiled(inside=True, spliced=True)
def _stagger(mass: Array, state: State, before: float, part: float) -> None:
    """Bring velocities from the middle of the last part [s] to where the next one expects them.

    Velocities lag half a step behind positions. Steps get shorter as elements are squeezed and longer as they spring
    back: taken over as they are, velocities gain energy both times.
    """
    lag = 0.5 * (min(before, LONGEST * part) - part)
    if lag != 0.0:
        for node in range(len(mass)):
            for c in range(3):
                state.velocities[node, c] += lag / mass[node] * state.force[node, c]


@compiled(inside=True, spliced=True)
def _part(parts: float, done: int) -> int:
    """Return the largest power of two, in FINEST parts, that is short enough and that what is left divides into."""
    size = FINEST
    while size > 1 and (size * parts > FINEST or done % size != 0):
        size //= 2
    return size


@compiled(inside=True, allocates=True)
def _close_keeping_volumes(
    pressure: Any, push: Push, state: Any, boundary: Boundary, end: float, before: float, h: float
) -> None:  # fmt: skip
    close_step(pressure, push, state, boundary, end, before, h)


@compiled(inside=True)
def _close(
    pressure: Any, push: Push, state: Any, boundary: Boundary, end: float, before: float, h: float
) -> None:  # fmt: skip
    # Compiled for either type of `pressure`, with only that branch; `state` has the fields every loop of particles has.
    if pressure is None:
        move(push, state, boundary, end, h)
    else:
        _close_keeping_volumes(pressure, push, state, boundary, end, before, h)


def advance(
    first: int, count: int, h: float, forces: Forces, pressure: Any, state: State, boundary: Boundary
) -> int:  # fmt: skip
    """Take `count` steps of `h` [s] from step number `first`; stop early when a node runs away. Returns steps taken."""
    return int(_take_steps(first, count, h, forces, pressure, state, boundary, room_for_contact(boundary)))


@compiled(nogil=True)
def _take_steps(
    first: int, count: int, h: float, forces: Forces, pressure: Any, state: State, boundary: Boundary, push: Push
) -> int:
    viscous = forces.cotangent.viscous or forces.neo_hooke.viscous or forces.tets.viscous
    for step in range(first, first + count):
        _step(step, h, viscous, forces, pressure, push, state, boundary)
        if step % CHECK_EVERY == 0 and runs_away(boundary.nodes, state.positions):
            return step + 1 - first
    return count
