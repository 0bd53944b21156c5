"""Constant area or volume by constraint stabilisation, for any constraint space (spec 5, E7-E11).

Critically damped, R'' + 2 om R' + om^2 R = 0 with R_m = sum_e w_me (S_e - S0_e). With A = dR/dx,
R' = A^T v and R'' = A^T v' + Q the multipliers L (tension positive) follow from

    (A^T M^-1 A + eps I) L = -(2 om R' + om^2 R + Q + A^T M^-1 F),        M v' = F + A L

    2D  S = det[a; b]/2,     Q = det[a'; b']                                             (4.53)
    3D  V = det[a; b; c]/6,  Q = (det[a'; b'; c] + det[a'; b; c'] + det[a; b'; c'])/3    (4.57, with E8)

where a, b, c are the edges from the first corner and a', b', c' their rates. Positions and velocities are
(N, d) arrays, so that finite elements and particles share this file.

Soft area or volume elements that keep the members of a constrained patch together (spec 5).

A constraint on a patch lets its single triangles drift. With the ratios r_e = S_e/S0_e and the patch means
rho_m = sum_e w_me S_e / sum_e w_me S0_e, the energy

    W = (K_s/2) sum_e S0_e d_e^2,     d_e = r_e - sum_m w_me rho_m / sum_m w_me

holds each ratio at the mean of its patches; it vanishes for a uniform change of measure, so it adds no bulk
stiffness. K_s = mu ... 5 mu serves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.patches import Patches
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled


def simplex_measures(simplices: Indices, positions: Array) -> Array:
    """Return the signed area [m2] or volume [m3] (elements,) of triangles or tets at positions (N, d) [m]."""
    edges = positions[simplices[:, 1:]] - positions[simplices[:, :1]]
    return _determinants(edges) / (2.0 if edges.shape[1] == 2 else 6.0)


def rest_measures(simplices: Indices, points: Array) -> Array:
    """Return the measures [m2 or m3] at rest points (N, d) [m]; refuse elements without a positive one."""
    measures = simplex_measures(simplices, points)
    if not np.all(measures > 0.0):
        worst = int(np.argmin(measures))
        raise RheotwinError(
            f"incompressibility: element {worst} has the measure {measures[worst]:.3g} at rest; "
            "orient the mesh so that all elements are positive"
        )
    return measures


def simplex_gradients(simplices: Indices, positions: Array) -> Array:
    """Return dS/dx (elements, corners, d) [m^(d-1)], the seed's A of one element ((4.53), (4.57))."""
    gradients = np.empty((*simplices.shape, positions.shape[1]))
    simplex_gradients_into(simplices, positions, gradients)
    return gradients


def simplex_curvature(simplices: Indices, positions: Array, velocities: Array) -> Array:
    """Return Q = v^T (d2S/dx2) v (elements,) [m^d/s2], the part of S'' that needs no acceleration."""
    rates = velocities[simplices[:, 1:]] - velocities[simplices[:, :1]]
    if positions.shape[1] == 2:
        return _determinants(rates)
    edges = positions[simplices[:, 1:]] - positions[simplices[:, :1]]
    total = np.zeros(len(simplices))
    for kept in range(3):
        mixed = rates.copy()
        mixed[:, kept] = edges[:, kept]
        total += _determinants(mixed)
    return total / 3.0


def _determinants(rows: Array) -> Array:
    """Return det of (elements, d, d), written out: LAPACK takes several times as long on many small matrices."""
    if rows.shape[1] == 2:
        return np.asarray(rows[:, 0, 0] * rows[:, 1, 1] - rows[:, 0, 1] * rows[:, 1, 0])
    a, b, c = rows.transpose(1, 2, 0)
    return np.asarray(
        a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


@dataclass(frozen=True)
class MeasureConstraints:
    """Constraints R_m = sum_e w_me (S_e - S0_e) on N nodes with the fixed sparsity of their gradients."""

    patches: Patches
    rest: Array
    size: int
    _indptr: Indices
    _indices: Indices
    _slots: Indices

    @property
    def count(self) -> int:
        """Number of constraints."""
        return int(self.patches.shares.shape[0])

    @property
    def node_rows(self) -> tuple[Indices, Indices]:
        """Where the entries of each row begin (constraints + 1,), and the node of each entry."""
        d = self.patches.simplices.shape[1] - 1
        return self._indptr // d, self._indices[::d] // d

    @property
    def node_slots(self) -> Indices:
        """Entry of `node_rows` that each corner (shares, corners) of each share adds to."""
        return np.asarray(self._slots // (self.patches.simplices.shape[1] - 1))

    def value(self, positions: Array) -> Array:
        """Return R (constraints,) [m^d]."""
        return np.asarray(self.patches.shares @ simplex_measures(self.patches.simplices, positions) - self.rest)

    def gradient(self, positions: Array) -> csr_matrix:
        """Return A^T = dR/dx (constraints, N d) [m^(d-1)]; component c of node i is column i d + c."""
        gradients = simplex_gradients(self.patches.simplices, positions)
        data = np.zeros(len(self._indices))
        shares = self.patches.shares
        _scatter(shares.indices, shares.data, gradients, self._slots, data)
        return csr_matrix((data, self._indices, self._indptr), shape=(self.count, self.size))

    def curvature(self, positions: Array, velocities: Array) -> Array:
        """Return Q (constraints,) [m^d/s2] with R'' = A^T v' + Q."""
        return np.asarray(self.patches.shares @ simplex_curvature(self.patches.simplices, positions, velocities))


def measure_constraints(patches: Patches, points: Array) -> MeasureConstraints:
    """Return the constraints of a patch space with the measures at rest points (N, d) [m] as their goal."""
    shares = patches.shares
    dimension = points.shape[1]
    incidence = csr_matrix(
        (
            np.ones(patches.simplices.size),
            patches.simplices.ravel(),
            np.arange(0, patches.simplices.size + 1, patches.simplices.shape[1]),
        ),
        shape=(len(patches.simplices), len(points)),
    )
    touched = (shares @ incidence).tocsr()
    touched.sort_indices()
    columns = (touched.indices[:, None] * dimension + np.arange(dimension)).ravel()
    return MeasureConstraints(
        patches=patches,
        rest=np.asarray(shares @ rest_measures(patches.simplices, points)),
        size=points.size,
        _indptr=(touched.indptr * dimension).astype(np.int64),
        _indices=columns.astype(np.int64),
        _slots=_slots(patches, touched) * dimension,
    )


def _slots(patches: Patches, touched: csr_matrix) -> Indices:
    """Return, per share and corner, where its node stands among the entries of the constraint's row."""
    shares = patches.shares
    nodes = patches.simplices[shares.indices]
    rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))[:, None]
    keys = np.repeat(np.arange(touched.shape[0]), np.diff(touched.indptr)) * touched.shape[1] + touched.indices
    return np.asarray(np.searchsorted(keys, rows * touched.shape[1] + nodes), dtype=np.int64)


