"""The classical Runge-Kutta rule, the papers' rule for accuracy; order 4 between changes of loads and contacts.

y <- y + h (s1 + 2 s2 + 2 s3 + s4)/6
s1 = y'(t, y),   s2 = y'(t + h/2, y + h/2 s1),   s3 = y'(t + h/2, y + h/2 s2),   s4 = y'(t + h, y + h s3)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.stage import Stage
from rheotwin.particles.constrained import note_reactions
from rheotwin.particles.steppers.first_order import (
    System,
    accelerate,
    add_weighted,
    arms_of,
    clear,
    combine,
    copy,
    empty_slopes,
    finish_stages,
    set_time,
    slope_stages,
)
from rheotwin.particles.steps import Surroundings

WHEN = (0.0, 0.5, 0.5, 1.0)
"""Where in the step each slope is taken."""
WEIGHT = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
"""What each slope counts."""


def rk4_steps(system: System, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state, nodes = around.state, around.boundary.nodes
    x, v, forces = state.positions, state.velocities, state.multipliers[None, :]
    slopes, mean, start = (empty_slopes(state) for _ in range(3))
    x0, v0, speed, exerted = np.zeros_like(x), np.zeros_like(v), np.zeros_like(v), np.zeros_like(forces)
    begin = [(x, x0), (v, v0), *zip(arms_of(state), arms_of(start), strict=True)]
    sums = [(v, speed), (slopes.force, mean.force), *zip(arms_of(slopes), arms_of(mean), strict=True)]
    sums += [(forces, exerted)] if forces.size else []
    arms = list(zip(arms_of(start), arms_of(slopes), arms_of(mean), arms_of(state), strict=True))
    stages = [*around.hold(), *(Stage(copy, pair) for pair in begin)]
    stages += [Stage(clear, (total,)) for _, total in sums]
    for k in range(4):
        stages += [Stage(set_time, (around.clock.values, WHEN[k]))]
        stages += slope_stages(system, around, slopes, after=k < 3)
        stages += [Stage(add_weighted, (slope, WEIGHT[k], total)) for slope, total in sums]
        if k < 3:
            part = WHEN[k + 1]
            stages += [
                Stage(combine, (x0, v, part, STEP, x)),
                Stage(accelerate, (v, v0, slopes.force, nodes, part, STEP)),
                *(Stage(combine, (first, rate, part, STEP, arm)) for first, rate, _, arm in arms),
            ]
    stages += [
        Stage(combine, (x0, speed, 1.0, STEP, x)),
        Stage(accelerate, (v, v0, mean.force, nodes, 1.0, STEP)),
        *(Stage(combine, (first, rate, 1.0, STEP, arm)) for first, _, rate, arm in arms),
    ]
    if forces.size:  # what supports and links exert over the step, as the mean force is
        stages += [Stage(copy, (exerted, forces)), Stage(note_reactions, (system.forces.constraints, state))]
    return around.bind([*stages, *finish_stages(around, mean.force)], h)
