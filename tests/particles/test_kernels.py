"""Structured and unstructured kernels do what the general one does; their steps allocate nothing."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import EQUAL_RATIO, FLOOR, block, path, run_to, side, truss

FAST = ("structured", "unstructured")
ROUNDING = 1e-12
"""Thousand steps of a few roundings each, all of them of 1e-16 of the body's size."""
LAW = {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0, "poisson": 0.35}
BOX = {"size": [5.0, 4.0, 4.0], "cells": [10, 8, 8]}


def telling(cases: set[Any], *sets: Any) -> list[Any]:
    late = pytest.mark.exhaustive
    return [pytest.param(*case, marks=[] if case in cases else late) for case in product(*sets)]


def pressed(dimension: int, law: dict[str, Any] = LAW, density: float = 1.0) -> Problem:
    """A box that lies on a support under gravity, is pulled aside and pressed by a ball."""
    size, up = [5.0, 4.0, 4.0][:dimension], np.eye(dimension)[-1]
    stroke = path([0.0, 1.0], [0.0 * up, -0.8 * up])
    center = [2.5, *(0.5 * width for width in size[1:-1]), size[-1] + 0.9]
    return block(
        dimension,
        law,
        {"size": size, "cells": [10, 8, 8][:dimension], "density": density},
        gravity=list(-0.3 * up),
        tools={"ball": {"shape": "sphere", "center": center, "radius": 0.9, "motion": stroke}},
        supports=FLOOR,
        forces={"pull": side("right", total=list(0.5 * density * np.eye(dimension)[0]))},
    )


def agree(ours: Any, theirs: Any, *looks: str) -> None:
    """Compare arrays by name: to rounding, but what contact and supports exert to the force of a rounding's impulse.
    Contact puts a node where it belongs within a step: ten roundings of 5 m there are a force of m x/h^2 each."""
    assert np.abs(ours.positions - theirs.positions).max() < ROUNDING
    impulse = 10.0 * 5.0 * 2.0**-52 * ours.boundary.nodes.mass.sum() / ours.step_size**2
    for look in looks:
        one = getattr(ours, look)()
        for name, values in getattr(theirs, look)().items():
            if name.startswith("contact."):  # impulses and lists; forces are compared as fields and reactions
                continue
            exerted = name in ("contact_force", "reaction") or name.startswith(("tool.", "support."))
            allowed = impulse if exerted else 100.0 * ROUNDING * max(1.0, np.abs(values).max(initial=0.0))
            assert np.abs(one[name] - values).max(initial=0.0) < allowed, name


MOVING = {
    (3, "structured", "generalized-maxwell"),
    (3, "unstructured", "three-element"),
    (2, "structured", "three-element"),
    (2, "unstructured", "voigt"),
}


@pytest.mark.parametrize(("dimension", "kernel", "name"), telling(MOVING, (2, 3), FAST, EQUAL_RATIO))
def test_every_law_moves_as_in_the_general_kernel(dimension: int, kernel: str, name: str) -> None:
    problem = pressed(dimension, EQUAL_RATIO[name], 25.0)
    step = min(0.9 * truss(problem, kernel="general").stable_step, 0.001)
    ours, theirs = (truss(problem, kernel=each, step=step) for each in (kernel, "general"))
    assert ours.statistics()["kernel"] == kernel
    for simulation in (ours, theirs):
        simulation.advance(1.0, 1000)
    assert np.abs(theirs.reactions()["tool.ball"]).max() > 0.01
    agree(ours, theirs, "save", "fields", "reactions")
    for energy, value in theirs.energy().items():
        assert ours.energy()[energy] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_halves_chunks_and_repetitions_are_the_same_bit_for_bit(kernel: str, precision: str) -> None:
    problem = pressed(3)
    whole, halves, single = (truss(problem, kernel=kernel, precision=precision, step=0.005) for _ in range(3))
    whole.advance(1e9, 120)
    halves.advance(1e9, 60)
    saved = halves.save()
    halves.advance(1e9, 25)
    halves.restore(saved)
    np.testing.assert_equal(halves.save(), saved)
    halves.advance(1e9, 60)
    np.testing.assert_equal(halves.save(), whole.save())
    np.testing.assert_equal(halves.fields(), whole.fields())
    for _ in range(120):
        single.advance(1.0, 1)
    np.testing.assert_equal(single.save(), whole.save())


