"""An element between a wall and a grip that presses, holds and lets go (identification, sections 3 and 9).

A mass that nothing moves drives the edge at a constant speed, so that its arms are exact in every step; forces are read
with the speed of the ramp and without, on both sides of its end. Let go, the end has the mass of the run. Pressing is
negative in lengths, and positive in forces as in the source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rheotwin.materials import Channel
from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.edges import IMMOVABLE
from rheotwin.validation.checks.running import Data, problem_of, run_to
from rheotwin.validation.checks.truss_runs import begin, put, row

Array = NDArray[np.float64]

MASS = 0.05
"""Mass [kg] of an end that is let go."""
DEPTH, RAMP, RELEASE = 0.025, 1.0, 100.0
"""Stroke [m], its duration and time of release [s] of runs A, B and C."""


def voigt_units(springs: Sequence[float], dashpots: Sequence[float]) -> Data:
    """Return the law of Voigt units in series, springs [N/m] and dashpots [N s/m]."""
    units = [{"young": k, "viscosity": b} for k, b in zip(springs, dashpots, strict=True)]
    return {"model": "generalized-voigt", "units": units}


def channel_of(law: Data) -> Channel:
    """Return the relaxation function of a law: its equivalent Maxwell bank."""
    return problem_of(row(law)).bodies[0].law.channel("young")


class Grip:
    """An edge that is pressed by `depth` [m] within `ramp` [s] and held."""

    def __init__(self, law: Data, depth: float = DEPTH, ramp: float = RAMP, step: float = 0.1) -> None:
        self.law, self.depth, self.ramp = law, depth, ramp
        self.simulation = begin(row(law, mass=IMMOVABLE, duration=1000.0), step=step)
        self._move(depth / ramp)

    def _move(self, speed: float) -> None:
        put(self.simulation, velocities=np.array([[0.0], [-speed]]))

    def force(self, time: float) -> float:
        """Return the force [N] at a time [s]; while the grip moves, that of its speed.

        The stress of an edge with friction is that of its last step: a step ahead, which is taken back, asks for it.
        """
        run_to(self.simulation, time)
        if "friction" not in self.law:
            return -float(self.simulation.fields()["stress"][0, 0])
        state = self.simulation.save()
        self.simulation.advance(time + 1.5 * self.simulation.step_size, 1)
        ahead = -float(self.simulation.fields()["stress"][0, 0])
        self.simulation.restore(state)
        return ahead

    def stop(self) -> float:
        """Go to the end of the ramp and stop; return the force [N] just before."""
        before = self.force(self.ramp)
        self._move(0.0)
        return before

    def lengths(self, time: float) -> Array:
        """Return the lengths [m] of two units at a time [s] of the hold, where both carry f and their rates cancel."""
        (k1, b1), (k2, b2) = (tuple(unit.values()) for unit in self.law["units"])
        f = self.force(time)
        first, _ = np.linalg.solve([[k1, b1], [k2, b2]], [f, k2 * self.depth - f])
        return -np.array([first, self.depth - first])

    def let_go(self, time: float, step: float, stepper: str = "rk4") -> TrussSimulation:
        """Return the edge from a time [s] of the hold on, its end free; its own time begins at zero."""
        run_to(self.simulation, time)
        state = self.simulation.save()
        free = begin(row(self.law, mass=MASS, duration=100.0), step=step, stepper=stepper)
        put(
            free,
            positions=self.simulation.positions,
            **{name: state[name] for name in ("edge_arms", "nonlinear_edges")},
        )
        return free


def extension(simulation: TrussSimulation, time: float) -> float:
    """Return the length [m] that the edge has gained at a time [s]."""
    run_to(simulation, time)
    return float(simulation.positions[1, 0] - 1.0)
