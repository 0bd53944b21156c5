"""Structured and unstructured kernels do what the general one does, to rounding, whatever the numbering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError

Array = NDArray[np.float64]
FAST = ("structured", "unstructured")
ROUNDING = 1e-12
"""Thousand steps of a few roundings each, all of them of 1e-16 of the body's size."""
STEPS = 1000
LAW = {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0, "poisson": 0.35}


@pytest.fixture
def pressed(make_problem: Callable[..., Any]) -> Callable[..., Any]:
    """A box that lies on a support under gravity, is pulled aside and pressed by a ball."""

    def build(dimension: int, law: dict[str, Any], **scene: Any) -> Any:
        size = [5.0, 4.0, 4.0][:dimension]
        up, aside = np.eye(dimension)[-1], np.eye(dimension)[0]
        stroke = {"times": [0.0, 1.0], "displacement": [[0.0] * dimension, list(-0.8 * up)]}
        ball = {
            "shape": "sphere",
            "center": [2.5, *(0.5 * width for width in size[1:-1]), size[-1] + 0.9],
            "radius": 0.9,
            "motion": stroke,
        }
        return make_problem(
            dimension,
            law,
            body={"size": size, "cells": [10, 8, 8][:dimension]} | scene.pop("body", {}),
            gravity=list(-0.3 * up),
            tools={"ball": ball},
            supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
            forces={"pull": {"body": "block", "where": {"side": "right"}, "total": list(0.5 * aside)}},
            **scene,
        )

    return build


def _agree(one: dict[str, Array], other: dict[str, Array], impulse: float) -> None:
    """Compare arrays by name: to rounding, but what contact and supports exert to the force of a rounding's impulse."""
    for name, values in other.items():
        if name.startswith("contact."):  # impulses and lists; forces are compared as fields and reactions
            continue
        exerted = name in ("contact_force", "reaction") or name.startswith(("tool.", "support."))
        allowed = impulse if exerted else 100.0 * ROUNDING * max(1.0, np.abs(values).max(initial=0.0))
        assert np.abs(one[name] - values).max(initial=0.0) < allowed, name


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("dimension", [2, 3])
def test_every_law_moves_as_in_the_general_kernel(
    kernel: str,
    dimension: int,
    law: dict[str, Any],
    pressed: Callable[..., Any],
    start: Callable[..., Any],
    advance_by: Callable[..., None],
) -> None:
    problem = pressed(dimension, law)
    step = 0.9 * start(problem, kernel="general").stable_step
    ours, theirs = (start(problem, kernel=name, step=min(step, 0.001)) for name in (kernel, "general"))
    assert ours.statistics()["kernel"] == kernel
    for simulation in (ours, theirs):
        advance_by(simulation, min(STEPS, round(1.0 / simulation.step_size)))
    assert np.abs(ours.positions - theirs.positions).max() < ROUNDING
    assert np.abs(theirs.reactions()["tool.ball"]).max() > 0.01
    # Contact puts a node where it belongs within a step: ten roundings of 5 m there are a force of m x/h^2 each.
    impulse = 10.0 * 5.0 * 2.0**-52 * problem.masses.sum() / ours.step_size**2
    _agree(ours.save(), theirs.save(), impulse)
    _agree(ours.fields(), theirs.fields(), impulse)
    _agree(ours.reactions(), theirs.reactions(), impulse)
    for name, value in theirs.energy().items():
        assert ours.energy()[name] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("kernel", FAST)
