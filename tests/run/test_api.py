"""The names of the package: their examples run, results show themselves, and nothing stays on disk unasked."""

import doctest
import gc
import tempfile
from pathlib import Path

import pytest

import rheotwin as rt
from rheotwin import api, shown
from rheotwin.running import RunRequest
from rheotwin.scene import BoxBody, parse_scene
from rheotwin.validation.calibration.twins import twin
from rheotwin.validation.experiments.writer import write_experiment
from tests.conftest import BLAST, QUICK, Data, data, pushed_lump

ROOT = Path(__file__).parents[2]


@pytest.fixture
def aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary folders of the package are made here, and scenes are at hand."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("scenes").symlink_to(ROOT / "scenes")
    return tmp_path


def scene(changes: Data | None = None) -> rt.Scene:
    return rt.Scene(**data(QUICK, changes))


def test_examples_of_the_page_and_of_the_docstrings_run(aside: Path) -> None:
    found = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert (found.failed, found.attempted > 20) == (0, True)
    found = doctest.testmod(api, extraglobs={"rt": rt})
    assert (found.failed, found.attempted > 6) == (0, True)


def test_the_page_lists_every_name_and_each_has_a_docstring() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    for name in set(rt.__all__) - {"__version__", "Record"}:
        assert f"`rt.{name}" in page and getattr(rt, name).__doc__, name


def test_what_a_run_wrote_goes_with_its_result(aside: Path) -> None:
    result = rt.run(scene(), "truss")
    folder = result.folder
    assert folder.is_relative_to(aside) and len(str(result)) < 100
    assert "tool.bar.force_y" in result._repr_html_() and result.plot()._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(rt.RheotwinError, match="there is no probe"):
        result.plot("tool.bar.force_z")
    both = rt.compare(scene(), ["truss"], reference="truss", cases=())
    kept = both.records[0]
    del result, both
    gc.collect()
    assert not folder.exists() and kept.folder.exists(), "a record outlives its comparison"
    del kept
    gc.collect()
    assert [path.name for path in aside.iterdir()] == ["work"]


def test_a_folder_may_be_text_and_is_kept(aside: Path) -> None:
    rt.run(scene(), "truss", folder="kept")
    assert RunRequest(scene(), "truss", "runs/q").folder == Path("runs/q")  # type: ignore[arg-type]
    assert rt.open_record("kept").manifest.status == "complete"
    with pytest.raises(rt.RheotwinError, match="kept"):
        rt.run(scene(), "truss", folder="kept")
    assert (rt.sweep(scene(), {"laws.dough.young": [1e4]}, ["truss"], folder="grid").rows) and Path(
        "grid/sweep.csv"
    ).is_file()


@pytest.mark.filterwarnings("ignore:forces.blast")
def test_a_run_that_fails_leaves_nothing_and_one_that_diverges_its_record(aside: Path) -> None:
    with pytest.raises(rt.RheotwinError, match="unknown option"):
        rt.run(scene(), "truss", options={"stp": 1.0})
    assert [path.name for path in aside.iterdir()] == ["work"]
    with pytest.warns(UserWarning, match="diverged"):
        assert "diverged" in str(rt.run(scene(BLAST), "truss"))


def test_scenes_made_in_python_are_filled_in_and_checked_like_those_of_files(aside: Path) -> None:
    made = data(QUICK)
    box = BoxBody(**made["bodies"]["block"])
    assert rt.Scene(**{**made, "bodies": {"block": box}}) == scene() == parse_scene(scene().to_toml(), base=aside)
    with pytest.raises(ValueError, match="no law is named 'dugh'"):
        rt.Scene(**{**made, "bodies": {"block": box.model_copy(update={"law": "dugh"})}})
    mesh = rt.load_scene("scenes/mixed-press-3d.toml")
    assert rt.load_scene(mesh.write(aside / "elsewhere.toml")).bodies.keys() == mesh.bodies.keys()


def test_a_calibration_returns_its_scene(aside: Path) -> None:
    push = rt.Scene(**pushed_lump())
    write_experiment(Path("pushed"), twin(push, "truss", [0.5, 1.4, 2.0], seed=1, points=500)[0])
    found = rt.calibrate(push, "pushed", 30, seeds=1, folder="result")
    assert found.rows[0]["low"] < found.rows[0]["value"] == rt.load_scene("result/calibrated.toml").laws["dough"].young
    assert "calibrated" in str(found)


def test_a_missing_package_is_one_sentence() -> None:
    with pytest.raises(rt.RheotwinError, match="pip install no_such_package"):
        shown.wanted("no_such_package")
