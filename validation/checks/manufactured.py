"""Manufactured solution U(x) (1 - exp(-t/T)) of a rheological body: orders in space and time (T7, R9, A3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skfem import Basis, LinearForm
from skfem.helpers import dot

from rheotwin.constraints import Motion
from rheotwin.fem.model import Load, Model, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers import make_stepper
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Check, Curve, Measurement, check
from rheotwin.validation.checks.laws import ELASTIC, RHEOLOGICAL
from rheotwin.validation.checks.running import Data, box_scene, last_order, orders, problem_of
from rheotwin.validation.closed_forms import SaturatingTime, SineField

Array = NDArray[np.float64]

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


def unit_problem(cell: str, cells: int, law: Data = RHEOLOGICAL) -> Problem:
    """Return the unit square or cube with its whole boundary held."""
    dimension = 3 if cell in ("tet", "hex") else 2
    supports = {side: {"body": "block", "where": {"side": side}} for side in SIDES[dimension]}
    pattern: dict[str, Any] = {"pattern": "se-nw"} if cell == "triangle" else {}
    return problem_of(
        box_scene(
            law,
            size=[1.0] * dimension,
            cells=[cells] * dimension,
            duration=END,
            cell=cell,
            supports=supports,
            **pattern,
        )
    )


def body_forces(model: Model, field: SineField) -> tuple[Load, ...]:
    """Return the consistent nodal forces of f = kappa_lam(t) F_lam + kappa_mu(t) F_mu."""
    (body,), law = model.bodies, model.problem.bodies[0].law
    basis = Basis(body.space.basis.mesh, body.space.basis.elem, intorder=ERROR_ORDER)
    times = np.linspace(0.0, END, 4001)
    rows = np.arange(body.space.nodes)

    def load(modulus: Any, values: Any) -> Load:
        shares = LinearForm(lambda v, w: dot(values(w.x), v)).assemble(basis)
        factor = Motion(times, TIME.kappa(law.channel(modulus), times)[:, None])
        return Load(rows, shares.reshape(-1, model.dimension), factor)

    return load("lame", field.lame_field), load("shear", field.shear_field)


def solved(problem: Problem, steps: int, **options: Any) -> tuple[Model, Array]:
    """Return the model and its displacement [m] at the end, after `steps` equal steps."""
    chosen = FemOptions(energy_balance=False, **options)
    bare = build_model(problem, chosen)
    field = SineField(AMPLITUDES[problem.dimension])
    model, h = replace(bare, loads=body_forces(bare, field)), END / steps
    stepper, state = make_stepper(model, h, chosen), State.at_rest(model)
    state.v[:] = TIME.rate(0.0) * field.displacement(model.points.T).T.ravel()
    for k in range(steps):
        stepper.step(state, k * h, (k + 1) * h)
    return model, state.u


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
    rates = orders(widths, displacement)
    values = {f"L2 rate {n} to {m}": rate for (n, m), rate in zip(pairwise(cells), rates, strict=True)}
    values[f"H1 rate {cells[-2]} to {cells[-1]}"] = last_order(widths, gradient)
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
    problem = unit_problem("triangle", 4)
    found = tuple(float(np.abs(solved(problem, n, stepper=stepper)[1] - exact).max()) for n in steps)
    sizes = tuple(END / n for n in steps)
    curve = Curve("time-manufactured", stepper, sizes, found, order)
    rate = {"time rate": last_order(sizes, found)}
    return Measurement(rate, rate, (curve,))


def _space_check(label: str, cell: str, order: int, cells: tuple[int, ...], *, steps: int, quick: bool) -> Check:
    """Return the check of an element; the rates expected are those of the catalogue."""
    element = f"{KIND[cell]}{order}-{cell}".lower()
    return check(
        f"fem.{label}/{element}",
        partial(space_orders, cell, order, cells, steps),
        name=f"manufactured-{element}",
        covers=tuple(word for word in ("T7", "A3") if word != label),
        options={"order": order},
        quick=quick,
    )


def _time_check(stepper: str, rate: int) -> Check:
    return check(
        f"fem.R9/time-{stepper}",
        partial(time_order, stepper, rate),
        name=f"manufactured-time-{stepper}",
        covers=("T7",),
        options={"stepper": stepper},
        quick=True,
    )


# A new element or stepper is one line here, and an entry of the catalogue.
CHECKS = (
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
)
