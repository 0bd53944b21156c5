"""The scene as a value: files, cases, dumps, defaults that depend on other entries; and the scenes we ship."""

import json
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.fields import DEFAULT_FIELDS
from rheotwin.materials import Maxwell, Moduli, ThreeElement, Voigt
from rheotwin.materials.linear import complex_modulus
from rheotwin.scene import BarTool, BoxBody, Scene, load_scene, parse_scene
from tests.conftest import Data, data, scene_with, write_scene
from tests.scene.conftest import ROD, WHOLE, whole

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.mark.parametrize(
    "changes",
    [{}, {"case": "elastic"}, ROD | {"section": 0.25}, {"tools.bar.normal": [1.0, 3.0]}],
    ids=["whole", "case", "line", "odd normal"],
)
def test_a_dump_is_the_same_scene(changes: Data) -> None:
    scene = whole(changes)
    dump = json.loads(json.dumps(scene.model_dump(mode="json")))
    again = Scene.model_validate(dump)
    assert again == scene != whole({**changes, "duration": 0.40000001})
    assert again.model_dump(mode="json") == dump and dump["schema"] == 1
    with pytest.raises(ValidationError, match="frozen"):
        scene.duration = 1.0


def test_cases() -> None:
    scene = whole()
    assert scene.case_names == ("elastic", "rheological") and isinstance(scene.law_for("block"), ThreeElement)
    assert isinstance(scene.law_for("block", "elastic"), Voigt)
    assert isinstance(scene.with_case("elastic").law_for("block"), Voigt)
    assert (scene.bodies["block"].law, whole({"case": "elastic"}).bodies["block"].law) == ("dough", "gel")
    # the first is the default
    assert scene.with_case().case == "elastic"
    assert scene.with_case("rheological").with_case().case == "rheological"
    assert scene_with().with_case() == scene_with()
    with pytest.raises(RheotwinError, match=r"no case 'elastik' \(did you mean 'elastic'\?\); cases: elastic, rheo"):
        scene.with_case("elastik")


def test_defaults_that_depend_on_other_entries() -> None:
    scene = whole({"output": ..., "gravity": ...})
    assert scene.gravity == (0.0, 0.0) and scene.supports["floor"].fix == ("x", "y")
    assert scene.output.interval == pytest.approx(0.4 / 50)
    assert scene.output.fields == DEFAULT_FIELDS and scene.plane == "strain"
    assert (scene.thickness, scene.section, scene.cross_section) == (1.0, 1.0, 1.0)
    assert {"plane", "thickness"} <= set(whole().model_dump()) and "section" not in whole().model_dump()
    line = whole(ROD | {"section": 0.25, "tools": {"bar": {"shape": "bar", "center": [1.0], "normal": [-1.0]}}})
    assert {"plane", "thickness"}.isdisjoint(line.model_dump())
    assert line.tools["bar"].width is None, "in 1D a bar has no width"
    assert (line.cross_section, whole({"thickness": 0.5}).cross_section) == (0.25, 0.5)
    assert whole({"tools.bar.normal": [3.0, -4.0]}).tools["bar"].normal == (0.6, -0.8)  # type: ignore[union-attr]
    units = {"time": "ms", "pressure": "Pa", "force": "N"}
    scene = whole({"units": units, "gravity": [], "duration": 400.0, "solvers.truss": {"kernel": "edge", "n": [1, 2]}})
    assert scene.solvers == {"fem": {"step": 0.01}, "truss": {"kernel": "edge", "n": [1, 2]}}
    with pytest.raises(ValidationError, match="no law is named"):
        Scene.model_validate(data(WHOLE, {"bodies.block.law": "dogh"}))


def test_a_scene_knows_where_its_mesh_files_are(own_folder: Path) -> None:
    scene = load_scene(write_scene(data(WHOLE), "scene.toml").absolute())
    assert scene.source == own_folder / "scene.toml"
    assert scene.resolve("part.msh") == scene.with_case("elastic").resolve("part.msh") == own_folder / "part.msh"
    assert str(own_folder) not in json.dumps(scene.model_dump(mode="json"))
    block = {"bodies.block": {"shape": "file", "path": "part.msh", "law": "dough", "mass": 1.0}}
    with pytest.raises(InputFaults) as caught:
        whole(block, base=own_folder)
    [fault] = caught.value.faults
    assert fault.place == "bodies.block.path" and str(own_folder / "part.msh") in fault.message
    Path("part.msh").write_text("")
    assert whole(block, base=own_folder).bodies["block"].shape == "file"