@compiled
def _triangle_gradients(simplices: Indices, x: Array, out: Array) -> None:
    """dS/dx_i is half the opposite edge, turned by -90 degrees."""
    for e in range(len(simplices)):
        for corner in range(3):
            j, k = simplices[e, (corner + 1) % 3], simplices[e, (corner + 2) % 3]
            out[e, corner, 0] = 0.5 * (x[j, 1] - x[k, 1])
            out[e, corner, 1] = 0.5 * (x[k, 0] - x[j, 0])


@compiled(allocates=True)
def _tet_gradients(simplices: Indices, x: Array, out: Array) -> None:
    """dV/dx of corners 1, 2, 3 is a sixth of the cross product of the other two edges; corner 0 balances them."""
    edge = np.empty((3, 3))
    for e in range(len(simplices)):
        for corner in range(3):
            for axis in range(3):
                edge[corner, axis] = x[simplices[e, corner + 1], axis] - x[simplices[e, 0], axis]
        for axis in range(3):
            y, z = (axis + 1) % 3, (axis + 2) % 3
            balance = 0.0
            for corner in range(3):
                first, second = (corner + 1) % 3, (corner + 2) % 3
                value = (edge[first, y] * edge[second, z] - edge[first, z] * edge[second, y]) / 6.0
                out[e, corner + 1, axis] = value
                balance -= value
            out[e, 0, axis] = balance


@compiled
def simplex_gradients_into(simplices: Indices, x: Array, out: Array) -> None:
    """Put dS/dx or dV/dx (elements, corners, d) [m^(d-1)] into `out`; of triangles the first two components only."""
    if simplices.shape[1] == 3:
        _triangle_gradients(simplices, x, out)
    else:
        _tet_gradients(simplices, x, out)


@compiled
def _scatter(elements: Indices, shares: Array, gradients: Array, slots: Indices, data: Array) -> None:
    """Add share times element gradient to the entries of each constraint's row."""
    _, corners, dimension = gradients.shape
    for entry in range(len(elements)):
        for corner in range(corners):
            for axis in range(dimension):
                data[slots[entry, corner] + axis] += shares[entry] * gradients[elements[entry], corner, axis]


@dataclass(frozen=True)
class SoftMeasure:
    """Soft elements on patches: `difference` (elements, elements) [1/m^d] maps measures to d_e."""

    patches: Patches
    rest: Array
    difference: csr_matrix
    modulus: float

    def energy(self, positions: Array) -> float:
        """Return W [J] at positions (N, d) [m]."""
        drift = self.difference @ simplex_measures(self.patches.simplices, positions)
        return float(0.5 * self.modulus * (self.rest @ drift**2))

    def force(self, positions: Array) -> Array:
        """Return -dW/dx (N, d) [N]."""
        simplices = self.patches.simplices
        drift = self.difference @ simplex_measures(simplices, positions)
        pressure = -self.modulus * (self.difference.T @ (self.rest * drift))
        out = np.zeros_like(positions)
        np.add.at(out, simplices, pressure[:, None, None] * simplex_gradients(simplices, positions))
        return out

    def stiffness(self, gradient: csr_matrix) -> csr_matrix:
        """Return the small-strain stiffness [N/m] for dS/dx (elements, N d) of the single elements."""
        rows = self.difference @ gradient
        return (self.modulus * (rows.T @ diags(self.rest) @ rows)).tocsr()


def soft_measure(patches: Patches, points: Array, modulus: float) -> SoftMeasure:
    """Return soft elements of modulus K_s [Pa] for patches with rest points (N, d) [m]."""
    rest, shares = rest_measures(patches.simplices, points), patches.shares
    mean = diags(1.0 / (shares @ rest)) @ shares
    back = diags(1.0 / np.asarray(shares.sum(axis=0)).ravel()) @ shares.T
    return SoftMeasure(patches, rest, (diags(1.0 / rest) - back @ mean).tocsr(), modulus)
