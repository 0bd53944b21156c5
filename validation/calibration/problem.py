"""What is asked of a calibration: numbers of a scene, records they have to explain, and what a set of them costs.

    total = w_S S + N e (w_F rms((F - F')/sigma_F) + w_V rms((V - V')/sigma_V) + w_U rms((u - u')/sigma_U))   [m]

S is the shape difference of the calibration papers, e = 0.05 cm the noise below which a distance does not count and N
the number of points (N e = 1 m without points): what misses by its uncertainty weighs like points that all miss by e.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.arrays import Array
from rheotwin.scene import Scene
from rheotwin.validation.experiments.record import ExperimentRecord

Part = Literal["fit", "validate", "predict"]
"""What a record is for: to find parameters, to stop a search, to be foretold."""


@dataclass(frozen=True)
class Parameter:
    """A number of the scene at a dotted `place` (as `--set` takes it, in SI units), between `low` and `high`."""

    name: str
    place: str
    low: float
    high: float
    start: float


@dataclass(frozen=True)
class Costs:
    """Weights of what a set of parameters is judged by; what is 0, or what no record holds, does not count."""

    shapes: float = 1.0
    forces: float = 0.0
    volumes: float = 0.0
    fields: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """What a set `theta` of parameters is worth.

    `total` is the cost [m], infinite with a `reason` where the set is refused, diverges or inverts a cell. Per frame:
    `per_time` the part of S [m], `counts` the points beyond 0.25 cm, `volume` of the bodies [m3], `force` of the punch
    on them [N], all of the real body. `terms` are the unweighted terms of the cost.
    """

    theta: Array
    total: float
    per_time: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    volume: tuple[float, ...] = ()
    force: tuple[float, ...] = ()
    reason: str | None = None
    terms: dict[str, float] | None = None

    @property
    def shape(self) -> float:
        """S [m]."""
        return float(np.sum(self.per_time)) if self.reason is None else np.inf


def parameters_of(scene: Scene) -> tuple[Parameter, ...]:
    """Return the parameters that a scene marks in `[calibrate]`."""
    raise NotImplementedError


class CalibrationProblem:
    """Numbers of a scene to be found, by what a solver makes of the scene and what records say."""

    def __init__(
        self,
        scene: Scene,
        solver: str,
        records: Sequence[ExperimentRecord],
        parameters: Sequence[Parameter] = (),
        costs: Costs | None = None,
        *,
        parts: Sequence[Part] = (),
        lanes: bool = True,
    ) -> None:
        """Take the parameters of the scene unless others are given; all records are to be fitted without `parts`."""
        raise NotImplementedError

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers to be found."""
        raise NotImplementedError

    def points(self, part: Part = "fit") -> int:
        """Return the number N of points in S."""
        raise NotImplementedError

    def evaluate(self, thetas: ArrayLike, part: Part = "fit") -> list[Evaluation]:
        """Return what sets (m, n) of parameters are worth on the records of a part."""
        raise NotImplementedError

    def residuals(self, thetas: ArrayLike, part: Part = "fit") -> list[Array | None]:
        """Return signed residuals (r,) over their noise for least squares, None for sets without a result."""
        raise NotImplementedError

    def idle(self) -> tuple[str, ...]:
        """Return the names of parameters that change nothing between their bounds, all others at their start."""
        raise NotImplementedError

    def with_parameters(self, theta: ArrayLike) -> Scene:
        """Return the scene with a set (n,) of parameters."""
        raise NotImplementedError
