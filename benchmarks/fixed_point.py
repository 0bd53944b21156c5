"""The circuit as `rheotwin run` takes it, beside the same words in C and beside the truss in single precision.

Scenes are `scenes/fixed-point-3d.toml` in two sizes; the compiled circuit alone goes word by word where C goes. Its
words in C have 16-bit memories, the same runs or order of edges, and count no overflows. The circuit of the papers took
138 us a step for 9 x 9 x 9 points (measured) and 92 us for 15 x 15 x 16 (projected, four modules).
"""

from __future__ import annotations

import ctypes
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scene_cost import ROOT, scene_costs
from benchmarks.side_by_side import Ratio, c_library, microseconds
from rheotwin.particles.fixed_point.arithmetic import Format
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, grid_edges, grid_points
from rheotwin.particles.fixed_point.kernels import FastCircuit, scalar_table
from rheotwin.particles.fixed_point.parameters import CircuitConstants, EdgeLaw, Units, circuit_constants
from rheotwin.particles.fixed_point.words import TABLE

Array = Any
SOURCE = Path(__file__).with_name("fixed_point_reference.c")
SPACING = {(9, 9, 9): 10.0, (15, 15, 16): 10.0}
TARGET = {(9, 9, 9): 15.0, (15, 15, 16): 60.0}
"""Most microseconds of a step of the scene."""
CIRCUIT = {(9, 9, 9): 138.0, (15, 15, 16): 92.0}
STEPS = 200
KNOWN_TO_C = ("A", "B", "K", "H", "Minv", "w_A", "w_B", "w_K", "w_H", "w_Minv")
LONGER: dict[str, dict[str, Any]] = {
    "17 bits": {"form": Format(17, 9)},
    "32 bits": {"form": Format(32, 16)},
    "32 bits, CORDIC": {"form": Format(32, 16), "sqrt": "cordic"},
}
"""Words that are held against those of 16 bits with the same root."""


def pulled(shape: tuple[int, int, int], **options: Any) -> tuple[Array, CircuitBody, CircuitConstants]:
    """Return a grid pulled at two corners: points, body, constants of the papers' object."""
    points, units = grid_points(shape, SPACING[shape]), Units(time=1.0)
    forces = np.zeros_like(points)
    forces[-1], forces[0] = (6.0, 30.0, 6.0), (-30.0, -15.0, -30.0)
    constants = circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, units, h_const="printed", **options)
    body = circuit_body(points, *grid_edges(shape), units=units, forces=forces, form=constants.form)
    return points, body, constants


