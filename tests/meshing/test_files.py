"""Files of meshes, tools and geometry: round trips, named groups, every bad file refused in one sentence."""

import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin import meshing
from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    BoxShape,
    SphereShape,
    element_measures,
    guarded,
    make_shape,
    read_mesh,
    read_surface,
    write_mesh,
)
from rheotwin.meshing.files import TRUST, load_file

SPECS = {
    "line": BoxShape((1.1,), (3,)),
    "triangle": SphereShape(0.7, 4, "triangle"),
    "quad": BoxShape((1.0, 2.0), (3, 4), cell="quad"),
    "tet": SphereShape(0.7, 4, "tet"),
    "hex": SphereShape(0.7, 3, "hex"),
}
SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
CUBE = np.vstack([SQUARE, SQUARE + np.array([0, 0, 1])])
SIDES = np.array([[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [3, 7, 6, 2], [0, 4, 7, 3], [1, 2, 6, 5]])


def save(folder: Path, points: Any, cells: Any, name: str = "mesh.vtu", **extra: Any) -> Path:
    path = folder / name
    meshio.write(path, meshio.Mesh(np.asarray(points, dtype=float), cells, **extra))
    return path


def in_gmsh(folder: Path, points: Any, cells: Any, tags: list[list[int]], names: dict[str, tuple[int, int]]) -> Path:
    """Write a file of Gmsh 2.2 with physical groups: a tag per element, names with tag and dimension."""
    data = [np.array(tag) for tag in tags]
    raw = meshio.Mesh(
        points,
        cells,
        cell_data={"gmsh:physical": data, "gmsh:geometrical": data},
        field_data={name: np.array(pair) for name, pair in names.items()},
    )
    meshio.write(folder / "body.msh", raw, file_format="gmsh22")
    return folder / "body.msh"


def lists(groups: Any) -> dict[str, list[int]]:
    return {name: members.tolist() for name, members in groups.items()}


@pytest.mark.parametrize("suffix", [".msh", ".vtu", ".vtk", ".inp", ".mesh"])
@pytest.mark.parametrize("kind", list(SPECS))
def test_round_trip_is_exact(tmp_path: Path, kind: str, suffix: str) -> None:
    """All these formats keep 64-bit coordinates (or 17 digits): the identity survives."""
    mesh = make_shape(SPECS[kind])
    write_mesh(tmp_path / f"body{suffix}", mesh)
    assert meshing.mesh_hash(read_mesh(tmp_path / f"body{suffix}").mesh) == meshing.mesh_hash(mesh)
    assert [path.name for path in tmp_path.iterdir()] == [f"body{suffix}"]


def test_stl_round_trip_keeps_the_triangles(tmp_path: Path) -> None:
    """STL stores corners, not nodes: numbering is lost, the triangles are not."""
    mesh = make_shape(SPECS["triangle"])
    write_mesh(tmp_path / "disc.stl", mesh)
    again = read_mesh(tmp_path / "disc.stl").mesh
    assert again.p.shape == mesh.p.shape
    assert element_measures(again) == pytest.approx(element_measures(mesh), rel=1e-12)
    for axis in range(2):
        corners = (np.sort(found.p[axis, found.t], axis=0) for found in (again, mesh))
        assert next(corners) == pytest.approx(next(corners), abs=1e-12)


def test_groups_survive_abaqus_and_gmsh(tmp_path: Path) -> None:
    mesh, path = make_shape(BoxShape((1.0, 1.0), (2, 2), cell="quad")), tmp_path / "body.inp"
    write_mesh(path, mesh, regions={"floor": np.array([0, 1, 2])}, cell_regions={"soft": np.array([1, 3])})
    imported = read_mesh(path)
    soft = sorted(set(mesh.t[:, [1, 3]].ravel().tolist()))
    assert lists(imported.regions) == {"floor": [0, 1, 2], "soft": soft}
    assert lists(imported.cell_regions) == {"soft": [1, 3]}
    cells = [("triangle", [[0, 1, 2]]), ("tetra", [[0, 1, 2, 4], [0, 2, 3, 4]])]
    names = {"wall": (7, 2), "soft": (1, 3), "hard": (2, 3)}
    imported = read_mesh(in_gmsh(tmp_path, CUBE[:5], cells, [[7], [1, 2]], names))
    assert meshing.cell_kind(imported.mesh) == "tet"
    assert lists(imported.regions) == {"wall": [0, 1, 2], "soft": [0, 1, 2, 4], "hard": [0, 2, 3, 4]}
    assert lists(imported.cell_regions) == {"soft": [0], "hard": [1]}
    cells = [("triangle", [[0, 1, 2]]), ("line", [[0, 1]]), ("triangle", [[0, 2, 3]])]
    assert read_mesh(save(tmp_path, SQUARE, cells, "m.vtk")).mesh.t.T.tolist() == [[0, 1, 2], [0, 2, 3]]
    names = {"low": (1, 2), "high": (2, 2), "edge": (3, 1)}
    imported = read_mesh(in_gmsh(tmp_path, SQUARE, cells, [[1], [3], [2]], names))
    assert imported.cell_regions["high"].tolist() == [1] and imported.regions["edge"].tolist() == [0, 1]


def test_bodies_are_oriented_flattened_and_rid_of_unused_points(tmp_path: Path) -> None:
    path = save(tmp_path, CUBE[[0, 1, 3, 4]], [("tetra", [[0, 2, 1, 3]])])
    assert element_measures(read_mesh(path).mesh) == pytest.approx([1.0 / 6.0])
    path = save(tmp_path, SQUARE + np.array([0, 0, 5]), [("quad", [[0, 1, 2, 3]])])
    assert read_mesh(path).mesh.p.shape == (2, 4)
    points = np.insert(np.vstack([SQUARE, np.full((6, 3), 9.0)]), 0, [[8.0, 8.0, 0.0]], axis=0)
    path = save(tmp_path, points, [("triangle", [[1, 2, 3], [1, 3, 4]])], point_sets={"top": [3, 4, 9]}, name="m.inp")
    with pytest.raises(RheotwinError, match=r"7 of 11 points belong to no element \(indices 0, 5, 6, 7, 8, \.\.\.\)"):
        read_mesh(path)
    imported = read_mesh(path, drop_unused=True)
    assert np.array_equal(imported.mesh.p.T, SQUARE[:, :2])
    assert imported.mesh.t.T.tolist() == [[0, 1, 2], [0, 2, 3]] and imported.regions["top"].tolist() == [2, 3]


PIECES = [
    ("hexahedron", [[0, 1, 2, 3, 4, 5, 6, 7]]),
    ("wedge", [[1, 8, 2, 5, 9, 6]]),
    ("pyramid", [[4, 5, 6, 7, 10]]),
    ("tetra", [[5, 6, 9, 10]]),
]
"""A cube with a wedge at its side, a pyramid on top, and a tet, turned over, between them."""


@pytest.mark.parametrize("suffix", [".vtu", ".vtk", ".mesh"])
def test_a_file_of_several_kinds_of_cells_is_one_body(tmp_path: Path, suffix: str) -> None:
    points = np.vstack([CUBE, [[2.0, 0.5, 0.0], [2.0, 0.5, 1.0], [0.5, 0.5, 2.0]]])
    meshio.write(tmp_path / "m.msh", meshio.Mesh(points, PIECES), file_format="gmsh22")
    mesh = read_mesh(tmp_path / "m.msh").mesh
    np.testing.assert_allclose(element_measures(mesh), [1.0, 0.5, 1.0 / 3.0, 1.0 / 6.0], rtol=1e-14)
    x, faces = mesh.p.T, meshing.boundary_faces(mesh)
    areas = 0.5 * np.cross(x[faces[:, 2]] - x[faces[:, 0]], x[faces[:, 3]] - x[faces[:, 1]])
    assert len(faces) == 12 and np.abs(areas.sum(axis=0)).max() < 1e-15
    centres = np.array([np.mean(x[np.unique(face)], axis=0) for face in faces])  # all are flat
    assert (areas * centres).sum() / 3.0 == pytest.approx(2.0)
    assert len(meshing.element_edges(mesh)) == 12 + 5 + 4 + 1
    assert meshing.quality_report(mesh).quality_min > 0.5
    write_mesh(tmp_path / f"body{suffix}", mesh)
    assert meshing.mesh_hash(read_mesh(tmp_path / f"body{suffix}").mesh) == meshing.mesh_hash(mesh)


def test_two_triangles_against_a_square_are_no_surface(tmp_path: Path) -> None:
    tip = np.vstack([CUBE, [[0.5, 0.5, 2.0]]])
    tets = ("tetra", [[4, 5, 6, 8], [4, 7, 6, 8]])
    mesh = read_mesh(save(tmp_path, tip, [PIECES[0], tets])).mesh
    assert len(meshing.boundary_faces(mesh)) == 5 + 4
    with pytest.raises(RheotwinError, match="cannot hold mixed cells: use one of"):
        write_mesh(tmp_path / "b.inp", mesh)


WARPED = SQUARE + np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0.5], [0, 0, 0]])
HALVES = [("triangle", [[0, 1, 2], [0, 2, 3]])]
SKIN = [("triangle", [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])]


