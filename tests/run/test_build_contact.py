"""The contact of a problem: laws of bodies and tools, gains and regions checked against masses and meshes."""

import warnings
from typing import Any

import pytest

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.errors import RheotwinError
from tests.conftest import Data, problem_with

# the block: 0.2 x 0.1 m of 1000 kg/m3 and 1 m thick, 20 kg in 4 x 2 squares of two triangles each; a node inside a
# side has three triangles of 5/12 kg each around it: the heaviest on the surface
WHOLE, HEAVIEST = 20.0, 1.25 / 3 * 3


def integrated(integral: float, place: str = "contact", **more: Any) -> Data:
    return {place: {"law": "integrated", "stiffness": 1e4, "damping": 50.0, "integral": integral, **more}}


def contact_of(changes: Data) -> Any:
    return problem_with(changes).contact


def build_without_a_warning(changes: Data) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem_with(changes)


def test_whom_bodies_touch_and_by_which_law() -> None:
    assert contact_of({}) is None
    one = contact_of({"contact": {}})
    assert (one.bodies, one.between_bodies, one.edges) == (False, False, False)
    second = {"shape": "box", "size": [0.1, 0.1], "cells": [1, 1], "law": "dough", "density": 1.0, "origin": [0.5, 0]}
    both = contact_of({"contact": {"self": ["second"]}, "bodies.second": second})
    assert (both.bodies, both.self_bodies) == (True, (1,))
    apart = contact_of({"contact": {"self": True, "bodies": False}, "bodies.second": second})
    assert (apart.bodies, apart.self_bodies) == (False, (0, 1))
    floor = {"shape": "plane", "center": [0.0, -1.0], "normal": [0.0, 1.0], "contact": {"law": "exact"}}
    contact = contact_of({"contact": {"law": "penalty", "stiffness": 2e4, "friction": 0.3}, "tools.floor": floor})
    assert contact.law == ContactLaw("penalty", 2e4, friction=0.3, static_friction=0.3)
    assert contact.tool_laws == (contact.law, ContactLaw(friction=0.3, static_friction=0.3))


@pytest.mark.parametrize(
    "change",
    [
        {"tools.bar.contact": {"friction": 0.3}},
        {"tools.bar.drive": {"mass": 1.0}, "tools.bar.motion": ...},
        {"tools.bar": {"shape": "box", "center": [0.1, 0.2], "size": [0.1, 0.1]}},
    ],
    ids=["own contact", "driven", "block"],
)
def test_a_tool_that_needs_it_brings_contact_without_bodies(change: Data) -> None:
    contact = contact_of(change)
    assert not contact.between_bodies and contact.law == ContactLaw()


def test_the_gain_must_be_below_the_bound_of_the_heaviest_node() -> None:
    bound = 1e4 * 50.0 / HEAVIEST
    with pytest.raises(RheotwinError, match=rf"contact\.integral: .*never settles.* = {bound:.6g}"):
        problem_with(integrated(1.0001 * bound))
    with pytest.warns(UserWarning, match="several nodes"):
        assert contact_of(integrated(0.9999 * bound)) is not None
    build_without_a_warning(integrated(0.99 * 1e4 * 50.0 / WHOLE, region=0.01))  # one node can bear it
    with pytest.raises(RheotwinError, match=r"tools\.bar\.contact\.integral"):
        problem_with(integrated(1e9, "tools.bar.contact"))


@pytest.mark.parametrize("place", ["contact", "tools.bar.contact"])
def test_an_integral_without_a_region_is_warned_of(place: str) -> None:
    """Nodes of a body lift each other off by microns, and each time the integral starts anew."""
    with pytest.warns(UserWarning, match=rf"{place}\.region: without one .* never comes to rest"):
        problem_with(integrated(1e4, place))


def driven(integral: float, mass: float, free: list[str], **more: Any) -> Data:
    drive = {"tools.bar.drive": {"mass": mass, "free": free, **more}, "tools.bar.motion": ...}
    return drive | integrated(integral, "tools.bar.contact", region=0.01)


def test_gains_of_driven_tools_settle_on_the_nodes_they_can_touch() -> None:
    """200 kg on n nodes: I < n C K/M = n 2500 N/(m s)."""
    place, single = r"tools\.bar\.contact\.integral", 1e4 * 50.0 / 200.0
    with pytest.raises(RheotwinError, match=rf"{place}: .*never settles: tool 'bar' has 200 kg .* 6 nodes .* = 15000;"):
        problem_with(driven(6.0 * single, 200.0, ["y"]))
    for share, needed in ((1.0, 2), (1.999, 2), (2.0, 3), (5.999, 6)):
        words = rf"{place}: .* tool 'bar' rests on at least {needed} nodes; below 2500 one"
        with pytest.warns(UserWarning, match=words):
            problem_with(driven(share * single, 200.0, ["y"]))
    build_without_a_warning(driven(0.999 * single, 200.0, ["y"]))
    # a tool that only turns resists with its moment of inertia and an arm that is not known
    build_without_a_warning(driven(6.0 * single, 200.0, ["angle"], moment_of_inertia=1.0))
    changes = driven(1e3, 130.0, ["y"]) | integrated(2.4e4, region=0.01)
    build_without_a_warning(changes)
    del changes["tools.bar.contact"]
    with pytest.raises(RheotwinError, match=r"^contact\.integral: .*tool 'bar'"):
        problem_with(changes)
    problem_with(integrated(1e4, region=0.049))
    with pytest.raises(RheotwinError, match=r"contact\.region: .*smallest edge of body 'block' \(0\.05 m\)"):
        problem_with(integrated(1e4, region=0.051))
