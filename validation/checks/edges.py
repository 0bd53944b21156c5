"""One edge and a mass: generalised elements (R7, R8), elements in a row (R9, R11), the papers' sliders and supports.

Closed forms of sections 2, 3, 6 and 9 of the particle model.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import simpson

from rheotwin.materials import EdgeNetwork
from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, problem_of, run_to
from rheotwin.validation.checks.truss_runs import begin, ends_at, moved, peak, pull, put, row

SPRINGS, DASHPOTS = (1.0, 1.0, 1.0), (10.0, 100.0, 1000.0)
"""k [N/m] and b [N s/m] of the units of the generalised Voigt element."""
VOIGT: Data = {
    "model": "generalized-voigt",
    "units": [{"young": k, "viscosity": b} for k, b in zip(SPRINGS, DASHPOTS, strict=True)],
}
PULL = 50.0
"""Force [N] on it, for a second."""
FINE, COARSE, FAST = 0.0025, 0.1, 0.01
"""Steps [s] of Runge-Kutta for the first seconds and for the rest, and of the semi-implicit rule."""
IMMOVABLE = 1e18
"""Mass [kg] of an end that stays where it is put."""
SOFTENING: Data = {"viscosity": 10.0, "from_stress": 0.5, "to_stress": 2.0}


def tension(simulation: TrussSimulation, time: float = 0.0) -> float:
    """Return the force [N] of the first edge at a time [s]."""
    run_to(simulation, time)
    return float(simulation.fields()["stress"][0, 0])


def struck(force: Data, **options: Any) -> TrussSimulation:
    """Start a mass of 1 kg on the generalised Voigt element under a force."""
    return begin(row(VOIGT, duration=3000.0, forces=force), **options)


def let_go() -> TrussSimulation:
    """Start it with the force of a second; the fast rule reads forces at the start of each step."""
    return struck(pull(PULL, (0.0, 1.0 - FAST, 1.0), (1.0, 1.0, 0.0)), step=FAST)


def generalised_voigt() -> Measurement:
    """Compute R7: at the end of the pull, at the peak, and as it creeps back; units take up int exp(-k s/b) f/b ds."""
    simulation, times = struck(pull(PULL), stepper="rk4", step=FINE), np.arange(round(1.0 / FINE) + 1) * FINE
    force = np.array([tension(simulation, time) for time in times])
    found = {"x(1)": moved(simulation, 1.0), "v(1)": float(simulation.velocities[1, 0])}
    for unit, (k, b) in enumerate(zip(SPRINGS, DASHPOTS, strict=True), 1):
        found[f"d{unit}(1)"] = float(simpson(np.exp(-k * (1.0 - times) / b) * force / b, x=times))
    top, height = peak(struck(pull(PULL, *ends_at(1.0)), stepper="rk4", step=FINE), np.arange(500, 521) * FINE)
    found |= {"peak x": height, "time of the peak": top}
    simulation = struck(pull(PULL, *ends_at(1.0)), stepper="rk4", step=COARSE)
    return Measurement(found | {f"x({time:g})": moved(simulation, time) for time in (30.0, 150.0, 1500.0)})


def generalised_rates() -> Measurement:
    """Compute the eigenvalues of x' = v, m v' = -f, z' = v - A z, f = K x + sum kappa z + eta v."""
    edge = EdgeNetwork.from_channel(problem_of(row(VOIGT)).bodies[0].law.channel("young"))
    arms = len(edge.arm_rate)
    matrix = np.zeros((2 + arms, 2 + arms))
    matrix[0, 1] = 1.0
    matrix[1] = -np.array([edge.stiffness, edge.viscosity, *edge.arm_stiffness])
    matrix[2:, 1], matrix[2:, 2:] = 1.0, -np.diag(edge.arm_rate)
    found = np.sort(np.linalg.eigvals(matrix).real)
    return Measurement(dict(zip(("fast", "slow 1", "slow 2", "slow 3"), map(float, found), strict=True)))


def relaxing(springs: tuple[float, ...], dashpots: tuple[float, ...]) -> TrussSimulation:
    """Start a generalised Maxwell element stretched by 1 m all at once, between ends that do not move."""
    units = [{"young": k, "viscosity": b} for k, b in zip(springs, dashpots, strict=True)]
    law = {"model": "generalized-maxwell", "units": units}
    simulation = begin(row(law, mass=IMMOVABLE, duration=3000.0), step=1.0)
    put(simulation, positions=np.array([[0.0], [2.0]]), edge_arms=1.0)
    return simulation


def generalised_maxwell() -> Measurement:
    """Compute the relaxation of the generalised Maxwell element after a unit step."""
    equal_dashpots, equal_springs = relaxing((0.1, 0.01, 0.001), (1.0,) * 3), relaxing((1.0,) * 3, DASHPOTS)
    found = {f"b = 1: f({time:g})": tension(equal_dashpots, time) for time in (0.0, 10.0, 100.0, 1000.0)}
    return Measurement(found | {f"k = 1: f({time:g})": tension(equal_springs, time) for time in (0.0, 100.0)})


