"""Convergence under refinement, of models whose loads are made for a known solution.

Manufactured solution U(x) (1 - exp(-t/T)) of a rheological body: orders in space and time (T7, R9, A3). Thick cylinder
under internal pressure on curved quadratic triangles (T5, R14, A2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from skfem import Basis, FacetBasis, LinearForm, MeshTri2
from skfem.helpers import dot

from rheotwin.arrays import Array
from rheotwin.constraints import Motion
from rheotwin.fem.model import Load, Model, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.refine import refined_problem
from rheotwin.fem.state import State
from rheotwin.fem.steppers import make_stepper
from rheotwin.materials import GeneralizedMaxwell, Moduli
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Check, Curve, Measurement, Values, check
from rheotwin.validation.checks.running import (
    ELASTIC,
    RHEOLOGICAL,
    Data,
    box_scene,
    last_order,
    named,
    orders,
    path,
    problem_of,
    run_to,
    side,
    start,
)
from rheotwin.validation.closed_forms import SaturatingTime, SineField, ThickCylinder

END = 1.0
"""Time [s] at which the solutions are compared."""
TIME = SaturatingTime(0.8)
AMPLITUDES = {2: (1.0, 1.0), 3: (1.0, 1.0, -0.6)}
SIDES = {2: ("left", "right", "bottom", "top"), 3: ("left", "right", "bottom", "top", "front", "back")}
KIND = {"triangle": "P", "tet": "P", "quad": "Q", "hex": "Q"}
ERROR_ORDER = 6
"""Quadrature order of error norms and body forces, two above the products of quadratic functions."""


@dataclass(frozen=True)
class Errors:
    """Error of the displacement [m] and of its gradient [1], as L2 norms over the body."""

    displacement: float
    gradient: float


def stepped(model: Model, state: State, options: FemOptions, step: float, steps: int) -> list[Array]:
    """Return the displacements [m] at the start and after each of so many equal steps [s]."""
    stepper, found = make_stepper(model, step, options), [state.u.copy()]
    for k in range(steps):
        stepper.step(state, k * step, (k + 1) * step)
        found.append(state.u.copy())
    return found


def unit_problem(cell: str, cells: int, law: Data = RHEOLOGICAL) -> Problem:
    """Return the unit square or cube with its whole boundary held."""
    dimension = 3 if cell in ("tet", "hex") else 2
    more: Data = {"supports": {name: side(name) for name in SIDES[dimension]}}
    more |= {"pattern": "se-nw"} if cell == "triangle" else {}
    return problem_of(box_scene(law, size=[1.0] * dimension, cells=[cells] * dimension, cell=cell, **more))


def body_forces(model: Model, field: SineField) -> tuple[Load, ...]:
    """Return the consistent nodal forces of f = kappa_lam(t) F_lam + kappa_mu(t) F_mu."""
    (body,), law = model.bodies, model.problem.bodies[0].law
    basis = Basis(body.space.basis.mesh, body.space.basis.elem, intorder=ERROR_ORDER)
    times, rows = np.linspace(0.0, END, 4001), np.arange(body.space.nodes)

    def load(modulus: Any, values: Any) -> Load:
        shares = LinearForm(lambda v, w: dot(values(w.x), v)).assemble(basis)
        factor = Motion(times, TIME.kappa(law.channel(modulus), times)[:, None])
        return Load(rows, shares.reshape(-1, model.dimension), factor)

    return load("lame", field.lame_field), load("shear", field.shear_field)


def solved(problem: Problem, steps: int, **options: Any) -> tuple[Model, Array]:
    """Return the model and its displacement [m] at the end, after `steps` equal steps."""
    chosen = FemOptions(energy_balance=False, **options)
    bare, field = build_model(problem, chosen), SineField(AMPLITUDES[problem.dimension])
    model = replace(bare, loads=body_forces(bare, field))
    state = State.at_rest(model)
    state.v[:] = TIME.rate(0.0) * field.displacement(model.points.T).T.ravel()
    return model, stepped(model, state, chosen, END / steps, steps)[-1]


def errors(model: Model, u: Array) -> Errors:
    """Return the distance of a displacement from the manufactured one at the end."""
    space, field = model.bodies[0].space, SineField(AMPLITUDES[model.dimension])
    basis = Basis(space.basis.mesh, space.basis.elem, intorder=ERROR_ORDER)
    found, x, scale = basis.interpolate(u[: basis.N]), basis.global_coordinates(), TIME.value(END)
    displacement = np.asarray(found) - scale * field.displacement(x)
    gradient = np.asarray(found.grad) - scale * field.gradient(x)
    squares = (displacement**2).sum(axis=0), (gradient**2).sum(axis=(0, 1))
    return Errors(*(float(np.sqrt(np.sum(square * basis.dx))) for square in squares))


def space_orders(cell: str, order: int, cells: tuple[int, ...], steps: int) -> Measurement:
    """Refine the mesh with steps so short that their error does not show."""
    found = [errors(*solved(unit_problem(cell, n), steps, order=order)) for n in cells]
    widths = tuple(1.0 / n for n in cells)
    displacement, gradient = tuple(e.displacement for e in found), tuple(e.gradient for e in found)
    between = [f"{n} to {m}" for n, m in pairwise(cells)]
    values = named("L2 rate {}", between, orders(widths, displacement))
    values[f"H1 rate {between[-1]}"] = last_order(widths, gradient)
    label = f"{KIND[cell]}{order} {cell}"
    curves = (
        Curve("space-l2", label, widths, displacement, order + 1),
        Curve("space-h1", label, widths, gradient, order),
    )
    return Measurement(values, values, curves)


def time_order(stepper: str, order: float, steps: tuple[int, ...] = (20, 40, 80)) -> Measurement:
    """Refine the step on one mesh, against the exact motion of its equations.

    With one Poisson ratio body force and stiffness keep their shape, so the nodes move like U_h q(t), where U_h is
    the answer of an elastic body: one quasi-static step.
    """
    _, exact = solved(unit_problem("triangle", 4, ELASTIC), 1, stepper="quasi-static")
    problem, sizes = unit_problem("triangle", 4), tuple(END / n for n in steps)
    found = tuple(float(np.abs(solved(problem, n, stepper=stepper)[1] - exact).max()) for n in steps)
    rate = {"time rate": last_order(sizes, found)}
    return Measurement(rate, rate, (Curve("time-manufactured", stepper, sizes, found, order),))


def _space_check(label: str, cell: str, order: int, cells: tuple[int, ...], *, steps: int, quick: bool) -> Check:
    """Return the check of an element; the rates expected are those of the catalogue."""
    element, compute = f"{KIND[cell]}{order}-{cell}".lower(), partial(space_orders, cell, order, cells, steps)
    more: Data = {"covers": tuple(word for word in ("T7", "A3") if word != label), "options": {"order": order}}
    return check(f"fem.{label}/{element}", compute, name=f"manufactured-{element}", quick=quick, **more)


def _time_check(stepper: str, rate: int) -> Check:
    more: Data = {"name": f"manufactured-time-{stepper}", "covers": ("T7",), "options": {"stepper": stepper}}
    return check(f"fem.R9/time-{stepper}", partial(time_order, stepper, rate), quick=True, **more)


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
    supports = {"along": side("bottom", fix=["y"]), "upright": side("top", fix=["x"])}
    size, cells = [TUBE.outer - TUBE.inner, 0.5 * np.pi], [across, around]
    flat = problem_of(box_scene(ELASTIC, size=size, cells=cells, duration=LATE, cell="triangle", supports=supports))
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
    moved = stepped(model, State.at_rest(model), chosen, step, round(LATE / step) + 1)
    early, late = 1.5 * moved[1] - 0.5 * moved[2], 0.5 * (moved[-2] + moved[-1])
    return model, early.reshape(-1, 2), late.reshape(-1, 2)


def worst_error(model: Model, moved: Array, time: float) -> float:
    """Return the largest error of a displacement over all nodes, relative to the largest displacement."""
    radius = np.hypot(*model.points.T)
    exact = model.points / radius[:, None] * TUBE.radial_displacement(radius, time)[:, None]
    return float(np.linalg.norm(moved - exact, axis=1).max() / np.linalg.norm(exact, axis=1).max())


def on_axis(model: Model, moved: Array, radius: float) -> float:
    """Return u_x [m] of the node at (radius, 0)."""
    return float(moved[np.argmin(np.linalg.norm(model.points - np.array([radius, 0.0]), axis=1)), 0])


def cylinder() -> Measurement:
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
    widths = tuple(1.0 / n for n in sizes)
    order = last_order(widths, late)
    values |= {"largest error": max(early[-1], late[-1]), "order of the largest error": order}
    curves = tuple(
        Curve("cylinder", f"largest error at t = {time:g}", widths, tuple(found), 3.0)
        for time, found in ((0.0, early), (LATE, late))
    )
    return Measurement(values, {"largest error": order}, curves)


def widened_ring() -> tuple[Data, float]:
    """Return a ring of radii .1 and 1 driven from inside, and its energy [J]: u = A r + B/r, no stress outside."""
    inner, outer, height, moved = 0.1, 1.0, 0.2, 1e-3
    supports = {
        "inner": side("left", fix=["x"], motion=path([0.0, END], [[0.0, 0.0], [moved, 0.0]])),
        "low": side("bottom", fix=["y"]),
        "up": side("top", fix=["y"]),
    }
    size, place = [outer - inner, height], [inner, 0.0]
    more: Data = {"origin": place, "cell": "triangle", "plane": "axisymmetric", "supports": supports}
    data = box_scene(ELASTIC, cells=[4, 1], size=size, duration=END, **more)
    bulk, shear = (problem_of(data).bodies[0].law.channel(name).equilibrium for name in ("bulk", "shear"))
    b = moved / (inner * shear / ((bulk + shear / 3.0) * outer**2) + 1.0 / inner)
    return data, 2.0 * np.pi * inner * height * shear * b * (inner**-2 - outer**-2) * moved


def pressed_column() -> tuple[Data, float]:
    """Return a column that its weight presses between smooth walls, and its energy [J]: s = rho g (H - z)."""
    walls = {
        name: side(name, fix=["x" if name in ("left", "right") else "y"]) for name in ("left", "right", "front", "back")
    }
    supports = {"low": side("bottom", fix=["z"]), **walls}
    more: Data = {"cell": "tet", "pattern": "six", "density": 2.0, "gravity": [0.0, 0.0, -9.0], "supports": supports}
    data = box_scene(ELASTIC, cells=[2, 2, 4], size=[0.5, 0.5, 1.0], duration=END, **more)
    bulk, shear = (problem_of(data).bodies[0].law.channel(name).equilibrium for name in ("bulk", "shear"))
    return data, (2.0 * 9.0) ** 2 * 0.25 / (6.0 * (bulk + 4.0 * shear / 3.0))


def refined_until() -> Values:
    """Compute what refinement leaves of closed forms, and its estimate of that over what it is."""
    found: dict[str, float] = {}
    for name, (data, energy), order, goal in (
        ("ring, order 1", widened_ring(), 1, 1.0),
        ("ring, order 2", widened_ring(), 2, 1.0),
        ("column, order 1", pressed_column(), 1, 0.1),
    ):
        options = FemOptions(order=order, stepper="static", step=END, refine=f"until {goal} %")  # type: ignore[arg-type]
        problem = refined_problem(problem_of(data), options)
        stored = run_to(start(problem, order=order, stepper="static", step=END), END).energy()["stored"]
        assert problem.refinement is not None
        error = abs(stored / energy - 1.0)
        found |= {
            f"{name}: error": error,
            f"{name}: estimate over error": problem.refinement["estimated_error"] / error,
        }
    return found


def finer_cells() -> Values:
    """Compute what finer cells next to coarser ones leave of errors, beside fine cells everywhere."""

    def stored(data: Data, cell: str, cells: list[int], *finer: Data) -> float:
        box = data["bodies"]["block"] | {"cell": cell, "cells": cells, "finer": finer}
        problem = problem_of(data | {"bodies": {"block": box}})
        return run_to(start(problem, stepper="static", step=END), END).energy()["stored"]

    found: dict[str, float] = {}
    ring, energy = widened_ring()
    for cell in ("quad", "triangle"):
        fine = stored(ring, cell, [36, 8]) - energy
        graded = stored(ring, cell, [9, 2], {"x": [0.1, 0.4]}, {"x": [0.1, 0.3], "levels": 2}) - energy
        found[f"ring, {cell}: error"] = graded / energy
        found[f"ring, {cell}: error over that of fine cells"] = graded / fine
    press = {"where": {"box": {"x": [0.25, 0.75], "y": [0.25, 0.75], "z": [1.0, 1.0]}}, "body": "block"}
    push = press | {"motion": path([0.0, END], [[0.0, 0.0, 0.0], [0.0, 0.0, -0.01]])}
    supports = {"floor": side("bottom"), "press": push}
    block = box_scene(ELASTIC, cells=[4, 4, 4], size=[1.0, 1.0, 1.0], duration=END, supports=supports)
    for cell in ("hex", "tet"):
        coarse, fine = (stored(block, cell, [n, n, n]) for n in (4, 8))
        graded = stored(block, cell, [4, 4, 4], {"z": [0.5, 1.0]})
        found[f"press, {cell}: off from fine cells, coarse cells being off by 1"] = (graded - fine) / (coarse - fine)
    return found


_QUADRATIC = {"order": 2, "stepper": "quasi-static"}
CHECKS = {
    # A new element or stepper is one line here, and an entry of the catalogue.
    "manufactured": (
        _space_check("R9", "triangle", 1, (4, 8, 16, 32), steps=50, quick=True),
        _space_check("R9", "triangle", 2, (4, 8, 16, 32), steps=200, quick=True),
        _space_check("A3", "tet", 1, (4, 8, 12), steps=50, quick=False),
        _space_check("A3", "tet", 2, (4, 6, 8), steps=50, quick=False),
        _space_check("T7", "quad", 1, (4, 8, 16), steps=50, quick=True),
        _space_check("T7", "quad", 2, (4, 8, 16), steps=100, quick=False),
        _space_check("T7", "hex", 1, (2, 4, 8), steps=50, quick=False),
        _time_check("quasi-static", 1),
        _time_check("midpoint", 2),
        _time_check("cayley", 2),
    ),
    "cylinder": (
        check("fem.R14", cylinder, name="thick-cylinder", covers=("T5", "A2"), options=_QUADRATIC, quick=True),
    ),
    "refinement": (
        check("fem.size.refined", refined_until, name="refined-until", quick=True),
        check("fem.size.finer", finer_cells, name="finer-cells", quick=True),
    ),
}
