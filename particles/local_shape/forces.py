"""The forces of shape-keeping elements, CHUNK at a time: one function for all laws, which holds what a body needs.

With r = x - c (c: centroid), R = Q Ro, v' the velocity without its rigid part, and J = det A/det S, S = sum Ro Ro^T:

    f_a = -(k d_a + D v'_a) - p dJ/dx_a,   d_a = r_a - R_a,   p = lambda V (J - 1) + eta V J'
    dJ/dx_a = cof(A) Ro_a/det S,           A = sum r Ro^T
    v'_a = v_a - mean v - Omega x r_a,     Omega = J_r^-1 sum r x (v - mean v),   J_r = sum (r^2 I - r r^T)

Both terms have no moment: sum r x R = 0 at the best Q, and A cof(A)^T is symmetric. Under laws with a series dashpot c2
the rest shape creeps: Voigt part d of spring k and dashpot c1 in series with c2,

    f = B (k d + c1 v'),   B = c2/(c1 + c2),   d' = B v' - d/tau,   tau = (c1 + c2)/k,   Ro' = Q^T f/c2

so that over a step of constant rate, with u = r - R before Ro creeps (what moved in the step is h v'),

    d = exp(-h/tau) (u - h v') + B tau (1 - exp(-h/tau)) v',   Ro <- Q^T (r - d)

`keep_volume` then scales Ro to its old det S: volumes have the Voigt part alone.
In the plane z is zero, and A and S get a one there.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import any_of, formula, inverse_cube_root, load, numbers_of, slots, store
from rheotwin.particles.local_shape.options import Rotation
from rheotwin.particles.local_shape.rotation import (
    best_turn,
    cofactors,
    determinant,
    is_saddle,
    matrix_of,
    moment,
    normalised,
    paper_turn,
    plane_turn,
    product,
    solved,
    sym_atan_turn,
    times_transposed,
)
from rheotwin.particles.shear_volume.corners import CHUNK

LANES = 8
"""Elements at once."""
STIFFNESS, VISCOSITY, DAMPING, KEPT, MOVED, BULK, SWELLING, SPREAD, SHARE, SPRING, DASHPOT = range(11)
"""Rows of constants: B k, B c1 and D [N/m, N s/m], exp(-h/tau), B tau (1 - exp(-h/tau)) - h exp(-h/tau) [s],
lambda V and eta V [J, J s], the trace of S at rest [m2], 1 - B, k and c1."""
ROWS = 11


class Room(NamedTuple):
    """Room for one chunk: places and velocities (3 n, CHUNK), forces, the widest (8, 4) for Jacobi's rotations."""

    places: Array
    velocities: Array
    pulls: Array
    jacobi: Array


class Group(NamedTuple):
    """Corners (filled, n) of `number` elements, their constants (chunks, ROWS, CHUNK), which shapes a chunk has.

    Chunks of equal elements share theirs: large bodies wait for memory.
    """

    number: int
    corners: Integers
    numbers: Array
    shape_of: Indices
    room: Room


class Needs(NamedTuple):
    """What elements need: corners, dimension, rotation, passes; rates of deformation, creep, volume term."""

    corners: int
    dimension: int
    rotation: Rotation
    passes: int
    viscous: bool
    creeps: bool
    volume: bool
    keeps_volume: bool


@formula
def matrix_of_rows(rows: Any, others: Any, at: Any, count: int) -> Any:
    """Return sum_a r_a Ro_a^T of rows x1 y1 z1 x2 ..."""
    nothing = 0.0 * load(rows, 0, at)
    a00 = a01 = a02 = a10 = a11 = a12 = a20 = a21 = a22 = nothing
    for a in range(count):
        x, y, z = load(rows, 3 * a, at), load(rows, 3 * a + 1, at), load(rows, 3 * a + 2, at)
        p, q, r = load(others, 3 * a, at), load(others, 3 * a + 1, at), load(others, 3 * a + 2, at)
        a00, a01, a02 = a00 + x * p, a01 + x * q, a02 + x * r
        a10, a11, a12 = a10 + y * p, a11 + y * q, a12 + y * r
        a20, a21, a22 = a20 + z * p, a21 + z * q, a22 + z * r
    return a00, a01, a02, a10, a11, a12, a20, a21, a22


@formula
def _centre(rows: Any, at: Any, count: int) -> None:
    """Take the mean from rows x1 y1 z1 x2 ..."""
    for c in range(3):
        mean = load(rows, c, at)
        for a in range(1, count):
            mean = mean + load(rows, 3 * a + c, at)
        mean = mean * (1.0 / count)
        for a in range(count):
            store(rows, 3 * a + c, at, load(rows, 3 * a + c, at) - mean)


