"""Contact with rigid tools, supports that move, forces over time: what they do and the force they report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints import tool_gaps

SOFT = {"model": "voigt", "young": 200.0, "poisson": 0.35, "viscosity": 20.0}


def moved(*displacement: float, angle: float | None = None) -> dict[str, Any]:
    motion: dict[str, Any] = {"times": [0.0, 0.6, 1.0], "displacement": [[0.0] * len(displacement)]}
    motion["displacement"] += [list(displacement), [0.0] * len(displacement)]
    if angle is not None:
        motion["angle"] = [0.0, angle, 2 * angle]
    return motion


TOOLS: dict[str, tuple[int, dict[str, Any]]] = {
    "plane-1d": (1, {"shape": "plane", "center": [3.2], "normal": [-1.0], "motion": moved(-0.5)}),
    "bar-2d": (
        2,
        {"shape": "bar", "center": [1.5, 2.0], "normal": [0.0, -1.0], "width": 1.1, "motion": moved(0.0, -0.4)},
    ),
    "plane-2d": (2, {"shape": "plane", "center": [0.0, 2.1], "normal": [0.1, -1.0], "motion": moved(0.0, -0.5)}),
    "sphere-2d": (2, {"shape": "sphere", "center": [1.4, 3.0], "radius": 0.9, "motion": moved(0.1, -0.5)}),
    "cylinder-2d": (2, {"shape": "cylinder", "center": [1.4, 3.0], "radius": 0.9, "motion": moved(0.1, -0.5)}),
    "prism-2d": (
        2,
        {
            "shape": "prism",
            "center": [1.4, 3.0],
            "radius": 1.0,
            "sides": 5,
            "angle": 0.2,
            "motion": moved(0.1, -0.5, angle=0.8),
        },
    ),
    "bar-3d": (
        3,
        {
            "shape": "bar",
            "center": [1.5, 1.0, 2.0],
            "normal": [0.0, 0.0, -1.0],
            "width": [1.1, 3.0],
            "motion": moved(0.0, 0.0, -0.4),
        },
    ),
    "sphere-3d": (
        3,
        {"shape": "sphere", "center": [1.4, 1.1, 3.0], "radius": 0.9, "motion": moved(0.1, 0.1, -0.5)},
    ),
    "cylinder-3d": (
        3,
        {
            "shape": "cylinder",
            "center": [1.4, 1.1, 3.0],
            "radius": 0.9,
            "axis": [0.3, 1.0, 0.1],
            "motion": moved(0.1, 0.0, -0.5),
        },
    ),
    "prism-3d": (
        3,
        {
            "shape": "prism",
            "center": [1.4, 1.1, 3.0],
            "radius": 1.0,
            "sides": 4,
            "axis": [0.0, 1.0, 0.1],
            "motion": moved(0.1, 0.0, -0.5, angle=0.8),
        },
    ),
}


def floor(dimension: int, *, fix: list[str] | None = None) -> dict[str, Any]:
    side = "left" if dimension == 1 else "bottom"
    held = {} if fix is None else {"fix": fix}
    return {"floor": {"body": "block", "where": {"side": side}, **held}}


def gaps(problem: Any, simulation: Any) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    positions = simulation.save()["positions"]
    for tool in problem.tools:
        yield tool, *tool_gaps(tool, simulation.time, positions[tool.candidates])


@pytest.mark.parametrize("name", TOOLS)
def test_every_step_ends_outside_the_tool_and_balances_momentum(
    name: str, make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """M dv/h = weight + what tool and support exert; contact pushes along the tool's normal, never pulls."""
    dimension, tool = TOOLS[name]
    gravity = np.array([0.0, 0.0, -1.0])[-dimension:] if dimension > 1 else np.array([-1.0])
    problem = make_problem(
        dimension,
        SOFT,
        tools={"tool": tool},
        supports=floor(dimension, fix=["x", "z"] if dimension == 3 else None),
        gravity=gravity.tolist(),
        body={"cells": [6, 4, 4][:dimension]},
    )
    simulation = start(problem)
    mass, h = problem.masses, simulation.step_size
    momentum, pressed = np.zeros(dimension), 0.0
    while simulation.time < 1.0 - 0.5 * h:
        simulation.advance(1.0, 1)
        (one, gap, normal), *_ = gaps(problem, simulation)
        assert gap.min() > -1e-12
        reactions = simulation.reactions()
        before, momentum = momentum, (mass[:, None] * simulation.velocities).sum(axis=0)
        outside = mass.sum() * gravity - sum(reactions.values())
        scale = max(1.0, np.abs(reactions["tool.tool"]).max())
        np.testing.assert_allclose((momentum - before) / h, outside, atol=1e-9 * scale)
        force = simulation.fields()["contact_force"][one.candidates]
        push = np.sum(force * normal, axis=1)
        assert push.min() >= 0.0
        np.testing.assert_allclose(force, push[:, None] * normal, atol=1e-9 * scale)
        np.testing.assert_allclose(gap[push > 0.0], 0.0, atol=1e-12)
        pressed = max(pressed, push.sum())
    assert pressed > 1.0
    assert simulation.reactions()["support.floor"].shape == (dimension,)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_block_comes_to_rest_on_a_floor_and_weighs_what_it_weighs(
    dimension: int, make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """R12 for exact contact: dropped from 0.1, the lowest nodes end at height 0, force = weight."""
    up = np.eye(dimension)[-1]
    problem = make_problem(
        dimension,
        SOFT,
        body={"origin": list(0.1 * up)},
        tools={"floor": {"shape": "plane", "center": [0.0] * dimension, "normal": list(up)}},
        gravity=list(-9.81 * up),
        duration=12.0,
    )
    simulation = start(problem)
    simulation.advance(0.1, 10**9)
    np.testing.assert_allclose(simulation.reactions()["tool.floor"], 0.0)
    fallen = 0.5 * 9.81 * simulation.time * (simulation.time + simulation.step_size)
    np.testing.assert_allclose(simulation.positions, problem.points - fallen * up, atol=1e-12)
    simulation.advance(12.0, 10**9)
    weight = 9.81 * problem.masses.sum()
    np.testing.assert_allclose(simulation.reactions()["tool.floor"], -weight * up, rtol=1e-6, atol=1e-6 * weight)
    assert simulation.positions[:, -1].min() == pytest.approx(0.0, abs=1e-12)
    field = simulation.fields()["contact_force"][:, :dimension]
    np.testing.assert_allclose(field.sum(axis=0), weight * up, rtol=1e-6, atol=1e-6 * weight)


def test_block_in_a_groove_is_kept_out_of_both_walls(
    make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """Two oblique walls push on the same corner; neither may give way to the other, and both carry the weight.

    Walls with normals n1, n2: w = a n1 + b n2 decides how the weight is shared once everything rests.
    """
    first, second = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    problem = make_problem(
        2,
        SOFT,
        body={
            "size": [1.0, 1.0],
            "cells": [2, 2],
            "origin": [0.0, 0.02],
            "rotation": float(np.arctan2(0.6, 0.8)) + 0.1,
        },
        tools={
            "one": {"shape": "plane", "center": [0.0, 0.0], "normal": first.tolist()},
            "two": {"shape": "plane", "center": [0.3, -0.3], "normal": second.tolist()},
        },
        gravity=[0.0, -9.81],
        duration=20.0,
    )
    simulation = start(problem)
    simulation.advance(simulation.step_size, 1)
    while simulation.time < 20.0 - 0.5 * simulation.step_size:
        simulation.advance(20.0, 50)
        assert min(gap.min() for _, gap, _ in gaps(problem, simulation)) > -1e-9
    weight = np.array([0.0, 9.81 * problem.masses.sum()])
    shares = np.linalg.solve(np.stack([first, second], axis=1), weight)
    reactions = simulation.reactions()
    np.testing.assert_allclose(reactions["tool.one"], -shares[0] * first, atol=1e-5 * weight[1])
    np.testing.assert_allclose(reactions["tool.two"], -shares[1] * second, atol=1e-5 * weight[1])


def test_node_pressed_into_an_acute_wedge(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    """Walls 60 degrees apart: one correction after the other would end inside the first wall."""
    normals = [[np.cos(0.5), np.sin(0.5)], [-np.cos(0.6), np.sin(0.6)]]
    problem = make_problem(
        2,
        SOFT,
        body={"size": [0.5, 0.5], "cells": [1, 1], "rotation": float(np.pi / 4), "origin": [0.01, 0.3]},
        tools={str(k): {"shape": "plane", "center": [0.0, 0.0], "normal": n} for k, n in enumerate(normals)},
        forces={"push": {"body": "block", "where": {"nearest": [0.0, 0.3]}, "total": [1.0, -8.0]}},
        duration=4.0,
    )
    simulation = start(problem)
    simulation.advance(1e-9 + simulation.step_size, 1)
    while simulation.time < 4.0 - 0.5 * simulation.step_size:
        simulation.advance(4.0, 20)
        assert min(gap.min() for _, gap, _ in gaps(problem, simulation)) > -1e-9
    total = sum(simulation.reactions().values())
    np.testing.assert_allclose(total, [1.0, -8.0], atol=1e-5)


def test_force_of_a_node_that_two_supports_hold_is_counted_once(
    make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """The corner belongs to both; all forces must add up to the weight."""
    supports = {
        "foot": {"body": "block", "where": {"side": "bottom"}},
        "side": {"body": "block", "where": {"side": "left"}},
    }
    problem = make_problem(2, SOFT, supports=supports, gravity=[0.0, -9.81], duration=10.0)
    simulation = start(problem)
    simulation.advance(10.0, 10**9)
    np.testing.assert_allclose(
        sum(simulation.reactions().values()), [0.0, -9.81 * problem.masses.sum()], atol=1e-6 * problem.masses.sum()
    )


def test_tool_does_not_move_what_a_support_holds(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    """A wall leaning at 45 degrees into nodes held in y only: they slide along x, the support takes the rest."""
    problem = make_problem(
        2,
        SOFT,
        supports={"rail": {"body": "block", "where": {"side": "bottom"}, "fix": ["y"]}},
        tools={"wall": {"shape": "plane", "center": [0.0, 0.0], "normal": [1.0, 1.0], "motion": moved(0.3, 0.0)}},
    )
    simulation = start(problem)
    bottom = problem.prescribed[0].nodes
    momentum = np.zeros(2)
    while simulation.time < 0.6 - 0.5 * simulation.step_size:
        simulation.advance(0.6, 1)
        np.testing.assert_allclose(simulation.positions[bottom, 1], 0.0, atol=1e-15)
        (_, gap, _), *_ = gaps(problem, simulation)
        assert gap.min() > -1e-12
        before, momentum = momentum, (problem.masses[:, None] * simulation.velocities).sum(axis=0)
        outside = -sum(simulation.reactions().values())
        np.testing.assert_allclose((momentum - before) / simulation.step_size, outside, atol=1e-8)
    assert simulation.positions[bottom, 0].min() == pytest.approx(0.5 * simulation.time, abs=1e-12)


def test_tool_cannot_push_a_fully_held_node(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    wall = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0], "motion": moved(0.0, 0.2)}
    simulation = start(make_problem(2, SOFT, supports=floor(2), tools={"wall": wall}))
    simulation.advance(0.6, 10**9)
    assert simulation.positions[:, 1].min() == 0.0


def test_support_follows_its_motion_and_reports_what_it_takes(
    make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """Every held node stands exactly on its motion at the end of every step."""
    motion = {"times": [0.1, 0.5, 0.8], "displacement": [[0.0, 0.0], [0.2, 0.1], [-0.1, 0.0]]}
    for interpolation in ("linear", "smooth"):
        grip = {"body": "block", "where": {"side": "top"}, "motion": {**motion, "interpolation": interpolation}}
        problem = make_problem(2, SOFT, supports={**floor(2), "grip": grip})
        simulation = start(problem)
        driven = problem.prescribed[1]
        rest = problem.points[driven.nodes]
        while simulation.time < 1.0 - 0.5 * simulation.step_size:
            simulation.advance(1.0, 1)
            t = simulation.time
            if interpolation == "linear":
                expected = [
                    np.interp(t, motion["times"], column) for column in zip(*motion["displacement"], strict=True)
                ]
                np.testing.assert_allclose(
                    simulation.positions[driven.nodes] - rest, [expected] * len(rest), atol=1e-12
                )
            np.testing.assert_allclose(simulation.positions[driven.nodes], rest + driven.motion.at(t), atol=1e-14 * 4.0)


def test_force_over_time_is_the_momentum_of_a_free_body(
    make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """p_n = h sum of F(t_k), k < n: factors run straight between their times and are held outside."""
    times, factor, total = [0.2, 0.4, 0.7], [0.5, 2.0, -1.0], np.array([3.0, -1.0])
    push = {
        "body": "block",
        "where": {"side": "right"},
        "total": total.tolist(),
        "times": times,
        "factor": factor,
    }
    problem = make_problem(2, SOFT, forces={"push": push})
    simulation = start(problem)
    momentum = np.zeros(2)
    for _ in range(round(1.0 / simulation.step_size)):
        momentum = momentum + simulation.step_size * np.interp(simulation.time, times, factor) * total
        simulation.advance(1.0, 1)
        found = (problem.masses[:, None] * simulation.velocities).sum(axis=0)
        np.testing.assert_allclose(found, momentum, atol=1e-12)


def test_scene_without_tools_supports_or_forces_stays_at_rest(
    make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    problem = make_problem(3, SOFT)
    simulation = start(problem)
    simulation.advance(1.0, 10**9)
    np.testing.assert_allclose(simulation.positions, problem.points, atol=1e-13)
    assert simulation.reactions() == {}
    np.testing.assert_array_equal(simulation.fields()["contact_force"], 0.0)
