"""When an element is too stiff for a nearly incompressible material: a warning or a refusal (spec 5)."""

from __future__ import annotations

import warnings

from rheotwin.errors import RheotwinError
from rheotwin.materials import is_incompressible
from rheotwin.problem import Problem, ProblemBody

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


def warn_of_locking(body: ProblemBody, problem: Problem, order: int, formulation: str) -> None:
    """Refuse a Poisson ratio that the elements cannot follow at once, warn of one near it, now or in the long run."""
    if problem.dimension == 1 or problem.plane == "stress":
        return  # neither has a volume to keep
    for place, law, _ in body.laws:
        at_once = settled = INCOMPRESSIBLE
        if not is_incompressible(law):
            bulk, shear = law.channel("bulk"), law.channel("shear")
            at_once = _poisson(bulk.instantaneous, shear.instantaneous)
            settled = _poisson(bulk.equilibrium, shear.equilibrium)
        warning = locking_check(body.cell, order, formulation, at_once, place=place)
        if warning is None:
            late = min(settled, REFUSE_ABOVE)  # shear that relaxes makes a body incompressible only little by little
            warning = locking_check(body.cell, order, formulation, late, place=f"{place} in the long run")
        if warning is not None:
            warnings.warn(warning, stacklevel=2)


def _poisson(bulk: float, shear: float) -> float:
    """Return the Poisson ratio (3 K - 2 mu)/(2 (3 K + mu)); 0 where there is neither."""
    return (3.0 * bulk - 2.0 * shear) / (2.0 * (3.0 * bulk + shear)) if bulk or shear else 0.0
