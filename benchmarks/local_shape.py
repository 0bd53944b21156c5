"""Polyhedra that keep their shape as `rheotwin run` takes them, beside springs on the same cubes; one thread, CPU time.

A lattice of 20 x 20 x 20 cubes, two passes, with damping of deformation. Springs are all pairs of corners of a cube, by
the loop that finds its particles by their numbers, as polyhedra do. Larger lattices show what memory costs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.side_by_side import Ratio, microseconds
from rheotwin.build import build_problem
from rheotwin.meshing import build_mesh
from rheotwin.phases import start_simulation
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options, find_solver

STEPS, SIDES = 20, (10, 20, 40, 80)
"""Steps per round; cubes a side, 1,000 to 512,000."""
LAWS: dict[str, dict[str, Any]] = {
    "elastic": {"model": "elastic", "young": 100.0, "poisson": 0.0},
    "nu = 0.3": {"model": "elastic", "young": 100.0, "poisson": 0.3},
    "three-element": {
        "model": "three-element",
        "young": 100.0,
        "poisson": 0.3,
        "voigt_viscosity": 1.0,
        "series_viscosity": 100.0,
    },
}


def lattice(side: int, law: str, solver: str, **options: Any) -> Any:
    """Return a running lattice of unit cubes."""
    body = {
        "shape": "box",
        "size": [float(side)] * 3,
        "cells": [side] * 3,
        "cell": "hex",
        "law": "stuff",
        "density": 1.0,
    }
    scene = {
        "schema": 1,
        "dimension": 3,
        "duration": 1000.0,
        "laws": {"stuff": LAWS[law]},
        "bodies": {"block": body | {"density": 1.0}},
        "output": {"interval": 1000.0},
    }
    chosen = find_solver(solver)
    return start_simulation(chosen, build_problem(scene_from_data(scene)), checked_options(chosen, options))


def lone(solver: str, **options: Any) -> Any:
    """Return as many cubes as in a lattice of 20 a side, none of which touches another."""
    problem = lattice(20, "elastic", solver).method.problem
    (body,) = problem.bodies
    points = problem.points[body.mesh.t.T].reshape(-1, 3)
    corners = np.arange(len(points)).reshape(-1, 8)
    changed = replace(body, mesh=build_mesh("hex", points.T, corners.T))
    apart = replace(problem, bodies=(changed,), points=points, masses=np.full(len(points), 0.125))
    chosen = find_solver(solver)
    return start_simulation(chosen, apart, checked_options(chosen, options))


def cost(simulations: dict[str, Any], cubes: dict[str, int]) -> dict[str, float]:
    """Return ns per cube and step."""
    steps = {name: lambda one=one: one.advance(1e9, STEPS) for name, one in simulations.items()}
    return {name: 1e3 * spent / cubes[name] for name, spent in microseconds(steps, STEPS).items()}


def measure() -> list[Ratio]:
    """Measure everything."""
    found = {law: lattice(20, law, "local-shape") for law in LAWS}
    found["springs"] = lattice(20, "elastic", "truss", kernel="unstructured")
    found["springs in rows"] = lattice(20, "elastic", "truss")
    found["lone"], found["28 springs"] = lone("local-shape"), lone("truss", kernel="unstructured")
    spent = cost(found, dict.fromkeys(found, 20**3))
    against = [Ratio("polyhedra / 60 ns a cube", spent["elastic"] / 60.0, 1.0, f"{spent['elastic']:.1f} ns")]
    against += [Ratio(f"polyhedra, {law} / elastic", spent[law] / spent["elastic"]) for law in LAWS if law != "elastic"]
    against += [
        Ratio("polyhedra / springs", spent["elastic"] / spent["springs"], 2.2, f"{spent['springs']:.1f} ns"),
        Ratio("lone cubes / 28 springs", spent["lone"] / spent["28 springs"], 1.1, f"{spent['28 springs']:.1f} ns"),
        Ratio("polyhedra / springs in rows", spent["elastic"] / spent["springs in rows"]),
    ]
    sizes = {str(side): lattice(side, "elastic", "local-shape") for side in SIDES}
    ns = cost(sizes, {str(side): side**3 for side in SIDES})
    detail = ", ".join(f"{side}^3: {ns[str(side)]:.1f} ns" for side in SIDES)
    return [*against, Ratio("most / least a cube, 1,000 to 512,000", max(ns.values()) / min(ns.values()), 1.5, detail)]
