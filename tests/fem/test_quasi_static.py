"""Without inertia: forces of the papers' pressing scene, exact for straight motions, blind to the mass; and statics."""

import numpy as np
import pytest

from rheotwin.validation.checks.running import EQUAL_RATIO, HELD, Data, box_scene, path, pull, run_to, side, start
from rheotwin.validation.checks.scenes import press_scene


def test_forces_do_not_alternate_and_velocity_is_that_of_the_step() -> None:
    """The bar starts at full speed: without inertia the velocity alternates 2 v, 0, 2 v, but no force may."""
    simulation, forces = start(press_scene(EQUAL_RATIO["three-element"]), step=0.1), []
    for k in range(1, 21):
        run_to(simulation, 0.1 * k)
        forces.append(simulation.reactions()["tool.bar"][1])
    curvature = np.diff(forces, 2)
    assert np.all(curvature < 0) and np.abs(curvature).max() < 0.01 * np.abs(np.diff(forces)).max()
    grip = {"grip": side("right", motion=path([0.0, 1.0, 2.0], [[0.0], [0.4], [0.4]]))}
    data = box_scene(EQUAL_RATIO["maxwell"], cells=[2], duration=2.0, supports=HELD | grip)
    simulation = start(data, step=0.25, stepper="quasi-static")
    for time, speed in ((1.0, 0.4), (2.0, 0.0)):
        run_to(simulation, time)
        np.testing.assert_allclose(simulation.velocities[:, 0], [0.0, speed / 2, speed], atol=1e-12)
    assert simulation.energy()["kinetic"] < 1e-12


def test_mass_does_not_matter_and_weight_does() -> None:
    results = []
    for mass in (1e-12, 30.0):
        simulation = start(press_scene(EQUAL_RATIO["three-element"], mass=mass), step=0.25, stepper="quasi-static")
        run_to(simulation, 15.0)
        results.append(simulation.positions)
    np.testing.assert_array_equal(*results)
    # A column under its own weight: stress rho g (H - y), here at the nodes of a line of linear elements.
    data = box_scene(EQUAL_RATIO["elastic"], size=[2.0], cells=[8], density=3.0, gravity=[-2.0], supports=HELD)
    simulation = run_to(start(data, step=0.5, stepper="quasi-static"), 1.0)
    y = np.linspace(0.0, 2.0, 9)
    expected = -3.0 * 2.0 / 300.0 * (2.0 * y - 0.5 * y**2)
    np.testing.assert_allclose(simulation.fields()["displacement"][:, 0], expected, atol=1e-13)
    assert simulation.reactions()["support.left"][0] == pytest.approx(-12.0, rel=1e-12)


def pulled_bar(law: str, duration: float) -> Data:
    return box_scene(
        EQUAL_RATIO[law], size=[4.0], cells=[3], section=2.0, duration=duration, supports=HELD, forces=pull(2.0)
    )


@pytest.mark.parametrize(
    ("law", "young"), [("elastic", 300.0), ("voigt", 300.0), ("generalized-voigt", 1 / (1 / 300 + 1 / 100 + 1 / 40))]
)
def test_static_bar_rests_at_its_long_term_modulus(law: str, young: float) -> None:
    """u = F L/(E_inf A), at once and for ever; springs in series add their compliances."""
    simulation = start(pulled_bar(law, 10.0), stepper="static", step=1.0)
    for time in (1.0, 10.0):
        run_to(simulation, time)
        assert simulation.positions[-1, 0] - 4.0 == pytest.approx(2.0 * 4.0 / (young * 2.0), rel=1e-12)
        np.testing.assert_allclose(simulation.reactions()["support.left"], [2.0], rtol=1e-12)


def test_statics_are_the_limit_of_the_quasi_static_run() -> None:
    """After 100 of the longest retardation time (10 s) nothing is left to come."""
    ends = []
    for stepper, step in (("static", 1000.0), ("quasi-static", 5.0)):
        simulation = run_to(start(pulled_bar("generalized-voigt", 1000.0), stepper=stepper, step=step), 1000.0)
        ends.append(simulation.positions[-1, 0] - 4.0)
    assert ends[1] == pytest.approx(ends[0], rel=1e-9)
