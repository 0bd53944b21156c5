"""Where the energy of a finite-element run went, at small strain and at large."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Ledger:
    """Work since time zero [J]: done from outside, taken by dashpots, lost in impacts."""

    external: float = 0.0
    dissipated: float = 0.0
    impact: float = 0.0
    absorbed: float = 0.0
    """Work of internal forces, for rules that find dissipation as what is not stored of it."""
    friction: float = 0.0
    """Dissipated by friction of contacts."""

    def entries(self) -> dict[str, float]:
        """Return what was dissipated, lost in impacts and done from outside [J]."""
        return {"dissipated": self.dissipated, "impact": self.impact, "external": self.external}

    def defect(self, kinetic: float, stored: float) -> float:
        """Return what is amiss [J]: work from outside that is neither kinetic nor stored, dissipated nor lost."""
        return self.external - kinetic - stored - self.dissipated - self.impact - self.friction
