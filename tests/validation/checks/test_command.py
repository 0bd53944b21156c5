"""`rheotwin validate`: table, list, folder, exit codes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rheotwin import __version__
from rheotwin.__main__ import main
from rheotwin.validation.checks.check import Check, Curve, Measurement, Quantity
from rheotwin.validation.checks.folder import SPECS, convergence_plots, observed_order, refuse_existing
from rheotwin.validation.checks.registry import all_checks, verify

Offer = Callable[..., None]
LINE = Curve("space-l2", "P1 made-up", (0.2, 0.1), (4.0, 1.0), 2.0)
FOUND = Measurement({"rate": 2.0}, {"rate": 2.0}, (LINE,))
REFINED = Check("fem.R9", "refined", "a <refined> mesh", (Quantity("rate", 2.0, 0.1),), compute=lambda: FOUND)
"""A check with a line for the plot: errors 4, 1 at widths 0.2, 0.1."""


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Let the command line know these checks only."""
    place = "rheotwin.validation.checks.registry.all_checks"
    return lambda *checks: monkeypatch.setattr(place, lambda *folders: checks)


def test_table_of_real_checks(command) -> None:
    code, out, _ = command("--select", "R3,r2,E12")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["id", "quantity", "reference", "computed", "error", "order", "ok"]
    assert [line.split()[0] for line in lines if re.match(r"fem\.[A-Z]", line)] == ["fem.R2", "fem.R3", "fem.E12"]
    assert re.search(r"lambda\s+259\.25926 Pa\s+259\.25926\s+2\.6e-07\s+-\s+ok", out)
    covered = [line for line in lines if "reference numbers (" in line]
    assert [line.partition(":")[0] for line in covered][:2] == ["fem", "truss"]
    assert re.search(r"fem: covers \d+ of \d+ reference numbers \(\d+ %\)", covered[0])
    assert "speed: " in out and "none to be judged" in out
    assert lines[-1] == "3 of 3 checks hold"


def test_list(command) -> None:
    code, out, _ = command("--list")
    assert code == 0 and all(check.name in out for check in all_checks())
    (about,) = json.loads(command("--list", "--json", "--select", "T5")[1])
    assert (about["reference"], about["quick"], about["waits_for"]) == ("fem.R14", True, "")
    assert "u(a, 2)" in about["quantities"] and "A2" in about["covers"]
    together, apart = (
        command("--list", "--select", "R3,r2,E12"),
        command("--list", "--select", "R3", "--select", "r2,E12"),
    )
    assert apart == together and len(apart[1].splitlines()) == 4


def test_quick_subset_end_to_end(command, tmp_path: Path) -> None:
    """A real run of several themes with its report."""
    code, out, _ = command("--quick", "--select", "R1,R7,vibrating-bar-midpoint,R14,F9", "--output", tmp_path / "v")
    assert code == 0, out
    data = json.loads((tmp_path / "v" / "validate.json").read_text())
    status = {check["name"]: check["status"] for check in data["checks"]}
    assert status["viscoplastic-force"] == "holds" and status["circuit-measured"] == "not yet"
    assert {"plots/validate-time.png", "plots/validate-cylinder.png"} <= set(data["plots"])
    for name in data["plots"]:
        assert (tmp_path / "v" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"reference": 2.5}, 1, r"F\s+2\.5 N\s+2\s+0\.5\s+1\.97\s+NO(.|\n)*1 of 2 checks hold, 1 falls short\n$"),
        ({"fails": ValueError("no pivot")}, 2, "could not run: fem.R7 broken: ValueError: no pivot"),
    ],
)
def test_what_fails_is_in_the_table_and_the_exit_code(
    command, offered: Offer, made_up, more: dict[str, Any], code: int, words: str
) -> None:
    offered(made_up(2.0), made_up(name="broken", **more))
    found, out, _ = command()
    assert found == code and re.search(words, out)


def test_json(command, offered: Offer, made_up) -> None:
    offered(made_up(2.0005), made_up(name="later", compute=None, waits_for="needs time"))
    code, out, _ = command("--json")
    data = json.loads(out)
    assert code == data["exit_code"] == 0
    assert (data["rheotwin_version"], data["summary"]) == (__version__, "1 of 2 checks hold, 1 is not yet possible")
    first, second = data["checks"]
    assert {"reference", "name", "title", "status", "rows", "message", "seconds", "curves", "kind"} <= set(first)
    row, known = first["rows"][0], {"quantity": "F", "unit": "N", "bound": "absolute", "holds": True, "order": 1.97}
    assert row.items() >= (known | {"reference": 2.0005, "computed": 2.0, "tolerance": 1e-3}).items()
    assert row["error"] == pytest.approx(5e-4)
    assert (second["status"], second["message"], second["rows"][0]["computed"]) == ("not yet", "needs time", None)


def test_page_is_whole_and_offline(command, offered: Offer, made_up, tmp_path: Path) -> None:
    offered(REFINED, made_up(2.5), made_up(name="later", compute=None, waits_for="needs time"))
    code, out, _ = command("--output", tmp_path / "v")
    assert code == 1 and out.endswith(f"report: {tmp_path / 'v' / 'report.html'}\n")
    page = (tmp_path / "v" / "report.html").read_text()
    assert "http" not in page and "<script" not in page
    assert page.count("<svg") == 1 and 'id="coverage"' in page and "P1 made-up (2.00)" in page
    assert "a &lt;refined&gt; mesh" in page and "<refined>" not in page
    assert "falls short: fem.R7" in page and "not yet: fem.R7 later: needs time" in page
    assert "1 of 3 checks hold, 1 falls short, 1 is not yet possible" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v"]


