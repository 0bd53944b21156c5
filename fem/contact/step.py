"""Contact with laws in one implicit step: du = du_free + K^-1 H' lambda, dq = dq_free + (m M)^-1 G' lambda (spec 8).

Pairs, normals and weights are taken where the step ends, the cone problem of all of them is solved on the dense
compliance W = H K^-1 H' + G (m M)^-1 G', and both are repeated until the step ends where it was linearised. All of it
is one program of stages, which knows the nodes that can touch anything by their rank among these, `near`:

    look -> find at tools -> find between bodies -> linearise -> judge -> load -> compliance -> cone -> move -> look ..
                                                                   `-> answer of the whole bodies -> book
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.contact import search as lists
from rheotwin.constraints.contact.detect import search_stages
from rheotwin.constraints.contact.laws import form
from rheotwin.constraints.contact.pairs import more_pairs, room_for_pairs
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.contact.surface import ContactSurface, slot_count, surface_of
from rheotwin.constraints.contact.tool_motion import pack_drives
from rheotwin.constraints.contact.tool_pairs import finding_stages, gap_at, mesh_tools
from rheotwin.constraints.contact.vectors import row
from rheotwin.constraints.tools import PLANE, pack_tools
from rheotwin.errors import RheotwinError
from rheotwin.fem.contact import cone, law_force
from rheotwin.fem.contact.columns import NO_COLUMNS, NodeColumns, compliance_stages, spread_stage
from rheotwin.fem.contact.law_force import Instant
from rheotwin.fem.contact.memory import Memory, Past
from rheotwin.fem.contact.quality import ENOUGH, TIGHT, Quality
from rheotwin.fem.contact.rows import (
    BEGIN,
    GAP,
    LAW,
    MOVED,
    NODE,
    PARTING,
    POINT,
    SLOT,
    TOOL,
    WEIGHT,
    Rows,
    along_nodes,
    along_tool,
    copy_row,
    linearising,
    push_tools,
    room_for_rows,
)
from rheotwin.fem.model import Model
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import LAST, Stage

SEARCHES = "touch_search_"
MOST_SIDES = 1.0
"""Distance at which bodies are looked for, in mean sides of their faces: no step may move them further."""
ROUNDS, CHOOSING = 25, 10
"""Rounds of adding contacts and of linearising where the last round ended; after some, contacts keep their faces."""
SETTLED = 1e-10
"""Share of the body's size to which gaps must be as linearised."""
SLID = 1e-2
"""How much a foot's share of a face counts against a gap's share of the body's size."""
CONTACTS, MISSING = 16, 64
"""Contacts that there is room for at first, and most columns that are asked for at once."""
NO_ROOM, LISTS_FULL = LAST + 2, LAST + 3
"""What ends a program early, beside missing columns: contacts to be solved, or lists of the search, have no room."""
SOFT, LASTS, WIDEST = 10, 11, 12
"""Columns behind those of `laws.form`: 1 where a law is compliant, 1 where it goes on outside of its surface, gap [m]
up to which a contact that has begun may last."""
AT_BEGIN, AT_END, FREELY, MOVES, NODES = range(5)
"""Of `Work.nodes`: positions before the step and at its end, increments without contact and with it [m]."""
BEFORE, UNPUSHED, NOW, BEST, POSES = range(5)
"""Of `Work.poses`: those of tools before the step, at its end without contact and with it, and in the best round."""
KNOWN, WHERE, FOUND, SLOTS = range(4)
"""Of `Work.slots`: 1 for contacts of this step; where a contact is among those solved and those found."""
TURN, BEGUN, CLOSED, WORST, FORESEEN, MISSED, REACH, BETWEEN, STORED, DAMPED, BY_EXACT, RUBBED, COURSE = range(13)
"""Entries of `Work.course`: rounds so far, 1 once contacts were solved; of the best round the gap [m] by which exact
contacts are closed, how it compares (2) and how far contacts miss their laws [m]; how far to look for contacts at tools
and between bodies [m]; energy [J] in springs at the end, and taken by dashpots and integrals of compliant contacts, by
exact contacts whose gaps closed, by friction."""


