"""A small scene as raw data, a way to change entries of it, and the faults a change leads to."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from rheotwin.errors import InputFaults
from rheotwin.scene import Scene, scene_from_data

TEXT = """
schema = 1
title = "test"
dimension = 2
duration = 3.0

[laws.gel]
model = "voigt"
young = 300.0
poisson = 0.35
viscosity = 15.0

[laws.dough]
model = "three-element"
young = 30.0
poisson = 0.35
voigt_viscosity = 20.0
series_viscosity = 500.0

[bodies.block]
shape = "box"
size = [8.0, 3.0]
cells = [4, 2]
law = "dough"
mass = 30.0

[supports.floor]
body = "block"
where = { side = "bottom" }

[tools.bar]
shape = "bar"
center = [4.0, 3.0]
normal = [0.0, -2.0]
width = 2.0

[tools.bar.motion]
times = [0.0, 1.0, 2.0]
displacement = [[0.0, 0.0], [0.0, -1.0], [0.0, 0.0]]
angle = [0.0, 0.5, 0.0]

[forces.push]
body = "block"
where = { box = { x = [0.0, 4.0], y = [3.0, 3.0] } }
total = [0.0, -5.0]
times = [0.0, 1.0]
factor = [0.0, 1.0]

[probes.mid]
body = "block"
at = [4.0, 3.0]

[cases.elastic]
laws = { block = "gel" }

[cases.rheological]
laws = { block = "dough" }

[output]
interval = 0.5

[solvers.fem]
step = 0.01
"""


@pytest.fixture
def scene_text() -> str:
    return TEXT


@pytest.fixture
def data() -> dict[str, Any]:
    return tomllib.loads(TEXT)


@pytest.fixture
def edited(data: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the scene's data with entries at dotted places replaced; the value ... removes an entry."""

    def edit(changes: dict[str, Any]) -> dict[str, Any]:
        result = deepcopy(data)
        for place, value in changes.items():
            *path, last = place.split(".")
            table = result
            for key in path:
                table = table.setdefault(key, {})
            if value is ...:
                del table[last]
            else:
                table[last] = value
        return result

    return edit


@pytest.fixture
def scene_with(edited: Callable[..., dict[str, Any]]) -> Callable[[dict[str, Any]], Scene]:
    return lambda changes: scene_from_data(edited(changes))


@pytest.fixture
def faults_of(edited: Callable[..., dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, str]]:
    """Return the faults (place -> sentence) that changes of the scene lead to."""

    def faults(changes: dict[str, Any]) -> dict[str, str]:
        try:
            scene_from_data(edited(changes))
        except InputFaults as error:
            return {fault.place: fault.message for fault in error.faults}
        return {}

    return faults
