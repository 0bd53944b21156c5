"""One element between a wall and a grip that presses, holds and lets go (identification, sections 3 and 9).

A mass that nothing moves drives the edge at a constant speed, so that its arms are exact in every step; forces are read
with the speed of the ramp and without, on both sides of its end. Let go, the end has the mass of the run. Pressing is
negative in lengths, and positive in forces as in the source. Runs A to D of the source, rates and equivalent banks.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from rheotwin.arrays import Array
from rheotwin.materials import Channel
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Check, Compute, Values, check
from rheotwin.validation.checks.edges import DASHPOTS, IMMOVABLE, bank, channel_of, relaxing, roots, tension
from rheotwin.validation.checks.running import HELD, Data, begin, moved, named, path, put, row, side, start

MASS = 0.05
"""Mass [kg] of an end that is let go."""
DEPTH, RAMP, RELEASE = 0.025, 1.0, 100.0
"""Stroke [m], its duration and time of release [s] of runs A, B and C."""
DEPTH_D, RAMP_D, RELEASE_D = 0.045, 6.1, 96.5
"""The same of run D."""

voigt_units = partial(bank, "generalized-voigt")
A1, A2 = voigt_units((15.0, 15.0), (30.0, 300.0)), voigt_units((15.0, 15.0), (3.0, 300.0))
B1 = voigt_units((10.0,) * 3, (30.0, 300.0, 500.0))
B2 = voigt_units((10.0,) * 3, (60.0, 300.0, 600.0))
C: Data = {"model": "three-element", "young": 200.0, "voigt_viscosity": 100.0, "series_viscosity": 1000.0}
STUCK = C | {"friction": 2.0}
D = voigt_units((10.0, 20.0), (30.0, 300.0))
FOAM = voigt_units((513.607, 513.607), (237.0, 1000.0))
"""Laws by the tables of the source."""


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
        now = -tension(self.simulation, time)
        if "friction" not in self.law:
            return now
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


def let_go(
    law: Data, time: float, step: float, stepper: str = "rk4", depth: float = DEPTH, ramp: float = RAMP
) -> Simulation:
    """Return a scene that presses, holds and lets go at a time [s], with the end's mass of the run."""
    hand = side("right", motion=path((0.0, ramp), [[0.0], [-depth]]), until=time)
    data = row(law, mass=MASS, duration=time + 100.0, supports=HELD | {"hand": hand})
    return start(data, "truss", match="edge", step=step, stepper=stepper)


def held(law: Data, depth: float = DEPTH, ramp: float = RAMP, step: float = 0.1) -> Grip:
    """Return a grip at the end of its ramp, stopped."""
    grip = Grip(law, depth, ramp, step)
    grip.stop()
    return grip


run_d = partial(held, D, DEPTH_D, RAMP_D)


def forces(law: Data, *times: float, step: float = 0.1) -> dict[str, float]:
    """Return the forces [N] at the start, on both sides of the ramp's end, and later."""
    grip = Grip(law, step=step)
    found = {"f(0+)": grip.force(0.0), "f(1-)": grip.stop(), "f(1+)": grip.force(RAMP)}
    return found | {f"f({time:g})": grip.force(time) for time in times}


def two_units(law: Data) -> Values:
    """Compute ID-12, ID-13."""
    return forces(law, 10.0, 100.0) | {"tau": channel_of(law).times[0]}


def three_units(law: Data) -> Values:
    """Compute ID-15, ID-16."""
    return forces(law, 200.0) | named("1/r {}", (1, 2), sorted(channel_of(law).times))


def strengths() -> Values:
    """Compute ID-17."""
    found = channel_of(B1)
    return named("g {}", (1, 2), [g for _, g in sorted(zip(found.times, found.strengths, strict=True))])


def forces_d() -> Values:
    """Compute ID-02."""
    grip = Grip(D, DEPTH_D, RAMP_D)
    found = {"6.1-": grip.stop(), "6.1+": grip.force(RAMP_D)}
    return found | {f"{time:g}": grip.force(time) for time in (20.0, 40.0, RELEASE_D)}


def plateau() -> Values:
    """Compute ID-03: the plateau, and the spring of two equal units that has it."""
    force = run_d().force(1000.0)
    return {"plateau": force, "K": 2.0 * force / DEPTH_D}


def lengths(time: float) -> Values:
    """Compute ID-01, ID-04."""
    return named("x{}", (1, 2), run_d().lengths(time))


@cache
def recovery() -> dict[float, float]:
    """Return the length [m] of run D by time [s] after its release; Runge-Kutta with 4 ms is stable.

    The fastest of its modes has died out before the first of these times, the others are exact with that step.
    """
    free = let_go(D, RELEASE_D, 4e-3, depth=DEPTH_D, ramp=RAMP_D)
    return {time: moved(free, time) for time in (97.0, 100.0, 110.0, 130.0, 160.0, 180.0)}


def released() -> Values:
    """Compute ID-05."""
    return {f"{time:g}": recovery()[time] for time in (97.0, 100.0, 110.0, 130.0)}


