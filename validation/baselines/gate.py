"""Errors of one record against another or against numbers, and what lies beyond bounds: what tests gate models by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.record import open_record
from rheotwin.validation.assess import compare
from rheotwin.validation.baselines.files import load_baseline
from rheotwin.validation.run_view import view_of

Within = float | Mapping[str, float]
"""Largest relative difference, of everything or by name."""


def run_errors(folder: Path, reference: Path) -> dict[str, float]:
    """Return relative errors [1] of a record against another: rms over time, and of each force curve.

    "displacement", "velocity" and "force, tool.X"; what the two records do not share is left out.
    """
    views = [view_of(open_record(reference)).renamed("reference"), view_of(open_record(folder)).renamed("run")]
    (case,) = compare(views, reference="reference").cases
    run = next(run for run in case.runs if run.label == "run")
    found = {
        name: history.rms
        for name, history in (("displacement", run.displacement), ("velocity", run.velocity))
        if history is not None
    }
    return found | {f"force, {f.kind}.{f.name}": f.error for f in run.forces if f.error is not None}


def relative(found: Mapping[str, float], reference: Mapping[str, float]) -> dict[str, float]:
    """Return the difference of each metric of a reference, relative to it [1]; against zero the value itself."""
    missing = [name for name in reference if name not in found]
    if missing:
        raise RheotwinError(
            f"the run has no metric {missing[0]!r}{nearest_name(missing[0], found)}; it has {', '.join(found)}"
        )
    return {name: abs(found[name] - value) / (abs(value) if value else 1.0) for name, value in reference.items()}


def against_baseline(found: Mapping[str, float], path: Path) -> dict[str, float]:
    """Return the differences from the values of a baseline file, relative to them; bounds on zeros are left out."""
    baseline = load_baseline(path)
    values = {value.name: value.value for value in baseline.values if value.bound == "absolute"}
    if not values:
        raise RheotwinError(f"{path}: has no values yet; bless it with `rheotwin validate --bless {path.stem}`")
    return relative(found, values)


def beyond(errors: Mapping[str, float], within: Within) -> list[str]:
    """Return a phrase for every error beyond its bound; a name in `within` that is not among the errors is refused."""
    bounds = dict(within) if isinstance(within, Mapping) else dict.fromkeys(errors, float(within))
    unknown = [name for name in bounds if name not in errors]
    if unknown:
        raise RheotwinError(
            f"within: there is no {unknown[0]!r}{nearest_name(unknown[0], errors)}; there is {', '.join(errors)}"
        )
    # not "error > bound": what is not a number lies beyond every bound
    return [
        f"{name} differs by {errors[name]:.3g}, allowed {bound:g}"
        for name, bound in bounds.items()
        if not errors[name] <= bound
    ]
