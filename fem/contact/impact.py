"""Velocities after a step with contact: M (v' - v) = H' p, so that what touches moves with what it touches.

With P = h lambda + p the impulse of the whole step, rates u = H v - surface:

    exact       u_n >= 0, P_n >= 0, u_n P_n = 0         (u_n >= the rate of parting where the law sends back)
    compliant   P_n = h lambda_n
    friction    u_t = 0 while |P_t| <= mu_s P_n, else |P_t| = mu P_n against u_t; the regularised rule keeps its P_t

Without p the midpoint rule would reflect the velocity of what has stopped for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.fem.contact.cone import solve_cone
from rheotwin.fem.contact.coulomb import SLIDING, Cone
from rheotwin.fem.contact.law_force import GIVEN, HARD, Instant, Springs
from rheotwin.fem.contact.laws import Laws
from rheotwin.fem.contact.quality import ENOUGH
from rheotwin.fem.contact.touched import Touched
from rheotwin.fem.model import Model

Array = NDArray[np.float64]
Respond = Callable[[csr_matrix], "Array | csr_matrix"]
"""Impulses (size, m) [N s] -> velocity changes (size, m) [m/s]."""


@dataclass(frozen=True)
class Struck:
    """Velocities (size,) [m/s] and tool rates (T, 4) after the impulses."""

    velocity: Array
    rate: Array
    impulse: Array
    """(n, k) [N s] of the whole step."""
    work: float
    """[J] done by what the velocity impulses p came from: moving driven tools."""
    defect: float
    """[m/s] by which the worst contact misses its law."""


def strike(
    model: Model,
    laws: Laws,
    touched: Touched,
    velocity: Array,
    rate: Array,
    pose: Array,
    inverse_mass: Array,
    respond: Respond,
    h: float,
) -> Struck:
    """Return what the contacts make of the velocities after a step of `h` [s] that ends in `pose` (T, 4).

    `respond` maps impulses, the columns of a sparse matrix (size, m), to velocity changes; `inverse_mass` (T, 4).
    """
    rows, law = touched.rows, touched.rows.law
    shape, step_impulse = touched.multiplier.shape, h * touched.multiplier
    matrix, on_tools = rows.matrix(velocity.size, model.dimension), rows.on_tools(model.tools, pose)
    answers = respond(csr_matrix(matrix.T))
    square = matrix @ answers
    square = np.asarray(square.todense()) if not isinstance(square, np.ndarray) else square
    square = square + (on_tools * inverse_mass.ravel()) @ on_tools.T
    rates = (matrix @ velocity + on_tools @ rate.ravel()).reshape(shape)
    rest = (rates.ravel() - square @ step_impulse.ravel()).reshape(shape)
    rest[:, 0] -= touched.parting
    soft = laws.soft[law]
    nothing = np.zeros(len(rows))
    springs = Springs(np.where(soft, GIVEN, HARD), *([nothing] * 7))
    exact = laws.slip_speed[law] == 0.0
    cone = Cone(np.where(exact, laws.friction[law], 0.0), np.where(exact, laws.static_friction[law], 0.0), nothing)
    square = np.ascontiguousarray(0.5 * (square + square.T))
    slides, instant = touched.state == SLIDING, Instant(h, 1.0, mean=False)
    enough = ENOUGH * model.problem.extent / h
    solved = solve_cone(square, rest.ravel(), step_impulse, springs, cone, instant, slides, enough)
    extra = (solved.force - step_impulse).ravel()
    struck = velocity + np.asarray(answers @ extra).ravel()
    spun = rate + (inverse_mass.ravel() * (on_tools.T @ extra)).reshape(rate.shape)
    # rel = H v + (on tools) rate: the tools' surface moves by -(on tools) rate along the rows
    work = -float(extra @ (on_tools @ (0.5 * (rate + spun)).ravel()))
    return Struck(struck, spun, solved.force, work, solved.defect)
