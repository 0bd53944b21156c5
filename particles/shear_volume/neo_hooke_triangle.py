"""The plane neo-Hooke shear triangle with an area element in it (spec section 3.3, W_Q), for all shapes.

    W = S0 [ mu (tr C/2 - J) psi(J) + K/2 (J - 1)^2 ],      psi = 1/J (see `simplices`),   J = S/S0

In the corners' cotangents this is -(mu S0/2)(gam1 gam2 + gam2 gam3 + gam3 gam1): the papers' strain, and exact at any
deformation. Edges e_a from corner 0 make up C: tr C = sum_ab G_ab e_a.e_b with the inverse metric G of the rest shape.

Memory is on the deviatoric second Piola stress per modulus, with the components its force on corner a has along e_b,

    s_ab = (G_ab - tr C/2 C^-1_ab)/J,    C^-1_ab = c_a . c_b/(2S)^2,   c_a = 2 dS/dx_a,     f_a = -S0 w_ab e_b

which no rotation changes; w are the arms' stresses. Where J < J0 s is that of the energy above. The dashpot is
Newtonian, 2 eta J dev D, with psi for 1/J in D.
"""

from __future__ import annotations

import math
from typing import Any

from rheotwin.kernels.vectors import formula, select
from rheotwin.particles.shear_volume.simplices import (
    FLAT,
    Simplex,
    guarded_inverse,
    inverse_ratio,
    metric_rows,
    slope_of,
    tensor_squares,
)


@formula
def triangle_shape(edges: Any, constants: Any) -> Any:
    """Return edges e1x, e1y, e2x, e2y, J and psi(J); the first of the constants is 1/(2 S0)."""
    ax, ay, bx, by = edges
    ratio = constants[0] * (ax * by - ay * bx)
    return ax, ay, bx, by, ratio, inverse_ratio(ratio)[0]


@formula
def _half(shape: Any, constants: Any) -> Any:
    """Return tr C/2."""
    ax, ay, bx, by, _, _ = shape
    _, g0, g1, g2, _, _ = constants
    return 0.5 * (g0 * (ax * ax + ay * ay) + g2 * (bx * bx + by * by)) + g1 * (ax * bx + ay * by)


@formula
def _upright(ratio: Any, psi: Any, half: Any) -> Any:
    """Return s^2 of J > J0, by how much a triangle is stiffer than at rest: half the largest second derivative of W.

    With half = tr C/2 and singular values a, b of F the shear has b/a^3 + a/b^3 = 2 (2 half^2 psi^2 - 1) psi and at
    most 1/32 more; change of area has 2 half + |J - 1|.
    """
    stretch = half * psi
    shear, area = (2.0 * stretch * stretch - 1.0) * psi, half + 0.5 * abs(ratio - 1.0)
    return select(shear > area, shear, area)


@formula
def _stiffer(ratio: Any, psi: Any, slope: Any, half: Any) -> Any:
    """Return s^2 of any J; below J0 the shear has at most twice psi - 9/2 (half + |J|) psi'."""
    shear, area = psi - 4.5 * (half + abs(ratio)) * slope, half + 0.5 * abs(ratio - 1.0)
    return select(ratio >= FLAT, _upright(ratio, psi, half), select(shear > area, shear, area))


@formula
def _stiffness(shape: Any, constants: Any) -> Any:
    ratio, psi = shape[4], shape[5]
    return _stiffer(ratio, psi, slope_of(ratio, psi), _half(shape, constants))


@formula
def _strain(shape: Any, constants: Any) -> Any:
    """Return s_11, s_12, s_22 and J - 1."""
    ax, ay, bx, by, ratio, psi = shape
    scale, g0, g1, g2, _, _ = constants
    swell = (_half(shape, constants) - ratio) * slope_of(ratio, psi) - psi
    swell = swell * scale * scale * guarded_inverse(ratio)
    first, mixed = psi * g0 + swell * (bx * bx + by * by), psi * g1 - swell * (ax * bx + ay * by)
    return first, mixed, psi * g2 + swell * (ax * ax + ay * ay), ratio - 1.0


