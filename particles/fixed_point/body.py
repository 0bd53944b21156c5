"""The state of a body in the circuit's memories: raw integers, edges in the order the circuit takes them.

Canonical grid and class order: spec fpga-fixed-point.md sections 1 and 4. Stored per edge is lambda = lv - L.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import Q16, Format
from rheotwin.particles.fixed_point.parameters import Units

DIRECTIONS = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [-1, 1, 0], [1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]]
)
"""Classes of edges of a grid: three axes, then both diagonals of xy, xz and yz squares."""
LONGEST_IN_32 = 24
"""Longest word of which 128 forces have a sum of 32 bits."""
SAME_PLACE = 1e-6
"""Share of the longest edge below which two coordinates count as the same."""


class CircuitBody(NamedTuple):
    """Raw words of one body; vectors are (n_m, 3), edges (n_e,). The arrays are changed in place by steps.

    `lam` of edges that are chains of n Voigt parts is (n - 1, n_e): the extensions of all parts but the last.

    `force` is the external force; `sum_start` and `sum_end` are the two force memories, zero between steps.
    """

    start: Integers
    end: Integers
    rest: Integers
    lam: Integers
    position: Integers
    velocity: Integers
    force: Integers
    sum_start: Integers
    sum_end: Integers

    def copy(self) -> CircuitBody:
        """Return a body with memories of its own; topology is shared."""
        return CircuitBody(self.start, self.end, self.rest, *(array.copy() for array in self[3:]))


def circuit_body(
    points: ArrayLike,
    start: ArrayLike,
    end: ArrayLike,
    *,
    units: Units | None = None,
    velocities: ArrayLike = 0.0,
    forces: ArrayLike = 0.0,
    lengths: ArrayLike | None = None,
    voigt_lengths: ArrayLike | None = None,
    parts: int | None = None,
    form: Format = Q16,
) -> CircuitBody:
    """Put a body into memories: points (n_m, 3) [m], velocities [m/s], forces [N], lengths L and lv (n_e,) [m].

    L is by default the distance of the points, lv is L. Edges stay in the order given; those that are chains have
    `parts` Voigt parts, all at rest.
    """
    units = units or Units()
    places = np.asarray(points, dtype=np.float64)
    first, second = (np.array(ends, dtype=np.int32) for ends in (start, end))
    if lengths is None:
        lengths = np.linalg.norm(places[second] - places[first], axis=1)

    def words(name: str, values: ArrayLike, unit: float, shape: tuple[int, ...]) -> Integers:
        raw = form.raw(np.broadcast_to(np.asarray(values, dtype=np.float64) / unit, shape))
        _check_range(name, raw, form)
        return np.ascontiguousarray(raw, dtype=np.int32)

    rest = words("natural length of edge", lengths, units.length, first.shape)
    voigt = rest if voigt_lengths is None else words("Voigt length of edge", voigt_lengths, units.length, first.shape)
    lam = voigt - rest if parts is None else np.zeros((parts - 1, *first.shape), dtype=np.int32)
    _check_range("Voigt extension of edge", lam, form)
    vector, sums = places.shape, np.int32 if form.word <= LONGEST_IN_32 else np.int64
    return CircuitBody(
        start=first,
        end=second,
        rest=rest,
        lam=lam,
        position=words("position of point", places, units.length, vector),
        velocity=words("velocity of point", velocities, units.velocity, vector),
        force=words("force on point", forces, units.force, vector),
        sum_start=np.zeros(vector, dtype=sums),
        sum_end=np.zeros(vector, dtype=sums),
    )


def _check_range(name: str, raw: NDArray[Any], form: Format) -> None:
    outside = ~form.holds(raw)
    if outside.any():
        worst = np.unravel_index(int(np.argmax(np.where(outside, np.abs(raw), 0))), raw.shape)
        value = float(form.value(raw[worst]))
        needed = form.word + max(1, int(abs(value) / -form.value(-form.highest - 1)).bit_length())
        raise RheotwinError(
            f"{name} {worst[0]} is {value:.6g} circuit units, beyond {form}: {needed} bits with {form.fraction} would "
            "do; or choose larger units, or centre the body on the origin"
        )


def grid_points(shape: tuple[int, int, int], spacing: float, origin: ArrayLike | None = None) -> Array:
    """Return the points (n_m, 3) [m] of a grid, number (k ny + j) nx + i; centred on zero unless an origin is given."""
    box = _grid_indices(shape)
    middle = (np.array(shape) - 1) / 2.0
    moved = spacing * (box - middle) if origin is None else spacing * box + np.asarray(origin)
    return np.asarray(moved, dtype=np.float64)


def _grid_indices(shape: tuple[int, int, int]) -> Indices:
    return np.indices(shape).reshape(3, -1, order="F").T.astype(np.int64)


def grid_edges(shape: tuple[int, int, int], parity: int = 0) -> tuple[Indices, Indices]:
    """Return start and end (n_e,) of axis edges and one diagonal per square, in class order, then by start.

    Where i + j + k of a square's base p is even the diagonal is p -> p + u + v, else p + u -> p + v; `parity` 1
    exchanges the two.
    """
    box, counts = _grid_indices(shape), np.array(shape)
    stride = np.array([1, shape[0], shape[0] * shape[1]])
    found = []
    for direction in DIRECTIONS:
        there = box + direction
        inside = ((there >= 0) & (there < counts)).all(axis=1)
        if np.abs(direction).sum() == 2:
            base = box + np.minimum(direction, 0)
            odd = (base.sum(axis=1) + parity) % 2 == 1
            inside &= odd == bool(direction.min() < 0)
        starts = np.flatnonzero(inside)
        found.append(np.stack([starts, starts + direction @ stride]))
    start, end = np.concatenate(found, axis=1)
    return start, end


def class_order(points: ArrayLike, start: ArrayLike, end: ArrayLike) -> Indices:
    """Return the order of edges by the class of their direction, then start, which leaves no hazards in grids.

    Directions that no grid has come last; meshes that are no grids may keep hazards.
    """
    places = np.asarray(points, dtype=np.float64)
    first, second = (np.asarray(ends, dtype=np.int64) for ends in (start, end))
    apart = places[second] - places[first]
    signs = np.sign(apart) * (np.abs(apart) > SAME_PLACE * np.abs(apart).max(initial=0.0))
    same = (signs[:, None, :] == DIRECTIONS).all(axis=2)
    kind = np.where(same.any(axis=1), same.argmax(axis=1), len(DIRECTIONS))
    return np.lexsort((first, kind)).astype(np.int64)
