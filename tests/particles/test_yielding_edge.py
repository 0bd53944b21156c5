"""One edge with friction, a dashpot that softens or a slider: where it ends, creep rates, run C, energy."""

from typing import Any

import numpy as np
import pytest

from rheotwin.materials import Slider
from rheotwin.particles.forces.friction import sliding
from rheotwin.particles.forces.slider import stop_energy
from rheotwin.particles.forces.softening import softened
from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.running import HELD, begin, moved, path, pull, row, run_to, side

Law = dict[str, Any]


def three(k: float, c1: float, c2: float, **more: Any) -> Law:
    law = {"model": "three-element", "young": k, "poisson": 0.25, "voigt_viscosity": c1, "series_viscosity": c2}
    return law | more


def edge(law: Law, step: float | None = None, **scene: Any) -> TrussSimulation:
    data = row(law, mass=0.5, **{"duration": 60.0} | scene)
    return begin(data, **({} if step is None else {"step": step}))


def driven(times: Any, extension: Any) -> dict[str, Any]:
    return HELD | {"grip": side("right", motion=path(times, [[d] for d in extension]))}


def holding(simulation: TrussSimulation) -> float:
    """Tension on the support [N]; a step's force is that of the rate it starts with."""
    return float(simulation.reactions()["support.left"][0])


def lost(simulation: TrussSimulation, steps: int, every: int = 1) -> np.ndarray:
    """Work of the grip, the force of each step over the path of that step, less what is stored, after `every` steps."""
    work, found = 0.0, []
    for number in range(1, steps + 1):
        before = simulation.positions[1, 0]
        simulation.advance(1e9, 1)
        work += holding(simulation) * (simulation.positions[1, 0] - before)
        if number % every == 0:
            found.append(work - simulation.energy()["stored"])
    return np.array(found)


RUN_K, B1, B2, DEPTH = 200.0, 100.0, 1000.0, 0.025


def compressed(friction: float, step: float) -> TrussSimulation:
    """Run C: a grip goes 25 mm in 1 s and holds; alpha = 2 N or 0."""
    grip = driven([0.0, 1.0], [0.0, -DEPTH])
    return edge(three(RUN_K, B1, B2, friction=friction), step, supports=grip, duration=20.0)


