"""The contact problem of one step: normal laws and Coulomb friction on a dense compliance (spec 8).

    r = free + W lambda,   per contact r = (gap or normal rate, slip), lambda = (normal force, friction)

    exact       r_n >= 0, lambda_n >= 0, lambda_n r_n = 0
    compliant   lambda_n = F(r_n)
    sticking    s + c t = 0 while |t| <= mu_s lambda_n,   c = v_eps h/(mu lambda_n) of the regularised rule, else 0
    sliding     t = -mu lambda_n s/|s|

Sweeps over the contacts (projected Gauss-Seidel, friction by the formulas of `constraints.contact.mobility`) take turns
with Newton steps of all contacts in the state the sweep found them in (primal-dual active set). After such a step every
contact has either no force or the gap its law gives it, so states follow without any scale: light tools between heavy
bodies, where sweeps creep, are no harder than others. Where contacts ask for the same, W is singular and they hand over
force for ever. Then proximal points are solved instead, rho small and ever smaller:

    r + rho D (lambda - lambda_before) = 0 in place of r,   D = diag W

each of which has one solution, found in a few sweeps; what they leave open of the law, rho D (lambda - lambda_before),
fades from one to the next. All of it is stages:

    begin -> enter -> sweep .. -> linearise -> eliminate -> advance -> (sweep) .. -> conclude (-> enter)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.mobility import exact_friction, regularised_friction
from rheotwin.fem.contact.law_force import (
    CREEP,
    GIVEN,
    HARD,
    KIND,
    KINETIC,
    NUMBERS,
    SLID,
    SPRING,
    STATIC,
    Instant,
    balanced_force,
    force_slope,
    normal_force,
)
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

OPEN, STICKING, SLIDING = 0, 1, 2
"""What a contact does."""
HELD, STIFF = 1e-12, 1e-6
"""Shares of the largest compliance below which supports hold a contact, or a slip: there they win over it. Where a tilt
alone of a held surface gives way along a slip, friction could be anything."""
TOLERANCE = 1e-12
"""Change of a sweep, as a share of the largest force, at which the problem is solved."""
LONG, LONGER = 32, 200
"""Sweeps after which the problem counts as singular; and most of a proximal point."""
PATIENCE, STEPS = 4, 12
"""Sweeps between two tries of Newton's method, and its most steps in a row."""
QUICK = 0.1
"""Where a try leaves less than this share of a change, the next one follows at once."""
POINTS = 16
"""Most proximal points."""
SOFTEST, SOFTER, STIFFEST = 1e-2, 10.0, 1e-5
"""rho to begin with, the factor between two points, and the least rho."""
KEPT, KEPT_GAP, BEST, OWN, BASE, COPIES = range(6)
"""Rows of `Problem.kept`: lambda and r before a try of Newton's method; the best forces so far; the diagonal of W and
`free` as they are without a proximal point. Rows of `marks`: states and slips before a try, the best states."""
CHANGE, TURN, MOST, TRY, LEFT, SIZE, RHO, POINT, LEAST, DEFECT, COURSE = range(11)
"""Entries of `Problem.course`: change of the last sweep, sweeps so far and at most, 1 or 2 while a try of Newton's
method is tested, its steps left, its equations; rho (0: none), proximal points so far, the least defect; the result."""


class Problem(NamedTuple):
    """One contact problem with room for more; component c of contact i is i k + c.

    `count` (1,); `w` (n, n) [m/N], symmetric; `free`, `force` and `gap` (n,): r without forces, lambda, r;
    `law` (n/k, NUMBERS); `state`, `slipped`, `rubs`, `stuck`: what contacts do, whether they have slid, whether they
    have friction and no support holds the slip, whether one holds the gap; `order`: components that Newton's equations
    are about; `system` (n, n + 1); course[DEFECT] tells how far laws are missed.
    """

    count: Indices  # type: ignore[assignment]  # nobody asks a tuple of arrays how often it has one
    w: Array
    free: Array
    force: Array
    gap: Array
    law: Array
    state: Indices
    slipped: Indices
    rubs: Indices
    stuck: Indices
    order: Indices
    kept: Array
    marks: Indices
    system: Array
    course: Array


