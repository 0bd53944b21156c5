"""Baselines as checks: each runs its scene and holds the numbers against those blessed last."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rheotwin.errors import RheotwinError
from rheotwin.validation.baselines import Baseline, load_baselines, measure
from rheotwin.validation.checks.check import Check, Measurement
from rheotwin.validation.references.quantity import Quantity


def measured(baseline: Baseline) -> Measurement:
    """Run a baseline; a number that is not there any more is said in words."""
    values = measure(baseline).values
    missing = [value.name for value in baseline.values if value.name not in values]
    if missing:
        raise RheotwinError(f"{baseline.path}: the run gives no {missing[0]!r} any more; bless it anew with a reason")
    return Measurement(values)


def baseline_checks(folder: Path) -> tuple[Check, ...]:
    """Return the checks of all baselines of a folder."""
    return tuple(_check(baseline) for baseline in load_baselines(folder).values())


def _check(baseline: Baseline) -> Check:
    waits = "" if baseline.values else f"has no values yet; rheotwin validate --bless {baseline.id} --reason ..."
    return Check(
        f"baseline.{baseline.id}",
        f"baseline-{baseline.id}",
        baseline.title,
        tuple(Quantity(v.name, v.value, v.tolerance, v.bound, v.unit) for v in baseline.values),
        None if waits else partial(measured, baseline),
        quick=baseline.quick,
        waits_for=waits,
        short=baseline.id,
        kind="measured",
        solvers=(baseline.solver,),
        theme="baseline",
    )
