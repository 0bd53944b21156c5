"""Softening of elements that remember a stress tensor, by the metric of the present shape: objective as the memory is.

    M_ab = e_a.e_b,      size of w:  t^2 = (tr (w M)^2 - (tr w M)^2/d)/2,      r = J (M^-1 M' M^-1 - tr(M^-1 M')/d M^-1)

t is the shear stress, von Mises/sqrt(3), of the Kirchhoff stress w_ab e_a (x) e_b; J M^-1 M' M^-1 are the components of
2 J D, so that r is what a Newtonian dashpot of unit viscosity answers. The force of the dashpot does not come from r,
which is singular at J = 0, but from the element's own, with what softening leaves of the viscosity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.group import Group, Memory
from rheotwin.particles.shear_volume.inversion import guarded_inverse
from rheotwin.particles.shear_volume.lanes import CHUNK
from rheotwin.particles.shear_volume.softening_group import drive_group, settle_group
from rheotwin.particles.shear_volume.tensor_memory import PLANE, SPACE

Array = NDArray[np.float64]

PLANE_SCRATCH = 11 + 4 * 4
"""Rows of scratch in the plane: two viscosities, sizes, rates and g of four strains, four 2 x 2 matrices."""
SPACE_SCRATCH = 17 + 4 * 9
"""Rows in space: the same of seven strains, four 3 x 3 matrices."""


@compiled(contract=True, nogil=True)
def _dots(e: Array, u: Array, size: int, found: Array) -> None:
    """Write e_a.u_b of edges and others (size * size rows)."""
    for a in range(size):
        for b in range(size):
            found[a, b] = 0.0
            for axis in range(size):
                first, second = (size * a + axis) * CHUNK, (size * b + axis) * CHUNK
                for k in range(CHUNK):
                    found[a, b, k] += e[first + k] * u[second + k]


@compiled(contract=True, nogil=True)
def _product(a: Array, b: Array, size: int, found: Array) -> None:
    """Write the matrix product of every lane."""
    for i in range(size):
        for j in range(size):
            found[i, j] = 0.0
            for m in range(size):
                for k in range(CHUNK):
                    found[i, j, k] += a[i, m, k] * b[m, j, k]


@compiled(contract=True, nogil=True, allocates=True)
def _adjugate(m: Array, size: int, found: Array) -> None:
    """Write det(m) m^-1 of symmetric matrices."""
    if size == 2:
        found[0, 0], found[1, 1] = m[1, 1], m[0, 0]
        found[0, 1], found[1, 0] = -m[0, 1], -m[0, 1]
        return
    for a in range(3):
        for b in range(3):
            p, q, r, s = (a + 1) % 3, (a + 2) % 3, (b + 1) % 3, (b + 2) % 3
            for k in range(CHUNK):
                found[a, b, k] = m[p, r, k] * m[q, s, k] - m[p, s, k] * m[q, r, k]


@compiled(vectors=True, nogil=True, allocates=True)
def _rates(e: Array, u: Array, c: Array, ratio: Array, size: int, place: Array, room: Array, rate: Array) -> None:
    """Write r and J' of edges changing with `u`; `room` holds M (0) and has three more matrices, J - 1 is `ratio`."""
    metric, other, adjugate, product = room[0], room[1], room[2], room[3]
    _dots(e, u, size, product)
    for a in range(size):
        for b in range(size):
            other[a, b] = product[a, b] + product[b, a]
    _adjugate(metric, size, adjugate)
    _product(adjugate, other, size, product)
    _product(product, adjugate, size, other)
    rows = size * (size + 1) // 2
    for k in range(CHUNK):
        scale, trace = c[k] * c[k] * guarded_inverse(1.0 + ratio[k]), 0.0
        for a in range(size):
            trace += product[a, a, k]
        factor = scale * scale * guarded_inverse(1.0 + ratio[k])
        for a in range(size):
            for b in range(a, size):
                rate[place[a, b] * CHUNK + k] = factor * (other[a, b, k] - trace / size * adjugate[a, b, k])
        rate[rows * CHUNK + k] = 0.5 * scale * trace


@compiled(vectors=True, nogil=True)
def _shear_sizes(w: Array, size: int, place: Array, room: Array, sizes: Array) -> None:
    """Write the sizes t (CHUNK,) of tensors w (rows * CHUNK) with the metric in `room`."""
    tensor, product = room[1], room[3]
    for a in range(size):
        for b in range(size):
            row = place[a, b] * CHUNK
            for k in range(CHUNK):
                tensor[a, b, k] = w[row + k]
    _product(tensor, room[0], size, product)
    for k in range(CHUNK):
        trace, square = 0.0, 0.0
        for a in range(size):
            trace += product[a, a, k]
            for b in range(size):
                square += product[a, b, k] * product[b, a, k]
        sizes[k] = np.sqrt(max(0.5 * (square - trace * trace / size), 0.0))


@compiled(nogil=True, allocates=True)
def soften_tensors(
    group: Group,
    memory: Memory,
    chunk: int,
    part: float,
    edges: Array,
    rates: Array,
    strain: Array,
    tension: Array,
    scratch: Array,
) -> None:
    """Add to `tension` what softening networks answer to strains, given edges and their rates; advance Voigt parts.

    The first two rows of `scratch` become the viscosities of shear and of volume that dashpots have left.
    """
    size = 2 if memory.shear_before.shape[1] == 3 else 3
    place = PLANE if size == 2 else SPACE
    rows = size * (size + 1) // 2
    sizes, rate = scratch[2 * CHUNK : 3 * CHUNK], scratch[3 * CHUNK : (4 + rows) * CHUNK]
    g = scratch[(4 + rows) * CHUNK : (5 + 2 * rows) * CHUNK]
    first = (5 + 2 * rows) * CHUNK
    room = scratch[first : first + 4 * size * size * CHUNK].reshape((4, size, size, CHUNK))
    scratch[:CHUNK], scratch[CHUNK : 2 * CHUNK] = group.shear.viscosity[chunk], group.volume.viscosity[chunk]
    _dots(edges, edges, size, room[0])
    if group.viscous:
        _rates(edges, rates, group.constants[chunk], strain[rows * CHUNK :], size, place, room, rate)
    else:
        rate[:] = 0.0
    drive_group(group, memory, chunk, part, strain, rate, g)
    _shear_sizes(g, size, place, room, sizes)
    settle_group(group, memory, chunk, part, strain, rate, g, sizes, tension, scratch[: 2 * CHUNK])
