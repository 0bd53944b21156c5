"""Checkpoints: the whole state of a simulation as numbers, no pickle, bit for bit."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.record import atomic
from rheotwin.record.stored import read_checked

CHECKPOINT_SCHEMA = 1
KEPT_CHECKPOINTS = 2

_SCHEMA_KEY = "schema_version"
_SCALARS_KEY = "scalars"
_STATE_PREFIX = "state."


def save_checkpoint(folder: Path, step: int, state: Mapping[str, Any]) -> Path:
    """Write the state after `step` steps atomically and keep the two newest up to it.

    Values are arrays or plain numbers, booleans and texts. Checkpoints of later steps belong to a
    continuation that was given up, and go.
    """
    arrays = {name: np.asarray(value) for name, value in state.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise RheotwinError(f"checkpoint: '{name}' is not an array of numbers; return arrays from save()")
    scalars = [name for name, value in state.items() if isinstance(value, bool | int | float | str)]
    path = folder / f"step-{step:09d}.npz"
    folder.mkdir(exist_ok=True)
    with atomic.atomic_path(path) as partial, partial.open("wb") as file:
        # The prefix keeps names of the state apart from ours and from the arguments of savez.
        np.savez(
            file,
            allow_pickle=False,
            **{_SCHEMA_KEY: np.array(CHECKPOINT_SCHEMA), _SCALARS_KEY: np.array(scalars, dtype=np.str_)},
            **{_STATE_PREFIX + name: array for name, array in arrays.items()},
        )
    _prune(folder, step)
    return path


def load_checkpoint(path: Path, checksum: str | None = None) -> dict[str, Any]:
    """Read a state back: the arrays and plain values that were saved."""
    if not path.is_file():
        raise RheotwinError(f"{path}: there is no such checkpoint; run the scene again")
    data = read_checked(path, checksum, "the checkpoint")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        found = int(stored.pop(_SCHEMA_KEY, 0))
        scalars = set(stored.pop(_SCALARS_KEY).tolist()) if found == CHECKPOINT_SCHEMA else set()
        state = {name.removeprefix(_STATE_PREFIX): array for name, array in stored.items()}
        if found == CHECKPOINT_SCHEMA:
            return {name: array.item() if name in scalars else array for name, array in state.items()}
    # whatever numpy and zip files make of damage
    except (Exception, MemoryError) as error:
        raise RheotwinError(f"{path}: the checkpoint is damaged; resume from an earlier one") from error
    raise RheotwinError(
        f"{path}: the checkpoint has schema version {found}, this Rheotwin reads {CHECKPOINT_SCHEMA}; "
        "resume with the version that wrote it"
    )


def newest_checkpoint(folder: Path, checksums: Mapping[str, str] | None = None) -> Path | None:
    """Return the latest checkpoint that can be read, None if there is none; warn of those that cannot."""
    for path in reversed(_listed(folder)):
        try:
            load_checkpoint(path, (checksums or {}).get(f"{folder.name}/{path.name}"))
        except RheotwinError as error:
            warnings.warn(f"{error}; it is passed over for the one before it", stacklevel=2)
            continue
        return path
    return None


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*.npz"), key=_step_of)


def _step_of(path: Path) -> int:
    digits = path.stem.removeprefix("step-")
    return int(digits) if digits.isdigit() else -1


def _prune(folder: Path, step: int) -> None:
    paths = _listed(folder)
    current = [path for path in paths if _step_of(path) <= step]
    for path in {*paths} - {*current[-KEPT_CHECKPOINTS:]}:
        path.unlink()
