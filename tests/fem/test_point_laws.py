"""Laws at a point: their slopes against differences, the flow rule's signs, steps that end on a checkpoint's bits."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem.finite.point import PointLaw
from rheotwin.fem.point_laws import PlasticPoint, large_strain_law, small_strain_law
from rheotwin.materials import (
    CriticalStretch,
    Elastoplastic,
    FrictionThreeElement,
    Law,
    Moduli,
    Slider,
    SliderThreeElement,
    Softening,
    SofteningThreeElement,
    VonMises,
)
from rheotwin.validation.checks.dough import SOFT, VON_MISES
from rheotwin.validation.checks.running import FLOOR, box_scene, path, run_to, side, start

PARTS = [Moduli.from_young(value, ratio) for value, ratio in ((30.0, 0.3), (20.0, 0.3), (500.0, 0.25))]
SPRING = PARTS[0]
SLIDER, SOFTENING = Slider(0.5, 0.45, 0.52), Softening(5.0, 0.2, 2.0)
LAWS: dict[str, Law] = {
    "softening": SofteningThreeElement(*PARTS, SOFTENING),
    "friction": FrictionThreeElement(*PARTS, 0.3),
    "slider": SliderThreeElement(*PARTS, SLIDER),
    "softening with slider": SofteningThreeElement(*PARTS, SOFTENING, SLIDER),
    "von Mises": Elastoplastic(SPRING, VonMises(0.5, 2.0)),
    "von Mises, viscous": Elastoplastic(SPRING, VonMises(0.5, 2.0), 3.0),
    "critical stretches": Elastoplastic(SPRING, CriticalStretch(0.02, 0.01)),
    "critical stretches, viscous": Elastoplastic(SPRING, CriticalStretch(0.02, 0.01), 3.0),
}
POINTS: list[tuple[str, PointLaw]] = [
    (f"{name} in {d}D", point) for name, law in LAWS.items() for d in (1, 3) if (point := small_strain_law(law, d))
]
POINTS += [
    (f"{name} at large strain", PlasticPoint(law, small=False, isochoric="Mises" in name))
    for name, law in LAWS.items()
    if isinstance(law, Elastoplastic)
]


@pytest.mark.parametrize("point", [point for _, point in POINTS], ids=[name for name, _ in POINTS])
def test_slopes_are_those_of_the_stress(point: PointLaw) -> None:
    """Along a path of three steps; a point at a kink has two slopes, so one in ten may be off."""
    rng, count, line = np.random.default_rng(3), 40, "line=True" in repr(point) or "Uniaxial" in repr(point)
    strain, state = np.zeros((count, 6)), np.zeros((count, point.width))
    used = slice(0, 1 if line else 6)
    for _ in range(3):
        new = strain.copy()
        new[:, used] += 0.02 * rng.standard_normal((count, 6))[:, used]
        found = point.respond(new, strain, state, 0.05)
        for m in range(6)[used]:
            unit = 1e-6 * np.eye(6)[m]
            ends = [point.respond(new + sign * unit, strain, state, 0.05).stress for sign in (1, -1)]
            off = np.abs((ends[0] - ends[1]) / 2e-6 - found.modulus[:, :, m])[:, used].max(axis=1)
            assert np.quantile(off, 0.9) < 1e-6 * np.abs(found.modulus).max()
        strain, state = new, found.state


def test_a_step_gives_what_it_took_to_springs_and_losses() -> None:
    """Trapezoidal work = stored + dissipated, to rounding where springs are linear; flow loses energy."""
    for name in ("softening", "friction", "von Mises", "von Mises, viscous"):
        point = small_strain_law(LAWS[name], 3)
        assert point is not None
        before, state = np.zeros((1, 6)), np.zeros((1, point.width))
        stress, lost = np.zeros((1, 6)), 0.0
        for step in range(1, 20):
            strain = step * np.array([[3e-3, -1e-3, 0.0, 2e-3, 0.0, 1e-3]])
            found = point.respond(strain, before, state, 0.05)
            work = 0.5 * float(np.sum((found.stress + stress) * (strain - before)))
            loss = float(point.dissipated(strain, before, found.state, state, 0.05)[0])
            gain = float((point.stored(strain, found.state) - point.stored(before, state))[0])
            assert work == pytest.approx(gain + loss, rel=1e-10, abs=1e-15) and loss > -1e-12
            before, state, stress, lost = strain, found.state, found.stress, lost + loss
        assert lost > 0.0, name


@pytest.mark.parametrize("law", [SOFT, VON_MISES], ids=["softening", "elastoplastic"])
def test_a_pressed_block_goes_on_from_a_checkpoint_bit_by_bit(law: Any) -> None:
    down = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.1]])
    press = {"press": {"shape": "plane", "center": [1.0, 1.0], "normal": [0.0, -1.0], "motion": down}}
    scene = box_scene(law, cells=[2, 1], supports=FLOOR, tools=press, contact={"law": "exact", "friction": 0.3})
    runs = [start(scene, stepper="quasi-static", step=0.1) for _ in range(2)]
    run_to(runs[0], 0.5)
    runs[1].restore(runs[0].save())
    for run in runs:
        run_to(run, 1.0)
    assert np.array_equal(runs[0].positions, runs[1].positions)
    assert runs[0].reactions()["tool.press"][1] > 0.0


@pytest.mark.parametrize("law", [SOFT, VON_MISES], ids=["softening", "elastoplastic"])
def test_every_linear_solver_takes_laws_that_soften_or_yield(law: Any) -> None:
    pushed = path([0.0, 1.0], [[0.0, 0.0, 0.0], [0.02, 0.0, -0.06]])
    supports = {"floor": side("bottom"), "top": side("top", motion=pushed)}
    scene = box_scene(law, cells=[5, 5, 5], cell="hex", supports=supports)
    runs = [start(scene, stepper="quasi-static", step=0.25, linear_solver=name) for name in ("splu", "amg")]
    for run in runs:
        run_to(run, 1.0)
    few, many = (run.statistics() for run in runs)
    assert few["linear_solver"] == "splu" and many["linear_solver"] == "amg" and many["linear_solver_iterations"] > 0
    np.testing.assert_allclose(runs[1].positions, runs[0].positions, atol=1e-9)
    force = runs[0].reactions()["support.top"]
    np.testing.assert_allclose(runs[1].reactions()["support.top"], force, atol=1e-7 * np.abs(force).max())


def test_what_laws_at_points_do_not_know() -> None:
    scene = box_scene(SOFT, cells=[1, 1], supports={"left": side("left")})
    for options, words in (
        ({"stepper": "rk4"}, '"rk4" knows laws with a relaxation function only'),
        ({"stepper": "static"}, '"static" knows laws with'),
        ({"formulation": "taylor-hood"}, 'know "displacement" only'),
        ({"split": "lame"}, 'know "bulk-shear" only'),
    ):
        with pytest.raises(RheotwinError, match=words):
            start(scene, **options)
    with pytest.raises(RheotwinError, match="its dashpots know small strain only"):
        large_strain_law(LAWS["friction"], small=False, rigid=False)
    crumb = {"model": "elastoplastic", "young": 1.0, "poisson": 0.2, "critical_compression": 0.1}
    scene = box_scene(crumb | {"critical_stretch": 0.1}, cells=[1, 1], supports={"left": side("left")})
    with pytest.raises(RheotwinError, match="takes the pressure from the law, which here yields by it"):
        start(scene, stepper="quasi-static", kinematics="total-lagrangian", formulation="taylor-hood")
