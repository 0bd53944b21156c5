"""Particles with shear and volume elements: against finite elements, and in the papers' scenes (R6, R16 to R20, A4).

Particles of constant volume under the papers' bar and a plate: forces beside Taylor-Hood's, errors of volumes.
Displacements live on the same points: quadratic ones on 16 x 6 squares, linear ones of particles on 32 x 12.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import bmat
from scipy.sparse.linalg import spsolve
from skfem import Basis, BilinearForm, ElementTriP1, ElementTriP2, ElementVector, LinearForm, MeshTri
from skfem.helpers import ddot, grad

from rheotwin.arrays import Array
from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.meshing import element_measures
from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.matrices import distorted_problem
from rheotwin.validation.checks.running import ELASTIC, Data, box_scene, named, path, problem_of, run_to, start
from rheotwin.validation.checks.scenes import DOWN, MASS, bar_forces, press_scene
from rheotwin.validation.checks.seed_shear import Force, finite_pushes, stiffness, under_bar

DEPTHS = (0.003, 0.03, 0.3, 3.0, 6.0)
END, EXPLICIT_STEP, LOOK = 30.0, 1e-3, 0.05
"""End of the papers' scenes, step of the explicit runs, time between two looks at areas [s]."""
PAPERS: dict[str, tuple[float, float, float]] = {
    "P-EL": (1.0, 1.0, 1e5),
    "P-VP": (0.0, 5.0, 5.0),
    "P-RH": (1.0, 1.0, 10.0),
}
"""Shear modulus [Pa] and viscosities [Pa s] beside and in series with it."""
AREA: Data = {"model": "voigt", "young": 10.0, "viscosity": 1.0, "poisson": 0.0}
"""Law of a change of area: 10 Pa, 1 Pa s."""


def force_of(what: Data | Problem, **options: Any) -> Force:
    """Return the force of the elements of a body on its particles as a function of their positions."""
    simulation: Any = start(what, "shear-volume", **options)
    force: Force = simulation.method.internal_force
    return force


def pushes(depths: tuple[float, ...]) -> list[float]:
    """Return the static forces [N] on the bar at growing depths [m], consistent triangles of the elastic law."""
    problem = problem_of(press_scene(ELASTIC, mass=MASS))
    return finite_pushes(force_of(problem, shear="neo-hooke"), problem.points, *under_bar(problem.points), depths)


def force_over_depth() -> Values:
    """Compute R6."""
    return named("F/depth at {:g}", DEPTHS, np.array(pushes(DEPTHS)) / DEPTHS)


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


def cycles() -> Values:
    """Compute R16: in the limit of small strains, and at 10 %."""
    return {"papers' triangle": cycle_work("seed", 1e-4), "consistent triangle": abs(cycle_work("cotangent", 0.1))}


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
    return problem, start(problem, "shear-volume", shear=shear, volume_law="area", step=EXPLICIT_STEP)


def bar_force(simulation: Simulation, time: float) -> float:
    """Return the force [N] on the bar at a time [s]."""
    run_to(simulation, time)
    return float(simulation.reactions()["tool.bar"][1])


def consistent_scene(name: str) -> Values:
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
    return found


def seed_scenes() -> Values:
    """Compute R20."""
    return {f"F(10), {name}": bar_force(started(name, "seed")[1], DOWN) for name in PAPERS}


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


def against_finite_elements() -> Values:
    """Compute A4."""
    momentum, turn = momenta()
    depth, (elastic,) = 0.003, bar_forces(ELASTIC, (1.0,))
    return {
        "tangent, triangle": tangent_error("triangle"),
        "tangent, tetrahedron": tangent_error("tet"),
        "momentum": momentum,
        "angular momentum": turn,
        "slope of the force difference over depth": (pushes((depth,))[0] / depth / elastic - 1.0) / depth,
    }


