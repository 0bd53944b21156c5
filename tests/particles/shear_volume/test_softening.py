"""Series dashpots that soften in shear and volume elements: creep, uniaxial loads, linear law, order in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from rheotwin.particles.shear_volume.solver import ShearVolumeSimulation
from rheotwin.problem import Problem

Start = Callable[..., ShearVolumeSimulation]
Make = Callable[..., Problem]
Data = dict[str, Any]

STIFF, SOFT, START, END = 1000.0, 10.0, 0.5, 2.0
CREEP = [(0.4, 4e-4), (1.25, 0.0125), (3.0, 0.3)]
"""Weights below, between and above the thresholds, and W/c2(W) (spec section 3)."""
ROOT3 = np.sqrt(3.0)
TAU = 1e-4
"""c1/k [s]: the Voigt part settles while strains are small."""
SOFTENING = {"viscosity": SOFT, "from_stress": START, "to_stress": END}
NAMED: Data = {
    "model": "three-element",
    "young": 1e5,
    "poisson": 0.0,
    "voigt_viscosity": 10.0,
    "series_viscosity": STIFF,
}
"""Numbers of the shear modulus itself; k = 1e5."""
HELD: Data = {"model": "elastic", "young": 1e6, "poisson": 0.0}
KINDS = [("triangle", "neo-hooke"), ("triangle", "cotangent"), ("quad", "neo-hooke"), ("tet", "neo-hooke")]
PAPERS = [("triangle", "seed", 2.5), ("quad", "seed", 1.0)]
"""Shear stress over that of each corner in a sheared square."""


def viscosity(stress: float, start: float = START, end: float = END) -> float:
    """c2(f), E15."""
    exponent = np.log(STIFF / SOFT) / (end - start)
    return float(STIFF * np.exp(-exponent * np.clip(abs(stress) - start, 0.0, end - start)))


def unit(make: Make, law: Data, cell: str, *, density: float = 1e-4, **scene: Any) -> Problem:
    """Return a unit square or cube of one cell that is split."""
    dimension = 3 if cell == "tet" else 2
    body = {"size": [1.0] * dimension, "cells": [1] * dimension, "cell": cell, "density": density}
    body["mass_sharing"] = "equal"
    return make(dimension, law, body=body, **scene)


def sheared(make: Make, law: Data, cell: str, weight: float, duration: float, **scene: Any) -> Problem:
    """Return it held at its bottom, its top pulled along x without getting higher: simple shear, one stress."""
    dimension = 3 if cell == "tet" else 2
    supports = {
        "floor": {"body": "block", "where": {"side": "bottom"}},
        "lid": {"body": "block", "where": {"side": "top"}, "fix": ["y", "z"][: dimension - 1]},
    }
    pull = {"body": "block", "where": {"side": "top"}, "total": [weight] + [0.0] * (dimension - 1)}
    return unit(make, law, cell, supports=supports, forces={"pull": pull}, duration=duration, **scene)


def top_speed(simulation: ShearVolumeSimulation, apart: float = 1e-2) -> float:
    """Return the speed along x of the top, that of all its nodes."""
    top = simulation.positions[:, -1] > 0.5
    speeds = simulation.velocities[top, 0]
    assert np.ptp(speeds) < apart * np.abs(speeds).max()
    return float(speeds.mean())


@pytest.mark.parametrize(("weight", "rate"), CREEP)
@pytest.mark.parametrize(("cell", "shear"), KINDS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_creep_in_simple_shear(
    make_problem: Make, start: Start, cell: str, shear: str, weight: float, rate: float, sign: float
) -> None:
    """W/c2(W) of a law named for shear, whose numbers are shear stresses; strains up to 6e-4.

    The Voigt unit has settled: exp(-20). Its spring stores W^2/(2 k), and what remains when the motion stops is the
    root of m (1 + c1/c2(m)) = W.
    """
    law = NAMED | {"softening": SOFTENING}
    problem = sheared(make_problem, HELD, cell, sign * weight, 20 * TAU, laws={"stuff": HELD, "soft": law})
    simulation = start(problem, shear=shear, shear_law="soft")
    simulation.advance(20 * TAU, 10**9)
    # errors of the square of strains, but for the weights om_i, which are those of the shape at rest
    strain = rate * simulation.time + weight / 1e5
    assert top_speed(simulation) == pytest.approx(sign * rate, rel=1e-5 + (8.0 * strain if shear == "cotangent" else 0))
    assert simulation.energy()["stored"] == pytest.approx(weight**2 / 2e5, rel=1e-3 + 2.0 * strain)
    fields = simulation.fields()
    kept = brentq(lambda m: m * (1.0 + 10.0 / viscosity(m)) - weight, 0.0, weight)
    component = 5 if cell == "tet" else 3
    np.testing.assert_allclose(fields["stress"][:, component], sign * weight, rtol=2e-3)
    np.testing.assert_allclose(fields["memory_stress"][:, component], sign * kept, rtol=2e-3)


@pytest.mark.parametrize(("weight", "rate"), CREEP)
@pytest.mark.parametrize(("cell", "shear", "share"), PAPERS)
def test_creep_of_the_papers_elements(
    make_problem: Make, start: Start, cell: str, shear: str, share: float, weight: float, rate: float
) -> None:
    """Every corner has the strain +-gamma and the stress +-W of its own; the square answers with 2.5 W or W."""
    law = NAMED | {"softening": SOFTENING}
    problem = sheared(make_problem, HELD, cell, share * weight, 60 * TAU, laws={"stuff": HELD, "soft": law})
    simulation = start(problem, shear=shear, shear_law="soft")
    simulation.advance(60 * TAU, 10**9)
    # (a + b) of corners beyond small strain: 1 + O(gamma) in the triangle
    assert top_speed(simulation, apart=0.1) == pytest.approx(rate, rel=1e-4 if cell == "quad" else 3e-3)


@pytest.mark.parametrize(("weight", "rate"), CREEP)
@pytest.mark.parametrize(("cell", "shear"), [*KINDS, ("quad", "seed")])
def test_thresholds_of_a_bodys_law_are_uniaxial_stresses(
    make_problem: Make, start: Start, cell: str, shear: str, weight: float, rate: float
) -> None:
    """Shear stress W is a von Mises stress of sqrt(3) W, shear constants are 1/(2 (1 + nu)) of those in tension."""
    scale = 2.0 * (1.0 + 0.3)
    law = {
        "model": "three-element",
        "young": 1e5 * scale,
        "poisson": 0.3,
        "voigt_viscosity": 10.0 * scale,
        "series_viscosity": STIFF * scale,
        "softening": {"viscosity": SOFT * scale, "from_stress": ROOT3 * START, "to_stress": ROOT3 * END},
    }
    simulation = start(sheared(make_problem, law, cell, weight, 20 * TAU), shear=shear)
    simulation.advance(20 * TAU, 10**9)
    assert top_speed(simulation) == pytest.approx(rate, rel=1e-4 if shear != "cotangent" else 3e-3)


def pulled(make: Make, law: Data, cell: str, forces: Data, **scene: Any) -> Problem:
    """Return a unit square or cube on its planes of symmetry for 20 TAU."""
    axes = ["x", "y", "z"][: 3 if cell == "tet" else 2]
    sides = dict(zip(axes, ["left", "front", "bottom"] if len(axes) == 3 else ["left", "bottom"], strict=True))
    supports = {side: {"body": "block", "where": {"side": side}, "fix": [axis]} for axis, side in sides.items()}
    return unit(make, law, cell, supports=supports, forces=forces, duration=20 * TAU, **scene)


def uniaxial(weight: float, dimension: int) -> Data:
    """Return a force along the last axis."""
    return {"pull": {"body": "block", "where": {"side": "top"}, "total": [0.0] * (dimension - 1) + [weight]}}


TENSION: Data = {
    "model": "three-element",
    "young": 1e5,
    "poisson": 0.3,
    "voigt_viscosity": 10.0,
    "series_viscosity": STIFF,
    "softening": SOFTENING,
}


@pytest.mark.parametrize(("weight", "rate"), CREEP)
def test_uniaxial_creep_in_space(make_problem: Make, start: Start, weight: float, rate: float) -> None:
    """Shear flows with c2(W), volume with c_max: W (2 (1 + nu)/(3 c2) + (1 - 2 nu)/(3 c_max)); strains up to 6e-4."""
    simulation = start(pulled(make_problem, TENSION, "tet", uniaxial(weight, 3)))
    simulation.advance(20 * TAU, 10**9)
    top = simulation.positions[:, 2] > 0.5
    expected = rate * 2.0 * 1.3 / 3.0 + weight * 0.4 / (3.0 * STIFF)
    length = simulation.positions[top, 2].mean()
    # sides get shorter by nu times the strain e: the true stress rises by a share of e, and c2 by B W of it
    assert simulation.velocities[top, 2].mean() / length == pytest.approx(expected, rel=1e-5 + 8.0 * (length - 1.0))


@pytest.mark.parametrize(("weight", "rate"), CREEP)
@pytest.mark.parametrize("shear", ["neo-hooke", "cotangent"])
def test_uniaxial_creep_in_plane_stress(
    make_problem: Make, start: Start, shear: str, weight: float, rate: float
) -> None:
    """Shear and area soften together by the whole stress: W/c2(W), as in the law's own words."""
    simulation = start(pulled(make_problem, TENSION, "triangle", uniaxial(weight, 2), plane="stress"), shear=shear)
    simulation.advance(20 * TAU, 10**9)
    top = simulation.positions[:, 1] > 0.5
    strain = simulation.positions[top, 1].mean() - 1.0
    found = simulation.velocities[top, 1].mean()
    assert 0.0 < strain < 7e-4
    assert found == pytest.approx(rate, rel=1e-5 + 8.0 * strain)


