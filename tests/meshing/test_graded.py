"""Coarse and fine cells in one mesh: what is halved, which nodes hang, and where."""

from typing import Any

import numpy as np
import pytest

from rheotwin import meshing
from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    Refinement,
    bisected,
    element_measures,
    hanging_nodes,
    hex_grid,
    line,
    oriented,
    quad_grid,
    refined,
    tet_grid,
)

AXIS = np.arange(5.0)
MESHES = {
    "triangle": meshing.triangle_grid(AXIS, AXIS),
    "alternating": meshing.triangle_grid(AXIS, AXIS, pattern="alternating"),
    "quad": quad_grid(AXIS, AXIS),
    "five": tet_grid(AXIS, AXIS, AXIS[:3]),
    "six": tet_grid(AXIS, AXIS, AXIS[:3], split="six"),
    "hex": hex_grid(AXIS, AXIS, AXIS[:3]),
}
STRIP = Refinement({0: (1.0, 3.0)})


def brute_force(mesh: Any) -> dict[int, tuple[float, int]]:
    """Return node -> (shortest edge it lies on, how many of that length) by looking at all nodes and vertex pairs."""
    points, found = mesh.p.T, {}
    pairs = np.array([(i, j) for i in range(mesh.t.shape[0]) for j in range(i)])
    edges = np.unique(np.sort(mesh.t.T[:, pairs].reshape(-1, 2), axis=1), axis=0)
    vectors = points[edges[:, 1]] - points[edges[:, 0]]
    lengths = np.linalg.norm(vectors, axis=1)
    for node, point in enumerate(points):
        ratio = np.einsum("ek,ek->e", point - points[edges[:, 0]], vectors) / lengths**2
        away = np.linalg.norm(point - points[edges[:, 0]] - ratio[:, None] * vectors, axis=1)
        on = lengths[(away < 1e-9) & (ratio > 0.01) & (ratio < 0.99)]
        if len(on):
            found[node] = (on.min(), int(np.isclose(on, on.min()).sum()))
    return found


def hang_where_edges_are(mesh: Any) -> Any:
    """Hold hanging nodes, their places, edges and shares against the search of all pairs; return them."""
    hanging, points, expected = hanging_nodes(mesh), mesh.p.T, brute_force(mesh)
    ratio = hanging.ratio[:, None]
    there = (1.0 - ratio) * points[hanging.start] + ratio * points[hanging.end]
    np.testing.assert_allclose(there, points[hanging.node], atol=1e-14)
    assert set(hanging.node.tolist()) == set(expected)
    lengths = np.linalg.norm(points[hanging.end] - points[hanging.start], axis=1)
    np.testing.assert_allclose(lengths, [expected[int(node)][0] for node in hanging.node])
    np.testing.assert_array_equal(hanging.share, [1.0 / expected[int(node)][1] for node in hanging.node])
    return hanging


@pytest.mark.parametrize("name", MESHES)
def test_halving_keeps_the_body_and_hangs_what_lies_on_edges(name: str) -> None:
    mesh = MESHES[name]
    graded = refined(mesh, [STRIP])
    meshing.check_elements(graded, name)
    assert meshing.element_measures(graded).sum() == pytest.approx(meshing.element_measures(mesh).sum(), rel=1e-14)
    halved = STRIP.chosen(mesh.p[:, mesh.t].mean(axis=1)).sum()
    assert graded.t.shape[1] == mesh.t.shape[1] + halved * (2 ** mesh.p.shape[0] - 1)
    assert len(np.unique(graded.t)) == graded.p.shape[1]
    assert len(np.unique(np.round(graded.p, 9), axis=1).T) == graded.p.shape[1]
    hang_where_edges_are(graded)
    assert len(hanging_nodes(MESHES[name])) == len(hanging_nodes(refined(MESHES[name], [Refinement({})]))) == 0
    assert len(hanging_nodes(line(AXIS))) == 0


