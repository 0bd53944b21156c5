"""Contact with laws in one implicit step: du = du_free + K^-1 H' lambda, dq = dq_free + (m M)^-1 G' lambda (spec 8).

Pairs, normals and weights are taken where the step ends, the cone problem of all of them is solved on the dense
compliance W = H K^-1 H' + G (m M)^-1 G', and both are repeated until the step ends where it was linearised.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.constraints.contact.pairs import NO_TOOL
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.contact.tool_motion import pack_drives
from rheotwin.constraints.tools import PLANE, gaps_in_pose
from rheotwin.fem.contact.columns import NodeColumns
from rheotwin.fem.contact.cone import solve_cone
from rheotwin.fem.contact.coulomb import Cone
from rheotwin.fem.contact.law_force import HARD, SPRING, Instant, Springs
from rheotwin.fem.contact.laws import Laws
from rheotwin.fem.contact.memory import Memory
from rheotwin.fem.contact.quality import ENOUGH, TIGHT, Quality
from rheotwin.fem.contact.rows import Rows
from rheotwin.fem.contact.search import ContactSearch
from rheotwin.fem.contact.touched import Found, Motion, Touched, mismatch
from rheotwin.fem.model import Model
from rheotwin.tensors import padded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

SHARING = 1e-9
"""Compliance, as a share of their own, that contacts between bodies get so that redundant ones share their force."""
ROUNDS, CHOOSING = 25, 10
"""Rounds of adding contacts and of linearising where the last round ended; after some, contacts keep their faces."""
SETTLED = 1e-10
"""Share of the body's size to which gaps must be as linearised."""


