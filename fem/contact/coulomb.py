"""Coulomb friction of one contact with all others at rest: W t + r = 0 while it sticks, |t| given while it slides.

`r` is the slip without its own friction, W how the contact gives way along its tangents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]

OPEN, STICKING, SLIDING = 0, 1, 2
"""What a contact does."""

STIFF = 1e-6
"""Share of the largest compliance below which supports hold a slip: where a tilt alone of a held surface gives way
along it, friction could be anything."""


class Cone(NamedTuple):
    """Friction of the contacts of one step, one entry each."""

    kinetic: Array
    """mu; 0 where there is none, and the given friction stays."""
    sticking: Array
    """mu_s >= mu."""
    creep: Array
    """v_eps h [m], the slip of a step at which the regularised rule reaches mu lambda_n; 0: exact."""


@compiled
def friction_on_line(rest: float, own: float, limit: float, slide: float) -> tuple[float, bool]:
    """Return t of (own) t + rest = 0, or of its sign and size `slide` beyond `limit`, and whether it slides."""
    if own <= 0.0:
        return 0.0, False
    stick = -rest / own
    if abs(stick) <= limit:
        return stick, False
    return np.copysign(slide, stick), True


@compiled
def friction_in_plane(
    rx: float, ry: float, a: float, b: float, c: float, limit: float, slide: float
) -> tuple[float, float, bool]:
    """As `friction_on_line` with [[a, b], [b, c]] t: beyond the limit ([[a, b], [b, c]] + x) t = -r with |t| = slide.

    |t(x)| falls and 1/|t(x)| is nearly straight: Newton's method on 1/|t| - 1/slide comes from below.
    """
    det = a * c - b * b
    if det <= STIFF * (a + c) ** 2:
        return _friction_along(rx, ry, a, b, c, limit, slide)
    tx, ty = (-c * rx + b * ry) / det, (b * rx - a * ry) / det
    if tx * tx + ty * ty <= limit * limit:
        return tx, ty, False
    if slide <= 0.0:
        return 0.0, 0.0, True
    x = 0.0
    for _ in range(100):
        det = (a + x) * (c + x) - b * b
        tx, ty = (-(c + x) * rx + b * ry) / det, (b * rx - (a + x) * ry) / det
        size = np.sqrt(tx * tx + ty * ty)
        if abs(size - slide) <= 1e-14 * slide:
            break
        # d|t|/dx = -t.(W + x)^-1 t/|t|
        ux, uy = ((c + x) * tx - b * ty) / det, (-b * tx + (a + x) * ty) / det
        x = max(x + (size - slide) / slide * size * size / (tx * ux + ty * uy), 0.0)
    return tx, ty, True


@compiled
def _friction_along(
    rx: float, ry: float, a: float, b: float, c: float, limit: float, slide: float
) -> tuple[float, float, bool]:
    """As `friction_in_plane` where only one direction gives way, the eigenvector of the larger eigenvalue."""
    half = 0.5 * (a - c)
    root = np.sqrt(half * half + b * b)
    ux, uy = (half + root, b) if half >= 0.0 else (b, root - half)
    size = np.sqrt(ux * ux + uy * uy)
    if size <= 0.0:
        return 0.0, 0.0, False
    ux, uy = ux / size, uy / size
    along, sliding = friction_on_line(rx * ux + ry * uy, 0.5 * (a + c) + root, limit, slide)
    return along * ux, along * uy, sliding
