"""The elements of all bodies: constants of edges and cells by law, stacked, and what they must be like at rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel, NonlinearThreeElement, Tabulated, equal_poisson
from rheotwin.meshing import check_elements, element_measures
from rheotwin.particles.edge_laws import BodyLaws, LawOptions, body_laws, law_poisson, loop_order, nonlinear_groups
from rheotwin.particles.element_match import ElementMatch, Method, Springs, cauchy_poisson, match_elements
from rheotwin.particles.forces.edges import EdgeGroup
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.nonlinear_edges import kind_of, largest_tangents
from rheotwin.particles.match_report import match_report
from rheotwin.problem import Problem, ProblemBody


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

    def first(self, count: int) -> Constants:
        """Return those of the first `count` elements."""
        arms = (np.ascontiguousarray(array[:, :count]) for array in (self.arm_stiffness, self.arm_rate))
        return Constants(self.stiffness[:count], self.viscosity[:count], *arms)


@dataclass(frozen=True)
class TrussNetwork:
    """Edges (M, 2) with rest length [m] and simplices (nC, d+1) with rest volume [m^d], in global node numbers.

    Edge constants are force per extension [N/m]; cell constants pressure per volume ratio times thickness [Pa m^(3-d)].
    Edges with nonlinear laws come last, sorted by kind; their edge constants are the largest tangents they can show.
    """

    edges: Indices
    rest_length: Array
    edge_share: Array
    """Constants of each edge per those of its law: k of a unit Young's modulus [m]; 1 with `edge`."""
    edge_constants: Constants
    cell_share: csr_matrix
    """Part (all cells, M) of an edge that belongs to a cell."""
    node_share: csr_matrix
    """Part (N, M) of each edge that belongs to each node, for averages over nodes."""
    cells: Indices
    cell_number: Indices
    """Which of all cells the simplices with volume springs are."""
    rest_volume: Array
    cell_constants: Constants
    matches: dict[str, dict[str, Any]]
    nonlinear: tuple[EdgeGroup, ...] = ()

    @property
    def linear_edges(self) -> int:
        """Number of edges with linear laws."""
        return len(self.edges) - sum(len(group.corners) for group in self.nonlinear)

    @cached_property
    def linear_part(self) -> tuple[Indices, Array, Constants]:
        """Ends, rest lengths and constants of the edges with linear laws."""
        count = self.linear_edges
        return self.edges[:count], self.rest_length[:count], self.edge_constants.first(count)


def first_poisson(body: ProblemBody) -> float:
    """Poisson ratio of the law's first part: edges have one ratio, whatever the other parts say."""
    return law_poisson(body.law)


def _has_volume_term(body: ProblemBody, laws: BodyLaws, plane: str) -> bool:
    """Return whether simplices get volume springs: those of nonlinear laws for ratios that edges cannot have alone."""
    tied = cauchy_poisson(body.mesh.p.shape[0], plane)
    return body.cell in ("triangle", "tet") and (laws.linear or first_poisson(body) > tied)


def _match(
    body: ProblemBody, laws: BodyLaws, plane: str, volume_term: bool, method: Method, springs: Springs
) -> ElementMatch:
    points, cells = body.mesh.p.T, body.mesh.t.T.astype(np.int64)
    wanted = volume_term and _has_volume_term(body, laws, plane)
    measures, poisson = element_measures(body.mesh), first_poisson(body)
    return match_elements(points, cells, measures, poisson, plane, volume_term=wanted, method=method, springs=springs)


def _warning(match: ElementMatch, body: ProblemBody, laws: BodyLaws, plane: str, method: Method) -> str | None:
    """Say what edges cannot express of the body's law."""
    tied, springs_alone = cauchy_poisson(body.mesh.p.shape[0], plane), not match.volume_modulus.any()
    if (
        not laws.linear
        and springs_alone
        and body.mesh.p.shape[0] > 1
        and method != "edge"
        and first_poisson(body) > tied
    ):
        return (
            f"its nonlinear law has no volume springs here, so its Poisson ratio is that of springs, {tied:.4g}, "
            f"and not {first_poisson(body):.4g}; take triangles or tets and leave `volume_term` on"
        )
    if equal_poisson(body.law) is not None:
        return None
    return (
        f"the parts of its law have different Poisson ratios, which edges cannot have: "
        f"all use the first one, {first_poisson(body):.4g}"
    )


