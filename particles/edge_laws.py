"""Which law each element has: that of its body, of the body's surface, of the inside of its voxels, or of a part of it.

Calibration spec section 4: a core element has all its corners inside, a surface element has one on the surface. Edges
are "on" voxels, the half elements of `local_volume` "in" them; the corners of a half element are all those of its
voxel. With all four groups a lattice has its own K, C1, C2 for surface-on, core-on, surface-in and core-in elements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.materials import Law
from rheotwin.meshing import HangingNodes, boundary_faces
from rheotwin.particles.forces.edges import EdgeGroup
from rheotwin.particles.forces.nonlinear_edges import kind_of
from rheotwin.problem import Problem, ProblemBody
from rheotwin.scene import Where
from rheotwin.selection import select_nodes


class PartLaw(BaseModel):
    """A law for the elements of a body whose corners all lie in a selection; lengths of `where` are in [m]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body: str
    where: Where
    law: str

    @field_serializer("where")
    def _as_given(self, where: Where) -> dict[str, Any]:
        return where.model_dump(mode="json", exclude_none=True)


class LawOptions(BaseModel):
    """Laws beside those of the bodies, named as in the scene; the last part that has an element wins."""

    surface_laws: dict[str, str] = Field(
        default_factory=dict,
        description="name of a body -> name of the law of elements with a corner on its surface (core: all inside)",
    )
    voxel_laws: dict[str, str] = Field(
        default_factory=dict,
        description="name of a body -> name of the law of the half elements in its voxels (`local_volume`); "
        "default: as edges have",
    )
    voxel_surface_laws: dict[str, str] = Field(
        default_factory=dict,
        description="the same for half elements in voxels with a corner on the surface; default: `voxel_laws`, else "
        "`surface_laws`",
    )
    part_laws: dict[str, PartLaw] = Field(
        default_factory=dict,
        description="name of a part -> `{ body, where, law }`: a law for the elements with all corners in the "
        "selection `where` (one of side, box, region, nearest as of supports; lengths in m); later parts win",
    )


OPTIONS = "solvers.truss"
BY_BODY = ("surface_laws", "voxel_laws", "voxel_surface_laws")
"""Options that name a law for each body."""
TRACE = 1e-30
"""Share of the largest spring that an edge keeps where the match needs none: ratios of its constants stay numbers."""


@dataclass(frozen=True)
class BodyLaws:
    """The laws of one body's elements of one sort: first that of its core, then of groups, each on its nodes.

    `groups` are (nodes,) masks of the body: an element belongs to the first, the surface, with any corner on it and to
    the others, the parts, with all corners in them; the last one wins. `names` are those of the laws in the scene.
    """

    laws: tuple[Law, ...]
    groups: tuple[NDArray[np.bool_], ...]
    names: tuple[str, ...]

    @property
    def linear(self) -> bool:
        """Whether a relaxation function describes every one of them."""
        return not any(kind_of(law) for law in self.laws)

    def of(self, elements: Indices) -> Indices:
        """Return which of the laws each element (n, corners) in the body's own node numbers has (n,)."""
        found = np.zeros(len(elements), dtype=np.int64)
        for number, group in enumerate(self.groups, start=1):
            inside = group[elements]
            found[inside.any(axis=1) if number == 1 else inside.all(axis=1)] = number
        return found


def law_poisson(law: Law) -> float:
    """Poisson ratio of a law's first part: edges have one ratio, whatever the other parts say."""
    return next(part.poisson for part in law.parts if not part.is_absent)


def body_laws(problem: Problem, options: LawOptions) -> list[BodyLaws]:
    """Return the laws of the edges and volume springs of every body."""
    _check_names(problem, options)
    return [_laws_of(problem, body, None, options.surface_laws, options) for body in problem.bodies]


def voxel_laws(problem: Problem, options: LawOptions) -> list[BodyLaws]:
    """Return the laws of the half elements in the voxels of every body: their own, else as edges have."""
    _check_names(problem, options)
    found = []
    for body in problem.bodies:
        own = options.voxel_laws.get(body.name)
        surface = options.voxel_surface_laws
        if body.name not in surface and own is None:
            surface = options.surface_laws
        laws = _laws_of(problem, body, own, surface, options)
        if not laws.linear:
            raise RheotwinError(
                f"{OPTIONS}.local_volume: half elements in the voxels of body '{body.name}' need linear laws; "
                "name one without slider, softening or friction in voxel_laws and voxel_surface_laws"
            )
        found.append(laws)
    return found


def _check_names(problem: Problem, options: LawOptions) -> None:
    """Refuse laws for bodies that are not there."""
    names = [body.name for body in problem.bodies]
    asked = [
        *((key, name) for key in BY_BODY for name in getattr(options, key)),
        *((f"part_laws.{part}.body", item.body) for part, item in options.part_laws.items()),
    ]
    for place, name in asked:
        if name not in names:
            raise RheotwinError(
                f"{OPTIONS}.{place}: no body is named '{name}'{nearest_name(name, names)}; "
                f"body names here: {', '.join(names)}"
            )


