"""The rotation Q that fits a rest shape best: max over Q of tr(Q^T A),  A = sum_a r_a Ro_a^T  (spec 3).

A turn omega more changes tr(Q^T A) by  b . omega - omega . G omega/2.  One pass takes Q to its stationary point:

    B = A Q^T,    G = tr(B) I - B^T,    b = (B21 - B12, B02 - B20, B10 - B01),    G omega = b,    Q <- Rot(omega) Q

`paper` turns by the angle |omega| with G as it stands, `sym-atan` by atan |omega| with G symmetrised, the Hessian: then
a rigid turn is exact in one pass, and cos = 1/(1 + omega^2)^(1/2) needs no function of an angle. Q is kept as a unit
quaternion (w, x, y, z). `svd` is the polar factor of det = +1, by the largest eigenvector of Horn's matrix.

Median angle left [rad] after 1, 2, 3 passes at 30 % strain (tests hold it):

    from      paper                       sym-atan
    5 deg     4e-4, 5e-9, 1e-15           1e-5, 1e-15
    30 deg    0.05, 1e-4, 5e-10           3e-3, 6e-10, 1e-15
    60 deg    0.7, 0.1, 1e-3              0.03, 6e-7, 1e-15
    85 deg    fails                       0.1, 4e-5, 1e-15
"""

from __future__ import annotations

import math
from typing import Any

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import formula, select

SINGULAR = 1e-9
"""|det G| below this share of tr(B)^3: vertices on a line, or a perfect mirror image; Q stays."""
SADDLE = -1e-6
"""A leading minor of G below this share of |A|^n: Q is no maximum."""
SWEEPS, NEGLIGIBLE = 30, 1e-30
"""Jacobi sweeps at most, and the share of squares off the diagonal that ends them."""


@formula
def matrix_of(q: Any) -> Any:
    """Return Q, nine numbers row by row, of a unit quaternion."""
    w, x, y, z = q
    xx, yy, zz = 2.0 * x * x, 2.0 * y * y, 2.0 * z * z
    xy, xz, yz = 2.0 * x * y, 2.0 * x * z, 2.0 * y * z
    wx, wy, wz = 2.0 * w * x, 2.0 * w * y, 2.0 * w * z
    return 1.0 - yy - zz, xy - wz, xz + wy, xy + wz, 1.0 - xx - zz, yz - wx, xz - wy, yz + wx, 1.0 - xx - yy


@formula
def times_transposed(a: Any, q: Any) -> Any:
    """Return A Q^T."""
    return (
        a[0] * q[0] + a[1] * q[1] + a[2] * q[2],
        a[0] * q[3] + a[1] * q[4] + a[2] * q[5],
        a[0] * q[6] + a[1] * q[7] + a[2] * q[8],
        a[3] * q[0] + a[4] * q[1] + a[5] * q[2],
        a[3] * q[3] + a[4] * q[4] + a[5] * q[5],
        a[3] * q[6] + a[4] * q[7] + a[5] * q[8],
        a[6] * q[0] + a[7] * q[1] + a[8] * q[2],
        a[6] * q[3] + a[7] * q[4] + a[8] * q[5],
        a[6] * q[6] + a[7] * q[7] + a[8] * q[8],
    )


@formula
def cofactors(m: Any) -> Any:
    """Return cof M = d det M/dM."""
    return (
        m[4] * m[8] - m[5] * m[7],
        m[5] * m[6] - m[3] * m[8],
        m[3] * m[7] - m[4] * m[6],
        m[2] * m[7] - m[1] * m[8],
        m[0] * m[8] - m[2] * m[6],
        m[1] * m[6] - m[0] * m[7],
        m[1] * m[5] - m[2] * m[4],
        m[2] * m[3] - m[0] * m[5],
        m[0] * m[4] - m[1] * m[3],
    )


@formula
def determinant(m: Any, c: Any) -> Any:
    """Return det M of a matrix and its cofactors."""
    return m[0] * c[0] + m[1] * c[1] + m[2] * c[2]


@formula
def solved(m: Any, b: Any, size: Any) -> Any:
    """Return M^-1 b; zero where |det M| is below SINGULAR size^3."""
    c = cofactors(m)
    det = determinant(m, c)
    least = SINGULAR * abs(size * size * size)
    whole = abs(det) > least
    inverse = select(whole, 1.0 / select(whole, det, 1.0), 0.0)
    return (
        inverse * (c[0] * b[0] + c[3] * b[1] + c[6] * b[2]),
        inverse * (c[1] * b[0] + c[4] * b[1] + c[7] * b[2]),
        inverse * (c[2] * b[0] + c[5] * b[1] + c[8] * b[2]),
    )


