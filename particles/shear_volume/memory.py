"""Networks of strains in chunks: dashpots and arms of shear and of volume, and what the arms remember.

An arm answers kappa z to a strain g,   z' = g' - A z.   In the step of h that led here g went from g_before to g:

    z <- exp(-A h) z + (1 - exp(-A h))/(A h) (g - g_before)

exact for a constant rate. With the difference in place of the rate at its end arms never lose count of the strain,
whatever the path: an arm that does not relax is a spring to the last digit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.network import Constants
from rheotwin.particles.shear_volume.lanes import CHUNK, in_chunks

Array = NDArray[np.float64]


class Network(NamedTuple):
    """Dashpots (chunks, CHUNK) and arms (chunks, arms, CHUNK) of one strain measure, times rest measure [J].

    Arm arrays are stiffness kappa, rate A, exp(-A h) and (1 - exp(-A h))/(A h) of a whole step; springs are among the
    elements' constants.
    """

    viscosity: Array
    arm_stiffness: Array
    arm_rate: Array
    arm_decay: Array
    arm_gain: Array


def pack_network(constants: Constants, h: float) -> Network:
    """Pack constants times rest measure [J, J s] of elements for steps of `h` [s]; h = 0 leaves arms as they are."""
    turns = constants.arm_rate * h
    gain = -np.expm1(-turns) / turns if h > 0.0 else np.zeros_like(turns)
    return Network(
        in_chunks(constants.viscosity, forces=True),
        in_chunks(constants.arm_stiffness, forces=True),
        in_chunks(constants.arm_rate),
        in_chunks(np.exp(-turns)),
        in_chunks(gain),
    )


@compiled(contract=True, nogil=True)
def _advance_arm(stiffness: Array, decay: Array, gain: Array, now: Array, before: Array, z: Array, out: Array) -> None:
    for k in range(CHUNK):
        state = decay[k] * z[k] + gain[k] * (now[k] - before[k])
        z[k] = state
        out[k] += stiffness[k] * state


@compiled(nogil=True)
def _advance_for(part: float, stiffness: Array, rate: Array, now: Array, before: Array, z: Array, out: Array) -> None:
    """As `_advance_arm` for a step of `part` [s]."""
    for k in range(CHUNK):
        turns = rate[k] * part
        state = np.exp(-turns) * z[k] - np.expm1(-turns) / turns * (now[k] - before[k])
        z[k] = state
        out[k] += stiffness[k] * state


@compiled(nogil=True, allocates=True)
def advance_arms(
    network: Network, chunk: int, part: float, arms: Array, before: Array, now: Array, tension: Array
) -> None:
    """Advance the arms (arms, strains, CHUNK) of a chunk and add what they answer to `tension`.

    `part` [s] is the step that led here, 0 for a whole one. `before` (strains, CHUNK) are strains a step ago and become
    those of `now`; `now` and `tension` are flat.
    """
    for s in range(before.shape[0]):
        here = slice(s * CHUNK, (s + 1) * CHUNK)
        for arm in range(arms.shape[0]):
            stiffness, z = network.arm_stiffness[chunk, arm], arms[arm, s]
            if part > 0.0:
                rate = network.arm_rate[chunk, arm]
                _advance_for(part, stiffness, rate, now[here], before[s], z, tension[here])
            else:
                decay, gain = network.arm_decay[chunk, arm], network.arm_gain[chunk, arm]
                _advance_arm(stiffness, decay, gain, now[here], before[s], z, tension[here])
        before[s] = now[here]
