"""A comparison in its folder: complete or absent, and nothing else touched."""

import dataclasses
from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import compare, compare_records, load_comparison, write_comparison
from rheotwin.validation.report import write


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "draw_pictures", lambda comparison, views: {})


@pytest.fixture
def one_case(press_runs):
    return compare(press_runs[:2]), press_runs[:2]


def record(folder: Path) -> None:
    """Make what counts as a record of ours."""
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"rheotwin_version": "0.1.0"}')


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_json_plots_and_page_are_written_beside_what_is_there(one_case, tmp_path: Path) -> None:
    (tmp_path / "out" / "runs").mkdir(parents=True)
    comparison, views = one_case
    page = write_comparison(tmp_path / "out", comparison, views)
    assert page == tmp_path / "out" / "report.html"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "comparison.json",
        "plots",
        "report.html",
        "runs",
        "summary.md",
    ]
    plots = {f"plots/{path.name}" for path in (tmp_path / "out" / "plots").iterdir()}
    assert plots >= {"plots/overview-residual.png", "plots/elastic-force-bar.png"}
    written = load_comparison(tmp_path / "out" / "comparison.json")
    assert set(written.plots) == plots
    assert dataclasses.replace(written, plots=()) == comparison
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_comparison_is_kept_unless_overwriting(one_case, tmp_path: Path) -> None:
    write_comparison(tmp_path, *one_case)
    before = contents(tmp_path)
    with pytest.raises(RheotwinError, match=r"already holds a comparison; .*--overwrite"):
        write_comparison(tmp_path, *one_case)
    assert contents(tmp_path) == before


def test_an_overwrite_removes_what_the_earlier_comparison_wrote_and_nothing_else(
    one_case, press_runs, tmp_path: Path
) -> None:
    record(tmp_path / "runs" / "old-fem")
    record(tmp_path / "runs" / "old-truss")
    record(tmp_path / "runs" / "mine")
    comparison = dataclasses.replace(compare(press_runs[2:4]), records=("runs/old-fem", "runs/old-truss"))
    write_comparison(tmp_path, comparison, press_runs[2:4])
    theirs = {"plots/photo.png": "photo", "notes.txt": "notes", "runs/old-truss/remark.txt": "remark"}
    for name, text in theirs.items():
        (tmp_path / name).write_text(text)
    write_comparison(tmp_path, *one_case, overwrite=True)
    after = contents(tmp_path)
    assert {name: after[name] for name in theirs} == {name: text.encode() for name, text in theirs.items()}
    assert not any("rheological" in name for name in after), "plots of the earlier comparison"
    assert not (tmp_path / "runs" / "old-fem").exists()
    assert {name for name in after if name.startswith("runs/")} == {
        "runs/old-truss/remark.txt",
        "runs/mine/manifest.json",
    }


def test_a_listing_does_not_lead_out_of_the_folder(one_case, tmp_path: Path) -> None:
    out = tmp_path / "out"
    record(tmp_path / "precious")
    (tmp_path / "precious.png").write_text("photo")
    lies = dataclasses.replace(one_case[0], plots=("../../precious.png",), records=("../../precious", ".."))
    out.mkdir()
    (out / "comparison.json").write_text(lies.to_json())
    write_comparison(out, *one_case, overwrite=True)
    assert (tmp_path / "precious.png").exists() and (tmp_path / "precious" / "manifest.json").exists()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "files",
    [
        {"plots/photo.png": "photo"},
        {"report.html": "thesis"},
        {"comparison.json": '{"apples": "pears"}'},
        {"comparison.json": "[]"},
        {"manifest.json": '{"rheotwin_version": "0.1.0"}'},
        {"runs/monday/log.txt": "ran 5 km"},
        {"runs/fem/manifest.json": '{"rheotwin_version": "0.1.0"}', "notes.txt": "notes"},
    ],
    ids=["plots", "page", "json", "list", "record", "other-runs", "runs-and-notes"],
)
def test_a_folder_that_is_no_comparison_is_refused(
    one_case, tmp_path: Path, files: dict[str, str], overwrite: bool
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(
        RheotwinError, match=r"not empty and is not a comparison .* choose another folder with --output"
    ):
        write_comparison(tmp_path, *one_case, overwrite=overwrite)
    assert contents(tmp_path) == {name: text.encode() for name, text in files.items()}


def test_files_that_came_up_beside_the_runs_do_not_cost_the_report(one_case, tmp_path: Path) -> None:
    record(tmp_path / "runs" / "fem")
    (tmp_path / "notes.txt").write_text("notes")
    comparison, views = one_case
    page = write_comparison(tmp_path, dataclasses.replace(comparison, records=("runs/fem",)), views)
    assert page.is_file() and (tmp_path / "notes.txt").read_text() == "notes"
    assert (tmp_path / "runs" / "fem" / "manifest.json").exists()


def test_a_foreign_page_beside_the_runs_is_not_overwritten(one_case, tmp_path: Path) -> None:
    record(tmp_path / "runs" / "fem")
    (tmp_path / "report.html").write_text("thesis")
    comparison, views = one_case
    with pytest.raises(RheotwinError, match="is not a comparison of Rheotwin"):
        write_comparison(tmp_path, dataclasses.replace(comparison, records=("runs/fem",)), views, overwrite=True)
    assert (tmp_path / "report.html").read_text() == "thesis"


def test_a_full_disk_is_one_sentence_and_leaves_no_trace(one_case, tmp_path: Path, monkeypatch) -> None:
    def full(folder: Path, plots: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_write_plots", full)
    with pytest.raises(RheotwinError, match=r"could not write the comparison to .*No space left on device"):
        write_comparison(tmp_path / "out", *one_case)
    assert list(tmp_path.iterdir()) == []


def test_an_impossible_place_is_one_sentence(one_case, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(RheotwinError, match=rf"--output {out}: .*file is a file, not a folder; choose another"):
            write_comparison(out, *one_case, overwrite=True)


def test_methods_of_one_solver_go_by_their_names(make_run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = {
        tmp_path / name: make_run(solver, "elastic") for name, solver in (("a", "fem"), ("b", "truss"), ("c", "truss"))
    }
    monkeypatch.setattr("rheotwin.record.open_record", lambda folder: folder)
    monkeypatch.setattr(write, "view_of", runs.__getitem__)
    names = {tmp_path / "c": "lattice"}
    page = compare_records(list(runs), tmp_path / "out", reference="lattice", names=names)
    (case,) = load_comparison(page.parent / "comparison.json").cases
    assert [run.label for run in case.runs] == ["fem", "truss", "lattice"]
    assert case.reference == "lattice"
