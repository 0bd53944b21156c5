"""Lattices and trusses in numbers, from their geometry alone.

Edges of boxes as trusses of tetrahedra (R1). Numbers of the papers' lattices: elements by size, eigenvalues that bound
steps, sums of counts (calibration). The largest stable step of a pure dashpot network of unit masses (R10).
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np

from rheotwin.meshing import BoxShape, hex_grid, lattice_edges, make_shape, tet_grid, truss_edges
from rheotwin.particles.forces.voxel_centre import diagonal_edges
from rheotwin.particles.stability import ModeLaw, edge_matrix, explicit_limit, largest_eigenvalue
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import FLOOR, HELD, LAWS, Data, begin, box_scene, problem_of
from rheotwin.validation.references import catalogue

BOXES = ((7, 7, 6), (9, 8, 8), (4, 4, 4), (6, 5, 5), (15, 15, 16))
"""Particles along each axis."""
SIZES = ((6, 4, 6), (7, 5, 7), (8, 6, 8), (11, 7, 11), (16, 10, 16), (21, 13, 21))
"""Points along push, up and depth; the lowest layer is held."""
KINDS = {"l": 1.0, "sqrt2 l": 2.0**0.5, "sqrt3 l": 3.0**0.5}
PUSHED_ROWS = 2
STRUCTURES: dict[str, tuple[str, Data]] = {
    "lattice": ("hex", {}), "local": ("hex", {"local_volume": True}), "truss": ("tet", {}),
}  # fmt: skip
"""Cells and options of the structures."""


def edges(boxes: tuple[tuple[int, int, int], ...], pattern: str | None = None) -> Values:
    """Count the edges of boxes whose cubes are split by a pattern, by default into five tetrahedra."""
    found = {}
    for particles in boxes:
        cells = (particles[0] - 1, particles[1] - 1, particles[2] - 1)
        mesh = make_shape(BoxShape((1.0, 1.0, 1.0), cells, **({} if pattern is None else {"pattern": pattern})))
        found["x".join(map(str, particles))] = float(len(truss_edges(mesh)))
    return found


def elements() -> Values:
    """Count the points of each size, and its edges as lattice, as truss and with half elements in its voxels."""
    found: dict[str, float] = {}
    for along, up, deep in SIZES:
        axes = [np.arange(float(count)) for count in (along, up, deep)]
        mesh = hex_grid(*axes)
        edges, cells = lattice_edges(mesh).astype(np.int64), mesh.t.T.astype(np.int64)
        lengths = np.linalg.norm(mesh.p.T[edges[:, 1]] - mesh.p.T[edges[:, 0]], axis=1)
        counts = {f"edges {kind}": int(np.isclose(lengths, length).sum()) for kind, length in KINDS.items()}
        counts |= {
            "points": along * up * deep,
            "free points": along * up * deep - along * deep - PUSHED_ROWS * deep,
            "lattice": len(edges),
            "truss": len(truss_edges(tet_grid(*axes))),
            "local": len(edges) - len(np.unique(diagonal_edges(cells, edges))) + cells.size,
        }
        found |= {f"{along}x{up}x{deep}, {what}": float(count) for what, count in counts.items()}
    return found


def unit_masses(law: Data, cells: list[int], **more: Any) -> Data:
    """Return a block of unit cells with points of 1 kg."""
    return box_scene(law, cells=cells, equal_mass=float(np.prod(np.array(cells) + 1)), **more)


def eigenvalues() -> Values:
    """Compute the largest eigenvalues of dashpots of 1 N s/m between points of 1 kg: Euler's limit is 2 over them."""
    dashpot = {"model": "voigt", "young": 0.0, "poisson": 0.25, "viscosity": 1.0, "viscous_poisson": 0.25}
    found = {}
    for along, up, deep in SIZES[:2]:
        for name, (cell, options) in STRUCTURES.items():
            data = unit_masses(dashpot, [along - 1, deep - 1, up - 1], cell=cell, supports=FLOOR)
            found[f"{name}, {along}x{up}x{deep}"] = 2.0 / begin(data, stepper="euler", **options).stable_step
    return found


FAR: dict[str, list[int]] = LAWS["far-points"]
"""Points that are far from the shape at the four times, as P1 and P4 print them."""
PRINTED_IN_P2 = {"R2 M2": [498, 451, 459, 388]}
TOTALS = {"R2 M1": 1496, "R2 M2": 2796, "R2 M3E": 895, "R3 M1": 3718, "R3 M2": 4218, "R3 M3E": 2422}
"""Totals that the catalogue does not list with R7, R8 and R9."""