def room_to_solve(contacts: int, k: int, count: Indices) -> Problem:
    """Return room for so many contacts with `k` components each."""
    n = contacts * k
    vectors, marks = np.zeros((3, n)), np.zeros((5, n), np.int64)
    rest = np.zeros((COPIES, n)), np.zeros((3, n), np.int64), np.zeros((n, n + 1)), np.zeros(COURSE)
    return Problem._make((count, np.zeros((n, n)), *vectors, np.zeros((contacts, NUMBERS)), *marks, *rest))


def cone_stages(p: Problem, k: int, enough: float, instant: Instant | None) -> list[Stage]:
    """Return the stages that find forces of a contact problem from those given, the best ones if it has no solution.

    Contacts that have slid stick below mu only. Where W is singular laws may be missed by `enough` [m]. Where no law is
    compliant, `instant` is None, and the code for springs is not compiled.
    """
    return [
        Stage(_begin, (p, k)),
        Stage(_enter, (p, k)),
        Stage(_sweep, (p, k, instant)),
        Stage(_linearise, (p, k, instant)),
        Stage(_eliminate, (p.system, p.course)),
        Stage(_advance, (p, k, instant)),
        Stage(_conclude, (p, k, enough, instant)),
    ]


@compiled(inside=True, vectors=True)
def _begin(p: Problem, k: int) -> None:
    p.course[RHO], p.course[MOST], p.course[POINT], p.course[LEAST] = 0.0, LONG, 0.0, np.inf
    for c in range(p.count[0] * k):
        p.kept[BEST, c] = p.force[c]


@compiled(inside=True, vectors=True)
def _enter(p: Problem, k: int) -> None:
    """Begin to iterate."""
    p.course[TURN], p.course[TRY], stiffest = 0.0, 0.0, 0.0
    for i in range(p.count[0]):
        stiffest = max(stiffest, p.w[i * k, i * k])
    for i in range(p.count[0]):
        c = i * k
        p.state[i], p.slipped[i], p.rubs[i] = OPEN, int(p.law[i, SLID]), 0
        p.stuck[i] = int(p.w[c, c] <= HELD * stiffest)
        if k > 1 and p.law[i, KINETIC] > 0.0:
            p.rubs[i] = int(p.w[c + 1, c + 1] + p.w[c + k - 1, c + k - 1] > STIFF * stiffest)
    _find_gaps(p.count[0] * k, p.w, p.free, p.force, p.gap)


@compiled(inside=True, vectors=True)
def _find_gaps(n: int, w: Array, free: Array, force: Array, gap: Array) -> None:
    """Write free + W lambda."""
    for c in range(n):
        gap[c] = free[c]
    for j in range(n):
        change = force[j]
        if change != 0.0:
            for c in range(n):
                gap[c] += change * w[j, c]


@compiled(inside=True, vectors=True)
def _change(n: int, w: Array, force: Array, gap: Array, c: int, new: float) -> float:
    """Give one component of the forces its new size; return by how much it changes."""
    change: float = new - force[c]
    if change != 0.0:
        force[c] = new
        for b in range(n):
            gap[b] += change * w[c, b]
    return abs(change)


@compiled(inside=True, vectors=True)
def _sweep(p: Problem, k: int, instant: Instant | None) -> int:
    """Solve every contact once with the others at rest, then say how to go on: 0 with Newton, -1 alike, 3 no more."""
    n, law, course, change = p.count[0] * k, p.law, p.course, 0.0
    for i in range(p.count[0]):
        c = i * k
        own, kind, new = p.w[c, c], law[i, KIND], p.force[c]
        rest = p.gap[c] - own * new
        if kind == HARD and not p.stuck[i]:
            new = max(0.0, -rest / own)
        if instant is not None:  # noqa: SIM102
            if kind == SPRING:
                new = balanced_force(law, i, rest, own, instant)
        change = max(change, _change(n, p.w, p.force, p.gap, c, new))
        p.state[i] = OPEN if new <= 0.0 else STICKING
        if p.rubs[i]:
            change = max(change, _rub(k, n, i, p.w, p.force, p.gap, law, p.state, p.slipped))
    largest = 0.0
    for c in range(n):
        largest = max(largest, abs(p.force[c]))
    if course[TRY] > 0.0 and not change < course[CHANGE]:  # Newton's method led nowhere: back, and on once more
        for c in range(n):
            p.force[c], p.gap[c], p.state[c], p.slipped[c] = p.kept[0, c], p.kept[1, c], p.marks[0, c], p.marks[1, c]
        change = course[CHANGE]
        course[TRY], course[LEFT] = course[TRY] + 1.0, STEPS
        if course[TRY] == 2.0:
            return 0
    again = course[TRY] > 0.0 and change < QUICK * course[CHANGE]
    course[TRY], course[CHANGE] = 0.0, change
    if change <= TOLERANCE * largest or course[TURN] >= course[MOST]:
        return 3
    course[TURN] += 1.0
    if int(course[TURN]) % PATIENCE != 2 and not again:
        return -1
    for c in range(n):
        p.kept[0, c], p.kept[1, c], p.marks[0, c], p.marks[1, c] = p.force[c], p.gap[c], p.state[c], p.slipped[c]
    course[TRY], course[LEFT] = 1.0, 1.0
    return 0


