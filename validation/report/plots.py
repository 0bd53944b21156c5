"""The plots of a comparison, each a function from values to a finished `Plot`.

Forces, energies, volumes and errors over time; how numbers settle over the mesh, and accuracy against cost; the
difference of particles and finite elements on one mesh over the strain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rheotwin.arrays import Array
from rheotwin.validation.comparison import CaseComparison, Comparison, CrossCheck, RunComparison
from rheotwin.validation.report.charts import LineStyle, PlainTicks, Plot, chart, legend_columns, line_styles
from rheotwin.validation.report.sentences import cross_check_sentence, settling_sentence
from rheotwin.validation.run_view import AXES, RunView, bodies_with_volume, force_sources, main_axis, names_with, vector
from rheotwin.validation.study import error_of, finest_labels, solver_of

Styles = Mapping[str, LineStyle]
VOLUME_NAMES = {"m": "length", "m2": "area", "m3": "volume"}
VOLUME_UNITS = {1: "m", 2: "m2", 3: "m3"}
SEEN = 1e-4
"""Part below which a plot would be blank: kinetic energy of the stored one, a number's change with the mesh [1]."""


def overview_plots(comparison: Comparison, plots: Mapping[str, Sequence[Plot]]) -> tuple[Plot, ...]:
    """Return what several cases have side by side: what remains in each, and their force curves."""
    if len(comparison.cases) < 2:
        return ()
    forces = [
        next((plot for plot in plots[case.case] if plot.name.startswith(f"{case.case}-force")), None)
        for case in comparison.cases
    ]
    return (residual_plot(comparison, line_styles(comparison.labels)), *(plot for plot in forces if plot is not None))


def case_plots(comparison: Comparison, case: CaseComparison, runs: Sequence[RunView]) -> tuple[Plot, ...]:
    """Return the plots of one case; those without data are left out.

    Curves over time are those of each solver's finest mesh and of the reference.
    """
    styles = line_styles(comparison.labels)
    runs = [run for run in runs if run.label in (*finest_labels(case.runs), case.reference)]
    return (
        *study_plots(case, comparison.labels),
        *_error_plots(case, styles),
        *_force_plots(case.case, runs, styles),
        *_stroke_plots(case.case, runs, styles),
        *_energy_plots(case.case, runs, styles),
        *_volume_plots(case.case, runs, styles),
    )


def residual_plot(comparison: Comparison, styles: Styles) -> Plot:
    """Return grouped bars: residual [%] per case and solver, whiskers the oscillation in the last window."""
    cases, labels = comparison.cases, tuple(item.label for item in comparison.orderings)
    spoken = " ".join(ordering.sentence for ordering in comparison.orderings)
    caption = "What remains of the largest displacement at the end"
    with chart("overview-residual", caption, f"Bar chart of residual displacement. {spoken}") as draft:
        axes = draft.figure.subplots()
        width, names = 0.8 / len(labels), list(map(comparison.shown, labels))
        for place, label in enumerate(labels):
            for number, case in enumerate(cases):
                found = [run.residual for run in case.runs if run.label == label]
                if not found:
                    continue
                height, swing = 100.0 * found[0].at_node, 100.0 * found[0].oscillation
                x = number + (place - (len(labels) - 1) / 2) * width
                axes.bar(
                    x, height, 0.92 * width, color=styles[label].colour, label=names[place] if number == 0 else None
                )
                if swing > 0.5:
                    axes.errorbar(x, height, yerr=swing, color="#222222", capsize=3, linewidth=1)
                axes.annotate(
                    f"{height:.0f}",
                    (x, height + (swing if swing > 0.5 else 0.0)),
                    xytext=(0, 3),
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                )
        axes.set_xticks(range(len(cases)), [case.case for case in cases])
        axes.set_xlim(-0.75, len(cases) - 0.25)
        axes.set_ylabel("remains [% of peak]")
        axes.margins(y=0.12)
        axes.set_ylim(bottom=0.0)
        axes.grid(visible=False, axis="x")
        draft.figure.legend(loc="outside upper left", ncols=legend_columns(names))
    return draft.plot


