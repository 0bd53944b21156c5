"""Corotational kinematics: small strain seen from a frame that turns with each element (spec 6; Felippa-Haugen 2005).

    R = polar rotation of the element's mean F,   eps = sym(R'F) - I at each point,   sigma = R s R'

Force and tangent are the first and second variation of eps, with the turning of the frame: dR = R [dw]x and
(tr(U) I - U) dw = axial(R' dF_mean). So forces have no resultant moment and the tangent is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.finite.kinematics import (
    ElementGeometry,
    products,
    strain_vector,
    stress_tensor,
    stress_vector,
    symmetric_products,
)


@dataclass(frozen=True)
class _Frames:
    """Frames of all elements at one displacement; `spins` (e, m, 3) are dw for a unit change of each component."""

    rotation: Array
    stretch: Array
    spread_inverse: Array
    mean_products: Array
    spins: Array


@dataclass(frozen=True)
class Corotational:
    """Small strain in the frame of each element; whatever a law remembers lives in that frame."""

    geometry: ElementGeometry

    def _rotation(self, u: Array) -> Array:
        mean = self.geometry.mean_displacement_gradient(u) + np.eye(3)
        return polar_rotation(mean, self.geometry.dimension)

    def _local(self, u: Array, rotation: Array) -> Array:
        """Return A = R'F (e, q, 3, 3)."""
        return np.asarray(np.swapaxes(rotation, -1, -2)[:, None] @ self.geometry.deformation_gradient(u))

    def _frames(self, u: Array) -> _Frames:
        geometry, rotation = self.geometry, self._rotation(u)
        mean = geometry.mean_displacement_gradient(u) + np.eye(3)
        stretch = np.swapaxes(rotation, -1, -2) @ mean
        stretch = 0.5 * (stretch + np.swapaxes(stretch, -1, -2))
        inverse = np.asarray(np.linalg.inv(spread(stretch)), dtype=float)
        turned = products(rotation, geometry.mean_gradients, geometry.dimension)
        return _Frames(rotation, stretch, inverse, turned, axial(turned) @ inverse)

    def strain(self, u: Array) -> Array:
        """Return eps (e, q, 6) = sym(R'H) - (I - sym(R)), H = du/dX."""
        rotation = self._rotation(u)
        turned = np.swapaxes(rotation, -1, -2)[:, None] @ self.geometry.displacement_gradient(u)
        return strain_vector(turned + (rotation - np.eye(3))[:, None])

    def operator(self, u: Array) -> Array:
        """Return B (e, q, m, 6) of deps = sym(R' dF - [dw]x A), A = R'F."""
        geometry, frames = self.geometry, self._frames(u)
        local = self._local(u, frames.rotation)
        turning = strain_vector(cross_matrix(np.eye(3)) @ local[:, :, None])
        straining = symmetric_products(frames.rotation[:, None], geometry.gradients, geometry.dimension)
        return np.asarray(straining - frames.spins[:, None] @ turning)

    def geometric(self, u: Array, stress: Array) -> Array:
        """Return sum_q w s : d2eps/du2 (e, m, m) [N/m].

        With M = sum w A s, m = axial(M), c = (tr(U) I - U)^-1 m and g = sum w axial(R' dF s), for variations
        delta (rows) and d (columns), Y = R' dF_mean and dU = Y - [dw]x U:

            g.dw + dw.(g - (tr(M) I - M) dw) - dw.(tr(dU) I - dU) c - c.(tr(Y) I - Y) dw
        """
        geometry, frames = self.geometry, self._frames(u)
        weighted = geometry.weights[..., None, None] * stress_tensor(stress)
        moment = np.sum(self._local(u, frames.rotation) @ weighted, axis=1)
        loaded = np.sum(geometry.gradients @ weighted, axis=1)
        moments = axial(products(frames.rotation, loaded, geometry.dimension))
        couple = np.einsum("ekl,el->ek", frames.spread_inverse, axial(moment))[:, None, :, None]
        turned, spins = frames.mean_products, frames.spins
        stretching = turned - cross_matrix(spins) @ frames.stretch[:, None]
        from_stretch = (spread(stretching) @ couple)[..., 0]
        from_frame = (np.swapaxes(spread(turned), -1, -2) @ couple)[..., 0]
        columns = np.swapaxes(spins, -1, -2)
        rows = moments - from_frame - spins @ spread(moment)
        return np.asarray(rows @ columns + spins @ np.swapaxes(moments - from_stretch, -1, -2))

    def forces(self, u: Array, stress: Array) -> Array:
        """Return sum_q w B's (e, m) [N]."""
        weighted = self.geometry.weights[..., None] * stress
        return np.asarray(np.sum(self.operator(u) @ weighted[..., None], axis=1)[..., 0])

    def add_tangents(self, u: Array, end: Array, stress: Array, modulus: Array, share: float, blocks: Array) -> None:
        """Add sum_q w B(u)' D B(end) and the geometric part."""
        weighted = self.geometry.weights[..., None, None] * self.operator(u)
        blocks += np.sum(weighted @ modulus @ np.swapaxes(self.operator(end), -1, -2), axis=1)
        blocks += share * self.geometric(u, stress)

    def cauchy(self, u: Array, stress: Array) -> Array:
        """Return sigma = R s R' (e, q, 6) [Pa]; the volume change is of the order of the strain and left out."""
        rotation = self._rotation(u)[:, None]
        return stress_vector(rotation @ stress_tensor(stress) @ np.swapaxes(rotation, -1, -2))


