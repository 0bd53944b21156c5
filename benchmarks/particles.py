"""Particle kernels beside C compiled here and peers that are installed: steps of three-element edges, one thread.

The reference body has 15 x 15 x 16 particles and 19,531 edges. `C in runs` is the limit the structured kernel lives
at, `C scatter` the plain loop over edges. Peers (Taichi, Warp, JAX) run the same step beside them. Where none is
installed the best of them enters as measured elsewhere: Taichi, loop in one kernel, took 2.30 (float64) and 1.82
(float32) times as long as C scatter.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, thread_time
from typing import Any

import numba
import numpy as np
from numba.core.runtime import _nrt_python, rtsys

from benchmarks.particle_peers import Peer, SortedEdges, installed
from benchmarks.side_by_side import Ratio
from rheotwin.constraints.packed import Tools, pack_tables
from rheotwin.meshing import tet_grid
from rheotwin.particles.boundary import Boundary, Held, Loads
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.in_lanes import aligned_copy, spread
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.ordering import inverse_order, particle_order
from rheotwin.particles.placed import PlacedBody, kick_rates, placed_boundary
from rheotwin.particles.realtime import timed_body
from rheotwin.particles.state import State
from rheotwin.particles.structured.body import structured_body
from rheotwin.particles.structured.layout import find_layout
from rheotwin.particles.unstructured.body import unstructured_body

Array = Any
Work = Callable[[], object]

STEP = 1e-4
REFERENCE = (15, 15, 16)
TAICHI = {"float64": 154.0 / 66.9, "float32": 131.0 / 71.8}
"""Best peer over C scatter, three-element, measured side by side; where no peer is installed."""
SAME = {"float64": 1e-9, "float32": 1e-3}
"""Largest difference of positions from the structured kernel's in cells, after some thousand steps of rounding."""
SOURCE = Path(__file__).with_name("particles_reference.c")
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math")


@dataclass(frozen=True)
class Body:
    """A truss of unit cubes in five tetrahedra each: three-element edges, no supports, a little noise in velocity."""

    edges: Elements
    cells: Elements
    boundary: Boundary
    state: State

    @property
    def count(self) -> int:
        return len(self.edges.rest)

    def structured(self, dtype: Any) -> PlacedBody:
        layout = find_layout(self.boundary.nodes.rest, self.edges.corners, dtype)
        assert layout is not None
        return structured_body(layout, self.edges, self.cells, self.state, self.boundary, STEP, dtype)

    def unstructured(self, dtype: Any, threads: int = 1) -> PlacedBody:
        return unstructured_body(self.edges, self.cells, self.state, self.boundary, STEP, dtype, threads=threads)


def truss(nx: int, ny: int, nz: int) -> Body:
    """Return a truss of nx x ny x nz particles."""
    mesh = tet_grid(*(np.arange(float(n)) for n in (nx, ny, nz)))
    rest, corners = np.ascontiguousarray(mesh.p.T), np.ascontiguousarray(mesh.edges.T.astype(np.int64))
    lengths = np.linalg.norm(rest[corners[:, 1]] - rest[corners[:, 0]], axis=1)
    many, nodes, rate = len(corners), len(rest), 50.0
    share = 1.0 / lengths
    edges = Elements(
        corners,
        lengths,
        np.zeros(many),
        0.1 * share,
        100.0 * share[None],
        np.full((1, many), np.exp(-rate * STEP)),
        np.full((1, many), -np.expm1(-rate * STEP) / rate),
    )
    nothing = Elements(np.zeros((0, 4), np.int64), *(np.zeros(0),) * 3, *(np.zeros((0, 0)),) * 3)
    indices = np.zeros(0, np.int64)
    boundary = Boundary(
        Nodes(rest, np.ones((nodes, 3)), np.ones(nodes), np.zeros((nodes, 3)), 1e4),
        Held(indices, indices, indices, pack_tables([], 3)),
        Loads(indices, np.zeros((0, 3)), indices, pack_tables([], 1)),
        Tools(indices, np.zeros((0, 9)), pack_tables([], 4), np.zeros(1, np.int64), indices),
    )
    noise = 0.01 * np.random.default_rng(0).standard_normal((nodes, 3))
    arrays: dict[str, Array] = dict.fromkeys(State._fields, np.zeros((0, 0)))
    arrays |= {name: np.zeros((nodes, 3)) for name in ("force", "reaction")}
    arrays |= {"positions": rest.copy(), "velocities": noise, "edge_arms": np.zeros((1, many))}
    arrays |= {"contact_force": np.zeros((0, 3))}
    return Body(edges, nothing, boundary, State(**arrays))


