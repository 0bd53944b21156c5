"""G1's continuum: one cell pressed at a constant rate against its closed form, release, volumes, what it refuses."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.validation.calibration.continuum import continuum_course
from rheotwin.validation.calibration.surface import Bodies
from rheotwin.validation.checks.running import Data, box_scene, path, problem_of, side

MU1, ETA1, ETA2, KAPPA, ZETA = 20.0, 5.0, 35.0, 80.0, 180.0
LAW: Data = {
    "model": "three-element",
    "bulk": KAPPA,
    "shear": MU1,
    "voigt_viscosity": {"bulk": 0.0, "shear": ETA1},
    "series_viscosity": {"bulk": ZETA, "shear": ETA2},
}


def pressed(way: float, *, cells: list[int], until: float | None = None, law: Data = LAW, **more: Any) -> Problem:
    """A cube of unit size between a floor and a punch on all of its top, both stuck to it."""
    punch = side("top", motion=path((0.0, 1.0), [[0.0] * 3, [0.0, 0.0, -way]])) | ({"until": until} if until else {})
    supports = {"floor": side("bottom"), "punch": punch}
    data = {"density": 1.0, "duration": 3.0, "supports": supports, "cell": "hex", **more}
    return problem_of(box_scene(law, cells=cells, size=[1.0, 1.0, 1.0], **data))


def test_a_cell_pressed_at_a_constant_rate_has_the_force_of_its_channels() -> None:
    """F/d = 4/3 (B eta1 + B^2 mu1 tau (1 - exp(-t/tau))) + zeta (1 - exp(-kappa t/zeta)), B = eta2/(eta1 + eta2)."""
    rate, times = 1e-4, np.array([0.2, 0.5, 1.0])
    share, tau = ETA2 / (ETA1 + ETA2), (ETA1 + ETA2) / MU1
    deviator = share * ETA1 + share**2 * MU1 * tau * (1.0 - np.exp(-times / tau))
    wanted = rate * (4.0 / 3.0 * deviator + ZETA * (1.0 - np.exp(-KAPPA * times / ZETA)))
    errors = []
    for step in (0.02, 0.01):
        course = continuum_course(pressed(rate, cells=[1, 1, 1]), times, step=step)
        errors.append(np.abs(course.forces["support.punch"][:, 2, 0] / wanted - 1.0).max())
    assert errors[0] < 0.02
    assert errors[1] == pytest.approx(0.5 * errors[0], rel=0.1)  # first order


def test_volume_comes_back_in_part_after_the_release() -> None:
    problem = pressed(0.2, cells=[3, 3, 3], until=1.5)
    course = continuum_course(problem, np.array([1.0, 1.5, 2.0, 3.0]))
    volumes = [float(Bodies(problem).sizes(place)[0][0]) for place in course.places]
    assert volumes[0] < volumes[1] < 1.0 and volumes[2] < 1.0
    height = course.places[:, 2, :, 0].max(axis=1)
    np.testing.assert_allclose(height[:2], 0.8, atol=1e-9)
    assert 0.8 < height[2] < height[3] < 1.0
    force = course.forces["support.punch"][:, 2, 0]
    assert force[0] > force[1] > 0.0 and force[2] == force[3] == 0.0
    floor = course.forces["support.floor"][:, 2, 0]
    np.testing.assert_allclose(floor, -force, atol=1e-9 * np.abs(force).max())  # there is no inertia


def sheared(options: Data, *, down: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Forces of punch and floor (times, 3) on a cell whose top moves sideways by its height in a second."""
    top = path((0.0, 0.2, 1.0), [[0.0, 0.0, 0.0], [0.0, 0.0, -down], [0.8, 0.0, -down]])
    weak: Data = LAW | {"voigt_viscosity": {"bulk": 0.0, "shear": 1e-6}, "bulk": 100.0, "shear": 1e-6}
    weak["series_viscosity"] = {"bulk": 1e9, "shear": 1e-3 if down == 0.0 else 35.0}
    if down:
        weak |= {"shear": 20.0}
    supports = {"floor": side("bottom"), "punch": side("top", motion=top)}
    problem = pressed(0.0, cells=[1, 1, 1], law=weak, supports=supports, solvers={"continuum": options}, density=1e-3)
    course = continuum_course(problem, np.array([0.8, 1.0]), step=0.01)
    return course.forces["support.punch"][..., 0], course.forces["support.floor"][..., 0]


def test_the_branch_of_large_strain_is_neo_hookean() -> None:
    """In simple shear gamma of a unit cell the traction is G gamma, whatever gamma."""
    punch, _ = sheared({"branch": 50.0})
    np.testing.assert_allclose(-punch[:, 0], [50.0 * 0.6, 50.0 * 0.8], rtol=2e-2)


def test_a_floor_with_friction_lets_slide_at_mu_times_what_presses_on_it() -> None:
    punch, floor = sheared({"friction": {"floor": 0.2}}, down=0.1)
    assert np.all(floor[:, 2] < -1.0)
    np.testing.assert_allclose(np.abs(floor[:, 0]), 0.2 * -floor[:, 2], rtol=2e-2)
    stuck, _ = sheared({}, down=0.1)
    assert abs(stuck[0, 0]) > 1.5 * abs(punch[0, 0])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"solvers": {"continuum": {"branches": 1.0}}}, "solvers.continuum.branches: unknown option"),
        ({"solvers": {"continuum": {"friction": {"flor": 1.0}}}}, "no support is named 'flor'"),
        (
            {"law": LAW | {"voigt_viscosity": {"bulk": 1.0, "shear": ETA1}}},
            "without a bulk viscosity",
        ),
        ({"law": {"model": "elastic", "bulk": 1.0, "shear": 1.0}}, "it takes a three-element law"),
        ({"cell": "tet"}, "one body of hexahedra between supports"),
    ],
)
def test_what_it_does_not_know_is_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        continuum_course(pressed(0.1, cells=[1, 1, 1], **changes), np.array([1.0]))
