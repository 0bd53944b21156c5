"""The explicit loop against matrix exponentials: order, energy, stable step, several terms, no allocation."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from scipy.linalg import eigh, eigvalsh, expm

from rheotwin.fem.fast.explicit_loop import ExplicitModel, ExplicitState
from rheotwin.fem.fast.explicit_terms import ESTIMATE_ERROR
from rheotwin.materials import Channel
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import ELASTIC, EQUAL_RATIO, FLOOR, Data, box_scene, path, problem_of, side
from rheotwin.validation.closed_forms import mode_matrix

Array = np.ndarray

TWO_RATIOS = EQUAL_RATIO["three-element"] | {"viscous_poisson": 0.2}
"""Bulk and shear relax differently: two matrices stay apart."""
RELAXING: Data = {
    "model": "generalized-maxwell",
    "units": [{"young": 150.0, "viscosity": 4.0}, {"young": 80.0, "viscosity": 40.0}],
    "equilibrium": 20.0,
    "poisson": 0.3,
}
"""Two arms and a spring, no dashpot of its own."""


@pytest.fixture
def allocations() -> Iterator[Callable[[], int]]:
    _nrt_python.memsys_enable_stats()
    yield lambda: int(rtsys.get_allocation_stats().alloc)
    _nrt_python.memsys_disable_stats()


def block(law: Data, dimension: int = 2, **more: Any) -> Problem:
    size, cells = [2.0, 1.5, 1.0][:dimension], [3, 2, 2][:dimension]
    supports = {"supports": {"left": side("left")} if dimension == 1 else FLOOR}
    return problem_of(box_scene(law, size=size, cells=cells, density=1.0, **(supports | more)))


def wave(problem: Problem) -> Array:
    x = problem.points
    height = x[:, -1] if problem.dimension > 1 else x[:, 0]
    directions = 0.1 * np.array([1.0, -0.7, 0.4])[: problem.dimension]
    return (np.sin(0.5 * np.pi * height / height.max())[:, None] * (1.0 + 0.2 * x[:, :1]) * directions).ravel()


def exact(model: ExplicitModel, displacement: Array, velocity: Array, channel: Channel, time: float) -> Array:
    """Rows u and v at `time` by mode: (u, v, w_1, ...)' = A(lambda) (u, v, w_1, ...) for one merged term."""
    free = np.flatnonzero(model.boundary.nodes.free)
    stiffness = model.matrix.to_sparse().toarray()[np.ix_(free, free)]
    mass, out = model.boundary.nodes.mass[free], np.zeros((2, model.size))
    eigenvalues, modes = eigh(stiffness, np.diag(mass))
    for eigenvalue, mode in zip(eigenvalues, modes.T, strict=True):
        state = np.zeros(2 + len(channel.times))
        state[:2] = mode @ (mass * displacement[free]), mode @ (mass * velocity[free])
        out[:, free] += np.outer((expm(time * mode_matrix(channel, eigenvalue)) @ state)[:2], mode)
    return out


@pytest.mark.parametrize(("name", "order"), [("elastic", 2), ("relaxing", 2), ("three-element", 1)])
def test_order_in_time(name: str, order: int, explicit: Any) -> None:
    """Displacement and full-step velocity against the matrix exponential; eta alone costs an order."""
    problem = block(RELAXING if name == "relaxing" else EQUAL_RATIO[name])
    channel, velocity, time = problem.bodies[0].law.channel("young"), wave(problem), 0.25
    displacement = 0.1 * velocity[::-1] * (problem.owners < 0).ravel()
    errors = []
    for steps in (100, 200, 400):
        model = explicit(problem, time / steps)
        state = model.start(displacement, velocity)
        assert model.advance(state, 0, steps) == steps
        u, v = exact(model, displacement, velocity, channel, time)
        full = model.at_full_step(state, steps)
        found = np.array([state.motion.displacement - u, full.motion.velocity - v])
        errors.append(np.abs(found).max(axis=1) / [np.abs(u).max(), np.abs(v).max()])
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(np.abs(slopes - order) < 0.1), slopes
    assert np.max(errors[-1]) < (1e-3 if order == 2 else 1e-2)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_elastic_energy_of_the_scheme_never_drifts(dimension: int, explicit: Any) -> None:
    """Central differences keep v'Mv/2 + u_n'Ku_{n+1}/2 (v between n and n+1) for ever; the true energy stays near.
    The kept energy is v'(M - h^2 K/4)v/2 + mean'K mean/2 with the mean of u_n and u_{n+1}."""
    problem = block(ELASTIC, dimension)
    model, velocity = explicit(problem, share=0.9), wave(problem)
    state, mass = model.start(velocity=velocity), model.boundary.nodes.mass
    stiffness = problem.bodies[0].law.channel("young").equilibrium * model.matrix.to_sparse()

    def kept() -> float:
        now, speed = state.motion.displacement, state.motion.velocity
        return float(0.5 * speed @ (mass * speed) + 0.5 * (now - model.step * speed) @ (stiffness @ now))

    first = 0
    found, true = [], []
    for count in (1, 50, 1000, 20000, 7):
        model.advance(state, first, count)
        first += count
        found.append(kept())
        speed, now = model.at_full_step(state, first).motion.velocity, state.motion.displacement
        true.append(0.5 * speed @ (mass * speed) + 0.5 * now @ stiffness @ now)
    np.testing.assert_allclose(found, found[0], rtol=1e-11)
    np.testing.assert_allclose(true, true[0], rtol=0.1)


