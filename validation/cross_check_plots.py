"""The difference of particles and finite elements on one mesh over the strain."""

from __future__ import annotations

import numpy as np

from rheotwin.validation.chart_style import Plot, chart, legend_columns, line_styles
from rheotwin.validation.comparison import CaseComparison, Comparison, CrossCheck
from rheotwin.validation.sentences import cross_check_sentence
from rheotwin.validation.study import solver_of

MARGIN = 1.5
"""How far beyond the largest difference in the second half of the strains the axis reaches; ringing may be cut."""


def cross_check_plots(comparison: Comparison) -> tuple[Plot, ...]:
    """Return a plot for every case in which the two ran on one mesh."""
    return tuple(_plot(case) for case in comparison.cases if case.cross_checks)


def _plot(case: CaseComparison) -> Plot:
    checks, caption = case.cross_checks, f"{case.case}: force difference over strain, one mesh"
    styles = line_styles([check.particles for check in checks])
    alt = f"{caption}. {' '.join(cross_check_sentence(check) for check in checks)}"
    with chart(f"{case.case}-cross-check", caption, alt) as draft:
        axes = draft.figure.subplots()
        for check in checks:
            colour = styles[check.particles].colour
            axes.plot(100.0 * np.array(check.strains), 100.0 * np.array(check.differences), color=colour, linewidth=1.2)
            ends = np.array([0.0, max(check.strains)])
            line = 100.0 * (check.at_zero + check.slope * ends)
            axes.plot(100.0 * ends, line, ":", color=colour, linewidth=1.5, label=_label(check))
        height = MARGIN * 100.0 * max(_settled(check) for check in checks)
        axes.set(xlabel="strain [%]", ylabel="force difference [%]", ylim=(-height, height))
        axes.set_xlim(left=0.0)
        draft.figure.legend(loc="outside upper left", ncols=legend_columns(list(map(_label, checks))))
    return draft.plot


def _label(check: CrossCheck) -> str:
    mesh = check.particles.removeprefix(solver_of(check.particles))
    return f"{check.tool}{mesh}, slope {check.slope:.2f}"


def _settled(check: CrossCheck) -> float:
    """Return the largest difference [1] beyond half of the strains, of the curve and of the line."""
    strains, differences = np.array(check.strains), np.abs(check.differences)
    late = strains >= 0.5 * strains.max()
    return max(float(differences[late].max()), abs(check.at_zero + check.slope * float(strains.max())), 1e-6)
