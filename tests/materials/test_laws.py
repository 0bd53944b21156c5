"""Linear laws by their channels; laws that are not linear: their constants, what they refuse, who takes them."""

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem import FemSolver
from rheotwin.materials import (
    Channel,
    CriticalStretch,
    Elastic,
    Elastoplastic,
    FrictionThreeElement,
    GeneralizedMaxwell,
    GeneralizedVoigt,
    Law,
    Maxwell,
    Moduli,
    Modulus,
    Slider,
    SliderThreeElement,
    Softening,
    SofteningThreeElement,
    Tabulated,
    ThreeElement,
    Voigt,
    VonMises,
    complex_modulus,
    creep_function,
    equal_poisson,
    flow,
    relaxation_function,
)
from rheotwin.particles import TrussSolver
from rheotwin.particles.shear_volume import ShearVolumeSolver
from rheotwin.solver import ALL_LAWS, EDGE_LAWS, YIELDING_LAWS

ABSENT = Moduli.absent()
SPRING, C1, C2 = Moduli.from_young(30, 0.35), Moduli.from_young(20, 0.35), Moduli.from_young(500, 0.35)
LAWS: dict[str, Law] = {
    "elastic": Elastic(SPRING),
    "voigt": Voigt(SPRING, C1),
    "maxwell": Maxwell(SPRING, C2),
    "three-element": ThreeElement(SPRING, C1, C2),
    "generalized-voigt": GeneralizedVoigt((SPRING, ABSENT), (C1, C2)),
    "generalized-maxwell": GeneralizedMaxwell((SPRING,), (C2,), equilibrium=SPRING, dashpot=C1),
}
MODULI: tuple[Modulus, ...] = ("lame", "shear", "bulk", "young", "area")


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12 * np.max(np.abs(expected)))


@pytest.mark.parametrize("name", LAWS)
def test_equal_poisson_makes_all_moduli_one_function(name: str) -> None:
    """r_X(t)/X does not depend on the modulus X when every part has the same Poisson ratio."""
    law, t, unit = LAWS[name], np.array([0.1, 3.0, 20.0]), Moduli.from_young(1, 0.35)
    assert isinstance(law, Law) and law.name == name
    with pytest.raises(FrozenInstanceError):
        law.parts = ()  # type: ignore[misc]
    assert equal_poisson(law) == pytest.approx(0.35, rel=1e-12)
    young = law.channel("young")
    for modulus in MODULI:
        channel = law.channel(modulus)
        close(channel.relaxation(t), young.relaxation(t) * unit.value(modulus))
        close(channel.viscosity, young.viscosity * unit.value(modulus))
        close(channel.creep(t), young.creep(t) / unit.value(modulus))


def test_channels_of_the_young_modulus_and_of_the_chain() -> None:
    t = np.array([0.0, 1.0, 9.0])
    close(relaxation_function(LAWS["maxwell"], t), 30 * np.exp(-30 * t / 500))
    close(creep_function(LAWS["three-element"], t), (1 - np.exp(-30 * t / 20)) / 30 + t / 500)
    close(creep_function(LAWS["generalized-voigt"], t), (1 - np.exp(-30 * t / 20)) / 30 + t / 500)
    close(relaxation_function(LAWS["generalized-maxwell"], t), 30 + 30 * np.exp(-30 * t / 500))
    omega = np.array([0.01, 1.0])
    close(complex_modulus(LAWS["voigt"], omega), 30 + 20j * omega)
    three, chain = LAWS["three-element"].channel("shear"), LAWS["generalized-voigt"].channel("shear")
    close((*three.strengths, *three.times, three.viscosity), (*chain.strengths, *chain.times, chain.viscosity))
    true, printed = ThreeElement(SPRING, C1, C2), ThreeElement(SPRING, C1, C2, seed_printed=True)
    assert (relaxation_function(printed, 5.0) / relaxation_function(true, 5.0)) == pytest.approx(1.04, rel=1e-12)


