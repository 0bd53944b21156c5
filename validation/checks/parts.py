"""Parts of the program one by one, each against a closed form that no run of a scene would show as sharply.

Strain, energy and dashpots of large motion at a given F = R U; curvatures of constraints on straight paths;
rings and plates in plane stress under uniform strain; meshes of shapes; metrics of curves with known answers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints import Motion, RigidTool
from rheotwin.constraints.links import LinkConstraints
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.measure_rows import fill_measures, pack_measures
from rheotwin.constraints.motion import motion_rates
from rheotwin.constraints.patches import patches
from rheotwin.constraints.stabilisation import gap_motion
from rheotwin.constraints.tools import PLANE, pack_geometry
from rheotwin.fem.finite.corotational import Corotational
from rheotwin.fem.finite.kinematics import TotalLagrangian, element_geometry, strain_vector, stress_vector
from rheotwin.fem.finite.measures import Isochoric
from rheotwin.fem.space import vector_basis
from rheotwin.materials import Moduli, Slider
from rheotwin.meshing import BoxShape, LShape, SphereShape, TriangleShape, build_mesh, element_measures, make_shape
from rheotwin.meshing.quality import quality_report
from rheotwin.meshing.topology import boundary_faces
from rheotwin.particles.forces.global_pressure import add_global_pressure, make_global_pressure
from rheotwin.particles.forces.particle_on_edge import ParticlesOnEdges, add_particle_on_edge_forces
from rheotwin.particles.forces.slider import stop_energy
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.matrices import GRADIENT, distorted_problem
from rheotwin.validation.checks.running import (
    ELASTIC,
    HELD,
    RHEOLOGICAL,
    Data,
    box_scene,
    path,
    run_to,
    side,
    start,
)
from rheotwin.validation.metrics import (
    area_metric,
    energy_defect,
    force_curve_error,
    held_force,
    ring_down,
    stress_error,
)
from rheotwin.validation.metrics.fits import convergence

TURN = 0.7
ROTATION = np.array([[np.cos(TURN), -np.sin(TURN), 0.0], [np.sin(TURN), np.cos(TURN), 0.0], [0.0, 0.0, 1.0]])
STRETCH = np.array([[1.2, 0.1, 0.05], [0.1, 0.9, -0.04], [0.05, -0.04, 1.1]])
RATE = np.array([[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0.2, 0.5, -0.1]])
"""R, U and F' [1/s] of a block of hexahedra."""
BULK, SHEAR = 5.0, 2.0
"""Moduli [Pa], and viscosities [Pa s]."""


def _error(found: Array, wanted: Array) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def large_motion() -> Values:
    """Hold strains against sym(F), the energy against its own formula, stresses against F^-1 tau F^-T."""
    mesh = make_shape(BoxShape((1.0, 1.0, 1.0), (1, 1, 1), "hex"))
    geometry, deformation = element_geometry(vector_basis(mesh, "hex")), ROTATION @ STRETCH
    u, identity = (mesh.p.T @ (deformation - np.eye(3)).T).ravel(), np.eye(3)
    green = 0.5 * (deformation.T @ deformation - identity)
    strain, law, volume = strain_vector(green), Isochoric(), float(np.linalg.det(deformation))
    squared, inverse = deformation.T @ deformation, np.linalg.inv(deformation)
    energy = 0.5 * BULK * (volume - 1.0) ** 2 + 0.5 * SHEAR * (volume ** (-2 / 3) * np.trace(squared) - 3.0)
    flow = 0.5 * (RATE @ inverse + (RATE @ inverse).T)
    viscous = 2.0 * SHEAR * flow + (BULK - 2.0 / 3.0 * SHEAR) * np.trace(flow) * identity
    found = law.newtonian(strain, strain_vector(deformation.T @ RATE), BULK, SHEAR)[0]
    return {
        "Green's strain": _error(TotalLagrangian(geometry).strain(u), strain),
        "corotational strain": _error(Corotational(geometry).strain(u), strain_vector(STRETCH - identity)),
        "isochoric energy": _error(law.energy(strain, BULK, SHEAR), np.array(energy)),
        "stress of dashpots": _error(found, stress_vector(volume * inverse @ viscous @ inverse.T)),
    }


