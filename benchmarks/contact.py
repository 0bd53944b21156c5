"""Contact: what a floor adds to a step of `rheotwin run`, and geometry beside SciPy's and VTK's to explain it.

The geometry is self contact of two plates in one body and distances to a triangulated tool.
A neighbour query of cKDTree is the smallest part of any search by points; its tree is built outside of the clock,
while ours is fitted to the moved surface within. `lists hold` is what most steps take, `lists made anew` the step in
which something has moved by half the margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyvista
from scipy.spatial import cKDTree
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkDoubleArray
from vtkmodules.vtkFiltersCore import vtkImplicitPolyDataDistance

from benchmarks.particles import STEPS, box, options
from benchmarks.scene_cost import scene_costs
from benchmarks.side_by_side import Ratio, seconds
from rheotwin.constraints.contact.detect import BodySearch
from rheotwin.constraints.contact.search import BUILT, Search
from rheotwin.constraints.contact.surface import ContactSurface, contact_surface, slot_count
from rheotwin.constraints.contact.triangulated import nearest_points, tool_mesh
from rheotwin.meshing import build_mesh, tet_grid

Array = Any
TRIANGLES, ACTIVE = 20_000, 1000


@dataclass
class Plates:
    """Two plates of one body, one pressed into the other where they overlap by `active` vertices."""

    made: BodySearch
    places: Array
    feature: Array
    active: Array

    @property
    def surface(self) -> ContactSurface:
        """The faces."""
        return self.made.surface

    @property
    def search(self) -> Search:
        """The lists."""
        return self.made.search

    def find(self, anew: bool) -> int:
        """Find the contacts of one step, with new lists or the ones there are; return how many."""
        if anew:
            self.search.counter[BUILT] = 0
        return int(self.made.find(self.places, self.places, 0.0, self.feature, self.active).count[0])


def plates(triangles: int, active: int) -> Plates:
    """Return plates with about so many surface triangles and vertices in contact, edges included."""
    cells = round(np.sqrt(triangles / 8.0 + 4.0) - 2.0)
    overlap = np.sqrt(active / 2.0)
    grid = tet_grid(np.arange(cells + 1.0), np.arange(cells + 1.0), np.arange(3.0))
    upper = grid.p + np.array([[cells - overlap + 0.6], [cells - overlap + 0.7], [2.1]])
    both = build_mesh("tet", np.hstack([grid.p, upper]), np.hstack([grid.t, grid.t + grid.p.shape[1]]))
    surface = contact_surface([SimpleNamespace(mesh=both, first_node=0)], 3, self_bodies=(0,))
    begin = both.p.T + 0.01 * np.sin(both.p.T[:, [1, 2, 0]])
    places = begin.copy()
    places[grid.p.shape[1] :, 2] -= 0.15
    slots = slot_count(surface, 0)
    feature, lasting = np.full(slots, -1), np.zeros(slots, np.bool_)
    made = BodySearch(surface, np.ascontiguousarray(begin))
    pairs = made.find(begin, places, 0.0, feature, lasting)
    lasting[pairs.slot[: pairs.count[0]]] = True
    return Plates(made, np.ascontiguousarray(places), feature, lasting)


def self_contact() -> list[Ratio]:
    """Measure a step's broad and narrow phase beside the query of all vertices for neighbours within a face's side."""
    body = plates(TRIANGLES, ACTIVE)
    points = np.ascontiguousarray(body.places[body.surface.vertex])
    tree, side = cKDTree(points), 2.0 * body.search.reach
    works: dict[str, Callable[[], object]] = {
        "anew": lambda: body.find(anew=True),
        "hold": lambda: body.find(anew=False),
        "side": lambda: tree.query_ball_point(points, side),
        "margin": lambda: tree.query_ball_point(points, body.search.margin),
    }
    spent = seconds(works, rounds=15)
    detail = f"{len(body.surface.face)} triangles, {body.find(anew=False)} pairs, " + ", ".join(
        f"{name} {1e3 * value:.2f}" for name, value in spent.items()
    )
    return [
        Ratio("self contact, lists made anew / cKDTree query", spent["anew"] / spent["side"], 1.5, f"{detail} ms"),
        Ratio("self contact, lists hold / cKDTree query", spent["hold"] / spent["side"], 1.5),
        Ratio("self contact, anew / cKDTree query in the margin", spent["anew"] / spent["margin"], 1.5),
    ]


def linear_in_size() -> list[Ratio]:
    """Measure the time per triangle of large and small bodies, with as many contacts by share."""
    bodies = {size: plates(size, size // 20) for size in (10_000, 160_000)}
    found = []
    for name, anew in (("lists made anew", True), ("lists hold", False)):
        works = {str(size): lambda b=body, a=anew: b.find(anew=a) for size, body in bodies.items()}  # type: ignore[misc]
        spent = seconds(works)
        each = {size: 1e9 * spent[str(size)] / len(body.surface.face) for size, body in bodies.items()}
        detail = ", ".join(f"{size}: {value:.0f} ns a triangle" for size, value in each.items())
        found.append(Ratio(f"160,000 triangles / 10,000 each, {name}", each[160_000] / each[10_000], 1.5, detail))
    return found


def nearest_to_tool() -> list[Ratio]:
    """Measure 15,000 distances to 1100 triangles, structures built within, near the surface and around it."""
    ball = pyvista.Sphere(theta_resolution=24, phi_resolution=25)
    vertices, triangles = np.asarray(ball.points, float), ball.faces.reshape(-1, 4)[:, 1:].astype(np.int64)
    random, found = np.random.default_rng(0), []
    on = vertices[triangles].transpose(0, 2, 1) @ np.full(3, 1.0 / 3.0)
    side = float(np.linalg.norm(vertices[triangles[:, 0]] - vertices[triangles[:, 1]], axis=1).mean())
    for name, spread in (("near", 0.05 * side), ("around", side)):
        points = on[random.integers(0, len(on), 15_000)] + spread * random.standard_normal((15_000, 3))
        works: dict[str, Callable[[], object]] = {
            "ours": lambda p=points: nearest_points(tool_mesh(vertices, triangles), p),  # type: ignore[misc]
            "vtk": lambda p=points: _vtk(ball, p),  # type: ignore[misc]
        }
        open3d = _open3d(vertices, triangles, points)
        if open3d is not None:
            works["open3d"] = open3d
        spent = seconds(works, rounds=15)
        detail = ", ".join(f"{key} {1e3 * value:.2f}" for key, value in spent.items()) + " ms"
        found.append(Ratio(f"nearest point, {name} / VTK", spent["ours"] / spent["vtk"], 0.5, detail))
        if open3d is not None:
            found.append(Ratio(f"nearest point, {name} / Open3D", spent["ours"] / spent["open3d"], 1.2))
    return found


def _vtk(surface: Any, points: Array) -> object:
    distance, values = vtkImplicitPolyDataDistance(), vtkDoubleArray()
    distance.SetInput(surface)
    distance.FunctionValue(numpy_to_vtk(points), values)
    return values


def _open3d(vertices: Array, triangles: Array, points: Array) -> Callable[[], object] | None:
    """Return Open3D's signed distance in single precision on one thread; None where it is not installed."""
    try:
        import open3d
    except ImportError:
        return None
    corners, indices = vertices.astype(np.float32), triangles.astype(np.uint32)
    wanted = points.astype(np.float32)

    def work() -> object:
        scene = open3d.t.geometry.RaycastingScene(nthreads=1)
        scene.add_triangles(open3d.core.Tensor(corners), open3d.core.Tensor(indices))
        return scene.compute_signed_distance(open3d.core.Tensor(wanted), nthreads=1)

    return work


