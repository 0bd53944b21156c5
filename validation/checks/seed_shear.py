"""The papers' shear elements with their sign set right: what they are, in numbers (A5, R5, sections 3.2 and 3.4).

Forces of particle elements are functions of positions (N, d): their stiffness, and bodies at rest under a bar.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import root

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.particles.forces.cells import linear_cells
from rheotwin.particles.forces.elements import add_forces_at_rest
from rheotwin.particles.network import Constants, kernel_elements
from rheotwin.particles.shear_volume.elements import corner_rows
from rheotwin.particles.shear_volume.seed import Strains, shear_elements, tetrahedron_corners
from rheotwin.problem import Problem
from rheotwin.tensors import padded
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.matrices import SHAKEN, distorted_problem
from rheotwin.validation.checks.running import ELASTIC, problem_of
from rheotwin.validation.checks.scenes import MASS, bar_forces, press_scene

Force = Callable[[Array], Array]
"""Forces (N, d) [N] that elements exert on their particles at positions (N, d) [m]."""

SMALL = 3e-6
"""Step of differences over the extent of the body: rounding and curvature leave 1e-10 of the stiffness."""


def under_bar(points: Array) -> tuple[Indices, Indices]:
    """Return the nodes of the papers' block on the floor, and those under the bar of the pressing scene."""
    x, y = points.T
    return np.flatnonzero(y == 0.0), np.flatnonzero((y == 30.0) & (x >= 30.0) & (x <= 50.0))


def stiffness(force: Force, points: Array) -> Array:
    """Return minus the derivative (N d, N d) [N/m] of the forces at `points` by central differences."""
    step, columns = SMALL * float(np.ptp(points, axis=0).max()), []
    for component in np.ndindex(points.shape):
        moved = np.zeros_like(points)
        moved[component] = step
        columns.append((force(points - moved) - force(points + moved)).ravel() / (2.0 * step))
    return np.array(columns).T


def linear_push(force: Force, points: Array, held: Indices, pushed: Indices, depth: float) -> float:
    """Return the force [N] that moves nodes down by `depth` [m], others held, by the stiffness at rest."""
    matrix, moves = stiffness(force, points), _given(points, held, pushed, depth)
    free = np.isnan(moves)
    moves[free] = np.linalg.solve(matrix[np.ix_(free, free)], -matrix[np.ix_(free, ~free)] @ moves[~free])
    return -float((matrix @ moves).reshape(points.shape)[pushed, 1].sum())


def finite_pushes(
    force: Force, points: Array, held: Indices, pushed: Indices, depths: tuple[float, ...]
) -> list[float]:  # fmt: skip
    """Return the forces [N] at growing depths [m] with the body in equilibrium, the bar without friction."""
    found, moves = [], np.zeros(points.size)
    for depth in depths:
        given = _given(points, held, pushed, depth)
        free = np.isnan(given)
        moves = _settled(force, points, np.where(free, moves, given), free)
        found.append(float(force(points + moves.reshape(points.shape))[pushed, 1].sum()))
    return found


def _given(points: Array, held: Indices, pushed: Indices, depth: float) -> Array:
    """Return the displacements (N d,) that are given, and not-a-number for the free ones."""
    moves = np.full(points.shape, np.nan)
    moves[held], moves[pushed, 1] = 0.0, -depth
    return moves.ravel()


def _settled(force: Force, points: Array, start: Array, free: Flags) -> Array:
    """Return the displacements (N d,) at which free components feel no force, by Newton's method."""

    def placed(unknown: Array) -> Array:
        moves = start.copy()
        moves[free] = unknown
        return np.asarray(points + moves.reshape(points.shape))

    solution = root(
        lambda unknown: -force(placed(unknown)).ravel()[free],
        start[free],
        jac=lambda unknown: stiffness(force, placed(unknown))[np.ix_(free, free)],
        tol=1e-13,
    )
    return np.asarray((placed(solution.x) - points).ravel())


