"""One Poisson ratio for all parts of a law makes every driven response self-similar (T8).

In persistent contact the force on a tool is the elastic one per unit modulus times the answer of a bar:

    F(t) = (F_el/(E d)) s(t)       with s(t) the stress of a bar whose strain is the tool's depth, F_el at depth d
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.errors import RheotwinError
from rheotwin.materials import Law, equal_poisson
from rheotwin.validation.closed_forms.bar import driven_stress

Array = NDArray[np.float64]


def tool_force(
    law: Law,
    unit_force: float,
    times: ArrayLike,
    depths: ArrayLike,
    t: ArrayLike,
    *,
    side: Literal["before", "after"] = "after",
) -> Array:
    """Return the force [N] at times t [s] on a tool whose depth [m] is linear between `times` [s].

    `unit_force` [m] is F_el/(E d), the force of an elastic body of the same shape and Poisson ratio per unit
    of Young's modulus and depth.
    """
    if equal_poisson(law) is None:
        raise RheotwinError(
            f"law {law.name}: its parts have different Poisson ratios, so its response is not self-similar; "
            "give them one"
        )
    return unit_force * driven_stress(law.channel("young"), times, depths, t, side=side)
