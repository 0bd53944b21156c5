"""Quadratic elements through the whole solver: supports, loads, tools, masses, and where the new nodes stand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints import Motion
from rheotwin.fem.model import FREE, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.space import body_space
from rheotwin.meshing import BoxShape, make_shape
from rheotwin.problem import Prescribed
from rheotwin.validation.checks.running import ELASTIC, EQUAL_RATIO, box_scene, path, problem_of, run_to, side, start

BOXES: dict[str, tuple[list[float], list[int]]] = {
    "line": ([2.0], [3]),
    "triangle": ([2.0, 1.0], [4, 2]),
    "quad": ([2.0, 1.0], [4, 2]),
    "tet": ([2.0, 1.0, 1.0], [2, 1, 1]),
    "hex": ([2.0, 1.0, 1.0], [2, 1, 1]),
}
NODES = {"line": 7, "triangle": 45, "quad": 45, "tet": None, "hex": 45}
QUADRATIC = FemOptions(order=2)


@pytest.mark.parametrize("cell", BOXES)
def test_nodes_stand_between_their_parents_and_on_the_box(cell: str) -> None:
    """Every node behind the vertices is the mean of its parents; grids have the nodes of one twice as fine."""
    size, cells = BOXES[cell]
    space = body_space(make_shape(BoxShape(tuple(size), tuple(cells), cell=cell)), cell, 2)
    assert NODES[cell] in (None, space.nodes)
    means = np.concatenate([space.points[group].mean(axis=1) for group in space.parents])
    np.testing.assert_allclose(space.points[space.vertices :], means, atol=1e-14)
    np.testing.assert_array_equal(space.points[: space.vertices], space.mesh.p.T)
    on_box = np.any(np.isclose(space.points, 0.0) | np.isclose(space.points, size), axis=1)
    np.testing.assert_array_equal(space.boundary, on_box)


def model_of(cell: str, **more: Any) -> Any:
    size, cells = BOXES[cell]
    return build_model(problem_of(box_scene(ELASTIC, size=size, cells=cells, cell=cell, **more)), QUADRATIC)


def held_rows(model: Any) -> np.ndarray:
    return np.flatnonzero(np.all(model.owners != FREE, axis=1))


@pytest.mark.parametrize("cell", BOXES)
def test_midpoints_of_a_held_side_are_held(cell: str) -> None:
    """And no other: a diagonal at a corner has both ends on sides, but lies inside."""
    sides = ["left"] if cell == "line" else ["left", "bottom"]
    model = model_of(cell, supports={name: side(name) for name in sides})
    on_sides = np.isclose(model.points[:, 0], 0.0)
    if cell != "line":
        on_sides |= np.isclose(model.points[:, -1], 0.0)
    np.testing.assert_array_equal(held_rows(model), np.flatnonzero(on_sides))


@pytest.mark.parametrize("height", [0.0, 0.5])
def test_a_box_holds_all_within_its_vertices(height: float) -> None:
    """One cell at the corner, or its lower side: nodes behind the vertices between those that are held, no others."""
    corner = {"body": "block", "where": {"box": {"x": [0.0, 0.5], "y": [0.0, height]}}}
    model = model_of("triangle", supports={"corner": corner})
    expected = (model.points[:, 0] < 0.5 + 1e-9) & (model.points[:, 1] < height + 1e-9)
    np.testing.assert_array_equal(held_rows(model), np.flatnonzero(expected))


def test_midpoints_of_thin_bodies_are_free_and_tools_touch_those_of_the_surface() -> None:
    """One cell through the thickness: the midpoints in between have all their parents held."""
    model = model_of("hex", supports={name: side(name) for name in ("front", "back")})
    expected = np.isclose(model.points[:, 1] % 1.0, 0.0)
    np.testing.assert_array_equal(held_rows(model), np.flatnonzero(expected))
    model = model_of("triangle", tools={"ball": {"shape": "sphere", "center": [1.0, 3.0], "radius": 0.5}})
    np.testing.assert_array_equal(model.tools[0].candidates, np.flatnonzero(model.bodies[0].space.boundary))


@pytest.mark.parametrize("around", ["everything", "the left side", "a corner"])
def test_chords_of_supports_made_in_code_stay_free(around: str) -> None:
    """Nothing inside inherits from vertices of the boundary alone, as those of a region around a corner."""
    problem = model_of("triangle").problem
    x, y = build_model(problem, QUADRATIC).points.T
    on_left, on_floor = np.isclose(x, 0.0), np.isclose(y, 0.0)
    expected = {
        "everything": on_left | on_floor | np.isclose(x, 2.0) | np.isclose(y, 1.0),
        "the left side": on_left,
        "a corner": on_left | on_floor,
    }[around]
    vertices = np.flatnonzero(expected[: len(problem.points)])
    item = Prescribed("made in code", vertices, (0, 1), Motion(np.array([0.0]), np.zeros((1, 2))))
    model = build_model(replace(problem, prescribed=(item,)), QUADRATIC)
    np.testing.assert_array_equal(held_rows(model), np.flatnonzero(expected))


@pytest.mark.parametrize("cell", [cell for cell in BOXES if cell != "line"])
def test_loads_are_constant_tractions(cell: str) -> None:
    """The shares do the work of a constant traction on any quadratic field: exact integrals of x, x^2 over the top."""
    model = model_of(cell, forces={"push": side("top", total=[0.0] * (len(BOXES[cell][0]) - 1) + [3.0])})
    (load,) = model.loads
    x, shares = model.points[load.rows, 0], load.shares[:, -1]
    assert not load.shares[:, :-1].any()
    np.testing.assert_allclose(model.points[load.rows, -1], 1.0, atol=1e-15)
    assert shares.sum() == pytest.approx(3.0, rel=1e-13) and shares @ x == pytest.approx(3.0 * 1.0, rel=1e-12)
    assert shares @ x**2 == pytest.approx(3.0 * 4.0 / 3.0, rel=1e-12)


@pytest.mark.parametrize("cell", ["line", "triangle"])
def test_a_force_on_a_node_stays_there(cell: str) -> None:
    d = len(BOXES[cell][0])
    where = {"side": "right"} if cell == "line" else {"nearest": [2.0, 0.5]}
    model = model_of(cell, forces={"pull": {"body": "block", "where": where, "total": [2.0] * d}})
    (load,) = model.loads
    np.testing.assert_allclose(load.shares, [[2.0] * d])
    assert model.points[load.rows[0], 0] == 2.0


@pytest.mark.parametrize("cell", BOXES)
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_masses_are_positive_and_complete(cell: str, mass: str) -> None:
    """Scaled diagonals add up to the mass and have no negative share (row sums of quadratic tets have)."""
    size, cells = BOXES[cell]
    problem = problem_of(box_scene(ELASTIC, size=size, cells=cells, cell=cell, density=7.0))
    model = build_model(problem, FemOptions(order=2, mass=mass))
    ones = np.tile(np.eye(len(size))[0], len(model.points))
    assert ones @ model.mass @ ones == pytest.approx(7.0 * np.prod(size), rel=1e-12)
    assert model.mass.diagonal().min() > 0.0


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
@pytest.mark.parametrize("cell", BOXES)
def test_reactions_carry_weight_and_load(cell: str, mass: str, order: int) -> None:
    """Without inertia the floor carries weight and load at every time."""
    size, cells = BOXES[cell]
    down = [0.0] * (len(size) - 1)
    bottom, top = ("left", "right") if cell == "line" else ("bottom", "top")
    more: dict[str, Any] = {"supports": {"floor": side(bottom)}, "forces": {"push": side(top, total=[*down, -3.0])}}
    data = box_scene(
        EQUAL_RATIO["voigt"], size=size, cells=cells, cell=cell, density=2.0, gravity=[*down, -1.0], **more
    )
    simulation = run_to(start(data, step=0.5, order=order, mass=mass, stepper="quasi-static"), 1.0)
    expected = [*down, -3.0 - 2.0 * np.prod(size)]
    np.testing.assert_allclose(simulation.reactions()["support.floor"], expected, atol=1e-8)


@pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])
def test_a_plate_presses_uniformly_through_midpoints(cell: str) -> None:
    """Contact of the whole top between frictionless plates: s = E e exactly, and the plate carries s times the area."""
    size, cells = BOXES[cell]
    d = len(size)
    down = [0.0] * (d - 1)
    plate = {"shape": "plane", "center": [*down, 1.0], "normal": [*down, -1.0]}
    plate["motion"] = path([0.0, 1.0], [[*down, 0.0], [*down, -0.01]])
    rollers = {"left": "x", "bottom": "y"} if d == 2 else {"left": "x", "front": "y", "bottom": "z"}
    supports = {name: side(name, fix=[axis]) for name, axis in rollers.items()}
    data = box_scene(ELASTIC, size=size, cells=cells, cell=cell, supports=supports, tools={"plate": plate})
    simulation = run_to(start(data, step=0.25, order=2), 1.0)
    stress = -0.01 * 300.0 / (1.0 if d == 3 else 1 - 0.35**2)
    row = [0.0, 0.0, stress, 0, 0, 0] if d == 3 else [0.0, stress, 0.35 * stress, 0, 0, 0]
    fields = simulation.fields()
    np.testing.assert_allclose(fields["stress"], np.tile(row, (len(fields["stress"]), 1)), atol=1e-8)
    assert simulation.reactions()["tool.plate"][d - 1] == pytest.approx(-2.0 * stress, rel=1e-9)
    assert len(simulation.save()["contact_node"]) > np.count_nonzero(fields["contact_force"][:, d - 1])
