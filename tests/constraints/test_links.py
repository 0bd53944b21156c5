"""Pendulums on rigid links and supports of the truss by stabilisation, against equations of angles and each other.
A square that hangs by four parallel rods of one length, one at each corner, moves without turning and without
strain: it is a simple pendulum of its whole mass, whatever its material."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import LAWS, begin, box_scene, ends_at, path, pull, row, run_to, side, start

Array = np.ndarray
Data = dict[str, Any]
GRAVITY, END = 9.81, 1.0
CORNERS = ((0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.2, 0.2))
SCHEMES = {
    # solver, stepper, step [s], order; om is the same at both steps, so that the order is that of the rule
    "fem midpoint": ("fem", "midpoint", 0.01, 2),
    "fem cayley": ("fem", "cayley", 0.01, 2),
    "fem rk4": ("fem", "rk4", 0.01, 4),
    "truss semi-implicit": ("truss", "semi-implicit", 0.002, 1),
    "truss euler": ("truss", "euler", 0.0005, 1),
    "truss rk4": ("truss", "rk4", 0.01, 4),
}


def hanging(*angles: float, duration: float = 1.0) -> Data:
    """Return the scene of squares of 4 kg one below the other on rods of 1 m at angles [rad] from the vertical."""

    def square(at: Array) -> Data:
        size = {"size": [0.2, 0.2], "cells": [1, 1], "origin": at.tolist()}
        return {"shape": "box", **size, "law": "stuff", "mass": 4.0, "mass_sharing": "equal"}

    place, links = np.zeros(2), {}
    bodies: Data = {"anchor": square(place)}
    for number, angle in enumerate(angles):
        above, before = place, list(bodies)[-1]
        place = above + np.array([np.sin(angle), -np.cos(angle)])
        bodies[f"bob{number}"] = square(place)
        for k, corner in enumerate(CORNERS):
            ends = [(before, above), (f"bob{number}", place)]
            between = [{"body": name, "at": (at + np.array(corner)).tolist()} for name, at in ends]
            links[f"rod{number}-{k}"] = {"between": between}
    return {
        "schema": 1,
        "dimension": 2,
        "duration": duration,
        "gravity": [0.0, -GRAVITY],
        "laws": {"stuff": {"model": "voigt", "young": 1000.0, "viscosity": 1.0, "poisson": 1 / 3}},
        "bodies": bodies,
        "supports": {"top": {"body": "anchor", "where": {"box": {"x": [-1.0, 1.0]}}}},
        "links": links,
        "output": {"interval": duration},
    }


def run(scheme: str, scene: Data, share: float = 1.0, **more: Any) -> Simulation:
    solver, stepper, step, _ = SCHEMES[scheme]
    if stepper in ("rk4", "euler", "semi-implicit"):
        more = {"constraint_frequency": 20.0} | more
    return start(scene, solver, stepper=stepper, step=share * step, **more)


def angle(simulation: Simulation, rod: int = 0) -> float:
    """Angle of a rod from the vertical [rad]; bodies have four nodes each, in the same order."""
    across, up = simulation.positions[4 * rod + 4] - simulation.positions[4 * rod]
    return float(np.arctan2(across, -up))


def length(simulation: Simulation) -> float:
    return float(np.linalg.norm(simulation.positions[4] - simulation.positions[0]))


def exact(at: float, time: float, drag: tuple[float, float] = (0.0, 0.0)) -> Array:
    """Return th and th' of th'' = -g sin th - a cos th, a = drag . (1, t)."""

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY * np.sin(y[0]) - (drag[0] + drag[1] * t) * np.cos(y[0])]

    return np.asarray(solve_ivp(rates, [0, time], [at, 0], rtol=1e-12, atol=1e-13).y[:, -1])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_body_on_parallel_rods_is_a_simple_pendulum(scheme: str) -> None:
    _, _, step, order = SCHEMES[scheme]
    place, speed = exact(1.0, END)
    errors = []
    for share in (1.0, 0.5):
        simulation = run_to(run(scheme, hanging(1.0), share), END)
        errors.append(abs(angle(simulation) - place))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)
    tension = GRAVITY * np.cos(place) + speed**2  # on each corner's kg, at 1 m
    found = simulation.reactions()
    # tensions belong to the step or its beginning: what they change by in a step, twice over for the reversal of g
    lag = 2.0 * step * 3.0 * GRAVITY * abs(np.sin(place) * speed)
    tensions = [found[f"link.rod0-{k}"] for k in range(4)]
    np.testing.assert_allclose(tensions, tension, rtol=0, atol=lag + errors[1] * 10 * GRAVITY)
    along = np.array([np.sin(place), -np.cos(place)])
    weight = 4.0 * GRAVITY * np.array([0.0, -1.0])  # of the anchor
    np.testing.assert_allclose(found["support.top"], 4.0 * tension * along + weight, atol=4.0 * lag + errors[1] * 400)


