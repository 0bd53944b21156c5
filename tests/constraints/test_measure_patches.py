"""Constraint spaces: shares, cells found by themselves, and what they leave of a body's freedom."""

import numpy as np
import pytest
from skfem import MeshTet, MeshTri

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import cell_groups, patches
from rheotwin.constraints.rank import RankReport, rank_report
from rheotwin.errors import RheotwinError
from rheotwin.meshing.box import tet_grid, triangle_grid

Array = np.ndarray


def papers_triangles(pattern: str) -> tuple[Array, Array]:
    """The papers' block: 16 x 6 squares of 5 m, split."""
    mesh = triangle_grid(5.0 * np.arange(17), 5.0 * np.arange(7), pattern=pattern)
    return np.ascontiguousarray(mesh.p.T), mesh.t.T


def cube_tets(cells: int, split: str = "six") -> tuple[Array, Array]:
    mesh = tet_grid(*[np.arange(cells + 1.0)] * 3, split=split)
    return np.ascontiguousarray(mesh.p.T), mesh.t.T


def report(kind: str, points: Array, simplices: Array) -> RankReport:
    gradient = measure_constraints(patches(kind, simplices, points), points).gradient(points)
    return rank_report(kind, gradient, np.repeat(points[:, -1] == 0.0, points.shape[1]))


@pytest.mark.parametrize("kind", ["node", "cell", "element"])
def test_every_element_is_shared_out_once(kind: str) -> None:
    points, tets = cube_tets(2)
    shares = patches(kind, tets, points).shares
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-15)
    assert shares.shape == ({"node": 27, "cell": 8, "element": 48}[kind], 48)


def test_nodes_without_elements_get_no_constraint() -> None:
    points = np.array([[5.0, 5.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    space = patches("node", np.array([[1, 2, 3]]), points)
    assert space.shares.shape == (3, 1)
    assert measure_constraints(space, points).gradient(points).shape == (3, 8)


def same_partition(found: Array, wanted: Array) -> bool:
    return len(np.unique(np.stack([found, wanted]), axis=1).T) == len(np.unique(found)) == len(np.unique(wanted))


@pytest.mark.parametrize("pattern", ["se-nw", "alternating"])
def test_pairs_of_split_squares_are_found_in_any_order(pattern: str) -> None:
    points, triangles = papers_triangles(pattern)
    order = np.random.default_rng(0).permutation(len(triangles))
    assert same_partition(cell_groups(triangles, points), np.arange(192) // 2)
    assert same_partition(cell_groups(triangles[order], points), order // 2)


def test_the_six_tets_of_a_cube_are_found_in_any_order() -> None:
    points, tets = cube_tets(3)
    order = np.random.default_rng(0).permutation(len(tets))
    assert same_partition(cell_groups(tets, points), np.arange(162) // 6)
    assert same_partition(cell_groups(tets[order], points), order // 6)


def test_the_five_tets_of_a_cube_are_found_in_the_order_of_the_split() -> None:
    points, tets = cube_tets(2, "five")
    assert same_partition(cell_groups(tets, points), np.arange(40) // 5)


def test_an_irregular_mesh_leaves_no_element_alone() -> None:
    mesh = MeshTri.init_lshaped().refined(2)
    points = mesh.p.T + 0.05 * np.random.default_rng(0).random((mesh.p.shape[1], 2))
    cells = mesh.t.T[np.random.default_rng(1).permutation(mesh.t.shape[1])]
    sizes = np.bincount(cell_groups(cells, points))
    assert sizes.min() >= 2
    assert sizes.sum() == len(cells)
    solid = MeshTet.init_ball(1)
    sizes = np.bincount(cell_groups(solid.t.T, solid.p.T))
    assert sizes.min() >= 2


def test_an_element_left_over_joins_the_cell_across_its_longest_side() -> None:
    # triangle 4 touches the square on its left along 2.0 and the flat square below along 1.1; triangle 5 stands alone
    points = np.array(
        [[0, 0], [2, 0], [2, 2], [0, 2], [3, -0.45], [2, -3], [3, -3.45], [9, 9], [10, 9], [9, 10]], dtype=float
    )
    left, below = [[0, 1, 2], [0, 2, 3]], [[5, 6, 1], [6, 4, 1]]
    found = cell_groups(np.array([*below, *left, [1, 4, 2], [7, 8, 9]]), points)
    assert found[4] == found[2] == found[3] != found[0] == found[1]
    assert np.count_nonzero(found == found[5]) == 1


def test_groups_can_be_given() -> None:
    points, triangles = papers_triangles("se-nw")
    assert patches("cell", triangles, points, np.arange(192) // 4).shares.shape == (48, 192)
    with pytest.raises(RheotwinError, match="3 cell numbers for 192 elements"):
        patches("cell", triangles, points, np.arange(3))


def test_squares_are_refused() -> None:
    with pytest.raises(RheotwinError, match="split the quads"):
        patches("node", np.array([[0, 1, 2, 3]]), np.zeros((4, 2)))


def test_the_papers_scene_in_the_seed_mode() -> None:
    found = report("element", *papers_triangles("se-nw"))
    assert (found.unknowns, found.constraints, found.rank, found.free_modes) == (204, 192, 192, 12)
    sentence = found.sentence()
    assert "seed mode" in sentence
    assert "204 dof, 192 constraints, rank 192, 12 free modes" in sentence
    assert "expect locking" in sentence


def test_alternating_diagonals_make_the_seed_mode_redundant() -> None:
    found = report("element", *papers_triangles("alternating"))
    assert found.rank is not None
    assert found.rank < found.constraints
    assert f"{192 - found.rank} constraints are dependent" in found.sentence()


@pytest.mark.parametrize(("kind", "constraints", "rank"), [("node", 119, 117), ("cell", 96, 96)])
def test_constraints_per_node_and_cell_leave_room(kind: str, constraints: int, rank: int) -> None:
    # node: two checkerboard pressures are free on a rectangle held at one side (spec 5: two to eight)
    found = report(kind, *papers_triangles("se-nw"))
    assert (found.constraints, found.rank, found.locks) == (constraints, rank, False)
    assert "locking" not in found.sentence()


def test_the_rank_of_nothing_is_zero() -> None:
    points, triangles = papers_triangles("se-nw")
    gradient = measure_constraints(patches("cell", triangles, points), points).gradient(points)
    assert rank_report("cell", gradient, np.ones(points.size, dtype=bool)).rank == 0


def test_an_inverted_element_is_named() -> None:
    points, triangles = papers_triangles("se-nw")
    triangles = triangles.copy()
    triangles[7, :2] = triangles[7, 1::-1]
    with pytest.raises(RheotwinError, match=r"element 7 has the measure -12\.5 at rest"):
        measure_constraints(patches("node", triangles, points), points)
