"""Masters and slaves: where they begin, what they carry, and how far they may go.

A master stands in the middle of every voxel of edge d. Slaves begin at the corners of voxels, one layer of them outside
of the body, as far as they are within 2 h = 2 d of a master: 8 of them at .866 d and 24 at 1.658 d.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import LAST
from rheotwin.problem import Problem, ProblemBody

LANES = 8
"""Masters at once where their stress is found; slaves at once where weights are."""
CUBE = 1e-6
"""Relative error of a voxel's edges."""
FLUNG = LAST + 3
"""Answer of the stage that found a master further away than any sensible motion takes it."""


class Masters(NamedTuple):
    """What carries matter: rows of four (M, 4) of places [m] and velocities [m/s], velocity gradients (M, 12) [1/s] in
    three columns of four; the elastic deformation FE (9, L), its left stretch (6, L), P FE^T (6, L) [Pa], what the law
    remembers (L,) (JP or alpha) and by how much it has hardened and how much of that the solve counts (2, L), L a
    multiple of eight; masses (M,) [kg], and the number of the law (L,).
    """

    x: Array
    v: Array
    c: Array
    elastic: Array
    left: Array
    tau: Array
    memory: Array
    hardened: Array
    mass: Array
    law: Indices


class Slaves(NamedTuple):
    """The cloud, rows of four with room for more than `count` (1,): places [m] and 1, velocities [m/s], impulse and
    mass [N s, kg] of the step, drift [kg m/s] and then the way of the step [m], force of tools [N]; the node it began
    at (S,) and that next to it, whose supports hold it, -1 without.
    """

    x: Array
    v: Array
    sum: Array
    drift: Array
    push: Array
    origin: Indices
    anchor: Indices
    count: Indices  # type: ignore[assignment]

    @property
    def room(self) -> int:
        """How many there is room for."""
        return len(self.x)


class Cloud(NamedTuple):
    """Both kinds of particles, the spacing d = h [m], and the nodes of the start."""

    masters: Masters
    slaves: Slaves
    spacing: float


def voxel_edge(body: ProblemBody) -> float:
    """Return the edge [m] of the voxels of a body; refuse what is none."""
    edges = np.ptp(body.mesh.p[:, body.mesh.t], axis=1)
    d = float(edges.mean())
    if np.abs(edges - d).max() > CUBE * d:
        raise RheotwinError(
            f"bodies.{body.name}: its cells are no equal cubes (edges of {edges.min():.6g} to {edges.max():.6g} m); "
            "the solver slave has a master in every cube: choose `cells` of a box so, or voxels"
        )
    return d


def common_edge(problem: Problem) -> float:
    """Return the edge [m] of the voxels of all bodies, which have to share it."""
    edges = {body.name: voxel_edge(body) for body in problem.bodies}
    name, d = next(iter(edges.items()))
    for other, edge in edges.items():
        if abs(edge - d) > CUBE * d:
            raise RheotwinError(
                f"bodies.{other}: its cubes of {edge:.6g} m are not those of body '{name}', {d:.6g} m; choose one edge"
            )
    return d


