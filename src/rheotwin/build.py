"""From a scene to a problem: meshes are made or read, masses shared, selections resolved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.build_contact import build_links, contact_setup
from rheotwin.build_tools import build_tool
from rheotwin.constraints.contact.digital_pushing import punch_shares
from rheotwin.constraints.motion import Motion, at_rest
from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    NO_HANGING_NODES,
    Mesh,
    boundary_faces,
    cell_kind,
    check_elements,
    element_measures,
    hanging_nodes,
    make_shape,
    read_mesh,
    refined,
    voxelised,
    with_finer_cells,
)
from rheotwin.overlap import moved_apart
from rheotwin.problem import BodyPart, NodalLoad, Prescribed, Problem, ProblemBody
from rheotwin.rings import corner_volumes, edge_shares, on_axis, require_half_plane, ring_volumes
from rheotwin.scene import Scene
from rheotwin.scene.bodies import mesher_shape
from rheotwin.scene.boundary import PunchSpec
from rheotwin.schedule import common_tick, plan
from rheotwin.selection import node_at, select_nodes
from rheotwin.start_check import warn_of_buried_tools

FLAT = 1e-9
"""Nodes whose coordinates vary by less than this share of their extent lie in one plane."""


def body_mesh(scene: Scene, name: str) -> tuple[Mesh, dict[str, Indices]]:
    """Return the scikit-fem mesh of a body, placed in the scene, and the named node groups of its file."""
    body = scene.bodies[name]
    place = f"bodies.{name}"
    if body.shape == "file":
        if scene.refinement > 1:
            raise RheotwinError(
                f"{place}: its mesh comes from a file and has no finer cells; leave `refinement` out, or name a finer "
                "file"
            )
        imported = read_mesh(scene.resolve(body.path), drop_unused=body.drop_unused)
        mesh, regions = imported.mesh, imported.regions
        mesh = replace(mesh, doflocs=mesh.p * (body.scale or 1.0))
    else:
        mesh, regions = make_shape(with_finer_cells(mesher_shape(body), scene.refinement)), {}
    if mesh.p.shape[0] != scene.dimension:
        raise RheotwinError(f"{place}: its mesh is {mesh.p.shape[0]}D but the scene's dimension is {scene.dimension}")
    if body.voxels is not None:
        cell, pattern = getattr(body, "cell", None), getattr(body, "pattern", None)
        mesh, regions = voxelised(mesh, body.voxels, cell=cell, pattern=pattern), {}
    moved = body.rotation_matrix(scene.dimension) @ mesh.p + np.asarray(body.placement(scene.dimension))[:, None]
    mesh = replace(mesh, doflocs=np.ascontiguousarray(moved))
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
        corners = mesh.t.shape[0]
        shares = np.tile(element_measures(mesh) / corners, corners)
        weights = np.asarray(np.bincount(mesh.t.ravel(), weights=shares, minlength=count), dtype=np.float64)
    return np.asarray(total * weights / weights.sum())


def _tributary_shares(mesh: Mesh, chosen: Indices, *, axisymmetric: bool) -> Array:
    """Return each chosen node's share of the chosen boundary area; equal shares where there is none."""
    points, faces = mesh.p.T, boundary_faces(mesh).astype(np.int64)
    faces = faces[np.isin(faces, chosen).all(axis=1)]
    if axisymmetric:
        shares = edge_shares(points, faces)
    else:
        shares = np.repeat(_face_areas(points, faces)[:, None] / faces.shape[1], faces.shape[1], axis=1)
    per_node = np.bincount(faces.ravel(), weights=shares.ravel(), minlength=len(points))[chosen]
    total = per_node.sum()
    return per_node / total if total > 0.0 else np.full(len(chosen), 1.0 / len(chosen))


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
            f"supports.{item.name}: node {item.nodes[axis][0]} lies on the axis and cannot move along x; "
            "leave x out of its motion or select other nodes"
        )