LAW: Data = {"model": "voigt", "young": 3.0, "viscosity": 3.0, "poisson": 0.5}
"""Shear modulus 1 Pa, shear viscosity 1 Pa s: what moves has died out after some seconds."""
COARSE, FINE = [16, 6], [32, 12]
PRESSED_DEPTHS = (0.03, 1.0, 5.0)
BAR, PLATE = 20.0, 120.0
"""Widths [m]: the papers' bar, whose ends are singular, and a plate over all of the top, however much it bulges."""
REST, STEP = 10.0, 0.01
"""How long the bar stays down [s], and the step of the particles [s]."""
NEWTON, SMALL = 30, 1e-9
LOADS = 0.5
"""Longest way of the bar from one equilibrium to the next [m]."""
SOFT, FIRM = 1.0, 10.0
"""Bulk moduli [Pa] of Taylor-Hood elements beside their pressures. Those keep volumes in the mean only: with a soft one
points at the ends of the bar shrink to 0.3 of their volume at a depth of 5 m and the force depends on what they are
assumed to do then (36.0, 38.1, 41.6, 43.3 N for 0, 1, 10, 100 Pa), though the body's does not. With the firm one they
keep 0.84, the triangles of the particles 0.73."""


class TaylorHood(NamedTuple):
    """Force [N] on the bar, and the least that a point has kept of its volume."""

    force: float
    smallest_ratio: float


def pressed(depth: float, cells: list[int], width: float = BAR) -> Data:
    """Return the scene with a bar of `width` [m] that goes down to `depth` [m] and stays there."""
    data = press_scene(LAW, mass=MASS) | {"duration": DOWN + REST, "output": {"interval": DOWN + REST}}
    data["bodies"]["block"]["cells"] = cells
    motion = path((0.0, DOWN, DOWN + REST), [[0.0, 0.0], [0.0, -depth], [0.0, -depth]])
    data["tools"]["bar"] |= {"width": width, "motion": motion}
    return data


def particles(depth: float, cells: list[int], end: float, width: float = BAR, **options: Any) -> Any:
    """Return the particles at time `end` [s], with one volume kept per square."""
    taken: Data = {"step": STEP, "incompressible": "cell", **options}
    simulation = start(pressed(depth, cells, width), "shear-volume", **taken)
    run_to(simulation, end)
    return simulation


def taylor_hood(mesh: MeshTri, depth: float, width: float = BAR, bulk: float = SOFT) -> TaylorHood:
    """Return the force on a frictionless bar of `width` [m]: incompressible neo-Hooke of 1 Pa, large strain.

    W = tr C/(2 J) + K (J - 1)^2/2 and J = 1 by pressures: P = F/J + (K (J - 1) - tr C/(2 J^2) + p) cof F, by Newton's
    method. K, `bulk` [Pa], counts only where J is one in the mean but not everywhere. With K = 1 Pa W is eps : eps at
    small strain as in the solver `fem`, and the force is that of its formulation "taylor-hood".
    """
    moving = Basis(mesh, ElementVector(ElementTriP2()), intorder=4)
    pressing = Basis(mesh, ElementTriP1(), quadrature=moving.quadrature)
    tangent, constraint, force, volume = _forms(bulk)
    x, y = moving.doflocs
    vertical = np.concatenate([moving.nodal_dofs[1], moving.facet_dofs[1]])
    under = vertical[(y[vertical] == y.max()) & (np.abs(x[vertical] - 40.0) < 0.5 * width + 1e-6)]
    free = np.setdiff1d(np.arange(moving.N + pressing.N), np.concatenate([np.flatnonzero(y == 0.0), under]))
    z = np.zeros(moving.N + pressing.N)
    for part in np.linspace(0.0, depth, 1 + max(1, round(depth / LOADS)))[1:]:
        z[under] = -part
        for _ in range(NEWTON):
            now = {"u": moving.interpolate(z[: moving.N]), "p": pressing.interpolate(z[moving.N :])}
            residual = np.concatenate([force.assemble(moving, **now), volume.assemble(pressing, **now)])
            if np.abs(residual[free]).max() < SMALL:
                break
            rows = constraint.assemble(moving, pressing, **now)
            matrix = bmat([[tangent.assemble(moving, **now), rows.T], [rows, None]], format="csc")
            z[free] -= spsolve(matrix[free][:, free], residual[free])
        else:
            return TaylorHood(float("nan"), float("nan"))
    return TaylorHood(-float(residual[under].sum()), float(_shape(now)[2].min()))


