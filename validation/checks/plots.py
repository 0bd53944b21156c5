"""Convergence plots of a validation: errors over mesh widths or steps, with the slopes theory promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator

from rheotwin.validation.chart_style import DASHES, PALETTE, Plot, chart
from rheotwin.validation.checks.check import Curve
from rheotwin.validation.checks.outcome import Verification

MARKERS = "os^Dvp*X"


@dataclass(frozen=True)
class PlotSpec:
    """Caption and axes of one convergence plot."""

    caption: str
    across: str
    upwards: str


SPECS = {
    "space-l2": PlotSpec("Manufactured solution: displacement", "mesh width [m]", "L2 error on the unit body"),
    "space-h1": PlotSpec("Manufactured solution: gradient", "mesh width [m]", "H1 error on the unit body"),
    "time": PlotSpec("Rules in time on a vibrating Maxwell bar", "step [s]", "error of (q, v) at the end"),
    "time-manufactured": PlotSpec("Rules in time on the manufactured solution", "step [s]", "largest error [m]"),
    "cylinder": PlotSpec("Thick cylinder, curved quadratic triangles", "1 / cells across", "largest relative error"),
    "membrane": PlotSpec("Cook's membrane: tip displacement", "1 / n", "error relative to the limit 8.07"),
}
"""Plots there can be, by the name that curves carry."""


def convergence_plots(verification: Verification) -> tuple[Plot, ...]:
    """Return one plot per kind of curves there are."""
    curves = [curve for result in verification.results for curve in result.curves]
    return tuple(
        _plot(name, spec, chosen) for name, spec in SPECS.items() if (chosen := [c for c in curves if c.plot == name])
    )


def observed_order(curve: Curve) -> float:
    """Return the slope between the two finest entries of a curve."""
    return float(np.log(curve.errors[-2] / curve.errors[-1]) / np.log(curve.sizes[-2] / curve.sizes[-1]))


def _plot(name: str, spec: PlotSpec, curves: list[Curve]) -> Plot:
    said = "; ".join(f"{curve.label}: order {observed_order(curve):.2f}" for curve in curves)
    with chart(f"validate-{name}", spec.caption, f"{spec.caption}. {said}.", size=(5.6, 3.9)) as draft:
        axes: Any = draft.figure.subplots()
        for place, curve in enumerate(curves):
            label = curve.label if curve.order is None else f"{curve.label} ({observed_order(curve):.2f})"
            colour, dashes = PALETTE[place % len(PALETTE)], DASHES[place // len(PALETTE) % len(DASHES)]
            marker = MARKERS[place % len(MARKERS)]
            axes.loglog(curve.sizes, curve.errors, color=colour, linestyle=dashes, marker=marker, ms=4, label=label)
            if curve.order is not None:
                _slope(axes, curve)
        axes.set(xlabel=spec.across, ylabel=spec.upwards)
        ticks = _ticks(curves)
        axes.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        draft.figure.legend(loc="outside right upper", fontsize=8.5)
    return draft.plot


def _ticks(curves: list[Curve]) -> list[float]:
    """Return sizes that occur, far enough apart for their labels."""
    sizes = sorted({size for curve in curves for size in curve.sizes})
    span, chosen = sizes[-1] / sizes[0], sizes[:1]
    for size in sizes[1:]:
        if size > 0.999 * chosen[-1] * max(1.5, span**0.15):
            chosen.append(size)
    return chosen


def _slope(axes: Any, curve: Curve) -> None:
    """Draw the promised slope as a thin dotted line through the finest entry of a curve."""
    assert curve.order is not None
    sizes = np.array(curve.sizes)
    guide = curve.errors[-1] * (sizes / sizes[-1]) ** curve.order
    axes.loglog(sizes, guide, color="#888888", linestyle=":", linewidth=0.9, zorder=1)