@pytest.mark.parametrize(
    ("scheme", "more"),
    [("fem midpoint", {}), ("fem rk4", {}), ("truss semi-implicit", {}), ("truss rk4", {"supports": "stabilised"})],
)
def test_a_moving_anchor_drags_the_pendulum(scheme: str, more: Data) -> None:
    """The anchor moves by 1 m along x in 1 s, the cubic ease: a = 6 - 12 t."""
    scene, end, errors = hanging(0.0), 0.6, []
    scene["supports"]["top"]["motion"] = path([0.0, 1.0], [[0.0, 0.0], [1.0, 0.0]]) | {"interpolation": "smooth"}
    for share in (1.0, 0.5):
        simulation = run(scheme, scene, share, **more)
        # the anchor has the right speed from the first instant on only if that is zero; its jump in a dies out with om
        run_to(simulation, end)
        errors.append(abs(angle(simulation) - exact(0.0, end, (6.0, -12.0))[0]))
        # R = -h Q/om, as rates are half a step behind positions (less in the other rules); Q = |d'|^2/L < 1 m/s2
        assert abs(length(simulation) - 1.0) < share * SCHEMES[scheme][2] * 1.0 / 20.0
    assert np.log2(errors[0] / errors[1]) == pytest.approx(SCHEMES[scheme][3], abs=0.3)


def double_energy(simulation: Simulation) -> float:
    """Energy [J] of the squares above that of rest: kinetic, stored, and weight times height."""
    heights = simulation.positions[4:, 1]
    return sum(simulation.energy()[name] for name in ("kinetic", "stored")) + GRAVITY * float(heights.sum())


def test_a_double_pendulum_keeps_its_energy_to_the_order_of_the_rule() -> None:
    losses, stretch = [], []
    for share in (0.5, 0.25):
        simulation = run("truss rk4", hanging(1.0, 1.4), share, constraint_frequency=50.0)
        before = double_energy(simulation)
        run_to(simulation, END)
        losses.append(abs(double_energy(simulation) - before))
        stretch.append(abs(length(simulation) - 1.0))
    assert np.log2(losses[0] / losses[1]) > 3.7
    assert np.log2(stretch[0] / stretch[1]) == pytest.approx(4.0, abs=0.3)
    assert losses[1] < 1e-7 * 8.0 * GRAVITY


def test_midpoint_links_do_no_work() -> None:
    """The balance closes with what projected velocities lose, which is of order three."""
    losses = []
    for share in (1.0, 0.5):
        simulation = run("fem cayley", hanging(1.0, 1.4), share)
        before = double_energy(simulation)
        run_to(simulation, END)
        energy = simulation.energy()
        losses.append(energy["impact"])
        assert before - double_energy(simulation) == pytest.approx(energy["impact"] + energy["dissipated"], abs=1e-9)
        assert abs(energy["defect"]) < 1e-9
    assert np.log2(losses[0] / losses[1]) == pytest.approx(3.0, abs=0.3)


