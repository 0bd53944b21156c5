"""Thick cylinder under internal pressure on curved quadratic triangles (T5, R14, A2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skfem import FacetBasis, LinearForm, MeshTri2
from skfem.helpers import dot

from rheotwin.constraints import Motion
from rheotwin.fem.model import Load, Model, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers import make_stepper
from rheotwin.materials import GeneralizedMaxwell, Moduli
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Curve, Measurement, check
from rheotwin.validation.checks.laws import ELASTIC
from rheotwin.validation.checks.running import box_scene, last_order, problem_of
from rheotwin.validation.closed_forms import ThickCylinder

Array = NDArray[np.float64]

TUBE = ThickCylinder(inner=1.0, outer=2.0, pressure=1.0, bulk=1000.0, shear=100.0, shear_viscosity=200.0)
LAW = GeneralizedMaxwell(
    springs=(Moduli.from_bulk(0.0, TUBE.shear),),
    dashpots=(Moduli.from_bulk(0.0, TUBE.shear_viscosity),),
    equilibrium=Moduli.from_bulk(TUBE.bulk, 0.0),
)
"""Elastic in volume, Maxwell in shear."""
LATE = 2.0
"""Time [s] after the pressure step at which R14 looks again."""


def quarter_ring(across: int, around: int) -> Problem:
    """Return a quarter of the tube with `across` x `around` cells, its edges on true circles.

    It starts as a box in radius and angle, so that the box's sides name the boundaries of the ring.
    """
    scene = box_scene(
        ELASTIC,
        size=[TUBE.outer - TUBE.inner, 0.5 * np.pi],
        cells=[across, around],
        duration=LATE,
        cell="triangle",
        supports={
            "along": {"body": "block", "where": {"side": "bottom"}, "fix": ["y"]},
            "upright": {"body": "block", "where": {"side": "top"}, "fix": ["x"]},
        },
    )
    flat = problem_of(scene)
    body = flat.bodies[0]
    quadratic = MeshTri2.from_mesh(body.mesh)
    radius, angle = TUBE.inner + quadratic.doflocs[0], quadratic.doflocs[1]
    mesh = replace(quadratic, doflocs=np.ascontiguousarray(radius * np.array([np.cos(angle), np.sin(angle)])))
    vertices = np.ascontiguousarray(mesh.doflocs[:, : len(flat.points)].T)
    # Names the scene does not know: its `where` tables speak of the box and would not find these nodes on the ring.
    held = tuple(replace(item, name=f"symmetry-{item.name}") for item in flat.prescribed)
    return replace(flat, points=vertices, bodies=(replace(body, mesh=mesh, law=LAW),), prescribed=held)


def pressure(model: Model) -> Load:
    """Return the consistent nodal forces of the internal pressure, constant in time."""
    space = model.bodies[0].space
    mesh = space.basis.mesh
    inside = mesh.facets_satisfying(lambda x: np.hypot(x[0], x[1]) < 1.01 * TUBE.inner, boundaries_only=True)
    surface = FacetBasis(mesh, space.basis.elem, facets=inside, intorder=6)
    force: Any = LinearForm(lambda v, w: -TUBE.pressure * dot(w.n, v)).assemble(surface)
    return Load(np.arange(space.nodes), force.reshape(-1, 2), Motion(np.zeros(1), np.ones((1, 1))))


def inflated(across: int, around: int, step: float) -> tuple[Model, Array, Array]:
    """Return the model and its displacements (nodes, 2) [m] right after the pressure step and at `LATE`.

    In the first step the stress rises along with the displacement, which is the sudden load half a step later;
    values between two steps, and extrapolated back from the first two, take this out to second order.
    """
    chosen = FemOptions(order=2, stepper="quasi-static", energy_balance=False)
    bare = build_model(quarter_ring(across, around), chosen)
    model = replace(bare, loads=(pressure(bare),))
    stepper, state = make_stepper(model, step, chosen), State.at_rest(model)
    moved = [state.u.copy()]
    for k in range(round(LATE / step) + 1):
        stepper.step(state, k * step, (k + 1) * step)
        moved.append(state.u.copy())
    early, late = 1.5 * moved[1] - 0.5 * moved[2], 0.5 * (moved[-2] + moved[-1])
    return model, early.reshape(-1, 2), late.reshape(-1, 2)


def worst_error(model: Model, moved: Array, time: float) -> float:
    """Return the largest error of a displacement over all nodes, relative to the largest displacement."""
    points = model.points
    radius = np.hypot(points[:, 0], points[:, 1])
    exact = points / radius[:, None] * TUBE.radial_displacement(radius, time)[:, None]
    return float(np.linalg.norm(moved - exact, axis=1).max() / np.linalg.norm(exact, axis=1).max())


def on_axis(model: Model, moved: Array, radius: float) -> float:
    """Return u_x [m] of the node at (radius, 0)."""
    distance = np.linalg.norm(model.points - np.array([radius, 0.0]), axis=1)
    return float(moved[np.argmin(distance), 0])


def measure() -> Measurement:
    """Compute R14 on 8 x 16 cells, and the orders of the largest error over three meshes."""
    sizes, early, late = (2, 4, 8), [], []
    for n in sizes:
        model, first, last = inflated(n, 2 * n, step=0.02)
        early.append(worst_error(model, first, 0.0))
        late.append(worst_error(model, last, LATE))
    values = {
        f"u({name}, {time:g})": on_axis(model, moved, radius)
        for time, moved in ((0.0, first), (LATE, last))
        for name, radius in (("a", TUBE.inner), ("b", TUBE.outer))
    }
    values["largest error"] = max(early[-1], late[-1])
    widths = [1.0 / n for n in sizes]
    values["order of the largest error"] = last_order(widths, late)
    curves = tuple(
        Curve("cylinder", f"largest error at t = {time:g}", tuple(widths), tuple(found), 3.0)
        for time, found in ((0.0, early), (LATE, late))
    )
    return Measurement(values, {"largest error": last_order(widths, late)}, curves)


CHECKS = (
    check(
        "fem.R14",
        measure,
        name="thick-cylinder",
        covers=("T5", "A2"),
        options={"order": 2, "stepper": "quasi-static"},
        quick=True,
    ),
)