def uniform(plane: str) -> Values:
    """Stretch a square of 1 m by a hundredth: of a disc's radius in a ring, along x in plane stress."""
    grip = side("right", fix=["x"], motion={"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.01, 0.0]]})
    held = {name: side(name, fix=[axis]) for name, axis in (("left", "x"), ("bottom", "y"))}
    if plane == "axisymmetric":
        held = {name: side(name, fix=["y"]) for name in ("bottom", "top")}
    more: Data = {"plane": plane, "supports": held | {"grip": grip}, "cell": "quad"}
    simulation = start(box_scene(ELASTIC, cells=[2, 2], size=[1.0, 1.0], **more))
    run_to(simulation, 1.0)
    force = -float(simulation.reactions()["support.grip"][0])
    return {"force": force, "strain ZZ": float(simulation.fields()["strain"][:, 2].mean())}


def curvatures() -> Values:
    """Differentiate constraints twice along straight paths that grow with time: V ~ (1 + t)^d, and so on."""
    found: dict[str, float] = {}
    for name, dimension in (("area", 2), ("volume", 3)):
        points = np.vstack([np.zeros(dimension), np.eye(dimension)])
        one = measure_constraints(patches("element", np.arange(dimension + 1)[None], points), points)
        found[name] = float(one.curvature(points, points)[0])
        space, value, curvature = np.pad(points, [(0, 0), (0, 3 - dimension)]), np.zeros(1), np.zeros(1)
        packed = pack_measures(one, dimension + 1)
        fill_measures(packed, space, space, np.zeros((dimension + 1, 3)), value, curvature)
        found[f"{name}, compiled"] = float(curvature[0])
    link = LinkConstraints(np.array([[0, 1]]), np.array([2.0]), 4)
    found["link"] = float(link.curvature(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 3.0]]))[0])
    turning = Motion(np.array([-1.0, 1.0]), np.array([[0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 1.0]]))
    geometry = pack_geometry(center=np.zeros(3), reference=np.array([0.0, 1.0, 0.0]))
    tool = RigidTool("plane", PLANE, geometry, turning, np.zeros(1, np.int64))
    found["turning plane"] = float(
        gap_motion(tool, 0.0, np.array([[1.0, 0.0, 0.0]]), np.array([[0.7, 0.4, 0.0]])).second[0]
    )
    ease = Motion(np.array([0.0, 2.0]), np.array([[0.0], [4.0]]), smooth=True)
    speed, acceleration = motion_rates(ease, 0.5)
    return found | {"smooth motion, rate": float(speed[0]), "smooth motion, second": float(acceleration[0])}


def shapes() -> Values:
    """Measure areas, volumes and qualities."""
    disc = make_shape(SphereShape(1.0, 8, "triangle"))
    slanted = make_shape(TriangleShape(2.0, 3.0, 4))
    corner = build_mesh("tet", np.vstack([np.zeros(3), np.eye(3)]).T, np.arange(4)[:, None])
    areas = element_measures(slanted)
    quality = quality_report(corner)
    return {
        "L": float(element_measures(make_shape(LShape((3.0, 2.0), (6, 4), (1.0, 1.0)))).sum()),
        "disc": float(element_measures(disc).sum()),
        "triangle": float(areas.sum()),
        "triangle, middle": float(slanted.p[0, slanted.t].mean(axis=0) @ areas / areas.sum()),
        "corner of a cube, quality": quality.quality_min,
        "corner of a cube, largest angle": float(quality.angle_max or 0.0),
        "corner of a cube, smallest angle": float(quality.angle_min or 0.0),
    }