def _cofactor(h: Array) -> Array:
    return np.array([[h[1, 1], -h[1, 0]], [-h[0, 1], h[0, 0]]])


def _shape(w: Any) -> tuple[Array, Array, Array, Array]:
    """Return F, cof F, J and tr C/2."""
    f = np.asarray(w["u"].grad) + np.eye(2)[:, :, None, None]
    c = _cofactor(f)
    return f, c, 0.5 * ddot(c, f), 0.5 * ddot(f, f)


def _forms(bulk: float) -> tuple[BilinearForm, BilinearForm, LinearForm, LinearForm]:
    """Return the tangent, the gradient of volumes, forces and volumes."""

    def tension(ratio: Array, half: Array, w: Any) -> Array:
        return np.asarray(w["p"] + bulk * (ratio - 1.0) - half / ratio**2)

    def tangent(u: Any, v: Any, w: Any) -> Array:
        (f, c, ratio, half), h = _shape(w), grad(u)
        swelling, stretch = ddot(c, h), ddot(f, h)
        change = (h - (f * swelling + c * stretch) / ratio) / ratio + c * swelling * (bulk + 2.0 * half / ratio**3)
        return np.asarray(ddot(change + tension(ratio, half, w) * _cofactor(h), grad(v)))

    def force(v: Any, w: Any) -> Array:
        f, c, ratio, half = _shape(w)
        return np.asarray(ddot(f / ratio + tension(ratio, half, w) * c, grad(v)))

    return (
        BilinearForm(tangent),
        BilinearForm(lambda u, q, w: q * ddot(_shape(w)[1], grad(u))),
        LinearForm(force),
        LinearForm(lambda q, w: q * (_shape(w)[2] - 1.0)),
    )


def forces() -> Values:
    """Compute P-INC: forces over those of Taylor-Hood, and the largest volume errors through presses of 10 m."""
    mesh, found = problem_of(pressed(1.0, COARSE)).bodies[0].mesh, {}
    for depth in PRESSED_DEPTHS:
        simulation = particles(depth, FINE, DOWN + REST, volume_tolerance=1e-9)
        force = simulation.reactions()["tool.bar"][1]
        soft, firm = taylor_hood(mesh, depth), taylor_hood(mesh, depth, bulk=FIRM)
        found[f"F over Taylor-Hood's at {depth:g}"] = force / firm.force
        found[f"F over soft Taylor-Hood's at {depth:g}"] = force / soft.force
    found["smallest J of soft Taylor-Hood at 5"] = soft.smallest_ratio
    plate = particles(5.0, FINE, DOWN + REST, PLATE, volume_tolerance=1e-9).reactions()["tool.bar"][1]
    found["F over Taylor-Hood's under a plate at 5"] = plate / taylor_hood(mesh, 5.0, PLATE, FIRM).force
    found["F over soft Taylor-Hood's under a plate at 5"] = plate / taylor_hood(mesh, 5.0, PLATE).force
    found["volume error under a plate"] = particles(10.0, COARSE, DOWN, PLATE).statistics()["largest_volume_error"]
    found["volume error"] = particles(10.0, COARSE, DOWN).statistics()["largest_volume_error"]
    return {name: float(value) for name, value in found.items()}


_check = partial(check, solvers=("shear-volume",))
CHECKS = {
    "continuum_particles": (
        _check("fem.R6", force_over_depth, name="consistent-triangle-force"),
        _check("fem.R16", cycles, name="cycle-work", quick=True),
        _check("fem.R17", partial(consistent_scene, "P-EL"), name="particles-elastic"),
        _check("fem.R18", partial(consistent_scene, "P-VP"), name="particles-viscoplastic"),
        _check("fem.R19", partial(consistent_scene, "P-RH"), name="particles-rheological"),
        _check("fem.R20", seed_scenes, name="particles-seed-triangle"),
        _check("fem.A4", against_finite_elements, name="consistent-elements"),
    ),
    "incompressible_particles": (_check("fem.P-INC", forces, name="particles-incompressible"),),
}
