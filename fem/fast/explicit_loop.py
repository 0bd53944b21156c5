"""Steps of central differences with exponential memory, as stages.

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
from numpy.typing import NDArray

from rheotwin.fem.fast.block_rows import multiply_rows
from rheotwin.fem.fast.explicit_boundary import hold, load_nodes
from rheotwin.fem.fast.explicit_contact import look_back, touch_stages
from rheotwin.fem.fast.explicit_packing import Boundary, Outside
from rheotwin.fem.fast.explicit_terms import Segments
from rheotwin.kernels.blocks import STEP, TIME, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock
from rheotwin.kernels.stage import LAST, Stage

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


@compiled(contract=True, nogil=True)
def enter_work(
    motion: MotionArrays, operator: Operator, external: Array, exerted: Array, half: float, before: bool, after: bool
) -> None:
    """Add the work of the half kicks before and after t, `half` [s] long each: from outside, into the body [J].

    Forces T turn v - 2 a into v, a = half T/m; with the mean velocities v - 3a/2 and v - a/2 of the two halves
    the account of kinetic energy is exact. They are added one by one, so that an account taken at t fits in.
    """
    given_before, given_after, taken_before, taken_after = 0.0, 0.0, 0.0, 0.0
    for q in range(motion.velocity.size):
        given, taken = external[q] + exerted[q], motion.force[q]
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


@compiled
def kick_time(number: float, h: float) -> float:
    """Return how long the kick of a step acts [s]: from rest the first one leads to h/2."""
    return h if number > 0 else 0.5 * h


@compiled
def keep_account(
    motion: MotionArrays, operator: Operator, external: Array, exerted: Array, number: float, h: float, begun: Array
) -> None:
    """Enter the work of a step; begun[0] is the first one of the run, whose half before t is in where begun[1] is 1."""
    early = number > 0 and (number > begun[0] or begun[1] == 0.0)
    enter_work(motion, operator, external, exerted, 0.5 * h, early, True)


@compiled
def stop_runaways(u: Array, runaway: float, number: float) -> int:
    """Make every 64th step the last one if a component has left the runaway distance [m] or is no number."""
    if number % CHECK_EVERY == 0:
        for q in range(u.size):
            if not np.abs(u[q]) <= runaway:
                return LAST
    return 0


def strike_stages(
    operator: Operator, motion: MotionArrays, boundary: Boundary, outside: Outside, clock: Clock
) -> list[Stage]:
    """Return the stages that bring v from half a step before t to half a step after it."""
    kick, contact = np.zeros(1), outside.touching.contact
    u, v, nodes = motion.displacement, motion.velocity, boundary.nodes
    stages = [Stage(kick_time, (clock.number, STEP), into=kick)]
    if outside.touching.accounts:
        stages += [Stage(look_back, (contact.near, contact.places, contact.before_kick, operator.dimension, v))]
    if boundary.loads.component.size:
        stages += [Stage(load_nodes, (boundary.loads, nodes.weight, outside.external, TIME))]
    stages += [Stage(kick_rows, (operator, motion, outside.external, Now(kick), 0, operator.indptr.size - 1))]
    if boundary.held.component.size:
        bearing = (outside.reaction, outside.exerted, u, v, clock.end, STEP, Now(kick))
        stages += [Stage(hold, (boundary.held, nodes.mass, *bearing))]
    return [*stages, *touch_stages(nodes, outside, u, v, clock.end, Now(kick))]


def move_stages(segments: Segments, motion: MotionArrays, boundary: Boundary, clock: Clock) -> list[Stage]:
    """Return the stages that drift, advance the arms, and look whether a node has run away."""
    u = motion.displacement
    return [
        Stage(move, (segments, motion, STEP, 0, u.size)),
        Stage(stop_runaways, (u, boundary.nodes.runaway, clock.number)),
    ]
