"""Stress of masters and its slope (spec sections 3.3, 3.5 and 3.6).

FE^ = U S^ V^T, from the axes U of B = FE^ FE^^T found by Jacobi's rotations, eight masters at once; the sign of det FE^
goes to the smallest stretch. What yields is brought back by `rheotwin.materials.flow`, FE = U (S/S^) U^T FE^.

With the left stretch Z = U S U^T and L = sum v_s b_s^T, the co-rotated operator is, symmetric and never negative,

    (H v)_s = sum_m V0 [mu (L Z + Z L^T) + lambda tr(L Z) I] Z b_s

and (M + beta h^2 H) v = M v* is solved by conjugate gradients. Velocities that tools and supports set are held: their
components are taken out by a projector of each slave.

What flows does not resist as its spring does: moduli of masters that flowed in the last step count by
1/4 (1 - h_e^2/h^2), not below 0, which is what steps longer than the explicit one, h_e, need to be stable. With all
of it a block that crumbles stands twice as high at 1 ms as it does explicitly.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import any_of, formula, load, select, slots, store
from rheotwin.materials.flow import FIRST, KIND, LAME, SECOND, SHEAR, THIRD, hardened, principal_stress, yielded
from rheotwin.particles.slave.cloud import Masters, Slaves
from rheotwin.particles.slave.lists import Lists
from rheotwin.particles.slave.transfer import INVERSE, gather, scatter, spread_stress

LEAST_SWEEPS, SWEEPS, EXACT = 3, 8, 1e-15
"""Rounds of Jacobi's rotations, each of which squares what is left beside the diagonal: fewest, most, and the share of
the trace that may be left."""
TINY = 1e-300
ROUNDING = 1e-14
"""Share of all momentum below which a residual is noise."""

eight = slots(8)


@formula
def _turned(p: Any, q: Any, off: Any, other: Any, another: Any) -> Any:
    """Return (p, q, p', q') of a rotation that takes `off` away, and its cosine and sine."""
    gap = q - p
    root = math.sqrt(gap * gap + 4.0 * off * off + TINY)
    t = 2.0 * off / (gap + math.copysign(root, gap))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    return p - t * off, q + t * off, c * other - s * another, s * other + c * another, c, s


@formula
def _axes(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Return eigenvalues and eigenvectors (three rows) of the matrix a b c, b d e, c e f."""
    one, zero = 0.0 * a + 1.0, 0.0 * a
    u0, u1, u2, u3, u4, u5, u6, u7, u8 = one, zero, zero, zero, one, zero, zero, zero, one
    left, sweep = True, 0
    while left and sweep < SWEEPS:
        a, d, c, e, g, h = _turned(a, d, b, c, e)
        b = zero
        u0, u1, u3, u4, u6, u7 = (
            g * u0 - h * u1,
            h * u0 + g * u1,
            g * u3 - h * u4,
            h * u3 + g * u4,
            g * u6 - h * u7,
            h * u6 + g * u7,
        )
        a, f, b, e, g, h = _turned(a, f, c, b, e)
        c = zero
        u0, u2, u3, u5, u6, u8 = (
            g * u0 - h * u2,
            h * u0 + g * u2,
            g * u3 - h * u5,
            h * u3 + g * u5,
            g * u6 - h * u8,
            h * u6 + g * u8,
        )
        d, f, b, c, g, h = _turned(d, f, e, b, c)
        e = zero
        u1, u2, u4, u5, u7, u8 = (
            g * u1 - h * u2,
            h * u1 + g * u2,
            g * u4 - h * u5,
            h * u4 + g * u5,
            g * u7 - h * u8,
            h * u7 + g * u8,
        )
        sweep += 1
        left = sweep < LEAST_SWEEPS or any_of(abs(b) + abs(c) > EXACT * (a + d + f))
    return a, d, f, (u0, u1, u2, u3, u4, u5, u6, u7, u8)


