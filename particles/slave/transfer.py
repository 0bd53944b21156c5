"""What passes between masters and slaves in a step (spec sections 3.1 to 3.8 and 11).

With the cubic spline w of half width h, W_sm = w_sm/sum_s' w_s'm, and of each master

    xbar = sum_s W x_s,   K = sum_s W (x_s - xbar)(x_s - xbar)^T,   b_s = W K^-1 (x_s - xbar)

    m_s = sum_m m W,   m_s v_s = sum_m W [m (v_m + C (x_s - xbar)) - h V P FE^T K^-1 (x_s - xbar)]     to slaves
    vbar = sum_s W v_s,   L = sum_s v_s b_s^T,   vhat = vbar + L (x_m - xbar)                          to masters

vbar is kept, which conserves momentum; x_m moves by vhat, slaves by the mean of vhat + C (x_s - x_m). Sums over slaves
of W (x_s - xbar) vanish. A master that sees few slaves has no L (below `LEAST`, or where K is flat), or no C.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import count_of, load, slots, store
from rheotwin.particles.slave.cloud import Masters, Slaves
from rheotwin.particles.slave.lists import Lists

LEAST = 6
"""Slaves below which a master is without stress."""
AFFINE = 24
"""Slaves below which its velocity field is uniform."""
FLAT = 0.01
"""Share of det K on the lattice, (.3 h2)^3, below which K is flat."""
EMPTY = 1e-6 * np.pi
"""Sum of the spline (of value 1 at its centre), below which a master flies alone."""
MEAN, INVERSE, AFFINE_AT, SEEN = 0, 4, 10, 11
"""Columns of `Lists.geometry`; 1/sum w stands in column 3."""

four, eight = slots(4), slots(8)


@compiled(inside=True, vectors=True, merged=True)
def weigh(x: Array, y: Array, lists: Lists, m: int, h: float, room: Array) -> None:
    """Find weights, geometry and, for now, offsets of what master m at x sees; `room` (4, 4) is scratch."""
    index, weight, offset, square, n = lists.index, lists.weight, lists.offset, lists.square, lists.count[m]
    here, per, seen, flat = load(x, m, four(0)), 1.0 / h, 0, FLAT * (0.3 * h * h) ** 3
    for k in range(n):
        store(offset, k, four(0), load(y, index[m, k], four(0)) - here)  # the last number is 1
        u, v, w = offset[k, 0], offset[k, 1], offset[k, 2]
        square[0, k] = u * u + v * v + w * w
    for k in range(n, (n + 7) & ~7):
        square[0, k] = np.inf
    for k in range(0, n, 8):
        q = math.sqrt(load(square, 0, eight(k))) * per
        far, near = max(2.0 - q, 0.0), max(1.0 - q, 0.0)
        store(weight, m, eight(k), 0.25 * far * far * far - near * near * near)
        seen += count_of(q < 2.0)
    a0 = a1 = a2 = a3 = 0.0 * here
    for k in range(n):
        w = weight[m, k] * load(offset, k, four(0))
        a0, a1, a2, a3 = a0 + offset[k, 0] * w, a1 + offset[k, 1] * w, a2 + offset[k, 2] * w, a3 + w
    store(room, 0, four(0), a0)
    store(room, 1, four(0), a1)
    store(room, 2, four(0), a2)
    store(room, 3, four(0), a3)
    g = lists.geometry[m]
    for c in range(AFFINE_AT + 1):
        g[c] = 0.0
    g[SEEN] = seen
    if room[3, 3] < EMPTY:
        return
    i = 1.0 / room[3, 3]
    bx, by, bz = room[3, 0] * i, room[3, 1] * i, room[3, 2] * i
    g[0], g[1], g[2], g[3] = bx, by, bz, i
    kxx, kxy, kxz = room[0, 0] * i - bx * bx, room[0, 1] * i - bx * by, room[0, 2] * i - bx * bz
    kyy, kyz, kzz = room[1, 1] * i - by * by, room[1, 2] * i - by * bz, room[2, 2] * i - bz * bz
    cxx, cxy, cxz = kyy * kzz - kyz * kyz, kxz * kyz - kxy * kzz, kxy * kyz - kxz * kyy
    determinant = kxx * cxx + kxy * cxy + kxz * cxz
    if seen < LEAST or not determinant >= flat:
        return
    i = 1.0 / determinant
    g[4], g[5], g[6], g[7] = cxx * i, cxy * i, cxz * i, (kxx * kzz - kxz * kxz) * i
    g[8], g[9] = (kxy * kxz - kxx * kyz) * i, (kxx * kyy - kxy * kxy) * i
    g[AFFINE_AT] = 1.0 if seen >= AFFINE else 0.0


@compiled(inside=True, vectors=True)
def find_weights(x: Array, y: Array, lists: Lists, h: float, room: Array) -> None:
    """Find weights and geometry of masters at x."""
    for m in range(x.shape[0]):
        weigh(x, y, lists, m, h, room)


@compiled(inside=True, vectors=True, merged=True)
def spread_stress(room: Array, g: Array, t: Array, factor: float, mass: float) -> None:
    """Put what a master gives to slaves at r from it into `room`: rows that go with 1, rx, ry, rz.

    That is (factor T K^-1)(r - xbar)/sum w, beside what rows of momentum are there about xbar, and `mass`.
    """
    i, s = g[3], factor * g[3]
    for a in range(3):
        tx, ty, tz = s * t[a, 0], s * t[a, 1], s * t[a, 2]
        room[1, a] = i * room[1, a] + (tx * g[4] + ty * g[5] + tz * g[6])
        room[2, a] = i * room[2, a] + (tx * g[5] + ty * g[7] + tz * g[8])
        room[3, a] = i * room[3, a] + (tx * g[6] + ty * g[8] + tz * g[9])
        room[0, a] = i * room[0, a] - (room[1, a] * g[0] + room[2, a] * g[1] + room[3, a] * g[2])
    room[0, 3], room[1, 3], room[2, 3], room[3, 3] = i * mass, 0.0, 0.0, 0.0


@compiled(inside=True, vectors=True, merged=True)
def scatter(room: Array, lists: Lists, m: int, into: Array) -> None:
    """Add w (room_0 + rx room_1 + ry room_2 + rz room_3) to rows of slaves, whose offsets r are there."""
    offset = lists.offset
    r0, r1, r2, r3 = load(room, 0, four(0)), load(room, 1, four(0)), load(room, 2, four(0)), load(room, 3, four(0))
    for k in range(lists.count[m]):
        s = lists.index[m, k]
        given = r0 + offset[k, 0] * r1 + offset[k, 1] * r2 + offset[k, 2] * r3
        store(into, s, four(0), load(into, s, four(0)) + lists.weight[m, k] * given)


@compiled(inside=True, vectors=True, merged=True)
def gather(v: Array, x: Array, y: Array, lists: Lists, m: int, room: Array) -> None:
    """Put vbar and the columns of L of velocities v (S, 4) into the rows of `room` (4, 4); find offsets."""
    g, offset, here = lists.geometry[m], lists.offset, load(x, m, four(0))
    a0 = a1 = a2 = a3 = 0.0 * here
    for k in range(lists.count[m]):
        s = lists.index[m, k]
        store(offset, k, four(0), load(y, s, four(0)) - here)
        u = lists.weight[m, k] * load(v, s, four(0))
        a0, a1, a2, a3 = a0 + u, a1 + offset[k, 0] * u, a2 + offset[k, 1] * u, a3 + offset[k, 2] * u
    a0 = g[3] * a0
    a1, a2, a3 = g[3] * a1 - g[0] * a0, g[3] * a2 - g[1] * a0, g[3] * a3 - g[2] * a0
    store(room, 0, four(0), a0)
    store(room, 1, four(0), a1 * g[4] + a2 * g[5] + a3 * g[6])
    store(room, 2, four(0), a1 * g[5] + a2 * g[7] + a3 * g[8])
    store(room, 3, four(0), a1 * g[6] + a2 * g[8] + a3 * g[9])


@compiled(inside=True, vectors=True)
def to_slaves(
    masters: Masters, slaves: Slaves, lists: Lists, width: float, alone: bool, h: float, room: Array, t: Array
) -> None:
    """Find weights, and give momentum, mass and the impulse of stress over `h` [s] to slaves.

    `alone`: slaves are the masters themselves, who give each other stress and nothing else.
    """
    x, v, gradient, y, into = masters.x, masters.v, masters.c, slaves.x, slaves.sum
    for s in range(slaves.count[0]):
        for c in range(4):
            into[s, c] = 0.0
    for m in range(x.shape[0]):
        weigh(x, y, lists, m, width, room)
        mass, g = masters.mass[m], lists.geometry[m]
        if alone:
            for a in range(3):
                into[m, a] += mass * v[m, a]
            into[m, 3] += mass
            mass = 0.0
        affine = mass * g[AFFINE_AT]
        for a in range(3):
            room[0, a] = mass * v[m, a]
            room[1, a], room[2, a] = affine * gradient[m, a], affine * gradient[m, 4 + a]
            room[3, a] = affine * gradient[m, 8 + a]
        q = masters.tau
        t[0, 0], t[0, 1], t[0, 2], t[1, 1], t[1, 2], t[2, 2] = q[0, m], q[1, m], q[2, m], q[3, m], q[4, m], q[5, m]
        t[1, 0], t[2, 0], t[2, 1] = t[0, 1], t[0, 2], t[1, 2]
        spread_stress(room, g, t, -h * width**3, mass)
        scatter(room, lists, m, into)


@compiled(inside=True, vectors=True)
def kick(slaves: Slaves, gravity: Array, h: float) -> None:
    """v = (momentum + impulse)/mass + h g; slaves without mass stand."""
    for s in range(slaves.count[0]):
        mass = slaves.sum[s, 3]
        per = 1.0 / mass if mass > 0.0 else 0.0
        for c in range(3):
            slaves.v[s, c] = per * slaves.sum[s, c] + (h * gravity[c] if mass > 0.0 else 0.0)
            slaves.push[s, c], slaves.drift[s, c] = 0.0, 0.0


@compiled(inside=True, vectors=True)
def note_before(slaves: Slaves, before: Array) -> None:
    """Keep the velocities (S, 4) of slaves before forces have acted."""
    for s in range(slaves.count[0]):
        mass = slaves.sum[s, 3]
        for c in range(3):
            before[s, c] = slaves.sum[s, c] / mass if mass > 0.0 else 0.0


class Rule(NamedTuple):
    """How velocities come back: `apic` vbar, `blend` vbar + (1 - alpha)(v - what was given), `paper` (8) as printed,
    (1 - alpha) v + alpha vbar without C; `alone`: masters have the velocities of slaves, which they are themselves.
    """

    blend: bool
    paper: bool
    alone: bool
    alpha: float


@compiled(inside=True, vectors=True)
def to_masters(
    masters: Masters, slaves: Slaves, lists: Lists, gravity: Array, rule: Rule, before: Array | None, h: float,
    room: Array, way: Array,
) -> None:  # fmt: skip
    """Take velocities from slaves, deform and move masters, and add what slaves drift with."""
    x, elastic, y, v, drift = masters.x, masters.elastic, slaves.x, slaves.v, slaves.drift
    for m in range(x.shape[0]):
        g, mass = lists.geometry[m], masters.mass[m]
        if g[3] == 0.0:
            for a in range(3):
                masters.v[m, a] += h * gravity[a]
                x[m, a] += h * masters.v[m, a]
            continue
        if before is not None:
            gather(before, x, y, lists, m, room)
            for a in range(3):
                masters.v[m, a] -= room[0, a]
        gather(v, x, y, lists, m, room)
        for row in range(3):
            e0, e1, e2 = elastic[row, m], elastic[3 + row, m], elastic[6 + row, m]
            for a in range(3):
                elastic[3 * a + row, m] += h * (room[1, a] * e0 + room[2, a] * e1 + room[3, a] * e2)
        affine = 0.0 if rule.paper or rule.alone else g[AFFINE_AT]
        for a in range(3):
            if rule.blend:
                masters.v[m, a] = room[0, a] + (1.0 - rule.alpha) * masters.v[m, a]
            elif rule.paper:
                masters.v[m, a] = rule.alpha * room[0, a] + (1.0 - rule.alpha) * masters.v[m, a]
                room[0, a] = masters.v[m, a]
            elif rule.alone:
                masters.v[m, a] = v[m, a]
                room[0, a] = v[m, a]
            else:
                masters.v[m, a] = room[0, a]
            for b in range(3):
                room[1 + b, a] *= affine
                masters.c[m, 4 * b + a] = room[1 + b, a]
            room[0, a] -= room[1, a] * g[0] + room[2, a] * g[1] + room[3, a] * g[2]
        for a in range(3):
            way[a] = h * room[0, a]
            for row in range(4):
                room[row, a] *= mass * g[3]
        for row in range(4):
            room[row, 3] = 0.0
        scatter(room, lists, m, drift)
        for a in range(3):
            x[m, a] += way[a]


@compiled(inside=True, vectors=True)
def follow_masters(x: Array, y: Array) -> None:
    """Put slaves where the masters are that they stand for."""
    for m in range(x.shape[0]):
        for c in range(3):
            y[m, c] = x[m, c]


@compiled(inside=True, vectors=True)
def move_slaves(slaves: Slaves, h: float) -> None:
    """Let slaves drift; what was their momentum of drift is then the way they went."""
    for s in range(slaves.count[0]):
        mass = slaves.sum[s, 3]
        per = h / mass if mass > 0.0 else 0.0
        for c in range(3):
            slaves.drift[s, c] *= per
            slaves.x[s, c] += slaves.drift[s, c]
