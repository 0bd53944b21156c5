"""Trusses under laws of contact: at tools, with each other, with themselves; what they tell, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError

ELASTIC = {"model": "elastic", "young": 200.0, "poisson": 0.25}
VOIGT = {"model": "voigt", "young": 1000.0, "poisson": 1 / 3, "viscosity": 10.0}
FLOOR = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}
WEIGHT = 9.8

Build = Callable[..., Any]


def block_on_floor(make_problem: Build, law: dict[str, Any], **scene: Any) -> Any:
    """6 x 4 particles of 1 kg altogether (spec 8)."""
    return make_problem(
        2,
        VOIGT,
        body={"size": [5.0, 3.0], "cells": [5, 3], "density": 1 / 15},
        tools={"floor": FLOOR},
        gravity=[0.0, -WEIGHT],
        contact=law,
        **scene,
    )


def test_block_on_a_penalty_rests_below_the_floor(make_problem: Build, start: Build) -> None:
    """R12: -m g/K shared by six nodes; the spread -1.57..-1.71e-3 of the spec is that of a nearly rigid block."""
    problem = block_on_floor(make_problem, {"law": "penalty", "stiffness": 1000.0, "damping": 20.0}, duration=10.0)
    simulation = start(problem)
    simulation.advance(10.0, 10**9)
    bottom = simulation.positions[problem.points[:, 1] == 0.0, 1]
    assert bottom.mean() == pytest.approx(-WEIGHT / 6000.0, rel=1e-9)
    reactions = simulation.reactions()
    np.testing.assert_allclose(reactions["tool.floor"], [0.0, -WEIGHT], atol=1e-8)
    np.testing.assert_allclose(reactions["tool.floor.moment"], [-2.5 * WEIGHT], rtol=1e-8)
    np.testing.assert_allclose(simulation.fields()["contact_force"].sum(axis=0), [0.0, WEIGHT, 0.0], atol=1e-8)
    assert simulation.statistics()["active_contacts"] == 6


def test_block_on_an_integrated_penalty_rests_on_the_floor(make_problem: Build, start: Build) -> None:
    """R12: 0 to 1e-6. The region is needed: nodes of a body lift each other off by microns, which would undo J."""
    law = {"law": "integrated", "stiffness": 1000.0, "damping": 20.0, "integral": 2000.0, "region": 0.01}
    simulation = start(block_on_floor(make_problem, law, duration=20.0))
    simulation.advance(20.0, 10**9)
    bottom = simulation.positions[:6, 1]
    assert np.abs(bottom).max() < 1e-6
    np.testing.assert_allclose(simulation.reactions()["tool.floor"], [0.0, -WEIGHT], atol=1e-6)


LAWS: dict[str, dict[str, Any]] = {
    "viscous": {"law": "viscous", "damping": 5.0},
    "penalty": {"law": "penalty", "stiffness": 300.0},
    "exact with friction": {"law": "exact", "friction": 0.3},
    "impulse": {"law": "impulse", "restitution": 0.5},
    "impulse with friction": {"law": "impulse", "friction": 0.3},
}


def two_blocks(make_problem: Build, dimension: int, law: dict[str, Any], **scene: Any) -> Any:
    """One block above the other, a little aside; the 2D one is tilted."""
    size, cells = [2.0, 1.0, 1.0][:dimension], [4, 2, 2][:dimension]
    below = {"shape": "box", "size": size, "cells": cells, "law": "stuff", "density": 1.0}
    above = below | {"origin": [0.55, 1.1, 0.1][:dimension]} | ({"rotation": 0.1} if dimension == 2 else {})
    scene = {"duration": 2.0, **scene}
    return make_problem(dimension, ELASTIC, bodies={"below": below, "above": above}, contact=law, **scene)


def momenta(problem: Any, simulation: Any) -> np.ndarray:
    """Return linear and angular momentum in one row."""
    x, p = simulation.positions, problem.masses[:, None] * simulation.velocities
    turn = np.cross(x, p) if problem.dimension == 3 else (x[:, 0] * p[:, 1] - x[:, 1] * p[:, 0])[:, None]
    return np.concatenate([p.sum(axis=0), turn.sum(axis=0)])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_momentum_of_two_colliding_bodies(
    dimension: int, law: str, make_problem: Build, start: Build, put: Build
) -> None:
    """Linear and angular to rounding with every law: what couples contacts have is taken back."""
    problem = two_blocks(make_problem, dimension, LAWS[law])
    simulation = start(problem)
    first = problem.bodies[1].first_node
    velocities = np.zeros_like(problem.points)
    velocities[first:, :2] = 0.3, -1.0
    put(simulation, velocities=velocities)
    before, touched = momenta(problem, simulation), 0
    while simulation.time < 2.0 - 1e-9:
        simulation.advance(2.0, 10)
        touched = max(touched, simulation.statistics()["active_contacts"])
        np.testing.assert_allclose(simulation.fields()["contact_force"].sum(axis=0), 0.0, atol=1e-10)
    assert touched > 0
    assert simulation.velocities[:first, 1].mean() < -0.2
    assert np.abs(momenta(problem, simulation) - before).max() < 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_forces_on_nodes_and_tools_balance_whoever_settles_them(law: str, make_problem: Build, start: Build) -> None:
    """A block slides into a corner and another one falls on it: nodes at the floor alone, at the wall, too, and under
    the other block; their forces and those of the tools add up to nothing at all times."""
    block = {"shape": "box", "size": [2.0, 1.0], "cells": [4, 2], "law": "stuff", "density": 1.0}
    problem = make_problem(
        2,
        VOIGT,
        bodies={"below": block | {"origin": [0.1, 0.0]}, "above": block | {"origin": [0.3, 1.1]}},
        tools={"floor": FLOOR, "wall": {"shape": "plane", "center": [0.0, 0.0], "normal": [1.0, 0.0]}},
        gravity=[-8.0, -WEIGHT],
        contact=LAWS[law],
        duration=1.0,
    )
    simulation, lone, shared = start(problem), 0, 0
    while simulation.time < 1.0 - 1e-9:
        simulation.advance(1.0, 7)
        force, found = simulation.fields()["contact_force"][:, :2], simulation.reactions()
        of_tools = found["tool.floor"] + found["tool.wall"]
        np.testing.assert_allclose(force.sum(axis=0), -of_tools, atol=1e-11 * np.abs(force).max() + 1e-12)
        marked = simulation.save()["contact.exerted.marked"]
        lone += int(np.count_nonzero(force[~marked].any(axis=1)))
        shared += int(np.count_nonzero(force[marked].any(axis=1)))
    assert lone > 50
    assert shared > 50


def test_a_checkpoint_from_before_lone_forces_were_left_in_the_history(make_problem: Build, start: Build) -> None:
    """It has one count of slots, marks of one kind, and all forces among those of the nodes."""
    runs = [start(block_on_floor(make_problem, LAWS["exact with friction"], duration=1.0)) for _ in range(2)]
    runs[0].advance(0.5, 10**9)
    force = runs[0].fields()["contact_force"]
    assert force[:, 1].max() > 0.0
    saved = runs[0].save()
    del saved["contact.exerted.duration"]
    saved["contact.history.filled"] = saved["contact.history.filled"][:1]
    saved["contact.history.mark"] = np.minimum(saved["contact.history.mark"], 1)
    saved["contact.exerted.node_force"] = force
    nodes = np.flatnonzero(force.any(axis=1))
    saved["contact.exerted.touched"][: len(nodes)] = nodes
    saved["contact.exerted.filled"] = np.array([len(nodes)])
    runs[1].restore(saved)
    np.testing.assert_array_equal(runs[1].fields()["contact_force"], force)
    for run in runs:
        run.advance(1.0, 10**9)
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions)
    np.testing.assert_array_equal(runs[0].fields()["contact_force"], runs[1].fields()["contact_force"])


def test_energy_of_a_collision_without_damping(make_problem: Build, start: Build, put: Build) -> None:
    """Springs in the bodies and between them; once they have parted, the excess is of the order of the step."""
    excess = []
    for safety in (0.25, 0.0625):
        problem = two_blocks(make_problem, 2, LAWS["penalty"], duration=4.0)
        simulation = start(problem, safety=safety)
        velocities = np.zeros_like(problem.points)
        velocities[problem.bodies[1].first_node :, 1] = -1.0
        put(simulation, velocities=velocities)
        before = sum(simulation.energy().values())
        simulation.advance(4.0, 10**9)
        assert simulation.statistics()["active_contacts"] == 0
        excess.append(abs(sum(simulation.energy().values()) / before - 1.0))
    assert excess[0] < 2e-3
    assert excess[1] < 0.5 * excess[0]


def test_friction_shortens_the_slide(make_problem: Build, start: Build, put: Build) -> None:
    """R14: with mu = 0.3 a block at rest on the floor slides less far than with half of that.

    R15 for the body as a whole, v0^2/(2 mu g), less what friction shears it by: about mu m g H/(G L), 5 mm.
    """
    slides, shear = [], VOIGT["young"] / (2.0 * (1.0 + VOIGT["poisson"]))
    for friction in (0.3, 0.15):
        problem = block_on_floor(make_problem, {"law": "exact", "friction": friction}, duration=6.0)
        simulation = start(problem)
        simulation.advance(4.0, 10**9)
        rest = simulation.positions[:, 0].mean()
        put(simulation, velocities=simulation.velocities + np.array([1.0, 0.0]))
        simulation.advance(6.0, 10**9)
        slides.append(float(simulation.positions[:, 0].mean() - rest))
        stop = 1.0 / (2.0 * friction * WEIGHT)
        assert stop - 1.5 * friction * WEIGHT * 3.0 / (5.0 * shear) < slides[-1] < stop
    assert slides[0] < slides[1]


@pytest.mark.parametrize("kernel", ["structured", "unstructured"])
def test_kernels_agree(kernel: str, make_problem: Build, start: Build, advance_by: Build) -> None:
    law = {"law": "impulse", "restitution": 0.5, "friction": 0.3}
    floor = FLOOR | {"normal": [0.1, 1.0], "center": [0.0, -0.3]}
    found = []
    for name in ("general", kernel):
        problem = make_problem(2, VOIGT, tools={"floor": floor}, gravity=[0.0, -WEIGHT], contact=law)
        simulation = start(problem, kernel=name)
        advance_by(simulation, 3000)
        assert simulation.reactions()["tool.floor"].shape == (2,)
        found.append(simulation)
    assert found[0].save()["contact.history.impulse"].any()
    for field in ("positions", "velocities"):
        np.testing.assert_allclose(getattr(found[1], field), getattr(found[0], field), atol=1e-9)


def driven_plate(make_problem: Build, **law: Any) -> Any:
    """A plate of 2 kg that falls on two blocks that lie on each other, on the floor."""
    plate = {"shape": "plane", "center": [0.0, 2.3], "normal": [0.0, -1.0], "drive": {"mass": 2.0, "free": ["y"]}}
    scene = {"tools": {"floor": FLOOR, "plate": plate}, "gravity": [0.0, -WEIGHT]}
    return two_blocks(make_problem, 2, law, **scene)


def test_restart_is_bitwise(make_problem: Build, start: Build, advance_by: Build) -> None:
    """History, tool poses, neighbour lists and forces all belong to the state."""
    law = {"law": "integrated", "stiffness": 300.0, "damping": 2.0, "integral": 50.0, "region": 0.01, "friction": 0.3}
    problem = driven_plate(make_problem, **law)
    whole, first, second = start(problem), start(problem), start(problem)
    advance_by(whole, 700)
    advance_by(first, 300)
    second.restore(first.save())
    np.testing.assert_array_equal(second.tool_poses(), first.tool_poses())
    advance_by(second, 400)
    assert whole.statistics()["active_contacts"] > 4
    assert whole.tool_poses()[1, 1] < -0.1
    for name, array in whole.save().items():
        np.testing.assert_array_equal(second.save()[name], array, err_msg=name)
    for name, force in whole.reactions().items():
        np.testing.assert_array_equal(second.reactions()[name], force)


@pytest.mark.parametrize("stepper", ["euler", "rk4"])
def test_explicit_rules_know_laws_without_springs(stepper: str, make_problem: Build, start: Build) -> None:
    simulation = start(block_on_floor(make_problem, {"law": "exact"}, duration=4.0), stepper=stepper)
    simulation.advance(4.0, 10**9)
    np.testing.assert_allclose(simulation.positions[:6, 1], 0.0, atol=1e-9)
    np.testing.assert_allclose(simulation.reactions()["tool.floor"], [0.0, -WEIGHT], rtol=1e-5, atol=1e-5)
    for law in ({"law": "penalty", "stiffness": 1.0}, {"friction": 0.3}):
        with pytest.raises(RheotwinError, match="exact and impulse only, without friction"):
            start(block_on_floor(make_problem, law), stepper=stepper)


def test_implicit_rule_refuses_laws(make_problem: Build, start: Build) -> None:
    with pytest.raises(RheotwinError, match="exact, frictionless tools only"):
        start(block_on_floor(make_problem, {"law": "exact", "friction": 0.3}), stepper="implicit")


def test_contact_stiffness_bounds_the_step(make_problem: Build, start: Build) -> None:
    """K h^2/m < 4 at the lightest node, beside the body's own stiffness: the default step obeys, a longer one not."""
    soft, stiff = (block_on_floor(make_problem, {"law": "penalty", "stiffness": k}) for k in (1.0, 1e6))
    free, bound = start(soft).stable_step, start(stiff).stable_step
    lightest = soft.masses.min()
    assert bound < 2.0 * np.sqrt(lightest / 1e6)
    assert bound > 1.8 * np.sqrt(lightest / (1e6 + 4.0 * lightest / free**2))
    with pytest.raises(RheotwinError, match="contact stiffness"):
        start(stiff, step=1.1 * bound)


