"""The folder of a validation, its page and its plots.

Convergence plots of a validation: errors over mesh widths or steps, with the slopes theory promises.

The validation as one self-contained page: table and inline SVG plots, nothing from the network.

The folder of a validation: report.html, validate.json, junit.xml, summary.md and plots, all or nothing.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import NullLocator

from rheotwin.errors import RheotwinError
from rheotwin.record.environment import current_environment
from rheotwin.validation.checks.check import Curve
from rheotwin.validation.checks.outcome import KEPT, NUMBERS, Verification
from rheotwin.validation.checks.texts import junit, summary
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


REPORT, JUNIT, SUMMARY, PLOTS = "report.html", "junit.xml", "summary.md", "plots"


def refuse_existing(folder: Path, *, overwrite: bool, go_on: bool = False) -> None:
    """Raise unless `folder` is new, empty, or an earlier validation that may be replaced or gone on with."""
    try:
        nearest = next((path for path in (folder, *folder.parents) if path.exists()), folder)
        if nearest.exists() and not nearest.is_dir():
            raise RheotwinError(f"--output {folder}: {nearest} is a file, not a folder; choose another output folder")
        if nearest != folder or not any(folder.iterdir()):
            return
    except OSError as error:
        raise RheotwinError(f"--output {folder}: {error.strerror}; choose another folder") from error
    begun = {path.name for path in folder.iterdir()} == {KEPT}
    if not begun and not _is_validation(folder):
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
    plots = convergence_plots(verification)
    data = verification.to_data() | {"plots": [f"{PLOTS}/{plot.name}.png" for plot in plots]}
    page = render_page(verification, plots)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".partial", dir=folder.parent))
        try:
            (aside / PLOTS).mkdir()
            for plot in plots:
                (aside / PLOTS / f"{plot.name}.png").write_bytes(plot.png)
            (aside / NUMBERS).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
            (aside / JUNIT).write_text(junit(verification), encoding="utf-8")
            (aside / SUMMARY).write_text(summary(verification), encoding="utf-8")
            (aside / REPORT).write_text(page, encoding="utf-8")
            _move_in(aside, folder, data["plots"])
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise RheotwinError(
            f"could not write the validation to {folder}: {error.strerror}; free space or choose another folder"
        ) from error
    return folder / REPORT


def _move_in(aside: Path, folder: Path, plots: list[str]) -> None:
    """Replace what an earlier validation left by the new files, the page last: it is there only if all is."""
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    (folder / REPORT).unlink(missing_ok=True)
    for name in _numbers(folder).get("plots", []):
        (folder / PLOTS / Path(str(name)).name).unlink(missing_ok=True)
    for name in (*plots, NUMBERS, JUNIT, SUMMARY, REPORT):
        (aside / name).replace(folder / name)


def _numbers(folder: Path) -> dict[str, Any]:
    """Return validate.json as it stands; nothing if there is none."""
    try:
        data = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _is_validation(folder: Path) -> bool:
    return {"rheotwin_version", "checks", "summary"} <= _numbers(folder).keys()
