"""Bodies that start inside each other: found, named with their depth, refused or moved apart."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.bounds import Tree, build_tree
from rheotwin.errors import RheotwinError
from rheotwin.overlap import deepest_overlap
from tests.conftest import SOLID, TWIN, Data, problem_with

BOTH = pytest.mark.parametrize("dimension", [2, 3])
INSIDE = r"bodies\.(second|block): it starts inside body '(block|second)' by"


def two_blocks(origin: list[float], *, overlap: str = "refuse", **more: Any) -> Data:
    """A second block of half the size of the first (0.2 x 0.1 (x 0.1) at the scene's origin) at a place."""
    dimension = len(origin)
    size, cells = [0.1, 0.05, 0.05][:dimension], [3, 2, 2][:dimension]
    second = {"shape": "box", "size": size, "cells": cells, "law": "dough", "density": 1000.0, "origin": origin}
    solid = SOLID | {"gravity": [0.0] * 3} if dimension == 3 else {}
    return {**solid, "bodies.second": second, "contact": {"overlap": overlap}, "tools": {}, "probes": {}, **more}


@pytest.mark.parametrize("origin", [[0.05, 0.1], [0.2, 0.02], [0.3, 0.3], [0.05, 0.02, 0.1], [-0.1, 0.0, 0.0]], ids=str)
def test_bodies_that_only_touch_are_fine(origin: list[float]) -> None:
    assert deepest_overlap(problem_with(two_blocks(origin)).bodies) is None


@pytest.mark.parametrize(
    ("origin", "depth"), [([0.05, 0.097], " 0.003 m"), ([0.05, -0.02], ""), ([0.06, 0.025, 0.096], " 0.004 m")]
)
def test_an_overlap_is_named_with_its_depth(origin: list[float], depth: str) -> None:
    """In the second case no node of either body lies in the other, but cells do."""
    with pytest.raises(RheotwinError, match=INSIDE + depth + '.*overlap = "resolve"'):
        problem_with(two_blocks(origin))


@pytest.mark.parametrize("origin", [[0.06, 0.097], [0.06, 0.025, 0.097]], ids=str)
def test_the_free_body_is_moved_out_by_the_depth(origin: list[float]) -> None:
    before = problem_with(two_blocks(origin, contact={"bodies": False}))
    problem = problem_with(two_blocks(origin, overlap="resolve"))
    moved, second = problem.points - before.points, problem.bodies[1].nodes
    np.testing.assert_array_equal(np.delete(moved, np.r_[second], axis=0), 0.0)
    expected = [0.0] * (len(origin) - 1) + [0.003]
    # moved a millionth further than it was deep
    np.testing.assert_allclose(moved[second], np.broadcast_to(expected, moved[second].shape), rtol=2e-6, atol=1e-15)
    np.testing.assert_array_equal(problem.bodies[1].mesh.p.T, problem.points[second])
    assert deepest_overlap(problem.bodies) is None


@pytest.mark.parametrize(
    ("origin", "more", "place"), [([0.196, 0.09], {}, [0.2, 0.09]), ([0.05, 0.097], {"supports": {}}, [0.05, 0.1])]
)
def test_the_shorter_way_is_taken_and_of_two_free_bodies_by_the_later(
    origin: list[float], more: Data, place: list[float]
) -> None:
    block, second = problem_with(two_blocks(origin, overlap="resolve", **more)).bodies
    assert block.mesh.p.T.min(axis=0) == pytest.approx([0.0, 0.0], abs=1e-15)
    assert second.mesh.p.T.min(axis=0) == pytest.approx(place, abs=1e-8)


def test_what_cannot_be_resolved_shared_nodes_and_bodies_without_contact() -> None:
    held = {"supports.second": {"body": "second", "where": {"side": "top"}}}
    with pytest.raises(RheotwinError, match="held by supports"):
        problem_with(two_blocks([0.05, 0.097], overlap="resolve", **held))
    scene = two_blocks([0.05, 0.05])
    del scene["contact"]
    assert problem_with(scene).contact is None
    # All their surface nodes coincide: none lies inside.
    with pytest.raises(RheotwinError, match="starts inside body"):
        problem_with({"bodies.twin": TWIN | {"origin": [0.0, 0.0]}, "contact": {}, "tools": {}, "probes": {}})
    # A problem put together by hand, in which the last node of one body is the first of the next.
    problem = problem_with(two_blocks([0.05, 0.1]))
    block, second = problem.bodies
    shared = replace(second, first_node=second.first_node - 1)
    with pytest.raises(RheotwinError, match=r"bodies\.second: it shares node \d+ with body 'block'; number the nodes"):
        replace(problem, bodies=(block, shared))


def test_tools_and_selections_follow_bodies_that_were_moved() -> None:
    """The second block's top goes from 0.14 to 0.15 m, past a bar and into a wall at 0.145 m."""
    wall = {"shape": "plane", "center": [0.1, 0.145], "normal": [0.0, -1.0]}
    tools = {"bar": {**wall, "shape": "bar", "width": 0.2, "bodies": ["second"]}, "wall": wall}
    with pytest.warns(UserWarning, match=r"tools\.wall: 4 surface nodes start inside it, by up to 0\.005 m"):
        problem = problem_with(two_blocks([0.05, 0.09], overlap="resolve", tools=tools))
    assert problem.points[problem.bodies[1].nodes, 1].max() == pytest.approx(0.15, abs=1e-7)
    assert problem.points[problem.tools[0].candidates, 1].max() < 0.145
    # A probe at the place where the second block starts, and a force on its top: they go with its nodes.
    probes = {"tip": {"body": "second", "at": [0.05, 0.09]}}
    forces = {"push": {"body": "second", "where": {"box": {"y": [0.139, 0.141]}}, "total": [0.0, -1.0]}}
    problem = problem_with(two_blocks([0.05, 0.09], overlap="resolve", probes=probes, forces=forces))
    assert problem.points[problem.probes["tip"]] == pytest.approx([0.05, 0.1], abs=1e-7)
    np.testing.assert_allclose(problem.points[problem.loads[0].nodes, 1], 0.15, atol=1e-7)


def test_rings_move_along_the_axis_with_their_masses_and_not_across() -> None:
    """A disc of radius 0.1 m on one of 0.2 m, both around the axis."""
    moved, placed = (
        problem_with(two_blocks([0.0, height], overlap="resolve", plane="axisymmetric")) for height in (0.09, 0.1)
    )
    np.testing.assert_array_equal(moved.points[:, 0], placed.points[:, 0])
    np.testing.assert_allclose(moved.points[:, 1], placed.points[:, 1], atol=2e-8)
    np.testing.assert_allclose(moved.masses, placed.masses, rtol=1e-12)
    assert moved.masses[moved.bodies[1].nodes].sum() == pytest.approx(1000.0 * np.pi * 0.1**2 * 0.05, rel=1e-9)
    with pytest.raises(RheotwinError, match=r"bodies\.(second|block): .* leads across the axis, which would stretch"):
        problem_with(two_blocks([0.19, 0.02], overlap="resolve", plane="axisymmetric"))


@BOTH
def test_bars_that_cross_overlap(dimension: int) -> None:
    """One cell each: no node and no centre of either lies inside the other, only edges do."""
    scene = two_blocks([0.15, -0.03, 0.005][:dimension], supports={}, forces={})
    for body, size in (("block", [0.2, 0.02, 0.02]), ("second", [0.02, 0.2, 0.02])):
        scene |= {f"bodies.{body}.size": size[:dimension], f"bodies.{body}.cells": [1] * dimension}
    with pytest.raises(RheotwinError, match=INSIDE + r" 0\.0\d+ m"):
        problem_with(scene)


@BOTH
def test_the_tree_of_boxes_leaves_no_cut_out(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fine slab through a block, on edges only: the same point to the last bit as when every face is looked at."""
    scene = two_blocks([-0.05, 0.037, -0.1][:dimension], supports={}, forces={})
    del scene["contact"]
    scene |= {"bodies.second.size": [0.31, 0.012, 0.3][:dimension], "bodies.second.cells": [1] * dimension}
    problem = problem_with({**scene, "bodies.block.cells": [12, 7, 5][:dimension]})
    found = deepest_overlap(problem.bodies)

    def everywhere(*arguments: Any) -> Tree:
        tree = build_tree(*arguments)
        tree.box[:] = np.repeat([-np.inf, np.inf], 3)
        return tree

    monkeypatch.setattr("rheotwin.overlap.build_tree", everywhere)
    again = deepest_overlap(problem.bodies)
    assert found is not None and again is not None
    np.testing.assert_array_equal(found.way, again.way)
    assert (found.inner, found.outer) == (again.inner, again.outer)
