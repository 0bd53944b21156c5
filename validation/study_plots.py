"""Plots of a refinement study: how numbers settle over the mesh, and accuracy against cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rheotwin.validation.chart_style import LineStyle, Plot, chart, legend_columns, line_styles
from rheotwin.validation.comparison import CaseComparison, RunComparison
from rheotwin.validation.sentences import settling_sentence
from rheotwin.validation.study import error_of, solver_of

LEAST_ERROR = 1e-5
"""Smaller errors are drawn here [1]."""


def study_plots(case: CaseComparison, labels: Sequence[str]) -> tuple[Plot, ...]:
    """Return accuracy against cost, where there are runs to weigh, and the settling of every number."""
    styles = line_styles(labels)
    quantities = tuple(dict.fromkeys(item.quantity for item in case.settlings))
    return (*_pareto(case, styles), *(_settling(case, name) for name in quantities))


def _pareto(case: CaseComparison, styles: dict[str, LineStyle]) -> tuple[Plot, ...]:
    weighed = [(run, run.cost.wall_time, error_of(run)) for run in case.runs if not run.is_reference]
    points = [(run, cost, max(error, LEAST_ERROR)) for run, cost, error in weighed if cost and error is not None]
    if len(points) < 2:
        return ()
    spoken = "; ".join(f"{run.label}: {100 * error:.3g} % in {cost:.3g} s" for run, cost, error in points)
    caption = f"{case.case}: accuracy against cost"
    alt = f"{caption}, error against {case.reference} over wall time. {spoken}. Not beaten: {', '.join(case.front)}."
    with chart(f"{case.case}-pareto", caption, alt, size=(4.4, 3.8)) as draft:
        axes = draft.figure.subplots()
        best = sorted((cost, 100.0 * error) for run, cost, error in points if run.label in case.front)
        axes.plot(*np.array(best).T, color="#999999", linewidth=1.0, zorder=1, drawstyle="steps-post")
        solvers = tuple(dict.fromkeys(solver_of(run.label) for run, _, _ in points))
        colours = line_styles(solvers)
        for name in solvers:
            path = sorted((cost, 100.0 * error) for run, cost, error in points if solver_of(run.label) == name)
            colour = colours[name].colour
            axes.plot(*np.array(path).T, ":", color=colour, linewidth=1.0, zorder=1)
            axes.plot([], [], "o", color=colour, label=name)
        for run, cost, error in points:
            _point(axes, run, cost, error, case.reference_uncertainty, styles)
        draft.figure.legend(loc="outside upper left", ncols=legend_columns(solvers))
        axes.set(xscale="log", yscale="log", xlabel="wall time of the solver [s]", ylabel=_error_label(case))
        axes.margins(0.18)
        for axis, ends in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            within_a_decade = ends[1] < 15.0 * ends[0]
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if within_a_decade else (1.0,)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
    return (draft.plot,)


def _point(
    axes: Any, run: RunComparison, cost: float, error: float, uncertainty: float | None, styles: dict[str, LineStyle]
) -> None:
    colour, height = styles[run.label].colour, 100.0 * error
    if uncertainty:
        # the lower whisker ends above zero, which a logarithmic axis does not have
        below = min(100.0 * uncertainty, 0.9 * height)
        axes.errorbar(cost, height, yerr=[[below], [100.0 * uncertainty]], color=colour, capsize=2, linewidth=0.8)
    axes.plot(cost, height, "o", color=colour, markersize=6)
    mesh = run.label.removeprefix(solver_of(run.label))
    axes.annotate(mesh, (cost, height), xytext=(5, 5), textcoords="offset points", fontsize=8.5)


def _error_label(case: CaseComparison) -> str:
    forces = any(force.error is not None for run in case.runs for force in run.forces)
    return f"{'force' if forces else 'displacement'} error against {case.reference} [%]"


def _settling(case: CaseComparison, quantity: str) -> Plot:
    """Draw one number of every solver over the mesh width, with its limit at width zero."""
    items = [item for item in case.settlings if item.quantity == quantity]
    caption = f"{case.case}: {quantity} over mesh width"
    alt = f"{caption}. {' '.join(settling_sentence(item) for item in items)}"
    styles = line_styles([item.solver for item in items])
    with chart(f"{case.case}-settling-{quantity.replace(' ', '-')}", caption, alt) as draft:
        axes = draft.figure.subplots()
        for item in items:
            found, colour = item.found, styles[solver_of(item.solver)].colour
            widths = [1.0 / n for n in found.refinements]
            axes.plot(widths, found.values, "o-", color=colour, label=item.solver, linewidth=1.2, markersize=4)
            if found.limit is not None and found.uncertainty is not None:
                axes.errorbar(0.0, found.limit, yerr=found.uncertainty, color=colour, fmt="D", markersize=4, capsize=3)
                axes.plot([0.0, widths[-1]], [found.limit, found.values[-1]], ":", color=colour, linewidth=1.0)
        axes.set(xlabel="mesh width / that of the scene", ylabel=f"{quantity} [{items[0].unit}]")
        axes.set_xlim(left=-0.03)
        draft.figure.legend(loc="outside upper left", ncols=legend_columns([item.solver for item in items]))
    return draft.plot
