"""The contact of a scene: what each law takes, what a tool inherits, tools that forces move; and the page about it."""

import re
from pathlib import Path

import pytest

from rheotwin.build import build_problem
from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.tools import BOX, CYLINDER
from rheotwin.errors import InputFaults
from rheotwin.scene import ContactSpec, DriveSpec, MeshTool, ToolContactSpec, ToolMotion, parse_scene, scene_from_data
from rheotwin.scene.base import SceneModel
from rheotwin.scene.boundary import PunchSpec
from rheotwin.solver import ALL_CONTACT
from rheotwin.validation.checks.running import ELASTIC, box_scene
from tests.conftest import TWIN, Data, data, toml
from tests.scene.conftest import ROD, faults, whole

PAGE = (Path(__file__).parents[2] / "docs" / "contact.md").read_text()
INTEGRATED = {"law": "integrated", "stiffness": 1e3, "damping": 20.0, "integral": 2e3, "region": 0.01}
PENALTY = {"law": "penalty", "stiffness": 1.0}


@pytest.mark.parametrize(
    ("table", "key", "words"),
    [
        ({"law": "penalty"}, "stiffness", "missing"),
        ({"law": "integrated", "stiffness": 1.0, "damping": 1.0}, "integral", "missing"),
        ({**INTEGRATED, "damping": 0.0}, "damping", "missing"),  # zero cannot hold an integral
        ({"stiffness": 1.0}, "stiffness", "no meaning for the law 'exact'"),
        ({**PENALTY, "region": 0.1}, "region", "integrated"),
        ({**PENALTY, "restitution": 0.5}, "restitution", "impulse"),
        ({"law": "impulse", "restitution": 1.2}, "restitution", "at most 1"),
        ({"law": "impulse", "restitution": -0.1}, "restitution", "at least 0"),
        ({"friction": -0.3}, "friction", "at least 0"),
        ({"friction": 0.3, "static_friction": 0.2}, "static_friction", "at least"),
        ({"static_friction": 0.2}, "static_friction", "without `friction`"),
        ({"friction": 0.3, "friction_rule": "regularised"}, "slip_speed", "missing"),
        ({"friction": 0.3, "slip_speed": 1e-3}, "slip_speed", "no meaning"),
        ({**INTEGRATED, "region": 0.0, "offset": True}, "offset", "region"),
        ({"self": ["blok"]}, "self", "did you mean 'block'"),
        ({"edges": False}, "edges", "3D only"),
        ({"law": "penalti"}, "law", "penalty"),
    ],
)
def test_faults_of_the_contact_table(table: Data, key: str, words: str) -> None:
    found = faults({"contact": table})
    assert set(found) == {f"contact.{key}"} and words in found[f"contact.{key}"]


def test_every_fault_is_listed_missing_files_and_lines_without_surfaces(tmp_path: Path) -> None:
    tool = {"law": "integrated", "restitution": 0.5}
    found = faults({"contact": {"law": "penalty", "region": 0.1}, "tools.bar.contact": tool})
    own = {f"tools.bar.contact.{key}" for key in ("stiffness", "damping", "integral", "restitution")}
    assert set(found) == {"contact.stiffness", "contact.region", *own}
    line = {"contact": {"bodies": True, "self": True, "friction": 0.1}}
    assert set(faults(ROD | line)) == {"contact.bodies", "contact.self", "contact.friction"}
    tools = {"it": {"shape": "mesh", "center": [0.0, 0.0, 9.0], "path": "nowhere.stl"}}
    with pytest.raises(InputFaults, match=r"tools\.it\.path.*nowhere\.stl"):
        scene_from_data(box_scene(ELASTIC, cells=[1, 1, 1]) | {"tools": tools}, base=tmp_path)


def test_a_tool_has_the_scenes_law_but_for_its_own_keys() -> None:
    scene = ContactSpec(law="penalty", stiffness=1e3, damping=2.0, friction=0.3, static_friction=0.4)
    assert scene.with_keys_of(None).contact_law() == scene.contact_law()
    stiffer = scene.with_keys_of(ToolContactSpec(stiffness=5e3)).contact_law()
    assert stiffer == ContactLaw("penalty", 5e3, 2.0, friction=0.3, static_friction=0.4)
    rule = {"friction_rule": "regularised", "slip_speed": 1e-3}
    scene = ContactSpec(law="penalty", stiffness=1e3, friction=0.3, **rule)
    bouncy = scene.with_keys_of(ToolContactSpec(law="impulse", restitution=0.8)).contact_law()
    assert bouncy == ContactLaw("impulse", restitution=0.8, friction=0.3, static_friction=0.3, **rule)
    assert scene.with_keys_of(ToolContactSpec(friction=0.0)).contact_law() == ContactLaw("penalty", 1e3)
    assert ContactSpec(friction=0.3).contact_law().static_friction == 0.3
    # that of a tool is not held against the scene's static one
    both = {"contact": {"friction": 0.1, "static_friction": 0.2}, "tools.bar.contact": {"friction": 0.5}}
    assert faults(both) == {}


