"""Vinyl foam: oscillation of a vinyl nitrile foam at 19 temperatures (NIST open data)."""

from __future__ import annotations

from dataclasses import dataclass

from rheotwin.validation.experiments.datasets.folder import Array, data_set, numbers

NAME = "vinyl-foam-dma"


@dataclass(frozen=True)
class Oscillation:
    """Moduli at frequencies: `temperature` (n,) [Celsius], angular `frequency` (n,) [rad/s], `storage`, `loss` (n,).

    The moduli's unit is not stated in the data (their size suggests MPa): only ratios of them mean something.
    """

    temperature: Array
    frequency: Array
    storage: Array
    loss: Array

    @property
    def loss_factor(self) -> Array:
        """tan(delta) = loss over storage modulus (n,) [1]."""
        return self.loss / self.storage


def read_vinyl_foam() -> Oscillation:
    """Return all temperatures, each with 11 frequencies."""
    names = ("temperature_C", "angular_frequency_rad_s", "storage_modulus", "loss_modulus")
    return Oscillation(*numbers(data_set(NAME) / "vinyl_foam_dma.csv", names).T)
