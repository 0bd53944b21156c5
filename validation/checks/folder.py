"""The folder of a validation, all or nothing: report.html, validate.json, junit.xml, summary.md and plots.

The page is self-contained: table and inline SVG plots of errors over mesh widths or steps, with the slopes theory
promises, nothing from the network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import NullLocator

from rheotwin.errors import RheotwinError
from rheotwin.record.manifest import current_environment
from rheotwin.validation.checks.check import Curve
from rheotwin.validation.checks.outcome import KEPT, NUMBERS, Verification
from rheotwin.validation.checks.texts import junit, summary
from rheotwin.validation.folder import (
    PLOTS,
    REPORT,
    SUMMARY,
    filled_aside,
    is_free,
    move_in,
    numbers_in,
    remove_plots,
    write_texts,
)
from rheotwin.validation.report.charts import DASHES, PALETTE, Plot, chart
from rheotwin.validation.report.page import ROW_FILTERS, describe, own_svg, page_environment
from rheotwin.validation.report.page import TEMPLATES as SHARED_TEMPLATES

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


TEMPLATES = Path(__file__).parent / "templates"


def render_page(verification: Verification, plots: Sequence[Plot]) -> str:
    """Return the page."""
    environment = page_environment(TEMPLATES)
    environment.filters |= {"describe": describe, "svg": own_svg, **ROW_FILTERS}
    held = dict.fromkeys(result.reference for result in verification.results if result.status == "holds")
    return environment.get_template("validate.html.j2").render(
        verification=verification,
        plots=tuple(plots),
        held=tuple(held),
        environment=current_environment().model_dump(),
        style=Markup((SHARED_TEMPLATES / "style.css").read_text(encoding="utf-8")),
    )


JUNIT = "junit.xml"


def refuse_existing(folder: Path, *, overwrite: bool, go_on: bool = False) -> None:
    """Raise unless `folder` is new, empty, or an earlier validation that may be replaced or gone on with."""
    if is_free(folder):
        return
    begun = {path.name for path in folder.iterdir()} == {KEPT}
    if not begun and not {"rheotwin_version", "checks", "summary"} <= numbers_in(folder / NUMBERS).keys():
        raise RheotwinError(
            f"--output {folder}: it is not empty and is not a validation of Rheotwin; choose another folder"
        )
    if not (overwrite or go_on):
        held = "begun, and not finished" if begun else "already there"
        raise RheotwinError(
            f"--output {folder}: a validation is {held}; go on with --continue, start over with --overwrite, "
            "or choose another folder"
        )


def write_validation(folder: Path, verification: Verification) -> Path:
    """Write the validation to `folder` and return the path of its page; other files there stay as they are."""
    plots = {f"{PLOTS}/{plot.name}.png": plot for plot in convergence_plots(verification)}
    numbers = json.dumps(verification.to_data() | {"plots": list(plots)}, indent=2) + "\n"
    page = render_page(verification, tuple(plots.values()))
    with filled_aside(folder, "validation") as aside:
        for name, plot in plots.items():
            (aside / name).write_bytes(plot.png)
        texts = ((NUMBERS, numbers), (JUNIT, junit(verification)), (SUMMARY, summary(verification)), (REPORT, page))
        write_texts(aside, texts)
        (folder / PLOTS).mkdir(parents=True, exist_ok=True)
        (folder / REPORT).unlink(missing_ok=True)
        remove_plots(folder, numbers_in(folder / NUMBERS).get("plots"))
        move_in(aside, folder, (*plots, NUMBERS, JUNIT, SUMMARY, REPORT))
    return folder / REPORT
