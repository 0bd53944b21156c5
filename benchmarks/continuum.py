"""Shear and volume elements on one thread: tetrahedra beside the finite-element kernel, triangles, constant volume.

Both kernels take the same steps of the same elastic cube, large strain, no supports. `shear-volume` evaluates the same
energy from scalar products of edges instead of the deformation gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.continuum_pressure import LAWS, LIMIT, pressure_cost
from benchmarks.fem_f2 import LAME, SHEAR, STEPS, Cube
from benchmarks.particles import REFERENCE, c_library, c_scatter, microseconds, sorted_edges, truss
from benchmarks.side_by_side import Ratio
from rheotwin.build import build_problem
from rheotwin.particles.shear_volume.simulation import ShearVolumeSimulation
from rheotwin.particles.shear_volume.solver import ShearVolumeSolver
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options

CELLS = {2: 100, 3: 15}
"""Squares or cubes a side, split: 20,000 triangles, 20,250 tetrahedra."""
STEP = 1e-5
BEYOND = 1.2
"""What a step may cost, in steps of the finite elements per tetrahedron (issue 7)."""
TRIANGLE = 8.0 / (66.9e3 / 19531)
"""What a triangle may cost, in edges of the plain C loop: 8 ns (issue 7) where those of the reference body take 66.9 us
(spec performance A, C AoS4 scatter). Numbers of nanoseconds hold for one machine only."""
ELASTIC: dict[str, Any] = {"model": "elastic", "lame": LAME, "shear": SHEAR}
THREE: dict[str, Any] = {
    "model": "three-element",
    "lame": LAME,
    "shear": SHEAR,
    "voigt_viscosity": {"lame": 0.1, "shear": 0.1},
    "series_viscosity": {"lame": 100.0, "shear": 100.0},
}


def block(dimension: int, law: dict[str, Any], **options: Any) -> ShearVolumeSimulation:
    """Return a unit square or cube of one law on the run, with a little noise in velocity."""
    data = {
        "schema": 1,
        "dimension": dimension,
        "duration": 100.0,
        "laws": {"stuff": law},
        "bodies": {
            "block": {"shape": "box", "size": [1.0] * dimension, "cells": [CELLS[dimension]] * dimension}
            | {"cell": "triangle" if dimension == 2 else "tet", "law": "stuff", "mass": 1.0, "mass_sharing": "equal"}
            | ({"pattern": "six"} if dimension == 3 else {})
        },
        "output": {"interval": 100.0},
    }
    solver = ShearVolumeSolver()
    simulation = solver.start(
        build_problem(scene_from_data(data)), checked_options(solver, {"step": STEP, "unstable": "substep", **options})
    )
    state = simulation.save()
    noise = np.random.default_rng(0).standard_normal(simulation.velocities.shape)
    state["velocities"][:, :dimension] = 1e-3 * noise
    simulation.restore(state)
    return simulation


def steps_of(simulation: ShearVolumeSimulation) -> Callable[[], None]:
    """Return work that takes STEPS steps."""

    def work() -> None:
        simulation.advance((simulation.step_count + STEPS) * simulation.step_size, STEPS)

    return work


def tetrahedra() -> list[Ratio]:
    """Measure tetrahedra beside finite elements."""
    cube, elastic, viscous = Cube(CELLS[3]), block(3, ELASTIC), block(3, THREE)
    works = {"fem": cube.neo_hookean_steps(), "elastic": steps_of(elastic), "three-element": steps_of(viscous)}
    spent = microseconds(works, STEPS)
    count = elastic.statistics()["elements"]["tets"]
    each = {name: 1e3 * time / (cube.elements if name == "fem" else count) for name, time in spent.items()}
    shown = ", ".join(f"{name} {time:.1f}" for name, time in each.items()) + " ns a tetrahedron"
    return [
        Ratio("shear-volume / fem, elastic, per tetrahedron", each["elastic"] / each["fem"], BEYOND, shown),
        Ratio("three-element / elastic, tetrahedra", each["three-element"] / each["elastic"], 3.0, shown),
    ]


def triangles() -> list[Ratio]:
    """Measure triangles beside the plain loop over edges in C."""
    simulations = {
        f"{shear} {name}": block(2, law, shear=shear)
        for shear in ("neo-hooke", "cotangent")
        for name, law in (("elastic", ELASTIC), ("three-element", THREE))
    }
    works = {name: steps_of(simulation) for name, simulation in simulations.items()}
    count = dict.fromkeys(works, 2 * CELLS[2] ** 2)
    with c_library(np.float64) as library:
        if library is not None:
            body = truss(*REFERENCE)
            works["C edge"] = c_scatter(library, sorted_edges(body, np.float64)[0], STEPS)
            count["C edge"] = body.count
        spent = microseconds(works, STEPS)
    each = {name: 1e3 * time / count[name] for name, time in spent.items()}
    shown = ", ".join(f"{name} {time:.1f}" for name, time in each.items()) + " ns"
    return [
        Ratio(f"elastic triangle, {shear} / C edge", each[f"{shear} elastic"] / each["C edge"], TRIANGLE, shown)
        for shear in ("neo-hooke", "cotangent")
        if "C edge" in each
    ]


def pressures() -> list[Ratio]:
    """Measure what constant volume costs beside the step."""
    found = {law: pressure_cost(law) for law in LAWS}
    return [
        Ratio(
            f"constant volume / explicit step, {law}",
            one["ratio"],
            LIMIT,
            f"{one['pressure_ms']:.2f} ms beside {one['explicit_step_ms']:.2f} ms",
        )
        for law, one in found.items()
    ]


def measure() -> list[Ratio]:
    """Measure everything."""
    return [*tetrahedra(), *triangles(), *pressures()]


if __name__ == "__main__":
    for ratio in measure():
        print(ratio.line)
