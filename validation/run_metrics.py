"""The few numbers that stand for a run: peak forces, displacements and energies at the end, from its record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rheotwin.record import open_record

UNITS = {"peak": "N", "largest": "m", "mean": "m", "kinetic": "J", "stored": "J"}
"""Unit of a metric by the first word of its name."""


def run_metrics(folder: Path) -> dict[str, float]:
    """Return the metrics of a record, by name.

    Peak force [N] of every tool and support over the probe times, largest and mean displacement [m] and energies [J]
    at the end.
    """
    record = open_record(folder)
    probes = record.probes
    parts: dict[str, list[NDArray[np.float64]]] = {}
    for column, samples in probes.items():
        part, _, axis = column.rpartition(".force_")
        if part and axis in ("x", "y", "z"):
            parts.setdefault(part, []).append(samples)
    found = {
        f"peak force, {part}": float(np.linalg.norm(np.stack(forces), axis=0).max()) for part, forces in parts.items()
    }
    moved = np.linalg.norm(record.positions(len(record.times) - 1) - record.rest_positions, axis=1)
    found |= {"largest displacement": float(moved.max()), "mean displacement": float(moved.mean())}
    for name in ("kinetic", "stored"):
        if f"energy.{name}" in probes:
            found[f"{name} energy"] = float(probes[f"energy.{name}"][-1])
    return found
