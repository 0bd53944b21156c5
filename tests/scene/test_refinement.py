"""One key that divides the cells of all bodies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import pytest

from rheotwin.build import body_mesh, build_problem
from rheotwin.errors import RheotwinError
from rheotwin.scene import Scene, scene_from_data

ScenesFrom = Callable[[dict[str, Any]], Scene]


def test_refinement_divides_the_cells_of_every_body(scene_with: ScenesFrom) -> None:
    coarse = scene_with({})
    fine = coarse.refined(3)
    assert fine.model_dump()["refinement"] == 3
    assert Scene.model_validate(fine.model_dump(mode="json")) == fine
    cells = [sum(body.mesh.t.shape[1] for body in build_problem(scene, None).bodies) for scene in (coarse, fine)]
    assert cells[1] == 3**coarse.dimension * cells[0]


@pytest.mark.parametrize("parts", [0, -1, 1.5])
def test_only_whole_numbers_divide(scene_with: ScenesFrom, parts: float) -> None:
    with pytest.raises(RheotwinError, match="refinement"):
        scene_with({"refinement": parts})


def test_a_mesh_file_has_no_finer_cells(tmp_path: Path) -> None:
    meshio.write(tmp_path / "m.vtk", meshio.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [("triangle", [[0, 1, 2]])]))
    data = {
        "schema": 1,
        "dimension": 2,
        "duration": 1.0,
        "laws": {"gel": {"model": "elastic", "young": 1.0, "poisson": 0.3}},
        "bodies": {"block": {"shape": "file", "path": "m.vtk", "law": "gel", "mass": 1.0}},
    }
    scene = scene_from_data(data, base=tmp_path)
    assert body_mesh(scene, "block")[0].t.shape[1] == 1
    with pytest.raises(RheotwinError, match=r"bodies.block: its mesh comes from a file and has no finer cells"):
        body_mesh(scene.refined(2), "block")
