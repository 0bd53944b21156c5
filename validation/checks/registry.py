"""Every check there is: the references of the catalogue in its order, then determinism, then the baselines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

from rheotwin.errors import RheotwinError
from rheotwin.validation import measured
from rheotwin.validation.baselines import BUILT_IN
from rheotwin.validation.checks import (
    bar,
    blocks,
    chain,
    circuit,
    contact,
    continuum_particles,
    cylinder,
    determinism,
    edges,
    identification,
    incompressible_particles,
    lattice_numbers,
    lattices,
    manufactured,
    materials,
    matrices,
    membrane,
    patch,
    presses,
    pushed_lattice,
    scenes,
    seed_shear,
    stable_steps,
    vibration,
    wave,
)
from rheotwin.validation.checks.baseline_checks import baseline_checks
from rheotwin.validation.checks.check import Check
from rheotwin.validation.references import catalogue
from rheotwin.validation.references.load import ORDER

THEMES: tuple[ModuleType, ...] = (
    matrices,
    materials,
    bar,
    vibration,
    wave,
    patch,
    scenes,
    seed_shear,
    manufactured,
    cylinder,
    membrane,
    contact,
    continuum_particles,
    lattices,
    chain,
    edges,
    stable_steps,
    blocks,
    presses,
    identification,
    incompressible_particles,
    lattice_numbers,
    pushed_lattice,
    circuit,
    measured,
    determinism,
)
"""Modules that hold checks; a new one is one more name here."""


def all_checks(baselines: Path = BUILT_IN) -> tuple[Check, ...]:
    """Return all checks, in the order of the specifications: reference numbers R1, R2, ..., acceptance, closed forms.

    `baselines` is the folder whose baselines are checks as well.
    """
    return _checked([*_of_themes(), *baseline_checks(baselines)])


@cache
def _of_themes() -> tuple[Check, ...]:
    found = [_in_theme(check, theme.__name__.rpartition(".")[2]) for theme in THEMES for check in theme.CHECKS]
    return tuple(sorted(found, key=_place))


def _in_theme(check: Check, theme: str) -> Check:
    """Return a check with its theme; an id without a specification is one of the first specification."""
    if "." not in check.reference:
        check = replace(check, reference=f"fem.{check.reference}", short=check.reference)
    return replace(check, theme=theme)


def _checked(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Refuse names that occur twice: results are kept by them."""
    known: dict[str, Check] = {}
    for check in checks:
        if check.name in known:
            raise RheotwinError(f"checks: two are called {check.name!r}; give each its own name")
        known[check.name] = check
    return tuple(known.values())


def _place(check: Check) -> tuple[int, int, int]:
    """Return where a check stands: specification, letter, number; equal ones keep the order of their themes."""
    specification, _, label = check.reference.partition(".")
    row = ORDER.index(specification) if specification in ORDER else len(ORDER)
    known = re.match(r"([A-Z]+)-?(\d+)", label)
    if known is None:
        return row, 99, 0
    letter, number = known.groups()
    return row, "RATCFES".find(letter) if len(letter) == 1 else 0, int(number)


def uncatalogued(checks: Iterable[Check]) -> list[str]:
    """Return the ids of checks that the catalogue does not have, baselines and determinism aside."""
    known = catalogue().entries
    return [c.reference for c in checks if c.reference not in known and c.specification not in ("baseline", "same")]