def test_lattices_and_edges_of_two_laws(
    kernel: str,
    laws: dict[str, dict[str, Any]],
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    advance_by: Callable[..., None],
    put: Callable[..., None],
) -> None:
    """Core and surface of different laws: constants that are not proportional, from edge to edge."""
    box = {"size": [5.0, 4.0, 4.0], "cells": [10, 8, 8], "cell": "hex", "law": "stuff", "density": 1.0}
    problem = make_problem(3, laws["generalized-maxwell"], body=box)
    skin = make_problem(3, laws["three-element"]).scene.laws["stuff"]
    scene = problem.scene.model_copy(update={"laws": {**problem.scene.laws, "skin": skin}})
    problem = replace(problem, scene=scene)
    velocities = 0.1 * np.random.default_rng(0).standard_normal(problem.points.shape)
    found = []
    for name in (kernel, "general"):
        simulation = start(problem, kernel=name, step=0.0005, surface_laws={"block": "skin"})
        put(simulation, velocities=velocities)
        advance_by(simulation, STEPS)
        found.append(simulation)
    assert found[0].statistics()["kernel"] == kernel
    assert np.abs(found[1].positions - problem.points).max() > 0.01
    assert np.abs(found[0].positions - found[1].positions).max() < ROUNDING


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_halves_chunks_and_repetitions_are_the_same_bit_for_bit(
    kernel: str, precision: str, pressed: Callable[..., Any], start: Callable[..., Any], advance_by: Callable[..., None]
) -> None:
    problem = pressed(3, LAW)
    whole, halves, single = (start(problem, kernel=kernel, precision=precision, step=0.005) for _ in range(3))
    advance_by(whole, 120)
    advance_by(halves, 60)
    saved = halves.save()
    advance_by(halves, 25)
    halves.restore(saved)
    np.testing.assert_equal(halves.save(), saved)
    advance_by(halves, 60)
    np.testing.assert_equal(halves.save(), whole.save())
    np.testing.assert_equal(halves.fields(), whole.fields())
    for _ in range(120):
        single.advance(1.0, 1)
    np.testing.assert_equal(single.save(), whole.save())


@pytest.mark.parametrize("kernel", FAST)
def test_single_precision_is_near(
    kernel: str, pressed: Callable[..., Any], start: Callable[..., Any], advance_by: Callable[..., None]
) -> None:
    problem = pressed(3, LAW)
    single, double = (start(problem, kernel=kernel, precision=p, step=0.005) for p in ("single", "double"))
    for simulation in (single, double):
        advance_by(simulation, 120)
    moved = np.abs(double.positions - problem.points).max()
    # Every step rounds positions of up to 5 m to half of 2^-22 m.
    assert 0.0 < np.abs(single.positions - double.positions).max() < 120 * 0.5 * 2.0**-21
    assert moved > 0.1
    statistics = single.statistics()
    assert statistics["precision"] == "float32"
    assert statistics["bytes_per_edge"] < 0.65 * double.statistics()["bytes_per_edge"]


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("dimension", [2, 3])
def test_other_forces_beside_elements(
    kernel: str, dimension: int, pressed: Callable[..., Any], start: Callable[..., Any], advance_by: Callable[..., None]
) -> None:
    """Pressures, and topology forces that a deep press calls up: the same as in the general loop, halves too."""
    problem = pressed(dimension, LAW)
    extras = {
        "global_pressure": 0.5,
        "global_pressure_damping": 0.01,
        "topology_stiffness": 3.0,
        "topology_distance": 0.3,
    }
    ours, theirs = (start(problem, kernel=name, step=0.001, **extras) for name in (kernel, "general"))
    assert ours.statistics()["kernel"] == kernel
    advance_by(ours, 400)
    ours.restore(ours.save())
    advance_by(ours, 600)
    advance_by(theirs, 1000)
    assert np.abs(theirs.positions - problem.points).max() > 0.3
    assert np.abs(ours.positions - theirs.positions).max() < ROUNDING
    impulse = 10.0 * 5.0 * 2.0**-52 * problem.masses.sum() / ours.step_size**2
    _agree(ours.save(), theirs.save(), impulse)


