"""A comparison in its folder: complete or absent, and nothing else touched."""

import dataclasses
from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import compare, compare_records, load_comparison, write_comparison
from rheotwin.validation.report import write
from rheotwin.validation.report.plots import colour_bar

OURS = '{"rheotwin_version": "0.1.0"}'


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """One small plot stands for all those of a case; `test_page` draws everything."""
    plot = colour_bar("overview", "GnBu", (0.0, 1.0), "x")
    monkeypatch.setattr(write, "draw_pictures", lambda comparison, views: {})
    monkeypatch.setattr(write, "overview_plots", lambda comparison, plots: (plot,))
    monkeypatch.setattr(
        write, "case_plots", lambda comparison, case, runs: (dataclasses.replace(plot, name=f"{case.case}-force"),)
    )


@pytest.fixture
def one_case(press_runs):
    return compare(press_runs[:2]), press_runs[:2]


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): p.read_bytes().decode(errors="replace") for p in folder.rglob("*") if p.is_file()
    }


def test_what_is_written_is_kept_unless_overwritten(one_case, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "runs").mkdir(parents=True)
    comparison, views = one_case
    assert write_comparison(out, comparison, views) == out / "report.html"
    plots = {"plots/overview.png", "plots/elastic-force.png"}
    assert set(contents(out)) == {"comparison.json", "report.html", "summary.md", *plots} and (out / "runs").is_dir()
    written = load_comparison(out / "comparison.json")
    assert set(written.plots) == plots and dataclasses.replace(written, plots=()) == comparison
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    before = contents(out)
    with pytest.raises(RheotwinError, match=r"already holds a comparison; .*--overwrite"):
        write_comparison(out, comparison, views)
    assert contents(out) == before


def test_an_overwrite_removes_what_the_earlier_comparison_wrote_and_nothing_else(
    one_case, press_runs, tmp_path: Path
) -> None:
    put(tmp_path, {f"runs/{name}/manifest.json": OURS for name in ("old-fem", "old-truss", "mine")})
    comparison = dataclasses.replace(compare(press_runs[2:4]), records=("runs/old-fem", "runs/old-truss"))
    write_comparison(tmp_path, comparison, press_runs[2:4])
    theirs = {"plots/photo.png": "photo", "notes.txt": "notes", "runs/old-truss/remark.txt": "remark"}
    put(tmp_path, theirs)
    write_comparison(tmp_path, *one_case, overwrite=True)
    after = contents(tmp_path)
    assert {name: after[name] for name in theirs} == theirs
    assert not any("rheological" in name for name in after), "plots of the earlier comparison"
    assert not (tmp_path / "runs" / "old-fem").exists()
    left = {name for name in after if name.startswith("runs/")}
    assert left == {"runs/old-truss/remark.txt", "runs/mine/manifest.json"}


def test_a_listing_does_not_lead_out_of_the_folder(one_case, tmp_path: Path) -> None:
    precious = {"precious/manifest.json": OURS, "precious.png": "photo"}
    put(tmp_path, precious)
    lies = dataclasses.replace(one_case[0], plots=("../../precious.png",), records=("../../precious", ".."))
    put(tmp_path, {"out/comparison.json": lies.to_json()})
    write_comparison(tmp_path / "out", *one_case, overwrite=True)
    assert precious.items() <= contents(tmp_path).items()


@pytest.mark.parametrize(
    "files",
    [
        {"plots/photo.png": "photo"},
        {"report.html": "thesis"},
        {"comparison.json": '{"apples": "pears"}'},
        {"comparison.json": "[]"},
        {"manifest.json": OURS},
        {"runs/monday/log.txt": "ran 5 km"},
        {"runs/fem/manifest.json": OURS, "notes.txt": "notes"},
    ],
    ids=["plots", "page", "json", "list", "record", "other-runs", "runs-and-notes"],
)
def test_a_folder_that_is_no_comparison_is_refused(one_case, tmp_path: Path, files: dict[str, str]) -> None:
    put(tmp_path, files)
    for overwrite in (False, True):
        with pytest.raises(RheotwinError, match=r"not empty and is not a comparison .* another folder with --output"):
            write_comparison(tmp_path, *one_case, overwrite=overwrite)
    assert contents(tmp_path) == files


def test_only_a_foreign_page_beside_the_runs_costs_the_report(one_case, tmp_path: Path) -> None:
    files = {"runs/fem/manifest.json": OURS, "notes.txt": "notes"}
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    put(mine, files)
    put(theirs, files | {"report.html": "thesis"})
    comparison, views = dataclasses.replace(one_case[0], records=("runs/fem",)), one_case[1]
    assert write_comparison(mine, comparison, views).is_file() and files.items() <= contents(mine).items()
    with pytest.raises(RheotwinError, match="is not a comparison of Rheotwin"):
        write_comparison(theirs, comparison, views, overwrite=True)
    assert (theirs / "report.html").read_text() == "thesis"


def test_full_disks_and_impossible_places_are_one_sentence(one_case, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(RheotwinError, match=rf"--output {out}: .*file is a file, not a folder; choose another"):
            write_comparison(out, *one_case, overwrite=True)

    def full(folder: Path, plots: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_write_plots", full)
    with pytest.raises(RheotwinError, match=r"could not write the comparison to .*No space left on device"):
        write_comparison(tmp_path / "out", *one_case)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_methods_of_one_solver_go_by_their_names(make_run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = {tmp_path / str(at): make_run(solver, "elastic") for at, solver in enumerate(("fem", "truss", "truss"))}
    monkeypatch.setattr("rheotwin.record.open_record", lambda folder: folder)
    monkeypatch.setattr(write, "view_of", runs.__getitem__)
    page = compare_records(list(runs), tmp_path / "out", reference="lattice", names={tmp_path / "2": "lattice"})
    (case,) = load_comparison(page.parent / "comparison.json").cases
    assert [run.label for run in case.runs] == ["fem", "truss", "lattice"] and case.reference == "lattice"
