"""How many reference numbers of each specification a check computes, and which are open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rheotwin.validation.checks.check import Check
from rheotwin.validation.references import Catalogue, Entry, Specification


@dataclass(frozen=True)
class Coverage:
    """Numbers of one specification: computed by checks, all that can be judged, and historical ones beside them.

    `open` holds (reason, ids) of what no check computes.
    """

    specification: str
    title: str
    covered: int
    total: int
    historical: int
    open: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def share(self) -> float:
        """Covered numbers over all that can be judged [1]; 1 where there are none."""
        return self.covered / self.total if self.total else 1.0

    @property
    def sentence(self) -> str:
        """Say it in one line: "fem covers 212 of 251 reference numbers (84 %), open: R5, R6 (needs ...)"."""
        if not self.total:
            return f"{self.specification}: {self.historical} historical numbers, none to be judged"
        said = (
            f"{self.specification}: covers {self.covered} of {self.total} reference numbers ({100 * self.share:.0f} %)"
        )
        groups = [f"{', '.join(ids)} ({reason})" for reason, ids in self.open]
        return said + (f", open: {'; '.join(groups)}" if groups else "")


def coverage(catalogue: Catalogue, checks: Iterable[Check]) -> tuple[Coverage, ...]:
    """Return the coverage of every specification by checks that compute something."""
    computed: dict[str, set[str]] = {}
    for check in checks:
        if check.compute is not None:
            computed.setdefault(check.reference, set()).update(quantity.name for quantity in check.quantities)
    return tuple(_of(specification, computed) for specification in catalogue.specifications)


def _of(specification: Specification, computed: dict[str, set[str]]) -> Coverage:
    judged = [entry for entry in specification.entries if entry.judged]
    missing = {entry.id: _missing(entry, computed.get(entry.id, set())) for entry in judged}
    reasons: dict[str, list[str]] = {}
    for entry in judged:
        if missing[entry.id]:
            label = entry.id.partition(".")[2]
            reasons.setdefault(entry.open or "no check yet", []).append(label)
    total = sum(len(entry.quantities) for entry in judged)
    return Coverage(
        specification.name,
        specification.title,
        total - sum(missing.values()),
        total,
        sum(len(entry.quantities) for entry in specification.entries if not entry.judged),
        tuple((reason, tuple(ids)) for reason, ids in reasons.items()),
    )


def _missing(entry: Entry, names: set[str]) -> int:
    return sum(quantity.name not in names for quantity in entry.quantities)
