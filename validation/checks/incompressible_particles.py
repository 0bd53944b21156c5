"""Particles of constant volume under the papers' bar and a plate: forces beside Taylor-Hood's, errors of volumes.

Displacements live on the same points: quadratic ones on 16 x 6 squares, linear ones of particles on 32 x 12.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bmat
from scipy.sparse.linalg import spsolve
from skfem import Basis, BilinearForm, ElementTriP1, ElementTriP2, ElementVector, LinearForm, MeshTri
from skfem.helpers import ddot, grad

from rheotwin.registry import find_solver
from rheotwin.solver import checked_options
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, problem_of, run_to
from rheotwin.validation.checks.scenes import DOWN, MASS, press_scene

Array = NDArray[np.float64]

LAW: Data = {"model": "voigt", "young": 3.0, "viscosity": 3.0, "poisson": 0.5}
"""Shear modulus 1 Pa, shear viscosity 1 Pa s: what moves has died out after some seconds."""
COARSE, FINE = [16, 6], [32, 12]
DEPTHS = {"0.03": 0.03, "1": 1.0, "5": 5.0}
BAR, PLATE = 20.0, 120.0
"""Widths [m]: the papers' bar, whose ends are singular, and a plate over all of the top, however much it bulges."""
REST, STEP = 10.0, 0.01
"""How long the bar stays down [s], and the step of the particles [s]."""
NEWTON, SMALL = 30, 1e-9
LOADS = 0.5
"""Longest way of the bar from one equilibrium to the next [m]."""
SOFT, FIRM = 1.0, 10.0
"""Bulk moduli [Pa] of Taylor-Hood elements beside their pressures. Those keep volumes in the mean only: with a soft one
points at the ends of the bar shrink to 0.3 of their volume at a depth of 5 m and the force depends on what they are
assumed to do then (36.0, 38.1, 41.6, 43.3 N for 0, 1, 10, 100 Pa), though the body's does not. With the firm one they
keep 0.84, the triangles of the particles 0.73."""


class TaylorHood(NamedTuple):
    """Force [N] on the bar, and the least that a point has kept of its volume."""

    force: float
    smallest_ratio: float


def pressed(depth: float, cells: list[int], width: float = BAR) -> Data:
    """Return the scene with a bar of `width` [m] that goes down to `depth` [m] and stays there."""
    data = press_scene(LAW, mass=MASS) | {"duration": DOWN + REST, "output": {"interval": DOWN + REST}}
    data["bodies"]["block"]["cells"] = cells
    places = [[0.0, 0.0], [0.0, -depth], [0.0, -depth]]
    data["tools"]["bar"]["width"] = width
    data["tools"]["bar"]["motion"] = {"times": [0.0, DOWN, DOWN + REST], "displacement": places}
    return data


def particles(depth: float, cells: list[int], end: float, width: float = BAR, **options: Any) -> Any:
    """Return the particles at time `end` [s], with one volume kept per square."""
    solver = find_solver("shear-volume")
    taken = checked_options(solver, {"step": STEP, "incompressible": "cell", **options})
    simulation = solver.start(problem_of(pressed(depth, cells, width)), taken)
    run_to(simulation, end)
    return simulation


def taylor_hood(mesh: MeshTri, depth: float, width: float = BAR, bulk: float = SOFT) -> TaylorHood:
    """Return the force on a frictionless bar of `width` [m]: incompressible neo-Hooke of 1 Pa, large strain.

    W = tr C/(2 J) + K (J - 1)^2/2 and J = 1 by pressures: P = F/J + (K (J - 1) - tr C/(2 J^2) + p) cof F, by Newton's
    method. K, `bulk` [Pa], counts only where J is one in the mean but not everywhere. With K = 1 Pa W is eps : eps at
    small strain as in the solver `fem`, and the force is that of its formulation "taylor-hood".
    """
    moving = Basis(mesh, ElementVector(ElementTriP2()), intorder=4)
    pressing = Basis(mesh, ElementTriP1(), quadrature=moving.quadrature)
    tangent, constraint, force, volume = _forms(bulk)
    x, y = moving.doflocs
    vertical = np.concatenate([moving.nodal_dofs[1], moving.facet_dofs[1]])
    under = vertical[(y[vertical] == y.max()) & (np.abs(x[vertical] - 40.0) < 0.5 * width + 1e-6)]
    free = np.setdiff1d(np.arange(moving.N + pressing.N), np.concatenate([np.flatnonzero(y == 0.0), under]))
    z = np.zeros(moving.N + pressing.N)
    for part in np.linspace(0.0, depth, 1 + max(1, round(depth / LOADS)))[1:]:
        z[under] = -part
        for _ in range(NEWTON):
            now = {"u": moving.interpolate(z[: moving.N]), "p": pressing.interpolate(z[moving.N :])}
            residual = np.concatenate([force.assemble(moving, **now), volume.assemble(pressing, **now)])
            if np.abs(residual[free]).max() < SMALL:
                break
            rows = constraint.assemble(moving, pressing, **now)
            matrix = bmat([[tangent.assemble(moving, **now), rows.T], [rows, None]], format="csc")
            z[free] -= spsolve(matrix[free][:, free], residual[free])
        else:
            return TaylorHood(float("nan"), float("nan"))
    return TaylorHood(-float(residual[under].sum()), float(_shape(now)[2].min()))


