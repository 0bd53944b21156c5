"""Bodies, meshes and simulations for large rotation and large strain."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from skfem import MeshHex, MeshQuad, MeshTet, MeshTri

from rheotwin.fem.finite.body import DESCRIPTIONS, FinitePart
from rheotwin.fem.finite.channels import ChannelLaw
from rheotwin.fem.finite.kinematics import element_geometry
from rheotwin.fem.space import vector_basis
from rheotwin.materials import Channel
from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import Data, start

MESHES = {
    "triangle": lambda: MeshTri().refined(1),
    "quad": lambda: MeshQuad().refined(1),
    "tet": MeshTet,
    "hex": MeshHex,
}
BULK = Channel(100.0, (50.0,), (2.0,), 7.0)
SHEAR = Channel(40.0, (30.0, 20.0), (1.0, 0.3), 5.0)


@pytest.fixture(params=list(DESCRIPTIONS))
def description(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(MESHES))
def cell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def mesh(cell: str) -> Any:
    regular = MESHES[cell]()
    shift = 0.05 * np.random.default_rng(3).uniform(-1, 1, regular.p.shape)
    return replace(regular, doflocs=np.ascontiguousarray(regular.p + shift))


@pytest.fixture
def body(mesh: Any, cell: str, description: str) -> FinitePart:
    kinematics, measure = DESCRIPTIONS[description]
    return FinitePart(
        "block", kinematics(element_geometry(vector_basis(mesh, cell))), measure, BULK, ChannelLaw(measure, SHEAR, 7.0)
    )


@pytest.fixture
def turn() -> Callable[[int, float], np.ndarray]:
    """Rotation (d, d) by an angle, in 3D about a slanted axis."""

    def rotation(dimension: int, angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        if dimension == 2:
            return np.array([[c, -s], [s, c]])
        axis = np.array([2.0, -1.0, 2.0]) / 3.0
        return c * np.eye(3) - s * np.cross(np.eye(3), axis) + (1.0 - c) * np.outer(axis, axis)

    return rotation


@pytest.fixture
def begin() -> Callable[..., Simulation]:
    """Start the solver on scene data or on a problem."""

    def begun(what: Data | Problem, description: str, *, inertia: bool = False, **options: Any) -> Simulation:
        rule = "midpoint" if inertia else "quasi-static"
        return start(what, kinematics=description, stepper=rule, **{"newton_tolerance": 1e-10} | options)

    return begun
