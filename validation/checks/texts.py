"""A validation as text: a table on the terminal, JUnit XML for integration services, Markdown beside a change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rheotwin.validation.checks.against import MEANING
from rheotwin.validation.checks.check import Check
from rheotwin.validation.checks.outcome import Result, Row, Verification

PLAIN_WIDTH = 180
"""Columns where the output is no terminal."""
COLOURS = {
    "holds": "green",
    "unchanged": "green",
    "finding": "yellow",
    "falls short": "red",
    "could not run": "red",
    "not yet": "yellow",
}


def print_table(verification: Verification) -> None:
    """Print a row per quantity under the title of its check, models against measurements apart, then the sentence."""
    out = console()
    checks = [result for result in verification.results if not result.measured]
    measured = [result for result in verification.results if result.measured]
    if checks or not measured:
        out.print(_table(checks))
    if measured:
        out.print(f"\nModels against measurements. {MEANING}\n", soft_wrap=True)
    for place, result in enumerate(measured):
        out.print(Text(f"{result.reference}: {result.title}, {result.said}", "bold"), soft_wrap=True)
        out.print(_measured_table(result, heading=place == 0))
    for line in verification.remarks:
        out.print(line, soft_wrap=True)
    for item in verification.coverage:
        out.print(item.sentence, soft_wrap=True)
    out.print(verification.sentence)


def print_list(checks: Iterable[Check], *, as_json: bool) -> None:
    """Print ids, names and titles of checks."""
    chosen = list(checks)
    if as_json:
        print(json.dumps([_about(check) for check in chosen], indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "also", "name", "title", "solvers", "kind", "quick"):
        table.add_column(name, no_wrap=name not in ("title", "also"))
    for check in chosen:
        note = check.title + (f" (not yet: {check.waits_for})" if check.waits_for else "")
        also = " ".join(dict.fromkeys(word for word in (check.short, *check.covers) if word))
        quick = "yes" if check.quick else ""
        table.add_row(check.reference, also, check.name, note, " ".join(check.solvers), check.kind, quick)
    console().print(table)


def number(value: float | None, digits: int = 8) -> str:
    """Return a number with up to `digits` significant ones; a dash when there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


def reference_text(row: Row) -> str:
    """Return the reference of a row with its bound: "743.77561 N", "<= 1e-08"; of a distance to data their scatter."""
    sign = {"at most": "<= " if row.against is None else "scatter ", "at least": ">= "}.get(row.bound, "")
    return sign + number(row.reference) + (f" {row.unit}" if row.unit else "")


def error_text(row: Row) -> str:
    """Return the error of a row with two digits; relative ones are marked."""
    if row.error is None:
        return "-"
    return number(row.error, 2) + (" rel" if row.bound == "relative" else "")


def verdict_text(row: Row) -> str:
    """Return both statements of a measured quantity: "differs (-3.89 ± 0.052 %), unchanged since the baseline"."""
    assert row.against is not None
    return f"{row.against.word} ({row.against.said}; {row.against.parts}), {row.baseline} since the baseline"


