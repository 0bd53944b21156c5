"""Scene F1: a unit cube of linear tetrahedra, half of it viscoelastic, pressed and held for 50 quasi-static steps.

Every peer runs in its own process on the same mesh with one thread, warmed up on a small cube, and reports CPU
seconds, memory and the force on the pressed face, which has to agree. Iterations stop at 1e-8 of the load.
Starting a step from the best combination of earlier solutions is worth a factor of its own, so that dolfinx is
measured both from the last solution, as one would write it, and with the same projection (`-projected`).
`python -m benchmarks.fem_f1 PEER CELLS [STEPS]` runs one peer and prints its numbers as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.side_by_side import Ratio

STEP, STEPS, RAMP = 0.1, 50, 10
"""Step [s], number of steps, and those during which the face moves; then it is held."""
DEPTH = 0.01
"""How far the upper face is pressed [m]."""
YOUNG, POISSON = 1000.0, 0.3
"""Modulus of the elastic half, and instantaneous one of the other half [Pa]."""
SHARE, TIME = 0.7, 1.0
"""Share of the modulus that relaxes, and its time [s]."""
TOLERANCE = 1e-8
SMALL, LARGE, LARGEST = 18, 36, 40
"""Cells along an edge: 20,577, 151,959 and 206,763 components."""
SYSTEM_PYTHON = Path("/usr/bin/python3")
"""Where Debian's python3-dolfinx lives."""
SAME_FORCE = 1e-6
"""Relative difference of forces that iterations to 1e-8 of the load leave room for."""


@dataclass(frozen=True)
class Run:
    """What one peer took: CPU seconds of the parts, memory at its peak, force on the face at the end."""

    assembly: float
    setup: float
    steps: float
    megabytes: float
    force: float
    detail: str = ""

    @property
    def total(self) -> float:
        """CPU seconds altogether."""
        return self.assembly + self.setup + self.steps


def pressed(step: int) -> float:
    """Return how far the face has moved [m] after a step."""
    return DEPTH * min(step, RAMP) / RAMP


def cube(cells: int) -> Any:
    """Return the mesh."""
    from skfem import MeshTet

    return MeshTet.init_tensor(*[np.linspace(0.0, 1.0, cells + 1)] * 3)


def viscous_half(mesh: Any) -> Any:
    """Mark the elements of the viscoelastic half."""
    return mesh.p[0][mesh.t].mean(axis=0) > 0.5


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def run_rheotwin(cells: int, steps: int) -> Run:
    """Run this package: numba assembly and history, multigrid with a warm start."""
    from rheotwin.fem.fast.quasi_static import QuasiStaticTets
    from rheotwin.materials import Elastic, GeneralizedMaxwell, Moduli

    mesh, viscous = cube(cells), viscous_half(cube(cells))
    points = np.ascontiguousarray(mesh.p.T)
    whole, rest = Moduli.from_young(YOUNG, POISSON), Moduli.from_young((1 - SHARE) * YOUNG, POISSON)
    arm = Moduli.from_young(SHARE * YOUNG, POISSON), Moduli.from_young(SHARE * YOUNG * TIME, POISSON)
    relaxing = GeneralizedMaxwell((arm[0],), (arm[1],), equilibrium=rest)
    held = np.repeat(((points[:, 2] == 0.0) | (points[:, 2] == 1.0))[:, None], 3, axis=1)
    top = points[:, 2] == 1.0
    begin = process_time()
    model = QuasiStaticTets(
        points, mesh.t.T, [(~viscous, Elastic(whole)), (viscous, relaxing)], held, STEP, tolerance=TOLERANCE
    )
    ready = process_time()
    prescribed = np.zeros_like(points)
    for step in range(1, steps + 1):
        prescribed[top, 2] = -pressed(step)
        model.step(prescribed)
    done = process_time()
    force = float(model.reactions()[top, 2].sum())
    found = model.statistics()
    return Run(0.0, ready - begin, done - ready, _megabytes(), force, f"{found['iterations']} iterations")


def run_skfem_pardiso(cells: int, steps: int) -> Run:
    """Run plain scikit-fem with pypardiso; history by one sparse product a step, the cheapest it can do."""
    from pypardiso import PyPardisoSolver
    from scipy.sparse import triu
    from skfem import Basis, BilinearForm, ElementTetP1, ElementVector
    from skfem.helpers import ddot, div, sym_grad

    mesh, viscous = cube(cells), viscous_half(cube(cells))
    decay, gain, kappa = _factors()
    lame, shear = YOUNG * POISSON / (1 + POISSON) / (1 - 2 * POISSON), YOUNG / 2 / (1 + POISSON)

    @BilinearForm
    def stiffness(u: Any, v: Any, w: Any) -> Any:
        return w.factor * (lame * div(u) * div(v) + 2.0 * shear * ddot(sym_grad(u), sym_grad(v)))

    begin = process_time()
    basis = Basis(mesh, ElementVector(ElementTetP1()), intorder=0)
    matrix = stiffness.assemble(basis, factor=np.where(viscous, kappa, 1.0)[:, None]).tocsr()
    history = stiffness.assemble(basis, factor=viscous.astype(float)[:, None]).tocsr()
    height = np.repeat(mesh.p[2], 3)
    held = (height == 0.0) | (height == 1.0)
    free, driven = np.flatnonzero(~held), np.flatnonzero(held)
    rows = matrix[free]
    coupling = rows[:, driven]
    upper = triu(rows[:, free], format="csr")
    assembled = process_time()
    solver = PyPardisoSolver(mtype=2)
    solver.factorize(upper)
    ready = process_time()
    u, w = np.zeros(basis.N), np.zeros(basis.N)
    for step in range(1, steps + 1):
        right = -(history @ (decay * w - gain * u))[free]
        after = np.zeros(basis.N)
        after[basis.nodal_dofs[2][mesh.p[2] == 1.0]] = -pressed(step)
        after[free] = solver.solve(upper, right - coupling @ after[driven])
        w = decay * w + gain * (after - u)
        u = after
    done = process_time()
    # kappa of the second half holds its gain; what relaxes is (1 - SHARE) u + w.
    total = matrix @ u + history @ ((1 - SHARE - kappa) * u + w)
    force = float(total[basis.nodal_dofs[2][mesh.p[2] == 1.0]].sum())
    return Run(assembled - begin, ready - assembled, done - ready, _megabytes(), force)