@pytest.mark.parametrize("kernel", FAST)
def test_single_precision_is_near(kernel: str) -> None:
    problem = pressed(3)
    single, double = (truss(problem, kernel=kernel, precision=p, step=0.005) for p in ("single", "double"))
    for simulation in (single, double):
        simulation.advance(1e9, 120)
    moved = np.abs(double.positions - problem.points).max()
    # Every step rounds positions of up to 5 m to half of 2^-22 m.
    assert 0.0 < np.abs(single.positions - double.positions).max() < 120 * 0.5 * 2.0**-21 and moved > 0.1
    statistics = single.statistics()
    assert statistics["precision"] == "float32"
    assert statistics["bytes_per_edge"] < 0.65 * double.statistics()["bytes_per_edge"]


def test_runaways_stop_all_kernels_alike_and_small_boxes_may_be_structured() -> None:
    grip = side("top", motion=path([0.3, 0.4], [[0.0, 0.0], [0.0, 4e5]]))
    problem = block(2, LAW, {"size": [5.0, 4.0], "cells": [10, 8]}, supports=FLOOR | {"grip": grip})
    found = []
    for kernel in ("general", *FAST):
        simulation = run_to(truss(problem, step=0.001, kernel=kernel), 1.0)
        found.append(simulation.step_count)
    assert found[0] == found[1] == found[2] < 1000
    # Most of its lanes are empty, so nobody else would choose it.
    problem = block(1, {**LAW, "poisson": 0.0}, body={"size": [1.0], "cells": [3]})
    found = {kernel: truss(problem, kernel=kernel, step=0.001) for kernel in ("structured", "general", "auto")}
    for simulation in found.values():
        simulation.restore(simulation.save() | {"velocities": np.eye(4)[:, :3] * [0.3, 0.0, 0.0]})
        run_to(simulation, 0.2)
    assert found["auto"].statistics()["kernel"] == "unstructured"
    assert found["structured"].statistics()["kernel"] == "structured"
    np.testing.assert_allclose(found["structured"].positions, found["general"].positions, atol=1e-14)


@pytest.fixture
def sheared(equilateral: dict[str, Any]) -> Problem:
    problem = block(2, LAW, equilateral)
    return replace(problem, points=problem.points + 0.03 * np.sin(7.0 * problem.points[:, ::-1]))


def test_what_auto_takes_and_what_is_refused(sheared: Problem) -> None:
    box = pressed(3)
    assert truss(box).statistics()["kernel"] == "structured"
    assert truss(box, topology_stiffness=1.0).statistics()["kernel"] == "structured"
    assert truss(box, stepper="rk4").statistics()["kernel"] == "general"
    assert truss(sheared, step=0.001).statistics()["kernel"] == "unstructured"
    assert truss(sheared, step=0.001, topology_stiffness=1.0).statistics()["kernel"] == "unstructured"
    assert 0.0 < truss(box).statistics()["bytes_per_edge"] < 200.0
    for options, remedy in (
        ({"kernel": "general"}, "leave it out"),
        ({"stepper": "rk4"}, "stepper = 'rk4'; leave precision out"),
    ):
        with pytest.raises(RheotwinError, match=rf"^solvers\.truss\.precision: [^\n]*{remedy}[^\n]*$"):
            truss(pressed(3), precision="single", **options)
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.kernel: the bodies are not all boxes.*\"unstructured\""):
        truss(sheared, kernel="structured")


@pytest.mark.parametrize("kernel", ["structured", "unstructured", "general"])
def test_restoring_takes_back_a_run_that_diverged(kernel: str) -> None:
    """Numbers that are none reach the empty lanes too; a restored state must not meet them."""
    simulation = truss(pressed(3), kernel=kernel)
    saved = simulation.save()
    simulation.advance(1e9, 20)
    wanted = simulation.positions.copy()
    simulation.restore(saved | {"velocities": np.full_like(saved["velocities"], np.nan)})
    simulation.advance(1e9, 5)
    simulation.restore(saved)
    simulation.advance(1e9, 20)
    np.testing.assert_array_equal(simulation.positions, wanted)


@pytest.mark.parametrize("kernel", FAST)
def test_steps_allocate_nothing(kernel: str) -> None:
    simulation, counts = truss(block(3, LAW, BOX, gravity=[0.1, 0.2, -0.3]), kernel=kernel, step=0.002), []
    take = simulation._steps.take
    take(0, 1)
    _nrt_python.memsys_enable_stats()
    try:
        for steps in (1, 101):
            before = rtsys.get_allocation_stats().alloc
            assert take(0, steps) == steps
            counts.append(rtsys.get_allocation_stats().alloc - before)
    finally:
        _nrt_python.memsys_disable_stats()
    assert counts[0] == counts[1]
