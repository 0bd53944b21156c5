"""Measure alternatives side by side in one run: interleaved rounds, medians, ratios.

Absolute seconds belong to one machine on one day; ratios from one run can be compared.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter


@dataclass(frozen=True)
class Ratio:
    """A measured ratio and what it should be: `limit` is an upper bound."""

    name: str
    value: float
    limit: float
    detail: str = ""

    @property
    def line(self) -> str:
        """One line of the printed table."""
        verdict = "ok  " if self.value <= self.limit else "OVER"
        return f"{verdict} {self.name:48s} {self.value:8.4f}  (limit {self.limit:g})  {self.detail}"


def seconds(alternatives: Mapping[str, Callable[[], object]], *, rounds: int = 7) -> dict[str, float]:
    """Return the median seconds of each alternative over interleaved rounds, after one warm-up of each."""
    for work in alternatives.values():
        work()
    spent: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(rounds):
        for name, work in alternatives.items():
            begin = perf_counter()
            work()
            spent[name].append(perf_counter() - begin)
    return {name: statistics.median(times) for name, times in spent.items()}
