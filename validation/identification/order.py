"""Which candidate: criteria on the effective number of data, what is rejected and why, whether the best will do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr
from scipy.stats import t as student

from rheotwin.arrays import Array, Indices
from rheotwin.validation.identification.fit import Fit, Sigmas, central_differences
from rheotwin.validation.identification.record import TimeRecord
from rheotwin.validation.identification.result import Adequacy

NORMAL = 1.959963984540054
"""Half of a 95 % interval in standard deviations."""
TOO_WIDE, TOO_CLOSE = 1.0, 1.1
"""Relative standard error, and ratio of neighbouring times, beyond which an order is rejected."""
GOOD = 0.02
"""Misfit (rms over peak) up to which a model will do although what is left is not noise."""
CHANCE = 1e-3
"""Probability below which runs of sign are not taken as chance."""
FEWEST = 20.0
"""A series counts as this many independent data at least: what a wrong model leaves is one long wave, and no noise."""
SPIKE = 6.5
"""A residual this many standard deviations large is no noise."""
QUIET = 5
"""Samples before anything moves that suffice for the noise of the force."""


def series(records: tuple[TimeRecord, ...]) -> Iterator[tuple[int, bool, Indices]]:
    """Yield record, whether force, and places among all data of every series that was observed."""
    offset = 0
    for number, record in enumerate(records):
        seen = record.observed_force
        for force in (True, False):
            if (seen == force).any():
                yield number, force, offset + np.flatnonzero(seen == force)
        offset += len(seen)


def correlation_length(left: Array) -> float:
    """Return 1 + 2 sum of the autocorrelation, up to where it is lost in chance: samples per independent datum."""
    many = len(left)
    centred = left - left.mean()
    power = np.abs(np.fft.rfft(centred, 2 * many)) ** 2
    together = np.fft.irfft(power)[:many]
    if many < 4 or together[0] <= 0.0:
        return 1.0
    share = together / together[0]
    lost = np.flatnonzero(share < 2.0 / np.sqrt(many))
    upto = int(lost[0]) if len(lost) else many
    return float(np.clip(1.0 + 2.0 * share[1:upto].sum(), 1.0, max(many / FEWEST, 1.0)))


def runs_probability(left: Array) -> float:
    """Return how probable so few runs of one sign are by chance (Wald and Wolfowitz)."""
    above = left > np.median(left)
    n, m = int(above.sum()), int((~above).sum())
    if min(n, m) < 2:
        return 0.0
    mean = 1.0 + 2.0 * n * m / (n + m)
    deviation = np.sqrt((mean - 1.0) * (mean - 2.0) / (n + m - 1.0))
    runs = 1 + int(np.count_nonzero(np.diff(above)))
    return float(ndtr((runs - mean) / deviation))


def known_sigma(record: TimeRecord) -> tuple[float | None, float | None]:
    """Return standard deviations that the record gives, or shows before anything moves."""
    force, displacement = record.sigma
    moved = np.abs(record.displacement - record.displacement[0]) > 1e-3 * record.scale[1]
    still = int(np.argmax(moved))
    if force is None and record.phases[0].drive == "displacement" and still > QUIET:
        spread = float(np.std(record.force[: still - 1], ddof=1))
        force = spread if spread > 0.0 else None
    return force, displacement


@dataclass(frozen=True)
class Judged:
    """A fit with its criteria; `per_datum` samples make an independent one in each series."""

    fit: Fit
    per_datum: tuple[float, ...]
    sigma_known: bool

    @cached_property
    def series(self) -> list[tuple[int, bool, Indices]]:
        """Series of data."""
        return list(series(self.fit.problem.records))

    @property
    def data(self) -> int:
        """Number of data."""
        return len(self.fit.residuals)

    @cached_property
    def effective(self) -> float:
        """Number of independent data."""
        return sum(len(at) / length for (_, _, at), length in zip(self.series, self.per_datum, strict=True))

    @property
    def reduced_chi2(self) -> float:
        """Sum of squares over degrees of freedom."""
        return self.fit.chi2 / max(self.data - len(self.fit.unknowns), 1)

    @property
    def aic(self) -> float:
        """N ln(RSS/N) + 2 p."""
        return self._fit_term + 2.0 * len(self.fit.unknowns)

    @property
    def bic(self) -> float:
        """N ln(RSS/N) + p ln N."""
        return self._fit_term + len(self.fit.unknowns) * float(np.log(self.effective))

    @property
    def _fit_term(self) -> float:
        return self.effective * float(np.log(max(self.fit.chi2, 1e-300) / self.data))

    def left(self, at: Indices) -> Array:
        """Return model minus data of a series, in its unit."""
        return np.asarray(self.fit.residuals[at] * self.fit.problem.deviations[at])

    @cached_property
    def misfit(self) -> float:
        """Largest over series of rms over peak."""
        peaks = [np.abs(self.fit.problem.data[at]).max() for _, _, at in self.series]
        rms = [np.sqrt(np.mean(self.left(at) ** 2)) for _, _, at in self.series]
        return float(max(part / peak for part, peak in zip(rms, peaks, strict=True)))

    @cached_property
    def covariance(self) -> Array:
        """Covariance (J^T J)^-1 of the unknowns, times what correlated and unexplained residuals add.

        Directions without any information are as wide as 1e12.
        """
        _, s, vt = np.linalg.svd(self._correlated_slopes, full_matrices=False)
        wide = np.where(s > 1e-12 * s[0], 1.0 / np.maximum(s, 1e-300), 1e12 / s[0])
        found = (vt.T * wide**2) @ vt
        return np.asarray(found * self.noise)

    @cached_property
    def noise(self) -> float:
        """Variance of a datum over that of sigma: 1 if that is known and explains what is left."""
        if self.sigma_known and self.reduced_chi2 < 1.0 + 5.0 * np.sqrt(2.0 / self.effective):
            return 1.0
        return self.fit.chi2 / self.data * self.effective / self.freedom

    @property
    def freedom(self) -> float:
        """Independent data beyond the unknowns, 1 at least."""
        return max(self.effective - len(self.fit.unknowns), 1.0)

    @cached_property
    def quantile(self) -> float:
        """Half of a 95 % interval in standard errors: Student's where the noise is that of the residuals."""
        return NORMAL if self.noise == 1.0 else float(student.ppf(0.975, self.freedom))

    @cached_property
    def _correlated_slopes(self) -> Array:
        """Slopes with every series weighted by its share of independent data."""
        slopes = self.fit.slopes.copy()
        for (_, _, at), length in zip(self.series, self.per_datum, strict=True):
            slopes[at] /= np.sqrt(length)
        return slopes

    @cached_property
    def read(self) -> Array:
        """Parameters as they are read, in logarithms, then offsets."""
        return self.read_of(self.fit.unknowns)

    def read_of(self, unknowns: Array) -> Array:
        """Return parameters as they are read, in logarithms, then offsets."""
        own = len(self.fit.problem.candidate.bank_names)
        return np.concatenate([self.fit.problem.candidate.read(unknowns[:own]), unknowns[own:]])

    @cached_property
    def conversion(self) -> Array:
        """Slopes of the parameters as they are read by the unknowns."""
        return central_differences(self.read_of, self.fit.unknowns, 1e-5)

    @cached_property
    def read_covariance(self) -> Array:
        """Covariance of the parameters as they are read."""
        return np.asarray(self.conversion @ self.covariance @ self.conversion.T)

    @cached_property
    def errors(self) -> Array:
        """Standard errors of the parameters as they are read: relative ones, being of logarithms."""
        return np.sqrt(np.maximum(np.diag(self.read_covariance), 0.0))

    @property
    def acts_as_less(self) -> bool:
        """Whether two elements are one, so that there are less parameters to read."""
        candidate = self.fit.problem.candidate
        return len(self.read) - len(candidate.names) != len(self.fit.unknowns) - len(candidate.bank_names)

    @cached_property
    def not_told(self) -> str:
        """Why this order cannot be told from its data; nothing if it can."""
        candidate = self.fit.problem.candidate
        logs = [i for i, name in enumerate(candidate.names) if name not in ("cubic", "p")]
        if self.acts_as_less:
            return "two of its elements act as one"
        if not np.isfinite(self.read).all() or not np.isfinite(self.errors).all():
            return "its elements cannot be told apart"
        wide = [candidate.names[i] for i in logs if self.errors[i] > TOO_WIDE]
        if wide:
            return f"{', '.join(wide)} known to no better than 100 %"
        times = candidate.times(self.read[: len(candidate.names)])
        if len(times) > 1 and (times[1:] / times[:-1]).min() < TOO_CLOSE:
            return "two of its times differ by less than 10 %"
        return ""

    @cached_property
    def runs(self) -> float:
        """Probability that the runs of sign are chance, the least of all series."""
        return min(runs_probability(self.left(at)) for _, _, at in self.series)

    @cached_property
    def adequacy(self) -> Adequacy:
        """Whether the model describes the data."""
        problem = self.fit.problem
        largest = max(float(np.abs(self.left(at)).max() / np.abs(problem.data[at]).max()) for _, _, at in self.series)
        spiky = any(np.abs(self.left(at)).max() > SPIKE * np.std(self.left(at)) for _, _, at in self.series)
        noise = self.runs > CHANCE and not spiky and (not self.sigma_known or self.reduced_chi2 < 1.5)
        good = noise or self.misfit <= GOOD
        said = f"it describes the record to {self.misfit:.2%} of its peak (rms), at worst to {largest:.2%}; "
        if noise:
            said += "what is left looks like noise."
        elif good:
            said += "what is left is not noise but small."
        else:
            said += f"what is left is not noise and more than {GOOD:.0%}: this is not the law of this record."
        return Adequacy(good, self.reduced_chi2, largest, self.runs, said)


