"""Which linear solver for which system, by measured thresholds, and the one function that prepares it."""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import Literal, get_args

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.solids import SolidStiffness
from rheotwin.fem.linear.factor import (
    SINGULAR,
    Factor,
    Kind,
    SingularMatrix,
    factorise_cholmod,
    factorise_pardiso,
    factorise_superlu,
    pardiso_installed,
)
from rheotwin.fem.linear.krylov import prepare_krylov
from rheotwin.fem.linear.multigrid import TOLERANCE, Unknowns, prepare_amg, prepare_solids
from rheotwin.fem.linear.petsc import prepare_petsc

Choice = Literal["auto", "splu", "pardiso", "cholmod", "amg", "petsc"]

PARDISO_PAYS = 10_000
"""Unknowns above which pardiso is taken where the dimension is not known."""
PARDISO_PAYS_IN: dict[int | None, float] = {None: PARDISO_PAYS, 1: math.inf, 2: 30_000, 3: 5_000}
"""The same per dimension. Starting MKL costs a tenth of a second, and below these numbers SuperLU solves as fast; in
space factors fill up, and SuperLU's factor takes 250 ms at 6,000 unknowns and 2 s at 14,000 (pardiso's 70 and 280)."""
AMG_PAYS = {"splu": 10_000, "pardiso": 50_000}
"""Unknowns in space from which multigrid takes over from a factor. At 45,000 its set-up takes 0.35 s against pardiso's
1.7 s, and a solve from zero about twice as long; at 150,000 a factor takes 10 s and 2 GB and solves are even."""
HOPELESS = 1e14
"""Amplification (|A| |x|/|b|) beyond which nothing of a solution is left in double precision."""


ITERATIONS: dict[Kind, str] = {
    "spd": "conjugate gradients",
    "indefinite": "minimal residuals",
    "unsymmetric": "GMRES",
}
"""What runs over multigrid."""


def choose(unknowns: int, dimension: int | None, kind: Kind = "spd") -> tuple[str, str]:
    """Return the solver for a system and the reason; `dimension` None where the nodes are not known."""
    direct = "pardiso" if pardiso_installed() else "splu"
    if dimension == 3 and unknowns > AMG_PAYS[direct]:
        return "amg", f"{unknowns} unknowns in space fill up a factor; {ITERATIONS[kind]} over multigrid"
    if unknowns <= PARDISO_PAYS_IN[dimension]:
        return "splu", f"{unknowns} unknowns are few"
    if direct == "pardiso":
        return direct, f"{unknowns} unknowns pay for its start"
    return direct, f"{unknowns} unknowns, and pardiso is not installed"


def factorise(
    matrix: csr_matrix | SolidStiffness,
    choice: Choice = "auto",
    *,
    kind: Kind = "spd",
    nodes: Unknowns | None = None,
    tolerance: float = TOLERANCE,
) -> Factor:
    """Prepare a symmetric matrix for many solves.

    `kind` says what is known of it; `nodes` where its unknowns live, which multigrid needs: the first ones, where
    pressures follow. The operator of solids is that of all components. `tolerance` is the residual over the right-hand
    side of `amg`.
    """
    if choice not in get_args(Choice):
        raise RheotwinError(f"solvers.fem.linear_solver: no solver {choice!r}; choose {', '.join(get_args(Choice))}")
    dimension = None if nodes is None else nodes.dimension
    begin = perf_counter()
    size = len(nodes.free) if nodes is not None and isinstance(matrix, SolidStiffness) else matrix.shape[0]
    name, reason = choose(size, dimension, kind) if choice == "auto" else (choice, "asked for")
    if isinstance(matrix, SolidStiffness):
        assert nodes is not None
        if name == "amg":
            factor = prepare_solids(matrix, nodes.points, nodes.free, tolerance)
            if not matrix.cells.linear:
                reason += "; order 1 corrects order 2" + (", which is never assembled" if matrix.matrix_free else "")
            return replace(factor, reason=reason, setup_seconds=perf_counter() - begin)
        matrix = matrix.tocsr()[nodes.free][:, nodes.free]
    factor = _prepare(matrix, name, kind, nodes, tolerance)
    if name not in ("amg", "petsc"):
        _require_regular(matrix, factor)
    if factor.solver != name:
        reason = f"{reason}, but {factor.reason}"
    return replace(factor, reason=reason, setup_seconds=perf_counter() - begin)


def _prepare(matrix: csr_matrix, name: str, kind: Kind, nodes: Unknowns | None, tolerance: float) -> Factor:
    if name == "splu":
        return factorise_superlu(matrix, kind)
    if name == "pardiso":
        return factorise_pardiso(matrix, kind)
    if name == "cholmod":
        return factorise_cholmod(matrix, kind)
    if name == "petsc":
        return prepare_petsc(matrix, nodes, kind, tolerance)
    if kind == "spd":
        return prepare_amg(matrix, nodes, tolerance)
    if nodes is None:
        raise RheotwinError(
            "solvers.fem.linear_solver: amg needs to know where unknowns live, which nobody said for these; choose "
            "pardiso or splu"
        )
    direct = factorise_pardiso if pardiso_installed() else factorise_superlu

    def instead() -> Factor:
        factor = direct(matrix, kind)
        _require_regular(matrix, factor)
        return factor

    return prepare_krylov(matrix, nodes, kind, tolerance, instead)


def _require_regular(matrix: csr_matrix, factor: Factor) -> None:
    """Refuse a matrix whose factor amplifies a test load beyond what double precision can hold."""
    if not matrix.shape[0]:
        return
    # Pressure rows (diagonal <= 0) take no load: pressures that do no work may be any size where a body is rigid.
    load = np.where(matrix.diagonal() > 0.0, np.random.default_rng(0).standard_normal(matrix.shape[0]), 0.0)
    if not load.any():
        return
    answer = factor.solve(load)
    size = float(np.abs(matrix.data).max(initial=0.0))
    if not np.linalg.norm(answer) * size <= HOPELESS * np.linalg.norm(load):
        raise SingularMatrix(SINGULAR)
