"""How accuracy depends on the length of words and the place of the point, and the shortest that are good enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.model import OPTIONS
from rheotwin.particles.fixed_point.parameters import Units
from rheotwin.particles.fixed_point.prepare import Prepared, with_format
from rheotwin.particles.fixed_point.ranges import Ranges
from rheotwin.particles.fixed_point.stepping import Stepping

WORDS = (12, 14, 16, 18, 20, 24)
LEAST_FRACTION, LEAST_WHOLE = 4, 3
"""Fewest bits after and before the point (with the sign) that are worth a try."""


@dataclass(frozen=True)
class FormatError:
    """What one format does to a scene: mean distance from the float form at the end, over the largest side.

    `error` is None where the constants or the shape do not fit at all; `fault` says why.
    """

    word: int
    fraction: int
    error: float | None
    of_travel: float | None
    """The same over the mean displacement: 1 is no better than a circuit that stands still."""
    overflows: int
    units: Units | None
    fault: str = ""

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON values."""
        units = self.units
        return {
            "word": self.word,
            "fraction": self.fraction,
            "error": self.error,
            "error_of_travel": self.of_travel,
            "overflows": self.overflows,
            "units": None if units is None else [units.time, units.length, units.mass],
            "fault": self.fault,
        }


def _known_ranges(prepared: Prepared) -> Ranges:
    if prepared.ranges is None:
        raise RheotwinError(f"{OPTIONS}.analyse: a sweep needs the run in double precision; leave it out")
    return prepared.ranges


def format_error(prepared: Prepared, word: int, fraction: int) -> FormatError:
    """Run a scene with words of `word` bits, `fraction` after the point; units that were left open fit anew."""
    ranges = _known_ranges(prepared)
    try:
        tried = with_format(prepared, word=word, fraction=fraction)
    except RheotwinError as error:
        return FormatError(word, fraction, None, None, 0, None, str(error))
    circuit = Stepping(tried)
    circuit.take(ranges.steps)
    units, form, model = tried.constants.units, tried.constants.form, tried.model
    away = circuit.body.position * (units.length / form.one) - ranges.end.position
    distance = float(np.linalg.norm(away, axis=1).mean())
    travel = float(np.linalg.norm(ranges.end.position - model.points, axis=1).mean())
    return FormatError(
        word,
        fraction,
        distance / float(np.ptp(model.points, axis=0).max()),
        distance / travel if travel > 0.0 else None,
        int(circuit.overflows.sum()),
        units,
    )


def sweep(
    prepared: Prepared, words: Iterable[int] = WORDS, fractions: Iterable[int] | None = None
) -> list[FormatError]:
    """Run a scene with every format: all places of the point that make sense, unless `fractions` are given."""
    given = None if fractions is None else list(fractions)
    return [
        format_error(prepared, word, fraction)
        for word in words
        for fraction in (given if given is not None else range(LEAST_FRACTION, word - LEAST_WHOLE + 1))
        if fraction <= word - 2
    ]


def usable(rows: Iterable[FormatError]) -> list[FormatError]:
    """Return those that ran without overflow, the most accurate first."""
    kept = [row for row in rows if row.error is not None and row.overflows == 0]
    return sorted(kept, key=lambda row: row.error or 0.0)


def best_of_word(rows: Iterable[FormatError], word: int) -> FormatError | None:
    """Return the best place of the point in words of a length, None where none runs without overflow."""
    kept = usable(row for row in rows if row.word == word)
    return kept[0] if kept else None


def shortest(rows: Iterable[FormatError], tolerance: float) -> FormatError | None:
    """Return the format of the shortest word with an error within `tolerance` (of the largest side), or None."""
    good = [row for row in usable(rows) if row.error is not None and row.error <= tolerance]
    return min(good, key=lambda row: (row.word, row.error), default=None)