@pytest.mark.parametrize(("weight", "rate"), CREEP)
@pytest.mark.parametrize(("cell", "shear"), [*KINDS, ("triangle", "seed"), ("quad", "seed")])
def test_volume_softens_alone(
    make_problem: Make, start: Start, cell: str, shear: str, weight: float, rate: float
) -> None:
    """All sides pulled alike, a law named for volume: J' = p/c2(p), a d-th of it along each axis."""
    dimension = 3 if cell == "tet" else 2
    law = NAMED | {"softening": SOFTENING}
    sides = ["right", "back", "top"] if dimension == 3 else ["right", "top"]
    forces = {
        side: {"body": "block", "where": {"side": side}, "total": [weight * (k == axis) for k in range(dimension)]}
        for axis, side in enumerate(sides)
    }
    problem = pulled(make_problem, HELD, cell, forces, laws={"stuff": HELD, "soft": law})
    simulation = start(problem, shear=shear, volume_law="soft")
    simulation.advance(20 * TAU, 10**9)
    size = simulation.positions.max(axis=0)
    assert np.ptp(size) < 1e-9
    # W on sides that grow by a share e is a pressure W (1 - e): c2 changes by exp(B W e), and J' has J beside it
    found = dimension * simulation.velocities[:, -1].max()
    assert found == pytest.approx(rate, rel=1e-5 + 15.0 * (size[0] - 1.0))
    assert simulation.energy()["stored"] == pytest.approx(weight**2 / 2e5, rel=2e-2)