@compiled(inside=True, vectors=True)
def _rub(
    k: int, n: int, i: int, w: Array, force: Array, gap: Array, law: Array, state: Indices, slipped: Indices
) -> float:
    """Solve the friction of contact i as if it gave way alike in all directions; return its change [N]."""
    c = i * k
    mobility, across, normal = w[c + 1, c + 1], 0.0, max(force[c], 0.0)
    if k == 3:
        half = 0.5 * (mobility - w[c + 2, c + 2])
        mobility = mobility - half + np.sqrt(half * half + w[c + 1, c + 2] ** 2)
        across = gap[c + 2] - mobility * force[c + 2]
    slip, slide = (gap[c + 1] - mobility * force[c + 1], across, 0.0), law[i, KINETIC] * normal
    new, slides = exact_friction(slip, mobility, slide if slipped[i] else law[i, STATIC] * normal, slide)
    if law[i, CREEP] > 0.0:
        new, slides = regularised_friction(slip, mobility, slide, law[i, CREEP])
    change = 0.0
    for e in range(1, k):
        change = max(change, _change(n, w, force, gap, c + e, new[0] if e == 1 else new[1]))
    if normal > 0.0 and slides:
        # Once it slides it sticks again below mu only: else it could change for ever between mu and mu_s.
        state[i], slipped[i] = SLIDING, 1
    return change


@compiled(inside=True, vectors=True)
def _linearise(p: Problem, k: int, instant: Instant | None) -> None:
    """Write the equations [m] of the pressing contacts in their states, and what is left of them."""
    law, size, mean = p.law, 0, 0.0
    for i in range(p.count[0]):
        first, last = i * k, i * k + (k if p.rubs[i] else 1)
        if p.state[i] != OPEN and law[i, KIND] == GIVEN:
            first += 1
        for c in range(first, last):
            if p.state[i] == OPEN:
                p.force[c] = 0.0
            else:
                p.order[size] = c
                mean += p.w[c, c]
                size += 1
    _find_gaps(p.count[0] * k, p.w, p.free, p.force, p.gap)
    shift, row = 1e-14 * mean / max(size, 1), 0
    while row < size:
        i = p.order[row] // k
        n, normal = i * k, -1
        if p.order[row] == n:
            normal, factor, extra, rest = row, 1.0, shift, p.gap[n]
            if instant is not None:  # noqa: SIM102
                if law[i, KIND] == SPRING:
                    slope = force_slope(law, i, p.gap[n], p.force[n], instant)
                    scale = p.w[n, n] / (1.0 - slope * p.w[n, n])
                    factor, extra = -slope * scale, shift + scale
                    rest = scale * (p.force[n] - normal_force(law, i, p.gap[n], instant))
            _equation(p.system, p.w, p.order, row, size, factor, n, rest)
            p.system[row, row] += extra
            row += 1
        if p.rubs[i]:
            slide, slip = law[i, KINETIC] * p.force[n], 0.0
            for c in range(n + 1, n + k):
                slip += p.gap[c] * p.gap[c]
            slip = np.sqrt(slip)
            for c in range(n + 1, n + k):
                if p.state[i] == STICKING:
                    creep = law[i, CREEP] / slide if slide > 0.0 else 0.0
                    _equation(p.system, p.w, p.order, row, size, 1.0, c, p.gap[c] + creep * p.force[c])
                    p.system[row, row] += creep + shift
                    if creep > 0.0 and normal >= 0:
                        p.system[row, normal] -= creep * p.force[c] / p.force[n]
                else:  # w_tt (t + mu lambda_n s/|s|) = 0
                    own, way = p.w[n + 1, n + 1], p.gap[c] / slip if slip > 0.0 else 0.0
                    _equation(p.system, p.w, p.order, row, size, 0.0, c, own * (p.force[c] + slide * way))
                    for e in range(n + 1, n + k if k == 3 and slip > 0.0 else n):
                        turn = own * slide / slip * ((1.0 if c == e else 0.0) - way * p.gap[e] / slip)
                        for b in range(size):
                            p.system[row, b] += turn * p.w[e, p.order[b]]
                    p.system[row, row] += own
                    if normal >= 0:
                        p.system[row, normal] += own * law[i, KINETIC] * way
                row += 1
    p.course[SIZE] = size


