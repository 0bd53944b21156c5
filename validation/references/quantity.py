"""One number to be found: value, how near a computed one must come, and what is known when it is not reproduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["absolute", "relative", "at most", "at least"]
"""How a tolerance is meant; "at most" and "at least" hold the value itself against the reference."""


@dataclass(frozen=True)
class Finding:
    """A published number that is not reproduced: what is found instead, how firmly, and what it may mean."""

    value: float
    tolerance: float
    meaning: str


@dataclass(frozen=True)
class Quantity:
    """One number to be found: its reference value and the tolerance it must meet, both in `unit`.

    With a `finding` the reference is known to be missed: the row stays visible as such, and falls short only when
    the value moves away from what was found.
    """

    name: str
    reference: float
    tolerance: float = 0.0
    bound: Bound = "absolute"
    unit: str = ""
    finding: Finding | None = None

    def is_finding(self, value: float) -> bool:
        """Tell whether a value misses the reference in the known way."""
        known = self.finding
        return known is not None and not self.holds(value) and abs(value - known.value) <= known.tolerance

    def error(self, value: float) -> float:
        """Return the error of a value: relative to the reference or absolute, as the bound is meant."""
        difference = abs(value - self.reference)
        return difference / abs(self.reference) if self.bound == "relative" else difference

    def holds(self, value: float) -> bool:
        """Tell whether a value meets the bound; what is not a number never does."""
        if self.bound == "at most":
            return value <= self.reference
        if self.bound == "at least":
            return value >= self.reference
        return self.error(value) <= self.tolerance
