"""Shape-keeping polyhedra: the paper's tables, recovery, moduli and momenta (LS-1 to LS-15)."""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import numbers_of
from rheotwin.particles.local_shape.elements import room
from rheotwin.particles.local_shape.forces import ROWS, STIFFNESS, Group, Needs, add_forces, matrix_of_rows
from rheotwin.particles.local_shape.options import Rotation as Update
from rheotwin.particles.local_shape.rotation import (
    matrix_of,
    moment,
    normalised,
    paper_turn,
    product,
    sym_atan_turn,
    times_transposed,
)
from rheotwin.particles.shear_volume.corners import CHUNK
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import Data, box_scene, path, problem_of, put, run_to, side, start

SHAPES, STRAIN = 100, 0.3
"""Random shapes of the table of passes, and their strain."""
TURNS: dict[Update, Any] = {"paper": paper_turn, "sym-atan": sym_atan_turn}


def angle_errors(update: Update, degrees: float, strain: float = STRAIN, passes: int = 3) -> list[float]:
    """Return the median angle [rad] from the polar factor after each pass, from a start so many degrees off.

    Shapes are A = Q (I + e) S, e symmetric with entries up to `strain`, S = 2 I that of a cube of unit edges.
    """
    generator = np.random.default_rng(8)
    found = np.zeros((SHAPES, passes))
    for shape in range(SHAPES):
        e = generator.uniform(-strain, strain, (3, 3))
        true = Rotation.random(rng=generator)
        axis = generator.standard_normal(3)
        start = Rotation.from_rotvec(np.deg2rad(degrees) * axis / np.linalg.norm(axis)) * true
        a = tuple((2.0 * true.as_matrix() @ (np.eye(3) + 0.5 * (e + e.T))).ravel())
        q = tuple(start.as_quat(scalar_first=True))
        for n in range(passes):
            b = times_transposed(a, matrix_of(q))
            q = normalised(product(TURNS[update](b), q))
            found[shape, n] = (Rotation.from_quat(q, scalar_first=True) * true.inv()).magnitude()
    return [float(error) for error in np.median(found, axis=0)]


def passes(degrees: float) -> Values:
    """Compute LS-14: angles left from so many degrees."""
    return {
        f"{update}, pass {n}": error
        for update in TURNS
        for n, error in enumerate(angle_errors(update, degrees), start=1)
    }


GRAVITY, EDGE, BOUNCE, FRICTION, HEIGHT, SECONDS = 9.8, 0.05, 0.95, 0.1, 10.0, 10.0
"""Table 1 (spec 7): [m/s2], edge of the cube [m], restitution, friction, height above the floor [edges], time [s]."""
RATES = (1e4, 1e5, 1e6)
"""k/m [1/s2] of the rows of table 1."""
STEPS = dict(zip(RATES, (0.006, 0.002, 0.0006), strict=True))
COLUMNS = {"A": (1.0, 1), "B": (0.1, 1), "C": (1.0, 2), "D": (1.0, 3)}
"""Steps over those of column A, and passes."""


@cache
def _bouncing(passes: int) -> Any:
    needs = Needs(8, 3, "paper", passes, False, False, False, False)
    add, quaternion = add_forces(needs), numbers_of(4)

    @compiled(vectors=True)
    def bounce(
        group: Group, turns: Array, shapes: Array, x: Array, v: Array, force: Array, rate: float, h: float, found: Array
    ) -> None:
        """Let cubes of unit masses bounce; means of alpha and alpha^2, and its maximum, go into `found` (3, CHUNK)."""
        steps, count, inertia = 0.0, 0, 6.0 * EDGE * EDGE
        limit = round(SECONDS / h)
        while count < limit:
            for node in range(x.shape[0]):
                force[node, 0], force[node, 1], force[node, 2] = 0.0, 0.0, -GRAVITY
            add(group, turns, shapes, x, v, force)
            if steps > 0.0:
                count += 1
                for cube in range(CHUNK):
                    a = matrix_of_rows(group.room.places, shapes[0], cube, 8)
                    b = moment(times_transposed(a, matrix_of(quaternion(turns[0], cube))))
                    alpha = rate / inertia * math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
                    found[0, cube] += alpha / limit
                    found[1, cube] += alpha * alpha / limit
                    found[2, cube] = max(found[2, cube], alpha)
            for node in range(x.shape[0]):
                for c in range(3):
                    v[node, c] += h * force[node, c]
                    x[node, c] += h * v[node, c]
                if x[node, 2] < 0.0:
                    steps = 1.0
                    strike(x[node], v[node], h)

    return bounce


