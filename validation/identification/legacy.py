"""The papers' own procedure (spec 6), for comparison: two Voigt units of one spring K, read from slopes of logarithms.

    K = 2 f_conv/D;   b = -(K + (m/2) s^2)/s of a slope s of ln|x|   (5.12)

The late slope gives the slow unit, which is then made faster until its own decay |D|/2 exp(-K t/b) exceeds the data
nowhere; the slope of what is left gives the fast one. It is exact only if both springs are equal, and the adjustment
spoils what the late slope had measured: see what it leaves beside a joint fit (docs/identification.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.validation.identification.record import TimeRecord
from rheotwin.validation.identification.response import LawModel


@dataclass(frozen=True)
class Legacy:
    """Springs K [N/m] and dashpots [N s/m] of both units; `late` is that of the late slope, before the adjustment."""

    spring: float
    fast: float
    slow: float
    late: float

    @property
    def model(self) -> LawModel:
        """The law to compute with."""
        return LawModel(Channel.voigt_chain((self.spring,) * 2, (self.fast, self.slow)).spectrum())


def equal_spring(plateau: float, depth: float) -> float:
    """Return K [N/m] of two equal springs in series that carry `plateau` [N] at `depth` [m]."""
    return 2.0 * plateau / depth


def dashpot(spring: float, slope: float, mass: float) -> float:
    """Return b [N s/m] of a unit whose ln|x| falls with `slope` [1/s], with half of the mass [kg] (5.12)."""
    return -(spring + 0.5 * mass * slope**2) / slope


def largest_admissible(spring: float, depth: float, after: Array, x: Array) -> float:
    """Return the largest b [N s/m] whose |D|/2 exp(-K t/b) is nowhere above the data, `after` [s] the release."""
    below = (np.abs(x) < 0.5 * depth) & (after > 0.0)
    return float(np.min(spring * after[below] / np.log(0.5 * depth / np.abs(x[below]))))


def log_slope(time: Array, x: Array, window: tuple[float, float]) -> float:
    """Return the slope of ln|x| [1/s] in a window of time [s]."""
    inside = (time >= window[0] - 1e-9) & (time <= window[1] + 1e-9) & (np.abs(x) > 0.0)
    if np.count_nonzero(inside) < 2:
        raise RheotwinError(f"there are no two samples between {window[0]:g} and {window[1]:g} s; widen it")
    return float(np.polyfit(time[inside], np.log(np.abs(x[inside])), 1)[0])


def legacy_two_element(record: TimeRecord, early: tuple[float, float], late: tuple[float, float]) -> Legacy:
    """Carry the procedure out on a record that is pressed, held and let go, with windows [s] of both slopes."""
    if [phase.drive for phase in record.phases] != ["displacement", "free"]:
        raise RheotwinError("the papers' procedure needs a piece that is held and let go (phases displacement, free)")
    end = record.phases[0].end
    depth, release = float(np.abs(record.displacement[end - 1])), float(record.time[end - 1])
    spring = equal_spring(float(np.abs(record.force[end - 1])), depth)
    time, x = record.time[end:], np.abs(record.displacement[end:])
    of_slope = dashpot(spring, log_slope(time, x, late), record.mass)
    slow = min(of_slope, largest_admissible(spring, depth, time - release, x))
    left = x - 0.5 * depth * np.exp(-spring * (time - release) / slow)
    return Legacy(spring, dashpot(spring, log_slope(time, left, early), record.mass), slow, of_slope)