def noisy(model: ExplicitModel) -> ExplicitState:
    return model.start(velocity=np.random.default_rng(1).standard_normal(model.size) * model.boundary.nodes.free)


def test_stable_below_and_unstable_above_the_stable_step(any_law: Data, explicit: Any) -> None:
    """Just below, every mode stays bounded. 10 % above the bound of the spectrum an elastic body flies apart."""
    problem = block(any_law, supports={})
    model = explicit(problem, share=0.999)
    state = noisy(model)
    assert model.advance(state, 0, 5000) == 5000
    if not problem.bodies[0].law.channel("young").strengths:
        above = explicit(problem, share=1.1 * (1.0 + ESTIMATE_ERROR))
        assert above.advance(noisy(above), 0, 5000) < 5000


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_stable_step_of_the_dense_spectrum(dimension: int, explicit: Any) -> None:
    """a h^2 + 2 c h = 4 from dense eigenvalues; the estimate may fall short by its margin, never exceed."""
    model = explicit(block(EQUAL_RATIO["three-element"], dimension), 1e-3)
    mass = np.diag(model.boundary.nodes.mass)
    top = eigvalsh(model.matrix.to_sparse().toarray(), mass)[-1]
    channel = Channel.three_element(30.0, 20.0, 500.0)
    a, c = channel.instantaneous * top, channel.viscosity * top
    exact_step = (-c + np.sqrt(c**2 + 4.0 * a)) / a
    assert exact_step / (1.0 + ESTIMATE_ERROR) <= model.stable_step <= exact_step * (1.0 + 1e-9)


def test_bodies_of_different_laws_move_as_if_alone(explicit: Any, model_of: Any) -> None:
    """Two arms here, none there, two terms in the third: bodies share one matrix but nothing else."""
    problems = [block(law, supports={}) for law in (ELASTIC, RELAXING, TWO_RATIOS)]
    single = [explicit(problem, 1e-4) for problem in problems]
    terms = [[(t.matrix, t.channel) for t in model_of(problem).bodies[0].terms] for problem in problems]
    one = single[0].boundary
    tiled = {name: np.tile(getattr(one.nodes, name), 3) for name in ("rest", "mass", "weight", "free")}
    model = ExplicitModel.build(one._replace(nodes=one.nodes._replace(**tiled)), terms, 1e-4)
    state = model.start(velocity=np.tile(wave(problems[0]), 3))
    model.advance(state, 0, 300)
    alone = []
    for part in single:
        own = part.start(velocity=wave(problems[0]))
        part.advance(own, 0, 300)
        alone.append(own.motion.displacement)
    np.testing.assert_allclose(state.motion.displacement, np.concatenate(alone), rtol=1e-12, atol=1e-15)


def test_chunks_change_no_bit(explicit: Any) -> None:
    """Also when the account of work is opened at a full step in between."""
    problem = block(TWO_RATIOS)
    model = explicit(problem)
    through, parts = (model.start(velocity=wave(problem)) for _ in range(2))
    model.advance(through, 0, 100, account=True)
    first = 0
    for count in (1, 30, 69):
        model.advance(parts, first, count, account=True, opened=first > 0)
        first += count
        if first < 100:
            parts.motion.work[:] = model.at_full_step(parts, first).motion.work
            model.refresh(parts)
    for one, two in zip(through.motion, parts.motion, strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_loop_allocates_nothing_and_a_runaway_stops_it(explicit: Any, allocations: Any) -> None:
    """As many allocations for a thousand steps as for one, with supports, loads and a tool."""
    rising = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.1]])
    disc = {"disc": {"shape": "sphere", "center": [1.0, 1.5], "radius": 0.5, "motion": rising}}
    more: Data = {"supports": {"floor": side("bottom", motion=rising)}, "tools": disc, "density": 1.0}
    push = {"push": side("left", total=[1.0, 0.0])}
    model = explicit(problem_of(box_scene(RELAXING, size=[2.0, 1.0], cells=[4, 2], forces=push, **more)))
    state = model.start()
    model.advance(state, 0, 1, account=True)
    counts = []
    for steps in (1, 1000):
        before = allocations()
        model.advance(state, 1, steps, account=True)
        counts.append(allocations() - before)
    assert np.any(state.outside.exerted != 0.0) and counts[0] == counts[1]
    model = explicit(block(ELASTIC), share=2.0)
    assert model.advance(noisy(model), 0, 10**6) < 10**4
