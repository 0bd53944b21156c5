"""Hard contacts of trusses: many at once, with themselves, edge on edge, whatever the order of the bodies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

Data = dict[str, Any]
Build = Callable[..., Any]

RUBBER: Data = {"model": "elastic", "young": 2e4, "poisson": 0.25}
FIRM: Data = {"model": "voigt", "young": 1e4, "poisson": 0.25, "viscosity": 20.0}
FLOOR: Data = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}
BOUNCING: Data = {"law": "impulse", "restitution": 1.0}


def test_the_order_of_the_bodies_does_not_matter(make_problem: Build, start: Build) -> None:
    """Corner on corner, twice nearly the same contact: rounds that end early would leave 24 mm after 0.4 s."""
    square = {"shape": "box", "size": [0.1, 0.1], "cells": [3, 3], "law": "stuff", "density": 300.0}
    pair = {"a": square | {"origin": [0.0, 0.0301]}, "b": square | {"origin": [0.031, 0.1502], "rotation": 0.3}}
    found = []
    for names in ("ab", "ba"):
        problem = make_problem(
            2,
            RUBBER,
            bodies={name: pair[name] for name in names},
            tools={"floor": FLOOR},
            gravity=[0.0, -9.8],
            contact=BOUNCING,
            duration=0.4,
        )
        simulation = start(problem)
        simulation.advance(0.4, 10**9)
        assert simulation.statistics()["most_contact_rounds"] < 100
        places = {body.name: simulation.positions[body.nodes] for body in problem.bodies}
        found.append([places[name] for name in "ab"])
    np.testing.assert_allclose(found[0], found[1], rtol=0.0, atol=1e-6)


@pytest.fixture
def crossing(make_problem: Build, start: Build, put: Build) -> Build:
    """Two bars on edge across each other, the upper one falling at 1 m/s, in steps of a share of the default one.

    Returns the problem, the simulation and the ends (2, 2) of the two roof edges that meet in their middles.
    """
    bar = {"shape": "box", "size": [0.5, 0.05, 0.05], "cells": [5, 1, 1], "law": "stuff", "density": 1000.0}
    across = bar | {"size": [0.05, 0.5, 0.05], "cells": [1, 5, 1], "origin": [0.225, -0.225, 0.2]}
    problem = make_problem(3, RUBBER, bodies={"below": bar, "across": across}, contact={"law": "exact"}, duration=0.1)
    first, second = (problem.points[body.nodes] for body in problem.bodies)
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    x = np.zeros_like(problem.points)
    x[problem.bodies[0].nodes] = np.column_stack([first[:, 0], (first[:, 1:] - 0.025) @ turn.T])
    rolled = (second[:, [2, 0]] - [0.225, 0.25]) @ turn.T
    above = 2.0 * 0.05 / np.sqrt(2.0) + 0.0105
    x[problem.bodies[1].nodes] = np.column_stack(
        [rolled[:, 1] + 0.25, second[:, 1] - 0.25 + 0.225, rolled[:, 0] + above]
    )
    velocities = np.zeros_like(x)
    velocities[problem.bodies[1].nodes, 2] = -1.0
    ends = []
    for body, side, axis, middle in zip(problem.bodies, (1.0, -1.0), (0, 1), (0.25, 0.0), strict=True):
        mine = x[body.nodes]
        ends.append(np.argsort(-side * mine[:, 2] + np.abs(mine[:, axis] - middle))[:2] + body.first_node)

    def begin(share: float = 1.0) -> tuple[Any, Any, Any]:
        simulation = start(problem, step=share * start(problem).step_size)
        put(simulation, positions=x, velocities=velocities)
        return problem, simulation, np.array(ends)

    return begin


def test_crossing_bars_meet_edge_on_edge(crossing: Build) -> None:
    """3D, roof edge on roof edge, no node near: one contact at a = b = 1/2, whose first step has a closed form.

    Its four nodes have the response W = sum 1/(4 m); the gap g, closing with u, ends at zero: P = (u - g/h)/W.
    """
    problem, simulation, ends = crossing()
    before, h = momenta(problem, simulation), simulation.step_size
    while simulation.statistics()["active_contacts"] == 0:
        assert simulation.time < 0.05
        gap = float(simulation.positions[ends[1], 2].mean() - simulation.positions[ends[0], 2].mean())
        simulation.advance(simulation.time + h, 1)
    assert simulation.statistics()["active_contacts"] == 1
    impulse = (1.0 - gap / h) / np.sum(0.25 / problem.masses[ends.ravel()])
    force = simulation.fields()["contact_force"][:, 2]
    np.testing.assert_allclose(force[ends[0]], -0.5 * impulse / h, rtol=1e-9)
    np.testing.assert_allclose(force[ends[1]], 0.5 * impulse / h, rtol=1e-9)
    simulation.advance(0.1, 10**9)
    np.testing.assert_allclose(momenta(problem, simulation), before, rtol=0.0, atol=1e-12)
    assert simulation.velocities[problem.bodies[0].nodes, 2].mean() < 0.0


def test_edges_that_roll_on_each_other_keep_their_distance(crossing: Build) -> None:
    """Exact at the normal of the free end; that turns by at most u h/L in a step, L = 0.05 m: h2/L deep, order 2."""
    deepest = []
    for share in (1.0, 0.5):
        _, simulation, ends = crossing(share)
        least = 0.0
        while simulation.time < 0.1 - 1e-9:
            simulation.advance(0.1, 1)
            first, second = simulation.positions[ends]
            normal = np.cross(first[1] - first[0], second[1] - second[0])
            normal *= np.sign(normal[2]) / np.linalg.norm(normal)
            least = min(least, float(normal @ (second[0] - first[0])))
        assert abs(normal[0]) > 0.01, "they have rolled"
        assert least > -(simulation.step_size**2) / 0.05
        deepest.append(least)
    assert abs(deepest[1]) < 0.25 * abs(deepest[0])


def momenta(problem: Any, simulation: Any) -> np.ndarray:
    """Return linear and angular momentum in one row."""
    p = problem.masses[:, None] * simulation.velocities
    return np.concatenate([p.sum(axis=0), np.cross(simulation.positions, p).sum(axis=0)])


@pytest.fixture
def letter_c(tmp_path: Path) -> Data:
    """A C of squares of 10 mm, 7 wide and 6 high, open to the right between the arms: two squares thick, two apart."""
    columns, rows = 7, 6
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(columns + 1), np.arange(rows + 1)))
    points = 0.01 * np.stack([i, j, 0.0 * i], axis=1)
    cells = [(r, c) for r in range(rows) for c in range(columns) if r in (0, 1, 4, 5) or c < 2]
    corner = np.array([r * (columns + 1) + c for r, c in cells])
    up = columns + 1
    triangles = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + up + 1], axis=1),
            np.stack([corner, corner + up + 1, corner + up], axis=1),
        ]
    )
    used, triangles = np.unique(triangles, return_inverse=True)
    path = tmp_path / "c.vtu"
    meshio.Mesh(points[used], [("triangle", triangles.reshape(-1, 3))]).write(path)
    return {"shape": "file", "path": str(path), "law": "stuff", "density": 1000.0}


def test_a_strip_bent_to_a_c_closes_and_presses_on_itself(letter_c: Data, make_problem: Build, start: Build) -> None:
    """Pressed by 26 mm where 20 mm are open the arms bear each other; what does not touch itself passes through."""
    press = {"shape": "plane", "center": [0.0, 0.06], "normal": [0.0, -1.0]}
    down = {"times": [0.0, 0.5, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.026], [0.0, -0.026]]}
    gap, force = {}, {}
    for touches in (True, False):
        problem = make_problem(
            2,
            FIRM,
            bodies={"strip": letter_c},
            tools={"floor": FLOOR, "press": press | {"motion": down}},
            contact={"law": "exact", "friction": 0.3, "self": touches},
            duration=1.0,
        )
        simulation = start(problem)
        simulation.advance(1.0, 10**9)
        rest, x = problem.points, simulation.positions
        arms = rest[:, 0] > 0.045
        upper, lower = (x[arms & (np.abs(rest[:, 1] - y) < 1e-6)] for y in (0.04, 0.02))
        at = np.interp(upper[:, 0], *lower[np.argsort(lower[:, 0])].T)
        gap[touches] = float((upper[:, 1] - at).min())
        tools = simulation.reactions()
        force[touches] = tools["tool.press"][1]
        np.testing.assert_allclose(simulation.fields()["contact_force"].sum(axis=0)[:2],
                                   -tools["tool.press"] - tools["tool.floor"], atol=1e-8)  # fmt: skip
    assert gap[True] > -1e-6
    assert gap[False] < -1e-3
    assert force[True] > 1.5 * force[False]


def test_lists_of_neighbours_that_grow_in_the_run_change_nothing(
    make_problem: Build, start: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room for one candidate at first: steps are taken again with more, with the same results."""
    square = {"shape": "box", "size": [0.1, 0.1], "cells": [4, 4], "law": "stuff", "density": 300.0}
    problem = make_problem(
        2,
        RUBBER,
        bodies={"a": square, "b": square | {"origin": [0.03, 0.15]}},
        tools={"floor": FLOOR},
        gravity=[0.0, -9.8],
        contact={"law": "exact", "friction": 0.3},
        duration=0.2,
    )
    plenty = start(problem)
    monkeypatch.setattr("rheotwin.constraints.contact.search.ROOM", 0)
    scarce = start(problem)
    room = len(scarce.save()["contact.search.candidate"])
    for simulation in (plenty, scarce):
        simulation.advance(0.2, 10**9)
    assert plenty.statistics()["most_contact_rounds"] > 2
    assert len(scarce.save()["contact.search.candidate"]) > room
    np.testing.assert_allclose(scarce.positions, plenty.positions, rtol=0.0, atol=1e-9)
    assert scarce.statistics()["most_contact_rounds"] == plenty.statistics()["most_contact_rounds"]
