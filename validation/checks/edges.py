"""One edge, and edges in a row.

One edge and a mass: generalised elements (R7, R8), elements in a row (R9, R11), the papers' sliders and supports.

Closed forms of sections 2, 3, 6 and 9 of the particle model.

The papers' chain of four particles, pulled by 1 N for 20 s and let go: Voigt, Maxwell, three-element (R2 to R6, E1).

Particles of 1 kg, the first one held. Runge-Kutta with a step of 20 ms is exact to 2e-6 m here. Rates of a steady flow
and what is left after the force are the same for every rule and step, so the long runs take the fastest rule.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import simpson

from rheotwin.arrays import Array
from rheotwin.materials import EdgeNetwork
from rheotwin.particles.stability import edge_matrix
from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, begin, ends_at, moved, peak, problem_of, pull, put, row, run_to

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
EDGE_CHECKS = (
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


STEP, RELEASE = 0.02, 20.0
"""Step and end of the force [s]."""


def voigt(b: float, k: float) -> Data:
    """Return the law of an edge with dashpot b [N s/m] beside spring k [N/m]."""
    return {"model": "voigt", "young": k, "viscosity": b}


def maxwell(b: float, k: float) -> Data:
    """Return the law of an edge with dashpot b [N s/m] in series with spring k [N/m]."""
    return {"model": "maxwell", "young": k, "viscosity": b}


def three_element(b: float, k: float, series: float) -> Data:
    """Return the law of an edge with a Voigt unit b [N s/m], k [N/m] in series with a dashpot [N s/m]."""
    return {"model": "three-element", "young": k, "voigt_viscosity": b, "series_viscosity": series}


def misprinted(b: float, k: float, series: float) -> Data:
    """Return the law that E1 prints: f = B (k d + b ldot), d' = -A d + B ldot, A = k/(b + b') and B = b/(b + b').

    With d = B z it is a Maxwell arm of B^2 k [N/m] and rate A beside a dashpot B b [N s/m].
    """
    gain = b / (b + series)
    arm = {"young": gain**2 * k, "viscosity": gain**2 * (b + series)}
    return {"model": "generalized-maxwell", "units": [arm], "viscosity": gain * b}


LAWS: dict[str, Data] = {
    "2.5a": voigt(6.0, 2.0),
    "2.5b": voigt(2.0, 2.0),
    "2.7a": maxwell(40.0, 60.0),
    "2.7b": maxwell(40.0, 10.0),
    "2.10a": three_element(8.0, 2.0, 40.0),
    "2.10b": three_element(2.0, 2.0, 40.0),
}
"""By the figures of the papers."""


FAST_RULE: Data = {"stepper": "semi-implicit", "step": STEP}


def chain(law: Data, duration: float, force: Data | None = None, **options: Any) -> TrussSimulation:
    """Start the chain under a force, by default one of 1 N that is held."""
    scene = row(law, edges=3, mass=1.0, duration=duration, forces=force or pull(1.0))
    return begin(scene, **({"stepper": "rk4", "step": STEP} | options))


def displacements(simulation: TrussSimulation, time: float) -> Array:
    """Return u1, u2, u3 [m] at a time [s]."""
    run_to(simulation, time)
    return np.asarray(simulation.positions[1:, 0] - [1.0, 2.0, 3.0])


def at_release(*names: str) -> Measurement:
    """Compute u1, u2, u3 at 20 s: R2, R6."""
    found: dict[str, float] = {}
    for name in names:
        moved = displacements(chain(LAWS[name], RELEASE), RELEASE)
        found |= {f"{name} u{k}": float(u) for k, u in enumerate(moved, 1)}
    return Measurement(found)


def rates() -> Measurement:
    """Compute R3: velocities at 20 s, and of the chain that swings for longer at 200 s."""
    found: dict[str, float] = {}
    for name, time, options in (("2.7a", RELEASE, {}), ("2.7b", 200.0, FAST_RULE)):
        simulation = chain(LAWS[name], time, **options)
        run_to(simulation, time)
        found |= {f"{name} v{k}": float(v) for k, v in enumerate(simulation.velocities[1:, 0], 1)}
    return Measurement(found)


def extensions() -> Measurement:
    """Compute R4."""
    found: dict[str, float] = {}
    for name in ("2.10a", "2.10b"):
        moved = displacements(chain(LAWS[name], RELEASE), RELEASE)
        found |= {f"{name} edge {k}": float(d) for k, d in enumerate(np.diff(moved, prepend=0.0), 1)}
    return Measurement(found)


def residuals() -> Measurement:
    """Compute R5: of the three edges the one farthest from their common value.

    The fast rule reads the force at the start of each step, so the last full one is that at 20 s less a step.
    """
    force = pull(1.0, (0.0, RELEASE - STEP, RELEASE), (1.0, 1.0, 0.0))
    found: dict[str, float] = {}
    for name in ("2.7a", "2.7b", "2.10a", "2.10b"):
        kept = np.diff(displacements(chain(LAWS[name], 400.0, force, **FAST_RULE), 400.0), prepend=0.0)
        found[name] = float(kept[np.argmax(np.abs(kept - 0.5))])
    return Measurement(found)


def after_release() -> Measurement:
    """Compute what Voigt chains do after 20 s of force, and where the lightly damped one peaks before."""
    force = pull(1.0, *ends_at(RELEASE))
    found = {"2.5a largest abs u(40)": float(np.abs(displacements(chain(LAWS["2.5a"], 40.0, force), 40.0)).max())}
    simulation = chain(LAWS["2.5b"], 40.0, force)
    top, height = peak(simulation, np.arange(240, 290) * STEP)
    found |= {"2.5b peak u3": height, "2.5b time of the peak": top}
    return Measurement(found | {"2.5b u3(40)": moved(simulation, 40.0)})


def modes() -> Measurement:
    """Compute the eigenvalues of unit edges between unit masses, the first one held."""
    points, edges = np.arange(4.0)[:, None], np.array([[0, 1], [1, 2], [2, 3]])
    matrix = edge_matrix(points, edges, np.ones(3)).toarray()[1:, 1:]
    return Measurement({f"mode {k}": float(value) for k, value in enumerate(np.linalg.eigvalsh(matrix), 1)})


def misprint() -> Measurement:
    """Compute E1: u3 at 20 s with the gain as printed."""
    laws = {"2.10a": misprinted(8.0, 2.0, 40.0), "2.10b": misprinted(2.0, 2.0, 40.0)}
    return Measurement({name: moved(chain(law, RELEASE), RELEASE) for name, law in laws.items()})


CHAIN_CHECKS = (
    _check("truss.R2", partial(at_release, "2.5a", "2.5b"), name="chain-voigt-plateau"),
    _check("truss.R3", rates, name="chain-maxwell-rates"),
    _check("truss.R4", extensions, name="chain-three-element-extension"),
    _check("truss.R5", residuals, name="chain-residual"),
    _check("truss.R6", partial(at_release, "2.5a", "2.5b", "2.7a", "2.10a", "2.10b"), name="chain-at-20-s"),
    _check("truss.R6.after", after_release, name="chain-after-release"),
    _check("truss.S2.modes", modes, name="chain-modes"),
    _check("truss.E1", misprint, name="chain-misprinted-gain"),
)

CHECKS = {"edges": EDGE_CHECKS, "chain": CHAIN_CHECKS}