@formula
def _composed(u: Any, x: Any, y: Any, z: Any) -> Any:
    """Return XX XY XZ YY YZ ZZ of U diag(x, y, z) U^T."""
    u0, u1, u2, u3, u4, u5, u6, u7, u8 = u
    return (
        x * u0 * u0 + y * u1 * u1 + z * u2 * u2,
        x * u0 * u3 + y * u1 * u4 + z * u2 * u5,
        x * u0 * u6 + y * u1 * u7 + z * u2 * u8,
        x * u3 * u3 + y * u4 * u4 + z * u5 * u5,
        x * u3 * u6 + y * u4 * u7 + z * u5 * u8,
        x * u6 * u6 + y * u7 * u7 + z * u8 * u8,
    )


class Scratch(NamedTuple):
    """Room for eight masters: stretches, principal stress, ratios to the trial's (3, 8), and for one of them (3,)."""

    stretch: Array
    stress: Array
    ratio: Array
    values: Array
    pulls: Array


@compiled(inside=True, vectors=True)
def find_stress(masters: Masters, constants: Array, scratch: Scratch, stable: float, h: float) -> None:
    """Bring FE back to the limit of its law after a step of `h` [s], and find stress and left stretch.

    `stable` [s] is the longest step without a solve, at rest.
    """
    fe, stretch, stress, ratio = masters.elastic, scratch.stretch, scratch.stress, scratch.ratio
    values, pulls = scratch.values, scratch.pulls
    for p in range(0, fe.shape[1], 8):
        at, here = eight(p), eight(0)
        f0, f1, f2 = load(fe, 0, at), load(fe, 1, at), load(fe, 2, at)
        f3, f4, f5 = load(fe, 3, at), load(fe, 4, at), load(fe, 5, at)
        f6, f7, f8 = load(fe, 6, at), load(fe, 7, at), load(fe, 8, at)
        x, y, z, u = _axes(
            f0 * f0 + f1 * f1 + f2 * f2,
            f0 * f3 + f1 * f4 + f2 * f5,
            f0 * f6 + f1 * f7 + f2 * f8,
            f3 * f3 + f4 * f4 + f5 * f5,
            f3 * f6 + f4 * f7 + f5 * f8,
            f6 * f6 + f7 * f7 + f8 * f8,
        )
        sign = math.copysign(
            1.0 + 0.0 * x, f0 * (f4 * f8 - f5 * f7) + f1 * (f5 * f6 - f3 * f8) + f2 * (f3 * f7 - f4 * f6)
        )
        x, y, z = math.sqrt(max(x, 0.0)), math.sqrt(max(y, 0.0)), math.sqrt(max(z, 0.0))
        least = min(min(x, y), z)
        store(stretch, 0, here, select(x <= least, sign * x, x))
        store(stretch, 1, here, select((y <= least) & (x > least), sign * y, y))
        store(stretch, 2, here, select((z <= least) & (x > least) & (y > least), sign * z, z))
        law, flows = constants[masters.law[p]], False
        s0, s1, s2 = load(stretch, 0, here), load(stretch, 1, here), load(stretch, 2, here)
        low, high = 1.0 - law[FIRST], 1.0 + law[SECOND]
        yields = any_of((min(min(s0, s1), s2) < low) | (max(max(s0, s1), s2) > high)) or law[KIND] != 0.0
        for lane in range(1, 8):
            yields = yields or masters.law[p + lane] != masters.law[p]
        if not yields:  # none of eight of one law
            hard, volume = load(masters.hardened, 0, at), s0 * s1 * s2
            store(masters.hardened, 1, at, hard)
            t0 = hard * law[LAME] * (volume - 1.0) * volume
            hard = 2.0 * hard * law[SHEAR]
            store(stress, 0, here, t0 + hard * (s0 - 1.0) * s0)
            store(stress, 1, here, t0 + hard * (s1 - 1.0) * s1)
            store(stress, 2, here, t0 + hard * (s2 - 1.0) * s2)
        for lane in range(8 if yields else 0):
            m = p + lane
            law = constants[masters.law[m]]
            for i in range(3):
                values[i], ratio[i, lane] = stretch[i, lane], 1.0
            if law[FIRST] < np.inf:
                masters.memory[m] = yielded(values, masters.memory[m], law, h, False)
                for i in range(3):
                    if values[i] != stretch[i, lane]:
                        flows = True
                        ratio[i, lane] = values[i] / stretch[i, lane]
                        stretch[i, lane] = values[i]
            principal_stress(values, masters.memory[m], law, False, pulls)
            flowed = ratio[0, lane] != 1.0 or ratio[1, lane] != 1.0 or ratio[2, lane] != 1.0
            masters.hardened[0, m] = hardened(masters.memory[m], law[THIRD]) if law[KIND] == 0.0 else 1.0
            resists = max(0.0, masters.hardened[0, m] - (stable / max(h, TINY)) ** 2)
            masters.hardened[1, m] = 0.25 * resists if flowed else masters.hardened[0, m]
            for i in range(3):
                stress[i, lane] = pulls[i]
        q = _composed(u, load(stress, 0, here), load(stress, 1, here), load(stress, 2, here))
        z = _composed(u, load(stretch, 0, here), load(stretch, 1, here), load(stretch, 2, here))
        for i in range(6):
            store(masters.tau, i, at, q[i])
            store(masters.left, i, at, z[i])
        if flows:
            g = _composed(u, load(ratio, 0, here), load(ratio, 1, here), load(ratio, 2, here))
            store(fe, 0, at, g[0] * f0 + g[1] * f3 + g[2] * f6)
            store(fe, 1, at, g[0] * f1 + g[1] * f4 + g[2] * f7)
            store(fe, 2, at, g[0] * f2 + g[1] * f5 + g[2] * f8)
            store(fe, 3, at, g[1] * f0 + g[3] * f3 + g[4] * f6)
            store(fe, 4, at, g[1] * f1 + g[3] * f4 + g[4] * f7)
            store(fe, 5, at, g[1] * f2 + g[3] * f5 + g[4] * f8)
            store(fe, 6, at, g[2] * f0 + g[4] * f3 + g[5] * f6)
            store(fe, 7, at, g[2] * f1 + g[4] * f4 + g[5] * f7)
            store(fe, 8, at, g[2] * f2 + g[4] * f5 + g[5] * f8)


