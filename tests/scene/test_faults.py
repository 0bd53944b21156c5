"""Every kind of bad input is one fault, at its place, with what is allowed and the nearest name."""

import math
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from rheotwin.errors import EXIT_BAD_INPUT, InputFaults
from rheotwin.scene import scene_from_data
from tests.conftest import Data, data
from tests.scene.conftest import BARE, WHOLE, faults

MOTION = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [1.0, 0.0]]}
BAR, FLOOR = "tools.bar.motion", "supports.floor"
ADAPTIVE = {"shortest": 1e-9, "longest": 0.1, "change": 1.0}
CORNER = {"shape": "l-shape", "size": [8.0, 3.0], "cut": [8.0, 1.0], "cells": [4, 2], "law": "gel", "mass": 1.0}
CYLINDER = {"shape": "cylinder", "radius": 1.0, "height": 1.0, "cells": [4, 4], "law": "gel", "mass": 1.0}

AT_ITS_PLACE: list[tuple[str, Any, str]] = [
    # place of the change and of the fault, value, words of the sentence
    ("laws.gel.viscosty", 1.0, "did you mean 'viscosity'?"),
    ("durration", 1.0, "did you mean 'duration'?"),
    ("supports.floor.where.sid", "top", "'side'"),
    ("duration", ..., "missing (How long is simulated)"),
    ("laws.gel.viscosity", ..., "missing"),
    ("schema", ..., "missing"),
    ("schema", 2, "2 is not allowed; use 1"),
    ("laws.gel.young", "300", "must be a number, not '300'"),
    ("duration", True, "must be a number, not true"),
    ("bodies.block.law", 3, "must be text in quotes, not 3"),
    ("bodies.block", 3, "must be a table, not 3"),
    ("tools.bar.center", 3.0, "must be a list [..], not 3.0"),
    ("laws.gel.young", math.nan, "must be a finite number"),
    ("duration", math.inf, "must be a finite number"),
    ("bodies.block.mass", -3, "must be greater than 0, got -3"),
    ("bodies.block.mass", 0.0, "must be greater than 0"),
    ("laws.gel.poisson", 0.7, "at most 0.5"),
    ("laws.gel.poisson", -1.0, "more than -1"),
    ("tools.bar.motion.times", [0.0, 1.0, 1.0], "entry 3 is 1.0"),
    ("tools.bar.motion.times", [0.0, 2.0, 1.0], "must increase"),
    ("tools.bar.motion.displacement", [[0.0, 0.0]], "has 1 entries but `times` has 3"),
    ("tools.bar.motion.angle", [0.0] * 4, "4 entries"),
    ("gravity", [0.0, 0.0, -9.81], "needs 2 component(s)"),
    ("bodies.block.size", [8.0], "needs 2 component(s)"),
    ("duration", 0.0, "must be greater than 0"),
    ("duration", -1.0, "must be greater than 0"),
    ("bodies.block.law", "dogh", "did you mean 'dough'?"),
    ("supports.floor.body", "blok", "did you mean 'block'?"),
    ("tools.bar.bodies", ["brick"], "no body is named 'brick'"),
    ("case", "elastisch", "did you mean 'elastic'?"),
    ("bodies.block.shape", "bx", "did you mean 'box'?"),
    ("bodies.block.shape", ..., "use box, grid, cylinder"),
    ("laws.gel.model", "voight", "did you mean 'voigt'?"),
    ("bodies.block.cell", "tet", "use triangle or quad"),
    ("bodies.block.pattern", "five", "use se-nw"),
    ("bodies.block.rotation", {"axis": [0.0, 0.0, 1.0], "angle": 1.0}, "an axis is for 3D"),
    ("bodies.block.rotation", "left", "must be a number"),
    ("units.length", "ft", "use m, cm, mm, um, km or in"),
    ("units.lenght", "m", "did you mean 'length'?"),
    ("output.interval", 4.0, "longer than the whole run"),
    ("supports.floor.where", {"side": "top", "nearest": [0.0, 0.0]}, "given: side, nearest"),
    ("supports.floor.where", {}, "given: none"),
    ("forces.push.where.box", {"x": [4.0, 0.0]}, "put the smaller first"),
    ("supports.floor.fix", ["z"], "there is no z"),
    ("tools.bar.normal", [0.0, 0.0], "all zero"),
    ("tools.bar.width", [1.0, 1.0], "one width"),
    ("tools.bar.width", ..., "missing (extent of the working face)"),
    ("forces.push.factor", [1.0], "1 entries but `times` has 2"),
    ("section", 2.0, "is for 1D scenes"),
    ("section", 1.0, "is for 1D scenes; this one is 2D, leave it out"),
    ("probes.a b", {"body": "block", "at": [0.0, 0.0]}, "cannot be a name"),
    ("dimension", True, "must be a whole number, not true"),
    ("dimension", 2.0, "must be a whole number, not 2.0"),
    ("schema", True, "must be a whole number, not true"),
    ("output.fields", [], "needs at least 1 entry, has 0"),
    ("output.fields", ["stress", "velocity", "stress"], "'stress' is named twice; name it once"),
    ("output.interval", 1e-9, "1e-09 plans 4e+08 times in this run (duration = 0.4), more than 1000000; choose"),
    ("output.probe_interval", 1e-40, "choose at least 4e-07"),
    ("output.checkpoint_interval", 1e-9, "at least 4e-07"),
    ("laws.dough.series_viscosity", 0.0, "greater than 0"),
]
ELSEWHERE: list[tuple[Data, str, str]] = [
    # changes, place of the fault, words of the sentence
    ({"bodies.block.cells": [4, 2.5]}, "bodies.block.cells.1", "must be a whole number"),
    ({"bodies.block.mass": ..., "bodies.block.density": 0.0}, "bodies.block.density", "must be greater than 0"),
    ({"bodies.block.size": [0.0, 3.0]}, "bodies.block.size.0", "must be greater than 0"),
    ({"bodies.block.size": [8.0, -3.0]}, "bodies.block.size.1", "must be greater than 0"),
    ({"bodies.block.cells": [0, 2]}, "bodies.block.cells.0", "must be at least 1, got 0"),
    ({"bodies.block.density": 1.0}, "bodies.block", "both are given"),
    ({"bodies.block.mass": ...}, "bodies.block", "neither is given"),
    ({f"{BAR}.times": [-1.0, 1.0, 2.0]}, f"{BAR}.times.0", "must be at least 0, got -1.0"),
    ({f"{BAR}.displacement": [[0.0] * 2, [0.0] * 3, [0.0] * 2]}, f"{BAR}.displacement.1", "in a 2D scene, has 3"),
    ({"cases.elastic.laws": {"block": "jelly"}}, "cases.elastic.laws.block", "no law is named 'jelly'"),
    ({"cases.elastic.laws": {"blick": "gel"}}, "cases.elastic.laws.blick", "did you mean 'block'?"),
    ({"cases.elastic.laws": {"block.top": "gel"}}, "cases.elastic.laws.block.top", "no part is named 'top'"),
    ({"cases.elastic.laws": {"blick.top": "gel"}}, "cases.elastic.laws.blick.top", "did you mean 'block'?"),
    ({**BARE, "bodies": {}, "cases": {}}, "bodies", "needs at least 1 entry, has 0"),
    ({"bodies.block.cell": "quad", "bodies.block.pattern": "se-nw"}, "bodies.block.pattern", "leave it out"),
    ({"bodies.block": CYLINDER}, "bodies.block.shape", "needs a 3D scene"),
    ({"bodies.block": CORNER}, "bodies.block.cut", "must be smaller than the whole"),
    ({"bodies.block.rotation": {"axis": [0.0, 0.0, 1.0]}}, "bodies.block.rotation.angle", "missing"),
    ({"output.fields": ["strss"]}, "output.fields.0", "did you mean 'stress'?"),
    ({"output.interval": ..., "output.times": [0.0, 3.5]}, "output.times", "after the end of the run"),
    ({"output.times": [0.0, 0.2]}, "output", "given: interval, times"),
    ({"supports.floor.where": {"side": "under"}}, "supports.floor.where.side", "bottom"),
    ({"supports.floor.where": {"side": "front"}}, "supports.floor.where.side", "does not exist in 2D"),
    ({"supports.floor.where": {"region": "skin"}}, "supports.floor.where.region", "only bodies from mesh files"),
    ({"forces.push.where": {"box": {"z": [0.0, 1.0]}}}, "forces.push.where.box.z", "there is no z"),
    ({f"{FLOOR}.fix": ["y"], f"{FLOOR}.motion": MOTION}, f"{FLOOR}.motion.displacement", "x, which is not among"),
    ({f"{FLOOR}.motion": {**MOTION, "velocity": [0.0, 1.0]}}, f"{FLOOR}.motion.velocity", "unknown key"),
    ({f"{FLOOR}.motion": {**MOTION, "angle": [0.0, 1.0]}}, f"{FLOOR}.motion", "both `angle` and `center`"),
    ({"forces.push.times": ...}, "forces.push", "together"),
    ({"forces.push.punch": {"center": [4.0, 3.0], "size": [1.0, 1.0]}}, "forces.push.punch.size", "1 entry in 2D"),
    ({"duration": 1e12}, "output.interval", "choose at least 1e+06"),
    ({"output": {"adaptive": ADAPTIVE}}, "output.adaptive.shortest", "choose at least 4e-07"),
    ({"laws.gel.shear": 1.0}, "laws.gel", "given: young, poisson, shear"),
    ({"laws.gel.poisson": ...}, "laws.gel", "exactly one pair"),
    ({"laws.gel": {"model": "elastic", "lame": -1.0, "shear": 1.0}}, "laws.gel", "must not be negative"),
    ({"laws.gel.viscosity": {"bulk": 1.0, "shear": -1.0}}, "laws.gel.viscosity.shear", "at least 0"),
]


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [*(({place: value}, place, words) for place, value, words in AT_ITS_PLACE), *ELSEWHERE],
)
def test_one_fault_at_its_place(changes: Data, place: str, words: str) -> None:
    found = faults(changes)
    assert list(found) == [place] and words in found[place]


