"""Laws as written become the laws of the materials: constants, defaults of Poisson ratios, absent parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rheotwin.materials import (
    Elastic,
    GeneralizedMaxwell,
    GeneralizedVoigt,
    Law,
    Maxwell,
    Moduli,
    ThreeElement,
    Voigt,
)
from rheotwin.scene import Scene

ScenesFrom = Callable[[dict[str, Any]], Scene]
Faults = Callable[[dict[str, Any]], dict[str, str]]
SPRING = Moduli.from_young(300.0, 0.35)


@pytest.fixture
def law_of(scene_with: ScenesFrom) -> Callable[..., Law]:
    def law(**spec: Any) -> Law:
        return scene_with({"laws.dough": spec}).law_for("block")

    return law


def close(found: Moduli, expected: Moduli) -> bool:
    return (found.lame, found.shear) == pytest.approx((expected.lame, expected.shear), rel=1e-13)


def test_elastic_from_each_pair_of_constants(law_of: Callable[..., Any]) -> None:
    # E = 300, nu = 0.35: lame = E nu / ((1 + nu)(1 - 2 nu)),
    # shear = E / (2 (1 + nu)), bulk = E / (3 (1 - 2 nu))
    lame, shear, bulk = 105.0 / (1.35 * 0.3), 300.0 / 2.7, 300.0 / 0.9
    for pair in (
        {"young": 300.0, "poisson": 0.35},
        {"lame": lame, "shear": shear},
        {"bulk": bulk, "shear": shear},
    ):
        law = law_of(model="elastic", **pair)
        assert isinstance(law, Elastic)
        assert close(law.spring, Moduli(lame, shear))


def test_viscosity_takes_the_springs_poisson_ratio(law_of: Callable[..., Any]) -> None:
    law = law_of(model="voigt", young=300.0, poisson=0.35, viscosity=15.0)
    assert isinstance(law, Voigt)
    assert close(law.dashpot, Moduli.from_young(15.0, 0.35))
    by_lame = law_of(model="voigt", lame=SPRING.lame, shear=SPRING.shear, viscosity=15.0)
    assert close(by_lame.dashpot, Moduli.from_young(15.0, 0.35))
    by_bulk = law_of(model="voigt", bulk=SPRING.bulk, shear=SPRING.shear, viscosity=15.0)
    assert close(by_bulk.dashpot, Moduli.from_young(15.0, 0.35))


def test_viscosity_with_its_own_poisson_ratio_or_constants(law_of: Callable[..., Any]) -> None:
    spring = {"model": "maxwell", "young": 300.0, "poisson": 0.35}
    law = law_of(**spring, viscosity=500.0, viscous_poisson=0.25)
    assert isinstance(law, Maxwell)
    assert close(law.dashpot, Moduli.from_young(500.0, 0.25))
    assert close(law_of(**spring, viscosity={"bulk": 900.0, "shear": 50.0}).dashpot, Moduli.from_bulk(900.0, 50.0))
    assert close(law_of(**spring, viscosity={"lame": 9.0, "shear": 5.0}).dashpot, Moduli(9.0, 5.0))
    assert close(law_of(**spring, viscosity={"young": 9.0}).dashpot, Moduli.from_young(9.0, 0.35))


def test_three_element(scene_with: ScenesFrom) -> None:
    law = scene_with({}).law_for("block")
    assert isinstance(law, ThreeElement)
    assert close(law.spring, Moduli.from_young(30.0, 0.35))
    assert close(law.voigt_dashpot, Moduli.from_young(20.0, 0.35))
    assert close(law.series_dashpot, Moduli.from_young(500.0, 0.35))


def test_generalized_voigt_with_free_members(law_of: Callable[..., Any]) -> None:
    units = [{"young": 30.0, "viscosity": 20.0}, {"viscosity": 500.0}, {"young": 10.0, "poisson": 0.2}]
    law = law_of(model="generalized-voigt", poisson=0.35, units=units)
    assert isinstance(law, GeneralizedVoigt)
    zero = Moduli(0.0, 0.0)
    expected_springs = [Moduli.from_young(30.0, 0.35), zero, Moduli.from_young(10.0, 0.2)]
    expected_dashpots = [Moduli.from_young(20.0, 0.35), Moduli.from_young(500.0, 0.35), zero]
    assert all(close(*pair) for pair in zip(law.springs, expected_springs, strict=True))
    assert all(close(*pair) for pair in zip(law.dashpots, expected_dashpots, strict=True))


def test_a_units_dashpot_follows_its_own_spring_first(law_of: Callable[..., Any]) -> None:
    unit = {"young": 30.0, "poisson": 0.2, "viscosity": 20.0}
    law = law_of(model="generalized-voigt", poisson=0.35, units=[unit])
    assert close(law.dashpots[0], Moduli.from_young(20.0, 0.2))
    law = law_of(model="generalized-voigt", poisson=0.35, viscous_poisson=0.1, units=[unit])
    assert close(law.dashpots[0], Moduli.from_young(20.0, 0.1))


def test_generalized_maxwell(law_of: Callable[..., Any]) -> None:
    law = law_of(
        model="generalized-maxwell",
        poisson=0.35,
        viscous_poisson=0.2,
        units=[
            {"young": 30.0, "viscosity": 20.0},
            {"bulk": 5.0, "shear": 2.0, "viscosity": {"lame": 1.0, "shear": 1.0}},
        ],
        equilibrium={"bulk": 100.0, "shear": 10.0},
        viscosity=3.0,
    )
    assert isinstance(law, GeneralizedMaxwell)
    assert close(law.springs[1], Moduli.from_bulk(5.0, 2.0))
    assert close(law.dashpots[0], Moduli.from_young(20.0, 0.2))
    assert close(law.dashpots[1], Moduli(1.0, 1.0))
    assert law.equilibrium is not None and close(law.equilibrium, Moduli.from_bulk(100.0, 10.0))
    assert law.dashpot is not None and close(law.dashpot, Moduli.from_young(3.0, 0.2))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"model": "elastic", "young": 0.0, "poisson": 0.3}, "stiffness greater than 0"),
        ({"model": "voigt", "bulk": 3.0, "shear": 0.0, "viscosity": 2.0}, "give `viscous_poisson`"),
        ({"model": "generalized-voigt", "units": [{"young": 1.0}]}, "`poisson` in the law or in units.0"),
        ({"model": "generalized-voigt", "units": [{"viscosity": 1.0}]}, "`poisson` in the law or in units.0"),
        ({"model": "generalized-voigt", "poisson": 0.3, "units": [{}]}, "neither stiffness nor viscosity"),
        (
            {"model": "generalized-maxwell", "poisson": 0.3, "units": [{"young": 1.0}]},
            "a stiffness and a viscosity",
        ),
        (
            {
                "model": "generalized-maxwell",
                "units": [{"bulk": 1.0, "shear": 1.0, "viscosity": 1.0}],
                "equilibrium": 2.0,
            },
            "give `poisson`",
        ),
    ],
)
def test_incomplete_laws(spec: dict[str, Any], words: str, faults_of: Faults) -> None:
    found = faults_of({"laws.dough": spec})
    assert list(found) == ["laws.dough"]
    assert words in found["laws.dough"]


def test_no_units_of_a_generalized_law(faults_of: Faults) -> None:
    assert (
        "at least 1 entry" in faults_of({"laws.dough": {"model": "generalized-voigt", "units": []}})["laws.dough.units"]
    )
