"""Masters and slaves: where they begin, what they carry, and which slaves a master sees.

A master stands in the middle of every voxel of edge d. Slaves begin at the corners of voxels, one layer of them outside
of the body, as far as they are within 2 h = 2 d of a master: 8 of them at .866 d and 24 at 1.658 d.

A list holds the slaves within 2 h + skin of each master in the order of their numbers. So a kept list differs from a
new one by slaves of weight zero alone, and no result depends on when lists were made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import LAST
from rheotwin.problem import Problem, ProblemBody

Small = NDArray[np.int32]

LANES = 8
"""Masters at once where their stress is found; slaves at once where weights are."""
SKIN = 0.12
"""Share of h by which lists reach further than 2 h: less than the .179 to the next shell of the lattice."""
CUBE = 1e-6
"""Relative error of a voxel's edges."""
ROOM = 8
"""Cells of the search for every master."""
UNMADE = -1
"""Age of lists that are to be made."""
FULL_LISTS = LAST + 1
"""Answer of a stage that found more slaves near a master than a list has room for."""


class Masters(NamedTuple):
    """What carries matter: rows of four (M, 4) of places [m] and velocities [m/s], velocity gradients (M, 12) [1/s] in
    three columns of four; the elastic deformation FE (9, L), its left stretch (6, L), P FE^T (6, L) [Pa], what the law
    remembers (L,) (JP or alpha) and by how much it has hardened (1, L), L a multiple of eight; masses (M,) [kg], and
    the number of the law (L,).
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
    count: Indices

    @property
    def room(self) -> int:
        """How many there is room for."""
        return len(self.x)


class Lists(NamedTuple):
    """Slaves near each master: numbers (M, stride), how many (M,), weights (M, stride) before division by their sum.

    `geometry` (M, 12): xbar - x [m], 1/sum w (0 without slaves), the inverse of K [1/m2] (0 without stress), whether
    the velocity field is affine, the number of slaves with weight. `from_masters`, `from_slaves`: places when the
    lists were made. `age`: steps since, rebuilds, most slaves of a master. Of one master at a time: `offset`
    (stride, 4) of its slaves [m] and their squares (1, stride).
    """

    index: Small
    count: Small
    weight: Array
    geometry: Array
    offset: Array
    square: Array
    from_masters: Array
    from_slaves: Array
    age: Indices
    cells: Small
    sorted: Small
    cell_of: Small


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
        hardened=np.ones((1, lanes)),
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


def new_lists(masters: Masters, slaves: Slaves, stride: int) -> Lists:
    """Return lists to be made, of at most so many slaves."""
    many = len(masters.x)
    return Lists(
        index=np.zeros((many, stride), np.int32),
        count=np.zeros(many, np.int32),
        weight=np.zeros((many, stride)),
        geometry=np.zeros((many, 12)),
        offset=np.zeros((stride, 4)),
        square=np.zeros((1, stride)),
        from_masters=np.zeros((many, 4)),
        from_slaves=np.zeros((slaves.room, 4)),
        age=np.array([UNMADE, 0, 0]),
        cells=np.zeros(ROOM * many + 4096, np.int32),
        sorted=np.zeros(many, np.int32),
        cell_of=np.zeros(many, np.int32),
    )


@compiled(inside=True, vectors=True)
def _moved(masters: Masters, slaves: Slaves, lists: Lists) -> float:
    """Return the largest squared way [m2] since lists were made, beside that of all masters together."""
    x, old, many = masters.x, lists.from_masters, masters.x.shape[0]
    ux, uy, uz = 0.0, 0.0, 0.0
    for m in range(many):
        ux, uy, uz = ux + (x[m, 0] - old[m, 0]), uy + (x[m, 1] - old[m, 1]), uz + (x[m, 2] - old[m, 2])
    ux, uy, uz, most = ux / many, uy / many, uz / many, 0.0
    for m in range(many):
        a, b, c = x[m, 0] - old[m, 0] - ux, x[m, 1] - old[m, 1] - uy, x[m, 2] - old[m, 2] - uz
        most = max(most, a * a + b * b + c * c)
    x, old = slaves.x, lists.from_slaves
    for s in range(slaves.count[0]):
        a, b, c = x[s, 0] - old[s, 0] - ux, x[s, 1] - old[s, 1] - uy, x[s, 2] - old[s, 2] - uz
        most = max(most, a * a + b * b + c * c)
    return most


@compiled(inside=True, vectors=True)
def keep_lists(masters: Masters, slaves: Slaves, lists: Lists, h: float) -> int:
    """Make the lists anew where something has moved by half the skin since they were made."""
    limit = 0.5 * SKIN * h
    if lists.age[0] >= 0 and _moved(masters, slaves, lists) < limit * limit:
        lists.age[0] += 1
        return 0
    lists.age[0], lists.age[2] = 0, make_lists(masters.x, slaves.x, slaves.count[0], lists, h)
    lists.age[1] += 1
    if lists.age[2] > lists.index.shape[1]:
        lists.age[0] = UNMADE
        return FULL_LISTS
    for m in range(masters.x.shape[0]):
        for c in range(3):
            lists.from_masters[m, c] = masters.x[m, c]
    for s in range(slaves.count[0]):
        for c in range(3):
            lists.from_slaves[s, c] = slaves.x[s, c]
    return 0


@compiled(inside=True, vectors=True)
def make_lists(x: Array, slaves: Array, count: int, lists: Lists, h: float) -> int:
    """Fill the lists, and return how many slaves a master sees at most.

    Masters are sorted into cells of half the reach, whose grid is folded until it has no more than `ROOM` cells for
    each: cells far apart may share a place, at least five apart, and what is too far is left out by its distance.
    """
    many, reach = x.shape[0], (2.0 + SKIN) * h
    edge = 0.5 * reach
    per, square = 1.0 / edge, reach * reach
    lx, ly, lz = x[0, 0], x[0, 1], x[0, 2]
    ux, uy, uz = lx, ly, lz
    for m in range(many):
        lx, ly, lz = min(lx, x[m, 0]), min(ly, x[m, 1]), min(lz, x[m, 2])
        ux, uy, uz = max(ux, x[m, 0]), max(uy, x[m, 1]), max(uz, x[m, 2])
    nx, ny, nz = _cells(ux - lx, per), _cells(uy - ly, per), _cells(uz - lz, per)
    cells, order, cell_of, place = lists.cells, lists.sorted, lists.cell_of, lists.from_masters
    while nx * ny * nz >= cells.shape[0]:
        if nx >= ny and nx >= nz:
            nx = nx // 2 + 3
        elif ny >= nz:
            ny = ny // 2 + 3
        else:
            nz = nz // 2 + 3
    cells[: nx * ny * nz + 1] = 0
    for m in range(many):
        i = int(np.floor((x[m, 0] - lx) * per)) % nx
        j = int(np.floor((x[m, 1] - ly) * per)) % ny
        k = int(np.floor((x[m, 2] - lz) * per)) % nz
        cell_of[m] = (k * ny + j) * nx + i
        cells[cell_of[m] + 1] += 1
    for cell in range(nx * ny * nz):
        cells[cell + 1] += cells[cell]
    for m in range(many):  # where cells begin goes ahead by their masters, ..
        n = cells[cell_of[m]]
        order[n], cells[cell_of[m]] = m, n + 1
        for c in range(3):
            place[n, c] = x[m, c]
    for cell in range(nx * ny * nz, 0, -1):  # .. and back
        cells[cell] = cells[cell - 1]
    cells[0] = 0
    lists.count[:] = 0
    for s in range(count):
        px, py, pz = slaves[s, 0], slaves[s, 1], slaves[s, 2]
        fx, fy, fz = (px - lx) * per, (py - ly) * per, (pz - lz) * per
        j, k = np.floor(fy), np.floor(fz)
        first, begin = (int(np.floor(fx)) - 2) % nx, (int(j) - 2) % ny
        plane = (int(k) - 3) % nz
        for b in range(-2, 3):
            plane = plane + 1 if plane + 1 < nz else 0
            away = max(max(k + b - fz, fz - k - b - 1.0), 0.0)
            line = begin - 1
            for a in range(-2, 3):
                line = line + 1 if line + 1 < ny else 0
                aside = max(max(j + a - fy, fy - j - a - 1.0), 0.0)
                if aside * aside + away * away > 4.0:
                    continue
                row = (plane * ny + line) * nx
                last = cells[row + min(first + 5, nx)]
                _take(place, order, cells[row + first], last, s, px, py, pz, square, lists)
                if first + 5 > nx:
                    _take(place, order, cells[row], cells[row + first + 5 - nx], s, px, py, pz, square, lists)
    most = 0
    for m in range(many):
        most = max(most, lists.count[m])
    return most


@compiled(inside=True)
def _cells(length: float, per: float) -> int:
    """Return how many cells a length takes, five at least."""
    return int(min(length * per, 1e6)) + 5


@compiled(inside=True, vectors=True, merged=True)
def _take(
    place: Array,
    order: Any,
    first: int,
    last: int,
    s: int,
    px: float,
    py: float,
    pz: float,
    square: float,
    lists: Lists,
) -> None:
    """Append a slave to the lists of masters order[first:last] that are near, at `place`."""
    index, count = lists.index, lists.count
    for k in range(first, last):
        u, v, w = place[k, 0] - px, place[k, 1] - py, place[k, 2] - pz
        if u * u + v * v + w * w <= square:
            m = order[k]
            n = count[m]
            if n < index.shape[1]:
                index[m, n] = s
            count[m] = n + 1