def test_all_faults_are_listed_at_once_and_none_of_the_unchanged_scene() -> None:
    assert faults({}) == {}
    assert faults({"duration": 3.0, "output.interval": 3e-6}) == {}, "a million planned times are allowed"
    wrong = {"duration": -1.0, "bodies.block.law": "dogh", "laws.gel.poisson": 0.6, "probes.tip.at": [1.0]}
    with pytest.raises(InputFaults) as caught:
        scene_from_data(data(WHOLE, wrong))
    assert {fault.place for fault in caught.value.faults} == set(wrong)
    assert caught.value.exit_code == EXIT_BAD_INPUT and str(caught.value).startswith("scene: 4 faults\n")
    # a faulty table still shows what it refers to
    where = {"supports.floor.where": {"side": "botom"}, "supports.floor.body": "blok"}
    found = faults({"bodies.block.mass": -3, "bodies.block.law": "dogh", **where})
    assert set(found) == {"bodies.block.mass", "bodies.block.law", "supports.floor.where.side", "supports.floor.body"}
    # and so does a scene of an unreadable dimension
    found = faults({"dimension": 4, "bodies.block.law": "dogh"})
    assert set(found) == {"dimension", "bodies.block.law"} and "use 1, 2 or 3" in found["dimension"]


@pytest.mark.parametrize(("name", "value"), [("plane", "strain"), ("thickness", 1.0)])
def test_what_only_2d_has_is_refused_elsewhere_even_as_usual(name: str, value: Any) -> None:
    assert faults({"dimension": 3, name: value})[name] == "is for 2D scenes; this one is 3D, leave it out"


def test_round_tools_need_an_axis_in_3d_only() -> None:
    roller = {"shape": "cylinder", "center": [0.0, 0.0], "radius": 1.0, "axis": [0.0, 1.0, 0.0]}
    assert "in 2D the axis stands" in faults({"tools.bar": roller})["tools.bar.axis"]
    prism = {"shape": "prism", "sides": 5, "center": [0.0] * 3, "radius": 1}
    assert faults({"dimension": 3, "tools.bar": prism})["tools.bar.axis"].startswith("missing")


def places(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield f"{place}{key}"
            yield from places(entry, f"{place}{key}.")


ODD: list[Any] = [3, -1.5, "odd", True, [], [[1.0]], [{"x": 1}], {}, {"odd": {"odd": 1}}, date(2020, 1, 1)]


def test_no_odd_value_anywhere_gets_past_as_anything_but_faults() -> None:
    for place in places(data(WHOLE)):
        for value in ODD:
            assert all(where and said for where, said in faults({place: value}).items())