def _prescribed(scene: Scene, bodies: dict[str, ProblemBody]) -> tuple[Prescribed, ...]:
    """Resolve supports and refuse a node component that two different motions claim."""
    found: list[Prescribed] = []
    owner: dict[tuple[int, int], Prescribed] = {}
    for name, support in scene.supports.items():
        body = bodies[support.body]
        nodes = select_nodes(support.where, body.mesh.p.T, body.regions, f"supports.{name}.where") + body.first_node
        components = tuple("xyz".index(axis) for axis in support.fix or "xyz"[: scene.dimension])
        table, motion = support.motion, at_rest(scene.dimension)
        if table is not None:
            motion = Motion(np.array(table.times), np.array(table.displacement), table.interpolation == "smooth")
        item = Prescribed(name, nodes, components, motion)
        if scene.axisymmetric and 0 in components:
            _require_axis_at_rest(item, body)
        for node in nodes:
            for component in components:
                other = owner.setdefault((int(node), component), item)
                if other is not item and (other.motion.moves or item.motion.moves):
                    raise RheotwinError(
                        f"supports.{name}: node {node} component {'xyz'[component]} is already driven by "
                        f"supports.{other.name}; let only one of them hold it"
                    )
        found.append(item)
    return tuple(found)


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
        shares = shares[:, None] * np.asarray(force.total)
        times, factor = (force.times, force.factor) if force.times is not None else ((0.0,), (1.0,))
        found.append(
            NodalLoad(name, chosen + body.first_node, shares, Motion(np.array(times), np.array(factor)[:, None]))
        )
    return tuple(found)


def build_problem(scene: Scene, case: str | None = None) -> Problem:
    """Make a scene concrete; `case` picks one of its variants (default: the first, if there are any).

    Nodes are selected on the bodies as given, and whatever holds, loads or probes them goes with the body where it is
    moved out of another one. Everything else is made of the bodies where they then are.
    """
    scene = scene.with_case(case)
    given, totals = _bodies_as_given(scene)
    by_name = {body.name: body for body in given}
    prescribed, loads = _prescribed(scene, by_name), _loads(scene, by_name)
    links = build_links(scene, by_name, _points(given), prescribed)
    probes = {name: node_at(by_name[probe.body], probe.at) for name, probe in scene.probes.items()}
    held = {support.body for support in scene.supports.values()}
    held |= {end.body for link in scene.links.values() for end in link.between}
    bodies = _apart(scene, given, held)
    points = _points(bodies)
    masses = np.concatenate(
        [
            _nodal_masses(body.mesh, total, scene.bodies[body.name].mass_sharing, axisymmetric=scene.axisymmetric)
            for body, total in zip(bodies, totals, strict=True)
        ]
    )
    tools = tuple(build_tool(name, scene, bodies, points) for name in scene.tools)
    warn_of_buried_tools(tools, bodies, points)
    return Problem(
        scene=scene,
        dimension=scene.dimension,
        plane=scene.plane,
        thickness=scene.cross_section,
        bodies=bodies,
        points=points,
        masses=masses,
        gravity=np.asarray(scene.gravity, float),
        prescribed=prescribed,
        loads=loads,
        tools=tools,
        probes=probes,
        tick=common_tick([stop.time for stop in plan(scene)], scene.duration),
        contact=contact_setup(scene, bodies, tools, masses),
        links=links,
    )


def _bodies_as_given(scene: Scene) -> tuple[tuple[ProblemBody, ...], list[float]]:
    """Return the bodies where the scene places them, and the mass of each [kg]."""
    bodies: list[ProblemBody] = []
    totals: list[float] = []
    first = 0
    for name, body in scene.bodies.items():
        mesh, regions = body_mesh(scene, name)
        volume = body_volume(mesh, scene)
        hanging = hanging_nodes(mesh) if body.has_hanging_nodes else NO_HANGING_NODES
        totals.append(body.total_mass(volume))
        law, density = scene.law_for(name), totals[-1] / volume
        parts = _parts(scene, name, mesh, regions)
        bodies.append(ProblemBody(name, mesh, cell_kind(mesh), law, first, density, regions, hanging, parts))
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


def _points(bodies: tuple[ProblemBody, ...]) -> Array:
    return np.ascontiguousarray(np.concatenate([body.mesh.p.T for body in bodies]))


def _apart(scene: Scene, bodies: tuple[ProblemBody, ...], held: set[str]) -> tuple[ProblemBody, ...]:
    """Return bodies that do not start inside each other, if they touch each other at all."""
    if scene.contact is None or not scene.contact.bodies or len(bodies) == 1:
        return bodies
    resolve = scene.contact.overlap == "resolve"
    return moved_apart(bodies, held, resolve=resolve, axisymmetric=scene.axisymmetric)