@pytest.mark.parametrize(
    ("points", "cells", "sentence"),
    [
        (CUBE[[0, 1, 2, 4, 4, 6]], [("wedge", [[0, 1, 2, 3, 4, 5]])], "wedge element 0 is degenerate, its volume is"),
        (
            CUBE,
            [("hexahedron", [list(range(8))]), ("pyramid", [[0, 1, 2, 3, 1]])],
            "pyramid element has one point at two",
        ),
        (WARPED, HALVES, "a triangle surface in space is not a body"),
        (WARPED, [("quad", [[0, 1, 2, 3]])], "a quad surface in space is not a body"),
        (SQUARE, [("line", [[0, 1], [1, 2], [2, 3]])], "lines in space are not a body"),
        (SQUARE, [("vertex", [[0], [1], [2], [3]])], "holds no elements, only 4 points"),
        (SQUARE * np.nan, [("quad", [[0, 1, 2, 3]])], "not a finite number"),
        (SQUARE * [1, 0, 1], HALVES, "triangle element 0 .*degenerate, its area is 0"),
        (SQUARE, [("quad", [[0, 3, 2, 1]])], "quad element 0 is inverted, its area is -1 m2"),
        (CUBE, [("hexahedron", [[4, 5, 6, 7, 0, 1, 2, 3]])], "hex element 0 is inverted, its volume is -1 m3"),
        ("stl", SKIN, "triangle surface in space is not a body: fill it with tetrahedra"),
    ],
)
def test_meshes_that_are_not_a_body_are_refused(tmp_path: Path, points: Any, cells: Any, sentence: str) -> None:
    path = save(tmp_path, *((CUBE[[0, 1, 3, 4]], cells, "skin.stl") if isinstance(points, str) else (points, cells)))
    with pytest.raises(RheotwinError, match=sentence) as caught:
        read_mesh(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing.vtu", None, "no such mesh file"),
        ("folder", ..., "this is a folder"),
        ("body.vtuu", "", r"unknown mesh suffix '.vtuu' \(did you mean '.vtu'\?\): use .msh"),
        ("body", "", "unknown mesh suffix ''"),
        ("body.xdmf", "", "unknown mesh suffix '.xdmf'"),
        ("body.vtu", "this is not XML", "cannot be read as vtu"),
        ("body.msh", "garbage\n", "cannot be read as ansys or gmsh"),
        ("body.vtk", "", "cannot be read as vtk"),
        ("body.inp", "*NODE\n1, zero, one\n", "cannot be read as abaqus"),
        ("body.stl", "solid nothing\nendsolid\n", "body.stl: "),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, content: Any, sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if content is ...:
        path.mkdir()
    elif content is not None:
        path.write_text(content)
    with pytest.raises(RheotwinError, match=sentence) as caught:
        read_mesh(path)
    assert "\n" not in str(caught.value) and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [".ply", ".off", ".nas", ".mdpa", ".dat"])