class Work(NamedTuple):
    """Arrays of the steps: `nodes` (NODES, N, 3) by rank, `poses` (POSES, T, 4), `slots` (SLOTS, S), see above.

    `guess` (S, k) [N]: last forces; `active` (S,): contacts that keep their faces; `out` (size,) [m]: answer of the
    bodies; `course` (COURSE,).
    """

    nodes: Array
    poses: Array
    slots: Indices
    guess: Array
    active: Flags
    out: Array
    course: Array


class Start(NamedTuple):
    """Velocities (N, 3) [m/s] of nodes and rates (T, 4) of tools before the step and after it without contact."""

    velocity: Array
    rate: Array
    free_velocity: Array
    free_rate: Array


class Solved(NamedTuple):
    """Contacts with their forces (n k,) [N] and what each does (n,)."""

    rows: Rows
    force: Array
    state: Indices


class ContactStep:
    """Contact of one model in the steps of one scheme; `columns` are those of the inverse of the step's matrix."""

    def __init__(
        self, model: Model, setup: ContactSetup, columns: NodeColumns, instant: Instant, tool_inertia: float,
        *, lenient: bool = False,
    ) -> None:  # fmt: skip
        """Prepare; `tool_inertia` m [1/s2] times its mass is what a free tool opposes to an increment of its pose.

        If `lenient`, tools may go into nodes that supports hold.
        """
        table, d = form.pack_laws((*setup.tool_laws, setup.law)), model.dimension
        widest = np.maximum(table[:, form.REGION], table[:, form.SHIFT])
        traits = [form.kinds_that(table, what) for what in ("soft", "integrates")]
        self.laws, self.k = np.column_stack([table, *traits, widest]), d if table[:, form.STATIC_FRICTION].any() else 1
        self.quality, self.near = Quality(model.problem.extent), columns.first
        self._model, self._instant, self._columns = model, instant, columns
        self._ease, self._lenient = pack_drives(model.tools).inverse_mass / tool_inertia, lenient
        rank, points, many = np.full(len(model.points), -1), np.zeros((len(self.near), 3)), len(model.tools)
        rank[self.near], points[:, :d] = np.arange(len(self.near)), model.points[self.near]
        tools, surface = pack_tools(model.tools), _surface(model, setup)
        self._tools, self._surface, self._side = tools._replace(candidate=rank[tools.candidate]), surface, 0.0
        first = self.slots = len(tools.candidate)
        if surface is not None:
            self._surface = surface = _renumbered(surface, rank)
            self._search, self.slots = lists.new_search(surface, points), slot_count(surface, first)
            self._side = MOST_SIDES * float(np.linalg.norm(np.diff(points[surface.face[:, :2]], axis=1), axis=2).mean())
        self.past, room = Past.none(self.slots), max(16, first + (0 if surface is None else len(surface.vertex)))
        self.work = Work(
            np.zeros((NODES, len(points), 3)), np.zeros((POSES, many, 4)), np.zeros((SLOTS, self.slots), np.int64),
            np.zeros((self.slots, self.k)), np.zeros(self.slots, np.bool_), np.zeros(model.size), np.zeros(COURSE),
        )  # fmt: skip
        self._start: Start | None = None
        if table[:, form.RESTITUTION].any():
            self._start = Start(*(np.zeros((n, c)) for n, c in 2 * ((len(points), 3), (many, 4))))
        self._pairs, self._full, self._missing = (
            room_for_pairs(room),
            np.zeros(1, np.int64),
            np.zeros(MISSING, np.int64),
        )
        self._program: Program | None = None
        self._room(CONTACTS)

    def _room(self, contacts: int) -> None:
        """Make room for so many contacts that are solved together."""
        self._rows = room_for_rows(contacts, self.k)
        self.problem = cone.room_to_solve(contacts, self.k, self._rows.count)
        best = np.zeros(contacts * self.k), np.zeros(contacts, np.int64)
        self.solved = Solved(room_for_rows(contacts, self.k), *best)

    @property
    def count(self) -> int:
        """Contacts of the last step."""
        return int(self.solved.rows.count[0])

    @property
    def pressing(self) -> Flags:
        """Which of them push."""
        return np.asarray(self.solved.force[: self.count * self.k : self.k] > 0.0)

    def at_near(self, vector: Array) -> Array:
        """Return the rows (N, d) of a vector (size,) that belong to the nodes by rank."""
        return np.asarray(vector.reshape(-1, self._model.dimension)[self.near])

    def solve(
        self, u: Array, du: Array, memory: Memory, pose: Array, end: float, motion: tuple[Array, Array, Array]
    ) -> tuple[Array, Array]:
        """Return the increment and the poses at `end` [s] with contact for those (size,), (T, 4) without.

        `motion` are the velocities (size,) before the step and after it without contact, and the tools' rates then.
        """
        work, d, start = self.work, self._model.dimension, self._start
        work.nodes[AT_BEGIN, :, :d] = self._model.points[self.near] + self.at_near(u)
        work.nodes[FREELY, :, :d] = self.at_near(du)
        work.poses[BEFORE], work.poses[UNPUSHED] = memory.pose, pose
        if start is not None:
            start.velocity[:, :d], start.free_velocity[:, :d] = (self.at_near(v) for v in motion[:2])
            start.rate[:], start.free_rate[:] = memory.rate, motion[2]
        for mine, theirs in zip(self.past, memory.history, strict=True):
            mine[:] = theirs
        while (answer := self._run(memory.stored)) is not None:
            self._make_room(answer)
        if not work.course[BEGUN]:
            return du, pose
        self.quality.enter(float(work.course[MISSED]), float(work.course[CLOSED]), end, self.names())
        du = du.copy()
        du[self._columns.order] += work.out
        return du, work.poses[BEST].copy()

    def names(self) -> list[str]:
        """Return the names of the tools that press."""
        press = set(self.solved.rows.who[: self.count, TOOL][self.pressing].tolist())
        return [tool.name for index, tool in enumerate(self._model.tools) if index in press]

    def _run(self, stored: float) -> int | None:
        """Take the step as far as it goes; return why it stopped early."""
        work = self.work
        work.course[:], work.slots[KNOWN], work.guess[:] = 0.0, 0, self.past.force[:, : self.k]
        work.course[WORST], work.course[FORESEEN], work.course[STORED] = np.inf, np.inf, stored
        work.nodes[MOVES], work.poses[NOW] = work.nodes[FREELY], work.poses[UNPUSHED]
        self._rows.count[0], self._full[0] = 0, lists.FINE
        if self._program is None:
            self._program = Program(self._stages(), 0.0, Clock())
        self._program.run(0, 1)
        ended = self._program.ended_by
        return None if ended is None else ended[1]

    def _make_room(self, answer: int) -> None:
        """Give what a program has stopped for."""
        kept = self._columns.kept
        if answer == NO_COLUMNS:
            self._columns.know(self._missing)
        elif answer == NO_ROOM:
            self._room(2 * len(self.problem.law))
        elif self._full[0] == lists.PAIRS_FULL:
            self._pairs = more_pairs(self._pairs)
        else:
            self._search = lists.more_room(self._search)
        if answer != NO_COLUMNS or self._columns.kept is not kept:
            self._program = None

    def _stages(self) -> list[Stage]:
        """Return the stages of a step."""
        work, k, d, past, laws = self.work, self.k, self._model.dimension, self.past, self.laws
        pairs, rows, best, p = self._pairs, self._rows, self.solved, self.problem
        found, extent, near, force = room_for_rows(len(pairs.gap), k), self._model.problem.extent, self.near, p.force
        given = law_numbers(laws, self._instant.step)
        tools, begin, end = self._tools, work.nodes[AT_BEGIN], work.nodes[AT_END]
        finding = finding_stages(tools, work.poses[NOW], end, Now(work.course[REACH:]), pairs)
        if self._surface is not None:
            region, remembered = Now(work.course[BETWEEN:]), lists.Remembered(past.feature, work.active)
            known = (region, remembered, len(tools.candidate), pairs, self._full)
            finding += search_stages(self._surface, self._search, begin, end, *known, even=True)
            finding += [Stage(_stop_if_full, (self._full,))]
        geometry = tools.geometry if len(tools.shape) else None
        between = None if self._surface is None else len(laws) - 1
        moved = (work.nodes[MOVES], end, geometry, work.poses[BEFORE], work.poses[NOW], between)
        finding += [Stage(linearising(k, d), (pairs, found, *moved))]
        starting = [
            Stage(_starting(shape), (rows, p.law, tool, tools.geometry[tool], work.poses[BEFORE, tool], mesh, begin))
            for tool, (shape, mesh) in enumerate(zip(tools.shape.tolist(), mesh_tools(tools), strict=True))
            if shape != PLANE and laws[tool, SOFT]
        ]
        remembered_by = (past.active, past.sliding, past.integral)
        moving = (work.nodes, work.poses, self._start, self._instant)
        solving = [
            Stage(_load, (rows, p.free, p.law, laws, given, *remembered_by, *moving)),
            *starting,
            *compliance_stages(rows, near, self._columns, self._ease, self._missing, p.w, share=True),
            *cone.cone_stages(p, k, ENOUGH * extent, self._instant if laws[:, SOFT].any() else None),
            spread_stage(rows, near, self._columns, force, d * len(near), work.out),
        ]
        # how far the judge jumps: back to the look, and over the solution
        back, ahead = -2 - len(finding), len(solving) + 1
        solved = (p.force, p.state, p.stuck, p.course, best)
        judging = (found, rows, *solved, laws, past.active, work, extent, self._lenient, back, ahead)
        return [
            Stage(_look, (work, past.active, pairs.count, float(laws[:, WIDEST].max()), self._side)),
            *finding,
            Stage(_judge, judging),
            *solving,
            Stage(_move, (rows, p.free, p.gap, p.force, self._ease, work, d, back - ahead)),
            spread_stage(best.rows, near, self._columns, best.force, self._model.size, work.out),
            Stage(_book, (best.rows, best.force, laws, work.course)),
        ]

    def save(self) -> dict[str, Array]:
        """Return the lists of the search: what is found first depends on when they were made."""
        if self._surface is None:
            return {}
        return {f"{SEARCHES}{name}": np.array(values) for name, values in lists.save_search(self._search).items()}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""
        if self._surface is not None:
            mine = {name.removeprefix(SEARCHES): np.array(v) for name, v in saved.items() if name.startswith(SEARCHES)}
            self._search, self._program = lists.restore_search(self._search, mine), None


