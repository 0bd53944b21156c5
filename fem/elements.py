"""Which scikit-fem element stands for a cell at an order, and which quadrature integrates its stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from skfem import (
    ElementHex1,
    ElementHex2,
    ElementLineP1,
    ElementLineP2,
    ElementQuad1,
    ElementQuad2,
    ElementTetP1,
    ElementTetP2,
    ElementTriP1,
    ElementTriP2,
)

Order = Literal[1, 2]


@dataclass(frozen=True)
class ElementChoice:
    """A scalar element with the quadrature orders of its stiffness and of its mass."""

    element: Any
    stiffness_order: int
    mass_order: int


ELEMENTS: dict[tuple[str, int], ElementChoice] = {
    ("line", 1): ElementChoice(ElementLineP1(), 0, 2),
    ("triangle", 1): ElementChoice(ElementTriP1(), 0, 2),
    ("tet", 1): ElementChoice(ElementTetP1(), 0, 2),
    ("quad", 1): ElementChoice(ElementQuad1(), 3, 5),
    ("hex", 1): ElementChoice(ElementHex1(), 3, 5),
    ("line", 2): ElementChoice(ElementLineP2(), 2, 4),
    ("triangle", 2): ElementChoice(ElementTriP2(), 2, 4),
    ("tet", 2): ElementChoice(ElementTetP2(), 2, 4),
    ("quad", 2): ElementChoice(ElementQuad2(), 5, 7),
    ("hex", 2): ElementChoice(ElementHex2(), 5, 7),
}
"""Per cell kind and order; linear simplices need one point (order 0), squares and cubes full Gauss integration."""

RING_EXTRA = 2
"""Quadrature orders to add where strains are divided by the radius (axisymmetric bodies)."""
