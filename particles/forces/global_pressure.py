"""One pressure for a whole body (spec section 5): p = -k (V - V0) - c Vdot on its closed surface, force p dV/dx.

The surface is triangles (3D) or edges (2D), oriented outward, with area vectors S_n; a third (half) of p S_n goes to
each corner. On a closed surface this is p dV/dx exactly, so force and moment vanish and k (V - V0)^2/2 is the energy
stored. A quadrilateral face counts as the mean of its two splits into triangles, hence the weights: so V is the
volume of the trilinear hexahedra.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class GlobalPressure(NamedTuple):
    """Outward faces (F, d) and their weights (F,), packed by body with offsets (B+1,); V0 (B,) [m^d] of each body.

    `stiffness` [Pa/m^d] and `damping` [Pa s/m^d] are multiplied by the thickness [m] of plane bodies.
    """

    faces: Indices
    weight: Array
    offset: Indices
    rest: Array
    stiffness: float
    damping: float


def surface_triangles(faces: Indices) -> tuple[Indices, Array]:
    """Return the faces a volume is counted by, and their weights: quadrilaterals (F, 4) as both splits, half each."""
    if faces.shape[1] < 4:
        return faces, np.ones(len(faces))
    halves = faces[:, [[0, 1, 2], [0, 2, 3], [0, 1, 3], [1, 2, 3]]].reshape(-1, 3)
    return halves, np.full(len(halves), 0.5)


def make_global_pressure(rest: Array, surfaces: list[Indices], *, stiffness: float, damping: float) -> GlobalPressure:
    """Close each body's outward boundary faces (F, 2), (F, 3) or (F, 4) around its volume at rest (N, 3) [m]."""
    split = [surface_triangles(faces.astype(np.int64)) for faces in surfaces]
    offset = np.zeros(len(split) + 1, np.int64)
    offset[1:] = np.cumsum([len(faces) for faces, _ in split])
    pressure = GlobalPressure(
        faces=np.ascontiguousarray(np.concatenate([faces for faces, _ in split])),
        weight=np.concatenate([weight for _, weight in split]),
        offset=offset,
        rest=np.zeros(len(split)),
        stiffness=stiffness,
        damping=damping,
    )
    return pressure._replace(rest=body_volumes(pressure, rest))


def no_global_pressure(dimension: int) -> GlobalPressure:
    """Return a pressure on no body."""
    faces = np.zeros((0, max(dimension, 2)), np.int64)
    return GlobalPressure(faces, np.zeros(0), np.zeros(1, np.int64), np.zeros(0), 0.0, 0.0)


@njit(cache=True)
def _area_vector(faces: Indices, weight: Array, face: int, x: Array) -> tuple[float, float, float]:
    """Return the weighted outward area vector [m^(d-1)] of a face."""
    i, j = faces[face, 0], faces[face, 1]
    ux, uy, uz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    if faces.shape[1] == 2:
        return weight[face] * uy, -weight[face] * ux, 0.0
    k, half = faces[face, 2], 0.5 * weight[face]
    wx, wy, wz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    return half * (uy * wz - uz * wy), half * (uz * wx - ux * wz), half * (ux * wy - uy * wx)


@njit(cache=True)
def _volume_and_flow(pressure: GlobalPressure, body: int, x: Array, v: Array) -> tuple[float, float]:
    """Return V [m^d] and Vdot [m^d/s] of a body; V is counted from one of its corners to keep its digits."""
    faces, volume, flow = pressure.faces, 0.0, 0.0
    corners = faces.shape[1]
    origin = x[faces[pressure.offset[body], 0]]
    for face in range(pressure.offset[body], pressure.offset[body + 1]):
        sx, sy, sz = _area_vector(faces, pressure.weight, face, x)
        for corner in range(corners):
            node = faces[face, corner]
            volume += sx * (x[node, 0] - origin[0]) + sy * (x[node, 1] - origin[1]) + sz * (x[node, 2] - origin[2])
            flow += sx * v[node, 0] + sy * v[node, 1] + sz * v[node, 2]
    return volume / (corners * corners), flow / corners


@njit(cache=True)
def add_global_pressure(pressure: GlobalPressure, x: Array, v: Array, force: Array) -> None:
    """Push the surface of each body by its pressure."""
    faces = pressure.faces
    corners = faces.shape[1]
    for body in range(pressure.rest.shape[0]):
        volume, flow = _volume_and_flow(pressure, body, x, v)
        share = (-pressure.stiffness * (volume - pressure.rest[body]) - pressure.damping * flow) / corners
        for face in range(pressure.offset[body], pressure.offset[body + 1]):
            sx, sy, sz = _area_vector(faces, pressure.weight, face, x)
            for corner in range(corners):
                node = faces[face, corner]
                force[node, 0] += share * sx
                force[node, 1] += share * sy
                force[node, 2] += share * sz


@njit(cache=True)
def _fill(pressure: GlobalPressure, x: Array, v: Array, volumes: Array, flows: Array) -> None:
    for body in range(volumes.shape[0]):
        volumes[body], flows[body] = _volume_and_flow(pressure, body, x, v)


def body_volumes(pressure: GlobalPressure, x: Array) -> Array:
    """Return the volume (B,) [m^d] of each body at positions (N, 3) [m]."""
    volumes, flows = np.zeros((2, len(pressure.offset) - 1))
    _fill(pressure, x, np.zeros_like(x), volumes, flows)
    return volumes


def pressures(pressure: GlobalPressure, x: Array, v: Array) -> Array:
    """Return p (B,) [Pa, times the thickness of plane bodies] at positions [m] and velocities [m/s] (N, 3)."""
    volumes, flows = np.zeros((2, len(pressure.rest)))
    _fill(pressure, x, v, volumes, flows)
    return np.asarray(-pressure.stiffness * (volumes - pressure.rest) - pressure.damping * flows)


def global_pressure_energy(pressure: GlobalPressure, x: Array) -> float:
    """Return the energy [J] stored at positions (N, 3) [m]: sum k (V - V0)^2/2."""
    return float(0.5 * pressure.stiffness * np.sum((body_volumes(pressure, x) - pressure.rest) ** 2))


def global_pressure_rate(pressure: GlobalPressure, x: Array, masses: Array, free: NDArray[np.bool_]) -> float:
    """Return the largest eigenvalue sum_i |g_i|^2/m_i [m^(2d-2)/kg] of M^-1 g g^T, g = dV/dx at positions x (N, 3) [m].

    masses (N,) [kg]; free (N, 3) tells which components can move.
    """
    largest = 0.0
    for body in range(len(pressure.rest)):
        part = slice(pressure.offset[body], pressure.offset[body + 1])
        faces = pressure.faces[part]
        vectors = np.array([_area_vector(faces, pressure.weight[part], face, x) for face in range(len(faces))])
        gradient = np.zeros_like(x)
        for corner in faces.T:
            np.add.at(gradient, corner, vectors / faces.shape[1])
        largest = max(largest, float(np.sum(np.where(free, gradient**2, 0.0) / masses[:, None])))
    return largest
