"""Laws as written become those of the materials: constants, Poisson ratios, sliders, softening, friction."""

from typing import Any

import pytest

from rheotwin import materials
from rheotwin.scene import Scene
from tests.conftest import Data, faults_of, scene_with

ZERO = materials.Moduli(0.0, 0.0)
THREE = {"model": "three-element", "young": 3.0, "poisson": 0.2, "voigt_viscosity": 2.0, "series_viscosity": 40.0}
MAXWELL = {"model": "maxwell", "young": 3.0, "poisson": 0.2, "viscosity": 40.0}
SOFTENING = {"viscosity": 4.0, "from_stress": 0.5, "to_stress": 2.0}


def scene_of(spec: Data, units: Data | None = None) -> Scene:
    return scene_with({"laws.dough": spec, "units": units or {}, "gravity": []})


def law_of(*, written_in: Data | None = None, **spec: Any) -> Any:
    return scene_of(spec, written_in).law_for("block")


def require_close(found: Any, *expected: materials.Moduli) -> None:
    found = (found,) if isinstance(found, materials.Moduli) else found
    for one, other in zip(found, expected, strict=True):
        assert (one.lame, one.shear) == pytest.approx((other.lame, other.shear), rel=1e-13)


PAIRS: list[Data] = [
    # E = 300, nu = 0.35: lame = E nu / ((1 + nu)(1 - 2 nu)), shear = E / (2 (1 + nu)), bulk = E / (3 (1 - 2 nu))
    {"young": 300.0, "poisson": 0.35},
    {"lame": 105.0 / (1.35 * 0.3), "shear": 300.0 / 2.7},
    {"bulk": 300.0 / 0.9, "shear": 300.0 / 2.7},
]


@pytest.mark.parametrize("pair", PAIRS)
def test_each_pair_of_constants_and_a_viscosity_with_its_poisson_ratio(pair: Data) -> None:
    law = law_of(model="elastic", **pair)
    assert isinstance(law, materials.Elastic)
    require_close(law.spring, materials.Moduli(105.0 / (1.35 * 0.3), 300.0 / 2.7))
    law = law_of(model="voigt", **pair, viscosity=15.0)
    assert isinstance(law, materials.Voigt)
    require_close(law.dashpot, materials.Moduli.from_young(15.0, 0.35))


@pytest.mark.parametrize(
    ("viscosity", "expected"),
    [
        ({"viscosity": 500.0, "viscous_poisson": 0.25}, materials.Moduli.from_young(500.0, 0.25)),
        ({"viscosity": {"bulk": 900.0, "shear": 50.0}}, materials.Moduli.from_bulk(900.0, 50.0)),
        ({"viscosity": {"lame": 9.0, "shear": 5.0}}, materials.Moduli(9.0, 5.0)),
        ({"viscosity": {"young": 9.0}}, materials.Moduli.from_young(9.0, 0.35)),
    ],
)
def test_viscosity_with_its_own_poisson_ratio_or_constants(viscosity: Data, expected: materials.Moduli) -> None:
    law = law_of(model="maxwell", young=300.0, poisson=0.35, **viscosity)
    assert isinstance(law, materials.Maxwell)
    require_close(law.dashpot, expected)


def test_three_elements_and_chains_with_free_members() -> None:
    law = law_of(**THREE)
    assert type(law) is materials.ThreeElement
    expected = [materials.Moduli.from_young(value, 0.2) for value in (3.0, 2.0, 40.0)]
    require_close((law.spring, law.voigt_dashpot, law.series_dashpot), *expected)
    units = [{"young": 30.0, "viscosity": 20.0}, {"viscosity": 500.0}, {"young": 10.0, "poisson": 0.2}]
    law = law_of(model="generalized-voigt", poisson=0.35, units=units)
    assert isinstance(law, materials.GeneralizedVoigt)
    require_close(law.springs, materials.Moduli.from_young(30.0, 0.35), ZERO, materials.Moduli.from_young(10.0, 0.2))
    require_close(law.dashpots, materials.Moduli.from_young(20.0, 0.35), materials.Moduli.from_young(500.0, 0.35), ZERO)


@pytest.mark.parametrize(("more", "expected"), [({}, 0.2), ({"viscous_poisson": 0.1}, 0.1)])
def test_a_units_dashpot_follows_its_own_spring_first(more: Data, expected: float) -> None:
    unit = {"young": 30.0, "poisson": 0.2, "viscosity": 20.0}
    law = law_of(model="generalized-voigt", poisson=0.35, units=[unit], **more)
    require_close(law.dashpots, materials.Moduli.from_young(20.0, expected))


