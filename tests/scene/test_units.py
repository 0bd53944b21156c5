"""Units: the same scene written in other units is the same scene."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import pytest

from rheotwin.scene import Quantity, Scene, Units, scene_from_data
from rheotwin.scene.units import EXPONENTS

ScenesFrom = Callable[[dict[str, Any]], Scene]

SI: dict[str, Any] = {
    "schema": 1,
    "dimension": 2,
    "thickness": 0.5,
    "gravity": [0.0, -9.81],
    "duration": 4.0,
    "laws": {
        "a": {
            "model": "three-element",
            "young": 3e4,
            "poisson": 0.3,
            "voigt_viscosity": 200.0,
            "series_viscosity": {"bulk": 700.0, "shear": 500.0},
        },
        "b": {
            "model": "generalized-maxwell",
            "poisson": 0.3,
            "units": [{"young": 1e4, "viscosity": 10.0}, {"lame": 2e4, "shear": 1e4, "viscosity": 20.0}],
            "equilibrium": 100.0,
        },
    },
    "bodies": {
        "box": {
            "shape": "box",
            "size": [0.8, 0.3],
            "cells": [4, 2],
            "law": "a",
            "density": 1100.0,
            "origin": [0.1, 0.2],
            "rotation": pi / 6,
        },
        "grid": {
            "shape": "grid",
            "coordinates": [[0.0, 0.1, 0.3], [0.0, 0.2]],
            "law": "b",
            "mass": 3.0,
        },
    },
    "supports": {"s": {"body": "box", "where": {"box": {"x": [0.0, 0.4]}}}},
    "tools": {
        "bar": {
            "shape": "bar",
            "center": [0.4, 0.3],
            "normal": [0.0, -1.0],
            "width": 0.2,
            "motion": {
                "times": [0.0, 1.0],
                "displacement": [[0.0, 0.0], [0.0, -0.1]],
                "angle": [0.0, pi / 2],
            },
        }
    },
    "forces": {"f": {"body": "box", "where": {"nearest": [0.1, 0.2]}, "total": [5.0, 1.0]}},
    "probes": {"p": {"body": "box", "at": [0.3, 0.4]}},
    "output": {"adaptive": {"shortest": 0.01, "longest": 0.5, "change": 0.001}, "probe_interval": 0.1},
    "solvers": {"fem": {"step": 0.001}},
}


def numbers(value: Any, place: str = "") -> dict[str, float]:
    """Return every number of nested data by its place."""
    if isinstance(value, dict):
        return {k: v for key, entry in value.items() for k, v in numbers(entry, f"{place}.{key}").items()}
    if isinstance(value, list):
        return {k: v for key, entry in enumerate(value) for k, v in numbers(entry, f"{place}.{key}").items()}
    return {place: value} if isinstance(value, int | float) else {}


def written_in(data: dict[str, Any], units: Units) -> dict[str, Any]:
    """Write the SI scene in other units, by hand: every place with its unit."""
    length, mass, time, angle = 1e-2, 1e-3, 1e-3, pi / 180
    pressure = mass / (length * time**2) if units.pressure is None else 1e3
    force = mass * length / time**2 if units.force is None else 1e-3
    density = mass / length**3 if units.density is None else 1.0
    sizes = {
        ".thickness": length,
        ".gravity": length / time**2,
        ".duration": time,
        ".young": pressure,
        ".lame": pressure,
        "a.shear": pressure,
        ".units.1.shear": pressure,
        ".equilibrium": pressure,
        "viscosity": pressure * time,
        "series_viscosity.bulk": pressure * time,
        "series_viscosity.shear": pressure * time,
        ".size": length,
        ".coordinates": length,
        ".density": density,
        ".origin": length,
        ".rotation": angle,
        ".mass": mass,
        ".where.box.x": length,
        ".where.nearest": length,
        ".center": length,
        ".width": length,
        ".times": time,
        ".displacement": length,
        ".angle": angle,
        ".total": force,
        ".at": length,
        ".shortest": time,
        ".longest": time,
        ".change": length,
        ".probe_interval": time,
    }

    def convert(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {key: convert(entry, f"{place}.{key}") for key, entry in value.items()}
        if isinstance(value, list):
            return [
                convert(entry, place if isinstance(entry, int | float | list) else f"{place}.{i}")
                for i, entry in enumerate(value)
            ]
        size = next((size for end, size in sizes.items() if place.endswith(end)), 1.0)
        return value if size == 1.0 or isinstance(value, str) else value / size

    return {**convert(data, ""), "units": units.model_dump(exclude_none=True)}


@pytest.mark.parametrize(
    "units",
    [
        Units(length="cm", mass="g", time="ms", angle="deg"),
        Units(length="cm", mass="g", time="ms", angle="deg", pressure="kPa", force="mN", density="kg/m3"),
    ],
    ids=["derived", "named"],
)
def test_the_same_scene_in_other_units(units: Units) -> None:
    expected = numbers(scene_from_data(SI).model_dump(mode="json"))
    found = numbers(scene_from_data(written_in(SI, units)).model_dump(mode="json"))
    assert found.keys() == expected.keys()
    # a number is converted by at most a handful of roundings: 1e-12 is thousands of them
    for place, value in expected.items():
        assert found[place] == pytest.approx(value, rel=1e-12, abs=1e-300), place


def test_converted_scenes_are_in_si_and_are_not_converted_twice() -> None:
    scene = scene_from_data({**SI, "units": {"length": "cm"}})
    assert scene.units == Units()
    assert Scene.model_validate(scene.model_dump(mode="json")) == scene


def test_defaults_are_si_whatever_the_file_uses(scene_with: ScenesFrom) -> None:
    assert scene_with({"units.length": "mm"}).thickness == 1.0


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("m", 1e-2),
        ("m2", 1e-4),
        ("kg", 1e-3),
        ("s", 60.0),
        ("rad", pi / 180),
        ("Pa", 1e-3 / (1e-2 * 3600)),
        ("Pa s", 1e-3 / (1e-2 * 60)),
        ("N", 1e-3 * 1e-2 / 3600),
        ("kg/m3", 1e3),
        ("m/s2", 1e-2 / 3600),
        ("m/s", 1e-2 / 60),
        ("rad/s", pi / 180 / 60),
        ("N m", 1e-3 * 1e-4 / 3600),
        ("N/m", 1e-3 / 3600),
        ("N s/m", 1e-3 / 60),
        ("N/(m s)", 1e-3 / 60**3),
        ("kg m2", 1e-3 * 1e-4),
        ("1", 1.0),
    ],
)
def test_factors_of_derived_units(unit: str, factor: float) -> None:
    units = Units(length="cm", mass="g", time="min", angle="deg")
    assert Quantity(unit).factor(units) == pytest.approx(factor, rel=1e-14)
    assert Quantity(unit).factor(Units()) == 1.0


def test_every_unit_has_a_factor_test() -> None:
    assert len(EXPONENTS) == 18


def test_named_units_override_derived_ones() -> None:
    units = Units(length="cm", mass="g", time="ms", pressure="kPa", force="kN", density="g/cm3")
    factors = [Quantity(unit).factor(units) for unit in ("Pa", "Pa s", "N", "kg/m3")]
    np.testing.assert_allclose(factors, [1e3, 1.0, 1e3, 1e3], rtol=1e-14)