def wrong_sums() -> Values:
    """Count printed totals that are no sums."""
    totals = TOTALS | {
        f"{label} {quantity.name.removesuffix('count').rstrip(', ')}": int(quantity.reference)
        for label in ("R7", "R8", "R9")
        for quantity in catalogue().quantities(f"calibration.{label}")
        if quantity.name.endswith("count")
    }

    def wrong(counts: dict[str, list[int]]) -> float:
        return float(sum(sum(parts) != totals[name] for name, parts in counts.items()))

    return {
        "with P1's 1451": wrong(FAR),
        "with P2's 451": wrong(FAR | PRINTED_IN_P2),
        "T2 M2 total": float(sum(FAR["R2 M2"])),
        "T2 M3E sum": float(sum(FAR["R2 M3E"])),
        "T2 M3E printed": float(TOTALS["R2 M3E"]),
    }


DASHPOT: Data = {"model": "voigt", "young": 0.0, "viscosity": 1.0, "viscous_poisson": 0.0, "poisson": 0.0}
RULES: dict[str, Literal["rk4", "euler"]] = {"RK4": "rk4", "Euler": "euler"}
SYSTEMS: dict[str, Data] = {
    "wall": {"cells": [1], "supports": HELD},
    "pair": {"cells": [1]},
    "chain": {"cells": [300]},
    "17x7": {"cells": [16, 6], "pattern": "se-nw"},
    "7x7x6": {"cells": [6, 6, 5]},
    "15x15x16": {"cells": [14, 14, 15]},
}
"""Unit edges along the axes; one diagonal per square, five tetrahedra per cube."""


def eigenvalue(problem: Problem) -> float:
    """Return the largest eigenvalue of the unit-mass edge Laplacian of a problem's truss."""
    points, edges = problem.points, truss_edges(problem.bodies[0].mesh).astype(np.int64)
    free = (problem.owners < 0).ravel()
    return largest_eigenvalue(edge_matrix(points, edges, np.ones(len(edges))), np.ones(points.size), free)


def infinite() -> float:
    """Return the same of an endless lattice: Bloch waves of a cell of 2 x 2 x 2 cubes, over a grid of wave vectors."""
    line = np.arange(5.0)
    mesh = tet_grid(line, line, line)
    ends = mesh.p.T[truss_edges(mesh).astype(np.int64)]
    ends = ends[(ends.min(axis=1) < 2.0).all(axis=1)]  # edges that begin in the first cell: each class once
    wrapped = np.mod(ends, 2.0).astype(np.int64)
    node = wrapped @ np.array([1, 2, 4])
    shift = (ends - wrapped)[:, 1] - (ends - wrapped)[:, 0]
    along = (ends[:, 1] - ends[:, 0]) / np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)[:, None]
    blocks, largest = along[:, :, None] * along[:, None, :], 0.0
    for wave in product(np.linspace(0.0, 0.5 * np.pi, 5), repeat=3):
        matrix = np.zeros((8, 3, 8, 3), dtype=complex)
        for (i, j), block, turn in zip(node, blocks, np.exp(1j * (shift @ np.array(wave))), strict=True):
            matrix[i, :, i] += block
            matrix[j, :, j] += block
            matrix[i, :, j] -= turn * block
            matrix[j, :, i] -= np.conj(turn) * block
        largest = max(largest, float(np.linalg.eigvalsh(matrix.reshape(24, 24))[-1]))
    return largest


def stable_steps() -> Values:
    """Compute R10: eta T/m from the advisor of the solver, and the eigenvalue behind it."""
    found, none = {}, np.zeros(0)
    for name, system in SYSTEMS.items():
        data = unit_masses(DASHPOT, **system)
        found[f"{name}, lambda"] = eigenvalue(problem_of(data))
        found |= {f"{name}, {rule}": begin(data, stepper=stepper).stable_step for rule, stepper in RULES.items()}
    found["infinite, lambda"] = limit = infinite()
    for rule, stepper in RULES.items():
        found[f"infinite, {rule}"] = explicit_limit(stepper, ModeLaw(0.0, 1.0, none, none), np.array([limit])).step
    return found


_check = partial(check, solvers=("truss",))
CHECKS = {
    "lattices": (
        _check("truss.R1", lambda: edges(BOXES), name="edges-of-boxes", quick=True),
        _check("truss.R1.split", lambda: edges(BOXES[2:3], "six"), name="edges-of-a-box-in-six", quick=True),
    ),
    "stable_steps": (_check("truss.R10", stable_steps, name="stable-dashpots"),),
    "lattice_numbers": (
        _check("calibration.R10", elements, name="lattice-elements", quick=True),
        _check("calibration.S2", eigenvalues, name="lattice-eigenvalues", quick=True),
        _check("calibration.A2", wrong_sums, name="printed-counts", quick=True),
    ),
}