def _error_plots(case: CaseComparison, styles: Styles) -> list[Plot]:
    telling, reference = finest_labels(case.runs), case.shown(case.reference)
    histories = [
        (run, quantity, history)
        for run in case.runs
        for quantity, history in (("displacement", run.displacement), ("velocity", run.velocity))
        if history is not None and run.label in telling
    ]
    if not histories:
        return []
    alt = "; ".join(
        f"{quantity} error of {run.shown} against {reference}: at most {100 * history.largest:.1f} %"
        for run, quantity, history in histories
    )
    with chart(f"{case.case}-error", f"Error against {reference} over time", alt) as draft:
        axes = draft.figure.subplots()
        for run, quantity, history in histories:
            moving = quantity == "velocity"
            axes.plot(
                history.times,
                100.0 * np.array(history.values),
                color=styles[run.label].colour,
                linestyle=":" if moving else "-",
                linewidth=1.2 if moving else 1.8,
                label=None if moving else run.shown,
            )
        axes.set(xlabel="time [s]", ylabel="relative error [%]")
        axes.set_ylim(bottom=0.0)
        if any(quantity == "velocity" for _, quantity, _ in histories):
            axes.plot([], [], ":", color="#333333", linewidth=1.2, label="velocity")
        draft.figure.legend(loc="outside upper left", ncols=legend_columns([run.shown for run, _, _ in histories]))
    return [draft.plot]


