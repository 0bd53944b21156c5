"""Carry out checks: one after the other, or shared out over processes; results come in the order of the checks."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from time import perf_counter

from rheotwin import __version__
from rheotwin.errors import RheotwinError
from rheotwin.validation.checks.check import Check, Unavailable
from rheotwin.validation.checks.coverage import Coverage
from rheotwin.validation.checks.outcome import Result, Verification, assessed, not_measured
from rheotwin.validation.checks.running import missing_option

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
        measurement = check.compute()
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
    jobs: int = 1,
    baselines: Path | None = None,
    coverage: tuple[Coverage, ...] = (),
) -> Verification:
    """Run checks; `watch` is called with each before it starts, `note` with each result as soon as it is there.

    Results in `kept`, by name, are taken over. With more than one job every check runs in a process of its own pool,
    which looks it up by name, in the baselines of the folder given as well.
    """
    everything, known = tuple(checks), dict(kept or {})
    todo = [check for check in everything if check.name not in known]
    if jobs > 1 and len(todo) > 1:
        _in_pool(todo, known, watch, note, jobs, baselines)
    else:
        for check in todo:
            watch(check)
            known[check.name] = carry_out(check)
            note(known[check.name])
    return Verification(__version__, tuple(known[check.name] for check in everything), coverage)


def _in_pool(
    todo: list[Check], known: dict[str, Result], watch: Watch, note: Note, jobs: int, baselines: Path | None
) -> None:
    """Fill in the results of all checks from a pool; processes are fresh ones with one thread each."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running: dict[Future[Result], Check] = {}
        for check in todo:
            running[pool.submit(_carry_out_named, check.name, baselines)] = check
        try:
            for done in as_completed(running):
                check = running[done]
                watch(check)
                try:
                    known[check.name] = done.result()
                except BrokenProcessPool:
                    reason = "the process that ran it was ended from outside; run it alone, or with fewer --jobs"
                    known[check.name] = not_measured(check, "could not run", reason)
                note(known[check.name])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _carry_out_named(name: str, baselines: Path | None) -> Result:
    """Run the check of that name, in another process."""
    from rheotwin.validation.checks.registry import all_checks

    checks = all_checks() if baselines is None else all_checks(baselines)
    return carry_out(next(check for check in checks if check.name == name))