@contextmanager
def c_library(dtype: Any) -> Iterator[Any]:
    """Compile the reference for this machine; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "particles_reference.so"
        real, root = ("float", "sqrtf") if np.dtype(dtype) == np.float32 else ("double", "sqrt")
        names = (f"-DREAL={real}", f"-DROOT={root}", "-shared", "-fPIC")
        subprocess.run([compiler, *FLAGS, *names, str(SOURCE), "-o", str(library)], check=True)
        yield ctypes.CDLL(str(library))


def _pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def sorted_edges(body: Body, dtype: Any) -> tuple[SortedEdges, Array]:
    """Sort as a careful user would, particles by bandwidth, edges by their first; return the particles' order too."""
    nodes, rest = len(body.state.positions), body.boundary.nodes.rest
    order = particle_order(body.edges.corners, nodes)
    ends = np.sort(inverse_order(order)[body.edges.corners], axis=1)
    sorting = np.lexsort((ends[:, 1], ends[:, 0]))
    e = body.edges
    columns = (e.viscosity, e.arm_stiffness[0], e.arm_decay[0], e.arm_gain[0])
    rows = np.stack([column[sorting] for column in columns]), np.full(nodes, STEP)
    places = rest[order], body.state.velocities[order]
    return SortedEdges(ends[sorting].astype(np.int32), *(a.astype(dtype) for a in (*places, *rows)), STEP), order


def c_scatter(library: Any, body: SortedEdges, steps: int) -> Work:
    """Return work: C over edges one after the other."""
    dtype, nodes = body.positions.dtype, len(body.positions)
    x, v = (aligned_copy(np.pad(rows, ((0, 0), (0, 1))), dtype) for rows in (body.positions, body.velocities))
    z, f, rates = (aligned_copy(a, dtype) for a in (np.zeros(len(body.pairs)), np.zeros(4 * nodes), np.ones(nodes)))
    kept = (body.pairs, x, v, f, aligned_copy(body.constants, dtype), z, rates)
    places = [_pointer(array) for array in kept]

    def work() -> object:
        return library.scatter_steps(
            ctypes.c_long(steps), ctypes.c_double(STEP), ctypes.c_long(len(kept[0])), *places, ctypes.c_long(nodes)
        )

    return work


def c_runs(library: Any, body: Body, dtype: Any, steps: int) -> Work:
    """Return work: C over the runs of the structured layout."""
    # C is fastest in the longer blocks of single precision, whatever its own.
    layout = find_layout(body.boundary.nodes.rest, body.edges.corners, np.float32)
    assert layout is not None
    e, there = body.edges, placed_boundary(body.boundary, layout.places, layout.size)
    velocities = np.zeros((layout.size, 3))
    velocities[layout.places] = body.state.velocities
    motion = aligned_copy(np.concatenate([there.nodes.rest.T, velocities.T, 0.0 * velocities.T]), dtype)
    weight = spread(e.viscosity / e.viscosity.max(), layout.edges.of_element, layout.edges.lanes, dtype)
    column = [0.0, e.viscosity.max(), e.arm_stiffness.max(), e.arm_decay[0, 0], e.arm_gain[0, 0]]
    states = aligned_copy(np.zeros(layout.edges.lanes), dtype)
    rate = aligned_copy(kick_rates(there, layout.places, STEP), dtype)
    kept = (layout.edges.table, motion, weight, states, np.array(column, dtype=dtype), rate)
    places = [_pointer(array) for array in kept]

    def work() -> object:
        return library.run_steps(
            ctypes.c_long(steps),
            ctypes.c_double(STEP),
            ctypes.c_long(len(kept[0])),
            *places,
            ctypes.c_long(layout.size),
        )

    return work


def microseconds(alternatives: dict[str, Work], steps: int, *, rounds: int = 15, clock: Any = thread_time) -> Any:
    """Return the median time of one step over interleaved rounds; CPU time does not count what others take."""
    spent: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(rounds + 1):
        for name, work in alternatives.items():
            begin = clock()
            work()
            spent[name].append(clock() - begin)
    return {name: 1e6 * median(times[1:]) / steps for name, times in spent.items()}


def _steps(body: PlacedBody, steps: int) -> Work:
    return lambda: body.take(1, steps)


def _company() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else ""


def reference_body(dtype: Any, steps: int = 200) -> list[Ratio]:
    """Measure all kernels on the reference body in one precision."""
    body, name = truss(*REFERENCE), np.dtype(dtype).name
    structured, unstructured = body.structured(dtype), body.unstructured(dtype)
    rows_of_edges, order = sorted_edges(body, dtype)
    peers = {peer: begin(rows_of_edges, steps) for peer, begin in installed().items()}
    alternatives = {"structured": _steps(structured, steps), "unstructured": _steps(unstructured, steps)}
    alternatives |= {peer: running.work for peer, running in peers.items()}
    with c_library(dtype) as library:
        if library is None:
            return []
        alternatives |= {
            "scatter": c_scatter(library, rows_of_edges, steps),
            "runs": c_runs(library, body, dtype, steps),
        }
        # Peers may work in threads of their own, one at a time: the time of all counts.
        spent = microseconds(alternatives, steps, clock=process_time)
    limit = {"float64": 1.7, "float32": 1.3}[name]
    scatter, runs, ours, rows = (spent[key] for key in ("scatter", "runs", "structured", "unstructured"))
    shown = f"{ours:.1f} us"
    return [
        Ratio(f"P1 {name} structured / C in runs", ours / runs, limit, f"{shown}, C {runs:.1f} us"),
        Ratio(f"P1 {name} unstructured / C scatter", rows / scatter, 1.2, f"{rows:.1f} us, C {scatter:.1f} us"),
        Ratio(f"P1 {name} structured step [us], above 40 kHz", ours, 25.0, _company()),
        *_against_peers(name, spent, peers, structured.copy.positions[structured.places][order]),
    ]


