"""Constraints that keep areas and volumes: inf-sup constants, counts and ranks, and how errors die out (section 5).

    beta = min_p max_u  int p div(u) / (|p| |grad u|):   beta^2 is an eigenvalue of B H^-1 B^T p = beta^2 C p,

H the matrix of int grad u : grad v on the free components. Vanishing values are pressures that no displacement feels
(the constant of an enclosed body, checkerboards); the constant is the smallest of the others.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu
from skfem import BilinearForm
from skfem.helpers import ddot, grad

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.feasible import RankReport, rank_report
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.constraints.stabilisation import stabilised_demand
from rheotwin.fem.incompressible import Formulation, MixedForm, mixed_form
from rheotwin.fem.steppers.explicit_rules import runge_kutta
from rheotwin.meshing.box import tet_grid, triangle_grid
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.matrices import FIGURE
from rheotwin.validation.checks.running import last_order


@BilinearForm
def _gradients(u: Any, v: Any, w: Any) -> Any:
    return ddot(grad(u), grad(v))


def inf_sup_values(form: MixedForm, held: Indices) -> Array:
    """Return all values beta [-] in rising order with the components `held` fixed (dense: for small meshes)."""
    free = np.setdiff1d(np.arange(form.gradient.shape[1]), held)
    norm = csc_matrix(_gradients.assemble(form.basis).tocsr()[free][:, free])
    rows = form.gradient[:, free].toarray()
    squared = eigh(rows @ splu(norm).solve(rows.T), form.mass.toarray(), eigvals_only=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def inf_sup_constants(name: Formulation, sizes: tuple[int, ...], *, held: str) -> tuple[list[float], list[int]]:
    """Return the constant and the number of free pressures on each unit square, held at "one side" or at "all"."""
    found, free = [], []
    for n in sizes:
        form = mixed_form(triangle_grid(*[np.linspace(0.0, 1.0, n + 1)] * 2), "triangle", name)
        mesh = form.basis.mesh
        facets = mesh.boundary_facets() if held == "all" else mesh.facets_satisfying(lambda x: np.isclose(x[0], 0.0))
        values = inf_sup_values(form, form.basis.get_dofs(facets).all())
        # values are square roots: rounding leaves 1e-8 of a zero, and the smallest true one is above 1e-3
        zeros = int(np.count_nonzero(values < 1e-5))
        free.append(zeros)
        found.append(float(values[zeros]))
    return found, free


PAIRS: dict[str, Formulation] = {"MINI": "mini", "Taylor-Hood": "taylor-hood"}
SQUARES = (4, 8)
"""Squares a side of the meshes on which the constants are looked at."""


def stable_pairs() -> Values:
    """Return the least and the largest constant of the stable pairs over meshes and supports."""
    values: dict[str, float] = {}
    for words, name in PAIRS.items():
        found = [beta for held in ("one side", "all") for beta in inf_sup_constants(name, SQUARES, held=held)[0]]
        values |= {f"{words}, least": min(found), f"{words}, most": max(found)}
    return values


def counted(kind: PatchKind, mesh: Any) -> RankReport:
    """Return what constraints leave of the freedom of a block whose bottom is held."""
    points = np.ascontiguousarray(mesh.p.T)
    gradient = measure_constraints(patches(kind, mesh.t.T, points), points).gradient(points)
    return rank_report(kind, gradient, np.repeat(points[:, -1] == 0.0, points.shape[1]))


KUHN = 5
"""Cubes a side of the block of six tets each."""


def cubes(kind: PatchKind) -> RankReport:
    """Return what constraints leave of the freedom of the block of tets."""
    return counted(kind, tet_grid(*[np.arange(KUHN + 1.0)] * 3, split="six"))


def counts() -> Values:
    """Count unknowns, constraints and free modes of the papers' scene and of a block of tets."""
    ticks = [np.linspace(0.0, size, cells + 1) for size, cells in zip(FIGURE.size, FIGURE.cells, strict=True)]
    seed, tets = counted("element", triangle_grid(*ticks)), cubes("element")
    found = {
        "seed scene, degrees of freedom": seed.unknowns,
        "seed scene, constraints": seed.constraints,
        "seed scene, free modes": seed.free_modes,
        "Kuhn n = 5, constraints": tets.constraints,
        "Kuhn n = 5, degrees of freedom": tets.unknowns,
        "Kuhn n = 5, rank": tets.rank,
        "Kuhn n = 5, per cell": cubes("cell").rank,
    }
    return {name: float("nan") if count is None else float(count) for name, count in found.items()}


def condition() -> Values:
    """Return the condition of A with one constraint per cube: largest over smallest singular value."""
    return {"cells, n = 5": float(np.sqrt(cubes("cell").condition or np.nan))}


MOTIONS, FREQUENCY, END = 40, 10.0, 4.0
"""Tetrahedra, om [1/s] of their constraints, end of their motion [s]: what they began with has died out at 3 s."""
SWOLLEN = 1.1
"""Edges at the start over those that are to be kept."""


def volume_errors(step: float, share: float = 1.0) -> Array:
    """Return the volume errors over V0 (MOTIONS,) of free tetrahedra that are left by Runge-Kutta with a step [s].

    Unit masses, random velocities; `share` is that of Q that is taken: a half with the printed 1/6 in place of 1/3,
    which leaves om^2 R at half of Q.
    """
    shape = (4 * MOTIONS, 3)
    corners = np.tile(np.vstack([np.zeros(3), np.eye(3)]), (MOTIONS, 1))
    tets = np.arange(4 * MOTIONS).reshape(MOTIONS, 4)
    kept = measure_constraints(patches("element", tets, corners), corners)

    def rate(y: Array, time: float, *, after: bool) -> Array:
        x, v = y.reshape(2, *shape)
        gradient = kept.gradient(x)
        demand = stabilised_demand(kept.value(x), gradient @ v.ravel(), share * kept.curvature(x, v), FREQUENCY)
        schur = np.asarray(gradient.multiply(gradient).sum(axis=1)).ravel()  # no two share a node
        return np.concatenate([v.ravel(), -gradient.T @ (demand / schur)])

    y = np.concatenate([SWOLLEN * corners.ravel(), np.random.default_rng(1).standard_normal(corners.size)])
    for number in range(round(END / step)):
        y = runge_kutta(rate, y, number * step, (number + 1) * step)
    return np.abs(kept.value(y[: corners.size].reshape(shape)) / kept.rest)


def free_tetrahedra() -> Values:
    """Compute E8."""
    steps = (0.01, 0.005)
    right, printed = ([volume_errors(step, share) for step in steps] for share in (1.0, 0.5))
    return {
        "with 1/3, order": last_order(steps, [float(np.linalg.norm(left)) for left in right]),
        "with 1/3, motions that leave less than 8e-9": float(np.mean(right[0] < 8e-9)),
        "with 1/6, left by 10 ms over 5 ms": float(np.linalg.norm(printed[0]) / np.linalg.norm(printed[1])),
        "with 1/6, motions that leave less than 4e-3": float(np.mean(printed[0] < 4e-3)),
    }


_check = partial(check, solvers=("fem", "shear-volume"))
CHECKS = {
    "incompressible": (
        check("fem.S5.inf-sup", stable_pairs, name="inf-sup", quick=True),
        _check("fem.S5.counts", counts, name="constraint-counts", covers=("A8", "E11"), quick=True),
        _check("fem.S5.pair-rank", condition, name="constraint-condition", quick=True),
        _check("fem.E8", free_tetrahedra, name="free-tetrahedra"),
    )
}
