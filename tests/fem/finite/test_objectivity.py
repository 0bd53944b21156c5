"""Turning a body adds no stress: superposed rotations, and a quarter turn during relaxation (spec 6)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints import Motion
from rheotwin.fem.finite.body import FinitePart
from rheotwin.fem.finite.kinematics import stress_tensor
from rheotwin.problem import Prescribed, Problem
from rheotwin.validation.checks.running import EQUAL_RATIO, Data, box_scene, problem_of, run_to

Array = np.ndarray


def padded_turn(rotation: Array) -> Array:
    out = np.eye(3)
    out[: len(rotation), : len(rotation)] = rotation
    return out


def test_superposed_rotation_leaves_the_turned_back_stress(body: Any, mesh: Any, turn: Any) -> None:
    """Two runs of random large strains, one of them tumbling by up to 90 degrees a step: R' sigma R to 1e-12."""
    points, rng = mesh.p.T, np.random.default_rng(0)
    still = tumbling = body.state(np.zeros(points.size), body.at_rest())
    for angle in (0.5 * np.pi, -1.2, 3.0, 3.5):
        moved = points + 0.08 * rng.normal(size=points.shape)
        rotation = turn(points.shape[1], angle)
        u, turned = (moved - points).ravel(), (moved @ rotation.T - points).ravel()
        still, tumbling = body.commit(still, u, 0.3), body.commit(tumbling, turned, 0.3)
        frame = padded_turn(rotation)
        for part in (FinitePart.stress, FinitePart.memory_stress):
            expected = stress_tensor(body.kinematics.cauchy(u, part(body, still)))
            found = stress_tensor(body.kinematics.cauchy(turned, part(body, tumbling)))
            np.testing.assert_allclose(frame.T @ found @ frame, expected, atol=1e-12 * np.abs(expected).max())


@pytest.fixture
def stretched_then_turned(distorted: Any, turn: Any) -> Callable[..., Problem]:
    """A body whose whole boundary is sheared within 1 s and then turned by an angle within the next second."""

    def build(law: Data, dimension: int, angle: float, strain: float = 0.2) -> Problem:
        problem = problem_of(box_scene(law, size=[1.0] * dimension, cells=[3, 2, 2][:dimension], duration=4.0))
        problem = distorted(problem, spacing=1 / 3)
        sheared = np.eye(dimension) + strain * np.eye(dimension, k=1)
        rotation = turn(dimension, angle)
        held = []
        for node in problem.bodies[0].mesh.boundary_nodes():
            place = problem.points[node]
            values = np.array([0.0 * place, sheared @ place - place, rotation @ sheared @ place - place])
            motion = Motion(np.array([0.0, 1.0, 2.0]), values)
            held.append(Prescribed(f"node-{node}", np.array([node]), tuple(range(dimension)), motion))
        return replace(problem, prescribed=tuple(held))

    return build


@pytest.mark.parametrize(
    ("name", "dimension"),
    [
        ("generalized-maxwell", 2),
        ("maxwell", 3),
        pytest.param("maxwell", 2, marks=pytest.mark.exhaustive),
        pytest.param("generalized-maxwell", 3, marks=pytest.mark.exhaustive),
    ],
)
def test_quarter_turn_during_relaxation_adds_no_stress(
    name: str, dimension: int, description: str, stretched_then_turned: Any, begin: Any, turn: Any
) -> None:
    """Against the same run without the turn, at the quarter turn and long after, in the turned frame, to 1e-12."""
    resting, turning = (
        begin(stretched_then_turned(EQUAL_RATIO[name], dimension, angle), description, step=1.0, newton_tolerance=1e-14)
        for angle in (0.0, 0.5 * np.pi)
    )
    frame = padded_turn(turn(dimension, 0.5 * np.pi))
    for time in (2.0, 4.0):
        run_to(resting, time)
        run_to(turning, time)
        expected, found = (stress_tensor(s.fields()["stress"]) for s in (resting, turning))
        assert np.abs(expected).max() > 0.05
        np.testing.assert_allclose(frame.T @ found @ frame, expected, atol=1e-12 * np.abs(expected).max())
