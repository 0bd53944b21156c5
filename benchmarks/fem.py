"""Finite elements as `rheotwin run` takes them: half a cube viscoelastic (F1), explicit steps (F2), beside peers.

F1 is `scenes/two-laws-3d.toml` on finer cells, with a standard linear solid that the peers know, too: pressed in ten
and held for forty quasi-static steps. Peers run on the same mesh in processes of their own, in the same run or not at
all, and the force on the press has to agree. F2 is an elastic cube of 105,456 tetrahedra under its weight; its C
reference is the product of the stiffness in 3 x 3 blocks, the least that a step can do.
A static press of a block shows what size costs.
`python -m benchmarks fem --large` also runs F1 with 151,959 components.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
import tomllib
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.scene_cost import ROOT, Cost, measured, scene_costs
from benchmarks.side_by_side import Ratio, address, c_library, microseconds
from rheotwin.build import build_problem
from rheotwin.fem.fast.solids import SolidStiffness
from rheotwin.fem.space import body_space
from rheotwin.scene import scene_from_data

STEP, STEPS, RAMP, DEPTH = 0.1, 50, 10, 0.01
YOUNG, POISSON, SHARE, TIME = 1000.0, 0.3, 0.7, 1.0
"""Modulus [Pa] and ratio of both halves at once; share of the second that relaxes, and its time [s]."""
SMALL, LARGE = 18, 36
"""Cells along an edge: 20,577 and 151,959 components."""
SAME_FORCE = 1e-6
"""Relative difference of forces that iterations to 1e-8 of the load leave room for."""
SYSTEM_PYTHON = "/usr/bin/python3"
"""Where Debian's python3-dolfinx lives."""
F2_CELLS, F2_STEPS = 26, 400