def outer_slaves(body: ProblemBody, d: float) -> tuple[Array, Indices]:
    """Return the slaves (n, 3) [m] of a body that are none of its nodes, and the node (n,) nearest to each."""
    points = body.mesh.p.T
    low = points.min(axis=0)
    nodes = np.rint((points - low) / d).astype(np.int64)
    cells = nodes[body.mesh.t].min(axis=0)
    steps = np.arange(-1, 3)
    offsets = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    offsets = offsets[np.linalg.norm(offsets - 0.5, axis=1) < 2.0]
    size = nodes.max(axis=0) + 5

    def number(lattice: Indices) -> Indices:
        x, y, z = (lattice + 2).T
        return np.asarray((z * size[1] + y) * size[0] + x)

    wanted = np.unique(number((cells[:, None] + offsets).reshape(-1, 3)))
    wanted = np.setdiff1d(wanted, number(nodes), assume_unique=True)
    lattice = np.stack([wanted % size[0], wanted // size[0] % size[1], wanted // (size[0] * size[1])], axis=1) - 2
    return low + d * lattice, np.asarray(cKDTree(nodes).query(lattice)[1], np.int64)


def with_room(rows: Any, room: int, fill: float = 0) -> Any:
    """Return rows with room for more, or the first of them."""
    found = np.full((room, *rows.shape[1:]), fill, rows.dtype)
    found[: len(rows)] = rows[:room]
    return found


def grown(slaves: Slaves, room: int) -> Slaves:
    """Return slaves with other room."""
    rows = {name: with_room(array, room) for name, array in slaves._asdict().items() if name != "count"}
    return Slaves(**rows, count=slaves.count)


def cloud_of(problem: Problem, law: Indices, start: Array, alone: bool = False) -> Cloud:
    """Return masters and slaves at the start, masters with these numbers of their laws (M,) and memories (M,).

    `alone`: slaves are the masters themselves.
    """
    d = common_edge(problem)
    nodes, cells = problem.points, np.concatenate([body.mesh.t.T + body.first_node for body in problem.bodies])
    many, lanes = len(cells), -(-len(cells) // LANES) * LANES
    centres = nodes[cells].mean(axis=1)
    mass = np.concatenate([np.full(body.mesh.t.shape[1], body.density * d**3) for body in problem.bodies])
    elastic = np.zeros((9, lanes))
    elastic[[0, 4, 8]] = 1.0
    left = np.zeros((6, lanes))
    left[[0, 3, 5]] = 1.0
    speeds = problem.start_velocities[cells]
    apart = nodes[cells] - centres[:, None]
    gradient = np.einsum("mai,maj->mij", speeds, apart) / (2.0 * d * d)  # of eight corners at +-d/2
    c = np.zeros((many, 3, 4))
    c[:, :, :3] = gradient.transpose(0, 2, 1)
    masters = Masters(
        x=with_column(centres),
        v=with_column(speeds.mean(axis=1)),
        c=c.reshape(many, 12),
        elastic=elastic,
        left=left,
        tau=np.zeros((6, lanes)),
        memory=with_room(start, lanes, 1),
        hardened=np.ones((2, lanes)),
        mass=mass,
        law=with_room(law, lanes),
    )
    if alone:
        none, rows = np.full(many, -1), {name: np.zeros((many, 4)) for name in ("v", "sum", "drift", "push")}
        return Cloud(
            masters, Slaves(with_column(centres, 1.0), **rows, origin=none, anchor=none, count=np.array([many])), d
        )
    outer = [outer_slaves(body, d) for body in problem.bodies]
    near = np.concatenate([nearest + body.first_node for (_, nearest), body in zip(outer, problem.bodies, strict=True)])
    places = np.concatenate([nodes, *(points for points, _ in outer)])
    anchor = np.concatenate([np.arange(len(nodes)), near])
    origin = np.where(np.arange(len(places)) < len(nodes), anchor, -1)
    rows = {name: np.zeros((len(places), 4)) for name in ("sum", "drift", "push")}
    v = with_column(problem.start_velocities[np.maximum(origin, 0)] * (origin >= 0)[:, None])
    slaves = Slaves(
        x=with_column(places, 1.0), v=v, **rows, origin=origin, anchor=anchor, count=np.array([len(places)])
    )
    return Cloud(masters, grown(slaves, len(places) + len(places) // 16 + 64), d)


def with_column(vectors: Array, last: float = 0.0) -> Array:
    """Return vectors (n, 3) as rows of four."""
    return np.pad(vectors, ((0, 0), (0, 1)), constant_values=((0, 0), (0, last)))


@compiled(inside=True, vectors=True)
def find_flung(masters: Masters, start: Array, furthest: float, which: Indices) -> int:
    """End the run if a master is further from its start than any sensible motion takes it [m], or nowhere."""
    for m in range(start.shape[0]):
        for c in range(3):
            if not abs(masters.x[m, c] - start[m, c]) <= furthest:
                which[0] = m
                return FLUNG
    return 0
