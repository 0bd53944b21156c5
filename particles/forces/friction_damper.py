"""Three-element edges whose series dashpot is locked by friction (identification spec 2.4), tension positive.

The dashpot c2 beside a Coulomb force alpha lengthens at w = S_alpha(f)/c2, S_alpha(f) = sign(f) max(|f| - alpha, 0).
The Voigt part's extension d is advanced implicitly, d_new = d + h (ldot - w), which only turns c1 into c = c1 + k h:

    g = k d + c ldot (force if stuck);      |g| <= alpha:  f = g, w = 0
                                            else:          f = (g + (c/c2) alpha sign g)/(1 + c/c2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.materials import FrictionThreeElement
from rheotwin.particles.forces.edge_frame import edge_frame, pull_together
from rheotwin.particles.forces.edge_group import EdgeGroup, column, joined_corners
from rheotwin.particles.state import EXTENSION, TENSION

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class FrictionEdges(NamedTuple):
    """Ends (n, 2), Voigt unit k [N/m] and c1 [N s/m], series dashpot c2 [N s/m] and friction alpha [N]."""

    corners: Indices
    stiffness: Array
    viscosity: Array
    series: Array
    friction: Array


@compiled
def sliding(g: float, c: float, series: float, friction: float) -> tuple[float, float]:
    """Return the force f [N] and the rate w [m/s] of the series part for the force g [N] if it were stuck."""
    if abs(g) <= friction:
        return g, 0.0
    limit = friction if g > 0.0 else -friction
    ratio = c / series
    f = (g + ratio * limit) / (1.0 + ratio)
    return f, (f - limit) / series


@compiled
def add_friction_forces(edges: FrictionEdges, x: Array, v: Array, h: float, state: Array, force: Array) -> None:
    """Advance the Voigt parts by a step of `h` [s] and scatter f e to both ends."""
    for edge in range(edges.corners.shape[0]):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        _, rate, ex, ey, ez = edge_frame(x, v, i, j)
        k, before = edges.stiffness[edge], state[EXTENSION, edge]
        c = edges.viscosity[edge] + k * h
        f, slip = sliding(k * before + c * rate, c, edges.series[edge], edges.friction[edge])
        state[EXTENSION, edge] = before + h * (rate - slip)
        state[TENSION, edge] = f
        pull_together(force, i, j, f * ex, f * ey, f * ez)


def friction_edges(groups: Sequence[EdgeGroup]) -> FrictionEdges:
    """Pack the edges of all laws with friction."""
    return FrictionEdges(
        corners=joined_corners(groups),
        stiffness=column(groups, lambda g: g.law.edge_constants[0] * g.share),
        viscosity=column(groups, lambda g: g.law.edge_constants[1] * g.share),
        series=column(groups, lambda g: g.law.edge_constants[2] * g.share),
        friction=column(groups, lambda g: cast(FrictionThreeElement, g.law).friction * g.force_share),
    )


def friction_tangent(group: EdgeGroup) -> tuple[Array, Array]:
    """Return the largest stiffness [N/m] and viscosity [N s/m] (n,) the edges can show: those of the Voigt unit."""
    spring, voigt, _ = group.law.edge_constants
    return spring * group.share, voigt * group.share
