"""Many sets of laws of one scene at a time: what a solver may offer beside simulations, for searches.

A solver that can has a method `population(problem, options)`; it raises with the reason where it cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rheotwin.arrays import Array
from rheotwin.materials import Law

Laws = Mapping[str, Law]
"""Laws by their names in a scene."""


@dataclass(frozen=True)
class Courses:
    """What runs of several sets are at T times: `places` (T, 3, N, sets) [m], zero in unused dimensions.

    `forces` (T, 3, sets) [N] by name of tool or support are those of the bodies on it; `reasons` say what diverged.
    """

    places: Array
    forces: Mapping[str, Array]
    reasons: tuple[str | None, ...]


class Population(Protocol):
    """A problem made ready for `lanes` sets of laws at a time."""

    @property
    def lanes(self) -> int:
        """How many sets one call takes at most."""

    def run(self, sets: Sequence[Laws], times: Array) -> Courses:
        """Return the courses of up to `lanes` sets of laws at increasing times [s]; absent laws are the scene's."""
