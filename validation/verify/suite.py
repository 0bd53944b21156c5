"""Choose checks and carry them out, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter

from rheotwin import __version__
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.validation.verify.check import Check
from rheotwin.validation.verify.outcome import Result, Verification, assessed, not_measured
from rheotwin.validation.verify.running import missing_option


def chosen(checks: Iterable[Check], *, select: Iterable[str] = (), quick: bool = False) -> tuple[Check, ...]:
    """Return the checks whose reference or name is selected (all without a selection), in their order."""
    everything, wanted = tuple(checks), list(select)
    known = list(dict.fromkeys(word for check in everything for word in check.words))
    folded = {word.casefold(): word for word in known}
    for word in wanted:
        if word.casefold() not in folded:
            references = ", ".join(dict.fromkeys(check.reference for check in everything))
            raise RheotwinError(
                f"--select: there is no check {word!r}{nearest_name(word, known)}; choose from {references}, "
                "or a name that --list shows"
            )
    names = {folded[word.casefold()] for word in wanted}
    found = tuple(check for check in everything if not names or names.intersection(check.words))
    if quick:
        found = tuple(check for check in found if check.quick or check.compute is None)
    if not any(check.compute for check in found) and quick and wanted:
        raise RheotwinError("--quick: none of the selected checks is part of the quick subset; leave --quick out")
    return found


def carry_out(check: Check) -> Result:
    """Run one check; whatever goes wrong in it is its result."""
    if check.compute is None:
        return not_measured(check, "not yet", check.waits_for)
    lacking = missing_option(check.options)
    if lacking:
        return not_measured(check, "not yet", lacking)
    start = perf_counter()
    try:
        measurement = check.compute()
        return assessed(check, measurement, perf_counter() - start)
    except Exception as error:
        said = str(error) if isinstance(error, RheotwinError) else f"{type(error).__name__}: {error}"
        return not_measured(check, "could not run", " ".join(said.split()), perf_counter() - start)


def verify(checks: Iterable[Check], watch: Callable[[Check], None] = lambda check: None) -> Verification:
    """Run checks; `watch` is called with each before it starts."""
    results = []
    for check in checks:
        watch(check)
        results.append(carry_out(check))
    return Verification(__version__, tuple(results))
