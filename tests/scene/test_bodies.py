"""Bodies: what the mesher gets, defaults after the dimension, rotation and place; cells divided by one key."""

from math import pi
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.build import body_mesh, build_problem
from rheotwin.errors import RheotwinError
from rheotwin.meshing.shapes import BoxShape, CylinderShape, GridShape, LShape, SphereShape
from rheotwin.scene import FileBody, Scene
from rheotwin.scene.bodies import mesher_shape
from tests.conftest import scene_with
from tests.scene.conftest import BARE, whole


def body_of(dimension: int = 2, **spec: Any) -> Any:
    box = {"shape": "box", "size": [1.0] * dimension, "cells": [1] * dimension} if "shape" not in spec else {}
    body = {"law": "dough", "density": 2.0, **box, **spec}
    return scene_with(BARE, {"dimension": dimension, "gravity": ..., "bodies.block": body}).bodies["block"]


@pytest.mark.parametrize(
    ("dimension", "cell", "pattern"), [(1, "line", None), (2, "triangle", "se-nw"), (3, "tet", "five")]
)
def test_defaults_follow_the_dimension(dimension: int, cell: str, pattern: str | None) -> None:
    body = body_of(dimension)
    assert (body.cell, body.pattern, body.mass_sharing) == (cell, pattern, "volume")


BOX = {"shape": "box", "size": [8.0, 3.0], "cells": [4, 2], "pattern": "alternating"}
CORNER = {"shape": "l-shape", "size": [2.0, 2.0], "cells": [4, 4], "cut": [1.0, 1.0]}
GRID = {"shape": "grid", "coordinates": [[0.0, 1.0, 3.0], [0.0, 1.0]], "cell": "quad"}


@pytest.mark.parametrize(
    ("dimension", "spec", "expected"),
    [
        (2, BOX, BoxShape(size=(8.0, 3.0), cells=(4, 2), cell="triangle", pattern="alternating")),
        (2, GRID, GridShape(coordinates=((0.0, 1.0, 3.0), (0.0, 1.0)), cell="quad", pattern=None)),
        (
            3,
            {"shape": "cylinder", "radius": 1.0, "height": 2.0, "cells": [4, 3], "cell": "hex"},
            CylinderShape(radius=1.0, height=2.0, cells=(4, 3), cell="hex"),
        ),
        (2, {"shape": "sphere", "radius": 1.0, "cells": 4}, SphereShape(radius=1.0, cells=4, cell="triangle")),
        (2, CORNER, LShape(size=(2.0, 2.0), cells=(4, 4), cut=(1.0, 1.0), cell="triangle", pattern="se-nw")),
    ],
)
def test_what_the_mesher_gets(dimension: int, spec: dict[str, Any], expected: Any) -> None:
    assert mesher_shape(body_of(dimension, **spec)) == expected


def test_place_mass_and_right_handed_rotation() -> None:
    np.testing.assert_allclose(body_of(rotation=pi / 2).rotation_matrix(2), [[0.0, -1.0], [1.0, 0.0]], atol=1e-15)
    # a third of a turn about the diagonal carries x to y, y to z, z to x
    space = body_of(3, rotation={"axis": [2.0, 2.0, 2.0], "angle": 2.0 * pi / 3.0})
    np.testing.assert_allclose(space.rotation_matrix(3) @ np.eye(3), np.eye(3)[[2, 0, 1]], atol=1e-15)
    np.testing.assert_array_equal(body_of().rotation_matrix(2), np.eye(2))
    assert (body_of().placement(2), body_of().total_mass(3.0)) == ((0.0, 0.0), 6.0)
    heavy = body_of(density=2.5, origin=[1, 2])
    assert (heavy.placement(2), heavy.total_mass(2.0)) == ((1.0, 2.0), 5.0)


MILLIMETRES = {"length": "mm", "pressure": "Pa", "force": "N", "density": "kg/m3"}


@pytest.mark.usefixtures("own_folder")
def test_a_mesh_file_is_scaled_and_has_no_finer_cells() -> None:
    meshio.write("m.vtk", meshio.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [("triangle", [[0, 1, 2]])]))
    block = {"shape": "file", "path": "m.vtk", "law": "dough", "density": 2.0, "scale": 2.0, "drop_unused": True}
    scene = scene_with(BARE, {"bodies.block": block, "units": MILLIMETRES, "gravity": []}, base=Path())
    body = scene.bodies["block"]
    assert isinstance(body, FileBody) and (body.scale, body.drop_unused) == (2e-3, True)
    assert body_mesh(scene, "block")[0].t.shape[1] == 1
    with pytest.raises(RheotwinError, match=r"bodies.block: its mesh comes from a file and has no finer cells"):
        body_mesh(scene.refined(2), "block")


def test_refinement_divides_the_cells_of_every_body() -> None:
    coarse = whole()
    fine = coarse.refined(3)
    assert fine.model_dump()["refinement"] == 3 and Scene.model_validate(fine.model_dump(mode="json")) == fine
    cells = [sum(body.mesh.t.shape[1] for body in build_problem(scene).bodies) for scene in (coarse, fine)]
    assert cells[1] == 3**coarse.dimension * cells[0]


@pytest.mark.parametrize("parts", [0, -1, 1.5])
def test_only_whole_numbers_divide(parts: float) -> None:
    with pytest.raises(RheotwinError, match="refinement"):
        whole({"refinement": parts})
