"""The page about contact: its examples are one scene that can be built, and it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rheotwin.build import build_problem
from rheotwin.constraints.tools import BOX, CYLINDER
from rheotwin.scene import ContactSpec, DriveSpec, MeshTool, ToolMotion, parse_scene
from rheotwin.scene.base import SceneModel
from rheotwin.scene.boundary import PunchSpec
from rheotwin.solver import ALL_CONTACT

PAGE = (Path(__file__).parents[2] / "docs" / "contact.md").read_text()
BASE = """
schema = 1
dimension = 2
duration = 2.0
gravity = [0.0, -9.81]
[laws.soft]
model = "elastic"
young = 1.0e4
poisson = 0.3
[bodies.dough]
shape = "box"
size = [0.2, 0.1]
cells = [4, 2]
law = "soft"
density = 10.0
origin = [0.5, 0.0]
[bodies.block]
shape = "box"
size = [0.2, 0.1]
cells = [4, 2]
law = "soft"
density = 10.0
"""


def test_the_examples_are_one_scene() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    problem = build_problem(parse_scene(BASE + "\n".join(blocks), base=Path()))
    contact = problem.contact
    assert contact is not None
    assert (contact.law.law, contact.law.friction, contact.bodies, contact.self_bodies) == (
        "integrated",
        0.3,
        True,
        (0,),
    )
    tools = {tool.name: (tool, law) for tool, law in zip(problem.tools, contact.tool_laws, strict=True)}
    brick, roller = tools["brick"], tools["roller"]
    assert (brick[0].shape, roller[0].shape) == (BOX, CYLINDER)
    assert roller[1].friction == 0.8
    assert brick[0].drive is not None
    assert roller[0].motion.at(2.0)[3] == pytest.approx(20.0)
    assert problem.loads[0].shares[:, 1].sum() == pytest.approx(-20.0)


@pytest.mark.parametrize("table", [ContactSpec, DriveSpec, ToolMotion, MeshTool, PunchSpec])
def test_every_key_is_named(table: type[SceneModel]) -> None:
    common = {"shape", "bodies", "motion", "drive", "contact", "interpolation"} if table is not ContactSpec else set()
    for name, field in table.model_fields.items():
        if name not in common:
            assert re.search(rf"\b{field.alias or name}\b", PAGE), name


def test_every_word_of_a_solver_is_explained() -> None:
    for word in ALL_CONTACT:
        assert word in PAGE, word
