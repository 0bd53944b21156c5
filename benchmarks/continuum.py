"""Shear and volume elements as `rheotwin run` takes them, beside C compiled here; one thread.

20,250 tetrahedra and 20,000 triangles stand on a table under their weight. The C loop has the same energy of the same
tetrahedra from the deformation gradient, and ends in the same place. Constant volume is the cost of the option
`incompressible` for a cube under a plate that comes down: a Voigt cube comes to rest, an elastic one goes on ringing.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from benchmarks.particles import C_NAMES, C_SOURCE
from benchmarks.scene_cost import Cost, scene_costs
from benchmarks.side_by_side import Ratio, address, c_library, microseconds
from rheotwin.build import build_problem
from rheotwin.fem.fast.block_rows import tet_geometry
from rheotwin.kernels.vectors import aligned_copy
from rheotwin.scene import scene_from_data

CELLS = {2: 100, 3: 15}
"""Squares or cubes a side, split: 20,000 triangles, 20,250 tetrahedra."""
STEP, STEPS, C_STEPS = 1e-3, 1000, 50
BULK, SHEAR = 250.0, 100.0
EQUAL: dict[str, Any] = {"bulk": BULK, "shear": SHEAR}
LAWS: dict[str, dict[str, Any]] = {
    "elastic": {"model": "elastic", **EQUAL},
    "three-element": {
        "model": "three-element",
        **EQUAL,
        "voigt_viscosity": {"bulk": 0.1, "shear": 0.1},
        "series_viscosity": {"bulk": 100.0, "shear": 100.0},
    },
}
SAME = 1e-9
"""Largest distance [m] from where C ends, after a thousand steps of rounding."""


def block(dimension: int, law: str) -> dict[str, Any]:
    """Return a unit square or cube on a table."""
    body = {"shape": "box", "size": [1.0] * dimension, "cells": [CELLS[dimension]] * dimension, "law": "stuff"}
    return {
        "schema": 1,
        "dimension": dimension,
        "duration": STEP * STEPS,
        "gravity": [0.0] * (dimension - 1) + [-1.0],
        "laws": {"stuff": LAWS[law]},
        "bodies": {"block": {**body, "density": 1.0} | ({"pattern": "six"} if dimension == 3 else {})},
        "supports": {"table": {"body": "block", "where": {"side": "bottom"}}},
        "probes": {"corner": {"body": "block", "at": [1.0] * dimension}},
        "output": {"interval": STEP * STEPS},
    }


def c_tetrahedra(corner: tuple[float, ...]) -> float | None:
    """Return microseconds of a step of the neo-Hookean loop in C, which has to end at `corner` as the scene does."""
    problem = build_problem(scene_from_data(block(3, "elastic")))
    tets, nodes = tet_geometry(problem.points, problem.bodies[0].mesh.t.T), len(problem.points)

    def rows(values: Any) -> Any:
        return aligned_copy(np.pad(values, ((0, 0), (0, 1))), np.float64)

    # Component k of the gradients of corners 1 to 3 stands in [corner, k].
    gradients = rows(tets.gradients[:, 1:].reshape(-1, 3))
    weight, inverse = rows(problem.masses[:, None] * problem.gravity), np.where(problem.owners[:, 0] < 0, 1.0, 0.0)
    x, v, f = rows(problem.points), rows(0.0 * problem.points), rows(0.0 * problem.points)
    arrays = [x, v, f, weight, aligned_copy(inverse / problem.masses, np.float64)]
    places = [address(array) for array in (tets.corners, gradients, tets.volumes, *arrays)]
    with c_library(C_SOURCE, *C_NAMES["double"]) as library:
        if library is None:
            return None

        def take(steps: int) -> None:
            head = (ctypes.c_long(steps), ctypes.c_double(STEP), ctypes.c_long(len(tets.corners)))
            library.neo_hooke_steps(*head, *places, ctypes.c_long(nodes), *map(ctypes.c_double, (SHEAR, BULK)))

        take(STEPS)
        found = x.reshape(nodes, 4)[problem.probes["corner"], :3] - problem.points[problem.probes["corner"]]
        if not np.abs(found - corner).max() <= SAME:
            raise RuntimeError(f"C ends at {found}, shear-volume at {corner}")
        return microseconds({"C": lambda: take(C_STEPS)}, C_STEPS)["C"]


def elements() -> list[Ratio]:
    """Measure tetrahedra and triangles of either law."""
    options = {"step": STEP, "unstable": "substep"}
    scenes: dict[str, Any] = {
        f"{shape}, {law}": (block(dimension, law), "shear-volume", options)
        for shape, dimension in (("tetrahedra", 3), ("triangles", 2))
        for law in LAWS
    }
    scenes["triangles, cotangent"] = (block(2, "elastic"), "shear-volume", {**options, "shear": "cotangent"})
    costs = scene_costs(scenes)
    count = {"tetrahedra": 6 * CELLS[3] ** 3, "triangles": 2 * CELLS[2] ** 2}
    each = {name: 1e3 * cost.step / count[name.split(",")[0]] for name, cost in costs.items()}
    found = [Ratio(f"{name}, step [ns each]", each[name], float("inf"), cost.line) for name, cost in costs.items()]
    solid = costs["tetrahedra, elastic"]
    corner = tuple(solid.last[f"probe.corner.displacement_{axis}"] for axis in "xyz")
    in_c = c_tetrahedra(corner)
    if in_c is not None:
        per_tet = 1e3 * in_c / count["tetrahedra"]
        detail = f"C {per_tet:.1f} ns a tetrahedron"
        found.append(Ratio("elastic tetrahedra / C", each["tetrahedra, elastic"] / per_tet, 1.0, detail))
        found.append(Ratio("elastic triangles / tetrahedra in C", each["triangles, elastic"] / per_tet, 0.5))
    return found


def pressed_cube(law: dict[str, Any]) -> dict[str, Any]:
    """Return a cube of 20,250 tetrahedra under a plate that comes down by a tenth of its height in 1000 steps."""
    height, duration = 15.0, 30.0
    motion = {"times": [0.0, duration], "displacement": [[0.0] * 3, [0.0, 0.0, -0.1 * height]]}
    body = {"shape": "box", "size": [height] * 3, "cells": [15] * 3, "pattern": "six", "law": "stuff", "density": 1.0}
    plate = {"shape": "plane", "center": [0.0, 0.0, height], "normal": [0.0, 0.0, -1.0], "motion": motion}
    return {
        "schema": 1,
        "dimension": 3,
        "duration": duration,
        "laws": {"stuff": law},
        "bodies": {"cube": body},
        "supports": {"floor": {"body": "cube", "where": {"side": "bottom"}}},
        "tools": {"plate": plate},
        "output": {"interval": duration},
    }


def constant_volume() -> list[Ratio]:
    """Measure what constant volume costs beside the step."""
    laws = {
        "voigt": {"model": "voigt", "young": 3.0, "viscosity": 1.5, "poisson": 0.3},
        "elastic": {"model": "elastic", "young": 3.0, "poisson": 0.3},
    }
    options: dict[str, dict[str, Any]] = {"free": {"step": 0.03}, "cell": {"step": 0.03, "incompressible": "cell"}}
    costs = scene_costs(
        {f"{law} {kind}": (pressed_cube(laws[law]), "shear-volume", options[kind]) for law in laws for kind in options},
        rounds=1,
    )

    def ratio(law: str, free: Cost, kept: Cost) -> Ratio:
        rounds = kept.statistics["constraint_iterations_per_step"]
        detail = f"{1e-3 * free.step:.2f} -> {1e-3 * kept.step:.2f} ms, {rounds:.1f} iterations; {kept.line}"
        return Ratio(f"constant volume / explicit step, {law}", kept.stepping / free.stepping - 1.0, 3.0, detail)

    return [ratio(law, costs[f"{law} free"], costs[f"{law} cell"]) for law in laws]


def measure() -> list[Ratio]:
    """Measure everything."""
    return [*elements(), *constant_volume()]
