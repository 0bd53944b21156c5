"""The four-particle chain of the papers and its exact solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

NODES = 3


@dataclass(frozen=True)
class Case:
    """Element constants k, b, b' of one curve of C2."""

    law: dict[str, Any]
    k: float
    b: float
    series: float | None


CASES = {
    "2.5a Voigt": Case({"model": "voigt", "young": 2.0, "poisson": 0.0, "viscosity": 6.0}, 2.0, 6.0, None),
    "2.7b Maxwell": Case({"model": "maxwell", "young": 10.0, "poisson": 0.0, "viscosity": 40.0}, 10.0, 0.0, 40.0),
    "2.10b three-element": Case(
        {"model": "three-element", "young": 2.0, "poisson": 0.0, "voigt_viscosity": 2.0, "series_viscosity": 40.0},
        2.0,
        2.0,
        40.0,
    ),
}


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def exact() -> Callable[[Case, float], np.ndarray]:
    """Return displacements (3,) at a time of u'' = forces of f = B (k d + b ldot), d' = -A d + B ldot, by expm."""

    def solution(case: Case, time: float) -> np.ndarray:
        gain = 1.0 if case.series is None else case.series / (case.b + case.series)
        decay = 0.0 if case.series is None else case.k / (case.b + case.series)
        difference = np.eye(NODES) - np.eye(NODES, k=-1)
        zero, unit = np.zeros((NODES, NODES)), np.eye(NODES)
        pull = -difference.T * gain
        augmented = np.zeros((3 * NODES + 1, 3 * NODES + 1))
        augmented[:-1, :-1] = np.block(
            [
                [zero, unit, zero],
                [zero, pull @ difference * case.b, pull * case.k],
                [zero, gain * difference, -decay * unit],
            ]
        )
        augmented[2 * NODES - 1, -1] = 1.0
        return np.asarray(expm(augmented * time)[:NODES, -1])

    return solution


@pytest.fixture
def chain(make_problem: Callable[..., Any], start: Callable[..., Any]) -> Callable[..., Any]:
    """Start four particles of 1 kg in a row, the first held, the last pulled by 1 N."""

    def build(case: Case, **options: Any) -> Any:
        problem = make_problem(
            1,
            case.law,
            body={"size": [3.0], "cells": [3], "density": None, "mass": 4.0, "mass_sharing": "equal"},
            supports={"wall": {"body": "block", "where": {"side": "left"}}},
            forces={"pull": {"body": "block", "where": {"side": "right"}, "total": [1.0]}},
            duration=20.0,
        )
        return start(problem, match="edge", **options)

    return build