@pytest.mark.parametrize("name", ["triangle", "quad"])
def test_two_levels_at_once_hang_at_quarters(name: str) -> None:
    found = hanging_nodes(refined(MESHES[name], [Refinement({0: (1.0, 3.0)}, levels=2)]))
    np.testing.assert_allclose(np.unique(found.ratio), [0.25, 0.5, 0.75])
    assert len(found) == 8 + 16


def test_levels_grow_inwards_and_hang_as_in_the_papers() -> None:
    """A box of two levels inside one of one level: every node hangs in the middle of the next coarser edge."""
    rules = [Refinement({0: (1.0, 4.0)}), Refinement({0: (2.0, 4.0)}, levels=2)]
    graded = refined(MESHES["alternating"], rules)
    found = hanging_nodes(graded)
    np.testing.assert_allclose(found.ratio, 0.5)
    lengths = np.linalg.norm(graded.p[:, found.end] - graded.p[:, found.start], axis=0)
    assert sorted(zip(graded.p[0, found.node], lengths, strict=True)) == [(1.0, 1.0)] * 4 + [(2.0, 0.5)] * 8
    # Table 2.2: triangles P0 P1 P3 and P3 P2 P4, P2 on the edge from P1 to P3.
    points = np.array([[0.0, 1.0], [0.0, 0.0], [0.9, 0.0], [1.5, 0.0], [1.2, -0.5]])
    found = hanging_nodes(meshing.build_mesh("triangle", points.T, np.array([[0, 1, 3], [3, 2, 4]]).T))
    assert (found.node.tolist(), found.start.tolist(), found.end.tolist()) == ([2], [1], [3])
    np.testing.assert_allclose(found.ratio, [0.6], rtol=1e-12)
    same = refined(MESHES["quad"], [Refinement({1: (10.0, 11.0)})])
    np.testing.assert_array_equal(same.t, MESHES["quad"].t)
    assert meshing.cell_kind(same) == "quad"
    with pytest.raises(RheotwinError, match="halved once"):
        refined(MESHES["hex"], [Refinement({}, levels=2)])


@pytest.mark.parametrize("name", ["five", "six"])
def test_a_node_on_edges_of_three_levels_hangs_on_the_shortest(name: str) -> None:
    """Around the line x = y = 2 meet cells not halved, halved once and halved twice."""
    rules = [Refinement({0: (2.0, 4.0)}), Refinement({0: (2.0, 4.0), 1: (2.0, 4.0)}, levels=2)]
    graded = refined(MESHES[name], rules)
    found = hang_where_edges_are(graded)
    assert len(np.unique(found.node)) == len(found)
    lengths = np.linalg.norm(graded.p[:, found.end] - graded.p[:, found.start], axis=0)
    on_line = np.all(np.isclose(graded.p[:2, found.node], 2.0), axis=0)
    assert sorted(set(np.round(lengths[on_line], 9))) == [0.5, 1.0]


@pytest.mark.parametrize("name", ["triangle", "alternating", "five", "six"])
def test_bisection_conforms_and_keeps_volumes_parents_and_names(name: str) -> None:
    mesh = oriented(MESHES[name])
    side, worst = np.flatnonzero(mesh.p[0] == 0.0), meshing.element_quality(mesh).min()
    for _ in range(5):
        found = bisected(mesh, np.flatnonzero(np.linalg.norm(mesh.p[:, mesh.t].mean(axis=1), axis=0) < 1.5))
        assert found.mesh.nelements > mesh.nelements and len(hanging_nodes(found.mesh)) == 0
        assert len(np.unique(found.mesh.p.T, axis=0)) == found.mesh.p.shape[1] == len(mesh.p.T) + len(found.between)
        measures = element_measures(found.mesh)
        assert measures.min() > 0.0
        np.testing.assert_allclose(np.bincount(found.parents, measures), element_measures(mesh), rtol=1e-12)
        side = found.carried(side)
        mesh = found.mesh
    np.testing.assert_array_equal(side, np.flatnonzero(mesh.p[0] == 0.0))
    assert meshing.element_quality(mesh).min() > 0.3 * worst