def test_an_empty_file_lists_what_is_missing(own_folder: Path) -> None:
    Path("scene.toml").write_text("")
    with pytest.raises(InputFaults, match=r"^scene.toml: 5 faults") as caught:
        load_scene(Path("scene.toml"))
    assert {fault.place for fault in caught.value.faults} == {"schema", "dimension", "duration", "laws", "bodies"}


def test_a_case_changes_the_law_of_a_part() -> None:
    path = SCENES / "two-laws-3d.toml"
    body = load_scene(path).bodies["cube"]
    swapped = f'[cases.swapped]\nlaws = {{ cube = "{body.parts["half"].law}", "cube.half" = "{body.law}" }}'
    found = parse_scene(path.read_text() + "\n" + swapped, base=SCENES).with_case().bodies["cube"]
    assert (found.law, found.parts["half"].law) == (body.parts["half"].law, body.law)


@pytest.mark.parametrize("path", sorted(SCENES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_scene_loads_and_reloads(path: Path) -> None:
    scene = load_scene(path)
    assert Scene.model_validate(scene.model_dump(mode="json")) == scene and scene.title
    assert all(case.description for case in scene.cases.values())


def test_bar_press_is_the_scene_of_the_papers() -> None:
    scene, space = load_scene(SCENES / "bar-press-2d.toml"), load_scene(SCENES / "block-3d.toml")
    block, bar = scene.bodies["block"], scene.tools["bar"]
    assert isinstance(block, BoxBody) and isinstance(bar, BarTool)
    assert (block.size, block.cells, block.pattern) == ((80.0, 30.0), (16, 6), "se-nw")
    assert (block.mass, block.mass_sharing) == (30.0, "equal")
    assert (scene.plane, scene.duration, scene.thickness) == ("strain", 30.0, 1.0)
    assert (bar.center, bar.normal, bar.width) == ((40.0, 30.0), (0.0, -1.0), 20.0)
    assert bar.motion is not None and bar.motion.displacement[1] == (0.0, -10.0)
    of = {young: Moduli.from_young(young, 0.35) for young in (300.0, 15.0, 500.0, 30.0, 20.0)}
    assert {name: scene.law_for("block", name) for name in scene.case_names} == {
        "elastic": Voigt(of[300.0], of[15.0]),
        "viscoplastic": Maxwell(of[300.0], of[500.0]),
        "rheological": ThreeElement(of[30.0], of[20.0], of[500.0]),
    }
    assert (space.case_names, space.dimension) == (scene.case_names, 3)
    assert space.bodies["block"].cell == "tet"  # type: ignore[union-attr]


def test_shipped_scenes_have_the_numbers_of_their_sources() -> None:
    scene = load_scene(SCENES / "chain-1d.toml")
    strand, law = scene.bodies["strand"], scene.law_for("strand")
    assert isinstance(strand, BoxBody) and isinstance(law, ThreeElement)
    assert (*strand.size, strand.density, scene.cross_section) == pytest.approx((0.2, 1100.0, 1e-4))
    assert (law.spring.young, law.series_dashpot.young) == pytest.approx((5e4, 2e5))
    # what stays: length * force / section * time / c2, as its comment says, 1 cm
    assert 0.2 * (0.5 / scene.cross_section) * 2.0 / law.series_dashpot.young == pytest.approx(0.01)
    # the foam at 20 degrees Celsius: angular frequency, storage and loss modulus as measured (Landauer et al. 2023)
    omega, storage, loss = np.array([[0.3, 2.63805, 1.3006], [3.0, 5.10973, 2.41018], [30.0, 9.66712, 4.11596]]).T
    found = complex_modulus(load_scene(SCENES / "foam-press-2d.toml").law_for("block"), omega) / 1e6
    assert np.abs([found.real / storage - 1.0, found.imag / loss - 1.0]).max() < 0.0545, "5.4 %, as its comment says"
    problem = build_problem(load_scene(SCENES / "digital-push-3d.toml"))
    (load,) = problem.loads
    rows = problem.points[load.nodes, 0]
    pushed = {0.01: -30.0, 0.02: -60.0, 0.03: -30.0}
    for x in (0.0, 0.01, 0.02, 0.03, 0.04, 0.05):
        assert load.shares[abs(rows - x) < 1e-9, 2].sum() == pytest.approx(pushed.get(x, 0.0), abs=1e-10)