class Solve(NamedTuple):
    """Rows (S, 4) of residual, direction and its image [N s], tolerance and most iterations, and scratch.

    `counts`: iterations of the last step, most of a step, all, and steps that did not reach the tolerance.
    """

    residual: Array
    direction: Array
    image: Array
    tolerance: float
    most: int
    room: Array
    slope: Array
    counts: Indices


@compiled(inside=True, vectors=True, merged=True)
def slope_of(masters: Masters, constants: Array, m: int, room: Array, into: Array) -> None:
    """Put [mu (L Z + Z L^T) + lambda tr(L Z) I] Z, into `into` (3, 3); columns of L are rows of `room`."""
    z, law = masters.left, constants[masters.law[m]]
    mu, lame = law[SHEAR] * masters.hardened[1, m], law[LAME] * masters.hardened[1, m]
    for a in range(3):
        l0, l1, l2 = room[1, a], room[2, a], room[3, a]
        into[a, 0] = l0 * z[0, m] + l1 * z[1, m] + l2 * z[2, m]
        into[a, 1] = l0 * z[1, m] + l1 * z[3, m] + l2 * z[4, m]
        into[a, 2] = l0 * z[2, m] + l1 * z[4, m] + l2 * z[5, m]
    trace = lame * (into[0, 0] + into[1, 1] + into[2, 2])
    xx, yy, zz = 2.0 * mu * into[0, 0] + trace, 2.0 * mu * into[1, 1] + trace, 2.0 * mu * into[2, 2] + trace
    xy, xz, yz = mu * (into[0, 1] + into[1, 0]), mu * (into[0, 2] + into[2, 0]), mu * (into[1, 2] + into[2, 1])
    for a, b, c, d in ((0, xx, xy, xz), (1, xy, yy, yz), (2, xz, yz, zz)):
        into[a, 0] = b * z[0, m] + c * z[1, m] + d * z[2, m]
        into[a, 1] = b * z[1, m] + c * z[3, m] + d * z[4, m]
        into[a, 2] = b * z[2, m] + c * z[4, m] + d * z[5, m]