def test_lame_and_shear_that_relax_apart_vanish_or_are_absent() -> None:
    """The area element of the papers' split has the lame arm plus the shear arm; one arm for equal ratios."""
    apart, together = Maxwell(Moduli.from_young(300, 0.35), Moduli.from_young(500, 0.25)), LAWS["maxwell"]
    assert len((apart.channel("lame") + apart.channel("shear")).times) == 2
    arm, area = together.channel("lame") + together.channel("shear"), together.channel("area")
    assert (*arm.strengths, *arm.times) == pytest.approx((*area.strengths, *area.times), rel=1e-12)
    no_lame, auxetic = Moduli.from_young(3, 0), Moduli.from_young(3, -0.3)
    assert Maxwell(no_lame, C2).channel("lame").is_zero
    assert ThreeElement(no_lame, no_lame, no_lame).channel("lame").is_zero
    assert GeneralizedVoigt((no_lame, SPRING), (no_lame, C1)).channel("lame").is_zero
    channel = Maxwell(auxetic, auxetic).channel("lame")
    assert (*channel.strengths, *channel.times) == pytest.approx((auxetic.lame, 1), rel=1e-15)
    # The dough preset: a bulk spring beside a shear-only Maxwell arm; absent parts have no Poisson ratio.
    law = GeneralizedMaxwell((Moduli.from_bulk(0, 4),), (Moduli.from_bulk(0, 8),), equilibrium=Moduli.from_bulk(100, 0))
    assert (law.channel("bulk"), law.channel("shear")) == (Channel.elastic(100), Channel.maxwell(4, 8))
    assert equal_poisson(law) is equal_poisson(Elastic(ABSENT)) is None
    assert equal_poisson(ThreeElement(ABSENT, C1, C2)) == pytest.approx(0.35, rel=1e-12)
    assert ThreeElement(ABSENT, C1, C1).channel("young").viscosity == pytest.approx(10, rel=1e-14)


SOFT, DASHPOT, SERIES = (Moduli.from_young(value, 0.25) for value in (2.0, 1.0, 50.0))
SOLVERS = {solver.name: solver.capabilities for solver in (FemSolver, TrussSolver, ShearVolumeSolver)}
SOFTENING = Softening(viscosity=5.0, from_stress=0.5, to_stress=2.0)
TABLE = Tabulated((-0.5, 0.0, 0.1), (-2.0, 0.0, 1.0), 0.3, DASHPOT)
NONLINEAR = {
    "slider": SliderThreeElement(SOFT, DASHPOT, SERIES, Slider(0.5, 0.3, 0.7)),
    "softening": SofteningThreeElement(SOFT, DASHPOT, SERIES, SOFTENING),
    "friction": FrictionThreeElement(SOFT, DASHPOT, SERIES, 0.3),
}


@pytest.mark.parametrize("name", NONLINEAR)
def test_a_law_knows_its_edge_constants_and_that_it_is_not_linear(name: str) -> None:
    law = NONLINEAR[name]
    assert isinstance(law, Law) and law.edge_constants == pytest.approx((2.0, 1.0, 50.0), rel=1e-15)
    assert equal_poisson(law) == pytest.approx(0.25)
    with pytest.raises(RheotwinError, match=f"law three-element with {name}: .* no relaxation function: use the truss"):
        relaxation_function(law, 1.0)
    with pytest.raises(FrozenInstanceError):
        law.spring = ABSENT  # type: ignore[misc]


def test_every_law_is_a_capability_and_who_takes_which() -> None:
    assert {law.name for law in NONLINEAR.values()} | {Tabulated.name} == EDGE_LAWS
    assert not EDGE_LAWS & ALL_LAWS
    able = {name: EDGE_LAWS & capabilities.laws for name, capabilities in SOLVERS.items()}
    assert able == {
        "truss": EDGE_LAWS, "shear-volume": {"three-element with softening"}, "fem": EDGE_LAWS - {"tabulated"},
    }  # fmt: skip
    assert {name for name, able in SOLVERS.items() if able.laws >= YIELDING_LAWS} == {"fem"}
    assert {Elastoplastic.name} == YIELDING_LAWS