def test_folder_is_replaced_only_when_ours_and_allowed(command, offered: Offer, made_up, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    offered(REFINED)
    assert command("--output", folder)[0] == 0
    (folder / "notes.txt").write_text("mine")
    code, _, err = command("--output", folder)
    assert code == 2 and "a validation is already there" in err
    offered(made_up())
    assert command("--output", folder, "--overwrite")[0] == 0
    assert (folder / "notes.txt").read_text() == "mine"
    assert not list((folder / "plots").iterdir())
    assert "P1 made-up" not in (folder / "report.html").read_text()
    (folder / "validate.json").write_text("{}")
    code, _, err = command("--output", folder, "--overwrite")
    assert code == 2 and "is not a validation" in err


def test_a_file_in_the_way_is_refused_before_anything_runs(command, offered: Offer, made_up, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    offered(made_up(fails=AssertionError("ran")))
    code, out, err = command("--output", tmp_path / "file" / "v")
    assert (code, out) == (2, "") and "is a file, not a folder" in err
    refuse_existing(tmp_path / "new" / "deeper", overwrite=False)


def test_every_curve_has_a_place_in_a_plot_that_says_its_order() -> None:
    """A curve of a plot without a specification would silently not be drawn."""
    cheap = [check for check in all_checks() if check.name in ("thick-cylinder", "manufactured-time-midpoint")]
    curves = [curve for result in verify(cheap).results for curve in result.curves]
    assert curves and {curve.plot for curve in curves} <= set(SPECS)
    assert observed_order(LINE) == pytest.approx(2.0)
    (plot,) = convergence_plots(verify([REFINED]))
    assert plot.name == "validate-space-l2" and plot.alt.endswith("P1 made-up: order 2.00.")


def test_all_flags_are_in_the_help_and_the_old_word_names_the_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["validate", "--help"])
    said = capsys.readouterr().out
    flags = "--select --tag --solver --quick --list --executor --output --overwrite --continue --json --bless --reason"
    assert all(flag in said for flag in flags.split())
    assert main(["verify", "--quick"]) == 2
    assert capsys.readouterr().err == "error: `rheotwin verify` is now called `rheotwin validate`; use that\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--select", "R99"), "error: --select: there is no check 'R99'"),
        (("--select", " , "), "--select: the selection is empty"),
        (("--select", "R7", "--solver", "fixed-point"), "the selection is empty: no check fits"),
        (("--executor", "processes:0"), "--executor processes:0: choose from lanes, processes, processes:N"),
        (("--continue",), "--continue: name the folder to go on with"),
        (("--reason", "why not"), "--reason and --yes belong to --bless"),
        (("--baselines", "/nowhere/at-all"), "there is no such folder"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(words: tuple[str, ...], sentence: str, command) -> None:
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert sentence in err and err.count("\n") == 1


def test_processes_give_the_same_results_in_order(command) -> None:
    alone, shared = (
        json.loads(command("--select", "R3,R2,E12,E19", "--json", "--quiet", "--executor", place)[1])["checks"]
        for place in ("lanes", "processes:2")
    )
    for check in (*alone, *shared):
        del check["seconds"]
    assert [check["reference"] for check in shared] == ["fem.R2", "fem.R3", "fem.E12", "fem.E19"]
    assert alone == shared


def test_an_interrupted_validation_goes_on(command, offered: Offer, made_up, tmp_path: Path) -> None:
    """Finished checks are kept, what could not run and what is new is run."""
    folder = tmp_path / "v"
    offered(
        made_up(name="one"), made_up(name="two", fails=ValueError()), made_up(name="three", fails=KeyboardInterrupt())
    )
    code, _, err = command("--output", folder)
    assert code == 130 and "2 of 3 checks are finished; give the same command with --continue" in err
    assert not (folder / "report.html").exists()
    code, _, err = command("--output", folder)
    assert code == 2 and "a validation is begun, and not finished" in err
    offered(made_up(name="one", fails=AssertionError("ran")), made_up(name="two"), made_up(name="three"))
    code, out, err = command("--output", folder, "--continue")
    assert code == 0 and "1 of 3 checks are kept" in err and "3 of 3 checks hold" in out


def test_another_catalogue_keeps_nothing(
    command, offered: Offer, made_up, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--output", tmp_path / "v")
    offered(made_up())
    assert command(*words)[0] == 0
    assert "1 of 1 checks are kept" in command(*words, "--continue")[2]
    monkeypatch.setattr("rheotwin.validation.checks.outcome.__version__", "9.9")
    assert "kept" not in command(*words, "--continue")[2]


def test_junit_and_summary_say_what_happened(command, offered: Offer, made_up, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    ill, waiting = made_up(name="ill", fails=ValueError("a|b")), made_up(name="later", compute=None, waits_for="x")
    offered(made_up(), made_up(2.5, name="short", identity="truss.R1"), ill, waiting)
    assert command("--output", folder)[0] == 2
    suites = ElementTree.parse(folder / "junit.xml").getroot().findall("testsuite")
    keys = ("name", "tests", "failures", "errors", "skipped")
    counts = [" ".join(suite.get(key, "") for key in keys) for suite in suites]
    assert counts == ["fem 3 0 1 1", "truss 1 1 0 0"]
    (failure,) = suites[1].iter("failure")
    assert failure.get("message") == "F: 2 instead of 2.5 N"
    text = (folder / "summary.md").read_text()
    assert text.startswith("## Rheotwin validation **could not run**")
    assert "| `truss.R1` | F | 2.5 N | 2 | 0.5 |" in text and "- `fem.R7` ill: ValueError: a\\|b" in text
