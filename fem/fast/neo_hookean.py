"""Forces of isochoric-volumetric neo-Hookean linear tetrahedra, matrix-free (spec 6).

    W = V [mu/2 (J^(-2/3) tr C - 3) + K/2 (J - 1)^2],      F = I + sum_a u_a (x) g_a,   J = det F
    P = mu J^(-2/3) F + [K (J - 1) - mu J^(-2/3) tr C/(3 J)] cof F,     f_a = -V P g_a

Elements are taken CHUNK at a time in three passes: gather the corners' displacements, compute, scatter the forces.
What the middle pass reads and writes lies element after element per component, so that it runs in vectors, and fits
the nearest cache. Gathering and scattering cost twice as much as computing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import prange
from numpy.typing import ArrayLike, NDArray

from rheotwin.errors import RheotwinError
from rheotwin.inverse_cube_root import inverse_cube_root
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int32]

CHUNK = 128
"""Elements per pass: 18 values of each are 18 kB, half of the nearest cache."""
CONSTANTS = 11
"""Per element: nine entries of the inverse of its edges, and V mu, V K."""


@dataclass(frozen=True)
class NeoHookeanTets:
    """Linear tetrahedra; corners (M,) padded to whole chunks by elements without stiffness.

    `constants` (chunks, CONSTANTS * CHUNK) is ordered component by component within a chunk.
    """

    points: Array
    corners: Integers
    constants: Array
    count: int

    @classmethod
    def build(cls, points: Array, corners: NDArray[Any], shear: ArrayLike, bulk: ArrayLike) -> NeoHookeanTets:
        """Prepare tetrahedra (M, 4) of points (N, 3) [m] with shear and bulk moduli [Pa], one or one per element."""
        corners = np.array(corners, dtype=np.int32)
        edges = _edges(points, corners)
        turned = np.linalg.det(edges) < 0.0
        corners[turned] = corners[turned][:, [0, 2, 1, 3]]
        edges = _edges(points, corners)
        volumes = np.linalg.det(edges) / 6.0
        flat = np.flatnonzero(~(volumes > 0.0))
        if flat.size:
            raise RheotwinError(f"mesh: tetrahedron {flat[0]} has no volume; repair or refine the mesh")
        count, chunks = len(corners), -(-len(corners) // CHUNK)
        rows = np.zeros((chunks * CHUNK, CONSTANTS))
        rows[:count, :9] = np.linalg.inv(edges).reshape(count, 9)
        rows[:count, 9], rows[:count, 10] = volumes * shear, volumes * bulk
        padding = chunks * CHUNK - count
        constants = rows.reshape(chunks, CHUNK, CONSTANTS).transpose(0, 2, 1).reshape(chunks, -1)
        padded = np.concatenate([corners, np.repeat(corners[-1:], padding, axis=0)])
        return cls(np.ascontiguousarray(points, dtype=float), padded, np.ascontiguousarray(constants), count)

    @cached_property
    def scratch(self) -> Array:
        """Work space of one thread: edges and forces of a chunk."""
        return np.zeros((2, 9 * CHUNK))

    @property
    def rows(self) -> Array:
        """Constants element by element (M, CONSTANTS)."""
        rows: Array = self.constants.reshape(-1, CONSTANTS, CHUNK).transpose(0, 2, 1).reshape(-1, CONSTANTS)
        return np.asarray(rows[: self.count])

    def force(self, displacement: Array, out: Array | None = None) -> Array:
        """Return the forces (N 3,) [N] on the nodes at flat displacements (N 3,) [m].

        An inverted element is a fault that is named.
        """
        found = np.empty_like(displacement) if out is None else out
        found[:] = 0.0
        if add_forces(self.corners, self.constants, displacement, self.scratch, found):
            raise RheotwinError(self.inverted(displacement))
        return found

    def deformation(self, displacement: Array) -> Array:
        """Return the deformation gradients F (M, 3, 3)."""
        edges = _edges(displacement.reshape(-1, 3), self.corners[: self.count])
        return np.asarray(np.eye(3) + edges @ self.rows[:, :9].reshape(-1, 3, 3))

    def energy(self, displacement: Array) -> float:
        """Return the stored energy [J]."""
        gradient = self.deformation(displacement)
        ratio = np.linalg.det(gradient)
        shear, bulk = self.rows[:, 9], self.rows[:, 10]
        isochoric = np.cbrt(ratio) ** -2 * np.einsum("eij,eij->e", gradient, gradient) - 3.0
        return float(np.sum(0.5 * shear * isochoric + 0.5 * bulk * (ratio - 1.0) ** 2))

    def inverted(self, displacement: Array) -> str:
        """Name the first inverted element."""
        ratio = np.linalg.det(self.deformation(displacement))
        element = int(np.flatnonzero(~(ratio > 0.0))[0])
        return f"mesh: element {element} is turned inside out (J = {ratio[element]:.3g}); reduce the step or the load"


def _edges(points: Array, corners: NDArray[Any]) -> Array:
    """Return the edges from the first corner as columns (M, 3, 3)."""
    edges: Array = points[corners[:, 1:]] - points[corners[:, :1]]
    return edges.transpose(0, 2, 1)


@compiled(nogil=True)
def _gather(corners: Integers, first: int, u: Array, edges: Array) -> None:
    """Write the displacement differences of CHUNK elements from `first`, component c of edge a in row 3 c + a."""
    for lane in range(CHUNK):
        e = first + lane
        o, p, q, r = 3 * corners[e, 0], 3 * corners[e, 1], 3 * corners[e, 2], 3 * corners[e, 3]
        for c in range(3):
            base = u[o + c]
            edges[3 * c * CHUNK + lane] = u[p + c] - base
            edges[(3 * c + 1) * CHUNK + lane] = u[q + c] - base
            edges[(3 * c + 2) * CHUNK + lane] = u[r + c] - base


@compiled(nogil=True)
def _scatter(corners: Integers, first: int, pulls: Array, force: Array) -> None:
    """Add the corner forces of CHUNK elements; those of an element sum to zero."""
    for lane in range(CHUNK):
        e = first + lane
        o, p, q, r = 3 * corners[e, 0], 3 * corners[e, 1], 3 * corners[e, 2], 3 * corners[e, 3]
        for c in range(3):
            fp, fq, fr = (
                pulls[3 * c * CHUNK + lane],
                pulls[(3 * c + 1) * CHUNK + lane],
                pulls[(3 * c + 2) * CHUNK + lane],
            )
            force[p + c] += fp
            force[q + c] += fq
            force[r + c] += fr
            force[o + c] -= fp + fq + fr


@compiled(contract=True, nogil=True)
def _compute(a: Array, b: Array, pulls: Array) -> int:
    """Turn edge differences into corner forces -V P g; return how many elements are inverted.

    `a` (9 CHUNK,) edges, `b` (11 CHUNK,) constants. Written out, for the compiler sees vectors in plain code only.
    """
    inverted = 0
    for k in range(CHUNK):
        a0, a1, a2 = a[k], a[CHUNK + k], a[2 * CHUNK + k]
        a3, a4, a5 = a[3 * CHUNK + k], a[4 * CHUNK + k], a[5 * CHUNK + k]
        a6, a7, a8 = a[6 * CHUNK + k], a[7 * CHUNK + k], a[8 * CHUNK + k]
        b0, b1, b2 = b[k], b[CHUNK + k], b[2 * CHUNK + k]
        b3, b4, b5 = b[3 * CHUNK + k], b[4 * CHUNK + k], b[5 * CHUNK + k]
        b6, b7, b8 = b[6 * CHUNK + k], b[7 * CHUNK + k], b[8 * CHUNK + k]
        shear, bulk = b[9 * CHUNK + k], b[10 * CHUNK + k]
        f0, f1, f2 = 1.0 + a0 * b0 + a1 * b3 + a2 * b6, a0 * b1 + a1 * b4 + a2 * b7, a0 * b2 + a1 * b5 + a2 * b8
        f3, f4, f5 = a3 * b0 + a4 * b3 + a5 * b6, 1.0 + a3 * b1 + a4 * b4 + a5 * b7, a3 * b2 + a4 * b5 + a5 * b8
        f6, f7, f8 = a6 * b0 + a7 * b3 + a8 * b6, a6 * b1 + a7 * b4 + a8 * b7, 1.0 + a6 * b2 + a7 * b5 + a8 * b8
        c0, c1, c2 = f4 * f8 - f5 * f7, f5 * f6 - f3 * f8, f3 * f7 - f4 * f6
        c3, c4, c5 = f2 * f7 - f1 * f8, f0 * f8 - f2 * f6, f1 * f6 - f0 * f7
        c6, c7, c8 = f1 * f5 - f2 * f4, f2 * f3 - f0 * f5, f0 * f4 - f1 * f3
        ratio = f0 * c0 + f1 * c1 + f2 * c2
        trace = f0 * f0 + f1 * f1 + f2 * f2 + f3 * f3 + f4 * f4 + f5 * f5 + f6 * f6 + f7 * f7 + f8 * f8
        root = inverse_cube_root(ratio)
        on_gradient = -shear * root * root
        on_cofactor = -bulk * (ratio - 1.0) - on_gradient * trace * (1.0 / 3.0) * root * root * root
        p0, p1, p2 = (
            on_gradient * f0 + on_cofactor * c0,
            on_gradient * f1 + on_cofactor * c1,
            on_gradient * f2 + on_cofactor * c2,
        )
        p3, p4, p5 = (
            on_gradient * f3 + on_cofactor * c3,
            on_gradient * f4 + on_cofactor * c4,
            on_gradient * f5 + on_cofactor * c5,
        )
        p6, p7, p8 = (
            on_gradient * f6 + on_cofactor * c6,
            on_gradient * f7 + on_cofactor * c7,
            on_gradient * f8 + on_cofactor * c8,
        )
        pulls[k] = p0 * b0 + p1 * b1 + p2 * b2
        pulls[CHUNK + k] = p0 * b3 + p1 * b4 + p2 * b5
        pulls[2 * CHUNK + k] = p0 * b6 + p1 * b7 + p2 * b8
        pulls[3 * CHUNK + k] = p3 * b0 + p4 * b1 + p5 * b2
        pulls[4 * CHUNK + k] = p3 * b3 + p4 * b4 + p5 * b5
        pulls[5 * CHUNK + k] = p3 * b6 + p4 * b7 + p5 * b8
        pulls[6 * CHUNK + k] = p6 * b0 + p7 * b1 + p8 * b2
        pulls[7 * CHUNK + k] = p6 * b3 + p7 * b4 + p8 * b5
        pulls[8 * CHUNK + k] = p6 * b6 + p7 * b7 + p8 * b8
        inverted += 0 if ratio > 0.0 else 1
    return inverted


@compiled(nogil=True)
def _add_chunks(
    corners: Integers, constants: Array, u: Array, scratch: Array, force: Array, first: int, last: int
) -> int:
    inverted = 0
    for chunk in range(first, last):
        _gather(corners, chunk * CHUNK, u, scratch[0])
        inverted += _compute(scratch[0], constants[chunk], scratch[1])
        _scatter(corners, chunk * CHUNK, scratch[1], force)
    return inverted


@compiled(nogil=True)
def add_forces(corners: Integers, constants: Array, u: Array, scratch: Array, force: Array) -> int:
    """Add the forces of all elements to `force` (N 3,) [N]; return how many elements are inverted."""
    return _add_chunks(corners, constants, u, scratch, force, 0, constants.shape[0])


@compiled(parallel=True)
def add_forces_in_parts(
    corners: Integers, constants: Array, u: Array, scratch: Array, private: Array, force: Array
) -> int:
    """As `add_forces`, elements shared out over threads: scratch (parts, 2, 9 CHUNK), private forces (parts, N 3)."""
    parts, inverted = private.shape[0], 0
    for part in prange(parts):
        private[part, :] = 0.0
        first, last = part * constants.shape[0] // parts, (part + 1) * constants.shape[0] // parts
        inverted += _add_chunks(corners, constants, u, scratch[part], private[part], first, last)
    for part in prange(parts):
        for q in range(part * force.size // parts, (part + 1) * force.size // parts):
            for other in range(parts):
                force[q] += private[other, q]
    return inverted