@formula
def _take_spin(places: Any, velocities: Any, at: Any, count: int) -> None:
    """Take the rotation from velocities (both without their means)."""
    s = matrix_of_rows(places, places, at, count)
    half = s[0] + s[4] + s[8]
    m = matrix_of_rows(places, velocities, at, count)
    inertia = half - s[0], -s[1], -s[2], -s[1], half - s[4], -s[5], -s[2], -s[5], half - s[8]
    spin = solved(inertia, (m[5] - m[7], m[6] - m[2], m[1] - m[3]), half)
    for a in range(count):
        x, y, z = load(places, 3 * a, at), load(places, 3 * a + 1, at), load(places, 3 * a + 2, at)
        store(velocities, 3 * a, at, load(velocities, 3 * a, at) - spin[1] * z + spin[2] * y)
        store(velocities, 3 * a + 1, at, load(velocities, 3 * a + 1, at) - spin[2] * x + spin[0] * z)
        store(velocities, 3 * a + 2, at, load(velocities, 3 * a + 2, at) - spin[0] * y + spin[1] * x)


@formula
def _dot(rows: Any, others: Any, at: Any, count: int) -> Any:
    found = load(rows, 0, at) * load(others, 0, at)
    for a in range(1, 3 * count):
        found = found + load(rows, a, at) * load(others, a, at)
    return found


@formula
def _double_dot(a: Any, b: Any) -> Any:
    found = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4]
    return found + a[5] * b[5] + a[6] * b[6] + a[7] * b[7] + a[8] * b[8]


@cache
def fit(needs: Needs) -> Any:
    """Return the formula fit(a, q, size): the quaternion after all passes, and where it is no maximum."""
    passes, in_plane, by_paper = needs.passes, needs.dimension == 2, needs.rotation == "paper"

    @formula
    def fit(a: Any, q: Any, size: Any) -> Any:
        if in_plane:
            return plane_turn(a, q, size), False
        b = times_transposed(a, matrix_of(q))
        for _ in range(passes):
            turn = paper_turn(b) if by_paper else sym_atan_turn(b)
            b = times_transposed(b, matrix_of(turn))
            q = product(turn, q)
        return normalised(q), (False if by_paper else is_saddle(a, b))

    return fit


@cache
def gather(count: int) -> Any:
    """Return the function that takes values (N, 3) of `count` corners into rows (3 n, CHUNK)."""

    @compiled(inside=True)
    def gather(corners: Integers, first: int, values: Array, rows: Array) -> None:
        for lane in range(CHUNK):
            for a in range(count):
                node = corners[first + lane, a]
                for c in range(3):
                    rows[3 * a + c, lane] = values[node, c]

    return gather


@cache
def scatter(count: int) -> Any:
    """Return the function that adds rows (3 n, CHUNK) to forces (N, 3)."""

    @compiled(inside=True)
    def scatter(corners: Integers, first: int, rows: Array, force: Array) -> None:
        for lane in range(CHUNK):
            for a in range(count):
                node = corners[first + lane, a]
                for c in range(3):
                    force[node, c] += rows[3 * a + c, lane]

    return scatter


@formula
def _turned(q: Any, rest: Any, a: int, at: Any) -> Any:
    """Return R = Q Ro of corner a."""
    x, y, z = load(rest, 3 * a, at), load(rest, 3 * a + 1, at), load(rest, 3 * a + 2, at)
    return q[0] * x + q[1] * y + q[2] * z, q[3] * x + q[4] * y + q[5] * z, q[6] * x + q[7] * y + q[8] * z


@formula
def _take(rows: Any, a: int, at: Any, x: Any, y: Any, z: Any) -> None:
    """Take a vector from that of corner a."""
    store(rows, 3 * a, at, load(rows, 3 * a, at) - x)
    store(rows, 3 * a + 1, at, load(rows, 3 * a + 1, at) - y)
    store(rows, 3 * a + 2, at, load(rows, 3 * a + 2, at) - z)


@formula
def _in_space(m: Any, flat: float) -> Any:
    """Return a matrix, in the plane with a one for z."""
    return m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8] + flat


