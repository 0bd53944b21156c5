"""Which checks are meant: by id, name or pattern, by tag, by solver, quick ones only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.validation.checks.check import Check


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
