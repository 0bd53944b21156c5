"""Shape-keeping polyhedra: the paper's tables, recovery, moduli and momenta (LS-1 to LS-15)."""

from __future__ import annotations

import math
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.particles.local_shape.options import Rotation as Update
from rheotwin.particles.local_shape.rotation import (
    matrix_of,
    normalised,
    paper_turn,
    product,
    sym_atan_turn,
    times_transposed,
)
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


GRAVITY, EDGE, BOUNCE, FRICTION, HEIGHT, SECONDS, CUBES = 9.8, 0.05, 0.95, 0.1, 10.0, 10.2, 40
"""Table 1 (spec 7): [m/s2], edge [m], restitution, friction, height of the fall [edges], time with it [s], cubes."""
RATES = (1e4, 1e5, 1e6)
"""k/m [1/s2] of the rows of table 1."""
STEPS = dict(zip(RATES, (0.006, 0.002, 0.0006), strict=True))
COLUMNS = {"A": (1.0, 1), "B": (0.1, 1), "C": (1.0, 2), "D": (1.0, 3)}
"""Steps over those of column A, and passes."""


def bouncing_cubes(rate: float, count: int) -> Data:
    """Return the scene of table 1, with `count` cubes in random orientations that do not see each other."""
    unit, bodies = np.array(list(np.ndindex(2, 2, 2)), dtype=float), {}
    for number, turn in enumerate(Rotation.random(count, rng=1)):
        axis, angle = turn.as_rotvec(), turn.magnitude()
        bodies[f"cube-{number}"] = {
            **{"shape": "box", "size": [EDGE] * 3, "cells": [1, 1, 1], "cell": "hex", "law": "rubber"},
            **{"mass": 8.0, "mass_sharing": "equal", "rotation": {"axis": list(axis / angle), "angle": angle}},
            "origin": [0.0, 0.0, EDGE * (HEIGHT - turn.apply(unit)[:, 2].min())],
        }
    return {
        **{"schema": 1, "dimension": 3, "duration": SECONDS, "gravity": [0.0, 0.0, -GRAVITY], "bodies": bodies},
        "laws": {"rubber": {"model": "elastic", "young": 2.0 * rate / EDGE, "poisson": 0.0}},
        "tools": {"floor": {"shape": "plane", "center": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}},
        "contact": {"law": "impulse", "restitution": BOUNCE, "friction": FRICTION, "bodies": False},
        "output": {"interval": SECONDS},
    }


@cache
def spurious(rate: float, column: str) -> tuple[float, float]:
    """Return the median over orientations of mean and largest alpha [1/s2] of a bouncing cube."""
    share, passes = COLUMNS[column]
    options: Data = {"rotation": "paper", "passes": passes, "step": share * STEPS[rate], "damping": 0.0}
    simulation: Any = start(bouncing_cubes(rate, CUBES), "local-shape", spurious_turns=True, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rounds of impulses, in cubes that one pass spins up
        run_to(simulation, SECONDS)
    mean, _, most = simulation.method.spurious_turns(simulation.state, simulation.step_count)
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


SPRING: Data = {"model": "voigt", "young": STIFF, "viscosity": 2.0 * DAMPED * math.sqrt(STIFF), "poisson": 0.25}


def lattice(cells: int, law: Data | None = None) -> Problem:
    """Return cubes of unit edges, k = 1e4 N/m, and vertices of 1 kg."""
    elastic = {"model": "elastic", "young": 2.0 * STIFF, "poisson": 0.0}
    scene = box_scene(law or elastic, cells=[cells] * 3, cell="hex", equal_mass=float((cells + 1) ** 3))
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
    """Return the shape error of springs along edges and all diagonals (1)."""
    springs = put(start(problem, "truss", match="edge", step=1e-3), positions=start_at)
    springs.advance(1e9, SETTLED // 4)
    return shape_error(springs.positions, problem.points)


def recoveries() -> Values:
    """Compute LS-13: the largest error of polyhedra over lattices of 1, 2 and 3 cells; springs of 2 cells."""
    problems, found = [lattice(cells) for cells in (1, 2, 3)], {}
    for name, scale in CRUSHED.items():
        found[f"polyhedra, {name}"] = max(recovered(problem, problem.points * scale) for problem in problems)
        found[f"springs, {name}"] = springs_recovered(lattice(2, SPRING), problems[1].points * scale)
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


FLATTENING = path((0.0, 0.5, 1.0), [[0.0, 0.0], [0.0, -1.0], [0.0, -1.0]])


def flat_force(solver: str, body: Data, **options: Any) -> Array:
    """Return the force [N] on what holds the upper side of a unit square on its lower one."""
    supports = {"below": side("bottom"), "above": side("top", motion=FLATTENING)}
    law = {"model": "voigt", "young": 100.0, "viscosity": 1.0, "poisson": 0.0}
    scene = box_scene(law, cells=[1, 1], equal_mass=4.0, supports=supports, **body)
    return run_to(start(scene, solver, step=0.01, **options), 0.9).reactions()["support.above"]


def flat_forces() -> Values:
    """Compute F2."""
    square = flat_force("local-shape", {"cell": "quad"})
    springs = [flat_force("truss", {"pattern": pattern}, match="edge") for pattern in ("se-nw", "sw-ne")]
    return {
        "polyhedron, across": float(square[1]),
        "polyhedron, along": float(square[0]),
        "springs, across": float(max(abs(force[1]) for force in springs)),
        "springs, along, one diagonal": float(springs[0][0]),
        "springs, along, the other": float(springs[1][0]),
    }


DROP: Data = {
    **{"gravity": [0.0, 0.0, -9.8], "duration": 6.0, "contact": {"friction": 0.3}},
    "tools": {"floor": {"shape": "plane", "center": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}},
}
HARDNESS = {"soft": (200.0, 4.0), "stiff": (2000.0, 13.0)}
"""k/m [1/s2] of vertices of 1 kg, k = E L/2 at L = 2 m, and the viscosity."""


def dropped() -> Values:
    """Compute F4."""
    found: dict[str, float] = {}
    for name, (young, viscosity) in HARDNESS.items():
        law = {"model": "voigt", "young": young, "viscosity": viscosity, "poisson": 0.0}
        scene = box_scene(law, cells=[3] * 3, size=[6.0] * 3, cell="hex", equal_mass=64.0, **DROP)
        scene["bodies"]["block"] |= {"origin": [0.0, 0.0, 0.5], "velocity": [0.0, 0.0, -25.0]}
        scene["bodies"]["block"]["rotation"] = {"axis": [1.0, 0.3, 0.0], "angle": 0.1}
        problem = problem_of(scene)
        for what, solver, options in (("polyhedra", "local-shape", {}), ("springs", "truss", {"match": "edge"})):
            simulation = run_to(start(problem, solver, **options), 6.0)
            found[f"{what}, {name}"] = shape_error(simulation.positions, problem.points)
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
        check("shape.F2", flat_forces, name="flattened-square", solvers=("local-shape", "truss"), quick=True),
        check("shape.F4", dropped, name="dropped-lattice", solvers=("local-shape", "truss")),
        _check("shape.S2", moduli, name="shape-moduli"),
        _check("shape.S9.4", momenta, name="shape-momenta", quick=True),
        _check("shape.E1", growth, name="printed-update", quick=True),
    ),
}
