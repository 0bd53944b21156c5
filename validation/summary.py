"""The comparison in a few lines of Markdown, for a comment beside a change."""

from __future__ import annotations

from collections.abc import Iterator

from rheotwin.validation.comparison import CaseComparison, Comparison, RunComparison
from rheotwin.validation.sentences import cross_check_sentence, percent, settling_sentence
from rheotwin.validation.study import error_of


def markdown_summary(comparison: Comparison) -> str:
    """Return a heading, what the laws promise, a table per case and how numbers settle."""
    lines = [f"## {_plain(comparison.title)}", ""]
    lines += [f"- {_plain(ordering.sentence)}" for ordering in comparison.orderings]
    for case in comparison.cases:
        lines += ["", f"### {_plain(case.case)}", "", *_table(case), ""]
        lines += [f"- {_plain(settling_sentence(item))}" for item in case.settlings]
        lines += [f"- {_plain(cross_check_sentence(check))}" for check in case.cross_checks]
        lines += [f"- {_plain(note)}" for run in case.runs for note in run.notes]
    return "\n".join(lines).rstrip() + "\n"


def _table(case: CaseComparison) -> Iterator[str]:
    yield "| run | error | displacement, worst | residual | wall time | cost / reference |"
    yield "|---|---|---|---|---|---|"
    for run in case.runs:
        yield "| " + " | ".join(_cells(run, run.label in case.front)) + " |"


def _cells(run: RunComparison, unbeaten: bool) -> tuple[str, ...]:
    name = f"{run.label} (reference)" if run.is_reference else f"**{run.label}**" if unbeaten else run.label
    wall, ratio = run.cost.wall_time, run.cost.ratio
    return (
        _plain(name),
        percent(error_of(run)),
        percent(None if run.displacement is None else run.displacement.largest),
        percent(run.residual.at_node),
        "-" if wall is None else f"{wall:.3g} s",
        "-" if ratio is None else f"{ratio:.3g}",
    )


def _plain(text: str) -> str:
    """Return text that Markdown leaves as it is: no cells, no tags, no line ends."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