@pytest.mark.parametrize(("cell", "shear"), [*KINDS, ("triangle", "seed"), ("quad", "seed"), ("tet", "seed")])
@pytest.mark.parametrize("named", [False, True])
def test_without_softening_it_is_the_linear_law(
    make_problem: Make, start: Start, cell: str, shear: str, named: bool
) -> None:
    """c_min = c_max, strains of 10 %: both have errors of order one in the step, and so has their difference.

    Twice the finer one less the coarser is what would be left at no step: an order smaller than either.
    """
    plain: Data = {"model": "three-element", "young": 12.0, "poisson": 0.35, "voigt_viscosity": 0.5}
    plain |= {"series_viscosity": 6.0}
    soft = plain | {"softening": {"viscosity": 6.0 * (1.0 - 1e-13), "from_stress": 0.01, "to_stress": 0.02}}
    options = {"shear_law": "law", "volume_law": "law"} if named else {}
    dimension, found = 3 if cell == "tet" else 2, []
    large = 0.3 if shear != "seed" else 0.02 if cell != "tet" else 2e-3
    for step in (1e-3, 5e-4):
        ends, stresses = [], []
        for law in (plain, soft):
            problem = make_problem(
                dimension,
                law,
                body={"cell": cell, "cells": [2, 2, 1][:dimension]},
                supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
                laws={"stuff": law, "law": law},
            )
            simulation = start(problem, shear=shear, step=step, **options)
            state = simulation.save()
            wave = np.sin(np.outer(problem.points.sum(axis=1), np.arange(1, dimension + 1)))
            state["velocities"][:, :dimension] = large * wave * (problem.owners < 0)
            simulation.restore(state)
            simulation.advance(0.3 if (cell, shear) != ("tet", "seed") else 0.1, 10**9)  # they are unstable themselves
            ends.append(simulation.positions - problem.points)
            stresses.append(simulation.fields())
        found.append(ends[1] - ends[0])
        size = np.abs(ends[0]).max()
    assert size > 0.1 * large
    assert np.abs(found[0]).max() == pytest.approx(2.0 * np.abs(found[1]).max(), rel=0.1)
    assert np.abs(found[1]).max() < 2e-3 * size
    assert np.abs(2.0 * found[1] - found[0]).max() < 0.1 * np.abs(found[1]).max()
    for name in ("stress", "memory_stress"):
        assert np.abs(stresses[1][name] - stresses[0][name]).max() < 1e-2 * np.abs(stresses[0][name]).max()


