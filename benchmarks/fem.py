"""The finite-element backend beside its peers: implicit scene F1, explicit scene F2."""

from __future__ import annotations

from benchmarks import fem_f1, fem_f2
from benchmarks.side_by_side import Ratio


def measure() -> list[Ratio]:
    """Measure both scenes."""
    return [*fem_f1.measure(), *fem_f2.measure()]
