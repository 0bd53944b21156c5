"""The fast circuit beside the same words in C, compiled here, and beside the truss in single precision; one thread.

`C int16` has 16-bit memories, the same runs or the same order of edges, and counts no overflows. The circuit of the
papers took 138 us a step for 9 x 9 x 9 points (measured) and 92 us for 15 x 15 x 16 (projected, four modules).
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from benchmarks.particles import FLAGS, microseconds, truss
from benchmarks.side_by_side import Ratio
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, grid_edges, grid_points
from rheotwin.particles.fixed_point.kernels import FastCircuit, scalar_table
from rheotwin.particles.fixed_point.parameters import CircuitConstants, EdgeLaw, Units, circuit_constants

Array = Any
SOURCE = Path(__file__).with_name("fixed_point_reference.c")
SPACING = {(9, 9, 9): 10.0, (15, 15, 16): 10.0}
TARGET = {(9, 9, 9): 15.0, (15, 15, 16): 60.0}
"""Most microseconds of a step on a grid; four times as many for other meshes."""
CIRCUIT = {(9, 9, 9): 138.0, (15, 15, 16): 92.0}
UNSTRUCTURED = 4.0
STEPS = 200


@contextmanager
def c_library() -> Iterator[Any]:
    """Compile the reference for this machine; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "fixed_point_reference.so"
        subprocess.run([compiler, *FLAGS, "-shared", "-fPIC", str(SOURCE), "-o", str(library)], check=True)
        yield ctypes.CDLL(str(library))


def pulled(shape: tuple[int, int, int]) -> tuple[Array, CircuitBody, CircuitConstants]:
    """Return a grid pulled at two corners: points, body, constants of the papers' object."""
    points, units = grid_points(shape, SPACING[shape]), Units(time=1.0)
    forces = np.zeros_like(points)
    forces[-1], forces[0] = (6.0, 30.0, 6.0), (-30.0, -15.0, -30.0)
    constants = circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, units, h_const="printed")
    return points, circuit_body(points, *grid_edges(shape), units=units, forces=forces), constants


class InC:
    """A body in 16-bit memories and a call that steps it, in the places of a fast circuit."""

    def __init__(self, library: Any, body: CircuitBody, constants: CircuitConstants, there: Any) -> None:
        self.x, self.v, self.f, external = (np.zeros(there.size, dtype=np.int16) for _ in range(4))
        lam, is_edge = (np.zeros(there.lanes, dtype=np.int16) for _ in range(2))
        self.x[there.words], self.v[there.words], external[there.words] = body.position, body.velocity, body.force
        lam[there.lane], is_edge[there.lane] = body.lam, -1
        # The first ten of the scalars are what C knows.
        scalars, table = scalar_table(constants), np.ascontiguousarray(there.edges)
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


def grid(shape: tuple[int, int, int]) -> list[Ratio]:
    """Measure one grid, with and without what the kernel knows of grids."""
    points, body, constants = pulled(shape)
    circuits = {"grid": FastCircuit(body, constants, points), "mesh": FastCircuit(body, constants)}
    float_truss = truss(*shape).structured(np.float32)
    name = "x".join(map(str, shape))

    def taking(circuit: Any) -> Callable[[], object]:
        return lambda: circuit.advance(STEPS)

    works = {kind: taking(circuit) for kind, circuit in circuits.items()}
    works["float"] = lambda: float_truss.take(1, STEPS)
    with c_library() as library:
        if library is not None:
            in_c = {kind: InC(library, body, constants, circuit.lodging) for kind, circuit in circuits.items()}
            for kind, circuit in circuits.items():
                _same(circuit, body, in_c[kind])
            works |= {f"C {kind}": taking(other) for kind, other in in_c.items()}
        spent = microseconds(works, STEPS, clock=thread_time)
    target, seed = TARGET[shape], CIRCUIT[shape]
    found = [
        Ratio(f"circuit {name} step [us]", spent["grid"], target, f"papers' circuit {seed:.0f} us"),
        Ratio(f"circuit {name} as any mesh, step [us]", spent["mesh"], UNSTRUCTURED * target),
        Ratio(
            f"circuit {name} / truss in float32", spent["grid"] / spent["float"], 2.5, f"truss {spent['float']:.1f} us"
        ),
    ]
    for kind, limit in (("grid", 1.3), ("mesh", 0.5)):
        if f"C {kind}" in spent:
            ours, theirs = spent[kind], spent[f"C {kind}"]
            found.append(Ratio(f"circuit {name} {kind} / C int16", ours / theirs, limit, f"C {theirs:.1f} us"))
    return found


def measure() -> list[Ratio]:
    """Measure everything."""
    return [ratio for shape in TARGET for ratio in grid(shape)]


if __name__ == "__main__":
    for ratio in measure():
        print(ratio.line)
    sys.exit(0)
