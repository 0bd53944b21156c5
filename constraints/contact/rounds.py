"""Contacts that depend on each other: projected Gauss-Seidel, its rounds mixed.

One visit solves a contact's row of `laws.form`, slope g' + constant + compliance P >= 0 with its own response W, and
its friction, as if all others stood still:

    P <- max(0, P - (slope g' + constant + compliance P)/(slope W + compliance))

Nearly equal contacts, such as two corners that meet and are a vertex and a face to each other, would need thousands of
rounds and end where the order left them. So a round starts from a mixture of the last ones (Anderson 1965; Walker and
Ni 2011), and projects what that has taken out of bounds. With J the impulses after a round, f their change in it, and
dJ_k, df_k the differences of both between the last `MOST` rounds, the next one begins with

    J <- J - share sum_k a_k dJ_k,         a: least |f - sum_k a_k df_k|,         |f|^2 = sum (W + compliance/slope) f^2

A mixture whose round changes more than the one before is dropped: the next try is a quarter as long, from the impulses
that this one began with, because between the two another contact began or ceased to press; once it is no longer than a
plain round the memory is emptied. A plain round that changes more than the last empties it, too. So no try ends worse
than it began, and plain rounds are left where none helps. Whatever the number of visits, every impulse comes with its
reaction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.mobility import (
    BEFORE,
    CHANGE,
    COMPLIANCE,
    CONSTANT,
    KINETIC,
    MEMORY,
    MIXED,
    MOST,
    NORMAL_RESPONSE,
    PRESSED,
    REACHED,
    SLIDES,
    SLIP,
    SLIP_RESPONSE,
    SLOPE,
    STATIC,
    TANGENT,
    TURNS,
    WAYS,
    Giving,
    exact_friction,
    motion_of,
    push,
    regularised_friction,
)
from rheotwin.constraints.contact.pairs import Pairs
from rheotwin.constraints.contact.vectors import Vector
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

VISITS = 400
"""Most visits to a contact in one step."""
GRACE = 10
"""After so many rounds less will do: `still` grows with the cube of the rounds. Where node lies on node two contacts
with nearly the same normal share one force, and slip passes from one to the other without an end."""
SHORTER = 0.25
"""Share of a mixture that failed which is tried next."""
DEPENDENT = 1e-8
"""Differences whose squares differ from those of combinations of others by less than this share count for nothing."""
FURTHEST = 1e8
"""A mixture with larger shares than this is left out: rounding would be all that is left of it."""
STILL, ROUNDS, KNOWN, LAST, FAR, LENGTH, COURSE = range(7)
"""Entries of `Mixing.course`: change [m/s] below which contacts are settled, rounds so far, differences known, |f|^2
[J] of the last round that counts, how far the next mixture may go and how far the last went [J^0.5]."""


class Mixing(NamedTuple):
    """Scratch of the rounds: `memory` (P, MEMORY), `system` (MOST, MOST + 1) and `course` (COURSE,)."""

    memory: Array
    system: Array
    course: Array


def room_to_mix(pairs: int) -> Mixing:
    """Return the scratch for so many pairs."""
    return Mixing(np.zeros((pairs, MEMORY)), np.zeros((MOST, MOST + 1)), np.zeros(COURSE))


class System(NamedTuple):
    """Contacts that are solved together: `rows` of `mobility`, those that are `alone` left out or treated alone.

    Velocities y (N, 3) of nodes with the `ease` (N, 3) [1/kg] change, or their places where the rows are about those.
    """

    count: Indices  # type: ignore[assignment]  # nobody asks a tuple of arrays how often it has one
    node: Indices
    weight: Array
    normal: Array
    rows: Array
    alone: Flags
    ease: Array
    y: Array


def system_of(pairs: Pairs, rows: Array, alone: Flags, ease: Array, y: Array) -> System:
    """Return the system of all pairs."""
    return System(pairs.count, pairs.node, pairs.weight, pairs.normal, rows, alone, ease, y)


def round_stages(
    system: System, giving: Giving | None, mixing: Mixing, rubs: bool | None, creeps: bool | None, *, mixes: bool = True
) -> list[Stage]:
    """Return the stages that visit the contacts that are not alone until none changes by much, see `begin_rounds`.

    `rubs` and `creeps` are True where there is friction, and a regularised one, else None; unless it `mixes`, rounds
    are plain. In the end course[ROUNDS]
    is VISITS + 1 where contacts have not settled, which after so many is to (VISITS/GRACE)^3 of that.
    """
    count, rows, alone = system.count, system.rows, system.alone
    visits = (system, giving, mixing.memory, mixing.course, rubs, creeps, 3 if mixes else 1)
    if not mixes:
        return [Stage(_visit_others, visits), Stage(_visit_again, (mixing.course,))]
    return [
        Stage(_visit_others, visits),
        Stage(_judge, (system, giving, mixing.memory, mixing.course)),
        Stage(_find_mixture, (count, rows, mixing.memory, alone, mixing.system, mixing.course)),
        Stage(_mix, (system, giving, mixing.memory, mixing.course)),
    ]


@compiled(inside=True)
def begin_rounds(course: Array, still: float) -> None:
    """Begin with rounds that end once no contact changes by more than `still` [m/s]."""
    course[STILL] = still
    course[ROUNDS], course[KNOWN], course[LAST], course[FAR], course[LENGTH] = 0.0, -1.0, np.inf, np.inf, 0.0


@compiled(inside=True)
def visit_alone(system: System, giving: Giving | None, rubs: bool | None, creeps: bool | None, ahead: int) -> int:
    """Visit the contacts that are alone; skip `ahead` stages where all of them are."""
    others = False
    for p in range(system.count[0]):
        if system.alone[p]:
            _visit(p, system, giving, rubs, creeps)
        else:
            others = True
    return 0 if others else ahead


@compiled(inside=True)
def _visit_others(
    system: System, giving: Giving | None, memory: Array, course: Array, rubs: bool | None, creeps: bool | None,
    ahead: int,
) -> int:  # fmt: skip
    """Visit the others, and end the rounds, which go on for `ahead` stages, where that changed little."""
    largest, rows, normal = 0.0, system.rows, system.normal
    for p in range(system.count[0]):
        if not system.alone[p]:
            for c in range(3):
                memory[p, BEFORE + c] = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c]
            largest = max(largest, _visit(p, system, giving, rubs, creeps))
    course[ROUNDS] += 1.0
    return ahead if largest <= course[STILL] * max(1.0, course[ROUNDS] / GRACE) ** 3 else 0


@compiled(inside=True)
def _visit_again(course: Array) -> int:
    """Go back to the visits unless there have been too many."""
    if course[ROUNDS] >= VISITS:
        course[ROUNDS] = VISITS + 1
        return 0
    return -2


@compiled(inside=True)
def _visit(p: int, system: System, giving: Giving | None, rubs: bool | None, creeps: bool | None) -> float:
    """Solve one contact with all others as they are; return the change of its velocity [m/s]."""
    rows, normal = system.rows, system.normal
    slope, compliance, before = rows[p, SLOPE], rows[p, COMPLIANCE], rows[p, PRESSED]
    stiffness = slope * rows[p, NORMAL_RESPONSE] + compliance
    if stiffness == 0.0:
        return 0.0  # the supports take all of it
    nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
    mx, my, mz = motion_of(p, system.node, system.weight, rows, system.y, giving, 1.0)
    rate = mx * nx + my * ny + mz * nz
    pressed = max(0.0, before - (slope * rate + rows[p, CONSTANT] + compliance * before) / stiffness)
    if pressed == 0.0 and before == 0.0:
        return 0.0
    rows[p, PRESSED] = pressed
    change = pressed - before
    jx, jy, jz, moved = change * nx, change * ny, change * nz, abs(change) * rows[p, NORMAL_RESPONSE]
    if rubs is not None:  # noqa: SIM102
        if rows[p, STATIC] > 0.0:
            tx, ty, tz = _drag(p, rows, (mx - rate * nx, my - rate * ny, mz - rate * nz), creeps)
            jx, jy, jz = jx + tx, jy + ty, jz + tz
            moved += np.sqrt(tx * tx + ty * ty + tz * tz) * rows[p, SLIP_RESPONSE]
    push(p, (jx, jy, jz), system.node, system.weight, rows, system.ease, system.y, giving)
    return float(moved)


@compiled(inside=True)
def _drag(p: int, rows: Array, slip: Vector, creeps: bool | None) -> Vector:
    """Renew the tangential impulse of a pair that slips [m/s] with the old one; return its change [N s]."""
    response, pressed = rows[p, SLIP_RESPONSE], rows[p, PRESSED]
    tx, ty, tz = rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2]
    free = (slip[0] - response * tx, slip[1] - response * ty, slip[2] - response * tz)
    new, slides = exact_friction(free, response, rows[p, STATIC] * pressed, rows[p, KINETIC] * pressed)
    if creeps is not None:  # noqa: SIM102
        if rows[p, SLIP] > 0.0:
            new, slides = regularised_friction(free, response, rows[p, KINETIC] * pressed, rows[p, SLIP])
    rows[p, SLIDES] = 1.0 if slides else 0.0
    rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2] = new
    return new[0] - tx, new[1] - ty, new[2] - tz


@compiled(inside=True)
def _metric(rows: Array, p: int) -> float:
    """Return W + compliance/slope of a row [1/kg]; rows without a slope depend on no other."""
    slope = float(rows[p, SLOPE])
    return float(rows[p, NORMAL_RESPONSE] + rows[p, COMPLIANCE] / slope) if slope > 0.0 else 0.0


@compiled(inside=True)
def _judge(system: System, giving: Giving | None, memory: Array, course: Array) -> int:
    """Take back a mixture that led nowhere, or keep what the round has told."""
    rows, normal, size = system.rows, system.normal, 0.0
    for p in range(system.count[0]):
        if not system.alone[p]:
            square = 0.0
            for c in range(3):
                change = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c] - memory[p, BEFORE + c]
                square += change * change
            size += _metric(rows, p) * square
    better = size <= course[LAST]
    fails = course[LENGTH] > 0.0 and not better
    if fails:
        course[FAR] = SHORTER * course[LENGTH]
    if (not fails and not better) or (fails and course[FAR] * course[FAR] <= course[LAST]):
        course[KNOWN] = -1.0  # no further than a plain round: what is remembered is no use here
    slot = max(int(course[KNOWN]), 0) % MOST
    for p in range(system.count[0]):
        if system.alone[p]:
            continue
        for c in range(3):
            reached = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c]
            if fails:
                memory[p, MIXED + c] = memory[p, REACHED + c] - rows[p, PRESSED] * normal[p, c] - rows[p, TANGENT + c]
                continue
            change = reached - memory[p, BEFORE + c]
            memory[p, WAYS + 3 * slot + c] = reached - memory[p, REACHED + c]
            memory[p, TURNS + 3 * slot + c] = change - memory[p, CHANGE + c]
            memory[p, REACHED + c], memory[p, CHANGE + c] = reached, change
        if fails:
            _add(p, system, giving, memory, 1.0)
    if not fails:
        course[KNOWN], course[LAST], course[FAR] = course[KNOWN] + 1.0, size, course[FAR] / SHORTER
    if course[ROUNDS] >= VISITS:
        course[ROUNDS] = VISITS + 1
        return 2
    return 0


@compiled(inside=True)
def _find_mixture(count: Indices, rows: Array, memory: Array, alone: Flags, system: Array, course: Array) -> int:
    """Write the next mixture to the memory and its length to the course; back to the visits where there is none."""
    course[LENGTH], filled = 0.0, min(int(course[KNOWN]), MOST)
    for i in range(max(filled, 0)):
        for j in range(MOST + 1):
            system[i, j] = 0.0
    for p in range(count[0] if filled > 0 else 0):
        metric = 0.0 if alone[p] else _metric(rows, p)
        for i in range(filled if metric > 0.0 else 0):
            first = TURNS + 3 * i
            for j in range(i, filled):
                for c in range(3):
                    system[i, j] += metric * memory[p, first + c] * memory[p, TURNS + 3 * j + c]
            for c in range(3):
                system[i, MOST] += metric * memory[p, first + c] * memory[p, CHANGE + c]
    for i in range(filled):
        for j in range(i):
            system[i, j] = system[j, i]
        system[i, i] *= 1.0 + DEPENDENT
    for k in range(filled):  # elimination: symmetric and positive, so without a search for pivots
        for i in range(k + 1, filled):
            factor = system[i, k] / system[k, k] if system[k, k] > 0.0 else 0.0
            for j in range(k + 1, filled):
                system[i, j] -= factor * system[k, j]
            system[i, MOST] -= factor * system[k, MOST]
    fit = filled > 0
    for k in range(filled - 1, -1, -1):
        for j in range(k + 1, filled):
            system[k, MOST] -= system[k, j] * system[j, MOST]
        system[k, MOST] = system[k, MOST] / system[k, k] if system[k, k] > 0.0 else 0.0
        fit = fit and abs(system[k, MOST]) < FURTHEST
    square = 0.0
    for p in range(count[0] if fit else 0):
        if alone[p]:
            continue
        here = 0.0
        for c in range(3):
            way = 0.0
            for k in range(filled):
                way -= system[k, MOST] * memory[p, WAYS + 3 * k + c]
            memory[p, MIXED + c] = way
            here += way * way
        square += _metric(rows, p) * here
    course[LENGTH] = np.sqrt(square)
    return 0 if square > 0.0 else -3


@compiled(inside=True)
def _mix(system: System, giving: Giving | None, memory: Array, course: Array) -> int:
    """Add the mixture to the impulses, no further than it may go, and go back to the visits."""
    length = course[LENGTH]
    course[LENGTH] = min(length, course[FAR])
    for p in range(system.count[0] if course[LENGTH] > 0.0 else 0):
        if not system.alone[p]:
            _add(p, system, giving, memory, course[LENGTH] / length)
    return -4


@compiled(inside=True)
def _add(p: int, system: System, giving: Giving | None, memory: Array, share: float) -> None:
    """Add a share of the mixture to the impulse [N s] of pair `p`."""
    rows, normal = system.rows, system.normal
    j = (share * memory[p, MIXED], share * memory[p, MIXED + 1], share * memory[p, MIXED + 2])
    along = j[0] * normal[p, 0] + j[1] * normal[p, 1] + j[2] * normal[p, 2]
    rows[p, PRESSED] += along
    for c in range(3):
        rows[p, TANGENT + c] += j[c] - along * normal[p, c]
    push(p, j, system.node, system.weight, rows, system.ease, system.y, giving)
