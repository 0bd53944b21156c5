"""The normal force of a compliant contact law over one step, and where it meets what the bodies give way (spec 8).

    F = max(0, -K (g - o) - C g' - I J)   while g < cut,      J(t) = J0 + int g dt, at most 0

Rules balanced at mid-step take its mean along the straight path of the gap from g0 to g1: the work of the springs
is then the change of K <-g>^2/2 to rounding, also in steps in which contact begins or ends, so that a frictionless
bounce gains no energy; the mean is of order 2. Others take it at the share theta of the step.
"""

from __future__ import annotations

from typing import NamedTuple

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled

SPLITS = 200
"""Most evaluations in the search for one force; bisection alone would need 60."""


class Instant(NamedTuple):
    """When in a step of `step` [s] a law acts: its mean over the step, or at the share `share`."""

    step: float
    share: float
    mean: bool


HARD, SPRING, GIVEN = 0, 1, 2
"""Exact: no gap may close; compliant; or a normal force that is known already."""
KIND, STIFFNESS, DAMPING, INTEGRAL, PAST, LEVEL, CUT, START, KINETIC, STATIC, CREEP, SLID, NUMBERS = range(13)
"""Columns of the laws of the contacts of a step: one of the three above; K [N/m], C [N s/m], I [N/(m s)], 0 where J has
not begun; J0 [m s]; o [m]; the gap [m] from which on there is no contact; g0 [m]. Friction: mu, mu_s >= mu, the slip
v_eps h [m] of a step at which the regularised rule reaches mu lambda_n (0: exact), 1 where it slid before."""


@compiled(inside=True, vectors=True)
def normal_force(law: Array, k: int, end: float, instant: Instant) -> float:
    """Return the force [N] of contact k in a step that ends at the gap `end` [m]."""
    start, stiffness = law[k, START], law[k, STIFFNESS]
    h, share = instant.step, instant.share
    push = 0.0
    if law[k, INTEGRAL] > 0.0:
        past = law[k, PAST] + h * share * (start + 0.5 * share * (end - start))
        push = -law[k, INTEGRAL] * min(past, 0.0)
    gap = (1.0 - share) * start + share * end
    if stiffness == 0.0:
        force: float = max(0.0, push - law[k, DAMPING] * (end - start) / h)
        if instant.mean and end != start:
            inside = min(max(start, end), law[k, CUT]) - min(start, end)
            force *= max(0.0, inside) / abs(end - start)
            return force
        return force if gap < law[k, CUT] else 0.0
    # No force beyond the gap `zero`, where damping and integral balance the spring.
    zero = law[k, LEVEL] + (push - law[k, DAMPING] * (end - start) / h) / stiffness
    top = min(zero, law[k, CUT])
    if instant.mean and end != start:
        low, high = min(start, end), min(max(start, end), top)
        if low >= top:
            return 0.0
        mean: float = stiffness * (high - low) * (zero - 0.5 * (high + low)) / abs(end - start)
        return mean
    return stiffness * (zero - gap) if gap < top else 0.0


@compiled(inside=True, vectors=True)
def balanced_force(law: Array, k: int, free: float, compliance: float, instant: Instant) -> float:
    """Return f [N] of f = F(free + compliance f): F falls with the gap, so there is one (false position, Illinois)."""
    low, high = 0.0, normal_force(law, k, free, instant)
    if high == 0.0 or compliance <= 0.0:
        return high
    at_low, at_high = -high, high - normal_force(law, k, free + compliance * high, instant)
    if at_high <= 0.0:
        return high
    accuracy, side = 1e-15 * high, 0
    for split in range(SPLITS):
        force = 0.5 * (low + high) if split % 8 == 7 else (low * at_high - high * at_low) / (at_high - at_low)
        value = force - normal_force(law, k, free + compliance * force, instant)
        if value == 0.0 or high - low <= accuracy:
            return force
        if value > 0.0:
            high, at_high = force, value
            if side == 1:
                at_low *= 0.5
            side = 1
        else:
            low, at_low = force, value
            if side == -1:
                at_high *= 0.5
            side = -1
    return 0.5 * (low + high)


@compiled(inside=True, vectors=True)
def force_slope(law: Array, k: int, end: float, force: float, instant: Instant) -> float:
    """Return about dF/dg1 [N/m], by a difference that takes F to its next 1e-6."""
    stiffness = law[k, STIFFNESS] if law[k, STIFFNESS] > 0.0 else law[k, DAMPING] / instant.step
    change = 1e-6 * max(force / stiffness, abs(end - law[k, START]))
    if change == 0.0:
        return 0.0
    above = normal_force(law, k, end + change, instant)
    slope: float = (above - normal_force(law, k, end - change, instant)) / (2.0 * change)
    return slope