def near_nodes(model: Model, setup: ContactSetup) -> Indices:
    """Return the rows of the nodes that can touch anything."""
    surface = _surface(model, setup)
    nodes = [np.zeros(0, np.int64), *(tool.candidates for tool in model.tools)]
    return np.unique(np.concatenate(nodes if surface is None else [*nodes, surface.vertex]))


def law_numbers(laws: Array, h: float) -> Array:
    """Return what the cone problem of a step of `h` [s] knows of the laws (L, NUMBERS), whatever their contacts do."""
    out = np.zeros((len(laws), law_force.NUMBERS))
    out[:, law_force.KIND] = np.where(laws[:, SOFT] > 0.0, law_force.SPRING, law_force.HARD)
    same = {name: getattr(law_force, name) for name in ("STIFFNESS", "DAMPING", "INTEGRAL")}
    same |= {"SHIFT": law_force.LEVEL, "FRICTION": law_force.KINETIC, "STATIC_FRICTION": law_force.STATIC}
    for name, column in same.items():
        out[:, column] = laws[:, getattr(form, name)]
    out[:, law_force.CREEP] = h * laws[:, form.SLIP_SPEED]
    return out


def _surface(model: Model, setup: ContactSetup) -> ContactSurface | None:
    """Return the surfaces that can touch, their nodes as rows of the model; None if none can."""
    surface = surface_of(model.problem.bodies, model.dimension, setup)
    if surface is None:
        return None
    if any(body.space.order != 1 for body in model.bodies):
        raise RheotwinError(
            "contact: surfaces of quadratic elements are curved, which contact between bodies does not follow; set "
            "solvers.fem.order = 1, or contact.bodies = false and contact.self = false"
        )
    return _renumbered(surface, model.vertex_rows)


