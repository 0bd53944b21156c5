from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rheotwin.errors import RheotwinError
from rheotwin.record import load_checkpoint
from rheotwin.record.checkpoint import newest_checkpoint, save_checkpoint

ARRAYS = hnp.arrays(
    dtype=st.sampled_from([np.float64, np.float32, np.int64, np.int16, np.bool_]),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(state=st.dictionaries(st.sampled_from(["file", "a/b", "schema_version", "x"]), ARRAYS))
def test_arrays_come_back_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, state: dict[str, np.ndarray]) -> None:
    path = save_checkpoint(tmp_path_factory.mktemp("c"), 1, state)
    loaded = load_checkpoint(path)
    assert loaded.keys() == state.keys()
    for name, array in state.items():
        assert isinstance(loaded[name], np.ndarray)
        assert (loaded[name].dtype, loaded[name].shape) == (array.dtype, array.shape)
        assert loaded[name].tobytes() == array.tobytes()


def test_plain_values_come_back_as_they_were(tmp_path: Path) -> None:
    state = {"time": 0.1 + 0.2, "step": 7, "touching": True, "name": "bar"}
    loaded = load_checkpoint(save_checkpoint(tmp_path, 7, state))
    assert loaded == state
    assert [type(value) for value in loaded.values()] == [float, int, bool, str]


def test_only_the_last_two_are_kept(tmp_path: Path) -> None:
    for step in (500, 1000, 1500):
        path = save_checkpoint(tmp_path, step, {"step": step})
    assert path.name == "step-000001500.npz"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000001000.npz", "step-000001500.npz"]


def test_checkpoints_of_an_abandoned_future_go(tmp_path: Path) -> None:
    for step in (1000, 2000):
        save_checkpoint(tmp_path, step, {})
    save_checkpoint(tmp_path, 1500, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000001000.npz", "step-000001500.npz"]


@pytest.mark.parametrize("damage", [b"", b"PK", "half", "flip"])
def test_the_newest_readable_one_is_found(tmp_path: Path, damage: Any) -> None:
    good = save_checkpoint(tmp_path, 1, {"x": np.arange(100.0)})
    bad = save_checkpoint(tmp_path, 2, {"x": np.arange(100.0)})
    assert newest_checkpoint(tmp_path) == bad
    data = bytearray(bad.read_bytes())
    if damage == "flip":
        data[data.index(np.float64(50.0).tobytes())] ^= 1
    bad.write_bytes(data[: len(data) // 2] if damage == "half" else data if damage == "flip" else damage)
    with pytest.raises(RheotwinError, match="is damaged"):
        load_checkpoint(bad)
    assert newest_checkpoint(tmp_path) == good
    good.unlink()
    assert newest_checkpoint(tmp_path) is None
    assert newest_checkpoint(tmp_path / "nothing") is None


def test_objects_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RheotwinError, match="'solver' is not an array"):
        save_checkpoint(tmp_path, 1, {"solver": object()})
    assert list(tmp_path.iterdir()) == []


def test_pickles_and_other_schemas_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", schema_version=np.array([{}], dtype=object))
    with pytest.raises(RheotwinError, match="is damaged"):
        load_checkpoint(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", schema_version=np.array(99))
    with pytest.raises(RheotwinError, match="schema version 99"):
        load_checkpoint(tmp_path / "b.npz")
    with pytest.raises(RheotwinError, match="no such checkpoint"):
        load_checkpoint(tmp_path / "c.npz")
