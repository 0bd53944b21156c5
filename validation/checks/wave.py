"""Front of a wave in a Maxwell bar whose end is suddenly loaded (T9).

Consistent mass and the midpoint rule with h = dx/(sqrt(2) c) disperse in opposite directions: the first error of the
wave speed cancels, and the front stays sharp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, box_scene, run_to, start
from rheotwin.validation.closed_forms import MaxwellBarWave

Array = NDArray[np.float64]

WAVE = MaxwellBarWave(young=1.0, viscosity=0.5, density=1.0)
MAXWELL: Data = {"model": "maxwell", "young": WAVE.young, "poisson": 0.0, "viscosity": WAVE.viscosity}
ELASTIC: Data = {"model": "elastic", "young": WAVE.young, "poisson": 0.0}
TIMES = (0.4, 0.8)
"""When the front is looked at [s]; the bar of 1 m ends the wave at 1 s."""


@dataclass(frozen=True)
class Profile:
    """Stress [Pa] over the distance from the loaded end [m], and the displacement [m] of that end."""

    positions: Array
    stress: Array
    end_displacement: float


def loaded_bar(law: Data, cells: int) -> list[Profile]:
    """Pull the left end of a bar of 1 m with 1 Pa from rest and return its state at `TIMES`."""
    step = 1.0 / cells / np.sqrt(2.0) / WAVE.speed
    scene = box_scene(
        law,
        size=[1.0],
        cells=[cells],
        duration=TIMES[-1],
        density=WAVE.density,
        forces={"pull": {"body": "block", "where": {"side": "left"}, "total": [-1.0]}},
        output={"times": [0.0, *TIMES]},
    )
    simulation, found = start(scene, step=step, mass="consistent", stepper="midpoint"), []
    rest = simulation.positions[:, 0]
    for time in TIMES:
        run_to(simulation, time)
        stress = simulation.fields()["stress"][:, 0]
        found.append(Profile(rest, stress, float(rest[0] - simulation.positions[0, 0])))
    return found


def front(profile: Profile, height: float) -> float:
    """Return the distance [m] at which the stress falls through half the height of the front."""
    ahead = int(np.flatnonzero(profile.stress >= 0.5 * height)[-1])
    x, stress = profile.positions[ahead : ahead + 2], profile.stress[ahead : ahead + 2]
    return float(np.interp(-0.5 * height, -stress, x))


def measure() -> Measurement:
    """Follow the front; an elastic bar on the same mesh tells the shape that the mesh gives to a sharp front."""
    cells = 800
    relaxing, elastic = loaded_bar(MAXWELL, cells), loaded_bar(ELASTIC, cells)
    places = [front(profile, float(WAVE.front_stress(t))) for t, profile in zip(TIMES, relaxing, strict=True)]
    values = {"front speed": (places[1] - places[0]) / (TIMES[1] - TIMES[0])}
    for time, profile, sharp in zip(TIMES, relaxing, elastic, strict=True):
        at_front = [float(np.interp(WAVE.speed * time, p.positions, p.stress)) for p in (profile, sharp)]
        values[f"front stress, t = {time:g}"] = at_front[0] / at_front[1]
        values[f"end displacement, t = {time:g}"] = profile.end_displacement
    return Measurement(values)


CHECKS = (check("fem.T9", measure, name="maxwell-wave", options={"stepper": "midpoint"}, quick=True),)