def test_what_solves_the_set_valued_law_only_takes_energy() -> None:
    """f = g - c w, w = S_alpha(f)/c2: checked for random constants and loads, odd in the load."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        c, series, friction = 10.0 ** generator.uniform(-3, 3, 3)
        g = friction * generator.normal(scale=3.0)
        f, w = sliding(g, c, series, friction)
        slip = np.sign(f) * max(abs(f) - friction, 0.0) / series
        assert w == pytest.approx(slip, rel=1e-12, abs=1e-14 * abs(g) / series)
        assert abs(f + c * w - g) <= 1e-14 * (abs(g) + c / series * abs(f))  # c w is a difference of forces times c/c2
        assert sliding(-g, c, series, friction) == (-f, -w)
    # Stored k d^2/2; the rest of the work went into the dashpots and the friction, step by step.
    h = 1e-3
    dissipated = lost(compressed(2.0, h), 1500)
    steps = np.diff(dissipated, prepend=0.0)
    # a step's force acts on the next move: at the stop of the ramp, b1 v over one step is booked one step late
    assert steps.min() > -(B1 * DEPTH + 6.6) * DEPTH * h and dissipated[-1] > 0.02
    assert np.all(steps[5:990] > 0.0)


STIFF, SOFT, START, END = 1000.0, 10.0, 0.5, 2.0
SOFTENING = {"viscosity": SOFT, "from_stress": START, "to_stress": END}


def viscosity(force: float, stiff: float, soft: float, start: float, end: float) -> float:
    exponent = np.log(stiff / soft) / (end - start)
    return float(stiff * np.exp(-exponent * np.clip(abs(force) - start, 0.0, end - start)))


def test_softening_is_solved_at_any_constants_and_continuous() -> None:
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
    exponent = np.log(STIFF / SOFT) / (END - START)
    for force in (START, END):
        g = force * (1.0 + 1.0 / viscosity(force, STIFF, SOFT, START, END))
        below, above = (softened(g * (1.0 + e), 1.0, STIFF, SOFT, START, END, exponent, 0.0) for e in (-1e-9, 1e-9))
        np.testing.assert_allclose(below, above, rtol=2e-8)  # d ln(flow)/d ln(g) <= 1 + B f = 7


def test_below_its_first_force_it_is_linear_and_beyond_only_takes_energy() -> None:
    """First order in the step, both: their difference halves with it."""
    plain, soft = three(2.0, 1.0, 5.0), three(2.0, 1.0, 5.0, softening={**SOFTENING, "viscosity": 1.0})
    found = []
    for step in (0.02, 0.01, 0.005):
        ends = [moved(edge(law, step, duration=1.0, forces=pull(0.1)), 1.0) for law in (soft, plain)]
        found.append(ends[0] - ends[1])
    assert found[0] / found[1] == pytest.approx(2.0, abs=0.1)
    assert found[1] / found[2] == pytest.approx(2.0, abs=0.05)
    assert abs(2.0 * found[2] - found[1]) < 0.3 * abs(2.0 * found[1] - found[0])
    # Work minus what the spring stores never falls; random strokes through all three ranges of force.
    strokes = np.random.default_rng(5).uniform(-0.4, 3.0, 8)
    grip, h = driven(np.linspace(0.0, 4.0, 9), [0.0, *strokes]), 2e-3
    total = lost(edge(three(2.0, 1.0, STIFF, softening=SOFTENING), h, duration=4.0, supports=grip), 2000)
    # where the grip turns, the force of one step acts on a move of up to 6 m/s the other way
    losses = np.minimum(np.diff(total), 0.0)
    assert losses.min() > -2.0 * 6.8 * 6.8 * h and np.count_nonzero(losses < -1e-9) <= 3 * 8
    assert total[-1] > 1.0


def test_large_steps_do_not_hunt_and_sliders_bound_softening_too() -> None:
    """Where c2 falls fast a lagged force makes 2-cycles; solved in the step, the flow under a weight is steady."""
    law = three(2.0, 20.0, STIFF, softening={"viscosity": 1.0, "from_stress": 1.0, "to_stress": 1.3})
    simulation = edge(law, duration=200.0, forces=pull(1.2))
    run_to(simulation, 100.0)  # the Voigt unit has settled: exp(-t/10)
    speeds = []
    for _ in range(8):
        simulation.advance(200.0, 1)
        speeds.append(float(simulation.velocities[1, 0]))
    np.testing.assert_allclose(speeds, 1.2 / viscosity(1.2, STIFF, 1.0, 1.0, 1.3), rtol=1e-3)
    # Flows fast above f2 and stops at (L + F/k)/least = (0.5 + 1.5)/0.4 = 5 m.
    law = three(2.0, 1.0, STIFF, softening=SOFTENING, slider={"natural": 0.5, "least": 0.4, "most": 0.6})
    assert moved(edge(law, duration=100.0, forces=pull(3.0)), 100.0) == pytest.approx(4.0, rel=1e-6)


K = 2.0
THREE = three(K, 1.0, 1.0)
MAXWELL = {"model": "maxwell", "young": K, "poisson": 0.25, "viscosity": 1.0}
both_laws = pytest.mark.parametrize("law", [THREE, MAXWELL], ids=["three-element", "maxwell"])


def slider(natural: float = 0.5, least: float = 0.3, most: float = 0.7) -> Law:
    return {"slider": {"natural": natural, "least": least, "most": most}}


@both_laws
@pytest.mark.parametrize(("force", "length"), [(0.5, 2.5), (-0.3, 0.5)])
def test_where_a_held_length_ends(law: Law, force: float, length: float) -> None:
    """The force falls to k (bound l - L) and not to zero, exactly: at the bound nothing flows."""
    simulation = run_to(edge(law | slider(), 0.1, supports=driven([0.0, 1.0], [0.0, length - 1.0])), 60.0)
    assert holding(simulation) == pytest.approx(force, rel=1e-12)


@both_laws
def test_between_its_bounds_a_slider_changes_nothing_and_the_step_knows_a_stop(law: Law) -> None:
    """The linear arm and the slider's Voigt part are one state, d = B z, advanced by the same exponentials."""
    plain, free = (edge(each, 0.01, forces=pull(0.05)) for each in (law, law | slider(0.5, 0.01, 0.99)))
    for time in (0.1, 1.0, 5.0):
        run_to(plain, time)
        run_to(free, time)
        np.testing.assert_allclose(free.positions, plain.positions, rtol=1e-12)
        # the edge's tension is that of its last step, the linear one's that of its new place: one step apart
        np.testing.assert_allclose(free.fields()["stress"], plain.fields()["stress"], atol=2e-3)
        if law is MAXWELL:  # its spring is all that stores energy, and B = 1
            assert free.energy()["stored"] == pytest.approx(plain.energy()["stored"], rel=1e-9)
    # At `most` = 0.9 an edge shows 0.9 k and 0.9 c1, between its bounds B^2 k and B c1: the bound covers both.
    h = edge(law | slider(0.9, 0.9, 0.9)).stable_step
    # one mass m = 1/2 on one edge: k h^2/m + 2 c h/m = 4; Maxwell has B = 1 and c1 = 0
    k, c = (0.9 * K, 0.9) if law is THREE else (K, 0.0)
    assert k * h**2 / 0.5 + 2.0 * c * h / 0.5 == pytest.approx(4.0, rel=1e-9)
    assert law is MAXWELL or h < edge(law).stable_step


