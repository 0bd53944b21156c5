"""What a check is: a reference with its numbers, how near a computed value must come, and what computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
    """One number to be found: its reference value and the tolerance it must meet.

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


@dataclass(frozen=True)
class Curve:
    """Errors over mesh widths or steps, one line of a convergence plot; `order` is the slope promised, if any."""

    plot: str
    label: str
    sizes: tuple[float, ...]
    errors: tuple[float, ...]
    order: float | None


@dataclass(frozen=True)
class Measurement:
    """What a check has computed: a value per quantity, the orders observed beside them, lines of plots."""

    values: Mapping[str, float]
    orders: Mapping[str, float] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()


@dataclass(frozen=True)
class Check:
    """One entry of the verification suite.

    `reference` is the id of the specification (R7, A1, T9), `name` is unique. A check without `compute` is listed
    with the reason in `waits_for`. `options` are options of the `fem` solver it runs with: where the solver does
    not have one of them, the check is listed as not yet possible.
    """

    reference: str
    name: str
    title: str
    quantities: tuple[Quantity, ...]
    compute: Callable[[], Measurement] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    """Whether it is part of the quick subset (takes about a second or less)."""
    waits_for: str = ""
    covers: tuple[str, ...] = ()
    """Other ids of the specification that this check speaks for."""

    @property
    def words(self) -> tuple[str, ...]:
        """What the check can be selected by."""
        return (self.reference, *self.covers, self.name)
