"""From a scene to a problem: meshes are made or read, masses shared, selections resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices, corner_parts
from rheotwin.build_contact import build_links, contact_setup
from rheotwin.build_grabs import build_grabs
from rheotwin.build_tools import build_tool
from rheotwin.constraints.contact.digital_pushing import punch_shares
from rheotwin.constraints.motion import Motion, at_rest
from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    NO_HANGING_NODES,
    Mesh,
    body_cell,
    boundary_faces,
    check_elements,
    element_measures,
    hanging_nodes,
    holds_surface,
    is_mixed,
    make_shape,
    read_mesh,
    read_surface,
    refined,
    voxelised,
    voxelised_surface,
    with_finer_cells,
)
from rheotwin.overlap import moved_apart
from rheotwin.plausibility import warn_of_buried_tools
from rheotwin.problem import BodyPart, NodalLoad, Prescribed, Problem, ProblemBody
from rheotwin.rings import corner_volumes, edge_shares, on_axis, require_half_plane, ring_volumes
from rheotwin.scene import Scene
from rheotwin.scene.base import AXES
from rheotwin.scene.bodies import mesher_shape
from rheotwin.scene.boundary import PunchSpec
from rheotwin.scene.motion import GravityTable, Rotation
from rheotwin.scene.motion import Motion as ScenePath
from rheotwin.schedule import common_tick, plan
from rheotwin.selection import node_at, select_nodes

FLAT = 1e-9
"""Nodes whose coordinates vary by less than this share of their extent lie in one plane."""
ARC = 0.01
"""Longest straight piece of an arc [rad]: it leaves the arc by ARC^2/8 of the radius."""


def body_mesh(scene: Scene, name: str) -> tuple[Mesh, dict[str, Indices]]:
    """Return the scikit-fem mesh of a body, placed in the scene, and the named node groups of its file."""
    body = scene.bodies[name]
    place, are_cubes = f"bodies.{name}", body.shape == "solids"
    if body.shape == "file":
        if scene.refinement > 1:
            raise RheotwinError(
                f"{place}: its mesh comes from a file and has no finer cells; leave `refinement` out, or name a finer "
                "file"
            )
        path, scale = scene.resolve(body.path), body.scale or 1.0
        if body.voxels is not None and scene.dimension == 3 and holds_surface(path):
            vertices, triangles = read_surface(path)
            mesh, regions, are_cubes = voxelised_surface(scale * vertices, triangles, body.voxels), {}, True
        else:
            imported = read_mesh(path, drop_unused=body.drop_unused)
            mesh, regions = imported.mesh, imported.regions
            mesh = replace(mesh, doflocs=mesh.p * scale)
    else:
        mesh, regions = make_shape(with_finer_cells(mesher_shape(body), scene.refinement)), {}
    if mesh.p.shape[0] != scene.dimension:
        raise RheotwinError(f"{place}: its mesh is {mesh.p.shape[0]}D but the scene's dimension is {scene.dimension}")
    if body.voxels is not None and not are_cubes:
        cell, pattern = getattr(body, "cell", None), getattr(body, "pattern", None)
        mesh, regions = voxelised(mesh, body.voxels, cell=cell, pattern=pattern), {}
    moved = body.rotation_matrix(scene.dimension) @ mesh.p + np.asarray(body.placement(scene.dimension))[:, None]
    mesh = replace(mesh, doflocs=np.ascontiguousarray(moved))
    if is_mixed(mesh) and (body.finer or body.voxels is not None):
        raise RheotwinError(f"{place}: meshes of mixed cells stay as they are; leave `finer` and `voxels` out")
    if body.finer:
        mesh, regions = refined(mesh, [item.refinement() for item in body.finer]), {}
    check_elements(mesh, place)
    if scene.axisymmetric:
        require_half_plane(mesh.p.T, place)
    return mesh, regions


def body_volume(mesh: Mesh, scene: Scene) -> float:
    """Return the volume of a body [m3]: that of its rings in an axisymmetric scene."""
    if scene.axisymmetric:
        return float(ring_volumes(mesh).sum())
    return float(element_measures(mesh).sum()) * scene.cross_section


def _nodal_masses(mesh: Mesh, total: float, sharing: str, *, axisymmetric: bool) -> Array:
    """Share a total mass [kg] over the nodes: equally, or by element volume to its corners."""
    count = mesh.p.shape[1]
    if sharing == "equal":
        return np.full(count, total / count)
    if axisymmetric:
        weights = corner_volumes(mesh)
    else:
        shares = corner_parts(mesh.t, element_measures(mesh))
        weights = np.asarray(np.bincount(mesh.t.ravel(), weights=shares.ravel(), minlength=count), dtype=np.float64)
    return np.asarray(total * weights / weights.sum())


def _tributary_shares(mesh: Mesh, chosen: Indices, *, axisymmetric: bool) -> Array:
    """Return each chosen node's share of the chosen boundary area; equal shares where there is none."""
    points, faces = mesh.p.T, boundary_faces(mesh).astype(np.int64)
    faces = faces[np.isin(faces, chosen).all(axis=1)]
    shares = edge_shares(points, faces) if axisymmetric else corner_parts(faces.T, _face_areas(points, faces)).T
    per_node = np.bincount(faces.ravel(), weights=shares.ravel(), minlength=len(points))[chosen]
    total = per_node.sum()
    return per_node / total if total > 0.0 else np.full(len(chosen), 1.0 / len(chosen))


