"""Vibration of a bar with lumped masses in its first discrete mode (T2).

A bar of N elements, held at one end, has the discrete mode sin(pi x/(2 L)) with the eigenvalue

    lambda_1 = (4/(rho h^2)) sin^2(pi h/(4 L)),   h = L/N        of M^-1 J

and the amplitude q of that mode follows

    q' = v,   v' = -lambda_1 (g_inf q + sum w_a + eta v),   w_a' = -w_a/tau_a + g_a v
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

from rheotwin.materials import Channel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModeState:
    """Amplitude q [m], its rate v [m/s] and the memories w (..., arms) [N/m] of one mode."""

    amplitude: Array
    rate: Array
    memories: Array


def first_eigenvalue(elements: int, *, length: float = 1.0, density: float = 1.0) -> float:
    """Return lambda_1 of a bar of that length [m] and density [kg/m3], in [1/(Pa s2)]: omega^2 = E lambda_1."""
    h = length / elements
    return 4.0 / (density * h**2) * float(np.sin(0.25 * np.pi * h / length)) ** 2


def mode_matrix(channel: Channel, eigenvalue: float) -> Array:
    """Return the matrix A of the first-order system y' = A y with y = (q, v, w_1, w_2, ...)."""
    arms = len(channel.times)
    matrix = np.zeros((2 + arms, 2 + arms))
    matrix[0, 1] = 1.0
    matrix[1, 0] = -eigenvalue * channel.equilibrium
    matrix[1, 1] = -eigenvalue * channel.viscosity
    matrix[1, 2:] = -eigenvalue
    matrix[2:, 1] = channel.strengths
    matrix[2:, 2:] -= np.diag(1.0 / np.array(channel.times)) if arms else 0.0
    return matrix


def mode_response(channel: Channel, eigenvalue: float, t: ArrayLike, *, rate: float = 1.0) -> ModeState:
    """Return the mode at times t [s] that starts at rest position with the given `rate` [m/s]."""
    times = np.asarray(t, dtype=float)
    matrix = mode_matrix(channel, eigenvalue)
    start = np.zeros(len(matrix))
    start[1] = rate
    state = expm(times[..., None, None] * matrix) @ start
    return ModeState(state[..., 0], state[..., 1], state[..., 2:])
