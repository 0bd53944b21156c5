"""Minimal residuals for symmetric matrices of both signs, GMRES for unsymmetric ones, both over multigrid.

A saddle point [A B'; B -C] is preconditioned by its blocks (Wathen and Silvester 1993): a V-cycle for A, and for the
pressures the diagonal of C + B D^-1 B', D that of A, which is C and the mass of the pressures over the shear modulus
up to a factor that the mesh does not change. So the iterations do not grow with the bulk modulus.

A tangent is preconditioned by a V-cycle for its symmetric part; where that is of no use, a factor takes over.

The V-cycle is of single precision, so a solve is repeated for the residual left until that is as small as asked for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, gmres

from rheotwin.arrays import Array
from rheotwin.fem.linear.conjugate_gradient import v_cycle
from rheotwin.fem.linear.factor import Count, Factor, Kind
from rheotwin.fem.linear.multigrid import Unknowns, build_levels, nodal_blocks, single_thread

Apply = Callable[[Array], Array]

INNER = 1e-5
"""Residual that one round reaches: what single precision is good for."""
ROUNDS, MOST = 8, 400
"""Rounds, and iterations of one, before a solve is given up."""
KRYLOV = 60
"""Directions of GMRES between restarts."""
PRESSURE, FLOOR = 1e-12, 1e-15
"""Residual of pressure rows over what the compressibility C p takes of them, and over |B| |u|, which is rounding: K
theta is then as exact as p."""
STIFFEST = 1e5
"""Bulk over shear modulus above which rounding of the displacements is more than that, and a factor is taken."""


def preconditioner(matrix: csr_matrix, nodes: Unknowns) -> Apply:
    """Return one V-cycle for a symmetric matrix on its nodes, as a map of unknowns."""
    rows, places, modes = nodal_blocks(matrix, nodes)
    levels = build_levels(rows, modes)

    def apply(right: Array) -> Array:
        size = float(np.linalg.norm(right)) or 1.0
        levels[0].load[:] = 0.0
        levels[0].load[places] = right / size
        v_cycle(levels)
        return np.asarray(size * levels[0].solution[places].astype(np.float64))

    return apply


def blocks_preconditioner(matrix: csr_matrix, nodes: Unknowns, gradient: csr_matrix, own: Array) -> Apply:
    """Return the preconditioner of a saddle point with B and the diagonal of C, whose displacements stand first."""
    count = len(nodes.free)
    upper = csr_matrix(matrix[:count, :count])
    first = preconditioner(upper, nodes)
    compliance = gradient.multiply(gradient) @ (1.0 / upper.diagonal()) + own
    return lambda right: np.concatenate([first(right[:count]), right[count:] / compliance])


def minimal_residual(matrix: csr_matrix, apply: Apply, right: Array, tolerance: float) -> tuple[Array, int]:
    """Return x with |b - A x| <= tolerance |b|, in the norm of the preconditioner, and the iterations."""
    x, w, w_old = (np.zeros_like(right) for _ in range(3))
    v_old, v, z = np.zeros_like(right), right.copy(), apply(right)
    gamma_old, gamma = 1.0, math.sqrt(max(float(z @ v), 0.0))
    eta, first, cosines, sines = gamma, gamma, (1.0, 1.0), (0.0, 0.0)
    count = 0
    while abs(eta) > tolerance * first and count < MOST:
        z /= gamma
        product = matrix @ z
        delta = float(product @ z)
        v_old, v = v, product - (delta / gamma) * v - (gamma / gamma_old) * v_old
        z_new = apply(v)
        gamma_new = float(np.sqrt(max(z_new @ v, 0.0)))
        a = cosines[1] * delta - cosines[0] * sines[1] * gamma
        b = float(np.hypot(a, gamma_new))
        c, d = sines[1] * delta + cosines[0] * cosines[1] * gamma, sines[0] * gamma
        w_old, w = w, (z - d * w_old - c * w) / b
        cosines, sines = (cosines[1], a / b), (sines[1], gamma_new / b)
        x += cosines[1] * eta * w
        eta *= -sines[1]
        gamma_old, gamma, z = gamma, gamma_new, z_new
        count += 1
        if gamma == 0.0:
            break
    return x, count


def general_residual(matrix: csr_matrix, apply: Apply, right: Array, tolerance: float) -> tuple[Array, int]:
    """Return x with |b - A x| <= tolerance |b| by GMRES, and the iterations."""
    count = 0

    def counted(_: float) -> None:
        nonlocal count
        count += 1

    operator = LinearOperator(matrix.shape, apply, dtype=np.float64)
    most = MOST // KRYLOV
    x, _ = gmres(
        matrix,
        right,
        rtol=tolerance,
        restart=KRYLOV,
        maxiter=most,
        M=operator,
        callback=counted,
        callback_type="pr_norm",
    )
    return np.asarray(x), count


def prepare_krylov(
    matrix: csr_matrix, nodes: Unknowns, kind: Kind, tolerance: float, direct: Callable[[], Factor]
) -> Factor:
    """Set up an iteration for a matrix that is not definite; `direct` factorises it should that not converge."""
    unknowns, symmetric = len(nodes.free), kind == "indefinite"
    saddle = matrix.shape[0] > unknowns
    if saddle:
        gradient, behind = csr_matrix(matrix[unknowns:, :unknowns]), -matrix[unknowns:, unknowns:]
        own = behind @ np.ones(behind.shape[0])  # without what stabilises, which constant pressures do not feel
        sizes = abs(gradient)
        stiffness = gradient.multiply(gradient) @ (1.0 / matrix.diagonal()[:unknowns])
        if not np.all(own * STIFFEST > stiffness):
            found = direct()
            return replace(found, reason="a volume so stiff that an iteration would leave no digit of its pressure")
        apply = blocks_preconditioner(matrix, nodes, gradient, behind.diagonal())
    else:
        apply = preconditioner(matrix if symmetric else csr_matrix(0.5 * (matrix + matrix.T)), nodes)
    iterate = minimal_residual if symmetric else general_residual
    count, instead = Count(), list[Factor]()

    def reached(rest: Array, x: Array, size: float) -> bool:
        if not saddle:
            return bool(np.linalg.norm(rest) <= tolerance * size)
        rounding = FLOOR * np.linalg.norm(sizes @ np.abs(x[:unknowns]))
        small = np.linalg.norm(rest[unknowns:]) <= max(PRESSURE * np.linalg.norm(own * x[unknowns:]), rounding)
        return bool(small and np.linalg.norm(rest[:unknowns]) <= tolerance * size)

    def one(right: Array, guess: Array | None) -> Array:
        size = float(np.linalg.norm(right))
        x = np.zeros_like(right) if guess is None else guess.copy()
        for _ in range(ROUNDS if size > 0.0 and not instead else 0):
            rest = right - matrix @ x if x.any() else right
            if reached(rest, x, size):
                return x
            left = float(np.linalg.norm(rest))
            change, taken = iterate(matrix, apply, rest, INNER if saddle else max(INNER, 0.3 * tolerance * size / left))
            count.last, count.total = count.last + taken, count.total + taken
            if not np.linalg.norm(rest - matrix @ change) < 0.5 * left:
                break  # of no use, or too slow
            x = x + change
        if size == 0.0 or reached(right - matrix @ x, x, size):
            return x
        if not instead:
            instead.append(direct())
            warnings.warn(
                f"solvers.fem.linear_solver: multigrid does not converge for this matrix; {instead[0].solver} takes "
                "over",
                stacklevel=2,
            )
        return instead[0].solve(right)

    def solve(right: Array, guess: Array | None = None) -> Array:
        count.last = 0
        with single_thread():
            if right.ndim == 1:
                return one(right, guess)
            guesses = [None] * right.shape[1] if guess is None else list(guess.T)
            return np.stack([one(column, start) for column, start in zip(right.T, guesses, strict=True)], axis=1)

    return Factor("amg", solve, count=count)
