"""Axisymmetric bodies: x is the radius, y the axis, every cell stands for its ring (T5, R14)."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from rheotwin.errors import RheotwinError
from rheotwin.fem.space import lame_matrix, mass_matrix, shear_matrix, vector_basis
from rheotwin.meshing import BoxShape, make_shape
from rheotwin.observers.outputs import probe_columns, probe_values
from rheotwin.observers.protocol import Watched
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import ELASTIC, Data, box_scene, path, problem_of, run_to, side, start
from rheotwin.validation.closed_forms import ThickCylinder

RADIUS, HEIGHT, TIME = 1.5, 1.0, 3.0
CELLS = ("triangle", "quad")


def disc(law: Data, cell: str = "triangle", **more: Any) -> Data:
    size, cells = [RADIUS, HEIGHT], [4, 3]
    return box_scene(law, size=size, cells=cells, cell=cell, plane="axisymmetric", duration=TIME, **more)


def driven(name: str, fix: str, distance: float) -> Data:
    target = [distance, 0.0] if fix == "x" else [0.0, distance]
    return {"grip": side(name, fix=[fix], motion=path([0.0, TIME], [[0.0, 0.0], target]))}


FLOOR = {"floor": side("bottom", fix=["y"])}
PLATES = FLOOR | {"ceiling": side("top", fix=["y"])}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_a_rod_pulled_along_its_axis(cell: str, order: int, distorted: Any, any_law: Data) -> None:
    """s_yy = r_E * e, nothing else; u_r = -nu e r, so the axis stays in place though no support holds it."""
    data = disc(any_law, cell, supports=FLOOR | driven("top", "y", 0.03 * HEIGHT))
    problem = distorted(problem_of(data), spacing=0.3)
    simulation = run_to(start(problem, step=0.25, order=order), TIME)
    fields, forces = simulation.fields(), simulation.reactions()
    stress = float(problem.bodies[0].law.channel("young").ramp(TIME, 0.03 / TIME))
    np.testing.assert_allclose(fields["stress"], np.tile([0, stress, 0, 0, 0, 0], (20, 1)), atol=1e-10 * 300)
    strain = 0.03 * np.array([-0.35, 1.0, -0.35, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(fields["strain"], np.tile(strain, (20, 1)), atol=1e-12)
    np.testing.assert_allclose(fields["displacement"][:, 0], -0.35 * 0.03 * problem.points[:, 0], atol=1e-12)
    assert forces["support.grip"][1] == pytest.approx(-stress * np.pi * RADIUS**2, rel=1e-10)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cell", CELLS)
def test_uniform_expansion(cell: str, order: int, distorted: Any) -> None:
    """u_r = c r: s_rr = s_hoop = 2 (lambda + mu) c, s_yy = 2 lambda c; the rim is pulled by s_rr 2 pi R H."""
    data = disc(ELASTIC, cell, supports=PLATES | driven("right", "x", 0.02 * RADIUS))
    problem = distorted(problem_of(data), spacing=0.3)
    simulation = run_to(start(problem, step=0.5, order=order), TIME)
    lame, shear = 259.25925926, 111.11111111
    stress = 0.02 * np.array([2 * (lame + shear), 2 * lame, 2 * (lame + shear), 0, 0, 0])
    np.testing.assert_allclose(simulation.fields()["stress"], np.tile(stress, (20, 1)), atol=1e-8)
    force = -stress[0] * 2 * np.pi * RADIUS * HEIGHT
    assert simulation.reactions()["support.grip"][0] == pytest.approx(force, rel=1e-9)
    run = Watched(problem, simulation, TIME)
    volume = np.pi * (1.02 * RADIUS) ** 2 * HEIGHT
    assert probe_values(run)["volume.block"] == pytest.approx(volume, rel=1e-12)
    assert probe_columns(problem, ())["volume.block"] == "m3"


@pytest.mark.parametrize("cell", CELLS)
def test_masses_and_matrices_are_those_of_rings(cell: str) -> None:
    """Whole mass, and moment of the mass about the axis: both exact for shares int N_i rho 2 pi r dA."""
    problem = problem_of(disc(ELASTIC, cell, density=2.0, origin=[0.5, 0.0]))
    outer, inner = RADIUS + 0.5, 0.5
    assert problem.masses.sum() == pytest.approx(2.0 * np.pi * (outer**2 - inner**2) * HEIGHT, rel=1e-12)
    moment = 2.0 * 2 * np.pi * (outer**3 - inner**3) / 3 * HEIGHT
    assert problem.masses @ problem.points[:, 0] == pytest.approx(moment, rel=1e-12)
    # u = (a r, b y): u'J_lambda u = V (2 a + b)^2, u'J_mu u = 2 V (2 a^2 + b^2); shifting along y costs nothing.
    # u = (r, 0): u'Mu = int r^2 2 pi r dA = pi R^4 H/2.
    mesh = make_shape(BoxShape((RADIUS, HEIGHT), (4, 3), cell=cell))
    basis, (a, b), volume = vector_basis(mesh, cell, axisymmetric=True), (0.3, -0.7), np.pi * RADIUS**2 * HEIGHT
    u, along, shift = (mesh.p.T * [a, b]).ravel(), (mesh.p.T * [1.0, 0.0]).ravel(), np.tile([0.0, 1.0], mesh.p.shape[1])
    lame, shear = lame_matrix(basis, axisymmetric=True), shear_matrix(basis, axisymmetric=True)
    assert u @ lame @ u == pytest.approx(volume * (2 * a + b) ** 2, rel=1e-12)
    assert u @ shear @ u == pytest.approx(2 * volume * (2 * a**2 + b**2), rel=1e-12)
    assert max(np.abs(lame @ shift).max(), np.abs(shear @ shift).max()) < 1e-12
    mass = mass_matrix(mesh, cell, axisymmetric=True)
    assert along @ mass @ along == pytest.approx(np.pi * RADIUS**4 / 2 * HEIGHT, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_pressure_on_a_disc_is_shared_by_rings(order: int) -> None:
    """A pressure between two plates gives uniform stress p, which needs shares int N_i 2 pi r dr."""
    push = side("top", total=[0.0, -5.0 * np.pi * RADIUS**2])
    data = disc(ELASTIC, supports=FLOOR, forces={"push": push})
    simulation = run_to(start(data, step=0.5, order=order, stepper="quasi-static"), TIME)
    np.testing.assert_allclose(simulation.fields()["stress"][:, 1], -5.0, rtol=1e-9)
    assert simulation.reactions()["support.floor"][1] == pytest.approx(-5.0 * np.pi * RADIUS**2, rel=1e-10)


CYLINDER = ThickCylinder(inner=1.0, outer=2.0, pressure=1.0, bulk=1000.0, shear=100.0, shear_viscosity=200.0)
BULK_ELASTIC = {
    "model": "generalized-maxwell",
    "units": [{"bulk": 0.0, "shear": 100.0, "viscosity": {"bulk": 0.0, "shear": 200.0}}],
    "equilibrium": {"bulk": 1000.0, "shear": 0.0},
}


def tube(cells: int, step: float, *, order: int = 2, cell: str = "quad") -> Simulation:
    push = {"push": side("left", total=[2 * np.pi / cells, 0.0], times=[0.0, step], factor=[0.0, 1.0])}
    shape: Data = {"size": [1.0, 1.0 / cells], "cells": [cells, 1], "cell": cell, "origin": [1.0, 0.0]}
    data = box_scene(BULK_ELASTIC, plane="axisymmetric", duration=2.0, supports=PLATES, forces=push, **shape)
    return start(data, step=step, stepper="quasi-static", order=order)


def ramped(radius: float, t: float, rise: float) -> float:
    """Displacement [m] when the pressure rises linearly: the mean answer to steps over the rise."""
    return float(quad(lambda s: CYLINDER.radial_displacement(radius, t - s), 0.0, rise, epsabs=1e-14)[0] / rise)


@pytest.mark.parametrize(("order", "expected"), [(1, 2.0), (2, 4.0)])
def test_nodal_order_of_the_thick_cylinder(order: int, expected: float) -> None:
    """The inner radius converges with twice the order of the energy norm."""
    errors = []
    for cells in (4, 8, 16):
        simulation = tube(cells, 2e-5, order=order)
        simulation.advance(2e-5, 1)
        errors.append(abs(simulation.fields()["displacement"][0, 0] / ramped(1.0, 2e-5, 2e-5) - 1.0))
    assert np.log2(np.divide(errors[:-1], errors[1:]))[-1] == pytest.approx(expected, abs=0.3)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"origin": [-0.5, 0.0]}, r"bodies\.block: reaches x = -0\.5 m, but x is the radius .* x >= 0"),
        ({"supports": driven("left", "x", 0.1)}, r"supports\.grip: node 0 lies on the axis and cannot move along x"),
        ({"thickness": 0.5}, "thickness: an axisymmetric scene has no thickness"),
        ({"gravity": [1.0, 0.0]}, "gravity: gravity of an axisymmetric scene acts along its axis"),
    ],
)
def test_what_rings_cannot_have(more: Data, message: str) -> None:
    with pytest.raises(RheotwinError, match=message):
        problem_of(disc(ELASTIC, **more))


def test_free_discs_fall_along_the_axis_which_is_held() -> None:
    simulation = run_to(start(disc(ELASTIC, density=2.0, gravity=[0.0, -1.0]), step=0.1), TIME)
    expected = np.tile([0.0, -0.5 * TIME**2, 0.0], (20, 1))
    np.testing.assert_allclose(simulation.fields()["displacement"], expected, atol=1e-10)
    # A force on a node of the axis along x goes nowhere.
    pull = {"body": "block", "where": {"nearest": [0.0, 0.5]}, "total": [1.0, 0.0]}
    simulation = run_to(start(disc(ELASTIC, supports=FLOOR, forces={"pull": pull}), step=0.5), TIME)
    assert not simulation.fields()["displacement"].any()
