"""Bodies whose series dashpots soften: objectivity, energy, steps, restarts, weight, constant volume, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from rheotwin.arrays import Array
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.particles.base import ParticleSimulation
from rheotwin.particles.shear_volume.forces import add_element_forces, pack_forces
from rheotwin.particles.shear_volume.solver import ShearVolumeSimulation
from rheotwin.problem import Problem
from rheotwin.tensors import padded

Start = Callable[..., ShearVolumeSimulation]
Make = Callable[..., Problem]
Data = dict[str, Any]

LAW: Data = {
    "model": "three-element",
    "young": 12.0,
    "poisson": 0.35,
    "voigt_viscosity": 0.5,
    "series_viscosity": 60.0,
    "softening": {"viscosity": 0.6, "from_stress": 0.5, "to_stress": 3.0},
}
FLOOR: Data = {"floor": {"body": "block", "where": {"side": "bottom"}}}
CONSISTENT = [("triangle", "neo-hooke"), ("triangle", "cotangent"), ("quad", "neo-hooke"), ("tet", "neo-hooke")]
ELEMENTS = [*CONSISTENT, ("triangle", "seed"), ("quad", "seed"), ("tet", "seed")]


def moved(cell: str, shear: str) -> float:
    """Return how far nodes may be moved: the papers' tetrahedra are ill-conditioned in distorted shapes."""
    return 0.15 if shear != "seed" else 0.02


def forces_at(simulation: ShearVolumeSimulation, x: Array, v: Array) -> Array:
    """Advance internal variables to positions (N, d) and return the forces (N, 3) of elements at velocities (N, d)."""
    force = np.zeros((len(x), 3))
    add_element_forces(simulation.method.forces, simulation.state, padded(x), padded(v), 0.0, force)
    return force


@pytest.mark.parametrize(("cell", "shear"), ELEMENTS)
@pytest.mark.parametrize("named", [False, True])
def test_momenta_stay_under_large_random_motion(start: Start, free: Make, cell: str, shear: str, named: bool) -> None:
    """Sums of forces and moments over their largest part, through all ranges of stress, in volume too if named."""
    problem = free(cell, LAW)
    law = next(iter(problem.scene.laws))
    simulation = start(problem, shear=shear, **({"shear_law": law, "volume_law": law} if named else {}))
    generator = np.random.default_rng(4)
    for _ in range(3):
        x = problem.points + moved(cell, shear) * generator.uniform(-1.0, 1.0, problem.points.shape)
        force = forces_at(simulation, x, generator.normal(size=x.shape))
    voigt = [array for name, array in simulation.save().items() if name.endswith("voigt") and array.size]
    assert voigt and all(np.abs(array).max() > 1e-5 for array in voigt)
    assert np.abs(force.sum(axis=0)).max() < 1e-12 * np.abs(force).sum()
    moment = np.cross(padded(x), force)
    assert np.abs(moment.sum(axis=0)).max() < 1e-12 * np.abs(moment).sum()


@pytest.mark.parametrize(("cell", "shear"), ELEMENTS)
def test_a_rotation_on_top_turns_the_forces_and_nothing_else(start: Start, free: Make, cell: str, shear: str) -> None:
    """The same motion seen from a turning frame has the same forces, turned, and the same internal variables."""
    problem = free(cell, LAW)
    law = next(iter(problem.scene.laws))
    dimension, generator = problem.dimension, np.random.default_rng(6)
    size = 0.25 * moved(cell, shear)
    path = [problem.points + size * k * generator.uniform(-1.0, 1.0, problem.points.shape) for k in range(4)]
    speeds = [generator.normal(size=problem.points.shape) for _ in path]
    found, kept = [], []
    for turning in (0.0, 0.7):
        simulation, forces = start(problem, shear=shear, shear_law=law, volume_law=law), []
        for k, (x, v) in enumerate(zip(path, speeds, strict=True)):
            angle, turn, spin = turning * k, np.eye(dimension), np.zeros((dimension, dimension))
            turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            spin[:2, :2] = [[0.0, -turning], [turning, 0.0]]
            force = forces_at(simulation, x @ turn.T, (v + x @ spin.T) @ turn.T)
            forces.append(force[:, :dimension] @ turn)
        found.append(np.array(forces))
        state = simulation.save()
        kept.append(np.concatenate([state[name].ravel() for name in state if name.endswith("voigt")]))
    assert np.abs(kept[0]).max() > 1e-4
    assert np.abs(found[1] - found[0]).max() < 1e-12 * np.abs(found[0]).max()
    assert np.abs(kept[1] - kept[0]).max() < 1e-12 * np.abs(kept[0]).max()


