"""Blessing: the one way to change a baseline. It runs it, measures its spread anew, and writes value and reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rheotwin import __version__
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.validation.baselines.baseline import Baseline, Blessing
from rheotwin.validation.baselines.files import save_baseline
from rheotwin.validation.baselines.measure import blessed_values, measure, spread


def bless(known: Mapping[str, Baseline], identity: str, *, reason: str, date: str) -> Baseline:
    """Measure a baseline anew and write it with the reason; returns it as it is now."""
    if not reason.strip():
        raise RheotwinError('--bless needs a reason that says why the numbers may change: --reason "..."')
    if identity not in known:
        raise RheotwinError(
            f"--bless: there is no baseline {identity!r}{nearest_name(identity, known)}; there are "
            + (", ".join(known) or "none")
        )
    baseline = known[identity]
    found = measure(baseline)
    values = blessed_values(found, spread(baseline, found))
    entry = Blessing(date, " ".join(reason.split()), __version__, {value.name: value.value for value in values})
    changed = replace(baseline, values=values, history=(*baseline.history, entry))
    save_baseline(changed)
    return changed