def _area_vectors(scene: Scene, mesh: Mesh, chosen: Indices, place: str) -> Array:
    """Return each chosen node's part (n, d) [m2] of the boundary's area times its outward normal, at rest.

    A face counts when all its corners are chosen and gives each corner the same share; in 2D times the thickness, of a
    ring its sweep.
    """
    points = mesh.p.T
    if points.shape[1] == 1:
        raise RheotwinError(f"{place}: a 1D body has no surface to press on; give the force as `total`")
    faces = boundary_faces(mesh).astype(np.int64)
    faces = faces[np.isin(faces, chosen).all(axis=1)]
    if not len(faces):
        raise RheotwinError(f"{place}: no face of the surface has all its corners there; choose a side or a larger box")
    corners = points[faces]
    along = corners[:, 1] - corners[:, 0]
    if points.shape[1] == 2:
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
        shares = np.full(faces.shape, 0.5 * scene.thickness)
        if scene.axisymmetric:
            shares = edge_shares(points, faces) / np.linalg.norm(normals, axis=1)[:, None]
    else:
        last = corners[:, 2] - corners[:, 0] if faces.shape[1] == 3 else corners[:, 3] - corners[:, 1]
        first = along if faces.shape[1] == 3 else corners[:, 2] - corners[:, 0]
        normals = 0.5 * np.cross(first, last)
        shares = corner_parts(faces.T, np.ones(len(faces))).T
    total = np.zeros_like(points)
    np.add.at(total, faces, shares[:, :, None] * normals[:, None, :])
    return np.asarray(total[chosen])


def _face_areas(points: Array, faces: Indices) -> Array:
    """Length of edges or area of triangles and (flat) quadrilaterals."""
    if faces.shape[1] == 1:
        return np.ones(len(faces))
    corners = points[faces]
    if faces.shape[1] == 2:
        return np.asarray(np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1))
    diagonals = corners[:, 2] - corners[:, 0], corners[:, -1] - corners[:, 1]
    if faces.shape[1] == 3:
        diagonals = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return np.asarray(0.5 * np.linalg.norm(np.cross(*diagonals), axis=1))


def _require_axis_at_rest(item: Prescribed, body: ProblemBody) -> None:
    """Refuse a support that moves nodes of the axis away from it."""
    axis = on_axis(body.mesh.p.T)[item.nodes - body.first_node]
    if axis.any() and np.any(item.motion.values[:, 0] != 0.0):
        raise RheotwinError(
            f"supports.{item.support}: node {item.nodes[axis][0]} lies on the axis and cannot move along x; "
            "leave x out of its motion or select other nodes"
        )


