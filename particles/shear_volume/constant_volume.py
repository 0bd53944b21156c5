"""The constraints of a problem that keep its volumes, and what is said about them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.feasible import rank_report
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import RheotwinError
from rheotwin.particles.constraint_options import CORRECTION, LARGEST, cells_of_bodies
from rheotwin.particles.shear_volume.options import Kind, ShearVolumeOptions
from rheotwin.particles.shear_volume.pressure import Pressure, pack_pressure
from rheotwin.problem import Problem
from rheotwin.tensors import padded

OPTION = "solvers.shear-volume.incompressible"


@dataclass(frozen=True)
class Incompressible:
    """The packed constraints, and the average (N, C) [1] of patches' pressures to nodes by volume."""

    packed: Pressure
    average: csr_matrix
    about: dict[str, Any]

    @property
    def count(self) -> int:
        """Number of constraints."""
        return len(self.packed.value)

    def pressure(self, multipliers: Array, problem: Problem) -> Array:
        """Return the pressure (N,) [Pa], averaged to nodes, of multipliers (2, C): forces A L drive patches apart."""
        return np.asarray(self.average @ multipliers[0]) / problem.thickness

    def statistics(self) -> dict[str, Any]:
        """Return counts, the work of the solver and how well volumes have been kept."""
        log = self.packed.log
        steps = max(1.0, float(log.steps[0]))
        return self.about | {
            "constraint_iterations_per_step": float(log.iterations[0]) / steps,
            "constraint_iterations_most": int(log.most[0]),
            "constraint_solutions_per_step": float(log.looks[0]) / steps,
            "largest_volume_error": float(log.error[0]),
        }


def require_plane_strain(problem: Problem, options: ShearVolumeOptions) -> None:
    """Refuse constant areas where they are not constant volumes."""
    if options.incompressible != "none" and problem.dimension == 2 and problem.plane != "strain":
        raise RheotwinError(
            f'{OPTION}: constant areas are constant volumes in plane strain only; choose plane = "strain" or three '
            "dimensions"
        )


def build_incompressible(
    problem: Problem, options: ShearVolumeOptions, candidates: Indices, h: float
) -> Incompressible | None:
    """Return the constraints of a problem for steps of `h` [s], None for compressible bodies.

    `candidates` are the nodes that tools may touch.
    """
    if options.incompressible == "none":
        return None
    simplices, groups = cells_of_bodies(problem, cells=options.incompressible in ("cell", "pair"))
    if simplices.shape[1] != problem.dimension + 1:
        raise RheotwinError(
            f"{OPTION}: constant volumes need triangles (2D) or tets (3D); set `cell` of the body accordingly"
        )
    kind = _kind(options.incompressible, problem.dimension)
    constraints = measure_constraints(patches(kind, simplices, problem.points, groups), problem.points)
    frequency = _frequency(options, h)
    held = problem.owners >= 0
    inverse = padded(np.where(held, 0.0, 1.0 / problem.masses[:, None]))
    packed = pack_pressure(
        constraints,
        inverse,
        candidates,
        frequency=frequency,
        tolerance=options.volume_tolerance,
        dimension=problem.dimension,
    )
    gradient = constraints.gradient(problem.points)
    about: dict[str, Any] = {
        "constraints": constraints.count,
        "constraint_frequency": frequency,
        "unknowns": int(np.count_nonzero(~held)),
    }
    if kind == "element":
        report = rank_report(kind, gradient, held.ravel())
        about |= {"constraint_rank": report.rank, "free_modes": report.free_modes}
        if report.locks:
            warnings.warn(f"{OPTION}: {report.sentence()}", stacklevel=2)
    return Incompressible(packed, _average(constraints.patches.shares, simplices, problem), about)


def _kind(wanted: Kind, dimension: int) -> PatchKind:
    if wanted == "pair" and dimension == 3:
        raise RheotwinError(f'{OPTION}: "pair" means the two triangles of a square; use "cell" in three dimensions')
    return "cell" if wanted in ("pair", "cell") else "node" if wanted == "node" else "element"


def _frequency(options: ShearVolumeOptions, h: float) -> float:
    frequency = CORRECTION / h if options.constraint_frequency is None else options.constraint_frequency
    if frequency * h >= LARGEST["semi-implicit"]:
        raise RheotwinError(
            f"solvers.shear-volume.constraint_frequency: {frequency:.6g}/s is not below the "
            f"{LARGEST['semi-implicit'] / h:.6g}/s up to which a step of {h:.6g} s corrects volumes without "
            f"overshooting for ever; choose at most {CORRECTION / h:.3g} or leave it out"
        )
    return frequency


def _average(shares: csr_matrix, simplices: Indices, problem: Problem) -> csr_matrix:
    """Return the matrix (N, C) that averages what patches have to nodes, elements counting by their measure."""
    corners = simplices.shape[1]
    edges = problem.points[simplices[:, 1:]] - problem.points[simplices[:, :1]]
    size = np.repeat(np.linalg.det(edges), corners)
    element = np.repeat(np.arange(len(simplices)), corners)
    node = simplices.ravel()
    total = np.bincount(node, size, minlength=len(problem.points))
    spread = csr_matrix((size / total[node], (node, element)), shape=(len(problem.points), len(simplices)))
    return (spread @ shares.T).tocsr()
