"""Contact between bodies has neither a force nor a moment in sum: 1e-12, every law, with friction, 2D and 3D."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.fem.contact.rows import NODE, TOOL, WEIGHT, Rows
from rheotwin.kernels.program import Program
from rheotwin.kernels.stage import LAST
from rheotwin.problem import Problem
from rheotwin.solver import Simulation

Array = np.ndarray
Data = dict[str, Any]
Found = list[tuple[Rows, Array]]
CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_double, ctypes.c_double)

ELASTIC: Data = {"model": "elastic", "young": 1e4, "poisson": 0.3}
LAWS: dict[str, Data] = {
    "exact": {"law": "exact"},
    "penalty": {"law": "penalty", "stiffness": 500.0, "damping": 0.5},
    "integrated": {"law": "integrated", "stiffness": 500.0, "damping": 1.0, "integral": 100.0, "region": 2e-3},
    "impulse": {"law": "impulse", "restitution": 0.8},
}
BOUND = 1e-12


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Found:
    """What a step linearises, with the positions it does so at."""
    seen: Found = []

    def run(self: Program, first: int, count: int) -> int:
        """Do as the driver, and look."""
        self._where[:], k = 0, 0
        while k < len(self.stages):
            stage = self.stages[k]
            answer = CALL(stage.code.address)(stage.block.ctypes.data, 0.0, 0.0)
            if abs(answer) >= LAST:
                self._where[1:] = k, answer
                return 0
            if stage.function.__name__ == "linearise":
                rows, end = stage.arguments[1], stage.arguments[3]
                seen.append((Rows(*(array.copy() for array in rows)), end.copy()))
            k += 1 + answer
        return 1

    monkeypatch.setattr(Program, "run", run)
    return seen


@pytest.fixture
def collision(two_blocks: Callable[..., Data]) -> Callable[[int, Data], Data]:
    """A turned block in the way of another: corners on sides in 2D, vertices, faces and edges in 3D."""

    def build(dimension: int, contact: Data) -> Data:
        deep, cells = [0.3] * (dimension - 2), [2 if dimension == 3 else 4] * dimension
        lower = {"size": [0.4, 0.3, *deep], "cells": cells, "density": 10.0}
        turn: Any = 0.3 if dimension == 2 else {"axis": [1.0, 2.0, 3.0], "angle": 0.6}
        upper = {"size": [0.3, 0.3, *deep], "cells": cells, "density": 20.0, "rotation": turn}
        upper["origin"] = [0.5, 0.13, *[0.11] * (dimension - 2)]
        return two_blocks(ELASTIC, contact, lower=lower, upper=upper, duration=0.1)

    return build


def total(push: Array, place: Array) -> tuple[float, float]:
    """Return |sum f| over sum |f| and |sum x x f| over sum |x| |f|, the largest of several sets (.., nodes, 3)."""
    size = np.linalg.norm(push, axis=-1)
    force = np.linalg.norm(push.sum(axis=-2), axis=-1) / size.sum(axis=-1)
    moment = np.linalg.norm(np.cross(place, push).sum(axis=-2), axis=-1)
    return float(force.max()), float((moment / (np.linalg.norm(place, axis=-1) * size).sum(axis=-1)).max())


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_contact_has_no_moment(
    dimension: int,
    law: str,
    friction: float,
    collision: Callable[[int, Data], Data],
    found: Found,
    thrown: Callable[..., Simulation],
    problem_of: Callable[[Data], Problem],
) -> None:
    """No row has, whatever its force, where it was linearised; nor all nodal forces where the last round was."""
    problem = problem_of(collision(dimension, LAWS[law] | ({"friction": friction} if friction else {})))
    simulation: Any = thrown(problem, [1.0, 0.1, 0.0][:dimension], count=problem.bodies[0].nodes.stop, step=2e-3)
    near, pushed, edges = simulation._stepper._lawful._step.near, 0, 0
    for k in range(1, 51):
        found.clear()
        simulation.advance(2e-3 * k, 1)
        for rows, end in found:
            valid = slice(int(rows.count[0]))
            if not valid.stop:
                continue
            node, push = rows.who[valid, NODE:TOOL], rows.push[valid, :, :-1]
            force, moment = total(push, np.broadcast_to(end[node][:, None], push.shape))
            assert force < BOUND
            assert moment < BOUND
            edges += int(np.sum(rows.place[valid, WEIGHT + 1] > 0.0))
        force = simulation.fields()["contact_force"][near]
        if force.any():
            pushed += 1
            # the step ends where it was linearised to 1e-10 of the size, not to rounding
            assert min(total(force, end)[1] for _, end in found) < BOUND
            assert total(force, found[0][1])[0] < BOUND
    assert pushed > 3
    assert edges > 0 or dimension == 2
