"""Scenes with laws of contact for the finite-element solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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
