"""Sliders on three-element and Maxwell edges (spec section 6): where edges end, what the presets are, energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.materials import Slider
from rheotwin.particles.forces.slider import stop_energy
from rheotwin.validation.checks.running import block, truss

K, B1, B2 = 2.0, 1.0, 1.0
THREE = {"model": "three-element", "young": K, "poisson": 0.25, "voigt_viscosity": B1, "series_viscosity": B2}
MAXWELL = {"model": "maxwell", "young": K, "poisson": 0.25, "viscosity": B2}
BOUNDS = {"natural": 0.5, "least": 0.3, "most": 0.7}
WALL = {"wall": {"body": "block", "where": {"side": "left"}}}


def edge(law: dict[str, Any], **scene: Any) -> Any:
    """One edge of length 1 that has the law's own numbers, a wall at its left, a mass of 0.5 kg at its right end."""
    step = scene.pop("step", None)
    options = {"match": "edge"} | ({} if step is None else {"step": step})
    scene = {"supports": WALL, "duration": 60.0} | scene
    return truss(block(1, law, body={"size": [1.0], "cells": [1]}, **scene), **options)


def pulled(force: float) -> dict[str, Any]:
    return {"forces": {"pull": {"body": "block", "where": {"side": "right"}, "total": [force]}}}


def driven(times: list[float], extension: list[float]) -> dict[str, Any]:
    grip = {
        "body": "block",
        "where": {"side": "right"},
        "motion": {"times": times, "displacement": [[d] for d in extension]},
    }
    return {"supports": WALL | {"grip": grip}}


@pytest.mark.parametrize("law", [THREE, MAXWELL], ids=["three-element", "maxwell"])
@pytest.mark.parametrize(("force", "length"), [(0.5, 2.5), (-0.3, 0.5)])
def test_where_a_held_length_ends(law: dict[str, Any], force: float, length: float) -> None:
    """The force falls to k (bound l - L) and not to zero, exactly: at the bound nothing flows."""
    simulation = edge({**law, "slider": BOUNDS}, step=0.1, **driven([0.0, 1.0], [0.0, length - 1.0]))
    simulation.advance(60.0, 10**9)
    assert simulation.reactions()["support.wall"][0] == pytest.approx(force, rel=1e-12)


@pytest.mark.parametrize(("force", "expected"), [(0.5, 2.5), (-0.3, 0.5)])
def test_where_a_held_force_ends(force: float, expected: float) -> None:
    """Tension: (L + F/k)/least; compression: (L - |F|/k)/most, L = 1/2. The slower way there takes 2 s."""
    simulation = edge({**THREE, "slider": BOUNDS}, **pulled(force))
    simulation.advance(60.0, 10**9)
    assert simulation.positions[1, 0] == pytest.approx(expected, rel=1e-6)
    assert simulation.fields()["stress"][1, 0] == pytest.approx(force, rel=1e-6)


@pytest.mark.parametrize("law", [THREE, MAXWELL], ids=["three-element", "maxwell"])
def test_between_its_bounds_a_slider_changes_nothing(law: dict[str, Any]) -> None:
    """The linear arm and the slider's Voigt part are one state, d = B z, advanced by the same exponentials."""
    plain = edge(law, step=0.01, **pulled(0.05))
    slider = edge({**law, "slider": {"natural": 0.5, "least": 0.01, "most": 0.99}}, step=0.01, **pulled(0.05))
    for time in (0.1, 1.0, 5.0):
        plain.advance(time, 10**9)
        slider.advance(time, 10**9)
        np.testing.assert_allclose(slider.positions, plain.positions, rtol=1e-12)
        # the edge's tension is that of its last step, the linear one's that of its new place: one step apart
        np.testing.assert_allclose(slider.fields()["stress"], plain.fields()["stress"], atol=2e-3)
        if law is MAXWELL:  # its spring is all that stores energy, and B = 1
            assert slider.energy()["stored"] == pytest.approx(plain.energy()["stored"], rel=1e-9)


