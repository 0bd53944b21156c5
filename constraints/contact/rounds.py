"""Contacts that depend on each other: projected Gauss-Seidel with Anderson's mixing of rounds.

One visit solves a contact's row of `packed_law`, slope g' + constant + compliance P >= 0 with its own response W, and
its friction, as if all others stood still:

    P <- max(0, P - (slope g' + constant + compliance P)/(slope W + compliance))

Nearly equal contacts, such as two corners that meet and are a vertex and a face to each other, would need thousands of
rounds and end where the order left them. So every round starts from a mixture of the last ones (Anderson 1965; Walker
and Ni 2011): with J the impulses after a round, f their change in it, and dJ_k, df_k the differences of both between
the last MOST rounds,

    J <- J - sum_k a_k dJ_k,         a: least |f - sum_k a_k df_k|,         |f|^2 = sum (W + compliance/slope) f^2

from normal equations. The next round projects what that has taken out of bounds. A change that grows empties the
memory, because other contacts press, for twice as many rounds each time. Whatever the number of visits, every impulse
comes with its reaction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.compiled import borrowing
from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.friction import exact_friction, regularised_friction
from rheotwin.constraints.contact.mobility import (
    BEFORE,
    CHANGE,
    COMPLIANCE,
    CONSTANT,
    KINETIC,
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
    motion_of,
    push,
)

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

VISITS = 400
"""Most visits to a contact in one step."""
DEPENDENT = 1e-8
"""Differences whose squares differ from those of combinations of others by less than this share count for nothing."""


@borrowing
def _drag(p: int, rows: Array, sx: float, sy: float, sz: float) -> tuple[float, float, float]:
    """Renew the tangential impulse of a pair that slips by s [m/s] with the old one; return its change [N s]."""
    response, pressed = rows[p, SLIP_RESPONSE], rows[p, PRESSED]
    tx, ty, tz = rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2]
    free = (sx - response * tx, sy - response * ty, sz - response * tz)
    if rows[p, SLIP] > 0.0:
        new, slides = regularised_friction(free, response, rows[p, KINETIC] * pressed, rows[p, SLIP])
    else:
        new, slides = exact_friction(free, response, rows[p, STATIC] * pressed, rows[p, KINETIC] * pressed)
    rows[p, SLIDES] = 1.0 if slides else 0.0
    rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2] = new
    return new[0] - tx, new[1] - ty, new[2] - tz


@borrowing
def _visit(
    p: int, node: Indices, weight: Array, normal: Array, rows: Array, pushed: Indices, ease: Array, tool_ease: Array,
    v: Array, tool_v: Array,
) -> float:  # fmt: skip
    """Solve one contact with all others as they are; return the change of its velocity [m/s]."""
    slope, compliance, before = rows[p, SLOPE], rows[p, COMPLIANCE], rows[p, PRESSED]
    stiffness = slope * rows[p, NORMAL_RESPONSE] + compliance
    if stiffness == 0.0:
        return 0.0  # the supports take all of it
    nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
    mx, my, mz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
    rate = mx * nx + my * ny + mz * nz
    pressed = max(0.0, before - (slope * rate + rows[p, CONSTANT] + compliance * before) / stiffness)
    if pressed == 0.0 and before == 0.0:
        return 0.0
    rows[p, PRESSED] = pressed
    change = pressed - before
    jx, jy, jz, moved = change * nx, change * ny, change * nz, abs(change) * rows[p, NORMAL_RESPONSE]
    if rows[p, STATIC] > 0.0:
        tx, ty, tz = _drag(p, rows, mx - rate * nx, my - rate * ny, mz - rate * nz)
        jx, jy, jz = jx + tx, jy + ty, jz + tz
        moved += np.sqrt(tx * tx + ty * ty + tz * tz) * rows[p, SLIP_RESPONSE]
    push(p, jx, jy, jz, node, weight, rows, pushed, ease, tool_ease, v, tool_v)
    return float(moved)


@borrowing
def visit_all(contacts: Contacts, rows: Array, alone: Flags, which: bool, v: Array, tool_v: Array) -> float:
    """Visit the contacts that are alone, or those that are not; return the largest change [m/s].

    Velocities of nodes (N, 3) and tools (T, 4) change, or their places, where the rows are about those.
    """
    pairs, pushed, largest = contacts.pairs, contacts.impulses.pushed, 0.0
    node, weight, normal = pairs.node, pairs.weight, pairs.normal
    ease, tool_ease = contacts.lumped.ease, contacts.tools.drives.inverse_mass
    for p in range(pairs.count[0]):
        if alone[p] == which:
            largest = max(largest, _visit(p, node, weight, normal, rows, pushed, ease, tool_ease, v, tool_v))
    return largest


@borrowing
def _note(count: int, normal: Array, rows: Array, memory: Array, alone: Flags) -> None:
    """Keep the impulses of the contacts that are not alone."""
    for p in range(count):
        if not alone[p]:
            for c in range(3):
                memory[p, BEFORE + c] = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c]


@borrowing
def _remember(count: int, normal: Array, rows: Array, memory: Array, alone: Flags, slot: int) -> float:
    """Write impulses and their change in this round, and in `slot` the differences to the last; return |f|^2 [J]."""
    size, way, turn = 0.0, WAYS + 3 * slot, TURNS + 3 * slot
    for p in range(count):
        if alone[p]:
            continue
        metric = _metric(rows, p)
        for c in range(3):
            reached = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c]
            change = reached - memory[p, BEFORE + c]
            memory[p, way + c], memory[p, turn + c] = reached - memory[p, REACHED + c], change - memory[p, CHANGE + c]
            memory[p, REACHED + c], memory[p, CHANGE + c] = reached, change
            size += metric * change * change
    return size


@borrowing
def _metric(rows: Array, p: int) -> float:
    """Return W + compliance/slope of a row [1/kg]; rows without a slope depend on no other."""
    slope = float(rows[p, SLOPE])
    return float(rows[p, NORMAL_RESPONSE] + rows[p, COMPLIANCE] / slope) if slope > 0.0 else 0.0


@borrowing
def _shares(count: int, rows: Array, memory: Array, alone: Flags, filled: int, system: Array) -> None:
    """Write the a_k of the `filled` differences into the last column of `system` (MOST, MOST + 1)."""
    for i in range(filled):
        for j in range(MOST + 1):
            system[i, j] = 0.0
    for p in range(count):
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
    for i in range(filled):
        system[i, i] *= 1.0 + DEPENDENT
    for k in range(filled):  # elimination: symmetric and positive, so without a search for pivots
        for i in range(k + 1, filled):
            factor = system[i, k] / system[k, k] if system[k, k] > 0.0 else 0.0
            for j in range(k + 1, filled):
                system[i, j] -= factor * system[k, j]
            system[i, MOST] -= factor * system[k, MOST]
    for k in range(filled - 1, -1, -1):
        for j in range(k + 1, filled):
            system[k, MOST] -= system[k, j] * system[j, MOST]
        system[k, MOST] = system[k, MOST] / system[k, k] if system[k, k] > 0.0 else 0.0


@borrowing
def _mix(contacts: Contacts, rows: Array, alone: Flags, filled: int, v: Array, tool_v: Array) -> None:
    """Take the shares of the last ways from the impulses."""
    pairs, impulses = contacts.pairs, contacts.impulses
    pushed, memory, system = impulses.pushed, impulses.memory, impulses.system
    node, weight, normal = pairs.node, pairs.weight, pairs.normal
    ease, tool_ease = contacts.lumped.ease, contacts.tools.drives.inverse_mass
    for p in range(pairs.count[0]):
        if alone[p]:
            continue
        jx, jy, jz = 0.0, 0.0, 0.0
        for k in range(filled):
            share, way = system[k, MOST], WAYS + 3 * k
            jx, jy, jz = jx - share * memory[p, way], jy - share * memory[p, way + 1], jz - share * memory[p, way + 2]
        along = jx * normal[p, 0] + jy * normal[p, 1] + jz * normal[p, 2]
        rows[p, PRESSED] += along
        rows[p, TANGENT] += jx - along * normal[p, 0]
        rows[p, TANGENT + 1] += jy - along * normal[p, 1]
        rows[p, TANGENT + 2] += jz - along * normal[p, 2]
        push(p, jx, jy, jz, node, weight, rows, pushed, ease, tool_ease, v, tool_v)


@borrowing
def visit_until_still(contacts: Contacts, rows: Array, alone: Flags, v: Array, tool_v: Array, still: float) -> int:
    """Visit the contacts that are not alone until none changes by more than `still` [m/s]; return the rounds."""
    count, normal = contacts.pairs.count[0], contacts.pairs.normal
    memory, system = contacts.impulses.memory, contacts.impulses.system
    known, last, wait = -1, np.inf, 0
    for visits in range(1, VISITS + 1):
        _note(count, normal, rows, memory, alone)
        if visit_all(contacts, rows, alone, False, v, tool_v) <= still:
            return visits
        if visits == VISITS:
            break
        size = _remember(count, normal, rows, memory, alone, max(known, 0) % MOST)
        known += 1
        if not size <= last:
            known, wait = -wait, 2 * wait + 1
        last = size
        if known > 0:
            _shares(count, rows, memory, alone, min(known, MOST), system)
            _mix(contacts, rows, alone, min(known, MOST), v, tool_v)
    return VISITS
