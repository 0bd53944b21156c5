"""A block of 4 x 2 squares pressed by a bar for 0.4 s: small enough to run hundreds of steps in milliseconds."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from rheotwin.build import build_problem
from rheotwin.loop import Outcome
from rheotwin.problem import Problem
from rheotwin.run import RunRequest, run_scene
from rheotwin.scene import Scene, scene_from_data

TEXT = """
schema = 1
title = "a small press"
dimension = 2
duration = 0.4
gravity = [0.0, -1.0]

[laws.dough]
model = "three-element"
young = 1.0e4
poisson = 0.3
voigt_viscosity = 200.0
series_viscosity = 5.0e3

[bodies.block]
shape = "box"
size = [0.2, 0.1]
cells = [4, 2]
law = "dough"
density = 1000.0

[supports.floor]
body = "block"
where = { side = "bottom" }

[tools.bar]
shape = "bar"
center = [0.1, 0.1]
normal = [0.0, -1.0]
width = 0.1

[tools.bar.motion]
times = [0.0, 0.2, 0.4]
displacement = [[0.0, 0.0], [0.0, -0.01], [0.0, 0.0]]

[probes.tip]
body = "block"
at = [0.1, 0.1]

[output]
interval = 0.1
probe_interval = 0.05
checkpoint_interval = 0.2

[solvers.fem]
step = 1.0e-3

[solvers.truss]
step = 1.0e-3
"""


@pytest.fixture
def data() -> dict[str, Any]:
    return tomllib.loads(TEXT)


@pytest.fixture
def scene_with(data: dict[str, Any]) -> Callable[..., Scene]:
    """Return the scene with entries at dotted places replaced; the value ... removes an entry."""

    def make(changes: dict[str, Any] | None = None, *, base: Path | None = None) -> Scene:
        result = deepcopy(data)
        for place, value in (changes or {}).items():
            *path, last = place.split(".")
            table = result
            for key in path:
                table = table.setdefault(key, {})
            if value is ...:
                del table[last]
            else:
                table[last] = value
        return scene_from_data(result, base=base)

    return make


@pytest.fixture
def problem_with(scene_with: Callable[..., Scene]) -> Callable[..., Problem]:
    return lambda changes=None, **where: build_problem(scene_with(changes, **where))


@pytest.fixture
def run(scene_with: Callable[..., Scene], tmp_path: Path) -> Callable[..., tuple[Path, Outcome]]:
    """Run the (changed) scene into a folder below tmp_path; return the folder and the outcome."""

    def carry_out(
        solver: str, changes: dict[str, Any] | None = None, *, name: str = "run", format: str = "pvd", **how: Any
    ) -> tuple[Path, Outcome]:
        request = RunRequest(scene=scene_with(changes), solver=solver, folder=tmp_path / name, format=format)
        return request.folder, run_scene(request, **how)

    return carry_out


@pytest.fixture(params=["fem", "truss"])
def solver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["pvd", "vtkhdf"])
def series_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)
