"""Links in a scene file: what is read, what is refused, and what a problem makes of them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.observers.outputs import probe_columns
from rheotwin.scene import Scene, scene_from_data

BOX = {"shape": "box", "size": [100.0, 100.0], "cells": [2, 2], "law": "gel", "mass": 1.0}
SCENE: dict[str, Any] = {
    "schema": 1,
    "dimension": 2,
    "duration": 1.0,
    "units": {"length": "mm"},
    "laws": {"gel": {"model": "elastic", "young": 1.0, "poisson": 0.3}},
    "bodies": {"left": BOX, "right": BOX | {"origin": [300.0, 0.0]}},
    "links": {
        "rod": {"between": [{"body": "left", "at": [100.0, 40.0]}, {"body": "right", "at": [300.0, 100.0]}]},
        "chain": {
            "between": [
                {"body": "left", "at": [0.0, 0.0]},
                {"body": "left", "at": [0.0, 50.0]},
                {"body": "right", "at": [400.0, 50.0]},
            ]
        },
    },
    "output": {"interval": 1.0},
}


@pytest.fixture
def changed() -> Callable[..., dict[str, Any]]:
    """Return the scene with one entry of the rod changed."""

    def change(**entries: Any) -> dict[str, Any]:
        data = deepcopy(SCENE)
        data["links"]["rod"] |= entries
        return data

    return change


def ends(*places: tuple[str, list[float]]) -> list[dict[str, Any]]:
    return [{"body": body, "at": at} for body, at in places]


def test_a_link_joins_the_nodes_nearest_to_its_points() -> None:
    problem = build_problem(scene_from_data(SCENE))
    rod, chain = problem.links
    np.testing.assert_allclose(problem.points[rod.nodes[0]], [[0.1, 0.05], [0.3, 0.1]])
    np.testing.assert_allclose(rod.lengths, [np.hypot(0.2, 0.05)])
    assert rod.members == ("links.rod",)
    np.testing.assert_allclose(problem.points[chain.nodes[1]], [[0.0, 0.05], [0.4, 0.05]])
    np.testing.assert_allclose(chain.lengths, [0.05, 0.4])
    assert chain.members == ("links.chain[0]", "links.chain[1]")


def test_lengths_and_points_have_the_units_of_the_file(changed: Callable[..., dict[str, Any]]) -> None:
    scene = scene_from_data(changed(length=210.0))
    assert scene.links["rod"].length == pytest.approx(0.21)
    assert scene.links["rod"].between[0].at == pytest.approx((0.1, 0.04))
    assert build_problem(scene).links[0].lengths == pytest.approx([0.21])
    again = scene_from_data(scene.model_dump(mode="json", by_alias=True))
    assert isinstance(again, Scene)
    assert again == scene


def test_the_probe_table_has_the_tension_of_every_member() -> None:
    columns = probe_columns(build_problem(scene_from_data(SCENE)), ["kinetic"])
    tensions = {name: unit for name, unit in columns.items() if name.startswith("link.")}
    assert tensions == {"link.rod.tension": "N", "link.chain.tension_1": "N", "link.chain.tension_2": "N"}


@pytest.mark.parametrize(
    ("entries", "place", "words"),
    [
        ({"between": ends(("left", [0.0, 0.0]))}, "links.rod.between", "at least 2"),
        (
            {"between": ends(("left", [0.0, 0.0]), ("wright", [1.0, 0.0]))},
            "links.rod.between.1.body",
            "no body is named 'wright' (did you mean 'right'?)",
        ),
        ({"between": ends(("left", [0.0]), ("right", [1.0, 0.0]))}, "links.rod.between.0.at", "needs 2 component"),
        ({"length": -1.0}, "links.rod.length", "must be greater than 0"),
        ({"stiffness": 1.0}, "links.rod.stiffness", "unknown key"),
    ],
)
def test_faults_are_named_at_their_place(
    entries: dict[str, Any], place: str, words: str, changed: Callable[..., dict[str, Any]]
) -> None:
    with pytest.raises(InputFaults) as caught:
        scene_from_data(changed(**entries))
    found = {fault.place: fault.message for fault in caught.value.faults}
    assert list(found) == [place]
    assert words in found[place]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"between": ends(("left", [0.0, 0.0]), ("left", [10.0, 10.0]))}, r"links\.rod\.between: .* is one node"),
        ({"length": 1000.0, "between": SCENE["links"]["chain"]["between"]}, r"links\.chain\[0\].*no shape has"),
    ],
)
def test_links_without_a_shape_are_refused(
    entries: dict[str, Any], sentence: str, changed: Callable[..., dict[str, Any]]
) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        build_problem(scene_from_data(changed(**entries)))


def test_rings_have_no_links(changed: Callable[..., dict[str, Any]]) -> None:
    data = changed() | {"plane": "axisymmetric"}
    with pytest.raises(RheotwinError, match="links: an axisymmetric scene has rings"):
        build_problem(scene_from_data(data))
