"""From a scene to a problem: masses, forces shared by area, supports, the footprint of bars, probes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.build_tools import bar_axes, in_plane_axes
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.scene import Scene

Build = Callable[..., Problem]
SHAPES: dict[str, tuple[dict[str, Any], float]] = {
    # changes of the scene, area or length of the loaded top side
    "triangle": ({"bodies.block.cell": "triangle"}, 0.2),
    "quad": ({"bodies.block.cell": "quad"}, 0.2),
    "tet": ({"bodies.block.cell": "tet"}, 0.02),
    "hex": ({"bodies.block.cell": "hex"}, 0.02),
}
SOLID = {
    "dimension": 3,
    "gravity": [0.0, 0.0, -1.0],
    "bodies.block.size": [0.2, 0.1, 0.1],
    "bodies.block.cells": [4, 2, 2],
    "tools": {},
    "probes": {},
}


def changed(cell: str, extra: dict[str, Any]) -> dict[str, Any]:
    solid = SOLID if cell in ("tet", "hex") else {}
    return {**solid, **SHAPES[cell][0], **extra}


@pytest.mark.parametrize("cell", SHAPES)
@pytest.mark.parametrize("sharing", ["volume", "equal"])
def test_masses_sum_to_the_total(problem_with: Build, cell: str, sharing: str) -> None:
    problem = problem_with(changed(cell, {"bodies.block.mass_sharing": sharing}))
    # 1000 kg/m3 in 0.2 x 0.1 x 1 m (thickness) or 0.2 x 0.1 x 0.1 m
    total = 2.0 if problem.dimension == 3 else 20.0
    assert problem.masses.sum() == pytest.approx(total, rel=1e-13)
    if sharing == "equal":
        assert np.ptp(problem.masses) == 0.0
    else:
        assert problem.masses.min() < problem.masses.max()


def test_volume_sharing_gives_each_corner_its_part_of_every_cell(problem_with: Build) -> None:
    problem = problem_with({"bodies.block.cell": "quad"})
    # 8 equal squares of 2.5 kg: a corner node has 1 quarter, a border node 2, an inner node 4
    around = np.bincount(problem.bodies[0].mesh.t.ravel())
    assert problem.masses == pytest.approx(2.5 / 4 * around, rel=1e-13)
    assert sorted(set(around)) == [1, 2, 4]


def test_mass_and_density_are_two_ways_to_say_the_same(problem_with: Build) -> None:
    by_mass = problem_with({"bodies.block.density": ..., "bodies.block.mass": 10.0, "thickness": 0.5})
    by_density = problem_with({"thickness": 0.5})
    assert by_mass.masses == pytest.approx(by_density.masses, rel=1e-13)
    assert by_mass.bodies[0].density == pytest.approx(1000.0, rel=1e-13)


@pytest.mark.parametrize("cell", SHAPES)
def test_a_force_is_shared_by_the_boundary_area_around_each_node(problem_with: Build, cell: str) -> None:
    total = [0.0, 3.0, -4.0] if cell in ("tet", "hex") else [3.0, -4.0]
    force = {"body": "block", "where": {"side": "top"}, "total": total}
    problem = problem_with(changed(cell, {"forces.push": force}))
    (load,) = problem.loads
    assert load.shares.sum(axis=0) == pytest.approx(total, rel=1e-13)
    # A uniform pressure has its resultant in the middle of the side, whatever the mesh.
    pull = load.shares @ np.array(total) / np.dot(total, total)
    middle = pull @ problem.points[load.nodes]
    assert middle[:-1] == pytest.approx([0.1, 0.05][: problem.dimension - 1], rel=1e-12)
    assert pull.min() > 0.0


def test_end_nodes_of_a_loaded_edge_carry_half(problem_with: Build) -> None:
    force = {"body": "block", "where": {"side": "top"}, "total": [0.0, -8.0]}
    (load,) = problem_with({"forces.push": force}).loads
    assert sorted(load.shares[:, 1]) == pytest.approx([-2.0, -2.0, -2.0, -1.0, -1.0])


def test_graded_faces_are_weighed_by_their_length(problem_with: Build) -> None:
    block = {
        "shape": "grid",
        "coordinates": [[0.0, 0.1, 0.2, 0.4], [0.0, 0.1]],
        "law": "dough",
        "mass": 1.0,
    }
    changes = {
        "bodies.block": block,
        "forces.push": {"body": "block", "where": {"side": "top"}, "total": [0.0, -4.0]},
    }
    problem = problem_with(changes)
    (load,) = problem.loads
    by_x = dict(zip(problem.points[load.nodes, 0], load.shares[:, 1], strict=True))
    assert by_x == pytest.approx({0.0: -0.5, 0.1: -1.0, 0.2: -1.5, 0.4: -1.0})


def test_a_force_on_nodes_without_a_face_is_shared_equally(problem_with: Build) -> None:
    force = {"body": "block", "where": {"nearest": [0.1, 0.05]}, "total": [2.0, 0.0]}
    (load,) = problem_with({"forces.push": force}).loads
    assert load.shares.tolist() == [[2.0, 0.0]]


def test_a_force_follows_its_table_of_factors(problem_with: Build) -> None:
    force = {"body": "block", "where": {"side": "top"}, "total": [2.0, 0.0], "times": [0.1, 0.2], "factor": [0, 1]}
    (load,) = problem_with({"forces.push": force}).loads
    assert [load.factor.at(time)[0] for time in (0.0, 0.15, 0.4)] == pytest.approx([0.0, 0.5, 1.0])


def driven(where: dict[str, Any], displacement: list[float]) -> dict[str, Any]:
    motion = {"times": [0.0, 0.4], "displacement": [[0.0, 0.0], displacement]}
    return {"body": "block", "where": where, "motion": motion}


def test_two_supports_may_not_drive_one_node(problem_with: Build) -> None:
    with pytest.raises(RheotwinError) as caught:
        problem_with({"supports.wall": driven({"side": "left"}, [0.1, 0.0])})
    sentence = str(caught.value)
    assert sentence.startswith("supports.wall: node 0 component x is already driven by supports.floor")
    assert sentence.endswith("let only one of them hold it")


def test_supports_at_rest_and_supports_of_other_components_may_meet(problem_with: Build) -> None:
    still = {"body": "block", "where": {"side": "left"}}
    assert len(problem_with({"supports.wall": still}).prescribed) == 2
    sideways = driven({"side": "left"}, [0.1, 0.0]) | {"fix": ["x"]}
    floor = {"body": "block", "where": {"side": "bottom"}, "fix": ["y"]}
    wall = problem_with({"supports.wall": sideways, "supports.floor": floor}).prescribed[1]
    assert wall.components == (0,)
    assert wall.motion.at(0.2).tolist() == [0.05, 0.0]


def test_a_bar_can_touch_the_surface_nodes_in_front_of_its_face_and_within_its_width(problem_with: Build) -> None:
    problem = problem_with()
    x, y = problem.points.T
    surface = (x == 0.0) | (x == 0.2) | (y == 0.0) | (y == 0.1)
    # the bar is centred at x = 0.1 and 0.1 wide; its borders count
    below = (np.abs(x - 0.1) < 0.0501) & surface
    assert problem.tools[0].candidates.tolist() == np.flatnonzero(below).tolist()
    # a bar within the block, looking down, has only the lower side in front of it
    lower = problem_with({"tools.bar.center": [0.1, 0.05]})
    assert lower.tools[0].candidates.tolist() == np.flatnonzero(below & (y == 0.0)).tolist()


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_the_footprint_of_a_3d_bar_turns_with_its_normal(problem_with: Build, turn: float) -> None:
    # The whole scene is turned about y: the same nodes must be chosen.
    c, s = np.cos(turn), np.sin(turn)
    center = [0.1 * c + 0.1 * s, 0.05, -0.1 * s + 0.1 * c]
    bar = {"shape": "bar", "center": center, "normal": [-s, 0.0, -c], "width": [0.11, 0.3]}
    rotation = {"axis": [0.0, 1.0, 0.0], "angle": turn}
    problem = problem_with({**SOLID, "tools": {"bar": bar}, "bodies.block.rotation": rotation})
    straight = problem_with({**SOLID, "tools": {}})
    chosen = straight.points[problem.tools[0].candidates]
    assert set(np.round(chosen[:, 0], 9)) == {0.05, 0.1, 0.15}
    assert set(np.round(chosen[chosen[:, 2] > 0.09][:, 1], 9)) == {0.0, 0.05, 0.1}


def test_a_bar_beside_the_body_is_refused(problem_with: Build) -> None:
    with pytest.raises(RheotwinError, match=r"^tools.bar: no surface node lies in front of the bar within its width"):
        problem_with({"tools.bar.center": [1.0, 0.1]})
    with pytest.raises(RheotwinError, match="turn `normal` towards the body"):
        problem_with({"tools.bar.normal": [0.0, 1.0], "tools.bar.center": [0.1, 0.11]})


def test_a_tool_touches_only_the_bodies_it_names(problem_with: Build) -> None:
    twin = {"shape": "box", "size": [0.2, 0.1], "cells": [4, 2], "law": "dough", "mass": 1.0, "origin": [1.0, 0.0]}
    wall = {"shape": "plane", "center": [0.0, 0.0], "normal": [1.0, 0.0], "bodies": ["twin"]}
    problem = problem_with({"bodies.twin": twin, "tools.wall": wall})
    block, other = problem.bodies
    assert (block.first_node, other.first_node) == (0, 15)
    assert problem.tools[1].candidates.min() >= 15
    assert problem.points[other.nodes][:, 0].min() == 1.0
    assert problem.body_of(14).name == "block" and problem.body_of(15).name == "twin"


def test_supports_and_probes_of_a_second_body_use_the_global_numbering(problem_with: Build) -> None:
    twin = {"shape": "box", "size": [0.2, 0.1], "cells": [4, 2], "law": "dough", "mass": 1.0, "origin": [1.0, 0.0]}
    problem = problem_with(
        {
            "bodies.twin": twin,
            "supports.ground": {"body": "twin", "where": {"side": "bottom"}},
            "forces.push": {"body": "twin", "where": {"side": "top"}, "total": [1.0, 0.0]},
            "probes.far": {"body": "twin", "at": [1.2, 0.1]},
        }
    )
    assert problem.points[problem.prescribed[1].nodes][:, 0].min() == 1.0
    assert problem.points[problem.loads[0].nodes][:, 1] == pytest.approx(0.1)
    assert problem.points[problem.probes["far"]] == pytest.approx([1.2, 0.1])
    assert problem.points[problem.probes["tip"]] == pytest.approx([0.1, 0.1])


def test_all_bodies_need_the_same_kind_of_cell(problem_with: Build) -> None:
    twin = {
        "shape": "box",
        "size": [1.0, 1.0],
        "cells": [1, 1],
        "cell": "quad",
        "law": "dough",
        "mass": 1.0,
    }
    with pytest.raises(RheotwinError, match="need the same kind of cell, found quad, triangle"):
        problem_with({"bodies.twin": twin})


def test_origin_and_rotation_place_a_body(problem_with: Build) -> None:
    problem = problem_with(
        {
            "bodies.block.origin": [1.0, 2.0],
            "bodies.block.rotation": np.pi / 2,
            "supports": {},
            "tools": {},
            "probes": {},
        }
    )
    # a quarter turn takes (x, y) to (-y, x)
    assert problem.points.min(axis=0) == pytest.approx([0.9, 2.0])
    assert problem.points.max(axis=0) == pytest.approx([1.0, 2.2])


def test_a_case_chooses_the_laws(scene_with: Callable[..., Scene]) -> None:
    gel = {"model": "elastic", "young": 5.0, "poisson": 0.1}
    scene = scene_with({"laws.gel": gel, "cases": {"soft": {"laws": {"block": "gel"}}, "dough": {}}})
    assert build_problem(scene).bodies[0].law.name == "elastic"  # the first case
    assert build_problem(scene, "dough").bodies[0].law.name == "three-element"
    with pytest.raises(RheotwinError, match=r"no case 'sft' \(did you mean 'soft'\?\); cases: soft, dough"):
        build_problem(scene, "sft")


def test_the_tick_divides_all_planned_times(problem_with: Build) -> None:
    assert problem_with().tick == Fraction(1, 20)  # frames 0.1, rows 0.05, checkpoints 0.2


def test_axes_along_a_bar_are_orthonormal() -> None:
    for normal in np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, 0.8], [0.36, 0.48, 0.8]]]):
        frame = np.array([normal, *in_plane_axes(normal)])
        assert frame @ frame.T == pytest.approx(np.eye(3), abs=1e-15)
    assert bar_axes(np.array([1.0, 0.0, 0.0]), 1) == ()
    (along,) = bar_axes(np.array([0.0, -1.0, 0.0]), 2)
    assert along.tolist() == [1.0, 0.0, 0.0]


VOXELS: dict[str, Any] = {
    "dimension": 3,
    "gravity": [0.0, 0.0, -1.0],
    "bodies.block.size": [0.2, 0.1, 0.1],
    "bodies.block.cells": [8, 4, 4],
    "tools": {},
    "probes": {},
}


@pytest.mark.parametrize("cell", ["tet", "hex"])
def test_a_punch_pushes_on_the_lattice_of_a_side(problem_with: Build, cell: str) -> None:
    # squares of 25 mm on the top; a punch of 25 x 50 mm with its centre at (75, 50) mm: half-way cells at x = 75 mm
    # (a row of nodes), y = 37.5 and 62.5 mm
    punch = {"center": [0.075, 0.05, 0.1], "size": [0.025, 0.05]}
    force = {"body": "block", "where": {"side": "top"}, "total": [0.0, 0.0, -8.0], "punch": punch}
    problem = problem_with({**VOXELS, "bodies.block.cell": cell, "forces.push": force})
    (load,) = problem.loads
    pushed = load.shares[:, 2] != 0.0
    places = problem.points[load.nodes[pushed]]
    np.testing.assert_allclose(places, [[0.075, y, 0.1] for y in (0.025, 0.05, 0.075)], atol=1e-15)
    np.testing.assert_allclose(load.shares[pushed], [[0, 0, -2.0], [0, 0, -4.0], [0, 0, -2.0]], atol=1e-12)


def test_a_punch_needs_a_flat_side_and_stays_on_it(problem_with: Build) -> None:
    force = {"body": "block", "where": {"side": "top"}, "total": [0.0, -8.0]}
    beyond = {**force, "punch": {"center": [-0.03, 0.1], "size": [0.05]}}
    with pytest.raises(RheotwinError, match=r"forces\.push\.punch: the punch reaches beyond"):
        problem_with({"forces.push": beyond})
    everywhere = {**force, "where": {"box": {"x": [0.0, 0.2]}}, "punch": {"center": [0.1, 0.1], "size": [0.05]}}
    with pytest.raises(RheotwinError, match=r"forces\.push\.where: a punch pushes on a flat side"):
        problem_with({"forces.push": everywhere})