def _renumbered(surface: ContactSurface, number: Indices) -> ContactSurface:
    """Return a surface with other numbers for its nodes."""
    old = {name: getattr(surface, name) for name in ("vertex", "face", "edge", "edge_opposite")}
    return surface._replace(**{name: np.where(nodes >= 0, number[nodes], nodes) for name, nodes in old.items()})


@compiled(inside=True, vectors=True)
def _look(work: Work, active: Flags, count: Indices, widest: float, side: float) -> None:
    """Go where the last round ended, and say how far to look there for contacts."""
    nodes, poses, farthest, carried = work.nodes, work.poses, 0.0, 0.0
    for i in range(nodes.shape[1]):
        for c in range(3):
            farthest = max(farthest, abs(nodes[MOVES, i, c]), abs(nodes[FREELY, i, c]))
            nodes[AT_END, i, c] = nodes[AT_BEGIN, i, c] + nodes[MOVES, i, c]
    for tool in range(poses.shape[1]):
        for c in range(3):
            carried = max(carried, abs(poses[NOW, tool, c] - poses[BEFORE, tool, c]))
    work.course[REACH] = 4.0 * (farthest + carried) + widest
    work.course[BETWEEN] = min(work.course[REACH], side)
    # A corner at a corner has one face in one round and another in the next, for ever if it may choose.
    holds = work.course[TURN] > CHOOSING
    for slot in range(active.shape[0] if side > 0.0 else 0):
        work.active[slot] = active[slot] or (holds and work.slots[KNOWN, slot] > 0)
    count[0] = 0


