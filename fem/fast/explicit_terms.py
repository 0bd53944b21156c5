"""The internal force of an explicit step: proportional channels merged, every term in one block matrix.

A law of one Poisson ratio answers with one scalar relaxation r_E(t), so that its two matrices are one:

    sum_X J_X r_X(t) = J_E r_E(t),      J_E = (lambda J_lambda + mu J_mu)/E

What stays apart stands side by side, [J_1 J_2 ...], and multiplies the states stacked one below the other: one
product for all terms and all bodies, whatever their laws. A segment is one body's part of one term.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix, hstack

from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.materials import Channel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Terms = Sequence[tuple[Any, Channel]]
"""Matrices of one body with the channels that multiply them."""

PROPORTIONAL = 1e-12
"""Channels whose constants agree this well up to one factor differ by rounding only."""


class Segments(NamedTuple):
    """Channel constants for a fixed step; segment k covers start[k] <= q < stop[k] of the stacked states.

    `shift` leads from a stacked state to the component it belongs to. Arms that a segment lacks have
    `decay` and `gain` zero.
    """

    start: Indices
    stop: Indices
    shift: Indices
    equilibrium: Array
    viscosity: Array
    decay: Array
    gain: Array
    arms: Indices


def _constants(channel: Channel) -> Array:
    return np.array([channel.equilibrium, *channel.strengths, channel.viscosity])


def proportion(channel: Channel, model: Channel) -> float | None:
    """Return the factor that makes `model` the given channel; None where there is none."""
    if len(channel.times) != len(model.times):
        return None
    if not all(math.isclose(a, b, rel_tol=PROPORTIONAL) for a, b in zip(channel.times, model.times, strict=True)):
        return None
    mine, other = _constants(channel), _constants(model)
    largest = int(np.argmax(np.abs(other)))
    factor = float(mine[largest] / other[largest])
    apart = np.abs(mine - factor * other).max()
    return factor if apart <= PROPORTIONAL * np.abs(mine).max() else None


def merge_proportional(terms: Terms) -> list[tuple[csr_matrix, Channel]]:
    """Add up the matrices of terms whose channels are multiples of one another."""
    kept: list[tuple[csr_matrix, Channel]] = []
    for matrix, channel in terms:
        if channel.is_zero:
            continue
        for place, (sum_so_far, model) in enumerate(kept):
            factor = proportion(channel, model)
            if factor is not None:
                kept[place] = (csr_matrix(sum_so_far + factor * matrix), model)
                break
        else:
            kept.append((csr_matrix(matrix), channel))
    return kept


def join_bodies(bodies: Sequence[Terms], sizes: Sequence[int], dimension: int, h: float) -> tuple[BlockRows, Segments]:
    """Return the matrix of all terms side by side and the channel constants for the step `h` [s].

    `sizes` are the bodies' numbers of components N_b d.
    """
    count, total = max((len(terms) for terms in bodies), default=0), sum(sizes)
    columns = []
    for k in range(count):
        blocks = [
            terms[k][0] if k < len(terms) else csr_matrix((size, size))
            for terms, size in zip(bodies, sizes, strict=True)
        ]
        columns.append(block_diag(blocks, format="csr"))
    matrix = hstack(columns, format="csr") if columns else csr_matrix((total, total))
    first = np.concatenate([[0], np.cumsum(sizes)])
    parts = [
        (k, int(first[b]), int(first[b + 1]), channel)
        for b, terms in enumerate(bodies)
        for k, (_, channel) in enumerate(terms)
    ]
    return BlockRows.from_sparse(matrix, dimension), _segments(parts, total, h)


def _segments(parts: Sequence[tuple[int, int, int, Channel]], total: int, h: float) -> Segments:
    """Pack (term, first and last component, channel) of every segment; exp(-x) and g (1 - exp(-x))/x, x = h/tau."""
    count, arms = len(parts), max((len(channel.times) for *_, channel in parts), default=0)
    decay, gain = np.zeros((count, arms)), np.zeros((count, arms))
    for row, (*_, channel) in enumerate(parts):
        x = h / np.array(channel.times)
        decay[row, : x.size] = np.exp(-x)
        gain[row, : x.size] = -np.array(channel.strengths) * np.expm1(-x) / x
    term, low, high = (np.array([part[k] for part in parts], dtype=np.int64) for k in range(3))
    return Segments(
        start=term * total + low,
        stop=term * total + high,
        shift=term * total,
        equilibrium=np.array([channel.equilibrium for *_, channel in parts]),
        viscosity=np.array([channel.viscosity for *_, channel in parts]),
        decay=decay,
        gain=gain,
        arms=np.array([len(channel.times) for *_, channel in parts], dtype=np.int64),
    )