def metrics() -> Values:
    """Give every metric a course whose answer is known."""
    times = np.linspace(0.0, 4.0, 401)
    swing = ring_down(times, 2.0 + np.exp(-0.9 * times) * np.cos(6.0 * times), creep=False)
    finer = convergence((1, 2, 4), [3.0 + 0.5 * 0.25**k for k in range(3)])
    pull, sheared = np.array([[[1.0, 0, 0, 0, 0, 0]]]), np.array([[[1.0, 0, 0, 0.1, 0, 0]]])
    ramp = np.stack([times, np.zeros_like(times)], axis=1)
    return {
        "frequency": swing.frequency,
        "damping": swing.damping,
        "order": finer.order or 0.0,
        "limit": finer.limit or 0.0,
        "stress, a shear of a tenth": float(stress_error(sheared, pull, [1.0])[0]),
        "force, a tenth too large": force_curve_error(times, 1.1 * ramp, times, ramp),
        "force, held": held_force(times, np.where(times[:, None] <= 3.0, ramp, [1.5, 0.0])),
        "area, two values against three": area_metric([0.0, 10.0], [1.0, 2.0, 3.0], 2.0).total,
        "energy, a tenth lost": energy_defect({"external": times, "stored": 0.5 * times, "dissipated": 0.4 * times}),
    }


SIDES = (("left", "right"), ("bottom", "top")), (("left", "right"), ("front", "back"), ("bottom", "top"))
GROWTH = (2e-6, -1e-6, 0.5e-6)
"""Strain rates [1/s] of a body that grows for a second."""


def grown(law: Data, cell: str, until: float, plane: str = "strain", **options: Any) -> list[float]:
    """Return the stresses [Pa] on the sides of a square or cube of `shear-volume`; all move apart for 1 s, and stay."""
    dimension = 3 if cell == "tet" else 2
    supports: Data = {}
    for axis, (low, high) in enumerate(SIDES[dimension - 2]):
        away = np.eye(dimension)[axis] * GROWTH[axis]
        supports[low] = side(low, fix=["xyz"[axis]])
        supports[high] = side(high, fix=["xyz"[axis]], motion=path((0.0, 1.0), [[0.0] * dimension, away.tolist()]))
    more: Data = {"cell": cell, "supports": supports, "density": 1.0} | ({"plane": plane} if dimension == 2 else {})
    simulation = start(
        box_scene(law, cells=[1] * dimension, duration=2.0, **more), "shear-volume", step=0.01, **options
    )
    run_to(simulation, until)
    forces = simulation.reactions()
    return [-float(forces[f"support.{high}"][axis]) for axis, (_, high) in enumerate(SIDES[dimension - 2])]


def particles() -> Values:
    """Compare stresses of shear and volume elements with Hooke's and Newton's; then a tie, a pressure, a stop."""
    moduli = Moduli.from_young(1.0, 0.3)
    viscous: Data = {"model": "voigt", "young": 1e-9, "poisson": 0.3, "viscosity": 1.0}
    elastic: Data = {"model": "elastic", "young": 1.0, "poisson": 0.3}
    growth = np.array(GROWTH)
    found = {}
    for name, law, cell, options in (
        ("plane stress", elastic, "triangle", {"plane": "stress"}),
        ("cotangents", elastic, "triangle", {"shear": "cotangent"}),
        ("viscous triangles", viscous, "triangle", {}),
        ("viscous tetrahedra", viscous, "tet", {}),
    ):
        lame = 0.3 / (1.0 - 0.3**2) if name == "plane stress" else moduli.lame
        rates = growth[: 3 if cell == "tet" else 2]
        wanted = lame * rates.sum() + 2.0 * moduli.shear * rates
        found[name] = float(np.abs(grown(law, cell, 0.5 if law is viscous else 2.0, **options) / wanted - 1.0).max())
    tie = ParticlesOnEdges(np.array([2]), np.array([[0, 1]]), np.array([0.25]), np.array([4.0]), np.zeros(1))
    force, place = np.zeros((3, 3)), np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.25, 1.0, 0.0]])
    add_particle_on_edge_forces(tie, place, np.zeros((3, 3)), force)
    mesh = make_shape(BoxShape((1.0, 1.0), (1, 1), "quad"))
    square, outline = np.pad(mesh.p.T, [(0, 0), (0, 1)]), boundary_faces(mesh).astype(np.int64)
    pressure, pushed = make_global_pressure(square, [outline], stiffness=4.0, damping=2.0), np.zeros((4, 3))
    add_global_pressure(pressure, 1.5 * square, square, pushed)
    stop = Slider(natural=1.0, least=0.5, most=1.0)
    return found | {
        "tie, nearer end": float(force[0, 1]),
        "tie, other end": float(force[1, 1]),
        "pressure, corner": float(pushed.max()),
        "stop of a slider, energy": float(stop_energy(stop, np.array([2.0]), np.array([1.0]), np.array([3.0]))[0]),
    }


