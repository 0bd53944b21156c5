"""`solvers`, `schema`, `info` and `mesh`: for people as text, for machines as JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin.__main__ import build_parser
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_OK

Command = Callable[..., Any]
ROOT = Path(__file__).parents[2]


def test_solvers_lists_what_each_can_do(command: Command) -> None:
    said = command("solvers")
    assert said.code == EXIT_OK
    assert re.findall(r"^(\w+): ", said.out, flags=re.MULTILINE)[:2] == ["fem", "truss"]
    assert "  dimensions: 1, 2, 3\n" in said.out
    assert "  planes:     strain, stress\n" in said.out
    assert re.search(
        r"^  --set truss.step=…  step .* \(number above 0; may be left out\)$", said.out, flags=re.MULTILINE
    )
    assert re.search(
        r"^  --set truss.safety=…  .*\(number above 0 and at most 1; default: 0.5\)$", said.out, flags=re.MULTILINE
    )
    assert re.search(
        r"^  --set truss.local_volume=…  .*\(true or false; default: false\)$", said.out, flags=re.MULTILINE
    )
    assert re.search(
        r"^  --set fem.mass=…  mass matrix \(lumped, consistent; default: lumped\)$", said.out, flags=re.MULTILINE
    )


def test_solvers_as_json(command: Command) -> None:
    described = json.loads(command("solvers", "--json").out)
    assert list(described)[:2] == ["fem", "truss"]
    for name in ("fem", "truss"):
        about = described[name]
        assert about["dimensions"] == [1, 2, 3]
        assert {"elastic", "voigt", "maxwell", "three-element"} <= set(about["laws"])
        assert all(option["description"] and option["allowed"] for option in about["options"].values())
        assert about["description"]


def test_schema_is_a_json_schema_of_scenes(command: Command) -> None:
    said = command("schema")
    schema = json.loads(said.out)
    assert (said.code, said.err) == (EXIT_OK, "")
    assert {"laws", "bodies", "duration", "dimension"} <= set(schema["properties"])
    assert set(tomllib.loads((ROOT / "scenes/bar-press-2d.toml").read_text())) <= set(schema["properties"])


def test_info_describes_a_scene(command: Command, scene: Path) -> None:
    said = command("info", scene)
    assert said.code == EXIT_OK
    assert re.search(r"^title +a small press$", said.out, flags=re.MULTILINE)
    assert re.search(r"^bodies +block: box, law dough$", said.out, flags=re.MULTILINE)
    about = json.loads(command("info", scene, "--json").out)
    assert about["laws"] == {"dough": "three-element", "gel": "elastic"}
    assert about["tools"] == {"bar": "bar"}
    assert about["duration_s"] == 0.2


def test_info_describes_a_record(command: Command, scene: Path) -> None:
    command("run", scene, "--output", "run", "--quiet")
    said = command("info", "run")
    assert said.code == EXIT_OK
    assert re.search(r"^status +complete$", said.out, flags=re.MULTILINE)
    about = json.loads(command("info", "run", "--json").out)
    assert (about["solver"], about["frames"], about["nodes"], about["cells"]) == ("fem", 3, 15, 16)
    assert (about["steps"], about["step_s"], about["stable_step_s"]) == (100, 0.002, None)
    assert about["last_time_s"] == pytest.approx(0.2)
    assert about["fields"]["stress"] == "Pa"
    assert about["probes"]["tool.bar.force_y"] == "N"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere", "nowhere: there is no such record folder or scene file"),
        (".", "not a record (manifest.json is missing); give the folder of a record"),
    ],
)
def test_info_on_nothing(command: Command, path: str, words: str) -> None:
    said = command("info", path)
    assert said.code == EXIT_BAD_INPUT
    assert words in said.sentence


def test_mesh_reports_the_bodies_of_a_scene(command: Command, scene: Path) -> None:
    said = command("mesh", scene)
    assert said.code == EXIT_OK
    assert "16 triangle, 2D" in said.out
    (mesh,) = json.loads(command("mesh", scene, "--json").out)["meshes"]
    assert (mesh["name"], mesh["nodes"], mesh["elements"]) == ("block", 15, 16)
    assert command("mesh", scene, "--min-quality", "0.99").code == EXIT_FALLS_SHORT


def test_every_command_of_the_readme_is_one(command: Command) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    lines = [line.partition("#")[0].partition(">")[0] for block in blocks for line in block.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("rheotwin ")]
    assert {words[1] for words in commands} >= {"run", "compare", "info", "mesh", "solvers", "schema", "view"}
    for words in commands:
        args = build_parser().parse_args(words[1:])
        scene = getattr(args, "scene", None) or getattr(args, "source", None)
        assert scene is None or (ROOT / scene).is_file()


def test_a_reader_that_goes_away_is_no_error(scene: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "rheotwin", "schema"], stdout=gone, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.stderr == ""


def test_the_module_and_the_installed_script_are_the_same_command(scene: Path) -> None:
    script = Path(sys.executable).with_name("rheotwin")
    if not script.exists():
        pytest.skip("the console script is not installed beside this interpreter")
    results = [
        subprocess.run([*start, "info", str(scene), "--json"], capture_output=True, text=True, check=True).stdout
        for start in ([sys.executable, "-m", "rheotwin"], [str(script)])
    ]
    assert results[0] == results[1]
    assert json.loads(results[0])["dimension"] == 2
