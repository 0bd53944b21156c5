"""What contacts between bodies leave of angular momentum, and how it is taken back, on three contacts by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.couple import take_couples_back
from rheotwin.constraints.contact.mobility import PRESSED, TANGENT
from rheotwin.constraints.contact.pairs import NO_TOOL
from rheotwin.constraints.contact.rounds import system_of
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage

Array = np.ndarray
PUSH, RUB = 0.3, 0.1


@pytest.fixture
def three(make_problem: Callable[..., Any], start: Callable[..., Any]) -> Any:
    """A block on another whose left side is held: contacts of the upper one's nodes below with faces on top.

    The first is free, the second has a held node, the third, without an impulse, is a neighbour of the first.
    """
    below = {"shape": "box", "size": [3.0, 1.0], "cells": [3, 1], "law": "stuff", "density": 1.0}
    problem = make_problem(
        2,
        {"model": "elastic", "young": 12.0, "poisson": 0.25},
        bodies={"below": below, "above": below | {"origin": [0.4, 1.001]}},
        supports={"grip": {"body": "below", "where": {"side": "left"}}},
        contact={"law": "exact", "friction": 0.5},
    )
    contact = start(problem).boundary.contact
    pairs, points, first = contact.contacts.pairs, problem.points, problem.bodies[1].first_node
    top = [k for k in range(first) if points[k, 1] == 1.0]
    top.sort(key=lambda k: points[k, 0])
    low = [k for k in range(first, len(points)) if points[k, 1] == 1.001]
    low.sort(key=lambda k: points[k, 0])
    pairs.count[0] = 3
    for p, (node, face) in enumerate([(low[1], top[1:3]), (low[0], top[:2]), (low[2], top[2:4])]):
        pairs.node[p], pairs.tool[p] = [node, *face, -1], NO_TOOL
        pairs.weight[p], pairs.normal[p], pairs.gap[p] = [1.0, -0.6, -0.4, 0.0], [0.0, 1.0, 0.0], 1e-3
    rows = contact.contacts.impulses.rows
    rows[:3] = 0.0
    rows[:2, PRESSED], rows[:2, TANGENT] = PUSH, RUB
    return problem, contact


def gap_rate(contact: Any, p: int, v: Array) -> float:
    pairs = contact.contacts.pairs
    return float(pairs.normal[p] @ (pairs.weight[p, :3] @ v[pairs.node[p, :3]]))


def after_couples(problem: Any, contact: Any, h: float) -> tuple[Array, Array, Array]:
    """Return places and velocities with the impulses, and with their couples taken back; places are h x 1 m/s aside."""
    pairs, ease = contact.contacts.pairs, contact.contacts.lumped.ease
    x, v = np.pad(problem.points, ((0, 0), (0, 1))), np.zeros((len(problem.points), 3))
    x[problem.bodies[1].nodes, 0] += h
    for p in range(2):
        for k in range(3):
            v[pairs.node[p, k]] += pairs.weight[p, k] * ease[pairs.node[p, k]] * [RUB, PUSH, 0.0]
    turned = v.copy()
    impulses, shifts, lumped = contact.contacts.impulses, contact.shifts, contact.contacts.lumped
    system = system_of(pairs, impulses.rows, impulses.alone, lumped.ease, turned)
    scratch = (impulses.mixing.memory, shifts.nodes, shifts.rows, lumped.loose, contact.exerted.node_force)
    Program([Stage(take_couples_back, (system, pairs.tool, pairs.gap, False, *scratch, x, True, h))], h, Clock()).run(
        0, 1
    )
    return x, v, turned


def test_the_nodes_of_a_contact_take_its_couple_back(three: Any) -> None:
    """What is gone is the angular momentum of the impulse itself, sum w x x J, where the step ends."""
    problem, contact = three
    x, v, turned = after_couples(problem, contact, 0.01)
    pairs = contact.contacts.pairs
    nodes, change = pairs.node[0, :3], problem.masses[:, None] * (turned - v)
    couple = np.cross(pairs.weight[0, :3] @ x[nodes], [RUB, PUSH, 0.0])[2]
    assert abs(couple) > 1e-3
    np.testing.assert_allclose(change.sum(axis=0), 0.0, rtol=0.0, atol=1e-15)
    assert np.cross(x, change).sum(axis=0)[2] == pytest.approx(-couple, abs=1e-15)


def test_a_contact_at_a_held_node_is_left_alone(three: Any) -> None:
    problem, contact = three
    _, v, turned = after_couples(problem, contact, 0.01)
    others = np.setdiff1d(np.arange(len(v)), contact.contacts.pairs.node[0, :3])
    assert np.abs(turned - v)[contact.contacts.pairs.node[0, :3]].max() > 0.0
    np.testing.assert_array_equal(turned[others], v[others])


def test_couples_open_gaps_nearby_by_the_square_of_the_step(three: Any) -> None:
    """A couple is of the order h u J, and its turn moves places for h."""
    problem, contact = three
    opened = []
    for h in (0.02, 0.01, 0.005):
        contact.contacts.pairs.gap[0], contact.contacts.impulses.rows[0, TANGENT] = 0.0, 0.0
        _, v, turned = after_couples(problem, contact, h)
        opened.append(h * (gap_rate(contact, 2, turned) - gap_rate(contact, 2, v)))
    assert abs(opened[0]) > 0.0
    assert np.abs(opened[1:]) == pytest.approx(0.25 * np.abs(opened[:-1]), rel=0.3)
