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
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.cook import LOAD, SHEAR, cook_points
from rheotwin.validation.checks.running import Data, box_scene, named, path, problem_of, run_to, scene_of, side, start
from rheotwin.validation.closed_forms import inflation_pressure, simple_shear_stress, torsion_loads, uniaxial_stress

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


def cook_tip(squares: int, cell: str, formulation: str, *, ratio: float = RATIO, **options: Any) -> float:
    """Return the tip displacement [m] of the membrane after five steps."""
    law: Data = {"model": "neo-hooke", "shear": SHEAR, "bulk": ratio * SHEAR}
    pull = side("right", total=[0.0, LOAD], times=[0.0, 1.0], factor=[0.0, 1.0])
    held: Data = {"supports": {"wall": side("left")}, "forces": {"pull": pull}}
    grid: Data = {"size": [1.0, 1.0], "cells": [squares, squares], "cell": cell, "density": 1.0}
    pattern: Data = {"pattern": "alternating"} if cell == "triangle" else {}
    problem = problem_of(box_scene(law, **grid, **pattern, **held))
    problem = placed(problem, cook_points(problem.points))
    simulation = run_to(large(problem, formulation=formulation, step=0.2, **options), 1.0)
    corner = int(np.argmax(problem.points.sum(axis=1)))
    return float(simulation.fields()["displacement"][corner, 1])


def membrane(cell: str, formulation: str) -> Values:
    """Return the tip on meshes of the table."""
    sizes = (4, 8, 16, 32)
    return named("n = {}", sizes, [cook_tip(n, cell, formulation) for n in sizes])


def tension(table: Data, stretch: float, *, cell: str = "hex", **options: Any) -> float:
    """Return the stress [Pa] of a block pulled along x to a stretch, free to narrow."""
    dimension = 3 if cell in ("hex", "tet") else 2
    sides = {"left": "x", "front": "y", "bottom": "z"} if dimension == 3 else {"left": "x", "bottom": "y"}
    grip = path([0.0, 1.0], [[0.0] * dimension, [stretch - 1.0] + [0.0] * (dimension - 1)])
    supports = {name: side(name, fix=[axis]) for name, axis in sides.items()}
    supports |= {"grip": side("right", fix=["x"], motion=grip)}
    size: Data = {"size": [1.0] * dimension, "cells": [1] * dimension, "cell": cell}
    plane: Data = {"plane": "stress", "thickness": 1.0} if dimension == 2 else {}
    simulation = run_to(large(box_scene(table, **size, **plane, supports=supports), step=0.25, **options), 1.0)
    return -float(simulation.reactions()["support.grip"][0]) * stretch


def uniaxial(name: str) -> Values:
    """Return the stress in tension and compression, in space and in plane stress, and in simple shear."""
    table = ENERGIES[name]
    found = named("l = {}", STRETCHES, [tension(table, s, formulation="taylor-hood", **RIGID) for s in STRETCHES])
    found |= {"sheet, l = 1.5": tension(table, 1.5, cell="quad", order=2)}
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


def exact_uniaxial(name: str) -> Values:
    """Return what `uniaxial` should find."""
    law = law_of(ENERGIES[name])
    found = named("l = {}", STRETCHES, uniaxial_stress(law, STRETCHES))
    found |= {"sheet, l = 1.5": float(uniaxial_stress(law, 1.5))}
    return found | {"shear, g = 1": float(simple_shear_stress(law, 1.0))}


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
    bent = placed(problem, points)
    simulation = run_to(large(replace(bent, prescribed=follow(bent, range(len(points)), moved)), **MEAN), 1.0)
    work = sum(
        float(-simulation.reactions()[f"support.{item.name}"] @ out[item.nodes[0]])
        for item in replace(bent, prescribed=follow(bent, range(len(points)), moved)).prescribed
        if radius[item.nodes[0]] < 1.0 + 1e-9
    )
    return work / (2.0 * np.pi * 1.5**2)


MEAN: Data = {"formulation": "b-bar", "step": 0.25, "incompressible": True}


def torsion(table: Data, cells: int) -> tuple[float, float]:
    """Return moment [N m] and axial force [N] of a cylinder whose ends turn against each other."""
    shape: Data = {"shape": "cylinder", "radius": RADIUS, "height": HEIGHT, "cells": [cells, 2], "cell": "hex"}
    problem = problem_of(scene_of(table, shape, dimension=3))
    points, angle = problem.points, TWIST * HEIGHT
    nodes = np.flatnonzero(np.isclose(points[:, 2], 0.0) | np.isclose(points[:, 2], HEIGHT))
    turn = np.where(points[nodes, 2] > 0.5 * HEIGHT, angle, 0.0)
    flat = points[nodes, 0] + 1j * points[nodes, 1]
    step = flat * np.exp(1j * turn) - flat
    moved = np.stack([step.real, step.imag, 0.0 * turn], axis=1)
    problem = replace(problem, prescribed=follow(problem, nodes, moved))
    reactions = run_to(large(problem, **MEAN), 1.0).reactions()
    ends = points[nodes] + moved
    forces = np.array([reactions[f"support.node-{node}"] for node in nodes])[turn > 0.0]
    moment = np.cross(ends[turn > 0.0], -forces).sum(axis=0)[2]
    return float(moment), float(-forces[:, 2].sum())
