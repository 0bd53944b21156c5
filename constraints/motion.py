"""Piecewise motions over time, read by both backends and inside compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import formula


@formula
def count_up_to(times: Array, time: float, equal: bool) -> int:
    """Return how many of ascending `times` lie before `time`, or at it if `equal`; numba's own compiles for long."""
    low, high = 0, times.shape[0]
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time or (equal and times[middle] == time):
            low = middle + 1
        else:
            high = middle
    return low


def _interpolate(times: Array, values: Array, smooth: bool, time: float, out: Array) -> None:
    """Write the value of a piecewise motion at `time` [s] into `out`.

    Between t_a and t_b with s = (t - t_a)/(t_b - t_a): value = a + (b - a) s, or with the cubic ease
    s -> s^2 (3 - 2 s), which starts and stops each piece at zero rate. Constant outside the table.
    """
    last = times.shape[0] - 1
    if time <= times[0] or time >= times[last]:
        edge = 0 if time <= times[0] else last
        for component in range(out.shape[0]):  # a slice would have to ask for memory, which loops over steps do not
            out[component] = values[edge, component]
        return
    piece = count_up_to(times, time, True) - 1
    share = (time - times[piece]) / (times[piece + 1] - times[piece])
    if smooth:
        share = share * share * (3.0 - 2.0 * share)
    for component in range(out.shape[0]):
        start = values[piece, component]
        out[component] = start + share * (values[piece + 1, component] - start)


interpolate = compiled(_interpolate)
"""The same for compiled code; Python asks once a step, and does not wait for a compiler."""


def _rates(
    times: Array, values: Array, smooth: bool, time: float, after: bool, slack: float, speed: Array, acceleration: Array
) -> None:
    """Write the first and second derivative of a piecewise motion at `time` [s] into `speed` and `acceleration`.

    From the side and with the `slack` that `motion_rates` explains.
    """
    speed[:] = 0.0
    acceleration[:] = 0.0
    piece = count_up_to(times, time + slack if after else time - slack, after) - 1
    if piece < 0 or piece >= times.shape[0] - 1:
        return
    length = times[piece + 1] - times[piece]
    share = (time - times[piece]) / length
    for component in range(speed.shape[0]):
        step = values[piece + 1, component] - values[piece, component]
        if smooth:
            speed[component] = 6.0 * share * (1.0 - share) / length * step
            acceleration[component] = (6.0 - 12.0 * share) / length**2 * step
        else:
            speed[component] = step / length


interpolate_rates = compiled(_rates)
"""The same for compiled code."""


@dataclass(frozen=True)
class Motion:
    """A table of values at increasing times [s]; linear or smooth in between."""

    times: Array
    values: Array
    smooth: bool = False

    def at(self, time: float) -> Array:
        """Return the value at `time` [s]."""
        out = np.empty(self.values.shape[1])
        _interpolate(self.times, self.values, self.smooth, time, out)
        return out

    @property
    def moves(self) -> bool:
        """Tell whether the motion is anything but zero all the time."""
        return bool(np.any(self.values != 0.0))


def at_rest(components: int) -> Motion:
    """Return the motion that stays at zero."""
    return Motion(np.zeros(1), np.zeros((1, components)))


def motion_rates(motion: Motion, time: float, *, after: bool = True, slack: float = 0.0) -> tuple[Array, Array]:
    """Return the first and second time derivative of a motion at `time` [s], from its one side or the other.

    With the share s of a piece of length T from a to b: linear (b - a)/T and 0; with the cubic ease
    (b - a) 6 s (1 - s)/T and (b - a) (6 - 12 s)/T^2. Zero outside the table. A table time within `slack` [s] of
    `time` counts as reached (`after`) or as still ahead, whatever rounding did to either.
    """
    speed, acceleration = np.empty(motion.values.shape[1]), np.empty(motion.values.shape[1])
    _rates(motion.times, motion.values, motion.smooth, time, after, slack, speed, acceleration)
    return speed, acceleration


def kink_times(motion: Motion) -> Array:
    """Return the times [s] at which the rate of a motion jumps: in the table of a linear one, never in a smooth one."""
    if motion.smooth or len(motion.times) < 2:
        return np.zeros(0)
    rates = np.diff(motion.values, axis=0) / np.diff(motion.times)[:, None]
    jumps = np.diff(np.pad(rates, ((1, 1), (0, 0))), axis=0)
    return np.asarray(motion.times[np.any(jumps != 0.0, axis=1)])


class Tables(NamedTuple):
    """Several motions packed one after the other: rows offset[k]:offset[k+1] belong to motion k."""

    offset: Indices
    times: Array
    values: Array
    smooth: Flags
    current: Array
    """Scratch for one value, so that a step allocates nothing."""


@compiled
def table_value(tables: Tables, which: int, time: float, out: Array) -> None:
    """Write the value of one motion at `time` [s] into `out`."""
    rows = slice(tables.offset[which], tables.offset[which + 1])
    interpolate(tables.times[rows], tables.values[rows], tables.smooth[which], time, out)


def pack_tables(motions: Sequence[Motion], components: int) -> Tables:
    """Pack motions one after the other, their values padded to `components` columns."""
    offset = np.zeros(len(motions) + 1, dtype=np.int64)
    offset[1:] = np.cumsum([len(motion.times) for motion in motions])
    times, values = np.zeros(int(offset[-1])), np.zeros((int(offset[-1]), components))
    for k, motion in enumerate(motions):
        rows = slice(offset[k], offset[k + 1])
        times[rows] = motion.times
        values[rows, : motion.values.shape[1]] = motion.values
    smooth = np.array([motion.smooth for motion in motions], dtype=np.bool_)
    return Tables(offset, times, values, smooth, current=np.empty(components))
