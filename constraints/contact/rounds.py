"""Contacts that depend on each other: projected Gauss-Seidel, its rounds mixed.

One visit solves a contact's row of `packed_law`, slope g' + constant + compliance P >= 0 with its own response W, and
its friction, as if all others stood still:

    P <- max(0, P - (slope g' + constant + compliance P)/(slope W + compliance))

Nearly equal contacts, such as two corners that meet and are a vertex and a face to each other, would need thousands of
rounds and end where the order left them. So a round starts from a mixture of the last ones (`mixing`), and projects
what that has taken out of bounds. A mixture whose round changes more than the one before is dropped: the next try is a
quarter as long, from the impulses that this one began with, because between the two another contact began or ceased to
press; once it is no longer than a plain round the memory is emptied. A plain round that changes more than the last
empties it, too. So no try ends worse than it began, and plain rounds are left where none helps. Whatever the number of
visits, every impulse comes with its reaction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.friction import exact_friction, regularised_friction
from rheotwin.constraints.contact.mixing import (
    find_shares,
    go_back,
    length_of_mixture,
    mix,
    note,
    remember,
    size_of_change,
)
from rheotwin.constraints.contact.mobility import (
    COMPLIANCE,
    CONSTANT,
    KINETIC,
    MOST,
    NORMAL_RESPONSE,
    PRESSED,
    SLIDES,
    SLIP,
    SLIP_RESPONSE,
    SLOPE,
    STATIC,
    TANGENT,
    motion_of,
    push,
)
from rheotwin.kernels.compiled import compiled

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


@compiled(inside=True)
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


@compiled(inside=True)
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


@compiled(inside=True)
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


@compiled(inside=True)
def visit_until_still(contacts: Contacts, rows: Array, alone: Flags, v: Array, tool_v: Array, still: float) -> int:
    """Visit the contacts that are not alone until none changes by more than `still` [m/s]; return the rounds.

    They are `VISITS` + 1 where contacts have not settled, which after so many is to (VISITS/GRACE)^3 `still`.
    """
    count, normal = contacts.pairs.count[0], contacts.pairs.normal
    memory, system = contacts.impulses.memory, contacts.impulses.system
    known, last, far, mixed = -1, np.inf, np.inf, 0.0
    for visits in range(1, VISITS + 1):
        note(count, normal, rows, memory, alone)
        if visit_all(contacts, rows, alone, False, v, tool_v) <= still * max(1.0, visits / GRACE) ** 3:
            return visits
        size = size_of_change(count, normal, rows, memory, alone)
        if mixed > 0.0 and not size <= last:
            go_back(contacts, rows, alone, v, tool_v)
            far = SHORTER * mixed
            if far * far <= last:
                known = -1  # no further than a plain round: what is remembered is no use here
        else:
            if not size <= last:
                known = -1
            remember(count, normal, rows, memory, alone, max(known, 0) % MOST)
            known, last, far = known + 1, size, far / SHORTER
        mixed = 0.0
        if known > 0 and visits < VISITS and find_shares(count, rows, memory, alone, min(known, MOST), system):
            length = length_of_mixture(count, rows, memory, alone, min(known, MOST), system)
            mixed = min(length, far)
            if mixed > 0.0:
                mix(contacts, rows, alone, mixed / length, v, tool_v)
    return VISITS + 1
