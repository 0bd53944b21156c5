"""Selections of nodes: sides, boxes, regions, the nearest node; and the sentence when there is none."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import BoxShape, make_shape
from rheotwin.scene import Where
from rheotwin.selection import nearest_node, select_nodes

SIZES = ((3.0,), (3.0, 2.0), (3.0, 2.0, 1.0))
LINE, FLAT, SOLID = (np.array(make_shape(BoxShape(size, tuple(map(int, size)))).p.T) for size in SIZES)
SIDES = (("left", "right"), ("bottom", "top"), ("front", "back"))


def select(points: np.ndarray, regions: dict[str, Any] | None = None, **where: Any) -> np.ndarray:
    return select_nodes(Where.model_validate(where), points, regions or {}, "supports.floor.where")


@pytest.mark.parametrize(
    ("points", "pairs"),
    [(LINE, SIDES[:1]), (FLAT, SIDES[:2]), (SOLID, (SIDES[0], SIDES[2], SIDES[1]))],
    ids=["1D", "2D", "3D"],
)
def test_a_side_is_all_nodes_on_that_end_of_the_bounding_box(points: np.ndarray, pairs: Any) -> None:
    for axis, (low, high) in enumerate(pairs):
        for side, value in ((low, 0.0), (high, 3.0 - axis)):
            expected = np.flatnonzero(points[:, axis] == value)
            assert len(expected) > 0 and select(points, side=side).tolist() == expected.tolist()


@pytest.mark.parametrize(("points", "side"), [(LINE, "top"), (LINE, "front"), (FLAT, "back")])
def test_a_side_of_another_dimension_is_refused(points: np.ndarray, side: str) -> None:
    with pytest.raises(RheotwinError, match=rf"^supports.floor.where: side '{side}' does not exist in .D; use"):
        select(points, side=side)


def test_boxes_regions_and_nearest_nodes() -> None:
    chosen = select(SOLID, box={"x": [1.0, 2.0], "z": [1.0, 1.0]})
    inside = (SOLID[:, 0] >= 1.0) & (SOLID[:, 0] <= 2.0) & (SOLID[:, 2] == 1.0)
    assert chosen.tolist() == np.flatnonzero(inside).tolist() and len(chosen) == 2 * 3
    assert len(select(FLAT, box={"y": [2.0 + 2e-9, 5.0]})) == 4
    with pytest.raises(RheotwinError, match="selects no node"):
        select(FLAT, box={"y": [2.0 + 4e-9, 5.0]})
    assert FLAT[select(FLAT, nearest=[2.2, 0.9])].tolist() == [[2.0, 1.0]]
    assert nearest_node(SOLID, np.array([9.0, 9.0, 9.0])) == int(np.argmax(SOLID.sum(axis=1)))
    with pytest.raises(RheotwinError) as caught:
        select(FLAT, box={"x": [7.0, 8.0]})
    words = "selects no node; the body spans [0.0, 0.0] to [3.0, 2.0] [m]; move the selection into it"
    assert str(caught.value) == f"supports.floor.where: {words}"
    regions = {"skin": np.array([1, 4]), "core": np.array([2])}
    assert select(FLAT, regions, region="skin").tolist() == [1, 4]
    with pytest.raises(RheotwinError, match=r"where: no region 'skn' \(did you mean 'skin'\?\); known regions: core"):
        select(FLAT, regions, region="skn")
    with pytest.raises(RheotwinError, match="known regions: none: only mesh files with named groups have regions"):
        select(FLAT, region="skin")
