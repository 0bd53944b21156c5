"""Networks in chunks whose series dashpot softens under stress, for strains of any number of components.

The stress f of an element follows g, the direction of both is the same and their sizes obey the law's scalar equation,

    g = k (d + ds) + c1 r,   c = c1 + k h,     |f| (1 + c/c2(|f|)) = |g|,     f = |f|/|g| g
    d <- d + ds - h f/c2 + c1/(c1 + c2) (h r - ds)

with the Voigt part d, the change of strain ds of the step of h that led here, and the strain rate r that dashpots see
(spec section 3: solved in the step, never lagged by one). Sizes are an invariant that each kind of element has for its
strains, the shear stress of simple shear. As f/g is one number for all components, f is the spring's k (d + ds) and the
dashpot's force, both times it. The last term of d is zero where r is the rate of the strain; of Newtonian dashpots
beside a stress that is not, it keeps d the strain of an arm, so that with constant c2 this is the linear law at any
strain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import any_of, formula, load, numbers_of, select, store
from rheotwin.materials import SofteningChannel
from rheotwin.particles.forces.softening import softened
from rheotwin.particles.network import Constants
from rheotwin.particles.shear_volume.corners import CHUNK, in_chunks

TINY = 1e-300
"""Keeps quotients of lanes that do not soften finite."""


SPRING, VOIGT, STIFF, SOFT, START, END, EXPONENT = range(7)
"""Rows of constants: k [Pa], c1, c_max and c_min [Pa s], thresholds f1 and f2 [Pa] and B [1/Pa]."""
rows_at = numbers_of(7)


@dataclass(frozen=True)
class SofteningConstants:
    """Rest measure [m3] (E,), 0 in elements that do not soften, and constants per volume (7, E)."""

    size: Array
    rows: Array

    @property
    def stiffness(self) -> Array:
        """Springs of the Voigt parts times the rest measure [J]."""
        return np.asarray(self.size * self.rows[SPRING])

    def with_tangents(self, constants: Constants) -> Constants:
        """Return the constants of the same elements with the largest stiffness and viscosity these can show added."""
        gain = self.rows[STIFF] / (self.rows[VOIGT] + self.rows[STIFF])
        return replace(
            constants,
            stiffness=constants.stiffness + self.stiffness * gain**2,
            viscosity=constants.viscosity + self.size * self.rows[VOIGT] * gain,
        )

    def repeated(self, times: int, share: Array) -> SofteningConstants:
        """Return every element `times` times, as rows of strains, with `share` (E,) as its measure where it softens."""
        size = np.where(self.size > 0.0, share, 0.0)
        return SofteningConstants(np.repeat(size, times), np.repeat(self.rows, times, axis=1))


def stack_softening(
    channels: Sequence[SofteningChannel | None], which: Indices, size: Array
) -> SofteningConstants | None:
    """Give element e the constants of channel which_e and the measure size_e; None if none of them softens."""
    soft = np.array([channel is not None for channel in channels], dtype=bool)[which]
    table = np.array([_row(channel) for channel in channels]).T[:, which]
    return SofteningConstants(np.where(soft, size, 0.0), table) if soft.any() else None


def joined(parts: Sequence[tuple[SofteningConstants | None, int]]) -> SofteningConstants | None:
    """Return the constants of several sorts of elements, one after the other; the number goes with those of None."""
    if all(part is None for part, _ in parts):
        return None
    nothing = np.array(_row(None))[:, None]
    sizes = [np.zeros(count) if part is None else part.size for part, count in parts]
    rows = [np.repeat(nothing, count, axis=1) if part is None else part.rows for part, count in parts]
    return SofteningConstants(np.concatenate(sizes), np.concatenate(rows, axis=1))


def _row(channel: SofteningChannel | None) -> tuple[float, ...]:
    if channel is None:
        return 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0
    stresses = channel.from_stress, channel.to_stress, channel.exponent
    return channel.spring, channel.voigt_viscosity, channel.series_viscosity, channel.soft_viscosity, *stresses


class Softening(NamedTuple):
    """Constants of one strain measure for steps of `step` [s], in chunks; no chunks where nothing softens.

    `size` (chunks, CHUNK) is the rest measure with thickness [m3], zero in elements that do not soften; `rows` are
    (chunks, 7, CHUNK).
    """

    step: float
    size: Array
    rows: Array


def pack_softening(constants: SofteningConstants | None, h: float) -> Softening:
    """Pack the networks of elements for steps of `h` [s]; h = 0 leaves the Voigt parts as they are."""
    if constants is None:
        return Softening(h, np.zeros((0, CHUNK)), np.zeros((0, 7, CHUNK)))
    return Softening(h, in_chunks(constants.size, forces=True), in_chunks(constants.rows))


@compiled(spliced=True)
def step_of(softening: Softening, part: float) -> float:
    """Return the step that led here [s]: `part`, or a whole one where that is 0."""
    return part if part > 0.0 else softening.step


@formula
def drive(soft: Softening, chunk: int, h: float, d: Any, before: Any, room: Any, first: int, at: Any) -> None:
    """Write g = k (d + ds) + c1 r of strains in rows from `first` on; without a step ds counts for nothing."""
    spring, voigt, _, _, _, _, _ = rows_at(soft.rows[chunk], at)
    moving = 1.0 if h > 0.0 else 0.0
    for s in range(d.shape[0]):
        moved = moving * (load(room.strain, first + s, at) - load(before, s, at))
        store(room.driving, first + s, at, spring * (load(d, s, at) + moved) + voigt * load(room.flow, first + s, at))


@formula
def give_way(
    soft: Softening, chunk: int, h: float, d: Any, before: Any, room: Any, first: int, size: Any, at: Any
) -> Any:  # fmt: skip
    """Solve for the stress of g, whose size is given, and advance Voigt parts d (strains, CHUNK) by `h` [s].

    The spring's share of the stress is added to tensions; what is left of the Voigt dashpot is returned, both times the
    rest measure.
    """
    measure = load(soft.size, chunk, at)
    spring, voigt, stiff, least, start, end, exponent = rows_at(soft.rows[chunk], at)
    c = voigt + spring * h
    share, slip = 1.0 / (1.0 + c / stiff), 1.0 / (c + stiff)
    yields = size > start / share
    if any_of(yields):
        f, flow = softened(size, c, stiff, least, start, end, exponent, 0.0)
        share, slip = select(yields, f / max(size, TINY), share), select(yields, flow / max(size, TINY), slip)
    late, moving = voigt * slip / (share + voigt * slip), 1.0 if h > 0.0 else 0.0
    for s in range(d.shape[0]):
        own = load(d, s, at)
        moved = moving * (load(room.strain, first + s, at) - load(before, s, at))
        tension = load(room.tension, first + s, at) + measure * share * spring * (own + moved)
        store(room.tension, first + s, at, tension)
        slipped = h * slip * load(room.driving, first + s, at)
        slipped = slipped - late * (h * load(room.flow, first + s, at) - moved)
        store(d, s, at, select(measure > 0.0, own + moved - slipped, own))
    return measure * share * voigt