def _cofactor(h: Array) -> Array:
    return np.array([[h[1, 1], -h[1, 0]], [-h[0, 1], h[0, 0]]])


def _shape(w: Any) -> tuple[Array, Array, Array, Array]:
    """Return F, cof F, J and tr C/2."""
    f = np.asarray(w["u"].grad) + np.eye(2)[:, :, None, None]
    c = _cofactor(f)
    return f, c, 0.5 * ddot(c, f), 0.5 * ddot(f, f)


def _forms(bulk: float) -> tuple[BilinearForm, BilinearForm, LinearForm, LinearForm]:
    """Return the tangent, the gradient of volumes, forces and volumes."""

    def tension(ratio: Array, half: Array, w: Any) -> Array:
        return np.asarray(w["p"] + bulk * (ratio - 1.0) - half / ratio**2)

    def tangent(u: Any, v: Any, w: Any) -> Array:
        (f, c, ratio, half), h = _shape(w), grad(u)
        swelling, stretch = ddot(c, h), ddot(f, h)
        change = (h - (f * swelling + c * stretch) / ratio) / ratio + c * swelling * (bulk + 2.0 * half / ratio**3)
        return np.asarray(ddot(change + tension(ratio, half, w) * _cofactor(h), grad(v)))

    def force(v: Any, w: Any) -> Array:
        f, c, ratio, half = _shape(w)
        return np.asarray(ddot(f / ratio + tension(ratio, half, w) * c, grad(v)))

    return (
        BilinearForm(tangent),
        BilinearForm(lambda u, q, w: q * ddot(_shape(w)[1], grad(u))),
        LinearForm(force),
        LinearForm(lambda q, w: q * (_shape(w)[2] - 1.0)),
    )


def forces() -> Measurement:
    """Compute P-INC: forces over those of Taylor-Hood, and the largest volume errors through presses of 10 m."""
    mesh, found = problem_of(pressed(1.0, COARSE)).bodies[0].mesh, {}
    for name, depth in DEPTHS.items():
        simulation = particles(depth, FINE, DOWN + REST, volume_tolerance=1e-9)
        force = simulation.reactions()["tool.bar"][1]
        soft, firm = taylor_hood(mesh, depth), taylor_hood(mesh, depth, bulk=FIRM)
        found[f"F over Taylor-Hood's at {name}"] = force / firm.force
        found[f"F over soft Taylor-Hood's at {name}"] = force / soft.force
    found["smallest J of soft Taylor-Hood at 5"] = soft.smallest_ratio
    plate = particles(5.0, FINE, DOWN + REST, PLATE, volume_tolerance=1e-9).reactions()["tool.bar"][1]
    found["F over Taylor-Hood's under a plate at 5"] = plate / taylor_hood(mesh, 5.0, PLATE, FIRM).force
    found["F over soft Taylor-Hood's under a plate at 5"] = plate / taylor_hood(mesh, 5.0, PLATE).force
    found["volume error under a plate"] = particles(10.0, COARSE, DOWN, PLATE).statistics()["largest_volume_error"]
    found["volume error"] = particles(10.0, COARSE, DOWN).statistics()["largest_volume_error"]
    return Measurement({name: float(value) for name, value in found.items()})


_check = partial(check, solvers=("shear-volume",))
CHECKS = (_check("fem.P-INC", forces, name="particles-incompressible"),)
