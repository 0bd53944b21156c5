"""The circuit in numpy, to be read: circuits 1-9 of the truss element module and the mass module, to the bit.

Spec fpga-fixed-point.md section 4. `rheotwin.particles.fixed_point.kernels` gives the same words faster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Indices
from rheotwin.particles.fixed_point.arithmetic import (
    cmul,
    cordic_root,
    isqrt,
    recip,
    saturate,
    wrap,
)
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.parameters import ChainConstants, CircuitConstants, Constant

Integers = NDArray[Any]

OPERATORS = ("ld", "lvd", "f", "F_sum", "x", "v", "xr", "lambda")
"""Classes of operators whose overflows are counted; `xr` are both differences, `f` is F = f e too.

Sums of forces are counted where what they add up to leaves the range: sums on the way may wrap without harm.
"""


class Tem(NamedTuple):
    """What each circuit of the truss element module puts out, raw: vectors (..., 3) and numbers (...)."""

    xr: Indices
    vr: Indices
    square: Indices
    length: Indices
    inverse: Indices
    direction: Indices
    rate: Indices
    voigt_rate: Indices
    force: Indices
    forces: Indices
    lam: Indices
    last: Indices
    """Extension of the last part of a chain; lambda itself where edges are none."""


class Mpm(NamedTuple):
    """What the mass module puts out, raw (..., 3)."""

    total: Indices
    acceleration: Indices
    velocity: Indices
    position: Indices


def no_overflows() -> Indices:
    """Return counters of overflow, one for each of OPERATORS, all zero."""
    return np.zeros(len(OPERATORS), dtype=np.int64)


class _Fit:
    """Brings results back into range as the constants say, and counts those that were not."""

    def __init__(self, constants: CircuitConstants, counters: Indices | None) -> None:
        self.form, self.counters = constants.form, counters
        self.bring = saturate if constants.overflow == "saturate" else wrap

    def __call__(self, exact: Integers, operator: str) -> Indices:
        fitted = self.bring(exact, self.form)
        if self.counters is not None:
            self.counters[OPERATORS.index(operator)] += np.count_nonzero(fitted != exact)
        return fitted


def _wide(*arrays: Integers) -> list[Indices]:
    return [np.asarray(array, dtype=np.int64) for array in arrays]


def tem(
    x_i: Integers,
    v_i: Integers,
    x_j: Integers,
    v_j: Integers,
    lam: Integers,
    constants: CircuitConstants,
    counters: Indices | None = None,
    rest: Integers | int = 0,
) -> Tem:
    """Return circuits 1-9 for edges from points i to j; `lam` is lv - L, forces (..., 3) push the end along e.

    Chains of n Voigt parts have `lam` (n - 1, ...) and a natural length `rest`.
    """
    fit, form, rounding = _Fit(constants, counters), constants.form, constants.tem_round
    x_i, v_i, x_j, v_j, lam = _wide(x_i, v_i, x_j, v_j, lam)
    (A, B, K, C), H, point = constants.of_tem, constants.step_of_lam, constants.point
    xr = fit(x_j - x_i, "xr")  # 1
    vr = fit(v_j - v_i, "xr")  # 2
    square = (xr * xr).sum(axis=-1)  # 3
    length = cordic_root(square, *constants.root) if constants.sqrt == "cordic" else isqrt(square)
    inverse = recip(length, form, point.inverse)
    direction = wrap(cmul(inverse[..., None], point.inverse - point.direction, xr, rounding), form)  # 4
    rate = fit(cmul(1, point.direction - point.rate, (direction * vr).sum(axis=-1), rounding), "ld")  # 5
    last = lam
    if constants.chain is not None:
        whole = np.left_shift(length - np.asarray(rest, dtype=np.int64), point.lam)
        last = fit(np.subtract(whole, lam.sum(axis=0)), "lambda")
        voigt_rate, force = _chain(constants.chain, lam, last, rate, rounding, fit)  # 6, 7
    else:
        voigt_rate = fit(cmul(A.raw, A.w, lam, rounding) + cmul(B.raw, B.w, rate, rounding), "lvd")  # 6
        if constants.direct:
            force = fit(cmul(K.raw, K.w, lam, rounding) + cmul(C.raw, C.w, rate, rounding), "f")  # 7
        else:
            force = fit(cmul(K.raw, K.w, fit(voigt_rate - rate, "f"), rounding), "f")  # 7
    forces = fit(cmul(force[..., None], point.direction, direction, rounding), "f")  # 8
    lam = fit(lam + cmul(H.raw, H.w, voigt_rate, constants.euler_round), "lambda")  # 9
    return Tem(xr, vr, square, length, inverse, direction, rate, voigt_rate, force, forces, lam, last)


def _chain(
    chain: ChainConstants, lam: Indices, last: Indices, rate: Indices, rounding: bool, fit: _Fit
) -> tuple[Indices, Indices]:
    """Return the rates (n - 1, ...) of all parts but the last by (2.9), and the force by (2.8)."""

    def times(constant: Constant, value: Indices) -> Indices:
        return cmul(constant.raw, constant.w, value, rounding)

    springs = sum(times(K, d) for K, d in zip(chain.K, [*lam, last], strict=True))
    force = fit(springs + times(chain.C, rate), "f")
    rates = [fit(times(G, force) + times(A, d), "lvd") for A, G, d in zip(chain.A, chain.G, lam, strict=True)]
    return np.stack(rates), force


def mpm(
    x: Integers,
    v: Integers,
    external: Integers,
    sum_start: Integers,
    sum_end: Integers,
    constants: CircuitConstants,
    counters: Indices | None = None,
) -> Mpm:
    """Return one Euler step of points (..., 3): v' from the sums of forces, x' from the old velocity."""
    fit, rounding = _Fit(constants, counters), constants.euler_round
    x, v, external, sum_start, sum_end = _wide(x, v, external, sum_start, sum_end)
    Minv, H, H_v = constants.Minv, constants.H, constants.step_of_velocity
    total = fit(external + sum_end - sum_start, "F_sum")
    acceleration = fit(cmul(Minv.raw, Minv.w, total, rounding), "v")
    velocity = fit(v + cmul(H_v.raw, H_v.w, acceleration, rounding), "v")
    position = fit(x + cmul(H.raw, H.w, v, rounding), "x")
    return Mpm(total, acceleration, velocity, position)


def _summed(points: Integers, forces: Indices, count: int) -> Indices:
    """Sum forces (n_e, 3) over the edges of each point; exact, since sums of doubles below 2^53 are."""
    columns = [np.bincount(points, weights=column, minlength=count) for column in forces.T]
    return np.stack(columns, axis=-1).astype(np.int64)


def tem_of(
    body: CircuitBody, constants: CircuitConstants, counters: Indices | None = None, edges: Any = slice(None)
) -> Tem:
    """Return circuits 1-9 for some edges of a body as it is; constants are those of these edges."""
    x, v, start, end = body.position, body.velocity, body.start[edges], body.end[edges]
    lam, rest = body.lam[..., edges], body.rest[edges]
    return tem(x[start], v[start], x[end], v[end], lam, constants, counters, rest)


def add_edge_forces(
    body: CircuitBody, constants: CircuitConstants, counters: Indices | None = None, edges: Any = slice(None)
) -> None:
    """Run the truss element module over some edges: advance their lambda, add to the two force memories.

    `edges` selects one group of a body; edges of the group take their own of any constants that differ.
    """
    start, end = body.start[edges], body.end[edges]
    found = tem_of(body, constants.of_edges(edges), counters, edges)
    body.lam[..., edges] = found.lam
    count = len(body.position)
    # Sums are kept in full and fit or wrap as one in the mass module, so they do not depend on the order of edges.
    body.sum_start[:] += _summed(start, found.forces, count).astype(body.sum_start.dtype)
    body.sum_end[:] += _summed(end, found.forces, count).astype(body.sum_end.dtype)


def move_points(body: CircuitBody, constants: CircuitConstants, counters: Indices | None = None) -> None:
    """Run the mass module over all points and clear the force memories."""
    moved = mpm(body.position, body.velocity, body.force, body.sum_start, body.sum_end, constants, counters)
    body.velocity[:], body.position[:] = moved.velocity, moved.position
    body.sum_start[:] = 0
    body.sum_end[:] = 0


def step(body: CircuitBody, constants: CircuitConstants, counters: Indices | None = None) -> None:
    """Take one step: all edges, then all points."""
    add_edge_forces(body, constants, counters)
    move_points(body, constants, counters)
