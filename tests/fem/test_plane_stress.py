"""Plane stress: the strain out of the plane follows from s_zz = 0 for every law, at every time (spec 2.1)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.materials import Law
from rheotwin.problem import Problem
from rheotwin.scene import scene_from_data
from rheotwin.validation.checks.running import EQUAL_RATIO, HELD, Data, box_scene, problem_of, run_to, side, start
from rheotwin.validation.closed_forms import tensor_creep

CELLS, ORDERS, TIME = ("triangle", "quad"), (1, 2), 3.0
OTHERS = [pytest.param(*case, marks=pytest.mark.exhaustive) for case in (("triangle", 2), ("quad", 1))]
UNEQUAL: dict[str, Data] = {
    "maxwell": EQUAL_RATIO["maxwell"] | {"viscous_poisson": 0.1},
    "three-element": EQUAL_RATIO["three-element"] | {"viscous_poisson": 0.1},
}
GRADIENT = 0.01 * np.array([[1.0, 0.3], [-0.1, 0.4]])


def talbot(transform: Callable[[np.ndarray], np.ndarray], time: float, terms: int = 24) -> float:
    """Invert a Laplace transform at one time by the fixed Talbot rule (Abate and Valko 2004)."""
    angles = np.arange(1, terms) * np.pi / terms
    cot = 1.0 / np.tan(angles)
    nodes = 2.0 * terms / (5.0 * time) * np.concatenate([[1.0 + 0.0j], angles * (cot + 1.0j)])
    weights = np.concatenate([[0.5 + 0.0j], 1.0 + 1.0j * angles * (1.0 + cot**2) - 1.0j * cot])
    values = np.real(weights * np.exp(nodes * time) * transform(nodes))
    return float(2.0 / (5.0 * time) * np.sum(values))


def operational(law: Law, time: float) -> tuple[np.ndarray, float]:
    """Stress (2, 2) and strain out of the plane under the strain ramp sym(GRADIENT) t, by the correspondence rule."""
    strain = 0.5 * (GRADIENT + GRADIENT.T)
    trace = np.trace(strain)

    def out(s: np.ndarray) -> np.ndarray:
        shear = law.channel("shear").operational_modulus(s)
        lame = law.channel("bulk").operational_modulus(s) - 2 / 3 * shear
        return -lame / (lame + 2 * shear) * trace / s**2

    def stress(s: np.ndarray, i: int, j: int) -> np.ndarray:
        shear = law.channel("shear").operational_modulus(s)
        lame = law.channel("bulk").operational_modulus(s) - 2 / 3 * shear
        return lame * (trace / s**2 + out(s)) * (i == j) + 2 * shear * strain[i, j] / s**2

    found = [[talbot(lambda s, i=i, j=j: stress(s, i, j), time) for j in range(2)] for i in range(2)]
    return np.array(found), talbot(out, time)


SHEET: Data = {"plane": "stress", "thickness": 0.2, "duration": TIME}


@pytest.fixture
def sheet(distorted: Any) -> Callable[[Data, str], Problem]:
    shape: Data = {"size": [2.0, 1.5], "cells": [3, 2], "density": 1e-16}
    return lambda law, cell: distorted(problem_of(box_scene(law, cell=cell, **shape, **SHEET)), spacing=0.5)


def without_two_orders(found: list[Any]) -> Any:
    first, second = 2 * found[1] - found[0], 2 * found[2] - found[1]
    return (4 * second - first) / 3


def test_talbot_on_a_known_pair() -> None:
    assert talbot(lambda s: 1.0 / (s + 0.7), 2.0) == pytest.approx(np.exp(-1.4), rel=1e-10)


@pytest.mark.parametrize(("cell", "order"), [("triangle", 1), ("quad", 2), *OTHERS])
@pytest.mark.parametrize("name", UNEQUAL)
def test_strain_ramp_against_the_operational_solution(
    name: str, cell: str, order: int, sheet: Any, affine: Any, point_stress: Any
) -> None:
    """Uniform strain ramp: Richardson takes out h (dashpots show the rate at mid-step) and h^2; h^3 stays."""
    problem = sheet(UNEQUAL[name], cell)
    stress, out = operational(problem.bodies[0].law, TIME)
    found = []
    for steps in (60, 120, 240):
        model, state = affine(problem, GRADIENT, course=lambda t: t, steps=steps, order=order)
        space = model.bodies[0].space
        forces = state.internal_force(model)
        inner_nodes = model.free[model.free < 2 * space.nodes]
        assert np.abs(forces[inner_nodes]).max(initial=0.0) < 1e-11 * np.abs(forces).max()
        strain = model.bodies[0].vertex_strain(state.u)
        values = np.concatenate([point_stress(model, state), (space.strain @ state.u).reshape(-1, 6)], axis=1)
        np.testing.assert_allclose(values, np.tile(values[0], (len(values), 1)), atol=1e-9 * np.abs(values).max())
        np.testing.assert_allclose(strain[:, 2], values[0, 8], rtol=1e-9)
        found.append(values[0])
    best = without_two_orders(found)
    expected = [stress[0, 0], stress[1, 1], 0.0, stress[0, 1], 0.0, 0.0]
    np.testing.assert_allclose(best[:6], expected, atol=1e-6 * np.abs(stress).max())
    assert best[8] == pytest.approx(out, rel=1e-6)


@pytest.mark.parametrize("cell", CELLS)
def test_nothing_presses_out_of_the_plane(cell: str, sheet: Any, affine: Any, point_stress: Any) -> None:
    """Equilibrium at the end of every step makes s_zz vanish exactly there."""
    problem = sheet(UNEQUAL["three-element"], cell)
    model, state = affine(problem, GRADIENT, course=lambda t: t**2, steps=7, stepper="quasi-static")
    found = point_stress(model, state)
    assert np.abs(found[:, 2]).max() < 1e-12 * np.abs(found).max()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cell", CELLS)
def test_equal_ratios_are_the_limit(cell: str, order: int, sheet: Any, affine: Any, point_stress: Any) -> None:
    """Almost equal Poisson ratios keep the strain out of the plane, equal ones eliminate it: the same results."""
    results = []
    for viscous in (0.35, 0.35 + 1e-8):
        problem = sheet(UNEQUAL["maxwell"] | {"viscous_poisson": viscous}, cell)
        model, state = affine(problem, GRADIENT, course=np.sin, steps=20, order=order, stepper="quasi-static")
        body = model.bodies[0]
        assert (body.space.inner > 0) == (viscous > 0.35)
        nodes = slice(0, 2 * body.space.nodes)
        strain = body.vertex_strain(state.u).mean(axis=0)
        stress = point_stress(model, state).mean(axis=0)
        results.append([state.u[nodes], strain, stress, state.internal_force(model)[nodes]])
    for eliminated, kept in zip(*results, strict=True):
        np.testing.assert_allclose(kept, eliminated, atol=2e-7 * np.abs(eliminated).max())


@pytest.mark.parametrize("name", UNEQUAL)
def test_uniaxial_creep(name: str) -> None:
    """T4 for the true series connection: e_xx = J_K/9 + J_mu/3, in plane stress as in 3D."""
    ends = []
    for step in (0.06, 0.03, 0.015):
        pull = {"pull": side("right", total=[0.2, 0.0], times=[0.0, step], factor=[0.0, 1.0])}
        supports = {"wall": side("left", fix=["x"]), "floor": side("bottom", fix=["y"])}
        data = box_scene(UNEQUAL[name], cells=[2, 1], supports=supports, forces=pull, **SHEET)
        fields = run_to(start(data, step=step, stepper="quasi-static"), TIME).fields()
        np.testing.assert_allclose(fields["stress"], np.tile([1.0, 0, 0, 0, 0, 0], (6, 1)), atol=1e-10)
        ends.append(fields["strain"][0, 0])
    law = scene_from_data(data).law_for("block")
    assert without_two_orders(ends) == pytest.approx(float(tensor_creep(law, TIME)), rel=1e-6)


@pytest.mark.parametrize("stepper", ["midpoint", "cayley", "generalized-alpha"])
def test_massless_strains_ride_along_in_dynamics(stepper: str) -> None:
    """A pulled strip with inertia comes to rest at the state the quasi-static rule finds; the inner strains, too."""
    law = UNEQUAL["three-element"] | {"voigt_viscosity": 300.0, "series_viscosity": 1e6}
    pull = {"pull": side("right", total=[0.3, 0.0], times=[0.0, 2.0], factor=[0.0, 1.0])}
    more: Data = {"plane": "stress", "density": 1.0, "duration": 150.0, "supports": HELD, "forces": pull}
    data = box_scene(law, size=[2.0, 1.0], cells=[4, 2], **more)
    results = []
    for rule in (stepper, "quasi-static"):
        simulation = run_to(start(data, step=0.25, stepper=rule), 150.0)
        results.append((simulation.fields(), simulation.energy()))
    (dynamic, energy), (static, _) = results
    for name in ("displacement", "strain", "stress"):
        np.testing.assert_allclose(dynamic[name], static[name], atol=1e-4 * np.abs(static[name]).max())
    assert energy["kinetic"] < 1e-8 * energy["stored"]
