"""Every check there is, which of them are meant, and how they are carried out.

The references of the catalogue in its order, then determinism, then the baselines; chosen by id, name or pattern, by
tag, by solver, quick ones only; one after the other, or shared out over processes, results in the order of the checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from time import perf_counter

from rheotwin import __version__
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.executor import Executor, GivenUp
from rheotwin.validation.baselines import BUILT_IN
from rheotwin.validation.checks.check import Check, Measurement, Unavailable
from rheotwin.validation.checks.outcome import Coverage, Result, Verification, assessed, not_measured
from rheotwin.validation.checks.repeats import baseline_checks
from rheotwin.validation.checks.running import missing_option
from rheotwin.validation.references.catalogue import ORDER

MODULES = (
    "matrices", "bar", "vibration", "scenes", "seed_shear", "manufactured", "cook", "incompressible", "turning",
    "large", "contact", "continuum_particles", "lattices", "edges", "presses", "identification", "fitting",
    "pushed_lattice", "populations", "continuum_twin", "circuit", "parts", "intervals", "cube", "beam", "ecoflex",
    "bodies", "records", "pieces", "shape", "slave", "dough", "repeats",
)  # fmt: skip
"""Modules that hold `CHECKS` by theme; a new one is one more name here."""


def all_checks(baselines: Path = BUILT_IN) -> tuple[Check, ...]:
    """Return all checks, in the order of the specifications: reference numbers R1, R2, ..., acceptance, closed forms.

    `baselines` is the folder whose baselines are checks as well.
    """
    return _checked([*_of_themes(), *baseline_checks(baselines)])


@cache
def _of_themes() -> tuple[Check, ...]:
    modules = (import_module(f"rheotwin.validation.checks.{name}") for name in MODULES)
    themes = [(theme, check) for module in modules for theme, checks in module.CHECKS.items() for check in checks]
    found = [replace(check, theme=theme) for theme, check in themes]
    return tuple(sorted(found, key=_place))


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


@dataclass(frozen=True)
class Selection:
    """What was asked for; empty tuples mean no restriction. `words` may hold patterns such as `fem.R1*`."""

    words: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
    quick: bool = False


def selected(checks: Iterable[Check], selection: Selection) -> tuple[Check, ...]:
    """Return the checks that fit, in their order; nothing that fits is an error in one sentence."""
    everything = tuple(checks)
    for flag, words, known in (
        ("--select", selection.words, [word for check in everything for word in check.words]),
        ("--tag", selection.tags, [tag for check in everything for tag in check.tags]),
        ("--solver", selection.solvers, [solver for check in everything for solver in check.solvers]),
    ):
        for word in words:
            _refuse_unknown(flag, word, list(dict.fromkeys(known)))
    found = tuple(
        check
        for check in everything
        if _fits(selection.words, check.words)
        and _fits(selection.tags, check.tags)
        and _fits(selection.solvers, check.solvers)
    )
    if not found:
        raise RheotwinError(
            "the selection is empty: no check fits all of --select, --tag and --solver; drop one of them"
        )
    if not selection.quick:
        return found
    quick = tuple(check for check in found if check.quick or check.compute is None)
    if not any(check.compute for check in quick):
        raise RheotwinError("--quick: none of the selected checks is part of the quick subset; leave --quick out")
    return quick


def _fits(patterns: tuple[str, ...], words: Iterable[str]) -> bool:
    folded = [word.casefold() for word in words]
    return not patterns or any(fnmatchcase(word, pattern.casefold()) for pattern in patterns for word in folded)


def _refuse_unknown(flag: str, word: str, known: list[str]) -> None:
    if not _fits((word,), known):
        few = known if len(known) <= 40 else [name for name in known if "." in name and "/" not in name]
        shown = ", ".join(few)
        raise RheotwinError(
            f"{flag}: there is no check {word!r}{nearest_name(word, known)}; choose from {shown}, or what --list shows"
        )


Watch = Callable[[Check], None]
Note = Callable[[Result], None]


def carry_out(check: Check) -> Result:
    """Run one check; whatever goes wrong in it is its result."""
    if check.compute is None:
        return not_measured(check, "not yet", check.waits_for)
    lacking = missing_option(check.options)
    if lacking:
        return not_measured(check, "not yet", lacking)
    start = perf_counter()
    try:
        found = check.compute()
        measurement = found if isinstance(found, Measurement) else Measurement(found)
        return assessed(check, measurement, perf_counter() - start)
    except Unavailable as error:
        return not_measured(check, "not yet", str(error), perf_counter() - start)
    except Exception as error:
        said = str(error) if isinstance(error, RheotwinError) else f"{type(error).__name__}: {error}"
        return not_measured(check, "could not run", " ".join(said.split()), perf_counter() - start)


def verify(
    checks: Iterable[Check],
    watch: Watch = lambda check: None,
    *,
    kept: Mapping[str, Result] | None = None,
    note: Note = lambda result: None,
    workers: Executor | None = None,
    baselines: Path | None = None,
    coverage: tuple[Coverage, ...] = (),
) -> Verification:
    """Run checks; `watch` is called with each before it starts, `note` with each result as soon as it is there.

    Results in `kept`, by name, are taken over. Workers elsewhere look a check up by name, in the baselines of the
    folder given as well, and `watch` is called when it is done.
    """
    everything, known = tuple(checks), dict(kept or {})
    todo = [check for check in everything if check.name not in known]
    if workers is not None and workers.workers > 1 and len(todo) > 1:
        while todo:
            try:
                for place, result in workers.each(_carry_out_named, baselines, [check.name for check in todo]):
                    watch(todo[place])
                    known[result.name] = result
                    note(result)
            except GivenUp as error:
                check = todo[error.index]
                known[check.name] = not_measured(check, "could not run", str(error))
                note(known[check.name])
            todo = [check for check in todo if check.name not in known]
    for check in todo:
        watch(check)
        known[check.name] = carry_out(check)
        note(known[check.name])
    return Verification(__version__, tuple(known[check.name] for check in everything), coverage)


def _carry_out_named(baselines: Path | None, name: str) -> Result:
    """Run the check of that name, in another process."""
    checks = all_checks() if baselines is None else all_checks(baselines)
    return carry_out(next(check for check in checks if check.name == name))
