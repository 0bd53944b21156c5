from collections.abc import Callable
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.materials import (
    Channel,
    Elastic,
    GeneralizedMaxwell,
    GeneralizedVoigt,
    Law,
    Maxwell,
    Moduli,
    Modulus,
    ThreeElement,
    Voigt,
    complex_modulus,
    creep_function,
    equal_poisson,
    relaxation_function,
)

SPRING, C1, C2 = Moduli.from_young(30, 0.35), Moduli.from_young(20, 0.35), Moduli.from_young(500, 0.35)
LAWS: dict[str, Law] = {
    "elastic": Elastic(SPRING),
    "voigt": Voigt(SPRING, C1),
    "maxwell": Maxwell(SPRING, C2),
    "three-element": ThreeElement(SPRING, C1, C2),
    "generalized-voigt": GeneralizedVoigt((SPRING, Moduli.absent()), (C1, C2)),
    "generalized-maxwell": GeneralizedMaxwell((SPRING,), (C2,), equilibrium=SPRING, dashpot=C1),
}
MODULI: tuple[Modulus, ...] = ("lame", "shear", "bulk", "young", "area")
Close = Callable[..., None]


@pytest.mark.parametrize("name", LAWS)
def test_every_law_has_its_word_and_is_frozen(name: str) -> None:
    law = LAWS[name]
    assert isinstance(law, Law)
    assert law.name == name
    with pytest.raises(FrozenInstanceError):
        law.parts = ()  # type: ignore[misc]


@pytest.mark.parametrize("name", LAWS)
def test_equal_poisson_makes_all_moduli_one_function(name: str, close: Close) -> None:
    """r_X(t)/X does not depend on the modulus X when every part has the same Poisson ratio."""
    t, unit = np.array([0.1, 3.0, 20.0]), Moduli.from_young(1, 0.35)
    assert equal_poisson(LAWS[name]) == pytest.approx(0.35, rel=1e-12)
    young = LAWS[name].channel("young")
    for modulus in MODULI:
        channel = LAWS[name].channel(modulus)
        close(channel.relaxation(t), young.relaxation(t) * unit.value(modulus))
        close(channel.viscosity, young.viscosity * unit.value(modulus))
        close(channel.creep(t), young.creep(t) / unit.value(modulus))


def test_channels_of_the_young_modulus(close: Close) -> None:
    t = np.array([0.0, 1.0, 9.0])
    close(relaxation_function(LAWS["maxwell"], t), 30 * np.exp(-30 * t / 500))
    close(creep_function(LAWS["three-element"], t), (1 - np.exp(-30 * t / 20)) / 30 + t / 500)
    close(creep_function(LAWS["generalized-voigt"], t), (1 - np.exp(-30 * t / 20)) / 30 + t / 500)
    close(relaxation_function(LAWS["generalized-maxwell"], t), 30 + 30 * np.exp(-30 * t / 500))
    omega = np.array([0.01, 1.0])
    close(complex_modulus(LAWS["voigt"], omega), 30 + 20j * omega)


def test_three_element_equals_its_voigt_chain(close: Close) -> None:
    three, chain = LAWS["three-element"].channel("shear"), LAWS["generalized-voigt"].channel("shear")
    close(three.strengths, chain.strengths)
    close(three.times, chain.times)
    close(three.viscosity, chain.viscosity)


def test_series_rule_per_lame_constant_is_not_the_tensor_series() -> None:
    """E19: E = 300, nu .35 in series with c = 500, nu .25: r_K(1), r_K(5) by lame rule and by bulk rule."""
    law = Maxwell(Moduli.from_young(300, 0.35), Moduli.from_young(500, 0.25))
    t = np.array([1.0, 5.0])
    lame_rule = relaxation_function(law, t, "lame") + 2 / 3 * relaxation_function(law, t, "shear")
    np.testing.assert_allclose(lame_rule, [113.4, 5.00], rtol=1e-3)
    np.testing.assert_allclose(relaxation_function(law, t, "bulk"), [122.6, 2.25], rtol=2e-3)
    bulk_spring, bulk_dashpot = 300 / 0.9, 500 / 1.5
    np.testing.assert_allclose(
        relaxation_function(law, t, "bulk"), bulk_spring * np.exp(-bulk_spring / bulk_dashpot * t), rtol=1e-9
    )
    assert equal_poisson(law) is None


