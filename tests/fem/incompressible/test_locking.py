"""The rule of A8: linear displacement elements warn above nu = .45 and are refused above .499."""

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem.incompressible import FORMULATIONS, locking_check

CELLS = pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])


@CELLS
@pytest.mark.parametrize("poisson", [0.46, 0.499])
def test_linear_elements_warn(cell: str, poisson: float) -> None:
    warning = locking_check(cell, 1, "displacement", poisson, place="laws.dough.poisson")
    assert warning is not None
    assert warning.startswith(f"laws.dough.poisson: linear {cell} cells are too stiff at {poisson}")


@CELLS
def test_linear_elements_near_one_half_are_refused_with_a_formulation_that_exists(cell: str) -> None:
    with pytest.raises(RheotwinError, match=r"laws.dough.poisson: 0.4995 locks linear") as caught:
        locking_check(cell, 1, "displacement", 0.4995, place="laws.dough.poisson")
    advised = str(caught.value).split('formulation = "')[1].split('"')[0]
    assert cell in FORMULATIONS[advised]


@pytest.mark.parametrize(
    ("cell", "order", "formulation", "poisson"),
    [
        ("triangle", 1, "displacement", 0.45),
        ("triangle", 2, "displacement", 0.4995),
        ("triangle", 2, "taylor-hood", 0.4999999),
        ("quad", 1, "b-bar", 0.5),
        ("line", 1, "displacement", 0.5),
    ],
)
def test_what_does_not_lock_passes(cell: str, order: int, formulation: str, poisson: float) -> None:
    assert locking_check(cell, order, formulation, poisson) is None


def test_incompressible_displacements_and_the_seed_mode() -> None:
    with pytest.raises(RheotwinError, match="needs a pressure space"):
        locking_check("triangle", 2, "displacement", 0.5)
    warning = locking_check("triangle", 1, "element", 0.3)
    assert warning is not None and "per node or per cell" in warning
