"""`rheotwin verify`: table, list, folder, exit codes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin import __version__
from rheotwin.validation.verify.check import Check, Curve, Measurement, Quantity
from rheotwin.validation.verify.folder import refuse_existing
from rheotwin.validation.verify.plots import SPECS, convergence_plots, observed_order
from rheotwin.validation.verify.registry import all_checks
from rheotwin.validation.verify.suite import verify

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def refined() -> Check:
    """A check with a line for the plot: errors 4, 1 at widths 0.2, 0.1."""
    curve = Curve("space-l2", "P1 made-up", (0.2, 0.1), (4.0, 1.0), 2.0)
    measurement = Measurement({"rate": 2.0}, {"rate": 2.0}, (curve,))
    return Check("R9", "refined", "a <refined> mesh", (Quantity("rate", 2.0, 0.1),), compute=lambda: measurement)


def test_table_of_real_checks(command: Command) -> None:
    code, out, _ = command("--select", "R3,r2,E12")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["id", "quantity", "reference", "computed", "error", "order", "ok"]
    assert [line.split()[0] for line in lines if re.match(r"[A-Z]\d", line)] == ["R2", "R3", "E12"]
    assert re.search(r"lambda\s+259\.25926 Pa\s+259\.25926\s+2\.6e-07\s+-\s+ok", out)
    assert lines[-1] == "3 of 3 checks hold"


def test_quick_subset_end_to_end(command: Command, tmp_path: Path) -> None:
    """A real run of several themes with its report."""
    code, out, _ = command("--quick", "--select", "R1,R7,vibrating-bar-midpoint,R14,R17", "--output", tmp_path / "v")
    assert code == 0, out
    data = json.loads((tmp_path / "v" / "verify.json").read_text())
    status = {check["name"]: check["status"] for check in data["checks"]}
    assert status["viscoplastic-force"] == "holds" and status["particles-elastic"] == "not yet"
    assert {"plots/verify-time.png", "plots/verify-cylinder.png"} <= set(data["plots"])
    for name in data["plots"]:
        assert (tmp_path / "v" / name).read_bytes().startswith(b"\x89PNG")


def test_a_broken_reference_makes_exit_code_one(
    command: Command, offered: Callable[..., None], made_up: Callable[..., Check]
) -> None:
    offered(made_up(2.0), made_up(2.5, name="broken"))
    code, out, _ = command()
    assert code == 1
    assert re.search(r"F\s+2\.5 N\s+2\s+0\.5\s+1\.97\s+NO", out)
    assert out.endswith("1 of 2 checks hold, 1 falls short\n")


def test_what_could_not_run_makes_exit_code_two(
    command: Command, offered: Callable[..., None], made_up: Callable[..., Check]
) -> None:
    offered(made_up(fails=ValueError("no pivot")))
    code, out, _ = command()
    assert code == 2
    assert "could not run: R7 made-up: ValueError: no pivot" in out


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
    assert (about["reference"], about["quick"], about["waits_for"]) == ("R14", True, "")
    assert "u(a, 2)" in about["quantities"] and "A2" in about["covers"]


def test_json(command: Command, offered: Callable[..., None], made_up: Callable[..., Check]) -> None:
    offered(made_up(2.0005), made_up(compute=None, waits_for="needs time"))
    code, out, _ = command("--json")
    data = json.loads(out)
    assert code == data["exit_code"] == 0
    assert (data["rheotwin_version"], data["summary"]) == (__version__, "1 of 2 checks hold, 1 is not yet possible")
    first, second = data["checks"]
    assert {"reference", "name", "title", "status", "rows", "message", "seconds", "curves", "covers"} == set(first)
    row = first["rows"][0]
    assert (row["quantity"], row["unit"], row["bound"], row["holds"]) == ("F", "N", "absolute", True)
    assert (row["reference"], row["computed"], row["tolerance"], row["order"]) == (2.0005, 2.0, 1e-3, 1.97)
    assert row["error"] == pytest.approx(5e-4)
    assert (second["status"], second["message"], second["rows"][0]["computed"]) == ("not yet", "needs time", None)


def test_page_is_whole_and_offline(
    command: Command, offered: Callable[..., None], made_up: Callable[..., Check], refined: Check, tmp_path: Path
) -> None:
    offered(refined, made_up(2.5), made_up(compute=None, waits_for="needs time"))
    code, out, _ = command("--output", tmp_path / "v")
    assert code == 1 and out.endswith(f"report: {tmp_path / 'v' / 'report.html'}\n")
    page = (tmp_path / "v" / "report.html").read_text()
    assert "http" not in page and "<script" not in page
    assert page.count("<svg") == 1 and "P1 made-up (2.00)" in page
    assert "a &lt;refined&gt; mesh" in page and "<refined>" not in page
    assert "falls short: R7" in page and "not yet: R7 made-up: needs time" in page
    assert "1 of 3 checks hold, 1 falls short, 1 is not yet possible" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v"]


def test_folder_is_replaced_only_when_ours_and_allowed(
    command: Command, offered: Callable[..., None], made_up: Callable[..., Check], refined: Check, tmp_path: Path
) -> None:
    folder = tmp_path / "v"
    offered(refined)
    assert command("--output", folder)[0] == 0
    (folder / "notes.txt").write_text("mine")
    code, _, err = command("--output", folder)
    assert code == 2 and "already holds a verification" in err
    offered(made_up())
    assert command("--output", folder, "--overwrite")[0] == 0
    assert (folder / "notes.txt").read_text() == "mine"
    assert not list((folder / "plots").iterdir())
    assert "P1 made-up" not in (folder / "report.html").read_text()
    (folder / "verify.json").write_text("{}")
    code, _, err = command("--output", folder, "--overwrite")
    assert code == 2 and "is not a verification" in err


def test_a_file_in_the_way_is_refused_before_anything_runs(
    command: Command, offered: Callable[..., None], made_up: Callable[..., Check], tmp_path: Path
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
    assert plot.name == "verify-space-l2"
    assert plot.alt.endswith("P1 made-up: order 2.00.")


def test_all_flags_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    from rheotwin.__main__ import main

    with pytest.raises(SystemExit):
        main(["verify", "--help"])
    said: Any = capsys.readouterr().out
    assert all(flag in said for flag in ("--select", "--quick", "--list", "--output", "--overwrite", "--json"))