C_PRODUCT = """
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


def two_laws(cells: int) -> dict[str, Any]:
    """Return the shipped scene on `cells` cells an edge, its second half a standard linear solid."""
    scene = tomllib.loads((ROOT / "scenes" / "two-laws-3d.toml").read_text())
    arm = {"young": SHARE * YOUNG, "viscosity": SHARE * YOUNG * TIME}
    solid = {"model": "generalized-maxwell", "poisson": POISSON, "units": [arm]}
    scene["laws"]["dough"] = {**solid, "equilibrium": {"young": (1.0 - SHARE) * YOUNG}}
    scene["bodies"]["cube"]["cells"] = [cells] * 3
    scene["output"] = {"interval": scene["duration"]}
    return scene


def f1_options(solver: str) -> dict[str, Any]:
    """Return the options of the scene file with one linear solver."""
    return {"stepper": "quasi-static", "step": STEP, "linear_solver": solver}


def relaxation() -> tuple[float, float, float]:
    """Return exp(-x), gain and kappa of the relaxing half, as shares of its modulus."""
    decay = float(np.exp(-STEP / TIME))
    gain = SHARE * (1.0 - decay) / (STEP / TIME)
    return decay, gain, 1.0 - SHARE + gain


def pressed() -> list[float]:
    """Return how far the face has moved [m] after every step."""
    return [DEPTH * min(step, RAMP) / RAMP for step in range(1, STEPS + 1)]


def mesh_of(cells: int) -> tuple[Any, Any]:
    """Return the mesh of the scene, and which elements are viscoelastic."""
    (body,) = build_problem(scene_from_data(two_laws(cells))).bodies
    viscous = np.zeros(body.mesh.t.shape[1], dtype=bool)
    viscous[body.parts[0].cells] = True
    return body.mesh, viscous


def skfem_pardiso(cells: int) -> dict[str, float]:
    """Run plain scikit-fem with pypardiso; history by one sparse product a step, the cheapest it can do."""
    from pypardiso import PyPardisoSolver
    from scipy.sparse import triu
    from skfem import Basis, BilinearForm, ElementTetP1, ElementVector
    from skfem.helpers import ddot, div, sym_grad

    mesh, viscous = mesh_of(cells)
    decay, gain, kappa = relaxation()
    lame, shear = YOUNG * POISSON / (1 + POISSON) / (1 - 2 * POISSON), YOUNG / 2 / (1 + POISSON)

    @BilinearForm
    def form(u: Any, v: Any, w: Any) -> Any:
        return w.factor * (lame * div(u) * div(v) + 2.0 * shear * ddot(sym_grad(u), sym_grad(v)))

    basis = Basis(mesh, ElementVector(ElementTetP1()), intorder=0)
    matrix = form.assemble(basis, factor=np.where(viscous, kappa, 1.0)[:, None]).tocsr()
    history = form.assemble(basis, factor=viscous.astype(float)[:, None]).tocsr()
    height = np.repeat(mesh.p[2], 3)
    held = (height == 0.0) | (height == 1.0)
    free, driven, top = np.flatnonzero(~held), np.flatnonzero(held), basis.nodal_dofs[2][mesh.p[2] == 1.0]
    coupling, upper = matrix[free][:, driven], triu(matrix[free][:, free], format="csr")
    solver = PyPardisoSolver(mtype=2)
    solver.factorize(upper)
    begin = process_time()
    u, w = np.zeros(basis.N), np.zeros(basis.N)
    for depth in pressed():
        right = -(history @ (decay * w - gain * u))[free]
        after = np.zeros(basis.N)
        after[top] = -depth
        after[free] = solver.solve(upper, right - coupling @ after[driven])
        w = decay * w + gain * (after - u)
        u = after
    stepping = process_time() - begin
    # kappa of the second half holds its gain; what relaxes is (1 - SHARE) u + w.
    total = matrix @ u + history @ ((1 - SHARE - kappa) * u + w)
    return {"stepping": stepping, "force": float(total[top].sum())}


def peer_cost(peer: str, cells: int) -> Cost | None:
    """Run a peer on the mesh of the scene in a process of its own; None if it is not installed."""
    if peer == "skfem-pardiso":
        if find_spec("pypardiso") is None:
            return None
        return _peer([sys.executable, "-c", _CALL.format(cells)])
    if not Path(SYSTEM_PYTHON).exists():
        return None
    mesh, viscous = mesh_of(cells)
    numbers = {"step": STEP, "young": YOUNG, "poisson": POISSON, "share": SHARE, "time": TIME, "tolerance": 1e-8}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.npz"
        np.savez(path, points=mesh.p.T, corners=mesh.t.T, viscous=viscous)
        numbers |= {"projected": peer.endswith("projected"), "pressed": pressed()}  # type: ignore[dict-item]
        script = str(ROOT / "benchmarks" / "fem_f1_dolfinx.py")
        return _peer([SYSTEM_PYTHON, script, str(path), json.dumps(numbers)])


_CALL = "import json; from benchmarks.fem import skfem_pardiso; print(json.dumps(skfem_pardiso({})))"


def _peer(command: list[str]) -> Cost | None:
    try:
        cpu, megabytes, out = measured(command)
    except RuntimeError as error:
        if "No module named" in str(error):
            return None
        raise
    found = json.loads(out.splitlines()[-1])
    return Cost(cpu, found["stepping"], STEPS, megabytes, {"support.press.force_z": -found["force"]}, {})


def f1(cells: int, limits: dict[str, float]) -> list[Ratio]:
    """Run the scene with the solver that `auto` takes, with SuperLU (small) and in peers; return ours over theirs."""
    linear = ("auto", "splu") if cells == SMALL else ("auto",)
    costs: dict[str, Cost | None] = dict(
        scene_costs({name: (two_laws(cells), "fem", f1_options(name)) for name in linear}, rounds=1)
    )
    for peer in limits:
        if peer not in costs:
            peer_cost(peer, 4)  # what it compiles once is kept
            costs[peer] = peer_cost(peer, cells)
    own = costs["auto"]
    assert own is not None
    label, force = f"F1 {3 * (cells + 1) ** 3} dof", own.last["support.press.force_z"]
    detail = f"{own.statistics['linear_solver']}; {own.line}"
    found = [
        Ratio(f"{label}, whole process [CPU s]", own.cpu, 2.0 if cells == SMALL else 5.5, detail),
        Ratio(f"{label}, memory [GB]", own.megabytes / 1024.0, 0.5 if cells == SMALL else 1.0),
    ]
    for peer, limit in limits.items():
        cost = costs.get(peer)
        if cost is None:
            print(f"  F1: {peer} is not installed")
            continue
        apart = abs(cost.last["support.press.force_z"] - force)
        if not apart <= SAME_FORCE * abs(force):
            raise RuntimeError(f"F1: {peer} finds a force that is {apart} N from {force}")
        found.append(Ratio(f"{label}, whole process / {peer}", own.cpu / cost.cpu, limit, cost.line))
        found.append(Ratio(f"{label}, steps / {peer}", own.stepping / cost.stepping, limit))
    return found


def pressed_block(cell: str, cells: list[int], **options: Any) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Return a clamped block of 10 x 10 x 6 cm whose top a strip of 2 cm presses 1 mm, and how to run it."""
    box = {"shape": "box", "size": [0.1, 0.1, 0.06], "cells": cells, "cell": cell, "law": "gel", "density": 1000.0}
    strip = {"body": "block", "where": {"box": {"x": [0.04, 0.06], "z": [0.06, 0.06]}}}
    motion = {"times": [0.0, 1.0], "displacement": [[0.0] * 3, [0.0, 0.0, -0.001]]}
    scene = {
        "schema": 1,
        "dimension": 3,
        "duration": 1.0,
        "laws": {"gel": {"model": "elastic", "young": 1000.0, "poisson": 0.35}},
        "bodies": {"block": box | ({"pattern": "five"} if cell == "tet" else {})},
        "supports": {"table": {"body": "block", "where": {"side": "bottom"}}, "press": strip | {"motion": motion}},
        "output": {"interval": 1.0},
    }
    return scene, "fem", {"stepper": "static", "step": 1.0, **options}


