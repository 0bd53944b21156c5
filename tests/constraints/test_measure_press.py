"""The papers' block pressed to a third of its height with constant area, by Runge-Kutta (spec 5)."""

import numpy as np
import pytest

from rheotwin.constraints.measure import (
    measure_constraints,
    simplex_measures,
)
from rheotwin.constraints.patches import patches
from rheotwin.constraints.stabilisation import REGULARISATION, ConstrainedInertia, LumpedInertia, stabilised_demand
from rheotwin.fem.forms import shear_matrix, vector_basis
from rheotwin.meshing.box import triangle_grid

FREQUENCY, STEP, DEPTH = 20.0, 0.02, 10.0


@pytest.mark.parametrize("kind", ["node", "cell"])
def test_the_area_of_every_patch_is_kept(kind: str) -> None:
    mesh = triangle_grid(5.0 * np.arange(17), 5.0 * np.arange(7), pattern="alternating")
    points = np.ascontiguousarray(mesh.p.T)
    constraints = measure_constraints(patches(kind, mesh.t.T, points), points)
    shear = shear_matrix(vector_basis(mesh, "triangle"))
    x, y = points.T
    bar = (y == 30.0) & (x >= 30.0) & (x <= 50.0)
    held = np.stack([y == 0.0, (y == 0.0) | bar], axis=1)
    inverse_mass = np.where(held, 0.0, len(points) / 30.0).ravel()

    def slope(state: np.ndarray) -> np.ndarray:
        position, velocity = state
        # Voigt shear, G = 1 and c = 1; the bar moves 1 m/s, so nothing accelerates where it is held
        free = -inverse_mass * (shear @ (position - points + velocity).ravel())
        gradient = constraints.gradient(position)
        rate, curvature = gradient @ velocity.ravel(), constraints.curvature(position, velocity)
        demand = stabilised_demand(constraints.value(position), rate, curvature, FREQUENCY)
        inertia = ConstrainedInertia(LumpedInertia(inverse_mass), gradient, regularisation=REGULARISATION)
        multiplier = inertia.multipliers(free, demand)
        return np.array([velocity, (free + inverse_mass * (gradient.T @ multiplier)).reshape(-1, 2)])

    state = np.array([points, np.where(np.stack([np.zeros_like(bar), bar], axis=1), -1.0, 0.0)])
    errors = []
    for _ in range(round(DEPTH / STEP)):
        a = slope(state)
        b = slope(state + 0.5 * STEP * a)
        c = slope(state + 0.5 * STEP * b)
        d = slope(state + STEP * c)
        state = state + STEP / 6.0 * (a + 2 * b + 2 * c + d)
        errors.append(np.abs(constraints.value(state[0]) / constraints.rest).max())
    assert state[0][bar, 1] == pytest.approx(20.0)
    # the bar's sudden start has died out after half a second: (1 + om t) exp(-om t) = 5e-4 of under 1 %
    assert max(errors[round(0.5 / STEP) :]) < 1e-4
    assert simplex_measures(mesh.t.T, state[0]).sum() == pytest.approx(80.0 * 30.0, rel=1e-6)
