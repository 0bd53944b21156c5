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

Command = Callable[..., tuple[int, str, str]]
Offer, MakeUp = Callable[..., None], Callable[..., Check]


@pytest.fixture
def refined() -> Check:
    """A check with a line for the plot: errors 4, 1 at widths 0.2, 0.1."""
    curve = Curve("space-l2", "P1 made-up", (0.2, 0.1), (4.0, 1.0), 2.0)
    measurement = Measurement({"rate": 2.0}, {"rate": 2.0}, (curve,))
    return Check("fem.R9", "refined", "a <refined> mesh", (Quantity("rate", 2.0, 0.1),), compute=lambda: measurement)


def test_table_of_real_checks(command: Command) -> None:
    code, out, _ = command("--select", "R3,r2,E12")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["id", "quantity", "reference", "computed", "error", "order", "ok"]
    assert [line.split()[0] for line in lines if re.match(r"fem\.[A-Z]", line)] == ["fem.R2", "fem.R3", "fem.E12"]
    assert re.search(r"lambda\s+259\.25926 Pa\s+259\.25926\s+2\.6e-07\s+-\s+ok", out)
    assert lines[-1] == "3 of 3 checks hold"


def test_lists_of_checks_may_be_given_several_times(command: Command) -> None:
    _, together, _ = command("--list", "--select", "R3,r2,E12")
    code, apart, _ = command("--list", "--select", "R3", "--select", "r2,E12")
    assert code == 0
    assert apart == together
    assert len(apart.splitlines()) == 4


def test_quick_subset_end_to_end(command: Command, tmp_path: Path) -> None:
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
    command: Command, offered: Offer, made_up: MakeUp, more: dict[str, Any], code: int, words: str
) -> None:
    offered(made_up(2.0), made_up(name="broken", **more))
    found, out, _ = command()
    assert found == code and re.search(words, out)


def test_unknown_selection(command: Command) -> None:
    code, out, err = command("--select", "R99")
    assert (code, out) == (2, "")
    assert err.startswith("error: --select: there is no check 'R99'") and err.count("\n") == 1


def test_list(command: Command) -> None:
    code, out, _ = command("--list")
    assert code == 0
    assert all(check.name in out for check in all_checks())
    code, out, _ = command("--list", "--json", "--select", "T5")
    (about,) = json.loads(out)
    assert (about["reference"], about["quick"], about["waits_for"]) == ("fem.R14", True, "")
    assert "u(a, 2)" in about["quantities"] and "A2" in about["covers"]


def test_json(command: Command, offered: Offer, made_up: MakeUp) -> None:
    offered(made_up(2.0005), made_up(name="later", compute=None, waits_for="needs time"))
    code, out, _ = command("--json")
    data = json.loads(out)
    assert code == data["exit_code"] == 0
    assert (data["rheotwin_version"], data["summary"]) == (__version__, "1 of 2 checks hold, 1 is not yet possible")
    first, second = data["checks"]
    assert {"reference", "name", "title", "status", "rows", "message", "seconds", "curves", "kind"} <= set(first)
    row = first["rows"][0]
    assert (row["quantity"], row["unit"], row["bound"], row["holds"]) == ("F", "N", "absolute", True)
    assert (row["reference"], row["computed"], row["tolerance"], row["order"]) == (2.0005, 2.0, 1e-3, 1.97)
    assert row["error"] == pytest.approx(5e-4)
    assert (second["status"], second["message"], second["rows"][0]["computed"]) == ("not yet", "needs time", None)


def test_page_is_whole_and_offline(
    command: Command, offered: Offer, made_up: MakeUp, refined: Check, tmp_path: Path
) -> None:
    offered(refined, made_up(2.5), made_up(name="later", compute=None, waits_for="needs time"))
    code, out, _ = command("--output", tmp_path / "v")
    assert code == 1 and out.endswith(f"report: {tmp_path / 'v' / 'report.html'}\n")
    page = (tmp_path / "v" / "report.html").read_text()
    assert "http" not in page and "<script" not in page
    assert page.count("<svg") == 1 and 'id="coverage"' in page and "P1 made-up (2.00)" in page
    assert "a &lt;refined&gt; mesh" in page and "<refined>" not in page
    assert "falls short: fem.R7" in page and "not yet: fem.R7 later: needs time" in page
    assert "1 of 3 checks hold, 1 falls short, 1 is not yet possible" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v"]


def test_folder_is_replaced_only_when_ours_and_allowed(
    command: Command, offered: Offer, made_up: MakeUp, refined: Check, tmp_path: Path
) -> None:
    folder = tmp_path / "v"
    offered(refined)
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


