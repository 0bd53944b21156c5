"""The contact of a scene: what each law takes, what a tool inherits, and tools that forces move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.scene import ContactSpec, Scene, ToolContactSpec, scene_from_data

Faults = Callable[[dict[str, Any]], dict[str, str]]
Scenes = Callable[[dict[str, Any]], Scene]

INTEGRATED = {"law": "integrated", "stiffness": 1e3, "damping": 20.0, "integral": 2e3, "region": 0.01}

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "stiffness missing": ({"law": "penalty"}, "contact.stiffness", "missing"),
    "integral missing": ({"law": "integrated", "stiffness": 1.0, "damping": 1.0}, "contact.integral", "missing"),
    "damping of zero cannot hold an integral": ({**INTEGRATED, "damping": 0.0}, "contact.damping", "missing"),
    "stiffness of the exact law": ({"stiffness": 1.0}, "contact.stiffness", "no meaning for the law 'exact'"),
    "region of a penalty": ({"law": "penalty", "stiffness": 1.0, "region": 0.1}, "contact.region", "integrated"),
    "restitution of a penalty": (
        {"law": "penalty", "stiffness": 1.0, "restitution": 0.5},
        "contact.restitution",
        "impulse",
    ),
    "restitution above one": ({"law": "impulse", "restitution": 1.2}, "contact.restitution", "at most 1"),
    "restitution below zero": ({"law": "impulse", "restitution": -0.1}, "contact.restitution", "at least 0"),
    "friction below zero": ({"friction": -0.3}, "contact.friction", "at least 0"),
    "static below kinetic": ({"friction": 0.3, "static_friction": 0.2}, "contact.static_friction", "at least"),
    "static without kinetic": ({"static_friction": 0.2}, "contact.static_friction", "without `friction`"),
    "regularised without a speed": ({"friction": 0.3, "friction_rule": "regularised"}, "contact.slip_speed", "missing"),
    "a speed for the exact rule": ({"friction": 0.3, "slip_speed": 1e-3}, "contact.slip_speed", "no meaning"),
    "offset without region": ({**INTEGRATED, "region": 0.0, "offset": True}, "contact.offset", "region"),
    "an unknown body": ({"self": ["blok"]}, "contact.self", "did you mean 'block'"),
    "edges in 2D": ({"edges": False}, "contact.edges", "3D only"),
    "an unknown law": ({"law": "penalti"}, "contact.law", "penalty"),
}


@pytest.mark.parametrize("name", WRONG)
def test_faults_of_the_contact_table(faults_of: Faults, name: str) -> None:
    table, place, words = WRONG[name]
    found = faults_of({"contact": table})
    assert set(found) == {place}
    assert words in found[place]


def test_every_fault_is_listed_at_once(faults_of: Faults) -> None:
    tool = {"law": "integrated", "restitution": 0.5}
    found = faults_of({"contact": {"law": "penalty", "region": 0.1}, "tools.bar.contact": tool})
    assert set(found) == {
        "contact.stiffness",
        "contact.region",
        *(f"tools.bar.contact.{key}" for key in ("stiffness", "damping", "integral", "restitution")),
    }


def test_a_tool_has_the_scenes_law_but_for_its_own_keys() -> None:
    scene = ContactSpec(law="penalty", stiffness=1e3, damping=2.0, friction=0.3, static_friction=0.4)
    assert scene.with_keys_of(None).contact_law() == scene.contact_law()
    stiffer = scene.with_keys_of(ToolContactSpec(stiffness=5e3)).contact_law()
    assert stiffer == ContactLaw("penalty", 5e3, 2.0, friction=0.3, static_friction=0.4)


def test_a_tool_with_another_law_keeps_only_what_that_law_takes() -> None:
    scene = ContactSpec(law="penalty", stiffness=1e3, friction=0.3, friction_rule="regularised", slip_speed=1e-3)
    bouncy = scene.with_keys_of(ToolContactSpec(law="impulse", restitution=0.8)).contact_law()
    expected = ContactLaw(
        "impulse", restitution=0.8, friction=0.3, static_friction=0.3, friction_rule="regularised", slip_speed=1e-3
    )
    assert bouncy == expected
    smooth = scene.with_keys_of(ToolContactSpec(friction=0.0)).contact_law()
    assert smooth == ContactLaw("penalty", 1e3)


def test_a_tools_friction_is_not_held_against_the_scenes_static_one(faults_of: Faults) -> None:
    both = {"contact": {"friction": 0.1, "static_friction": 0.2}, "tools.bar.contact": {"friction": 0.5}}
    assert faults_of(both) == {}


def test_static_friction_is_kinetic_friction_unless_given() -> None:
    assert ContactSpec(friction=0.3).contact_law().static_friction == 0.3


def test_numbers_become_si(scene_with: Scenes) -> None:
    table = {**INTEGRATED, "friction": 0.2, "friction_rule": "regularised", "slip_speed": 3.0}
    scene = scene_with({"contact": table, "units": {"length": "mm", "force": "N", "time": "ms"}})
    law = scene.contact.contact_law() if scene.contact is not None else None
    expected = ContactLaw("integrated", 1e6, 20.0, 2e9, 1e-5, False, 0.0, 0.2, 0.2, "regularised", 3.0)
    assert law is not None
    for name in ("stiffness", "damping", "integral", "region", "slip_speed"):
        assert getattr(law, name) == pytest.approx(getattr(expected, name), rel=1e-12), name


def test_a_scene_with_contact_reads_back(scene_with: Scenes) -> None:
    drive = {"mass": 2.0, "free": ["y"], "force": [[0.0, -1.0]]}
    motion = {"times": [0.0], "velocity": [[0.1, 0.0]], "angular_velocity": [2.0]}
    scene = scene_with(
        {
            "contact": {**INTEGRATED, "self": True},
            "tools.bar.drive": drive,
            "tools.bar.motion": motion,
            "tools.bar.contact": {"friction": 0.4},
            "tools.block": {"shape": "box", "center": [9.0, 9.0], "size": [1.0, 1.0]},
            "tools.wedge": {"shape": "mesh", "center": [9.0, 9.0], "points": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]},
        }
    )
    assert scene.contact is not None
    assert scene.contact.bodies is True
    assert scene_from_data(scene.model_dump(mode="json")) == scene


MOVED: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing moves": ({"motion": {"times": [0.0]}}, "tools.bar.motion", "at least one of"),
    "two ways": (
        {"motion": {"times": [0.0], "velocity": [[0.0, 1.0]], "displacement": [[0.0, 0.0]]}},
        "tools.bar.motion",
        "only one of displacement and velocity",
    ),
    "eased velocities": (
        {"motion": {"times": [0.0], "velocity": [[0.0, 1.0]], "interpolation": "smooth"}},
        "tools.bar.motion",
        "interpolation",
    ),
    "velocity without time": (
        {"motion": {"times": [0.0, 1.0], "velocity": [[0.0, 1.0]]}},
        "tools.bar.motion.velocity",
        "one for each time",
    ),
    "mass missing": ({"drive": {"free": ["y"]}}, "tools.bar.drive.mass", "missing"),
    "no such direction": ({"drive": {"mass": 1.0, "free": ["z"]}}, "tools.bar.drive.free", "no z in a 2D scene"),
    "angle without inertia": (
        {"drive": {"mass": 1.0, "free": ["x", "angle"]}},
        "tools.bar.drive.moment_of_inertia",
        "missing",
    ),
    "pushed where it is held": (
        {"drive": {"mass": 1.0, "free": ["y"], "force": [[1.0, 0.0]]}},
        "tools.bar.drive.force",
        "along x",
    ),
    "several forces without times": (
        {"drive": {"mass": 1.0, "force": [[0.0, 1.0], [0.0, 2.0]]}},
        "tools.bar.drive.force",
        "times",
    ),
    "moved twice": (
        {"drive": {"mass": 1.0, "free": ["y"]}, "motion": {"times": [0.0], "velocity": [[1.0, 1.0]]}},
        "tools.bar.motion",
        "moves y",
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_faults_of_moving_tools(faults_of: Faults, name: str) -> None:
    change, place, words = MOVED[name]
    without = {"tools.bar.motion": ...} if "motion" not in change else {}
    found = faults_of({**without, **{f"tools.bar.{key}": value for key, value in change.items()}})
    assert set(found) == {place}
    assert words in found[place]


def test_contact_of_bodies_needs_surfaces(faults_of: Faults) -> None:
    line = {
        "dimension": 1,
        "bodies.block": {"shape": "box", "size": [8.0], "cells": [4], "law": "dough", "mass": 1.0},
        "supports": {},
        "tools": {},
        "forces": {},
        "probes": {},
        "contact": {"bodies": True, "self": True, "friction": 0.1},
    }
    assert set(faults_of(line)) == {"contact.bodies", "contact.self", "contact.friction"}


SOLIDS: dict[str, tuple[dict[str, Any], str]] = {
    "a file in 2D": ({"shape": "mesh", "path": "a.stl"}, "points"),
    "both": ({"shape": "mesh", "path": "a.stl", "points": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]}, "path"),
    "an axis in 2D": ({"shape": "box", "size": [1.0, 1.0], "axis": "x"}, "axis"),
    "three sizes in 2D": ({"shape": "box", "size": [1.0, 1.0, 1.0]}, "size"),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_faults_of_blocks_and_surfaces(faults_of: Faults, name: str) -> None:
    tool, key = SOLIDS[name]
    found = faults_of({"tools.it": {"center": [0.0, 9.0], **tool}})
    assert f"tools.it.{key}" in found


def test_a_missing_surface_file_is_named(data: dict[str, Any], tmp_path: Any) -> None:
    from rheotwin.errors import InputFaults

    solid = {
        "dimension": 3,
        "bodies": {"block": {"shape": "box", "size": [1.0] * 3, "cells": [1] * 3, "law": "dough", "mass": 1.0}},
        "tools": {"it": {"shape": "mesh", "center": [0.0, 0.0, 9.0], "path": "nowhere.stl"}},
    }
    scene = {**{key: data[key] for key in ("schema", "duration", "laws")}, **solid}
    with pytest.raises(InputFaults, match=r"tools\.it\.path.*nowhere\.stl"):
        scene_from_data(scene, base=tmp_path)


def test_a_punch_has_one_size_less_than_the_scene_has_dimensions(faults_of: Faults) -> None:
    found = faults_of({"forces.push.punch": {"center": [4.0, 3.0], "size": [1.0, 1.0]}})
    assert found == {"forces.push.punch.size": "needs 1 entry in 2D"}
