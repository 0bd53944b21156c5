"""The catalogue of reference numbers: specifications, their entries and quantities, read from TOML files.

A file names its specification by its own name: fem.toml holds the ids "fem.…". Tolerance, bound and unit of an entry
are those of its quantities unless they say otherwise; `names` instead of `name` gives one number several names. Every
fault is one sentence with file, entry and remedy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.texts import read_toml

Bound = Literal["absolute", "relative", "at most", "at least"]
"""How a tolerance is meant; "at most" and "at least" hold the value itself against the reference."""


@dataclass(frozen=True)
class Finding:
    """What is found instead of a published or measured number, how firmly, and why, where that differs from it."""

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


Kind = Literal["exact", "limit", "qualitative", "historical", "measured", "experiment"]
"""exact: a closed form or exact count; limit: approached by refinement or in time; qualitative: an order or a trend;
historical: what a machine or study of the past gave, shown and never judged; measured: found by a run of a model, or
in data; experiment: a model against what was measured on a body, its `finding` is the baseline (`checks.against`)."""
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


HERE = Path(__file__).parent
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
ORDER = ("fem", "truss", "shape", "slave", "identification", "calibration", "circuit", "parts", "measured", "speed")
"""Specifications in the order of tables; others follow by name."""
ABOVE = "as above"
"""What `tried` says where it is the last one said in the same entry."""


class _Finding(BaseModel):
    model_config = STRICT
    value: float
    tolerance: float
    tried: str = ""


class _Quantity(BaseModel):
    model_config = STRICT
    name: str | None = None
    names: list[str] | None = None
    value: float
    tolerance: float | None = None
    bound: Bound | None = None
    unit: str | None = None
    finding: _Finding | None = None


class _Entry(BaseModel):
    model_config = STRICT
    id: str = Field(pattern=r"^[a-z]+\.[A-Za-z0-9.-]+(/[a-z0-9.-]+)?$")
    title: str
    kind: Kind
    source: str = Field(min_length=1)
    quantities: list[_Quantity] = Field(min_length=1)
    tolerance: float | None = None
    tolerance_from: str = ""
    bound: Bound = "absolute"
    unit: str = ""
    short: str = ""
    open: str = ""


class _File(BaseModel):
    model_config = STRICT
    title: str
    reference: list[_Entry]


@cache
def catalogue() -> Catalogue:
    """Return the catalogue of this package."""
    return load_catalogue(HERE)


def load_catalogue(folder: Path) -> Catalogue:
    """Read every TOML file of a folder."""
    paths = sorted(folder.glob("*.toml"), key=lambda path: (_place(path.stem), path.stem))
    if not paths:
        raise RheotwinError(f"{folder}: holds no references; name a folder with one TOML file per specification")
    digest = sha256()
    specifications = []
    for path in paths:
        digest.update(path.stem.encode() + b"\0" + path.read_bytes())
        specifications.append(_specification(path))
    return Catalogue(tuple(specifications), digest.hexdigest())


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _specification(path: Path) -> Specification:
    try:
        data: dict[str, Any] = read_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RheotwinError(f"{path}: could not be read as TOML ({error}); mend the file") from error
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        raise RheotwinError(f"{path}: {_fault(data, error)}") from None
    found: dict[str, Entry] = {}
    for raw in file.reference:
        where = f"{path}: {raw.id}"
        if raw.id in found:
            raise RheotwinError(f"{where} is there twice; an id is used once")
        if raw.id.partition(".")[0] != path.stem:
            raise RheotwinError(f"{where} does not begin with {path.stem!r}, the name of its file; rename one of them")
        found[raw.id] = _entry(raw, where)
    return Specification(path.stem, file.title, tuple(found.values()))


def _fault(data: dict[str, Any], error: ValidationError) -> str:
    """Say the first fault in one sentence, with the id of its entry."""
    first = error.errors()[0]
    place = list(first["loc"])
    if len(place) > 1 and place[0] == "reference" and isinstance(place[1], int):
        place[:2] = [data["reference"][place[1]].get("id", f"entry {place[1] + 1}")]
    dotted = ".".join(str(part) for part in place)
    if place and place[-1] == "kind":
        return f"{dotted}: unknown kind {first['input']!r}; choose from {', '.join(KINDS)}"
    return f"{dotted}: {first['msg'].lower()}"


def _entry(raw: _Entry, where: str) -> Entry:
    quantities: list[Quantity] = []
    for item in raw.quantities:
        if (item.name is None) == (item.names is None):
            raise RheotwinError(f"{where}: a quantity needs either `name` or `names`")
        if item.finding and item.finding.tried == ABOVE:
            said = next((q.finding.meaning for q in reversed(quantities) if q.finding and q.finding.meaning), "")
            item = item.model_copy(update={"finding": item.finding.model_copy(update={"tried": said})})
        quantities += [_quantity(item, name, raw, where) for name in item.names or [str(item.name)]]
    names = [quantity.name for quantity in quantities]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RheotwinError(f"{where}: has two quantities {twice!r}; give each its own name")
    if any(quantity.tolerance for quantity in quantities) and not raw.tolerance_from:
        raise RheotwinError(f"{where}: `tolerance_from` is missing; say where its tolerances come from")
    return Entry(
        raw.id, raw.title, raw.kind, raw.source, tuple(quantities), raw.tolerance_from, raw.short, raw.open
    )  # fmt: skip


def _quantity(item: _Quantity, name: str, entry: _Entry, where: str) -> Quantity:
    bound = item.bound or entry.bound
    near = bound in ("absolute", "relative")
    tolerance = item.tolerance if item.tolerance is not None else entry.tolerance if near else 0.0
    if tolerance is None:
        if entry.kind not in ("historical", "experiment"):
            raise RheotwinError(f"{where}: {name!r} has no tolerance; give one, 0 for an exact count")
        tolerance = 0.0
    known, unit = item.finding, item.unit if item.unit is not None else entry.unit
    finding = None if known is None else Finding(known.value, known.tolerance, known.tried)
    quantity = Quantity(name, item.value, tolerance, bound, unit, finding)
    experiment = entry.kind == "experiment"
    if finding is None and experiment:
        raise RheotwinError(f"{where}: {name!r} has no baseline; give what the model gives as its `finding`")
    if finding and not finding.meaning and not (experiment and quantity.holds(finding.value)):
        raise RheotwinError(f"{where}: the finding of {name!r} does not say why it differs; say so in `tried`")
    return quantity
