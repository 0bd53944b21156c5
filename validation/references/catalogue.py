"""What the catalogue of reference numbers holds: specifications, their entries, and lookup by id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.validation.references.quantity import Quantity

Kind = Literal["exact", "limit", "qualitative", "historical", "measured"]
"""exact: a closed form or exact count; limit: approached by refinement or in time; qualitative: an order or a trend;
historical: what a machine or study of the past gave, shown and never judged; measured: found by a run of a model."""
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Entry:
    """One reference: the numbers of one id, where they come from, and why no check computes them if none does.

    An id is "SPEC.LABEL" or "SPEC.LABEL/PART", where several checks share a label: "fem.R9/p1-triangle".
    """

    id: str
    title: str
    kind: Kind
    source: str
    quantities: tuple[Quantity, ...]
    tolerance_from: str = ""
    """Where the tolerances come from: printed digits, the order of a method, the source itself."""
    short: str = ""
    """An id from before there were several specifications ("R7", "C12", "F1"); it still selects."""
    open: str = ""
    """Why no check computes these numbers; empty if one does."""

    @property
    def label(self) -> str:
        """The id without specification and part: "R9" of "fem.R9/p1-triangle"."""
        return self.id.partition(".")[2].partition("/")[0]

    @property
    def judged(self) -> bool:
        """Whether its numbers can hold or fall short at all."""
        return self.kind != "historical"


@dataclass(frozen=True)
class Specification:
    """The references of one specification, in its order."""

    name: str
    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Catalogue:
    """All specifications; `digest` identifies the content of their files."""

    specifications: tuple[Specification, ...]
    digest: str = ""

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """All entries by id, in order."""
        return {entry.id: entry for spec in self.specifications for entry in spec.entries}

    @property
    def digest_short(self) -> str:
        """The first characters of the digest, for people."""
        return self.digest[:12]

    def __getitem__(self, identity: str) -> Entry:
        """Return the entry of an id."""
        try:
            return self.entries[identity]
        except KeyError:
            raise RheotwinError(
                f"references: there is no entry {identity!r}{nearest_name(identity, self.entries)}; "
                "add it to the file of its specification in validation/references"
            ) from None

    def quantities(self, identity: str, only: Iterable[str] = ()) -> tuple[Quantity, ...]:
        """Return the numbers of an id, all or those named."""
        entry, wanted = self[identity], tuple(only)
        known = {quantity.name: quantity for quantity in entry.quantities}
        for name in wanted:
            if name not in known:
                raise RheotwinError(
                    f"references: {identity} has no number {name!r}{nearest_name(name, known)}; it has "
                    + ", ".join(known)
                )
        return tuple(known[name] for name in wanted) if wanted else entry.quantities
