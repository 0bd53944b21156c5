"""The edges of all bodies with their networks: constants from each body's law, stacked for the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.meshing import element_measures
from rheotwin.particles.edge_stiffness import EdgeMatch, match_edges
from rheotwin.particles.stability import edge_matrix, largest_eigenvalue, stable_step
from rheotwin.problem import Problem, ProblemBody

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class TrussNetwork:
    """Edges (M, 2) in global node numbers with rest length [m] and network constants [N/m, N s/m, 1/s]."""

    edges: Indices
    rest_length: Array
    stiffness: Array
    viscosity: Array
    arm_stiffness: Array
    arm_rate: Array
    matches: dict[str, dict[str, Any]]

    @property
    def arms(self) -> int:
        """Number of internal variables per edge."""
        return int(self.arm_stiffness.shape[0])


def _poisson(body: ProblemBody) -> float:
    """Poisson ratio of the law's first part: edges have one ratio, whatever the other parts say."""
    return next(part.poisson for part in body.law.parts if not part.is_absent)


def _match(body: ProblemBody, plane: str) -> EdgeMatch:
    points, cells = body.mesh.p.T, body.mesh.t.T.astype(np.int64)
    return match_edges(points, cells, element_measures(body.mesh), _poisson(body), plane)


def _report(match: EdgeMatch, channel: Channel, poisson: float) -> dict[str, Any]:
    return {
        "edges": len(match.edges),
        "arms_per_edge": len(channel.times),
        "poisson_of_law": poisson,
        "stiffness_misfit": match.misfit,
        "element_stiffness_misfit": match.element_misfit,
    }


def build_network(problem: Problem) -> TrussNetwork:
    """Match every body's edges to its law: each constant is the channel of Young's modulus times the edge's share.

    An edge of stiffness share s [m] carries g_inf s as a spring, each arm (g_a s, 1/tau_a) and the viscosity eta s.
    """
    edges, shares, channels, reports = [], [], [], {}
    for body in problem.bodies:
        match, channel = _match(body, problem.plane), body.law.channel("young")
        edges.append(match.edges + body.first_node)
        shares.append(match.stiffness * problem.thickness)
        channels.append(channel)
        reports[body.name] = _report(match, channel, _poisson(body))
    counts = [len(part) for part in edges]
    arms = max(len(channel.times) for channel in channels)
    arm_stiffness, arm_rate = np.zeros((arms, sum(counts))), np.ones((arms, sum(counts)))
    first = 0
    for channel, share, count in zip(channels, shares, counts, strict=True):
        for arm, (strength, time) in enumerate(zip(channel.strengths, channel.times, strict=True)):
            arm_stiffness[arm, first : first + count] = strength * share
            arm_rate[arm, first : first + count] = 1.0 / time
        first += count
    all_edges = np.concatenate(edges)
    vectors = problem.points[all_edges[:, 1]] - problem.points[all_edges[:, 0]]
    return TrussNetwork(
        edges=all_edges,
        rest_length=np.linalg.norm(vectors, axis=1),
        stiffness=np.concatenate([c.equilibrium * s for c, s in zip(channels, shares, strict=True)]),
        viscosity=np.concatenate([c.viscosity * s for c, s in zip(channels, shares, strict=True)]),
        arm_stiffness=arm_stiffness,
        arm_rate=arm_rate,
        matches=reports,
    )


def free_components(problem: Problem) -> NDArray[np.bool_]:
    """Mark the components (N*d,) that no support holds."""
    free = np.ones(problem.points.shape, dtype=bool)
    for item in problem.prescribed:
        free[np.ix_(item.nodes, item.components)] = False
    return free.ravel()


def network_stable_step(problem: Problem, network: TrussNetwork) -> float:
    """Return the stable step [s] of the body at rest (section 6 bound with its own spectrum)."""
    free = free_components(problem)
    masses = np.repeat(problem.masses, problem.dimension)
    if not np.all(problem.masses > 0.0):
        raise RheotwinError(
            f"bodies: node {int(np.argmin(problem.masses))} has no mass; give the body a density or total mass"
        )
    instantaneous = network.stiffness + network.arm_stiffness.sum(axis=0)
    rates = [
        largest_eigenvalue(edge_matrix(problem.points, network.edges, constants), masses, free)
        for constants in (instantaneous, network.viscosity)
    ]
    return stable_step(*rates)
