"""The series dashpot that softens under force (spec section 3): its root, creep rates, and blocks that keep shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.particles.forces.softening import softened
from rheotwin.validation.checks.running import block, truss

STIFF, SOFT, START, END = 1000.0, 10.0, 0.5, 2.0
LAW = {"model": "three-element", "young": 2.0, "poisson": 0.25, "voigt_viscosity": 1.0, "series_viscosity": STIFF}
SOFTENING = {"viscosity": SOFT, "from_stress": START, "to_stress": END}
WALL = {"wall": {"body": "block", "where": {"side": "left"}}}


def viscosity(force: float, stiff: float, soft: float, start: float, end: float) -> float:
    """c2(f), E15: of the magnitude of the force."""
    exponent = np.log(stiff / soft) / (end - start)
    return float(stiff * np.exp(-exponent * np.clip(abs(force) - start, 0.0, end - start)))


def edge(law: dict[str, Any], *, step: float | None = None, **scene: Any) -> Any:
    """One edge of length 1 that has the law's own numbers, a wall at its left, a mass of 0.5 kg at its right end."""
    problem = block(1, law, body={"size": [1.0], "cells": [1]}, **({"supports": WALL} | scene))
    return truss(problem, match="edge", **({} if step is None else {"step": step}))


def pulled(force: float) -> dict[str, Any]:
    return {"forces": {"pull": {"body": "block", "where": {"side": "right"}, "total": [force]}}}


def test_the_root_for_any_constants() -> None:
    """|f| (1 + c/c2(f)) = |g| to 1e-12, cold and from any guess, within ten iterations; odd; increasing in g."""
    generator = np.random.default_rng(11)
    for _ in range(300):
        c, soft = 10.0 ** generator.uniform(-4, 4, 2)
        stiff = soft * 10.0 ** generator.uniform(0.0, 6.0)
        start = generator.choice([0.0, 10.0 ** generator.uniform(-3, 1)])
        end = start + 10.0 ** generator.uniform(-3, 1)
        exponent = np.log(stiff / soft) / (end - start)
        first, last = start * (1.0 + c / stiff), end * (1.0 + c / soft)
        loads = np.sort(np.concatenate([generator.uniform(first, last, 6), [0.5 * first, 1.5 * last, 1e-3 * last]]))
        forces = []
        for g in loads:
            for guess in (0.0, generator.uniform(start, end)):
                f, flow = softened(g, c, stiff, soft, start, end, exponent, guess)
                c2 = viscosity(f, stiff, soft, start, end)
                assert f * (1.0 + c / c2) == pytest.approx(g, rel=1e-12 + 1e-13 * exponent * f)
                assert flow == pytest.approx(f / c2, rel=1e-12)
            assert softened(-g, c, stiff, soft, start, end, exponent, guess) == (-f, -flow)
            forces.append(f)
        assert np.all(np.diff(forces) >= 0.0)


def test_the_viscosity_is_continuous_at_both_ends() -> None:
    exponent = np.log(STIFF / SOFT) / (END - START)
    for force in (START, END):
        g = force * (1.0 + 1.0 / viscosity(force, STIFF, SOFT, START, END))
        below, above = (softened(g * (1.0 + e), 1.0, STIFF, SOFT, START, END, exponent, 0.0) for e in (-1e-9, 1e-9))
        np.testing.assert_allclose(below, above, rtol=2e-8)  # d ln(flow)/d ln(g) <= 1 + B f = 7


