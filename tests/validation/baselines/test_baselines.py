"""Baselines: files, measured spread, and blessing as the only way to change one."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rheotwin.__main__ import main
from rheotwin.errors import RheotwinError
from rheotwin.validation.baselines import BUILT_IN, Baseline, Spread, bless, digest, load_baselines
from rheotwin.validation.baselines.files import load_baseline, save_baseline
from rheotwin.validation.baselines.measure import Measured, blessed_values
from rheotwin.validation.checks.registry import carry_out
from rheotwin.validation.checks.repeats import baseline_checks, end_state

SCENE = """
schema = 1
dimension = 1
duration = 1.0
laws.dough = { model = "maxwell", young = 1000.0, poisson = 0.0, viscosity = 500.0 }
bodies.strand = { shape = "box", size = [1.0], cells = [4], law = "dough", density = 1.0 }
supports.hand = { body = "strand", where = { side = "left" } }
forces.pull = { body = "strand", where = { side = "right" }, total = [10.0] }
output.interval = 0.5
"""
FILE = '# Mine.\nschema = 1\ntitle = "mine"\nscene = "strand.toml"\nsolver = "fem"\n\n[options]\nstep = 0.02\n'


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's folder with one baseline that has no values yet; the scene is outside of it."""
    folder = tmp_path / "baselines"
    folder.mkdir()
    (tmp_path / "strand.toml").write_text(SCENE)
    (folder / "mine.toml").write_text(FILE.replace("strand.toml", "../strand.toml"))
    return folder


def test_built_in_baselines_are_whole() -> None:
    known = load_baselines(BUILT_IN)
    assert len(known) >= 10
    assert {baseline.solver for baseline in known.values()} >= {"fem", "truss", "fixed-point"}
    for name, baseline in known.items():
        assert baseline.scene_path.is_file() and baseline.values and baseline.history, name
        assert baseline.history[-1].values == {value.name: value.value for value in baseline.values}, name
        assert all(blessing.reason for blessing in baseline.history)


@pytest.mark.parametrize("name", ["press-2d-fem", pytest.param("swing-3d-mixed", marks=pytest.mark.exhaustive)])
def test_built_in_baselines_hold(name: str) -> None:
    (check,) = (check for check in baseline_checks(BUILT_IN) if check.short == name)
    result = carry_out(check)
    assert result.status == "holds", result


def test_blessing_fills_in_values_and_keeps_history(mine: Path) -> None:
    assert [carry_out(check).status for check in baseline_checks(mine)] == ["not yet"]
    first = bless(load_baselines(mine), "mine", reason="the first\n ones", date="2026-11-18")
    read = load_baseline(mine / "mine.toml")
    assert read == first and read.path.read_text().startswith("# Mine.\nschema = 1\n")
    values = {value.name: value for value in read.values}
    tip = values["largest displacement"]  # 10 Pa: 10 (1/1000 + 1/500) after 1 s, but for inertia
    assert tip.value == pytest.approx(0.03, rel=0.02) and tip.unit == "m" and tip.spread_half_step is not None
    assert tip.tolerance == pytest.approx(max(0.1 * tip.spread_half_step, 1e-9 * tip.value))
    assert [carry_out(check).status for check in baseline_checks(mine)] == ["holds"]
    second = bless(load_baselines(mine), "mine", reason="again", date="2026-11-19")
    assert [(b.date, b.reason) for b in second.history] == [("2026-11-18", "the first ones"), ("2026-11-19", "again")]
    assert second.values == first.values


def test_a_changed_law_falls_short_until_blessed(mine: Path) -> None:
    before = digest(mine)
    bless(load_baselines(mine), "mine", reason="first", date="2026-11-18")
    (mine.parent / "strand.toml").write_text(SCENE.replace("viscosity = 500.0", "viscosity = 490.0"))
    (check,) = baseline_checks(mine)
    result = carry_out(check)
    assert result.status == "falls short"
    assert {row.quantity for row in result.rows if row.holds is False} >= {"largest displacement"}
    bless(load_baselines(mine), "mine", reason="softer by purpose", date="2026-11-19")
    assert digest(mine) != before
    assert [carry_out(check).status for check in baseline_checks(mine)] == ["holds"]


