from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.record import RecordWriter, check_output_folder, open_record
from rheotwin.record.folder import new_record_folder


def test_existing_record_is_kept_unless_overwritten(
    start: Callable[..., RecordWriter], write_frames: Callable[..., None], tmp_path: Path
) -> None:
    writer = start()
    write_frames(writer)
    writer.close()
    note = tmp_path / "run" / "notes.txt"
    note.write_text("mine")
    with pytest.raises(RheotwinError, match="add --overwrite"):
        start()
    assert len(open_record(tmp_path / "run").times) == 4
    start(overwrite=True).close()
    record = open_record(tmp_path / "run")
    assert len(record.times) == 0
    assert record.checkpoint_path is None
    assert note.read_text() == "mine"


@pytest.mark.parametrize("content", [None, "{}", "not json", json.dumps({"name": "a browser extension"})])
def test_foreign_folder_is_never_touched(
    start: Callable[..., RecordWriter], tmp_path: Path, content: str | None
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "series.pvd").write_text("precious")
    if content is not None:
        (folder / "manifest.json").write_text(content)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(RheotwinError, match="is not a record"):
        start(overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "series.pvd").read_text() == "precious"


def test_empty_folder_is_used(start: Callable[..., RecordWriter], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    start().close()
    assert open_record(tmp_path / "run").manifest.status == "running"


def test_a_file_in_the_way_is_named(start: Callable[..., RecordWriter], tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(RheotwinError, match="is a file, not a folder"):
        start()
    with pytest.raises(RheotwinError, match=r"could not create the record .*Not a directory"):
        start(tmp_path / "run" / "deeper")
    assert (tmp_path / "run").read_text() == "a file"


def test_unwritable_place_is_one_sentence(start: Callable[..., RecordWriter]) -> None:
    # Not even the superuser can make a folder in /proc.
    with pytest.raises(RheotwinError, match="could not create the record /proc/rheotwin/run: ") as caught:
        start(Path("/proc/rheotwin/run"))
    assert "\n" not in str(caught.value)


def test_check_changes_nothing(tmp_path: Path) -> None:
    check_output_folder(tmp_path / "a" / "b", overwrite=False)
    assert not (tmp_path / "a").exists()


def test_failed_creation_leaves_nothing_behind(
    start: Callable[..., RecordWriter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rheotwin.record.writer.ProbeWriter.create", fail)
    with pytest.raises(RheotwinError, match="No space left on device; choose a folder"):
        start(tmp_path / "new" / "deep" / "run")
    assert list(tmp_path.iterdir()) == []


def test_failed_creation_keeps_folders_that_were_there(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(ZeroDivisionError), new_record_folder(tmp_path / "there" / "run", overwrite=False):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]
    assert list((tmp_path / "there").iterdir()) == []
