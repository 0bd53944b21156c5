"""Tools made concrete: velocities integrated, drives, blocks, closed surfaces; how they are drawn."""

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import pyvista
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.constraints import tool_gaps
from rheotwin.errors import RheotwinError
from rheotwin.tensors import INDEX_PAIRS, padded, von_mises
from rheotwin.tool_surface import DrawnPlane, drawn_tools, rotation_about
from tests.conftest import SOLID, Data, problem_with

numbers = st.floats(-1e3, 1e3)
WEDGE = [[0.0, 0.0], [0.06, 0.05], [-0.06, 0.05]]
ROUND: Data = {"center": [0.1, 0.2], "radius": 0.1}
BALL: Data = {"center": [0.1, 0.05, 0.2], "radius": 0.1}
TOOLS: dict[int, dict[str, Data]] = {
    2: {
        "plane": {"center": [0.1, 0.1], "normal": [0.0, -1.0]},
        "bar": {"center": [0.1, 0.1], "normal": [0.6, -0.8], "width": 0.4},
        "sphere": ROUND,
        "cylinder": ROUND,
        "prism": ROUND | {"sides": 5, "angle": 0.3},
    },
    3: {
        "plane": {"center": [0.1, 0.05, 0.1], "normal": [0.0, 0.0, -1.0]},
        "bar": {"center": [0.1, 0.05, 0.1], "normal": [0.0, 0.6, -0.8], "width": [0.3, 0.4]},
        "sphere": BALL,
        "cylinder": BALL | {"axis": [0.0, 1.0, 0.0]},
        "prism": BALL | {"axis": [0.6, 0.8, 0.0], "sides": 6, "angle": 0.2},
    },
}


def with_tool(dimension: int = 2, *, base: Path | None = None, **spec: Any) -> tuple[Any, Any]:
    problem = problem_with({**(SOLID if dimension == 3 else {}), "probes": {}, "tools": {"it": spec}}, base=base)
    return problem, problem.tools[0]


def drawn_gaps(problem: Any, time: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    (drawn,) = drawn_tools(problem)
    surface = drawn.posed(problem.tools[0].motion.at(time), padded(problem.points))
    return surface.points, tool_gaps(problem.tools[0], time, np.ascontiguousarray(surface.points))[0]


def test_velocities_are_integrated_and_drives_have_their_weight() -> None:
    """Held from each time to the next: 0.1 m/s up to 0.1 s, -0.3 m/s up to 0.3 s, then 0.2 m/s."""
    motion = {"times": [0.0, 0.1, 0.3], "velocity": [[0.0, 0.1], [0.0, -0.3], [0.5, 0.2]]}
    found = problem_with({"tools.bar.motion": motion}).tools[0].motion
    poses = np.array([found.at(time) for time in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)])
    np.testing.assert_allclose(poses[:, 1], [0.0, 0.005, 0.01, -0.02, -0.05, -0.03], rtol=0, atol=1e-16)
    np.testing.assert_allclose(poses[:, 0], [0, 0, 0, 0, 0, 0.05], rtol=0, atol=1e-16)
    table = {"times": [0.0, 1.0], "force": [[0.0, -3.0], [0.0, -5.0]], "moment": [0.0, 0.4]}
    start = {"velocity": [0.0, -0.2], "angular_velocity": 1.5}
    drive = {"mass": 2.0, "moment_of_inertia": 0.5, "free": ["y", "angle"], **table, **start}
    found = problem_with({"tools.bar.drive": drive, "tools.bar.motion": ...}).tools[0].drive
    assert found is not None and found.free == (False, True, False, True)
    # gravity of the scene is 1 m/s2
    np.testing.assert_allclose(found.force.at(0.5), [0.0, -4.0 - 2.0, 0.0, 0.2])
    assert found.velocity == (0.0, -0.2, 0.0, 1.5)
    np.testing.assert_array_equal(found.inverse_masses, [0.0, 0.5, 0.0, 2.0])
    plain = problem_with({"tools.bar.drive": {"mass": 2.0}, "tools.bar.motion": ...}).tools[0].drive
    assert plain is not None and plain.free == (True, True, False, False)