@compiled(inside=True)
def strike(x: Array, v: Array, h: float) -> None:
    """Move a vertex out of the floor (spec 4): what is left of the step after the impact it slides, slower by mu."""
    depth, speed = x[2], v[2]
    if speed < 0.0:
        left, sliding = min(depth / speed, h), math.sqrt(v[0] * v[0] + v[1] * v[1])
        slower = max(0.0, sliding + FRICTION * (1.0 + BOUNCE) * speed) / sliding if sliding > 0.0 else 0.0
        for c in range(2):
            x[c] += left * (slower - 1.0) * v[c]
            v[c] *= slower
        v[2] = -BOUNCE * speed
    x[2] = -BOUNCE * depth


@cache
def spurious(rate: float, column: str) -> tuple[float, float]:
    """Return the median over orientations of mean and largest alpha [1/s2] of a bouncing cube."""
    share, count = COLUMNS[column]
    corners = np.array(list(np.ndindex(2, 2, 2))) - 0.5
    turned = Rotation.random(CHUNK, rng=1).as_matrix()
    x = EDGE * np.einsum("eij,aj->eai", turned, corners)
    x[:, :, 2] += HEIGHT * EDGE - x[:, :, 2].min(axis=1, keepdims=True)
    shapes = EDGE * np.tile(corners.ravel()[:, None], (1, 1, CHUNK))
    turns = Rotation.from_matrix(turned).as_quat(scalar_first=True).T[None].copy()
    numbers, found = np.zeros((1, ROWS, CHUNK)), np.zeros((3, CHUNK))
    numbers[:, STIFFNESS] = rate
    group = Group(
        CHUNK, np.arange(8 * CHUNK, dtype=np.int32).reshape(CHUNK, 8), numbers, np.zeros(1, np.int64), room(8)
    )
    x = np.ascontiguousarray(x.reshape(-1, 3))
    with np.errstate(all="ignore"):
        _bouncing(count)(group, turns, shapes, x, np.zeros_like(x), np.zeros_like(x), rate, share * STEPS[rate], found)
    mean, _, most = np.where(np.isfinite(found), found, np.inf)
    return float(np.median(mean)), float(np.median(most))


def table(rate: float, column: str) -> Values:
    """Compute LS-1 to LS-12."""
    mean, most = spurious(rate, column)
    return {"median of the mean": mean, "median of the max": most}


def ordering() -> Values:
    """Compute the ordering of table 1."""
    mean = {(rate, column): spurious(rate, column)[0] for rate in RATES for column in "ABC"}
    return {
        "A/B, least": min(mean[rate, "A"] / mean[rate, "B"] for rate in RATES),
        "B/C, least": min(mean[rate, "B"] / mean[rate, "C"] for rate in RATES),
        "C/A, most": max(mean[rate, "C"] / mean[rate, "A"] for rate in RATES),
    }


STIFF, DAMPED, SETTLED, LOOK, TRIES = 1e4, 0.1, 12000, 1000, 20
"""k/m [1/s2] and zeta of the recoveries, steps they get, steps between two looks, and how many random ones."""
BACK = 0.01
"""Shape error of a body that is back: what `paper` sets spinning on the way is stretched by 1e-3 for good."""
CRUSHED = {"plane": (1.0, 1.0, 0.0), "mirror": (1.0, 1.0, -1.0), "line": (1.0, 0.0, 0.0)}