@formula
def product(p: Any, q: Any) -> Any:
    """Return the quaternion of the turn q, then p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@formula
def hessian(b: Any) -> Any:
    """Return G symmetrised of B."""
    p, q, r = -0.5 * (b[1] + b[3]), -0.5 * (b[2] + b[6]), -0.5 * (b[5] + b[7])
    return b[4] + b[8], p, q, p, b[0] + b[8], r, q, r, b[0] + b[4]


@formula
def moment(b: Any) -> Any:
    """Return b = sum R x r of B."""
    return b[7] - b[5], b[2] - b[6], b[3] - b[1]


@formula
def sym_atan_turn(b: Any) -> Any:
    """Return the turn of one pass: cos = 1/(1 + omega^2)^(1/2), half the angle by (1 + cos, cos omega)."""
    omega = solved(hessian(b), moment(b), b[0] + b[4] + b[8])
    cos = 1.0 / math.sqrt(1.0 + omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2])
    scale = 1.0 / math.sqrt(2.0 + 2.0 * cos)
    part = cos * scale
    return (1.0 + cos) * scale, part * omega[0], part * omega[1], part * omega[2]


@formula
def paper_turn(b: Any) -> Any:
    """Return the turn of one pass by the angle |omega|, G as it stands (13); numbers only."""
    size = b[0] + b[4] + b[8]
    g = size - b[0], -b[3], -b[6], -b[1], size - b[4], -b[7], -b[2], -b[5], size - b[8]
    omega = solved(g, moment(b), size)
    angle = math.sqrt(omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2])
    part = math.sin(0.5 * angle) / angle if angle > 1e-14 else 0.0
    return (math.cos(0.5 * angle) if angle > 1e-14 else 1.0), part * omega[0], part * omega[1], part * omega[2]


@formula
def normalised(q: Any) -> Any:
    """Return a quaternion of length one."""
    scale = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return scale * q[0], scale * q[1], scale * q[2], scale * q[3]


@formula
def is_saddle(a: Any, b: Any) -> Any:
    """Tell whether B = A Q^T belongs to no maximum: a leading minor of G is negative."""
    g = hessian(b)
    square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3] + a[4] * a[4]
    square = square + a[5] * a[5] + a[6] * a[6] + a[7] * a[7] + a[8] * a[8]
    size = math.sqrt(square)
    det = determinant(g, cofactors(g))
    flat = g[0] * g[4] - g[1] * g[3] < SADDLE * square
    return (g[0] < SADDLE * size) | flat | (det < SADDLE * square * size)


@formula
def plane_turn(a: Any, q: Any, size: Any) -> Any:
    """Return the best turn in the plane, theta = atan2(A10 - A01, A00 + A11); the old one where both vanish (9)."""
    s, d = a[3] - a[1], a[0] + a[4]
    least = 1e-12 * size
    lost = (abs(s) < least) & (abs(d) < least)
    length = math.sqrt(select(lost, 1.0, s * s + d * d))
    cos = select(lost, 1.0, d / length)
    # Half angles without cancellation: (1 + cos, sin) where cos > 0, else (|sin|, (1 - cos) sign sin).
    sin = select(lost, 0.0, s / length)
    ahead = cos > 0.0
    w, z = select(ahead, 1.0 + cos, abs(sin)), select(ahead, sin, (1.0 - cos) * math.copysign(1.0, sin))
    scale = 1.0 / math.sqrt(w * w + z * z)
    return select(lost, q[0], w * scale), q[1], q[2], select(lost, q[3], z * scale)


@compiled
def best_turn(a: Any, q: Any, room: Array) -> Any:
    """Return the quaternion of the polar factor (det = +1) of A; q where there is none. Room is (8, 4).

    sum r . Q Ro = q^T N q  with Horn's matrix N, made diagonal by Jacobi's rotations.
    """
    n, e = room[:4], room[4:]
    n[0, 0], n[0, 1], n[0, 2], n[0, 3] = a[0] + a[4] + a[8], a[7] - a[5], a[2] - a[6], a[3] - a[1]
    n[1, 1], n[1, 2], n[1, 3] = a[0] - a[4] - a[8], a[1] + a[3], a[2] + a[6]
    n[2, 2], n[2, 3], n[3, 3] = a[4] - a[0] - a[8], a[5] + a[7], a[8] - a[0] - a[4]
    for i in range(4):
        for j in range(4):
            e[i, j] = 1.0 if i == j else 0.0
            if j < i:
                n[i, j] = n[j, i]
    for _ in range(SWEEPS):
        off, whole = 0.0, 0.0
        for i in range(4):
            for j in range(4):
                whole += n[i, j] ** 2
                off += n[i, j] ** 2 if i != j else 0.0
        if off <= NEGLIGIBLE * whole:
            break
        for i in range(3):
            for j in range(i + 1, 4):
                if n[i, j] != 0.0:
                    ratio = 0.5 * (n[j, j] - n[i, i]) / n[i, j]
                    t = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                    c = 1.0 / math.sqrt(1.0 + t * t)
                    s = t * c
                    for k in range(4):
                        n[k, i], n[k, j] = c * n[k, i] - s * n[k, j], s * n[k, i] + c * n[k, j]
                    for k in range(4):
                        n[i, k], n[j, k] = c * n[i, k] - s * n[j, k], s * n[i, k] + c * n[j, k]
                        e[k, i], e[k, j] = c * e[k, i] - s * e[k, j], s * e[k, i] + c * e[k, j]
    best, second = 0, -1
    for i in range(1, 4):
        if n[i, i] > n[best, best]:
            best = i
    for i in range(4):
        if i != best and (second < 0 or n[i, i] > n[second, second]):
            second = i
    if not n[best, best] - n[second, second] > SINGULAR * abs(n[best, best]):
        return q
    return e[0, best], e[1, best], e[2, best], e[3, best]
