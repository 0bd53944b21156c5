"""What brings inverted bodies back as they were: dashpots in all elements of a body while one of them is inverted.

    eta = mu T,      T = V^(1/d) (rho/mu)^(1/2), the time a shear wave takes through the body

An inverted body has many ways to turn itself right. Left to swing, its parts take different ones, and what they meet in
is a fan of triangles that goes round twice: every element upright again, the body wound up for good. With a dashpot of
that time beside the springs it sinks back the straight way, all of its elements through J = 0 together. Dashpots in
inverted elements alone are not enough: it is the upright ones that swing. They are the Newtonian ones of the elements,
so momenta are kept; no body feels them as long as none of its elements is inverted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.lanes import CHUNK, in_chunks

Array = NDArray[np.float64]


class Recovery(NamedTuple):
    """Viscosities T mu V0 (chunks, CHUNK) [J s] and the body of each element; no chunks without recovery.

    `haste` is into how many parts a step has to be divided for elements at rest.
    """

    viscosity: Array
    body: NDArray[np.int64]
    haste: float


def pack_recovery(viscosity: Array | None, body: NDArray[np.int64] | None, haste: float) -> Recovery:
    """Pack the viscosities T mu V0 (E,) [J s] of elements in bodies (E,)."""
    if viscosity is None or body is None or not haste > 0.0:
        return Recovery(np.zeros((0, CHUNK)), np.zeros((0, CHUNK), np.int64), 0.0)
    return Recovery(in_chunks(viscosity, forces=True), in_chunks(body).astype(np.int64), haste)


@compiled(nogil=True)
def viscosity_of_inverted(recovery: Recovery, chunk: int, inverted: NDArray[np.bool_], out: Array) -> bool:
    """Put viscosities [J s] of a chunk into `out`, zero in bodies not `inverted`; say if any is not zero."""
    some = False
    for k in range(CHUNK):
        acts = inverted[recovery.body[chunk, k]]
        out[k] = recovery.viscosity[chunk, k] if acts else 0.0
        some = some or acts
    return some