YOUNG, POISSON = 300.0, 0.35
SHEAR = YOUNG / (2.0 * (1.0 + POISSON))
AREA = SHEAR / (1.0 - 2.0 * POISSON)
"""mu and lambda + mu [Pa] of the elastic block."""
RIGHT = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
EQUILATERAL = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
REGULAR = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])
PLANE: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (0, 1))
SPACE: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
"""Components of a symmetric tensor."""
FRACTIONS = {"mu": 1.0, "mu/1.5": 1.5, "mu/2": 2.0, "mu/2.5": 2.5}
GRADIENT = np.array([[1.0, 0.5], [0.3, -0.4]])


def _constants(count: int, modulus: float) -> Constants:
    none = np.zeros((0, count))
    return Constants(np.full(count, modulus), np.zeros(count), none, none)


def _add_shear(elements: Strains, x: Array, force: Array) -> None:
    elements.add_forces(elements.nothing(), x, np.zeros_like(x), force)


def seed_triangles(points: Array, cells: Indices, shear: float, area: float = 0.0) -> Force:
    """Return the force of the papers' triangles: shear modulus and area modulus [Pa], thickness 1 m."""
    corners, first = corner_rows(cells), points[cells[:, 0]]
    sheared = shear_elements(corners, padded(points), _constants(len(corners), shear), 1.0)
    rest = 0.5 * np.linalg.det(np.stack([points[cells[:, k]] - first for k in (1, 2)], 1))
    filled = kernel_elements(cells, rest, _constants(len(cells), area), 1.0)

    def force(positions: Array) -> Array:
        x = padded(positions)
        found, still = np.zeros_like(x), np.zeros_like(x)
        _add_shear(sheared, x, found)
        add_forces_at_rest(linear_cells(filled, None), x, still, found)
        return found[:, :2]

    return force


def seed_tetrahedron(points: Array) -> Force:
    """Return the force of one of the papers' tetrahedra of unit shear modulus."""
    corners = tetrahedron_corners(np.array([[0, 1, 2, 3]]))
    sheared = shear_elements(corners, points, _constants(24, 1.0), 1.0)

    def force(positions: Array) -> Array:
        found = np.zeros_like(positions)
        _add_shear(sheared, positions, found)
        return found

    return force


def tangent(force: Force, points: Array, volume: float) -> Array:
    """Return stress per unit (engineering) strain of one element from its stiffness."""
    dimension = points.shape[1]
    components = PLANE if dimension == 2 else SPACE
    modes = []
    for a, b in components:
        strain = np.zeros((dimension, dimension))
        strain[a, b] += 0.5
        strain[b, a] += 0.5
        modes.append((points @ strain).ravel())
    matrix = np.array(modes)
    return np.asarray(matrix @ stiffness(force, points) @ matrix.T / volume)


def _press(pattern: str) -> Problem:
    return problem_of(press_scene(ELASTIC, pattern=pattern, mass=MASS))


def _cells(problem: Problem) -> Indices:
    return np.asarray(problem.bodies[0].mesh.t.T, np.int64)


def seed_forces(pattern: str) -> dict[str, float]:
    """Return the forces [N] on the bar at a depth of 1 m by the stiffness at rest, area modulus lambda + mu."""
    problem, found = _press(pattern), {}
    for name, part in FRACTIONS.items():
        force = seed_triangles(problem.points, _cells(problem), SHEAR / part, AREA)
        found[name] = linear_push(force, problem.points, *under_bar(problem.points), 1.0)
    return found


def bar_force() -> Values:
    """Compute R5."""
    return {f"F, G = {name}": force for name, force in seed_forces("se-nw").items()}