def console() -> Console:
    """Return the console tables are printed on, wide where the output is no terminal."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=PLAIN_WIDTH)


def _about(check: Check) -> dict[str, Any]:
    names = ("reference", "short", "covers", "solvers", "kind", "tags", "name", "title", "quick", "waits_for")
    about = {name: getattr(check, name) for name in names}
    return about | {"quantities": [quantity.name for quantity in check.quantities]}


def _table(results: Iterable[Result]) -> Table:
    """Return a row per quantity under the title of its check."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("quantity", overflow="fold")
    for name in ("reference", "computed", "error", "order"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ok", no_wrap=True)
    for result in results:
        for cells in _lines(result):
            table.add_row(*cells)
    return table


def _lines(result: Result) -> Iterable[tuple[str | Text, ...]]:
    """Yield the title of a check and its rows."""
    colour = COLOURS[result.status]
    yield (Text(result.reference, "bold"), Text(result.title, "bold"), "", "", "", "", Text(result.status, colour))
    for row in result.rows:
        mark = {True: Text("ok", "green"), False: Text("NO", "bold red"), None: Text("-", "dim")}[row.holds]
        order = "-" if row.order is None else f"{row.order:.2f}"
        yield ("", f"  {row.quantity}", reference_text(row), number(row.computed), error_text(row), order, mark)


def _measured_table(result: Result, heading: bool) -> Table:
    """Return a row per measured quantity: both statements, and what the first is made of."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=heading)
    for name, width in MEASURED_HEADS.items():
        right = name in ("measured", "computed", "E ± U")
        table.add_column(name, justify="right" if right else "left", min_width=width, overflow="fold")
    for row in result.rows:
        table.add_row(f"  {row.quantity}", *_measured_cells(row))
    return table


MEASURED_HEADS = {
    "quantity": 31, "measured": 18, "computed": 9, "E ± U": 23, "verdict": 15, "baseline": 9, "U is made of": 0
}  # fmt: skip
"""Columns of models against measurements, with widths that let the tables of all checks line up."""


def _measured_cells(row: Row) -> tuple[str | Text, ...]:
    if row.against is None:
        return reference_text(row), "-", "-", "-", "-", "-"
    word = Text(row.against.word, {"agrees within U": "green", "differs": "yellow"}.get(row.against.word, ""))
    baseline = Text(str(row.baseline), "bold red" if row.baseline == "moved" else "")
    return reference_text(row), number(row.computed, 5), row.against.said, word, baseline, row.against.parts


OUTCOMES = {"falls short": "failure", "could not run": "error", "not yet": "skipped"}


def junit(verification: Verification) -> str:
    """Return the XML."""
    root = ElementTree.Element("testsuites", name="rheotwin validate")
    for specification in dict.fromkeys(result.specification for result in verification.results):
        results = [result for result in verification.results if result.specification == specification]
        suite = ElementTree.SubElement(root, "testsuite", _counts(specification, results))
        for result in results:
            _case(suite, result)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(specification: str, results: list[Result]) -> dict[str, str]:
    kinds = [OUTCOMES.get(result.status, "") for result in results]
    return {
        "name": specification,
        "tests": str(len(results)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": f"{sum(result.seconds for result in results):.3f}",
    }


def _case(suite: ElementTree.Element, result: Result) -> None:
    about = {"classname": result.reference, "name": result.name, "time": f"{result.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", about)
    missed = [row for row in result.rows if row.holds is False]
    said = "; ".join(f"{row.quantity}: {number(row.computed)} instead of {reference_text(row)}" for row in missed)
    if result.status in OUTCOMES:
        ElementTree.SubElement(case, OUTCOMES[result.status], message=_plain(result.message or said))
    elif result.status == "finding":
        ElementTree.SubElement(case, "system-out").text = _plain(f"{said}. {result.message}")
    if result.measured:
        verdicts = "; ".join(f"{row.quantity}: {verdict_text(row)}" for row in result.rows if row.against)
        ElementTree.SubElement(case, "system-out").text = _plain(f"{verdicts}. {result.message}".strip(". "))


def _plain(text: str) -> str:
    """Return text without the control characters that XML cannot hold."""
    return "".join(letter if letter >= " " else " " for letter in text)


VERDICTS = {0: "passed", 1: "**falls short**", 2: "**could not run**"}


def summary(verification: Verification) -> str:
    """Return the text: verdict, what is not as it should be, findings, coverage."""
    lines = [
        "## Rheotwin validation " + VERDICTS[verification.exit_code],
        "",
        f"{verification.sentence} (Rheotwin {verification.version}).",
    ]
    missed = [
        (result, row)
        for result in verification.results
        for row in result.rows
        if row.holds is False and result.status in ("falls short", "finding")
    ]
    for status, heading in (("falls short", "Falls short"), ("finding", "Differs from print, as known")):
        rows = [(result, row) for result, row in missed if result.status == status]
        if rows:
            lines += [
                "",
                f"### {heading}",
                "",
                "| id | quantity | reference | computed | error |",
                "|---|---|---|---|---|",
            ]
            lines += [_row(result, row) for result, row in rows]
    moved = [result for result in verification.results if result.measured and result.status == "falls short"]
    if moved:
        said = [f"- `{result.reference}` {_cell(result.message)}" for result in moved]
        lines += ["", "### Moved since the baseline", "", *said]
    lines += _measured_lines([result for result in verification.results if result.measured])
    broken = [result for result in verification.results if result.status == "could not run"]
    if broken:
        lines += ["", "### Could not run", "", *(f"- `{r.reference}` {r.name}: {_cell(r.message)}" for r in broken)]
    if verification.coverage:
        lines += ["", "### Coverage", "", *(f"- {_cell(item.sentence)}" for item in verification.coverage)]
    return "\n".join(lines) + "\n"


def _measured_lines(results: Iterable[Result]) -> list[str]:
    rows = [(result, row) for result in results for row in result.rows if row.against is not None]
    if not rows:
        return []
    head = ("id", *MEASURED_HEADS)
    lines = ["", "### Models against measurements", "", MEANING, "", "<details><summary>all quantities</summary>", ""]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for result, row in rows:
        cells = (f"`{result.reference}`", row.quantity, *map(str, _measured_cells(row)))
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return [*lines, "", "</details>"]


def _row(result: Result, row: Row) -> str:
    cells = (f"`{result.reference}`", row.quantity, reference_text(row), number(row.computed), error_text(row))
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
