"""The hardware modules, or a visible skip where their tools are not installed; vectors and bodies for them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.arrays import Indices
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, grid_edges, grid_points
from rheotwin.particles.fixed_point.circuit import OPERATORS, no_overflows, step
from rheotwin.particles.fixed_point.parameters import CircuitConstants, EdgeLaw, Units, circuit_constants
from rheotwin.particles.fixed_point.rtl import missing_tools

UNITS = Units(time=1.0)
CORNERS = np.array([-32768, -32767, -256, -2, -1, 0, 1, 2, 255, 256, 32766, 32767])
MODULES = (
    "tem",
    "mpm",
    "accumulator",
    "root",
    "pipeline",
    "bench",
    "run",
    "synthesis",
    "system",
)


@pytest.fixture(scope="session")
def rtl() -> SimpleNamespace:
    """Modules of the hardware package by their names."""
    if sentence := missing_tools():
        pytest.skip(sentence)
    return SimpleNamespace(**{name: import_module(f"rheotwin.particles.fixed_point.rtl.{name}") for name in MODULES})


@pytest.fixture(scope="session")
def compiled_rtl(rtl: SimpleNamespace) -> SimpleNamespace:
    """The same where there is a compiler too."""
    if sentence := missing_tools(compiler=True):
        pytest.skip(sentence)
    return rtl


@pytest.fixture(scope="session")
def papers() -> CircuitConstants:
    """Constants of the papers' object, as in run G1."""
    return circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, UNITS, h_const="printed")


def words(count: int, width: int, seed: int) -> Indices:
    """Return (count, width) words: a third over the full range, a third near zero, a third corners."""
    generator = np.random.default_rng(seed)
    kinds = [
        generator.integers(-32768, 32768, (count, width)),
        generator.integers(-3000, 3000, (count, width)),
        generator.choice(CORNERS, (count, width)),
    ]
    kind = generator.integers(0, 3, count)
    return np.stack(kinds)[kind, np.arange(count)]


@pytest.fixture(scope="session")
def draw_words() -> Callable[..., Indices]:
    """The mixture of words, for tests."""
    return words


@pytest.fixture(scope="session")
def edge_vectors() -> Callable[[int], dict[str, Indices]]:
    """Inputs of the truss element module: near and far ends, coincident ones, corners."""

    def make(count: int) -> dict[str, Indices]:
        drawn = words(count, 13, seed=3)
        xi, xj, vi, vj, lam = drawn[:, :3], drawn[:, 3:6], drawn[:, 6:9], drawn[:, 9:12], drawn[:, 12]
        xj[::5] = np.clip(xi[::5] + np.random.default_rng(4).integers(-4, 5, xi[::5].shape), -32768, 32767)
        return {"xi": xi, "xj": xj, "vi": vi, "vj": vj, "lam": lam}

    return make


@pytest.fixture(scope="session")
def make_body() -> Callable[..., tuple[CircuitBody, CircuitConstants]]:
    """A grid, 10 between points, pulled at two corners, points moving at random; kinds of constants by options."""

    def make(
        shape: tuple[int, int, int] = (3, 3, 3),
        *,
        spacing: float = 10.0,
        edges_differ: bool = False,
        held: bool = False,
        **options: Any,
    ) -> tuple[CircuitBody, CircuitConstants]:
        generator = np.random.default_rng(5)
        start, end = grid_edges(shape)
        points = grid_points(shape, spacing)
        forces = np.zeros_like(points)
        forces[-1], forces[0] = (50.0, 50.0, 50.0), (-25.0, -50.0, 17.0)
        velocities = generator.normal(0.0, 20.0, points.shape)
        law = EdgeLaw(250.0, 20.0, 100.0)
        if edges_differ:
            law = EdgeLaw(
                *(generator.uniform(low, high, len(start)) for low, high in ((100, 250), (10, 30), (50, 100)))
            )
        mass = generator.uniform(0.6, 3.0, points.shape)
        mass[: shape[0]] = np.inf
        constants = circuit_constants(law, mass if held else 1.0, 0.01, UNITS, **options)
        return circuit_body(points, start, end, forces=forces, velocities=velocities, units=UNITS), constants

    return make


@pytest.fixture(scope="session")
def assert_same_run() -> Callable[..., None]:
    """Step the model as often as the circuit did and compare every stored word and every overflow bit."""

    def check(run: Any, body: CircuitBody, constants: CircuitConstants) -> None:
        model, counters = body.copy(), no_overflows()
        for _ in range(run.steps):
            step(model, constants, counters)
        assert np.abs(model.position - body.position).max() > 50  # it does move
        for name in CircuitBody._fields:
            np.testing.assert_array_equal(getattr(run.body, name), getattr(model, name), err_msg=name)
        assert run.overflow == {name: count > 0 for name, count in zip(OPERATORS, counters, strict=True)}

    return check
