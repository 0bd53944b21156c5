"""A comparison in words: one sentence per run, one per solver over the cases, a few lines of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rheotwin.validation.comparison import (
    CaseComparison,
    CaseResidual,
    Comparison,
    CrossCheck,
    ErrorHistory,
    ForceError,
    RunComparison,
    Settling,
    Verdict,
)
from rheotwin.validation.study import error_of


def percent(value: float | None) -> str:
    """Return a ratio as percent with two significant digits: 0.1234 -> "12 %"."""
    if value is None:
        return "-"
    number = 100.0 * value
    if 0.0 < abs(number) < 0.05:
        return "< 0.1 %"
    digits = 0 if abs(number) >= 9.95 or number == 0.0 else 1
    return f"{number:.{digits}f} %"


def cost_phrase(ratio: float) -> str:
    """Return a cost ratio in words: 1/7 of, about, or 3.2 times the reference's cost."""
    if 2.0 / 3.0 <= ratio <= 1.5:
        return "at about the same cost"
    if ratio < 1.0:
        inverse = 1.0 / ratio
        return f"at 1/{inverse:.0f} of its cost" if inverse >= 2.0 else f"at {ratio:.2f} of its cost"
    return f"at {ratio:.{1 if ratio < 10 else 0}f} times its cost"


def run_sentence(
    label: str,
    reference: str,
    *,
    displacement: ErrorHistory | None,
    forces: Sequence[ForceError],
    ratio: float | None,
    at_rest: bool = False,
) -> str:
    """Return "truss: 12 % displacement error, 18 % force error against fem, at 1/7 of its cost.".

    `at_rest` says that in neither run anything moved: then there is nothing an error could be relative to.
    """
    if label == reference:
        return f"{label}: the reference of this case."
    if at_rest:
        return f"{label}: both stay at rest, it and {reference}."
    parts = [] if displacement is None else [f"{percent(displacement.largest)} displacement error at worst"]
    parts += [
        f"{percent(force.error)} force error" + (f" on {force.name}" if len(forces) > 1 else "")
        for force in forces
        if force.error is not None
    ]
    compared = ", ".join(parts) if parts else "no quantity in common"
    cost = "" if ratio is None else ", " + cost_phrase(ratio)
    return f"{label}: {compared} against {reference}{cost}."


def ordering_sentence(label: str, residuals: Sequence[CaseResidual], *, holds: bool | None) -> str:
    """Return what part of its largest displacement each case keeps, smallest first, as promised or not.

    Without residuals nothing moved in any case.
    """
    if not residuals:
        return f"{label}: the body stays at rest, so nothing can remain of its displacement."
    kept = [f"{item.case} keeps {percent(item.at_node)}" for item in residuals]
    verdict = {True: ": the order the laws promise", False: ": not the order the laws promise", None: ""}[holds]
    return f"{label}: {', '.join(kept)} of the largest displacement{verdict}."


def settling_sentence(item: Settling, name: str) -> str:
    """Return "fem: peak force 470 N on the finest of 3 meshes, observed order 1.9, limit 468 ± 2.5 N."."""
    found, unit = item.found, "" if item.unit == "1" else f" {item.unit}"
    start = f"{name}: {item.quantity} {found.values[-1]:.4g}{unit} on the finest of {len(found.values)} meshes"
    bound = "" if found.uncertainty is None else f" ± {_short(found.uncertainty)}{unit}"
    if found.limit is None or found.order is None:
        return f"{start}{bound}, {found.verdict}."
    order = f"{found.order:.2g}" + ("" if found.order_error is None else f" ± {_short(found.order_error)} (95 %)")
    return f"{start}, observed order {order}, limit {found.limit:.4g}{bound}."


def cross_check_sentence(check: CrossCheck) -> str:
    """Return "shear-volume and fem, bar: 0.2 % apart at no depth, 0.8 times the strain beyond: as promised"."""
    start = f"{check.particles} and {check.finite}, force on {check.tool}:"
    if check.holds is None:
        return f"{start} too unsteady to tell, {percent(check.scatter)} scatter about a smooth difference."
    verdict = {
        True: "nothing but the order of the strain, as promised",
        False: "more than the order of the strain, not as promised",
    }[check.holds]
    return (
        f"{start} {percent(abs(check.at_zero))} apart at no depth, known to {percent(check.scatter)}, and then "
        f"{check.slope:+.2f} times the strain: {verdict}."
    )


