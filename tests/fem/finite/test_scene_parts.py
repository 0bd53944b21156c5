"""Loads, thickness and several bodies: what a scene says reaches the equations."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import Diverged
from rheotwin.validation.checks.running import ELASTIC, EQUAL_RATIO, FLOOR, Data, box_scene, path, run_to, side

PUSH = {"push": side("top", total=[6.0, -9.0], times=[0.0, 1.0], factor=[0.0, 1.0])}


def test_floors_bear_load_and_weight_and_momentum_is_the_impulse(description: str, begin: Any) -> None:
    """In equilibrium at the end of every step: the floor bears the load of that time and the weight."""
    more: Data = {"density": 2.0, "gravity": [0.0, -1.5], "supports": FLOOR, "forces": PUSH}
    data = box_scene(EQUAL_RATIO["generalized-maxwell"], size=[1.0, 1.0], cells=[3, 3], **more)
    simulation = begin(data, description, step=0.25)
    for time in (0.25, 0.5, 1.0):
        run_to(simulation, time)
        expected = [6.0 * time, -9.0 * time - 3.0]
        np.testing.assert_allclose(simulation.reactions()["support.floor"], expected, rtol=1e-8)
    # A load that rises in proportion to time, taken at mid-step, gives its whole impulse t^2/2 in any steps.
    data = box_scene(EQUAL_RATIO["voigt"], size=[1.0, 1.0], cells=[2, 2], density=30.0, forces=PUSH)
    simulation = begin(data, description, step=0.25, inertia=True, newton_tolerance=1e-12)
    for time in (0.25, 1.0):
        run_to(simulation, time)
        momentum = simulation._problem.masses @ simulation.velocities
        np.testing.assert_allclose(momentum, 0.5 * time**2 * np.array([6.0, -9.0]), rtol=1e-9)


def pulled(law: Data, **more: Any) -> Data:
    lid = {"lid": side("top", motion=path([0.0, 1.0], [[0.0, 0.0], [0.2, 0.3]]))}
    return box_scene(law, size=[1.0, 1.0], cells=[3, 2], supports=FLOOR | lid, **more)


def test_forces_grow_with_the_thickness(description: str, begin: Any) -> None:
    forces = []
    for thickness in (1.0, 2.5):
        simulation = begin(pulled(EQUAL_RATIO["three-element"], thickness=thickness), description, step=0.5)
        run_to(simulation, 1.0)
        forces.append(simulation.reactions()["support.lid"])
    np.testing.assert_allclose(forces[1], 2.5 * forces[0], rtol=1e-9)


@pytest.mark.parametrize("inertia", [False, True])
def test_two_bodies_are_two_runs(inertia: bool, description: str, begin: Any) -> None:
    """Bodies of two laws that do not meet move as they do alone, and a restart keeps both memories apart."""
    alone = [pulled(EQUAL_RATIO[name], density=3.0) for name in ("three-element", "generalized-maxwell")]
    both = pulled(EQUAL_RATIO["three-element"], density=3.0)
    both["laws"]["other"] = EQUAL_RATIO["generalized-maxwell"]
    both["bodies"]["second"] = both["bodies"]["block"] | {"law": "other", "origin": [5.0, 0.0]}
    for name in ("floor", "lid"):
        both["supports"][f"second-{name}"] = both["supports"][name] | {"body": "second"}
    options = {"step": 0.25, "inertia": inertia, "newton_tolerance": 1e-12}
    together = run_to(begin(both, description, **options), 0.5)
    again = begin(both, description, **options)
    again.restore(together.save())
    run_to(again, 1.0)
    count = len(again.positions) // 2
    for b, data in enumerate(alone):
        simulation = run_to(begin(data, description, **options), 1.0)
        nodes = slice(b * count, (b + 1) * count)
        np.testing.assert_allclose(again.positions[nodes] - [5.0 * b, 0.0], simulation.positions, atol=1e-9)
        stress = simulation.fields()["stress"]
        np.testing.assert_allclose(again.fields()["stress"][nodes], stress, atol=1e-8 * np.abs(stress).max())
        lid = "support.second-lid" if b else "support.lid"
        np.testing.assert_allclose(again.reactions()[lid], simulation.reactions()["support.lid"], rtol=1e-8)


def test_the_body_of_an_inverted_element_is_named(description: str, begin: Any) -> None:
    """Element numbers count within the body, as its mesh does."""
    data = pulled(ELASTIC, pattern="se-nw")
    data["bodies"]["second"] = data["bodies"]["block"] | {"origin": [5.0, 0.0], "cells": [1, 1]}
    where = {"box": {"x": [6.0, 6.0], "y": [1.0, 1.0]}}
    motion = path([0.0, 1.0], [[0.0, 0.0], [-1.5, -1.5]])
    data["supports"] |= {
        "base": {"body": "second", "where": {"side": "bottom"}},
        "wall": {"body": "second", "where": {"side": "left"}},
        "corner": {"body": "second", "where": where, "motion": motion},
    }
    simulation = begin(data, description, step=1.0)
    points, mesh = simulation.positions, simulation._problem.bodies[1].mesh
    ours = [e for e, nodes in enumerate(mesh.t.T) if any(np.allclose(mesh.p[:, node], [6.0, 1.0]) for node in nodes)]
    assert len(ours) == 1
    words = rf"in body 'second' at node \d .*element {ours[0]} of body 'second' turned inside out \(det F = -"
    with pytest.raises(Diverged, match=words):
        run_to(simulation, 1.0)
    assert simulation.time == 0.0
    np.testing.assert_array_equal(simulation.positions, points)


@pytest.mark.parametrize("lawful", [True, False])
def test_moments_on_tools_are_told_where_there_is_contact(description: str, begin: Any, lawful: bool) -> None:
    """A plane presses a block evenly, about whose middle x = 0.5 its force acts: 0.3 F_y about a centre at x = 0.2."""
    plate = {"shape": "plane", "center": [0.2, 1.0], "normal": [0.0, -1.0]}
    plate["motion"] = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.05]])
    more: Data = {"pattern": "alternating", "supports": FLOOR, "tools": {"plate": plate}}
    data = box_scene(ELASTIC, size=[1.0, 1.0], cells=[4, 4], **more)
    if lawful:
        data["contact"] = {"law": "exact", "bodies": False}
    reactions = run_to(begin(data, description, step=0.25), 1.0).reactions()
    if lawful:
        assert reactions["tool.plate"][1] > 0.0
        np.testing.assert_allclose(reactions["tool.plate.moment"], [0.3 * reactions["tool.plate"][1]], rtol=1e-6)
    assert ("tool.plate.moment" in reactions) is lawful
