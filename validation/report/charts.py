"""How plots look: one colour and line per solver everywhere, light SVG with real text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
"""Okabe and Ito's colours, told apart with any colour vision; dark on white first."""
DASHES = ("-", "--", "-.", ":")
"""Line styles, so that lines differ in black and white too."""
KNOWN = ("fem", "truss", "shear-volume", "fixed-point", "local-shape", "slave")
"""Solvers that always have the first colours."""
PALEST = 0.6
"""How much white the colour of a solver's coarsest mesh has; the finest has none."""
_WIDTH, _LEGEND_MARK, _LEGEND_LETTER = 4.4, 0.5, 0.075
"""Width of a plot, of a line and the room around it in a legend, and of a letter there [inches]."""

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rheotwin",
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.labelcolor": "#222222",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "figure.facecolor": "white",
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
}


@dataclass(frozen=True)
class LineStyle:
    """Colour and dashes of one label."""

    colour: str
    dashes: str


@dataclass(frozen=True, repr=False)
class Plot:
    """A finished plot: file stem, caption, text alternative, inline SVG and PNG bytes."""

    name: str
    caption: str
    alt: str
    svg: str
    png: bytes

    def __repr__(self) -> str:
        return f"<{self.caption}>"

    def _repr_png_(self) -> bytes:
        """Return what a notebook shows."""
        return self.png

    def save(self, path: str | Path) -> Path:
        """Write the picture as PNG."""
        file = Path(path)
        file.write_bytes(self.png)
        return file


class PlainTicks(ScalarFormatter):
    """Numbers at the ticks as plain text, a power of ten beside the axis in mathematical: that takes long to set."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the tick at `x`."""
        return str(super().__call__(x, pos)).removeprefix(r"$\mathdefault{").removesuffix("}$")


def line_styles(labels: Sequence[str]) -> dict[str, LineStyle]:
    """Return the style of each label: known solvers keep theirs, the others follow; SOLVER@N paler when coarser."""
    meshes: dict[str, list[str]] = {}
    for label in labels:
        meshes.setdefault(label.partition("@")[0], []).append(label)
    others = [name for name in meshes if name not in KNOWN]
    styles = {}
    for name, own in meshes.items():
        place = KNOWN.index(name) if name in KNOWN else len(KNOWN) + others.index(name)
        by_fineness = sorted(own, key=_fineness)
        for rank, label in enumerate(by_fineness):
            white = PALEST * (1.0 - (rank + 1) / len(own))
            styles[label] = LineStyle(paler(PALETTE[place % len(PALETTE)], white), DASHES[place % len(DASHES)])
    return {label: styles[label] for label in labels}


def _fineness(label: str) -> float:
    """Return the N of SOLVER@N; a limit is finer than all."""
    mesh = label.partition("@")[2]
    return float(mesh) if mesh.isdecimal() else float("inf") if mesh else 1.0


def paler(colour: str, white: float) -> str:
    """Return a colour #rrggbb mixed with a share of white [1]."""
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(part + white * (255 - part)):02X}" for part in parts)


def legend_columns(labels: Sequence[str]) -> int:
    """Return how many columns of a legend fit above a plot, four at most."""
    each = _LEGEND_MARK + _LEGEND_LETTER * max(map(len, labels), default=1)
    return max(1, min(4, int(_WIDTH / each)))


@contextmanager
def chart(name: str, caption: str, alt: str, *, size: tuple[float, float] = (_WIDTH, 3.0)) -> Iterator[ChartDraft]:
    """Yield a draft whose figure [inches] is drawn under the common style; its `plot` exists afterwards."""
    with mpl.rc_context(_STYLE):
        draft = ChartDraft(name, caption, alt, Figure(figsize=size, layout="constrained"))
        yield draft
        draft.finish()


class ChartDraft:
    """A plot in the making: draw on `figure`, then `plot` holds the result."""

    def __init__(self, name: str, caption: str, alt: str, figure: Figure) -> None:
        self.name, self.caption, self.alt, self.figure = name, caption, alt, figure
        self.plot = Plot(name, caption, alt, "", b"")

    def finish(self) -> None:
        """Write the figure as inline SVG and PNG."""
        svg = inline_svg(self.figure, self.alt)
        # The layout stays as the first writing found it; finding it again would double the time.
        self.figure.set_layout_engine("none")
        self.plot = Plot(self.name, self.caption, self.alt, svg, _png(self.figure))


def inline_svg(figure: Figure, alt: str) -> str:
    """Return a figure as an SVG element for HTML: no prologue, no addresses, no size, an alternative text."""
    stream = StringIO()
    figure.savefig(stream, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    text = stream.getvalue()
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text[text.index("<svg") :])
    for size in ("width", "height"):
        text = re.sub(rf'(<svg\b[^>]*?)\s{size}="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label={quoteattr(alt)}', 1)


def with_own_ids(svg: str, prefix: str) -> str:
    """Return an inline SVG whose ids start with `prefix`: figures on one page must not share them."""
    marked = re.sub(r'\bid="', f'id="{prefix}-', svg)
    return re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", marked)


def _png(figure: Figure) -> bytes:
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=150)
    return stream.getvalue()
