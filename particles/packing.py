"""Flatten a problem's supports, loads, tools and elements into the plain arrays the compiled loop reads."""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.pack import pack_contact
from rheotwin.constraints.packed import pack_tables
from rheotwin.particles.boundary import Boundary, Held, Loads
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.network import Constants
from rheotwin.particles.nodes import Nodes
from rheotwin.problem import Problem
from rheotwin.tensors import padded


def pack_nodes(problem: Problem, runaway: float) -> Nodes:
    """Pack rest positions, free components, masses and weights."""
    return Nodes(
        rest=padded(problem.points),
        free=padded((problem.owners < 0).astype(float)),
        mass=problem.masses.copy(),
        weight=padded(problem.masses[:, None] * problem.gravity),
        runaway=runaway,
    )


def pack_held(problem: Problem) -> Held:
    """Pack held components; in fewer than three dimensions the unused ones have no force and need no holding.

    A component that several fixed supports name is held once, by the first.
    """
    node, component = np.nonzero(problem.owners >= 0)
    motion = problem.owners[node, component]
    order = np.argsort(motion, kind="stable")  # one look at each motion's table in a step
    return Held(
        node[order], component[order], motion[order], pack_tables([item.motion for item in problem.prescribed], 3)
    )


def pack_loads(problem: Problem) -> Loads:
    """Pack nodal loads and their factors over time."""
    counts = [len(load.nodes) for load in problem.loads]
    return Loads(
        node=np.concatenate([load.nodes for load in problem.loads] or [np.zeros(0, np.int64)]).astype(np.int64),
        share=np.concatenate([padded(load.shares) for load in problem.loads] or [np.zeros((0, 3))]),
        motion=np.repeat(np.arange(len(counts)), counts).astype(np.int64),
        tables=pack_tables([load.factor for load in problem.loads], 1),
    )


def pack_boundary(problem: Problem, runaway: float) -> Boundary:
    """Pack everything that acts on nodes from outside; `runaway` [m] is the excursion that counts as diverged."""
    return Boundary(
        pack_nodes(problem, runaway),
        pack_held(problem),
        pack_loads(problem),
        pack_contact(problem),
    )


def kernel_elements(corners: Indices, rest: Array, constants: Constants, h: float) -> Elements:
    """Precompute exp(-A h) and (1 - exp(-A h))/A of every arm for step `h` [s]."""
    return Elements(
        corners=np.ascontiguousarray(corners),
        rest=rest,
        stiffness=constants.stiffness,
        viscosity=constants.viscosity,
        arm_stiffness=constants.arm_stiffness,
        arm_decay=np.exp(-constants.arm_rate * h),
        arm_gain=-np.expm1(-constants.arm_rate * h) / constants.arm_rate,
    )
