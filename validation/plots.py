"""The plots of a comparison, each a function from values to a finished `Plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from rheotwin.validation import probe_columns
from rheotwin.validation.chart_style import LineStyle, Plot, chart, legend_columns, line_styles
from rheotwin.validation.comparison import CaseComparison, Comparison
from rheotwin.validation.run_view import Array, RunView
from rheotwin.validation.study import finest_labels
from rheotwin.validation.study_plots import study_plots

Styles = Mapping[str, LineStyle]
VOLUME_NAMES = {"m": "length", "m2": "area", "m3": "volume"}
VOLUME_UNITS = {1: "m", 2: "m2", 3: "m3"}


def overview_plots(comparison: Comparison, plots: Mapping[str, Sequence[Plot]]) -> tuple[Plot, ...]:
    """Return what tells at one glance: the residuals, each case's force curve and its accuracy against cost."""
    forces = [
        next((plot for plot in plots[case.case] if plot.name.startswith(f"{case.case}-force")), None)
        for case in comparison.cases
    ]
    residuals = residual_plot(comparison, line_styles(comparison.labels))
    paretos = (plot for case in comparison.cases for plot in plots[case.case] if plot.name == f"{case.case}-pareto")
    return (residuals, *(plot for plot in forces if plot is not None), *paretos)


def case_plots(comparison: Comparison, case: CaseComparison, runs: Sequence[RunView]) -> tuple[Plot, ...]:
    """Return the plots of one case; those without data are left out."""
    styles = line_styles(comparison.labels)
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
        width = 0.8 / len(labels)
        for place, label in enumerate(labels):
            for number, case in enumerate(cases):
                found = [run.residual for run in case.runs if run.label == label]
                if not found:
                    continue
                height, swing = 100.0 * found[0].at_node, 100.0 * found[0].oscillation
                x = number + (place - (len(labels) - 1) / 2) * width
                axes.bar(x, height, 0.92 * width, color=styles[label].colour, label=label if number == 0 else None)
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
        axes.set_ylabel("residual displacement [% of peak]")
        axes.margins(y=0.12)
        axes.set_ylim(bottom=0.0)
        axes.grid(visible=False, axis="x")
        draft.figure.legend(loc="outside upper left", ncols=legend_columns(labels))
    return draft.plot


def _error_plots(case: CaseComparison, styles: Styles) -> list[Plot]:
    shown = finest_labels(case.runs)
    histories = [
        (run.label, quantity, history)
        for run in case.runs
        for quantity, history in (("displacement", run.displacement), ("velocity", run.velocity))
        if history is not None and run.label in shown
    ]
    if not histories:
        return []
    alt = "; ".join(
        f"{quantity} error of {label} against {case.reference}: at most {100 * history.largest:.1f} %"
        for label, quantity, history in histories
    )
    with chart(f"{case.case}-error", f"Error against {case.reference} over time", alt) as draft:
        axes = draft.figure.subplots()
        for label, quantity, history in histories:
            moving = quantity == "velocity"
            axes.plot(
                history.times,
                100.0 * np.array(history.values),
                color=styles[label].colour,
                linestyle=":" if moving else "-",
                linewidth=1.2 if moving else 1.8,
                label=None if moving else label,
            )
        axes.set(xlabel="time [s]", ylabel="relative error [%]")
        axes.set_ylim(bottom=0.0)
        if any(quantity == "velocity" for _, quantity, _ in histories):
            axes.plot([], [], ":", color="#333333", linewidth=1.2, label="velocity")
        draft.figure.legend(loc="outside upper left", ncols=legend_columns([label for label, _, _ in histories]))
    return [draft.plot]


def _curves(
    name: str,
    caption: str,
    axis_labels: tuple[str, str],
    lines: Sequence[tuple[str, Array, Array]],
    styles: Styles,
) -> Plot:
    """Draw labelled lines (label, x, y) into one plot."""
    ends = "; ".join(
        f"{label}: from {y[0]:.3g} to {y[-1]:.3g}, range {y.min():.3g} to {y.max():.3g}" for label, _, y in lines
    )
    with chart(name, caption, f"{caption}, {axis_labels[1]} against {axis_labels[0]}. {ends}.") as draft:
        axes: Any = draft.figure.subplots()
        for label, x, y in lines:
            style = styles[label]
            axes.plot(x, y, color=style.colour, linestyle=style.dashes, label=label)
        axes.set(xlabel=axis_labels[0], ylabel=axis_labels[1])
        axes.ticklabel_format(axis="both", scilimits=(-3, 4), useMathText=True)
        if all(np.ptp(y) <= 1e-12 * max(np.abs(y).max(), 1e-300) for _, _, y in lines):
            axes.set_ylim(lines[0][2][0] - 1.0, lines[0][2][0] + 1.0)
        draft.figure.legend(loc="outside upper left", ncols=legend_columns([label for label, _, _ in lines]))
    return draft.plot


def _force_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots = []
    for kind, source in _sources(runs):
        chosen = [run for run in runs if (kind, source) in probe_columns.force_sources(run.probes)]
        forces = [probe_columns.vector(run.probes, kind, source, "force") for run in chosen]
        axis = probe_columns.main_axis(np.concatenate(forces))
        lines = [(run.label, run.probe_times, force[:, axis]) for run, force in zip(chosen, forces, strict=True)]
        labels = ("time [s]", f"force on {source}, {probe_columns.AXES[axis]} [N]")
        plots.append(_curves(f"{case}-force-{source}", f"{case}: force on {kind} {source}", labels, lines, styles))
    return plots


def _stroke_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots = []
    for kind, source in _sources(runs):
        chosen = [run for run in runs if source in probe_columns.names_with(run.probes, kind, "displacement")]
        chosen = [run for run in chosen if (kind, source) in probe_columns.force_sources(run.probes)]
        if not chosen:
            continue
        forces = [probe_columns.vector(run.probes, kind, source, "force") for run in chosen]
        strokes = [probe_columns.vector(run.probes, kind, source, "displacement") for run in chosen]
        along, across = (probe_columns.main_axis(np.concatenate(values)) for values in (forces, strokes))
        labels = (
            f"displacement of {source}, {probe_columns.AXES[across]} [m]",
            f"force on {source}, {probe_columns.AXES[along]} [N]",
        )
        lines = [
            (run.label, stroke[:, across], force[:, along])
            for run, stroke, force in zip(chosen, strokes, forces, strict=True)
        ]
        caption = f"{case}: force against displacement of {kind} {source}"
        plots.append(_curves(f"{case}-stroke-{source}", caption, labels, lines, styles))
    return plots


def _sources(runs: Sequence[RunView]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys(source for run in runs for source in probe_columns.force_sources(run.probes)))


def _energy_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots = []
    for quantity in ("stored", "kinetic"):
        column = f"energy.{quantity}"
        lines = [(run.label, run.probe_times, run.probes[column]) for run in runs if column in run.probes]
        if lines:
            labels = ("time [s]", f"{quantity} energy [J]")
            plots.append(_curves(f"{case}-energy-{quantity}", f"{case}: {quantity} energy", labels, lines, styles))
    return plots


def _volume_plots(case: str, runs: Sequence[RunView], styles: Styles) -> list[Plot]:
    plots = []
    for body in dict.fromkeys(name for run in runs for name in probe_columns.bodies_with_volume(run.probes)):
        column = f"volume.{body}"
        lines = [
            (run.label, run.probe_times, 100.0 * (run.probes[column] / run.probes[column][0] - 1.0))
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
