"""Rotations of bodies: an angle in 2D, an axis and an angle in 3D."""

from __future__ import annotations

from math import cos, sin
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from rheotwin.scene.base import SceneModel
from rheotwin.scene.moduli import number_or_table
from rheotwin.scene.quantities import Angle, Direction3D


class Rotation(SceneModel):
    """A turn about an axis through the shape's own origin, before it is moved to `origin`."""

    axis: Direction3D
    """Direction of the axis."""
    angle: Angle
    """Angle of the turn, right-handed."""

    def matrix(self) -> tuple[tuple[float, ...], ...]:
        """Return the rotation matrix c I + s [a]x + (1 - c) a a' (Rodrigues)."""
        c, s, (x, y, z) = cos(self.angle), sin(self.angle), self.axis
        skew = ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0))
        a = self.axis
        return tuple(tuple(c * (i == j) + s * skew[i][j] + (1.0 - c) * a[i] * a[j] for j in range(3)) for i in range(3))


RotationPart = Annotated[
    Annotated[Angle, Tag("number")] | Annotated[Rotation, Tag("table")], Discriminator(number_or_table)
]
"""A turn as written in a scene file: an angle in 2D, { axis = [..], angle = .. } in 3D."""


def rotation_matrix(rotation: float | Rotation | None, dimension: int) -> Any:
    """Return the matrix of a turn as an array (dimension, dimension)."""
    import numpy as np

    if rotation is None or dimension == 1:
        return np.eye(dimension)
    if isinstance(rotation, Rotation):
        return np.array(rotation.matrix())
    c, s = cos(rotation), sin(rotation)
    return np.array([[c, -s], [s, c]])
