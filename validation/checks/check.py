"""What a check is: a reference with its numbers, how near a computed value must come, and what computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rheotwin.errors import RheotwinError
from rheotwin.validation.references import catalogue
from rheotwin.validation.references.catalogue import Quantity

Values = Mapping[str, float]
"""What a check has computed, a value per quantity."""


class Unavailable(RheotwinError):
    """What a check needs is not on this machine (data, a program): it is listed as not yet possible."""


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
    """What a check has computed beside its values: the orders observed, lines of plots, uncertainties by refinement."""

    values: Values
    orders: Mapping[str, float] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()
    uncertainties: Mapping[str, float] = field(default_factory=dict)


Compute = Callable[[], Measurement | Values]


@dataclass(frozen=True)
class Check:
    """One entry of the verification suite.

    `reference` is the id of the catalogue ("fem.R7", "fem.R9/p1-triangle"), `name` is unique. A check without
    `compute` is listed with the reason in `waits_for`. `options` are options of the `fem` solver it runs with: where
    the solver does not have one of them, the check is listed as not yet possible.
    """

    reference: str
    name: str
    title: str
    quantities: tuple[Quantity, ...]
    compute: Compute | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False
    """Whether it is part of the quick subset (takes about a second or less)."""
    waits_for: str = ""
    covers: tuple[str, ...] = ()
    """Other ids of the specification that this check speaks for."""
    short: str = ""
    """An older id that selects it as well ("R7", "C12")."""
    kind: str = "exact"
    solvers: tuple[str, ...] = ("fem",)
    theme: str = ""
    """The module it is in; the registry fills it in."""

    @property
    def specification(self) -> str:
        """Name of the specification: "fem" of "fem.R7"."""
        return self.reference.partition(".")[0]

    @property
    def words(self) -> tuple[str, ...]:
        """What the check can be selected by: ids and its name."""
        whole = self.reference.partition("/")[0]
        return tuple(
            word for word in dict.fromkeys((self.reference, whole, self.short, *self.covers, self.name)) if word
        )

    @property
    def tags(self) -> tuple[str, ...]:
        """Theme, specification and kind."""
        return tuple(word for word in (self.theme, self.specification, self.kind) if word)


def check(
    identity: str,
    compute: Compute | None,
    *,
    name: str,
    only: Iterable[str] = (),
    title: str | None = None,
    covers: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
    quick: bool = False,
    solvers: tuple[str, ...] = ("fem",),
    waits_for: str = "",
) -> Check:
    """Return the check of a catalogue entry, or of the numbers of it that `only` names."""
    entry = catalogue()[identity]
    return Check(
        identity,
        name,
        entry.title if title is None else title,
        catalogue().quantities(identity, only),
        compute,
        options or {},
        quick,
        waits_for or ("" if compute else entry.open),
        covers,
        entry.short,
        entry.kind,
        solvers,
    )
