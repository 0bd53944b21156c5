"""One sweep over the contacts of a step: each is solved exactly with the others at rest (block Gauss-Seidel)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.contact.coulomb import OPEN, SLIDING, STICKING, STIFF, Cone, friction_in_plane, friction_on_line
from rheotwin.fem.contact.law_force import HARD, SPRING, Instant, Springs, balanced_force, normal_force
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

HELD = 1e-12
"""Share of the largest compliance below which supports hold a contact: there they win over it."""


@compiled(allocates=True)
def sweep(
    w: Array, free: Array, force: Array, state: Indices, slid: Flags, springs: Springs, cone: Cone, instant: Instant
) -> float:
    """Solve every contact once with the others at rest; return the largest change of a force [N]."""
    count, k = force.shape
    flat, largest, stiffest = force.ravel(), 0.0, 0.0
    for i in range(count):
        stiffest = max(stiffest, w[i * k, i * k])
    for i in range(count):
        n = i * k
        own = w[n, n]
        before = flat[n]
        if springs.kind[i] == SPRING or (springs.kind[i] == HARD and own > HELD * stiffest):
            rest = free[n] - own * before
            for j in range(flat.size):
                rest += w[n, j] * flat[j]
            if springs.kind[i] == HARD:
                flat[n] = max(0.0, -rest / own)
            else:
                flat[n] = balanced_force(springs, i, rest, own, instant)
            largest = max(largest, abs(flat[n] - before))
        state[i] = OPEN if flat[n] <= 0.0 else STICKING
        if k == 1 or cone.kinetic[i] <= 0.0 or w[n + 1, n + 1] + w[n + k - 1, n + k - 1] <= STIFF * stiffest:
            continue
        largest = max(largest, _rub(w, free, flat, i, k, state, slid, cone))
    return largest


@compiled
def _rub(w: Array, free: Array, flat: Array, i: int, k: int, state: Indices, slid: Flags, cone: Cone) -> float:
    """Solve the friction of contact i; return its largest change [N]."""
    n = i * k
    normal = max(flat[n], 0.0)
    slide = cone.kinetic[i] * normal
    limit = slide if slid[i] or cone.creep[i] > 0.0 else cone.sticking[i] * normal
    extra = cone.creep[i] / slide if slide > 0.0 else 0.0
    if k == 2:
        before = flat[n + 1]
        rest = free[n + 1] - w[n + 1, n + 1] * before
        for j in range(flat.size):
            rest += w[n + 1, j] * flat[j]
        flat[n + 1], sliding = friction_on_line(rest, w[n + 1, n + 1] + extra, limit, slide)
        change: float = abs(flat[n + 1] - before)
    else:
        p, q = flat[n + 1], flat[n + 2]
        a, b, c = w[n + 1, n + 1], w[n + 1, n + 2], w[n + 2, n + 2]
        rx, ry = free[n + 1] - a * p - b * q, free[n + 2] - b * p - c * q
        for j in range(flat.size):
            rx += w[n + 1, j] * flat[j]
            ry += w[n + 2, j] * flat[j]
        flat[n + 1], flat[n + 2], sliding = friction_in_plane(rx, ry, a + extra, b, c + extra, limit, slide)
        change = max(abs(flat[n + 1] - p), abs(flat[n + 2] - q))
    if normal > 0.0:
        state[i] = SLIDING if sliding else STICKING
        # Once it slides it sticks again below mu only: else it could change for ever between mu and mu_s.
        slid[i] = slid[i] or sliding
    return change


@compiled
def defects(
    w: Array, free: Array, force: Array, state: Indices, springs: Springs, cone: Cone, instant: Instant, out: Array
) -> None:
    """Write how far each contact is from its law [m]: what it is off in force, times how it gives way alone.

        normal      w_nn |lambda_n - max(0, lambda_n - r_n/w_nn)|,  or w_nn |lambda_n - F(r_n)|
        friction    w_tt |t - P(t - (s + c t)/w_tt)|,  P the nearest point of the disc of radius mu lambda_n

    It is zero where the law holds, and a gap that is closed or a force across a gap otherwise.
    """
    count, k = force.shape
    flat, stiffest = force.ravel(), 0.0
    for i in range(count):
        stiffest = max(stiffest, w[i * k, i * k])
    for i in range(count):
        n, out[i] = i * k, 0.0
        own, normal = w[n, n], max(flat[n], 0.0)
        if springs.kind[i] == SPRING or (springs.kind[i] == HARD and own > HELD * stiffest):
            rest = free[n]
            for j in range(flat.size):
                rest += w[n, j] * flat[j]
            if springs.kind[i] == HARD:
                out[i] = abs(own * flat[n] - max(0.0, own * flat[n] - rest))
            else:
                out[i] = own * abs(flat[n] - normal_force(springs, i, rest, instant))
        tangential = max(w[n + k - 1, n + k - 1], w[n + 1, n + 1]) if k > 1 else 0.0
        if k == 1 or cone.kinetic[i] <= 0.0 or tangential <= STIFF * stiffest:
            continue
        slide = cone.kinetic[i] * normal
        limit = cone.sticking[i] * normal if state[i] == STICKING and cone.creep[i] == 0.0 else slide
        extra = cone.creep[i] / slide if slide > 0.0 else 0.0
        size, square = 0.0, 0.0
        for c in range(1, k):
            slip = free[n + c] + extra * flat[n + c]
            for j in range(flat.size):
                slip += w[n + c, j] * flat[j]
            size += (flat[n + c] - slip / tangential) ** 2
        share = min(1.0, limit / np.sqrt(size)) if size > 0.0 else 1.0
        for c in range(1, k):
            slip = free[n + c] + extra * flat[n + c]
            for j in range(flat.size):
                slip += w[n + c, j] * flat[j]
            square += (flat[n + c] - share * (flat[n + c] - slip / tangential)) ** 2
        out[i] = max(out[i], tangential * np.sqrt(square))
