"""Networks in chunks whose series dashpot softens under stress, for strains of any number of components.

The stress f of an element follows g, the direction of both is the same and their sizes obey the law's scalar equation,

    g = k (d + ds) + c1 r,   c = c1 + k h,     |f| (1 + c/c2(|f|)) = |g|,     f = |f|/|g| g
    d <- d + ds - h f/c2 + c1/(c1 + c2) (h r - ds)

with the Voigt part d, the change of strain ds of the step of h that led here, and the strain rate r that dashpots see
(spec section 3: solved in the step, never lagged by one). Sizes are an invariant that each kind of element has for its
strains, the shear stress of simple shear. As f/g is one number for all components, f is the spring's k (d + ds) and the
dashpot's force, both times it. The last term of d is zero where r is the rate of the strain; of Newtonian dashpots
beside a stress that is not, it keeps d the strain of an arm, so that with constant c2 this is the linear law at any
strain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.softening import softened
from rheotwin.particles.shear_volume.lanes import CHUNK, in_chunks
from rheotwin.particles.shear_volume.softening_constants import SofteningConstants

Array = NDArray[np.float64]


class Softening(NamedTuple):
    """Constants (chunks, CHUNK) of one strain measure for steps of `step` [s]; no chunks where nothing softens.

    `size` is the rest measure with thickness [m3], zero in elements that do not soften; k [Pa], c1, c_max and c_min
    [Pa s], thresholds [Pa] and B [1/Pa].
    """

    step: float
    size: Array
    spring: Array
    voigt: Array
    stiff: Array
    soft: Array
    start: Array
    end: Array
    exponent: Array


def pack_softening(constants: SofteningConstants | None, h: float) -> Softening:
    """Pack the networks of elements for steps of `h` [s]; h = 0 leaves the Voigt parts as they are."""
    if constants is None:
        return Softening(h, *(np.zeros((0, CHUNK)) for _ in range(8)))
    size = in_chunks(constants.size, forces=True)
    return Softening(h, size, *(in_chunks(row) for row in constants.rows))


@compiled(spliced=True)
def step_of(softening: Softening, part: float) -> float:
    """Return the step that led here [s]: `part`, or a whole one where that is 0."""
    return part if part > 0.0 else softening.step


@compiled(contract=True, nogil=True)
def drive(
    softening: Softening, chunk: int, h: float, d: Array, now: Array, before: Array, rate: Array, g: Array
) -> None:
    """Write g = k (d + ds) + c1 r (strains * CHUNK); without a step ds counts for nothing."""
    spring, voigt, moved = softening.spring[chunk], softening.voigt[chunk], 1.0 if h > 0.0 else 0.0
    for s in range(d.shape[0]):
        for k in range(CHUNK):
            i = s * CHUNK + k
            g[i] = spring[k] * (d[s, k] + moved * (now[i] - before[s, k])) + voigt[k] * rate[i]


@compiled(nogil=True)
def give_way(
    softening: Softening,
    chunk: int,
    h: float,
    d: Array,
    now: Array,
    before: Array,
    rate: Array,
    g: Array,
    sizes: Array,
    tension: Array,
    viscosity: Array,
) -> None:
    """Solve for the stress of every element and advance its Voigt part d (strains, CHUNK) by the step of `h` [s].

    `sizes` (CHUNK,) are those of g. The spring's share of the stress is added to `tension`, what is left of the Voigt
    dashpot to `viscosity` (CHUNK,), both times the rest measure.
    """
    for k in range(CHUNK):
        measure = softening.size[chunk, k]
        if measure == 0.0:
            continue
        spring, voigt, stiff = softening.spring[chunk, k], softening.voigt[chunk, k], softening.stiff[chunk, k]
        c = voigt + spring * h
        share, slip = 1.0 / (1.0 + c / stiff), 1.0 / (c + stiff)
        if sizes[k] > softening.start[chunk, k] / share:
            f, flow = softened(
                sizes[k],
                c,
                stiff,
                softening.soft[chunk, k],
                softening.start[chunk, k],
                softening.end[chunk, k],
                softening.exponent[chunk, k],
                0.0,
            )
            share, slip = f / sizes[k], flow / sizes[k]
        viscosity[k] += measure * share * voigt
        late = voigt * slip / (share + voigt * slip)
        for s in range(d.shape[0]):
            i = s * CHUNK + k
            if h > 0.0:
                moved = now[i] - before[s, k]
                tension[i] += measure * share * spring * (d[s, k] + moved)
                d[s, k] += moved - h * slip * g[i] + late * (h * rate[i] - moved)
            else:
                tension[i] += measure * share * spring * d[s, k]
