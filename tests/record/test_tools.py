from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import pyvista

from rheotwin.errors import RheotwinError
from rheotwin.record import ToolSurface
from rheotwin.record.pvd import ToolWriter, read_tools


def plate(name: str, height: float) -> ToolSurface:
    points = np.array([[0.0, 0, height], [1, 0, height], [1, 1, height], [0, 1, height]])
    return ToolSurface(name=name, points=points, faces=np.array([3, 0, 1, 2, 3, 0, 2, 3]))


def test_tools_move_and_stay_apart(tmp_path: Path, bar: ToolSurface) -> None:
    """Two plates of area 1 at heights 2 + t and 5, and a line of length 1 in the bar."""
    writer = ToolWriter()
    for index, time in enumerate((0.0, 0.5)):
        writer.write(tmp_path / f"{index}.vtp", time, [plate("moving", 2.0 + time), plate("still", 5.0), bar])
    for index, time in enumerate((0.0, 0.5)):
        surface = read_tools(tmp_path / f"{index}.vtp")
        assert list(surface.field_data["tool_names"]) == ["moving", "still", "bar"]
        assert surface.field_data["TimeValue"] == [time]
        heights = surface.cell_centers().points[:, 2]
        tool = surface.cell_data["tool"]
        assert set(heights[tool == 0]) == {2.0 + time}
        assert set(heights[tool == 1]) == {5.0}
        assert np.count_nonzero(tool == 2) == 3
        sizes = surface.compute_cell_sizes()
        assert sizes["Area"][tool == 0].sum() == pytest.approx(1.0, abs=1e-15)
        assert sizes["Length"].sum() == pytest.approx(1.0, abs=1e-15)


def test_a_change_of_tools_is_followed(tmp_path: Path, bar: ToolSurface) -> None:
    writer = ToolWriter()
    writer.write(tmp_path / "0.vtp", 0.0, [bar])
    writer.write(tmp_path / "1.vtp", 0.1, [bar, plate("second", 1.0)])
    assert read_tools(tmp_path / "0.vtp").n_points == 4
    changed = read_tools(tmp_path / "1.vtp")
    assert (changed.n_points, changed.n_cells) == (8, 5)
    assert list(changed.field_data["tool_names"]) == ["bar", "second"]


def test_surfaces_of_pyvista_are_taken_as_they_are(tmp_path: Path) -> None:
    sphere = pyvista.Sphere(radius=0.5)
    tool = ToolSurface(name="ball", points=np.asarray(sphere.points), faces=np.asarray(sphere.faces))
    ToolWriter().write(tmp_path / "0.vtp", 0.0, [tool])
    read = read_tools(tmp_path / "0.vtp")
    assert read.area == pytest.approx(sphere.area, rel=1e-6)
    assert read.n_cells == sphere.n_cells


def test_a_bad_face_list_names_its_tool(tmp_path: Path) -> None:
    bad = ToolSurface(name="bent", points=np.zeros((3, 3)), faces=np.array([3, 0, 1]))
    with pytest.raises(RheotwinError, match="tool 'bent'"):
        ToolWriter().write(tmp_path / "0.vtp", 0.0, [bad])


def test_missing_or_damaged_surface_is_one_sentence(
    tmp_path: Path, bar: ToolSurface, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "0.vtp"
    with pytest.raises(RheotwinError, match="is missing"):
        read_tools(path)
    ToolWriter().write(path, 0.0, [bar])
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(RheotwinError, match="is damaged"):
        read_tools(path)
    assert capfd.readouterr().err == ""
