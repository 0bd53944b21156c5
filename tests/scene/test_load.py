"""Files that are no scenes: one sentence each, naming the file and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.scene import load_scene, parse_scene


def sentence(path: Path) -> str:
    with pytest.raises(RheotwinError) as caught:
        load_scene(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "bar-press.toml").write_text("")
    assert "there is no such scene file (did you mean 'bar-press.toml'?)" in sentence(tmp_path / "bar-pres.toml")
    assert sentence(tmp_path / "nowhere" / "a.toml").endswith("there is no such scene file")


def test_a_folder(tmp_path: Path) -> None:
    assert "this is a folder; name the .toml file" in sentence(tmp_path)


def test_not_toml(tmp_path: Path) -> None:
    file = tmp_path / "scene.toml"
    file.write_text("schema = 1\ntitle = oops\n")
    message = sentence(file)
    assert message.startswith(f"{file}: not a TOML file: invalid value")
    assert "line 2, column 9" in message


def test_not_text(tmp_path: Path) -> None:
    file = tmp_path / "scene.toml"
    file.write_bytes(b"schema = 1\n\xff\xfe")
    assert "byte 11 is not UTF-8 text" in sentence(file)


def test_an_empty_file_lists_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "scene.toml"
    file.write_text("")
    with pytest.raises(InputFaults) as caught:
        load_scene(file)
    assert {fault.place for fault in caught.value.faults} == {
        "schema",
        "dimension",
        "duration",
        "laws",
        "bodies",
    }
    assert str(caught.value).startswith(f"{file}: 5 faults")


def test_a_missing_mesh_file_is_a_fault(tmp_path: Path, scene_text: str) -> None:
    block = 'shape = "box"\nsize = [8.0, 3.0]\ncells = [4, 2]'
    text = scene_text.replace(block, 'shape = "file"\npath = "part.msh"')
    with pytest.raises(InputFaults) as caught:
        parse_scene(text, base=tmp_path)
    [fault] = caught.value.faults
    assert fault.place == "bodies.block.path"
    assert str(tmp_path / "part.msh") in fault.message
    (tmp_path / "part.msh").write_text("")
    assert parse_scene(text, base=tmp_path).bodies["block"].shape == "file"
