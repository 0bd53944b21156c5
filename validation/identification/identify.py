"""From records to a law: candidates are fitted, judged by what they leave and what can be told, and one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from threadpoolctl import threadpool_limits

from rheotwin import __version__
from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.validation.identification import intervals
from rheotwin.validation.identification.candidate import LINEAR, NONLINEAR, Candidate, candidates
from rheotwin.validation.identification.fit import STARTS, Fit, Offset, Problem, Sigmas, fit, fitted
from rheotwin.validation.identification.histories import banks
from rheotwin.validation.identification.order import Judged, chosen, judged, known_sigma, weighted
from rheotwin.validation.identification.piece import scene_of
from rheotwin.validation.identification.record import TimeRecord
from rheotwin.validation.identification.result import Curve, Identified, LawTable, Model, OrderRow

SPECTRUM = "spectrum"
"""Banks of any order, begun from the sparse spectrum instead of many starts."""
GUESS = 0.01
"""Noise over peak to begin with where none is known."""


def identify(
    records: TimeRecord | Sequence[TimeRecord],
    *,
    law: str | Sequence[str] = (),
    seed: int = 0,
    starts: int = STARTS,
    offsets: Sequence[Offset] = (),
    blind: Sequence[TimeRecord] = (),
    profile: bool = False,
    bootstrap: int = 0,
    poisson: float = 0.0,
    open_ended: bool = False,
) -> Identified:
    """Identify the law of one or several records of a material, all at once.

    `law` names candidates (`chain`, `bank-2`, ...); unasked, linear ones of order 1 to 4, and nonlinear ones if none of
    these will do; `spectrum` is a bank of up to 12 terms, found sparse among hundreds. `blind` records are predicted,
    not fitted. Intervals are those of the covariance, or of a `profile` of the likelihood, or of so many data of a
    `bootstrap`. `poisson` is for the law's table only, it is not measured. A law asked for by name that cannot be told
    from the records is refused unless `open_ended`.
    """
    together = (records,) if isinstance(records, TimeRecord) else tuple(records)
    check_together((*together, *blind))
    asked = (law,) if isinstance(law, str) else tuple(law)
    with threadpool_limits(1):
        if asked == (SPECTRUM,):
            fits = _spectrum(together, tuple(offsets))
        else:
            fits = _fits(candidates(asked or LINEAR), together, tuple(offsets), seed, starts)
        rows = _judged(fits)
        if not asked and not chosen(rows).adequacy.adequate:
            rows = _judged(fits + _fits(candidates(NONLINEAR), together, tuple(offsets), seed, starts))
        best = chosen(rows)
        if asked and best.not_told and not open_ended:
            raise RheotwinError(_cannot_be_told(best))
        ends = _ends(best, seed, profile=profile, bootstrap=bootstrap)
        return _result(best, rows, ends, blind, seed, poisson)


def check_together(records: Sequence[TimeRecord]) -> None:
    """Refuse records of different pieces, and one record given twice: intervals would shrink, and none is blind."""
    if not records:
        raise RheotwinError("there is no record to identify from; give one at least")
    first = records[0].geometry
    for record in records[1:]:
        if record.geometry != first:
            raise RheotwinError(
                f"{records[0].name} and {record.name} are of different geometry ({first.kind}, {first.length:g} m, "
                f"{first.area:g} m2, and {record.geometry.kind}, {record.geometry.length:g} m, "
                f"{record.geometry.area:g} m2); identify from strain and stress, or from each alone"
            )
    for record, other in combinations(records, 2):
        if np.array_equal(record.time, other.time) and np.array_equal(record.force, other.force):
            raise RheotwinError(f"{record.name} and {other.name} are one record given twice; give each once")


def _fits(
    tried: Sequence[Candidate], records: tuple[TimeRecord, ...], offsets: tuple[Offset, ...], seed: int, starts: int
) -> list[Fit]:
    """Return the fits of all candidates."""
    pushed = any(phase.drive != "displacement" for record in records for phase in record.phases)
    possible = [one for one in tried if not (pushed and one.cubic)]
    if not possible:
        raise RheotwinError(
            "a cubic spring is fitted to prescribed displacements only; choose power-bank or power-chain"
        )
    sigma = _guessed(records)
    return [fit(Problem(one, records, sigma, offsets), seed, starts) for one in possible]


def _spectrum(records: tuple[TimeRecord, ...], offsets: tuple[Offset, ...]) -> list[Fit]:
    """Return the fits of banks of every number of terms that the sparse spectrum has."""
    sigma, aside = _guessed(records), np.zeros(len(offsets) * len(records))
    begun = [(Problem(one, records, sigma, offsets), first) for one, first in banks(records, sigma)]
    return [fit(problem, starts=0, first=np.concatenate([first, aside])) for problem, first in begun]


def _guessed(records: tuple[TimeRecord, ...]) -> tuple[Sigmas, ...]:
    """Return the noise that is known, or a first guess of it."""
    peaks = np.max([record.scale for record in records], axis=0)
    known = [known_sigma(record) for record in records]
    return tuple((force or GUESS * peaks[0], displacement or GUESS * peaks[1]) for force, displacement in known)


def _judged(fits: list[Fit]) -> list[Judged]:
    """Return fits judged on one noise: that known, else what the best of them leaves."""
    records = fits[0].problem.records
    known = [known_sigma(record) for record in records]
    seen = {bool(kind) for record in records for kind in record.observed_force}
    sigma_known = all(pair[0 if force else 1] is not None for pair in known for force in seen)
    if not sigma_known:
        sigma = weighted(fits, known)
        fits = [_with_noise(one, replace(one.problem, sigma=sigma), again=len(seen) > 1) for one in fits]
    return judged(fits, sigma_known)


def _with_noise(old: Fit, problem: Problem, *, again: bool) -> Fit:
    """Return the fit with another noise; two quantities that weigh otherwise against each other are fitted again."""
    return fit(problem, starts=0, first=old.unknowns) if again else fitted(problem, old.unknowns)


def _cannot_be_told(best: Judged) -> str:
    candidate = best.fit.problem.candidate
    open_ones = intervals.flat(best)
    remedy = open_ones[0].remedy if open_ones else "needs a law of fewer elements"
    return f"{candidate.name} cannot be told from its data: {best.not_told}; {remedy}"


def _ends(best: Judged, seed: int, *, profile: bool, bootstrap: int) -> Array | None:
    """Return ends of the intervals in logarithms, None for those of the covariance."""
    if bootstrap:
        return np.asarray(np.percentile(intervals.bootstrap(best, bootstrap, seed), [2.5, 97.5], axis=0).T)
    if not profile:
        return None
    ends: Array = best.read[:, None] + best.quantile * best.errors[:, None] * np.array([-1.0, 1.0])
    for i, found in enumerate(intervals.profiles(best)):
        ends[i] = found.ends
    return ends


def _result(
    best: Judged,
    rows: list[Judged],
    ends: Array | None,
    blind: Sequence[TimeRecord],
    seed: int,
    poisson: float,
) -> Identified:
    problem = best.fit.problem
    curves = [*intervals.bands(best), *(curve for record in blind for curve in intervals.predicted(best, record))]
    table, no_law = law_of(best, poisson, max(_half_band(curve) for curve in curves if curve.fitted))
    return Identified(
        title=", ".join(record.name for record in problem.records),
        model=problem.candidate.name,
        parameters=intervals.parameters(best, ends),
        correlations=intervals.correlations(best),
        orders=tuple(_row(row, best) for row in rows),
        flat=intervals.flat(best),
        adequacy=best.adequacy,
        curves=tuple(curves),
        law=table,
        no_law=no_law,
        scene="" if table is None else scene_of(problem.records[0], table),
        notes=_notes(best),
        seed=seed,
        provenance={
            "rheotwin": __version__,
            "records": [record.source or record.name for record in problem.records],
            "samples": best.data,
            "independent_samples": best.effective,
            "sigma": [list(sigma) for sigma in problem.sigma],
            "sigma_known": best.sigma_known,
        },
    )


def _half_band(curve: Curve) -> float:
    return float(0.5 * (curve.high - curve.low).max() / np.abs(curve.measured).max())


def _row(row: Judged, best: Judged) -> OrderRow:
    verdict = row.not_told or ("possible" if row.adequacy.adequate else "does not describe the record")
    if row is best:
        verdict = "chosen" if verdict == "possible" else f"the best, but: {verdict}"
    return OrderRow(
        row.fit.problem.candidate.name,
        () if row.acts_as_less else intervals.parameters(row),
        row.misfit,
        row.reduced_chi2,
        row.aic,
        row.bic,
        row.effective,
        verdict,
    )


def _notes(best: Judged) -> tuple[str, ...]:
    notes = []
    problem = best.fit.problem
    if problem.records[0].geometry.kind == "none":
        notes.append("no geometry was given: moduli in Pa are the stiffnesses in N/m, for a bar of 1 m and 1 m2")
    if best.effective < 0.5 * best.data:
        notes.append(f"what is left is correlated: {best.data} samples count as {best.effective:.0f}")
    if problem.candidate.power or problem.candidate.cubic:
        unit = problem.records[0].geometry.units[0].strip("1")
        notes.append(f"moduli are those at the largest displacement, {problem.scale.depth:.4g} {unit}".rstrip())
    return tuple(notes)


def law_of(best: Judged, poisson: float, uncertainty: float) -> tuple[LawTable | None, str]:
    """Return the law of a scene, or why there is none."""
    problem = best.fit.problem
    candidate, geometry = problem.candidate, problem.records[0].geometry
    if candidate.power or candidate.cubic:
        return (
            None,
            f"{candidate.name} is no law of a scene: its elasticity is not linear; for a small range take --law chain",
        )
    factor = geometry.factor * (2.0 * (1.0 + poisson) if geometry.modulus == "shear" else 1.0)
    known = float(f"{min(uncertainty, 0.99):.2g}")
    if candidate.friction:
        if geometry.modulus == "shear":
            return None, "friction is a stress in tension: a sheared layer does not give it"
        k, b1, b2, alpha = np.exp(best.fit.unknowns[:4])
        channel = Channel.three_element(k, b1, b2).scaled(factor)
        return LawTable("three-element", channel, poisson, known, float(alpha / geometry.area)), ""
    bank = candidate.bank(best.fit.unknowns)
    channel = Channel(bank.equilibrium, tuple(bank.strengths.tolist()), tuple(bank.times.tolist()), bank.viscosity)
    model: Model = "generalized-maxwell"
    if candidate.chain and not best.not_told:
        model = "generalized-voigt"
    elif candidate.name == "three-element":
        model = "three-element"
    return LawTable(model, channel.scaled(factor), poisson, known), ""
