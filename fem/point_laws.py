"""Laws of dough at a point: which one a law is, and what it is on a line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.fem.dashpot_points import TURNS, DashpotPoint
from rheotwin.fem.finite.point import PointLaw, Response
from rheotwin.fem.plastic_points import PlasticPoint
from rheotwin.materials import Channel, Elastoplastic, Law, NonlinearThreeElement, VonMises


@dataclass(frozen=True)
class Uniaxial:
    """A law of a line: strain XX is given, no stress acts across; it remembers the strain across behind the law's."""

    law: PointLaw
    symmetric: bool = True

    @property
    def width(self) -> int:
        """Numbers a point remembers."""
        return self.law.width + 1

    @staticmethod
    def _whole(strain: Array, across: Array) -> Array:
        whole = np.zeros_like(strain)
        whole[:, 0], whole[:, 1], whole[:, 2] = strain[:, 0], across, across
        return whole

    def respond(self, strain: Array, before: Array, state: Array, step: float) -> Response:
        """Return the answer with the strain across at which no stress acts there."""
        old, across = self._whole(before, state[:, -1]), state[:, -1].copy()
        for _ in range(TURNS):
            found = self.law.respond(self._whole(strain, across), old, np.ascontiguousarray(state[:, :-1]), step)
            slope = found.modulus[:, 1, 1] + found.modulus[:, 1, 2]
            change = -found.stress[:, 1] / slope
            if np.all(np.abs(change) <= 1e-14 * (1e-3 + np.abs(across))):
                break
            across += change
        modulus = np.zeros_like(found.modulus)
        coupling = (found.modulus[:, 0, 1] + found.modulus[:, 0, 2]) * found.modulus[:, 1, 0] / slope
        modulus[:, 0, 0] = found.modulus[:, 0, 0] - coupling
        stress = np.zeros_like(found.stress)
        stress[:, 0] = found.stress[:, 0]
        return Response(stress, modulus, np.column_stack([found.state, across]))

    def relaxing(self, state: Array) -> Array:
        """Return that of the law."""
        return self.law.relaxing(state[:, :-1])

    def stored(self, strain: Array, state: Array) -> Array:
        """Return that of the law."""
        return self.law.stored(self._whole(strain, state[:, -1]), np.ascontiguousarray(state[:, :-1]))

    def dissipated(self, strain: Array, before: Array, state: Array, old: Array, step: float) -> Array:
        """Return that of the law."""
        first, last = self._whole(before, old[:, -1]), self._whole(strain, state[:, -1])
        return self.law.dissipated(last, first, state[:, :-1], old[:, :-1], step)


def is_yielding(law: Law) -> bool:
    """Tell whether a law is not linear in the history of strain and has to be asked at points."""
    return isinstance(law, Elastoplastic | NonlinearThreeElement)


def von_mises(law: Law) -> bool:
    """Tell whether a law yields at constant volume."""
    return isinstance(law, Elastoplastic) and isinstance(law.limit, VonMises)


def large_strain_law(law: Law, *, small: bool, rigid: bool) -> tuple[Channel, PointLaw]:
    """Return the bulk channel and the law at a point of a body in large motion; `small` strain in a turned frame."""
    if not isinstance(law, Elastoplastic) and not small:
        raise RheotwinError(
            f"law {law.name}: its dashpots know small strain only; choose solvers.fem.kinematics = "
            '"corotational" or "small"'
        )
    if isinstance(law, Elastoplastic) and not small:
        isochoric = von_mises(law)
        bulk = 0.0 if rigid or not isochoric else law.spring.bulk
        return Channel.elastic(bulk), PlasticPoint(law, small=False, isochoric=isochoric)
    point = small_strain_law(law, dimension=3)
    assert point is not None
    return Channel.elastic(0.0), point


def small_strain_law(law: Law, dimension: int) -> PointLaw | None:
    """Return what a law is at a point at small strain; None for laws that are linear in the history of strain."""
    if not is_yielding(law):
        return None
    if isinstance(law, Elastoplastic):
        point = PlasticPoint(law, small=True)
        return Uniaxial(point) if dimension == 1 else point
    assert isinstance(law, NonlinearThreeElement)
    return DashpotPoint(law, line=dimension == 1)
