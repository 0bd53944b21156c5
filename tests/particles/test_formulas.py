"""Formulas compiled for vectors of elements give what they give for plain numbers, lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from rheotwin.particles.formulas import NOTHING, formula, in_vectors, select

COUNT = 32


@formula
def _folded(value: float) -> float:
    return 1.0 / (0.5 + abs(value - 0.5)) - (-value)


def _results(first: Any, second: Any, limit: Any) -> Any:
    a, b, c = first
    (d,) = second
    larger = select(a > b, a, select(b >= 0.25, b, 3.0 - b))
    return (a * b + c - 2.0 * d, larger, _folded(c) + NOTHING - NOTHING), (d < limit) | (a * a > 50.0)


_compiled: Any = in_vectors(_results, (3, 1), COUNT)


@njit
def _called(first: Any, second: Any, limit: float, out: Any) -> Any:
    return _compiled((first, second), limit, out)


@njit
def _scalar(value: float) -> Any:
    return _folded(value), select(value > 0.0, 1.0, -1.0)


def _plain(a: float, b: float, c: float, d: float) -> tuple[float, float, float]:
    larger = a if a > b else (b if b >= 0.25 else 3.0 - b)
    return a * b + c - 2.0 * d, larger, 1.0 / (0.5 + abs(c - 0.5)) + c


def test_a_formula_in_vectors_is_that_of_plain_numbers() -> None:
    first, second = np.random.default_rng(4).normal(size=(3, COUNT)), np.linspace(0.0, 1.0, COUNT)
    out = np.empty(3 * COUNT)
    assert not _called(first.ravel(), second, -1.0, out)
    expected = np.array([_plain(*column, d) for column, d in zip(first.T, second, strict=True)]).T
    np.testing.assert_allclose(out.reshape(3, COUNT), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("lane", [0, 7, 8, COUNT - 1])
def test_the_condition_is_that_of_any_lane(lane: int) -> None:
    first, second, out = np.zeros((3, COUNT)), np.ones(COUNT), np.empty(3 * COUNT)
    assert not _called(first.ravel(), second, 0.5, out)
    first[0, lane] = -8.0
    assert _called(first.ravel(), second, 0.5, out)
    first[0, lane], second[lane] = 0.0, 0.4
    assert _called(first.ravel(), second, 0.5, out)


@pytest.mark.parametrize("value", [-2.0, 0.5, 3.0])
def test_compiled_code_may_call_the_same_formula(value: float) -> None:
    assert _scalar(value) == (pytest.approx(_folded(value), rel=1e-15), 1.0 if value > 0.0 else -1.0)