@compiled(inside=True, vectors=True)
def _equation(system: Array, w: Array, order: Indices, row: int, size: int, factor: float, c: int, rest: float) -> None:
    """Begin an equation with a multiple of a row of W, and what is left of it."""
    for b in range(size):
        system[row, b] = factor * w[c, order[b]]
    system[row, size] = rest


@compiled(inside=True, vectors=True)
def _eliminate(a: Array, course: Array) -> None:
    """Solve the equations, right-hand side and answer in the last column; none are left where there is no solution.

    With pivots of rows, four columns at a time: the others are read and written once for all of these.
    """
    size = int(course[SIZE])
    for k in range(0, size, 4):
        end = min(k + 4, size)
        for q in range(k, end):
            best = q
            for i in range(q + 1, size):
                if abs(a[i, q]) > abs(a[best, q]):
                    best = i
            if not abs(a[best, q]) > 0.0:
                course[SIZE] = 0.0
                return
            for c in range(k, size + 1 if best != q else k):
                a[q, c], a[best, c] = a[best, c], a[q, c]
            for i in range(q + 1, size):
                a[i, q] /= a[q, q]
                for c in range(q + 1, end):
                    a[i, c] -= a[i, q] * a[q, c]
            for i in range(k, q):
                for c in range(end, size + 1):
                    a[q, c] -= a[q, i] * a[i, c]
        for i in range(end, size if end == k + 4 else end):
            w, x, y, z = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            if w != 0.0 or x != 0.0 or y != 0.0 or z != 0.0:
                row, first, last = a[i, end:], a[k, end:], size + 1 - end
                second, third, fourth = a[k + 1, end:], a[k + 2, end:], a[k + 3, end:]
                for c in range(last):
                    row[c] -= w * first[c] + x * second[c] + y * third[c] + z * fourth[c]
    for k in range(size - 1, -1, -1):
        for c in range(k + 1, size):
            a[k, size] -= a[k, c] * a[c, size]
        a[k, size] /= a[k, k]


@compiled(inside=True, vectors=True)
def _advance(p: Problem, k: int, instant: Instant | None) -> int:
    """Take the step and note the states that forces and gaps then ask for: -3 for another one, -4 for a sweep."""
    n, size, law, changed = p.count[0] * k, int(p.course[SIZE]), p.law, False
    for row in range(size):
        p.force[p.order[row]] -= p.system[row, size]
    _find_gaps(n, p.w, p.free, p.force, p.gap)
    for i in range(p.count[0]):
        c = i * k
        own, normal, before, now = p.w[c, c], p.force[c], p.state[i], STICKING
        closed = normal > 0.0
        if law[i, KIND] == HARD:
            closed = own * normal > p.gap[c] and not p.stuck[i]
        if instant is not None:  # noqa: SIM102
            if law[i, KIND] == SPRING:
                closed = normal_force(law, i, p.gap[c], instant) > 0.0
        if not closed:
            now = OPEN
        elif p.rubs[i] and law[i, CREEP] == 0.0:
            limit = law[i, KINETIC if before == SLIDING else STATIC] * max(normal, 0.0)
            square, scale = 0.0, max(p.w[c + 1, c + 1], p.w[c + k - 1, c + k - 1])
            for e in range(c + 1, c + k):
                square += (p.force[e] - p.gap[e] / scale) ** 2
            if square > limit * limit:
                now = SLIDING
        p.state[i] = now
        changed = changed or now != before
    p.course[LEFT] -= 1.0
    if changed and size > 0 and p.course[LEFT] > 0.0:
        return -3
    for i in range(p.count[0]):
        if p.force[i * k] < 0.0:
            _change(n, p.w, p.force, p.gap, i * k, 0.0)
    return -4