def _turned(item: Prescribed, motion: ScenePath, points: Array) -> Iterator[Prescribed]:
    """Yield each node of a support that turns: x(t) = c + R(angle(t)) (X - c) + displacement(t), c = `center`.

    The table is straight between its times, so arcs are cut into pieces that leave them by 1e-5 of their radius.
    """
    assert motion.angle is not None
    steps = np.ceil(np.abs(np.diff(motion.angle)) / ARC).astype(int).clip(1)
    pieces = [np.linspace(a, b, n, endpoint=False) for (a, b), n in zip(pairwise(motion.times), steps, strict=True)]
    times = np.concatenate([*pieces, motion.times[-1:]])
    table = np.column_stack([np.array(motion.displacement), motion.angle])
    rows = np.array([Motion(np.array(motion.times), table, motion.interpolation == "smooth").at(t) for t in times])
    axis = motion.axis or (0.0, 0.0, 1.0)
    dimension, arms = points.shape[1], points - np.array(motion.center)
    matrices = np.array([Rotation(axis=axis, angle=angle).matrix() for angle in rows[:, -1]])
    turns = matrices[:, :dimension, :dimension] - np.eye(dimension)
    for number, (node, arm) in enumerate(zip(item.nodes, arms, strict=True)):
        path = Motion(times, rows[:, :-1] + turns @ arm)
        yield replace(item, name=f"{item.name}#{number}", nodes=np.array([node]), motion=path)


def _resolved(scene: Scene, bodies: dict[str, ProblemBody]) -> Iterator[Prescribed]:
    """Yield the supports with their nodes, in parts where these move differently."""
    for name, support in scene.supports.items():
        body, table, motion = bodies[support.body], support.motion, at_rest(scene.dimension)
        nodes = select_nodes(support.where, body.mesh.p.T, body.regions, f"supports.{name}.where")
        components = tuple("xyz".index(axis) for axis in support.fix or "xyz"[: scene.dimension])
        if table is not None:
            motion = Motion(np.array(table.times), np.array(table.displacement), table.interpolation == "smooth")
        begin, end = support.since, support.until or np.inf
        item = Prescribed(name, nodes + body.first_node, components, motion, begin, end)
        parts = [item] if table is None or table.angle is None else [*_turned(item, table, body.mesh.p.T[nodes])]
        if scene.axisymmetric and 0 in components:
            for part in parts:
                _require_axis_at_rest(part, body)
        yield from parts


def _prescribed(scene: Scene, bodies: dict[str, ProblemBody]) -> tuple[Prescribed, ...]:
    """Resolve supports and refuse a node component that two different motions claim."""
    found = tuple(_resolved(scene, bodies))
    owners: dict[tuple[int, int], list[Prescribed]] = {}
    for item in found:
        for node in item.nodes:
            for component in item.components:
                others = owners.setdefault((int(node), component), [])
                for other in others:
                    together = other.begin < item.end and item.begin < other.end
                    if together and (other.motion.moves or item.motion.moves):
                        raise RheotwinError(
                            f"supports.{item.support}: node {node} component {'xyz'[component]} is already driven by "
                            f"supports.{other.support}; let only one of them hold it"
                        )
                others.append(item)
    return found


def _punched(punch: PunchSpec, points: Array, place: str) -> Array:
    """Return the share of a punch's force at each of the nodes (n, d) of a flat side."""
    flat = np.ptp(points, axis=0) <= FLAT * np.linalg.norm(np.ptp(points, axis=0))
    if np.count_nonzero(flat) != 1:
        raise RheotwinError(f"{place}.where: a punch pushes on a flat side of the body; select one with `side`")
    along = np.flatnonzero(~flat)
    center = np.asarray(punch.center)[along]
    try:
        return punch_shares(points[:, along], center, np.asarray(punch.size), punch.cell, punch.clip)
    except RheotwinError as error:
        raise RheotwinError(f"{place}.punch: {error}") from error