def test_tolerances_follow_the_spread() -> None:
    scales = {"peak force, a": 1.0, "kinetic energy": 1.0}
    found = Measured({"peak force, a": 100.0, "kinetic energy": 1e-12}, scales, 1)
    spread = Spread({"peak force, a": 0.5}, {"peak force, a": 20.0}, {"peak force, a": 1.5})
    force, energy = blessed_values(found, spread)
    assert (force.tolerance, force.bound) == (3.0, "absolute")  # threads twice over 1.5, above a tenth of 20
    assert (energy.bound, energy.value) == ("at most", 1e-9)
    (force, _) = blessed_values(found, Spread({}))
    assert force.tolerance == pytest.approx(1e-7)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("schema = 1", "schema = 2", "is a baseline of schema 2 and this version reads 1"),
        ("schema = 1\n", "", "is a baseline of schema None and this version reads 1"),
        ('scene = "strand.toml"\n', "", "scene: field required"),
        ("solver", "solvers", "solver: field required"),
        ("[options]", "colour = 1\n[options]", "colour: extra inputs are not permitted"),
        ("[options]", "[[values]]\nname = 'F'\nvalue = nan\n[options]", "'F' is not finite"),
        ("title", "title title", "could not be read as TOML"),
    ],
)
def test_faults_of_files_are_one_sentence(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(RheotwinError) as caught:
        load_baseline(path)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_files_are_written_as_they_are_read(tmp_path: Path) -> None:
    for path in sorted(BUILT_IN.glob("*.toml")):
        baseline = load_baseline(path)
        copy = Baseline(**{**vars(baseline), "path": tmp_path / path.name})
        (tmp_path / path.name).write_text("".join(line + "\n" for line in path.read_text().split("\n")[:1]))
        save_baseline(copy)
        assert (tmp_path / path.name).read_text() == path.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--bless", "mine"), '--bless needs a reason that says why the numbers may change: --reason "..."'),
        (("--bless", "mine", "--reason", "  "), "--bless needs a reason"),
        (("--bless", "mien", "--reason", "new"), "--bless: there is no baseline 'mien' (did you mean 'mine'?)"),
        (("--bless", "mine,other", "--reason", "new"), "2 baselines would change; bless one at a time, or confirm"),
        (("--bless", ",", "--reason", "new"), "--bless: the selection is empty"),
    ],
)
def test_blessing_is_refused_in_one_sentence(
    words: tuple[str, ...], sentence: str, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (mine / "mine.toml").read_bytes()
    assert main(["validate", *words, "--baselines", str(mine)]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1 and (mine / "mine.toml").read_bytes() == before


def test_a_users_baselines_from_the_command_line(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--baselines", str(mine)]
    assert main(["validate", "--bless", "mine", "--reason", "first", *chosen]) == 0
    assert re.search(r"largest displacement = 0\.03\d* m, tolerance", capsys.readouterr().out)
    assert main(["validate", "--select", "mine", "--json", *chosen]) == 0
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert (check["reference"], check["status"]) == ("baseline.mine", "holds")
    text = (mine / "mine.toml").read_text()
    (mine / "mine.toml").write_text(re.sub(r'(name = "mean displacement"\nvalue = ).*', r"\g<1>9.0", text))
    assert main(["validate", "--tag", "baseline", *chosen]) == 1


def test_runs_repeat_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest tells the last bit: one changed bit of one coordinate is another digest."""
    from rheotwin.fem.simulation import FemSimulation

    first = end_state("press-2d-fem")
    assert end_state("press-2d-fem") == first
    right: Callable[..., None] = FemSimulation.advance

    def flipped(self: FemSimulation, until: float, max_steps: int) -> None:
        right(self, until, max_steps)
        self._state.v[-1] += 1e-300 if self._state.v[-1] == 0 else 1e-16 * self._state.v[-1] * 4

    monkeypatch.setattr(FemSimulation, "advance", flipped)
    assert end_state("press-2d-fem") != first