def slopes() -> Measurement:
    """Compute R8: logarithmic slopes of creep and relaxation."""
    simulation, maxwell = let_go(), relaxing((1.0,) * 3, DASHPOTS)
    found = {}
    for begin_at, end in ((2.0, 10.0), (60.0, 150.0), (1500.0, 3000.0)):
        first, last = moved(simulation, begin_at), moved(simulation, end)
        found[f"Voigt, {begin_at:g} to {end:g} s"] = float(np.log(last / first) / (end - begin_at))
    first, last = tension(maxwell, 2000.0), tension(maxwell, 3000.0)
    return Measurement(found | {"Maxwell, last": float(np.log(last / first) / 1000.0)})


def dashpot_alone(law: Data, edges: int = 1) -> float:
    """Return the force [N] per relative speed [m/s] of the ends of equal edges in a row."""
    simulation = begin(row({"viscous_poisson": 0.0, **law, "young": 0.0}, edges=edges))
    put(simulation, velocities=np.arange(edges + 1.0)[:, None] / edges)
    return tension(simulation)


def in_a_row() -> Measurement:
    """Compute R9: springs of 2 N/m and dashpots of 40 N s/m, two and three of them."""
    found = {}
    for edges, name in ((2, "two"), (3, "three")):
        spring = begin(row({"model": "elastic", "young": 2.0}, edges=edges))
        line = np.arange(edges + 1.0)[:, None]
        put(spring, positions=line + line / edges)
        found[f"k of {name}"] = tension(spring)
        found[f"b of {name}"] = dashpot_alone({"model": "voigt", "viscosity": 40.0}, edges)
    return Measurement(found)


def viscoplastic() -> Measurement:
    """Compute R11: a three-element edge without spring."""
    constants = {"c1 = c2 = 2c": (2.0, 2.0), "c1 = 1, c2 = 3": (1.0, 3.0)}
    laws = {
        name: {"model": "three-element", "voigt_viscosity": c1, "series_viscosity": c2}
        for name, (c1, c2) in constants.items()
    }
    return Measurement({name: dashpot_alone(law) for name, law in laws.items()})


def softened_creep() -> Measurement:
    """Compute the creep rate W/c2(W) under a weight that pulls; the Voigt unit has settled like exp(-10 t)."""
    law = {"model": "three-element", "young": 100.0, "voigt_viscosity": 10.0, "series_viscosity": 1000.0}
    found = {}
    for weight in (0.4, 1.25, 3.0):
        simulation = begin(row(law | {"softening": SOFTENING}, duration=4.0, forces=pull(weight)))
        run_to(simulation, 4.0)
        found[f"W = {weight:g}"] = float(simulation.velocities[1, 0])
    return Measurement(found)


def clamped() -> Measurement:
    """Compute where a slider lets an edge come to rest: (L + F/k)/a_min, (L - |F|/k)/a_max."""
    law = {"model": "three-element", "young": 2.0, "voigt_viscosity": 1.0, "series_viscosity": 1.0}
    slider, found = {"natural": 0.5, "least": 0.3, "most": 0.7}, {}
    for name, force in (("F = 0.5, a_min = 0.3", 0.5), ("F = -0.3, a_max = 0.7", -0.3)):
        simulation = begin(row(law | {"slider": slider}, mass=0.05, duration=60.0, forces=pull(force)))
        found[name] = 1.0 + moved(simulation, 60.0)
    return Measurement(found)


def stabilised() -> Measurement:
    """Compute how a held particle that is 0.1 m off and moves with 0.5 m/s is drawn to its place, om = 10/s."""
    options: Data = {"stepper": "rk4", "step": 1e-3, "supports": "stabilised", "constraint_frequency": 10.0}
    simulation = begin(row({"model": "elastic", "young": 1.0}), **options)
    put(simulation, positions=np.array([[0.1], [1.0]]), velocities=np.array([[0.5], [0.0]]))
    found = {}
    for time in (0.1, 1.0):
        run_to(simulation, time)
        found[f"u({time:g})"] = float(simulation.positions[0, 0])
    return Measurement(found)


_check = partial(check, quick=True, solvers=("truss",))
CHECKS = (
    _check("truss.R7", generalised_voigt, name="generalised-voigt"),
    _check("truss.R7.rates", generalised_rates, name="generalised-voigt-rates"),
    _check("truss.R8", slopes, name="generalised-slopes"),
    _check("truss.R8.maxwell", generalised_maxwell, name="generalised-maxwell"),
    _check("truss.R9", in_a_row, name="elements-in-a-row"),
    _check("truss.R11", viscoplastic, name="viscoplastic-edge"),
    _check("truss.S3.creep", softened_creep, name="softened-creep"),
    _check("truss.S6.slider", clamped, name="slider-at-rest"),
    _check("truss.S9", stabilised, name="stabilised-support"),
)