LOWERED = {"displacement": [[0.0, 0.0], [0.0, -0.01]], "angular_velocity": [3.0, 5.0]}


@pytest.mark.parametrize(
    ("motion", "expected"),
    [
        (LOWERED, {0.1: [-0.005, 0.3], 0.2: [-0.01, 0.6], 0.3: [-0.01, 1.1], 0.4: [-0.01, 1.6]}),
        ({"angle": [0.0, 1.0]}, {0.1: [0.0, 0.5], 0.4: [0.0, 1.0]}),
    ],
)
def test_a_roller_may_be_lowered_and_turn(motion: Data, expected: dict[float, list[float]]) -> None:
    found = problem_with({"tools.bar.motion": {"times": [0.0, 0.2], **motion}}).tools[0].motion
    for time, (height, angle) in expected.items():
        np.testing.assert_allclose(found.at(time), [0.0, height, 0.0, angle], atol=1e-15)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_block_has_its_size_along_the_scenes_axes_whatever_it_turns_about(axis: str) -> None:
    size, center = np.array([0.06, 0.1, 0.2]), np.array([0.1, 0.05, 0.3])
    _, tool = with_tool(3, shape="box", center=center.tolist(), size=size.tolist(), axis=axis)
    steps = np.vstack([np.diag(0.5 * size + 0.01), -np.diag(0.5 * size + 0.01)])
    gaps, normals = tool_gaps(tool, 0.0, center + steps)
    np.testing.assert_allclose(gaps, 0.01, atol=1e-15)
    np.testing.assert_allclose(normals, np.vstack([np.eye(3), -np.eye(3)]), atol=1e-15)


def test_a_block_turns_and_a_polygon_may_be_concave() -> None:
    """A quarter turn about y takes x to -z: the block now reaches 0.1 along z and 0.02 along x."""
    _, tool = with_tool(3, shape="box", center=[0.1, 0.05, 0.3], size=[0.2, 0.1, 0.04], axis="y", angle=np.pi / 2)
    gaps, _ = tool_gaps(tool, 0.0, np.array([[0.1, 0.05, 0.42], [0.13, 0.05, 0.3]]))
    np.testing.assert_allclose(gaps, [0.02, 0.01], atol=1e-15)
    # Upside down the notch opens below: its middle is 0.02 from either wall.
    notch = [[-0.1, 0.0], [0.1, 0.0], [0.1, 0.1], [0.02, 0.1], [0.02, 0.04], [-0.02, 0.04], [-0.02, 0.1], [-0.1, 0.1]]
    _, tool = with_tool(shape="mesh", center=[0.1, 0.4], points=notch, rotation=np.pi)
    gaps, _ = tool_gaps(tool, 0.0, np.array([[0.1, 0.32, 0.0], [0.05, 0.35, 0.0]]))
    np.testing.assert_allclose(gaps, [0.02, -0.03], atol=1e-15)


@pytest.mark.parametrize("order", [1, -1], ids=["counter-clockwise", "clockwise"])
def test_a_polygon_is_a_tool_in_2d(order: int) -> None:
    problem, tool = with_tool(shape="mesh", center=[0.1, 0.15], points=WEDGE[::order])
    below, above, inside = [0.1, 0.13, 0.0], [0.1, 0.21, 0.0], [0.1, 0.19, 0.0]
    gaps, normals = tool_gaps(tool, 0.0, np.array([below, above, inside]))
    np.testing.assert_allclose(gaps, [0.02, 0.01, -0.01], atol=1e-15)
    np.testing.assert_allclose(normals, [[0, -1, 0], [0, 1, 0], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(drawn_gaps(problem)[1], 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[0.0, 0.0], [0.1, 0.1], [0.1, 0.0], [0.0, 0.1]], "edges 0 and 2 meet"),
        ([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0]], "all corners lie on a line"),
        ([[0.1, 0.1], [0.2, 0.3], [0.4, 0.7]], "all corners lie on a line"),
        ([[0.1, 0.1], [0.1, 0.1], [0.1, 0.1]], "corners 0 and 1 are the same point"),
        ([*WEDGE, WEDGE[0]], "corners 0 and 3 are the same point; name each corner once"),
        ([[0.0, 0.0], [0.2, 0.0], [0.1, 0.0], [0.1, 0.1]], r"edges \d and \d meet"),
        ([[0.0, 0.0], [0.2, 0.0], [0.1, 0.0], [0.3, 0.0]], r"edges \d and \d meet"),
    ],
)
def test_a_polygon_without_an_inside_is_refused(points: list[list[float]], words: str) -> None:
    with pytest.raises(RheotwinError, match=rf"tools\.it\.points: {words}"):
        with_tool(shape="mesh", center=[0.1, 0.3], points=points)


