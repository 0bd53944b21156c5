"""A model against a measurement, in two statements that are never one word: the verdict, and whether it has moved.

    E = computed - measured,      U^2 = U_data^2 + U_mesh^2        (after ASME V&V 20)

U_data is the tolerance of the measurement. U_mesh is that of the finest mesh by refinement (`metrics.fits`), widened as
`fits.BIASED` says; it is left out, in words, where there is one mesh only. Of a quantity that is a distance to the
data ("at most") E is the distance itself, and U_data how far the data lie from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, isfinite
from typing import Literal

from rheotwin.validation.comparison import Words
from rheotwin.validation.references.catalogue import Quantity
from rheotwin.validation.verdict import WIDE

Baseline = Literal["unchanged", "moved"]

NOTHING = 1e-6
"""Share of the data's uncertainty below which that of a mesh is shown as 0 [1]."""
PERCENT = 100.0
MEANING = (
    "E is computed less measured, of the measured value; of a percentage in points; of a distance to the data the "
    "distance itself. U is the uncertainty of the data and, where several meshes were computed, of the finest one."
)
"""What stands above a table of these."""


@dataclass(frozen=True)
class Against:
    """What a measurement says of a computed value: numbers in the unit of the quantity, None where nobody knows them.

    `said` is E with its U as "-3.9 ± 0.052 %" of the measured value, in points where that is a percentage itself, in
    its unit where E is a distance; `parts` is what U is made of, in the same unit.
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
    factor, unit = _shown(item, distance)

    def said(number: float) -> str:
        return f"{factor * number if number > NOTHING * data else 0.0:.2g} {unit}".strip()

    parts = f"data {said(data)}" if data > 0.0 else "data without noise figures"
    return Against(
        _word(error, total, None if distance else WIDE * size),
        error,
        total,
        data if data > 0.0 else None,
        mesh,
        f"{factor * error:{'' if distance else '+'}.3g} ± {'?' if total is None else said(total)}",
        parts + ", mesh " + ("not estimated: one mesh" if mesh is None else said(mesh)),
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


def _shown(item: Quantity, distance: bool) -> tuple[float, str]:
    """Return by what E and U are multiplied to be shown, and their unit then: shares of the value where that can be."""
    if distance or not item.reference:
        return 1.0, item.unit
    return (1.0, "points") if item.unit == "%" else (PERCENT / abs(item.reference), "%")
