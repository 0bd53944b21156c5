"""What newcomers get wrong: each ends in one sentence that names the place and the remedy, before anything runs."""

from pathlib import Path

import meshio
import numpy as np
import pytest

from tests.conftest import command

SCENE = """
schema = 1
dimension = 3
duration = 0.2
gravity = [0.0, 0.0, "-9.81 m/s2"]
[units]
length = "mm"
pressure = "kPa"
force = "N"
[laws.foam]
model = "voigt"
young = 30.0
poisson = 0.3
viscosity = 0.1
[bodies.cushion]
shape = "box"
size = [100.0, 100.0, 50.0]
cells = [2, 2, 1]
law = "foam"
density = "40 kg/m3"
[supports.floor]
body = "cushion"
where = { side = "bottom" }
[supports.hand]
body = "cushion"
where = { side = "top" }
motion = { times = [0.0, 0.1], displacement = [[0.0, 0.0, 0.0], [0.0, 0.0, -5.0]] }
until = 0.15
[output]
interval = 0.1
"""
BRACKET = """[bodies.cushion]
shape = "file"
path = "bracket.vtu"
law = "foam"
density = "40 kg/m3"
"""
BOX = SCENE[SCENE.index("[bodies.cushion]") : SCENE.index("[supports.floor]")]


def bracket(folder: Path) -> None:
    points = np.array([[0, 0, 0], [60, 0, 0], [0, 60, 0], [0, 0, 60]], dtype=float)
    meshio.Mesh(points, [("tetra", np.array([[0, 1, 2, 3]]))]).write(folder / "bracket.vtu")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"40 kg/m3"', "40.0", "density: 40 has two readings: 40 kg/m3, or, as [units] has it, 40 kg/mm3"),
        ('"-9.81 m/s2"', "-9.81", "gravity.2: -9.81 has two readings"),
        ('"40 kg/m3"', '"40 kg/m2"', "bodies.cushion.density: '40 kg/m2' is of another kind"),
        ('"40 kg/m3"', '"40 lb/ft3"', "unknown unit 'lb'"),
        ('"40 kg/m3"', '"40 kg/m/s m"', "cannot be read"),
        ("viscosity = 0.1", "viscosity = 0.1\nviscosty = 1.0", "viscosty: unknown key (did you mean 'viscosity'?)"),
        ("until = 0.15", "until = 0.05", "supports.hand: lets go before its motion ends"),
        ("motion = { times", 'motion = { expression = ["t.__class__"], times', "needs only one of a table"),
        ("times = [0.0, 0.1], displacement = [[0.0, 0.0, 0.0], [0.0, 0.0, -5.0]]", 'expression = ["0", "0", "eval(t)"]',
         "this is more than arithmetic"),
        ('length = "mm"', 'length = "millimetres"', "units.length: 'millimetres' is not allowed"),
        (BOX, BRACKET + 'unit = "mm"\nscale = 0.001\n', "`unit` and `scale` both give the size"),
        ("poisson = 0.3", "poisson = 0.5001", "laws.foam.poisson: 0.5001 is not possible"),
        ("poisson = 0.3", "poisson = 0,3", "(at line 13, column 12): 'poisson = 0,3'; text needs quotes, a decimal"),
        ('law = "foam"', "law = foam", "'law = foam'; text needs quotes"),
        ("[output]", BOX + "[output]", "'[bodies.cushion]'; give each table its own name"),
        ("interval = 0.1", "interval = [0.1", "not a TOML file: "),
        ("young = 30.0", 'young = "3e1"', "young: must be a number, not '3e1', or text of a number and its unit"),
        ("times = [0.0, 0.1], displacement = [[0.0, 0.0, 0.0], [0.0, 0.0, -5.0]]", 'expression = ["0", "0", "1/t"]',
         "'1/t' is no finite number at t = 0; write one that is finite"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_at_its_place(old: str, new: str, said: str, own_folder: Path) -> None:
    assert old in SCENE
    bracket(own_folder)
    (own_folder / "cushion.toml").write_text(SCENE.replace(old, new))
    for verb in ("info", "run"):
        found = command(verb, "cushion.toml")
        assert found.code == 2 and said in found.err, found.err
    assert not (own_folder / "runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"40 kg/m3"', '"40 kg/mm3"', "bodies.cushion.density: 4e+10 kg/m3 is no solid or foam"),
        ("young = 30.0", 'young = "3 Pa"', "gravity: the weight of 'cushion' alone strains it by"),
        ("[0.0, 0.0, -5.0]", '[0.0, 0.0, "-5 m"]', "supports.hand.motion: moves at up to 50 m/s, faster than"),
        ("[output]", '[forces.f]\nbody = "cushion"\nwhere = {side = "left"}\ntotal = ["5 kN", 0.0, 0.0]\n[output]',
         "forces.f: 5000 N over the body's section"),
        ('"-9.81 m/s2"', '"9.81 m/s2"', "gravity: 9.81 m/s2 pulls bodies up; write -9.81"),
        ("young = 30.0", 'young = "20000 GPa"', "bodies.cushion.law: 2e+13 Pa is stiffer than diamond"),
        ("[output]", '[probes.p]\nbody = "cushion"\nat = ["5 m", "5 m", "0 m"]\n[output]',
         "probes.p: the nearest node of 'cushion' is 6.93 m away"),
    ],
)  # fmt: skip
def test_an_implausible_number_is_warned_of(old: str, new: str, said: str, own_folder: Path) -> None:
    assert old in SCENE
    (own_folder / "cushion.toml").write_text(SCENE.replace(old, new))
    assert said in command("info", "cushion.toml").err
    virtual = SCENE.replace(old, new).replace("[units]", "[units]\nvirtual = true")
    (own_folder / "cushion.toml").write_text(virtual)
    assert said not in command("info", "cushion.toml").err


