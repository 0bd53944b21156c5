"""`rheotwin calibrate`: a twin's parameters come back within their intervals, and faults leave nothing behind."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import pyvista

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK
from rheotwin.scene import load_scene, scene_from_data
from rheotwin.validation.calibration.twins import twin
from rheotwin.validation.experiments.synthetic import Noise
from rheotwin.validation.experiments.writer import write_experiment
from tests.conftest import DOUGH, Data, Said, command, pushed_lump, write_scene

PUSH = pushed_lump()


@pytest.fixture
def record(own_folder: Path) -> str:
    """The twin of the push, and another of half its depth to be predicted."""
    for name, depth in (("pushed", 0.008), ("weak", 0.004)):
        found, truth = twin(
            *(scene_from_data(pushed_lump(depth)), "truss", [0.5, 1.4, 1.55, 1.7, 2.0]),
            noise=Noise(2e-4),
            seed=1,
            points=2000,
        )
        write_experiment(Path(name), found, truth=truth)
    write_scene(PUSH)
    return "pushed"


def calibrate(record: str, *words: str, budget: int = 100, seeds: int = 2) -> Said:
    basis = ("calibrate", "scene.toml", record, "--budget", str(budget), "--seeds", str(seeds))
    return command(*basis, *words)


def test_a_twin_comes_back_within_its_intervals_and_predicts(record: str) -> None:
    said = calibrate(record, "--predict", "weak", "--json", "--quiet")
    assert said.code == EXIT_OK, said.err
    found, folder = json.loads(said.out), Path("runs/calibrate-scene")
    assert json.loads((folder / "calibration.json").read_text()) == found
    for item in found["parameters"]:
        truth = DOUGH[item["name"].rpartition(".")[2]]
        assert item["low"] < truth < item["high"] and item["high"] < 2.0 * item["low"], item
        assert item["low"] < item["least"] <= item["value"] <= item["largest"] < item["high"]
    assert {item["name"] for item in found["ratios"]} == {
        f"laws.dough.{kind}_viscosity/laws.dough.young" for kind in ("voigt", "series")
    }
    fit, predicted = found["qualities"]
    assert (fit["part"], predicted["part"], predicted["points"]) == ("fit", "predict", 2000)
    assert predicted["cost"] < 0.8 * predicted["start"] and fit["cost"] < 0.8 * fit["start"]
    scene = load_scene(folder / "calibrated.toml")
    assert scene.laws["dough"].young == found["parameters"][0]["value"]  # type: ignore[union-attr]
    # going on evaluates nothing: every line is there already
    lines = (folder / "evaluations.jsonl").read_text()
    again = calibrate(record, "--predict", "weak", "--json", "--quiet", "--continue")
    assert (again.out, (folder / "evaluations.jsonl").read_text()) == (said.out, lines)
    assert "there is a calibration; go on with --continue" in calibrate(record).sentence


def test_models_are_compared_at_equal_cost_with_maps_of_their_errors(record: str) -> None:
    """Lattice, lattice whose volume is kept, truss: one table, clouds with the distances that S is the sum of."""
    changes = ["--against", "truss.local_volume=true", "--against", "bodies.lump.cell=tet", "truss.safety=0.4"]
    said = calibrate(record, "--costs", "shapes", "--json", *changes, budget=30)
    assert said.code == EXIT_OK, said.err
    models, folder = json.loads(said.out)["models"], Path("runs/calibrate-scene")
    assert list(models) == ["the scene", "truss.local_volume=true", "bodies.lump.cell=tet truss.safety=0.4"]
    with (folder / "models.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    shapes = [float(row["S [cm]"]) for row in rows]
    assert shapes[0] < min(shapes[1:]) and {row["parameters"] for row in rows} == {"3"}
    assert all(float(row["S low [cm]"]) < s < float(row["S high [cm]"]) for row, s in zip(rows, shapes, strict=True))
    for name, own, s in zip(models, ("", "against-1", "against-2"), shapes, strict=True):
        assert json.loads((folder / own / "calibration.json").read_text()) == models[name]
        clouds = [np.abs(pyvista.read(file)["distance"]) for file in sorted((folder / own / "errors").glob("*.vtp"))]
        d = np.concatenate(clouds)
        assert len(clouds) == 5 and len(d) == 2000
        sums = [float(np.sum(d[d >= 5e-4] ** n)) for n in (1, 2, 3, 4)]
        assert sums == pytest.approx([s / 100.0, *models[name]["qualities"][0]["powers"]])
    assert (folder / "errors.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_force_the_scale_is_named_as_open(record: str) -> None:
    said = calibrate(record, "--costs", "shapes")
    assert said.code == EXIT_OK, said.err
    assert "only a force, or the weight of the body, tells the scale of all" in said.out
    assert "of noise alone" in said.out and "2 seeds" in said.out and "evaluations, best cost" in said.err


@pytest.mark.parametrize(
    ("changes", "words", "sentence"),
    [
        ({"calibrate": {}}, [], "scene.toml: it does not say what to find; mark a number, for example: [calibrate]"),
        (
            {},
            ["--budget", "5"],
            "--budget 5: least-squares asks for 13 evaluations of 3 parameters before it can choose",
        ),
        ({}, ["--search", "magic"], "--search magic: there is no such search; choose from least-squares, nelder-mead"),
        ({}, ["--costs", "shape"], "--costs shape: write names out of shapes, forces, volumes, fields"),
        ({}, ["--costs", "shapes=0"], "--costs shapes=0: nothing counts"),
        ({}, ["--executor", "cloud"], "--executor cloud: choose from lanes, processes"),
        ({}, ["--output", "pushed"], "pushed: it holds something else than a calibration"),
        ({}, ["--predict", "nowhere"], "nowhere"),
        (
            {"calibrate": {**PUSH["calibrate"], "laws.skin.young": {"low": 1.0, "high": 2.0}}},
            [],
            "calibrate.laws.skin.young: changes nothing between its bounds; leave it out of [calibrate]",
        ),
        (
            {},
            ["--set", "truss.step=0.5", "--set", "truss.stepper=euler"],
            "evaluations has a result; the commonest reason, ",
        ),
    ],
)
def test_faults_are_one_sentence_and_nothing_is_written(
    record: str, changes: Data, words: list[str], sentence: str
) -> None:
    skin = {"laws": {**PUSH["laws"], "skin": {"model": "elastic", "young": 1.5, "poisson": 0.3}}}
    write_scene({**PUSH, **skin, **changes})
    said = calibrate(record, "--quiet", *words)
    assert said.code == EXIT_BAD_INPUT and sentence in said.sentence
    assert not Path("runs").exists()


def test_a_blind_body_is_drawn_sealed_pushed_again_and_opened_last() -> None:
    """The numbers are not those of the scene, the same in both pushes, and the record tells when they were changed."""
    law = {"model": "three-element", "bulk": 8e3, "shear": 2e3, "voigt_viscosity": {"bulk": 0.0, "shear": 500.0}}
    law |= {"series_viscosity": {"bulk": 2e4, "shear": 3e3}}
    options = {"step": 0.1, "branch": 300.0, "friction": {"floor": 0.5}}
    write_scene({**PUSH, "laws": {"dough": law}, "solvers": {"continuum": options}, "calibrate": {}})
    words = ("synthesize", "scene.toml", "--points", "200", "--times", "0.5,1.4,2.0", "--json", "--seed")
    assert command("experiment", *words, "1", "--hide", "2", "--output", "one").code == EXIT_OK
    deeper = ["--hide-as", "one", "--set", "supports.punch.motion.ramp.to=[0.0, 0.0, -0.01]"]
    assert command("experiment", *words, "2", *deeper, "--output", "two").code == EXIT_OK
    one, two = (json.loads(command("experiment", "unseal", name, "--json").out) for name in ("one", "two"))
    assert one["laws"] == two["laws"] and one["options"] == two["options"]
    shear = one["laws"]["dough"]["shear"]
    assert shear != 2e3 and 1e3 < shear < 4e3 and one["options"]["step"] == 0.1 and one["options"]["branch"] != 300.0
    assert not any("laws" in file.read_text() for file in Path("one").rglob("*") if file.suffix in (".toml", ".csv"))
    depths = [min(float(line.split(",")[3]) for line in punch(name)) for name in ("one", "two")]
    assert depths == pytest.approx([-0.008, -0.01])
    truth = Path("one/sealed/truth.json")
    truth.write_text(truth.read_text().replace("2.0", "2.1"))
    assert "is not the truth whose SHA-256 the record has" in command("experiment", "unseal", "one").sentence
    for more, sentence in ((["--hide", "0.5"], "give a factor above 1"), (["--hide-as", "one"], "is not the truth")):
        assert sentence in command("experiment", *words, "1", *more, "--output", "three").sentence


def punch(record: str) -> list[str]:
    return Path(record, "punch.csv").read_text().splitlines()[1:]