def _report(match: ElementMatch, laws: BodyLaws, body: ProblemBody, plane: str, method: Method) -> dict[str, Any]:
    warning = _warning(match, body, laws, plane, method)
    if warning is not None:
        warnings.warn(f"bodies.{body.name}: {warning}", stacklevel=2)
    found = ({} if warning is None else {"warning": warning}) | {
        "arms_per_element": max(len(channel.times) for channel in _channels(laws))
    }
    return found | match_report(match, method, first_poisson(body), plane)


def _channels(laws: BodyLaws) -> list[Channel]:
    """Return the channel of each of a body's laws; a nonlinear one has none and stands for nothing."""
    nothing = Channel.elastic(0.0)
    return [nothing if kind_of(law) else law.channel("young") for law in laws.laws]


def _volume_channels(laws: BodyLaws) -> list[Channel]:
    """Return what the volume springs of each of a body's laws are made of."""
    nonlinear = (NonlinearThreeElement, Tabulated)
    return [law.volume_channel if isinstance(law, nonlinear) else law.channel("young") for law in laws.laws]


def _number(laws: Sequence[BodyLaws], elements: Sequence[Indices]) -> Indices:
    """Return the law of every body's elements (n, corners) as its place among the laws of all bodies."""
    first = np.cumsum([0, *(len(body.laws) for body in laws)])
    return np.concatenate([body.of(part) + start for body, part, start in zip(laws, elements, first, strict=False)])


def stack_channels(channels: Sequence[Channel], which: Indices, share: Array) -> Constants:
    """Give element e the constants of channel which_e times share_e; unused arms are zero."""
    arms = max(len(channel.times) for channel in channels)
    arm_stiffness, arm_rate = np.zeros((arms, len(share))), np.ones((arms, len(share)))
    for number, channel in enumerate(channels):
        part = which == number
        for arm, (strength, time) in enumerate(zip(channel.strengths, channel.times, strict=True)):
            arm_stiffness[arm, part] = strength * share[part]
            arm_rate[arm, part] = 1.0 / time
    return Constants(
        stiffness=np.array([channel.equilibrium for channel in channels])[which] * share,
        viscosity=np.array([channel.viscosity for channel in channels])[which] * share,
        arm_stiffness=arm_stiffness,
        arm_rate=arm_rate,
    )


def stack_constants(laws: Sequence[BodyLaws], elements: Sequence[Indices], share: Array) -> Constants:
    """Give every body's cells (n, corners), in its own node numbers, the channels of their laws times shares."""
    channels = [channel for body in laws for channel in _volume_channels(body)]
    return stack_channels(channels, _number(laws, elements), share)


def _with_tangents(constants: Constants, groups: Sequence[EdgeGroup]) -> Constants:
    """Return the constants with those of the last edges, the nonlinear ones, replaced by their largest tangents."""
    stiffness, viscosity = largest_tangents(groups)
    linear = len(constants.stiffness) - len(stiffness)
    return replace(
        constants,
        stiffness=np.concatenate([constants.stiffness[:linear], stiffness]),
        viscosity=np.concatenate([constants.viscosity[:linear], viscosity]),
    )


def build_network(
    problem: Problem,
    *,
    volume_term: bool,
    method: Method = "element",
    laws: LawOptions | None = None,
    springs: Springs = "edges+face+body",
) -> TrussNetwork:
    """Match every body's elements to its law: each constant is the channel of Young's modulus times its share.

    With `edge` the channel's own numbers are those of every edge [N/m, N s/m], whatever the thickness.
    """
    bodies = problem.bodies
    by_body = body_laws(problem, laws or LawOptions())
    channels = [channel for laws in by_body for channel in _channels(laws)]
    matches = [
        _match(body, own, problem.plane, volume_term, method, springs)
        for body, own in zip(bodies, by_body, strict=True)
    ]
    thickness = 1.0 if method == "edge" else problem.thickness
    which = _number(by_body, [match.edges for match in matches])
    every_law = [law for body in by_body for law in body.laws]
    order = loop_order(every_law, which)
    which = which[order]
    edges = np.concatenate([m.edges + b.first_node for m, b in zip(matches, bodies, strict=True)])[order]
    share = np.concatenate([match.stiffness * thickness for match in matches])[order]
    rest_length = np.linalg.norm(problem.points[edges[:, 1]] - problem.points[edges[:, 0]], axis=1)
    force_share = share if method == "edge" else share * rest_length
    kept = [np.flatnonzero(match.volume_modulus) for match in matches]
    corners = problem.dimension + 1
    cells = [
        (b.mesh.t.T[k] + b.first_node).astype(np.int64) if len(k) else np.zeros((0, corners), np.int64)
        for b, k in zip(bodies, kept, strict=True)
    ]
    own_cells = [b.mesh.t.T[k].astype(np.int64) for b, k in zip(bodies, kept, strict=True)]
    groups = nonlinear_groups(every_law, which, edges, rest_length, share, force_share)
    return TrussNetwork(
        edges=edges,
        rest_length=rest_length,
        edge_share=share,
        edge_constants=_with_tangents(stack_channels(channels, which, share), groups),
        cell_share=block_diag([m.cell_share for m in matches], format="csr")[:, order],
        node_share=block_diag([m.node_share for m in matches], format="csr")[:, order],
        cells=np.concatenate(cells),
        cell_number=np.flatnonzero(np.concatenate([match.volume_modulus for match in matches])),
        rest_volume=np.concatenate([element_measures(b.mesh)[k] for b, k in zip(bodies, kept, strict=True)]),
        cell_constants=stack_constants(
            by_body,
            own_cells,
            np.concatenate([m.volume_modulus[k] * problem.thickness for m, k in zip(matches, kept, strict=True)]),
        ),
        matches={
            body.name: _report(match, own, body, problem.plane, method)
            for body, match, own in zip(bodies, matches, by_body, strict=True)
        },
        nonlinear=groups,
    )


