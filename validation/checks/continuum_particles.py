"""Particles with shear and area elements: against finite elements, and in the papers' scenes (R6, R16 to R20, A4)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.meshing import element_measures
from rheotwin.problem import Problem
from rheotwin.registry import find_solver
from rheotwin.solver import Simulation, checked_options
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.laws import ELASTIC
from rheotwin.validation.checks.particle_forces import Force, finite_pushes, stiffness, under_bar
from rheotwin.validation.checks.patch import distorted_problem
from rheotwin.validation.checks.running import Data, box_scene, problem_of, run_to
from rheotwin.validation.checks.scenes import DOWN, MASS, bar_forces, press_scene

Array = NDArray[np.float64]

DEPTHS = {"0.003": 0.003, "0.03": 0.03, "0.3": 0.3, "3": 3.0, "6": 6.0}
END, STEP, LOOK = 30.0, 1e-3, 0.05
"""End of the papers' scenes, step of the explicit runs, time between two looks at areas [s]."""
PAPERS: dict[str, tuple[float, float, float]] = {
    "P-EL": (1.0, 1.0, 1e5),
    "P-VP": (0.0, 5.0, 5.0),
    "P-RH": (1.0, 1.0, 10.0),
}
"""Shear modulus [Pa] and viscosities [Pa s] beside and in series with it."""
AREA: Data = {"model": "voigt", "young": 10.0, "viscosity": 1.0, "poisson": 0.0}
"""Law of a change of area: 10 Pa, 1 Pa s."""


def begin(what: Data | Problem, **options: Any) -> Any:
    """Start the solver of shear and volume elements on a scene or a problem."""
    problem, solver = what if isinstance(what, Problem) else problem_of(what), find_solver("shear-volume")
    return solver.start(problem, checked_options(solver, options))


def force_of(what: Data | Problem, **options: Any) -> Force:
    """Return the force of the elements of a body on its particles as a function of their positions."""
    force: Force = begin(what, **options).method.internal_force
    return force


def pushes(depths: tuple[float, ...]) -> list[float]:
    """Return the static forces [N] on the bar at growing depths [m], consistent triangles of the elastic law."""
    problem = problem_of(press_scene(ELASTIC, mass=MASS))
    return finite_pushes(force_of(problem, shear="neo-hooke"), problem.points, *under_bar(problem.points), depths)


def force_over_depth() -> Measurement:
    """Compute R6."""
    found = zip(DEPTHS.items(), pushes(tuple(DEPTHS.values())), strict=True)
    return Measurement({f"F/depth at {name}": force / depth for (name, depth), force in found})


def cycle_work(shear: str, size: float) -> float:
    """Return the work over G S a^2 of a square of two triangles in a cycle tr(eps) = 2 a cos, gamma_xy = 2 a sin."""
    law = {"model": "elastic", "shear": 1.0, "lame": 0.0}
    problem = problem_of(box_scene(law, size=[1.0, 1.0], cells=[1, 1], pattern="se-nw", mass=1.0, duration=1.0))
    force, points, work = force_of(problem, shear=shear), problem.points, 0.0
    turn = 2.0 * np.pi * np.arange(64) / 64
    for cosine, sine in zip(np.cos(turn), np.sin(turn), strict=True):
        strain, rate = (size * np.array([[a, b], [b, a]]) for a, b in ((cosine, sine), (-sine, cosine)))
        work -= float(np.sum(force(points + points @ strain) * (points @ rate))) * turn[1]
    return work / size**2


def cycles() -> Measurement:
    """Compute R16: in the limit of small strains, and at 10 %."""
    return Measurement(
        {"papers' triangle": cycle_work("seed", 1e-4), "consistent triangle": abs(cycle_work("cotangent", 0.1))}
    )


def papers_scene(name: str) -> Data:
    """Return a scene of the papers: the bar down, up, and ten seconds more."""
    modulus, beside, series = PAPERS[name]
    law = {
        "model": "three-element",
        "shear": modulus,
        "lame": 0.0,
        "voigt_viscosity": {"shear": beside, "lame": 0.0},
        "series_viscosity": {"shear": series, "lame": 0.0},
    }
    data = press_scene(law, mass=MASS) | {"duration": END, "output": {"interval": END}}
    data["laws"]["area"] = AREA
    return data


