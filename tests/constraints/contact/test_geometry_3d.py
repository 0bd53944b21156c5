"""Vertices at triangles and edges at edges: against the distance to the whole surface, and by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.pairs import NO_NODE
from rheotwin.constraints.contact.surface import contact_surface
from rheotwin.constraints.contact.triangulated import nearest_points, tool_mesh
from rheotwin.meshing import build_mesh, tet_grid

Make = Callable[..., Any]


def block(cells: int, lower: tuple[float, float, float], upper: tuple[float, float, float]) -> Any:
    return tet_grid(*(np.linspace(a, b, cells + 1) for a, b in zip(lower, upper, strict=True)))


def bent(mesh: Any, seed: int, by: float) -> Any:
    """Move all nodes by a smooth random field."""
    random = np.random.default_rng(seed)
    waves, phases = random.normal(size=(3, 3)), random.uniform(0.0, 6.0, 3)
    return build_mesh("tet", mesh.p + by * np.sin(2.0 * waves @ mesh.p + phases[:, None]), mesh.t)


def is_edge_pair(pair: Any) -> bool:
    return bool(pair.weight[1] > 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_gap_is_the_distance_to_the_surface(detector: Make, seed: int) -> None:
    """Without history every vertex within reach has the signed distance to the other body as a whole as its gap."""
    first = bent(block(4, (0, 0, 0), (1, 1, 1)), seed, 0.05)
    second = bent(block(5, (0.1, 0.2, 0.93), (1, 1, 2)), seed, 0.05)
    region, found = 0.04, detector(first, second)
    surface, x = found.surface, found.rest
    pairs = [pair for pair in found.find(x, x, region) if not is_edge_pair(pair)]
    for body in (0, 1):
        other = surface.face[surface.face_body == 1 - body]
        vertices = surface.vertex[surface.vertex_body == body]
        distances, feet, _ = nearest_points(tool_mesh(x, other), x[vertices])
        near = {v: k for k, v in enumerate(vertices) if -found.search.reach <= distances[k] < -1e-9}
        outside = {v: k for k, v in enumerate(vertices) if 1e-9 < distances[k] <= region}
        here = {int(pair.node[0]): pair for pair in pairs if surface.vertex_body[pair.slot // 2] == body}
        assert len(near) > 3
        # vertices outside may look away from what is near them
        assert set(near) <= set(here) <= set(near) | set(outside)
        for node, pair in here.items():
            k = (near | outside)[node]
            assert pair.gap == pytest.approx(distances[k], abs=1e-12)
            assert pair.point == pytest.approx(feet[k], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_forces_have_neither_sum_nor_moment(detector: Make, seed: int) -> None:
    first = bent(block(4, (0, 0, 0), (1, 1, 1)), seed, 0.08)
    second = bent(block(5, (0.1, 0.2, 0.9), (1, 1, 2)), seed, 0.08)
    found = detector(first, second)
    # where they begin apart the edges cross during the step
    apart = found.rest.copy()
    apart[found.rest.shape[0] - second.p.shape[1] :, 2] += 0.3
    pairs = found.find(apart, found.rest, 0.05)
    assert any(map(is_edge_pair, pairs))
    for pair in pairs:
        nodes, weights = pair.node[pair.node != NO_NODE], pair.weight[pair.node != NO_NODE]
        assert abs(weights.sum()) <= 1e-14
        assert np.linalg.norm(pair.normal) == pytest.approx(1.0, abs=1e-14)
        apart = weights @ found.rest[nodes]
        assert apart == pytest.approx(pair.gap * pair.normal, abs=1e-14)
        moment = np.cross(found.rest[nodes], weights[:, None] * pair.normal).sum(axis=0)
        assert np.abs(moment).max() <= 1e-14


def roof(height: float, along: int, up: float) -> Any:
    """One tet with a ridge of length 2 along an axis through (0, 0, height), which looks upwards for up = 1."""
    across = 1 - along
    points = np.zeros((4, 3))
    points[:, 2] = height
    points[0, along], points[1, along] = -1.0, 1.0
    points[2:, 2] -= up
    points[2, across], points[3, across] = -1.0, 1.0
    cells = np.array([[0, 1, 2, 3]]) if np.linalg.det(points[1:] - points[0]) > 0 else np.array([[0, 2, 1, 3]])
    return build_mesh("tet", points.T, cells.T)


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.5, -0.25)])
@pytest.mark.parametrize("edges", [True, False])
def test_crossing_ridges(detector: Make, edges: bool, shift: tuple[float, float]) -> None:
    """Two roofs ridge on ridge, crossing at a right angle: no vertex touches, the edges do."""
    found = detector(roof(0.0, 0, 1.0), roof(0.1, 1, -1.0), edges=edges)
    end = found.rest.copy()
    end[4:] += [shift[0], shift[1], -0.13]
    pairs = found.find(found.rest, end)
    assert len(pairs) == edges
    if edges:
        pair = pairs[0]
        assert sorted(pair.node) == [0, 1, 4, 5]
        share = dict(zip(pair.node.tolist(), np.abs(pair.weight), strict=True))
        assert share == pytest.approx(
            {0: 0.5 - shift[0] / 2, 1: 0.5 + shift[0] / 2, 4: 0.5 + shift[1] / 2, 5: 0.5 - shift[1] / 2}
        )
        assert pair.gap == pytest.approx(-0.03)
        upwards = pair.normal * np.sign(pair.weight[pair.node == 4])
        assert upwards == pytest.approx([0.0, 0.0, 1.0])
        assert pair.point[:2] == pytest.approx([shift[0], 0.0])


def test_parallel_edges_are_skipped(detector: Make) -> None:
    found = detector(roof(0.0, 0, 1.0), roof(0.05, 0, -1.0))
    assert not any(map(is_edge_pair, found.find(found.rest, found.rest, 0.1)))
    # turned by little they are not
    x = found.rest.copy()
    x[[4, 5], 1] += [1e-3, -1e-3]
    assert [sorted(pair.node.tolist()) for pair in found.find(x, x, 0.1) if is_edge_pair(pair)] == [[0, 1, 4, 5]]


def test_flat_surfaces_apart_have_no_crossing_edges(detector: Make) -> None:
    """Nearly flat edges could look either way: a gap between two rough faces must not pass for overlap."""
    found = detector(block(3, (0, 0, 0), (1, 1, 1)), block(4, (0.1, 0.2, 1.02), (1.1, 1.2, 2)))
    rough = found.rest + 0.005 * np.random.default_rng(5).uniform(-1.0, 1.0, found.rest.shape)
    assert found.find(rough, rough) == []
    assert min(pair.gap for pair in found.find(rough, rough, 0.03)) > 0.01


@pytest.mark.parametrize("one_body", [True, False])
def test_ridges_touch_only_after_crossing(detector: Make, one_body: bool) -> None:
    """What was apart and crosses touches, and goes on to; what starts crossed or comes in sideways does not."""
    lower, upper = roof(0.0, 0, 1.0), roof(0.1, 1, -1.0)
    both = build_mesh("tet", np.hstack([lower.p, upper.p]), np.hstack([lower.t, upper.t + 4]))

    def fresh() -> Any:
        return detector(both, self_bodies=(0,)) if one_body else detector(lower, upper)

    found = fresh()
    end, aside = found.rest.copy(), found.rest.copy()
    end[4:, 2] -= 0.13
    aside[4:] += [1.05, 0.0, -0.13]
    first, second = found.find(found.rest, end), found.find(end, end)
    assert len(first) == len(second) == 1
    assert first[0].slot == second[0].slot
    assert [pair for pair in fresh().find(end, end) if is_edge_pair(pair)] == []
    assert [pair for pair in fresh().find(aside, end) if is_edge_pair(pair)] == []


def test_block_rests_on_a_larger_one(detector: Make) -> None:
    """Vertices at a flat top, some exactly over sides and diagonals of its triangles: all normals are vertical."""
    found = detector(block(4, (0, 0, 0), (1, 1, 1)), block(4, (0.25, 0.125, 1), (0.75, 0.625, 1.5)))
    pairs = [pair for pair in found.find(found.rest, found.rest) if not is_edge_pair(pair)]
    assert len(pairs) == 25 + 6
    for pair in pairs:
        upwards = 1.0 if pair.slot // 2 >= 98 else -1.0
        assert pair.normal == pytest.approx([0.0, 0.0, upwards], abs=1e-12)
        assert abs(pair.gap) <= 1e-15


def test_inside_of_a_reentrant_corner(detector: Make) -> None:
    """A cube without one octant: deep below its inner corner the nearest point is that corner, and the way out."""
    from skfem import MeshHex

    grid = MeshHex.init_tensor(*(np.arange(3.0),) * 3)
    kept = ~np.all(grid.p[:, grid.t].mean(axis=1) > 1.0, axis=0)
    used, cells = np.unique(grid.t[:, kept], return_inverse=True)
    notched = build_mesh("hex", grid.p[:, used], cells.reshape(8, -1))
    tip = 0.9 + np.array([[0.0, 1.0, 0.9, 0.9], [0.0, 0.9, 1.0, 0.9], [0.0, 0.9, 0.9, 1.0]])
    found = detector(notched, build_mesh("tet", tip, np.array([[0], [1], [2], [3]])))
    at_corner = [pair for pair in found.find(found.rest, found.rest) if pair.node[0] == len(used)]
    assert len(at_corner) == 1
    assert at_corner[0].gap == pytest.approx(-0.1 * np.sqrt(3.0))
    assert at_corner[0].normal == pytest.approx(np.full(3, np.sqrt(1.0 / 3.0)))
    assert at_corner[0].point == pytest.approx(np.ones(3))


def test_history_outlives_depth(detector: Make) -> None:
    """A contact that lasts is kept however deep it gets, also when the lists are made anew."""
    found = detector(block(2, (0, 0, 0), (1, 1, 1)), block(2, (0.3, 0.2, 1.05), (0.7, 0.7, 1.5)))
    begin, lower = found.rest, found.rest.copy()
    for depth in np.linspace(0.05, 0.9, 18):
        lower = found.rest.copy()
        lower[27:, 2] -= 0.05 + depth
        pairs = [pair for pair in found.find(begin, lower) if pair.slot // 2 >= 26 and not is_edge_pair(pair)]
        bottom = [pair for pair in pairs if abs(found.rest[pair.node[0], 2] - 1.05) < 1e-9]
        assert len(bottom) == 9
        assert [pair.gap for pair in bottom] == pytest.approx([-depth] * 9)
        begin = lower
    assert found.search.counter[5] > 2


@pytest.mark.parametrize("kind", ["tet", "hex"])
def test_surface_is_closed_and_outward(kind: str) -> None:
    """Faces and normals of a box: volume by the divergence theorem, edges by Euler's formula."""
    from types import SimpleNamespace

    from skfem import MeshHex

    mesh = block(3, (0, 0, 0), (1, 2, 3))
    if kind == "hex":
        lines = MeshHex.init_tensor(*(np.linspace(0, size, 4) for size in (1.0, 2.0, 3.0)))
        mesh = build_mesh("hex", lines.p, lines.t)
    surface = contact_surface([SimpleNamespace(mesh=mesh, first_node=7)], 3)
    corners = mesh.p.T[surface.face - 7]
    assert np.einsum("fk,fk->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0 == pytest.approx(6.0)
    assert len(surface.vertex) - len(surface.edge) + len(surface.face) == 2
    assert np.all(surface.across >= 0)


@pytest.mark.parametrize("dimension", [2, 3])
def test_seams_of_graded_meshes_are_no_surface(dimension: int) -> None:
    from types import SimpleNamespace

    from rheotwin.meshing import hanging_nodes
    from rheotwin.meshing.graded import Refinement, refined

    lines = np.linspace(0.0, 1.0, 5)
    coarse = block(4, (0, 0, 0), (1, 1, 1)) if dimension == 3 else _squares(lines)
    mesh = refined(coarse, [Refinement({0: (0.0, 0.4)}, 1)])
    body = SimpleNamespace(mesh=mesh, first_node=0, hanging=hanging_nodes(mesh))
    surface = contact_surface([body], dimension)
    points = np.pad(mesh.p.T, ((0, 0), (0, 3 - dimension)))
    centres = points[surface.face[:, :dimension]].mean(axis=1)[:, :dimension]
    assert np.all(np.any((centres < 1e-9) | (centres > 1.0 - 1e-9), axis=1))
    sizes = points[surface.face[:, 1]] - points[surface.face[:, 0]]
    if dimension == 3:
        sizes = 0.5 * np.cross(sizes, points[surface.face[:, 2]] - points[surface.face[:, 0]])
    assert np.linalg.norm(sizes, axis=1).sum() == pytest.approx(2 * dimension)


def _squares(lines: np.ndarray) -> Any:
    from skfem import MeshQuad

    mesh = MeshQuad.init_tensor(lines, lines)
    return build_mesh("quad", mesh.p, mesh.t)
