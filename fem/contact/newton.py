"""Newton's method for the contact problem of one time step: all contacts at once, each in its state.

After a step every contact has either no force or the gap its law gives it, so states follow without any scale
(primal-dual active set): light tools between heavy bodies, where sweeps creep, are no harder than others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.contact.coulomb import OPEN, SLIDING, STICKING, Cone
from rheotwin.fem.contact.law_force import GIVEN, HARD, Instant, Springs, force_slope, normal_force
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

STEPS = 12
"""Most Newton steps in a row."""


@compiled
def _newton_system(
    w: Array, gaps: Array, flat: Array, k: int, state: Indices, springs: Springs, cone: Cone, instant: Instant,
    tangent: Array, residual: Array,
) -> None:  # fmt: skip
    """Write the tangent and the residual of all contacts in their states, k components each; they are zero before."""
    for i in range(state.shape[0]):
        n = i * k
        rub = k > 1 and cone.kinetic[i] > 0.0
        for c in range(1, k):
            if state[i] == OPEN or not rub:
                tangent[n + c, n + c] = 1.0
                residual[n + c] = flat[n + c] if rub else 0.0
        if state[i] == OPEN:
            tangent[n, n], residual[n] = 1.0, flat[n]
            continue
        if springs.kind[i] == HARD:
            _add_row(tangent, n, 1.0, w, n)
            residual[n] = gaps[n]
        elif springs.kind[i] == GIVEN:
            tangent[n, n] = 1.0
        else:
            slope = force_slope(springs, i, gaps[n], flat[n], instant)
            _add_row(tangent, n, -slope, w, n)
            tangent[n, n] += 1.0
            residual[n] = flat[n] - normal_force(springs, i, gaps[n], instant)
        if not rub:
            continue
        slide = cone.kinetic[i] * flat[n]
        if state[i] == STICKING:
            extra = cone.creep[i] / slide if slide > 0.0 else 0.0
            for c in range(1, k):
                _add_row(tangent, n + c, 1.0, w, n + c)
                residual[n + c] = gaps[n + c] + extra * flat[n + c]
                tangent[n + c, n + c] += extra
                if extra > 0.0:
                    tangent[n + c, n] -= extra * flat[n + c] / flat[n]
            continue
        _sliding_rows(tangent, residual, w, gaps, flat, n, k, cone.kinetic[i], slide)


@compiled(inside=True)
def _add_row(tangent: Array, row: int, factor: float, w: Array, other: int) -> None:
    """Add a multiple of a row of w to one of the tangent."""
    for c in range(w.shape[1]):
        tangent[row, c] += factor * w[other, c]


@compiled(inside=True)
def _sliding_rows(
    tangent: Array, residual: Array, w: Array, gaps: Array, flat: Array, n: int, k: int, mu: float, slide: float
) -> None:
    """Fill the rows of t + mu lambda_n s/|s| = 0."""
    size = 0.0
    for c in range(1, k):
        size += gaps[n + c] ** 2
    size = np.sqrt(size)
    for c in range(1, k):
        direction = gaps[n + c] / size if size > 0.0 else 0.0
        tangent[n + c, n + c] = 1.0
        tangent[n + c, n] += mu * direction
        residual[n + c] = flat[n + c] + slide * direction
        if k == 3 and size > 0.0:
            for e in range(1, k):
                across = (1.0 if c == e else 0.0) - direction * gaps[n + e] / size
                _add_row(tangent, n + c, slide / size * across, w, n + e)


def states_after(
    w: Array, free: Array, force: Array, state: Indices, springs: Springs, cone: Cone, instant: Instant
) -> Indices:
    """Return the states that forces and gaps after a Newton step ask for."""
    out, flat = np.zeros_like(state), force.ravel()
    _write_states(w, free + w @ flat, flat, force.shape[1], state, springs, cone, instant, out)
    return out


@compiled
def _write_states(
    w: Array, gaps: Array, flat: Array, k: int, state: Indices, springs: Springs, cone: Cone, instant: Instant,
    out: Indices,
) -> None:  # fmt: skip
    for i in range(state.shape[0]):
        n = i * k
        own, normal = w[n, n], flat[n]
        if springs.kind[i] == HARD:
            closed = own * normal > gaps[n]
        elif springs.kind[i] == GIVEN:
            closed = normal > 0.0
        else:
            closed = normal_force(springs, i, gaps[n], instant) > 0.0
        if not closed:
            out[i] = OPEN
            continue
        out[i] = STICKING
        if k == 1 or cone.kinetic[i] <= 0.0 or cone.creep[i] > 0.0:
            continue
        slides = state[i] == SLIDING
        limit = (cone.kinetic[i] if slides else cone.sticking[i]) * max(normal, 0.0)
        size, scale = 0.0, max(w[n + 1, n + 1], w[n + k - 1, n + k - 1])
        for c in range(1, k):
            size += (flat[n + c] - (gaps[n + c] / scale if scale > 0.0 else 0.0)) ** 2
        if size > limit * limit:
            out[i] = SLIDING


def newton_steps(
    w: Array, free: Array, force: Array, state: Indices, springs: Springs, cone: Cone, instant: Instant
) -> Array:
    """Return the forces after Newton steps from some forces and states, until states stay or as many as may be."""
    for _ in range(STEPS):
        force = newton_step(w, free, force, state, springs, cone, instant)
        after = states_after(w, free, force, state, springs, cone, instant)
        if np.array_equal(after, state):
            break
        state = after
    return force


def newton_step(
    w: Array, free: Array, force: Array, state: Indices, springs: Springs, cone: Cone, instant: Instant
) -> Array:
    """Return the forces of a Newton step of all contacts in their states, the given ones where it has no solution."""
    tangent, residual, flat = np.zeros_like(w), np.zeros(len(w)), force.ravel()
    _newton_system(w, free + w @ flat, flat, force.shape[1], state, springs, cone, instant, tangent, residual)
    scale = float(np.trace(w)) / max(1, len(w))
    tangent[np.diag_indices_from(tangent)] += 1e-14 * np.where(np.diag(tangent) == 1.0, 0.0, scale)
    try:
        return np.asarray(force - np.linalg.solve(tangent, residual).reshape(force.shape))
    except np.linalg.LinAlgError:
        return force.copy()
