"""Scenes with laws of contact for the finite-element solver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import skfem

from rheotwin.solver import Simulation

Data = dict[str, Any]
Scene = Callable[..., Data]
Start = Callable[..., Simulation]


@pytest.fixture
def on_floor(scene: Scene) -> Scene:
    """A 1 x 0.5 block, or a given one, on a plane at height zero."""

    def build(law: Data, contact: Data, *, size: list[float] | None = None, **more: Any) -> Data:
        size = size or [1.0, 0.5]
        rest, up = [0.0] * len(size), [*[0.0] * (len(size) - 1), 1.0]
        floor = {"shape": "plane", "center": rest, "normal": up}
        floor |= more.pop("floor", {})
        return scene(law, size=size, tools={"floor": floor}, contact=contact, **more)

    return build


@pytest.fixture
def two_blocks() -> Scene:
    """Two boxes `lower` and `upper` of the same law; keywords of either body come as a table."""

    def build(law: Data, contact: Data, *, lower: Data, upper: Data, duration: float = 1.0, **more: Any) -> Data:
        box = {"shape": "box", "law": "stuff"}
        return {
            "schema": 1,
            "dimension": len(lower["size"]),
            "duration": duration,
            "laws": {"stuff": law},
            "bodies": {"lower": box | lower, "upper": box | upper},
            "contact": contact,
            "output": {"interval": duration},
            **more,
        }

    return build


@pytest.fixture
def thrown(start: Start, with_state: Callable[..., None]) -> Callable[..., Simulation]:
    """Start with a velocity for every node, or for the first `count` of them."""

    def begin(data: Data, velocity: list[float], *, count: int | None = None, **options: Any) -> Simulation:
        simulation = start(data, **options)
        v = np.zeros(simulation.positions.shape)
        v[:count] = velocity
        with_state(simulation, v=v.ravel())
        return simulation

    return begin


@pytest.fixture
def mouth(tmp_path: Path) -> Path:
    """A unit square with a slot of width 0.05 from x = 0.3 to its right side, at half height."""
    grid = skfem.MeshTri.init_tensor(np.linspace(0.0, 1.0, 11), np.linspace(0.0, 1.0, 21))
    middle = grid.p[:, grid.t].mean(axis=1)
    slit = grid.remove_elements(np.flatnonzero((middle[0] > 0.3) & (np.abs(middle[1] - 0.475) < 0.025)))
    path = tmp_path / "mouth.vtu"
    meshio.write_points_cells(path, np.pad(slit.p.T, ((0, 0), (0, 1))), [("triangle", slit.t.T)])
    return path
