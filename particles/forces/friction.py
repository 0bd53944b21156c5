"""Three-element edges whose series dashpot is locked by friction (identification spec 2.4), tension positive.

The dashpot c2 beside a Coulomb force alpha lengthens at w = S_alpha(f)/c2, S_alpha(f) = sign(f) max(|f| - alpha, 0).
The Voigt part's extension d is advanced implicitly, d_new = d + h (ldot - w), which only turns c1 into c = c1 + k h:

    g = k d + c ldot (force if stuck);      |g| <= alpha:  f = g, w = 0
                                            else:          f = (g + (c/c2) alpha sign g)/(1 + c/c2)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.vectors import formula, load, select
from rheotwin.materials import FrictionThreeElement
from rheotwin.particles.forces.edges import (
    GAUGE,
    SHARE,
    EdgeGroup,
    EdgeLaw,
    extension_of,
    remember,
    spring_energy,
    spring_tension,
)

SPRING, VOIGT, SERIES, FRICTION = range(4)
"""Constants of the law: k [Pa], c1 and c2 [Pa s], alpha [Pa]."""


@formula
def sliding(g: Any, c: Any, series: Any, friction: Any) -> Any:
    """Return the force f and the rate w of the series part for the force g if it were stuck."""
    limit, ratio = math.copysign(friction, g), c / series
    f = select(abs(g) <= friction, g, (g + ratio * limit) / (1.0 + ratio))
    return f, select(abs(g) <= friction, 0.0 * g, (f - limit) / series)


@formula
def _tension(constants: Any, numbers: Any, states: Any, at: Any, length: Any, rate: Any, h: Any) -> Any:
    before, k, share = extension_of(states, at), load(constants, SPRING, at), load(numbers, SHARE, at)
    c = load(constants, VOIGT, at) + k * h
    friction = load(constants, FRICTION, at) * load(numbers, GAUGE, at)
    f, slip = sliding(k * before + c * rate, c, load(constants, SERIES, at), friction)
    remember(states, at, before + h * (rate - slip), share * f)
    return share * f


def _constants(law: FrictionThreeElement, h: float) -> Array:
    return np.array([*law.edge_constants, law.friction])


def _tangent(group: EdgeGroup) -> tuple[Array, Array]:
    """Return those of the Voigt unit."""
    spring, voigt, _ = group.law.edge_constants  # type: ignore[attr-defined]
    return spring * group.share, voigt * group.share


FRICTION_EDGES = EdgeLaw(lambda law: _tension, _constants, _tangent, spring_tension, spring_energy)
