"""A record finds its place in a scene: upright, of its size, moved as a rigid body; what does not fit is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.validation.calibration.registration import TURNS, registered
from rheotwin.validation.checks.running import EQUAL_RATIO, box_scene, problem_of
from rheotwin.validation.experiments.metadata import Specimen
from rheotwin.validation.experiments.record import Course, ExperimentRecord, Frame

SIZE = np.array([0.05, 0.04, 0.03])


def body() -> Problem:
    return problem_of(box_scene(EQUAL_RATIO["voigt"], cells=[5, 4, 3], size=SIZE.tolist(), density=1.0))


def on_surface(count: int = 3000) -> Array:
    """Points (count, 3) [m] on the surface of the scene's body but its floor."""
    chance = np.random.default_rng(0)
    points = chance.uniform(size=(count, 3))
    axis, end = chance.integers(0, 3, count), chance.integers(0, 2, count)
    end[axis == 2] = 1
    points[np.arange(count), axis] = end
    return points * SIZE


def record(points: Array, **more: object) -> ExperimentRecord:
    """A record of a body twice as large whose y axis points up."""
    size = 2.0 * SIZE[[0, 2, 1]]
    specimen = Specimen.model_validate({"size": size.tolist(), "up": "y", "origin": "center"})
    return replace(ExperimentRecord("body", "measured", specimen, frames=(Frame(0.0, points),)), **more)


def as_recorded(points: Array) -> Array:
    return 2.0 * (points - 0.5 * SIZE) @ TURNS["y"]


def test_axes_size_and_origin_are_those_of_the_scene() -> None:
    points = on_surface()
    found = registered(record(as_recorded(points)), body())
    np.testing.assert_allclose(found.place(as_recorded(points)), points, atol=1e-9)
    assert (found.scale, found.at_rest) == (pytest.approx(2.0), True)
    assert found.residual is not None and found.residual < 1e-9
    np.testing.assert_allclose(found.turned(np.array([[0.0, 1.0, 0.0]])), [[0.0, 0.0, 1.0]], atol=1e-9)
    np.testing.assert_allclose(found.way(np.array([[0.0, 1.0, 0.0]])), [[0.0, 0.0, 0.5]], atol=1e-9)
    for turn in TURNS.values():
        assert np.linalg.det(turn) == pytest.approx(1.0)


def test_a_cloud_at_rest_is_moved_onto_the_body() -> None:
    points = on_surface()
    noise = 1e-4 * np.random.default_rng(1).standard_normal(points.shape)
    tilt = Rotation.from_rotvec([0.03, -0.05, 0.04])
    seen = tilt.apply(as_recorded(points + noise)) + np.array([0.002, -0.001, 0.0015])
    found = registered(record(seen), body())
    assert np.abs(found.place(seen) - points - noise).max() < 5e-5
    assert found.residual == pytest.approx(2.0 * np.abs(noise).mean(), rel=0.05)
    assert "at rest" in found.sentence()


def test_clouds_in_other_axes_say_how_far_off_they_are() -> None:
    points = as_recorded(on_surface())
    with pytest.raises(RheotwinError, match=r"record 'body': its first cloud is .* mm away from the body on average"):
        registered(record(points[:, [1, 0, 2]], frames=(Frame(1.0, points[:, [1, 0, 2]]),)), body())
    with pytest.raises(RheotwinError, match=r"record 'body': its first cloud is .* mm away"):
        registered(record(0.1 * points), body())


def test_bodies_of_other_proportions_are_refused() -> None:
    wrong = Specimen.model_validate({"size": [0.1, 0.1, 0.1]})
    with pytest.raises(RheotwinError, match=r"its body, upright along y, is 0.1 x 0.1 x 0.1 m and that of the scene"):
        registered(record(on_surface(), specimen=wrong), body())


def test_what_has_not_moved_yet_is_at_rest() -> None:
    path = Course(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -0.01, 0.0]]))
    points = as_recorded(on_surface())
    early, late = (record(points, path=path, frames=(Frame(time, points),)) for time in (1.0, 1.1))
    assert registered(early, body()).at_rest
    assert not registered(late, body()).at_rest
