"""One edge, and edges in a row.

One edge and a mass: generalised elements (R7, R8), elements in a row (R9, R11), the papers' sliders and supports;
closed forms of sections 2, 3, 6 and 9 of the particle model.

The papers' chain of four particles, pulled by 1 N for 20 s and let go: Voigt, Maxwell, three-element (R2 to R6, E1).
Particles of 1 kg, the first one held. Runge-Kutta with a step of 20 ms is exact to 2e-6 m here. Rates of a steady flow
and what is left after the force are the same for every rule and step, so the long runs take the fastest rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from scipy.integrate import simpson

from rheotwin.arrays import Array
from rheotwin.materials import Channel, EdgeNetwork
from rheotwin.particles.stability import edge_matrix
from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import (
    LAWS,
    Data,
    begin,
    ends_at,
    moved,
    named,
    peak,
    problem_of,
    pull,
    put,
    row,
    run_to,
    seen,
)

SPRINGS, DASHPOTS = (1.0, 1.0, 1.0), (10.0, 100.0, 1000.0)
"""k [N/m] and b [N s/m] of the units of the generalised Voigt element."""
PULL = 50.0
"""Force [N] on it, for a second."""
FINE, COARSE, FAST = 0.0025, 0.1, 0.01
"""Steps [s] of Runge-Kutta for the first seconds and for the rest, and of the semi-implicit rule."""
IMMOVABLE = 1e18
"""Mass [kg] of an end that stays where it is put."""
SOFTENING: Data = {"viscosity": 10.0, "from_stress": 0.5, "to_stress": 2.0}


def bank(model: str, springs: tuple[float, ...], dashpots: tuple[float, ...]) -> Data:
    """Return the law of Voigt units in series or Maxwell units side by side, springs [N/m] and dashpots [N s/m]."""
    return {"model": model, "units": [{"young": k, "viscosity": b} for k, b in zip(springs, dashpots, strict=True)]}


VOIGT = bank("generalized-voigt", SPRINGS, DASHPOTS)


def channel_of(law: Data) -> Channel:
    """Return the relaxation function of a law: its equivalent Maxwell bank."""
    return problem_of(row(law)).bodies[0].law.channel("young")


def roots(channel: Channel, mass: float) -> Array:
    """Return the eigenvalues [1/s] of x' = v, m v' = -K x - sum kappa z - eta v, z' = v - A z, fastest first."""
    edge = EdgeNetwork.from_channel(channel)
    arms = len(edge.arm_rate)
    matrix = np.zeros((2 + arms, 2 + arms))
    matrix[0, 1] = 1.0
    matrix[1] = -np.array([edge.stiffness, edge.viscosity, *edge.arm_stiffness]) / mass
    matrix[2:, 1], matrix[2:, 2:] = 1.0, -np.diag(edge.arm_rate)
    return np.asarray(np.sort(np.linalg.eigvals(matrix).real))


def tension(simulation: TrussSimulation, time: float = 0.0) -> float:
    """Return the force [N] of the first edge at a time [s]."""
    run_to(simulation, time)
    return float(simulation.fields()["stress"][0, 0])


def struck(force: Data, **options: object) -> TrussSimulation:
    """Start a mass of 1 kg on the generalised Voigt element under a force."""
    return begin(row(VOIGT, duration=3000.0, forces=force), **options)


def generalised_voigt() -> Values:
    """Compute R7: at the end of the pull, at the peak, and as it creeps back; units take up int exp(-k s/b) f/b ds."""
    simulation, times = struck(pull(PULL), stepper="rk4", step=FINE), np.arange(round(1.0 / FINE) + 1) * FINE
    force = np.array([tension(simulation, time) for time in times])
    found = {"x(1)": moved(simulation, 1.0), "v(1)": float(simulation.velocities[1, 0])}
    for unit, (k, b) in enumerate(zip(SPRINGS, DASHPOTS, strict=True), 1):
        found[f"d{unit}(1)"] = float(simpson(np.exp(-k * (1.0 - times) / b) * force / b, x=times))
    top, height = peak(struck(pull(PULL, *ends_at(1.0)), stepper="rk4", step=FINE), np.arange(500, 521) * FINE)
    found |= {"peak x": height, "time of the peak": top}
    simulation = struck(pull(PULL, *ends_at(1.0)), stepper="rk4", step=COARSE)
    return found | {f"x({time:g})": moved(simulation, time) for time in (30.0, 150.0, 1500.0)}