def _short(value: float) -> str:
    """Return two significant digits, without a power of ten where there is room."""
    return f"{float(f'{value:.2g}'):g}"


def error_with_interval(verdict: Verdict) -> str:
    """Return "+12 % ± 3.1 %", or why there is no error or no interval."""
    if verdict.error is None:
        return "-"
    sign = "+" if verdict.error > 0.0 else "-" if verdict.error < 0.0 else ""
    bound = "not estimated" if verdict.uncertainty is None else percent(verdict.uncertainty)
    return f"{sign}{percent(abs(verdict.error))} ± {bound}"


def verdict_words(verdict: Verdict) -> str:
    """Return "differs (too large)", "cannot be told (one mesh of truss: ..)"."""
    return verdict.words + (f" ({verdict.reason})" if verdict.reason else "")


VERDICT_COLUMNS = ("case", "solver", "error E ± U", "cost / reference", "verdict")


def verdict_rows(cases: Sequence[CaseComparison]) -> Iterator[tuple[str, ...]]:
    """Return the cells of the verdicts of all cases; what keeps one from being told stands in the notes."""
    for case in cases:
        for verdict in case.verdicts:
            cost = "-" if verdict.cost is None else f"{verdict.cost:.3g}"
            words = verdict.words if verdict.words == "cannot be told" else verdict_words(verdict)
            yield case.case, case.shown(verdict.label), error_with_interval(verdict), cost, words


def verdict_notes(cases: Sequence[CaseComparison]) -> list[str]:
    """Return the advice of each case, and once each what to do about verdicts that cannot be told."""
    advice = [f"{case.case}: {case.advice}" if len(cases) > 1 else case.advice for case in cases if case.advice]
    untold = (verdict for case in cases for verdict in case.verdicts if verdict.words == "cannot be told")
    reasons = dict.fromkeys(reason for verdict in untold for reason in verdict.reason.split("; "))
    return advice + ([f"Cannot be told: {'; '.join(reasons)}."] if reasons else [])


def verdict_lines(cases: Sequence[CaseComparison]) -> list[str]:
    """Return the verdicts of all cases as a Markdown table, and the notes."""
    rows = ("| " + " | ".join(map(_plain, row)) + " |" for row in verdict_rows(cases))
    head = ["| " + " | ".join(VERDICT_COLUMNS) + " |", "|---" * len(VERDICT_COLUMNS) + "|"]
    return [*head, *rows, "", *(f"- {_plain(line)}" for line in verdict_notes(cases))]


def markdown_summary(comparison: Comparison) -> str:
    """Return the verdicts in some ten lines, as for a comment beside a change, and all numbers folded below."""
    lines = [f"## {_plain(comparison.title)}", "", *verdict_lines(comparison.cases), ""]
    lines += ["<details><summary>All runs, and how numbers settle over meshes</summary>", ""]
    lines += [f"- {_plain(ordering.sentence)}" for ordering in comparison.orderings]
    for case in comparison.cases:
        lines += ["", f"### {_plain(case.case)}", "", *_table(case), ""]
        lines += [f"- {_plain(settling_sentence(item, case.shown(item.solver)))}" for item in case.settlings]
        lines += [f"- {_plain(cross_check_sentence(check))}" for check in case.cross_checks]
        lines += [f"- {_plain(note)}" for run in case.runs for note in run.notes]
    return "\n".join([*lines, "", "</details>"]).rstrip() + "\n"


def _table(case: CaseComparison) -> Iterator[str]:
    yield "| run | error | displacement, worst | residual | wall time | cost / reference |"
    yield "|---|---|---|---|---|---|"
    for run in case.runs:
        yield "| " + " | ".join(_cells(run, run.label in case.front)) + " |"


def _cells(run: RunComparison, unbeaten: bool) -> tuple[str, ...]:
    name = f"{run.shown} (reference)" if run.is_reference else f"**{run.shown}**" if unbeaten else run.shown
    wall, ratio, circuit = run.cost.wall_time, run.cost.ratio, run.cost.circuit_time
    return (
        _plain(name),
        percent(error_of(run)),
        percent(None if run.displacement is None else run.displacement.largest),
        percent(run.residual.at_node),
        ("-" if wall is None else f"{wall:.3g} s") + (f", circuit {circuit:.3g} s" if circuit is not None else ""),
        "-" if ratio is None else f"{ratio:.3g}",
    )


def _plain(text: str) -> str:
    """Return text that Markdown leaves as it is: no cells, no tags, no line ends."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
