"""What a step of the particle loop changes."""

from __future__ import annotations

from typing import NamedTuple

from rheotwin.arrays import Array

EXTENSION, TENSION = 0, 1
"""Rows of `nonlinear_edges`: extension of each Voigt part [m], and tension in the step that led here [N]."""


class State(NamedTuple):
    """What a step changes; vectors are (N, 3)."""

    positions: Array
    velocities: Array
    edge_arms: Array
    nonlinear_edges: Array
    cell_arms: Array
    centre_arms: Array
    force: Array
    reaction: Array
    multipliers: Array