def generalised_rates() -> Values:
    """Compute the eigenvalues of the generalised Voigt element with a mass of 1 kg."""
    return dict(zip(("fast", "slow 1", "slow 2", "slow 3"), map(float, roots(channel_of(VOIGT), 1.0)), strict=True))


def relaxing(springs: tuple[float, ...], dashpots: tuple[float, ...]) -> TrussSimulation:
    """Start a generalised Maxwell element stretched by 1 m all at once, between ends that do not move."""
    law = bank("generalized-maxwell", springs, dashpots)
    simulation = begin(row(law, mass=IMMOVABLE, duration=3000.0), step=1.0)
    put(simulation, positions=np.array([[0.0], [2.0]]), edge_arms=1.0)
    return simulation


def generalised_maxwell() -> Values:
    """Compute the relaxation of the generalised Maxwell element after a unit step."""
    equal_dashpots, equal_springs = relaxing((0.1, 0.01, 0.001), (1.0,) * 3), relaxing((1.0,) * 3, DASHPOTS)
    found = {f"b = 1: f({time:g})": tension(equal_dashpots, time) for time in (0.0, 10.0, 100.0, 1000.0)}
    return found | {f"k = 1: f({time:g})": tension(equal_springs, time) for time in (0.0, 100.0)}


def slopes() -> Values:
    """Compute R8: logarithmic slopes of creep and relaxation; the fast rule reads forces at the start of each step."""
    simulation = struck(pull(PULL, (0.0, 1.0 - FAST, 1.0), (1.0, 1.0, 0.0)), step=FAST)
    maxwell, found = relaxing((1.0,) * 3, DASHPOTS), {}
    for start, end in ((2.0, 10.0), (60.0, 150.0), (1500.0, 3000.0)):
        first, last = moved(simulation, start), moved(simulation, end)
        found[f"Voigt, {start:g} to {end:g} s"] = float(np.log(last / first) / (end - start))
    first, last = tension(maxwell, 2000.0), tension(maxwell, 3000.0)
    return found | {"Maxwell, last": float(np.log(last / first) / 1000.0)}


def dashpot_alone(law: Data, edges: int = 1) -> float:
    """Return the force [N] per relative speed [m/s] of the ends of equal edges in a row."""
    simulation = begin(row({"viscous_poisson": 0.0, **law, "young": 0.0}, edges=edges))
    put(simulation, velocities=np.arange(edges + 1.0)[:, None] / edges)
    return tension(simulation)


def in_a_row() -> Values:
    """Compute R9: springs of 2 N/m and dashpots of 40 N s/m, two and three of them."""
    found = {}
    for edges, name in ((2, "two"), (3, "three")):
        spring, line = begin(row({"model": "elastic", "young": 2.0}, edges=edges)), np.arange(edges + 1.0)[:, None]
        put(spring, positions=line + line / edges)
        found[f"k of {name}"] = tension(spring)
        found[f"b of {name}"] = dashpot_alone({"model": "voigt", "viscosity": 40.0}, edges)
    return found


def viscoplastic() -> Values:
    """Compute R11: a three-element edge without spring."""
    return {
        name: dashpot_alone({"model": "three-element", "voigt_viscosity": c1, "series_viscosity": c2})
        for name, c1, c2 in (("c1 = c2 = 2c", 2.0, 2.0), ("c1 = 1, c2 = 3", 1.0, 3.0))
    }