@compiled(inside=True, vectors=True)
def _stop_if_full(full: Indices) -> int:
    return 0 if full[0] == lists.FINE else LISTS_FULL


@compiled(inside=True, vectors=True)
def _cut(laws: Array, law: int, active: bool) -> float:
    """Return the gap [m] from which on a contact feels nothing."""
    return float(laws[law, WIDEST] if active and laws[law, LASTS] > 0.0 else laws[law, form.SHIFT])


@compiled(inside=True, vectors=True)
def _judge(
    found: Rows, rows: Rows, force: Array, state: Indices, stuck: Indices, course: Array, best: Solved, laws: Array,
    active: Flags, work: Work, extent: float, lenient: bool, back: int, ahead: int,
) -> int:  # fmt: skip
    """Compare what was found with what was solved: keep the best round, and finish or list the contacts to solve next.

    Contacts matter that are closed at the end of the step, or are compliant and were closed before. If `lenient`, those
    that supports hold closed may be so.
    """
    told, slots, k, closed, new, many = work.course, work.slots, found.push.shape[1], 0.0, False, 0
    for i in range(found.count[0]):
        slot, law, gap = found.who[i, SLOT], found.who[i, LAW], found.place[i, GAP]
        cut, soft = _cut(laws, law, active[slot]), laws[law, SOFT] > 0.0
        before = _at(rows, slots[WHERE, slot], slot)
        if not soft and not (lenient and before >= 0 and stuck[before] > 0):
            closed = max(closed, -gap)
        slots[FOUND, slot] = i
        # What touched in one round stays for all: contacts that took turns would never settle.
        if slots[KNOWN, slot] > 0 or gap < cut or (soft and found.place[i, BEGIN] < cut):
            slots[KNOWN, slot] = 1
            new = new or before < 0
            many += 1
    if told[BEGUN] == 0.0 and many == 0:
        best.rows.count[0] = 0
        return ahead
    if told[BEGUN] > 0.0:
        off = np.inf if new else _mismatch(found, rows, force, slots, extent)
        # Where all rounds fail, what overlaps least counts first, what was foreseen best next.
        order = max(closed, min(off, TIGHT * extent))
        if order < told[WORST] or (order == told[WORST] and off < told[FORESEEN]):
            told[WORST], told[FORESEEN], told[CLOSED], told[MISSED] = order, off, closed, course[cone.DEFECT]
            best.rows.count[0] = rows.count[0]
            for i in range(rows.count[0]):
                copy_row(rows, i, best.rows, i)
                best.state[i], now = state[i], slots[FOUND, rows.who[i, SLOT]]
                for e in range(k):
                    best.force[i * k + e] = force[i * k + e]
                for c in range(POINT, GAP if _at(found, now, rows.who[i, SLOT]) >= 0 else POINT):  # where it is now
                    best.rows.place[i, c] = found.place[now, c]
            for tool in range(work.poses.shape[1]):
                for c in range(4):
                    work.poses[BEST, tool, c] = work.poses[NOW, tool, c]
        # What was not solved better is not closed by more either; all else was not foreseen.
        if off <= SETTLED * extent and closed <= SETTLED * extent + course[cone.DEFECT]:
            return ahead
    if told[TURN] >= ROUNDS:
        return ahead
    if many > state.shape[0] // k:
        return NO_ROOM
    told[TURN], told[BEGUN], rows.count[0] = told[TURN] + 1.0, 1.0, 0
    for i in range(found.count[0]):
        slot, j = found.who[i, SLOT], rows.count[0]
        if slots[KNOWN, slot] > 0:
            copy_row(found, i, rows, j)
            slots[WHERE, slot], rows.count[0] = j, j + 1
            for e in range(k):
                force[j * k + e] = work.guess[slot, e]
    if many > 0:
        return 0
    course[cone.DEFECT] = 0.0  # what the last round found is nowhere after it
    for i in range(work.nodes.shape[1]):
        for c in range(3):
            work.nodes[MOVES, i, c] = work.nodes[FREELY, i, c]
    for tool in range(work.poses.shape[1]):
        for c in range(4):
            work.poses[NOW, tool, c] = work.poses[UNPUSHED, tool, c]
    return back


