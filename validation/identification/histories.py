"""Records over time as a dictionary of arms: the sparse spectrum of a piece whose displacement was prescribed.

An arm of strength 1 and time tau answers x(t) - q(t), q' = (x - q)/tau; a spring x(t). They are exact (`response`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials.voigt_chain import Spectrum
from rheotwin.validation.identification.candidate import Candidate, scale_of
from rheotwin.validation.identification.fit import Sigmas
from rheotwin.validation.identification.record import TimeRecord
from rheotwin.validation.identification.response import advance_modes
from rheotwin.validation.identification.spectrum import Columns, series

MOST_TERMS = 12
"""Longest series that is tried."""
PER_DECADE = 40
"""Times of the grid in each decade, from the shortest step to the whole duration and half a decade beyond."""
STEP = 1e-4
"""Step of central differences in log times."""


@dataclass(frozen=True, eq=False)
class Histories:
    """Forces of records over their noise `sigma` [N]."""

    records: tuple[TimeRecord, ...]
    sigma: tuple[float, ...]

    @cached_property
    def data(self) -> Array:
        """Forces over their noise (R,)."""
        return np.concatenate([one.force / sigma for one, sigma in zip(self.records, self.sigma, strict=True)])

    def arms(self, log_times: Array) -> Array:
        """Return answers of arms of strength 1 (R, n), over the noise."""
        rates, found = np.exp(-log_times), []
        for record, sigma in zip(self.records, self.sigma, strict=True):
            dashpots = np.empty((len(record.time), len(rates)))
            advance_modes(np.diff(record.time), record.displacement, -rates, rates, np.zeros(len(rates)), dashpots)
            found.append((record.displacement[:, None] - dashpots) / sigma)
        return np.concatenate(found)

    def columns(self, log_times: Array, shift: Array) -> Columns:
        """Return answers of arms and of a spring; nothing is shifted."""
        spring = np.concatenate(
            [one.displacement / sigma for one, sigma in zip(self.records, self.sigma, strict=True)]
        )[:, None]
        slopes = (self.arms(log_times + STEP) - self.arms(log_times - STEP)) / (2.0 * STEP)
        return Columns(self.arms(log_times), slopes, spring, 0.0 * spring, np.zeros((len(spring), 0)))


def banks(records: tuple[TimeRecord, ...], sigma: tuple[Sigmas, ...]) -> list[tuple[Candidate, Array]]:
    """Return banks of every number of terms that the sparse spectrum has, with their unknowns."""
    for record in records:
        if any(phase.drive != "displacement" for phase in record.phases):
            raise RheotwinError(
                f"{record.name}: a spectrum needs a prescribed displacement throughout; choose bank or chain"
            )
    scale = scale_of(records)
    low, high = np.log([scale.shortest / np.sqrt(10.0), scale.duration * np.sqrt(10.0)])
    grid = np.linspace(low, high, int(PER_DECADE * (high - low) / np.log(10.0)) + 1)
    dictionary = Histories(records, tuple(force for force, _ in sigma))
    found = []
    for one in series(dictionary, grid, np.zeros(0)):
        terms, n = one.terms, len(one.terms.log_times)
        if n <= MOST_TERMS:
            spring = float(terms.constants[0])
            candidate = Candidate(f"bank-{n}", n, equilibrium=spring > 0.0)
            bank = Spectrum(spring, terms.strengths, np.exp(terms.log_times), 0.0)
            found.append((candidate, candidate.unknowns(bank)))
    return found
