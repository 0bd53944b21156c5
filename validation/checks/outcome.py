"""What came out of the checks, as values: per quantity a row, per check a status, for all of them an exit code."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_OK, RheotwinError
from rheotwin.validation.checks.check import Check, Curve, Measurement
from rheotwin.validation.checks.coverage import Coverage

NUMBERS = "validate.json"
"""File of the results in the folder of a validation."""
Status = Literal["holds", "finding", "falls short", "could not run", "not yet"]


@dataclass(frozen=True)
class Row:
    """One quantity held against its reference; computed value and error are None where there is none."""

    quantity: str
    unit: str
    bound: str
    reference: float
    tolerance: float
    computed: float | None = None
    error: float | None = None
    order: float | None = None
    holds: bool | None = None


@dataclass(frozen=True)
class Result:
    """One check: its rows, how it ended and how long it took [s]."""

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
        """0 if all hold (findings and what is not yet possible aside), 1 if one falls short, 2 if one could not run."""
        if self.count("could not run"):
            return EXIT_BAD_INPUT
        return EXIT_FALLS_SHORT if self.count("falls short") else EXIT_OK

    @property
    def sentence(self) -> str:
        """Say in one line how many checks hold."""
        short, broken, waiting = (self.count(status) for status in ("falls short", "could not run", "not yet"))
        parts = [f"{self.count('holds')} of {len(self.results)} checks hold"]
        found = self.count("finding")
        parts += [f"{found} {'differs' if found == 1 else 'differ'} from print as known"] if found else []
        parts += [f"{short} {'falls' if short == 1 else 'fall'} short"] if short else []
        parts += [f"{broken} could not run"] if broken else []
        parts += [f"{waiting} {'is' if waiting == 1 else 'are'} not yet possible"] if waiting else []
        return ", ".join(parts)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Say for every reason which checks have no values: "not yet: R5 ..., R6 ...: needs ..."."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for result in self.results:
            if result.message:
                reasons.setdefault((result.status, result.message), []).append(f"{result.reference} {result.name}")
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
    rows = []
    for quantity in check.quantities:
        if quantity.name not in measurement.values:
            raise RheotwinError(
                f"{check.reference}: the check computes no {quantity.name!r}; name it as the catalogue does"
            )
        value = float(measurement.values[quantity.name])
        order = measurement.orders.get(quantity.name)
        shown = quantity.error(value) if quantity.bound in ("absolute", "relative") else None
        rows.append(_row(check, quantity.name, computed=value, error=shown, order=order, holds=quantity.holds(value)))
    missed = [item for item in check.quantities if not item.holds(float(measurement.values[item.name]))]
    known = [item for item in missed if item.is_finding(float(measurement.values[item.name]))]
    status: Status = "holds" if not missed else "finding" if missed == known else "falls short"
    message = "; ".join(f"{item.name}: {item.finding.meaning}" for item in known if item.finding is not None)
    return _result(check, status, tuple(rows), message=message, seconds=seconds, curves=measurement.curves)


def not_measured(check: Check, status: Status, message: str, seconds: float = 0.0) -> Result:
    """Return the result of a check that has no values."""
    rows = tuple(_row(check, quantity.name) for quantity in check.quantities)
    return _result(check, status, rows, message=message, seconds=seconds)


def _result(check: Check, status: Status, rows: tuple[Row, ...], **more: Any) -> Result:
    return Result(
        check.reference,
        check.name,
        check.title,
        status,
        rows,
        covers=check.covers,
        theme=check.theme,
        kind=check.kind,
        solvers=check.solvers,
        **more,
    )


def _row(check: Check, name: str, **found: Any) -> Row:
    quantity = next(item for item in check.quantities if item.name == name)
    return Row(name, quantity.unit, quantity.bound, quantity.reference, quantity.tolerance, **found)


def load_validation(folder: Path) -> Verification:
    """Return the results in the validate.json of a folder; a missing or foreign file is one sentence."""
    path = folder / NUMBERS
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
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