def test_generalized_maxwell_softening_and_friction() -> None:
    arm = {"bulk": 5.0, "shear": 2.0, "viscosity": {"lame": 1.0, "shear": 1.0}}
    units = [{"young": 30.0, "viscosity": 20.0}, arm]
    spec = {"poisson": 0.35, "viscous_poisson": 0.2, "equilibrium": {"bulk": 100.0, "shear": 10.0}, "viscosity": 3.0}
    law = law_of(model="generalized-maxwell", units=units, **spec)
    assert isinstance(law, materials.GeneralizedMaxwell)
    require_close(law.springs[1], materials.Moduli.from_bulk(5.0, 2.0))
    require_close(law.dashpots, materials.Moduli.from_young(20.0, 0.2), materials.Moduli(1.0, 1.0))
    require_close(
        (law.equilibrium, law.dashpot), materials.Moduli.from_bulk(100.0, 10.0), materials.Moduli.from_young(3.0, 0.2)
    )
    soft = law_of(**THREE, softening=SOFTENING)
    assert isinstance(soft, materials.SofteningThreeElement)
    assert (soft.softening, soft.slider) == (materials.Softening(4.0, 0.5, 2.0), None)
    crumb = law_of(**YIELDING, **STRETCHES, viscosity=0.5)
    assert (crumb.limit, crumb.viscosity) == (materials.CriticalStretch(0.1, 0.2, 10.0), 0.5)
    dense = law_of(**YIELDING, yield_stress="2 kPa", hardening_modulus=4.0)
    assert dense.limit == materials.VonMises(2000.0, 4.0)
    rough = law_of(**THREE, friction=0.25)
    assert isinstance(rough, materials.FrictionThreeElement) and rough.friction == 0.25


@pytest.mark.parametrize(("spec", "voigt"), [(THREE, 2.0), (MAXWELL, 0.0)])
def test_a_slider_on_either_law(spec: Data, voigt: float) -> None:
    assert type(law_of(**MAXWELL)) is materials.Maxwell
    law = law_of(**spec, slider={"least": 0.3, "most": 0.7})
    assert isinstance(law, materials.SliderThreeElement)
    assert law.slider == materials.Slider(natural=0.5, least=0.3, most=0.7)
    assert law.edge_constants == pytest.approx((3.0, voigt, 40.0))


def test_units_reach_their_numbers_and_a_scene_reads_back_what_it_writes() -> None:
    """kPa and ms: stresses times 1000, viscosities times 1; a share of length has no unit."""
    spec = {**THREE, "softening": SOFTENING, "slider": {"natural": 0.6}}
    law = law_of(written_in={"pressure": "kPa", "time": "ms"}, **spec)
    assert isinstance(law, materials.SofteningThreeElement)
    assert law.edge_constants == pytest.approx((3000.0, 2.0, 40.0))
    soft = law.softening
    assert (soft.viscosity, soft.from_stress, soft.to_stress) == pytest.approx((4.0, 500.0, 2000.0))
    assert law.slider == materials.Slider(0.6, 0.0, 1.0)
    scene = scene_of(spec)
    assert Scene.model_validate(scene.model_dump(mode="json")) == scene


YIELDING = {"model": "elastoplastic", "young": 3.0, "poisson": 0.2}
STRETCHES = {"critical_compression": 0.1, "critical_stretch": 0.2}
VOIGTS = {"model": "generalized-voigt"}
MAXWELLS = {"model": "generalized-maxwell"}


@pytest.mark.parametrize(
    ("spec", "place", "words"),
    [
        ({"model": "elastic", "young": 0.0, "poisson": 0.3}, "", "stiffness greater than 0"),
        ({"model": "voigt", "bulk": 3.0, "shear": 0.0, "viscosity": 2.0}, "", "give `viscous_poisson`"),
        ({**VOIGTS, "units": [{"young": 1.0}]}, "", "`poisson` in the law or in units.0"),
        ({**VOIGTS, "units": [{"viscosity": 1.0}]}, "", "`poisson` in the law or in units.0"),
        ({**VOIGTS, "poisson": 0.3, "units": [{}]}, "", "neither stiffness nor viscosity"),
        ({**VOIGTS, "units": []}, "units", "at least 1 entry"),
        ({**MAXWELLS, "poisson": 0.3, "units": [{"young": 1.0}]}, "", "a stiffness and a viscosity"),
        ({**MAXWELLS, "units": [{"bulk": 1, "shear": 1, "viscosity": 1}], "equilibrium": 2.0}, "", "give `poisson`"),
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
        (YIELDING, "", "needs a limit: `critical_compression` and `critical_stretch`, or `yield_stress`"),
        ({**YIELDING, "critical_compression": 0.1}, "", "needs a limit"),
        ({**YIELDING, **STRETCHES, "critical_compression": 1.0}, "critical_compression", "must be less than 1"),
        ({**YIELDING, **STRETCHES, "critical_stretch": -0.2}, "critical_stretch", "must be greater than 0"),
        ({**YIELDING, **STRETCHES, "yield_stress": 3.0}, "", "`yield_stress` and `critical_compression` exclude"),
        ({**YIELDING, **STRETCHES, "hardening_modulus": 3.0}, "", "`hardening_modulus` belongs to `yield_stress`"),
        ({**YIELDING, "poisson": 0.5, "yield_stress": 3.0}, "", "`poisson` must be less than 0.5"),
    ],
)
def test_what_cannot_be(spec: Data, place: str, words: str) -> None:
    found = faults_of({"laws.dough": spec})
    assert list(found) == [f"laws.dough.{place}" if place else "laws.dough"]
    assert words in next(iter(found.values()))