def test_least_and_most_of_one_are_the_voigt_unit() -> None:
    """The elastic preset: d = l - l0, f = k d + b d', whose difference quotient is the rate of the step before.

    The Voigt law takes d at the same place and its rate from the same velocities, so both agree to rounding.
    """
    voigt = edge({"model": "voigt", "young": K, "poisson": 0.25, "viscosity": B1}, step=0.01, **pulled(0.5))
    slider = edge({**THREE, "slider": {"natural": 1.0, "least": 1.0, "most": 1.0}}, step=0.01, **pulled(0.5))
    for time in (0.1, 1.0, 20.0):  # modes decay with exp(-t): 2e-9 at the end
        voigt.advance(time, 10**9)
        slider.advance(time, 10**9)
        np.testing.assert_allclose(slider.positions, voigt.positions, rtol=1e-11)
    assert slider.positions[1, 0] == pytest.approx(1.0 + 0.5 / K, rel=1e-6)


def test_without_a_spring_the_edge_flows_as_both_dashpots_in_a_row() -> None:
    """The viscoplastic preset: rate F (c1 + c2)/(c1 c2) until the slider stops it, then F least/c1."""
    law = {**THREE, "young": 0.0, "series_viscosity": 3.0, "viscous_poisson": 0.25}
    simulation = edge({**law, "slider": {"natural": 0.5, "least": 0.4, "most": 0.6}}, **pulled(-0.01))
    simulation.advance(5.0, 10**9)
    assert simulation.velocities[1, 0] == pytest.approx(-0.01 * 4.0 / 3.0, rel=1e-9)
    pulled_out = edge({**law, "slider": {"natural": 0.5, "least": 0.5, "most": 0.9}}, **pulled(0.01))
    pulled_out.advance(10.0, 10**9)
    # here c1 flows faster than c2: the Voigt part's share grows and the lower bound never acts
    assert pulled_out.velocities[1, 0] == pytest.approx(0.01 * 4.0 / 3.0, rel=1e-9)
    stopped = edge({**law, "slider": {"natural": 0.5, "least": 0.4, "most": 0.5}}, **pulled(0.01))
    stopped.advance(10.0, 10**9)
    assert stopped.velocities[1, 0] == pytest.approx(0.01 / (0.5 * B1), rel=1e-4)


