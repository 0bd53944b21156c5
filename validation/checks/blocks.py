"""Blocks of particles under their weight and between plates (sections 3, 5 and 8 of the particle model)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.contact import STIFFNESS, G
from rheotwin.validation.checks.running import Data, box_scene, run_to
from rheotwin.validation.checks.truss_runs import begin

Array = NDArray[np.float64]

STIFFNESSES = (0.0, 0.1, 1.0, 10.0, 100.0)
"""k_vol [Pa/m3]."""


def squeezed(stiffness: float) -> float:
    """Return V/V0 of 4 x 4 x 3 cubes, k = 20 N/m on every edge, squeezed by a fifth between plates that hold them."""
    squeeze = {"times": [0.0, 3.0], "displacement": [[0.0] * 3, [0.0, 0.0, -0.6]]}
    data = box_scene(
        {"model": "voigt", "young": 20.0, "viscosity": 2.0, "poisson": 0.25},
        size=[4.0, 4.0, 3.0],
        cells=[4, 4, 3],
        mass=100.0,
        mass_sharing="equal",
        duration=60.0,
        supports={
            "floor": {"body": "block", "where": {"side": "bottom"}},
            "plate": {"body": "block", "where": {"side": "top"}, "motion": squeeze},
        },
    )
    simulation = begin(data, global_pressure=max(stiffness, 1e-9))  # without pressure no volume is kept account of
    run_to(simulation, 60.0)
    return float(simulation.statistics()["volume_ratio"]["block"])


def volumes() -> Measurement:
    """Compute the ratios of volume, and the pressure of the stiffest."""
    found = {f"k_vol = {stiffness:g}": squeezed(stiffness) for stiffness in STIFFNESSES}
    stiffest = STIFFNESSES[-1]
    return Measurement(found | {"pressure": stiffest * 48.0 * (1.0 - found[f"k_vol = {stiffest:g}"])})


FLOOR: Data = {"shape": "plane", "normal": [0.0, 1.0]}
PENALTY: Data = {"law": "penalty", "stiffness": STIFFNESS, "damping": 20.0}
EDGE: Data = {"model": "voigt", "young": 4400.0, "viscosity": 44.0, "poisson": 0.25}
"""k [N/m] and b [N s/m] of the edges of a block of 6 x 4 particles. They are not printed: k is such that the lowest
particle of the bottom row rests where it should, the highest then comes by itself."""


def on_penalty(law: Data, cells: list[int], size: list[float], mass: float, drop: float, duration: float) -> Array:
    """Return where the particles of the bottom row come to rest [m] after a fall from a height [m]."""
    floor = FLOOR | {"center": [0.0, -drop]}
    data = box_scene(
        law,
        size=size,
        cells=cells,
        pattern="alternating",
        mass=mass,
        mass_sharing="equal",
        duration=duration,
        gravity=[0.0, -G],
        tools={"floor": floor},
        contact=PENALTY,
    )
    simulation = begin(data)
    bottom = simulation.positions[:, 1] == 0.0
    run_to(simulation, duration)
    return np.asarray(simulation.positions[bottom, 1] + drop)


def rest_heights() -> Measurement:
    """Compute rests on a plain penalty of 1000 N/m: of a particle of 1 kg that fell from 0.5 m, and of a block of 1 kg.

    The particle is one of two below a stiff square of 2 kg.
    """
    particle = on_penalty(EDGE | {"young": 1e5, "viscosity": 1e2}, [1, 1], [0.1, 0.1], 2.0, 0.5, 8.0)
    block = on_penalty(EDGE, [5, 3], [5.0, 3.0], 1.0, 0.0, 15.0)
    return Measurement(
        {
            "plain": float(particle.mean()),
            "block rows, least": float(block.min()),
            "block rows, most": float(block.max()),
        }
    )


CHECKS = (
    check("truss.S5.volume", volumes, name="squeezed-volume", quick=True, solvers=("truss",)),
    check("truss.S8.routh", rest_heights, name="rest-of-rows", solvers=("truss",)),
)
