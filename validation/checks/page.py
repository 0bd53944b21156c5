"""The validation as one self-contained page: table and inline SVG plots, nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from rheotwin.record.manifest import current_environment
from rheotwin.validation.chart_style import Plot
from rheotwin.validation.checks.outcome import Verification
from rheotwin.validation.report import ROW_FILTERS, describe, own_svg, page_environment
from rheotwin.validation.report import TEMPLATES as SHARED_TEMPLATES

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
