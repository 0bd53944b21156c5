"""Slopes of laws and the tangent of a whole step against central differences."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.fem.finite.body import FinitePart, PointState
from rheotwin.fem.finite.channels import ChannelLaw
from rheotwin.fem.finite.measures import Isochoric, Measure, SmallStrain
from rheotwin.materials import Channel

Array = np.ndarray
ENERGIES = {
    "neo-hooke": Isochoric(),
    "mooney-rivlin": Isochoric((0.2, 0.3, 0.0, 0.0)),
    "yeoh": Isochoric((0.5, 0.0, 0.4, 0.2)),
    "ogden": Isochoric(principal=((0.7, 1.3), (0.3, -2.0))),
}
MEASURES = pytest.mark.parametrize("measure", [SmallStrain(), *ENERGIES.values()], ids=["small", *ENERGIES])


def strains(seed: int, size: float = 0.1) -> Array:
    return np.asarray(size * np.random.default_rng(seed).normal(size=(4, 6)))


def slope(function: Callable[[Array], Array], at: Array) -> Array:
    h = 1e-6
    return np.stack([(function(at + h * unit) - function(at - h * unit)) / (2 * h) for unit in np.eye(6)], axis=-1)


def pressed(measure: Measure, at: Array) -> tuple[Array, Array]:
    """v and dv/de: what a unit pressure adds."""
    stress, modulus = np.zeros((len(at), 6)), np.zeros((len(at), 6, 6))
    measure.add_volume(at, np.ones(len(at)), 0.0, stress, modulus)
    return stress, modulus


@MEASURES
def test_slopes_of_drivers_energies_and_newtonian_arms(measure: Measure) -> None:
    at = strains(0)
    found, modulus = pressed(measure, at)
    np.testing.assert_allclose(found, slope(measure.volume, at), atol=1e-8)
    np.testing.assert_allclose(modulus, slope(lambda e: pressed(measure, e)[0], at), atol=1e-8)
    shear = slope(lambda e: measure.shear(e)[0], at)
    np.testing.assert_allclose(measure.shear(at)[1], shear, atol=1e-7)
    at = strains(1)
    expected = slope(lambda e: measure.energy(e, 100.0, 40.0), at)
    found = 100.0 * measure.volume(at)[..., None] * pressed(measure, at)[0] + 40.0 * measure.shear(at)[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    at, rate = strains(2), strains(3, 1.0)
    _, by_strain, by_rate = measure.newtonian(at, rate, 7.0, 5.0)
    for found, expected in (
        (by_strain, slope(lambda e: measure.newtonian(e, rate, 7.0, 5.0)[0], at)),
        (by_rate, slope(lambda r: measure.newtonian(at, r, 7.0, 5.0)[0], rate)),
    ):
        np.testing.assert_allclose(np.broadcast_to(found, expected.shape), expected, atol=1e-7)


def test_small_strains_keep_their_digits() -> None:
    """Finite and small-strain drivers at 1e-11 differ by 1e-11 of themselves, not by rounding of 1 + strain."""
    at = 1e-11 * strains(4, 1.0)
    small, volume = SmallStrain().shear(at)[0], SmallStrain().volume(at)
    for measure in ENERGIES.values():
        np.testing.assert_allclose(measure.volume(at), volume, rtol=0, atol=1e-9 * np.abs(volume).max())
        np.testing.assert_allclose(measure.shear(at)[0], small, rtol=0, atol=1e-9 * np.abs(small).max())


@pytest.fixture
def step(mesh: Any, turn: Any) -> Callable[[FinitePart], tuple[PointState, Array, Array]]:
    """A past, a far displacement, and another displacement for the end of the next step, which turns by 34 degrees."""

    def build(body: FinitePart) -> tuple[PointState, Array, Array]:
        points, rng = mesh.p.T, np.random.default_rng(8)
        start, end = (
            (points @ turn(points.shape[1], angle).T - points + 0.05 * rng.normal(size=points.shape)).ravel()
            for angle in (1.0, 1.6)
        )
        state = body.state(np.zeros(points.size), body.at_rest())
        return body.commit(body.commit(state, 0.1 * start, 0.2), start, 0.1), start, end

    return build


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_tangent_is_exact(share: float, body: FinitePart, step: Any) -> None:
    """Every entry of each element's tangent to 1e-6 of the largest."""
    state, start, end = step(body)
    blocks, h = body.respond(state, start, end, 0.2, share)[1], 1e-6
    assert np.abs(blocks).max() > 1.0
    dofs = body.dofs
    for component in range(len(start)):
        change = np.zeros(len(start))
        change[component] = h
        ahead, behind = (body.respond(state, start, end + s * change, 0.2, share)[0] for s in (1.0, -1.0))
        found = np.where((dofs == component)[:, None, :], blocks, 0.0).sum(axis=2)
        np.testing.assert_allclose(found, (ahead - behind) / (2 * h), atol=1e-6 * np.abs(blocks).max())


def test_tangent_is_symmetric_where_it_is_said_to_be(description: str, body: FinitePart, step: Any) -> None:
    """At the end of a step: always for corotational bodies, without Newtonian arms for total-Lagrangian ones."""
    if description != "corotational":
        body = replace(body, bulk=Channel.elastic(90.0), law=ChannelLaw(Isochoric(), Channel.maxwell(40, 9)))
    state, start, end = step(body)
    blocks = body.respond(state, start, end, 0.2)[1]
    np.testing.assert_allclose(blocks, np.swapaxes(blocks, 1, 2), atol=1e-14 * np.abs(blocks).max())
