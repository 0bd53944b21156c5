"""Conjugate gradients with smoothed-aggregation multigrid: for large systems in space, where factors fill up.

The levels (Vanek, Mandel, Brezina 1996) are single-precision block rows. Aggregates and their orthonormal modes come
from pyamg; the prolongation is P = (I - w D^-1 A) T with w = 4/(3 rho), rho the spectral radius of D^-1 A, and the
coarse matrix P' A P. The rigid body modes are what aggregates interpolate exactly; without the rotations the number of
iterations grows with the size of the mesh. Single precision halves memory and time, and suffices: the levels only
precondition. Nothing here is random, so that runs repeat bitwise.

The cycle is the program's own because pyamg's costs three times as much. A press of 56,457 unknowns, one thread, CPU s
of set-up and of one solve to 1e-10 with Chebyshev's smoother of degree 3 (block Gauss-Seidel), rigid motions in both:

    tetrahedra   0.38 + 0.10, 20 iterations     pyamg 1.03 + 0.33, 17 iterations (0.74 + 0.60, 17)
    hexahedra    0.41 + 0.11, 22                      1.15 + 0.58, 22            (0.91 + 0.81, 16)

Whole nodes are kept together as blocks. Supports may hold single components of a node: its block then keeps a row for
them, coupled to nothing, so that the blocks stay d x d; nodes held altogether are left out.

Motions that strain nothing, and which of them supports leave free: these make a static matrix singular.

1D: x        2D: x, y, rotation about z        3D: x, y, z and the rotations x -> e_c x (x - centre)
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import null_space, orth, pinvh
from scipy.sparse import bsr_matrix, coo_matrix, csr_matrix, diags
from scipy.sparse.linalg import LinearOperator, eigsh
from skfem import ElementHex1, ElementHex2, ElementTetP1, ElementTetP2

from rheotwin.arrays import Array, Flags, Indices, Integers, Reals, Single
from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.fast.solids import CellProduct, SolidStiffness
from rheotwin.fem.linear.conjugate_gradient import Level, Outcome, conjugate_gradient
from rheotwin.fem.linear.factor import Count, Factor

AXES = "xyz"
_PLANES = {1: (), 2: ((0, 1),), 3: ((1, 2), (2, 0), (0, 1))}
"""Plane (a, b) of every rotation, which turns a towards b; in space it is about the third axis."""
RANK = 1e-9
"""Singular value, relative to the largest, below which supports do not stop a motion."""


def rigid_body_modes(points: Array) -> Array:
    """Return the rigid motions (N d, 1, 3 or 6) of points (N, d) [m], node-major, each of unit largest displacement.

    Rotations are about the mean of the points, divided by the largest distance from it, so that the columns are
    of one size whatever the unit of length.
    """
    count, d = points.shape
    centred = points - points.mean(axis=0)
    scaled = centred / (np.sqrt((centred**2).sum(axis=1)).max() or 1.0)
    planes = _PLANES[d]
    modes = np.zeros((count, d, d + len(planes)))
    for axis in range(d):
        modes[:, axis, axis] = 1.0
    for column, (a, b) in enumerate(planes, start=d):
        modes[:, a, column], modes[:, b, column] = -scaled[:, b], scaled[:, a]
    return modes.reshape(count * d, -1)


def rigid_mode_names(dimension: int) -> list[str]:
    """Return what a body does in every mode: 'move along x', 'rotate about z'."""
    rotations: dict[int, list[str]] = {1: [], 2: ["rotate about z"], 3: [f"rotate about {axis}" for axis in AXES]}
    return [f"move along {axis}" for axis in AXES[:dimension]] + rotations[dimension]


def free_rigid_modes(points: Array, held: Flags, *, axisymmetric: bool = False) -> list[str]:
    """Return the rigid motions of a body that its supports leave free, in words; empty if it is held.

    `points` (N, d) [m] and `held` (N, d) tell which components of which nodes are prescribed. The motions are the
    null space of the rigid body modes restricted to those. An axisymmetric body (components radial, axial) has one
    rigid motion only, along its axis.
    """
    if axisymmetric:
        return [] if held[:, 1].any() else [f"move along {AXES[1]}"]
    d = points.shape[1]
    modes = rigid_body_modes(points)
    restricted = np.linalg.qr(modes[held.ravel()], mode="r")  # few rows of the same null space
    free = null_space(restricted, rcond=RANK) if len(restricted) else np.eye(modes.shape[1])
    names = rigid_mode_names(d)
    moves = [names[axis] for axis in range(d) if not held[:, axis].any()]
    return moves + _rotations(free[d:], names[d:])


def _rotations(parts: Array, names: list[str]) -> list[str]:
    """Name the rotations whose axes (rows) the columns span: about x, y and z where possible, else about a vector."""
    if not parts.size:
        return []
    axes = orth(parts, rcond=RANK) if np.abs(parts).max() > RANK else np.zeros((len(parts), 0))
    inside = np.sum(axes**2, axis=1) > 1.0 - RANK
    found = [name for name, within in zip(names, inside, strict=True) if within]
    oblique = np.where(inside[:, None], 0.0, axes)
    if axes.shape[1] > len(found):
        for axis in orth(oblique, rcond=RANK).T:
            turned = np.round(axis * np.sign(axis[np.abs(axis).argmax()]), 2) + 0.0
            found.append(f"rotate about ({', '.join(f'{part:g}' for part in turned)})")
    return found


def require_no_free_modes(body: str, points: Array, held: Flags, *, axisymmetric: bool = False) -> None:
    """Refuse a body that its supports do not hold, naming its free motions."""
    free = free_rigid_modes(points, held, axisymmetric=axisymmetric)
    if free:
        listed = free[0] if len(free) == 1 else f"{', '.join(free[:-1])} and {free[-1]}"
        raise RheotwinError(f"bodies.{body}: without inertia '{body}' can still {listed}; add a support that stops it")


COARSEST = 300
"""Unknowns below which coarsening stops and a dense inverse takes over."""
DEEPEST = 12
"""Most levels; coarsening that slow has failed."""
SAFETY = 1.05
"""Factor on the estimated spectral radius, which comes from below."""
TOLERANCE = 1e-10
"""Residual over right-hand side at which a solve stops by default."""
MOST_ITERATIONS = 500
"""Iterations after which a solve is given up; a healthy one takes 10 to 40."""


def single_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread, whatever the environment says."""
    from threadpoolctl import threadpool_limits

    limited: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limited


