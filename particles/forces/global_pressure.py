"""One pressure for a whole body (spec section 5): p = -k (V - V0) - c Vdot on its closed surface, force p dV/dx.

The surface is triangles (3D) or edges (2D), oriented outward, with area vectors S_n; a third (half) of p S_n goes to
each corner. On a closed surface this is p dV/dx exactly, so force and moment vanish and k (V - V0)^2/2 is the energy
stored. A quadrilateral face counts as the mean of its two splits into triangles, hence the weights: so V is the
volume of the trilinear hexahedra.

The gradient of a volume is compiled with one vector of four numbers per particle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import INDEX, Lanes, whole

_tools: Any = cgutils
_types: Any = types
ROW = 4
"""Numbers in a row: x, y, z and one unused."""


def _emit_cross(row: Lanes, a: Any, b: Any) -> Any:
    """Return a x b of two rows: (a b' - a' b)', the dash turning x, y, z to y, z, x."""

    def turned(value: Any) -> Any:
        return row.shuffle(value, value, [1, 2, 0, 3])

    product = row.builder.fneg(row.builder.fmul(turned(a), b))
    return turned(row.multiply_add(a, turned(b), product))


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    b = builder
    faces, weight, place, gradient = (
        context.make_array(kind)(context, b, argument).data
        for kind, argument in zip(signature.args[:4], arguments[:4], strict=True)
    )
    row = Lanes(b, context.get_data_type(signature.args[1].dtype), ROW)
    with _tools.for_range_slice(b, arguments[4], arguments[5], whole(1), intp=INDEX) as (face, _):
        first = b.gep(faces, [b.mul(face, whole(3))])
        starts = [b.mul(b.load(b.gep(first, [whole(corner)])), whole(ROW)) for corner in range(3)]
        origin, *others = (row.load(b.gep(place, [start])) for start in starts)
        area = _emit_cross(row, *(b.fsub(other, origin) for other in others))
        third = b.fmul(b.fmul(row.splat(b.load(b.gep(weight, [face]))), row.constant(1.0 / 6.0)), area)
        for start in starts:
            there = b.gep(gradient, [start])
            row.store(b.fadd(row.load(there), third), there)
    return context.get_dummy_value()


def _typed(typing: Any, faces: Any, weight: Any, place: Any, gradient: Any, first: Any, last: Any) -> Any:
    return _types.void(faces, weight, place, gradient, _types.int64, _types.int64), _generate


add_triangle_gradients: Any = intrinsic(_typed)
"""`add_triangle_gradients(faces, weight, place, gradient, first, last)`: a third of their area vectors, times their
weights, to the rows (n, 4) of `gradient` of the corners of faces (F, 3) first <= face < last; in compiled code only."""


class GlobalPressure(NamedTuple):
    """Outward faces (F, d) and their weights (F,), packed by body with offsets (B+1,); V0 (B,) [m^d] of each body.

    `stiffness` [Pa/m^d] and `damping` [Pa s/m^d] are multiplied by the thickness [m] of plane bodies. `nodes` (n,) are
    the particles of the faces, packed by body with `first` (B+1,); faces name their corners by the place in `nodes`.
    `place` and `gradient` (n, 4) are scratch: x [m] relative to the body's first node, and dV/dx.
    """

    faces: Indices
    weight: Array
    offset: Indices
    nodes: Indices
    first: Indices
    rest: Array
    stiffness: float
    damping: float
    place: Array
    gradient: Array


def surface_triangles(faces: Indices) -> tuple[Indices, Array]:
    """Return the faces a volume is counted by, and their weights: quadrilaterals (F, 4) as both splits, half each."""
    if faces.shape[1] < 4:
        return faces, np.ones(len(faces))
    halves = faces[:, [[0, 1, 2], [0, 2, 3], [0, 1, 3], [1, 2, 3]]].reshape(-1, 3)
    return halves, np.full(len(halves), 0.5)


def make_global_pressure(rest: Array, surfaces: list[Indices], *, stiffness: float, damping: float) -> GlobalPressure:
    """Close each body's outward boundary faces (F, 2), (F, 3) or (F, 4) around its volume at rest (N, 3) [m]."""
    split = [surface_triangles(faces.astype(np.int64)) for faces in surfaces]
    found = [np.unique(faces, return_inverse=True) for faces, _ in split]
    first = np.cumsum([0, *(len(nodes) for nodes, _ in found)])
    corners = [
        inverse.reshape(faces.shape) + start
        for (faces, _), (_, inverse), start in zip(split, found, first[:-1], strict=True)
    ]
    pressure = GlobalPressure(
        faces=np.concatenate(corners),
        weight=np.concatenate([weight for _, weight in split]),
        offset=np.cumsum([0, *(len(faces) for faces, _ in split)]),
        nodes=np.concatenate([nodes for nodes, _ in found]),
        first=first,
        rest=np.zeros(len(split)),
        stiffness=stiffness,
        damping=damping,
        place=np.zeros((first[-1], 4)),
        gradient=np.zeros((first[-1], 4)),
    )
    return pressure._replace(rest=body_volumes(pressure, rest))


