"""Midpoint rule with steps as short as they must be: grid step / 2^k, error by an embedded pair (spec 2.3).

Every piece is taken twice from the same state: by the exponential midpoint rule (order 2), which is kept, and by
collocation at the end of the piece (order 1):

    [M/h^2 + sum (g_inf + sum gain + eta/h) J] du = f(t + h) + M v/h - sum J (g_inf u + sum exp(-x) w)

Their difference is of order h^2, as is the error of the kept solution over a given time: the error obtained follows
the tolerance in proportion. Lengths are halves of halves, so that each level k is factorised once.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log2
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.linear import Choice
from rheotwin.fem.model import Model
from rheotwin.fem.state import State
from rheotwin.fem.steppers.implicit import ImplicitStepper
from rheotwin.fem.steppers.schemes import Scheme, end_step, midpoint

FINEST = 16
"""Levels below the grid step; what still differs there is an impact, which no step resolves."""
SMALLEST_SCALE = 1e-6
"""Share of the body's size below which displacements count as this share."""
EASY = 0.2
"""Share of the tolerance below which the next piece may be twice as long: the difference grows fourfold."""


def endpoint(h: float) -> Scheme:
    """Return collocation at the end of the step of `h` [s], with inertia."""
    return Scheme(
        name="endpoint",
        channel=lambda channel: end_step(channel, h),
        load_share=1.0,
        inertia=(1.0 / h**2, 1.0 / h, 0.0),
        velocity=(1.0 / h, 0.0, 0.0),
        acceleration=(1.0 / h**2, -1.0 / h, 0.0),
        acceleration_per_velocity=1.0 / h,
    )


class AdaptiveStepper:
    """Divides every step of the grid so that each piece differs from its twin by at most `tolerance`.

    The tolerance is a share of the largest displacement, or of what the fastest node moves in one step of the grid.
    Nothing is carried from one grid step to the next but the state, so a resumed run takes the same pieces.
    """

    stable_step = float("inf")

    def __init__(self, model: Model, h: float, tolerance: float, choice: Choice, *, account: bool = True) -> None:
        self._model, self._h, self._tolerance = model, h, tolerance
        self._choice, self._account = choice, account
        self._pairs = {0: self._pair(0)}
        self._taken, self._rejected, self._beyond = 0, 0, 0
        self._coarsest, self._finest = FINEST, 0

    def _pair(self, level: int) -> tuple[ImplicitStepper, ImplicitStepper]:
        """Return the rule that a level keeps and its twin; both forget, so that a resumed run repeats every bit."""
        h, model, choice = self._h / 2**level, self._model, self._choice
        kept = ImplicitStepper(model, midpoint(h), h, choice, account=self._account, remember=False)
        return kept, ImplicitStepper(model, endpoint(h), h, choice, account=False, remember=False)

    def statistics(self) -> dict[str, Any]:
        """Return the pieces of this part of the run: taken, rejected, kept beyond the tolerance, and their lengths."""
        return {
            **self._pairs[0][0].statistics(),
            "scheme": "exponential midpoint, adaptive",
            "steps": self._taken,
            "rejected": self._rejected,
            "beyond_tolerance": self._beyond,
            "smallest_step": self._h / 2**self._finest,
            "largest_step": self._h / 2 ** min(self._coarsest, self._finest),
            "factorisations": 2 * len(self._pairs),
        }

    def save(self) -> dict[str, Array]:
        """Return nothing: all that lasts is in the state."""
        return {}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over nothing."""

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` over one step of the grid."""
        done, level = 0, 0  # `done` counts pieces of the finest level
        while done < 2**FINEST:
            start = self._time(begin, end, done)
            stop = self._time(begin, end, done + 2 ** (FINEST - level))
            tried, error = self._attempt(state, start, stop, level)
            if error > 1.0 and level < FINEST:
                self._rejected += 1
                level = min(FINEST, level + max(1, ceil(0.5 * log2(min(error, 4.0**FINEST)))))
                continue
            state.take_over(tried)
            self._note(level, error)
            done += 2 ** (FINEST - level)
            if error < EASY and level > 0 and done % 2 ** (FINEST - level + 1) == 0:
                level -= 1

    @staticmethod
    def _time(begin: float, end: float, done: int) -> float:
        return end if done == 2**FINEST else begin + (end - begin) * (done / 2**FINEST)

    def _note(self, level: int, error: float) -> None:
        self._taken += 1
        self._beyond += error > 1.0
        self._coarsest, self._finest = min(self._coarsest, level), max(self._finest, level)

    def _attempt(self, state: State, start: float, stop: float, level: int) -> tuple[State, float]:
        """Return the state after a piece, and its error as a share of what is allowed."""
        if level not in self._pairs:
            self._pairs[level] = self._pair(level)
        kept, other = state.copy(), state.copy()
        for rule, tried in zip(self._pairs[level], (kept, other), strict=True):
            rule.step(tried, start, stop)
        moved = max(np.abs(kept.u).max(), np.abs(kept.v).max() * self._h)
        scale = max(float(moved), SMALLEST_SCALE * self._model.problem.extent)
        return kept, float(np.abs(kept.u - other.u).max()) / (self._tolerance * scale)
