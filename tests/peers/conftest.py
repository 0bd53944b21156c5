"""Problems posed to other programs: the same nodes, cells, supports and forces that our solver works on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from rheotwin.fem.model import Model, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.problem import Problem
from rheotwin.record.grid import VTK_NODE_ORDER
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import FLOOR, box_scene, path, problem_of, side, start

Data = dict[str, Any]
ELASTIC: Data = {"model": "elastic", "young": 300.0, "poisson": 0.35}
BOXES: dict[str, tuple[list[float], list[int]]] = {
    "triangle": ([2.0, 1.5], [4, 3]),
    "quad": ([2.0, 1.5], [4, 3]),
    "tet": ([1.0, 1.0, 1.0], [3, 2, 2]),
    "hex": ([1.0, 1.0, 1.0], [3, 3, 2]),
}
SPACING = 0.3
"""Smaller than the side of any cell [m]: nodes moved by a fifth of it leave every cell convex."""
_HEX_EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
_HEX_FACES = ((0, 3, 4, 7), (1, 2, 5, 6), (0, 1, 4, 5), (2, 3, 6, 7), (0, 1, 2, 3), (4, 5, 6, 7))
BETWEEN: dict[str, tuple[tuple[int, ...], ...]] = {
    "triangle": ((0, 1), (1, 2), (2, 0)),
    "quad": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 1, 2, 3)),
    "tet": ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
    "hex": (*_HEX_EDGES, *_HEX_FACES, tuple(range(8))),
}
"""Corners that the nodes of a quadratic cell behind its corners stand midway between, in VTK's order."""


@dataclass(frozen=True)
class Posed:
    """A one-body problem as any program takes it; node arrays are (n, d), cells (e, k) in VTK's order."""

    problem: Problem
    model: Model
    cell: str
    order: int
    points: np.ndarray
    cells: np.ndarray
    held: np.ndarray

    def target(self, time: float) -> np.ndarray:
        """Prescribed displacements [m], zero where free."""
        return self.model.prescribed(time).reshape(self.points.shape)

    def load(self, time: float) -> np.ndarray:
        """Nodal forces [N]."""
        return self.model.applied(time).reshape(self.points.shape)

    def ours(self, *, step: float, **more: Any) -> Simulation:
        """Start our solver, quasi-static."""
        return start(self.problem, stepper="quasi-static", order=self.order, step=step, **more)

    def displaced(self, simulation: Any) -> np.ndarray:
        """Return the displacements (n, d) [m] of all nodes, those between the vertices included."""
        return np.array(simulation.save()["u"]).reshape(self.points.shape)

    def reactions(self, internal: np.ndarray, time: float) -> dict[str, np.ndarray]:
        """Sum nodal forces (n, d) of a peer to what our solver calls the reactions of its supports."""
        owners, exerted = self.model.owners, internal - self.load(time)
        names = [item.name for item in self.problem.prescribed]
        return {f"support.{n}": -np.where(owners == i, exerted, 0.0).sum(axis=0) for i, n in enumerate(names)}


def _upright(points: np.ndarray, cells: np.ndarray, cell: str) -> np.ndarray:
    """Swap two nodes of simplices that are numbered the wrong way round for other programs."""
    if cell not in ("triangle", "tet"):
        return cells
    edges = points[cells[:, 1:]] - points[cells[:, :1]]
    return np.where(np.linalg.det(edges)[:, None] < 0, cells[:, [1, 0, *range(2, cells.shape[1])]], cells)


def pose(
    cell: str,
    order: int = 1,
    law: Data = ELASTIC,
    *,
    duration: float = 1.0,
    scale: float = 1.0,
    push: float = 0.0,
    **more: Any,
) -> Posed:
    """Write a clamped block without mass down for other programs, its inner nodes moved at random.

    Its left side is pushed, its top driven sideways and down, then held.
    """
    size, counts = BOXES[cell]
    d = len(size)
    drive = scale * np.array([0.08, -0.03, -0.05])[[0, 2] if d == 2 else [0, 1, 2]]
    lid = {"lid": side("top", motion=path([0.0, 0.5 * duration], [[0.0] * d, drive.tolist()]))}
    forces = {"push": side("left", total=(push * np.array([3.0, 1.0, -2.0])[:d]).tolist())} if push else {}
    scene = {"cell": cell, "duration": duration, "supports": FLOOR | lid, "forces": forces, **more}
    problem = problem_of(box_scene(law, cells=counts, size=size, **scene))
    body, corners = problem.bodies[0], problem.points.copy()
    inner = np.ones(len(corners), dtype=bool)
    inner[body.mesh.boundary_nodes()] = False
    corners[inner] += 0.2 * SPACING * np.random.default_rng(7).uniform(-1, 1, (inner.sum(), problem.dimension))
    body = replace(body, mesh=replace(body.mesh, doflocs=np.ascontiguousarray(corners.T)))
    problem = replace(problem, points=corners, bodies=(body,))
    model = build_model(problem, FemOptions.model_validate({"order": order}))
    cells = _upright(corners, body.mesh.t.T[:, VTK_NODE_ORDER[body.cell]], body.cell)
    if order == 2:
        between = [corners[cells[:, group]].mean(axis=1) for group in BETWEEN[body.cell]]
        gaps, nodes = cKDTree(model.points).query(np.stack(between, axis=1))
        assert gaps.max() < 1e-12
        cells = np.hstack([cells, nodes])
    held = model.held.reshape(model.points.shape)
    return Posed(problem, model, body.cell, order, model.points, cells, held)


@pytest.fixture(name="pose")
def _pose() -> Callable[..., Posed]:
    return pose
