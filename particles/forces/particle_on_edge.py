"""Hanging particles of coarse-fine bodies, tied to dividing points of edges (spec section 7).

Particle P hangs on the edge jk at Q = (1 - r) x_j + r x_k. A Voigt unit of no length draws it there, alike in every
direction, and the edge's ends carry the reaction:

    f_P = -K (P - Q) - C (P' - Q'),      f_j = -(1 - r) f_P,      f_k = -r f_P

Momentum is exact. The elastic part points along P - Q, so its moment is zero; that of the damping fades with |P - Q|.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, diags, kron

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.network import TrussNetwork
from rheotwin.problem import Problem


class ParticlesOnEdges(NamedTuple):
    """Particles (n,), the ends of their edges (n, 2), ratios r, stiffness K [N/m] and damping C [N s/m] of the ties."""

    particle: Indices
    ends: Indices
    ratio: Array
    stiffness: Array
    damping: Array


@compiled
def add_particle_on_edge_forces(ties: ParticlesOnEdges, x: Array, v: Array, force: Array) -> None:
    """Draw every hanging particle to its point on the edge."""
    for n in range(ties.particle.shape[0]):
        p, j, k, r = ties.particle[n], ties.ends[n, 0], ties.ends[n, 1], ties.ratio[n]
        for c in range(3):
            gap = x[p, c] - (1.0 - r) * x[j, c] - r * x[k, c]
            rate = v[p, c] - (1.0 - r) * v[j, c] - r * v[k, c]
            f = -ties.stiffness[n] * gap - ties.damping[n] * rate
            force[p, c] += f
            force[j, c] -= (1.0 - r) * f
            force[k, c] -= r * f


def make_ties(problem: Problem, network: TrussNetwork, *, stiffness: float, damping: float) -> ParticlesOnEdges | None:
    """Tie the hanging nodes of all bodies; None where there are none.

    K is `stiffness` times the sum of what the edges around a particle resist at once [N/m]; C is `damping` times the
    critical damping 2 sqrt(K m) of the particle on its tie [N s/m].
    """
    hanging = [(body.first_node, body.hanging) for body in problem.bodies]
    node = np.concatenate([first + part.node for first, part in hanging])
    if not len(node):
        return None
    around = np.bincount(
        network.edges.ravel(), weights=np.repeat(network.edge_constants.instantaneous, 2), minlength=len(problem.points)
    )
    bare = node[around[node] == 0.0]
    if len(bare):
        raise RheotwinError(
            f"bodies.{problem.body_of(int(bare[0])).name}: node {bare[0]} hangs on an edge, but its law has no spring "
            "to tie it with; give the law a stiffness or leave `finer` out"
        )
    share = np.concatenate([part.share for _, part in hanging])
    ties = share * stiffness * around[node]
    return ParticlesOnEdges(
        particle=node,
        ends=np.concatenate([first + np.stack([part.start, part.end], axis=1) for first, part in hanging]),
        ratio=np.concatenate([part.ratio for _, part in hanging]),
        stiffness=ties,
        damping=2.0 * damping * np.sqrt(ties * share * problem.masses[node]),
    )


def gap_operator(ties: ParticlesOnEdges, nodes: int) -> csr_matrix:
    """Return the matrix (n, N) that maps a component of all positions to that of P - Q."""
    rows = np.repeat(np.arange(len(ties.particle)), 3)
    columns = np.column_stack([ties.particle, ties.ends]).ravel()
    values = np.column_stack([np.ones_like(ties.ratio), ties.ratio - 1.0, -ties.ratio]).ravel()
    return csr_matrix((values, (rows, columns)), shape=(len(ties.particle), nodes))


def tie_matrix(ties: ParticlesOnEdges, constants: Array, nodes: int, dimension: int) -> csr_matrix:
    """Return sum_n c_n g g^T of the ties on the components (N*d); `constants` (n,) are K or C."""
    operator = gap_operator(ties, nodes)
    return kron(operator.T @ diags(constants) @ operator, np.eye(dimension), format="csr")


def gaps(ties: ParticlesOnEdges, x: Array) -> Array:
    """Return |P - Q| (n,) [m] at positions (N, 3)."""
    return np.asarray(np.linalg.norm(gap_operator(ties, len(x)) @ x, axis=1))


def tie_energy(ties: ParticlesOnEdges | None, x: Array) -> float:
    """Return K |P - Q|^2/2 of all ties [J]."""
    return 0.0 if ties is None else 0.5 * float(np.sum(ties.stiffness * gaps(ties, x) ** 2))


def add_tie_matrices(
    others: list[tuple[csr_matrix, float]], ties: ParticlesOnEdges | None, problem: Problem
) -> list[tuple[csr_matrix, float]]:
    """Add the ties' stiffness and viscosity to the two matrices of what is not in the network."""
    if ties is None:
        return others
    nodes, dimension = problem.points.shape
    return [
        (matrix + tie_matrix(ties, constants, nodes, dimension), bound)
        for (matrix, bound), constants in zip(others, (ties.stiffness, ties.damping), strict=True)
    ]


def tie_statistics(ties: ParticlesOnEdges | None, x: Array) -> dict[str, Any]:
    """Return the number of hanging particles and the widest gap to their edges [m]."""
    if ties is None:
        return {}
    return {"hanging_particles": len(np.unique(ties.particle)), "widest_gap": float(gaps(ties, x).max())}
