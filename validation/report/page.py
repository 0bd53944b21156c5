"""One comparison as one self-contained page: inline SVG, embedded pictures, nothing from the network."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from rheotwin.validation.checks.outcome import Verification
from rheotwin.validation.checks.texts import error_text, reference_text
from rheotwin.validation.checks.texts import number as digits
from rheotwin.validation.comparison import CaseComparison, Comparison, RunComparison
from rheotwin.validation.report.charts import Plot, line_styles, with_own_ids
from rheotwin.validation.report.pictures import PictureRow
from rheotwin.validation.report.plots import colour_bar
from rheotwin.validation.report.sentences import (
    cost_phrase,
    cross_check_sentence,
    error_with_interval,
    percent,
    settling_sentence,
)
from rheotwin.validation.study import finest_labels

TEMPLATES = Path(__file__).parent / "templates"
ROW_FILTERS = {"error": error_text, "digits": digits, "reference": reference_text}
"""What the table of reference numbers asks for."""


@dataclass(frozen=True)
class BarredRow:
    """A row of pictures and its colour bar."""

    row: PictureRow
    bar: Plot


@dataclass(frozen=True)
class CaseSection:
    """What the page shows of one case."""

    anchor: str
    title: str
    case: CaseComparison
    plots: tuple[Plot, ...]
    rows: tuple[BarredRow, ...]
    beside: tuple[Plot, ...]
    """Plots of the first screen."""
    first: BarredRow | None
    """Pictures of the first screen, the first of the case."""


@dataclass(frozen=True)
class MaterialRow:
    """How one body's springs match its law: the entries of statistics `material_match`."""

    case: str
    label: str
    shown: str
    body: str
    match: dict[str, Any]


def render_report(
    comparison: Comparison,
    *,
    overview: Sequence[Plot],
    plots: Mapping[str, Sequence[Plot]],
    pictures: Mapping[str, Sequence[PictureRow]],
    cross_plots: Sequence[Plot] = (),
    references: Verification | None = None,
) -> str:
    """Return the page; `plots` and `pictures` are keyed by case.

    Cross-checks are shown where they have plots, `references` in a section of their own.
    """
    several = len(comparison.cases) > 1
    shown = {plot.name for plot in overview}
    sections = []
    for case in comparison.cases:
        of_case = [plot for plot in plots.get(case.case, ()) if plot.name not in shown]
        force = next((plot for plot in of_case if plot.name.startswith(f"{case.case}-force")), None)
        beside = [plot for plot in of_case if plot.name == f"{case.case}-pareto" or plot is force]
        first, *rows = with_bars(case.case, pictures.get(case.case, ())) or (None,)
        rest = tuple(plot for plot in of_case if plot not in beside)
        title = case.case.capitalize() if several else "In detail"
        anchor = f"case-{slug(case.case)}"
        sections.append(CaseSection(anchor, title, case, rest, tuple(rows), tuple(beside), first))
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            comparison=comparison,
            overview=tuple(overview),
            sections=sections,
            several=several,
            solvers=tuple(dict.fromkeys(case.shown(run.solver) for case in comparison.cases for run in case.runs)),
            meshes=any("@" in label for label in comparison.labels),
            style=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
            colours={label: style.colour for label, style in line_styles(comparison.labels).items()},
            materials=material_rows(comparison),
            limits=limits(comparison),
            settlings=any(case.settlings for case in comparison.cases),
            cross_plots=tuple(cross_plots),
            telling=telling_labels,
            references=references,
            scene=json.dumps(comparison.scene, indent=2, default=str),
        )
    )


def telling_labels(case: CaseComparison) -> frozenset[str]:
    """Return the runs worth a sentence among the conclusions: each solver's finest, and what nothing beats."""
    return frozenset((*finest_labels(case.runs), *case.front))


def with_bars(case: str, rows: Sequence[PictureRow]) -> tuple[BarredRow, ...]:
    """Give each row its colour bar."""
    bars = (
        colour_bar(f"{slug(case)}-bar-{place}", row.scale.colours, row.scale.value_range, f"{row.scale.quantity} [m]")
        for place, row in enumerate(rows)
    )
    return tuple(map(BarredRow, rows, bars))


def limits(comparison: Comparison) -> tuple[str, ...]:
    """Return what the reader should know before trusting the numbers."""
    runs = [run for case in comparison.cases for run in case.runs]
    solvers = {run.solver for run in runs}
    found = []
    if any(run.solver == "fem" and run.provenance.options.get("kinematics", "small") == "small" for run in runs):
        found.append(
            "The finite elements assume small strains and rotations: where the body turns or shears by more "
            "than about a tenth, part of the difference between solvers is theirs."
        )
    if "shear-volume" in solvers:
        found.append(
            "Elements of shear and volume follow rotations exactly and stiffen under compression by a rule of their "
            "own (neo-Hooke); where diagonals all run one way they let a squeezed body lean as springs do."
        )
    if "truss" in solvers:
        found.append(
            "Springs follow rotations exactly, but springs alone are tied to one Poisson ratio (1/4 in 3D and "
            "plane strain, 1/3 in plane stress) whatever the law asks for; terms that keep area or volume relieve "
            "this in part."
        )
    if "truss" in solvers and comparison.dimension == 2:
        found.append(
            "Under large strain, springs on triangles whose diagonals all run one way let the body lean to one side; "
            "diagonals that alternate do not."
        )
    found.extend(material_matches(comparison))
    found.append(
        "A reference is another model, not the truth: an error here is a distance between two models on one "
        "mesh. Wall times were measured on one machine, once."
    )
    return tuple(found)