def test_uniaxial_creep_with_unequal_poisson_ratios() -> None:
    """T4, R13: the times of the lame and shear channels are 1/a and 1/b of the closed form."""
    elastic, viscous = Moduli.from_young(300, 0.35), Moduli.from_young(500, 0.25)
    law = Maxwell(elastic, viscous)
    a, b = 1 / law.channel("lame").times[0], 1 / law.channel("shear").times[0]
    lame, shear = elastic.lame, elastic.shear
    q, s = lame * b + shear * a, 3 * lame * b + 2 * shear * a
    assert s / (3 * lame + 2 * shear) == pytest.approx(0.7201646, abs=5.1e-8)
    assert q * b / (shear * s) == pytest.approx(1 / 500, rel=1e-9)


def test_two_arms_when_lame_and_shear_relax_apart() -> None:
    """The area element of the papers' split has the lame arm plus the shear arm; one arm for equal ratios."""
    apart = Maxwell(Moduli.from_young(300, 0.35), Moduli.from_young(500, 0.25))
    assert len((apart.channel("lame") + apart.channel("shear")).times) == 2
    together = LAWS["maxwell"].channel("lame") + LAWS["maxwell"].channel("shear")
    area = LAWS["maxwell"].channel("area")
    assert together.strengths == pytest.approx(area.strengths, rel=1e-12)
    assert together.times == pytest.approx(area.times, rel=1e-12)


def test_zero_and_negative_lame_components() -> None:
    no_lame, auxetic = Moduli.from_young(3, 0), Moduli.from_young(3, -0.3)
    assert Maxwell(no_lame, C2).channel("lame").is_zero
    assert ThreeElement(no_lame, no_lame, no_lame).channel("lame").is_zero
    assert GeneralizedVoigt((no_lame, SPRING), (no_lame, C1)).channel("lame").is_zero
    channel = Maxwell(auxetic, auxetic).channel("lame")
    assert channel.strengths == pytest.approx((auxetic.lame,), rel=1e-15)
    assert channel.times == pytest.approx((1,), rel=1e-15)
    with pytest.raises(RheotwinError, match="choose the modulus bulk, shear or young"):
        Maxwell(auxetic, C2).channel("lame")


def test_elastic_bulk_with_relaxing_shear() -> None:
    """The dough preset: a bulk spring beside a shear-only Maxwell arm."""
    law = GeneralizedMaxwell((Moduli.from_bulk(0, 4),), (Moduli.from_bulk(0, 8),), equilibrium=Moduli.from_bulk(100, 0))
    assert law.channel("bulk") == Channel.elastic(100)
    assert law.channel("shear") == Channel.maxwell(4, 8)
    assert equal_poisson(law) is None


def test_absent_parts_do_not_count_for_the_poisson_ratio() -> None:
    assert equal_poisson(ThreeElement(Moduli.absent(), C1, C2)) == pytest.approx(0.35, rel=1e-12)
    assert equal_poisson(Elastic(Moduli.absent())) is None
    assert ThreeElement(Moduli.absent(), C1, C1).channel("young").viscosity == pytest.approx(10, rel=1e-14)


def test_printed_gain_is_offered_by_the_law() -> None:
    true, printed = ThreeElement(SPRING, C1, C2), ThreeElement(SPRING, C1, C2, seed_printed=True)
    ratio = relaxation_function(printed, 5.0) / relaxation_function(true, 5.0)
    assert ratio == pytest.approx(1.04, rel=1e-12)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Maxwell(Moduli.absent(), C1), "law maxwell: the spring is zero and in series"),
        (lambda: Maxwell(SPRING, Moduli.absent()), "law maxwell: the dashpot is zero and in series"),
        (lambda: ThreeElement(SPRING, C1, Moduli.absent()), "the series dashpot is zero"),
        (lambda: GeneralizedVoigt((SPRING,), ()), "1 springs and 0 dashpots"),
        (lambda: GeneralizedVoigt((), ()), "has no unit"),
        (lambda: GeneralizedVoigt((Moduli.absent(),), (Moduli.absent(),)), "of unit 1 are both zero"),
        (lambda: GeneralizedMaxwell((), ()), "law generalized-maxwell is empty"),
        (lambda: GeneralizedMaxwell((SPRING,), (Moduli.absent(),)), "arm 1: the dashpot is zero"),
    ],
)
def test_refused_laws(build: Callable[[], Law], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        build()