@pytest.mark.parametrize(("cell", "shear"), CONSISTENT)
def test_it_only_takes_energy(make_problem: Make, start: Start, cell: str, shear: str) -> None:
    """Kinetic and stored of a block let go at speed fall from each tenth of a second to the next, softened all faster.

    Energies are those of velocities half a step behind, and of arms a whole one: steps are a tenth of the stable one.
    """
    dimension, ends = 3 if cell == "tet" else 2, []
    soft = LAW | {"softening": {"viscosity": 0.6, "from_stress": 0.05, "to_stress": 0.5}}
    for law, options in (
        ({key: LAW[key] for key in LAW if key != "softening"}, {}),
        (soft, {}),
        (soft, {"volume_law": "stuff"}),
    ):
        problem = make_problem(dimension, law, body={"cell": cell}, supports=FLOOR, duration=2.0)
        simulation = start(problem, shear=shear, safety=0.1, **options)
        state = simulation.save()
        state["velocities"][:, :dimension] = np.sin(3.0 * problem.points) * (problem.owners < 0)
        simulation.restore(state)
        left = [sum(simulation.energy().values())]
        for end in np.linspace(0.1, 2.0, 20):
            simulation.advance(end, 10**9)
            left.append(sum(simulation.energy().values()))
        assert np.all(np.diff(left) < 0.0)
        ends.append(left[5] / left[0])
    assert ends[1] < 0.97 * ends[0] and ends[2] < ends[1]


@pytest.mark.parametrize(("cell", "shear"), [*CONSISTENT, ("quad", "seed")])
@pytest.mark.parametrize("viscous", [0.01, 5.0])
def test_the_stable_step_is_where_it_turns(
    make_problem: Make, start: Start, cell: str, shear: str, viscous: float
) -> None:
    """Tiny motion, springs or dashpots ahead: the step at which it starts to grow, by bisection, is the stable one."""
    dimension = 3 if cell == "tet" else 2
    law = LAW | {"voigt_viscosity": viscous, "series_viscosity": 1e6}
    problem = make_problem(dimension, law, body={"cell": cell}, supports=FLOOR, output={"interval": 1.0})
    method = start(problem, shear=shear).method
    least, most = 0.5, 1.5
    wave = 1e-9 * np.random.default_rng(0).normal(size=problem.points.shape) * (problem.owners < 0)
    for _ in range(7):
        factor = 0.5 * (least + most)
        step = Fraction(factor * method.stable_step)
        forces = pack_forces(method.elements, padded(problem.points), float(step))
        simulation = ParticleSimulation(problem, replace(method, step=step, forces=forces))
        state = simulation.save()
        state["velocities"][:, :dimension] = wave
        simulation.restore(state)
        simulation.advance(1500.2 * simulation.step_size, 1500)
        grows = not np.abs(simulation.velocities).max() < 1e-7
        least, most = (least, factor) if grows else (factor, most)
    assert least > 0.99 and most < (1.03 if shear != "seed" else 1.1)  # a bound of matrices without symmetry


