"""Bodies: what the mesher gets, defaults after the dimension, rotation and place."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import pytest

from rheotwin.meshing.shapes import BoxShape, CylinderShape, GridShape, LShape, SphereShape, make_shape
from rheotwin.scene import FileBody, Scene
from rheotwin.scene.bodies import mesher_shape

ScenesFrom = Callable[[dict[str, Any]], Scene]
COMMON = {"law": "dough", "density": 2.0}
SPACE = {"dimension": 3, "supports": {}, "tools": {}, "forces": {}, "probes": {}}


@pytest.fixture
def body_of(scene_with: ScenesFrom) -> Callable[..., Any]:
    return lambda changes, **spec: scene_with({**changes, "bodies.block": {**COMMON, **spec}}).bodies["block"]


def test_defaults_follow_the_dimension(body_of: Callable[..., Any]) -> None:
    plane = body_of({}, shape="box", size=[1.0, 1.0], cells=[1, 1])
    assert (plane.cell, plane.pattern, plane.mass_sharing) == ("triangle", "se-nw", "volume")
    space = body_of(SPACE, shape="box", size=[1.0] * 3, cells=[1] * 3)
    assert (space.cell, space.pattern) == ("tet", "five")
    line = body_of({**SPACE, "dimension": 1}, shape="box", size=[1.0], cells=[1])
    assert (line.cell, line.pattern) == ("line", None)


def test_what_the_mesher_gets(body_of: Callable[..., Any]) -> None:
    box = body_of({}, shape="box", size=[8.0, 3.0], cells=[4, 2], pattern="alternating")
    assert mesher_shape(box) == BoxShape(size=(8.0, 3.0), cells=(4, 2), cell="triangle", pattern="alternating")
    grid = body_of({}, shape="grid", coordinates=[[0.0, 1.0, 3.0], [0.0, 1.0]], cell="quad")
    assert mesher_shape(grid) == GridShape(coordinates=((0.0, 1.0, 3.0), (0.0, 1.0)), cell="quad", pattern=None)
    cylinder = body_of(SPACE, shape="cylinder", radius=1.0, height=2.0, cells=[4, 3], cell="hex")
    assert mesher_shape(cylinder) == CylinderShape(radius=1.0, height=2.0, cells=(4, 3), cell="hex")
    disc = body_of({}, shape="sphere", radius=1.0, cells=4)
    assert mesher_shape(disc) == SphereShape(radius=1.0, cells=4, cell="triangle")
    corner = body_of({}, shape="l-shape", size=[2.0, 2.0], cells=[4, 4], cut=[1.0, 1.0])
    assert mesher_shape(corner) == LShape(
        size=(2.0, 2.0), cells=(4, 4), cut=(1.0, 1.0), cell="triangle", pattern="se-nw"
    )


def test_the_mesher_accepts_every_default(body_of: Callable[..., Any]) -> None:
    corner = {"shape": "l-shape", "cut": [1.0, 1.0]}
    for changes, dimension in (({}, 2), (SPACE, 3)):
        for spec in (
            {"shape": "box", "size": [2.0] * dimension, "cells": [2] * dimension},
            {"shape": "sphere", "radius": 1.0, "cells": 4},
            {**corner, "size": [2.0] * dimension, "cells": [2] * dimension},
        ):
            assert make_shape(mesher_shape(body_of(changes, **spec))).p.shape[0] == dimension


def test_rotation_turns_right_handed(body_of: Callable[..., Any]) -> None:
    flat = body_of({}, shape="box", size=[1.0, 1.0], cells=[1, 1], rotation=pi / 2)
    np.testing.assert_allclose(flat.rotation_matrix(2), [[0.0, -1.0], [1.0, 0.0]], atol=1e-15)
    # a third of a turn about the diagonal carries x to y, y to z, z to x
    diagonal = {"axis": [2.0, 2.0, 2.0], "angle": 2.0 * pi / 3.0}
    space = body_of(SPACE, shape="box", size=[1.0] * 3, cells=[1] * 3, rotation=diagonal)
    np.testing.assert_allclose(space.rotation_matrix(3) @ np.eye(3), np.eye(3)[[2, 0, 1]], atol=1e-15)
    plain = body_of({}, shape="box", size=[1.0, 1.0], cells=[1, 1])
    np.testing.assert_array_equal(plain.rotation_matrix(2), np.eye(2))


def test_place_and_mass(body_of: Callable[..., Any]) -> None:
    body = body_of({}, shape="box", size=[1.0, 1.0], cells=[1, 1])
    assert body.placement(2) == (0.0, 0.0)
    assert body.total_mass(3.0) == 6.0
    heavy = body_of({}, shape="box", size=[1.0, 1.0], cells=[1, 1], density=2.5, origin=[1, 2])
    assert heavy.placement(2) == (1.0, 2.0)
    assert heavy.total_mass(2.0) == 5.0


def test_a_mesh_file(body_of: Callable[..., Any]) -> None:
    body = body_of({"units.length": "mm"}, shape="file", path="part.msh", scale=2.0, drop_unused=True)
    assert isinstance(body, FileBody)
    assert body.scale == 2e-3
    assert body.drop_unused
