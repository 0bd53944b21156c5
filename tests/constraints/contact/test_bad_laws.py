"""Contact laws and drives put together in Python: numbers that no contact and no tool can have are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.contact.setup import ToolDrive
from rheotwin.constraints.motion import Motion, at_rest
from rheotwin.errors import RheotwinError

PENALTY: dict[str, Any] = {"law": "penalty", "stiffness": 1e3}
NOT_FINITE = [np.nan, np.inf, -np.inf]


@pytest.mark.parametrize("value", [-0.1, 1.1, *NOT_FINITE])
def test_restitution_is_a_share(value: float) -> None:
    with pytest.raises(RheotwinError, match=r"contact law: restitution is .*; give a number from 0 to 1"):
        ContactLaw(law="impulse", restitution=value)


@pytest.mark.parametrize("value", [-1e-9, *NOT_FINITE])
@pytest.mark.parametrize(
    "name", ["stiffness", "damping", "integral", "region", "friction", "static_friction", "slip_speed"]
)
def test_numbers_are_finite_and_not_negative(name: str, value: float) -> None:
    with pytest.raises(RheotwinError, match=f"contact law: {name} is .*; give a finite number"):
        ContactLaw(**{**PENALTY, name: value})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"friction": 0.3}, "static_friction is 0.0, below friction 0.3"),
        ({"friction": 0.3, "static_friction": 0.2}, "static_friction is 0.2, below"),
        ({"friction": 0.3, "friction_rule": "regularised"}, "needs a slip_speed"),
        ({"law": "penalty"}, "'penalty' needs a stiffness"),
        ({"law": "integrated", "integral": 1.0}, "'integrated' needs a stiffness"),
        ({"law": "viscous"}, "'viscous' needs a damping"),
        ({"law": "springy"}, "law is 'springy'; choose one of exact, penalty, integrated, impulse, viscous"),
        ({"friction_rule": "none"}, "friction_rule is 'none'; choose one of exact, regularised"),
    ],
)
def test_what_belongs_together_is_there(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(RheotwinError, match=words):
        ContactLaw(**keys)


def test_laws_that_are_fine() -> None:
    """The ends of what is allowed, and a regularised friction, which needs no coefficient up to which it sticks."""
    for restitution in (0.0, 1.0):
        ContactLaw(law="impulse", restitution=restitution, friction=0.3, static_friction=0.3)
    ContactLaw(**PENALTY, friction=0.3, friction_rule="regularised", slip_speed=1e-3)


@pytest.mark.parametrize("value", [0.0, -1.0, *NOT_FINITE])
def test_a_drive_resists_what_moves_it(value: float) -> None:
    with pytest.raises(RheotwinError, match=r"tool drive: mass is .* kg, but forces move the tool"):
        ToolDrive((False, True, False, False), value, 0.0, at_rest(4))
    with pytest.raises(RheotwinError, match=r"tool drive: inertia is .* kg m2, but moments turn the tool"):
        ToolDrive((False, False, False, True), 1.0, value, at_rest(4))
    # what no force moves may have any
    ToolDrive((False, False, False, True), value, 1.0, at_rest(4))
    ToolDrive((True, True, False, False), 1.0, value, at_rest(4))


@pytest.mark.parametrize("value", NOT_FINITE)
def test_forces_and_velocities_are_finite(value: float) -> None:
    free = (True, True, False, False)
    with pytest.raises(RheotwinError, match="finite numbers"):
        ToolDrive(free, 1.0, 0.0, Motion(np.zeros(1), np.array([[0.0, value, 0.0, 0.0]])))
    with pytest.raises(RheotwinError, match="finite numbers"):
        ToolDrive(free, 1.0, 0.0, at_rest(4), (value, 0.0, 0.0, 0.0))
    with pytest.raises(RheotwinError, match=r"force has the shape \(1, 3\)"):
        ToolDrive(free, 1.0, 0.0, at_rest(3))
