"""A comparison in its folder: complete or absent, and nothing else touched."""

from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import compare, load_comparison, write, write_comparison


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "draw_pictures", lambda comparison, views: {})


@pytest.fixture
def one_case(press_runs):
    return compare(press_runs[:2]), press_runs[:2]


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
    ]
    assert load_comparison(tmp_path / "out" / "comparison.json") == comparison
    assert {path.name for path in (tmp_path / "out" / "plots").iterdir()} >= {
        "overview-residual.png",
        "elastic-force-bar.png",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_comparison_is_kept_unless_overwriting(one_case, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("earlier")
    with pytest.raises(RheotwinError, match=r"already holds a comparison .*--overwrite"):
        write_comparison(tmp_path, *one_case)
    assert (tmp_path / "report.html").read_text() == "earlier"
    write_comparison(tmp_path, *one_case, overwrite=True)
    assert "<!DOCTYPE html>" in (tmp_path / "report.html").read_text()


def test_a_full_disk_is_one_sentence_and_leaves_no_trace(one_case, tmp_path: Path, monkeypatch) -> None:
    def full(folder: Path, plots: object) -> None:
        folder.mkdir()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_write_plots", full)
    with pytest.raises(RheotwinError, match=r"could not write the comparison to .*No space left on device"):
        write_comparison(tmp_path / "out", *one_case)
    assert list(tmp_path.iterdir()) == []


def test_an_impossible_place_is_one_sentence(one_case, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RheotwinError, match="could not write the comparison"):
        write_comparison(tmp_path / "file" / "out", *one_case)