class InC:
    """A body in 16-bit memories and a call that steps it, in the places of a fast circuit."""

    def __init__(self, library: Any, body: CircuitBody, constants: CircuitConstants, there: Any) -> None:
        self.x, self.v, self.f, external = (np.zeros(there.size, dtype=np.int16) for _ in range(4))
        lam, is_edge = (np.zeros(there.lanes, dtype=np.int16) for _ in range(2))
        self.x[there.words], self.v[there.words], external[there.words] = body.position, body.velocity, body.force
        lam[there.lane], is_edge[there.lane] = body.lam, -1
        scalars = scalar_table(constants)[[TABLE.index(name) for name in KNOWN_TO_C]]
        table = np.ascontiguousarray(there.edges)
        masks = (is_edge,) if there.structured else ()
        arrays = (table, scalars, self.x, self.v, self.f, external, *masks, lam)
        self._kept = arrays
        count = len(table) if there.structured else there.lanes
        places = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        size = ctypes.c_long(there.size // (3 if there.structured else 4))
        self._arguments = (ctypes.c_long(count), *places, size)
        self._call = library.grid_steps if there.structured else library.scatter_steps

    def advance(self, steps: int) -> None:
        """Take steps."""
        self._call(ctypes.c_long(steps), *self._arguments)


def _same(fast: FastCircuit, body: CircuitBody, other: InC) -> None:
    """Refuse to compare programs that do not go the same way, to the bit."""
    found = body.copy()
    for circuit in (fast, other):
        circuit.advance(100)
    fast.store(found)
    if not np.array_equal(found.position, other.x[fast.lodging.words]):
        raise RuntimeError("the fast circuit and C end in different words")


def pulled_scene(shape: tuple[int, int, int]) -> dict[str, Any]:
    """Return the scene file with as many particles, a spacing of 10 m and 1 kg each, in steps for a second or so."""
    scene = tomllib.loads((ROOT / "scenes" / "fixed-point-3d.toml").read_text())
    cells = [n - 1 for n in shape]
    half = [0.5 * SPACING[shape] * n for n in cells]
    body = {
        "cells": cells,
        "size": [2.0 * h for h in half],
        "origin": [-h for h in half],
        "mass": float(np.prod(shape)),
    }
    scene["bodies"]["object"] |= body
    for name, signs in (("up", (1.0, 1.0, 1.0)), ("down", (-1.0, 1.0, -1.0))):
        scene["forces"][name]["where"] = {"nearest": [sign * h for sign, h in zip(signs, half, strict=True)]}
    del scene["probes"]
    return scene | {"output": {"interval": scene["duration"], "fields": ["displacement"]}}


def grid(shape: tuple[int, int, int]) -> list[Ratio]:
    """Measure one size: the scene with both solvers, the compiled circuit with and without what it knows of grids."""
    name, scene = "x".join(map(str, shape)), pulled_scene(shape)
    options = scene.pop("solvers")["fixed-point"]
    single = {"step": options["step"], "match": "edge", "precision": "single", "kernel": "structured"}
    costs = scene_costs({"circuit": (scene, "fixed-point", options), "truss": (scene, "truss", single)})
    circuit, truss = costs["circuit"], costs["truss"]
    target, seed = TARGET[shape], CIRCUIT[shape]
    found = [
        Ratio(f"circuit {name} step [us]", circuit.step, target, f"papers' {seed:.0f} us; {circuit.line}"),
        Ratio(f"circuit {name} / truss, single", circuit.step / truss.step, 2.5, f"truss {truss.step:.1f} us"),
    ]
    points, body, constants = pulled(shape)
    circuits = {"grid": FastCircuit(body, constants, points), "mesh": FastCircuit(body, constants)}
    with c_library(SOURCE.read_text()) as library:
        if library is None:
            return found
        in_c = {kind: InC(library, body, constants, fast.lodging) for kind, fast in circuits.items()}
        for kind, fast in circuits.items():
            _same(fast, body, in_c[kind])
        works = {kind: _taking(fast) for kind, fast in circuits.items()}
        spent = microseconds(works | {f"C {kind}": _taking(other) for kind, other in in_c.items()}, STEPS)
    return found + [
        Ratio(
            f"circuit {name} {kind}, kernel / C int16",
            spent[kind] / spent[f"C {kind}"],
            limit,
            f"{spent[kind]:.1f} us, C {spent[f'C {kind}']:.1f} us",
        )
        for kind, limit in (("grid", 1.3), ("mesh", 0.5))
    ]


def _taking(circuit: Any) -> Callable[[], object]:
    return lambda: circuit.advance(STEPS)


def longer_words() -> list[Ratio]:
    """Measure words of more than 16 bits against those of 16."""
    circuits = {}
    for name, options in ({"16": {}, "16 CORDIC": {"sqrt": "cordic"}} | LONGER).items():
        points, body, constants = pulled((9, 9, 9), **options)
        circuits[name] = _taking(FastCircuit(body, constants, points))
    spent = microseconds(circuits, STEPS)
    base = {name: "16 CORDIC" if "CORDIC" in name else "16" for name in LONGER}
    return [
        Ratio(f"circuit 9x9x9, {name} / 16 bits", spent[name] / spent[base[name]], 3.0, f"{spent[name]:.1f} us")
        for name in LONGER
    ]


def measure() -> list[Ratio]:
    """Measure everything."""
    return [*(ratio for shape in TARGET for ratio in grid(shape)), *longer_words()]
