"""The compiled time loop of central differences with exponential memory; nothing is allocated in it.

One step from t to t + h, with the velocity standing at the half steps:

    v <- v + h M^-1 (f(t) - sum_X J_X s_X)            then supports and contact
    u <- u + h v
    w <- exp(-x) w + g (1 - exp(-x))/x h v            every arm, exact for constant v; x = h/tau
    s <- g_inf u + sum_a w_a + eta v                  the dashpot uses the half step that has just been

From rest the first kick is half as long: it leads from t = 0 to h/2. The scheme has order 2 in h but for eta,
whose lag of half a step makes it order 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rheotwin.fem.fast.block_rows import multiply_rows
from rheotwin.fem.fast.explicit_boundary import hold, load_nodes, touch
from rheotwin.fem.fast.explicit_contact import look_back
from rheotwin.fem.fast.explicit_packing import Boundary, Outside
from rheotwin.fem.fast.explicit_terms import Segments
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int32]

CHECK_EVERY = 64
"""Steps between two looks at whether a node has run away."""
ROWS_AT_ONCE = 256
"""Block rows whose forces are turned into velocities while they are still in the nearest cache."""
COMPONENTS_AT_ONCE = 1024
"""Components that drift and get their stresses while they are in the nearest cache."""


class Operator(NamedTuple):
    """The internal-force matrix [J_1 J_2 ...] as the arrays of `BlockRows`, and 1/mass per component [1/kg]."""

    dimension: int
    indptr: Integers
    indices: Integers
    values: Array
    inverse_mass: Array


class MotionArrays(NamedTuple):
    """What a step changes: u, v (N d,), arms w (arms, terms N d), stress states s (terms N d,), K s (N d,) [N].

    `work` [J]: done from outside and against the internal forces, up to the half step of `velocity`.
    """

    displacement: Array
    velocity: Array
    memory: Array
    stress_state: Array
    force: Array
    work: Array


@compiled(contract=True, nogil=True)
def _kick(v: Array, external: Array, force: Array, inverse_mass: Array, kick: float) -> None:
    for q in range(v.size):
        v[q] += kick * inverse_mass[q] * (external[q] - force[q])


@compiled(nogil=True)
def kick_rows(operator: Operator, motion: MotionArrays, external: Array, kick: float, first: int, last: int) -> None:
    """v <- v + kick M^-1 (f - K s) for the block rows first <= i < last."""
    d, s, force = operator.dimension, motion.stress_state, motion.force
    for low in range(first, last, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, last)
        multiply_rows(d, operator.indptr, operator.indices, operator.values, s, force, low, high)
        # A loop from zero over slices runs in vectors; one with offsets tests every index for its sign.
        part = slice(d * low, d * high)
        _kick(motion.velocity[part], external[part], force[part], operator.inverse_mass[part], kick)


@compiled(contract=True, nogil=True)
def _drift(u: Array, v: Array, h: float) -> None:
    for q in range(u.size):
        u[q] += h * v[q]


@compiled(contract=True, nogil=True)
def _direct_stress(s: Array, u: Array, v: Array, equilibrium: float, viscosity: float) -> None:
    for q in range(s.size):
        s[q] = equilibrium * u[q] + viscosity * v[q]


@compiled(contract=True, nogil=True)
def _arm_stress(s: Array, w: Array, v: Array, decay: float, gain: float) -> None:
    for q in range(s.size):
        w[q] = decay * w[q] + gain * v[q]
        s[q] += w[q]


@compiled(nogil=True)
def update_stress(segments: Segments, motion: MotionArrays, h: float, first: int, last: int) -> None:
    """Advance w by h v and write s = g_inf u + sum w + eta v, for the stacked states first <= q < last."""
    for k in range(segments.start.size):
        low, high, shift = max(first, segments.start[k]), min(last, segments.stop[k]), segments.shift[k]
        if low >= high:
            continue
        s, v = motion.stress_state[low:high], motion.velocity[low - shift : high - shift]
        u = motion.displacement[low - shift : high - shift]
        _direct_stress(s, u, v, segments.equilibrium[k], segments.viscosity[k])
        for arm in range(segments.arms[k]):
            _arm_stress(s, motion.memory[arm, low:high], v, segments.decay[k, arm], h * segments.gain[k, arm])


@compiled(nogil=True)
def move(segments: Segments, motion: MotionArrays, h: float, first: int, last: int) -> None:
    """Drift and new stress states of the components first <= q < last, piece by piece within the nearest cache."""
    size = motion.displacement.size
    for low in range(first, last, COMPONENTS_AT_ONCE):
        high = min(low + COMPONENTS_AT_ONCE, last)
        _drift(motion.displacement[low:high], motion.velocity[low:high], h)
        for term in range(motion.stress_state.size // size):
            update_stress(segments, motion, h, term * size + low, term * size + high)


@compiled(parallel=True)
def _kick_in_parts(operator: Operator, motion: MotionArrays, external: Array, kick: float, parts: int) -> None:
    rows = operator.indptr.size - 1
    for part in prange(parts):
        kick_rows(operator, motion, external, kick, part * rows // parts, (part + 1) * rows // parts)


@compiled(parallel=True)
def _move_in_parts(segments: Segments, motion: MotionArrays, h: float, parts: int) -> None:
    size = motion.displacement.size
    for part in prange(parts):
        move(segments, motion, h, part * size // parts, (part + 1) * size // parts)


@compiled(nogil=True)
def runs_away(boundary: Boundary, u: Array) -> bool:
    """Tell whether a component has left the runaway distance or is no number."""
    within = True
    for q in range(u.size):
        within &= np.abs(u[q]) <= boundary.nodes.runaway
    return not within


@compiled(contract=True, nogil=True)
def enter_work(
    motion: MotionArrays, operator: Operator, outside: Outside, half: float, before: bool, after: bool
) -> None:
    """Add the work of the half kicks before and after t, `half` [s] long each: from outside, into the body [J].

    Forces T turn v - 2 a into v, a = half T/m; with the mean velocities v - 3a/2 and v - a/2 of the two halves
    the account of kinetic energy is exact. They are added one by one, so that an account taken at t fits in.
    """
    given_before, given_after, taken_before, taken_after = 0.0, 0.0, 0.0, 0.0
    for q in range(motion.velocity.size):
        given, taken = outside.external[q] + outside.exerted[q], motion.force[q]
        change = half * operator.inverse_mass[q] * (given - taken)
        early, late = motion.velocity[q] - 1.5 * change, motion.velocity[q] - 0.5 * change
        given_before += given * early
        given_after += given * late
        taken_before += taken * early
        taken_after += taken * late
    if before:
        motion.work[0] += half * given_before
        motion.work[1] += half * taken_before
    if after:
        motion.work[0] += half * given_after
        motion.work[1] += half * taken_after


@compiled(nogil=True)
def strike(step: int, h: float, operator: Operator, motion: MotionArrays, boundary: Boundary, outside: Outside) -> None:
    """Bring v from half a step before t to half a step after it."""
    u, v, end, kick = motion.displacement, motion.velocity, (step + 1) * h, h if step > 0 else 0.5 * h
    look_back(outside.laws, operator.dimension, v)
    load_nodes(boundary, outside, step * h)
    kick_rows(operator, motion, outside.external, kick, 0, operator.indptr.size - 1)
    hold(boundary, outside, u, v, end, h, kick)
    touch(boundary, outside, u, v, end, h, kick)


@compiled(nogil=True)
def advance(
    first: int,
    count: int,
    h: float,
    operator: Operator,
    segments: Segments,
    motion: MotionArrays,
    boundary: Boundary,
    outside: Outside,
    account: bool,
    opened: bool,
) -> int:
    """Take `count` steps from step number `first`; stop early when a node runs away. Returns steps taken.

    `account` keeps the account of work; `opened` says that it has the first kick's half before t already.
    """
    for step in range(first, first + count):
        strike(step, h, operator, motion, boundary, outside)
        if account:
            enter_work(motion, operator, outside, 0.5 * h, step > 0 and (step > first or not opened), True)
        move(segments, motion, h, 0, motion.displacement.size)
        if step % CHECK_EVERY == 0 and runs_away(boundary, motion.displacement):
            return step + 1 - first
    return count


@compiled
def advance_in_parts(
    first: int,
    count: int,
    h: float,
    operator: Operator,
    segments: Segments,
    motion: MotionArrays,
    boundary: Boundary,
    outside: Outside,
    account: bool,
    opened: bool,
    parts: int,
) -> int:
    """As `advance`, each step's rows shared out over threads: two barriers a step, the same numbers."""
    u, v = motion.displacement, motion.velocity
    for step in range(first, first + count):
        end, kick = (step + 1) * h, h if step > 0 else 0.5 * h
        look_back(outside.laws, operator.dimension, v)
        load_nodes(boundary, outside, step * h)
        _kick_in_parts(operator, motion, outside.external, kick, parts)
        hold(boundary, outside, u, v, end, h, kick)
        touch(boundary, outside, u, v, end, h, kick)
        if account:
            enter_work(motion, operator, outside, 0.5 * h, step > 0 and (step > first or not opened), True)
        _move_in_parts(segments, motion, h, parts)
        if step % CHECK_EVERY == 0 and runs_away(boundary, u):
            return step + 1 - first
    return count