def test_a_runaway_stops_all_kernels_at_the_same_step(
    make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    motion = {"times": [0.3, 0.4], "displacement": [[0.0, 0.0], [0.0, 4e5]]}
    supports = {
        "floor": {"body": "block", "where": {"side": "bottom"}},
        "grip": {"body": "block", "where": {"side": "top"}, "motion": motion},
    }
    body = {"size": [5.0, 4.0], "cells": [10, 8]}
    problem = make_problem(2, LAW, supports=supports, body=body)
    found = []
    for kernel in ("general", *FAST):
        simulation = start(problem, step=0.001, kernel=kernel)
        simulation.advance(1.0, 10**9)
        found.append(simulation.step_count)
    assert found[0] == found[1] == found[2] < 1000


def test_auto_takes_the_fastest_kernel_that_can(
    pressed: Callable[..., Any],
    start: Callable[..., Any],
    equilateral: dict[str, Any],
    make_problem: Callable[..., Any],
) -> None:
    box, other = pressed(3, LAW), make_problem(2, LAW, body=equilateral)
    assert start(box).statistics()["kernel"] == "structured"
    assert start(box, topology_stiffness=1.0).statistics()["kernel"] == "structured"
    assert start(box, stepper="rk4").statistics()["kernel"] == "general"
    sheared = replace(other, points=other.points + 0.03 * np.sin(7.0 * other.points[:, ::-1]))
    assert start(sheared, step=0.001).statistics()["kernel"] == "unstructured"
    assert start(sheared, step=0.001, topology_stiffness=1.0).statistics()["kernel"] == "unstructured"
    assert 0.0 < start(box).statistics()["bytes_per_edge"] < 200.0


@pytest.mark.parametrize(
    ("options", "place", "remedy"),
    [
        ({"kernel": "general", "precision": "single"}, "precision", "leave it out"),
        ({"precision": "single", "stepper": "rk4"}, "precision", "stepper = 'rk4'; leave precision out"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], place: str, remedy: str, pressed: Callable[..., Any], start: Callable[..., Any]
) -> None:
    with pytest.raises(RheotwinError) as caught:
        start(pressed(3, LAW), **options)
    sentence = str(caught.value)
    assert sentence.startswith(f"solvers.truss.{place}: ")
    assert remedy in sentence
    assert "\n" not in sentence


def test_a_body_that_is_no_box_is_refused_by_the_structured_kernel(
    make_problem: Callable[..., Any], start: Callable[..., Any], equilateral: dict[str, Any]
) -> None:
    other = make_problem(2, LAW, body=equilateral)
    sheared = replace(other, points=other.points + 0.03 * np.sin(7.0 * other.points[:, ::-1]))
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.kernel: the bodies are not all boxes.*\"unstructured\""):
        start(sheared, kernel="structured")


def test_a_small_box_is_structured_if_it_must(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    """Most of its lanes are empty, so nobody else would choose it."""
    problem = make_problem(1, {**LAW, "poisson": 0.0}, body={"size": [1.0], "cells": [3]})
    found = {kernel: start(problem, kernel=kernel, step=0.001) for kernel in ("structured", "general", "auto")}
    for simulation in found.values():
        simulation.restore(simulation.save() | {"velocities": np.eye(4)[:, :3] * [0.3, 0.0, 0.0]})
        simulation.advance(0.2, 10**9)
    assert found["auto"].statistics()["kernel"] == "unstructured"
    assert found["structured"].statistics()["kernel"] == "structured"
    np.testing.assert_allclose(found["structured"].positions, found["general"].positions, atol=1e-14)


@pytest.mark.parametrize("kernel", ["structured", "unstructured", "general"])
def test_restoring_takes_back_a_run_that_diverged(
    kernel: str, pressed: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """Numbers that are none reach the empty lanes too; a restored state must not meet them."""
    simulation = start(pressed(3, LAW), kernel=kernel)
    saved = simulation.save()
    simulation.advance(simulation.step_size * 20, 20)
    wanted = simulation.positions.copy()
    simulation.restore(saved | {"velocities": np.full_like(saved["velocities"], np.nan)})
    simulation.advance(simulation.step_size * 5, 5)
    simulation.restore(saved)
    simulation.advance(simulation.step_size * 20, 20)
    np.testing.assert_array_equal(simulation.positions, wanted)
