"""A model against a measurement, in two statements that are never one word: the verdict, and whether it has moved.

    E = computed - measured,      U^2 = U_data^2 + U_mesh^2        (after ASME V&V 20)

U_data is the tolerance of the measurement, U_mesh that of the finest mesh by refinement (`metrics.fits`), which is left
out, in words, where there is one mesh only. Of a quantity that is a distance to the data ("at most") E is the distance
itself, and U_data how far the data lie from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, isfinite
from typing import Literal

from rheotwin.validation.references.catalogue import Quantity

Words = Literal["agrees within U", "differs", "cannot be told"]
Baseline = Literal["unchanged", "moved"]

WIDE = 0.25
"""Share of the measured value above which U is too wide for agreement to tell anything [1]."""
PERCENT = 100.0
MEANING = (
    "E is computed less measured, of the measured value; of a percentage in points; of a distance to the data the "
    "distance itself. U is the uncertainty of the data and, where several meshes were computed, of the finest one."
)
"""What stands above a table of these."""


@dataclass(frozen=True)
class Against:
    """What a measurement says of a computed value: numbers in the unit of the quantity, None where nobody knows them.

    `said` is E with its U (relative to the measured value, unless that is a share itself or E a distance), `parts` is
    what U is made of.
    """

    word: Words
    error: float
    uncertainty: float | None
    data: float | None
    mesh: float | None
    said: str
    parts: str


def against(item: Quantity, value: float, mesh: float | None = None) -> Against:
    """Hold a computed value against the measured one; `mesh` is the value's own uncertainty."""
    distance = item.bound == "at most"
    error = value if distance else value - item.reference
    size = abs(item.reference)
    data = size if distance else item.tolerance * (size if item.bound == "relative" else 1.0)
    total = hypot(data, mesh or 0.0) if data > 0.0 else None
    unit = f" {item.unit}" if item.unit else ""
    return Against(
        _word(error, total, None if distance else WIDE * size),
        error,
        total,
        data if data > 0.0 else None,
        mesh,
        _said(error, total, item, distance),
        (f"data {data:.2g}{unit}" if data > 0.0 else "data without noise figures")
        + (", mesh not estimated: one mesh" if mesh is None else f", mesh {mesh:.2g}{unit}"),
    )


def since(item: Quantity, value: float) -> Baseline:
    """Tell whether a value is what was found before."""
    assert item.finding is not None, "the catalogue gives every such quantity a baseline"
    return "unchanged" if abs(value - item.finding.value) <= item.finding.tolerance else "moved"


def _word(error: float, uncertainty: float | None, wide: float | None) -> Words:
    if uncertainty is None or not isfinite(error):
        return "cannot be told"
    if abs(error) > uncertainty:
        return "differs"
    return "cannot be told" if wide is not None and uncertainty > wide else "agrees within U"


def _said(error: float, uncertainty: float | None, item: Quantity, distance: bool) -> str:
    """Return E and U as "-3.89 % ± 0.052 %", in points where the quantity is a percentage itself."""
    factor, unit = 1.0, "points" if item.unit == "%" and not distance else item.unit
    if not distance and item.reference and item.unit != "%":
        factor, unit = PERCENT / abs(item.reference), "%"
    sign = "" if distance else "+"
    spread = "U unknown" if uncertainty is None else f"± {factor * uncertainty:.2g}"
    return " ".join(f"{factor * error:{sign}.3g} {spread} {unit}".split())
