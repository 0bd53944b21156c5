"""The solver `slave`: elastoplastic masters with a cloud of slaves, bodies that split and merge without a mesh."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel

from rheotwin.arrays import Array, Flags, Indices, Reals
from rheotwin.constraints.contact.laws.form import pack_laws
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.contact.tool_motion import finish_tools, pack_drives, tool_stages, tools_at_start
from rheotwin.constraints.contact.tool_pairs import mesh_tools
from rheotwin.constraints.motion import pack_tables
from rheotwin.constraints.tools import pack_tools
from rheotwin.errors import RheotwinError, Stopped
from rheotwin.kernels.blocks import STEP, TIME
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.particles.slave.cloud import FLUNG, Slaves, cloud_of, find_flung, grown
from rheotwin.particles.slave.forces import Scratch, Solve, find_stress, solve_velocities
from rheotwin.particles.slave.lists import FULL_LISTS, keep_lists, new_lists
from rheotwin.particles.slave.options import OPTIONS, SlaveOptions
from rheotwin.particles.slave.results import energies, particle_fields, stress_of
from rheotwin.particles.slave.setup import (
    EXPLICIT,
    LONGEST,
    SEMI_IMPLICIT,
    check_memory,
    laws_of,
    step_bound,
    who_meets,
)
from rheotwin.particles.slave.splitting import (
    ADDED,
    BROKEN,
    FULL_SLAVES,
    LACKING,
    REMOVED,
    Splits,
    find_linked,
    neighbours,
    pieces,
    room_for_links,
    split,
)
from rheotwin.particles.slave.splitting import (
    FIRST as FIRST_SPLIT,
)
from rheotwin.particles.slave.touching import (
    Acting,
    Held,
    Supports,
    add_loads,
    begin_held,
    begin_touching,
    foresee,
    hold_slaves,
    keep_on_supports,
    keeping_out,
    meeting_slaves,
    share_reactions,
)
from rheotwin.particles.slave.transfer import (
    Rule,
    find_weights,
    follow_masters,
    kick,
    move_slaves,
    note_before,
    to_masters,
    to_slaves,
)
from rheotwin.particles.stability import chosen_step
from rheotwin.particles.steps import pack_loads
from rheotwin.particles.virial import averaging, nodal_strain
from rheotwin.problem import Problem, on_supports
from rheotwin.schedule import time_of
from rheotwin.solver import RUNAWAY, SOLID_TOOLS, Capabilities, check_same_step
from rheotwin.tensors import padded, von_mises

STRIDE = 40
"""Slaves in a list at the start; more where a master sees more."""


class SlaveSimulation:
    """A running simulation (`rheotwin.solver.Simulation`)."""

    def __init__(self, problem: Problem, options: SlaveOptions) -> None:
        check_memory(sum(body.mesh.t.shape[1] for body in problem.bodies))
        bound, unit = step_bound(problem, options)
        usual = options.safety * bound.step if options.scheme == "explicit" else min(LONGEST, SEMI_IMPLICIT * unit)
        self._step = chosen_step(problem, options, bound, OPTIONS, lambda: min(usual, problem.scene.duration))
        self._problem, self._options = problem, options
        self.step_size, self.stable_step, self.step_count = float(self._step), bound.step, 0
        self._constants, law, memory = laws_of(problem)
        self._explicit_step = EXPLICIT * unit
        self.cloud = cloud_of(problem, law, memory, not options.slaves)
        self._volume = self.cloud.spacing**3
        self._gravity = padded(problem.gravity[None])[0]
        self._start = self.cloud.masters.x.copy()
        setup = problem.contact or ContactSetup.exact(len(problem.tools))
        self._tools, self._drives = pack_tools(problem.tools), pack_drives(problem.tools)
        self._motion, self._laws = tools_at_start(problem.tools), pack_laws(setup.tool_laws)
        shape = (len(problem.tools), 3)
        self._acting = Acting(np.zeros(shape), np.zeros(shape), np.zeros(1, np.int64))
        motions = [item.motion for item in problem.prescribed]
        self._supports = Supports(problem.owners.astype(np.int64), pack_tables(motions, 3), np.zeros((len(motions), 3)))
        self._loads, self._flung = pack_loads(problem), np.zeros(1, np.int64)
        pairs = neighbours(problem)
        self.splits = Splits(
            pairs,
            np.ones(len(pairs), np.bool_),
            np.array([0, 0, 0, -1, -1, 0]),
            np.arange(len(problem.points)) if options.slaves else np.full(len(problem.points), -1),
            np.zeros(len(problem.points), np.int64),
            *room_for_links(self.cloud.slaves.room),
        )
        self._counts = np.zeros(4, np.int64)
        self._clock, self._stride = Clock(), STRIDE
        self._bind()
        self.program.run(0, 0)

    def _bind(self) -> None:
        """Bind all arrays to the stages of a step."""
        (masters, slaves, d), many = self.cloud, self.cloud.slaves.room
        options, tools, motion, drives = self._options, self._tools, self._motion, self._drives
        lists, room, slope, way = (
            new_lists(masters, slaves, self._stride),
            np.zeros((4, 4)),
            np.zeros((3, 3)),
            np.zeros(3),
        )
        scratch = Scratch(np.zeros((3, 8)), np.zeros((3, 8)), np.zeros((3, 8)), np.zeros(3), np.zeros(3))
        self.lists, held = lists, None
        if options.scheme == "semi-implicit":
            held = Held(np.zeros((many, 6)), np.zeros(many, np.int64))
        touching = len(tools.shape) > 0
        supported = bool((self._problem.owners >= 0).any())
        stages = [
            Stage(keep_lists, (masters, slaves, lists, d)),
            *(
                [Stage(split, (masters, slaves, lists, self.splits, options.add, d, self._clock.number))]
                if options.slaves
                else []
            ),
        ]
        given, before = (masters, slaves, lists, d, not options.slaves), None
        if options.transfer == "blend" and options.slaves:
            before = np.zeros((many, 4))
            stages += [Stage(to_slaves, (*given, 0.0, room, slope)), Stage(note_before, (slaves, before))]
        stages += [Stage(to_slaves, (*given, STEP, room, slope)), Stage(kick, (slaves, self._gravity, STEP))]
        if len(self._loads.node):
            stages += [Stage(add_loads, (self._loads, self.splits.where, TIME, slaves, STEP))]
        if held is not None:
            stages += [Stage(begin_held, (held, slaves.count))]
        if touching or supported:
            stages += [Stage(begin_touching, (self._acting, self._supports))]
        if supported:
            stages += [Stage(hold_slaves, (self._supports, slaves, held, self._clock.end, STEP))]
        if touching:
            stages += tool_stages(tools.tables, drives, motion, self._clock.end, STEP)
        meshes = mesh_tools(tools)
        whose = [
            (
                meshes[row],
                row,
                tools.geometry[row],
                motion,
                drives.inverse_mass[row],
                self._laws[row],
                who_meets(self._problem, row),
            )
            for row in range(len(tools.shape))
        ]
        for row, shape in enumerate(tools.shape.tolist()):
            stages += [Stage(meeting_slaves(shape), (*whose[row], slaves, held, self._acting, STEP))]
        if held is not None:
            residual, direction, image = (np.zeros((many, 4)) for _ in range(3))
            solve = Solve(residual, direction, image, options.tolerance, options.iterations, room, slope, self._counts)
            beta = options.implicitness * self._volume
            system = (masters, self._constants, slaves, lists, held.free)
            stages += [Stage(solve_velocities, (*system, beta, STEP, solve))]
            if touching or supported:
                there = (tools.geometry, motion, slaves, self._supports, self._acting, STEP)
                stages += [Stage(share_reactions, (held, solve.residual, *there))]
        rule = Rule(before is not None, options.transfer == "paper", not options.slaves, options.alpha)
        stages += [
            Stage(to_masters, (masters, slaves, lists, self._gravity, rule, before, STEP, room, way)),
            Stage(find_stress, (masters, self._constants, scratch, self._explicit_step, STEP)),
            Stage(move_slaves, (slaves, STEP)),
        ]
        if supported:
            stages += [Stage(keep_on_supports, (self._supports, slaves, STEP))]
        if drives.free.any():
            stages += [Stage(foresee, (drives.free, motion, STEP))]
        for row, shape in enumerate(tools.shape.tolist()):
            moving = (masters.x, masters.v, masters.mass, slaves, d, self._acting, STEP)
            stages += [Stage(keeping_out(shape), (*whose[row], *moving))]
        if touching:
            stages += [Stage(finish_tools, (drives.free, motion.pose, motion.end, motion.velocity, STEP))]
        if not options.slaves:
            stages += [Stage(follow_masters, (masters.x, slaves.x))]
        far = RUNAWAY * self._problem.extent
        stages += [Stage(find_flung, (masters, self._start, far, self._flung))]
        self.program = Program(stages, self.step_size, self._clock)

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._step, self.step_count)

    def _at_nodes(self, rows: Array, otherwise: Array) -> Array:
        """Return rows of slaves at the nodes where they began; of masters alone, the mean of those around a node."""
        if not self._options.slaves:
            return np.asarray(self._averaged @ rows[:, :3])
        where = self.splits.where
        return np.where((where >= 0)[:, None], rows[where, :3], otherwise)

    @cached_property
    def _averaged(self) -> Any:
        """The matrix that averages masters to the nodes of their cells (N, M)."""
        cells = np.concatenate([body.mesh.t.T + body.first_node for body in self._problem.bodies])
        many = np.bincount(cells.ravel(), minlength=len(self._problem.points))
        return averaging(cells, np.full(len(cells), 8.0), many.astype(float))

    @property
    def positions(self) -> Array:
        """Current node positions (N, 3) [m]: those of slaves that began there, or of the master it rides with."""
        if not self._options.slaves:
            moved = self._averaged @ (self.cloud.masters.x - self._start)[:, :3]
            return np.asarray(self._problem.points + moved)
        return self._at_nodes(self.cloud.slaves.x, self.cloud.masters.x[self.splits.rider, :3])

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, 3) [m/s]."""
        rows = self.cloud.slaves.v if self._options.slaves else self.cloud.masters.v
        return self._at_nodes(rows, self.cloud.masters.v[self.splits.rider, :3])

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        left = max(0, min(round(until / self.step_size) - self.step_count, max_steps))
        while left > 0:
            taken = self.program.run(self.step_count, left)
            self.step_count, left = self.step_count + taken, left - taken
            if self.program.ended_by is None:
                continue
            name, answer = self.program.ended_by
            if answer == FULL_LISTS:
                self._stride = -(-(int(self.lists.age[2]) + 4) // 8) * 8
            elif answer == FULL_SLAVES:
                self._make_room(int(self.splits.counts[LACKING]) * 3 // 2)
            elif answer == FLUNG:
                raise self._stopped()
            else:
                raise RuntimeError(f"{name} ended a step with {answer}")
            self._bind()

    def _make_room(self, room: int) -> None:
        self.cloud = self.cloud._replace(slaves=grown(self.cloud.slaves, room))
        heads, links = room_for_links(room)
        self.splits = self.splits._replace(heads=heads, links=links)

    def _stopped(self) -> Stopped:
        m, time = int(self._flung[0]), self.time
        x, body = self._start[m, :3], self._problem.bodies[int(self._body[m])].name
        where = ", ".join(f"{number:.4g}" for number in x)
        return Stopped(
            f"the run diverged at t = {time:.6g} s in body '{body}' at master {m} (at the start at {where} m), flung "
            f"further than {RUNAWAY:g} times the extent of all bodies: reduce the step (now {self.step_size:.4g} s)",
            time=time,
        )

    @property
    def _body(self) -> Indices:
        return np.repeat(np.arange(len(self._problem.bodies)), [b.mesh.t.shape[1] for b in self._problem.bodies])

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        problem, slaves = self._problem, self.cloud.slaves
        stress = self._averaged @ stress_of(self.cloud.masters, self._constants)
        displacement = self.positions - problem.points
        return {
            "displacement": displacement,
            "velocity": self.velocities,
            "stress": stress,
            "strain": nodal_strain(problem)(displacement),
            "von_mises_stress": von_mises(stress),
            "memory_stress": np.zeros_like(stress),
            "contact_force": self._at_nodes(slaves.push, np.zeros(3)),
        }

    def reactions(self) -> dict[str, Array]:
        """Return the force (3,) [N] the bodies exert on each tool and support, and moments [N m] on tools."""
        found = {}
        for row, tool in enumerate(self._problem.tools):
            found[f"tool.{tool.name}"] = self._acting.force[row].copy()
            if self._problem.contact is not None:
                found[f"tool.{tool.name}.moment"] = self._acting.moment[row].copy()
        return found | on_supports(self._problem.prescribed, self._supports.force.copy())

    def energy(self) -> dict[str, float]:
        """Return kinetic energy, m v^2/2 without that of velocity gradients, and what masters store [J]."""
        return energies(self.cloud, self._constants)

    def statistics(self) -> dict[str, Any]:
        """Return what the manifest should tell."""
        counts = self._counts.tolist()
        found = {
            "scheme": self._options.scheme,
            "spacing": self.cloud.spacing,
            "masters": len(self.cloud.masters.x),
            **self.counts(),
            "first_split": self.first_split if np.isfinite(self.first_split) else None,
            "lists_made": int(self.lists.age[1]),
            "active_contacts": int(self._acting.active[0]),
        }
        if self._options.scheme == "semi-implicit":
            found |= {"iterations": counts[2] / max(1, self.step_count), "most_iterations": counts[1]}
            found |= {"solves_loose": counts[3]}
        return found

    @property
    def first_split(self) -> float:
        """Time [s] at which a pair first broke or a node was taken away; infinity before."""
        number = int(self.splits.counts[FIRST_SPLIT])
        return np.inf if number < 0 else time_of(self._step, number)

    def _pieces(self) -> Indices:
        linked = self.splits.whole.copy()
        if not linked.all():
            self._linking(linked).run(self.step_count, 1)
        return pieces(self.splits.pairs, linked, len(self.cloud.masters.x))

    def _linking(self, linked: Flags) -> Program:
        """Return the program that sees with lists and weights of its own, which change nothing."""
        masters, slaves, d = self.cloud
        lists = new_lists(masters, slaves, self._stride)
        seeing = (masters.x, slaves.x, lists, d, np.zeros((4, 4)))
        stages = [Stage(keep_lists, (masters, slaves, lists, d)), Stage(find_weights, seeing)]
        return Program([*stages, Stage(find_linked, (self.splits, lists, linked))], self.step_size, Clock())

    def particles(self) -> tuple[Array, dict[str, Reals]]:
        """Return the places (M, 3) [m] of the masters and all `PARTICLE_FIELDS`."""
        own: dict[str, Reals] = {"body": self._body, "piece": self._pieces()}
        found = {**particle_fields(self.cloud, self._constants), **own}
        return self.cloud.masters.x[:, :3].copy(), found

    def counts(self) -> dict[str, int]:
        """Return pieces, slaves, and what was added, removed or broken since time zero."""
        counts = self.splits.counts
        return {
            "pieces": int(self._pieces().max()) + 1,
            "slaves": int(self.cloud.slaves.count[0]),
            "slaves_added": int(counts[ADDED]),
            "slaves_removed": int(counts[REMOVED]),
            "pairs_broken": int(counts[BROKEN]),
        }

    def tool_poses(self) -> Array:
        """Return where the tools are: (T, 4) [m, m, m, rad]."""
        return np.asarray(self._motion.pose.copy())

    def _parts(self) -> dict[str, Array]:
        """Return all arrays that a step hands to the next, but for slaves."""
        found = {f"masters.{name}": array for name, array in self.cloud.masters._asdict().items()}
        found |= {f"tools.{name}": array for name, array in self._motion._asdict().items()}
        found |= {"force": self._acting.force, "moment": self._acting.moment, "supports": self._supports.force}
        splits = self.splits
        found |= {"whole": splits.whole, "splits": splits.counts, "where": splits.where, "rider": splits.rider}
        return found | {"iterations": self._counts}

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        found = {name: array.copy() for name, array in self._parts().items()}
        slaves, count = self.cloud.slaves, int(self.cloud.slaves.count[0])
        found |= {f"slaves.{name}": array[:count].copy() for name, array in slaves._asdict().items() if name != "count"}
        return found | {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        check_same_step(state, self.step_size)
        own = self._parts()
        for name, array in own.items():
            if array.shape != state[name].shape:
                continue  # supports of another phase
            array[...] = state[name]
        names = [name for name in Slaves._fields if name != "count"]
        rows: dict[str, Any] = {name: np.array(state[f"slaves.{name}"]) for name in names}
        count = len(rows["x"])
        self.cloud = self.cloud._replace(slaves=Slaves(**rows, count=np.array([count])))
        self.step_count = int(state["step_count"])
        self._make_room(count + count // 16 + 64)
        self._bind()


class SlaveSolver:
    """Plug-in: masters with a cloud of slaves, semi-implicit or explicit, compiled."""

    name: ClassVar[str] = "slave"
    description: ClassVar[str] = "elastoplastic masters in a cloud of slaves: bodies split and merge; compiled"
    options: ClassVar[type[BaseModel]] = SlaveOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({3}),
        cells=frozenset({"hex"}),
        laws=frozenset({"elastic", "elastoplastic"}),
        tools=SOLID_TOOLS,
        contact=frozenset({"exact", "impulse", "friction", "driven tools"}),
        parts=True,
        splits=True,
    )

    def start(self, problem: Problem, options: BaseModel) -> SlaveSimulation:
        """Set up masters and slaves at time zero."""
        assert isinstance(options, SlaveOptions)
        if not options.slaves and (problem.prescribed or problem.loads):
            raise RheotwinError(
                f"{OPTIONS}.slaves: false leaves no slaves for supports and loads to act on; leave it out"
            )
        return SlaveSimulation(problem, options)
