"""Particles as `rheotwin run` takes them, beside C compiled here and peers that are installed; one thread.

The reference body has 15 x 15 x 16 particles and 19,531 three-element edges and stands on a table. C knows just the
edges: `C in runs` has them in even and odd rows without indices, the limit of a box, `C scatter` one after the other,
particles in rows of four numbers. Taichi, Warp and JAX take the same step in the same process as C.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.particle_peers import SortedEdges, installed
from benchmarks.scene_cost import scene_costs
from benchmarks.side_by_side import Ratio, address, c_library, microseconds
from rheotwin.build import build_problem
from rheotwin.kernels.vectors import aligned_copy, spread
from rheotwin.particles import TrussSolver
from rheotwin.particles.boxes import find_layout
from rheotwin.particles.placed import placed_boundary
from rheotwin.particles.realtime import timed_body
from rheotwin.particles.rows import inverse_order, particle_order
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options

Array = Any
Work = Callable[[], object]

CELLS = (14, 14, 15)
STEPS = {"structured": 20_000, "unstructured": 10_000, "general": 4_000}
"""Steps of a run: so many that loading compiled code (some 20 ms) does not count."""
KERNEL_STEPS = 200
STEP = 0.02
LAW = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 60.0}
C_SOURCE = Path(__file__).with_name("particles_reference.c").read_text()
C_NAMES = {
    "double": ("-DREAL=double", "-DROOT=sqrt", "-DCUBE_ROOT=cbrt"),
    "single": ("-DREAL=float", "-DROOT=sqrtf", "-DCUBE_ROOT=cbrtf"),
}
PRECISIONS: dict[str, Any] = {"double": np.float64, "single": np.float32}


def box(steps: int, cells: tuple[int, int, int] = CELLS, **more: Any) -> dict[str, Any]:
    """Return the body on a table under a little weight."""
    body = {"shape": "box", "size": [float(n) for n in cells], "cells": list(cells), "law": "dough", "density": 1.0}
    return {
        "schema": 1,
        "dimension": 3,
        "duration": steps * STEP,
        "gravity": [0.0, 0.0, -1e-4],
        "laws": {"dough": LAW},
        "bodies": {"block": body},
        "supports": {"table": {"body": "block", "where": {"side": "bottom"}}},
        "output": {"interval": steps * STEP},
    } | more


def options(kernel: str, precision: str = "double") -> dict[str, Any]:
    """Return the options of a truss of edges alone."""
    return {"kernel": kernel, "precision": precision, "volume_term": False, "step": STEP}


class Edges:
    """The edges of the scene in places of their own: what C and the peers step."""

    def __init__(self, scene: dict[str, Any]) -> None:
        solver = TrussSolver()
        problem = build_problem(scene_from_data(scene))
        started = solver.start(problem, checked_options(solver, options("general")))
        self.all, self.boundary, self.rest = started.method.forces.edges, started.boundary, problem.points
        self.masses = problem.masses
        self.noise = 1e-3 * np.random.default_rng(0).standard_normal(self.rest.shape)

    def sorted(self, dtype: Any) -> SortedEdges:
        """Sort as a careful user would: particles by bandwidth, edges by their first."""
        order = particle_order(self.all.corners, len(self.rest))
        ends = np.sort(inverse_order(order)[self.all.corners], axis=1)
        sorting = np.lexsort((ends[:, 1], ends[:, 0]))
        e = self.all
        rows = np.stack([row[sorting] for row in (e.viscosity, e.arm_stiffness[0], e.arm_decay[0], e.arm_gain[0])])
        places = (self.rest[order], self.noise[order], rows, STEP / self.masses[order])
        return SortedEdges(ends[sorting].astype(np.int32), *(a.astype(dtype) for a in places), STEP)

    def c_scatter(self, library: Any, dtype: Any) -> Work:
        """Return C over edges one after the other, particles in rows of four."""
        body = self.sorted(dtype)
        nodes = len(body.positions)
        x, v = (aligned_copy(np.pad(rows, ((0, 0), (0, 1))), dtype) for rows in (body.positions, body.velocities))
        z, f = (aligned_copy(np.zeros(size), dtype) for size in (len(body.pairs), 4 * nodes))
        arrays = (body.pairs, x, v, f, aligned_copy(body.constants, dtype), z, aligned_copy(body.rate / STEP, dtype))
        head = (ctypes.c_long(KERNEL_STEPS), ctypes.c_double(STEP), ctypes.c_long(len(body.pairs)))
        return lambda: library.scatter_steps(*head, *map(address, arrays), ctypes.c_long(nodes))

    def c_runs(self, library: Any, dtype: Any) -> Work:
        """Return C over the runs of a box."""
        # C is fastest in the longer blocks of single precision, whatever its own.
        layout = find_layout(self.rest, self.all.corners, np.float32)
        assert layout is not None
        e, there = self.all, placed_boundary(self.boundary, layout.places, layout.size)
        velocities = np.zeros((layout.size, 3))
        velocities[layout.places] = self.noise
        motion = aligned_copy(np.concatenate([there.nodes.rest.T, velocities.T, 0.0 * velocities.T]), dtype)
        weight = spread([e.viscosity / e.viscosity.max()], layout.edges.of_element, layout.edges.lanes, dtype)
        column = np.array([0.0, e.viscosity.max(), e.arm_stiffness.max(), e.arm_decay[0, 0], e.arm_gain[0, 0]], dtype)
        states = aligned_copy(np.zeros(layout.edges.lanes), dtype)
        rate = np.zeros(layout.size)
        rate[layout.places] = STEP / self.masses
        rate = aligned_copy(rate, dtype)
        arrays = (layout.edges.table, motion, weight, states, column, rate)
        head = (ctypes.c_long(KERNEL_STEPS), ctypes.c_double(STEP), ctypes.c_long(len(layout.edges.table)))
        return lambda: library.run_steps(*head, *map(address, arrays), ctypes.c_long(layout.size))


def others(precision: str) -> dict[str, float]:
    """Return microseconds of a step of C and of each peer."""
    dtype, edges = PRECISIONS[precision], Edges(box(1))
    running = {name: begin(edges.sorted(dtype), KERNEL_STEPS) for name, begin in installed().items()}
    works = {name: peer.work for name, peer in running.items()}
    with c_library(C_SOURCE, *C_NAMES[precision]) as library:
        if library is not None:
            works |= {"C in runs": edges.c_runs(library, dtype), "C scatter": edges.c_scatter(library, dtype)}
        # Peers may work in threads of their own, one at a time: the time of all counts.
        spent = microseconds(works, KERNEL_STEPS, clock=process_time)
    return spent


def reference_body() -> list[Ratio]:
    """Run the reference body with every kernel and precision, and compare it with C and the peers."""
    kinds = [*((kernel, precision) for kernel in ("structured", "unstructured") for precision in PRECISIONS)]
    kinds.append(("general", "double"))
    costs = scene_costs({f"{k} {p}": (box(STEPS[k]), "truss", options(k, p)) for k, p in kinds})
    found = [Ratio(f"P1 {name} step [us]", cost.step, float("inf"), cost.line) for name, cost in costs.items()]
    limits = {"structured": {"C in runs": 1.7}, "unstructured": {"C scatter": 1.2}}
    for precision in PRECISIONS:
        spent = others(precision)
        for kernel, bounds in limits.items():
            ours = costs[f"{kernel} {precision}"].step
            found += [
                Ratio(f"P1 {kernel} {precision} / {name}", ours / step, bounds.get(name, 1.0), f"{step:.1f} us")
                for name, step in spent.items()
                if name in bounds or not name.startswith("C ")
            ]
    return found


EXTRAS: dict[str, dict[str, Any]] = {
    "volume springs": {"volume_term": True},
    "topology forces": {"topology_stiffness": 10.0, "topology_damping": 0.1},
    "global pressure": {"global_pressure": 0.01},
    "stepper euler": {"stepper": "euler", "step": 0.25 * STEP},
    "stepper implicit": {"stepper": "implicit"},
    "stepper rk4": {"stepper": "rk4"},
}
ALONE = {"structured": ("volume springs", "topology forces", "global pressure"), "unstructured": ("volume springs",)}
"""What the fast kernels know besides edges; the general one knows all."""


def extras() -> list[Ratio]:
    """Measure what else a body may have, a short run each."""
    scenes: dict[str, Any] = {
        f"{kernel}, {name}": (
            box(STEPS[kernel]),
            "truss",
            options(kernel) | more,
        )
        for kernel in STEPS
        for name, more in EXTRAS.items()
        if name in ALONE.get(kernel, EXTRAS)
    }
    return [Ratio(f"P1 {name}, step [us]", cost.step) for name, cost in scene_costs(scenes, rounds=1).items()]


def many_edges() -> list[Ratio]:
    """Measure a million edges against the reference body, per edge: what leaving the cache costs."""
    scenes = {
        f"{kernel} {name}": (box(steps, cells), "truss", options(kernel))
        for kernel in ("structured", "unstructured")
        for name, steps, cells in (("small", 5_000, CELLS), ("large", 200, (56, 56, 57)))
    }
    costs = scene_costs(scenes, rounds=1)
    each = {name: 1e3 * cost.step / cost.statistics["edges"] for name, cost in costs.items()}
    return [
        Ratio(
            f"a million edges / in cache, {kernel}",
            each[f"{kernel} large"] / each[f"{kernel} small"],
            1.5,
            f"{each[f'{kernel} large']:.2f} ns each; {costs[f'{kernel} large'].line}",
        )
        for kernel in ("structured", "unstructured")
    ]


def measure() -> list[Ratio]:
    """Measure everything."""
    taken = 1e6 * timed_body(CELLS[0] + 1, extras=True, seconds=1.0, options={}).step_seconds
    haptic = Ratio("`rheotwin realtime`, all extras, step [us]", taken, 100.0, "elapsed")
    return [*reference_body(), *extras(), haptic, *(many_edges() if "--large" in sys.argv else [])]
