"""OCA shear: a soft adhesive layer, ramps and holds at four rates and one long ramp (MIT, Zhao)."""

from __future__ import annotations

from dataclasses import dataclass

from rheotwin.validation.experiments.datasets.folder import Array, choice, data_set, numbers

NAME = "oca-shear"
THICKNESS, AREA = 0.13e-3, 100e-6
"""The layer: thickness [m] and area [m2]."""
TESTS = (
    "step_relaxation_5-per-min",
    "step_relaxation_2-per-min",
    "step_relaxation_1-per-min",
    "step_relaxation_0p1-per-s",
    "monotonic_0p05-per-s",
)


@dataclass(frozen=True)
class ShearTest:
    """Simple shear over time: `times` (F,) [s], amount of `shear` (F,) [1], nominal shear `stress` (F,) [Pa]."""

    test: str
    times: Array
    shear: Array
    stress: Array


def read_oca_shear(test: str) -> ShearTest:
    """Return one test."""
    path = data_set(NAME) / f"{choice(test, TESTS, 'test')}.csv"
    rows = numbers(path, ("time_s", "shear", "nominal_stress_kPa"))
    return ShearTest(test, rows[:, 0], rows[:, 1], 1e3 * rows[:, 2])
