"""What of a scene is to be found from experiments: places of numbers, and within which bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Number, SceneModel

Place = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$")]
"""A dotted place of a scene, as `--set` takes it: `laws.foam.young`."""


class CalibratedSpec(SceneModel):
    """Bounds of one number that `rheotwin calibrate` looks for, in SI units whatever the file uses."""

    low: Number
    """Least value."""
    high: Number
    """Largest value."""
    start: Number | None = None
    """Where a search begins; default: the geometric mean of positive bounds, else the middle."""

    @model_validator(mode="after")
    def _in_order(self) -> CalibratedSpec:
        if not self.low < self.high:
            raise PydanticCustomError("bounds", "`low` must be below `high`: exchange the two")
        if self.start is not None and not self.low <= self.start <= self.high:
            raise PydanticCustomError("bounds", "`start` lies outside of `low` to `high`: widen them, or start within")
        return self

    @property
    def first(self) -> float:
        """Where a search begins."""
        if self.start is not None:
            return self.start
        return float((self.low * self.high) ** 0.5) if self.low > 0.0 else 0.5 * (self.low + self.high)