class ContactStep:
    """Contact of one model in the steps of one scheme."""

    def __init__(
        self, model: Model, setup: ContactSetup, columns: NodeColumns, instant: Instant, tool_inertia: float
    ) -> None:
        """Prepare; `tool_inertia` m [1/s2] times its mass is what a free tool opposes to an increment of its pose."""
        self.laws = Laws.of(setup)
        self.search = ContactSearch(model, setup, self.laws)
        self.instant = instant
        self.quality = Quality(model.problem.extent)
        self._model, self._columns = model, columns
        self._yielding = (pack_drives(model.tools).inverse_mass / tool_inertia).ravel()
        rubs = bool(np.any(self.laws.static_friction > 0.0))
        self._directions = model.dimension if rubs else 1

    def solve(self, u: Array, start: Motion, free: Motion, memory: Memory, end: float) -> tuple[Motion, Touched | None]:
        """Return where the step from displacements `u` ends with contact, and the contacts.

        `start` holds the rates at the beginning, `free` the end without contact.
        """
        begin = padded(self._model.points + u.reshape(self._model.points.shape))
        extent = self._model.problem.extent
        motion, touched = free, None
        best: tuple[tuple[float, float], float, Motion, Touched] | None = None
        known = np.zeros(0, np.int64)
        for turn in range(ROUNDS + 1):
            # A corner at a corner has one face in one round and another in the next, for ever if it may choose.
            held = known if turn > CHOOSING else known[:0]
            found = self._look(begin, motion, free, memory, held)
            chosen = np.isin(found.rows.slot, known) | self._matters(found, memory)
            if touched is None and not chosen.any():
                return free, None
            if touched is not None:
                off, closed = mismatch(touched, found.kept(chosen), extent), self._closed(found.rows)
                # Where all rounds fail, what overlaps least counts first, what was foreseen best next.
                order = max(closed, min(off, TIGHT * extent)), off
                if best is None or order < best[0]:
                    best = order, closed, motion, touched.at(found.rows)
                # What was not solved better is not closed by more either; all else was not foreseen.
                if off <= SETTLED * extent and closed <= SETTLED * extent + touched.defect:
                    break
            if turn < ROUNDS:
                # What touched in one round stays for all: contacts that took turns would never settle.
                known = np.union1d(known, found.rows.slot[chosen])
                if chosen.any():
                    motion, touched = self._solve(found.kept(chosen), begin, start, motion, free, memory, touched)
                elif touched is not None:  # what the last round found is nowhere after it
                    motion, touched = free, replace(touched.kept(known[:0]), defect=0.0)
        assert best is not None
        _, closed, motion, touched = best
        self.quality.enter(touched.defect, closed, end, self.pressing(touched))
        return motion, touched

    def pressing(self, touched: Touched) -> list[str]:
        """Return the names of the tools that press."""
        press = np.isin(np.arange(len(self._model.tools)), touched.rows.tool[touched.multiplier[:, 0] > 0.0])
        return [tool.name for tool, does in zip(self._model.tools, press, strict=True) if does]

    def _look(self, begin: Array, motion: Motion, free: Motion, memory: Memory, held: Indices) -> Found:
        """Find the contacts where `motion` ends; those in the slots `held` are still where they were found last."""
        shape, tools = self._model.points.shape, self._model.tools
        farthest = max(float(np.abs(each).max(initial=0.0)) for each in (motion.du, free.du))
        farthest += float(np.abs(motion.pose[:, :3] - memory.pose[:, :3]).max(initial=0.0))
        reach = 4.0 * farthest + float(self.laws.widest.max())
        end = begin + padded(motion.du.reshape(shape))
        past = memory.history
        if len(held):
            past = replace(past, active=past.active.copy())
            past.active[held] = True
        rows = self.search.find(begin, end, motion.pose, reach, past, self._directions)
        across = rows.along(rows.surface_motion(tools, memory.pose, motion.pose))
        moved = (rows.matrix(motion.du.size, shape[1]) @ motion.du - across).reshape(rows.frame.shape[:2])
        return Found(rows, moved, rows.gap - moved[:, 0])

    def _cuts(self, rows: Rows, memory: Memory) -> Array:
        """Return the gap [m] from which on each contact feels nothing."""
        goes_on = memory.history.active[rows.slot] & self.laws.integrated[rows.law]
        return np.where(goes_on, self.laws.widest[rows.law], self.laws.shift[rows.law])

    def _matters(self, found: Found, memory: Memory) -> Flags:
        """Tell which contacts may push in this step: closed at its end, or compliant and closed before."""
        rows, cut = found.rows, self._cuts(found.rows, memory)
        soft = self.laws.soft[rows.law]
        return np.asarray((rows.gap < cut) | (soft & (found.begin < cut)))

    def _closed(self, rows: Rows) -> float:
        """Return how far exact contacts are closed [m]."""
        return float(np.maximum(-rows.gap, 0.0)[~self.laws.soft[rows.law]].max(initial=0.0))

    def _started(self, found: Found, memory: Memory, begin: Array) -> Array:
        """Return the gaps (n,) [m] at the beginning as springs know them, of nodes at `begin` (N, 3).

        Along the normal at the end a node at an edge or a curved face seems to have been deeper than it was (gaps of
        convex tools are convex), and a spring would give back what it never took.
        """
        rows, start = found.rows, found.begin.copy()
        pressed = self.laws.soft[rows.law] & (start < self.laws.shift[rows.law])
        for index in np.unique(rows.tool[pressed & (rows.tool != NO_TOOL)]):
            tool = self._model.tools[index]
            if tool.shape == PLANE:
                continue
            mine = np.flatnonzero(pressed & (rows.tool == index))
            start[mine] = np.maximum(start[mine], gaps_in_pose(tool, memory.pose[index], begin[rows.node[mine, 0]]))
        return start

    def _springs(self, found: Found, memory: Memory, begin: Array) -> Springs:
        rows, laws = found.rows, self.laws
        law, history = rows.law, memory.history
        return Springs(
            kind=np.where(laws.soft[law], SPRING, HARD),
            stiffness=laws.stiffness[law],
            damping=laws.damping[law],
            integral=np.where(history.active[rows.slot], laws.integral[law], 0.0),
            past=history.integral[rows.slot],
            level=laws.shift[law],
            cut=self._cuts(rows, memory),
            start=self._started(found, memory, begin),
        )

    def _cone(self, law: Indices) -> Cone:
        laws = self.laws
        return Cone(laws.friction[law], laws.static_friction[law], laws.slip_speed[law] * self.instant.step)

    def _compliance(self, rows: Rows, matrix: csr_matrix, on_tools: Array) -> Array:
        """Return W (n k, n k) [m/N]."""
        d = self._model.dimension
        components = (rows.nodes[:, None] * d + np.arange(d)).ravel()
        inner = np.hstack([self._columns.of(int(node))[components] for node in rows.nodes])
        local = matrix[:, components]
        square = local @ (local @ inner.T).T
        square = square + (on_tools * self._yielding) @ on_tools.T
        between = np.flatnonzero(np.repeat(rows.tool == NO_TOOL, rows.frame.shape[1]))
        square[between, between] *= 1.0 + SHARING
        return np.ascontiguousarray(0.5 * (square + square.T))

    def _solve(
        self,
        found: Found,
        begin: Array,
        start: Motion,
        motion: Motion,
        free: Motion,
        memory: Memory,
        last: Touched | None,
    ) -> tuple[Motion, Touched]:
        """Solve the contact problem of a step from positions `begin` (N, 3), linearised where `motion` ends."""
        rows, d = found.rows, self._model.dimension
        shape = rows.frame.shape[:2]
        matrix = rows.matrix(motion.du.size, d)
        on_tools = rows.on_tools(self._model.tools, motion.pose)

        def along(vector: Array, pose: Array) -> Array:
            return np.asarray((matrix @ vector + on_tools @ pose.ravel()).reshape(shape))

        unpushed = found.moved + along(free.du - motion.du, free.pose - motion.pose)
        rest = unpushed.copy()
        rest[:, 0] += found.begin
        coming = along(start.velocity, start.rate)[:, 0]
        gained = along(free.velocity, free.rate)[:, 0] - coming
        parting = self._parting(rows.law, found.begin, rest[:, 0], coming, gained)
        # At the mean of the rates before and after: the impulse then takes (1 - e^2)/2 u P/(1 + e), nothing if e = 1.
        back = np.clip(found.begin + 0.5 * self.instant.step * (coming + parting), 0.0, np.maximum(found.begin, 0.0))
        rest[:, 0] -= np.where(parting > 0.0, back, 0.0)
        square = self._compliance(rows, matrix, on_tools)
        slid = memory.history.sliding[rows.slot] & memory.history.active[rows.slot]
        springs, cone = self._springs(found, memory, begin), self._cone(rows.law)
        guess, enough = _guess(rows, shape, last), ENOUGH * self._model.problem.extent
        solved = solve_cone(square, rest.ravel(), guess, springs, cone, self.instant, slid, enough)
        flat = solved.force.ravel()
        push = (matrix.T @ flat).reshape(-1, d)
        du = free.du.copy()
        for node in rows.nodes:
            du += self._columns.of(int(node)) @ push[node]
        pose = free.pose + (self._yielding * (on_tools.T @ flat)).reshape(free.pose.shape)
        moved = unpushed + (square @ flat).reshape(shape)
        touched = Touched(rows, solved.force, moved, found.begin, solved.state, parting, solved.defect)
        return Motion(du, pose, free.velocity, free.rate), touched

    def _parting(self, law: Indices, begin: Array, end: Array, coming: Array, gained: Array) -> Array:
        """Return the rate [m/s] with which the law `impulse` sends back what comes from outside, 0 for all others.

        `begin`, `end` are gaps without contact, `coming` the rate at the beginning, `gained` what the step adds. What
        comes no faster than one step could make it stays: otherwise a body would hop on a floor for ever.
        """
        bounces = (begin > 0.0) & (end < 0.0) & (coming < -np.abs(gained)) & self.laws.bounces[law]
        return np.where(bounces, -self.laws.restitution[law] * coming, 0.0)


def _guess(rows: Rows, shape: tuple[int, ...], last: Touched | None) -> Array:
    """Return the forces of the last round."""
    guess = np.zeros(shape)
    if last is not None:
        _, now, then = np.intersect1d(rows.slot, last.rows.slot, return_indices=True)
        guess[now] = last.multiplier[then]
    return guess