@pytest.mark.parametrize("stepper", ["semi-implicit", "euler"])
def test_no_table_is_the_exact_law(stepper: str, make_problem: Build, start: Build) -> None:
    """Bit for bit, for nodes at one tool, at two, and at a support; only records with a table have moments."""
    wall = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.8, 0.6]}
    rail = {"rail": {"body": "block", "where": {"side": "right"}, "fix": ["x"]}}
    scene = {"tools": {"floor": FLOOR, "wall": wall}, "supports": rail, "gravity": [-1.0, -9.81]}
    without, table = (make_problem(2, VOIGT, **scene, **more) for more in ({}, {"contact": {"law": "exact"}}))
    assert without.contact is None
    step = 0.9 * start(without, stepper=stepper).stable_step
    ours, theirs = (start(problem, stepper=stepper, step=step) for problem in (without, table))
    for simulation in (ours, theirs):
        simulation.advance(1.0, 10**9)
    for name, array in theirs.save().items():
        np.testing.assert_array_equal(ours.save()[name], array, err_msg=name)
    found, wanted = ours.reactions(), theirs.reactions()
    assert min(abs(found[f"tool.{name}"]).max() for name in ("floor", "wall")) > 0.1
    assert found.keys() == {name for name in wanted if not name.endswith(".moment")} != wanted.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], wanted[name])