KERNELS = ("structured", "unstructured", "general")
FLOOR: dict[str, Any] = {"floor": {"shape": "plane", "center": [0.0, 0.0, 1e-4], "normal": [0.0, 0.0, 1.0]}}
SPRINGS = {"law": "penalty", "stiffness": 10.0, "damping": 0.1, "bodies": False}
ON_FLOOR: dict[str, dict[str, Any]] = {
    "free": {},
    "tool alone": {"tools": FLOOR},
    "exact": {"tools": FLOOR, "contact": {"law": "exact", "bodies": False}},
    "penalty": {"tools": FLOOR, "contact": SPRINGS},
    "integrated": {"tools": FLOOR, "contact": {**SPRINGS, "law": "integrated", "integral": 1.0, "region": 0.1}},
    "friction": {"tools": FLOOR, "contact": {"law": "exact", "friction": 0.3, "bodies": False}},
    "self": {"tools": FLOOR, "contact": {**SPRINGS, "bodies": True, "self": True}},
}


def on_floor() -> list[Ratio]:
    """Compare steps of the reference body on a floor, where 225 of 1234 candidates rest, with free ones."""
    scenes = {
        f"{kernel} {name}": (
            box(STEPS[kernel], supports={}, gravity=[0.0, 0.0, -1e-3], **case),
            "truss",
            options(kernel),
        )
        for kernel in KERNELS
        for name, case in ON_FLOOR.items()
    }
    costs = scene_costs(scenes, rounds=2)
    return [
        Ratio(
            f"{kernel}, {name} / free step",
            costs[f"{kernel} {name}"].step / costs[f"{kernel} free"].step,
            1.3 if name != "self" else float("inf"),
            f"{costs[f'{kernel} free'].step:.1f} -> {costs[f'{kernel} {name}'].step:.1f} us",
        )
        for kernel in KERNELS
        for name in ON_FLOOR
        if name != "free"
    ]


def measure() -> list[Ratio]:
    """Measure everything."""
    return [*self_contact(), *linear_in_size(), *nearest_to_tool(), *on_floor()]
