"""Contacts of one step linearised: how their gap and slip follow from the nodes and the tools' poses.

    rel = sum w_i du_i - dp(dq),      dp = displacement of the tool's surface where it touches,
    row k of a contact = e_k . rel,   e_0 = n (gap), e_1.. tangents (slip)

A tool's surface moves by dp = dq_123 + dq_4 a x r about its axis a.

Between bodies a row pushes on its nodes with w_i e. The moment of these pushes is C = (sum w_i x_i) x e: zero for the
normal, because sum w_i x_i = g n, but g n x t for friction, which acts on both sides of the gap. Both bodies should
meet in one point, so the row is that of the nodes once the turn that all of them share is taken out:

    push on node i = w_i e + omega x r_i,      I omega = -C,      I = sum (r_i.r_i 1 - r_i r_i^T)

with r_i from the centre of the nodes. Their sum is that of w_i e, nothing. As slip, the row measures what is left of
sum w_i du_i without that turn, which is no slip: work and force agree.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.couple import spin
from rheotwin.constraints.contact.mobility import arm_of, turn_of
from rheotwin.constraints.contact.pairs import NODES, Pairs
from rheotwin.constraints.contact.tool_pairs import turned
from rheotwin.constraints.contact.vectors import cross, dot, minus, plus, row, times, unit
from rheotwin.constraints.tools import AXIS
from rheotwin.kernels.compiled import compiled

NODE, TOOL, SLOT, LAW, WHO = 0, 4, 5, 6, 7
"""Columns of `Rows.who`: four nodes, NO_NODE behind the last; the tool, NO_TOOL between bodies; where the history is
kept; row of the table of laws."""
POINT, TURN, GAP, BEGIN, PARTING, WEIGHT, MOVED, PLACE = 0, 3, 6, 7, 8, 9, 13, 16
"""Columns of `Rows.place`: foot (3) [m]; a x r (3) [m] of the tool there; gap [m] where the contact was found and at
the beginning of the step; rate [m/s] with which a bounce leaves (0: none); weights (4) of the nodes; change (3) of gap
and slip over the step [m]."""
FRAME = NODES
"""Where behind the nodes `Rows.push` has e."""


class Rows(NamedTuple):
    """The first `count` (1,) of P contacts: `who` (P, WHO), `place` (P, PLACE), see above.

    `push` (P, k, 5, 3) of a unit force along each row on each node, and its direction e.
    """

    count: Indices  # type: ignore[assignment]  # nobody asks a tuple of arrays how often it has one
    who: Indices
    place: Array
    push: Array


def room_for_rows(most: int, k: int) -> Rows:
    """Return room for so many contacts of `k` directions."""
    places = np.zeros((most, PLACE)), np.zeros((most, k, NODES + 1, 3))
    return Rows(np.zeros(1, np.int64), np.zeros((most, WHO), np.int64), *places)


@compiled(inside=True, vectors=True)
def copy_row(a: Rows, i: int, b: Rows, j: int) -> None:
    """Make contact j of b the same as contact i of a."""
    for c in range(WHO):
        b.who[j, c] = a.who[i, c]
    for c in range(PLACE):
        b.place[j, c] = a.place[i, c]
    for e in range(a.push.shape[1]):
        for end in range(NODES + 1):
            for c in range(3):
                b.push[j, e, end, c] = a.push[i, e, end, c]


@compiled(inside=True, vectors=True)
def along_nodes(rows: Rows, i: int, e: int, x: Array) -> float:
    """Return sum push . x over the nodes of contact i, of vectors (N, 3)."""
    total = 0.0
    for a in range(NODES):
        node = rows.who[i, a]
        if node < 0:
            break
        for c in range(3):
            total += rows.push[i, e, a, c] * x[node, c]
    return total


@compiled(inside=True, vectors=True)
def along_tool(rows: Rows, i: int, e: int, pose: Array) -> float:
    """Return e . dp for a small change of pose, or its rate (T, 4); nothing between bodies."""
    tool, total = rows.who[i, TOOL], 0.0
    for c in range(3 if tool >= 0 else 0):
        total += rows.push[i, e, FRAME, c] * (pose[tool, c] + rows.place[i, TURN + c] * pose[tool, 3])
    return total


@compiled(inside=True, vectors=True)
def push_tools(rows: Rows, f: Array, ease: Array, pose: Array) -> None:
    """Add what forces (n k,) on the contacts do to the tools they push back: -`ease` (T, 4) times force and moment."""
    k = rows.push.shape[1]
    for i in range(rows.count[0]):
        tool = rows.who[i, TOOL]
        for e in range(k if tool >= 0 else 0):
            for c in range(3):
                force = f[i * k + e] * rows.push[i, e, FRAME, c]
                pose[tool, c] -= ease[tool, c] * force
                pose[tool, 3] -= ease[tool, 3] * force * rows.place[i, TURN + c]


@cache
def linearising(k: int, dimension: int) -> Any:
    """Return the stage that makes rows of `k` directions of all pairs found at `end` (N, 3) [m], `du` after the begin.

    Tools have come from the poses `before` (T, 4) to `pose`; `between` is the law of bodies; where there are
    none, or no tools with a `geometry`, the code for these is not compiled.
    """
    flat = dimension == 2

    @compiled(inside=True, vectors=True)
    def linearise(
        pairs: Pairs, rows: Rows, du: Array, end: Array, geometry: Array | None, before: Array, pose: Array,
        between: int | None,
    ) -> None:  # fmt: skip
        who, place, push = rows.who, rows.place, rows.push
        rows.count[0] = pairs.count[0]
        for i in range(pairs.count[0]):
            tool, n, point, surface = pairs.tool[i], row(pairs.normal, i), row(pairs.point, i), (0.0, 0.0, 0.0)
            who[i, TOOL], who[i, SLOT], who[i, LAW] = tool, pairs.slot[i], tool
            turn, first, second = surface, (-n[1], n[0], 0.0), surface
            if geometry is not None:  # noqa: SIM102
                if tool >= 0:
                    axis = (geometry[tool, AXIS], geometry[tool, AXIS + 1], geometry[tool, AXIS + 2])
                    arm = arm_of(geometry, pose, tool, point[0], point[1], point[2])
                    earlier = plus(turned(arm, axis, before[tool, 3] - pose[tool, 3]), 1.0, row(before, tool))
                    turn, surface = turn_of(geometry, tool, arm), minus(plus(arm, 1.0, row(pose, tool)), earlier)
            if k == 3:
                least, ax, ay, az = (0.0, 0.0, 1.0), abs(n[0]), abs(n[1]), abs(n[2])
                if ax <= ay and ax <= az:
                    least = (1.0, 0.0, 0.0)
                elif ay <= az:
                    least = (0.0, 1.0, 0.0)
                first = unit(cross(n, least))
                second = cross(n, first)
            for a in range(NODES):
                who[i, a], place[i, WEIGHT + a] = pairs.node[i, a], pairs.weight[i, a] if pairs.node[i, a] >= 0 else 0.0
            for c in range(3):
                place[i, POINT + c], place[i, TURN + c], place[i, MOVED + c] = point[c], turn[c], 0.0
            for e in range(k):
                way = n if e == 0 else (first if e == 1 else second)
                for c in range(3):
                    push[i, e, FRAME, c] = way[c]
                    for a in range(NODES):
                        push[i, e, a, c] = place[i, WEIGHT + a] * way[c]
                if between is not None:
                    if tool < 0:
                        who[i, LAW] = between
                    for _ in range(2 if tool < 0 else 0):  # the second time takes what rounding left
                        _take_turn_out(rows, i, e, end, flat)
                place[i, MOVED + e] = along_nodes(rows, i, e, du) - dot(way, surface)
            place[i, GAP], place[i, PARTING], place[i, BEGIN] = pairs.gap[i], 0.0, pairs.gap[i] - place[i, MOVED]

    return linearise


@compiled(inside=True, vectors=True)
def _take_turn_out(rows: Rows, i: int, e: int, x: Array, flat: bool) -> None:
    """Take the moment out of a row of contact i with nodes at x (N, 3) [m].

    All corners of a face take part, whatever their weight: then the nodes never lie on one line, about which they
    could not turn.
    """
    who, push, zero, many = rows.who, rows.push, (0.0, 0.0, 0.0), 0
    centre, squares, products, couple = zero, zero, zero, zero
    while many < NODES and who[i, many] >= 0:
        centre = plus(centre, 1.0, row(x, who[i, many]))
        many += 1
    centre = times(1.0 / many, centre)
    for a in range(many):
        r = minus(row(x, who[i, a]), centre)
        squares = plus(squares, 1.0, (r[0] * r[0], r[1] * r[1], r[2] * r[2]))
        products = plus(products, 1.0, (r[0] * r[1], r[1] * r[2], r[2] * r[0]))
        couple = plus(couple, 1.0, cross(r, (push[i, e, a, 0], push[i, e, a, 1], push[i, e, a, 2])))
    omega = spin(squares, products, couple, flat)
    for a in range(many):
        change = cross(omega, minus(row(x, who[i, a]), centre))
        for c in range(3):
            push[i, e, a, c] += change[c]