def test_a_file_that_was_cut_off_is_read_to_its_end_only(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers of these formats wait for lines that never come: whatever is missing, there is an answer."""
    monkeypatch.setattr(guarded, "SECONDS", 1.0)
    whole = save(tmp_path, [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [("triangle", [[0, 1, 2]])], f"whole{suffix}")
    assert len(load_file(whole).points) == 3
    text, answers = whole.read_bytes(), list[str]()
    for length in (0, len(text) // 3, len(text) // 2):
        (tmp_path / f"cut{suffix}").write_bytes(text[:length])
        try:
            load_file(tmp_path / f"cut{suffix}")
        except RheotwinError as error:
            answers.append(str(error).removeprefix(f"{tmp_path}/cut{suffix}: "))
    assert answers and all(answer.startswith(("cannot be read as", "its ")) for answer in answers)


def crash() -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


@pytest.mark.parametrize(
    ("reader", "sentence"),
    [
        (crash, r"its reader crashes on it \(SIGSEGV\)"),
        (lambda: {"a": np.empty(1 << 33)}, "its reader asks for more memory"),
        (lambda: os._exit(0), r"its reader crashes on it \(exit code 0\)"),
        (lambda: {"a": np.array([{}])}, r"cannot be read \(ValueError\)"),
    ],
)
def test_what_happens_to_a_reader_is_a_sentence_that_names_the_file(tmp_path: Path, reader: Any, sentence: str) -> None:
    (tmp_path / "body.vtu").write_text("x")
    with pytest.raises(RheotwinError, match=f"body.vtu: {sentence}"):
        guarded.guarded(tmp_path / "body.vtu", reader)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("body.stl", "holds triangles only"),
        ("body.vtx", "cannot write a mesh with suffix '.vtx'"),
        ("absent/body.vtu", "cannot be written"),
    ],
)
def test_refused_writes_leave_nothing_behind(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        write_mesh(tmp_path / name, make_shape(SPECS["quad"]))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "body.vtu"
    path.write_text("old")

    def full_disk(partial: Path, *_: Any, **__: Any) -> None:
        Path(partial).write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(meshio, "write", full_disk)
    with pytest.raises(RheotwinError, match="No space left on device"):
        write_mesh(path, meshing.build_mesh("line", [[0.0, 1.0]], [[0], [1]]))
    assert path.read_text() == "old" and [entry.name for entry in tmp_path.iterdir()] == ["body.vtu"]


HALVED = np.concatenate([SIDES[:, [0, 1, 2]], SIDES[:, [0, 2, 3]]])
SOUP = np.vstack([np.arange(36).reshape(-1, 3), [[0, 1, 1], [3, 3, 3]]])


@pytest.mark.parametrize(
    ("points", "cells"),
    [
        (CUBE, [("quad", SIDES)]),
        (CUBE[HALVED].reshape(-1, 3), [("triangle", SOUP)]),
        (np.vstack([[[9.0, 9.0, 9.0]], CUBE]), [("quad", SIDES + 1)]),
    ],
    ids=["split quadrilaterals", "merged points without flat triangles", "no unused points"],
)
def test_surfaces_of_tools_become_triangles_that_look_the_same_way(tmp_path: Path, points: Any, cells: Any) -> None:
    vertices, triangles = read_surface(save(tmp_path, points, cells, "cube.vtk"))
    assert (len(vertices), triangles.shape) == (8, (12, 3))
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    assert np.sum(a * np.cross(b, c)) / 6.0 == pytest.approx(1.0, rel=1e-14)


def test_surfaces_without_triangles_and_headers_without_end_are_named(tmp_path: Path) -> None:
    with pytest.raises(RheotwinError, match="no triangles"):
        read_surface(save(tmp_path, CUBE, [("hexahedron", [list(range(8))])], "cube.vtk"))
    (tmp_path / "tool.ply").write_text("ply\nformat ascii 1.0\n")
    with pytest.raises(RheotwinError, match=r"tool\.ply: its reader does not come to an end"):
        load_file(tmp_path / "tool.ply")


HALF_DISC = """
Point(1) = {0, 0, 0, 0.2}; Point(2) = {1, 0, 0, 0.2}; Point(3) = {0, 1, 0, 0.2}; Point(4) = {-1, 0, 0, 0.2};
Circle(1) = {2, 1, 3}; Circle(2) = {3, 1, 4}; Line(3) = {4, 2};
Curve Loop(1) = {1, 2, 3}; Plane Surface(1) = {1};
"""
GROUPS = 'Physical Curve("floor") = {3}; Physical Surface("plate") = {1};\n'


def geometry(folder: Path, text: str) -> Path:
    (folder / "body.geo").write_text(text)
    return folder / "body.geo"


def need_gmsh() -> None:
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError), reason="needs the gmsh extra")


def test_geo_without_the_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRUST, "1")
    monkeypatch.setitem(sys.modules, "gmsh", None)
    with pytest.raises(RheotwinError, match=r'pip install "rheotwin\[gmsh\]"'):
        read_mesh(geometry(tmp_path, HALF_DISC))


def test_geo_is_no_data_unless_somebody_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before gmsh is asked for: the script would write a file."""
    for word in ("", "0"):
        monkeypatch.setenv(TRUST, word)
        with pytest.raises(RheotwinError, match=r"a \.geo file is a program.*--trust-geometry"):
            read_mesh(geometry(tmp_path, f'Printf("x") > "{tmp_path}/written";\n'))
    assert not (tmp_path / "written").exists()


def test_geo_is_meshed_with_its_groups_or_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_gmsh()
    monkeypatch.setenv(TRUST, "1")
    imported = read_mesh(geometry(tmp_path, HALF_DISC + GROUPS))
    assert meshing.cell_kind(imported.mesh) == "triangle"
    # chords of length h = 0.2 on a unit circle miss about h^2 / 6 of the area
    assert element_measures(imported.mesh).sum() == pytest.approx(np.pi / 2.0, rel=0.2**2 / 4.0)
    assert np.all(imported.mesh.p[1, imported.regions["floor"]] == 0.0)
    assert len(imported.cell_regions["plate"]) == imported.mesh.t.shape[1]
    # without groups too, points that only carry the geometry are left out
    assert element_measures(read_mesh(geometry(tmp_path, HALF_DISC)).mesh).sum() == pytest.approx(np.pi / 2.0, rel=0.01)
    with pytest.raises(RheotwinError, match="gmsh cannot mesh this geometry") as caught:
        read_mesh(geometry(tmp_path, "Point(1) = {0, 0;\n"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bend", [0.0, 0.05])
def test_cells_of_second_order_are_read_by_their_corners(tmp_path: Path, bend: float) -> None:
    """Two tets with middles, one of them off its edge: corners, regions and orientation stay, bends are said."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float)
    tets, edges = [[0, 1, 2, 3], [1, 2, 3, 4]], ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
    points, cells, known = list(corners), [], {}
    for tet in tets:
        for a, b in edges:
            pair = (min(tet[a], tet[b]), max(tet[a], tet[b]))
            if pair not in known:
                known[pair] = len(points)
                points.append(0.5 * corners[list(pair)].sum(axis=0))
        cells.append(tet + [known[min(tet[a], tet[b]), max(tet[a], tet[b])] for a, b in edges])
    points[known[0, 1]] = points[known[0, 1]] + [0.0, -bend, 0.0]
    path = tmp_path / "curved.vtu"
    meshio.write(path, meshio.Mesh(np.array(points), [("tetra10", cells)]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        imported = read_mesh(path)
    assert ["bend by up to 0.05 of" in str(item.message) for item in said] == [True] * bool(bend)
    np.testing.assert_array_equal(imported.mesh.p.T, corners)
    assert [set(cell) for cell in imported.mesh.t.T.tolist()] == [set(tet) for tet in tets]