@pytest.mark.parametrize(("cell", "shear"), [*KINDS, ("quad", "seed")])
def test_order_in_the_step(make_problem: Make, start: Start, cell: str, shear: str) -> None:
    """Simple shear from rest against m u'' = W - f, d' = u' - f/c2(f), f (1 + c1/c2(f)) = k d + c1 u' by Radau.

    Stresses and thresholds are 1e-6 of the spec's, so that strains are as small and nothing else is left of them.
    """
    small, weight, end = 1e-6, 2.5e-6, 0.5
    soft = {"viscosity": 0.5, "from_stress": START * small, "to_stress": END * small}
    law = {"model": "three-element", "young": 10.0, "poisson": 0.0, "voigt_viscosity": 2.0, "series_viscosity": 50.0}
    laws = {"stuff": HELD | {"young": 1e3}, "soft": law | {"softening": soft}}
    exponent = np.log(50.0 / 0.5) / (END - START)

    def series(f: float) -> float:
        return float(50.0 * np.exp(-exponent * np.clip(f / small - START, 0.0, END - START)))

    def slope(_: float, y: Any) -> list[float]:
        g = 10.0 * y[1] + 2.0 * y[2]
        f = brentq(lambda f: f * (1.0 + 2.0 / series(f)) - g, 0.0, g, xtol=1e-24, rtol=1e-14) if g > 0.0 else 0.0
        return [y[2], y[2] - f / series(f), (weight - f) / mass]

    errors = []
    for step in (5e-4, 2.5e-4, 1.25e-4):
        problem = sheared(make_problem, laws["stuff"], cell, weight, end, laws=laws, density=1e-2)
        load = problem.loads[0]
        mass, masses = problem.masses[load.nodes].sum(), problem.masses.copy()
        masses[load.nodes] = mass * load.shares[:, 0] / weight  # so that the top moves as one
        problem = replace(problem, masses=masses)
        simulation = start(problem, shear=shear, shear_law="soft", step=step)
        simulation.advance(end, 10**9)
        if not errors:
            way = solve_ivp(slope, (0.0, end), [0.0] * 3, method="Radau", rtol=1e-10, atol=1e-18, max_step=1e-2)
            exact = way.y[0, -1]
        moved = (simulation.positions - problem.points)[problem.points[:, -1] > 0.5, 0].mean()
        errors.append(abs(moved - exact) / exact)
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 1e-3
    assert orders == pytest.approx(1.0, abs=0.1)
