"""Triangulated tools: distance against VTK, poses, and nodes at tools of all shapes."""

import numpy as np
import pytest
import pyvista
from scipy.spatial.transform import Rotation
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkDoubleArray
from vtkmodules.vtkFiltersCore import vtkImplicitPolyDataDistance

from rheotwin.constraints import Motion, RigidTool
from rheotwin.constraints.contact.pairs import Pairs, room_for_pairs
from rheotwin.constraints.contact.tool_pairs import finding_stages
from rheotwin.constraints.contact.triangulated import is_outward, joined, nearest_points, tool_mesh
from rheotwin.constraints.tools import MESH, SPHERE, Tools, pack_geometry, pack_tools
from rheotwin.errors import RheotwinError
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.program import Clock, Program

Array = np.ndarray


def star() -> tuple[Array, Array]:
    """A ball with bumps: convex and concave, closed."""
    ball = pyvista.Icosphere(nsub=2)
    points = np.asarray(ball.points, float)
    radius = 1.0 + 0.35 * np.sin(3 * points[:, :1]) * np.cos(4 * points[:, 1:2])
    return radius * points, ball.faces.reshape(-1, 4)[:, 1:].astype(np.int64)


def sharp() -> tuple[Array, Array]:
    """A tetrahedron as thin as a blade, where signs at edges and corners are hard."""
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.05], [1.0, 0.0, -0.05], [0.5, 1.0, 0.0]])
    return points, np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])


def outward(vertices: Array, triangles: Array) -> tuple[Array, Array]:
    return (vertices, triangles) if is_outward(tool_mesh(vertices, triangles)) else (vertices, triangles[:, ::-1])


def vtk_distance(vertices: Array, triangles: Array, points: Array) -> Array:
    distance, found = vtkImplicitPolyDataDistance(), vtkDoubleArray()
    faces = np.hstack([np.full((len(triangles), 1), 3), triangles])
    distance.SetInput(pyvista.PolyData(vertices, faces.ravel()))
    distance.FunctionValue(numpy_to_vtk(points), found)
    return vtk_to_numpy(found)