@compiled(inside=True, vectors=True)
def _conclude(p: Problem, k: int, enough: float, instant: Instant | None) -> int:
    """Accept what was found, or go on with the next proximal point (-6)."""
    n, course, rho = p.count[0] * k, p.course, p.course[RHO]
    found = course[TURN] < course[MOST]
    if rho > 0.0:
        for c in range(n):
            p.w[c, c], p.free[c] = p.kept[OWN, c], p.kept[BASE, c]
        _find_gaps(n, p.w, p.free, p.force, p.gap)
    if rho > 0.0 or found:
        course[DEFECT] = _defect(p.count[0], k, p.w, p.force, p.gap, p.law, p.state, p.rubs, p.stuck, instant)
        if rho == 0.0:
            return 0
        if course[DEFECT] < course[LEAST]:
            course[LEAST] = course[DEFECT]
            for c in range(n):
                p.kept[BEST, c], p.marks[2, c] = p.force[c], p.state[c]
        rho = max(rho / SOFTER, STIFFEST) if found else min(rho * SOFTER, 1.0)
        course[POINT] += 1.0
        if course[LEAST] <= enough or course[POINT] >= POINTS:
            course[DEFECT] = course[LEAST]
            for c in range(n):
                p.force[c], p.state[c] = p.kept[BEST, c], p.marks[2, c]
            _find_gaps(n, p.w, p.free, p.force, p.gap)
            return 0
    else:
        rho, course[MOST] = SOFTEST, LONGER
        for c in range(n):
            p.force[c] = p.kept[BEST, c]
    course[RHO] = rho
    for c in range(n):
        p.kept[OWN, c], p.kept[BASE, c] = p.w[c, c], p.free[c]
        p.w[c, c], p.free[c] = (1.0 + rho) * p.kept[OWN, c], p.kept[BASE, c] - rho * p.kept[OWN, c] * p.force[c]
    return -6


@compiled(inside=True, vectors=True)
def _defect(
    count: int, k: int, w: Array, force: Array, gap: Array, law: Array, state: Indices, rubs: Indices, stuck: Indices,
    instant: Instant | None,
) -> float:  # fmt: skip
    """Return how far the worst contact is from its law [m]: what it is off in force, times how it gives way alone.

        normal      w_nn |lambda_n - max(0, lambda_n - r_n/w_nn)|,  or w_nn |lambda_n - F(r_n)|
        friction    w_tt |t - P(t - (s + c t)/w_tt)|,  P the nearest point of the disc of radius mu lambda_n

    It is zero where the law holds, and a gap that is closed or a force across a gap otherwise.
    """
    worst = 0.0
    for i in range(count):
        c = i * k
        own, normal = w[c, c], force[c]
        if law[i, KIND] == HARD and not stuck[i]:
            worst = max(worst, abs(own * normal - max(0.0, own * normal - gap[c])))
        if instant is not None:  # noqa: SIM102
            if law[i, KIND] == SPRING:
                worst = max(worst, own * abs(normal - normal_force(law, i, gap[c], instant)))
        if not rubs[i]:
            continue
        tangential, slide = max(w[c + k - 1, c + k - 1], w[c + 1, c + 1]), law[i, KINETIC] * max(normal, 0.0)
        creeps = law[i, CREEP] > 0.0
        hold = slide if creeps or state[i] != STICKING else law[i, STATIC] * max(normal, 0.0)
        extra = law[i, CREEP] / slide if slide > 0.0 else 0.0
        size, square = 0.0, 0.0
        for e in range(c + 1, c + k):
            size += (force[e] - (gap[e] + extra * force[e]) / tangential) ** 2
        share = min(1.0, hold / np.sqrt(size)) if size > 0.0 else 1.0
        for e in range(c + 1, c + k):
            square += (force[e] - share * (force[e] - (gap[e] + extra * force[e]) / tangential)) ** 2
        worst = max(worst, tangential * np.sqrt(square))
    return worst
