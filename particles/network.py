"""The elements of all bodies: edge and cell constants from each body's law, stacked for the kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix

from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel, equal_poisson
from rheotwin.meshing import element_measures
from rheotwin.particles.cell_volume import volume_matrix
from rheotwin.particles.element_match import ElementMatch, match_elements
from rheotwin.particles.stability import edge_matrix, largest_eigenvalue, stable_step
from rheotwin.problem import Problem, ProblemBody

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Constants:
    """Channel constants of many elements: spring, dashpot and arms (arms, n), in force per measure of strain."""

    stiffness: Array
    viscosity: Array
    arm_stiffness: Array
    arm_rate: Array

    @property
    def instantaneous(self) -> Array:
        """Stiffness before any arm has relaxed."""
        return np.asarray(self.stiffness + self.arm_stiffness.sum(axis=0))


@dataclass(frozen=True)
class TrussNetwork:
    """Edges (M, 2) with rest length [m] and simplices (nC, d+1) with rest volume [m^d], in global node numbers.

    Edge constants are force per extension [N/m]; cell constants pressure per volume ratio times thickness [Pa m^(3-d)].
    """

    edges: Indices
    rest_length: Array
    edge_constants: Constants
    node_share: csr_matrix
    """Part (N, M) of each edge that belongs to each node, for averages over nodes."""
    cells: Indices
    rest_volume: Array
    cell_constants: Constants
    matches: dict[str, dict[str, Any]]


def first_poisson(body: ProblemBody) -> float:
    """Poisson ratio of the law's first part: edges have one ratio, whatever the other parts say."""
    return next(part.poisson for part in body.law.parts if not part.is_absent)


def _has_volume_term(body: ProblemBody) -> bool:
    return body.cell in ("triangle", "tet")


def _match(body: ProblemBody, plane: str, volume_term: bool) -> ElementMatch:
    points, cells = body.mesh.p.T, body.mesh.t.T.astype(np.int64)
    wanted = volume_term and _has_volume_term(body)
    return match_elements(points, cells, element_measures(body.mesh), first_poisson(body), plane, volume_term=wanted)


def _warning(body: ProblemBody) -> str | None:
    """Say what edges cannot express of the body's law."""
    if equal_poisson(body.law) is not None:
        return None
    return (
        f"the parts of its law have different Poisson ratios, which edges cannot have: "
        f"all use the first one, {first_poisson(body):.4g}"
    )


def _report(match: ElementMatch, channel: Channel, body: ProblemBody) -> dict[str, Any]:
    warning = _warning(body)
    if warning is not None:
        warnings.warn(f"bodies.{body.name}: {warning}", stacklevel=2)
    return ({} if warning is None else {"warning": warning}) | {
        "edges": len(match.edges),
        "volume_cells": int(np.count_nonzero(match.volume_modulus)),
        "arms_per_element": len(channel.times),
        "poisson_of_law": first_poisson(body),
        "stiffness_misfit": match.misfit,
        "element_stiffness_misfit": match.element_misfit,
    }


def _stack(channels: list[Channel], shares: list[Array]) -> Constants:
    """Give element e of body b the constants channel_b times share_e; unused arms are zero."""
    arms = max(len(channel.times) for channel in channels)
    total = sum(len(share) for share in shares)
    arm_stiffness, arm_rate = np.zeros((arms, total)), np.ones((arms, total))
    first = 0
    for channel, share in zip(channels, shares, strict=True):
        part = slice(first, first + len(share))
        for arm, (strength, time) in enumerate(zip(channel.strengths, channel.times, strict=True)):
            arm_stiffness[arm, part] = strength * share
            arm_rate[arm, part] = 1.0 / time
        first += len(share)
    return Constants(
        stiffness=np.concatenate([c.equilibrium * s for c, s in zip(channels, shares, strict=True)]),
        viscosity=np.concatenate([c.viscosity * s for c, s in zip(channels, shares, strict=True)]),
        arm_stiffness=arm_stiffness,
        arm_rate=arm_rate,
    )


def build_network(problem: Problem, *, volume_term: bool) -> TrussNetwork:
    """Match every body's elements to its law: each constant is the channel of Young's modulus times its share."""
    bodies = problem.bodies
    channels = [body.law.channel("young") for body in bodies]
    matches = [_match(body, problem.plane, volume_term) for body in bodies]
    edges = np.concatenate([m.edges + b.first_node for m, b in zip(matches, bodies, strict=True)])
    vectors = problem.points[edges[:, 1]] - problem.points[edges[:, 0]]
    kept = [np.flatnonzero(match.volume_modulus) for match in matches]
    corners = problem.dimension + 1
    cells = [
        (b.mesh.t.T[k] + b.first_node).astype(np.int64) if len(k) else np.zeros((0, corners), np.int64)
        for b, k in zip(bodies, kept, strict=True)
    ]
    return TrussNetwork(
        edges=edges,
        rest_length=np.linalg.norm(vectors, axis=1),
        edge_constants=_stack(channels, [m.stiffness * problem.thickness for m in matches]),
        node_share=block_diag([m.node_share for m in matches], format="csr"),
        cells=np.concatenate(cells),
        rest_volume=np.concatenate([element_measures(b.mesh)[k] for b, k in zip(bodies, kept, strict=True)]),
        cell_constants=_stack(
            channels, [m.volume_modulus[k] * problem.thickness for m, k in zip(matches, kept, strict=True)]
        ),
        matches={b.name: _report(m, c, b) for b, m, c in zip(bodies, matches, channels, strict=True)},
    )


def network_stable_step(problem: Problem, network: TrussNetwork, rest: Array) -> float:
    """Return the stable step [s] of the bodies at rest (N, 3) (section 6 bound with their own spectrum)."""
    if not np.all(problem.masses > 0.0):
        raise RheotwinError(
            f"bodies: node {int(np.argmin(problem.masses))} has no mass; give the body a density or total mass"
        )
    free = (problem.owners < 0).ravel()
    masses = np.repeat(problem.masses, problem.dimension)
    rates = []
    for edge, cell in (
        (network.edge_constants.instantaneous, network.cell_constants.instantaneous),
        (network.edge_constants.viscosity, network.cell_constants.viscosity),
    ):
        matrix = edge_matrix(problem.points, network.edges, edge)
        if len(network.cells):
            matrix = matrix + volume_matrix(rest, network.cells, cell / network.rest_volume, problem.dimension)
        rates.append(largest_eigenvalue(matrix, masses, free))
    return stable_step(*rates)
