"""Conjugate gradients with PETSc's algebraic multigrid, its rows shared among the ranks that run the program.

Every rank holds the whole problem and hands PETSc the rows that are its own; the solution is gathered on all. So a
program under `mpiexec -n 2` takes the same steps on every rank, and only the solves are divided.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.fem.linear.factor import Count, Factor, Kind
from rheotwin.fem.linear.multigrid import MOST_ITERATIONS, Unknowns, rigid_body_modes


def prepare_petsc(matrix: csr_matrix, nodes: Unknowns | None, kind: Kind, tolerance: float) -> Factor:
    """Set up; options of PETSc's own (`PETSC_OPTIONS`) are obeyed."""
    if kind != "spd":
        raise RheotwinError("solvers.fem.linear_solver: petsc is set up for definite matrices only; choose amg or splu")
    try:
        from petsc4py import PETSc
    except ImportError as error:
        raise RheotwinError(
            "solvers.fem.linear_solver: petsc4py is not installed; install PETSc and "
            'pip install "rheotwin[petsc]", or choose amg'
        ) from error
    library: Any = PETSc
    size, ranks, rank = matrix.shape[0], library.COMM_WORLD.getSize(), library.COMM_WORLD.getRank()
    first, last = (size * k // ranks for k in (rank, rank + 1))
    own = csr_matrix(matrix)[first:last].sorted_indices()
    local = (last - first, size)
    rows = library.Mat().createAIJ((local, local), csr=(own.indptr, own.indices, own.data), comm=library.COMM_WORLD)
    right, answer = rows.createVecLeft(), rows.createVecRight()
    if nodes is not None:
        modes, _ = np.linalg.qr(rigid_body_modes(nodes.points)[nodes.free])
        vectors = [rows.createVecLeft() for _ in modes.T]
        for vector, mode in zip(vectors, modes.T, strict=True):
            vector.array[:] = mode[first:last]
        rows.setNearNullSpace(library.NullSpace().create(vectors=vectors, comm=library.COMM_WORLD))
    solver, count = library.KSP().create(library.COMM_WORLD), Count()
    solver.setOperators(rows)
    solver.setType("cg")
    solver.getPC().setType("gamg")
    solver.setNormType(library.KSP.NormType.UNPRECONDITIONED)
    solver.setTolerances(rtol=tolerance, atol=0.0, max_it=MOST_ITERATIONS)
    solver.setFromOptions()
    gather, everywhere = library.Scatter.toAll(answer)

    def one(load: Array) -> Array:
        right.array[:] = load[first:last]
        solver.solve(right, answer)
        if solver.getConvergedReason() <= 0:
            raise RheotwinError(
                f"solvers.fem.linear_solver: petsc stopped after {solver.getIterationNumber()} iterations; choose amg "
                "or splu, or check that the supports hold every body"
            )
        count.last = solver.getIterationNumber()
        count.total += count.last
        gather.scatter(answer, everywhere)
        return np.array(everywhere.array)

    def solve(right: Array, guess: Array | None = None) -> Array:
        return one(right) if right.ndim == 1 else np.stack([one(column) for column in right.T], axis=1)

    return Factor("petsc", solve, count=count)