@pytest.fixture
def ball_file(tmp_path: Path) -> Path:
    ball = pyvista.Sphere(radius=40.0, theta_resolution=24, phi_resolution=24)
    triangles = ball.regular_faces[:, ::-1]
    meshio.Mesh(np.asarray(ball.points, float), [("triangle", triangles)]).write(tmp_path / "ball.stl")
    return tmp_path


def from_file(folder: Path, path: str, **more: Any) -> tuple[Any, Any]:
    place = {"shape": "mesh", "center": [0.1, 0.05, 0.2], "path": path, "scale": 1e-3}
    return with_tool(3, base=folder, **place | more)


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".vtk"])
def test_a_surface_file_is_a_tool_in_3d(ball_file: Path, suffix: str) -> None:
    meshio.read(ball_file / "ball.stl").write(ball_file / f"tool{suffix}")
    problem, tool = from_file(ball_file, f"tool{suffix}")
    gaps, normals = tool_gaps(tool, 0.0, np.array([[0.1, 0.05, 0.1], [0.1, 0.05, 0.2], [0.1, 0.05, 0.26]]))
    # facets of 15 by 7.8 degrees reach 1 - cos(7.5 deg) cos(3.9 deg) = 1.1 % inside the ball; z has vertices
    np.testing.assert_allclose(gaps, [0.06, -0.04 * (1 - 0.0055), 0.02], atol=0.04 * 0.0055)
    np.testing.assert_allclose(normals[[0, 2]], [[0, 0, -1], [0, 0, 1]], atol=1e-5)
    assert np.abs(drawn_gaps(problem)[1]).max() < 1e-12


def test_surfaces_without_an_inside_are_refused(ball_file: Path) -> None:
    """One with a hole; two triangles back to back: closed, and as flat as it gets, far from the origin."""
    whole = meshio.read(ball_file / "ball.stl")
    meshio.Mesh(whole.points, [("triangle", whole.cells[0].data[1:])]).write(ball_file / "open.stl")
    with pytest.raises(RheotwinError, match=r"tools\.it\.path: .*not closed"):
        from_file(ball_file, "open.stl")
    corners = np.array([[100.0, 0.0, 0.0], [100.1, 0.0, 0.0], [100.0, 0.1, 0.03]])
    meshio.Mesh(corners, [("triangle", np.array([[0, 1, 2], [2, 1, 0]]))]).write(ball_file / "flat.vtk")
    with pytest.raises(RheotwinError, match=r"tools\.it\.path: flat\.vtk: its surface encloses no volume"):
        from_file(ball_file, "flat.vtk", center=[-100.0, 0.05, 0.2], scale=1.0)


@pytest.mark.parametrize(("last", "point"), [("9", 8), ("0", -1), ("-9", -10), ("4", None)])
def test_a_triangle_of_points_that_are_not_there_is_refused(tmp_path: Path, last: str, point: int | None) -> None:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "tool.obj").write_text(f"{corners}f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 {last}\n")
    if point is None:
        assert from_file(tmp_path, "tool.obj", scale=0.02)[1].surface is not None
    else:
        with pytest.raises(RheotwinError, match=rf"tools\.it\.path: .*tool\.obj: a triangle refers to point {point} "):
            from_file(tmp_path, "tool.obj", scale=0.02)


