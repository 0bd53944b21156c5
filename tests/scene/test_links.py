"""Links in a scene file: what is read, what is refused, and what a problem makes of them."""

from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.observers.outputs import probe_columns
from rheotwin.scene import Scene, scene_from_data
from rheotwin.validation.checks.running import ELASTIC, Data, box_scene

LEFT = box_scene(ELASTIC, cells=[2, 2], size=[100.0, 100.0], mass=1.0)
BODIES = {"left": LEFT["bodies"]["block"], "right": LEFT["bodies"]["block"] | {"origin": [300.0, 0.0]}}


def ends(*places: tuple[str, list[float]]) -> list[Data]:
    return [{"body": body, "at": at} for body, at in places]


ROD = {"between": ends(("left", [100.0, 40.0]), ("right", [300.0, 100.0]))}
CHAIN = {"between": ends(("left", [0.0, 0.0]), ("left", [0.0, 50.0]), ("right", [400.0, 50.0]))}


def scene_of(*, plane: str = "strain", **rod: Any) -> Scene:
    links = {"rod": ROD | rod, "chain": CHAIN}
    return scene_from_data(
        LEFT | {"bodies": BODIES, "links": links, "units": {"length": "mm", "pressure": "Pa"}, "plane": plane}
    )


def test_links_join_the_nearest_nodes_in_the_units_of_the_file() -> None:
    problem = build_problem(scene_of())
    rod, chain = problem.links
    np.testing.assert_allclose(problem.points[rod.nodes[0]], [[0.1, 0.05], [0.3, 0.1]])
    np.testing.assert_allclose(rod.lengths, [np.hypot(0.2, 0.05)])
    assert rod.members == ("links.rod",)
    np.testing.assert_allclose(problem.points[chain.nodes[1]], [[0.0, 0.05], [0.4, 0.05]])
    np.testing.assert_allclose(chain.lengths, [0.05, 0.4])
    assert chain.members == ("links.chain[0]", "links.chain[1]")
    tensions = {name: unit for name, unit in probe_columns(problem, []).items() if name.startswith("link.")}
    assert tensions == {"link.rod.tension": "N", "link.chain.tension_1": "N", "link.chain.tension_2": "N"}
    scene = scene_of(length=210.0)
    assert scene.links["rod"].length == pytest.approx(0.21)
    assert scene.links["rod"].between[0].at == pytest.approx((0.1, 0.04))
    assert build_problem(scene).links[0].lengths == pytest.approx([0.21])
    assert scene_from_data(scene.model_dump(mode="json", by_alias=True)) == scene


WRIGHT = "no body is named 'wright' (did you mean 'right'?)"


@pytest.mark.parametrize(
    ("rod", "place", "words"),
    [
        ({"between": ends(("left", [0.0, 0.0]))}, "between", "at least 2"),
        ({"between": ends(("left", [0.0, 0.0]), ("wright", [1.0, 0.0]))}, "between.1.body", WRIGHT),
        ({"between": ends(("left", [0.0]), ("right", [1.0, 0.0]))}, "between.0.at", "needs 2 component"),
        ({"length": -1.0}, "length", "must be greater than 0"),
        ({"stiffness": 1.0}, "stiffness", "unknown key"),
    ],
)
def test_faults_are_named_at_their_place(rod: Data, place: str, words: str) -> None:
    with pytest.raises(InputFaults) as caught:
        scene_of(**rod)
    found = {fault.place: fault.message for fault in caught.value.faults}
    assert list(found) == [f"links.rod.{place}"] and words in found[f"links.rod.{place}"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"between": ends(("left", [0.0, 0.0]), ("left", [10.0, 10.0]))}, r"links\.rod\.between: .* is one node"),
        ({"length": 1000.0, **CHAIN}, r"links\.chain\[0\].*no shape has"),
        ({"plane": "axisymmetric"}, "links: an axisymmetric scene has rings"),
    ],
)
def test_links_without_a_shape_are_refused(changes: Data, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        build_problem(scene_of(**changes))