def test_a_stop_carries_the_rest_of_the_force() -> None:
    """least = most = a: f = k a (l - l0) + b a l', not the softer B times that (spec section 6)."""
    simulation = edge(
        {**THREE, "slider": {"natural": 0.6, "least": 0.6, "most": 0.6}}, step=1e-3, **driven([0.0, 1.0], [0.0, 0.2])
    )
    simulation.advance(0.5, 10**9)
    # the force of a step is that of its start, one step earlier
    expected = 0.6 * (K * 0.2 * (0.5 - 1e-3) + B1 * 0.2)
    assert simulation.reactions()["support.wall"][0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("law", [THREE, MAXWELL], ids=["three-element", "maxwell"])
@pytest.mark.parametrize(
    "bounds", [BOUNDS, {"natural": 0.5, "least": 0.5, "most": 0.5}, {"natural": 1.0, "least": 1.0}]
)
def test_no_history_gains_energy(law: dict[str, Any], bounds: dict[str, float]) -> None:
    """Work of a moving grip never falls below what is stored: random strokes far beyond both bounds.

    Work is summed with the force of each step over the path of that step: the error is of first order in the step,
    h/2 times the sum of |df dl|, checked to halve with it.
    """
    generator = np.random.default_rng(7)
    times = np.linspace(0.0, 8.0, 17)
    path = np.concatenate([[0.0], generator.uniform(-0.6, 1.5, 16)])
    worst = []
    for step in (2e-3, 1e-3):
        simulation = edge({**law, "slider": bounds}, step=step, duration=8.0, **driven(times.tolist(), path.tolist()))
        work, dissipated = 0.0, []
        for number in range(1, round(8.0 / step) + 1):
            before = simulation.positions[1, 0]
            simulation.advance(8.0, 1)
            tension = simulation.reactions()["support.wall"][0]
            work += tension * (simulation.positions[1, 0] - before)
            if number % 25 == 0:
                dissipated.append(work - simulation.energy()["stored"])
        worst.append(min(dissipated))
        assert dissipated[-1] > 0.0 or bounds.get("least") == bounds.get("natural")
    assert worst[1] > -0.01 * K * 1.5**2
    assert min(0.0, worst[1]) >= 0.6 * min(0.0, worst[0]) - 1e-12


def test_what_a_stop_stores() -> None:
    """On a bound a, f = k d and d = a l - L: stretching it slowly stores int f dl = k d^2/(2 a), spring and stop."""
    slider = Slider(natural=0.6, least=0.6, most=0.6)
    length, natural = np.array([0.7, 1.4]), np.full(2, 0.6)
    d = 0.6 * length - natural
    stop = stop_energy(slider, np.full(2, K), natural, length - natural - d)
    np.testing.assert_allclose(stop + 0.5 * K * d**2, 0.5 * K * d**2 / 0.6, rtol=1e-12)
    law = {**THREE, "voigt_viscosity": 0.0, "slider": {"natural": 0.6, "least": 0.6, "most": 0.6}}
    simulation = edge(law, step=1e-4, duration=1.0, **driven([0.0, 1.0], [0.0, 0.4]))
    simulation.advance(1.0, 10**9)
    assert simulation.energy()["stored"] == pytest.approx(0.5 * K * 0.24**2 / 0.6, rel=2e-3)


@pytest.mark.parametrize("law", [THREE, MAXWELL], ids=["three-element", "maxwell"])
def test_the_stable_step_knows_a_stop(law: dict[str, Any]) -> None:
    """At `most` = 0.9 an edge shows 0.9 k and 0.9 c1, between its bounds B^2 k and B c1: the bound covers both."""
    h = edge({**law, "slider": {"natural": 0.9, "least": 0.9, "most": 0.9}}).stable_step
    # one mass m = 1/2 on one edge: k h^2/m + 2 c h/m = 4; Maxwell has B = 1 and c1 = 0
    k, c = (0.9 * K, 0.9 * B1) if law is THREE else (K, 0.0)
    assert k * h**2 / 0.5 + 2.0 * c * h / 0.5 == pytest.approx(4.0, rel=1e-9)
    if law is THREE:
        assert h < edge(law).stable_step


def test_sliders_stop_a_dough_in_two_dimensions() -> None:
    """A block hung from its top and pulled flows until its edges reach their bound; without sliders it flows on."""
    scene = {
        "supports": {"ceiling": {"body": "block", "where": {"side": "left"}}},
        "forces": {"pull": {"body": "block", "where": {"side": "right"}, "total": [0.2, 0.0]}},
        "duration": 40.0,
    }
    found = {}
    for name, law in (("plain", THREE), ("slider", {**THREE, "slider": {"natural": 0.5, "least": 0.4, "most": 0.6}})):
        simulation = truss(block(2, law, **scene))
        simulation.advance(40.0, 10**9)
        found[name] = simulation.positions[:, 0].max(), np.abs(simulation.velocities).max()
    assert found["plain"][0] > 2.0 * found["slider"][0]
    assert found["plain"][1] > 5.0 * found["slider"][1]


@pytest.mark.parametrize(
    ("natural", "least", "most"), [(0.5, 0.7, 0.3), (0.2, 0.3, 0.7), (0.8, 0.3, 0.7), (0.5, 0.2, 1.2), (0.0, 0.0, 1.0)]
)
def test_bounds_that_cross_or_exclude_the_rest_are_refused(natural: float, least: float, most: float) -> None:
    with pytest.raises(RheotwinError, match="slider") as caught:
        Slider(natural, least, most)
    assert "\n" not in str(caught.value)