def late() -> Values:
    """Compute ID-06 and ID-07, where b_late is that of (5.12) with K of ID-03."""
    first, last = (float(np.log(-recovery()[time])) for time in (160.0, 180.0))
    slope = (last - first) / 20.0
    b_late = -(40.0 / 3.0 + 0.5 * MASS * slope**2) / slope
    return {"160": first, "180": last, "slope": slope, "b_late": b_late}


def chain_roots() -> Values:
    """Compute ID-08."""
    return named("{}", ("fast", "middle", "slow"), roots(channel_of(D), MASS))


def unit_roots() -> Values:
    """Compute ID-09: each unit alone with half of the mass."""
    found: dict[str, float] = {}
    for n, unit in enumerate(D["units"], 1):
        both = roots(Channel.voigt(unit["young"], unit["viscosity"]), 0.5 * MASS)
        found |= named(f"element {n}, {{}}", ("fast", "slow"), both)
    return found


def bank_of_d() -> Values:
    """Compute ID-10."""
    found = channel_of(D)
    arm = {"r": 1.0 / found.times[0], "g": found.strengths[0]}
    return {"k_inf": found.equilibrium, "b_0": found.viscosity} | arm


def ten_seconds_later() -> Values:
    """Compute ID-14."""
    return {
        name: moved(let_go(law, RELEASE, 4e-3), RELEASE + 10.0) for name, law in (("sim 1", A1), ("sim 2", A2))
    }  # fmt: skip


def extrapolated(found: list[dict[str, float]]) -> dict[str, float]:
    """Return values free of errors of first and second order, from those with a step, its half and its quarter."""
    return {name: (8.0 * found[2][name] - 6.0 * found[1][name] + found[0][name]) / 3.0 for name in found[0]}


def friction() -> Values:
    """Compute ID-18; the time is that of the decay to the friction."""
    found = extrapolated([forces(STUCK, 5.0, 20.0, step=step) for step in (4e-3, 2e-3, 1e-3)])
    excess = np.log(found["f(5)"] - 2.0) - np.log(found["f(20)"] - 2.0)
    return found | {"tau": 15.0 / float(excess)}


def stuck() -> Values:
    """Compute ID-19: above the friction by 0.07 N for 0.5 ms, the mass lets it slide 1e-9 m more than none would."""
    steps = (8e-4, 4e-4, 2e-4)
    ends = [let_go(STUCK, 20.0, step, "semi-implicit") for step in steps]
    return extrapolated([{"x": moved(end, 30.0)} for end in ends])


def residue() -> Values:
    """Compute ID-21: the spring has returned within exp(-2 t)."""
    return {"x": moved(let_go(C, 20.0, 1e-3), 30.0)}


def bank_after_step() -> Values:
    """Compute ID-23: springs of 1 N/m, times of 10, 100 and 1000 s, stretched by 1 m at once."""
    stretched = relaxing((1.0,) * 3, DASHPOTS)
    return {f"f({time:g})": tension(stretched, time) for time in (0.0, 10.0, 100.0, 1000.0)}


def bank_after_ramp() -> Values:
    """Compute ID-24: the same, stretched within a second."""
    grip = Grip(bank("generalized-maxwell", (1.0,) * 3, DASHPOTS), depth=-1.0)
    return {"f(1)": -grip.stop()} | {f"f({time:g})": -grip.force(time) for time in (11.0, 101.0)}


def foam() -> Values:
    """Compute ID-26."""
    grip = Grip(FOAM, DEPTH_D, RAMP_D)
    found = {"f(6.1-)": grip.stop(), "f(6.1+)": grip.force(RAMP_D), "plateau": grip.force(RELEASE_D)}
    free = let_go(FOAM, RELEASE_D, 5e-4, depth=DEPTH_D, ramp=RAMP_D)
    return found | {f"x({time:g})": moved(free, time) for time in (97.0, 100.0, 105.0)}


def _check(number: str, compute: Compute, name: str) -> Check:
    return check(f"identification.ID-{number}", compute, name=name, quick=True, solvers=("truss",))


CHECKS = {
    "identification": (
        _check("01", partial(lengths, RAMP_D), "run-d-lengths"),
        _check("02", forces_d, "run-d-force"),
        _check("03", plateau, "run-d-plateau"),
        _check("04", partial(lengths, RELEASE_D), "run-d-lengths-late"),
        _check("05", released, "run-d-released"),
        _check("06", late, "run-d-logarithm"),
        _check("07", late, "run-d-slope"),
        _check("08", chain_roots, "run-d-roots"),
        _check("09", unit_roots, "run-d-unit-roots"),
        _check("10", bank_of_d, "run-d-bank"),
        _check("12", partial(two_units, A1), "two-units-1"),
        _check("13", partial(two_units, A2), "two-units-2"),
        _check("14", ten_seconds_later, "two-units-released"),
        _check("15", partial(three_units, B1), "three-units-1"),
        _check("16", partial(three_units, B2), "three-units-2"),
        _check("17", strengths, "three-units-strengths"),
        _check("18", friction, "friction-force"),
        _check("19", stuck, "friction-residue"),
        _check("20", partial(forces, C, 5.0, 20.0), "frictionless-force"),
        _check("21", residue, "frictionless-residue"),
        _check("23", bank_after_step, "bank-step"),
        _check("24", bank_after_ramp, "bank-ramp"),
        _check("26", foam, "foam"),
    )
}
