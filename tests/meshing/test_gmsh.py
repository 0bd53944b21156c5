"""Geometry files through the optional gmsh extra."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import cell_kind, element_measures, read_mesh

HALF_DISC = """
Point(1) = {0, 0, 0, 0.2}; Point(2) = {1, 0, 0, 0.2}; Point(3) = {0, 1, 0, 0.2}; Point(4) = {-1, 0, 0, 0.2};
Circle(1) = {2, 1, 3}; Circle(2) = {3, 1, 4}; Line(3) = {4, 2};
Curve Loop(1) = {1, 2, 3}; Plane Surface(1) = {1};
"""


def test_geo_without_the_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gmsh", None)
    path = tmp_path / "body.geo"
    path.write_text(HALF_DISC)
    with pytest.raises(RheotwinError, match=r'pip install "rheotwin\[gmsh\]"'):
        read_mesh(path)


def test_geo_is_meshed_and_its_physical_groups_kept(tmp_path: Path) -> None:
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError), reason="needs the gmsh extra")
    path = tmp_path / "body.geo"
    path.write_text(HALF_DISC + 'Physical Curve("floor") = {3}; Physical Surface("plate") = {1};\n')
    imported = read_mesh(path)
    assert cell_kind(imported.mesh) == "triangle"
    # chords of length h = 0.2 on a unit circle miss about h^2 / 6 of the area
    assert element_measures(imported.mesh).sum() == pytest.approx(np.pi / 2.0, rel=0.2**2 / 4.0)
    assert np.all(imported.mesh.p[1, imported.regions["floor"]] == 0.0)
    assert len(imported.cell_regions["plate"]) == imported.mesh.t.shape[1]


def test_points_that_only_carry_the_geometry_are_left_out(tmp_path: Path) -> None:
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError), reason="needs the gmsh extra")
    path = tmp_path / "body.geo"
    path.write_text(HALF_DISC)
    assert element_measures(read_mesh(path).mesh).sum() == pytest.approx(np.pi / 2.0, rel=0.01)


def test_broken_geometry_is_refused_in_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError), reason="needs the gmsh extra")
    path = tmp_path / "body.geo"
    path.write_text("Point(1) = {0, 0;\n")
    with pytest.raises(RheotwinError, match="gmsh cannot mesh this geometry") as caught:
        read_mesh(path)
    assert "\n" not in str(caught.value)