def _laws_of(
    problem: Problem, body: ProblemBody, core: str | None, surfaces: Mapping[str, str], options: LawOptions
) -> BodyLaws:
    """Return the laws of a body: `core` in place of its own, one of `surfaces` (a table of the options), its parts."""
    count = body.mesh.p.shape[1]
    law = body.law if core is None else _named_law(problem, body, core, f"{OPTIONS}.voxel_laws.{body.name}")
    laws, groups = [law, law], [np.zeros(count, dtype=np.bool_)]  # without a law of its own the surface has no nodes
    names = 2 * [problem.scene.bodies[body.name].law if core is None else core]
    surface = surfaces.get(body.name)
    if surface is not None:
        key = "voxel_surface_laws" if surfaces is options.voxel_surface_laws else "surface_laws"
        laws[1] = _named_law(problem, body, surface, f"{OPTIONS}.{key}.{body.name}")
        names[1] = surface
        groups[0][surface_nodes(body)] = True
    named = problem.scene.bodies[body.name].parts if body.parts else {}
    parts: list[tuple[str, Any]] = [(f"bodies.{body.name}.parts.{name}", part) for name, part in named.items()]
    parts += [
        (f"{OPTIONS}.part_laws.{name}", part) for name, part in options.part_laws.items() if part.body == body.name
    ]
    for place, part in parts:
        laws.append(_named_law(problem, body, part.law, f"{place}.law"))
        names.append(part.law)
        groups.append(_part(problem, body, part.where, f"{place}.where"))
    return BodyLaws(tuple(laws), tuple(groups), tuple(names))


def _part(problem: Problem, body: ProblemBody, where: Where, place: str) -> NDArray[np.bool_]:
    """Return the nodes of a part of a body; one without any element in it is a fault."""
    for key, sentence in where.dimension_faults(problem.scene.dimension):
        raise RheotwinError(f"{place}.{key}: {sentence}")
    chosen = np.zeros(body.mesh.p.shape[1], dtype=np.bool_)
    chosen[select_nodes(where, body.mesh.p.T, body.regions, place)] = True
    if chosen[body.mesh.t].sum(axis=0).max() < 2:
        raise RheotwinError(f"{place}: no element has all its corners in it; choose neighbouring nodes or a larger box")
    return chosen


def _named_law(problem: Problem, body: ProblemBody, name: str, place: str) -> Law:
    """Return a law of the scene that some elements of a body take, of the body's Poisson ratio."""
    known = problem.scene.laws
    if name not in known:
        raise RheotwinError(
            f"{place}: no law is named '{name}'{nearest_name(name, known)}; law names here: {', '.join(known)}"
        )
    law = known[name].law()
    own, other = law_poisson(body.law), law_poisson(law)
    if not isclose(own, other, rel_tol=1e-9, abs_tol=1e-12):
        raise RheotwinError(
            f"{place}: law '{name}' has Poisson's ratio {other:.4g} and the body's own law "
            f"{own:.4g}, but the springs of a body are matched to one: give both the same"
        )
    return law


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
        if kind_of(law):
            groups.append(EdgeGroup(law, edges[part], rest_length[part], share[part], force_share[part]))
    return tuple(groups)


def check_nonlinear_edges(groups: Sequence[EdgeGroup], *, local_volume: bool) -> None:
    """Refuse what edges with nonlinear laws cannot do: be halved."""
    if groups and local_volume:
        raise RheotwinError(
            f"solvers.truss.local_volume: it halves edges of linear laws and a body here is a {groups[0].law.name}; "
            "leave it out or choose another law"
        )


def surface_nodes(body: ProblemBody) -> Indices:
    """Return the sorted nodes of the body's outer faces, in its own numbers, without the seam of coarse and fine cells.

    Where fine cells meet a coarse one both have faces without a neighbour, yet the body goes on behind them. Such faces
    lie on each other: a fine one has all corners among those of a coarse one and the nodes that hang on its edges.
    """
    faces = boundary_faces(body.mesh).astype(np.int64)
    if len(body.hanging):
        faces = faces[~_in_seam(faces, body.hanging)]
    return np.unique(faces)


def _in_seam(faces: Indices, hanging: HangingNodes) -> NDArray[np.bool_]:
    """Return which faces (n, corners) lie on faces of cells of another size."""
    on_edge = defaultdict(set)
    for node, start, end in zip(hanging.node.tolist(), hanging.start.tolist(), hanging.end.tolist(), strict=True):
        on_edge[frozenset((start, end))].add(node)
    around: dict[int, list[int]] = defaultdict(list)
    for number, face in enumerate(faces.tolist()):
        for node in face:
            around[node].append(number)
    seam = np.zeros(len(faces), dtype=np.bool_)
    for number, face in enumerate(faces.tolist()):
        inside = {node for pair in combinations(face, 2) for node in on_edge.get(frozenset(pair), ())}
        covered = inside.union(face)
        for other in {other for node in inside for other in around[node]}:
            if covered.issuperset(faces[other].tolist()):
                seam[[number, other]] = True
    return seam
