"""The contact problem of one step: normal laws and Coulomb friction on a dense compliance (spec 8).

    r = free + W lambda,   per contact r = (gap or normal rate, slip), lambda = (normal force, friction)

    exact       r_n >= 0, lambda_n >= 0, lambda_n r_n = 0
    compliant   lambda_n = F(r_n)
    sticking    s + c t = 0 while |t| <= mu_s lambda_n,   c = v_eps h/(mu lambda_n) of the regularised rule, else 0
    sliding     t = -mu lambda_n s/|s|

Sweeps over the contacts solve each exactly with the others at rest (block Gauss-Seidel); between them a Newton step
takes all contacts in the state the sweep found them in, and is kept if it leaves less to do. Where it is not, forces
leap along their last change: redundant contacts that stick beside some that slide hand over force by equal small parts,
sweep by sweep, until one of them opens or slides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.unilateral import softened, solve_contact
from rheotwin.fem.contact.coulomb import STIFF, friction_in_plane, friction_on_line
from rheotwin.fem.contact.law_force import (
    GIVEN,
    HARD,
    SPRING,
    Instant,
    Springs,
    balanced_force,
    force_slope,
    normal_force,
)

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

OPEN, STICKING, SLIDING = 0, 1, 2
TOLERANCE = 1e-12
"""Change of a sweep, as a share of the largest force, at which the problem is solved."""
LONG, LOOSE = 100, 1e-9
"""Sweeps after which redundant contacts may go on sharing their force as they like if gaps, as shares of those without
contact, do not change any more."""
ROUGH = 1e-8
"""The same after all sweeps."""
SWEEPS = 5000
PATIENCE = 4
"""Sweeps between two Newton steps."""
FIRST_LEAP = 4.0
"""Changes of a sweep that the first leap goes on; twice as many after a leap that was kept, else half."""
HELD = 1e-12
"""Share of the largest compliance below which supports hold a contact: there they win over it."""


class Cone(NamedTuple):
    """Friction of the contacts of one step, one entry each."""

    kinetic: Array
    """mu; 0 where there is none, and the given friction stays."""
    sticking: Array
    """mu_s >= mu."""
    creep: Array
    """v_eps h [m], the slip of a step at which the regularised rule reaches mu lambda_n; 0: exact."""


class Solved(NamedTuple):
    """Forces (n, k) [N]: normal, then friction; and the state of each contact."""

    force: Array
    state: Indices


@njit(cache=True)
def _sweep(
    w: Array, free: Array, force: Array, state: Indices, slid: Flags, springs: Springs, cone: Cone, instant: Instant
) -> tuple[float, float]:
    """Solve every contact once with the others at rest; return the largest change of a force [N], and of a gap [m]."""
    count, k = force.shape
    flat, largest, farthest, stiffest = force.ravel(), 0.0, 0.0, 0.0
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
            largest, farthest = max(largest, abs(flat[n] - before)), max(farthest, own * abs(flat[n] - before))
        state[i] = OPEN if flat[n] <= 0.0 else STICKING
        if k == 1 or cone.kinetic[i] <= 0.0 or w[n + 1, n + 1] + w[n + k - 1, n + k - 1] <= STIFF * stiffest:
            continue
        change = _rub(w, free, flat, i, k, state, slid, cone)
        slip = change * max(w[n + 1, n + 1], w[n + k - 1, n + k - 1])
        largest, farthest = max(largest, change), max(farthest, slip)
    return largest, farthest


@njit(cache=True)
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


@njit(cache=True)
def _newton_system(
    w: Array, free: Array, force: Array, state: Indices, springs: Springs, cone: Cone, instant: Instant
) -> tuple[Array, Array]:
    """Return the tangent and the residual of all contacts in their states."""
    count, k = force.shape
    size = count * k
    flat = force.ravel()
    gaps = free + w @ flat
    tangent, residual = np.zeros((size, size)), np.zeros(size)
    for i in range(count):
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
            tangent[n, :], residual[n] = w[n, :], gaps[n]
        elif springs.kind[i] == GIVEN:
            tangent[n, n] = 1.0
        else:
            slope = force_slope(springs, i, gaps[n], flat[n], instant)
            tangent[n, :] = -slope * w[n, :]
            tangent[n, n] += 1.0
            residual[n] = flat[n] - normal_force(springs, i, gaps[n], instant)
        if not rub:
            continue
        slide = cone.kinetic[i] * flat[n]
        if state[i] == STICKING:
            extra = cone.creep[i] / slide
            for c in range(1, k):
                tangent[n + c, :], residual[n + c] = w[n + c, :], gaps[n + c] + extra * flat[n + c]
                tangent[n + c, n + c] += extra
                tangent[n + c, n] -= extra * flat[n + c] / flat[n]
            continue
        _sliding_rows(tangent, residual, w, gaps, flat, n, k, cone.kinetic[i], slide)
    return tangent, residual


@njit(cache=True)
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
                tangent[n + c, :] += slide / size * across * w[n + e, :]


def solve_cone(
    compliance: Array,
    free: Array,
    guess: Array,
    springs: Springs,
    cone: Cone,
    instant: Instant,
    slides: Flags | None = None,
) -> Solved | None:
    """Return the forces of the contact problem, or None if it was not solved.

    `compliance` W (n k, n k) [m/N], `free` (n k,) [m] and the forces to start from (n, k); rates and impulses alike.
    What `slides` already sticks below mu only.
    """
    force, count = guess.copy(), len(guess)
    state = np.zeros(count, np.int64)
    slid = np.zeros(count, np.bool_) if slides is None else slides.copy()
    far = float(np.abs(free).max(initial=0.0))
    moved, leap = np.inf, FIRST_LEAP
    for turn in range(SWEEPS):
        before = force.copy()
        change, moved = _sweep(compliance, free, force, state, slid, springs, cone, instant)
        if change <= TOLERANCE * float(np.abs(force).max(initial=0.0)) or (turn > LONG and moved <= LOOSE * far):
            return Solved(force, state)
        if turn == LONG and force.shape[1] == 1 and np.all(springs.kind == HARD):
            return _frictionless(compliance, free)
        if turn % PATIENCE < PATIENCE - 1:
            continue
        newton = _newton(compliance, free, force, state, springs, cone, instant)
        ahead = force + leap * (force - before)
        ahead[:, 0] = np.maximum(ahead[:, 0], 0.0)
        for trial in (newton, ahead):
            trial_state, trial_slid = state.copy(), slid.copy()
            after = np.inf
            for _ in range(1 if trial is newton else 2):  # a leap upsets limits of friction, which a sweep mends
                after, _moved = _sweep(compliance, free, trial, trial_state, trial_slid, springs, cone, instant)
            if after < change or (trial is ahead and after <= change):
                force, state, slid = trial, trial_state, trial_slid
                leap = 2.0 * leap if trial is ahead else leap
                break
        else:
            leap = max(1.0, 0.5 * leap)
    return Solved(force, state) if moved <= ROUGH * far else None


def _newton(
    w: Array, free: Array, force: Array, state: Indices, springs: Springs, cone: Cone, instant: Instant
) -> Array:
    """Return the forces of a Newton step of all contacts in their states, the given ones where it has no solution."""
    tangent, residual = _newton_system(w, free, force, state, springs, cone, instant)
    scale = float(np.trace(w)) / max(1, len(w))
    tangent[np.diag_indices_from(tangent)] += 1e-14 * np.where(np.diag(tangent) == 1.0, 0.0, scale)
    try:
        return np.asarray(force - np.linalg.solve(tangent, residual).reshape(force.shape))
    except np.linalg.LinAlgError:
        return force.copy()


def _frictionless(compliance: Array, free: Array) -> Solved:
    """Solve exact contact without friction by an active set, held contacts left out; it ends, however redundant."""
    own = np.diag(compliance)
    movable = np.flatnonzero(own > HELD * own.max(initial=0.0))
    force = np.zeros((len(free), 1))
    force[movable, 0] = solve_contact(softened(compliance[np.ix_(movable, movable)]), free[movable])
    return Solved(force, np.where(force[:, 0] > 0.0, STICKING, OPEN))
