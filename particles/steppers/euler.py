"""Explicit Euler, the papers' rule for speed: every slope is taken at the start of the step; order 1.

y <- y + h y'(t, y),      y = (x, v, z)
"""

from __future__ import annotations

from collections.abc import Callable

from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.stage import Stage
from rheotwin.particles.steppers.first_order import (
    System,
    accelerate,
    arms_of,
    combine,
    empty_slopes,
    finish_stages,
    slope_stages,
)
from rheotwin.particles.steps import Surroundings


def euler_steps(system: System, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state, slopes = around.state, empty_slopes(around.state)
    x, v = state.positions, state.velocities
    arms = zip(arms_of(state), arms_of(slopes), strict=True)
    stages = [
        *around.hold(),
        *slope_stages(system, around, slopes, after=True),
        Stage(combine, (x, v, 1.0, STEP, x)),
        *(Stage(combine, (arm, rate, 1.0, STEP, arm)) for arm, rate in arms),
        Stage(accelerate, (v, v, slopes.force, around.boundary.nodes, 1.0, STEP)),
        *finish_stages(around, slopes.force),
    ]
    return around.bind(stages, h)
