"""Large strain: quadratic and mixed elements, energies and their relaxation against closed forms and a peer.

Spec fem-size-and-strain 2: Cook's membrane of neo-Hooke's rubber, K/mu = 5000, in plane strain, as FElupe finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.motion import Motion
from rheotwin.materials import Hyperelastic
from rheotwin.problem import Prescribed, Problem
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Measurement, Values, check
from rheotwin.validation.checks.cook import LOAD, SHEAR, cook_points
from rheotwin.validation.checks.running import (
    Data,
    box_scene,
    last_order,
    named,
    path,
    problem_of,
    run_to,
    scene_of,
    side,
    start,
)
from rheotwin.validation.closed_forms import inflation_pressure

RATIO = 5000.0
"""Bulk over shear modulus of the membrane."""
RIGID: Data = {"incompressible": True}
ENERGIES: dict[str, Data] = {
    "neo-hooke": {"model": "neo-hooke", "shear": 40.0, "poisson": 0.5},
    "mooney-rivlin": {"model": "mooney-rivlin", "c10": 15.0, "c01": 5.0, "poisson": 0.5},
    "yeoh": {"model": "yeoh", "c10": 20.0, "c20": -2.0, "c30": 0.5, "poisson": 0.5},
    "ogden": {
        "model": "ogden",
        "terms": [{"shear": 30.0, "exponent": 1.3}, {"shear": 10.0, "exponent": -2.0}],
        "poisson": 0.5,
    },
}
"""Laws of constant volume and shear modulus 40 Pa."""
STRETCHES = (0.6, 1.5, 2.5)
MEAN: Data = {"formulation": "b-bar", "step": 0.25}
TWIST, RADIUS, HEIGHT = 0.6, 1.0, 0.5
"""Of the cylinder in torsion [1/m], [m], [m]."""


def law_of(table: Data) -> Hyperelastic:
    """Return the law of a table."""
    law = scene_from_data(box_scene(table, cells=[1, 1])).laws["stuff"].law()
    assert isinstance(law, Hyperelastic)
    return law


def large(what: Data | Problem, **options: Any) -> Simulation:
    """Start total-Lagrangian elements in equilibrium at the end of each step."""
    return start(what, kinematics="total-lagrangian", stepper="quasi-static", **options)


def placed(problem: Problem, points: Array, prescribed: tuple[Prescribed, ...] | None = None) -> Problem:
    """Return the problem of one body with its nodes elsewhere (N, d) [m] and other supports, if given."""
    (body,) = problem.bodies
    mesh = replace(body.mesh, doflocs=np.ascontiguousarray(points.T))
    held = problem.prescribed if prescribed is None else prescribed
    return replace(problem, points=points, bodies=(replace(body, mesh=mesh),), prescribed=held)


def follow(problem: Problem, nodes: Sequence[int], moved: Array) -> tuple[Prescribed, ...]:
    """Return supports that lead nodes evenly to displacements (nodes, d) [m], NaN where a component stays free."""
    found = []
    for node, place in zip(nodes, moved, strict=True):
        held = tuple(int(k) for k in np.flatnonzero(np.isfinite(place)))
        motion = Motion(np.array([0.0, problem.scene.duration]), np.stack([0.0 * place, place])[:, held])
        if held:
            found.append(Prescribed(f"node-{node}", np.array([node]), held, motion))
    return tuple(found)


def cook_simulation(squares: int, cell: str, formulation: str, **options: Any) -> Simulation:
    """Return the membrane at rest."""
    law: Data = {"model": "neo-hooke", "shear": SHEAR, "bulk": RATIO * SHEAR}
    pull = side("right", total=[0.0, LOAD], times=[0.0, 1.0], factor=[0.0, 1.0])
    held: Data = {"supports": {"wall": side("left")}, "forces": {"pull": pull}}
    grid: Data = {"size": [1.0, 1.0], "cells": [squares, squares], "cell": cell, "density": 1.0}
    pattern: Data = {"pattern": "alternating"} if cell == "triangle" else {}
    problem = problem_of(box_scene(law, **grid, **pattern, **held))
    return large(placed(problem, cook_points(problem.points)), formulation=formulation, **options)


def cook_tip(squares: int, cell: str, formulation: str) -> float:
    """Return the tip displacement [m] of the membrane after five steps."""
    simulation = cook_simulation(squares, cell, formulation, step=0.2)
    corner = int(np.argmax(simulation.positions.sum(axis=1)))
    return float(run_to(simulation, 1.0).fields()["displacement"][corner, 1])


def membrane(cell: str, formulation: str) -> Values:
    """Return the tip on meshes of the table."""
    sizes = (4, 8, 16, 32)
    return named("n = {}", sizes, [cook_tip(n, cell, formulation) for n in sizes])


def tension(table: Data, stretch: float, *, cell: str = "hex", end: float = 1.0, **options: Any) -> float:
    """Return the stress [Pa] at `end` [s] of a block pulled along x to a stretch within 1 s, free to narrow."""
    dimension = 3 if cell in ("hex", "tet") else 2
    sides = {"left": "x", "front": "y", "bottom": "z"} if dimension == 3 else {"left": "x", "bottom": "y"}
    grip = path([0.0, 1.0], [[0.0] * dimension, [stretch - 1.0] + [0.0] * (dimension - 1)])
    supports = {name: side(name, fix=[axis]) for name, axis in sides.items()}
    supports |= {"grip": side("right", fix=["x"], motion=grip)}
    size: Data = {"size": [1.0] * dimension, "cells": [1] * dimension, "cell": cell}
    plane: Data = {"plane": "stress", "thickness": 1.0} if dimension == 2 else {}
    simulation = run_to(large(box_scene(table, **size, **plane, supports=supports, duration=end), **options), end)
    return -float(simulation.reactions()["support.grip"][0]) * stretch


def uniaxial(name: str) -> Values:
    """Return the stress in tension and compression, in space and in plane stress, and in simple shear."""
    table = ENERGIES[name]
    found = named(
        "l = {}", STRETCHES, [tension(table, s, formulation="taylor-hood", step=0.25, **RIGID) for s in STRETCHES]
    )
    found |= {"sheet, l = 1.5": tension(table, 1.5, cell="quad", order=2, step=0.25)}
    return found | {"shear, g = 1": sheared(table, 1.0)}


def sheared(table: Data, amount: float) -> float:
    """Return the shear stress [Pa] of a unit cube whose boundary follows a simple shear; its volume law has no say."""
    table = {name: value for name, value in table.items() if name != "poisson"} | {"bulk": 400.0}
    data = box_scene(table, size=[1.0] * 3, cells=[2] * 3, cell="hex")
    problem = problem_of(data)
    nodes = problem.bodies[0].mesh.boundary_nodes()
    moved = problem.points[nodes][:, [1]] * [amount, 0.0, 0.0]
    problem = replace(problem, prescribed=follow(problem, nodes, moved))
    simulation = run_to(large(problem, formulation="b-bar", step=0.25), 1.0)
    return float(simulation.fields()["stress"][:, 3].mean())


def tube(table: Data, cells: int, **options: Any) -> float:
    """Return the pressure [Pa] in a long tube of radii 1 m and 2 m whose inside moves out by 1 m."""
    grip = side("left", fix=["x"], motion=path([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]]))
    supports = {name: side(name, fix=["y"]) for name in ("bottom", "top")} | {"inside": grip}
    size: Data = {"size": [1.0, 0.25], "cells": [cells, 1], "origin": [1.0, 0.0], "cell": "quad"}
    data = box_scene(table, plane="axisymmetric", supports=supports, **size)
    force = run_to(large(data, step=0.25, **options), 1.0).reactions()["support.inside"]
    return -float(force[0]) / (2.0 * np.pi * 2.0 * 0.25)


def ball(table: Data, cells: int) -> float:
    """Return the pressure [Pa] in a hollow ball of radii 1 m and 2 m whose inside moves out by 0.5 m.

    The box is bent to a quarter of the section; the work of the nodes inside is that of the pressure.
    """
    size: Data = {"size": [1.0, 1.0], "cells": [cells, cells], "cell": "quad"}
    problem = problem_of(box_scene(table, plane="axisymmetric", **size))
    radius, angle = 1.0 + problem.points[:, 0], 0.5 * np.pi * (1.0 - problem.points[:, 1])
    out = np.stack([np.sin(angle), np.cos(angle)], axis=1)  # so that cells keep their orientation
    points = radius[:, None] * np.where(np.abs(out) < 1e-12, 0.0, out)
    moved = np.full(points.shape, np.nan)
    moved[np.isclose(angle, 0.5 * np.pi), 1] = 0.0
    moved[radius < 1.0 + 1e-9] = 0.5 * out[radius < 1.0 + 1e-9]
    bent = placed(problem, points, follow(problem, range(len(points)), moved))
    reactions = run_to(large(bent, **(MEAN | RIGID)), 1.0).reactions()
    inside = np.flatnonzero(radius < 1.0 + 1e-9)
    return -sum(float(reactions[f"support.node-{node}"] @ out[node]) for node in inside) / (2.0 * np.pi * 1.5**2)


def torsion(table: Data, cells: int) -> tuple[float, float]:
    """Return moment [N m] and axial force [N] of a cylinder whose ends turn against each other."""
    shape: Data = {"shape": "cylinder", "radius": RADIUS, "height": HEIGHT, "cells": [cells, cells // 2], "cell": "hex"}
    problem = problem_of(scene_of(table, shape, dimension=3))
    points, angle = problem.points, TWIST * HEIGHT
    nodes = np.flatnonzero(np.isclose(points[:, 2], 0.0) | np.isclose(points[:, 2], HEIGHT))
    turn = np.where(points[nodes, 2] > 0.5 * HEIGHT, angle, 0.0)
    flat = points[nodes, 0] + 1j * points[nodes, 1]
    step = flat * np.exp(1j * turn) - flat
    moved = np.stack([step.real, step.imag, 0.0 * turn], axis=1)
    problem = replace(problem, prescribed=follow(problem, nodes.tolist(), moved))
    reactions = run_to(large(problem, **MEAN), 1.0).reactions()
    ends = points[nodes] + moved
    forces = np.array([reactions[f"support.node-{node}"] for node in nodes])[turn > 0.0]
    moment = np.cross(ends[turn > 0.0], -forces).sum(axis=0)[2]
    return float(moment), float(-forces[:, 2].sum())


def relaxed(stretch: float) -> Values:
    """Return shares of the stress at once that a stretch holds after its ramp in one step of 1 s."""
    table = ENERGIES["ogden"] | {"relaxation": [{"share": 0.3, "time": 0.5}, {"share": 0.4, "time": 4.0}]}
    rubber: Data = {"formulation": "taylor-hood", "step": 1.0, **RIGID}
    at_once = tension(ENERGIES["ogden"], stretch, **rubber)
    return named("t = {} s", (1, 3, 6), [tension(table, stretch, end=float(t), **rubber) / at_once for t in (1, 3, 6)])


def inflation() -> Measurement:
    """Return the pressure in a tube (Taylor-Hood), and in a ball (mean dilatation) as its cells are halved."""
    table, sizes = ENERGIES["ogden"], (4, 8, 16)
    exact, found = inflation_pressure(law_of(table), 1.0, 2.0, 0.5, ball=True), [ball(table, n) for n in sizes]
    tubes = {"tube": tube(table, 8, formulation="taylor-hood", **RIGID)}
    errors = [abs(value / exact - 1.0) for value in found]
    return Measurement(tubes | {"ball": found[-1], "order": last_order([1.0 / n for n in sizes[1:]], errors[1:])})


def twisted() -> Values:
    """Return the moment, extrapolated by the order 2 of faceted circles, and the axial force on the finer mesh."""
    table = {name: value for name, value in ENERGIES["mooney-rivlin"].items() if name != "poisson"} | {"bulk": 8000.0}
    (coarse, _), (fine, force) = torsion(table, 8), torsion(table, 16)
    return {"moment": fine + (fine - coarse) / 3.0, "axial force": force}


def newton(formulation: str) -> Values:
    """Return the order of Newton's method in one large step of the membrane, of the last residuals above rounding."""
    simulation = cook_simulation(4, "quad", formulation, step=1.0, newton_tolerance=1e-13)
    stepper: Any = simulation
    residuals = np.array(stepper._stepper.solve(stepper._state, 0.0, 1.0)[1])
    first, second, third = residuals[residuals > 1e-11 * residuals.max()][-3:]
    return {"order": float(np.log(third / second) / np.log(second / first))}


_check = partial(check, quick=True)
CHECKS = {
    "large strain": (
        check("fem.S12/cook-q1p0", partial(membrane, "quad", "b-bar"), name="large-cook-mean-dilatation"),
        check("fem.S12/cook-p2p0", partial(membrane, "triangle", "p2-p0"), name="large-cook-p2-p0"),
        *(_check(f"fem.S12/{name}", partial(uniaxial, name), name=f"large-{name}") for name in ENERGIES),
        _check("fem.S12/relaxation", partial(relaxed, 2.0), name="large-relaxation"),
        _check("fem.S12/inflation", inflation, name="large-inflation"),
        check("fem.S12/torsion", twisted, name="large-torsion"),
        _check("fem.S12/newton", partial(newton, "taylor-hood"), name="large-newton"),
    )
}