def softened_creep() -> Values:
    """Compute the creep rate W/c2(W) under a weight that pulls; the Voigt unit has settled like exp(-10 t)."""
    law = {"model": "three-element", "young": 100.0, "voigt_viscosity": 10.0, "series_viscosity": 1000.0}
    found = {}
    for weight in (0.4, 1.25, 3.0):
        simulation = begin(row(law | {"softening": SOFTENING}, duration=4.0, forces=pull(weight)))
        run_to(simulation, 4.0)
        found[f"W = {weight:g}"] = float(simulation.velocities[1, 0])
    return found


def clamped() -> Values:
    """Compute where a slider lets an edge come to rest: (L + F/k)/a_min, (L - |F|/k)/a_max."""
    law = {"model": "three-element", "young": 2.0, "voigt_viscosity": 1.0, "series_viscosity": 1.0}
    law |= {"slider": {"natural": 0.5, "least": 0.3, "most": 0.7}}
    return {
        name: 1.0 + moved(begin(row(law, mass=0.05, duration=60.0, forces=pull(force))), 60.0)
        for name, force in (("F = 0.5, a_min = 0.3", 0.5), ("F = -0.3, a_max = 0.7", -0.3))
    }


def stabilised() -> Values:
    """Compute how a held particle that is 0.1 m off and moves with 0.5 m/s is drawn to its place, om = 10/s."""
    options: Data = {"stepper": "rk4", "step": 1e-3, "supports": "stabilised", "constraint_frequency": 10.0}
    simulation, times = begin(row({"model": "elastic", "young": 1.0}), **options), (0.1, 1.0)
    put(simulation, positions=np.array([[0.1], [1.0]]), velocities=np.array([[0.5], [0.0]]))
    return named("u({:g})", times, seen(simulation, times, lambda: simulation.positions[0, 0]))


STEP, RELEASE = 0.02, 20.0
"""Step of the chain and end of its force [s]."""
FAST_RULE: Data = {"stepper": "semi-implicit", "step": STEP}


def misprinted(b: float, k: float, series: float) -> Data:
    """Return the law that E1 prints: f = B (k d + b ldot), d' = -A d + B ldot, A = k/(b + b') and B = b/(b + b').

    With d = B z it is a Maxwell arm of B^2 k [N/m] and rate A beside a dashpot B b [N s/m].
    """
    gain = b / (b + series)
    return bank("generalized-maxwell", (gain**2 * k,), (gain**2 * (b + series),)) | {"viscosity": gain * b}


def chain(law: Data, duration: float, force: Data | None = None, **options: object) -> TrussSimulation:
    """Start the chain under a force, by default one of 1 N that is held."""
    scene = row(law, edges=3, mass=1.0, duration=duration, forces=force or pull(1.0))
    return begin(scene, **({"stepper": "rk4", "step": STEP} | options))


def displacements(simulation: TrussSimulation, time: float) -> Array:
    """Return u1, u2, u3 [m] at a time [s]."""
    run_to(simulation, time)
    return np.asarray(simulation.positions[1:, 0] - [1.0, 2.0, 3.0])


def of_laws(pattern: str, laws: tuple[str, ...], numbers: Callable[[str], Iterable[float]]) -> Values:
    """Return the three numbers of every chain, by its law and by particle or edge."""
    return {f"{law} {pattern}{k}": float(n) for law in laws for k, n in enumerate(numbers(law), 1)}


def at_release(*laws: str) -> Values:
    """Compute u1, u2, u3 at 20 s: R2, R6."""
    return of_laws("u", laws, lambda law: displacements(chain(LAWS["chain"][law], RELEASE), RELEASE))


def rates() -> Values:
    """Compute R3: velocities at 20 s, and of the chain that swings for longer at 200 s."""

    def velocities(law: str) -> Array:
        time, options = (RELEASE, {}) if law == "2.7a" else (200.0, FAST_RULE)
        simulation = chain(LAWS["chain"][law], time, **options)
        run_to(simulation, time)
        return simulation.velocities[1:, 0]

    return of_laws("v", ("2.7a", "2.7b"), velocities)


