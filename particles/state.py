"""What a step of the particle loop changes, what it never changes, and what it does to all nodes.

Loops take the numbers of nodes one after the other: compilers find vectors in that, not in rows of three. They assign
no whole arrays, because that first looks whether the arrays overlap, which takes longer than to copy them.

Contact needs a bound of the fastest particle's speed in every step. Numbers without their sign are in the order of
their bits read as integers, and compilers find the largest of many integers in vectors, which they may not do with
floating-point numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rheotwin.arrays import Array, Indices, Reals
from rheotwin.kernels.compiled import compiled

EXTENSION, TENSION = 0, 1
"""Rows of `nonlinear_edges`: extension of each Voigt part [m], and tension in the step that led here [N]."""


class State(NamedTuple):
    """What a step changes; vectors are (N, 3).

    `touching` are the directions of contact at the end of the last step, for rules that look into a step.
    """

    positions: Array
    velocities: Array
    edge_arms: Array
    nonlinear_edges: Array
    cell_arms: Array
    centre_arms: Array
    force: Array
    reaction: Array
    multipliers: Array
    touching: Array


class Nodes(NamedTuple):
    """Constant node data; `rest` (N, 3) [m], `weight` (N, 3) [N], `mass` (N,) [kg], `runaway` [m].

    `free` (N, 3) is 1 where a component may move and 0 where a support holds it.
    """

    rest: Array
    free: Array
    mass: Array
    weight: Array
    runaway: float


@compiled(inside=True, vectors=True)
def begin_forces(weight: Array, force: Array) -> None:
    """Put weights (N, 3) [N] where forces are summed."""
    start, sums = weight.reshape(-1), force.reshape(-1)
    for k in range(sums.size):
        sums[k] = start[k]


@compiled(inside=True, vectors=True)
def kick(mass: Array, force: Array, h: float, velocities: Array) -> None:
    """v += h F/m [m/s] with forces (N, 3) [N] and masses (N,) [kg]."""
    pull, speed = force.reshape(-1), velocities.reshape(-1)
    for node in range(mass.size):
        rate = h / mass[node]
        speed[3 * node] += rate * pull[3 * node]
        speed[3 * node + 1] += rate * pull[3 * node + 1]
        speed[3 * node + 2] += rate * pull[3 * node + 2]


@compiled(inside=True, vectors=True)
def drift(velocities: Array, h: float, positions: Array) -> None:
    """x += h v [m]."""
    speed, place = velocities.reshape(-1), positions.reshape(-1)
    for k in range(place.size):
        place[k] += h * speed[k]


ROOT_3 = 1.7320508075688774
_types: Any = types


def _magnitude(typing: Any, number: Any) -> Any:
    integer = _types.int64 if number.bitwidth == 64 else _types.int32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = signature.return_type.bitwidth
        bits = builder.bitcast(arguments[0], ir.IntType(width))
        return builder.and_(bits, ir.Constant(bits.type, (1 << (width - 1)) - 1))

    return integer(number), generate


def _number(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if signature.args[0].bitwidth == 64:
            return builder.bitcast(arguments[0], ir.DoubleType())
        return builder.fpext(builder.bitcast(arguments[0], ir.FloatType()), ir.DoubleType())

    return _types.float64(bits), generate


magnitude: Any = intrinsic(_magnitude)
"""`magnitude(number)`: the bits of |number| as an integer of its width, in compiled code only."""
_number_of: Any = intrinsic(_number)
"""`_number_of(bits)`: the number that `magnitude` came from, without its sign."""


@compiled
def speed(largest: Any) -> float:
    """Return a bound of the speed [m/s] from the largest `magnitude` of all components; NaN if one is NaN."""
    return ROOT_3 * float(_number_of(largest))


@compiled
def fastest(velocities: Reals) -> float:
    """Return a bound of the speed [m/s] of particles whose components lie one after the other; NaN if one is NaN."""
    numbers = velocities.reshape(-1)
    largest = magnitude(numbers[0])
    for k in range(numbers.size):
        largest = max(largest, magnitude(numbers[k]))
    return speed(largest)


@compiled
def larger(first: float, second: float) -> float:
    """Return the larger of two speeds; NaN if one is NaN."""
    return second if second > first or np.isnan(second) else first


@compiled
def fastest_of(nodes: Indices, velocities: Array, bound: float) -> float:
    """Return the largest of `bound` and the speeds of some nodes, velocities (N, 3) [m/s]; NaN if one is NaN."""
    for node in nodes:
        square = 0.0
        for c in range(3):
            square += velocities[node, c] * velocities[node, c]
        bound = larger(bound, np.sqrt(square))
    return bound
