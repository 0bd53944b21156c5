"""Scene F2: explicit steps of 105,456 linear tetrahedra (26 x 26 x 26 bricks, 19,683 nodes), one thread, float64.

Block rows against SciPy and against C compiled here; a step of the explicit loops against the same C product;
two threads on 413,526 tetrahedra. The limits are ratios of the figures this was planned with: C product 0.47 ms,
linear step 0.55 ms, neo-Hookean step 1.5 ms.
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
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any

import numba
import numpy as np
from numba.core.runtime import _nrt_python, rtsys
from skfem import MeshTet

from benchmarks.side_by_side import Ratio, seconds
from rheotwin.fem.fast.assembly import block_pattern, stiffness, tet_geometry
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.fast.explicit import ExplicitModel
from rheotwin.fem.fast.explicit_neo_hookean import NeoHookeanModel
from rheotwin.fem.fast.explicit_packing import Boundary, pack_boundary
from rheotwin.fem.fast.neo_hookean import NeoHookeanTets
from rheotwin.materials import Channel

Array = Any
Work = Callable[[], object]

STEPS = 20
"""Steps per measured call: a run takes hundreds between two outputs."""
C_PRODUCT_MS, STEP_MS, NEO_HOOKEAN_MS = 0.47, 0.55, 1.5
LAME, SHEAR = 200.0, 100.0

C_SOURCE = """
void product(long rows, const int *indptr, const int *indices, const double *blocks, const double *x, double *y) {
  for (long i = 0; i < rows; i++) {
    double a = 0, b = 0, c = 0;
    for (int k = indptr[i]; k < indptr[i + 1]; k++) {
      const double *m = blocks + 9 * (long)k, *u = x + 3 * (long)indices[k];
      a += m[0] * u[0] + m[1] * u[1] + m[2] * u[2];
      b += m[3] * u[0] + m[4] * u[1] + m[5] * u[2];
      c += m[6] * u[0] + m[7] * u[1] + m[8] * u[2];
    }
    y[3 * i] = a; y[3 * i + 1] = b; y[3 * i + 2] = c;
  }
}
"""


class Cube:
    """A unit cube of tetrahedra: its stiffness, elements and a boundary without supports."""

    def __init__(self, cells: int) -> None:
        line = np.linspace(0.0, 1.0, cells + 1)
        mesh = MeshTet.init_tensor(line, line, line)
        points, corners = np.ascontiguousarray(mesh.p.T), np.ascontiguousarray(mesh.t.T)
        geometry = tet_geometry(points, corners)
        moduli = (np.full(len(corners), value) for value in (LAME, SHEAR))
        self.rows: BlockRows = stiffness(block_pattern(corners, len(points)), geometry, *moduli)
        self.tets = NeoHookeanTets.build(points, corners, SHEAR, LAME + 2.0 / 3.0 * SHEAR)
        self.elements = len(corners)
        self.boundary: Boundary = pack_boundary(
            points=points,
            masses=np.full(points.size, 1.0 / len(points)),
            weight=np.zeros(points.size),
            owners=np.full(points.shape, -1),
            motions=[],
            loads=[],
            tools=[],
            runaway=100.0,
        )
        self.noise = 1e-3 * np.random.default_rng(0).standard_normal(points.size)

    def linear_steps(self, channel: Channel, threads: int = 1) -> tuple[Work, Any]:
        """Return work that takes STEPS steps, and its state."""
        model = ExplicitModel.build(self.boundary, [[(self.rows.to_sparse(), channel)]], 1e-5)
        state = model.start(velocity=self.noise)
        return lambda: model.advance(state, 1, STEPS, threads=threads), state

    def neo_hookean_steps(self, threads: int = 1) -> Work:
        """Return work that takes STEPS steps."""
        model = NeoHookeanModel.build(self.boundary, self.tets, 1e-5)
        state = model.start(self.noise, threads=threads)
        return lambda: model.advance(state, 1, STEPS)


@contextmanager
def c_product(rows: BlockRows) -> Iterator[Callable[[Array, Array], object] | None]:
    """Compile the product in C for this machine; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "product.c", Path(folder) / "product.so"
        source.write_text(C_SOURCE)
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        function = ctypes.CDLL(str(library)).product
        blocks = np.ascontiguousarray(rows.blocks)
        fixed = [ctypes.c_long(rows.rows), *(_address(a) for a in (rows.indptr, rows.indices, blocks))]
        yield lambda x, y: function(*fixed, _address(x), _address(y))


