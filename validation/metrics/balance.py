"""What should be conserved: volume, momentum and energy, each as a share of what there is of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import cumulative_trapezoid

from rheotwin.validation.metrics.over_time import Array, lengths, scale

SINKS = ("kinetic", "stored", "dissipated", "impact")
"""Where external work goes, as probes name it."""


def volume_drift(volume: ArrayLike) -> float:
    """Return max_t |V(t)/V(0) - 1| [1]."""
    values = np.asarray(volume, dtype=float)
    return float(np.abs(values - values[0]).max()) / scale(abs(values[0]))


def momentum(masses: ArrayLike, velocity: ArrayLike) -> Array:
    """Return P(t) = sum_n m_n v_n [kg m/s] of masses (N,) [kg] and velocities (F, N, 3) [m/s], as (F, 3)."""
    return np.asarray(np.einsum("n,fnc->fc", np.asarray(masses, dtype=float), np.asarray(velocity, dtype=float)))


def angular_momentum(masses: ArrayLike, positions: ArrayLike, velocity: ArrayLike) -> Array:
    """Return L(t) = sum_n m_n x_n x v_n [kg m2/s] about the origin, as (F, 3)."""
    moments = np.cross(np.asarray(positions, dtype=float), np.asarray(velocity, dtype=float))
    return np.asarray(np.einsum("n,fnc->fc", np.asarray(masses, dtype=float), moments))


def momentum_defect(times: ArrayLike, carried: ArrayLike, applied: ArrayLike | None = None) -> float:
    """Return max_t |P(t) - P(0) - integral_0^t F dt| / (max_t |P| + integral_0^T |F| dt) [1].

    `carried` (F, 3) is P [kg m/s] (or L, about the point the moments are about), `applied` (F, 3) the sum of all
    outer forces [N] (or moments [N m]): weights, loads, reactions of supports and tools; None for a free body.
    The integral is trapezoidal, so frames must resolve the force.
    """
    instants, now = np.asarray(times, dtype=float), np.asarray(carried, dtype=float)
    force = np.zeros_like(now) if applied is None else np.asarray(applied, dtype=float)
    impulse = cumulative_trapezoid(force, instants, axis=0, initial=0.0)
    size = lengths(now).max() + cumulative_trapezoid(lengths(force), instants, initial=0.0)[-1]
    return float(lengths(now - now[0] - impulse).max()) / scale(float(size))


def energy_defect(energies: Mapping[str, ArrayLike]) -> float:
    """Return max_t |W(t) - W(0)| / max_t (|work| + sum |E|) [1], W = external - kinetic - stored - dissipated - impact.

    `energies` maps these names to their course over time [J], as the probes `energy.NAME` have them; what a
    solver does not account for counts as nothing, but without `external` there is no balance, and the value is nan.
    """
    if "external" not in energies:
        return float("nan")
    work = np.asarray(energies["external"], dtype=float)
    parts = np.array([np.asarray(energies[name], dtype=float) for name in SINKS if name in energies])
    missing = work - parts.sum(axis=0)
    size = np.abs(work) + np.abs(parts).sum(axis=0)
    return float(np.abs(missing - missing[0]).max()) / scale(float(size.max()))