def build_levels(matrix: BlockRows, modes: Reals) -> list[Level]:
    """Return the levels of an SPD matrix, finest first, from the columns (n, k) it should not see as stiff."""
    with single_thread():
        finest = matrix.astype(np.float32)
        current, candidates = finest.to_sparse(), modes.astype(np.float32)
        levels: list[Level] = []
        while current.shape[0] > COARSEST and len(levels) < DEEPEST:
            rows = finest if not levels else _block_rows(current)
            inverse = _inverse_diagonal(current)
            radius = SAFETY * _spectral_radius(rows, inverse)
            prolong, candidates = _prolongation(current, candidates, inverse, radius)
            if prolong.shape[1] >= current.shape[0]:
                break
            restrict = prolong.T.tobsr()
            levels.append(Level(rows, inverse, radius, _block_rows(prolong), _block_rows(restrict)))
            current = restrict @ (current @ prolong)
        return [*levels, _coarsest(current)]


def _inverse_diagonal(matrix: bsr_matrix) -> Single:
    """Return 1/diagonal, and zero for modes that an aggregate does not have (no stiffness at all)."""
    diagonal = matrix.diagonal()
    present = diagonal > 1e-6 * diagonal.max()
    inverse: Single = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=present)
    return inverse


def _spectral_radius(matrix: BlockRows | CellProduct, inverse: Single) -> float:
    """Estimate the largest eigenvalue of D^-1 A by a few Lanczos steps on D^-1/2 A D^-1/2."""
    root = np.sqrt(inverse)
    operator = LinearOperator((root.size, root.size), lambda x: root * (matrix @ (root * x.ravel())), dtype=np.float32)
    start = np.random.default_rng(0).standard_normal(root.size).astype(np.float32)
    return float(eigsh(operator, k=1, ncv=10, tol=0.05, v0=start, return_eigenvectors=False)[0])


def _prolongation(matrix: bsr_matrix, candidates: Single, inverse: Single, radius: float) -> tuple[bsr_matrix, Single]:
    """Return the smoothed prolongation of one level and the candidates of the next."""
    from pyamg.aggregation import fit_candidates, standard_aggregation

    coupled = csr_matrix((np.ones(len(matrix.indices), np.int8), matrix.indices, matrix.indptr))
    groups, _ = standard_aggregation(coupled)
    tentative, coarse = fit_candidates(groups, candidates)
    smoothed = diags(np.float32(4.0 / 3.0 / radius) * inverse) @ (matrix @ tentative)
    return (tentative - bsr_matrix(smoothed, blocksize=tentative.blocksize)).astype(np.float32), coarse


def _block_rows(matrix: Any) -> BlockRows:
    """Return a matrix as rows of 3 x 3 blocks where its shape allows, else of single values."""
    dimension = 3 if matrix.shape[0] % 3 == 0 and matrix.shape[1] % 3 == 0 else 1
    return BlockRows.from_sparse(matrix, dimension, np.float32)