def test_a_scene_without_a_verb() -> None:
    assert command("cushion.toml").sentence == "cushion.toml: say what to do with it first: `rheotwin run cushion.toml`"


def test_info_says_what_the_numbers_amount_to_and_any_entry_can_be_set(own_folder: Path) -> None:
    (own_folder / "cushion.toml").write_text(SCENE)
    said = command("info", "cushion.toml")
    assert said.err == ""
    # 40 kg/m3 x .1 x .1 x .05 m3; c = sqrt(E (1 - nu)/((1 + nu)(1 - 2 nu) rho)); eta/E = 100/30e3
    for words in (
        "0.02 kg, 0.1 x 0.1 x 0.05 m, 40 kg/m3",
        "waves of 31.77 m/s",
        "times of 0.00333 s",
        "voigt, bounces, returns",
    ):
        assert words in said.out
    said = command(
        "info", "cushion.toml", "--set", 'bodies.cushion.density="80 kg/m3"', "--set", "bodies.cushion.size.0=200.0"
    )
    assert "0.08 kg, 0.2 x" in said.out
    for wrong, sentence in (
        ("laws.fom.young=1", "did you mean 'foam'"),
        ("bodies.cushion.size.7=1", "choose one of 0 to 2"),
    ):
        found = command("info", "cushion.toml", "--set", wrong)
        assert found.code == 2 and sentence in found.err
    run = command("run", "cushion.toml", "--set", "fem.step=1e9", "--set", "laws.foam.young=20.0")
    assert run.code == 0 and "are taken, not of 1e+09 s" in run.err


def test_a_mesh_file_has_the_length_of_the_file_or_its_own_unit(own_folder: Path) -> None:
    bracket(own_folder)
    for given in ("", 'unit = "mm"\n', "scale = 1.0\n"):
        (own_folder / "cushion.toml").write_text(SCENE.replace(BOX, BRACKET + given))
        assert "0.06 x 0.06 x 0.06 m" in command("info", "cushion.toml").out
    (own_folder / "cushion.toml").write_text(SCENE.replace(BOX, BRACKET + 'unit = "cm"\n'))
    assert "0.6 x 0.6 x 0.6 m" in command("info", "cushion.toml").out
