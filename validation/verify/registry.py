"""Every check there is, in the order of the specification."""

from __future__ import annotations

import re

from rheotwin.validation.verify import (
    bar,
    circuit,
    contact,
    cylinder,
    later,
    manufactured,
    materials,
    matrices,
    membrane,
    patch,
    scenes,
    vibration,
    wave,
)
from rheotwin.validation.verify.check import Check

THEMES = (
    matrices,
    materials,
    bar,
    vibration,
    wave,
    patch,
    scenes,
    manufactured,
    cylinder,
    membrane,
    contact,
    circuit,
    later,
)
"""Modules that hold checks; a new one is one more name here."""


def all_checks() -> tuple[Check, ...]:
    """Return all checks: reference numbers R1, R2, ..., acceptance A, closed forms T, contact C, circuit F, errata."""
    return tuple(sorted((check for theme in THEMES for check in theme.CHECKS), key=_place))


def _place(check: Check) -> tuple[int, int]:
    letter, number = re.fullmatch(r"([A-Z])(\d+)", check.reference).groups()  # type: ignore[union-attr]
    return "RATCFE".index(letter), int(number)
