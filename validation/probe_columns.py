"""Where a quantity lives among the probe columns of a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
AXES = ("x", "y", "z")
FORCE_KINDS = ("tool", "support")
"""Who can exchange a force with a body, the more telling first."""


def names_with(probes: Mapping[str, Array], kind: str, quantity: str) -> tuple[str, ...]:
    """Return the names N, in column order, for which `kind.N.quantity_x` (or _y, _z) exists."""
    found: dict[str, None] = {}
    for column in probes:
        parts = column.split(".")
        if len(parts) == 3 and parts[0] == kind and parts[2].rpartition("_")[0] == quantity:
            found[parts[1]] = None
    return tuple(found)


def vector(probes: Mapping[str, Array], kind: str, name: str, quantity: str) -> Array:
    """Return `kind.name.quantity_x/_y/_z` as (rows, 3), absent components zero."""
    columns = [probes.get(f"{kind}.{name}.{quantity}_{axis}") for axis in AXES]
    rows = next(len(column) for column in columns if column is not None)
    return np.stack([np.zeros(rows) if column is None else column for column in columns], axis=1)


def force_sources(probes: Mapping[str, Array]) -> tuple[tuple[str, str], ...]:
    """Return (kind, name) of what exchanges a force with the bodies: the tools, else the supports."""
    for kind in FORCE_KINDS:
        if names := names_with(probes, kind, "force"):
            return tuple((kind, name) for name in names)
    return ()


def main_axis(values: Array) -> int:
    """Return the component (0, 1, 2) that reaches the largest magnitude in (rows, 3)."""
    return int(np.argmax(np.abs(values).max(axis=0)))


def bodies_with_volume(probes: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the bodies whose volume is probed, in column order."""
    return tuple(column.removeprefix("volume.") for column in probes if column.startswith("volume."))
