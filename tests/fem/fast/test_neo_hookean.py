"""Neo-Hookean tetrahedra: forces from their energy, objectivity, balance, the linear limit, explicit steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy.spatial.transform import Rotation
from skfem import MeshTet

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.explicit_neo_hookean import NeoHookeanModel
from rheotwin.fem.fast.explicit_packing import Boundary, boundary_of
from rheotwin.fem.fast.neo_hookean import NeoHookeanTets
from rheotwin.fem.forms import lame_matrix, shear_matrix, vector_basis
from rheotwin.inverse_cube_root import inverse_cube_root
from rheotwin.problem import Problem

Array = np.ndarray
SHEAR, BULK = 100.0, 300.0
ELASTIC = {"model": "elastic", "young": 270.0, "poisson": 0.35}
"""mu = 100, K = 300."""


@pytest.fixture
def mesh() -> Any:
    """240 unequal tetrahedra: two chunks, the second one padded."""
    lines = [np.linspace(0.0, 1.0, 6), np.linspace(0.0, 0.8, 5), np.linspace(0.0, 0.5, 3)]
    mesh = MeshTet.init_tensor(*lines)
    moved = mesh.p + 0.03 * np.random.default_rng(5).uniform(-1.0, 1.0, mesh.p.shape)
    return MeshTet(moved, mesh.t)


@pytest.fixture
def body(mesh: Any) -> NeoHookeanTets:
    return NeoHookeanTets.build(mesh.p.T, mesh.t.T, SHEAR, BULK)


def large(mesh: Any) -> Array:
    """A displacement with strains of a third, and a turn."""
    generator = np.random.default_rng(2)
    gradient = Rotation.from_rotvec([0.4, -0.9, 0.7]).as_matrix() @ (np.eye(3) + np.diag([0.3, -0.2, 0.1]))
    points = mesh.p.T @ gradient.T + 0.01 * generator.standard_normal(mesh.p.T.shape)
    return np.asarray(points - mesh.p.T).ravel()


def test_inverse_cube_root() -> None:
    """Six decades around one, all within eight units of the last place."""
    x = np.exp(np.random.default_rng(0).uniform(np.log(1e-3), np.log(1e3), 20000))

    @njit
    def roots(values: Array) -> Array:
        return np.array([inverse_cube_root(value) for value in values])

    np.testing.assert_allclose(roots(x) * np.cbrt(x), 1.0, rtol=8 * np.finfo(float).eps)


def test_force_is_minus_the_gradient_of_the_energy(mesh: Any, body: NeoHookeanTets) -> None:
    """Directional derivatives by Richardson-extrapolated differences of step e: error e^4 + eps W/(e |f.d|)."""
    u, step = large(mesh), 1e-3
    force, generator = body.force(u), np.random.default_rng(3)
    for _ in range(5):
        d = generator.standard_normal(u.size)
        d /= np.linalg.norm(d)

        def slope(e: float, d: Array = d) -> float:
            return (body.energy(u + e * d) - body.energy(u - e * d)) / (2.0 * e)

        extrapolated = (4.0 * slope(0.5 * step) - slope(step)) / 3.0
        assert abs(extrapolated + force @ d) < 1e-8 * np.linalg.norm(force)


def test_energy_of_a_uniform_strain(mesh: Any, body: NeoHookeanTets) -> None:
    gradient = np.array([[1.2, 0.3, 0.0], [0.0, 0.9, -0.1], [0.1, 0.0, 1.1]])
    ratio, volume = np.linalg.det(gradient), vector_basis(mesh, "tet").dx.sum()
    expected = 0.5 * SHEAR * (np.sum(gradient**2) * ratio ** (-2.0 / 3.0) - 3.0) + 0.5 * BULK * (ratio - 1.0) ** 2
    found = body.energy((mesh.p.T @ (gradient - np.eye(3)).T).ravel())
    assert found == pytest.approx(volume * expected, rel=1e-13)


def test_forces_turn_with_the_body(mesh: Any, body: NeoHookeanTets) -> None:
    """A superposed rotation and shift turns the forces: to 1e-12 of the largest."""
    u, turn = large(mesh), Rotation.from_rotvec([1.1, 0.2, -2.0]).as_matrix()
    force = body.force(u).reshape(-1, 3)
    turned = (mesh.p.T + u.reshape(-1, 3)) @ turn.T + [3.0, -1.0, 2.0] - mesh.p.T
    scale = np.abs(force).max()
    np.testing.assert_allclose(body.force(turned.ravel()).reshape(-1, 3), force @ turn.T, rtol=0.0, atol=1e-12 * scale)
    rigid = mesh.p.T @ (turn - np.eye(3)).T
    assert np.abs(body.force(rigid.ravel())).max() < 1e-12 * scale


def test_momenta_balance(mesh: Any, body: NeoHookeanTets) -> None:
    u = large(mesh)
    force, points = body.force(u).reshape(-1, 3), mesh.p.T + u.reshape(-1, 3)
    scale = np.abs(force).sum()
    assert np.abs(force.sum(axis=0)).max() < 1e-12 * scale
    assert np.abs(np.cross(points, force).sum(axis=0)).max() < 1e-12 * scale


def test_small_strains_are_linear_elasticity(mesh: Any, body: NeoHookeanTets) -> None:
    """f(e u)/e + K u falls with e: the first order of the difference, lambda = K - 2 mu/3."""
    basis = vector_basis(mesh, "tet")
    linear = ((BULK - 2.0 / 3.0 * SHEAR) * lame_matrix(basis) + SHEAR * shear_matrix(basis)) @ large(mesh)
    sizes = np.array([1e-2, 1e-3, 1e-4])
    off = [np.abs(body.force(e * large(mesh)) / e + linear).max() / np.abs(linear).max() for e in sizes]
    slopes = np.diff(np.log(off)) / np.diff(np.log(sizes))
    assert np.all(np.abs(slopes - 1.0) < 0.1), (slopes, off)


def test_moduli_may_differ_from_element_to_element(mesh: Any) -> None:
    """Two half bodies side by side pull as one with moduli per element; orientation of the corners plays no part."""
    u, corners = large(mesh), mesh.t.T.copy()
    corners[::2] = corners[::2][:, [1, 0, 2, 3]]
    first = np.arange(len(corners)) < 100
    shear, bulk = np.where(first, 1.0, 7.0), np.where(first, 4.0, 2.0)
    whole = NeoHookeanTets.build(mesh.p.T, corners, shear, bulk).force(u)
    halves = NeoHookeanTets.build(mesh.p.T, corners[first], 1.0, 4.0).force(u)
    halves = halves + NeoHookeanTets.build(mesh.p.T, corners[~first], 7.0, 2.0).force(u)
    np.testing.assert_allclose(whole, halves, rtol=0.0, atol=1e-13 * np.abs(whole).max())


def test_inverted_and_flat_elements_are_named(mesh: Any, body: NeoHookeanTets) -> None:
    u = np.zeros(mesh.p.size)
    corners = mesh.t[:, 37]
    across = mesh.p[:, corners[1:]].mean(axis=1) - mesh.p[:, corners[0]]
    u.reshape(-1, 3)[corners[0]] = 1.5 * across
    inside_out = np.linalg.det(body.deformation(u)) <= 0.0
    assert inside_out[37]
    with pytest.raises(RheotwinError, match=f"element {np.flatnonzero(inside_out)[0]} is turned inside out"):
        body.force(u)
    flat = mesh.p.T.copy()
    flat[:, 2] = 0.0
    with pytest.raises(RheotwinError, match="tetrahedron 0 has no volume"):
        NeoHookeanTets.build(flat, mesh.t.T, SHEAR, BULK)


@pytest.fixture
def free_block(
    scene: Callable[..., Any], problem_of: Callable[..., Problem]
) -> Callable[..., tuple[Boundary, NeoHookeanTets]]:
    def build(**more: Any) -> tuple[Boundary, NeoHookeanTets]:
        data = scene(ELASTIC, size=[1.0, 0.8, 0.5], cells=[4, 3, 2], cell="tet", density=2.0, **more)
        problem = problem_of(data)
        return boundary_of(problem), NeoHookeanTets.build(problem.points, problem.bodies[0].mesh.t.T, SHEAR, BULK)

    return build


def spinning(boundary: Boundary) -> Array:
    """A spin of 3 rad/s about the centre and a stretch."""
    x = boundary.nodes.rest.reshape(-1, 3) - boundary.nodes.rest.reshape(-1, 3).mean(axis=0)
    return np.asarray(np.cross([0.5, -1.0, 2.8], x) + x * [2.0, 0.0, -2.0]).ravel()


def test_free_flight_keeps_momenta_and_energy(free_block: Callable[..., tuple[Boundary, NeoHookeanTets]]) -> None:
    """Central differences keep both momenta exactly (to rounding); the energy error falls with the square of h."""
    boundary, tets = free_block()
    velocity, mass = spinning(boundary), boundary.nodes.mass
    stable = NeoHookeanModel.build(boundary, tets, 1.0).stable_step
    errors = []
    for steps in (100, 200):
        model = NeoHookeanModel.build(boundary, tets, 20.0 * stable / steps)
        state = model.start(velocity)
        assert model.advance(state, 0, steps) == steps
        flight, _ = state
        momentum = (mass * flight.velocity).reshape(-1, 3)
        before = (mass * velocity).reshape(-1, 3)
        np.testing.assert_allclose(momentum.sum(axis=0), before.sum(axis=0), atol=1e-12 * np.abs(before).sum())
        points = boundary.nodes.rest.reshape(-1, 3) + flight.displacement.reshape(-1, 3)
        # forces act at the positions of full steps, so momenta of half steps pair with the positions behind them
        spin = np.cross(points, momentum).sum(axis=0)
        start = np.cross(boundary.nodes.rest.reshape(-1, 3), before).sum(axis=0)
        np.testing.assert_allclose(spin, start, atol=1e-11 * np.abs(np.cross(points, momentum)).sum())
        full = flight.velocity + 0.5 * model.step * tets.force(flight.displacement) / mass
        errors.append(
            0.5 * full @ (mass * full) + tets.energy(flight.displacement) - 0.5 * velocity @ (mass * velocity)
        )
    assert abs(errors[0] / errors[1]) == pytest.approx(4.0, rel=0.1)


def test_threads_agree_to_rounding(free_block: Callable[..., tuple[Boundary, NeoHookeanTets]]) -> None:
    boundary, tets = free_block()
    model = NeoHookeanModel.build(boundary, tets, 1e-3)
    found = []
    for threads in (1, 2):
        state = model.start(spinning(boundary), threads=threads)
        model.advance(state, 0, 100)
        found.append(state[0].displacement)
    np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-12 * np.abs(found[0]).max())


def test_the_stable_step_is_sharp_at_rest(free_block: Callable[..., tuple[Boundary, NeoHookeanTets]]) -> None:
    """Small noise stays small below it and grows without bound above, until elements turn inside out."""
    boundary, tets = free_block()
    stable = NeoHookeanModel.build(boundary, tets, 1.0).stable_step
    noise = 1e-6 * np.random.default_rng(0).standard_normal(boundary.nodes.rest.size)
    below, above = (NeoHookeanModel.build(boundary, tets, share * stable) for share in (0.98, 1.05))
    state = below.start(noise)
    below.advance(state, 0, 1000)
    assert np.abs(state[0].velocity).max() < 10.0 * np.abs(noise).max()
    with pytest.raises(RheotwinError, match="inside out"):
        above.advance(above.start(noise), 0, 1000)


def test_an_element_inside_out_stops_at_the_last_good_state(
    free_block: Callable[..., tuple[Boundary, NeoHookeanTets]],
) -> None:
    boundary, tets = free_block()
    model = NeoHookeanModel.build(boundary, tets, 1e-3)
    velocity = np.zeros(boundary.nodes.rest.size)
    velocity.reshape(-1, 3)[0] = 1000.0 * (boundary.nodes.rest.reshape(-1, 3).mean(axis=0))
    state = model.start(velocity)
    with pytest.raises(RheotwinError, match=r"t = .* element \d+ is turned inside out"):
        model.advance(state, 0, 100)
    assert np.all(np.isfinite(state[0].displacement))


def test_pressed_by_a_tool(free_block: Callable[..., tuple[Boundary, NeoHookeanTets]]) -> None:
    """A ball dips 0.1 into a block on a floor: nothing inside it, nothing held moves, and both forces are reported."""
    down = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0, 0.0], [0.0, 0.0, -0.1]]}
    boundary, tets = free_block(
        supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
        tools={"ball": {"shape": "sphere", "center": [0.5, 0.4, 0.8], "radius": 0.3, "motion": down}},
    )
    model = NeoHookeanModel.build(boundary, tets, 1e-3)
    flight, outside = state = model.start()
    assert model.advance(state, 0, 1000) == 1000
    points = (boundary.nodes.rest + flight.displacement).reshape(-1, 3)
    gaps = np.linalg.norm(points - [0.5, 0.4, 0.7], axis=1) - 0.3
    assert gaps.min() > -1e-12
    assert np.all(np.abs(flight.displacement[boundary.nodes.free == 0.0]) < 1e-15)
    assert outside.contact[:, 2].sum() < -0.1
    assert outside.reaction[2::3].sum() > 0.1
