"""A first guess from earlier solutions with the same matrix (Fischer 1998, projection on earlier solutions).

Of all combinations of the last solutions x_i take the one whose residual |b - sum c_i A x_i| is least. A smooth
history makes that residual small: it extrapolates in time, and follows a load that changes its rate as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.linear.conjugate_gradient import add_scaled, dot
from rheotwin.kernels.compiled import compiled

DEPTH = 4
"""Solutions to keep. On scene F1 one, two, three and eight take 548, 274, 105 and 74 iterations in 50 steps: three
span a ramp with one relaxation time, a fourth is for richer histories, and each keeps two vectors in memory."""
PARALLEL = 1e-12
"""Share of its length below which a product adds no direction of its own."""


@dataclass
class WarmStart:
    """The last solutions with one matrix, newest first, and their products with it."""

    matrix: Any
    """Whatever multiplies a vector by `@`."""
    depth: int = DEPTH
    _solutions: list[Array] = field(default_factory=list)
    _products: list[Array] = field(default_factory=list)

    def guess(self, right: Array) -> Array | None:
        """Return the best combination of earlier solutions for a right-hand side; None before the first."""
        if not self._solutions:
            return None
        return np.asarray(_combine(np.array(self._solutions), np.array(self._products), right))

    def remember(self, solution: Array) -> None:
        """Keep a solution and forget the oldest."""
        self._solutions = [solution.copy(), *self._solutions[: self.depth - 1]]
        self._products = [self.matrix @ solution, *self._products[: self.depth - 1]]

    def save(self) -> Array:
        """Return the kept solutions (k, n): all that a continued run needs to repeat an uninterrupted one."""
        return np.array(self._solutions)

    def restore(self, solutions: Array) -> None:
        """Take over saved solutions."""
        self._solutions = [solution.copy() for solution in solutions]
        self._products = [self.matrix @ solution for solution in self._solutions]


@compiled(contract=True, allocates=True)
def _combine(solutions: Array, products: Array, right: Array) -> Array:
    """Orthonormalise the products one after the other, the solutions alongside, and project on them.

    Projecting what is left of the right-hand side and not all of it keeps this stable: a product that hardly has a
    direction of its own is not quite orthogonal to the others, and would bring their share in a second time.
    """
    guess, rest = np.zeros(right.size), right.copy()
    for k in range(len(solutions)):
        x, y = solutions[k], products[k]
        length = np.sqrt(dot(y, y))
        for earlier in range(k):
            share = -dot(products[earlier], y)
            add_scaled(x, share, solutions[earlier])
            add_scaled(y, share, products[earlier])
        own = np.sqrt(dot(y, y))
        scale = 1.0 / own if own > PARALLEL * length else 0.0
        for i in range(x.size):
            x[i] *= scale
            y[i] *= scale
        share = dot(y, rest)
        add_scaled(guess, share, x)
        add_scaled(rest, -share, y)
    return guess
