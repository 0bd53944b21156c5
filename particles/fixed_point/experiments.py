"""The two experiments of the papers that can be repeated: one edge pulled (Figure 2.10), and an object of 729 points.

Spec fpga-fixed-point.md 6.2 to 6.4, with the choices made there for what the source leaves open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.particles.fixed_point.arithmetic import Q16
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, grid_edges, grid_points
from rheotwin.particles.fixed_point.circuit import mpm
from rheotwin.particles.fixed_point.parameters import (
    CircuitConstants,
    EdgeLaw,
    StepPoint,
    Units,
    circuit_constants,
)

OBJECT_SHAPE = (9, 9, 9)
OBJECT_SPACING = 10.0
OBJECT_WIDTH = 80.0
OBJECT_STEPS = 3000
OBJECT_LAW = EdgeLaw(k1=250.0, c1=20.0, c2=100.0)
STEP = 0.01
"""Step of both experiments [units of time]."""
PULL = 3000.0
PULLED_LENGTH = 20.0
TIME_UNIT = 0.1


class Object(NamedTuple):
    """A body in memories, its constants, its points at rest (n_m, 3) and the numbers of both pulled corners."""

    body: CircuitBody
    constants: CircuitConstants
    points: Array
    corners: tuple[int, int]


def pulled_object(
    h_const: StepPoint = "printed", *, parity: int = 0, tem_wmod: bool = False, tem_round: bool = False
) -> Object:
    """Return G1: 9 x 9 x 9 free points 10 apart around the origin, pulled by (6, 30, 6) and by minus (30, 15, 30)."""
    points = grid_points(OBJECT_SHAPE, OBJECT_SPACING)
    first, second = len(points) - 1, OBJECT_SHAPE[0] * (OBJECT_SHAPE[1] - 1)
    forces = np.zeros_like(points)
    forces[first], forces[second] = (6.0, 30.0, 6.0), (-30.0, -15.0, -30.0)
    units = Units(time=1.0)
    constants = circuit_constants(OBJECT_LAW, 1.0, STEP, units, h_const=h_const, tem_wmod=tem_wmod, tem_round=tem_round)
    body = circuit_body(points, *grid_edges(OBJECT_SHAPE, parity), units=units, forces=forces)
    return Object(body, constants, points, (first, second))


class PulledEdge(NamedTuple):
    """Lengths (steps,) before each step: of the fixed-point mass module in raw words, and in double precision."""

    fixed: Indices
    exact: Array

    @property
    def error(self) -> float:
        """Mean over the steps of |x_fix - x|/x."""
        return float(np.mean(np.abs(Q16.value(self.fixed) - self.exact) / self.exact))


def pulled_edge(h_const: StepPoint, *, rounding: bool = True, steps: int = 2000) -> PulledEdge:
    """Pull an edge, held at 0, for 1 s: its element in double precision, its free mass in words or in double too."""
    units = Units(time=TIME_UNIT)
    law = EdgeLaw(k1=250.0, c1=20.0, c2=100.0)
    constants = circuit_constants(law, 1.0, STEP * TIME_UNIT, units, h_const=h_const, euler_round=rounding)
    scaled = law.scaled(units)
    k1, c1, c2 = (float(np.asarray(part)) for part in (scaled.k1, scaled.c1, scaled.c2))
    A, B = -k1 / (c1 + c2), c2 / (c1 + c2)
    nothing, x, v = np.zeros(1, np.int64), Q16.raw([PULLED_LENGTH]), np.zeros(1, np.int64)
    lam, length, speed, extension = 0.0, PULLED_LENGTH, 0.0, 0.0
    fixed, exact = np.empty(steps, dtype=np.int64), np.empty(steps)
    for n in range(steps):
        fixed[n], exact[n] = x[0], length
        pull = PULL / units.force if n * STEP * TIME_UNIT < 1.0 - STEP * TIME_UNIT / 2.0 else 0.0
        rate = float(Q16.value(v)[0])
        voigt_rate = A * lam + B * rate
        lam += STEP * voigt_rate
        moved = mpm(x, v, Q16.raw([c2 * (voigt_rate - rate) + pull]), nothing, nothing, constants)
        x, v = moved.position, moved.velocity
        voigt_rate = A * extension + B * speed
        extension += STEP * voigt_rate
        length, speed = length + STEP * speed, speed + STEP * (c2 * (voigt_rate - speed) + pull)
    return PulledEdge(fixed, exact)
