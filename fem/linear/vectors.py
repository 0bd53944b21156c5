"""Long-vector kernels whose result does not depend on threads: unlike BLAS, they run in one, whatever the machine."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled

Reals = NDArray[Any]


@compiled(contract=True)
def dot(a: Reals, b: Reals) -> float:
    """Return a . b in double precision, summed in four strands that a processor can add side by side."""
    s0 = s1 = s2 = s3 = 0.0
    whole = a.size - a.size % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, a.size):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@compiled(contract=True)
def add_scaled(y: Reals, factor: float, x: Reals) -> None:
    """Set y += factor x."""
    for i in range(y.size):
        y[i] += factor * x[i]
