"""The consistent tetrahedron: isochoric neo-Hooke shear and a volume element (spec section 3.4, `consistent3d`).

    W = V0 [ 3 mu/2 (y^(1/3) - 1) + K/2 (J - 1)^2 ],    y = 1 + (t^3 - J^2) psi(J)^2,   t = tr C/3,   J = V/V0

With psi = 1/J (see `simplices`) y^(1/3) = J^(-2/3) t, the usual neo-Hooke law; written so, it is smooth in flattened
and inverted shapes and has no equilibrium there. Edges e_a from corner 0 make up C: tr C = sum_ab G_ab e_a.e_b with
the inverse metric G of the rest shape, the papers' sum over edges with dihedral cotangents.

Memory is on the deviatoric second Piola stress per modulus, with the components its force on corner a has along e_b,

    s_ab = J^(-2/3) (G_ab - tr C/3 C^-1_ab),   C^-1_ab = c_a . c_b/(6V)^2,  c_a = 6 dV/dx_a,    f_a = -V0 w_ab e_b

which no rotation changes; w are the arms' stresses. Where J < J0 s is that of the energy above. The dashpot is
Newtonian, 2 eta J dev D, with psi for 1/J in D.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rheotwin.kernels.vectors import formula, inverse_cube_root, select
from rheotwin.particles.forces.edges import dot
from rheotwin.particles.shear_volume.simplices import (
    FLAT,
    Simplex,
    guarded_inverse,
    inverse_ratio,
    metric_rows,
    tensor_squares,
)


@formula
def _cross(a: Any, b: Any) -> Any:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@formula
def _sum(wa: Any, a: Any, wb: Any, b: Any, wd: Any, d: Any) -> Any:
    """Return w_a a + w_b b + w_d d."""
    x, y = wa * a[0] + wb * b[0] + wd * d[0], wa * a[1] + wb * b[1] + wd * d[1]
    return x, y, wa * a[2] + wb * b[2] + wd * d[2]


@formula
def _times(tensor: Any, a: Any) -> Any:
    """Return the symmetric tensor xx, yy, zz, xy, yz, xz times a."""
    xx, yy, zz, xy, yz, xz = tensor
    return xx * a[0] + xy * a[1] + xz * a[2], xy * a[0] + yy * a[1] + yz * a[2], xz * a[0] + yz * a[1] + zz * a[2]


@formula
def _shape(edges: Any, constants: Any) -> Any:
    """Return nine numbers of edges, J, psi, and: edges a, b, d and c_1, c_2, c_3 as vectors, psi', t, t^3 - J^2 and y.

    The constants begin with 1/(6 V0), G_11, G_22, G_33, G_12, G_23, G_13.
    """
    ax, ay, az, bx, by, bz, dx, dy, dz = edges
    a, b, d = (ax, ay, az), (bx, by, bz), (dx, dy, dz)
    p, q, r = _cross(b, d), _cross(d, a), _cross(a, b)
    ratio = constants[0] * dot(a, p)
    trace = constants[1] * dot(a, a) + constants[2] * dot(b, b) + constants[3] * dot(d, d)
    trace = trace + 2.0 * constants[4] * dot(a, b) + 2.0 * (constants[5] * dot(b, d) + constants[6] * dot(a, d))
    third = trace * (1.0 / 3.0)
    psi, slope = inverse_ratio(ratio)
    excess = third * third * third - ratio * ratio
    y = 1.0 + excess * psi * psi
    return ax, ay, az, bx, by, bz, dx, dy, dz, ratio, psi, (a, b, d), (p, q, r), slope, third, excess, y


@formula
def _stiffer(ratio: Any, psi: Any, third: Any, y: Any, root: Any) -> Any:
    """Return s^2 t, by how much an element is stiffer than at rest, root = y^(-1/3): (t^3 + 3 y^(4/3))/4.

    Below J0 also psi^2 t^3 y^(-2/3), of the second derivative 4 t^2 of t^3 - J^2 at shapes that are mirror images.
    """
    cube, inner = third * third * third, y * root
    return 0.25 * cube + 0.75 * inner * inner + select(ratio < FLAT, psi * psi * root * root * cube, 0.0)


@formula
def _stiffness(shape: Any, constants: Any) -> Any:
    ratio, psi, third, y = shape[9], shape[10], shape[14], shape[16]
    return _stiffer(ratio, psi, third, y, inverse_cube_root(y)) / max(third, 1e-300)


@formula
def _strain(shape: Any, constants: Any) -> Any:
    """Return s_11, s_22, s_33, s_12, s_23, s_13 and J - 1."""
    ratio, psi, slope, third, excess = shape[9], shape[10], shape[13], shape[14], shape[15]
    p, q, r = shape[12]
    scale, g0, g1, g2, g3, g4, g5, _, _ = constants
    root = inverse_cube_root(shape[16])
    own = root * root * psi
    swell = own * (excess * slope - ratio * psi) * scale * scale * guarded_inverse(ratio)
    own = own * psi * third * third
    first, second, last = own * g0 + swell * dot(p, p), own * g1 + swell * dot(q, q), own * g2 + swell * dot(r, r)
    mixed = own * g3 + swell * dot(p, q), own * g4 + swell * dot(q, r), own * g5 + swell * dot(p, r)
    return first, second, last, mixed[0], mixed[1], mixed[2], ratio - 1.0


@formula
def _pulls(shape: Any, constants: Any, tension: Any, limit: Any) -> Any:
    """Return the forces on corners 1, 2 and 3 by springs and arms, and whether J < 0 or s^2 is over `limit`."""
    ratio, psi, slope, third, excess, y = shape[9], shape[10], shape[13], shape[14], shape[15], shape[16]
    (a, b, d), (p, q, r) = shape[11], shape[12]
    scale, g0, g1, g2, g3, g4, g5, shear, volume = constants
    root = inverse_cube_root(y)
    severe = (_stiffer(ratio, psi, third, y, root) > limit * third) | (ratio < 0.0)
    shear = -shear * root * root * psi
    swell = scale * (shear * (excess * slope - ratio * psi) - volume * (ratio - 1.0) - tension[6])
    shear = shear * psi * third * third
    w0, w1, w2 = shear * g0 - tension[0], shear * g1 - tension[1], shear * g2 - tension[2]
    w3, w4, w5 = shear * g3 - tension[3], shear * g4 - tension[4], shear * g5 - tension[5]
    f, g, h = _sum(w0, a, w3, b, w5, d), _sum(w3, a, w1, b, w4, d), _sum(w5, a, w4, b, w2, d)
    first = f[0] + swell * p[0], f[1] + swell * p[1], f[2] + swell * p[2]
    second = g[0] + swell * q[0], g[1] + swell * q[1], g[2] + swell * q[2]
    return (*first, *second, h[0] + swell * r[0], h[1] + swell * r[1], h[2] + swell * r[2]), severe


@formula
def _gradient(crosses: Any, rates: Any) -> Any:
    """Return xx, yy, zz, xy, yz, xz of the symmetric part of L = sum_a u_a (x) c_a, 6 V0 J grad v."""
    p, q, r = crosses
    ux, uy, uz, vx, vy, vz, wx, wy, wz = rates
    x, y, z = _sum(ux, p, vx, q, wx, r), _sum(uy, p, vy, q, wy, r), _sum(uz, p, vz, q, wz, r)
    return x[0], y[1], z[2], 0.5 * (x[1] + y[0]), 0.5 * (y[2] + z[1]), 0.5 * (x[2] + z[0])


@formula
def _dashpots(shape: Any, rates: Any, constants: Any, viscosities: Any) -> Any:
    """Return the forces of the dashpots: -(2 eta V0 psi scale^2 dev sym(L) + eta_v V0 J' scale) c_a."""
    p, q, r = shape[12]
    xx, yy, zz, xy, yz, xz = _gradient(shape[12], rates)
    square = constants[0] * constants[0]
    factor = -2.0 * viscosities[0] * shape[10] * square
    swell = (xx + yy + zz) * (-viscosities[1] * square - factor * (1.0 / 3.0))
    mixed = factor * xy, factor * yz, factor * xz
    stress = factor * xx + swell, factor * yy + swell, factor * zz + swell, mixed[0], mixed[1], mixed[2]
    return (*_times(stress, p), *_times(stress, q), *_times(stress, r))


@formula
def _flow(shape: Any, rates: Any, constants: Any) -> Any:
    """Return what a Newtonian dashpot of unit viscosity answers, components of 2 J dev D along edges, and J'.

    2 scale^3/J^2 c_a . dev sym(L) c_b, bounded near J = 0; the force of the dashpot does not come from it.
    """
    ratio = shape[9]
    p, q, r = shape[12]
    xx, yy, zz, xy, yz, xz = _gradient(shape[12], rates)
    inverse, mean = constants[0] * guarded_inverse(ratio), (xx + yy + zz) * (1.0 / 3.0)
    factor = 2.0 * inverse * inverse * inverse * ratio
    deviator = xx - mean, yy - mean, zz - mean, xy, yz, xz
    f, g, h = _times(deviator, p), _times(deviator, q), _times(deviator, r)
    normal = factor * dot(p, f), factor * dot(q, g), factor * dot(r, h)
    return (*normal, factor * dot(p, g), factor * dot(q, h), factor * dot(p, h), 3.0 * inverse * ratio * mean)


@formula
def _size(shape: Any, constants: Any, stress: Any) -> Any:
    """Return von Mises/sqrt(3) of the Kirchhoff stress w_ab e_a (x) e_b."""
    a, b, d = shape[11]
    w0, w1, w2, w3, w4, w5, _ = stress
    f, g, h = _sum(w0, a, w3, b, w5, d), _sum(w3, a, w1, b, w4, d), _sum(w5, a, w4, b, w2, d)
    x, y, z = _sum(a[0], f, b[0], g, d[0], h), _sum(a[1], f, b[1], g, d[1], h), _sum(a[2], f, b[2], g, d[2], h)
    mean = (x[0] + y[1] + z[2]) * (1.0 / 3.0)
    xx, yy, zz = x[0] - mean, y[1] - mean, z[2] - mean
    return math.sqrt(0.5 * (xx * xx + yy * yy + zz * zz) + x[1] * x[1] + y[2] * y[2] + x[2] * x[2])


def _springs(shape: Any, constants: Any) -> Any:
    return 1.5 * constants[7] * (np.cbrt(shape[16]) - 1.0) + 0.5 * constants[8] * (shape[9] - 1.0) ** 2


TETRAHEDRON = Simplex(
    dimension=3,
    strains=6,
    rows=9,
    constants=metric_rows,
    shape=_shape,
    strain=_strain,
    pulls=_pulls,
    flow=_flow,
    dashpots=_dashpots,
    size=_size,
    stiffness=_stiffness,
    springs=_springs,
    squares=tensor_squares,
)
"""Constants are 1/(6 V0) [1/m3], G_11, G_22, G_33, G_12, G_23, G_13 [1/m2], V0 mu and V0 K [J]."""
