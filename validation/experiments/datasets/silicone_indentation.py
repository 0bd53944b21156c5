"""Silicone indentation: ramp, hold and recovery at nearly no force (GPL-3.0: keep apart from the package)."""

from __future__ import annotations

import numpy as np

from rheotwin.validation.experiments.datasets.folder import choice, data_set, numbers
from rheotwin.validation.experiments.record import Course, ExperimentRecord, Punch, Specimen, Uncertainty

NAME = "silicone-indentation"
TESTS = ("P002-1", "P002-4")
SIZE = 0.05
"""The specimen's size [m] is not stated; a block this large around the indenter stands for it."""


def read_silicone_indentation(test: str) -> ExperimentRecord:
    """Return path of the indenter and force on the block, both downwards along -z; the indenter's shape is unknown."""
    rows = numbers(data_set(NAME) / f"{choice(test, TESTS, 'test')}.csv", ("time_s", "force_N", "displacement_mm"))
    path, force = np.zeros((2, len(rows), 3))
    path[:, 2], force[:, 2] = -1e-3 * rows[:, 2], -rows[:, 1]
    return ExperimentRecord(
        id=test,
        kind="measured",
        specimen=Specimen((SIZE,) * 3, up="z", floor="fixed"),
        punch=Punch(shape="other"),
        path=Course(rows[:, 0], path),
        force=Course(rows[:, 0], force),
        uncertainty=Uncertainty(),
        title=f"Indentation of a silicone block, {test}",
        source="github.com/SarahIaquinta/perineal_indentation, GPL-3.0",
        notes="shapes of specimen and indenter are not stated; P002-4 overshoots when it returns to low force",
    )