def presses() -> list[Ratio]:
    """Measure one static press: quadratic tetrahedra, refined until 1 %, and 59,000 unknowns of hexahedra."""
    rows = {
        "111,675 dof of order 2": (pressed_block("tet", [20, 20, 12], order=2), 4.0, 400.0),
        "refined until 1 %": (pressed_block("tet", [10, 10, 6], order=2, refine="until 1 %"), 5.0, 400.0),
        "59,049 dof of hexahedra": (pressed_block("hex", [26, 26, 26]), 5.0, 700.0),
        "59,049 dof of hexahedra of order 2": (pressed_block("hex", [13, 13, 13], order=2), 5.0, 700.0),
    }
    found = []
    for name, cost in scene_costs({name: row[0] for name, row in rows.items()}, rounds=1).items():
        force = f"{cost.line}; {cost.last['support.press.force_z']:.7f} N"
        found.append(Ratio(f"press, {name}, whole process [CPU s]", cost.cpu, rows[name][1], force))
        found.append(Ratio(f"press, {name}, memory [MB]", cost.megabytes, rows[name][2]))
    return found


def f2_scene(cells: int = F2_CELLS) -> dict[str, Any]:
    """Return an elastic cube on a table, under its weight."""
    box = {"shape": "box", "size": [1.0] * 3, "cells": [cells] * 3, "pattern": "six", "law": "gel", "density": 1000.0}
    return {
        "schema": 1,
        "dimension": 3,
        "duration": 0.4,
        "gravity": [0.0, 0.0, -9.81],
        "laws": {"gel": {"model": "elastic", "young": 1e5, "poisson": 0.3}},
        "bodies": {"cube": box},
        "supports": {"table": {"body": "cube", "where": {"side": "bottom"}}},
        "output": {"interval": 0.4},
    }


def f2() -> list[Ratio]:
    """Measure explicit steps of the scene, beside the product of its stiffness in C and in SciPy."""
    scene = f2_scene()
    (cost,) = scene_costs({"f2": (scene, "fem", {"stepper": "central-difference", "step": 0.4 / F2_STEPS})}).values()
    mesh = build_problem(scene_from_data(scene)).bodies[0].mesh
    solids = body_space(mesh, "tet", 1).solids
    assert solids is not None
    ones = np.ones(len(solids.nodes))
    rows = SolidStiffness(solids, mesh.p.shape[1], ones, ones).assembled
    x = np.random.default_rng(0).standard_normal(mesh.p.size)
    y, blocks = np.empty_like(x), np.ascontiguousarray(rows.blocks)
    plain = rows.to_sparse().tocsr()
    works: dict[str, Any] = {"product": lambda: rows.product(x, y), "SciPy": lambda: plain @ x}
    with c_library(C_PRODUCT) as library:
        if library is not None:
            places = [address(array) for array in (rows.indptr, rows.indices, blocks, x, y)]
            works["C"] = lambda: library.product(ctypes.c_long(rows.rows), *places)
        spent = microseconds({name: _repeated(work) for name, work in works.items()}, 20)
    found = [Ratio("F2 105456 tetrahedra, step [ms]", 1e-3 * cost.step, float("inf"), cost.line)]
    for peer, limit in (("C", 1.6), ("SciPy", 0.7)):
        if peer in spent:
            detail = f"kernel alone {spent['product'] / spent[peer]:.2f}, {peer} {1e-3 * spent[peer]:.3f} ms"
            found.append(Ratio(f"F2 step of the scene / {peer} product", cost.step / spent[peer], limit, detail))
    return found


def _repeated(work: Any) -> Any:
    """Do it twenty times in a row, as a run does: its matrix then lies in whatever cache holds it."""
    return lambda: [work() for _ in range(20)]


def measure() -> list[Ratio]:
    """Measure all scenes."""
    peers = dict.fromkeys(("dolfinx-gamg", "dolfinx-gamg-projected", "skfem-pardiso"), 1.0)
    large = f1(LARGE, peers) if "--large" in sys.argv else []
    return [*f1(SMALL, {"splu": 1.0, **peers}), *large, *presses(), *f2()]