def lattice(cells: int) -> Problem:
    """Return cubes of unit edges, k = 1e4 N/m, and vertices of 1 kg."""
    law = {"model": "elastic", "young": 2.0 * STIFF, "poisson": 0.0}
    scene = box_scene(law, cells=[cells] * 3, cell="hex", equal_mass=float((cells + 1) ** 3))
    return problem_of(scene)


def shape_error(x: Array, rest: Array) -> float:
    """Return how far points are from their rest shape, turned and moved as it may be, over its size."""
    a, b = x - x.mean(axis=0), rest - rest.mean(axis=0)
    u, _, vt = np.linalg.svd(a.T @ b)
    flip = np.diag([*[1.0] * (len(u) - 1), np.sign(np.linalg.det(u @ vt))])
    return float(np.linalg.norm(a - b @ (u @ flip @ vt).T) / np.linalg.norm(b))


def recovered(problem: Problem, start_at: Array, update: Update = "sym-atan") -> float:
    """Return the shape error of polyhedra that have settled from `start_at` (N, 3) [m]."""
    simulation = put(start(problem, "local-shape", damping=DAMPED, rotation=update), positions=start_at)
    error = np.inf
    for _ in range(SETTLED // LOOK):
        simulation.advance(1e9, LOOK)
        error = shape_error(simulation.positions, problem.points)
        if error < 1e-9 or not np.isfinite(error):
            break
    return error


def springs_recovered(problem: Problem, start_at: Array) -> float:
    """Return the shape error of springs along edges and all diagonals of the cubes (1)."""
    rest = problem.points
    i, j = np.array([pair for pair in combinations(range(len(rest)), 2) if _in_one_cell(*rest[list(pair)])]).T
    length, x, v = np.linalg.norm(rest[i] - rest[j], axis=1), start_at.copy(), np.zeros_like(rest)
    h, damping = 0.1 / np.sqrt(STIFF), 2.0 * DAMPED * np.sqrt(STIFF)
    ends = csr_matrix((np.ones(len(i)), (i, np.arange(len(i)))), shape=(len(x), len(i)))
    ends -= csr_matrix((np.ones(len(j)), (j, np.arange(len(j)))), shape=(len(x), len(j)))
    for _ in range(SETTLED // 4):
        p, w = x[i] - x[j], v[i] - v[j]
        square = np.maximum(np.einsum("ec,ec->e", p, p), 1e-24)
        pull = STIFF * (1.0 - length / np.sqrt(square)) + damping * np.einsum("ec,ec->e", w, p) / square
        v = v - h * (ends @ (pull[:, None] * p))
        x = x + h * v
    return shape_error(x, rest)


def _in_one_cell(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max() < 1.5)


def recoveries() -> Values:
    """Compute LS-13: the largest error of polyhedra over lattices of 1, 2 and 3 cells; springs of 2 cells."""
    problems, found = [lattice(cells) for cells in (1, 2, 3)], {}
    for name, scale in CRUSHED.items():
        found[f"polyhedra, {name}"] = max(recovered(problem, problem.points * scale) for problem in problems)
        found[f"springs, {name}"] = springs_recovered(problems[1], problems[1].points * scale)
    return found


def random_recoveries() -> Values:
    """Compute LS-13.random: how many of 20 come back."""
    problem, found = lattice(3), {}
    updates: dict[str, Update] = {"sym-atan + fallback": "sym-atan", "paper": "paper"}
    for name, update in updates.items():
        for size in (1.0, 2.0):
            generator = np.random.default_rng(13)
            starts = [problem.points + generator.uniform(-size, size, problem.points.shape) for _ in range(TRIES)]
            errors = [recovered(problem, at, update) for at in starts]
            found[f"{name}, {size:g} L"] = float(sum(error < BACK for error in errors))
    return found


SMALL = 1e-5
"""Strain of the bar and of the sheared block: moduli are right to its square, at least."""


def moduli() -> Values:
    """Compute S2: E L/k and G L/k of a bar and a sheared block of cubes of unit edges, k = 1 N/m, and side strain."""
    law: Data = {"model": "elastic", "young": 2.0, "poisson": 0.0}
    supports = {"left": side("left", fix=["x"]), "y": side("front", fix=["y"]), "z": side("bottom", fix=["z"])}
    force = {"pull": side("right", total=[4.0 * 2.0 * SMALL, 0.0, 0.0])}
    bar = box_scene(law, cells=[8, 2, 2], cell="hex", density=1.0, supports=supports, forces=force, duration=2000.0)
    simulation = run_to(start(bar, "local-shape", damping=5.0), 2000.0)
    stretch = simulation.positions.max(axis=0) / np.array([8.0, 2.0, 2.0]) - 1.0
    motion = path((0.0, 1.0), [[0.0] * 3, [4.0 * SMALL, 0.0, 0.0]])
    everything = {"box": {"x": [-1.0, 9.0], "y": [-1.0, 9.0], "z": [-1.0, 9.0]}}
    held = {
        "bottom": side("bottom", fix=["x"]),
        "top": side("top", fix=["x"], motion=motion),
        "sides": {"body": "block", "where": everything, "fix": ["y", "z"]},
    }
    block = box_scene(law, cells=[4, 4, 4], cell="hex", density=1.0, supports=held, duration=1000.0)
    sheared = run_to(start(block, "local-shape", damping=5.0), 1000.0)
    return {
        "bar": 2.0 * SMALL / stretch[0],
        "shear block": abs(sheared.reactions()["support.top"][0]) / (16.0 * SMALL),
        "lateral strain": float(np.abs(stretch[1:]).max() / stretch[0]),
    }


def momenta() -> Values:
    """Compute S9.4: changes of both momenta over 2000 steps with damping, over the sum of all their parts."""
    problem = lattice(3)
    generator = np.random.default_rng(9)
    speeds = 10.0 * generator.standard_normal(problem.points.shape)
    simulation = put(start(problem, "local-shape"), velocities=speeds - speeds.mean(axis=0))

    def both() -> tuple[Array, Array]:
        return simulation.velocities.sum(axis=0), np.cross(simulation.positions, simulation.velocities).sum(axis=0)

    before, size = both(), np.abs(speeds).sum()
    simulation.advance(1e9, 2000)
    linear, angular = (float(np.abs(b - a).max() / size) for a, b in zip(before, both(), strict=True))
    return {"linear": linear, "angular": angular}


def growth() -> Values:
    """Compute E1: what an oscillation of omega h = 0.6 gains per step when positions move by old velocities."""
    x, v = 1.0, 0.0
    for _ in range(1000):
        x, v = x + 0.6 * v, v - 0.6 * x
    return {"growth": float(np.hypot(x, v) ** 1e-3)}


_check = partial(check, solvers=("local-shape",))
_TABLE = tuple(
    _check(f"shape.LS-{4 * row + n}", partial(table, rate, column), name=f"bouncing-cube-{rate:.0e}-{column}")
    for row, rate in enumerate(RATES)
    for n, column in enumerate(COLUMNS, start=1)
)
CHECKS = {
    "shape": (
        *_TABLE,
        _check("shape.LS-order", ordering, name="bouncing-cube-order"),
        _check("shape.LS-13", recoveries, name="shape-recovery"),
        _check("shape.LS-13.random", random_recoveries, name="shape-recovery-random"),
        *(
            _check(f"shape.LS-14/{angle}", partial(passes, float(angle)), name=f"rotation-from-{angle}", quick=True)
            for angle in (5, 30, 60)
        ),
        _check("shape.S2", moduli, name="shape-moduli"),
        _check("shape.S9.4", momenta, name="shape-momenta", quick=True),
        _check("shape.E1", growth, name="printed-update", quick=True),
    ),
}