def kernel_elements(corners: Indices, rest: Array, constants: Constants, h: float) -> Elements:
    """Precompute exp(-A h) and (1 - exp(-A h))/A of every arm for step `h` [s]."""
    return Elements(
        corners=np.ascontiguousarray(corners),
        rest=rest,
        stiffness=constants.stiffness,
        viscosity=constants.viscosity,
        arm_stiffness=constants.arm_stiffness,
        arm_decay=np.exp(-constants.arm_rate * h),
        arm_gain=-np.expm1(-constants.arm_rate * h) / constants.arm_rate,
    )


FLAT = 1e-12
"""An edge shorter than this share of the body's extent has no direction."""


def check_rest_shape(problem: Problem) -> None:
    """Refuse inverted or flat elements and edges without length, before anything is derived from them."""
    for body in problem.bodies:
        ends = body.mesh.p[:, body.mesh.t]
        for a in range(body.mesh.t.shape[0]):
            for b in range(a):
                lengths = np.linalg.norm(ends[:, a] - ends[:, b], axis=0)
                lengths[body.mesh.t[a] == body.mesh.t[b]] = np.inf  # collapsed corners of mixed cells
                cell = int(np.argmin(lengths))
                if not lengths[cell] > FLAT * problem.extent:
                    first, second = sorted((int(body.mesh.t[a, cell]), int(body.mesh.t[b, cell])))
                    raise RheotwinError(
                        f"bodies.{body.name}: the edge between nodes {first} and {second} has no length and so no "
                        "direction; merge the two nodes or move them apart"
                    )
        check_elements(body.mesh, f"bodies.{body.name}")


def check_network(problem: Problem, network: TrussNetwork) -> None:
    """Refuse particles without neighbours and elements whose constants would feed energy into them."""
    bound = np.zeros(len(problem.points), dtype=bool)
    bound[network.edges.ravel()] = True
    bound[network.cells.ravel()] = True
    bound[(problem.owners >= 0).all(axis=1)] = True
    if not bound.all():
        raise RheotwinError(
            f"{_node(problem, np.flatnonzero(~bound)[0])} has no neighbours, so nothing holds it; "
            "remove it from the mesh or connect it"
        )
    _check_constants("edge", network.edge_constants, problem, network.edges)
    _check_constants("volume spring", network.cell_constants, problem, network.cells)


def _check_constants(kind: str, constants: Constants, problem: Problem, corners: NDArray[np.int64]) -> None:
    """Refuse k, kappa, eta below zero and decay rates A not above zero: B or A of the law would be negative."""
    rows = {
        "stiffness": constants.stiffness,
        "viscosity": constants.viscosity,
        "arm stiffness (kappa = B^2 k)": constants.arm_stiffness,
        "decay rate (A)": constants.arm_rate,
    }
    for word, values in rows.items():
        worst = np.atleast_2d(values).min(axis=0, initial=np.inf)
        if worst.size and not worst.min() >= 0.0:
            element = int(np.flatnonzero(~(worst >= 0.0))[0])
            body = problem.body_of(int(corners[element, 0]))
            raise RheotwinError(
                f"bodies.{body.name}: {kind} {element} has the {word} {worst[element]:.6g}, which would feed energy "
                "into it; give its law moduli and viscosities that are not negative"
            )


def _node(problem: Problem, node: int) -> str:
    body = problem.body_of(int(node))
    return f"bodies.{body.name}: node {int(node) - body.first_node}"
