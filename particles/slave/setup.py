"""What a problem asks of masters and slaves: laws, step, memory."""

from __future__ import annotations

import os

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.materials import Elastic, Elastoplastic
from rheotwin.materials.elastoplastic import CriticalStretch
from rheotwin.materials.flow import FIRST, LAME, LEAST_VOLUME, SECOND, SHEAR, hardened
from rheotwin.particles.slave.cloud import common_edge
from rheotwin.particles.slave.options import SlaveOptions
from rheotwin.particles.slave.touching import Who
from rheotwin.particles.stability import StepBound
from rheotwin.problem import Problem
from rheotwin.scene.tools import BarTool

EXPLICIT, SEMI_IMPLICIT, TRIED, LONGEST = 0.7, 3.0, 10.0, 1e-3
"""Steps in d/c: the longest stable explicit one, the usual semi-implicit one, no longer than 1 ms, and the longest."""
BYTES = 2000
"""Bytes for a master and its slaves, those of the solve included."""


def laws_of(problem: Problem) -> tuple[Array, Indices, Array]:
    """Return the constants of all laws (n, 8), the law of every master (M,), and what it remembers at rest (M,)."""
    constants: list[Array] = []
    law, memory = [], []
    for body in problem.bodies:
        own, start = np.zeros(body.mesh.t.shape[1], np.int64), np.ones(body.mesh.t.shape[1])
        for part in body.laws:
            own[part.cells] = len(constants)
            if isinstance(part.law, Elastoplastic):
                constants.append(part.law.constants)
                start[part.cells] = part.law.start
            else:
                assert isinstance(part.law, Elastic)
                row, spring = np.zeros(8), part.law.spring
                row[LAME], row[SHEAR], row[FIRST], row[SECOND] = spring.lame, spring.shear, np.inf, np.inf
                constants.append(row)
        law.append(own)
        memory.append(start)
    return np.array(constants), np.concatenate(law), np.concatenate(memory)


def step_bound(problem: Problem, options: SlaveOptions) -> tuple[StepBound, float]:
    """Return the longest stable step, and d/c [s] of the fastest waves at rest, c^2 = (lambda + 2 mu)/rho.

    Explicit steps are for waves in what has hardened as far as it can.
    """
    d, fastest, hardest = common_edge(problem), 0.0, 0.0
    for body in problem.bodies:
        for part in body.laws:
            assert isinstance(part.law, Elastic | Elastoplastic)
            spring, limit = part.law.spring, getattr(part.law, "limit", None)
            c = float(np.sqrt((spring.lame + 2.0 * spring.shear) / body.density))
            grows = hardened(LEAST_VOLUME, limit.hardening) if isinstance(limit, CriticalStretch) else 1.0
            fastest, hardest = max(fastest, c), max(hardest, c * float(np.sqrt(grows)))
    if options.scheme == "explicit":
        reason = "waves over one spacing of masters, hardened as far as the law goes"
        return StepBound(EXPLICIT * d / hardest, reason), d / fastest
    reason = f"waves over {TRIED:g} spacings of masters, beyond which nobody tried it"
    return StepBound(TRIED * d / fastest, reason), d / fastest


def check_memory(masters: int) -> None:
    """Refuse more masters than memory has room for, before any is taken."""
    needed = masters * BYTES / 1e6
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6 if hasattr(os, "sysconf") else np.inf
    if needed > free:
        raise RheotwinError(
            f"bodies: {masters} masters and their slaves take about {needed:.3g} MB and {free:.3g} MB are free; choose "
            "larger cubes"
        )


def who_meets(problem: Problem, row: int) -> Who | None:
    """Return who can touch a tool: nodes of bodies with candidates, of bars the candidates; None where all can."""
    tool = problem.tools[row]
    chosen, masters = np.zeros(len(problem.points), np.bool_), []
    chosen[tool.candidates] = True
    for body in problem.bodies:
        if not isinstance(problem.scene.tools[tool.name], BarTool):
            chosen[body.nodes] = chosen[body.nodes].any()
        masters.append(chosen[body.mesh.t + body.first_node].any(axis=0))
    return None if chosen.all() else Who(chosen, np.concatenate(masters))