def _curves(
    name: str, caption: str, axis_labels: tuple[str, str], lines: Sequence[tuple[RunView, Array, Array]], styles: Styles
) -> Plot:
    """Draw the lines (run, x, y) into one plot."""
    ends = "; ".join(
        f"{run.shown}: from {y[0]:.3g} to {y[-1]:.3g}, range {y.min():.3g} to {y.max():.3g}" for run, _, y in lines
    )
    names = [run.shown for run, _, _ in lines]
    columns = legend_columns(names)
    size = (4.4, 2.6 + 0.18 * -(-len(names) // columns))
    with chart(name, caption, f"{caption}, {axis_labels[1]} against {axis_labels[0]}. {ends}.", size=size) as draft:
        axes: Any = draft.figure.subplots()
        for run, x, y in lines:
            style = styles[run.label]
            axes.plot(x, y, color=style.colour, linestyle=style.dashes, label=run.shown)
        axes.set(xlabel=axis_labels[0], ylabel=axis_labels[1])
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PlainTicks(useMathText=True))
        axes.ticklabel_format(axis="both", scilimits=(-3, 4))
        if all(np.ptp(y) <= 1e-12 * max(np.abs(y).max(), 1e-300) for _, _, y in lines):
            axes.set_ylim(lines[0][2][0] - 1.0, lines[0][2][0] + 1.0)
        draft.figure.legend(loc="outside upper left", ncols=columns)
    return draft.plot


def _force_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots = []
    for kind, source in _sources(runs):
        chosen = [run for run in runs if (kind, source) in force_sources(run.probes)]
        forces, axis = _along(chosen, kind, source, "force")
        lines = [(run, run.probe_times, force) for run, force in zip(chosen, forces, strict=True)]
        labels = ("time [s]", f"force on {source}, {AXES[axis]} [N]")
        plots.append(_curves(f"{case}-force-{source}", f"{case}: force on {kind} {source}", labels, lines, styles))
    return plots


def _stroke_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots = []
    for kind, source in _sources(runs):
        chosen = [run for run in runs if source in names_with(run.probes, kind, "displacement")]
        chosen = [run for run in chosen if (kind, source) in force_sources(run.probes)]
        if not chosen:
            continue
        forces, along = _along(chosen, kind, source, "force")
        strokes, across = _along(chosen, kind, source, "displacement")
        labels = (f"displacement of {source}, {AXES[across]} [m]", f"force on {source}, {AXES[along]} [N]")
        lines = [(run, x, y) for run, x, y in zip(chosen, strokes, forces, strict=True)]
        caption = f"{case}: force against displacement of {kind} {source}"
        plots.append(_curves(f"{case}-stroke-{source}", caption, labels, lines, styles))
    return plots


def _along(runs: Sequence[RunView], kind: str, source: str, quantity: str) -> tuple[list[Array], int]:
    """Return a quantity of every run along the axis on which it is largest, and that axis."""
    vectors = [vector(run.probes, kind, source, quantity) for run in runs]
    axis = main_axis(np.concatenate(vectors))
    return [values[:, axis] for values in vectors], axis


def _sources(runs: Sequence[RunView]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys(source for run in runs for source in force_sources(run.probes)))


def _energy_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots: list[Plot] = []
    largest = 0.0
    for quantity in ("stored", "kinetic"):
        column = f"energy.{quantity}"
        lines = [(run, run.probe_times, run.probes[column]) for run in runs if column in run.probes]
        height = max((float(np.abs(values).max()) for *_, values in lines), default=0.0)
        largest = max(largest, height)
        if lines and height >= SEEN * largest:
            labels = ("time [s]", f"{quantity} energy [J]")
            plots.append(_curves(f"{case}-energy-{quantity}", f"{case}: {quantity} energy", labels, lines, styles))
    return plots


def _volume_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots = []
    for body in dict.fromkeys(name for run in runs for name in bodies_with_volume(run.probes)):
        column = f"volume.{body}"
        lines = [
            (run, run.probe_times, 100.0 * (run.probes[column] / run.probes[column][0] - 1.0))
            for run in runs
            if column in run.probes
        ]
        # By unit, because the flat mesh of an axisymmetric body stands for the volume of its rings.
        units = (run.units[column] for run in runs if column in run.units)
        word = VOLUME_NAMES[next(units, VOLUME_UNITS[runs[0].dimension])]
        labels = ("time [s]", f"change of {word} [%]")
        plots.append(_curves(f"{case}-volume-{body}", f"{case}: {word} of {body}", labels, lines, styles))
    return plots


def colour_bar(name: str, colours: str, value_range: tuple[float, float], label: str) -> Plot:
    """Return a thin horizontal colour scale with its quantity and unit."""
    alt = f"Colour scale: {label} from {value_range[0]:.3g} to {value_range[1]:.3g}"
    with chart(name, label, alt, size=(4.4, 0.62)) as draft:
        axes = draft.figure.subplots()
        scale = ScalarMappable(Normalize(*value_range), colours)
        bar = draft.figure.colorbar(scale, cax=axes, orientation="horizontal", label=label)
        # As one small image: 256 vector patches would show seams.
        if bar.solids is not None:
            bar.solids.set_rasterized(True)
    return draft.plot


LEAST_ERROR = 1e-5
"""Smaller errors are drawn here [1]."""


def study_plots(case: CaseComparison, labels: Sequence[str]) -> tuple[Plot, ...]:
    """Return accuracy against cost, where there are runs to weigh, and the settling of every number that moves."""
    styles = line_styles(labels)
    moving = (item for item in case.settlings if np.ptp(item.found.values) > SEEN * np.abs(item.found.values).max())
    quantities = tuple(dict.fromkeys(item.quantity for item in moving))
    return (*_pareto(case, styles), *(_settling(case, name) for name in quantities))


def _pareto(case: CaseComparison, styles: dict[str, LineStyle]) -> tuple[Plot, ...]:
    weighed = [(run, run.cost.spent, error_of(run)) for run in case.runs if not run.is_reference]
    points = [(run, cost, max(error, LEAST_ERROR)) for run, cost, error in weighed if cost and error is not None]
    if len(points) < 2:
        return ()
    spoken = "; ".join(f"{run.shown}: {100 * error:.3g} % in {cost:.3g} s" for run, cost, error in points)
    caption = f"{case.case}: accuracy against cost"
    clock = "wall time" + " (of a circuit: cycles over clock)" * any(run.cost.circuit_time for run, *_ in points)
    alt = f"{caption}, error against {case.shown(case.reference)} over {clock}. {spoken}."
    alt += f" Not beaten: {', '.join(map(case.shown, case.front))}."
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
            axes.plot([], [], "o", color=colour, label=case.shown(name))
        for run, cost, error in points:
            _point(axes, run, cost, error, case.reference_uncertainty, styles)
        draft.figure.legend(loc="outside upper left", ncols=legend_columns(list(map(case.shown, solvers))))
        axes.set(xscale="log", yscale="log", xlabel=f"{clock} of the solver [s]", ylabel=_error_label(case))
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
    return f"{'force' if forces else 'displacement'} error against {case.shown(case.reference)} [%]"


def _settling(case: CaseComparison, quantity: str) -> Plot:
    """Draw one number of every solver over the mesh width, with its limit at width zero."""
    items = [item for item in case.settlings if item.quantity == quantity]
    caption = f"{case.case}: {quantity} over mesh width"
    alt = f"{caption}. {' '.join(settling_sentence(item, case.shown(item.solver)) for item in items)}"
    styles = line_styles([item.solver for item in items])
    with chart(f"{case.case}-settling-{quantity.replace(' ', '-')}", caption, alt) as draft:
        axes = draft.figure.subplots()
        for item in items:
            found, colour = item.found, styles[solver_of(item.solver)].colour
            widths = [1.0 / n for n in found.refinements]
            axes.plot(
                widths, found.values, "o-", color=colour, label=case.shown(item.solver), linewidth=1.2, markersize=4
            )
            if found.limit is not None and found.uncertainty is not None:
                axes.errorbar(0.0, found.limit, yerr=found.uncertainty, color=colour, fmt="D", markersize=4, capsize=3)
                axes.plot([0.0, widths[-1]], [found.limit, found.values[-1]], ":", color=colour, linewidth=1.0)
        axes.set(xlabel="mesh width / that of the scene", ylabel=f"{quantity} [{items[0].unit}]")
        axes.set_xlim(left=-0.03)
        draft.figure.legend(loc="outside upper left", ncols=legend_columns([case.shown(item.solver) for item in items]))
    return draft.plot


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
