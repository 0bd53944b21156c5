"""Which law each edge and cell has: that of its body, or another one for those that touch the body's surface.

Calibration spec section 4: a core element has all its corners inside, a surface element has one on the surface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.materials import Law, NonlinearThreeElement
from rheotwin.meshing import boundary_nodes
from rheotwin.particles.forces.edge_group import EdgeGroup
from rheotwin.particles.forces.nonlinear_edges import kind_of
from rheotwin.problem import Problem, ProblemBody

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
OPTION = "solvers.truss.surface_laws"
TRACE = 1e-30
"""Share of the largest spring that an edge keeps where the match needs none: ratios of its constants stay numbers."""


@dataclass(frozen=True)
class BodyLaws:
    """The laws of one body: the core's and, if it has its own, the surface's; `on_surface` (nodes,) of the body."""

    laws: tuple[Law, ...]
    on_surface: NDArray[np.bool_]

    @property
    def linear(self) -> bool:
        """Whether a relaxation function describes every one of them."""
        return not any(isinstance(law, NonlinearThreeElement) for law in self.laws)

    def of(self, elements: Indices) -> Indices:
        """Return which of the laws each element (n, corners) in the body's own node numbers has (n,)."""
        if len(self.laws) == 1:
            return np.zeros(len(elements), dtype=np.int64)
        return np.asarray(self.on_surface[elements].any(axis=1), dtype=np.int64)


def law_poisson(law: Law) -> float:
    """Poisson ratio of a law's first part: edges have one ratio, whatever the other parts say."""
    return next(part.poisson for part in law.parts if not part.is_absent)


def body_laws(problem: Problem, surface_laws: Mapping[str, str]) -> list[BodyLaws]:
    """Return the laws of every body; `surface_laws` names those of surfaces, by body."""
    names = [body.name for body in problem.bodies]
    for name in surface_laws:
        if name not in names:
            raise RheotwinError(
                f"{OPTION}: no body is named '{name}'{nearest_name(name, names)}; body names here: {', '.join(names)}"
            )
    return [_laws_of(problem, body, surface_laws.get(body.name)) for body in problem.bodies]


def _laws_of(problem: Problem, body: ProblemBody, surface: str | None) -> BodyLaws:
    on_surface = np.zeros(body.mesh.p.shape[1], dtype=np.bool_)
    if surface is None:
        return BodyLaws((body.law,), on_surface)
    known = problem.scene.laws
    if surface not in known:
        raise RheotwinError(
            f"{OPTION}.{body.name}: no law is named '{surface}'{nearest_name(surface, known)}; "
            f"law names here: {', '.join(known)}"
        )
    law = known[surface].law()
    inside, outside = law_poisson(body.law), law_poisson(law)
    if not isclose(inside, outside, rel_tol=1e-9, abs_tol=1e-12):
        raise RheotwinError(
            f"{OPTION}.{body.name}: law '{surface}' has Poisson's ratio {outside:.4g} and the body's own law "
            f"{inside:.4g}, but the springs of a body are matched to one: give both the same"
        )
    on_surface[boundary_nodes(body.mesh)] = True
    return BodyLaws((body.law, law), on_surface)


def loop_order(laws: Sequence[Law], which: Indices) -> Indices:
    """Return the order in which loops take edges with the laws `which` (M,): linear first, then by kind and law."""
    rank = np.array([kind_of(law) * len(laws) + number * (kind_of(law) > 0) for number, law in enumerate(laws)])
    return np.argsort(rank[which], kind="stable")


def nonlinear_groups(
    laws: Sequence[Law], which: Indices, edges: Indices, rest_length: Array, share: Array, force_share: Array
) -> tuple[EdgeGroup, ...]:
    """Return the edges of each nonlinear law, in their order in the loops."""
    groups = []
    share = np.maximum(share, TRACE * share.max())
    force_share = np.maximum(force_share, TRACE * force_share.max())
    for number in sorted(set(which.tolist()), key=lambda number: (kind_of(laws[number]), number)):
        law, part = laws[number], which == number
        if isinstance(law, NonlinearThreeElement):
            groups.append(EdgeGroup(law, edges[part], rest_length[part], share[part], force_share[part]))
    return tuple(groups)


def check_nonlinear_edges(groups: Sequence[EdgeGroup], *, local_volume: bool) -> None:
    """Refuse what edges with nonlinear laws cannot do: be halved."""
    if groups and local_volume:
        raise RheotwinError(
            f"solvers.truss.local_volume: it halves edges of linear laws and a body here is a {groups[0].law.name}; "
            "leave it out or choose another law"
        )