def test_a_file_in_the_way_is_refused_before_anything_runs(
    command: Command, offered: Offer, made_up: MakeUp, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    offered(made_up(fails=AssertionError("ran")))
    code, out, err = command("--output", tmp_path / "file" / "v")
    assert (code, out) == (2, "") and "is a file, not a folder" in err
    refuse_existing(tmp_path / "new" / "deeper", overwrite=False)


def test_plots_have_a_place_for_every_curve() -> None:
    """A curve of a plot without a specification would silently not be drawn."""
    cheap = [check for check in all_checks() if check.name in ("thick-cylinder", "manufactured-time-midpoint")]
    curves = [curve for result in verify(cheap).results for curve in result.curves]
    assert curves and {curve.plot for curve in curves} <= set(SPECS)
    assert observed_order(Curve("time", "x", (0.2, 0.1), (4.0, 1.0), 2.0)) == pytest.approx(2.0)


def test_plot_says_its_orders_in_words(refined: Check) -> None:
    (plot,) = convergence_plots(verify([refined]))
    assert plot.name == "validate-space-l2"
    assert plot.alt.endswith("P1 made-up: order 2.00.")


def test_all_flags_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["validate", "--help"])
    said: Any = capsys.readouterr().out
    flags = "--select --tag --solver --quick --list --jobs --output --overwrite --continue --json --bless --reason"
    assert all(flag in said for flag in flags.split())


def test_the_old_word_names_the_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--quick"]) == 2
    assert capsys.readouterr().err == "error: `rheotwin verify` is now called `rheotwin validate`; use that\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--select", " , "), "--select: the selection is empty"),
        (("--select", "R7", "--solver", "fixed-point"), "the selection is empty: no check fits"),
        (("--jobs", "0"), "--jobs 0: give a number of processes of at least 1"),
        (("--continue",), "--continue: name the folder to go on with"),
        (("--reason", "why not"), "--reason and --yes belong to --bless"),
        (("--baselines", "/nowhere/at-all"), "there is no such folder"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(words: tuple[str, ...], sentence: str, command: Command) -> None:
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert sentence in err and err.count("\n") == 1


def test_coverage_is_said_for_every_specification(command: Command) -> None:
    _, out, _ = command("--select", "R2")
    lines = [line for line in out.splitlines() if "reference numbers (" in line]
    assert [line.partition(":")[0] for line in lines][:2] == ["fem", "truss"]
    assert re.search(r"fem: covers \d+ of \d+ reference numbers \(\d+ %\)", lines[0])
    assert "speed: " in out and "none to be judged" in out


def test_processes_give_the_same_results_in_order(command: Command, tmp_path: Path) -> None:
    words = ("--select", "R3,R2,E12,E19", "--json", "--quiet")
    alone, shared = (json.loads(command(*words, "--jobs", jobs)[1]) for jobs in (1, 2))
    for check in (*alone["checks"], *shared["checks"]):
        del check["seconds"]
    assert [check["reference"] for check in shared["checks"]] == ["fem.R2", "fem.R3", "fem.E12", "fem.E19"]
    assert alone == shared


def test_an_interrupted_validation_goes_on(command: Command, offered: Offer, made_up: MakeUp, tmp_path: Path) -> None:
    """Finished checks are kept, what could not run and what is new is run."""
    folder = tmp_path / "v"
    ran: list[str] = []

    def counted(name: str, fails: BaseException | None = None) -> Check:
        def compute() -> Measurement:
            ran.append(name)
            if fails is not None:
                raise fails
            return Measurement({"F": 2.0})

        return made_up(name=name, compute=compute)

    offered(counted("one"), counted("two", ValueError("flaky")), counted("three", KeyboardInterrupt()))
    code, _, err = command("--output", folder)
    assert code == 130 and "2 of 3 checks are finished; give the same command with --continue" in err
    assert not (folder / "report.html").exists()
    code, _, err = command("--output", folder)
    assert code == 2 and "a validation is begun, and not finished" in err
    ran.clear()
    offered(counted("one"), counted("two"), counted("three"))
    code, out, err = command("--output", folder, "--continue")
    assert (code, ran) == (0, ["two", "three"]) and "1 of 3 checks are kept" in err
    assert "3 of 3 checks hold" in out


def test_another_catalogue_keeps_nothing(
    command: Command, offered: Offer, made_up: MakeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "v"
    offered(made_up())
    assert command("--output", folder)[0] == 0
    assert "1 of 1 checks are kept" in command("--output", folder, "--continue")[2]
    monkeypatch.setattr("rheotwin.validation.checks.outcome.__version__", "9.9")
    assert "kept" not in command("--output", folder, "--continue")[2]


def test_junit_and_summary_say_what_happened(command: Command, offered: Offer, made_up: MakeUp, tmp_path: Path) -> None:
    folder = tmp_path / "v"
    waiting = made_up(name="later", compute=None, waits_for="needs time")
    offered(
        made_up(),
        made_up(2.5, name="short", identity="truss.R1"),
        made_up(name="ill", fails=ValueError("a|b")),
        waiting,
    )
    assert command("--output", folder)[0] == 2
    suites = ElementTree.parse(folder / "junit.xml").getroot().findall("testsuite")
    assert [(suite.get("name"), suite.get("tests")) for suite in suites] == [("fem", "3"), ("truss", "1")]
    assert [(suite.get("failures"), suite.get("errors"), suite.get("skipped")) for suite in suites] == [
        ("0", "1", "1"),
        ("1", "0", "0"),
    ]
    (failure,) = suites[1].iter("failure")
    assert failure.get("message") == "F: 2 instead of 2.5 N"
    text = (folder / "summary.md").read_text()
    assert text.startswith("## Rheotwin validation **could not run**")
    assert "| `truss.R1` | F | 2.5 N | 2 | 0.5 |" in text and "- `fem.R7` ill: ValueError: a\\|b" in text