def test_solvers_and_kinds_of_supports_take_the_same_path() -> None:
    """The same rule, the same masses and, without strain, the same forces: rounding apart, the same numbers."""
    scene = hanging(1.0, 1.4)
    runs = [run(scheme, scene, 0.5) for scheme in ("fem rk4", "truss rk4")]
    runs.append(run("truss rk4", scene, 0.5, supports="stabilised"))
    for simulation in runs:
        run_to(simulation, 0.5)
        # the solvers stop at residuals of 1e-12; a double pendulum multiplies that by less than ten in half a second
        np.testing.assert_allclose(runs[0].positions, simulation.positions, rtol=0, atol=1e-10)
    for name, force in runs[1].reactions().items():
        np.testing.assert_allclose(runs[2].reactions()[name], force, rtol=0, atol=1e-8)


@pytest.mark.parametrize("scheme", ["fem midpoint", "fem rk4", "truss semi-implicit", "truss rk4"])
def test_a_restart_repeats_every_bit(scheme: str) -> None:
    first, second = (run(scheme, hanging(1.0, 1.4)) for _ in range(2))
    run_to(first, 0.2)
    second.restore({name: np.array(array) for name, array in first.save().items()})
    for simulation in (first, second):
        run_to(simulation, 0.4)
    for name, array in first.save().items():
        np.testing.assert_array_equal(array, second.save()[name], err_msg=name)
    for name, force in first.reactions().items():
        np.testing.assert_array_equal(force, second.reactions()[name], err_msg=name)


LAW = {"model": "three-element", "young": 50.0, "poisson": 0.3, "voigt_viscosity": 5.0, "series_viscosity": 200.0}
PULLED = box_scene(
    LAW,
    cells=[4, 2],
    size=[2.0, 1.0],
    mass=2.0,
    supports={"wall": side("left")},
    forces={"pull": side("right", total=[1.0, 0.5])},
)


@pytest.mark.parametrize(("stepper", "order"), [("semi-implicit", 1), ("euler", 1), ("rk4", 4)])
def test_a_moving_support_is_followed(stepper: str, order: int) -> None:
    """A smooth motion starts and ends at rest; R'' + 2 om R' + om^2 R = 0 keeps what the rule leaves of R small."""
    motion = path([0.0, 0.5], [[0.0, 0.0], [0.1, 0.2]]) | {"interpolation": "smooth"}
    scene = PULLED | {"supports": {"wall": side("left", motion=motion)}}
    off, way = [], 0.48**2 * (3.0 - 2.0 * 0.48) * np.array([0.1, 0.2])
    for step in (0.004, 0.002):
        simulation = start(scene, "truss", stepper=stepper, step=step, supports="stabilised", constraint_frequency=40.0)
        rest = simulation.positions.copy()
        run_to(simulation, 0.24)
        off.append(np.abs((simulation.positions - rest)[rest[:, 0] == 0.0] - way).max())
    assert off[1] < off[0] / 2.0 ** (order - 0.3) or off[1] < 1e-13
    assert off[0] < 2e-4


def test_the_chain_pulls_its_support_with_the_force_at_its_end() -> None:
    """Four particles, 2.10a: after the first swing the multiplier stays at -f0 (spec 9)."""
    scene = row(LAWS["chain"]["2.10a"], edges=3, duration=40.0, forces=pull(1.0, *ends_at(20.0)))
    simulation = run_to(begin(scene, stepper="rk4", step=0.01, supports="stabilised"), 19.9)
    # the force of the support is the multiplier, the reaction what the chain does to the support
    assert simulation.save()["multipliers"] == pytest.approx([-1.0], abs=1e-3)
    assert simulation.reactions()["support.left"] == pytest.approx([1.0], abs=1e-3)
    run_to(simulation, 40.0)
    assert simulation.reactions()["support.left"] == pytest.approx([0.0], abs=1e-3)


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
def test_options_that_do_not_fit_are_refused(options: Data, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        start(PULLED, "truss", **options)