def _address(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _cpu_milliseconds(alternatives: dict[str, Work], rounds: int = 15) -> dict[str, float]:
    """Return the median CPU time of one step over interleaved rounds: not counting what other programs take."""
    spent: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(rounds + 1):
        for name, work in alternatives.items():
            begin = thread_time()
            work()
            spent[name].append(thread_time() - begin)
    return {name: 1e3 * median(times[1:]) / STEPS for name, times in spent.items()}


def _repeated(work: Work) -> Work:
    """Do it STEPS times in a row, as a run does: its matrix then lies in whatever cache holds it."""

    def many() -> None:
        for _ in range(STEPS):
            work()

    return many


def _company() -> str:
    """Say how busy the machine is: threads need idle cores."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else ""


def products_and_steps() -> list[Ratio]:
    """Measure products and steps of the cube of 105,456 tetrahedra."""
    cube = Cube(26)
    x, y = cube.noise.copy(), np.empty_like(cube.noise)
    blocked, plain = cube.rows.to_sparse(), cube.rows.to_sparse().tocsr()
    single, x32, y32 = cube.rows.astype(np.float32), x.astype(np.float32), y.astype(np.float32)
    alternatives: dict[str, Work] = {
        "product": _repeated(lambda: cube.rows.product(x, y)),
        "product, float32": _repeated(lambda: single.product(x32, y32)),
        "SciPy block rows": _repeated(lambda: blocked @ x),
        "SciPy rows": _repeated(lambda: plain @ x),
        "elastic step": cube.linear_steps(Channel.elastic(1.0))[0],
        "one-arm step": cube.linear_steps(Channel.prony(1.0, (1.0,), (0.1,)))[0],
        "neo-Hookean step": cube.neo_hookean_steps(),
    }
    with c_product(cube.rows) as in_c:
        if in_c is not None:
            alternatives["C"] = _repeated(lambda: in_c(x, y))
        spent = _cpu_milliseconds(alternatives)
    unit = spent.get("C", spent["SciPy block rows"] * C_PRODUCT_MS / 0.995)
    against = "C" if "C" in spent else "SciPy block rows"
    limits = {
        "product": STEP_MS / C_PRODUCT_MS,
        "product, float32": STEP_MS / C_PRODUCT_MS,
        "elastic step": STEP_MS / C_PRODUCT_MS,
        "one-arm step": 1.2 * STEP_MS / C_PRODUCT_MS,
        "neo-Hookean step": NEO_HOOKEAN_MS / C_PRODUCT_MS,
    }
    found = [
        Ratio(f"F2 {name} / C product", spent[name] / unit, limit, f"{spent[name]:.3f} ms, {against} {unit:.3f} ms")
        for name, limit in limits.items()
    ]
    for peer in ("SciPy block rows", "SciPy rows"):
        detail = f"{spent[peer]:.3f} ms"
        found.append(Ratio(f"F2 product / {peer}", spent["product"] / spent[peer], 0.6, detail))
    return [*found, _allocations(cube)]


def _allocations(cube: Cube) -> Ratio:
    """Count what the compiled loop allocates in a hundred more steps than in one call's own entry."""
    model = ExplicitModel.build(cube.boundary, [[(cube.rows.to_sparse(), Channel.prony(1.0, (1.0,), (0.1,)))]], 1e-5)
    state, counts = model.start(velocity=cube.noise), []
    model.advance(state, 1, 1)
    _nrt_python.memsys_enable_stats()
    try:
        for steps in (1, 101):
            before = rtsys.get_allocation_stats().alloc
            model.advance(state, 1, steps)
            counts.append(rtsys.get_allocation_stats().alloc - before)
    finally:
        _nrt_python.memsys_disable_stats()
    return Ratio("F2 allocations in a hundred steps", float(counts[1] - counts[0]), 0.0)


def two_threads() -> list[Ratio]:
    """Measure two threads against one on 413,526 tetrahedra."""
    if numba.config.NUMBA_NUM_THREADS < 2:
        return []
    cube = Cube(41)
    channel = Channel.elastic(1.0)
    pairs = {
        "linear": (cube.linear_steps(channel)[0], cube.linear_steps(channel, 2)[0]),
        "neo-Hookean": (cube.neo_hookean_steps(), cube.neo_hookean_steps(2)),
    }
    found = []
    for name, (one, two) in pairs.items():
        spent = {key: 1e3 * s / STEPS for key, s in seconds({"one": one, "two": two}, rounds=9).items()}
        detail = f"{spent['one']:.2f} -> {spent['two']:.2f} ms, {_company()}"
        found.append(Ratio(f"F2 two threads / one, {name}", spent["two"] / spent["one"], 1.0 / 1.6, detail))
    return found


def measure() -> list[Ratio]:
    """Measure everything of scene F2."""
    return products_and_steps() + two_threads()


if __name__ == "__main__":
    for ratio in measure():
        print(ratio.line)
    sys.exit(0)