def stored() -> Values:
    """Deform a cube of distorted hexahedra by F = 1 + H and compare the stored energy with the law's own."""
    deformation, moduli = np.eye(3) + GRADIENT, Moduli.from_young(ELASTIC["young"], ELASTIC["poisson"])
    strain, volume = 0.5 * (GRADIENT + GRADIENT.T), float(np.linalg.det(deformation))
    small = 0.5 * moduli.lame * np.trace(strain) ** 2 + moduli.shear * np.sum(strain**2)
    isochoric = volume ** (-2 / 3) * np.sum(deformation**2) - 3.0
    large = 0.5 * moduli.bulk * (volume - 1.0) ** 2 + 0.5 * moduli.shear * isochoric
    stretches = np.linalg.svd(deformation)[1] - 1.0
    turned = 0.5 * moduli.lame * stretches.sum() ** 2 + moduli.shear * np.sum(stretches**2)
    found = {}
    for name, wanted, options in (
        ("histories at nodes", small, {}),
        ("histories at points", small, {"history": "quadrature"}),
        ("total Lagrangian", large, {"kinematics": "total-lagrangian"}),
        ("corotational", turned, {"kinematics": "corotational"}),
    ):
        simulation = start(distorted_problem("hex", ELASTIC), step=1.0, **options)
        run_to(simulation, 1.0)
        found[name] = simulation.energy()["stored"] / wanted - 1.0
    return found


def account(stepper: str, step: float) -> Values:
    """Pull a bar of three-element material for a second and tell what its account of energy lacks."""
    more: Data = {"forces": {"pull": side("right", total=[1.0])}, "supports": HELD, "density": 1.0}
    simulation = start(box_scene(RHEOLOGICAL, size=[1.0], cells=[4], **more), stepper=stepper, step=step)
    run_to(simulation, 1.0)
    energy = simulation.energy()
    rest = sum(energy[name] for name in ("kinetic", "stored", "dissipated"))
    return {"defect": abs(energy["external"] - rest) / energy["external"]}


CHECKS = {
    "parts": (
        check("parts.large-motion", large_motion, name="large-motion", quick=True),
        check("parts.stored", stored, name="stored-energies", quick=True),
        check("fem.S2.cayley", partial(account, "cayley", 0.05), name="account-cayley", quick=True),
        check("parts.account", partial(account, "central-difference", 1e-3), name="account-explicit", quick=True),
        check("parts.ring", partial(uniform, "axisymmetric"), name="uniform-ring", quick=True),
        check("parts.plane-stress", partial(uniform, "stress"), name="uniform-plane-stress", quick=True),
        check("parts.curvatures", curvatures, name="curvatures", quick=True, solvers=()),
        check("parts.particles", particles, name="particles", quick=True, solvers=("shear-volume",)),
        check("parts.shapes", shapes, name="shapes", quick=True, solvers=()),
        check("parts.metrics", metrics, name="metrics", quick=True, solvers=()),
    )
}
