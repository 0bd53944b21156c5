"""Elements of one kind in chunks, as plain arrays for the compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.lanes import CHUNK, Corners
from rheotwin.particles.shear_volume.memory import Network
from rheotwin.particles.shear_volume.recovery import Recovery
from rheotwin.particles.shear_volume.softening import Softening

Array = NDArray[np.float64]


class Group(NamedTuple):
    """Corners (filled, d+1) of `number` simplices and their constants (chunks, rows * CHUNK), springs among them.

    `viscous`: some network has a dashpot; `remembers`: one has arms or softens, as `softens` says. Without any of it
    one pass over elements is enough. `together`: shear and volume soften by one stress.
    `recovery` acts in bodies with inverted elements.
    `stretch` is the step over the stable one: `limit` is the s^2 up to which it is short enough (see `inversion`).
    """

    number: int
    corners: Corners
    constants: Array
    shear: Network
    volume: Network
    viscous: bool
    remembers: bool
    stretch: float
    limit: float
    softens: bool
    soft_shear: Softening
    soft_volume: Softening
    together: bool
    recovery: Recovery

    @property
    def columns(self) -> Array:
        """Constants (rows, E), without what fills up the last chunk."""
        chunks = self.constants.reshape(len(self.constants), -1, CHUNK)
        return np.moveaxis(chunks, 0, 1).reshape(chunks.shape[1], -1)[:, : self.number]

    def edges_at(self, x: Array) -> Array:
        """Return the edges (E, d, 3) [m] from corner 0 at positions (N, 3) [m]; in space (E, 3, 3)."""
        corners = self.corners[: self.number]
        edges: Array = x[corners[:, 1:]] - x[corners[:, :1]]
        return edges


class Memory(NamedTuple):
    """What the arms of a group remember, in chunks: arms (chunks, arms, strains, CHUNK), strains a step ago.

    Voigt parts of softening networks (chunks, strains, CHUNK) have no chunks where nothing softens.
    """

    shear_arms: Array
    shear_before: Array
    volume_arms: Array
    volume_before: Array
    shear_voigt: Array
    volume_voigt: Array


class Room(NamedTuple):
    """Room for one chunk of triangles: shapes, forces on two corners, four strains."""

    shape: Array
    pulls: Array
    strain: Array


@compiled(spliced=True)
def parts_of(group: Group, stiffer: float) -> float:
    """Return into how many parts a step has to be divided for elements `stiffer` times as stiff and viscous as at rest.

    K h^2 < 4 and 2 C h < 4: springs ask for the square root of what dashpots do, and for twice as many parts as are
    stable, because without dashpots nothing takes away what an element gains that gets stiffer during a part.
    """
    return group.stretch * (stiffer if group.viscous else 2.0 * np.sqrt(stiffer))
