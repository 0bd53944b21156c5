"""Every kind of bad input is one fault, at its place, with what is allowed and the nearest name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest

from rheotwin.errors import EXIT_BAD_INPUT, InputFaults
from rheotwin.scene import scene_from_data

Faults = Callable[[dict[str, Any]], dict[str, str]]
MOTION = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [1.0, 0.0]]}

ONE_FAULT: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown key": ({"laws.gel.viscosty": 1.0}, "laws.gel.viscosty", "did you mean 'viscosity'?"),
    "unknown key at the top": ({"durration": 1.0}, "durration", "did you mean 'duration'?"),
    "unknown key in a selection": ({"supports.floor.where.sid": "top"}, "supports.floor.where.sid", "'side'"),
    "missing key": ({"duration": ...}, "duration", "missing (How long is simulated)"),
    "missing key of a law": ({"laws.gel.viscosity": ...}, "laws.gel.viscosity", "missing"),
    "missing schema": ({"schema": ...}, "schema", "missing"),
    "newer schema": ({"schema": 2}, "schema", "2 is not allowed; use 1"),
    "text for a number": ({"laws.gel.young": "300"}, "laws.gel.young", "must be a number, not '300'"),
    "truth for a number": ({"duration": True}, "duration", "must be a number, not true"),
    "number for text": ({"bodies.block.law": 3}, "bodies.block.law", "must be text in quotes, not 3"),
    "fraction for a count": (
        {"bodies.block.cells": [4, 2.5]},
        "bodies.block.cells.1",
        "must be a whole number",
    ),
    "number for a table": ({"bodies.block": 3}, "bodies.block", "must be a table, not 3"),
    "number for a list": ({"tools.bar.center": 3.0}, "tools.bar.center", "must be a list [..], not 3.0"),
    "not a number": ({"laws.gel.young": math.nan}, "laws.gel.young", "must be a finite number"),
    "infinite": ({"duration": math.inf}, "duration", "must be a finite number"),
    "negative mass": ({"bodies.block.mass": -3}, "bodies.block.mass", "must be greater than 0, got -3"),
    "zero mass": ({"bodies.block.mass": 0.0}, "bodies.block.mass", "must be greater than 0"),
    "zero density": (
        {"bodies.block.mass": ..., "bodies.block.density": 0.0},
        "bodies.block.density",
        "must be greater than 0",
    ),
    "zero size": ({"bodies.block.size": [0.0, 3.0]}, "bodies.block.size.0", "must be greater than 0"),
    "negative size": ({"bodies.block.size": [8.0, -3.0]}, "bodies.block.size.1", "must be greater than 0"),
    "no cells": ({"bodies.block.cells": [0, 2]}, "bodies.block.cells.0", "must be at least 1, got 0"),
    "beyond incompressible": ({"laws.gel.poisson": 0.7}, "laws.gel.poisson", "at most 0.5"),
    "too auxetic": ({"laws.gel.poisson": -1.0}, "laws.gel.poisson", "more than -1"),
    "both mass and density": ({"bodies.block.density": 1.0}, "bodies.block", "both are given"),
    "neither mass nor density": ({"bodies.block.mass": ...}, "bodies.block", "neither is given"),
    "times repeat": ({"tools.bar.motion.times": [0.0, 1.0, 1.0]}, "tools.bar.motion.times", "entry 3 is 1.0"),
    "times fall": ({"tools.bar.motion.times": [0.0, 2.0, 1.0]}, "tools.bar.motion.times", "must increase"),
    "negative time": (
        {"tools.bar.motion.times": [-1.0, 1.0, 2.0]},
        "tools.bar.motion.times.0",
        "must be at least 0, got -1.0",
    ),
    "too few displacements": (
        {"tools.bar.motion.displacement": [[0.0, 0.0]]},
        "tools.bar.motion.displacement",
        "has 1 entries but `times` has 3",
    ),
    "too many angles": ({"tools.bar.motion.angle": [0.0] * 4}, "tools.bar.motion.angle", "4 entries"),
    "wrong displacement components": (
        {"tools.bar.motion.displacement": [[0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0]]},
        "tools.bar.motion.displacement.1",
        "needs 2 component(s) in a 2D scene, has 3",
    ),
    "wrong gravity": ({"gravity": [0.0, 0.0, -9.81]}, "gravity", "needs 2 component(s)"),
    "wrong size": ({"bodies.block.size": [8.0]}, "bodies.block.size", "needs 2 component(s)"),
    "zero duration": ({"duration": 0.0}, "duration", "must be greater than 0"),
    "negative duration": ({"duration": -1.0}, "duration", "must be greater than 0"),
    "no such law": ({"bodies.block.law": "dogh"}, "bodies.block.law", "did you mean 'dough'?"),
    "no such body": ({"supports.floor.body": "blok"}, "supports.floor.body", "did you mean 'block'?"),
    "no such body of a tool": (
        {"tools.bar.bodies": ["brick"]},
        "tools.bar.bodies",
        "no body is named 'brick'",
    ),
    "no such law in a case": (
        {"cases.elastic.laws": {"block": "jelly"}},
        "cases.elastic.laws.block",
        "no law is named 'jelly'",
    ),
    "no such body in a case": (
        {"cases.elastic.laws": {"blick": "gel"}},
        "cases.elastic.laws.blick",
        "did you mean 'block'?",
    ),
    "no such chosen case": ({"case": "elastisch"}, "case", "did you mean 'elastic'?"),
    "no bodies": (
        {"bodies": {}, "supports": {}, "tools": {}, "forces": {}, "probes": {}, "cases": {}},
        "bodies",
        "needs at least 1 entry, has 0",
    ),
    "no such shape": ({"bodies.block.shape": "bx"}, "bodies.block.shape", "did you mean 'box'?"),
    "no shape": ({"bodies.block.shape": ...}, "bodies.block.shape", "use box, grid, cylinder"),
    "no such law model": ({"laws.gel.model": "voight"}, "laws.gel.model", "did you mean 'voigt'?"),
    "cell of another dimension": (
        {"bodies.block.cell": "tet"},
        "bodies.block.cell",
        "use triangle or quad",
    ),
    "pattern of another cell": ({"bodies.block.pattern": "five"}, "bodies.block.pattern", "use se-nw"),
    "pattern without split": (
        {"bodies.block.cell": "quad", "bodies.block.pattern": "se-nw"},
        "bodies.block.pattern",
        "leave it out",
    ),
    "cylinder in 2D": (
        {
            "bodies.block": {
                "shape": "cylinder",
                "radius": 1.0,
                "height": 1.0,
                "cells": [4, 4],
                "law": "gel",
                "mass": 1.0,
            }
        },
        "bodies.block.shape",
        "needs a 3D scene",
    ),
    "cut as large as the whole": (
        {"bodies.block.shape": "l-shape", "bodies.block.cut": [8.0, 1.0]},
        "bodies.block.cut",
        "must be smaller than the whole",
    ),
    "turned about an axis in 2D": (
        {"bodies.block.rotation": {"axis": [0.0, 0.0, 1.0], "angle": 1.0}},
        "bodies.block.rotation",
        "an axis is for 3D",
    ),
    "text for a turn": ({"bodies.block.rotation": "left"}, "bodies.block.rotation", "must be a number"),
    "axis without angle": (
        {"bodies.block.rotation": {"axis": [0.0, 0.0, 1.0]}},
        "bodies.block.rotation.angle",
        "missing",
    ),
    "no such unit": ({"units.length": "ft"}, "units.length", "use m, cm, mm, um, km or in"),
    "no such kind of unit": ({"units.lenght": "m"}, "units.lenght", "did you mean 'length'?"),
    "no such field": ({"output.fields": ["strss"]}, "output.fields.0", "did you mean 'stress'?"),
    "interval beyond the end": ({"output.interval": 4.0}, "output.interval", "longer than the whole run"),
    "frame beyond the end": (
        {"output.interval": ..., "output.times": [0.0, 3.5]},
        "output.times",
        "after the end of the run",
    ),
    "two rhythms": ({"output.times": [0.0, 1.0]}, "output", "given: interval, times"),
    "no such side": ({"supports.floor.where": {"side": "under"}}, "supports.floor.where.side", "bottom"),
    "side of another dimension": (
        {"supports.floor.where": {"side": "front"}},
        "supports.floor.where.side",
        "does not exist in 2D",
    ),
    "two selections": (
        {"supports.floor.where": {"side": "top", "nearest": [0.0, 0.0]}},
        "supports.floor.where",
        "given: side, nearest",
    ),
    "no selection": ({"supports.floor.where": {}}, "supports.floor.where", "given: none"),
    "region of a shape": (
        {"supports.floor.where": {"region": "skin"}},
        "supports.floor.where.region",
        "only bodies from mesh files",
    ),
    "range upside down": (
        {"forces.push.where": {"box": {"x": [4.0, 0.0]}}},
        "forces.push.where.box",
        "put the smaller first",
    ),
    "axis of another dimension": (
        {"forces.push.where": {"box": {"z": [0.0, 1.0]}}},
        "forces.push.where.box.z",
        "there is no z",
    ),
    "held in no dimension": ({"supports.floor.fix": ["z"]}, "supports.floor.fix", "there is no z"),
    "driven but not held": (
        {"supports.floor.fix": ["y"], "supports.floor.motion": MOTION},
        "supports.floor.motion.displacement",
        "moves x, which is not among the held components",
    ),
    "turning support": (
        {"supports.floor.motion": {**MOTION, "angle": [0.0, 1.0]}},
        "supports.floor.motion.angle",
        "unknown key",
    ),
    "no direction": ({"tools.bar.normal": [0.0, 0.0]}, "tools.bar.normal", "all zero"),
    "two widths in 2D": ({"tools.bar.width": [1.0, 1.0]}, "tools.bar.width", "one width"),
    "factor without times": ({"forces.push.times": ...}, "forces.push", "together"),
    "factor too short": ({"forces.push.factor": [1.0]}, "forces.push.factor", "1 entries but `times` has 2"),
    "thickness in 3D only": ({"section": 2.0}, "section", "is for 1D scenes"),
    "bad name": ({"probes.a b": {"body": "block", "at": [0.0, 0.0]}}, "probes.a b", "cannot be a name"),
    "truth for a dimension": ({"dimension": True}, "dimension", "must be a whole number, not true"),
    "fraction for a dimension": ({"dimension": 2.0}, "dimension", "must be a whole number, not 2.0"),
    "truth for the schema": ({"schema": True}, "schema", "must be a whole number, not true"),
    "the usual section in 2D": ({"section": 1.0}, "section", "is for 1D scenes; this one is 2D, leave it out"),
    "no fields": ({"output.fields": []}, "output.fields", "needs at least 1 entry, has 0"),
    "a field twice": (
        {"output.fields": ["stress", "velocity", "stress"]},
        "output.fields",
        "'stress' is named twice; name it once",
    ),
    "too many frames": (
        {"output.interval": 1e-9},
        "output.interval",
        "1e-09 plans 3e+09 times in this run (duration = 3.0), more than 1000000; choose at least 3e-06",
    ),
    "too long a run for its frames": ({"duration": 1e12}, "output.interval", "choose at least 1e+06"),
    "too many rows": ({"output.probe_interval": 1e-300}, "output.probe_interval", "choose at least 3e-06"),
    "too many checkpoints": ({"output.checkpoint_interval": 1e-9}, "output.checkpoint_interval", "at least 3e-06"),
    "too many adaptive frames": (
        {"output": {"adaptive": {"shortest": 1e-9, "longest": 1.0, "change": 1.0}}},
        "output.adaptive.shortest",
        "choose at least 3e-06",
    ),
    "a bar without width": ({"tools.bar.width": ...}, "tools.bar.width", "missing (extent of the working face)"),
    "three constants": ({"laws.gel.shear": 1.0}, "laws.gel", "given: young, poisson, shear"),
    "no poisson": ({"laws.gel.poisson": ...}, "laws.gel", "exactly one pair"),
    "negative bulk": (
        {"laws.gel.young": ..., "laws.gel.poisson": ..., "laws.gel.lame": -1.0, "laws.gel.shear": 1.0},
        "laws.gel",
        "must not be negative",
    ),
    "series dashpot without resistance": (
        {"laws.dough.series_viscosity": 0.0},
        "laws.dough.series_viscosity",
        "greater than 0",
    ),
    "negative viscosity in a table": (
        {"laws.gel.viscosity": {"bulk": 1.0, "shear": -1.0}},
        "laws.gel.viscosity.shear",
        "at least 0",
    ),
}


@pytest.mark.parametrize("name", ONE_FAULT)
def test_one_fault_at_its_place(name: str, faults_of: Faults) -> None:
    changes, place, words = ONE_FAULT[name]
    found = faults_of(changes)
    assert list(found) == [place]
    assert words in found[place]


def test_the_unchanged_scene_has_no_fault(faults_of: Faults) -> None:
    assert faults_of({}) == {}


def test_all_faults_are_listed_at_once(edited: Callable[..., dict[str, Any]]) -> None:
    changes = {"duration": -1.0, "bodies.block.law": "dogh", "laws.gel.poisson": 0.6, "probes.mid.at": [1.0]}
    with pytest.raises(InputFaults) as caught:
        scene_from_data(edited(changes))
    assert {fault.place for fault in caught.value.faults} == {
        "duration",
        "bodies.block.law",
        "laws.gel.poisson",
        "probes.mid.at",
    }
    assert caught.value.exit_code == EXIT_BAD_INPUT
    assert str(caught.value).startswith("scene: 4 faults\n")


@pytest.mark.parametrize(("name", "value"), [("plane", "strain"), ("thickness", 1.0)])
def test_what_only_2d_has_is_refused_elsewhere_even_as_usual(faults_of: Faults, name: str, value: Any) -> None:
    assert faults_of({"dimension": 3, name: value})[name] == "is for 2D scenes; this one is 3D, leave it out"


def test_a_million_planned_times_are_allowed(faults_of: Faults) -> None:
    assert faults_of({"output.interval": 3e-6}) == {}


def test_a_faulty_table_still_shows_what_it_refers_to(faults_of: Faults) -> None:
    changes = {
        "bodies.block.mass": -3,
        "bodies.block.law": "dogh",
        "supports.floor.where": {"side": "botom"},
        "supports.floor.body": "blok",
    }
    assert set(faults_of(changes)) == {
        "bodies.block.mass",
        "bodies.block.law",
        "supports.floor.where.side",
        "supports.floor.body",
    }


def test_an_unreadable_dimension_still_shows_other_faults(faults_of: Faults) -> None:
    found = faults_of({"dimension": 4, "bodies.block.law": "dogh"})
    assert set(found) == {"dimension", "bodies.block.law"}
    assert "use 1, 2 or 3" in found["dimension"]


def test_round_tools_need_an_axis_in_3d_only(faults_of: Faults) -> None:
    roller = {"shape": "cylinder", "center": [0.0, 0.0], "radius": 1.0, "axis": [0.0, 1.0, 0.0]}
    assert "in 2D the axis stands" in faults_of({"tools.bar": roller})["tools.bar.axis"]
    found = faults_of({"dimension": 3, "tools.bar": {"shape": "prism", "sides": 5, "center": [0.0] * 3, "radius": 1}})
    assert found["tools.bar.axis"].startswith("missing")


def places(value: Any, place: str = "") -> Iterator[str]:
    """Yield the dotted place of every table and entry of a scene."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield f"{place}{key}"
            yield from places(entry, f"{place}{key}.")


ODD: list[Any] = [3, -1.5, "odd", True, [], [[1.0]], [{"x": 1}], {}, {"odd": {"odd": 1}}, date(2020, 1, 1)]


def test_no_odd_value_anywhere_gets_past_as_anything_but_faults(
    data: dict[str, Any], edited: Callable[..., dict[str, Any]]
) -> None:
    for place in places(data):
        for value in ODD:
            try:
                scene_from_data(edited({place: value}))
            except InputFaults as error:
                assert all(fault.place and fault.message for fault in error.faults)
