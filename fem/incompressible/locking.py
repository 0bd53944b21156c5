"""When an element is too stiff for a nearly incompressible material: a warning or a refusal (spec 5)."""

from __future__ import annotations

from rheotwin.errors import RheotwinError

WARN_ABOVE = 0.45
"""Cook's membrane with linear triangles at nu = .45: -13 %, -5 %, -2 % on 8, 16, 32 squares a side."""
REFUSE_ABOVE = 0.499
"""The same at nu = .499: -40 %, -29 %, -17 %; refinement no longer helps."""
INCOMPRESSIBLE = 0.5
"""No displacement element can hold its volume exactly."""

REMEDY = {
    "triangle": "taylor-hood or stabilized",
    "tet": "taylor-hood or stabilized",
    "quad": "b-bar or taylor-hood",
    "hex": "b-bar or taylor-hood",
}


def locking_check(cell: str, order: int, formulation: str, poisson: float, *, place: str = "poisson") -> str | None:
    """Return a warning for a Poisson ratio near the limit of the element, or None; refuse beyond the limit.

    `formulation` is "displacement" or one of `FORMULATIONS`; `place` says where the ratio was given. Bars (line
    cells) and plane stress have no volume constraint: do not ask for them.
    """
    if cell not in REMEDY:
        return None
    if formulation == "element":
        return (
            f"{place}: one volume constraint per {cell} (the papers' mode) locks: displacements stay far too small "
            "on any mesh; use the constraints per node or per cell"
        )
    if formulation != "displacement":
        return None
    remedy = f'use formulation = "{REMEDY[cell].split()[0]}" (or {REMEDY[cell].split()[-1]})'
    if poisson >= INCOMPRESSIBLE:
        raise RheotwinError(f"{place}: {poisson:g} is incompressible, which needs a pressure space: {remedy}")
    if order > 1:
        return None
    if poisson > REFUSE_ABOVE:
        raise RheotwinError(f"{place}: {poisson:g} locks linear {cell} cells, their answer would be wrong: {remedy}")
    if poisson > WARN_ABOVE:
        return f"{place}: linear {cell} cells are too stiff at {poisson:g} (above {WARN_ABOVE:g}): {remedy}"
    return None
