"""Settings of the site: `make docs` writes it to build/site from the pages of docs/ and from the code."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

import rheotwin

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from site_reference import REFERENCE, write_pages  # noqa: E402

project, release = "Rheotwin", rheotwin.__version__
copyright = "the authors, BSD-3-Clause"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
html_theme = "pydata_sphinx_theme"
html_title = project
html_show_sourcelink = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "show_prev_next": True}
OUTSIDE = {f"](../{name}.md": f"]({REFERENCE}/{name.lower()}.md" for name in ("CONTRIBUTING", "CHANGELOG")}
"""Links from the pages to files beside docs/, and where the site has them."""


def _lead_inside(_: Sphinx, docname: str, source: list[str]) -> None:
    for file, page in OUTSIDE.items():
        source[0] = source[0].replace(file, page.replace("](", "](../") if "/" in docname else page)


def setup(app: Sphinx) -> None:
    """Write the pages of the reference before Sphinx looks for pages."""
    write_pages(DOCS / REFERENCE)
    app.connect("source-read", _lead_inside)
