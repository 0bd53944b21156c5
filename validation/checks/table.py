"""The verification as a table on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rheotwin.validation.checks.check import Check
from rheotwin.validation.checks.outcome import Result, Row, Verification

PLAIN_WIDTH = 140
"""Columns where the output is no terminal."""
COLOURS = {"holds": "green", "finding": "yellow", "falls short": "red", "could not run": "red", "not yet": "yellow"}


def print_table(verification: Verification) -> None:
    """Print a row per quantity under the title of its check, then the sentence."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("quantity", overflow="fold")
    for name in ("reference", "computed", "error", "order"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ok", no_wrap=True)
    for result in verification.results:
        for cells in _lines(result):
            table.add_row(*cells)
    console = _console()
    console.print(table)
    for line in verification.remarks:
        console.print(line, soft_wrap=True)
    for item in verification.coverage:
        console.print(item.sentence, soft_wrap=True)
    console.print(verification.sentence)


def print_list(checks: Iterable[Check], *, as_json: bool) -> None:
    """Print ids, names and titles of checks."""
    chosen = list(checks)
    if as_json:
        print(json.dumps([_about(check) for check in chosen], indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "also", "name", "title", "solvers", "kind", "quick"):
        table.add_column(name, no_wrap=name != "title")
    for check in chosen:
        note = check.title + (f" (not yet: {check.waits_for})" if check.waits_for else "")
        also = " ".join(dict.fromkeys(word for word in (check.short, *check.covers) if word))
        quick = "yes" if check.quick else ""
        table.add_row(check.reference, also, check.name, note, " ".join(check.solvers), check.kind, quick)
    _console().print(table)


def number(value: float | None, digits: int = 8) -> str:
    """Return a number with up to `digits` significant ones; a dash when there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


def reference_text(row: Row) -> str:
    """Return the reference of a row with its bound: "743.77561 N", "<= 1e-08"."""
    sign = {"at most": "<= ", "at least": ">= "}.get(row.bound, "")
    return sign + number(row.reference) + (f" {row.unit}" if row.unit else "")


def error_text(row: Row) -> str:
    """Return the error of a row with two digits; relative ones are marked."""
    if row.error is None:
        return "-"
    return number(row.error, 2) + (" rel" if row.bound == "relative" else "")


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PLAIN_WIDTH)


def _about(check: Check) -> dict[str, Any]:
    return {
        "reference": check.reference,
        "short": check.short,
        "covers": list(check.covers),
        "solvers": list(check.solvers),
        "kind": check.kind,
        "tags": list(check.tags),
        "name": check.name,
        "title": check.title,
        "quick": check.quick,
        "waits_for": check.waits_for,
        "quantities": [quantity.name for quantity in check.quantities],
    }


def _lines(result: Result) -> Iterable[tuple[str | Text, ...]]:
    """Yield the title of a check and its rows."""
    colour = COLOURS[result.status]
    yield (Text(result.reference, "bold"), Text(result.title, "bold"), "", "", "", "", Text(result.status, colour))
    for row in result.rows:
        mark = {True: Text("ok", "green"), False: Text("NO", "bold red"), None: Text("-", "dim")}[row.holds]
        order = "-" if row.order is None else f"{row.order:.2f}"
        yield ("", f"  {row.quantity}", reference_text(row), number(row.computed), error_text(row), order, mark)
