"""Laws that are not linear: their constants, what they refuse, who takes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem import FemSolver
from rheotwin.materials import (
    FrictionThreeElement,
    Law,
    Moduli,
    Slider,
    SliderThreeElement,
    Softening,
    SofteningThreeElement,
    Tabulated,
    equal_poisson,
    relaxation_function,
)
from rheotwin.particles import TrussSolver
from rheotwin.particles.shear_volume import ShearVolumeSolver
from rheotwin.solver import ALL_LAWS, EDGE_LAWS

SPRING, DASHPOT, SERIES = (Moduli.from_young(value, 0.25) for value in (2.0, 1.0, 50.0))
ABSENT = Moduli.absent()
SOLVERS = {solver.name: solver.capabilities for solver in (FemSolver, TrussSolver, ShearVolumeSolver)}
SOFTENING = Softening(viscosity=5.0, from_stress=0.5, to_stress=2.0)
LAWS = {
    "slider": SliderThreeElement(SPRING, DASHPOT, SERIES, Slider(0.5, 0.3, 0.7)),
    "softening": SofteningThreeElement(SPRING, DASHPOT, SERIES, SOFTENING),
    "friction": FrictionThreeElement(SPRING, DASHPOT, SERIES, 0.3),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_law_knows_its_edge_constants_and_that_it_is_not_linear(name: str) -> None:
    law = LAWS[name]
    assert isinstance(law, Law)
    assert law.edge_constants == pytest.approx((2.0, 1.0, 50.0), rel=1e-15)
    assert equal_poisson(law) == pytest.approx(0.25)
    with pytest.raises(RheotwinError, match=f"law three-element with {name}: .* no relaxation function: use the truss"):
        relaxation_function(law, 1.0)
    with pytest.raises(FrozenInstanceError):
        law.spring = ABSENT  # type: ignore[misc]


def test_every_law_is_a_capability() -> None:
    assert {law.name for law in LAWS.values()} | {Tabulated.name} == EDGE_LAWS
    assert not EDGE_LAWS & ALL_LAWS


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no series dashpot": (lambda: SliderThreeElement(SPRING, DASHPOT, ABSENT, Slider()), "series dashpot is zero"),
    "nothing but the series dashpot": (lambda: FrictionThreeElement(ABSENT, ABSENT, SERIES, 0.1), "voigt dashpot is"),
    "softening without Voigt dashpot": (
        lambda: SofteningThreeElement(SPRING, ABSENT, SERIES, SOFTENING),
        "voigt dashpot is zero",
    ),
    "stiffening": (
        lambda: SofteningThreeElement(SPRING, DASHPOT, SERIES, Softening(60.0, 0.5, 2.0)),
        "viscosity = 60 under force is above the series viscosity 50",
    ),
    "crossed stresses": (lambda: Softening(5.0, 2.0, 0.5), "from_stress = 2 and to_stress = 0.5 are no range"),
    "equal stresses": (lambda: Softening(5.0, 2.0, 2.0), "are no range"),
    "no viscosity": (lambda: Softening(0.0, 0.5, 2.0), "viscosity = 0 is not positive"),
    "softening not a number": (lambda: Softening(5.0, 0.5, float("nan")), "not a finite number"),
    "negative friction": (lambda: FrictionThreeElement(SPRING, DASHPOT, SERIES, -0.1), "friction = -0.1 is not"),
    "infinite friction": (lambda: FrictionThreeElement(SPRING, DASHPOT, SERIES, float("inf")), "friction = inf"),
    "crossed bounds": (lambda: Slider(0.5, 0.7, 0.3), "least = 0.7 and most = 0.3 are no bounds"),
    "natural outside": (lambda: Slider(0.2, 0.3, 0.7), "natural = 0.2 is not between"),
    "more than all": (lambda: Slider(0.5, 0.3, 1.1), "choose 0 <= least <= most <= 1"),
    "slider not a number": (lambda: Slider(float("nan"), 0.3, 0.7), "not a finite number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(RheotwinError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_softening_turns_into_shear_with_each_parts_poisson_ratio() -> None:
    """mu = E/(2 (1 + nu)) of every part, the softened dashpot as the series dashpot, thresholds over sqrt(3)."""
    series = Moduli.from_young(50.0, 0.4)
    law = SofteningThreeElement(SPRING, DASHPOT, series, SOFTENING)
    shear, young = law.softening_channel("shear"), law.softening_channel("young")
    assert (shear.spring, shear.voigt_viscosity) == pytest.approx((2.0 / 2.5, 1.0 / 2.5))
    assert (shear.series_viscosity, shear.soft_viscosity) == pytest.approx((50.0 / 2.8, 5.0 / 2.8))
    assert (shear.from_stress, shear.to_stress) == pytest.approx((0.5 / 3.0**0.5, 2.0 / 3.0**0.5))
    assert (young.series_viscosity, young.soft_viscosity, young.to_stress) == pytest.approx((50.0, 5.0, 2.0))
    assert 50.0 * math.exp(-young.exponent * 1.5) == pytest.approx(5.0)
    # up to the threshold it is the linear law; the most it can show is that law's stiffness and viscosity at once
    assert shear.unsoftened == law.unsoftened.channel("shear")
    assert shear.tangent == pytest.approx((shear.unsoftened.instantaneous, shear.unsoftened.viscosity))


def test_a_table_has_its_steepest_slope_and_no_relaxation_function() -> None:
    law = Tabulated((-0.5, 0.0, 0.1), (-2.0, 0.0, 1.0), 0.3, DASHPOT)
    assert law.slopes == pytest.approx((4.0, 10.0))
    assert (law.parts[0].young, law.parts[1]) == (pytest.approx(10.0), DASHPOT)
    with pytest.raises(RheotwinError, match="law tabulated: its young stress is not linear in strain"):
        law.channel("young")


def test_who_takes_which_of_these_laws() -> None:
    able = {name: EDGE_LAWS & capabilities.laws for name, capabilities in SOLVERS.items()}
    assert able == {"truss": EDGE_LAWS, "shear-volume": {"three-element with softening"}, "fem": set()}