@compiled(inside=True, vectors=True)
def _at(rows: Rows, place: int, slot: int) -> int:
    """Return the place if the contact with this slot is there, else -1."""
    return place if place < rows.count[0] and rows.who[place, SLOT] == slot else -1


@compiled(inside=True, vectors=True)
def _mismatch(found: Rows, rows: Rows, force: Array, slots: Indices, extent: float) -> float:
    """Return how far gaps of pushing contacts are from what was foreseen [m]; infinite if contacts come or go."""
    k, off = found.push.shape[1], 0.0
    for i in range(rows.count[0]):
        if force[i * k] > 0.0:
            now = _at(found, slots[FOUND, rows.who[i, SLOT]], rows.who[i, SLOT])
            if now < 0:
                return np.inf
            off = max(off, abs(rows.place[i, BEGIN] + rows.place[i, MOVED] - found.place[now, GAP]))
            # A foot that moved on leaves a moment behind; one that moved to the next face has the same place there.
            same, change = True, 0.0
            for a in range(4):
                same = same and rows.who[i, NODE + a] == found.who[now, NODE + a]
                change = max(change, abs(rows.place[i, WEIGHT + a] - found.place[now, WEIGHT + a]))
            if same:
                off = max(off, SLID * change * extent)
    return off


@compiled(inside=True, vectors=True)
def _load(
    rows: Rows, free: Array, numbers: Array, laws: Array, given: Array, active: Flags, sliding: Flags, integral: Array,
    nodes: Array, poses: Array, start: Start | None, instant: Instant,
) -> None:  # fmt: skip
    """Write the laws of the contacts, and their gaps and slips without force, which they move by for now."""
    k, place = rows.push.shape[1], rows.place
    for i in range(rows.count[0]):
        law, slot, begin = rows.who[i, LAW], rows.who[i, SLOT], place[i, BEGIN]
        for e in range(k):
            place[i, MOVED + e] += along_nodes(rows, i, e, nodes[FREELY]) - along_nodes(rows, i, e, nodes[MOVES])
            place[i, MOVED + e] -= along_tool(rows, i, e, poses[UNPUSHED]) - along_tool(rows, i, e, poses[NOW])
            free[i * k + e] = place[i, MOVED + e]
        free[i * k] += begin
        for c in range(law_force.NUMBERS):
            numbers[i, c] = given[law, c]
        if not active[slot]:
            numbers[i, law_force.INTEGRAL] = 0.0
        numbers[i, law_force.PAST], numbers[i, law_force.START] = integral[slot], begin
        numbers[i, law_force.CUT] = _cut(laws, law, active[slot])
        numbers[i, law_force.SLID] = 1.0 if sliding[slot] and active[slot] else 0.0
        if start is not None:
            parting, coming = _parting(rows, i, laws[law, form.RESTITUTION], free[i * k], start)
            place[i, PARTING] = parting
            if parting > 0.0:
                # At the mean of the rates before and after: the impulse then takes (1 - e^2)/2 u P/(1 + e), nothing
                # if e = 1.
                back = begin + 0.5 * instant.step * (coming + parting)
                free[i * k] -= min(max(back, 0.0), max(begin, 0.0))