def test_a_step_is_stable_while_it_flows(make_problem: Make, start: Start) -> None:
    """Pulled through both thresholds with the longest step: speeds stay near those of a tenth of it."""
    speeds = []
    for share in (0.99, 0.099):
        pull = {"body": "block", "where": {"side": "right"}, "total": [3.0, 0.0]}
        wall = {"wall": {"body": "block", "where": {"side": "left"}}}
        problem = make_problem(
            2, LAW, body={"cell": "triangle"}, supports=wall, forces={"pull": pull}, output={"interval": 1.0}
        )
        simulation = start(problem, safety=share)
        simulation.advance(1.0, 10**9)
        speeds.append(simulation.velocities.copy())
    assert np.abs(speeds[0]).max() > 0.1
    assert np.abs(speeds[0] - speeds[1]).max() < 0.05 * np.abs(speeds[1]).max()


@pytest.mark.parametrize(("cell", "shear"), [*CONSISTENT, ("quad", "seed")])
def test_a_pressed_block_goes_on_bit_for_bit(make_problem: Make, start: Start, bar: Any, cell: str, shear: str) -> None:
    """Under a bar that divides steps, in the middle of flow: save, go on, and the same from the checkpoint."""
    dimension = 3 if cell == "tet" else 2
    depth = 1.2 if shear != "seed" else 0.1
    problem = make_problem(dimension, LAW, body={"cell": cell}, supports=FLOOR, tools={"bar": bar(dimension, depth)})
    law = next(iter(problem.scene.laws))
    simulation, again = (start(problem, shear=shear, volume_law=law) for _ in range(2))
    simulation.advance(0.7, 10**9)
    again.restore(simulation.save())
    simulation.advance(1.0, 10**9)
    again.advance(1.0, 10**9)
    first, second = simulation.save(), again.save()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert shear == "seed" or simulation.statistics()["divided_steps"] > 0
    assert simulation.reactions()["tool.bar"][-1] > 0.0
    assert all(np.isfinite(values).all() for values in simulation.fields().values())


def test_a_step_in_parts_is_the_same_step(make_problem: Make, start: Start) -> None:
    """Half a step as a part is the whole step of a simulation with half the step, to rounding."""
    problem = make_problem(2, LAW, body={"cell": "triangle"}, supports=FLOOR)
    x = problem.points + 0.05 * np.random.default_rng(1).normal(size=problem.points.shape)
    v = np.random.default_rng(2).normal(size=problem.points.shape)
    found = []
    for step, part in ((1e-3, 5e-4), (5e-4, 0.0)):
        simulation, force = start(problem, step=step), np.zeros((len(x), 3))
        add_element_forces(simulation.method.forces, simulation.state, padded(x), padded(v), part, force)
        found.append((force, simulation.save()["neo_hooke.shear_voigt"]))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-12 * np.abs(found[0][0]).max())
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-12)


HEAVY: Data = {"model": "three-element", "young": 400.0, "poisson": 0.35, "voigt_viscosity": 40.0}
"""k [Pa] twenty times the weight on the ground of a block of 2 kg/m2 and 1 m."""


@pytest.mark.parametrize(
    ("cell", "shear"), [("triangle", "neo-hooke"), ("triangle", "cotangent"), ("quad", "neo-hooke")]
)
def test_a_block_keeps_its_shape_or_sinks_under_its_weight(
    make_problem: Make, start: Start, cell: str, shear: str
) -> None:
    """D4: the linear damper sinks; one that softens above the stresses of the weight stands, below them it sinks."""
    laws = {
        "linear": {"series_viscosity": 80.0},
        "yielding": {
            "series_viscosity": 8e4,
            "softening": {"viscosity": 80.0, "from_stress": 40.0, "to_stress": 80.0},
        },
        "too-soft": {"series_viscosity": 8e4, "softening": {"viscosity": 80.0, "from_stress": 0.1, "to_stress": 4.0}},
    }
    heights = {}
    for name, law in laws.items():
        problem = make_problem(
            2,
            HEAVY | law,
            body={"size": [2.0, 1.0], "cells": [8, 4], "density": 2.0, "cell": cell}
            | ({"pattern": "alternating"} if cell == "triangle" else {}),
            gravity=[0.0, -9.8],
            tools={"table": {"shape": "plane", "center": [1.0, 0.0], "normal": [0.0, 1.0]}},
            duration=4.0,
            output={"interval": 2.0},
        )
        simulation, heights[name] = start(problem, shear=shear), []
        for time in (2.0, 4.0):
            simulation.advance(time, 10**9)
            heights[name].append(float(simulation.positions[:, 1].max()))
    assert heights["yielding"][0] > 0.95 and heights["yielding"][0] - heights["yielding"][1] < 1e-3
    assert heights["linear"][1] < 0.9 and heights["linear"][0] - heights["linear"][1] > 0.03
    assert heights["too-soft"][1] < 0.9 and heights["too-soft"][0] - heights["too-soft"][1] > 0.03


