"""From a scene to a problem: masses, forces shared by area, supports, the footprint of bars, probes; what cannot be."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.build_tools import bar_axes, in_plane_axes
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from tests.conftest import SOLID, TWIN, Data, problem_with, scene_with

CELLS = pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])
TOP = {"body": "block", "where": {"side": "top"}}
SECOND = {"shape": "box", "size": [0.1, 0.1], "cells": [1, 1], "law": "dough", "density": 1.0, "origin": [0.5, 0]}


def of_cells(cell: str, **more: Any) -> Data:
    return {**(SOLID if cell in ("tet", "hex") else {}), "bodies.block.cell": cell, **more}


def load(total: list[float], changes: Data | None = None, **more: Any) -> tuple[Problem, Any]:
    problem = problem_with({**(changes or {}), "forces.push": {**TOP, "total": total, **more}})
    return problem, problem.loads[0]


def driven(where: Data, displacement: list[float]) -> Data:
    motion = {"times": [0.0, 0.4], "displacement": [[0.0, 0.0], displacement]}
    return {"body": "block", "where": where, "motion": motion}


@CELLS
@pytest.mark.parametrize("sharing", ["volume", "equal"])
def test_masses_sum_to_the_total(cell: str, sharing: str) -> None:
    problem = problem_with(of_cells(cell, **{"bodies.block.mass_sharing": sharing}))
    # 1000 kg/m3 in 0.2 x 0.1 x 1 m (thickness) or 0.2 x 0.1 x 0.1 m
    assert problem.masses.sum() == pytest.approx(2.0 if problem.dimension == 3 else 20.0, rel=1e-13)
    assert (np.ptp(problem.masses) == 0.0) == (sharing == "equal")


def test_shares_of_volume_and_mass_instead_of_density() -> None:
    problem = problem_with({"bodies.block.cell": "quad"})
    # 8 equal squares of 2.5 kg: a corner node has 1 quarter, a border node 2, an inner node 4
    around = np.bincount(problem.bodies[0].mesh.t.ravel())
    assert problem.masses == pytest.approx(2.5 / 4 * around, rel=1e-13) and sorted(set(around)) == [1, 2, 4]
    by_mass = problem_with({"bodies.block.density": ..., "bodies.block.mass": 10.0, "thickness": 0.5})
    assert by_mass.masses == pytest.approx(problem_with({"thickness": 0.5}).masses, rel=1e-13)
    assert by_mass.bodies[0].density == pytest.approx(1000.0, rel=1e-13)


@CELLS
def test_a_force_is_shared_by_the_boundary_area_around_each_node(cell: str) -> None:
    total = [0.0, 3.0, -4.0] if cell in ("tet", "hex") else [3.0, -4.0]
    problem, push = load(total, of_cells(cell))
    assert push.shares.sum(axis=0) == pytest.approx(total, rel=1e-13)
    # A uniform pressure has its resultant in the middle of the side, whatever the mesh.
    pull = push.shares @ np.array(total) / np.dot(total, total)
    assert (pull @ problem.points[push.nodes])[:-1] == pytest.approx([0.1, 0.05][: problem.dimension - 1], rel=1e-12)
    assert pull.min() > 0.0


def test_forces_are_shared_by_length_or_equally_and_follow_their_factors() -> None:
    assert sorted(load([0.0, -8.0])[1].shares[:, 1]) == pytest.approx([-2.0, -2.0, -2.0, -1.0, -1.0])
    graded = {"shape": "grid", "coordinates": [[0.0, 0.1, 0.2, 0.4], [0.0, 0.1]], "law": "dough", "mass": 1.0}
    problem, push = load([0.0, -4.0], {"bodies.block": graded})
    by_x = dict(zip(problem.points[push.nodes, 0], push.shares[:, 1], strict=True))
    assert by_x == pytest.approx({0.0: -0.5, 0.1: -1.0, 0.2: -1.5, 0.4: -1.0})
    assert load([2.0, 0.0], where={"nearest": [0.1, 0.05]})[1].shares.tolist() == [[2.0, 0.0]]
    factor = load([2.0, 0.0], times=[0.1, 0.2], factor=[0, 1])[1].factor
    assert [factor.at(time)[0] for time in (0.0, 0.15, 0.4)] == pytest.approx([0.0, 0.5, 1.0])


def test_two_supports_drive_no_common_node_but_may_meet() -> None:
    words = r"^supports.wall: node 0 component x is already driven by supports.floor.*let only one of them hold it$"
    with pytest.raises(RheotwinError, match=words):
        problem_with({"supports.wall": driven({"side": "left"}, [0.1, 0.0])})
    assert len(problem_with({"supports.wall": {"body": "block", "where": {"side": "left"}}}).prescribed) == 2
    sideways = driven({"side": "left"}, [0.1, 0.0]) | {"fix": ["x"]}
    wall = problem_with({"supports.wall": sideways, "supports.floor.fix": ["y"]}).prescribed[1]
    assert wall.components == (0,) and wall.motion.at(0.2).tolist() == [0.05, 0.0]


def test_which_nodes_a_bar_can_touch_along_its_axes() -> None:
    problem = problem_with()
    x, y = problem.points.T
    # the bar is centred at x = 0.1 and 0.1 wide; its borders count
    below = (np.abs(x - 0.1) < 0.0501) & ((x == 0.0) | (x == 0.2) | (y == 0.0) | (y == 0.1))
    assert problem.tools[0].candidates.tolist() == np.flatnonzero(below).tolist()
    # a bar within the block, looking down, has only the lower side in front of it
    lower = problem_with({"tools.bar.center": [0.1, 0.05]})
    assert lower.tools[0].candidates.tolist() == np.flatnonzero(below & (y == 0.0)).tolist()
    for normal in np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, 0.8], [0.36, 0.48, 0.8]]]):
        frame = np.array([normal, *in_plane_axes(normal)])
        assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-15)
    assert bar_axes(np.array([1.0, 0.0, 0.0]), 1) == ()
    (along,) = bar_axes(np.array([0.0, -1.0, 0.0]), 2)
    assert along.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_the_footprint_of_a_3d_bar_turns_with_its_normal(turn: float) -> None:
    """The whole scene is turned about y: the same nodes must be chosen."""
    c, s = np.cos(turn), np.sin(turn)
    center = [0.1 * c + 0.1 * s, 0.05, -0.1 * s + 0.1 * c]
    bar = {"shape": "bar", "center": center, "normal": [-s, 0.0, -c], "width": [0.11, 0.3]}
    rotation = {"axis": [0.0, 1.0, 0.0], "angle": turn}
    problem = problem_with({**SOLID, "tools": {"bar": bar}, "bodies.block.rotation": rotation})
    chosen = problem_with(SOLID).points[problem.tools[0].candidates]
    assert set(np.round(chosen[:, 0], 9)) == {0.05, 0.1, 0.15}
    assert set(np.round(chosen[chosen[:, 2] > 0.09][:, 1], 9)) == {0.0, 0.05, 0.1}


def test_bodies_are_numbered_one_after_the_other_and_cases_choose_their_laws() -> None:
    problem = problem_with(
        {
            "bodies.twin": TWIN,
            "tools.wall": {"shape": "plane", "center": [0.0, 0.0], "normal": [1.0, 0.0], "bodies": ["twin"]},
            "supports.ground": {"body": "twin", "where": {"side": "bottom"}},
            "forces.push": {"body": "twin", "where": {"side": "top"}, "total": [1.0, 0.0]},
            "probes.far": {"body": "twin", "at": [1.2, 0.1]},
        }
    )
    block, other = problem.bodies
    assert (block.first_node, other.first_node) == (0, 15) and problem.tools[1].candidates.min() >= 15
    assert problem.points[other.nodes][:, 0].min() == problem.points[problem.prescribed[1].nodes][:, 0].min() == 1.0
    assert problem.body_of(14).name == "block" and problem.body_of(15).name == "twin"
    assert problem.points[problem.loads[0].nodes][:, 1] == pytest.approx(0.1)
    assert problem.points[problem.probes["far"]] == pytest.approx([1.2, 0.1])
    assert problem.points[problem.probes["tip"]] == pytest.approx([0.1, 0.1])
    scene = scene_with({"cases": {"soft": {"laws": {"block": "gel"}}, "dough": {}}})
    assert build_problem(scene).bodies[0].law.name == "elastic"  # the first case
    assert build_problem(scene, "dough").bodies[0].law.name == "three-element"
    with pytest.raises(RheotwinError, match=r"no case 'sft' \(did you mean 'soft'\?\); cases: soft, dough"):
        build_problem(scene, "sft")


@pytest.mark.parametrize("cell", ["tet", "hex"])
def test_a_punch_pushes_on_the_lattice_of_a_side(cell: str) -> None:
    """Half-way cells of a punch of 25 x 50 mm at (75, 50) mm on squares of 25 mm: x = 75, y = 37.5 and 62.5 mm."""
    punch = {"center": [0.075, 0.05, 0.1], "size": [0.025, 0.05]}
    problem, push = load([0.0, 0.0, -8.0], of_cells(cell, **{"bodies.block.cells": [8, 4, 4]}), punch=punch)
    pushed = push.shares[:, 2] != 0.0
    places = problem.points[push.nodes[pushed]]
    np.testing.assert_allclose(places, [[0.075, y, 0.1] for y in (0.025, 0.05, 0.075)], atol=1e-15)
    np.testing.assert_allclose(push.shares[pushed], [[0, 0, -2.0], [0, 0, -4.0], [0, 0, -2.0]], atol=1e-12)


PUNCHED = {**TOP, "total": [0.0, -8.0], "punch": {"center": [0.1, 0.1], "size": [0.05]}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tools.bar.center": [1.0, 0.1]}, r"^tools.bar: no surface node lies in front of the bar within its width"),
        ({"tools.bar.normal": [0.0, 1.0], "tools.bar.center": [0.1, 0.11]}, "turn `normal` towards the body"),
        ({"bodies.twin": {**TWIN, "cell": "quad"}}, "need the same kind of cell, found quad, triangle"),
        (
            {"forces.push": {**PUNCHED, "punch": {"center": [-0.03, 0.1], "size": [0.05]}}},
            r"forces\.push\.punch: the punch reaches beyond",
        ),
        (
            {"forces.push": {**PUNCHED, "where": {"box": {"x": [0.0, 0.2]}}}},
            r"forces\.push\.where: a punch pushes on a flat side",
        ),
    ],
)
def test_scenes_without_a_problem_are_refused(changes: Data, words: str) -> None:
    with pytest.raises(RheotwinError, match=words):
        problem_with(changes)


def changed(values: np.ndarray, place: Any, value: float) -> np.ndarray:
    found = values.copy()
    found[place] = value
    return found


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_what_does_not_fit_together_in_a_problem_made_by_hand_is_refused(value: float) -> None:
    problem = problem_with({"bodies.second": SECOND, "contact": {"self": ["second"]}})
    assert problem.contact is not None
    block, second = problem.bodies
    wrong: list[tuple[Data, str]] = [
        (
            {"bodies": (block, replace(second, first_node=second.first_node + 1))},
            r"bodies\.second: its nodes begin at 16, those before it end at 15",
        ),
        ({"bodies": (block,)}, r"points: there are 19 for 15 nodes of bodies"),
        ({"points": problem.points[:, :1]}, "points: each needs 2 coordinates"),
        ({"masses": changed(problem.masses, 17, value)}, r"bodies\.second: node 2 has no mass .*; give the body"),
        ({"masses": problem.masses[1:]}, "masses: there are 18 for 19 nodes"),
        ({"tools": ()}, r"contact\.tool_laws: there are 1 for 0 tools"),
        *(
            (
                {"contact": replace(problem.contact, self_bodies=(number,))},
                rf"contact\.self_bodies: there is no body {number}; .* from 0 to 1",
            )
            for number in (-1, 2)
        ),
    ]
    if not np.isfinite(value):
        points = {"points": changed(problem.points, (17, 1), value)}
        wrong.append((points, r"bodies\.second: node 2 is at .*; give it finite coordinates"))
    for changes, words in wrong:
        with pytest.raises(RheotwinError, match=words):
            replace(problem, **changes)