def test_least_and_most_of_one_are_the_voigt_unit() -> None:
    """The elastic preset: d = l - l0, f = k d + b d', whose difference quotient is the rate of the step before.
    The Voigt law takes d at the same place and its rate from the same velocities, so both agree to rounding."""
    laws = {"model": "voigt", "young": K, "poisson": 0.25, "viscosity": 1.0}, THREE | slider(1.0, 1.0, 1.0)
    voigt, stopped = (edge(law, 0.01, forces=pull(0.5)) for law in laws)
    for time in (0.1, 1.0, 20.0):  # modes decay with exp(-t): 2e-9 at the end
        run_to(voigt, time)
        run_to(stopped, time)
        np.testing.assert_allclose(stopped.positions, voigt.positions, rtol=1e-11)
    assert stopped.positions[1, 0] == pytest.approx(1.0 + 0.5 / K, rel=1e-6)


@pytest.mark.parametrize(
    ("bounds", "force", "time", "rate", "error"),
    [
        ((0.5, 0.4, 0.6), -0.01, 5.0, 4.0 / 3.0, 1e-9),
        ((0.5, 0.5, 0.9), 0.01, 10.0, 4.0 / 3.0, 1e-9),  # c1 flows faster than c2: the lower bound never acts
        ((0.5, 0.4, 0.5), 0.01, 10.0, 2.0, 1e-4),
    ],
)
def test_without_a_spring_the_edge_flows_as_both_dashpots_in_a_row(
    bounds: tuple[float, ...], force: float, time: float, rate: float, error: float
) -> None:
    """The viscoplastic preset: rate F (c1 + c2)/(c1 c2) until the slider stops it, then F/(most c1)."""
    simulation = run_to(edge(three(0.0, 1.0, 3.0, viscous_poisson=0.25) | slider(*bounds), forces=pull(force)), time)
    assert simulation.velocities[1, 0] == pytest.approx(force * rate, rel=error)


def test_stops_carry_the_rest_of_the_force_and_store() -> None:
    """least = most = a: f = k a (l - l0) + b a l', not the softer B times that (spec section 6)."""
    simulation = run_to(edge(THREE | slider(0.6, 0.6, 0.6), 1e-3, supports=driven([0.0, 1.0], [0.0, 0.2])), 0.5)
    # the force of a step is that of its start, one step earlier
    assert holding(simulation) == pytest.approx(0.6 * (K * 0.2 * (0.5 - 1e-3) + 0.2), rel=1e-9)
    # On a bound a, f = k d and d = a l - L: stretching it slowly stores int f dl = k d^2/(2 a), spring and stop.
    law = slider(0.6, 0.6, 0.6)
    length, natural = np.array([0.7, 1.4]), np.full(2, 0.6)
    d = 0.6 * length - natural
    stop = stop_energy(Slider(**law["slider"]), np.full(2, K), natural, length - natural - d)
    np.testing.assert_allclose(stop + 0.5 * K * d**2, 0.5 * K * d**2 / 0.6, rtol=1e-12)
    simulation = edge(three(K, 0.0, 1.0) | law, 1e-4, duration=1.0, supports=driven([0.0, 1.0], [0.0, 0.4]))
    run_to(simulation, 1.0)
    assert simulation.energy()["stored"] == pytest.approx(0.5 * K * 0.24**2 / 0.6, rel=2e-3)


@both_laws
@pytest.mark.parametrize("bounds", [(0.5, 0.3, 0.7), (0.5, 0.5, 0.5), (1.0, 1.0, 1.0)])
def test_no_history_gains_energy(law: Law, bounds: tuple[float, ...]) -> None:
    """Work of a moving grip never falls below what is stored: strokes far beyond both bounds.
    The error of the work is of first order in the step, h/2 times the sum of |df dl|, checked to halve with it."""
    grip = driven(np.linspace(0.0, 2.0, 5), [0.0, 1.4, -0.5, 1.1, -0.3])
    worst = []
    for step in (2e-3, 1e-3):
        dissipated = lost(edge(law | slider(*bounds), step, duration=2.0, supports=grip), round(2.0 / step), 25)
        worst.append(min(dissipated))
        assert dissipated[-1] > 0.0 or bounds[0] == bounds[1]
    assert worst[1] > -0.01 * K * 1.5**2 and min(0.0, worst[1]) >= 0.6 * min(0.0, worst[0]) - 1e-12
