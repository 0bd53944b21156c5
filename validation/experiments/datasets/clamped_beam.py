"""Clamped beam: a silicone cantilever let go under its weight, with and without 52 g at its tip (MIT, ETH Zurich)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rheotwin.validation.experiments.datasets.folder import Array, choice, data_set, numbers

NAME = "clamped-beam-mocap"
LENGTH, WIDTH, HEIGHT = 0.100, 0.030, 0.030
"""Free length and section of the beam [m]."""
YOUNG, POISSON, DENSITY, GRAVITY = 263_824.0, 0.499, 1070.0, 9.80709
"""Young's modulus [Pa], Poisson's ratio, density [kg/m3], gravity [m/s2] as published with the data."""
LOAD = 0.51012
"""Weight at the tip's edge in the tests `load52` [N]."""
TESTS = ("gravity_a", "gravity_b", "load52_a", "load52_b")
STARTED = 2e-4
"""A marker that has moved this far [m] has been let go."""


@dataclass(frozen=True)
class MarkerMotion:
    """Paths of markers: `times` (F,) [s], `tip` and `base` (F, 3, 3) [m] in laboratory axes, of which -x points down.

    Both are aligned: the frame of the three base markers of `gravity_a` at rest is the common one.
    """

    test: str
    times: Array
    tip: Array
    base: Array

    @property
    def height(self) -> Array:
        """Heights of the tip markers (F, 3) [m], upwards."""
        return np.asarray(self.tip[:, :, 0])

    @property
    def release(self) -> float:
        """When the beam was let go [s]."""
        moved = np.abs(self.height - self.height[0]).max(axis=1) > STARTED
        return float(self.times[int(np.argmax(moved))])

    @property
    def at_rest(self) -> Array:
        """Mean places of the tip markers (3, 3) [m] in the last quarter of a second."""
        return _rest(self.times, self.tip)


def read_clamped_beam(test: str) -> MarkerMotion:
    """Return one of the four tests, in the common frame of the base markers."""
    times, tip, base = raw_paths(choice(test, TESTS, "test"))
    # the clamp gives way by 0.1 mm as the beam is let go, so the frame is that of the base at rest
    turned, moved = _alignment(_rest(times, base), common_base())
    return MarkerMotion(
        test, times, np.asarray(tip @ turned.T + moved), np.asarray(base @ turned.T + moved)
    )  # fmt: skip


def common_base() -> Array:
    """Return the base markers (3, 3) [m] of `gravity_a` at rest, which are the frame of all tests."""
    times, _, base = raw_paths(TESTS[0])
    return _rest(times, base)


def _rest(times: Array, paths: Array) -> Array:
    """Return mean places in the last quarter of a second."""
    return np.asarray(paths[times > times[-1] - 0.25].mean(axis=0))


def raw_paths(test: str) -> tuple[Array, Array, Array]:
    """Return times (F,) [s] and paths of tip and base markers (F, 3, 3) [m] as they were recorded."""
    markers = [f"{end}{number}_{axis}_m" for end in ("tip", "base") for number in (1, 2, 3) for axis in "xyz"]
    rows = numbers(data_set(NAME) / f"beam_{test}.csv", ("time_s", *markers))
    places = rows[:, 1:].reshape(len(rows), 6, 3)
    return rows[:, 0], places[:, :3], places[:, 3:]


def _alignment(markers: Array, target: Array) -> tuple[Array, Array]:
    """Return turn (3, 3) and shift (3,) [m] that bring markers onto their target."""
    turn, _ = Rotation.align_vectors(target - target.mean(axis=0), markers - markers.mean(axis=0))
    matrix = np.asarray(turn.as_matrix())
    return matrix, np.asarray(target.mean(axis=0) - matrix @ markers.mean(axis=0))