def polar_rotation(deformation: Array, dimension: int) -> Array:
    """Return R (..., 3, 3) of deformation gradients F (..., 3, 3), in plane strain (2) or in space (3).

    In the plane tan(phi) = (F_yx - F_xy)/(F_xx + F_yy). In space F = A S B' by singular values and
    R = A diag(1, 1, det(A B')) B', which is a proper rotation for any F.
    """
    if dimension == 2:
        return _plane_rotation(deformation)
    left, _, right = np.linalg.svd(deformation)
    left[..., 2] *= np.sign(np.linalg.det(left) * np.linalg.det(right))[..., None]
    return np.asarray(left @ right)


def _plane_rotation(deformation: Array) -> Array:
    cosine = deformation[..., 0, 0] + deformation[..., 1, 1]
    sine = deformation[..., 1, 0] - deformation[..., 0, 1]
    length = np.hypot(cosine, sine)
    rotation = np.zeros_like(deformation)
    rotation[..., 0, 0] = rotation[..., 1, 1] = cosine / length
    rotation[..., 1, 0] = sine / length
    rotation[..., 0, 1] = -rotation[..., 1, 0]
    rotation[..., 2, 2] = 1.0
    return rotation


def axial(matrix: Array) -> Array:
    """Return the vector v (..., 3) with [v]x = M - M'."""
    return np.stack(
        [
            matrix[..., 2, 1] - matrix[..., 1, 2],
            matrix[..., 0, 2] - matrix[..., 2, 0],
            matrix[..., 1, 0] - matrix[..., 0, 1],
        ],
        axis=-1,
    )


def cross_matrix(vector: Array) -> Array:
    """Return [v]x (..., 3, 3), the matrix of w -> v x w."""
    out = np.zeros((*vector.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = vector[..., 0], vector[..., 1], vector[..., 2]
    out[..., 1, 2], out[..., 2, 0], out[..., 0, 1] = -vector[..., 0], -vector[..., 1], -vector[..., 2]
    return out


def spread(matrix: Array) -> Array:
    """Return tr(M) I - M (..., 3, 3), the matrix with [(tr(M) I - M) v]x = [v]x M + M' [v]x."""
    trace = np.trace(matrix, axis1=-2, axis2=-1)
    return np.asarray(trace[..., None, None] * np.eye(3) - matrix)
