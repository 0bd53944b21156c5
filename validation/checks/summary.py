"""A validation in Markdown, short enough for a comment on a change."""

from __future__ import annotations

from rheotwin.validation.checks.outcome import Result, Row, Verification
from rheotwin.validation.checks.table import error_text, number, reference_text

VERDICTS = {0: "holds", 1: "**falls short**", 2: "**could not run**"}


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
    broken = [result for result in verification.results if result.status == "could not run"]
    if broken:
        lines += ["", "### Could not run", "", *(f"- `{r.reference}` {r.name}: {_cell(r.message)}" for r in broken)]
    if verification.coverage:
        lines += ["", "### Coverage", "", *(f"- {_cell(item.sentence)}" for item in verification.coverage)]
    return "\n".join(lines) + "\n"


def _row(result: Result, row: Row) -> str:
    cells = (f"`{result.reference}`", row.quantity, reference_text(row), number(row.computed), error_text(row))
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
