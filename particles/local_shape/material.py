"""From a law to the constants of elements, and how well these match it (spec 2, 10).

An element with S = sum Ro Ro^T and volume V has, where S = q I, the shear modulus k q/(2 V) and Poisson ratio 0. So

    k = 2 mu V/q,   q = tr S/d,   and   lambda V (J - 1)^2/2   beside it:   E, G and nu of the law, to first order.

A cube of edge L at nu = 0: k = E L/2. Elements whose S is no multiple of I are stiffer along their long side. With the
strain eps and any turn W their energy is k/2 tr((eps + W) S (eps + W)^T): the least over W is what they resist with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel, equal_poisson
from rheotwin.particles.element_match import isotropic_stiffness, plane_lame
from rheotwin.particles.local_shape.options import OPTIONS, LocalShapeOptions
from rheotwin.particles.match_report import directions, young_moduli
from rheotwin.problem import BodyPart, Problem
from rheotwin.tensors import INDEX_PAIRS

MISFIT = 1e-9
"""Below this share elements match the law but for rounding."""


@dataclass(frozen=True)
class Parts:
    """Spring k, dashpot c1 beside it [Pa, Pa s] and dashpot c2 in series (infinite: none) of Young's modulus."""

    spring: float
    beside: float
    series: float
    poisson: float

    @property
    def share(self) -> float:
        """B = c2/(c1 + c2)."""
        return 1.0 if np.isinf(self.series) else self.series / (self.beside + self.series)

    @property
    def time(self) -> float:
        """tau = (c1 + c2)/k [s]."""
        return (self.beside + self.series) / self.spring

    @property
    def creeps(self) -> bool:
        """Whether rest shapes creep."""
        return bool(np.isfinite(self.series))


def parts_of(channel: Channel, poisson: float) -> Parts | None:
    """Return k, c1, c2 of a channel g, tau, eta: 1/B = 1 + eta/(g tau), k = g/B^2; None for what has more parts.

    >>> parts_of(Channel.three_element(2.0, 1.0, 3.0), 0.0)
    Parts(spring=2.0, beside=1.0, series=3.0, poisson=0.0)
    """
    if not channel.strengths:
        return Parts(channel.equilibrium, channel.viscosity, np.inf, poisson)
    if channel.equilibrium != 0.0 or len(channel.strengths) > 1:
        return None
    (g,), (tau,) = channel.strengths, channel.times
    share = 1.0 / (1.0 + channel.viscosity / (g * tau))
    spring, beside = g / share**2, channel.viscosity / share
    return Parts(spring, beside, spring * tau - beside, poisson)


def law_parts(problem: Problem, part: BodyPart, options: LocalShapeOptions) -> Parts:
    """Return the parts of a law, or refuse it."""
    poisson = equal_poisson(part.law)
    if poisson is None:
        raise RheotwinError(
            f"{part.place}: its springs and dashpots have several Poisson ratios, which one rest shape cannot follow; "
            f"give them one (a series dashpot that acts on shear alone is {OPTIONS}.keep_volume)"
        )
    found = parts_of(part.law.channel("young"), poisson)
    if found is None or not found.spring > 0.0:
        raise RheotwinError(
            f"{part.place}: {part.law.name!r} has {'no' if found else 'more than one'} spring; elements that keep "
            "their shape have one, with a dashpot beside it and one in series: choose elastic, voigt, maxwell or "
            "three-element"
        )
    if poisson < 0.0:
        raise RheotwinError(
            f"{part.place}: Poisson's ratio is {poisson:.3g}; elements have 0, which the volume term raises and "
            "nothing lowers: choose 0 or more"
        )
    if poisson > MISFIT and not options.volume_term:
        law = isotropic_stiffness(poisson, problem.dimension, problem.plane)
        without = isotropic_stiffness(0.0, problem.dimension, problem.plane) / (1.0 + poisson)
        raise RheotwinError(
            f"{OPTIONS}.volume_term: without it Poisson's ratio is 0 in place of the law's {poisson:.3g} and the "
            f"stiffness {np.linalg.norm(law - without) / np.linalg.norm(law):.0%} off; leave it on, which gives E, G "
            "and Poisson's ratio of the law, or choose poisson = 0"
        )
    return found


def moments(offsets: Array) -> Array:
    """Return S (E, d, d) [m2] of offsets (E, n, d)."""
    return np.asarray(np.einsum("eai,eaj->eij", offsets, offsets))


def constants(problem: Problem, parts: Parts, shapes: Array, volumes: Array) -> tuple[Array, Array]:
    """Return what Young's modulus is multiplied by: k/E [m] and lambda V/E [m3] of elements of one law, S (E, d, d)."""
    lame, shear = plane_lame(parts.poisson, problem.dimension, problem.plane)
    size = np.trace(shapes, axis1=1, axis2=2) / problem.dimension
    return 2.0 * shear * volumes / size, lame * volumes


def element_stiffness(moment: Array, stiffness: Array, volumes: Array) -> Array:
    """Return C (E, s, s) in Mandel notation [Pa] of springs k (E,) alone, with S (E, d, d)."""
    d = moment.shape[1]
    pairs = [pair for pair in INDEX_PAIRS if max(pair) < d]
    strains, turns = [], []
    for a, b in pairs:
        e = np.zeros((d, d))
        e[a, b] = 1.0
        strains.append(e if a == b else (e + e.T) / np.sqrt(2.0))
        if a != b:
            turns.append(e - e.T)
    modes = np.array(strains + turns)
    whole = np.einsum("mij,ejk,nik->emn", modes, moment, modes) * (stiffness / volumes)[:, None, None]
    s = len(pairs)
    return np.asarray(whole[:, :s, :s] - whole[:, :s, s:] @ np.linalg.solve(whole[:, s:, s:], whole[:, s:, :s]))


def match_report(problem: Problem, parts: Parts, shapes: Array, volumes: Array) -> dict[str, Any]:
    """Return misfit and Young's moduli over the law's, of elements of one law, S (E, d, d), as plain values."""
    dimension, plane = problem.dimension, problem.plane
    k, bulk = constants(problem, parts, shapes, volumes)
    law = isotropic_stiffness(parts.poisson, dimension, plane)
    trace = np.zeros(len(law))
    trace[:dimension] = 1.0
    found = element_stiffness(shapes, k, volumes)
    found += (bulk / volumes)[:, None, None] * np.outer(trace, trace)
    average = np.einsum("e,eij->ij", volumes, found) / volumes.sum()
    along = directions(dimension)
    ratio = young_moduli(average, along) / young_moduli(law, along[:1])[0]
    single = np.sqrt(np.sum(volumes * np.sum((found - law) ** 2, axis=(1, 2))) / (volumes.sum() * np.sum(law**2)))
    misfit = float(np.linalg.norm(average - law) / np.linalg.norm(law))
    note = "elements have the law's E, G and Poisson ratio"
    if single > MISFIT:
        note = (
            f"elements are stiffer along their long sides: single ones miss the law's stiffness by {single:.2g}, their "
            f"average by {misfit:.2g}; cubes, squares and regular simplices miss nothing"
        )
    return {
        "made_of": "polyhedra",
        "poisson_of_law": parts.poisson,
        "stiffness_misfit": misfit,
        "element_stiffness_misfit": float(single),
        "young_least": float(ratio.min()),
        "young_most": float(ratio.max()),
        "note": note,
    }
