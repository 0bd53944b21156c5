from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.record.pvd import PvdEntry, PvdIndex, read_pvd, write_pvd


def test_ten_thousand_frames_are_appended_in_place(tmp_path: Path) -> None:
    path = tmp_path / "series.pvd"
    write_pvd(path)
    inode = path.stat().st_ino
    index = PvdIndex(path)
    entries = [PvdEntry(0.1 * i, 0, f"frames/frame-{i:06d}.vtu") for i in range(10_000)]
    for entry in entries:
        index.append([entry])
    index.close()
    assert path.stat().st_ino == inode, "the file was rewritten"
    assert read_pvd(path) == entries


def test_index_is_valid_after_every_frame_and_times_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "series.pvd"
    write_pvd(path)
    index = PvdIndex(path)
    assert read_pvd(path) == []
    bodies, tools = PvdEntry(1 / 3, 0, "frames/a.vtu"), PvdEntry(1 / 3, 1, "frames/<&>.vtp")
    index.append([bodies, tools])
    assert read_pvd(path) == [bodies, tools]


def test_a_cut_off_write_puts_the_old_end_back(
    tmp_path: Path, file_size_limit: Callable[[int], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "series.pvd"
    write_pvd(path)
    index = PvdIndex(path)
    index.append([PvdEntry(0.0, 0, "frames/a.vtu")])
    before = path.read_bytes()
    with file_size_limit(len(before) + 20), pytest.raises(OSError, match="No space"):
        index.append([PvdEntry(0.1, 0, "frames/b.vtu")])
    assert path.read_bytes() == before
    index.append([PvdEntry(0.2, 0, "frames/c.vtu")])
    assert [entry.time for entry in read_pvd(path)] == [0.0, 0.2]


@pytest.mark.parametrize("text", ["", "<VTKFile><Collection>", '<a><DataSet timestep="x" file="f"/></a>'])
def test_damaged_index_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "series.pvd").write_text(text)
    with pytest.raises(RheotwinError, match="is damaged"):
        read_pvd(tmp_path / "series.pvd")
    with pytest.raises(RheotwinError, match="is missing"):
        read_pvd(tmp_path / "other.pvd")
