"""Bodies, meshes and simulations for large rotation and large strain."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from skfem import MeshHex, MeshQuad, MeshTet, MeshTri

from rheotwin.build import build_problem
from rheotwin.fem import FemSolver
from rheotwin.fem.finite.body import DESCRIPTIONS, FinitePart
from rheotwin.fem.finite.kinematics import element_geometry
from rheotwin.materials import Channel
from rheotwin.problem import Problem
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options

Data = dict[str, Any]

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
def mesh_of() -> Callable[[str], Any]:
    """A small mesh of the unit square or cube with all nodes moved a little."""

    def build(cell: str) -> Any:
        mesh = MESHES[cell]()
        shift = 0.05 * np.random.default_rng(3).uniform(-1, 1, mesh.p.shape)
        return replace(mesh, doflocs=np.ascontiguousarray(mesh.p + shift))

    return build


@pytest.fixture
def body_of(mesh_of: Callable[[str], Any]) -> Callable[..., FinitePart]:
    """A body by cell and description; relaxing and viscous in both moduli unless channels are given."""

    def build(cell: str, description: str, bulk: Channel = BULK, shear: Channel = SHEAR) -> FinitePart:
        kinematics, measure = DESCRIPTIONS[description]
        return FinitePart("block", kinematics(element_geometry(mesh_of(cell), cell)), measure, bulk, shear)

    return build


@pytest.fixture
def turn() -> Callable[[int, float], np.ndarray]:
    """Rotation (d, d) by an angle, in 3D about a slanted axis."""

    def rotation(dimension: int, angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        if dimension == 2:
            return np.array([[c, -s], [s, c]])
        axis = np.array([2.0, -1.0, 2.0]) / 3.0
        cross = np.cross(np.eye(3), axis)
        return c * np.eye(3) - s * cross + (1.0 - c) * np.outer(axis, axis)

    return rotation


@pytest.fixture
def begin() -> Callable[..., Simulation]:
    """Start the solver on scene data or on a problem."""

    def start(what: Data | Problem, description: str, *, inertia: bool = False, **options: Any) -> Simulation:
        problem = what if isinstance(what, Problem) else build_problem(scene_from_data(what))
        rule = {"kinematics": description, "stepper": "midpoint" if inertia else "quasi-static"}
        return FemSolver().start(problem, checked_options(FemSolver, {"newton_tolerance": 1e-10} | rule | options))

    return start