@pytest.mark.parametrize("surface", [star, sharp])
def test_distance_is_that_of_vtk(surface) -> None:  # type: ignore[no-untyped-def]
    vertices, triangles = outward(*surface())
    points = np.random.default_rng(1).uniform(-1.6, 1.6, (3000, 3))
    distances, feet, numbers = nearest_points(tool_mesh(vertices, triangles), points)
    # VTK keeps vertices in single precision
    assert distances == pytest.approx(vtk_distance(vertices, triangles, points), abs=1e-6)
    assert np.linalg.norm(points - feet, axis=1) == pytest.approx(np.abs(distances), abs=1e-12)
    corners = vertices[triangles[numbers]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.abs(np.einsum("nk,nk->n", feet - corners[:, 0], normals)).max() < 1e-12


def test_sides_and_corners_have_the_right_sign() -> None:
    """Points near the edges and corners of a blade, outside by construction: beyond the plane through its edge."""
    vertices, triangles = outward(*sharp())
    middle = vertices.mean(axis=0)
    for a in range(4):
        for b in range(4):
            beyond = 0.5 * (vertices[a] + vertices[b])
            point = beyond + 0.3 * (beyond - middle)
            distance, _, _ = nearest_points(tool_mesh(vertices, triangles), point[None])
            assert distance[0] > 0.0


def test_a_surface_with_a_hole_is_refused() -> None:
    vertices, triangles = star()
    with pytest.raises(RheotwinError, match="not closed"):
        tool_mesh(vertices, triangles[1:])
    flipped = triangles.copy()
    flipped[0] = flipped[0, ::-1]
    with pytest.raises(RheotwinError, match="not closed"):
        tool_mesh(vertices, flipped)
    with pytest.raises(RheotwinError, match="no triangles"):
        tool_mesh(vertices, triangles[:0])


def test_corners_given_once_per_triangle_are_one_surface() -> None:
    """STL files know no common vertices."""
    vertices, triangles = outward(*star())
    points = np.random.default_rng(2).uniform(-1.5, 1.5, (200, 3))
    soup = tool_mesh(vertices[triangles].reshape(-1, 3), np.arange(triangles.size).reshape(-1, 3))
    expected = nearest_points(tool_mesh(vertices, triangles), points)
    assert np.array_equal(nearest_points(soup, points)[0], expected[0])


def tool(name: str, shape: int, pose: Array, candidates: Array, **options: object) -> RigidTool:
    surface = options.pop("surface", None)
    geometry = pack_geometry(center=np.array([0.2, -0.1, 0.3]), axis=np.array([1.0, 2.0, 2.0]), **options)  # type: ignore[arg-type]
    return RigidTool(name, shape, geometry, Motion(np.zeros(1), pose[None]), candidates, surface)  # type: ignore[arg-type]


def found_at(tools: Tools, poses: np.ndarray, x: np.ndarray, region: float) -> Pairs:
    """All contacts with gap <= region."""
    pairs = room_for_pairs(len(tools.candidate))
    Program(finding_stages(tools, poses, x, Now(np.array([region])), pairs), 0.0, Clock()).run(0, 1)
    return pairs


def test_nodes_at_several_tools() -> None:
    vertices, triangles = outward(*star())
    pose, random = np.array([0.4, 0.1, -0.2, 0.9]), np.random.default_rng(4)
    x = random.uniform(-1.5, 1.5, (400, 3))
    odd = np.arange(1, 400, 2)
    tools = [
        tool("ball", SPHERE, np.zeros(4), np.arange(400), radius=0.5),
        tool("star", MESH, pose, odd, surface=tool_mesh(vertices, triangles)),
        tool("blade", MESH, -pose, odd, surface=tool_mesh(*outward(*sharp()))),
    ]
    packed, region = pack_tools(tools), 0.1
    poses = np.array([item.motion.at(0.0) for item in tools])
    pairs = found_at(packed, poses, x, region)
    found = slice(0, int(pairs.count[0]))
    assert len(set(pairs.slot[found].tolist())) == pairs.count[0]
    assert np.array_equal(packed.candidate[pairs.slot[found]], pairs.node[found, 0])
    assert np.all(pairs.weight[found] == [1.0, 0.0, 0.0, 0.0])
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    for k, surface in ((1, (vertices, triangles)), (2, outward(*sharp()))):
        turn = Rotation.from_rotvec(poses[k, 3] * axis).as_matrix()
        placed = surface[0] @ turn.T + [0.2, -0.1, 0.3] + poses[k, :3]
        distances, feet, _ = nearest_points(tool_mesh(placed, surface[1]), x[odd])
        inside = pairs.tool[found] == k
        assert set(pairs.node[found][inside, 0]) == set(odd[distances <= region])
        at = np.searchsorted(odd, pairs.node[found][inside, 0])
        assert len(at) > 3
        assert pairs.gap[found][inside] == pytest.approx(distances[at], abs=1e-12)
        assert pairs.point[found][inside] == pytest.approx(feet[at], abs=1e-12)
    ball = pairs.tool[found] == 0
    assert np.count_nonzero(ball) == np.count_nonzero(np.linalg.norm(x - [0.2, -0.1, 0.3], axis=1) <= 0.5 + region)


def test_outline_of_a_2d_tool() -> None:
    """An L extruded far along z: distances in the plane, normals without a third component."""
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
    far = np.array([np.append(p, z) for z in (-1e3, 1e3) for p in outline])
    sides = [f for k in range(6) for f in ([k, (k + 1) % 6, k + 6], [(k + 1) % 6, (k + 1) % 6 + 6, k + 6])]
    lid = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    mesh = tool_mesh(far, np.concatenate([sides, lid[:, ::-1], lid + 6]), planar=True)
    assert is_outward(mesh)
    tools = pack_tools([tool("L", MESH, np.zeros(4), np.arange(3), surface=mesh)])
    tools.geometry[0, :6] = [0, 0, 0, 0, 0, 1]
    x = np.array([[1.5, 1.0 - 1e-9, 0.0], [2.3, -0.4, 0.0], [0.9, 0.9, 0.0]])
    pairs = found_at(tools, np.zeros((1, 4)), x, 1.0)
    assert pairs.gap == pytest.approx([-1e-9, 0.5, -np.hypot(0.1, 0.1)], abs=1e-12)
    assert np.all(pairs.normal[:, 2] == 0.0)
    assert pairs.normal[:, :2] == pytest.approx(np.array([[0, 1], [0.6, -0.8], [np.sqrt(0.5)] * 2]), abs=1e-12)


def test_joining_keeps_numbers() -> None:
    mesh = tool_mesh(*star())
    both = joined([None, mesh, None, mesh])
    assert both is not None
    assert both.root.tolist() == [0, 0, len(mesh.skip), len(mesh.skip), 2 * len(mesh.skip)]
    assert joined([]) is None
    assert joined([None, None]) is None