def weighted(fits: list[Fit], known: list[tuple[float | None, float | None]]) -> tuple[Sigmas, ...]:
    """Return standard deviations: those known, others from what the best of the fits leaves, one for all records."""
    best = min(
        fits, key=lambda one: len(one.residuals) * np.log(one.chi2) + len(one.unknowns) * np.log(len(one.residuals))
    )
    left: dict[bool, list[Array]] = {True: [], False: []}
    for _, force, at in series(best.problem.records):
        left[force].append(best.residuals[at] * best.problem.deviations[at])
    rms = {}
    for force, parts in left.items():
        every = np.concatenate(parts) if parts else np.ones(1)
        scale = best.problem.scale.force if force else best.problem.scale.depth
        rms[force] = max(float(np.sqrt(np.mean(every**2))), 1e-9 * scale)
    return tuple(
        (rms[True] if force is None else force, rms[False] if displacement is None else displacement)
        for force, displacement in known
    )


def judged(fits: list[Fit], sigma_known: bool) -> list[Judged]:
    """Return all fits with criteria on one number of effective data, that of the fit that leaves least."""
    alone = [Judged(fit, (), sigma_known) for fit in fits]
    best = min(alone, key=lambda one: one.fit.chi2)
    lengths = tuple(correlation_length(best.left(at)) for _, _, at in best.series)
    return [replace(one, per_datum=lengths) for one in alone]


def chosen(rows: list[Judged]) -> Judged:
    """Return the one of least BIC among those that can be told and will do, else among those that can be told."""
    told = [row for row in rows if not row.not_told]
    good = [row for row in told if row.adequacy.adequate]
    return min(good or told or rows, key=lambda row: row.bic)
