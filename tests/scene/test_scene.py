"""The scene as a value: cases, dumps, defaults that depend on other entries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rheotwin.errors import RheotwinError
from rheotwin.fields import DEFAULT_FIELDS
from rheotwin.materials import ThreeElement, Voigt
from rheotwin.scene import Scene, load_scene, parse_scene, scene_from_data

ScenesFrom = Callable[[dict[str, Any]], Scene]


def test_a_dump_is_the_same_scene(scene_text: str) -> None:
    scene = parse_scene(scene_text, base=Path("folder"))
    dump = json.loads(json.dumps(scene.model_dump(mode="json")))
    again = Scene.model_validate(dump)
    assert again == scene
    assert again.model_dump(mode="json") == dump
    assert dump["schema"] == 1


def test_a_dump_of_a_case_keeps_the_case(scene_with: ScenesFrom) -> None:
    chosen = scene_with({}).with_case("elastic")
    again = Scene.model_validate(chosen.model_dump(mode="json"))
    assert again == chosen
    assert (again.case, again.bodies["block"].law) == ("elastic", "gel")


def test_a_dump_leaves_out_what_other_dimensions_have(scene_with: ScenesFrom) -> None:
    assert {"plane", "thickness"} <= set(scene_with({}).model_dump())
    assert "section" not in scene_with({}).model_dump()
    rod = {"shape": "box", "size": [1.0], "cells": [1], "law": "gel", "mass": 1.0}
    bar = {"shape": "bar", "center": [1.0], "normal": [-1.0]}
    bare: dict[str, Any] = {"supports": {}, "forces": {}, "probes": {}, "bodies.block": rod, "tools": {"bar": bar}}
    line = scene_with({**bare, "dimension": 1, "section": 0.25})
    assert {"plane", "thickness"}.isdisjoint(line.model_dump())
    assert Scene.model_validate(line.model_dump(mode="json")) == line
    assert line.tools["bar"].width is None, "in 1D a bar has no width"


def test_scenes_differ_when_a_number_differs(scene_with: ScenesFrom) -> None:
    assert scene_with({}) != scene_with({"duration": 3.0000001})


def test_a_scene_cannot_be_changed(scene_with: ScenesFrom) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        scene_with({}).duration = 1.0


def test_cases(scene_with: ScenesFrom) -> None:
    scene = scene_with({})
    assert scene.case_names == ("elastic", "rheological")
    assert isinstance(scene.law_for("block"), ThreeElement)
    assert isinstance(scene.law_for("block", "elastic"), Voigt)
    assert isinstance(scene.with_case("elastic").law_for("block"), Voigt)
    assert scene.bodies["block"].law == "dough"


def test_the_first_case_is_the_default(scene_with: ScenesFrom) -> None:
    scene = scene_with({})
    assert scene.with_case().case == "elastic"
    assert scene.with_case("rheological").with_case().case == "rheological"
    plain = scene_with({"cases": {}})
    assert plain.with_case() == plain


def test_a_case_named_in_the_file_is_chosen(scene_with: ScenesFrom) -> None:
    assert scene_with({"case": "elastic"}).bodies["block"].law == "gel"


def test_an_unknown_case(scene_with: ScenesFrom) -> None:
    with pytest.raises(RheotwinError, match=r"no case 'elastik' \(did you mean 'elastic'\?\); cases: elastic, rheo"):
        scene_with({}).with_case("elastik")


def test_defaults_that_depend_on_other_entries(scene_with: ScenesFrom) -> None:
    scene = scene_with({"output": ...})
    assert scene.gravity == (0.0, 0.0)
    assert scene.supports["floor"].fix == ("x", "y")
    assert scene.output.interval == pytest.approx(3.0 / 50)
    assert scene.output.fields == DEFAULT_FIELDS
    assert scene.plane == "strain"
    assert (scene.thickness, scene.section, scene.cross_section) == (1.0, 1.0, 1.0)


def test_cross_section_of_each_dimension(scene_with: ScenesFrom) -> None:
    assert scene_with({"thickness": 0.5}).cross_section == 0.5
    line = {"shape": "box", "size": [1.0], "cells": [2], "law": "gel", "mass": 1.0}
    bare: dict[str, Any] = {"supports": {}, "tools": {}, "forces": {}, "probes": {}}
    assert scene_with({**bare, "dimension": 1, "section": 0.25, "bodies.block": line}).cross_section == 0.25


def test_normals_have_length_one_and_stay_exact(scene_with: ScenesFrom) -> None:
    bar = scene_with({"tools.bar.normal": [3.0, -4.0]}).tools["bar"]
    assert bar.normal == (0.6, -0.8)  # type: ignore[union-attr]
    odd = scene_with({"tools.bar.normal": [1.0, 3.0]})
    assert Scene.model_validate(odd.model_dump(mode="json")) == odd


def test_model_validate_checks_across_tables(edited: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(ValidationError, match="no law is named"):
        Scene.model_validate(edited({"bodies.block.law": "dogh"}))


def test_a_scene_knows_where_its_mesh_files_are(tmp_path: Path, scene_text: str) -> None:
    file = tmp_path / "scene.toml"
    file.write_text(scene_text)
    scene = load_scene(file)
    assert scene.source == file
    assert scene.resolve("part.msh") == tmp_path / "part.msh"
    assert scene.with_case("elastic").resolve("part.msh") == tmp_path / "part.msh"
    assert str(tmp_path) not in json.dumps(scene.model_dump(mode="json"))


def test_solver_options_are_kept_as_written(edited: Callable[..., dict[str, Any]]) -> None:
    scene = scene_from_data(edited({"units.time": "ms", "solvers.truss": {"kernel": "edge", "n": [1, 2]}}))
    assert scene.solvers == {"fem": {"step": 0.01}, "truss": {"kernel": "edge", "n": [1, 2]}}
