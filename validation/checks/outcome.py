"""What came out of the checks, as values: per quantity a row, per check a status, for all of them an exit code.

How many reference numbers of each specification a check computes, and which are open. Results are kept as they come,
one file each, so that an interrupted validation can be gone on with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import TypeAdapter, ValidationError

from rheotwin import __version__
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_OK, RheotwinError
from rheotwin.record.atomic import write_text
from rheotwin.texts import read_json
from rheotwin.validation.checks.against import MEANING, Against, Baseline, against, since
from rheotwin.validation.checks.check import Check, Curve, Measurement
from rheotwin.validation.references import Catalogue, Entry, Specification, catalogue
from rheotwin.validation.references.catalogue import Quantity


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


NUMBERS = "validate.json"
"""File of the results in the folder of a validation."""
Status = Literal["holds", "finding", "unchanged", "falls short", "could not run", "not yet"]
"""Of a model against a measurement: `unchanged`, or `falls short` when something moved; its rows have the verdicts."""


@dataclass(frozen=True)
class Row:
    """One quantity held against its reference; computed value and error are None where there is none.

    That of a model against a measurement has a verdict (`against`) and its `baseline` in place of `holds`.
    """

    quantity: str
    unit: str
    bound: str
    reference: float
    tolerance: float
    computed: float | None = None
    error: float | None = None
    order: float | None = None
    holds: bool | None = None
    against: Against | None = None
    baseline: Baseline | None = None


@dataclass(frozen=True)
class Result:
    """One check: its rows, how it ended and how long it took [s]."""

    meaning: ClassVar[str] = MEANING
    reference: str
    name: str
    title: str
    status: Status
    rows: tuple[Row, ...]
    message: str = ""
    seconds: float = 0.0
    curves: tuple[Curve, ...] = ()
    covers: tuple[str, ...] = ()
    theme: str = ""
    kind: str = "exact"
    solvers: tuple[str, ...] = ()

    @property
    def specification(self) -> str:
        """Name of the specification its reference is from."""
        return self.reference.partition(".")[0]

    @property
    def measured(self) -> bool:
        """Whether it holds a model against a measurement."""
        return self.kind == "experiment"

    @property
    def said(self) -> str:
        """How it ended: "holds", "unchanged, 1 of 4 agree with the measurement"."""
        words = [row.against.word for row in self.rows if row.against is not None]
        agree = f", {words.count('agrees within U')} of {len(words)} agree with the measurement"
        return self.status + (agree if words else "")


@dataclass(frozen=True)
class Verification:
    """All results of one call, with the version of the program and what the catalogue's numbers are covered by."""

    version: str
    results: tuple[Result, ...]
    coverage: tuple[Coverage, ...] = ()

    def count(self, status: Status) -> int:
        """Return how many checks ended that way."""
        return sum(result.status == status for result in self.results)

    @property
    def exit_code(self) -> int:
        """0 if none has moved or falls short (known differences do not), 1 if one does, 2 if one could not run."""
        if self.count("could not run"):
            return EXIT_BAD_INPUT
        return EXIT_FALLS_SHORT if self.count("falls short") else EXIT_OK

    @property
    def sentence(self) -> str:
        """Say in one line how many checks hold, and how many measured quantities agree, which is something else."""
        short, broken, waiting = (self.count(status) for status in ("falls short", "could not run", "not yet"))
        total = len(self.results) - self.count("unchanged")
        parts = [f"{self.count('holds')} of {total} checks hold"] if total else []
        found = self.count("finding")
        parts += [f"{found} {'differs' if found == 1 else 'differ'} from print as known"] if found else []
        parts += [f"{short} {'falls' if short == 1 else 'fall'} short"] if short else []
        parts += [f"{broken} could not run"] if broken else []
        parts += [f"{waiting} {'is' if waiting == 1 else 'are'} not yet possible"] if waiting else []
        measured = self.measured_sentence
        return "; ".join([", ".join(parts)] * bool(parts) + [measured] * bool(measured))

    @property
    def measured_sentence(self) -> str:
        """Say "of 9 measured quantities 2 agree with the measurement, 7 differ (all unchanged since the baseline)"."""
        rows = [row for result in self.results for row in result.rows if row.against is not None]
        if not rows:
            return ""
        words = [row.against.word for row in rows if row.against is not None]
        agree, untold = words.count("agrees within U"), words.count("cannot be told")
        differ, moved = words.count("differs"), sum(row.baseline == "moved" for row in rows)
        return (
            f"of {len(rows)} measured {'quantity' if len(rows) == 1 else 'quantities'} "
            f"{agree} {'agrees' if agree == 1 else 'agree'} with the measurement, "
            f"{differ} {'differs' if differ == 1 else 'differ'}"
            + (f", {untold} cannot be told" if untold else "")
            + (f" ({moved} moved since the baseline)" if moved else " (all unchanged since the baseline)")
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Say for every reason which checks have no values: "not yet: R5 ..., R6 ...: needs ..."."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for result in self.results:
            if result.message:
                word = "differs from the measurement" if result.status == "unchanged" else result.status
                reasons.setdefault((word, result.message), []).append(f"{result.reference} {result.name}")
        return tuple(f"{status}: {', '.join(names)}: {message}" for (status, message), names in reasons.items())

    def to_data(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "rheotwin_version": self.version,
            "exit_code": self.exit_code,
            "summary": self.sentence,
            "checks": [asdict(result) for result in self.results],
            "coverage": [asdict(item) | {"summary": item.sentence} for item in self.coverage],
        }


def assessed(check: Check, measurement: Measurement, seconds: float) -> Result:
    """Hold a measurement against the quantities of its check."""
    for item in check.quantities:
        if item.name not in measurement.values:
            raise RheotwinError(
                f"{check.reference}: the check computes no {item.name!r}; name it as the catalogue does"
            )
    found = [(item, float(measurement.values[item.name])) for item in check.quantities]
    end = _against_data if check.kind == "experiment" else _against_numbers
    status, message, rows = end(found, measurement)
    return _result(check, status, rows, message=message, seconds=seconds, curves=measurement.curves)


Found = list[tuple[Quantity, float]]
"""Quantities with the values computed."""
End = tuple[Status, str, tuple[Row, ...]]


def _against_numbers(found: Found, measurement: Measurement) -> End:
    rows = tuple(
        _row(
            item,
            value,
            item.error(value) if item.bound in ("absolute", "relative") else None,
            measurement.orders.get(item.name),
            item.holds(value),
        )
        for item, value in found
    )
    missed = [(item, value) for item, value in found if not item.holds(value)]
    known = [item for item, value in missed if item.is_finding(value)]
    status: Status = "holds" if not missed else "finding" if len(missed) == len(known) else "falls short"
    return status, _reasons(known), rows


def _against_data(found: Found, measurement: Measurement) -> End:
    rows = tuple(
        _row(
            item,
            value,
            against=against(item, value, measurement.uncertainties.get(item.name)),
            baseline=since(item, value),
        )
        for item, value in found
    )
    moved = [
        f"{item.name}: {value:.6g}, at the baseline {item.finding.value:.6g} ± {item.finding.tolerance:.2g}"
        for (item, value), row in zip(found, rows, strict=True)
        if row.baseline == "moved" and item.finding
    ]
    if moved:
        return "falls short", "; ".join(moved), rows
    apart = (item for (item, _), row in zip(found, rows, strict=True) if row.against and row.against.word == "differs")
    return "unchanged", _reasons(apart), rows


def _reasons(items: Iterable[Quantity]) -> str:
    """Say why quantities differ, as far as it is known: "F, G: it slips; H: it bulges"."""
    reasons: dict[str, list[str]] = {}
    for item in items:
        if item.finding and item.finding.meaning:
            reasons.setdefault(item.finding.meaning, []).append(item.name)
    return "; ".join(f"{', '.join(names)}: {meaning}" for meaning, names in reasons.items())


def not_measured(check: Check, status: Status, message: str, seconds: float = 0.0) -> Result:
    """Return the result of a check that has no values."""
    return _result(check, status, tuple(map(_row, check.quantities)), message=message, seconds=seconds)


def _result(check: Check, status: Status, rows: tuple[Row, ...], **more: Any) -> Result:
    about = {"covers": check.covers, "theme": check.theme, "kind": check.kind, "solvers": check.solvers}
    return Result(check.reference, check.name, check.title, status, rows, **about | more)


def _row(item: Quantity, *found: Any, **more: Any) -> Row:
    return Row(item.name, item.unit, item.bound, item.reference, item.tolerance, *found, **more)


def load_validation(folder: Path) -> Verification:
    """Return the results in the validate.json of a folder; a missing or foreign file is one sentence."""
    path = folder / NUMBERS
    try:
        data = read_json(path.read_text(encoding="utf-8"))
        return _READ.validate_python(
            {"version": data["rheotwin_version"], "results": data["checks"], "coverage": data.get("coverage", ())}
        )
    except OSError as error:
        raise RheotwinError(
            f"{path}: could not be read ({error.strerror}); write it with `rheotwin validate --output {folder}`"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RheotwinError(
            f"{path}: not a validation of this version; write it again with `rheotwin validate --output {folder}`"
        ) from error


_READ: TypeAdapter[Verification] = TypeAdapter(Verification)


KEPT = "checks"
"""Folder of the results inside the folder of a validation."""
_RESULT: TypeAdapter[Result] = TypeAdapter(Result)


def key(baselines: str = "") -> dict[str, str]:
    """Return what a kept result must agree in: version of the program, content of the catalogue and of baselines."""
    return {"rheotwin_version": __version__, "catalogue": catalogue().digest, "baselines": baselines}


def keep(folder: Path, result: Result, agreed: dict[str, str]) -> None:
    """Write one result; the file is there whole or not at all."""
    place = folder / KEPT
    place.mkdir(parents=True, exist_ok=True)
    write_text(place / f"{result.name}.json", json.dumps(agreed | {"result": asdict(result)}, indent=1) + "\n")


def kept(folder: Path, agreed: dict[str, str]) -> dict[str, Result]:
    """Return the results that still stand, by name; what could not run, or not yet, is tried again."""
    found = {}
    for path in sorted((folder / KEPT).glob("*.json")):
        try:
            data = read_json(path.read_text(encoding="utf-8"))
            result = _RESULT.validate_python(data.pop("result"))
        except (OSError, ValueError, KeyError, AttributeError, ValidationError):
            continue  # half a file of a machine that went down: its check is run again
        if data == agreed and result.status not in ("could not run", "not yet"):
            found[result.name] = result
    return found


def clear(folder: Path) -> None:
    """Remove the results of an earlier validation."""
    for path in (folder / KEPT).glob("*.json"):
        path.unlink()
