from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheotwin.errors import RheotwinError
from rheotwin.record.probes import ProbeWriter, read_probes

UNITS = {"tool.bar.force_x": "N", "volume.block": "m3"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "probes.csv"


def row(value: float) -> dict[str, float]:
    return {"volume.block": 1.0 + value, "tool.bar.force_x": value}


def test_text_is_what_the_format_says(path: Path) -> None:
    writer = ProbeWriter.create(path, UNITS)
    writer.write(0.5, row(0.1))
    assert path.read_text() == "time [s],tool.bar.force_x [N],volume.block [m3]\n0.5,0.1,1.1\n"


@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_numbers_read_back_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("probes") / "probes.csv"
    writer = ProbeWriter.create(path, UNITS)
    for index, value in enumerate(values):
        writer.write(float(index), {"tool.bar.force_x": value, "volume.block": math.nan})
    writer.close()
    table = read_probes(path)
    assert table.values["tool.bar.force_x"].tobytes() == np.array(values).tobytes()
    assert np.all(np.isnan(table.values["volume.block"]))
    assert table.units == {"time": "s", **UNITS}


def test_rows_are_on_disk_at_once_and_a_repeated_time_is_ignored(path: Path) -> None:
    writer = ProbeWriter.create(path, UNITS)
    assert read_probes(path).values["time"].size == 0
    writer.write(0.0, row(1.0))
    writer.write(0.0, row(2.0))
    writer.write(1e-13, row(3.0))
    writer.write(0.1, row(4.0))
    assert read_probes(path).values["tool.bar.force_x"].tolist() == [1.0, 4.0]


def test_columns_with_commas_and_brackets_survive(path: Path) -> None:
    units = {'a, "b" [c]': "m/s", "time": "s"}
    ProbeWriter.create(path, units).write(0.0, {'a, "b" [c]': 2.0})
    table = read_probes(path)
    assert table.values['a, "b" [c]'].tolist() == [2.0]
    assert table.units == {"time": "s", 'a, "b" [c]': "m/s"}


def test_resume_drops_later_and_cut_off_rows(path: Path) -> None:
    writer = ProbeWriter.create(path, UNITS)
    for index in range(5):
        writer.write(0.1 * index, row(index))
    writer.close()
    with path.open("a") as file:
        file.write("0.5,1")
    writer = ProbeWriter.resume(path, time=0.2)
    writer.write(0.2, row(99.0))
    writer.write(0.3, row(7.0))
    assert read_probes(path).values["time"].tolist() == [0.0, 0.1, 0.2, 0.3]
    assert read_probes(path).values["tool.bar.force_x"].tolist() == [0.0, 1.0, 2.0, 7.0]


def test_missing_and_surplus_values_are_named(path: Path) -> None:
    writer = ProbeWriter.create(path, UNITS)
    with pytest.raises(RheotwinError, match=r"match the manifest in: volume\.block"):
        writer.write(0.0, {"tool.bar.force_x": 1.0})
    with pytest.raises(RheotwinError, match="match the manifest in: colour"):
        writer.write(0.0, {**row(1.0), "colour": 1.0})


def test_a_cut_off_write_leaves_whole_rows(
    path: Path, file_size_limit: Callable[[int], AbstractContextManager[None]]
) -> None:
    writer = ProbeWriter.create(path, UNITS)
    writer.write(0.0, row(1.0))
    before = path.read_bytes()
    with file_size_limit(len(before) + 3), pytest.raises(OSError, match="No space"):
        writer.write(0.1, row(2.0))
    assert path.read_bytes() == before
    writer.write(0.1, row(2.0))
    assert read_probes(path).values["time"].tolist() == [0.0, 0.1]


@pytest.mark.parametrize("text", ["", "time\n0\n", "time [s],a [N]\n0,1\n1\n", "time [s]\nx\n"])
def test_damaged_table_is_one_sentence(path: Path, text: str) -> None:
    with pytest.raises(RheotwinError, match="is missing"):
        read_probes(path)
    path.write_text(text)
    with pytest.raises(RheotwinError, match="is damaged"):
        read_probes(path)
