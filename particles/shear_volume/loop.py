"""The compiled time loop of `shear-volume`: that of `particles.steppers.semi_implicit` with other elements.

One step, in the order that keeps the scheme stable at any relaxation time:

    (a)  arms advance to where the last step has led, exact for its constant rates; forces of elements
    (b)  v += h F / m,   then held components and contact; with patches that keep their volume their pressures too
    (c)  x += h v

Elements may be much stiffer than at rest, squeezed ones above all: where they say so the step is divided, before it is
taken, into equal halves, quarters ... of which each is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.node_loops import drift
from rheotwin.particles.shear_volume.forces import PARTS, Forces, element_stages
from rheotwin.particles.shear_volume.volume_step import foreseen_pressure, kept_volumes
from rheotwin.particles.steps import Surroundings

FINEST = 1024
"""Most parts of a step."""
LONGEST = 4.0
"""How many times as long as this part the last one counts at most: after a shock it tells nothing."""


@compiled
def _begin(done: Indices) -> None:
    """Nothing of the step is done yet."""
    done[0] = 0


@compiled
def _look(clock: Array, h: float, done: Indices, parts: Array) -> None:
    """Let the clock show what is done of the step of `h` [s]; no element has said how stiff it is there."""
    clock[0] = (clock[3] + done[0] / FINEST) * h
    for kind in range(parts.shape[0]):
        parts[kind] = 0.0


@compiled
def _divide(clock: Array, h: float, done: Indices, parts: Array, last: Array, before: Array) -> None:
    """Let the clock show the next part of the step: the largest power of two, in FINEST parts, that is short enough.

    What is left divides into such parts. `before` (1,) becomes the length of the part before [s].
    """
    size, most = FINEST - done[0], 0.0
    for kind in range(parts.shape[0]):
        most = max(most, parts[kind])
    if most > 1.0 or done[0] > 0:
        size = FINEST
        while size > 1 and (size * most > FINEST or done[0] % size != 0):
            size //= 2
    before[0] = last[0] if last[0] > 0.0 else h
    done[0] += size
    clock[1] = h * (size / FINEST)
    clock[2] = (clock[3] + done[0] / FINEST) * h


@compiled
def _stagger(mass: Array, velocities: Array, force: Array, before: float, part: float) -> None:
    """Bring velocities from the middle of the last part [s] to where the next one expects them.

    Velocities lag half a step behind positions. Steps get shorter as elements are squeezed and longer as they spring
    back: taken over as they are, velocities gain energy both times.
    """
    lag = 0.5 * (min(before, LONGEST * part) - part)
    if lag != 0.0:
        for node in range(len(mass)):
            for c in range(3):
                velocities[node, c] += lag / mass[node] * force[node, c]


@compiled
def _end(done: Indices, h: float, part: float, last: Array, divided: Indices, back: int) -> int:
    """Note the part of the step that is over; jump back to the look at the next one unless it was the last."""
    last[0] = 0.0 if part == h else part
    if done[0] < FINEST:
        return back
    divided[0] += 1 if part < h else 0
    return 0


def shear_volume_steps(forces: Forces, pressure: Any, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state, clock, nodes = around.state, around.clock, around.boundary.nodes
    x, v, force = state.positions, state.velocities, state.force
    done, parts, before = np.zeros(1, np.int64), np.zeros(PARTS), np.zeros(1)
    stages = [
        Stage(_look, (clock.values, h, done, parts)),
        *around.begin_forces(),
        *element_stages(forces, state, x, v, state.part, force, parts),
        Stage(_divide, (clock.values, h, done, parts, state.part, before)),
    ]
    if not any(group.viscous for group in forces.groups.values()):
        stages += [Stage(_stagger, (nodes.mass, v, force, Now(before), STEP))]
    stages += [
        *([] if pressure is None else foreseen_pressure(pressure, around, before)),
        *around.kick(),
        *([] if pressure is None else kept_volumes(pressure, around)),
        Stage(drift, (v, STEP, x)),
    ]
    end = Stage(_end, (done, h, STEP, state.part, state.divided, -1 - len(stages)))
    return around.bind([Stage(_begin, (done,)), *stages, end, *around.last_look()], h)