def started(name: str, shear: str) -> tuple[Problem, Any]:
    """Start a scene of the papers."""
    problem = problem_of(papers_scene(name))
    return problem, begin(problem, shear=shear, volume_law="area", step=STEP)


def bar_force(simulation: Simulation, time: float) -> float:
    """Return the force [N] on the bar at a time [s]."""
    run_to(simulation, time)
    return float(simulation.reactions()["tool.bar"][1])


def consistent_scene(name: str) -> Measurement:
    """Compute R17, R18 or R19: forces, least area, displacement under the middle of the bar at the end."""
    problem, simulation = started(name, "cotangent")
    cells, rest = problem.bodies[0].mesh.t.T, element_measures(problem.bodies[0].mesh)
    least, found = 1.0, {}
    for look in range(1, round(END / LOOK) + 1):
        force = bar_force(simulation, look * LOOK)
        if look * LOOK in (0.5 * DOWN, DOWN):
            found[f"F({look * LOOK:g})"] = force
        first, *sides = (simulation.positions[cells[:, k]] for k in range(3))
        least = min(least, float((0.5 * np.linalg.det(np.stack([side - first for side in sides], 1)) / rest).min()))
    middle = np.argmin(np.linalg.norm(problem.points - [40.0, 30.0], axis=1))
    found |= {"min S/S0": least, "u_mid(30)": float(simulation.positions[middle, 1] - 30.0)}
    return Measurement(found)


def seed_scenes() -> Measurement:
    """Compute R20."""
    return Measurement({f"F(10), {name}": bar_force(started(name, "seed")[1], DOWN) for name in PAPERS})


def tangent_error(cell: str) -> float:
    """Return how far the stiffness at rest is from that of linear finite elements, over its largest entry."""
    problem = distorted_problem(cell, ELASTIC)
    (body,) = build_model(problem, FemOptions()).bodies
    linear = sum(term.channel.equilibrium * term.matrix.toarray() for term in body.terms if term.matrix is not None)
    found = stiffness(force_of(replace(problem, prescribed=())), problem.points)
    return float(np.abs(found - linear).max() / np.abs(linear).max())


def momenta() -> tuple[float, float]:
    """Return sum and moment of the forces under large random motion, over the largest force and its moment."""
    generator, worst = np.random.default_rng(7), np.zeros(2)
    for cell in ("triangle", "tet"):
        problem = distorted_problem(cell, ELASTIC)
        force = force_of(replace(problem, prescribed=()))
        for _ in range(5):
            x = problem.points + 0.1 * generator.uniform(-1.0, 1.0, problem.points.shape)
            found = force(x)
            arm = np.zeros((len(x), 3))
            arm[:, : x.shape[1]] = x
            turned = np.cross(arm, np.pad(found, ((0, 0), (0, 3 - x.shape[1])))).sum(axis=0)
            worst = np.maximum(worst, [np.abs(found.sum(axis=0)).max(), np.abs(turned).max()] / np.abs(found).max())
    return float(worst[0]), float(worst[1])


def against_finite_elements() -> Measurement:
    """Compute A4."""
    momentum, turn = momenta()
    depth, (elastic,) = 0.003, bar_forces(ELASTIC, (1.0,))
    return Measurement(
        {
            "tangent, triangle": tangent_error("triangle"),
            "tangent, tetrahedron": tangent_error("tet"),
            "momentum": momentum,
            "angular momentum": turn,
            "slope of the force difference over depth": (pushes((depth,))[0] / depth / elastic - 1.0) / depth,
        }
    )


_check = partial(check, solvers=("shear-volume",))
CHECKS = (
    _check("fem.R6", force_over_depth, name="consistent-triangle-force"),
    _check("fem.R16", cycles, name="cycle-work", quick=True),
    _check("fem.R17", partial(consistent_scene, "P-EL"), name="particles-elastic"),
    _check("fem.R18", partial(consistent_scene, "P-VP"), name="particles-viscoplastic"),
    _check("fem.R19", partial(consistent_scene, "P-RH"), name="particles-rheological"),
    _check("fem.R20", seed_scenes, name="particles-seed-triangle"),
    _check("fem.A4", against_finite_elements, name="consistent-elements"),
)
