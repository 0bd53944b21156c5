"""The papers' chain of four particles, pulled by 1 N for 20 s and let go: Voigt, Maxwell, three-element (R2 to R6, E1).

Particles of 1 kg, the first one held. Runge-Kutta with a step of 20 ms is exact to 2e-6 m here. Rates of a steady flow
and what is left after the force are the same for every rule and step, so the long runs take the fastest rule.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.stability import edge_matrix
from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, run_to
from rheotwin.validation.checks.truss_runs import begin, ends_at, moved, peak, pull, row

Array = NDArray[np.float64]

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


FAST: Data = {"stepper": "semi-implicit", "step": STEP}


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
    for name, time, options in (("2.7a", RELEASE, {}), ("2.7b", 200.0, FAST)):
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
        kept = np.diff(displacements(chain(LAWS[name], 400.0, force, **FAST), 400.0), prepend=0.0)
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


_check = partial(check, quick=True, solvers=("truss",))
CHECKS = (
    _check("truss.R2", partial(at_release, "2.5a", "2.5b"), name="chain-voigt-plateau"),
    _check("truss.R3", rates, name="chain-maxwell-rates"),
    _check("truss.R4", extensions, name="chain-three-element-extension"),
    _check("truss.R5", residuals, name="chain-residual"),
    _check("truss.R6", partial(at_release, "2.5a", "2.5b", "2.7a", "2.10a", "2.10b"), name="chain-at-20-s"),
    _check("truss.R6.after", after_release, name="chain-after-release"),
    _check("truss.S2.modes", modes, name="chain-modes"),
    _check("truss.E1", misprint, name="chain-misprinted-gain"),
)
