"""Cook's membrane as checks: one per formulation, the tip displacement on four meshes (R21, A8, T6)."""

from __future__ import annotations

from functools import partial

from rheotwin.validation.checks.check import Curve, Measurement, check
from rheotwin.validation.checks.cook import (
    CELLS,
    COOK_REFERENCE,
    LIMIT,
    SIZES,
    cook_displacement,
    cook_mixed,
    identity,
    slug,
)


def membrane(row: str) -> Measurement:
    """Compute one row of the table."""
    sizes = [n for n, reference in zip(SIZES, COOK_REFERENCE[row], strict=True) if reference is not None]
    tips = [cook_mixed(n, *CELLS[row]) if row in CELLS else cook_displacement(n, 1, 0.4999) for n in sizes]
    curve = Curve("membrane", row, tuple(1.0 / n for n in sizes), tuple(abs(tip / LIMIT - 1.0) for tip in tips), None)
    return Measurement({f"n = {n}": tip for n, tip in zip(sizes, tips, strict=True)}, curves=(curve,))


CHECKS = tuple(
    check(identity(row), partial(membrane, row), name=f"membrane-{slug(row)}", covers=("T6", "A8"))
    for row in COOK_REFERENCE
)
