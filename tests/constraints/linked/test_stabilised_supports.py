"""Supports of the truss by constraint stabilisation: their multipliers are the reactions (spec 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation

LAW = {"model": "three-element", "young": 50.0, "poisson": 0.3, "voigt_viscosity": 5.0, "series_viscosity": 200.0}


@pytest.fixture
def pulled() -> Callable[..., dict[str, Any]]:
    """Return a block held at its left and pulled at its right by 1 N."""

    def build(**more: Any) -> dict[str, Any]:
        return {
            "schema": 1,
            "dimension": 2,
            "duration": 1.0,
            "laws": {"stuff": LAW},
            "bodies": {"block": {"shape": "box", "size": [2.0, 1.0], "cells": [4, 2], "law": "stuff", "mass": 2.0}},
            "supports": {"wall": {"body": "block", "where": {"side": "left"}}},
            "forces": {"pull": {"body": "block", "where": {"side": "right"}, "total": [1.0, 0.5]}},
            "output": {"interval": 1.0},
            **more,
        }

    return build


@pytest.mark.parametrize("stepper", ["semi-implicit", "rk4"])
def test_fixed_supports_are_the_same_either_way(
    stepper: str, pulled: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    runs = [
        start("truss", pulled(), stepper=stepper, step=0.005, kernel="general", supports=supports)
        for supports in ("eliminated", "stabilised")
    ]
    for simulation in runs:
        simulation.advance(0.5, 10**6)
    reactions = [simulation.reactions()["support.wall"] for simulation in runs]
    size = np.abs(reactions[0]).max()
    # held nodes start at their place and at rest: rounding alone moves them
    np.testing.assert_allclose(reactions[1], reactions[0], rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(runs[1].positions, runs[0].positions, rtol=0, atol=1e-12)


@pytest.mark.parametrize("stepper", ["semi-implicit", "euler", "rk4"])
def test_a_moving_support_is_followed(
    stepper: str, pulled: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    """A smooth motion starts and ends at rest; R'' + 2 om R' + om^2 R = 0 keeps what the rule leaves of R small."""
    motion = {"times": [0.0, 0.5], "displacement": [[0.0, 0.0], [0.1, 0.2]], "interpolation": "smooth"}
    scene = pulled(supports={"wall": {"body": "block", "where": {"side": "left"}, "motion": motion}})
    off = []
    for step in (0.004, 0.002):
        simulation = start("truss", scene, stepper=stepper, step=step, supports="stabilised", constraint_frequency=40.0)
        simulation.advance(0.24, 10**6)
        share = 0.48**2 * (3.0 - 2.0 * 0.48)
        moved = simulation.positions - start("truss", scene, step=step).positions
        wall = moved[np.abs(moved - share * np.array([0.1, 0.2])).sum(axis=1).argsort()[:3]]
        off.append(np.abs(wall - share * np.array([0.1, 0.2])).max())
    order = {"semi-implicit": 1, "euler": 1, "rk4": 4}[stepper]
    assert off[1] < off[0] / 2.0 ** (order - 0.3) or off[1] < 1e-13
    assert off[0] < 2e-4


def test_the_chain_pulls_its_support_with_the_force_at_its_end(start: Callable[..., Simulation]) -> None:
    """Four particles, 2.10a: after the first swing the multiplier stays at -f0 (spec 9)."""
    law = {"model": "three-element", "young": 2.0, "poisson": 0.0, "voigt_viscosity": 8.0, "series_viscosity": 40.0}
    scene = {
        "schema": 1,
        "dimension": 1,
        "duration": 40.0,
        "laws": {"stuff": law},
        "bodies": {
            "chain": {
                "shape": "box", "size": [3.0], "cells": [3], "law": "stuff", "mass": 4.0, "mass_sharing": "equal"
            }
        },
        "supports": {"wall": {"body": "chain", "where": {"side": "left"}}},
        "forces": {
            "pull": {
                "body": "chain", "where": {"side": "right"}, "total": [1.0],
                "times": [0.0, 20.0, 20.0001], "factor": [1.0, 1.0, 0.0],
            }
        },
        "output": {"interval": 20.0},
    }  # fmt: skip
    simulation = start("truss", scene, match="edge", stepper="rk4", step=0.01, supports="stabilised")
    simulation.advance(19.9, 10**6)
    # the force of the support is the multiplier, the reaction what the chain does to the support
    assert simulation.save()["multipliers"] == pytest.approx([-1.0], abs=1e-3)
    assert simulation.reactions()["support.wall"] == pytest.approx([1.0], abs=1e-3)
    simulation.advance(40.0, 10**6)
    assert simulation.reactions()["support.wall"] == pytest.approx([0.0], abs=1e-3)


def test_stabilised_supports_and_links_are_one_system(
    pendulum: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    runs = [
        start("truss", pendulum(1.0), stepper="rk4", step=0.01, constraint_frequency=20.0, supports=supports)
        for supports in ("eliminated", "stabilised")
    ]
    for simulation in runs:
        simulation.advance(0.5, 10**6)
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, rtol=0, atol=1e-10)
    for name, force in runs[0].reactions().items():
        np.testing.assert_allclose(runs[1].reactions()[name], force, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"constraint_frequency": 5.0}, "constraint_frequency: there is nothing it could correct"),
        ({"supports": "stabilised", "stepper": "implicit"}, "'implicit' knows no constraints"),
        ({"supports": "stabilised", "step": 0.01, "constraint_frequency": 90.0}, "90/s is not below the 82.8427/s"),
        (
            {"supports": "stabilised", "step": 0.01, "stepper": "rk4", "constraint_frequency": 280.0},
            "280/s is not below the 278.529/s up to which rk4",
        ),
        ({"supports": "stabilised", "kernel": "unstructured"}, "can step a body with constraints; leave kernel out"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: dict[str, Any], sentence: str, pulled: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        start("truss", pulled(), **options)
