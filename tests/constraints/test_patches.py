"""Constraint spaces: shares, cells found by themselves, and what they leave of a body's freedom."""

from typing import Any

import numpy as np
import pytest
from skfem import MeshTet, MeshTri

from rheotwin.constraints.feasible import RankReport, rank_report
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import cell_groups, patches
from rheotwin.errors import RheotwinError
from rheotwin.meshing.box import tet_grid, triangle_grid

Array = np.ndarray


def split(mesh: Any) -> tuple[Array, Array]:
    return np.ascontiguousarray(mesh.p.T), mesh.t.T


def papers_triangles(pattern: str = "se-nw") -> tuple[Array, Array]:
    """The papers' block: 16 x 6 squares of 5 m, split."""
    return split(triangle_grid(5.0 * np.arange(17), 5.0 * np.arange(7), pattern=pattern))


def cube_tets(cells: int, pattern: str = "six") -> tuple[Array, Array]:
    return split(tet_grid(*[np.arange(cells + 1.0)] * 3, split=pattern))


def report(kind: str, points: Array, simplices: Array) -> RankReport:
    gradient = measure_constraints(patches(kind, simplices, points), points).gradient(points)
    return rank_report(kind, gradient, np.repeat(points[:, -1] == 0.0, points.shape[1]))


@pytest.mark.parametrize(("kind", "count"), [("node", 27), ("cell", 8), ("element", 48)])
def test_every_element_is_shared_out_once(kind: str, count: int) -> None:
    points, tets = cube_tets(2)
    shares = patches(kind, tets, points).shares
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-15)
    assert shares.shape == (count, 48)


def test_nodes_without_elements_get_no_constraint() -> None:
    points = np.array([[5.0, 5.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    space = patches("node", np.array([[1, 2, 3]]), points)
    assert space.shares.shape == (3, 1)
    assert measure_constraints(space, points).gradient(points).shape == (3, 8)


@pytest.mark.parametrize(
    ("body", "size", "any_order"),
    [
        (papers_triangles(), 2, True),
        (papers_triangles("alternating"), 2, True),
        (cube_tets(3), 6, True),
        (cube_tets(2, "five"), 5, False),
    ],
    ids=["squares", "alternating squares", "six tets", "five tets"],
)
def test_the_parts_of_split_cells_are_found(body: tuple[Array, Array], size: int, any_order: bool) -> None:
    points, simplices = body
    for order in (np.arange(len(simplices)), np.random.default_rng(0).permutation(len(simplices)))[: 1 + any_order]:
        found, wanted = cell_groups(simplices[order], points), order // size
        assert len(np.unique(np.stack([found, wanted]), axis=1).T) == len(np.unique(found)) == len(np.unique(wanted))


def test_an_irregular_mesh_leaves_no_element_alone() -> None:
    mesh = MeshTri.init_lshaped().refined(2)
    points = mesh.p.T + 0.05 * np.random.default_rng(0).random((mesh.p.shape[1], 2))
    cells, solid = mesh.t.T[np.random.default_rng(1).permutation(mesh.t.shape[1])], MeshTet.init_ball(1)
    for simplices, places in ((cells, points), (solid.t.T, solid.p.T)):
        assert np.bincount(cell_groups(simplices, places)).min() >= 2


def test_an_element_left_over_joins_the_cell_across_its_longest_side() -> None:
    # triangle 4 touches the square on its left along 2.0 and the flat square below along 1.1; triangle 5 stands alone
    points = np.array(
        [[0, 0], [2, 0], [2, 2], [0, 2], [3, -0.45], [2, -3], [3, -3.45], [9, 9], [10, 9], [9, 10]], dtype=float
    )
    left, below = [[0, 1, 2], [0, 2, 3]], [[5, 6, 1], [6, 4, 1]]
    found = cell_groups(np.array([*below, *left, [1, 4, 2], [7, 8, 9]]), points)
    assert found[4] == found[2] == found[3] != found[0] == found[1]
    assert np.count_nonzero(found == found[5]) == 1


def test_groups_can_be_given_and_what_has_no_patches_is_refused() -> None:
    points, triangles = papers_triangles()
    assert patches("cell", triangles, points, np.arange(192) // 4).shares.shape == (48, 192)
    with pytest.raises(RheotwinError, match="3 cell numbers for 192 elements"):
        patches("cell", triangles, points, np.arange(3))
    with pytest.raises(RheotwinError, match="split the quads"):
        patches("node", np.array([[0, 1, 2, 3]]), np.zeros((4, 2)))
    triangles = triangles.copy()
    triangles[7, :2] = triangles[7, 1::-1]
    with pytest.raises(RheotwinError, match=r"element 7 has the measure -12\.5 at rest"):
        measure_constraints(patches("node", triangles, points), points)


def test_the_papers_scene_in_the_seed_mode() -> None:
    found = report("element", *papers_triangles())
    assert (found.unknowns, found.constraints, found.rank, found.free_modes) == (204, 192, 192, 12)
    for words in ("seed mode", "204 dof, 192 constraints, rank 192, 12 free modes", "expect locking"):
        assert words in found.sentence()


def test_alternating_diagonals_make_the_seed_mode_redundant() -> None:
    found = report("element", *papers_triangles("alternating"))
    assert found.rank is not None and found.rank < found.constraints
    assert f"{192 - found.rank} constraints are dependent" in found.sentence()


@pytest.mark.parametrize(("kind", "constraints", "rank"), [("node", 119, 117), ("cell", 96, 96)])
def test_constraints_per_node_and_cell_leave_room(kind: str, constraints: int, rank: int) -> None:
    # node: two checkerboard pressures are free on a rectangle held at one side (spec 5: two to eight)
    found = report(kind, *papers_triangles())
    assert (found.constraints, found.rank, found.locks) == (constraints, rank, False)
    assert "locking" not in found.sentence()


def test_the_rank_of_nothing_is_zero() -> None:
    points, triangles = papers_triangles("se-nw")
    gradient = measure_constraints(patches("cell", triangles, points), points).gradient(points)
    assert rank_report("cell", gradient, np.ones(points.size, dtype=bool)).rank == 0