@compiled(inside=True, vectors=True)
def _parting(rows: Rows, i: int, restitution: float, gap: float, start: Start) -> tuple[float, float]:
    """Return the rates [m/s] with which a contact parts (0 but for `impulse` and what comes from outside) and comes.

    `gap` [m] is that at the end without contact. What comes no faster than one step could make it stays: otherwise a
    body would hop on a floor for ever.
    """
    coming = along_nodes(rows, i, 0, start.velocity) - along_tool(rows, i, 0, start.rate)
    gained = along_nodes(rows, i, 0, start.free_velocity) - along_tool(rows, i, 0, start.free_rate) - coming
    bounces = rows.place[i, BEGIN] > 0.0 and gap < 0.0 and coming < -abs(gained)
    return -restitution * coming if bounces else 0.0, coming


@cache
def _starting(shape: int) -> Any:
    """Return the stage that makes springs at a tool of this shape begin at the gap to its pose before the step.

    Along the normal at the end a node at an edge or a curved face seems to have been deeper than it was (gaps of
    convex tools are convex), and a spring would give back what it never took.
    """
    gap_of = gap_at(shape)

    @compiled(inside=True, vectors=True)
    def start(rows: Rows, law: Array, tool: int, geometry: Array, pose: Array, mesh: Any, begin: Array) -> None:
        for i in range(rows.count[0]):
            if rows.who[i, TOOL] != tool or law[i, law_force.START] >= law[i, law_force.LEVEL]:
                continue
            gap, _ = gap_of(mesh, geometry, pose, row(begin, rows.who[i, NODE]), np.inf)
            law[i, law_force.START] = max(law[i, law_force.START], gap)

    return start


@compiled(inside=True, vectors=True)
def _move(rows: Rows, free: Array, gap: Array, force: Array, ease: Array, work: Work, d: int, back: int) -> int:
    """Move nodes and tools by the forces that were found, and go back to look there."""
    k, nodes, poses = rows.push.shape[1], work.nodes, work.poses
    for i in range(rows.count[0]):
        for e in range(k):
            rows.place[i, MOVED + e] += gap[i * k + e] - free[i * k + e]
            work.guess[rows.who[i, SLOT], e] = force[i * k + e]
    for i in range(nodes.shape[1]):
        for c in range(d):
            nodes[MOVES, i, c] = nodes[FREELY, i, c] + work.out[d * i + c]
    for tool in range(poses.shape[1]):
        for c in range(4):
            poses[NOW, tool, c] = poses[UNPUSHED, tool, c]
    push_tools(rows, force, ease, poses[NOW])
    return back


@compiled(inside=True, vectors=True)
def _book(rows: Rows, force: Array, laws: Array, told: Array) -> None:
    """Book the energy that the best forces took: normal ones -sum lambda (g1 - g0), friction -sum t . slip."""
    k, before = rows.push.shape[1], told[STORED]
    told[STORED] = 0.0
    for i in range(rows.count[0]):
        law, place, taken = rows.who[i, LAW], rows.place, -force[i * k] * rows.place[i, MOVED]
        if laws[law, SOFT] > 0.0:
            depth = min(place[i, BEGIN] + place[i, MOVED] - laws[law, form.SHIFT], 0.0)
            told[STORED] += 0.5 * laws[law, form.STIFFNESS] * depth * depth
        told[DAMPED if laws[law, SOFT] > 0.0 else BY_EXACT] += taken
        for e in range(1, k):
            told[RUBBED] -= force[i * k + e] * place[i, MOVED + e]
    told[DAMPED] -= told[STORED] - before
