"""Sliders, softening and friction of a scene's laws: which law they make, units, faults at their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rheotwin.materials import (
    FrictionThreeElement,
    Law,
    Maxwell,
    Slider,
    SliderThreeElement,
    Softening,
    SofteningThreeElement,
    ThreeElement,
)
from rheotwin.scene import Scene, scene_from_data

THREE = {"model": "three-element", "young": 3.0, "poisson": 0.2, "voigt_viscosity": 2.0, "series_viscosity": 40.0}
MAXWELL = {"model": "maxwell", "young": 3.0, "poisson": 0.2, "viscosity": 40.0}
SOFTENING = {"viscosity": 4.0, "from_stress": 0.5, "to_stress": 2.0}


@pytest.fixture
def law_of(scene_with: Callable[..., Scene]) -> Callable[..., Law]:
    def law(units: dict[str, str] | None = None, **spec: Any) -> Law:
        return scene_with({"laws.dough": spec} | ({} if units is None else {"units": units})).law_for("block")

    return law


def test_without_them_a_law_is_linear(law_of: Callable[..., Law]) -> None:
    assert type(law_of(**THREE)) is ThreeElement
    assert type(law_of(**MAXWELL)) is Maxwell


def test_a_slider_on_either_law(law_of: Callable[..., Law]) -> None:
    for spec, voigt in ((THREE, 2.0), (MAXWELL, 0.0)):
        law = law_of(**spec, slider={"least": 0.3, "most": 0.7})
        assert isinstance(law, SliderThreeElement)
        assert law.slider == Slider(natural=0.5, least=0.3, most=0.7)
        assert law.edge_constants == pytest.approx((3.0, voigt, 40.0))


def test_softening_and_friction(law_of: Callable[..., Law]) -> None:
    soft = law_of(**THREE, softening=SOFTENING)
    assert isinstance(soft, SofteningThreeElement)
    assert (soft.softening, soft.slider) == (Softening(4.0, 0.5, 2.0), None)
    both = law_of(**THREE, softening=SOFTENING, slider={"natural": 0.6})
    assert isinstance(both, SofteningThreeElement)
    assert both.slider == Slider(0.6, 0.0, 1.0)
    rough = law_of(**THREE, friction=0.25)
    assert isinstance(rough, FrictionThreeElement)
    assert rough.friction == 0.25


def test_units_reach_their_numbers(law_of: Callable[..., Law], edited: Callable[..., Any]) -> None:
    """kPa and ms: stresses times 1000, viscosities times 1; a share of length has no unit."""
    scene = edited({"laws.dough": {**THREE, "softening": SOFTENING, "slider": {"natural": 0.6}}})
    scene["units"] = {"pressure": "kPa", "time": "ms"}
    law = scene_from_data(scene).law_for("block")
    assert isinstance(law, SofteningThreeElement)
    assert law.edge_constants == pytest.approx((3000.0, 2.0, 40.0))
    assert (law.softening.viscosity, law.softening.from_stress, law.softening.to_stress) == pytest.approx(
        (4.0, 500.0, 2000.0)
    )
    assert law.slider == Slider(0.6)


@pytest.mark.parametrize(
    ("spec", "place", "words"),
    [
        ({**THREE, "slider": {"least": 0.7, "most": 0.3}}, "slider", "`least` 0.7 is above `most` 0.3"),
        ({**THREE, "slider": {"natural": 0.2, "least": 0.3}}, "slider", "`natural` 0.2 is outside the bounds 0.3 to 1"),
        ({**THREE, "slider": {"most": 1.2}}, "slider.most", "must be at most 1, got 1.2"),
        ({**MAXWELL, "slider": {"natural": 0.0}}, "slider.natural", "must be greater than 0"),
        ({**THREE, "slider": {"leest": 0.3}}, "slider.leest", "did you mean 'least'?"),
        ({**THREE, "softening": {**SOFTENING, "to_stress": 0.5}}, "softening", "`to_stress` 0.5 must be greater than"),
        ({**THREE, "softening": {**SOFTENING, "viscosity": 50.0}}, "", "`softening.viscosity` 50.0 is above the"),
        ({**THREE, "softening": {**SOFTENING, "viscosity": 0.0}}, "softening.viscosity", "must be greater than 0"),
        ({**THREE, "voigt_viscosity": 0.0, "softening": SOFTENING}, "", "`voigt_viscosity` must be greater than 0"),
        ({**THREE, "young": 0.0, "voigt_viscosity": 0.0}, "", "`voigt_viscosity` must be greater than 0"),
        ({**THREE, "friction": -1.0}, "friction", "must be at least 0, got -1.0"),
        ({**THREE, "friction": 0.0, "softening": SOFTENING}, "", "`friction` and `softening` exclude each other"),
        ({**THREE, "friction": 1.0, "slider": {}}, "", "`friction` and `slider` exclude each other"),
        ({**THREE, "seed_printed": True, "slider": {}}, "", "`seed_printed` and `slider` exclude each other"),
        ({**MAXWELL, "friction": 1.0}, "friction", "unknown key"),
    ],
)
def test_what_cannot_be(spec: dict[str, Any], place: str, words: str, faults_of: Callable[..., dict[str, str]]) -> None:
    found = faults_of({"laws.dough": spec})
    assert list(found) == [f"laws.dough.{place}" if place else "laws.dough"]
    assert words in next(iter(found.values()))


def test_a_scene_reads_back_what_it_writes(scene_with: Callable[..., Scene]) -> None:
    scene = scene_with({"laws.dough": {**THREE, "softening": SOFTENING, "slider": {"natural": 0.6}}})
    assert Scene.model_validate(scene.model_dump(mode="json")) == scene