def material_matches(comparison: Comparison) -> tuple[str, ...]:
    """Return in one sentence per body how a run's network matches the law (statistics `material_match`)."""
    cases: dict[tuple[str, str], list[str]] = {}
    for case in comparison.cases:
        for run in case.runs:
            for body, match in dict(run.provenance.statistics.get("material_match") or {}).items():
                cases.setdefault((f"{run.shown}, body '{body}'", match_sentence(match)), []).append(case.case)
    return tuple(f"Material of {place} ({', '.join(names)}): {words}." for (place, words), names in cases.items())


def material_rows(comparison: Comparison) -> tuple[MaterialRow, ...]:
    """Return how the springs of every run and body match the law, for those that have springs."""
    return tuple(
        MaterialRow(case.case, run.label, run.shown, body, dict(match))
        for case in comparison.cases
        for run in case.runs
        for body, match in dict(run.provenance.statistics.get("material_match") or {}).items()
        if isinstance(match, Mapping)
    )


def match_sentence(match: object) -> str:
    """Return "springs and volume springs miss the law's stiffness by 23 %; ..; WARNING" for one body.

    The misfit is relative to the law's stiffness [1]; how Young's modulus varies over directions and what holds for
    Poisson's ratio follow. Entries without a misfit are put into words as they are.
    """
    if not isinstance(match, Mapping) or "stiffness_misfit" not in match:
        return describe(match)
    springs = match.get("made_of", "springs and volume springs" if match.get("volume_cells") else "springs")
    misfit = float(match["stiffness_misfit"])
    fit = "match the law's stiffness" if misfit < 1e-6 else f"miss the law's stiffness by {percent(misfit)}"
    parts = [f"{springs} {fit}"]
    if misfit >= 1e-6 and "young_least" in match:
        least, most = percent(float(match["young_least"])), percent(float(match["young_most"]))
        parts.append(f"their Young's modulus is {least} to {most} of the law's, by direction")
    parts += [str(match.get(key) or "").rstrip(".") for key in ("note", "warning")]
    return "; ".join(part for part in parts if part)


def describe(value: object) -> str:
    """Return a small nested value as words: "modulus 0.96, poisson 0.25"."""
    if isinstance(value, Mapping):
        return ", ".join(f"{str(key).replace('_', ' ')} {describe(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(describe(item) for item in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).rstrip(".")


def worst_force(run: RunComparison) -> float | None:
    """Return the largest force error of a run [1], None if no force was compared."""
    return max((force.error for force in run.forces if force.error is not None), default=None)


def worst_drift(run: RunComparison) -> float | None:
    """Return the largest volume drift over the bodies of a run [1]."""
    return max((drift for drift in run.volume_drift.values() if drift is not None), default=None)


def slug(text: str) -> str:
    """Return text as an identifier for anchors and file names."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "unnamed"


def number(value: float | int | None, unit: str = "") -> str:
    """Return a number with three significant digits and its unit; a dash when there is none."""
    if value is None:
        return "-"
    whole = 1e3 <= abs(value) < 1e7
    return (f"{value:,.0f}" if whole else f"{value:.3g}") + (f" {unit}" if unit else "")


def cost_words(ratio: float | None) -> str:
    """Return a cost over the reference's in words: "1/81", "about the same", "3.2 times"."""
    return (
        "-"
        if ratio is None
        else cost_phrase(ratio).removeprefix("at ").removesuffix(" its cost").removesuffix(" cost").removesuffix(" of")
    )


def headline(caption: str) -> str:
    """Return a caption without the name of the only case, and with a capital letter."""
    text = caption.removeprefix("default: ")
    return text[:1].upper() + text[1:]


def own_svg(plot: Plot, place: str) -> Markup:
    """Return a plot's SVG with ids of its own in this place of the page."""
    return Markup(with_own_ids(plot.svg, f"{slug(place)}-{slug(plot.name)}"))


def embedded(png: bytes) -> str:
    """Return a picture as a data address, as WebP, which takes a tenth of the PNG."""
    stream = BytesIO()
    Image.open(BytesIO(png)).convert("RGB").save(stream, "WEBP", quality=80)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def page_environment(templates: Path) -> Environment:
    """Return the template environment of a page whose templates lie in a folder, beside the shared ones."""
    return Environment(
        loader=FileSystemLoader([templates, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _environment() -> Environment:
    environment = page_environment(TEMPLATES)
    environment.filters |= {
        "percent": percent,
        "number": number,
        "embedded": embedded,
        "slug": slug,
        "describe": describe,
        "worst_force": worst_force,
        "worst_drift": worst_drift,
        "error_with_interval": error_with_interval,
        "settling": settling_sentence,
        "cross_check": cross_check_sentence,
        "svg": own_svg,
        "headline": headline,
        "cost": cost_words,
        **ROW_FILTERS,
    }
    return environment