@formula
def _pulls(shape: Any, constants: Any, tension: Any, limit: Any) -> Any:
    """Return the forces on corners 1 and 2 by springs and arms, and whether J < J0 or the stiffness is over `limit`."""
    ax, ay, bx, by, ratio, psi = shape
    scale, g0, g1, g2, shear, area = constants
    half = _half(shape, constants)
    severe = (ratio < FLAT) | (_upright(ratio, psi, half) > limit)
    swell = shear * ((ratio - half) * slope_of(ratio, psi) + psi) - area * (ratio - 1.0)
    swell = scale * (swell - tension[3])
    shear = -shear * psi
    w0, w1, w2 = shear * g0 - tension[0], shear * g1 - tension[1], shear * g2 - tension[2]
    first = w0 * ax + w1 * bx + swell * by, w0 * ay + w1 * by - swell * bx
    second = w1 * ax + w2 * bx - swell * ay, w1 * ay + w2 * by + swell * ax
    return (*first, *second), severe


@formula
def _gradient(shape: Any, rates: Any) -> Any:
    """Return xx, yy and xy of the symmetric part of L = sum_a u_a (x) c_a, 2 S0 J times the gradient of the velocity.

    c_1 = (e2y, -e2x), c_2 = (-e1y, e1x).
    """
    ax, ay, bx, by, _, _ = shape
    ux, uy, wx, wy = rates
    return ux * by - wx * ay, wy * ax - uy * bx, 0.5 * (wx * ax - ux * bx + uy * by - wy * ay)


@formula
def _dashpots(shape: Any, rates: Any, constants: Any, viscosities: Any) -> Any:
    """Return the forces of the dashpots: -(2 eta S0 psi scale^2 dev sym(L) + eta_v S0 J' scale) c_a."""
    ax, ay, bx, by, _, psi = shape
    xx, yy, xy = _gradient(shape, rates)
    square = constants[0] * constants[0]
    factor, swell = 2.0 * viscosities[0] * psi * square, viscosities[1] * square * (xx + yy)
    xx, yy, xy = 0.5 * factor * (xx - yy) + swell, 0.5 * factor * (yy - xx) + swell, factor * xy
    return xy * bx - xx * by, yy * bx - xy * by, xx * ay - xy * ax, xy * ay - yy * ax


@formula
def _flow(shape: Any, rates: Any, constants: Any) -> Any:
    """Return what a Newtonian dashpot of unit viscosity answers, components of 2 J dev D along edges, and J'.

    2 scale^3/J^2 c_a . dev sym(L) c_b, bounded near J = 0; the force of the dashpot does not come from it.
    """
    ax, ay, bx, by, ratio, _ = shape
    xx, yy, xy = _gradient(shape, rates)
    inverse, half = constants[0] * guarded_inverse(ratio), 0.5 * (xx - yy)
    factor = 2.0 * inverse * inverse * inverse * ratio
    px, py, qx, qy = half * by - xy * bx, xy * by + half * bx, xy * ax - half * ay, -xy * ay - half * ax
    first, mixed, second = by * px - bx * py, ax * py - ay * px, ax * qy - ay * qx
    return factor * first, factor * mixed, factor * second, inverse * ratio * (xx + yy)


@formula
def _size(shape: Any, constants: Any, stress: Any) -> Any:
    """Return von Mises/sqrt(3) of the Kirchhoff stress w_ab e_a (x) e_b."""
    ax, ay, bx, by, _, _ = shape
    px, py = stress[0] * ax + stress[1] * bx, stress[0] * ay + stress[1] * by
    qx, qy = stress[1] * ax + stress[2] * bx, stress[1] * ay + stress[2] * by
    half, mixed = 0.5 * (ax * px + bx * qx - ay * py - by * qy), ax * py + bx * qy
    return math.sqrt(half * half + mixed * mixed)


def _springs(shape: Any, constants: Any) -> Any:
    ratio, psi = shape[4:]
    return constants[4] * (_half(shape, constants) - ratio) * psi + 0.5 * constants[5] * (ratio - 1.0) ** 2


NEO_HOOKE = Simplex(
    dimension=2,
    strains=3,
    rows=6,
    constants=metric_rows,
    shape=triangle_shape,
    strain=_strain,
    pulls=_pulls,
    flow=_flow,
    dashpots=_dashpots,
    size=_size,
    stiffness=_stiffness,
    springs=_springs,
    squares=tensor_squares,
)
"""Constants are 1/(2 S0) [1/m2], G_11, G_12, G_22 [1/m2], S0 mu and S0 K [J]."""
