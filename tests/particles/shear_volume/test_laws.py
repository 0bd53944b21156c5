"""Networks of laws on shear and volume: channel form at small strain, patches, moduli straight from the law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.shear_volume.channels import body_channels
from rheotwin.particles.shear_volume.options import ShearVolumeOptions
from rheotwin.particles.shear_volume.solver import ShearVolumeSimulation
from rheotwin.problem import Problem
from rheotwin.validation.checks.matrices import GRADIENT

Start = Callable[..., ShearVolumeSimulation]
Make = Callable[..., Problem]


SMALL = 1e-5
"""Strains of this size over those of `GRADIENT`: second-order terms are as small against the stress."""


def ramped(problem: Problem, simulation: ShearVolumeSimulation, steps: int) -> None:
    """Move every node with x = (1 + H t) X, H = SMALL GRADIENT, by hand: no inertia."""
    dimension = problem.dimension
    gradient = SMALL * GRADIENT[:dimension, :dimension]
    for k in range(1, steps + 1):
        state = simulation.save()
        h = simulation.step_size
        state["positions"][:, :dimension] = problem.points + k * h * problem.points @ gradient.T
        state["velocities"][:, :dimension] = problem.points @ gradient.T
        simulation.restore(state)
        simulation.advance(k * h, 1)
    state = simulation.save()
    state["positions"][:, :dimension] = problem.points + steps * h * problem.points @ gradient.T
    state["velocities"][:, :dimension] = problem.points @ gradient.T
    simulation.restore(state)


@pytest.mark.parametrize(
    ("cell", "shear"), [("triangle", "neo-hooke"), ("triangle", "cotangent"), ("tet", "neo-hooke")]
)
def test_stress_is_the_channel_form_at_small_strain(
    start: Start, free: Make, law: dict[str, Any], cell: str, shear: str
) -> None:
    """A ramp of strain, every law: K tr(rate) and 2 mu dev(rate) times the ramp responses; patch test T3 on top."""
    problem = free(cell, law)
    dimension, channels = problem.dimension, body_channels(problem, problem.bodies[0], ShearVolumeOptions())
    simulation = start(problem, shear=shear)
    ramped(problem, simulation, 40)
    gradient = SMALL * GRADIENT[:dimension, :dimension]
    rate = 0.5 * (gradient + gradient.T)
    mean = np.eye(dimension) * np.trace(rate)
    expected = float(channels.volume.ramp(simulation.time)) * mean
    expected = expected + 2.0 * float(channels.shear.ramp(simulation.time)) * (rate - mean / dimension)
    stress = simulation.fields()["stress"]
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    scale = np.abs(expected).max()
    for column, (a, b) in enumerate(pairs):
        if max(a, b) < dimension:
            assert np.abs(stress[:, column] - expected[a, b]).max() < 2e-6 * scale
    inner = np.setdiff1d(np.arange(len(problem.points)), problem.bodies[0].mesh.boundary_nodes())
    force = simulation.save()["force"]
    assert np.abs(force[inner]).max() < 1e-6 * np.abs(force).max()


def test_patch_at_finite_strain(start: Start, free: Make) -> None:
    """T3 where round-off can be told from the second order: elastic, strains of two percent."""
    for cell, shear in (
        ("triangle", "neo-hooke"),
        ("triangle", "cotangent"),
        ("quad", "neo-hooke"),
        ("tet", "neo-hooke"),
    ):
        problem = free(cell, {"model": "elastic", "young": 12.0, "poisson": 0.35})
        dimension = problem.dimension
        force = start(problem, shear=shear).method.internal_force(
            problem.points + problem.points @ GRADIENT[:dimension, :dimension].T
        )
        inner = np.setdiff1d(np.arange(len(problem.points)), problem.bodies[0].mesh.boundary_nodes())
        assert np.abs(force[inner]).max() < 1e-11 * np.abs(force).max() or (cell, shear) == ("triangle", "cotangent")


def test_volume_has_an_arm_for_each_time(make_problem: Make) -> None:
    """Unequal Poisson ratios: K = bulk + mu/3 keeps both times, `lame` those of lambda and mu."""
    law = {"model": "maxwell", "young": 12.0, "poisson": 0.35, "viscosity": {"young": 4.0, "poisson": 0.2}}
    problem = make_problem(2, law, body={"cell": "triangle"})
    body = problem.bodies[0]
    for split, other in (("bulk-shear", "bulk"), ("lame", "lame")):
        found = body_channels(problem, body, ShearVolumeOptions(split=split)).volume
        times = {body.law.channel(modulus).times[0] for modulus in (other, "shear")}
        assert found.times == pytest.approx(sorted(times))
        assert found.instantaneous == pytest.approx(body.law.channel("area").instantaneous)


def test_named_laws_replace_shear_and_volume(make_problem: Make, start: Start) -> None:
    problem = make_problem(2, {"model": "elastic", "young": 12.0, "poisson": 0.35}, body={"cell": "triangle"})
    options = ShearVolumeOptions(shear_law="stuff", volume_law="stuff")
    channels = body_channels(problem, problem.bodies[0], options)
    assert (channels.shear.equilibrium, channels.volume.equilibrium) == pytest.approx((12.0, 12.0))
    with pytest.raises(RheotwinError, match=r"no law is named 'stuf' .did you mean 'stuff'"):
        start(problem, volume_law="stuf")


def test_plane_stress_needs_one_poisson_ratio(make_problem: Make, start: Start) -> None:
    law = {"model": "voigt", "young": 12.0, "poisson": 0.35, "viscosity": 1.0, "viscous_poisson": 0.1}
    with pytest.raises(RheotwinError, match="one Poisson ratio"):
        start(make_problem(2, law, body={"cell": "triangle"}, plane="stress"))
