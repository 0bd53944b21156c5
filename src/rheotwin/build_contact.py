"""Contact laws and rigid links of a scene made concrete."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.contact.laws.form import normal
from rheotwin.constraints.contact.setup import ANGLE, ContactSetup
from rheotwin.constraints.feasible import require_feasible, require_followable
from rheotwin.constraints.links import RigidLink
from rheotwin.constraints.tools import BOX, MESH, RigidTool
from rheotwin.errors import RheotwinError
from rheotwin.meshing import boundary_nodes, smallest_surface_edge
from rheotwin.problem import Prescribed, ProblemBody, held_by
from rheotwin.scene import Scene
from rheotwin.scene.contact import ContactKeys, ContactSpec
from rheotwin.selection import node_at

NO_LENGTH = 1e-12
"""Ends closer than this share of the bodies' extent have no distance to keep."""


def contact_setup(
    scene: Scene, bodies: tuple[ProblemBody, ...], tools: tuple[RigidTool, ...], masses: Array
) -> ContactSetup | None:
    """Return what the scene says about contact; None where tools are as simple as they always were."""
    special = [tool.drive is not None or tool.shape in (MESH, BOX) for tool in tools]
    own = [tool.contact is not None for tool in scene.tools.values()]
    if scene.contact is None and not any(special) and not any(own):
        return None
    table = scene.contact or ContactSpec(bodies=False)
    selves = tuple(body.name for body in bodies) if table.self_contact is True else table.named_selves
    setup = ContactSetup(
        law=table.contact_law(),
        tool_laws=tuple(table.with_keys_of(tool.contact).contact_law() for tool in scene.tools.values()),
        bodies=bool(table.bodies) and len(bodies) > 1,
        self_bodies=tuple(number for number, body in enumerate(bodies) if body.name in selves),
        edges=scene.dimension == 3 and table.edges is not False,
    )
    _check_laws(scene, setup, bodies, tools, masses)
    return setup


def _check_laws(
    scene: Scene, setup: ContactSetup, bodies: tuple[ProblemBody, ...], tools: tuple[RigidTool, ...], masses: Array
) -> None:
    """Check every law in use where the bodies it acts on are known."""
    if setup.between_bodies:
        taking_part = bodies if setup.bodies else tuple(bodies[k] for k in setup.self_bodies)
        _check_law(setup.law, "contact", taking_part, masses)
    for tool, law in zip(tools, setup.tool_laws, strict=True):
        spec = scene.tools[tool.name]
        touched = tuple(body for body in bodies if spec.bodies is None or body.name in spec.bodies)
        own: ContactKeys = spec.contact or ContactKeys()
        place = f"tools.{tool.name}.contact" if own.given() else "contact"
        _check_law(law, place, touched, masses)
        if normal(law.law).integrates:
            _check_gain_of_tool(law, place, tool)


def _check_law(law: ContactLaw, place: str, bodies: tuple[ProblemBody, ...], masses: Array) -> None:
    if normal(law.law).integrates and law.region == 0.0:
        _warn_of_restless_law(place)
    for body in bodies:
        if normal(law.law).integrates:
            _check_gain(law, place, body, masses)
        if law.region > 0.0:
            _check_region(law, place, body)


def _warn_of_restless_law(place: str) -> None:
    """Warn of integrals that are forgotten whenever a node lifts off by microns, as nodes of bodies that give do."""
    warnings.warn(
        f"{place}.region: without one the integral starts anew at every lift-off, and a body whose nodes disturb each "
        "other never comes to rest; set `region`, such as to how far the body sinks in by stiffness alone",
        stacklevel=2,
    )


