"""Ecoflex: silicone cylinders compressed by two thirds of their height (CC BY 4.0, Dawood et al. 2026)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.validation.experiments.datasets.folder import choice, data_set, numbers
from rheotwin.validation.experiments.record import Course, ExperimentRecord, Punch, Specimen, Uncertainty

NAME = "ecoflex-compression"
DIAMETER, HEIGHT = 0.050, 0.030
"""The cylinders [m]."""
PHANTOMS = ("EF10_0T", "EF10_50T", "EF30_0T", "EF50_0T")
"""EcoFlex 00-10, the same with 50 % thinner, 00-30, 00-50."""
TESTS = ("A1", "A2", "B1")
"""Specimen A twice, specimen B once."""
_COLUMNS = ("Time (s)", "Compression (mm)", "Load (N)")


def read_ecoflex(phantom: str, test: str) -> ExperimentRecord:
    """Return one test: path of the upper plate and force on the cylinder, which stands on its base, up is z."""
    name = f"{choice(phantom, PHANTOMS, 'phantom')}_{choice(test, TESTS, 'test')}"
    rows = numbers(data_set(NAME) / f"{name}.csv", _COLUMNS, skip=7)
    path, force = np.zeros((2, len(rows), 3))
    path[:, 2], force[:, 2] = -1e-3 * rows[:, 1], -rows[:, 2]
    return ExperimentRecord(
        id=name,
        kind="measured",
        specimen=Specimen((DIAMETER, DIAMETER, HEIGHT), shape="cylinder", up="z", floor=None),
        punch=Punch(shape="plate"),
        path=Course(rows[:, 0], path),
        force=Course(rows[:, 0], force),
        uncertainty=Uncertainty(),
        title=f"Compression of {name}",
        source="github.com/abubakardawood/tissue-phantom-material-database, CC BY 4.0, Dawood et al. (2026)",
        notes="friction at the plates is not known",
    )


def published(phantom: str, law: str = "Neo Hookean") -> tuple[tuple[float, ...], float]:
    """Return the authors' parameters [Pa] of a law, fitted to nominal stress, and the residual S [Pa] they state."""
    path = data_set(NAME) / "hyperelastic_parameters.json"
    try:
        laws: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["engineering"][phantom]
    except (OSError, ValueError, KeyError) as error:
        raise RheotwinError(f"{path.name}: cannot be read ({error}); get the data set again") from error
    found = laws[choice(law, tuple(laws), "law")]
    return tuple(1e3 * value for value in found["parameters"]), 1e3 * float(found["S"])