@compiled
def _add_edge_gradients(faces: Indices, weight: Array, low: int, high: int, place: Array, gradient: Array) -> None:
    """Give each end of plane edges half of their outward normal of their own length."""
    for face in range(low, high):
        i, j, half = faces[face, 0], faces[face, 1], 0.5 * weight[face]
        sx, sy = half * (place[j, 1] - place[i, 1]), -half * (place[j, 0] - place[i, 0])
        for node in (i, j):
            gradient[node, 0] += sx
            gradient[node, 1] += sy


@compiled
def _volume_and_flow(pressure: GlobalPressure, body: int, x: Array, v: Array) -> tuple[float, float]:
    """Return V [m^d] and Vdot [m^d/s] of a body and leave dV/dx in `gradient`; V = x . dV/dx/d is homogeneous."""
    faces, nodes, place, gradient = pressure.faces, pressure.nodes, pressure.place, pressure.gradient
    low, high = pressure.first[body], pressure.first[body + 1]
    origin = nodes[low]
    ox, oy, oz = x[origin, 0], x[origin, 1], x[origin, 2]
    for n in range(low, high):
        node = nodes[n]
        place[n, 0], place[n, 1], place[n, 2] = x[node, 0] - ox, x[node, 1] - oy, x[node, 2] - oz
    gradient[low:high] = 0.0
    begin, end = pressure.offset[body], pressure.offset[body + 1]
    if faces.shape[1] == 2:
        _add_edge_gradients(faces, pressure.weight, begin, end, place, gradient)
    else:
        add_triangle_gradients(faces, pressure.weight, place, gradient, begin, end)
    volume, flow = 0.0, 0.0
    for n in range(low, high):
        node, gx, gy, gz = nodes[n], gradient[n, 0], gradient[n, 1], gradient[n, 2]
        volume += gx * place[n, 0] + gy * place[n, 1] + gz * place[n, 2]
        flow += gx * v[node, 0] + gy * v[node, 1] + gz * v[node, 2]
    return volume / faces.shape[1], flow


@compiled
def add_global_pressure(pressure: GlobalPressure, x: Array, v: Array, force: Array) -> None:
    """Push the surface of each body by its pressure."""
    nodes, gradient = pressure.nodes, pressure.gradient
    for body in range(pressure.rest.shape[0]):
        volume, flow = _volume_and_flow(pressure, body, x, v)
        p = -pressure.stiffness * (volume - pressure.rest[body]) - pressure.damping * flow
        for n in range(pressure.first[body], pressure.first[body + 1]):
            node = nodes[n]
            force[node, 0] += p * gradient[n, 0]
            force[node, 1] += p * gradient[n, 1]
            force[node, 2] += p * gradient[n, 2]


@compiled
def _fill(pressure: GlobalPressure, x: Array, v: Array, volumes: Array, flows: Array) -> None:
    for body in range(volumes.shape[0]):
        volumes[body], flows[body] = _volume_and_flow(pressure, body, x, v)


def body_volumes(pressure: GlobalPressure, x: Array) -> Array:
    """Return the volume (B,) [m^d] of each body at positions (N, 3) [m]."""
    volumes, flows = np.zeros((2, len(pressure.offset) - 1))
    if len(volumes):
        _fill(pressure, x, np.zeros_like(x), volumes, flows)
    return volumes


def pressures(pressure: GlobalPressure, x: Array, v: Array) -> Array:
    """Return p (B,) [Pa, times the thickness of plane bodies] at positions [m] and velocities [m/s] (N, 3)."""
    volumes, flows = np.zeros((2, len(pressure.rest)))
    if len(volumes):
        _fill(pressure, x, v, volumes, flows)
    return np.asarray(-pressure.stiffness * (volumes - pressure.rest) - pressure.damping * flows)


def global_pressure_energy(pressure: GlobalPressure, x: Array) -> float:
    """Return the energy [J] stored at positions (N, 3) [m]: sum k (V - V0)^2/2."""
    return float(0.5 * pressure.stiffness * np.sum((body_volumes(pressure, x) - pressure.rest) ** 2))


def global_pressure_rate(pressure: GlobalPressure, x: Array, masses: Array, free: NDArray[np.bool_]) -> float:
    """Return the largest eigenvalue sum_i |g_i|^2/m_i [m^(2d-2)/kg] of M^-1 g g^T, g = dV/dx at positions x (N, 3) [m].

    masses (N,) [kg]; free (N, 3) tells which components can move.
    """
    body_volumes(pressure, x)  # leaves dV/dx behind
    rates = np.where(free[pressure.nodes], pressure.gradient[:, :3] ** 2, 0.0).sum(axis=1) / masses[pressure.nodes]
    bodies = zip(pressure.first[:-1], pressure.first[1:], strict=True)
    return max((float(rates[low:high].sum()) for low, high in bodies), default=0.0)