@compiled(inside=True, vectors=True)
def add_slope(
    masters: Masters, constants: Array, slaves: Slaves, lists: Lists, v: Array, factor: float, solve: Solve, into: Array
) -> None:
    """Add factor [m3 s2] times the operator of velocities v (S, 4) to rows of slaves."""
    room = solve.room
    for m in range(masters.x.shape[0]):
        g = lists.geometry[m]
        if g[INVERSE] == 0.0:
            continue
        gather(v, masters.x, slaves.x, lists, m, room)
        slope_of(masters, constants, m, room, solve.slope)
        for row in range(4):
            for a in range(3):
                room[row, a] = 0.0
        spread_stress(room, g, solve.slope, factor, 0.0)
        scatter(room, lists, m, into)


@compiled(inside=True, vectors=True, merged=True)
def _free(p: Array, a: Array) -> Any:
    """Return what of a vector is free."""
    return (
        p[0] * a[0] + p[1] * a[1] + p[2] * a[2],
        p[1] * a[0] + p[3] * a[1] + p[4] * a[2],
        p[2] * a[0] + p[4] * a[1] + p[5] * a[2],
    )


@compiled(inside=True, vectors=True)
def solve_velocities(
    masters: Masters, constants: Array, slaves: Slaves, lists: Lists, free: Array, factor: float, h: float, solve: Solve
) -> None:
    """Solve (M + factor h^2 H) v = M v*, from v* on; the residual is left with what holds velocities."""
    r, p, q, count, scale = solve.residual, solve.direction, solve.image, slaves.count[0], factor * h * h
    for s in range(count):
        for c in range(4):
            q[s, c] = 0.0
    add_slope(masters, constants, slaves, lists, slaves.v, -scale, solve, q)
    square, energy = 0.0, 0.0
    for s in range(count):
        mass = slaves.sum[s, 3]
        per = 1.0 / mass if mass > 0.0 else 0.0
        r[s, 0], r[s, 1], r[s, 2] = q[s, 0], q[s, 1], q[s, 2]
        x, y, z = _free(free[s], r[s])
        p[s, 0], p[s, 1], p[s, 2], p[s, 3] = per * x, per * y, per * z, 0.0
        square += per * (x * x + y * y + z * z)
        for c in range(3):
            energy += mass * slaves.v[s, c] * slaves.v[s, c]
    target, done = max(solve.tolerance * solve.tolerance * square, ROUNDING * ROUNDING * energy), 0
    while square > target and done < solve.most:
        for s in range(count):
            for c in range(3):
                q[s, c] = slaves.sum[s, 3] * p[s, c]
            q[s, 3] = 0.0
        add_slope(masters, constants, slaves, lists, p, scale, solve, q)
        along = 0.0
        for s in range(count):
            along += p[s, 0] * q[s, 0] + p[s, 1] * q[s, 1] + p[s, 2] * q[s, 2]
        step, before, square = square / along, square, 0.0
        for s in range(count):
            mass = slaves.sum[s, 3]
            per = 1.0 / mass if mass > 0.0 else 0.0
            for c in range(3):
                slaves.v[s, c] += step * p[s, c]
                r[s, c] -= step * q[s, c]
            x, y, z = _free(free[s], r[s])
            q[s, 0], q[s, 1], q[s, 2] = per * x, per * y, per * z
            square += per * (x * x + y * y + z * z)
        for s in range(count):
            for c in range(3):
                p[s, c] = q[s, c] + square / before * p[s, c]
        done += 1
    counts = solve.counts
    counts[0], counts[1], counts[2] = done, max(counts[1], done), counts[2] + done
    counts[3] += 1 if square > target else 0