def _coarsest(matrix: bsr_matrix) -> Level:
    """Return the level that multiplies by the inverse; modes without stiffness stay at zero."""
    inverse = pinvh(matrix.toarray().astype(np.float64), rtol=1e-6)
    return Level(_block_rows(csr_matrix(inverse)), np.zeros(len(inverse), np.float32), 0.0)


@dataclass(frozen=True)
class Multigrid:
    """An SPD matrix with its multigrid levels."""

    matrix: BlockRows | CellProduct
    levels: tuple[Level, ...]
    tolerance: float = TOLERANCE

    @classmethod
    def of(cls, matrix: BlockRows, modes: Reals, tolerance: float = TOLERANCE) -> Multigrid:
        """Set up for a matrix from the columns (n, k) it should not see as stiff: its rigid body modes."""
        return cls(matrix, tuple(build_levels(matrix, modes)), tolerance)

    @property
    def stored(self) -> int:
        """Numbers kept on all levels."""
        rows: list[BlockRows | CellProduct] = [level.matrix for level in self.levels]
        rows += [moved for level in self.levels for moved in (level.prolong, level.restrict) if moved is not None]
        return sum(item.stored for item in rows)

    def solve(self, right: Array, guess: Array | None = None) -> Outcome:
        """Solve for one right-hand side (n,), starting at `guess` or at zero."""
        outcome = conjugate_gradient(self.matrix, self.levels, right, guess, self.tolerance, MOST_ITERATIONS)
        if not outcome.residual <= self.tolerance:
            raise RheotwinError(
                f"solvers.fem.linear_solver: amg stopped after {outcome.iterations} iterations at a residual of "
                f"{outcome.residual:.2g} of the load (wanted {self.tolerance:g}); choose pardiso or splu, or check "
                "that the supports hold every body"
            )
        return outcome


@dataclass(frozen=True)
class Unknowns:
    """Where the unknowns of a matrix live: row i is component free[i] of points (N, d) [m] counted node-major.

    Points that are no numbers have components that are no displacements of a place: amplitudes of bubbles.
    """

    points: Array
    free: Indices

    @property
    def dimension(self) -> int:
        """Components per node."""
        return int(self.points.shape[1])


def prepare_amg(matrix: csr_matrix, nodes: Unknowns | None, tolerance: float = TOLERANCE) -> Factor:
    """Set up conjugate gradients with multigrid; without `nodes` it takes the unknowns for a single field."""
    if nodes is None:
        rows, places = BlockRows.from_sparse(matrix, 1), np.arange(matrix.shape[0])
        modes = np.ones((matrix.shape[0], 1))
    else:
        rows, places, modes = nodal_blocks(matrix, nodes)
    solver = Multigrid.of(rows, modes, tolerance)

    def again(other: csr_matrix) -> Factor:
        rows = BlockRows.from_sparse(other, 1) if nodes is None else nodal_blocks(other, nodes)[0]
        return _factor(replace(solver, matrix=rows), places)

    return replace(_factor(solver, places), again=again)


def prepare_solids(stiffness: SolidStiffness, points: Array, free: Indices, tolerance: float = TOLERANCE) -> Factor:
    """Set up conjugate gradients for solids at `points` (rows, 3) [m] with multigrid on those of order 1.

    Order 2 is smoothed by Chebyshev polynomials and corrected by the same cells of order 1, which is P' A P for
    nodes between vertices at their means. Fixed components are zero in all transfers.
    """
    held = np.ones(points.shape, dtype=np.bool_)
    held.reshape(-1)[free] = False
    whole, cells = replace(stiffness, held=held.ravel()), stiffness.cells
    if cells.linear:
        return _factor(Multigrid.of(whole.assembled, _free_modes(points, held), tolerance), free)
    vertices = cells.nodes[:, : cells.corners.shape[1]]
    used, compact = np.unique(vertices, return_inverse=True)
    local: Integers = np.ascontiguousarray(compact.reshape(vertices.shape), dtype=np.int32)
    spread = _interpolation(cells.nodes, local, len(points))
    diagonal = None
    if stiffness.diagonal is not None:
        diagonal = (spread.T @ stiffness.diagonal.reshape(-1, 3)).ravel()
    rule = cells.rule._replace(nodes=cells.rule.corners)
    linear = replace(cells, nodes=local, rule=rule)
    coarse = SolidStiffness(linear, len(used), stiffness.lame, stiffness.shear, diagonal, held[used].ravel())
    lower = build_levels(coarse.assembled, _free_modes(points[used], held[used]))
    matrix = whole.by_cells if stiffness.matrix_free else whole.assembled
    fine, inverse = matrix.astype(np.float32), whole.inverse_diagonal().astype(np.float32)
    blocks = spread.data[:, None, None] * np.eye(3)
    blocks *= ~held[np.repeat(np.arange(len(held)), np.diff(spread.indptr))][:, :, None]
    blocks *= ~held[used[spread.indices]][:, None, :]
    shape = (3 * len(held), 3 * len(used))
    prolong = bsr_matrix((blocks, spread.indices, spread.indptr), shape=shape)
    transfers = [BlockRows.from_sparse(part, 3, np.float32) for part in (prolong, prolong.T)]
    top = Level(fine, inverse, SAFETY * _spectral_radius(fine, inverse), *transfers)
    return _factor(Multigrid(matrix, (top, *lower), tolerance), free)