def _loads(scene: Scene, bodies: dict[str, ProblemBody]) -> tuple[NodalLoad, ...]:
    found = []
    for name, force in scene.forces.items():
        body = bodies[force.body]
        chosen = select_nodes(force.where, body.mesh.p.T, body.regions, f"forces.{name}.where")
        if force.punch is None:
            shares = _tributary_shares(body.mesh, chosen, axisymmetric=scene.axisymmetric)
        else:
            shares = _punched(force.punch, body.mesh.p.T[chosen], f"forces.{name}")
        if force.pressure is not None:
            shares = -force.pressure * _area_vectors(scene, body.mesh, chosen, f"forces.{name}.where")
        else:
            shares = shares[:, None] * np.asarray(force.total)
        times, factor = (force.times, force.factor) if force.times is not None else ((0.0,), (1.0,))
        course = Motion(np.array(times), np.array(factor)[:, None])
        found.append(NodalLoad(name, chosen + body.first_node, shares, course, pressure=force.pressure))
    return tuple(found)


def build_problem(scene: Scene, case: str | None = None, bodies: Mapping[str, ProblemBody] | None = None) -> Problem:
    """Make a scene concrete; `case` picks one of its variants (default: the first, if there are any).

    `bodies` take the place of those that the scene makes: of the same shape, on other meshes.

    Nodes are selected on the bodies as given, and whatever holds, loads or probes them goes with the body where it is
    moved out of another one. Everything else is made of the bodies where they then are.
    """
    scene = scene.with_case(case)
    given, totals = _bodies_as_given(scene, bodies or {})
    by_name = {body.name: body for body in given}
    prescribed, loads = _prescribed(scene, by_name), _loads(scene, by_name)
    links = build_links(scene, by_name, _points(given), prescribed)
    probes = {name: node_at(by_name[probe.body], probe.at) for name, probe in scene.probes.items()}
    held = {support.body for support in scene.supports.values()}
    held |= {end.body for link in scene.links.values() for end in link.between}
    placed = _apart(scene, given, held)
    points = _points(placed)
    masses = np.concatenate(
        [
            _nodal_masses(body.mesh, total, scene.bodies[body.name].mass_sharing, axisymmetric=scene.axisymmetric)
            for body, total in zip(placed, totals, strict=True)
        ]
    )
    tools = tuple(build_tool(name, scene, placed, points) for name in scene.tools)
    warn_of_buried_tools(tools, placed, points)
    return Problem(
        scene=scene,
        dimension=scene.dimension,
        plane=scene.plane,
        thickness=scene.cross_section,
        bodies=placed,
        points=points,
        masses=masses,
        gravity=np.zeros(scene.dimension) if isinstance(scene.gravity, GravityTable) else np.asarray(scene.gravity),
        prescribed=prescribed,
        loads=(*loads, *_weights(scene, masses)),
        tools=tools,
        probes=probes,
        tick=common_tick([*(stop.time for stop in plan(scene)), *_acting_times(scene)], scene.duration),
        contact=contact_setup(scene, placed, tools, masses),
        links=links,
        grabs=build_grabs(scene, placed, points, masses),
        velocities=_velocities(scene, placed, points),
    )


def _bodies_as_given(scene: Scene, given: Mapping[str, ProblemBody]) -> tuple[tuple[ProblemBody, ...], list[float]]:
    """Return the bodies where the scene places them, and the mass of each [kg]."""
    bodies: list[ProblemBody] = []
    totals: list[float] = []
    first = 0
    for name, body in scene.bodies.items():
        mesh, regions = (given[name].mesh, given[name].regions) if name in given else body_mesh(scene, name)
        volume = body_volume(mesh, scene)
        hanging = hanging_nodes(mesh) if body.has_hanging_nodes else NO_HANGING_NODES
        totals.append(body.total_mass(volume))
        law, density = scene.law_for(name), totals[-1] / volume
        parts = given[name].parts if name in given else _parts(scene, name, mesh, regions)
        bodies.append(ProblemBody(name, mesh, body_cell(mesh), law, first, density, regions, hanging, parts))
        first += mesh.p.shape[1]
    kinds = sorted({body.cell for body in bodies})
    if len(kinds) > 1:
        raise RheotwinError(f"bodies: all bodies of a scene need the same kind of cell, found {', '.join(kinds)}")
    return tuple(bodies), totals