@pytest.mark.parametrize(("weight", "rate"), [(0.4, 4e-4), (1.25, 0.0125), (3.0, 0.3)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_creep_under_a_weight(weight: float, rate: float, sign: float) -> None:
    """W/c2(W), in compression too (E15): 0.4/1000, 1.25/100, 3/10. The Voigt unit has settled: exp(-10 t)."""
    law = {**LAW, "young": 100.0, "voigt_viscosity": 10.0, "softening": SOFTENING}
    simulation = edge(law, duration=2.0, **pulled(sign * weight))
    simulation.advance(2.0, 10**9)
    assert simulation.velocities[1, 0] == pytest.approx(sign * rate, rel=1e-5)


def test_below_its_first_force_it_is_the_linear_law() -> None:
    """First order in the step, both: their difference halves with it."""
    found = []
    for step in (0.02, 0.01, 0.005):
        law = {**LAW, "series_viscosity": 5.0}
        soft = edge({**law, "softening": {**SOFTENING, "viscosity": 1.0}}, step=step, **pulled(0.1))
        plain = edge(law, step=step, **pulled(0.1))
        for simulation in (soft, plain):
            simulation.advance(1.0, 10**9)
        found.append(float(soft.positions[1, 0] - plain.positions[1, 0]))
    assert found[0] / found[1] == pytest.approx(2.0, abs=0.1)
    assert found[1] / found[2] == pytest.approx(2.0, abs=0.05)
    assert abs(2.0 * found[2] - found[1]) < 0.3 * abs(2.0 * found[1] - found[0])


def test_a_large_step_does_not_hunt_between_two_viscosities() -> None:
    """Where c2 falls fast a lagged force makes 2-cycles; solved in the step, the flow under a weight is steady."""
    law = {**LAW, "voigt_viscosity": 20.0, "softening": {"viscosity": 1.0, "from_stress": 1.0, "to_stress": 1.3}}
    simulation = edge(law, duration=200.0, **pulled(1.2))
    simulation.advance(100.0, 10**9)  # the Voigt unit has settled: exp(-t/10)
    speeds = []
    for _ in range(8):
        simulation.advance(200.0, 1)
        speeds.append(float(simulation.velocities[1, 0]))
    expected = 1.2 / viscosity(1.2, STIFF, 1.0, 1.0, 1.3)
    np.testing.assert_allclose(speeds, expected, rtol=1e-3)


def test_it_only_takes_energy() -> None:
    """Work minus what the spring stores never falls; random strokes through all three ranges of force."""
    generator = np.random.default_rng(5)
    times = np.linspace(0.0, 8.0, 17)
    path = np.concatenate([[0.0], generator.uniform(-0.4, 3.0, 16)])
    grip = {
        "body": "block",
        "where": {"side": "right"},
        "motion": {"times": times.tolist(), "displacement": [[d] for d in path]},
    }
    h = 2e-3
    simulation = edge({**LAW, "softening": SOFTENING}, step=h, duration=8.0, supports=WALL | {"grip": grip})
    work, total = 0.0, []
    for _ in range(4000):
        before = simulation.positions[1, 0]
        simulation.advance(8.0, 1)
        work += simulation.reactions()["support.wall"][0] * (simulation.positions[1, 0] - before)
        total.append(work - simulation.energy()["stored"])
    # where the grip turns, the force of one step acts on a move of up to 6 m/s the other way
    losses = np.minimum(np.diff(total), 0.0)
    assert losses.min() > -2.0 * 6.8 * 6.8 * h
    assert np.count_nonzero(losses < -1e-9) <= 3 * 16
    assert total[-1] > 1.0


def test_a_slider_bounds_it_too() -> None:
    """Flows fast above f2 and stops at (L + F/k)/least = (0.5 + 1.5)/0.4 = 5 m."""
    law = {**LAW, "softening": SOFTENING, "slider": {"natural": 0.5, "least": 0.4, "most": 0.6}}
    simulation = edge(law, duration=100.0, **pulled(3.0))
    simulation.advance(100.0, 10**9)
    assert simulation.positions[1, 0] == pytest.approx(5.0, rel=1e-6)


# ---- D4: a block under its own weight ---------------------------------------------------------------------------


def height_of(law: dict[str, Any], times: list[float]) -> list[float]:
    """Return the height (1 m at rest) of 8 x 4 cells on a table at the given times; k = 100, c1 = 10, 2 kg."""
    problem = block(
        2,
        {"model": "three-element", "young": 100.0, "poisson": 0.25, "voigt_viscosity": 10.0, **law},
        body={
            "size": [2.0, 1.0],
            "cells": [8, 4],
            "pattern": "alternating",
            "density": None,
            "mass": 2.0,
            "mass_sharing": "equal",
        },
        gravity=[0.0, -9.8],
        tools={"table": {"shape": "plane", "center": [1.0, 0.0], "normal": [0.0, 1.0]}},
        duration=times[-1],
        output={"times": times},
    )
    simulation = truss(problem, match="edge", topology_stiffness=100.0, topology_damping=2.0)
    found = []
    for time in times:
        simulation.advance(time, 10**9)
        found.append(float(simulation.positions[:, 1].max()))
    return found


def test_a_block_keeps_its_shape_or_collapses() -> None:
    """D4, EN Figs 4-5: the order. k, c1, mass and topology are not printed; those here put the stiff one near 0.96."""
    times = [2.0, 6.0]
    linear = height_of({"series_viscosity": 20.0}, times)
    keeps = height_of(
        {"series_viscosity": 2e4, "softening": {"viscosity": 20.0, "from_stress": 3.0, "to_stress": 6.0}}, times
    )
    sinks = height_of(
        {"series_viscosity": 2e4, "softening": {"viscosity": 20.0, "from_stress": 0.01, "to_stress": 0.3}}, times
    )
    assert linear[0] < 0.65 and linear[1] < 0.25
    assert keeps[0] == pytest.approx(0.96, abs=0.01) and keeps[0] - keeps[1] < 0.002
    assert 0.1 < sinks[1] < 0.35 and sinks[1] > linear[1]
