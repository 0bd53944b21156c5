"""Units: the same scene written in other units is the same scene."""

from math import pi
from typing import Any

import numpy as np
import pytest

from rheotwin.scene import Quantity, Scene, Units, scene_from_data
from rheotwin.scene.units import EXPONENTS
from tests.conftest import Data, scene_with

DASHPOTS = {"voigt_viscosity": 200.0, "series_viscosity": {"bulk": 700.0, "shear": 500.0}}
ARMS = [{"young": 1e4, "viscosity": 10.0}, {"lame": 2e4, "shear": 1e4, "viscosity": 20.0}]
BOX = {"shape": "box", "size": [0.8, 0.3], "cells": [4, 2], "law": "a", "density": 1100.0}
GRID = {"shape": "grid", "coordinates": [[0.0, 0.1, 0.3], [0.0, 0.2]], "law": "b", "mass": 3.0}
MOTION = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.1]], "angle": [0.0, pi / 2]}
BAR = {"shape": "bar", "center": [0.4, 0.3], "normal": [0.0, -1.0], "width": 0.2, "motion": MOTION}
SI: Data = {
    "schema": 1,
    "dimension": 2,
    "thickness": 0.5,
    "gravity": [0.0, -9.81],
    "duration": 4.0,
    "laws": {
        "a": {"model": "three-element", "young": 3e4, "poisson": 0.3, **DASHPOTS},
        "b": {"model": "generalized-maxwell", "poisson": 0.3, "units": ARMS, "equilibrium": 100.0},
    },
    "bodies": {"box": {**BOX, "origin": [0.1, 0.2], "rotation": pi / 6}, "grid": GRID},
    "supports": {"s": {"body": "box", "where": {"box": {"x": [0.0, 0.4]}}}},
    "tools": {"bar": BAR},
    "forces": {"f": {"body": "box", "where": {"nearest": [0.1, 0.2]}, "total": [5.0, 1.0]}},
    "probes": {"p": {"body": "box", "at": [0.3, 0.4]}},
    "output": {"adaptive": {"shortest": 0.01, "longest": 0.5, "change": 0.001}, "probe_interval": 0.1},
    "solvers": {"fem": {"step": 0.001}},
}


def numbers(value: Any, place: str = "") -> dict[str, float]:
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, entry in entries for k, v in numbers(entry, f"{place}.{key}").items()}
    return {place: value} if isinstance(value, int | float) else {}


def written_in(units: Units) -> Data:
    """Write the SI scene in other units, by hand: every end of a place with its unit."""
    length, mass, time, angle = 1e-2, 1e-3, 1e-3, pi / 180
    pressure = mass / (length * time**2) if units.pressure is None else 1e3
    named = units.pressure is not None
    # what is derived and not named in [units] says its unit: a bare number would have two readings
    table: list[tuple[float, str | None, tuple[str, ...]]] = [
        (length, None, (".thickness", ".size", ".coordinates", ".origin", ".where.box.x", ".where.nearest", ".center")),
        (length, None, (".width", ".displacement", ".at", ".change")),
        (time, None, (".duration", ".times", ".shortest", ".longest", ".probe_interval")),
        (
            pressure * time,
            None if named else "g/(cm ms)",
            ("viscosity", "series_viscosity.bulk", "series_viscosity.shear"),
        ),
        (pressure, None if named else "g/(cm ms2)", (".young", ".lame", ".units.1.shear", ".equilibrium")),
        (angle, None, (".rotation", ".angle")),
        (length / time**2, "cm/ms2", (".gravity",)),
        (mass, None, (".mass",)),
        (1.0 if named else mass / length**3, None if named else "g/cm3", (".density",)),
        (1e-3 if named else mass * length / time**2, None if named else "g cm/ms2", (".total",)),
    ]

    def convert(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {key: convert(entry, f"{place}.{key}") for key, entry in value.items()}
        if isinstance(value, list):
            tables = [f"{place}.{i}" if isinstance(entry, dict) else place for i, entry in enumerate(value)]
            return [convert(entry, where) for entry, where in zip(value, tables, strict=True)]
        size, word = next(((size, word) for size, word, ends in table if place.endswith(ends)), (1.0, None))
        if size == 1.0 or isinstance(value, str):
            return value
        return value / size if word is None else f"{value / size!r} {word}"

    return {**convert(SI, ""), "units": units.model_dump(exclude_none=True)}


@pytest.mark.parametrize("named", [{}, {"pressure": "kPa", "force": "mN", "density": "kg/m3"}])
def test_the_same_scene_in_other_units(named: dict[str, Any]) -> None:
    units = Units(length="cm", mass="g", time="ms", angle="deg", **named)
    expected, found = (numbers(scene_from_data(scene).model_dump(mode="json")) for scene in (SI, written_in(units)))
    # a number is converted by at most a handful of roundings: 1e-12 is thousands of them
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_converted_scenes_are_in_si_and_are_not_converted_twice() -> None:
    units = {"length": "cm", "pressure": "Pa", "force": "N", "density": "kg/m3"}
    scene = scene_from_data(SI | {"units": units, "gravity": ["0 m/s2", "-9.81 m/s2"]})
    assert scene.units == Units() and Scene.model_validate(scene.model_dump(mode="json")) == scene
    assert scene_with({"units": units, "gravity": []}).thickness == 1.0, "defaults are SI"


FACTORS = {
    "m": 1e-2,
    "m2": 1e-4,
    "kg": 1e-3,
    "s": 60.0,
    "rad": pi / 180,
    "Pa": 1e-3 / (1e-2 * 3600),
    "Pa s": 1e-3 / (1e-2 * 60),
    "N": 1e-3 * 1e-2 / 3600,
    "kg/m3": 1e3,
    "m/s2": 1e-2 / 3600,
    "m/s": 1e-2 / 60,
    "rad/s": pi / 180 / 60,
    "N m": 1e-3 * 1e-4 / 3600,
    "N/m": 1e-3 / 3600,
    "N s/m": 1e-3 / 60,
    "N/(m s)": 1e-3 / 60**3,
    "kg m2": 1e-3 * 1e-4,
    "1/s": 1 / 60,
    "1": 1.0,
}


def test_factors_of_derived_and_named_units() -> None:
    units = Units(length="cm", mass="g", time="min", angle="deg")
    assert FACTORS.keys() == EXPONENTS.keys()
    for unit, factor in FACTORS.items():
        assert Quantity(unit).factor(units) == pytest.approx(factor, rel=1e-14), unit
        assert Quantity(unit).factor(Units()) == 1.0
    units = Units(length="cm", mass="g", time="ms", pressure="kPa", force="kN", density="g/cm3")
    factors = [Quantity(unit).factor(units) for unit in ("Pa", "Pa s", "N", "kg/m3")]
    np.testing.assert_allclose(factors, [1e3, 1.0, 1e3, 1e3], rtol=1e-14)