@cache
def _swelling(needs: Needs) -> Any:
    """Return the formula of p cof(A)/det S."""
    count, flat, viscous = needs.corners, float(needs.dimension == 2), needs.viscous

    @formula
    def swelling(places: Any, velocities: Any, rest: Any, numbers: Any, at: Any) -> Any:
        a = _in_space(matrix_of_rows(places, rest, at, count), flat)
        s = _in_space(matrix_of_rows(rest, rest, at, count), flat)
        c, inverse = cofactors(a), 1.0 / determinant(s, cofactors(s))
        pressure = load(numbers, BULK, at) * (determinant(a, c) * inverse - 1.0)
        if viscous:
            rate = _double_dot(c, matrix_of_rows(velocities, rest, at, count))
            pressure = pressure + load(numbers, SWELLING, at) * inverse * rate
        p = pressure * inverse
        return p * c[0], p * c[1], p * c[2], p * c[3], p * c[4], p * c[5], p * c[6], p * c[7], p * c[8]

    return swelling


@cache
def _creep(needs: Needs) -> Any:
    """Return the formula that lets Ro creep: Ro <- Q^T (r - d), with `keep_volume` at the old det S."""
    count, flat, in_plane, isochoric = (
        needs.corners,
        float(needs.dimension == 2),
        needs.dimension == 2,
        needs.keeps_volume,
    )

    @formula
    def creep(places: Any, velocities: Any, rest: Any, numbers: Any, q: Any, at: Any) -> None:
        kept, moved = load(numbers, KEPT, at), load(numbers, MOVED, at)
        before = matrix_of_rows(rest, rest, at, count)
        for a in range(count):
            x, y, z = load(places, 3 * a, at), load(places, 3 * a + 1, at), load(places, 3 * a + 2, at)
            p, r, t = _turned(q, rest, a, at)
            x = x - kept * (x - p) - moved * load(velocities, 3 * a, at)
            y = y - kept * (y - r) - moved * load(velocities, 3 * a + 1, at)
            z = z - kept * (z - t) - moved * load(velocities, 3 * a + 2, at)
            store(rest, 3 * a, at, q[0] * x + q[3] * y + q[6] * z)
            store(rest, 3 * a + 1, at, q[1] * x + q[4] * y + q[7] * z)
            store(rest, 3 * a + 2, at, q[2] * x + q[5] * y + q[8] * z)
        if isochoric:
            before, after = _in_space(before, flat), _in_space(matrix_of_rows(rest, rest, at, count), flat)
            ratio = determinant(before, cofactors(before)) / determinant(after, cofactors(after))
            scale = (
                math.sqrt(math.sqrt(ratio))
                if in_plane
                else math.sqrt(ratio * inverse_cube_root(ratio) * inverse_cube_root(ratio))
            )
            for a in range(3 * count):
                store(rest, a, at, scale * load(rest, a, at))

    return creep


@cache
def _give_back(needs: Needs) -> Any:
    """Return the formula of what B takes from the Voigt part of volumes, which have no dashpot in series: along R."""
    count = needs.corners

    @formula
    def give_back(room: Any, rest: Any, numbers: Any, q: Any, at: Any) -> None:
        size = load(numbers, SHARE, at) / _dot(rest, rest, at, count)
        a, m = matrix_of_rows(room.places, rest, at, count), matrix_of_rows(room.velocities, rest, at, count)
        along = load(numbers, SPRING, at) * (_double_dot(q, a) - _dot(rest, rest, at, count))
        along = size * (along + load(numbers, DASHPOT, at) * _double_dot(q, m))
        for b in range(count):
            p, r, t = _turned(q, rest, b, at)
            _take(room.pulls, b, at, along * p, along * r, along * t)

    return give_back


@cache
def _pull(needs: Needs) -> Any:
    """Return the formula of the forces of elements that know their rotation."""
    count, viscous, creeps, volume, isochoric = (
        needs.corners,
        needs.viscous,
        needs.creeps,
        needs.volume,
        needs.keeps_volume,
    )
    creep, give_back, swelling, quaternion = _creep(needs), _give_back(needs), _swelling(needs), numbers_of(4)

    @formula
    def pull(room: Any, turn: Any, rest: Any, numbers: Any, at: Any) -> None:
        places, velocities, pulls = room.places, room.velocities, room.pulls
        q = matrix_of(quaternion(turn, at))
        if viscous:
            _centre(velocities, at, count)
            _take_spin(places, velocities, at, count)
        if creeps:
            creep(places, velocities, rest, numbers, q, at)
        k, d = load(numbers, STIFFNESS, at), load(numbers, VISCOSITY, at) + load(numbers, DAMPING, at)
        for a in range(count):
            p, r, t = _turned(q, rest, a, at)
            fx, fy, fz = (
                k * (p - load(places, 3 * a, at)),
                k * (r - load(places, 3 * a + 1, at)),
                k * (t - load(places, 3 * a + 2, at)),
            )
            if viscous:
                fx = fx - d * load(velocities, 3 * a, at)
                fy = fy - d * load(velocities, 3 * a + 1, at)
                fz = fz - d * load(velocities, 3 * a + 2, at)
            store(pulls, 3 * a, at, fx)
            store(pulls, 3 * a + 1, at, fy)
            store(pulls, 3 * a + 2, at, fz)
        if isochoric:
            give_back(room, rest, numbers, q, at)
        if volume:
            g = swelling(places, velocities, rest, numbers, at)
            for a in range(count):
                p, r, t = _turned(g, rest, a, at)
                _take(pulls, a, at, p, r, t)

    return pull