IMPOSSIBLE: dict[str, tuple[Callable[[], Any], str]] = {
    "no series dashpot": (lambda: SliderThreeElement(SOFT, DASHPOT, ABSENT, Slider()), "series dashpot is zero"),
    "nothing but the series dashpot": (lambda: FrictionThreeElement(ABSENT, ABSENT, SERIES, 0.1), "voigt dashpot is"),
    "no Voigt dashpot": (lambda: SofteningThreeElement(SOFT, ABSENT, SERIES, SOFTENING), "voigt dashpot is zero"),
    "stiffening": (
        lambda: SofteningThreeElement(SOFT, DASHPOT, SERIES, Softening(60.0, 0.5, 2.0)),
        "viscosity = 60 under force is above the series viscosity 50",
    ),
    "crossed stresses": (lambda: Softening(5.0, 2.0, 0.5), "from_stress = 2 and to_stress = 0.5 are no range"),
    "equal stresses": (lambda: Softening(5.0, 2.0, 2.0), "are no range"),
    "no viscosity": (lambda: Softening(0.0, 0.5, 2.0), "viscosity = 0 is not positive"),
    "softening not a number": (lambda: Softening(5.0, 0.5, float("nan")), "not a finite number"),
    "negative friction": (lambda: FrictionThreeElement(SOFT, DASHPOT, SERIES, -0.1), "friction = -0.1 is not"),
    "infinite friction": (lambda: FrictionThreeElement(SOFT, DASHPOT, SERIES, float("inf")), "friction = inf"),
    "crossed bounds": (lambda: Slider(0.5, 0.7, 0.3), "least = 0.7 and most = 0.3 are no bounds"),
    "natural outside": (lambda: Slider(0.2, 0.3, 0.7), "natural = 0.2 is not between"),
    "more than all": (lambda: Slider(0.5, 0.3, 1.1), "choose 0 <= least <= most <= 1"),
    "slider not a number": (lambda: Slider(float("nan"), 0.3, 0.7), "not a finite number"),
    "a relaxation function of a table": (
        lambda: TABLE.channel("young"),
        "law tabulated: its young stress is not linear in strain",
    ),
    "no spring in series": (lambda: Maxwell(ABSENT, C1), "law maxwell: the spring is zero and in series"),
    "no dashpot in series": (lambda: Maxwell(SPRING, ABSENT), "law maxwell: the dashpot is zero and in series"),
    "no linear series dashpot": (lambda: ThreeElement(SPRING, C1, ABSENT), "the series dashpot is zero"),
    "critical compression of all": (lambda: CriticalStretch(1.0, 0.1), "critical_compression = 1 is not between 0 and"),
    "no critical stretch": (lambda: CriticalStretch(0.1, 0.0), "critical_stretch = 0 is not positive"),
    "softening by hardening": (lambda: CriticalStretch(0.1, 0.1, -1.0), "hardening = -1 is not"),
    "no yield stress": (lambda: VonMises(0.0), "yield_stress = 0 is not positive"),
    "falling yield stress": (lambda: VonMises(1.0, -1.0), "hardening_modulus = -1 is not"),
    "a yielding fluid": (lambda: Elastoplastic(ABSENT, VonMises(1.0)), "its spring has no shear modulus"),
    "yield at constant volume": (
        lambda: Elastoplastic(Moduli.from_young(1.0, 0.5), VonMises(1.0)),
        "poisson = 0.5 leaves no bulk modulus",
    ),
    "negative overstress": (lambda: Elastoplastic(SPRING, VonMises(1.0), -1.0), "viscosity = -1 is not"),
    "a relaxation function of yield": (
        lambda: Elastoplastic(SPRING, VonMises(1.0)).channel("young"),
        "no relaxation function: use the solver fem",
    ),
    "unpaired": (lambda: GeneralizedVoigt((SPRING,), ()), "1 springs and 0 dashpots"),
    "no unit": (lambda: GeneralizedVoigt((), ()), "has no unit"),
    "an empty unit": (lambda: GeneralizedVoigt((ABSENT,), (ABSENT,)), "of unit 1 are both zero"),
    "no arm": (lambda: GeneralizedMaxwell((), ()), "law generalized-maxwell is empty"),
    "an arm without dashpot": (lambda: GeneralizedMaxwell((SPRING,), (ABSENT,)), "arm 1: the dashpot is zero"),
    "lame parts of both signs": (
        lambda: Maxwell(Moduli.from_young(3, -0.3), C2).channel("lame"),
        "choose the modulus bulk, shear or young",
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be(name: str) -> None:
    make, words = IMPOSSIBLE[name]
    with pytest.raises(RheotwinError, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_softening_channels_and_slopes_of_tables() -> None:
    """mu = E/(2 (1 + nu)) of every part, the softened dashpot as the series dashpot, thresholds over sqrt(3)."""
    series = Moduli.from_young(50.0, 0.4)
    law = SofteningThreeElement(SOFT, DASHPOT, series, SOFTENING)
    shear, young = law.softening_channel("shear"), law.softening_channel("young")
    assert (shear.spring, shear.voigt_viscosity) == pytest.approx((2.0 / 2.5, 1.0 / 2.5))
    assert (shear.series_viscosity, shear.soft_viscosity) == pytest.approx((50.0 / 2.8, 5.0 / 2.8))
    assert (shear.from_stress, shear.to_stress) == pytest.approx((0.5 / 3.0**0.5, 2.0 / 3.0**0.5))
    assert (young.series_viscosity, young.soft_viscosity, young.to_stress) == pytest.approx((50.0, 5.0, 2.0))
    assert 50.0 * math.exp(-young.exponent * 1.5) == pytest.approx(5.0)
    # up to the threshold it is the linear law; the most it can show is that law's stiffness and viscosity at once
    assert shear.unsoftened == law.unsoftened.channel("shear")
    assert shear.tangent == pytest.approx((shear.unsoftened.instantaneous, shear.unsoftened.viscosity))
    assert TABLE.slopes == pytest.approx((4.0, 10.0))
    assert (TABLE.parts[0].young, TABLE.parts[1]) == (pytest.approx(10.0), DASHPOT)


def test_moduli_harden_and_soften_e2_fold_at_most_and_jp_is_kept_in_its_bounds() -> None:
    """Particles-slave spec 2: exponent xi (1 - JP) of at most 2 both ways, JP in [0.05, 20]."""
    law = Elastoplastic(Moduli.from_young(100.0, 0.2), CriticalStretch(0.1, 0.1, 10.0))
    assert [flow.hardened(jp, 10.0) for jp in (0.05, 0.9, 1.0, 1.1, 20.0)] == pytest.approx(
        np.exp([2.0, 1.0, 0.0, -1.0, -2.0])
    )
    for stretch, limit, ends in ((0.2, 0.9, 0.05), (5.0, 1.1, 20.0)):
        jp, stretches = 1.0, np.ones(3)
        for _ in range(3):
            jp = flow.yielded(stretches := np.full(3, stretch), jp, law.constants, 0.0, False)
        assert jp == ends
        close(stretches, np.full(3, limit))
    stress, stiffest = np.zeros(3), np.zeros(3)
    flow.principal_stress(np.full(3, 1.05), 1.0, law.constants, False, stress)
    flow.principal_stress(np.full(3, 1.05), 0.05, law.constants, False, stiffest)
    close(stiffest, np.exp(2.0) * stress)
