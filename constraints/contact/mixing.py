"""Anderson's mixing of rounds (Anderson 1965; Walker and Ni 2011), for impulses that depend on each other.

With J the impulses after a round, f their change in it, and dJ_k, df_k the differences of both between the last `MOST`
rounds, the next one begins with

    J <- J - share sum_k a_k dJ_k,         a: least |f - sum_k a_k df_k|,         |f|^2 = sum (W + compliance/slope) f^2

from normal equations. All of it is kept in the columns of `memory` and in the `system` (MOST, MOST + 1) of `Impulses`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.mobility import (
    BEFORE,
    CHANGE,
    COMPLIANCE,
    MIXED,
    MOST,
    NORMAL_RESPONSE,
    PRESSED,
    REACHED,
    SLOPE,
    TANGENT,
    TURNS,
    WAYS,
    push,
)
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

DEPENDENT = 1e-8
"""Differences whose squares differ from those of combinations of others by less than this share count for nothing."""
FURTHEST = 1e8
"""A mixture with larger shares than this is left out: rounding would be all that is left of it."""


@compiled(inside=True)
def note(count: int, normal: Array, rows: Array, memory: Array, alone: Flags) -> None:
    """Keep the impulses of the contacts that are not alone."""
    for p in range(count):
        if not alone[p]:
            for c in range(3):
                memory[p, BEFORE + c] = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c]


@compiled(inside=True)
def size_of_change(count: int, normal: Array, rows: Array, memory: Array, alone: Flags) -> float:
    """Return |f|^2 [J] of the last round."""
    size = 0.0
    for p in range(count):
        if not alone[p]:
            square = 0.0
            for c in range(3):
                change = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c] - memory[p, BEFORE + c]
                square += change * change
            size += _metric(rows, p) * square
    return size


@compiled(inside=True)
def remember(count: int, normal: Array, rows: Array, memory: Array, alone: Flags, slot: int) -> None:
    """Write impulses and their change in this round, and in `slot` the differences to the last."""
    way, turn = WAYS + 3 * slot, TURNS + 3 * slot
    for p in range(count):
        if alone[p]:
            continue
        for c in range(3):
            reached = rows[p, PRESSED] * normal[p, c] + rows[p, TANGENT + c]
            change = reached - memory[p, BEFORE + c]
            memory[p, way + c], memory[p, turn + c] = reached - memory[p, REACHED + c], change - memory[p, CHANGE + c]
            memory[p, REACHED + c], memory[p, CHANGE + c] = reached, change


@compiled(inside=True)
def _metric(rows: Array, p: int) -> float:
    """Return W + compliance/slope of a row [1/kg]; rows without a slope depend on no other."""
    slope = float(rows[p, SLOPE])
    return float(rows[p, NORMAL_RESPONSE] + rows[p, COMPLIANCE] / slope) if slope > 0.0 else 0.0


@compiled(inside=True)
def find_shares(count: int, rows: Array, memory: Array, alone: Flags, filled: int, system: Array) -> bool:
    """Write the a_k of the `filled` differences into the last column of `system`; False if none fit."""
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
    fit = filled > 0
    for k in range(filled):
        fit = fit and abs(system[k, MOST]) < FURTHEST
    return fit


@compiled(inside=True)
def length_of_mixture(count: int, rows: Array, memory: Array, alone: Flags, filled: int, system: Array) -> float:
    """Write the mixture of the last ways to the memory; return its length, the root of its energy [J^0.5]."""
    square = 0.0
    for p in range(count):
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
    return float(np.sqrt(square))


@compiled(inside=True)
def mix(contacts: Contacts, rows: Array, alone: Flags, share: float, v: Array, tool_v: Array) -> None:
    """Add a share of the mixture to the impulses."""
    memory = contacts.impulses.memory
    for p in range(contacts.pairs.count[0]):
        if not alone[p]:
            jx, jy, jz = memory[p, MIXED], memory[p, MIXED + 1], memory[p, MIXED + 2]
            _add(p, share * jx, share * jy, share * jz, contacts, rows, v, tool_v)


@compiled(inside=True)
def go_back(contacts: Contacts, rows: Array, alone: Flags, v: Array, tool_v: Array) -> None:
    """Take the impulses that the last mixture began with."""
    normal, memory = contacts.pairs.normal, contacts.impulses.memory
    for p in range(contacts.pairs.count[0]):
        if alone[p]:
            continue
        pressed = rows[p, PRESSED]
        jx = memory[p, REACHED] - pressed * normal[p, 0] - rows[p, TANGENT]
        jy = memory[p, REACHED + 1] - pressed * normal[p, 1] - rows[p, TANGENT + 1]
        jz = memory[p, REACHED + 2] - pressed * normal[p, 2] - rows[p, TANGENT + 2]
        _add(p, jx, jy, jz, contacts, rows, v, tool_v)


@compiled(inside=True)
def _add(
    p: int, jx: float, jy: float, jz: float, contacts: Contacts, rows: Array, v: Array, tool_v: Array
) -> None:  # fmt: skip
    """Add an impulse [N s] to that of pair `p`."""
    pairs, normal = contacts.pairs, contacts.pairs.normal
    along = jx * normal[p, 0] + jy * normal[p, 1] + jz * normal[p, 2]
    rows[p, PRESSED] += along
    rows[p, TANGENT] += jx - along * normal[p, 0]
    rows[p, TANGENT + 1] += jy - along * normal[p, 1]
    rows[p, TANGENT + 2] += jz - along * normal[p, 2]
    ease, tool_ease = contacts.lumped.ease, contacts.tools.drives.inverse_mass
    push(p, jx, jy, jz, pairs.node, pairs.weight, rows, contacts.impulses.pushed, ease, tool_ease, v, tool_v)