def test_numbers_become_si_and_a_scene_reads_back() -> None:
    table = {**INTEGRATED, "friction": 0.2, "friction_rule": "regularised", "slip_speed": "3 mm/ms"}
    units = {"length": "mm", "force": "N", "time": "ms", "pressure": "Pa", "density": "kg/m3"}
    scene = whole({"contact": table, "units": units, "gravity": []})
    assert scene.contact is not None
    law = scene.contact.contact_law()
    assert (law.stiffness, law.damping, law.integral) == pytest.approx((1e6, 20.0, 2e9), rel=1e-12)
    assert (law.region, law.slip_speed) == pytest.approx((1e-5, 3.0), rel=1e-12)
    scene = whole(
        {
            "contact": {**INTEGRATED, "self": True},
            "tools.bar.drive": {"mass": 2.0, "free": ["y"], "force": [[0.0, -1.0]]},
            "tools.bar.motion": {"times": [0.0], "velocity": [[0.1, 0.0]], "angular_velocity": [2.0]},
            "tools.bar.contact": {"friction": 0.4},
            "tools.block": {"shape": "box", "center": [9.0, 9.0], "size": [1.0, 1.0]},
            "tools.wedge": {"shape": "mesh", "center": [9.0, 9.0], "points": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]},
        }
    )
    assert scene.contact is not None and scene.contact.bodies is True
    assert scene_from_data(scene.model_dump(mode="json")) == scene


FAST = {"times": [0.0], "velocity": [[0.0, 1.0]]}


@pytest.mark.parametrize(
    ("bar", "key", "words"),
    [
        ({"motion": {"times": [0.0]}}, "motion", "at least one of"),
        ({"motion": FAST | {"displacement": [[0.0, 0.0]]}}, "motion", "only one of displacement and velocity"),
        ({"motion": FAST | {"interpolation": "smooth"}}, "motion", "interpolation"),
        ({"motion": FAST | {"times": [0.0, 1.0]}}, "motion.velocity", "one for each time"),
        ({"drive": {"free": ["y"]}}, "drive.mass", "missing"),
        ({"drive": {"mass": 1.0, "free": ["z"]}}, "drive.free", "no z in a 2D scene"),
        ({"drive": {"mass": 1.0, "free": ["x", "angle"]}}, "drive.moment_of_inertia", "missing"),
        ({"drive": {"mass": 1.0, "free": ["y"], "force": [[1.0, 0.0]]}}, "drive.force", "along x"),
        ({"drive": {"mass": 1.0, "force": [[0.0, 1.0], [0.0, 2.0]]}}, "drive.force", "times"),
        ({"drive": {"mass": 1.0, "free": ["y"]}, "motion": FAST}, "motion", "moves y"),
    ],
)
def test_faults_of_moving_tools(bar: Data, key: str, words: str) -> None:
    found = faults({"tools.bar.motion": ...} | {f"tools.bar.{name}": table for name, table in bar.items()})
    assert set(found) == {f"tools.bar.{key}"} and words in found[f"tools.bar.{key}"]


@pytest.mark.parametrize(
    ("tool", "key"),
    [
        ({"shape": "mesh", "path": "a.stl"}, "points"),
        ({"shape": "mesh", "path": "a.stl", "points": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]}, "path"),
        ({"shape": "box", "size": [1.0, 1.0], "axis": "x"}, "axis"),
        ({"shape": "box", "size": [1.0, 1.0, 1.0]}, "size"),
    ],
)
def test_faults_of_blocks_and_surfaces(tool: Data, key: str) -> None:
    assert f"tools.it.{key}" in faults({"tools.it": {"center": [0.0, 9.0], **tool}})


def test_the_examples_of_the_page_are_one_scene() -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    base = data({"duration": 2.0, "gravity": [0.0, -9.81], "supports": ..., "tools": ..., "probes": ..., "output": ...})
    base["bodies"] = {"dough": TWIN | {"origin": [0.5, 0.0]}, **base["bodies"]}
    problem = build_problem(
        parse_scene("\n".join([*(f"{k} = {toml(v)}" for k, v in base.items()), *blocks]), base=Path())
    )
    contact = problem.contact
    assert contact is not None
    law = contact.law
    assert (law.law, law.friction, contact.bodies, contact.self_bodies) == ("integrated", 0.3, True, (0,))
    tools = {tool.name: (tool, law) for tool, law in zip(problem.tools, contact.tool_laws, strict=True)}
    brick, roller = tools["brick"], tools["roller"]
    assert (brick[0].shape, roller[0].shape) == (BOX, CYLINDER) and roller[1].friction == 0.8
    assert brick[0].drive is not None and roller[0].motion.at(2.0)[3] == pytest.approx(20.0)
    assert problem.loads[0].shares[:, 1].sum() == pytest.approx(-20.0)


def test_the_page_names_every_key_and_word() -> None:
    common = {"shape", "bodies", "motion", "drive", "contact", "interpolation", "expression", "sine", "ramp", "unit"}
    tables: tuple[type[SceneModel], ...] = (ContactSpec, DriveSpec, ToolMotion, MeshTool, PunchSpec)
    for table in tables:
        for name, field in table.model_fields.items():
            if table is ContactSpec or name not in common:
                assert re.search(rf"\b{field.alias or name}\b", PAGE), name
    for word in ALL_CONTACT:
        assert word in PAGE, word