@pytest.mark.parametrize(("weight", "rate"), [(0.4, 4e-4), (1.25, 0.0125), (3.0, 0.3)])
@pytest.mark.parametrize("cell", ["triangle", "tet"])
def test_bodies_of_constant_volume_soften_in_shear(
    make_problem: Make, start: Start, cell: str, weight: float, rate: float
) -> None:
    """Simple shear of a law with a Poisson ratio of one half: W/c2(W), c2 and thresholds for shear."""
    dimension, root3 = 3 if cell == "tet" else 2, np.sqrt(3.0)
    law = {"model": "three-element", "young": 3e4, "poisson": 0.5, "voigt_viscosity": 30.0, "series_viscosity": 3000.0}
    law["softening"] = {"viscosity": 30.0, "from_stress": 0.5 * root3, "to_stress": 2.0 * root3}
    lid = {"body": "block", "where": {"side": "top"}, "fix": ["y", "z"][: dimension - 1]}
    pull = {"body": "block", "where": {"side": "top"}, "total": [weight] + [0.0] * (dimension - 1)}
    problem = make_problem(
        dimension,
        law,
        body={"size": [1.0] * dimension, "cells": [1] * dimension, "cell": cell, "density": 1e-2},
        supports=FLOOR | {"lid": lid},
        forces={"pull": pull},
        duration=0.02,
    )
    simulation = start(problem, incompressible="cell", volume_tolerance=1e-11)
    simulation.advance(0.02, 10**9)
    top = problem.points[:, -1] > 0.5
    assert simulation.velocities[top, 0].mean() == pytest.approx(rate, rel=1e-3)


REFUSED: dict[str, tuple[Data, Data, Data, type[Exception], str]] = {
    "slider beside it": (
        LAW | {"slider": {"natural": 0.5}},
        {},
        {},
        RheotwinError,
        r"the law of body block has a slider beside its softening.*leave `slider` out, or choose the solver truss",
    ),
    "slider in a named law": (
        {"model": "elastic", "young": 12.0, "poisson": 0.35},
        {"volume_law": "other"},
        {},
        RheotwinError,
        r"solvers\.shear-volume\.volume_law: the law 'other' has a slider",
    ),
    "slider": (
        {key: LAW[key] for key in LAW if key != "softening"} | {"slider": {"natural": 0.5}},
        {},
        {},
        InputFaults,
        "three-element with slider' is beyond this solver",
    ),
    "friction": (
        {key: LAW[key] for key in LAW if key != "softening"} | {"friction": 0.3},
        {},
        {},
        InputFaults,
        "three-element with friction' is beyond this solver",
    ),
    "plane stress of the papers' elements": (
        LAW,
        {"shear": "seed"},
        {"plane": "stress"},
        RheotwinError,
        "which the papers' elements cannot: choose another `shear`",
    ),
    "two Poisson ratios in plane stress": (
        LAW | {"viscous_poisson": 0.1},
        {},
        {"plane": "stress"},
        RheotwinError,
        "needs one Poisson ratio for all parts",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_cannot_do_is_refused(make_problem: Make, start: Start, name: str) -> None:
    law, options, scene, kind, words = REFUSED[name]
    laws = {"stuff": law, "other": LAW | {"slider": {"natural": 0.5}}}
    with pytest.raises(kind, match=words):
        start(make_problem(2, law, body={"cell": "triangle"}, laws=laws, **scene), **options)
