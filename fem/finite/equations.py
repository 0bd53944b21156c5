"""The nonlinear equations of one step: M a + f_int(u) - f_ext = N lambda at a share of the step (spec 2.3, 6).

Without inertia they hold at the end of the step (share 1). With inertia they hold in the middle (share 1/2):

    (2/h^2) M (du - h v_n) + f_int,mid = f_ext,mid + N lambda,      v = 2 du/h - v_n

with the strains of both ends averaged: momentum and angular momentum are kept exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.finite.body import BodyState, FiniteBody

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """Residual without contact (size,) [N], the largest force in it [N], and its tangents per element [N/m]."""

    residual: Array
    scale: float
    blocks: list[Array]


@dataclass(frozen=True)
class StepEquations:
    """One step of length `step` [s] from displacement and velocity (size,) and the states of the bodies."""

    bodies: tuple[FiniteBody, ...]
    states: tuple[BodyState, ...]
    start: Array
    velocity: Array
    step: float
    share: float
    inertia: Array
    """2 M/h^2 per component [N/m], or zero."""
    external: Array
    """Loads at the share of the step [N]."""

    def evaluate(self, end: Array) -> Evaluation:
        """Evaluate at the displacement `end` of the end of the step."""
        inertial = self.inertia * (end - self.start - self.step * self.velocity)
        internal, blocks = np.zeros_like(end), []
        for body, state in zip(self.bodies, self.states, strict=True):
            response = body.respond(state, self.start, end, self.step, self.share)
            internal += body.geometry.nodal_sum(response.forces, len(end))
            blocks.append(response.blocks)
        largest = max(float(np.abs(part).max()) for part in (internal, inertial, self.external))
        return Evaluation(inertial + internal - self.external, largest, blocks)
