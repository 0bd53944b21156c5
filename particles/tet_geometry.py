"""Volume, its gradients and its rate for a vector of tetrahedra, emitted as LLVM vectors.

With sides a, b, c leaving corner 0:  V = a . (b x c)/6,  dV/da = (b x c)/6 and so on;  V' = sum_k g_k . v_k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rheotwin.particles.lanes import Lanes

Vector = Sequence[Any]


def _cross(lanes: Lanes, a: Vector, b: Vector) -> list[Any]:
    """Return a x b."""

    def minor(i: int, j: int) -> Any:
        return lanes.multiply_add(a[i], b[j], lanes.builder.fneg(lanes.builder.fmul(a[j], b[i])))

    return [minor(1, 2), minor(2, 0), minor(0, 1)]


def emit_dilation(
    lanes: Lanes, sides: Sequence[Vector], velocities: Sequence[Vector], per_rest: Any
) -> tuple[Callable[[], Any], Any, list[list[Any]]]:
    """Return the emitter of V/V0 - 1, its rate [1/s], and the gradients at corners 1, 2, 3 [m^2].

    `sides` [m] and `velocities` [m/s] are those of corners 1, 2, 3 relative to corner 0; `per_rest` is 1/V0.
    """
    b, sixth = lanes.builder, lanes.constant(1.0 / 6.0)
    gradients = [
        [b.fmul(sixth, part) for part in _cross(lanes, sides[n], sides[m])] for n, m in ((1, 2), (2, 0), (0, 1))
    ]
    parts = [lanes.dot(velocity, gradient) for velocity, gradient in zip(velocities, gradients, strict=True)]
    rate = b.fmul(b.fadd(b.fadd(parts[0], parts[1]), parts[2]), per_rest)

    def dilation() -> Any:
        return lanes.multiply_add(lanes.dot(sides[0], gradients[0]), per_rest, lanes.constant(-1.0))

    return dilation, rate, gradients
