"""The scenes we ship load and say what their comments promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheotwin.materials import Maxwell, Moduli, ThreeElement, Voigt
from rheotwin.scene import BarTool, BoxBody, Scene, load_scene

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.mark.parametrize("path", sorted(SCENES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_scene_loads_and_reloads(path: Path) -> None:
    scene = load_scene(path)
    assert Scene.model_validate(scene.model_dump(mode="json")) == scene
    assert scene.title
    assert all(case.description for case in scene.cases.values())


def test_bar_press_is_the_scene_of_the_papers() -> None:
    scene = load_scene(SCENES / "bar-press-2d.toml")
    block, bar = scene.bodies["block"], scene.tools["bar"]
    assert isinstance(block, BoxBody) and isinstance(bar, BarTool)
    assert (block.size, block.cells, block.pattern) == ((80.0, 30.0), (16, 6), "se-nw")
    assert (block.mass, block.mass_sharing) == (30.0, "equal")
    assert (scene.plane, scene.duration, scene.thickness) == ("strain", 30.0, 1.0)
    assert (bar.center, bar.normal, bar.width) == ((40.0, 30.0), (0.0, -1.0), 20.0)
    assert bar.motion is not None
    assert bar.motion.displacement[1] == (0.0, -10.0)
    expected = {
        "elastic": Voigt(Moduli.from_young(300.0, 0.35), Moduli.from_young(15.0, 0.35)),
        "viscoplastic": Maxwell(Moduli.from_young(300.0, 0.35), Moduli.from_young(500.0, 0.35)),
        "rheological": ThreeElement(
            Moduli.from_young(30.0, 0.35), Moduli.from_young(20.0, 0.35), Moduli.from_young(500.0, 0.35)
        ),
    }
    assert {name: scene.law_for("block", name) for name in scene.case_names} == expected


def test_block_3d_has_the_same_three_cases() -> None:
    flat, space = load_scene(SCENES / "bar-press-2d.toml"), load_scene(SCENES / "block-3d.toml")
    assert space.case_names == flat.case_names
    assert space.dimension == 3
    assert space.bodies["block"].cell == "tet"  # type: ignore[union-attr]


def test_chain_is_converted_from_centimetres_and_kilopascal() -> None:
    scene = load_scene(SCENES / "chain-1d.toml")
    strand, law = scene.bodies["strand"], scene.law_for("strand")
    assert isinstance(strand, BoxBody) and isinstance(law, ThreeElement)
    assert strand.size == pytest.approx((0.2,))
    assert strand.density == pytest.approx(1100.0)
    assert scene.cross_section == pytest.approx(1e-4)
    assert law.spring.young == pytest.approx(5e4)
    assert law.series_dashpot.young == pytest.approx(2e5)
    # what stays: length * force / section * time / c2, as its comment says, 1 cm
    stretch = 0.2 * (0.5 / scene.cross_section) * 2.0 / law.series_dashpot.young
    assert stretch == pytest.approx(0.01)


def test_the_digital_push_has_a_major_row_between_two_minor_ones() -> None:
    from rheotwin.build import build_problem

    problem = build_problem(load_scene(SCENES / "digital-push-3d.toml"))
    (load,) = problem.loads
    rows = problem.points[load.nodes, 0]
    pushed = {0.01: -30.0, 0.02: -60.0, 0.03: -30.0}
    for x in (0.0, 0.01, 0.02, 0.03, 0.04, 0.05):
        assert load.shares[abs(rows - x) < 1e-9, 2].sum() == pytest.approx(pushed.get(x, 0.0), abs=1e-10)