def _check_gain(law: ContactLaw, place: str, body: ProblemBody, masses: Array) -> None:
    """Refuse a gain that no node can bear, warn of one that the body standing on a single node could not.

    Routh, spec 8: m g'' + C g' + K g + I int g dt is stable for I < C K/m only.
    """
    surface = body.first_node + boundary_nodes(body.mesh)
    heaviest, whole = float(masses[surface].max()), float(masses[body.nodes].sum())
    largest = law.damping * law.stiffness / heaviest
    if law.integral >= largest:
        raise RheotwinError(
            f"{place}.integral: {law.integral:.6g} N/(m s) never settles: a surface node of body '{body.name}' has "
            f"{heaviest:.4g} kg and bears less than damping * stiffness / mass = {largest:.6g}; lower it, or raise "
            "`damping` or `stiffness`"
        )
    if law.integral >= law.damping * law.stiffness / whole:
        warnings.warn(
            f"{place}.integral: {law.integral:.6g} N/(m s) settles only while body '{body.name}' rests on several "
            f"nodes; below {law.damping * law.stiffness / whole:.6g} one bears all its {whole:.4g} kg",
            stacklevel=2,
        )


def _check_gain_of_tool(law: ContactLaw, place: str, tool: RigidTool) -> None:
    """Refuse a gain under which a tool that forces drive never settles, warn of one that a single node cannot bear.

    On n nodes M g'' + n (C g' + K g + I int g dt) is stable for I < n C K/M only. A tool that only turns is left out:
    what it resists with depends on where it is touched.
    """
    if tool.drive is None or not any(tool.drive.free[:ANGLE]):
        return
    mass, nodes = tool.drive.mass, len(tool.candidates)
    single = law.damping * law.stiffness / mass
    largest = nodes * single
    if law.integral >= largest:
        raise RheotwinError(
            f"{place}.integral: {law.integral:.6g} N/(m s) never settles: tool '{tool.name}' has {mass:.4g} kg and on "
            f"all {nodes} nodes it can touch bears less than nodes * damping * stiffness / mass = {largest:.6g}; "
            "lower it, or raise `damping` or `stiffness`"
        )
    if law.integral >= single:
        needed = int(law.integral / single) + 1
        warnings.warn(
            f"{place}.integral: {law.integral:.6g} N/(m s) settles only while tool '{tool.name}' rests on at least "
            f"{needed} nodes; below {single:.6g} one bears all its {mass:.4g} kg",
            stacklevel=2,
        )


def _check_region(law: ContactLaw, place: str, body: ProblemBody) -> None:
    """Refuse a region that is wider than the surface is fine: it would reach from one face to the next."""
    smallest = smallest_surface_edge(body.mesh)
    if law.region > smallest:
        raise RheotwinError(
            f"{place}.region: {law.region:.6g} m is wider than the smallest edge of body '{body.name}' "
            f"({smallest:.6g} m); make it narrower or the mesh coarser"
        )


def build_links(
    scene: Scene, bodies: Mapping[str, ProblemBody], points: Array, prescribed: Sequence[Prescribed]
) -> tuple[RigidLink, ...]:
    """Resolve links; refuse those without a length, those no shape can have and those supports pull apart."""
    if scene.links and scene.axisymmetric:
        raise RheotwinError("links: an axisymmetric scene has rings and no points to join; leave them out")
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    found = []
    for name, link in scene.links.items():
        nodes = [node_at(bodies[end.body], end.at) for end in link.between]
        pairs = np.array(list(pairwise(nodes)), dtype=np.int64)
        rest = np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1)
        short = np.flatnonzero(rest <= NO_LENGTH * extent)
        if len(short):
            first, second = pairs[short[0]]
            what = "is one node" if first == second else f"are nodes {first} and {second} at one place"
            raise RheotwinError(
                f"links.{name}.between: what is closest to points {short[0]} and {short[0] + 1} {what}, so the link "
                "has no length and no direction; move one of the points"
            )
        lengths = rest if link.length is None else np.full(len(pairs), link.length)
        found.append(RigidLink(name, pairs, lengths))
    owners = held_by(prescribed, points.shape)
    require_followable(found, points, owners, [item.motion for item in prescribed])
    require_feasible(found, points, owners >= 0)
    return tuple(found)