def _against_peers(name: str, spent: dict[str, float], peers: dict[str, Peer], positions: Array) -> list[Ratio]:
    """Compare both kernels with every peer, after a look at whether they went the same way."""
    for peer, running in peers.items():
        apart = np.abs(running.positions() - positions).max()
        if not apart <= SAME[name]:
            raise RuntimeError(f"P1 {name}: {peer} ends {apart:.1e} cells from this package")
    times = {peer: spent[peer] for peer in peers}
    if not times:
        times = {"Taichi, as measured elsewhere": TAICHI[name] * spent["scatter"]}
    return [
        Ratio(f"P1 {name} {kernel} / {peer}", spent[kernel] / taken, limit, f"{spent[kernel]:.1f} us, {taken:.0f} us")
        for kernel, limit in (("structured", 1.0 / 6.0), ("unstructured", 1.0))
        for peer, taken in times.items()
    ]


def allocations() -> list[Ratio]:
    """Count what the loops allocate in a hundred more steps."""
    body, found = truss(9, 9, 9), []
    for placed in (body.structured(np.float64), body.unstructured(np.float64)):
        counts = []
        placed.take(1, 1)
        _nrt_python.memsys_enable_stats()
        try:
            for steps in (1, 101):
                before = rtsys.get_allocation_stats().alloc
                placed.take(1, steps)
                counts.append(rtsys.get_allocation_stats().alloc - before)
        finally:
            _nrt_python.memsys_disable_stats()
        found.append(Ratio(f"allocations in 100 steps, {placed.name}", float(counts[1] - counts[0]), 0.0))
    return found


def many_edges() -> list[Ratio]:
    """Measure a million edges against the reference body, per edge: what leaving the cache costs."""
    small, large = truss(*REFERENCE), truss(57, 57, 58)
    found = []
    for name in ("structured", "unstructured"):
        one, other = (getattr(body, name)(np.float64) for body in (small, large))
        steps, repeats = 4, large.count // small.count
        works = {"small": _steps(one, steps * repeats), "large": _steps(other, steps)}
        spent = microseconds(works, steps, rounds=7)
        near, far = 1e3 * spent["small"] / (repeats * small.count), 1e3 * spent["large"] / large.count
        detail = f"{large.count} edges, {far:.2f} ns each, in cache {near:.2f}"
        found += [
            Ratio(f"a million edges / in cache, {name}", far / near, 1.5, detail),
            Ratio(f"bytes per edge, {name}", other.bytes_per_edge, 200.0),
        ]
    return found


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy with a process that does nothing of use."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def two_threads() -> list[Ratio]:
    """Measure two threads against one on 200,000 edges, in elapsed time, on cores left alone and on busy ones."""
    if numba.config.NUMBA_NUM_THREADS < 2:
        print("  two threads: NUMBA_NUM_THREADS allows one, left out")
        return []
    body, steps = truss(33, 33, 34), 500
    works = {str(threads): _steps(body.unstructured(np.float64, threads), steps) for threads in (1, 2)}

    def compared(name: str, limit: float) -> Ratio:
        spent = microseconds(works, steps, rounds=9, clock=perf_counter)
        detail = f"{body.count} edges, {spent['1']:.0f} -> {spent['2']:.0f} us, {_company()}"
        return Ratio(f"two threads / one, unstructured{name}", spent["2"] / spent["1"], limit, detail)

    alone = compared("", 1.0 / 1.6)
    with busy_cores():
        return [alone, compared(", busy cores", 1.05)]


def haptic() -> list[Ratio]:
    """Time the body of `rheotwin realtime` with all extras on: softening, topology, pressure and a ball."""
    taken = 1e6 * timed_body(REFERENCE[0], extras=True, seconds=1.0, options={}).step_seconds
    return [Ratio("all extras, step [us], above 10 kHz", taken, 100.0, _company())]


def measure() -> list[Ratio]:
    """Measure everything."""
    both = [*reference_body(np.float64), *reference_body(np.float32)]
    return [*both, *haptic(), *allocations(), *many_edges(), *two_threads()]


if __name__ == "__main__":
    for ratio in measure():
        print(ratio.line)
    sys.exit(0)