def bar_excess() -> Values:
    """Return how much more force [%] than linear finite elements the papers' triangle gives."""
    found: dict[str, float] = {}
    for words, pattern in (("same diagonals", "se-nw"), ("alternating", "alternating")):
        forces, (elastic,) = seed_forces(pattern), bar_forces(ELASTIC, (1.0,), pattern=pattern)
        found |= {f"G = {name}, {words}": 100.0 * (forces[name] / elastic - 1.0) for name in ("mu", "mu/1.5")}
    return found


def growth(pattern: str, area: float) -> float:
    """Return the growth [1/s] of free undamped motion with G = 1 Pa: the largest real part of sqrt(-eig(M^-1 K))."""
    problem = _press(pattern)
    matrix = stiffness(seed_triangles(problem.points, _cells(problem), 1.0, area), problem.points)
    free = np.repeat(problem.points[:, 1] > 0.0, 2)
    squares = np.linalg.eigvals(matrix[np.ix_(free, free)]) * len(problem.points) / MASS
    return float(np.sqrt(-squares.astype(complex)).real.max())


def right_triangle() -> Values:
    """Compute A5: the tangent over G, its symmetry and sign, and what they do to free motion."""
    one = np.array([[0, 1, 2]])
    force = seed_triangles(RIGHT, one, 1.0)
    matrix = stiffness(force, RIGHT)
    names, moduli = ("xx", "yy", "xy"), tangent(force, RIGHT, 0.5)
    equilateral = tangent(seed_triangles(EQUILATERAL, one, 1.0), EQUILATERAL, 0.25 * np.sqrt(3.0))
    values = {f"C({a}, {b})": float(moduli[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)}
    values |= {
        "asymmetry of K": float(np.linalg.norm(matrix - matrix.T) / np.linalg.norm(matrix)),
        "lowest eigenvalue of the symmetric part": float(np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min()),
        "equilateral mu / G": float(equilateral[2, 2]),
        "growth, G = 1, K = 1": growth("se-nw", 1.0),
        "growth, alternating": growth("alternating", 1.0),
        "growth, K = 10": growth("se-nw", 10.0),
        "growth, K = 10, alternating": growth("alternating", 10.0),
    }
    return values


def regular_tetrahedron() -> Values:
    """Return the two shear moduli over G of the papers' regular tetrahedron with reactions term by term."""
    moduli = tangent(seed_tetrahedron(REGULAR), REGULAR, float(np.linalg.det(REGULAR[1:] - REGULAR[0])) / 6.0)
    normal = 0.5 * (moduli[0, 0] - moduli[0, 1])
    return {"normal modulus": float(normal), "shear modulus": float(moduli[3, 3])}


def patch_residual(seed: int, shaken: float = SHAKEN) -> float:
    """Return the largest force [%] inside a distorted square under uniform strain, over the largest anywhere."""
    problem = distorted_problem("triangle", ELASTIC, shaken=shaken, seed=seed)
    points = problem.points
    force = seed_triangles(points, _cells(problem), 1.0)
    found = np.linalg.norm(force(points + 1e-5 * points @ GRADIENT.T), axis=1)
    inner = np.setdiff1d(np.arange(len(points)), problem.bodies[0].mesh.boundary_nodes())
    return 100.0 * float(found[inner].max() / found.max())


def patches() -> Values:
    """Return the residual [%] of congruent triangles, and how many of 100 random meshes leave less than 61 %."""
    residuals = np.array([patch_residual(seed) for seed in range(100)])
    return {"residual, congruent": patch_residual(0, 0.0), "meshes below 61 %": float(np.sum(residuals < 61.0))}


_check = partial(check, solvers=("shear-volume",), quick=True)
CHECKS = {
    "seed_shear": (
        _check("fem.R5", bar_force, name="seed-triangle-force"),
        _check("fem.A5", right_triangle, name="seed-triangle"),
        _check("fem.S3.2", bar_excess, name="seed-triangle-excess"),
        _check("fem.S3.2.patch", patches, name="seed-triangle-patch"),
        _check("fem.S3.4", regular_tetrahedron, name="seed-tetrahedron"),
    )
}