def _parts(scene: Scene, name: str, mesh: Mesh, regions: dict[str, Indices]) -> tuple[BodyPart, ...]:
    """Return the cells of each part of a body: those with all corners selected that no later part takes."""
    found, owner = [], np.full(mesh.t.shape[1], -1)
    for number, (part, spec) in enumerate(scene.bodies[name].parts.items()):
        place = f"bodies.{name}.parts.{part}"
        chosen = np.zeros(mesh.p.shape[1], dtype=bool)
        chosen[select_nodes(spec.where, mesh.p.T, regions, f"{place}.where")] = True
        cells = chosen[mesh.t].all(axis=0)
        if not cells.any():
            raise RheotwinError(f"{place}.where: no cell has all its corners in it; choose a larger box")
        owner[cells] = number
        found.append((place, scene.laws[spec.law].law()))
    for number, (place, _) in enumerate(found):
        if not np.any(owner == number):
            raise RheotwinError(f"{place}.where: later parts take all its cells; leave it out or name it after them")
    return tuple(
        BodyPart(f"{place}.law", law, np.flatnonzero(owner == number)) for number, (place, law) in enumerate(found)
    )


def _weights(scene: Scene, masses: Array) -> Iterator[NodalLoad]:
    """Yield the weight under gravity that changes over time: each node's mass, along each axis."""
    if not isinstance(scene.gravity, GravityTable):
        return
    times, pulls = np.array(scene.gravity.times), np.array(scene.gravity.acceleration)
    for axis in np.flatnonzero(pulls.any(axis=0)):
        shares = np.zeros((len(masses), scene.dimension))
        shares[:, axis] = masses
        yield NodalLoad(
            f"gravity.{AXES[axis]}", np.arange(len(masses)), shares, Motion(times, pulls[:, [axis]]), is_weight=True
        )


def _velocities(scene: Scene, bodies: tuple[ProblemBody, ...], points: Array) -> Array | None:
    """Return the velocities (N, d) [m/s] at time zero: v + spin x (x - centre of the body's nodes); None at rest."""
    if not any(any(body.velocity) or body.spin for body in scene.bodies.values()):
        return None
    found = np.zeros_like(points)
    for body in bodies:
        spec, own = scene.bodies[body.name], points[body.nodes]
        if any(spec.velocity):
            found[body.nodes] += spec.velocity
        arm = own - own.mean(axis=0)
        if isinstance(spec.spin, tuple):
            found[body.nodes] += np.cross(spec.spin, arm)
        elif spec.spin:
            found[body.nodes] += spec.spin * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
    return found


def _acting_times(scene: Scene) -> list[float]:
    """Return the times [s] within the run at which supports and hands begin or end: steps must land on them."""
    acting: tuple[Any, ...] = (*scene.supports.values(), *scene.grabs.values())
    times = [time or 0.0 for item in acting for time in (item.since, item.until)]
    return [time for time in times if 0.0 < time < scene.duration]


def _points(bodies: tuple[ProblemBody, ...]) -> Array:
    return np.ascontiguousarray(np.concatenate([body.mesh.p.T for body in bodies]))


def _apart(scene: Scene, bodies: tuple[ProblemBody, ...], held: set[str]) -> tuple[ProblemBody, ...]:
    """Return bodies that do not start inside each other, if they touch each other at all."""
    if scene.contact is None or not scene.contact.bodies or len(bodies) == 1:
        return bodies
    resolve = scene.contact.overlap == "resolve"
    return moved_apart(bodies, held, resolve=resolve, axisymmetric=scene.axisymmetric)
