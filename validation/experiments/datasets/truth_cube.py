"""Truth cube: 343 beads in a silicone cube under four compressions (Apache-2.0, opensurgsim)."""

from __future__ import annotations

import numpy as np

from rheotwin.validation.experiments.datasets.folder import Array, data_set, numbers
from rheotwin.validation.experiments.record import ExperimentRecord, Frame, Specimen, Uncertainty

NAME = "truth-cube"
EDGE, YOUNG, POISSON, DENSITY = 0.080, 15.3e3, 0.499, 980.0
"""Edge [m], Young's modulus [Pa], Poisson's ratio, density [kg/m3] as published with the data."""
LAYERS = 7
NOMINAL = ("no strain", "5 %", "12.5 %", "18.25 %")
SLICE = 0.625e-3
"""Spacing of the images in y [m]."""


def read_truth_cube() -> ExperimentRecord:
    """Return the bead field: three frames of tracked points (343, 3) [m] about the middle of the cube.

    Beads are ordered by i, j, k, each 1 to 7 along x, y, z; k = 1 is nearest the fixed face (z largest), k = 7 nearest
    the plate, which moves to +z. Times are the numbers of the states: the test was quasi-static. The nominal strains
    are no boundary values (layers 1 and 7 approach by 6.8, 15.5, 22.7 %), so there is no path of the plate.
    """
    names = ("i", "j", "k", *(f"{axis}{state}" for state in range(4) for axis in "xyz"))
    rows = numbers(data_set(NAME) / "uniaxial_positions.csv", names, skip=6)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    places = 1e-3 * rows[:, 3:].reshape(-1, 4, 3)
    places = places - places[:, 0].mean(axis=0)
    rest = places[:, 0]
    frames = tuple(
        Frame(float(state), places[:, state], rest=rest, phase=f"nominal strain {NOMINAL[state]}")
        for state in range(1, 4)
    )
    return ExperimentRecord(
        id=NAME,
        kind="measured",
        specimen=Specimen((EDGE,) * 3, mass=DENSITY * EDGE**3, origin="center", up="z", floor=None),
        frames=frames,
        uncertainty=Uncertainty(mean_abs=0.3e-3),
        title="Beads in a silicone cube under compression",
        source="github.com/simquest/opensurgsim, Apache-2.0",
    )


def layer(k: int) -> Array:
    """Return which beads are in layer k (1 to 7), as a mask (343,)."""
    return np.asarray(np.arange(LAYERS**3) % LAYERS == k - 1)
