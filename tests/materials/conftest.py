"""Independent responses of 1D networks: matrix exponentials of their state equations."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm


def driven(matrix: np.ndarray, drive: np.ndarray, start: np.ndarray, t: float) -> np.ndarray:
    """State at t of x' = matrix x + drive (constant drive)."""
    size = len(drive)
    augmented = np.zeros((size + 1, size + 1))
    augmented[:size, :size], augmented[:size, size] = matrix, drive
    return (expm(augmented * t) @ np.append(start, 1.0))[:size]


class ChainOde:
    """Voigt units in series, all damped: x' = (-k x + f)/b, f = S (sum rho x + v), S = 1/sum(1/b)."""

    def __init__(self, ks: Sequence[float], bs: Sequence[float]) -> None:
        self.k, self.b = np.array(ks, float), np.array(bs, float)
        self.rho, self.s = self.k / self.b, 1 / np.sum(1 / self.b)
        self.matrix = -np.diag(self.rho) + self.s * np.outer(1 / self.b, self.rho)
        self.drive = self.s / self.b

    def ramp(self, t: float, rate: float = 1.0) -> float:
        lengths = driven(self.matrix, rate * self.drive, np.zeros(len(self.b)), t)
        return float(self.s * (self.rho @ lengths + rate))

    def ramp_hold(self, rate: float, ramp_end: float, t: float) -> float:
        at_end = driven(self.matrix, rate * self.drive, np.zeros(len(self.b)), ramp_end)
        return float(self.s * self.rho @ (expm(self.matrix * (t - ramp_end)) @ at_end))

    def operational_modulus(self, s: complex) -> complex:
        lengths = np.linalg.solve(s * np.eye(len(self.b)) - self.matrix, self.drive * s)
        return complex(self.s * (self.rho @ lengths + s))


class BankOde:
    """Maxwell arms z' = e' - z/tau beside a spring and a dashpot, under unit step stress."""

    def __init__(self, equilibrium: float, g: Sequence[float], tau: Sequence[float], eta: float) -> None:
        self.k, self.g, self.tau, self.eta = equilibrium, np.array(g, float), np.array(tau, float), eta

    def creep(self, t: float) -> float:
        arms = len(self.g)
        instantaneous = self.k + self.g.sum()
        # e' as a row over (e, z) and its constant part, from 1 = k e + g z + eta e' or its time derivative
        if self.eta:
            row, constant = -np.append(self.k, self.g) / self.eta, 1 / self.eta
            start = np.zeros(arms + 1)
        else:
            row, constant = np.append(0.0, self.g / self.tau) / instantaneous, 0.0
            start = np.full(arms + 1, 1 / instantaneous)
        matrix = np.tile(row, (arms + 1, 1)) - np.diag(np.append(0.0, 1 / self.tau))
        return float(driven(matrix, np.full(arms + 1, constant), start, t)[0])


@pytest.fixture
def chain_ode() -> Callable[..., ChainOde]:
    return ChainOde


@pytest.fixture
def bank_ode() -> Callable[..., BankOde]:
    return BankOde


@pytest.fixture
def close() -> Callable[[Any, Any], None]:
    """Assert agreement to 1e-9 relative to the largest expected value, element by element where not tiny."""

    def check(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * 1e-3 * scale)

    return check
