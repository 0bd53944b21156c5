"""How well contact was solved in the steps of a run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from rheotwin.errors import Stopped

ENOUGH = 1e-10
"""Share of the size of the bodies to which contact laws hold where redundant contacts leave no more accuracy."""
TIGHT, LOOSE = 1e-5, 1e-4
"""Shares of the size of the bodies by which exact contact may be missed unnoticed, and with a warning."""


@dataclass
class Quality:
    """The worst of the steps so far."""

    extent: float
    """Size of the bodies [m]."""
    missed: float = 0.0
    """[m] by which a contact missed its law: what its force was off times how it gives way alone, see `defects`."""
    closed: float = 0.0
    """[m] by which an exact contact was closed where a step ended."""
    loose: int = 0
    """Steps that missed more than `TIGHT`."""

    def enter(self, missed: float, closed: float, end: float, pressing: Sequence[str] = ()) -> None:
        """Count what a step that ends at `end` [s] missed [m]; warn of the first loose one, stop at what is worse.

        `pressing` are the names of the tools that press.
        """
        self.missed, self.closed = max(self.missed, missed), max(self.closed, closed)
        off = max(missed, closed)
        if not off <= LOOSE * self.extent:
            tools = " and ".join(f"tools.{name}" for name in pressing)
            raise Stopped(
                f"contact: its forces were not found at t = {end:.6g} s, {off:.2g} m were missing; reduce "
                "solvers.fem.step" + (f", or give what {tools} press more room" if tools else ""),
                time=end,
            )
        if off > TIGHT * self.extent:
            self.loose += 1
            if self.loose == 1:
                warnings.warn(
                    f"contact: bodies overlap by {off:.2g} m at t = {end:.6g} s, where their contacts did not settle; "
                    "the run goes on and statistics count such steps as contacts_loose. Reduce solvers.fem.step",
                    stacklevel=2,
                )

    def entries(self) -> dict[str, float]:
        """Return the entries of the statistics."""
        return {"contacts_missed": self.missed, "contacts_closed": self.closed, "contacts_loose": self.loose}