@pytest.mark.parametrize(("dimension", "shape"), [(dimension, shape) for dimension in TOOLS for shape in TOOLS[2]])
@pytest.mark.parametrize("moving", [False, True], ids=["at rest", "moved and turned"])
def test_the_drawn_surface_is_where_contact_is_felt(dimension: int, shape: str, moving: bool) -> None:
    """The gap seen by contact is zero on the working face: no drawn corner lies in front of it."""
    ways = [[0.0] * dimension, [0.03, -0.05, 0.02][:dimension]]
    motion = {"motion": {"times": [0.0, 0.4], "displacement": ways, "angle": [0.0, 0.7]}} if moving else {}
    problem, _ = with_tool(dimension, shape=shape, **TOOLS[dimension][shape], **motion)
    points, gaps = drawn_gaps(problem, 0.4)
    # a chord of 48 corners lies 0.2 % of the radius inside its circle, a ball drawn in single precision 1e-7
    assert abs(gaps.max()) <= 1e-6 * np.ptp(points, axis=0).max(), "some corner touches the working face, none more"


@pytest.mark.parametrize("shape", TOOLS[3])
def test_solid_tools_are_closed_and_look_outwards(shape: str) -> None:
    problem, _ = with_tool(3, shape=shape, **TOOLS[3][shape])
    (drawn,) = drawn_tools(problem)
    surface = drawn.posed(np.zeros(4), problem.points)
    solid = pyvista.PolyData(surface.points, surface.faces).triangulate().clean()
    assert solid.is_manifold and solid.volume > 0.0
    outward = solid.compute_normals(auto_orient_normals=False, consistent_normals=False, split_vertices=False)
    centers = solid.cell_centers().points - solid.center
    assert np.sum(np.asarray(outward.cell_data["Normals"]) * centers) > 0.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_plane_is_drawn_where_bodies_are_however_far_it_has_run(dimension: int) -> None:
    """A conveyor that has run 3 m and tilts by 0.3: bodies 5 m away and at rest lie over what is drawn of it."""
    problem, _ = with_tool(dimension, shape="plane", **TOOLS[dimension]["plane"])
    (drawn,) = drawn_tools(problem)
    assert isinstance(drawn, DrawnPlane)
    rest, along = padded(problem.points), rotation_about(drawn.tool.geometry[3:6], 0.3) @ drawn.axes[0]
    bodies = rest + 5.0 * along
    places = drawn.posed(np.array([*(3.0 * along), 0.3]), bodies).points @ along
    for points in (rest, bodies):
        assert np.all((points @ along > places.min()) & (points @ along < places.max()))
    assert np.ptp(places) < 5.0 + 3.0 * problem.extent


@settings(max_examples=50)
@given(axis=st.tuples(numbers, numbers, numbers).filter(lambda a: np.linalg.norm(a) > 1e-3), angle=st.floats(-7, 7))
def test_rotations_keep_lengths_and_their_axis(axis: tuple[float, ...], angle: float) -> None:
    unit = np.array(axis) / np.linalg.norm(axis)
    turn = rotation_about(unit, angle)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(turn @ unit, unit, atol=1e-13)
    assert np.trace(turn) == pytest.approx(1.0 + 2.0 * np.cos(angle), abs=1e-13)


@given(components=st.lists(numbers, min_size=6, max_size=6))
def test_von_mises_from_principal_stresses(components: list[float]) -> None:
    matrix = np.zeros((3, 3))
    for value, (row, column) in zip(components, INDEX_PAIRS, strict=True):
        matrix[row, column] = matrix[column, row] = value
    a, b, c = np.linalg.eigvalsh(matrix)
    expected = np.sqrt(0.5 * ((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2))
    # cancellation in the deviator: eps of the largest component
    assert von_mises(np.array(components)) == pytest.approx(expected, rel=1e-10, abs=1e-10)