def extended(law: str, time: float, force: Data | None = None, **options: object) -> Array:
    """Return by how much the three edges of a chain are longer than at rest [m] at a time [s]."""
    return np.diff(displacements(chain(LAWS["chain"][law], time, force, **options), time), prepend=0.0)


def residuals() -> Values:
    """Compute R5: of the three edges the one farthest from their common value.

    The fast rule reads the force at the start of each step, so the last full one is that at 20 s less a step.
    """
    force, found = pull(1.0, (0.0, RELEASE - STEP, RELEASE), (1.0, 1.0, 0.0)), {}
    for law in ("2.7a", "2.7b", "2.10a", "2.10b"):
        kept = extended(law, 400.0, force, **FAST_RULE)
        found[law] = float(kept[np.argmax(np.abs(kept - 0.5))])
    return found


def after_release() -> Values:
    """Compute what Voigt chains do after 20 s of force, and where the lightly damped one peaks before."""
    force = pull(1.0, *ends_at(RELEASE))
    late = displacements(chain(LAWS["chain"]["2.5a"], 40.0, force), 40.0)
    simulation = chain(LAWS["chain"]["2.5b"], 40.0, force)
    top, height = peak(simulation, np.arange(240, 290) * STEP)
    found = {"2.5a largest abs u(40)": float(np.abs(late).max()), "2.5b peak u3": height, "2.5b time of the peak": top}
    return found | {"2.5b u3(40)": moved(simulation, 40.0)}


def modes() -> Values:
    """Compute the eigenvalues of unit edges between unit masses, the first one held."""
    points, edges = np.arange(4.0)[:, None], np.array([[0, 1], [1, 2], [2, 3]])
    matrix = edge_matrix(points, edges, np.ones(3)).toarray()[1:, 1:]
    return named("mode {}", (1, 2, 3), np.linalg.eigvalsh(matrix))


def misprint() -> Values:
    """Compute E1: u3 at 20 s with the gain as printed."""
    laws = {"2.10a": misprinted(8.0, 2.0, 40.0), "2.10b": misprinted(2.0, 2.0, 40.0)}
    return {name: moved(chain(law, RELEASE), RELEASE) for name, law in laws.items()}


_check = partial(check, quick=True, solvers=("truss",))
_ENDS = ("2.10a", "2.10b")
CHECKS = {
    "edges": (
        _check("truss.R7", generalised_voigt, name="generalised-voigt"),
        _check("truss.R7.rates", generalised_rates, name="generalised-voigt-rates"),
        _check("truss.R8", slopes, name="generalised-slopes"),
        _check("truss.R8.maxwell", generalised_maxwell, name="generalised-maxwell"),
        _check("truss.R9", in_a_row, name="elements-in-a-row"),
        _check("truss.R11", viscoplastic, name="viscoplastic-edge"),
        _check("truss.S3.creep", softened_creep, name="softened-creep"),
        _check("truss.S6.slider", clamped, name="slider-at-rest"),
        _check("truss.S9", stabilised, name="stabilised-support"),
    ),
    "chain": (
        _check("truss.R2", partial(at_release, "2.5a", "2.5b"), name="chain-voigt-plateau"),
        _check("truss.R3", rates, name="chain-maxwell-rates"),
        _check(
            "truss.R4",
            lambda: of_laws("edge ", _ENDS, lambda law: extended(law, RELEASE)),
            name="chain-three-element-extension",
        ),
        _check("truss.R5", residuals, name="chain-residual"),
        _check("truss.R6", partial(at_release, "2.5a", "2.5b", "2.7a", *_ENDS), name="chain-at-20-s"),
        _check("truss.R6.after", after_release, name="chain-after-release"),
        _check("truss.S2.modes", modes, name="chain-modes"),
        _check("truss.E1", misprint, name="chain-misprinted-gain"),
    ),
}
