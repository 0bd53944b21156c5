"""Patch test: a distorted mesh whose boundary moves affinely by large amounts has one gradient everywhere (spec T3)."""

from typing import Any

import numpy as np
import pytest

from rheotwin.fem.finite.kinematics import stress_tensor
from rheotwin.validation.checks.running import EQUAL_RATIO, box_scene, problem_of, run_to

GRADIENT = {
    2: np.array([[0.12, 0.3], [-0.25, -0.08]]),
    3: np.array([[0.12, 0.3, -0.1], [-0.25, -0.08, 0.2], [0.05, -0.15, 0.1]]),
}


@pytest.mark.parametrize(
    ("name", "inertia"),
    [
        ("three-element", True),
        ("three-element", False),
        *(pytest.param("elastic", inertia, marks=pytest.mark.exhaustive) for inertia in (False, True)),
    ],
)
def test_affine_boundary_gives_an_affine_field(
    name: str, inertia: bool, cell: str, description: str, distorted: Any, driven_boundary: Any, begin: Any
) -> None:
    """Nodes on the affine map, one stress at all of them: both to 1e-11 of the size and of the largest stress."""
    dimension = 2 if cell in ("triangle", "quad") else 3
    data = box_scene(EQUAL_RATIO[name], size=[1.0] * dimension, cells=[3] * dimension, cell=cell)
    gradient = GRADIENT[dimension]
    problem = driven_boundary(distorted(problem_of(data), spacing=1 / 3), gradient)
    simulation = run_to(begin(problem, description, step=0.5, inertia=inertia, newton_tolerance=1e-14), 1.0)
    assert simulation.statistics()["unknowns"] > 0
    np.testing.assert_allclose(simulation.positions, problem.points @ (np.eye(dimension) + gradient).T, atol=1e-11)
    stress = simulation.fields()["stress"]
    np.testing.assert_allclose(stress, np.tile(stress[0], (len(stress), 1)), atol=1e-11 * np.abs(stress).max())
    assert np.linalg.norm(stress_tensor(stress[0])) > 1.0