def _factors() -> tuple[float, float, float]:
    """Return exp(-x), gain and kappa of the relaxing half, as shares of its modulus."""
    decay = float(np.exp(-STEP / TIME))
    gain = SHARE * (1.0 - decay) / (STEP / TIME)
    return decay, gain, 1.0 - SHARE + gain


PEERS = {"rheotwin": run_rheotwin, "skfem-pardiso": run_skfem_pardiso}
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA")}


def run_apart(peer: str, cells: int, steps: int = STEPS) -> Run | None:
    """Run a peer in a process of its own; None if it is not installed."""
    root = Path(__file__).parents[1]
    if peer.startswith("dolfinx"):
        return _run_dolfinx(root, cells, steps, projected=peer.endswith("projected"))
    command = [sys.executable, "-m", "benchmarks.fem_f1", peer, str(cells), str(steps)]
    return _parsed(subprocess.run(command, cwd=root, env=os.environ | ONE_THREAD, capture_output=True, text=True))


def _run_dolfinx(root: Path, cells: int, steps: int, *, projected: bool) -> Run | None:
    """Hand the same meshes to the script that runs under the system's Python."""
    with tempfile.TemporaryDirectory() as folder:
        for name, count in (("small", 4), ("mesh", cells)):
            mesh = cube(count)
            np.savez(Path(folder) / f"{name}.npz", points=mesh.p.T, corners=mesh.t.T, viscous=viscous_half(mesh))
        numbers = {
            "step": STEP,
            "young": YOUNG,
            "poisson": POISSON,
            "share": SHARE,
            "time": TIME,
            "tolerance": TOLERANCE,
            "projected": projected,
            "pressed": [pressed(step) for step in range(1, steps + 1)],
        }
        command = [str(SYSTEM_PYTHON), str(root / "benchmarks" / "fem_f1_dolfinx.py"), folder, json.dumps(numbers)]
        try:
            return _parsed(subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True))
        except FileNotFoundError:
            return None


def _parsed(done: subprocess.CompletedProcess[str]) -> Run | None:
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr or "ImportError" in done.stderr:
            return None
        raise RuntimeError(done.stderr)
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def _line(peer: str, cells: int, run: Run) -> str:
    parts = f"assembly {run.assembly:.2f}  set-up {run.setup:.2f}  steps {run.steps:.2f}"
    return (
        f"  F1 {3 * (cells + 1) ** 3:7d} dof  {peer:22s} {run.total:7.2f} CPU s  ({parts})  {run.megabytes:5.0f} MB"
        f"  force {run.force:.8f}  {run.detail}"
    )


def _compared(cells: int, limits: dict[str, float]) -> list[Ratio]:
    """Run all peers on one mesh and return our time over theirs."""
    runs = {peer: run_apart(peer, cells) for peer in ("rheotwin", *limits)}
    own, found = runs["rheotwin"], []
    if own is None:
        raise RuntimeError("the package itself does not run: install it with the extra amg")
    for peer, run in runs.items():
        if run is None:
            print(f"  F1: {peer} is not installed, left out", file=sys.stderr)
            continue
        print(_line(peer, cells, run))
        if not abs(run.force - own.force) <= SAME_FORCE * abs(own.force):
            raise RuntimeError(f"F1: {peer} finds the force {run.force}, this package {own.force}")
        if peer != "rheotwin":
            detail = f"{run.total / own.total:.1f} times as fast"
            found.append(
                Ratio(f"F1 {3 * (cells + 1) ** 3} dof, time over {peer}", own.total / run.total, limits[peer], detail)
            )
    size = own.megabytes / 1024.0
    if cells == LARGE:
        found.append(Ratio("F1 151959 dof, memory [GB]", size, 1.0))
    return found


def measure() -> list[Ratio]:
    """Measure every size."""
    found = _compared(SMALL, {"dolfinx-gamg": 1 / 1.5, "dolfinx-gamg-projected": 1 / 1.5, "skfem-pardiso": 1.0})
    found += _compared(LARGE, {"dolfinx-gamg": 1 / 3.5, "dolfinx-gamg-projected": 1 / 3.5, "skfem-pardiso": 1 / 5.0})
    single, largest = run_apart("rheotwin", LARGE, 1), run_apart("rheotwin", LARGEST)
    if single is not None and largest is not None:
        found.append(Ratio("F1 151959 dof, one static solve [CPU s]", single.total, 1.2, single.detail))
        found.append(Ratio("F1 206763 dof, memory [GB]", largest.megabytes / 1024.0, 1.5, f"{largest.total:.2f} CPU s"))
    return found


def main() -> None:
    """Run one peer, after a small cube that compiles what has to be compiled."""
    peer, cells = PEERS[sys.argv[1]], int(sys.argv[2])
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else STEPS
    peer(4, 3)
    print(json.dumps(asdict(peer(cells, steps))))


if __name__ == "__main__":
    main()
