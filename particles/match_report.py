"""What continuum a body of springs is: its stiffness in every direction, its Poisson ratio, and that in words.

The body's average stiffness C_springs is a material of its own. Its Young's modulus along n is

    E(n) = 1/(m . C_springs^-1 m),      m = n (x) n in Mandel notation

(sides free to move within the plane or space), reported relative to that of the law. It has two Poisson ratios: that of
the isotropic tensor closest to C_springs, all directions alike, and what a pull along the axes of a mesh shows. On
grids the second is the law's where the first is far above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.particles.element_match import ElementMatch, Method, cauchy_poisson, isotropic_stiffness, mandel

NO_STIFFNESS = 1e-9
"""Below this share of the largest stiffness a body has none: it is a mechanism."""
SAME_RATIO = 0.005
"""Poisson ratios this close are called the same in words."""
DIRECTIONS = {2: 360, 3: 4000}
"""Directions looked at, spread evenly over a half turn or a half sphere."""


@dataclass(frozen=True)
class Continuum:
    """Young's modulus of a body of springs over the law's, least and most over directions [1]; Poisson's ratios [1]."""

    young_least: float
    young_most: float
    poisson: float
    poisson_along_axes: float

    @property
    def anisotropy(self) -> float:
        """Largest over smallest Young's modulus; infinite for a mechanism."""
        return self.young_most / self.young_least if self.young_least > 0.0 else np.inf


def directions(dimension: int) -> Array:
    """Return unit vectors (n, d) over a half turn, or a half sphere (Fibonacci spiral and the axes of a cube)."""
    count = DIRECTIONS[dimension]
    if dimension == 2:
        angle = np.pi * np.arange(count) / count
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    height = (np.arange(count) + 0.5) / count
    angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    radius = np.sqrt(1.0 - height**2)
    spiral = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
    cube = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T
    cube = cube[np.any(cube != 0.0, axis=1)]
    return np.vstack([spiral, cube / np.linalg.norm(cube, axis=1)[:, None]])


def young_moduli(stiffness: Array, along: Array) -> Array:
    """Return E(n) (n,) of a stiffness in Mandel notation; 0 where the body gives way without resistance."""
    values, vectors = np.linalg.eigh(stiffness)
    kept = values > NO_STIFFNESS * values[-1]
    parts = mandel(along) @ vectors
    yields = np.sum(parts[:, ~kept] ** 2, axis=1) > NO_STIFFNESS
    return np.where(yields, 0.0, 1.0 / np.sum(parts[:, kept] ** 2 / values[kept], axis=1))


def closest_poisson(stiffness: Array, dimension: int, plane: str) -> float:
    """Return Poisson's ratio of the isotropic tensor closest to a stiffness in Mandel notation (d = 2 or 3)."""
    unit = np.zeros(len(stiffness))
    unit[:dimension] = 1.0 / np.sqrt(dimension)
    volumetric = float(unit @ stiffness @ unit)
    two_mu = (float(np.trace(stiffness)) - volumetric) / (len(stiffness) - 1)
    lame = (volumetric - two_mu) / dimension
    if dimension == 2 and plane == "stress":
        return lame / (lame + two_mu)
    return lame / (2.0 * lame + two_mu)


def axial_poisson(stiffness: Array, dimension: int, plane: str) -> float:
    """Return Poisson's ratio a stiffness in Mandel notation shows in pulls along the axes, their mean (d = 2 or 3).

    In plane strain sides move by nu/(1 - nu) of the pull, in plane stress and space by nu.
    """
    compliance = np.linalg.pinv(stiffness, rcond=NO_STIFFNESS, hermitian=True)[:dimension, :dimension]
    pulled = np.diag(compliance)
    aside = -(compliance.sum(axis=0) - pulled) / ((dimension - 1) * pulled)
    ratio = float(np.mean(aside))
    return ratio / (1.0 + ratio) if dimension == 2 and plane == "strain" else ratio


def continuum_of(match: ElementMatch, poisson: float, plane: str) -> Continuum:
    """Return what a body of springs is in the large, against a law of unit Young's modulus."""
    dimension = {1: 1, 3: 2, 6: 3}[len(match.average)]
    if dimension == 1:
        young = float(match.average[0, 0])
        return Continuum(young, young, poisson, poisson)
    along = directions(dimension)
    law = young_moduli(isotropic_stiffness(poisson, dimension, plane), along[:1])[0]
    ratio = young_moduli(match.average, along) / law
    return Continuum(
        float(ratio.min()),
        float(ratio.max()),
        closest_poisson(match.average, dimension, plane),
        axial_poisson(match.average, dimension, plane),
    )


def poisson_sentence(match: ElementMatch, continuum: Continuum, wanted: float, plane: str) -> str:
    """Say which Poisson ratio springs alone have, what the volume term recovers, and what is left."""
    dimension = {1: 1, 3: 2, 6: 3}[len(match.average)]
    if dimension == 1:
        return ""
    place = "3D" if dimension == 3 else f"plane {plane}"
    tied = "1/3" if plane == "stress" and dimension == 2 else "1/4"
    words = f"springs alone are tied to Poisson's ratio {tied} in {place}"
    reached = continuum.poisson
    close = abs(reached - wanted) < SAME_RATIO
    if np.any(match.volume_modulus > 0.0):
        return words + (
            f"; the volume term recovers the law's {wanted:.3g}"
            if close
            else f"; with the volume term the body has {reached:.3g} on average over directions and "
            f"{continuum.poisson_along_axes:.3g} along the axes, the law {wanted:.3g}"
        )
    if close:
        return words + ", which is the law's"
    if wanted < cauchy_poisson(dimension, plane):
        return words + f"; nothing here lowers it to the law's {wanted:.3g}"
    return words + f" in place of the law's {wanted:.3g}; `volume_term` on triangles or tets would raise it"


def match_report(match: ElementMatch, method: Method, poisson: float, plane: str) -> dict[str, Any]:
    """Return the misfit, the anisotropy and the Poisson ratio of a match as plain values."""
    continuum = continuum_of(match, poisson, plane)
    found: dict[str, Any] = {
        "match": method,
        "edges": len(match.edges),
        "volume_cells": int(np.count_nonzero(match.volume_modulus)),
    }
    if method == "edge":  # the law's numbers are those of edges: there is no modulus to miss
        note = "the law's numbers are the constants of each edge, without volume springs"
        sentence = poisson_sentence(match, continuum, continuum.poisson, plane)
        note += f"; {sentence.split(', which')[0]}" if sentence else ""
        return found | {"anisotropy": _finite(continuum.anisotropy), "poisson_of_body": continuum.poisson, "note": note}
    return found | {
        "poisson_of_law": poisson,
        "poisson_of_body": continuum.poisson,
        "poisson_along_axes": continuum.poisson_along_axes,
        "stiffness_misfit": match.misfit,
        "element_stiffness_misfit": match.element_misfit,
        "young_least": continuum.young_least,
        "young_most": continuum.young_most,
        "anisotropy": _finite(continuum.anisotropy),
        "note": poisson_sentence(match, continuum, poisson, plane),
    }


def _finite(value: float) -> float | None:
    """Return None for what JSON cannot hold."""
    return value if np.isfinite(value) else None