@cache
def add_forces(needs: Needs) -> Any:
    """Return the compiled function that adds the forces of elements to `force` (N, 3) [N].

    It turns `turns` (chunks, 4, CHUNK) to the best fit, and lets rest `shapes` (blocks, 3 n, CHUNK) [m] creep.
    """
    count, viscous, in_plane = needs.corners, needs.viscous, needs.dimension == 2
    exact = needs.rotation == "svd" and not in_plane
    lanes = 1 if needs.rotation == "paper" and not in_plane else LANES
    slot, fitted, take, give, renewed = slots(lanes), fit(needs), gather(count), scatter(count), _renewed(needs)
    quaternion, pull = numbers_of(4), _pull(needs)

    @compiled(vectors=True)
    def add_forces(group: Group, turns: Array, shapes: Array, x: Array, v: Array, force: Array) -> None:
        room = group.room
        for chunk in range(group.numbers.shape[0]):
            first, numbers, turn, rest = (
                chunk * CHUNK,
                group.numbers[chunk],
                turns[chunk],
                shapes[group.shape_of[chunk]],
            )
            take(group.corners, first, x, room.places)
            if viscous:
                take(group.corners, first, v, room.velocities)
            for k in range(0, CHUNK, lanes):
                at = slot(k) if lanes > 1 else k
                _centre(room.places, at, count)
                lost = True
                if not exact:
                    a = matrix_of_rows(room.places, rest, at, count)
                    q, saddle = fitted(a, quaternion(turn, at), load(numbers, SPREAD, at))
                    store(turn, 0, at, q[0])
                    store(turn, 1, at, q[1])
                    store(turn, 2, at, q[2])
                    store(turn, 3, at, q[3])
                    lost = any_of(saddle)
                if lost:
                    renewed(room.places, rest, turn, k, room.jacobi)
                pull(room, turn, rest, numbers, at)
            give(group.corners, first, room.pulls, force)

    return add_forces


@cache
def add_spurious_turns(needs: Needs) -> Any:
    """Return the compiled function that adds |sum k r x R|/I (15) of a step to sum, sum of squares and largest value.

    `found` is (chunks, 3, CHUNK), `rates` k/I [1/(m2 s2)] (chunks, CHUNK).
    """
    count, take, quaternion = needs.corners, gather(needs.corners), numbers_of(4)

    @compiled
    def add_spurious_turns(group: Group, turns: Array, shapes: Array, x: Array, rates: Array, found: Array) -> None:
        for chunk in range(group.numbers.shape[0]):
            take(group.corners, chunk * CHUNK, x, group.room.places)
            for lane in range(CHUNK):
                _centre(group.room.places, lane, count)
                a = matrix_of_rows(group.room.places, shapes[group.shape_of[chunk]], lane, count)
                b = moment(times_transposed(a, matrix_of(quaternion(turns[chunk], lane))))
                alpha = rates[chunk, lane] * math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
                found[chunk, 0, lane] += alpha
                found[chunk, 1, lane] += alpha * alpha
                found[chunk, 2, lane] = max(found[chunk, 2, lane], alpha)

    return add_spurious_turns


@cache
def _renewed(needs: Needs) -> Any:
    """Return the function that fits elements k, k + 1, .. exactly: all of them by `svd`, else those at no maximum."""
    count, exact, quaternion = needs.corners, needs.rotation == "svd", numbers_of(4)

    @compiled(inside=True)
    def renewed(places: Array, rest: Array, turn: Array, k: int, jacobi: Array) -> None:
        for lane in range(k, k + LANES):
            a = matrix_of_rows(places, rest, lane, count)
            q = quaternion(turn, lane)
            if exact or is_saddle(a, times_transposed(a, matrix_of(q))):
                q = best_turn(a, q, jacobi)
                turn[0, lane], turn[1, lane], turn[2, lane], turn[3, lane] = q

    return renewed