def _interpolation(nodes: Integers, corners: Integers, rows: int) -> csr_matrix:
    """Return the map (rows, vertices) from the corners (M, k) of cells to their nodes (M, c), at means of some."""
    local = SHARED[nodes.shape[1]]
    entries = [(nodes[:, n], corners[:, i], 1.0 / len(ends)) for n, ends in enumerate(local) for i in ends]
    row, column = (np.concatenate([entry[k] for entry in entries]) for k in (0, 1))
    value = np.repeat([entry[2] for entry in entries], len(nodes))
    _, first = np.unique(row.astype(np.int64) * rows + column, return_index=True)  # cells share nodes
    return csr_matrix((value[first], (row[first], column[first])), shape=(rows, int(corners.max()) + 1))


def _local_ends(element: Any, corners: Any) -> list[list[int]]:
    """Return the corners of the reference cell whose mean every node is."""
    values = np.array([corners.lbasis(element.doflocs.T, i)[0] for i in range(len(corners.doflocs))])
    return [list(np.flatnonzero(column > 1e-9)) for column in values.T]


SHARED = {10: _local_ends(ElementTetP2(), ElementTetP1()), 27: _local_ends(ElementHex2(), ElementHex1())}
"""Corners between which the nodes of cells of order 2 stand."""


def _free_modes(points: Array, held: Flags) -> Array:
    """Return the rigid motions of points, zero where held."""
    modes = rigid_body_modes(points)
    modes[held.ravel()] = 0.0
    return modes


@dataclass(frozen=True)
class Part:
    """Some rows and columns of a matrix; the unknowns of a factor."""

    matrix: BlockRows | CellProduct
    places: Indices

    def padded(self, values: Array) -> Array:
        """Return values at their places, zero elsewhere."""
        out = np.zeros(self.matrix.rows * self.matrix.dimension)
        out[self.places] = values
        return out

    def __matmul__(self, values: Array) -> Array:
        """A x."""
        return np.asarray((self.matrix @ self.padded(values))[self.places])


def _factor(solver: Multigrid, places: Indices) -> Factor:
    """Return the solver of the unknowns at some places of a system, the others being coupled to nothing."""
    part, count = Part(solver.matrix, places), Count()

    def one(right: Array, guess: Array | None) -> Array:
        outcome = solver.solve(part.padded(right), None if guess is None else part.padded(guess))
        count.last, count.total = max(count.last, outcome.iterations), count.total + outcome.iterations
        return np.asarray(outcome.solution[places])

    def solve(right: Array, guess: Array | None = None) -> Array:
        count.last = 0
        if right.ndim == 1:
            return one(right, guess)
        guesses = [None] * right.shape[1] if guess is None else list(guess.T)
        return np.stack([one(column, start) for column, start in zip(right.T, guesses, strict=True)], axis=1)

    return Factor("amg", solve, stored=solver.stored, count=count, matrix=part)


def nodal_blocks(matrix: csr_matrix, nodes: Unknowns) -> tuple[BlockRows, Indices, Array]:
    """Return the matrix on whole nodes, the place in it of every unknown, and the rigid body modes."""
    d = nodes.dimension
    used, node = np.unique(np.asarray(nodes.free) // d, return_inverse=True)
    places = node * d + np.asarray(nodes.free) % d
    size = len(used) * d
    absent, whole = np.setdiff1d(np.arange(size), places), matrix
    if len(absent):
        entries, scale = coo_matrix(matrix), float(np.abs(matrix.diagonal()).mean())
        triplets = (
            np.concatenate([entries.data, np.full(len(absent), scale)]),
            (np.concatenate([places[entries.row], absent]), np.concatenate([places[entries.col], absent])),
        )
        whole = csr_matrix(triplets, shape=(size, size))
    placed = np.isfinite(nodes.points[used]).all(axis=1)
    own = rigid_body_modes(nodes.points[used][placed])
    modes = np.zeros((size, own.shape[1]))
    modes[np.repeat(placed, d)] = own
    modes[absent] = 0.0
    return BlockRows.from_sparse(whole, d), places, modes
