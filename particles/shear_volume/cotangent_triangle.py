"""The consistent shear triangle on the papers' own strains, with an area element in it (spec section 3.3, W_D).

    gamma_i = cot_i - cot_i0,   cot_i = a . b/(2S);     Gamma = S/S0 - 1
    W = S0 [ mu/2 sum_i om_i gamma_i^2 + K/2 Gamma^2 ],   om_i = cot_i0 (cot_j0 + cot_k0)/(1 + cot_i0^2)

a, b are the edges that leave corner i. Its tangent at rest is that of a linear finite element. Any network takes the
place of mu and of K; memory sits on scalars that no rotation changes. It is passive where all om_i >= 0, that is
without obtuse angles at rest.

With J = S/S0 and p_i = a . b/(2 S0) - J cot_i0 strains are gamma_i = p_i/J; here p_i psi(J) (see `simplices`), so that
forces stay finite through S = 0. They grow with the fourth power of deformation: an element that was flattened comes
back late and with violence, or stays a needle. `neo_hooke_triangle` is made for that. From edges e1, e2 of corner 0 and
T_i = dW/dgamma_i:

    dW = psi/(2 S0) d[ (T0 - T1 - T2) e1.e2 + T1 e1.e1 + T2 e2.e2 ] + [ sum_i T_i (p_i psi' - cot_i0 psi) + P ] dJ
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.vectors import formula
from rheotwin.particles.shear_volume.elements import Elements, corner_weights, triangle_cotangents
from rheotwin.particles.shear_volume.neo_hooke_triangle import triangle_shape
from rheotwin.particles.shear_volume.simplices import Simplex, slope_of


@formula
def _stiffer(psi: Any, size: Any, strain: Any) -> Any:
    """Return s^2 w0, by how much a triangle is stiffer than at rest: (1 + psi^2 (1 + 6 gamma^2)) w/(2 w0).

    w = (aa + bb - ab)/(2 S0), at rest the sum of cotangents, stands for the squares of gradients of J and p_i;
    `strain` is the sum of gamma_i^2.
    """
    return 0.5 * size * (1.0 + psi * psi * (1.0 + 6.0 * strain))


@formula
def _dots(shape: Any, scale: Any) -> Any:
    """Return e1.e2, e1.e1 and e2.e2 over 2 S0."""
    ax, ay, bx, by, _, _ = shape
    return scale * (ax * bx + ay * by), scale * (ax * ax + ay * ay), scale * (bx * bx + by * by)


@formula
def _stiffness(shape: Any, constants: Any) -> Any:
    g0, g1, g2, _ = _strain(shape, constants)
    ab, aa, bb = _dots(shape, constants[0])
    return _stiffer(shape[5], aa + bb - ab, g0 * g0 + g1 * g1 + g2 * g2) / (constants[1] + constants[2] + constants[3])


@formula
def _strain(shape: Any, constants: Any) -> Any:
    """Return the strains gamma_i and Gamma."""
    ratio, psi = shape[4], shape[5]
    ab, aa, bb = _dots(shape, constants[0])
    first, second = (ab - ratio * constants[1]) * psi, (aa - ab - ratio * constants[2]) * psi
    return first, second, (bb - ab - ratio * constants[3]) * psi, ratio - 1.0


@formula
def _flow(shape: Any, rates: Any, constants: Any) -> Any:
    """Return the rates of the strains."""
    ax, ay, bx, by, ratio, psi = shape
    ux, uy, wx, wy = rates
    scale, c0, c1, c2 = constants[0], constants[1], constants[2], constants[3]
    flow = scale * (ux * by + ax * wy - uy * bx - ay * wx)
    ab, aa, bb = _dots(shape, scale)
    dab = scale * (ux * bx + ax * wx + uy * by + ay * wy)
    daa, dbb = 2.0 * scale * (ax * ux + ay * uy), 2.0 * scale * (bx * wx + by * wy)
    turn = slope_of(ratio, psi) * flow
    p0, p1, p2 = ab - ratio * c0, aa - ab - ratio * c1, bb - ab - ratio * c2
    first, second = (dab - flow * c0) * psi + p0 * turn, (daa - dab - flow * c1) * psi + p1 * turn
    return first, second, (dbb - dab - flow * c2) * psi + p2 * turn, flow


@formula
def _pulls(shape: Any, constants: Any, tension: Any, limit: Any) -> Any:
    """Return the forces on corners 1 and 2 by springs and `tension`, and whether the stiffness is over `limit`."""
    ax, ay, bx, by, ratio, psi = shape
    scale, c0, c1, c2, om0, om1, om2, shear, area = constants
    ab, aa, bb = _dots(shape, scale)
    p0, p1, p2 = ab - ratio * c0, aa - ab - ratio * c1, bb - ab - ratio * c2
    g0, g1, g2 = p0 * psi, p1 * psi, p2 * psi
    squares = g0 * g0 + g1 * g1 + g2 * g2
    severe = _stiffer(psi, aa + bb - ab, squares) > limit * (c0 + c1 + c2)
    t0 = om0 * (shear * g0 + tension[0])
    t1 = om1 * (shear * g1 + tension[1])
    t2 = om2 * (shear * g2 + tension[2])
    swell = slope_of(ratio, psi) * (t0 * p0 + t1 * p1 + t2 * p2) - psi * (t0 * c0 + t1 * c1 + t2 * c2)
    swell = -scale * (swell + area * (ratio - 1.0) + tension[3])
    pull = -scale * psi
    mixed, t1, t2 = pull * (t0 - t1 - t2), 2.0 * pull * t1, 2.0 * pull * t2
    first = mixed * bx + t1 * ax + swell * by, mixed * by + t1 * ay - swell * bx
    second = mixed * ax + t2 * bx - swell * ay, mixed * ay + t2 * by + swell * ax
    return (*first, *second), severe


@formula
def _size(shape: Any, constants: Any, stress: Any) -> Any:
    """Return sqrt(sum om_i f_i^2) of the stress f_i that a corner has per weight om_i.

    It is the shear stress as far as strains are small: the energy S0 mu sum om_i gamma_i^2/2 of springs is
    S0 t^2/(2 mu), whatever the direction.
    """
    first, second = constants[4] * stress[0] * stress[0], constants[5] * stress[1] * stress[1]
    return math.sqrt(first + second + constants[6] * stress[2] * stress[2])


def _rows(elements: Elements, points: Array) -> Array:
    rest = triangle_cotangents(points, elements.cells)
    return np.vstack([0.5 / elements.rest, rest, np.maximum(corner_weights(rest), 0.0)])


def _squares(constants: Array, edges: Array, z: Array) -> Array:
    return np.asarray(np.sum(constants[4:7] * z**2, axis=-2))


def _springs(shape: Any, constants: Array) -> Array:
    strain = np.array(_strain(shape, constants))
    return np.asarray(0.5 * (constants[7] * _squares(constants, strain, strain[:3]) + constants[8] * strain[3] ** 2))


COTANGENT = Simplex(
    dimension=2,
    strains=3,
    rows=9,
    constants=_rows,
    shape=triangle_shape,
    strain=_strain,
    pulls=_pulls,
    flow=_flow,
    dashpots=None,
    size=_size,
    stiffness=_stiffness,
    springs=_springs,
    squares=_squares,
)
"""Constants are 1/(2 S0) [1/m2], three cot_i0, three om_i, S0 mu and S0 K [J]."""
