"""The contact laws of a problem by column: one entry per tool, the last one between bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.laws.form import (
    DAMPING,
    FRICTION,
    INTEGRAL,
    KIND,
    NAMES,
    REGION,
    RESTITUTION,
    SHIFT,
    SLIP_SPEED,
    STATIC_FRICTION,
    STIFFNESS,
    kinds_that,
    normal,
    pack_laws,
)
from rheotwin.constraints.contact.setup import ContactSetup

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Laws:
    """Columns of a table of laws, in the units of `ContactLaw`."""

    table: Array

    @classmethod
    def of(cls, setup: ContactSetup) -> Laws:
        """Return the laws of tools and bodies."""
        return cls(pack_laws((*setup.tool_laws, setup.law)))

    @property
    def stiffness(self) -> Array:
        """K [N/m]"""
        return self.table[:, STIFFNESS]

    @property
    def damping(self) -> Array:
        """C [N s/m]"""
        return self.table[:, DAMPING]

    @property
    def integral(self) -> Array:
        """I [N/(m s)]"""
        return self.table[:, INTEGRAL]

    @property
    def shift(self) -> Array:
        """delta [m] of the offset form, else 0."""
        return self.table[:, SHIFT]

    @property
    def widest(self) -> Array:
        """Gap [m] up to which a contact that has begun may last."""
        return np.maximum(self.table[:, REGION], self.shift)

    @property
    def restitution(self) -> Array:
        """e"""
        return self.table[:, RESTITUTION]

    @property
    def friction(self) -> Array:
        """mu"""
        return self.table[:, FRICTION]

    @property
    def static_friction(self) -> Array:
        """mu_s"""
        return self.table[:, STATIC_FRICTION]

    @property
    def slip_speed(self) -> Array:
        """v_eps [m/s], 0 where friction is exact."""
        return self.table[:, SLIP_SPEED]

    @cached_property
    def soft(self) -> Flags:
        """Whether a law is compliant."""
        return kinds_that(self.table, "soft")

    @cached_property
    def integrated(self) -> Flags:
        """Whether a law goes on outside of its surface."""
        return kinds_that(self.table, "integrates")

    @cached_property
    def bounces(self) -> Flags:
        """Whether a law sends back."""
        return kinds_that(self.table, "strikes")

    def stay_active(self, law: Indices, gap: Array, impulse: Array, active: Flags) -> Flags:
        """Tell which contacts count as active after a step, see `laws.form`."""
        stays = [normal(NAMES[int(kind)]).stays for kind in self.table[:, KIND]]
        columns = zip(law, gap, impulse, active, strict=True)
        return np.array([stays[k](self.table[k], float(g), float(p), bool(was)) for k, g, p, was in columns], bool)
