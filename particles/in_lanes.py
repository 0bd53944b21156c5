"""Elements in the lanes of vector loops: constants, rest measures and arm states, with gaps of zero constants."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rheotwin.particles.element_constants import element_constants
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.lanes import VECTOR_BYTES

Array = NDArray[np.float64]
Reals = NDArray[Any]
Indices = NDArray[np.int64]


class InLanes(NamedTuple):
    """Flat arrays of one precision: weight and rest measure (edges: l0, tetrahedra: 1/V0) of every lane.

    Constants and arm states are in rows as in `rheotwin.particles.lanes`; constants that are `shared` are one column,
    others have no weights. `form` is the compiled form of the response.
    """

    weight: Reals
    rest: Reals
    constants: Reals
    states: Reals
    form: int
    shared: bool
    arms: int
    lanes: int


def aligned(count: int, dtype: DTypeLike) -> Reals:
    """Return `count` zeros that begin where a vector of the machine may begin."""
    size = count * np.dtype(dtype).itemsize
    raw = np.zeros(size + VECTOR_BYTES, dtype=np.uint8)
    start = -raw.ctypes.data % VECTOR_BYTES
    return raw[start : start + size].view(dtype)


def aligned_copy(values: Reals, dtype: DTypeLike) -> Reals:
    """Return a flat copy of `values` that begins where a vector may begin."""
    copy = aligned(values.size, dtype)
    copy[:] = values.ravel()
    return copy


def spread(values: Reals, of_element: Indices, lanes: int, dtype: DTypeLike) -> Reals:
    """Put values (..., M) into their lanes, zero elsewhere; returned flat, row after row."""
    rows = aligned(values.size // max(1, values.shape[-1]) * lanes, dtype).reshape(*values.shape[:-1], lanes)
    rows[..., of_element] = values
    return rows.reshape(-1)


def in_lanes(elements: Elements, rest: Array, of_element: Indices, lanes: int, dtype: DTypeLike) -> InLanes:
    """Put elements into lanes `of_element` (M,); `rest` (M,) is what the loop knows of their rest measures."""
    found, arms = element_constants(elements), elements.arm_stiffness.shape[0]
    there = (of_element, lanes, dtype)
    return InLanes(
        weight=spread(found.weight, *there) if found.shared else aligned(0, dtype),
        rest=spread(rest, *there),
        constants=aligned_copy(found.constants, dtype) if found.shared else spread(found.constants, *there),
        states=aligned(arms * lanes, dtype),
        form=found.form,
        shared=found.shared,
        arms=arms,
        lanes=lanes,
    )


def arm_states(elements: InLanes) -> Reals:
    """Return the states (arms, lanes)."""
    return elements.states.reshape(elements.arms, elements.lanes)


def none_of(elements: Elements, corners: int) -> Elements:
    """Return no elements, of so many corners, with as many arms."""
    return Elements(np.zeros((0, corners), dtype=np.int64), *(array[..., :0].copy() for array in elements[1:]))


def with_corners(elements: Elements, corners: int) -> Elements:
    """Return the elements if they have so many corners, else none of that kind."""
    return elements if elements.corners.shape[1] == corners else none_of(elements, corners)


def bytes_of(*groups: tuple[Any, ...]) -> int:
    """Return the size of all arrays in named tuples, not counting those of tuples inside them."""
    return sum(array.nbytes for group in groups for array in group if isinstance(array, np.ndarray))
