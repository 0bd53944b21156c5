"""The run loop: carries a simulation through its planned stops, and knows how to end early.

The simulation advances in chunks of steps, sized so that the loop looks up about ten times a second: often
enough for a progress bar and ctrl-C, seldom enough to cost nothing. The size of a chunk never changes a result.

It stops runs that cannot go on: tools thrown off by contact, nodes squeezed where there is no place to be.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, process_time
from types import FrameType

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.laws.form import normal
from rheotwin.constraints.contact.near_tools import ToolLook
from rheotwin.constraints.contact.setup import ToolDrive
from rheotwin.constraints.tools import CENTER, RigidTool, bounding_radius, gaps_in_pose
from rheotwin.errors import EXIT_DIVERGED, EXIT_INTERRUPTED, EXIT_OK, Diverged, Squeezed, Stopped
from rheotwin.observers.protocol import Observer, Watched
from rheotwin.problem import Problem
from rheotwin.schedule import Stop
from rheotwin.solver import RUNAWAY, Splitting, tool_poses
from rheotwin.tensors import padded

OWN = 2.0
"""How many times the way that forces alone could have taken a tool counts as its own: bounces, and errors of steps."""
DEEP = 1e-3
"""A node deeper than this share of the extent of all bodies in a tool that does not give way could not leave it."""


def check_tools(run: Watched) -> None:
    """Raise `Stopped` if a tool that forces move is nowhere, or so far off that only contact can have thrown it there.

    A node is lost `RUNAWAY` body diagonals from its place, whatever brought it there. A tool may be that far for a
    good reason: it passed the bodies, or missed them, and falls for the rest of the run. So what its own speed and
    forces could have made of the time, |v0| t + int int |F|/M, is its own, and beyond it the same limit counts. A
    position tells more surely than a speed, which a body may give to a light tool for a moment. The angle may grow as
    it likes, as that of a roller does.
    """
    problem, simulation = run.problem, run.simulation
    if all(tool.drive is None for tool in problem.tools):
        return
    for tool, pose in zip(problem.tools, tool_poses(problem, simulation), strict=True):
        if tool.drive is None:
            continue
        limit, way = (
            RUNAWAY * problem.extent,
            np.linalg.norm((pose - tool.motion.at(0.0))[:3][list(tool.drive.free[:3])]),
        )
        if np.isfinite(pose).all() and (way <= limit or way <= limit + OWN * own_way(tool.drive, simulation.time)):
            continue
        advice = f"reduce the step (now {simulation.step_size:.4g} s), or make the tool heavier or its contact softer"
        raise Stopped(
            f"the run diverged at t = {simulation.time:.6g} s at tools.{tool.name}, {way:.4g} m from where it started, "
            f"further than its own forces take it: {advice}",
            time=simulation.time,
        )


def own_way(drive: ToolDrive, time: float) -> float:
    """Return |v0| t + int int |F|/M [m] of a tool's translations up to `time` [s], forces straight in between.

    |F| is at most the straight line between its own values: for it the integrals over each piece are exact.
    """
    free = np.array(drive.free[:3])
    times = np.append(drive.force.times[drive.force.times < time], time)
    times = np.unique(np.append(times[times > 0.0], 0.0))
    pull = np.array([np.linalg.norm((drive.force.at(at)[:3] * drive.inverse_masses[:3])[free]) for at in times])
    way, speed = 0.0, float(np.linalg.norm(np.array(drive.velocity[:3])[free]))
    for length, first, last in zip(np.diff(times), pull[:-1], pull[1:], strict=True):
        way += speed * length + (first / 3.0 + last / 6.0) * length**2
        speed += 0.5 * (first + last) * length
    return float(way)


class Squeezes:
    """Raises `Squeezed` if a surface node is deep in a tool of the laws exact or impulse that may touch it.

    Either law ends every step outside of a tool, to a depth that falls with the step, unless something is in the way:
    another tool, or a support that holds the node. What a support already held inside at the start, of which the run
    has warned, must not get deeper by as much. Bodies that may split give way, and their nodes may be inside of tools.
    """

    def __init__(self, problem: Problem) -> None:
        looks = {row: problem.tools[row] for row in _hard_tools(problem)}
        self._looks = {row: ToolLook(tool, len(tool.candidates)) for row, tool in looks.items()}

    def check(self, run: Watched) -> None:
        """Look at all nodes once."""
        problem = run.problem
        if not self._looks or isinstance(run.simulation, Splitting):
            return
        x, poses, depth = padded(run.simulation.positions), tool_poses(problem, run.simulation), DEEP * problem.extent
        found: dict[int, tuple[Indices, Array]] = {}
        for row, look in self._looks.items():
            tool = problem.tools[row]
            nodes = _close(tool, poses[row], x, problem.dimension)
            gaps = look.at(poses[row], x[nodes])[0]
            nodes, gaps = nodes[gaps < -depth], gaps[gaps < -depth]
            if len(nodes):
                chosen = gaps < -depth - _held_at_start(problem, tool, nodes)
                if chosen.any():
                    found[row] = nodes[chosen], gaps[chosen]
        if found:
            raise _squeezed(run, x, poses, list(self._looks), found, depth)


def _hard_tools(problem: Problem) -> list[int]:
    """Return the tools that do not give way: all of them in a problem without laws."""
    if problem.contact is None:
        return list(range(len(problem.tools)))
    return [row for row, law in enumerate(problem.contact.tool_laws) if not normal(law.law).soft]


def _close(tool: RigidTool, pose: Array, x: Array, dimension: int) -> Indices:
    """Return candidates, all but such as cannot be inside of a triangulated surface: distances to it cost most."""
    nodes = tool.candidates
    if tool.surface is None:
        return nodes
    center = tool.geometry[CENTER : CENTER + 3] + pose[:3]
    return np.asarray(nodes[np.linalg.norm(x[nodes] - center, axis=1) < bounding_radius(tool, dimension)])


def _held_at_start(problem: Problem, tool: RigidTool, nodes: Indices) -> Array:
    """Return how deep [m] in a tool nodes began that a support holds; 0 for all others, which the first step moves."""
    gaps = gaps_in_pose(tool, tool.motion.at(0.0), padded(problem.points[nodes]))
    return np.where(np.any(problem.owners[nodes] >= 0, axis=1), np.maximum(-gaps, 0.0), 0.0)


def _squeezed(
    run: Watched, x: Array, poses: Array, hard: list[int], found: dict[int, tuple[Indices, Array]], depth: float
) -> Squeezed:
    """Say which tools and supports have the nodes of a body between them, the one with the deepest node."""
    problem = run.problem
    nodes = np.concatenate([deep for deep, _ in found.values()])
    gaps = np.concatenate([gap for _, gap in found.values()])
    deepest = int(gaps.argmin())
    body = problem.body_of(int(nodes[deepest]))
    mine = np.unique(nodes[(nodes >= body.nodes.start) & (nodes < body.nodes.stop)])
    tools = [
        problem.tools[row].name
        for row in hard
        # A tool that touches what is deep in another one is in its way.
        if np.any(
            gaps_in_pose(problem.tools[row], poses[row], x[np.intersect1d(mine, problem.tools[row].candidates)]) < depth
        )
    ]
    owners = problem.owners[mine]
    return Squeezed(
        time=run.simulation.time,
        tools=tuple(tools),
        supports=tuple(dict.fromkeys(problem.prescribed[owner].support for owner in np.unique(owners[owners >= 0]))),
        body=body.name,
        node=int(nodes[deepest]) - body.first_node,
        nodes=len(mine),
        depth=-float(gaps[deepest]),
    )


CHUNK_SECONDS = 0.1


@dataclass(frozen=True)
class Outcome:
    """How a run ended: status, a sentence, an exit code, and what it cost.

    `processor_seconds` is the processor time of stepping, of all threads: where others work too the clock tells less.
    """

    status: str
    message: str
    exit_code: int
    time: float
    steps: int
    solve_seconds: float
    loop_seconds: float
    processor_seconds: float = 0.0


class _InterruptFlag:
    raised = False


@contextmanager
def _interrupt_flag() -> Iterator[_InterruptFlag]:
    """Turn ctrl-C (and a polite kill) into a flag, so that the record is closed properly."""
    flag = _InterruptFlag()

    def raise_flag(signum: int, frame: FrameType | None) -> None:
        flag.raised = True

    previous = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, raise_flag)
    except ValueError:  # not in the main thread: the caller handles its own signals
        previous = {}
    try:
        yield flag
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def check_finite(run: Watched) -> None:
    """Raise `Diverged` with time and place if any node has left the range of sensible numbers."""
    simulation, problem = run.simulation, run.problem
    offset, limit = np.abs(simulation.positions - problem.points), RUNAWAY * problem.extent
    if offset.max() <= limit and np.isfinite(simulation.velocities).all():
        return
    bad = ~(offset.max(axis=1) <= limit) | ~np.isfinite(simulation.velocities).all(axis=1)
    node = int(np.flatnonzero(bad)[0])
    body = problem.body_of(node)
    advice = f"reduce the step (now {simulation.step_size:.4g} s"
    stable = simulation.stable_step
    advice += f", stable below about {stable:.4g} s)" if np.isfinite(stable) else ")"
    raise Diverged(
        time=simulation.time,
        body=body.name,
        node=node - body.first_node,
        position=tuple(float(x) for x in problem.points[node]),
        advice=f"{advice}, or check that motions and forces are not too abrupt",
    )


@dataclass
class _Clock:
    solve: float = 0.0
    processor: float = 0.0
    chunk: int = 16

    def advance(self, run: Watched, until: float) -> bool:
        """Take one chunk of steps and adapt the size of the next; return whether any was left to take."""
        begin, busy, steps = perf_counter(), process_time(), run.simulation.step_count
        run.simulation.advance(until, self.chunk)
        spent = perf_counter() - begin
        self.solve += spent
        self.processor += process_time() - busy
        taken = run.simulation.step_count - steps
        if taken == self.chunk and spent < CHUNK_SECONDS:
            self.chunk *= 2
        elif spent > 3.0 * CHUNK_SECONDS:
            self.chunk = max(1, self.chunk // 2)
        return taken > 0


def _passed(run: Watched, time: float) -> bool:
    """Return whether `time` [s] lies behind; what is due at the very time a run was stopped is still to be done."""
    return run.simulation.time > time + 0.5 * run.simulation.step_size


def _reached(run: Watched, time: float) -> bool:
    return run.simulation.time >= time - 0.5 * run.simulation.step_size


def run_loop(run: Watched, stops: Sequence[Stop], observers: Sequence[Observer]) -> Outcome:
    """Advance through `stops` (those already behind the simulation are skipped) and report the outcome."""
    begin, clock, squeezes = perf_counter(), _Clock(), Squeezes(run.problem)
    resumed = run.simulation.step_count > 0
    status, message, code = "complete", "", EXIT_OK
    for observer in observers:
        observer.start(run)
    with _interrupt_flag() as flag:
        try:
            for stop in stops:
                if resumed and _passed(run, stop.time):
                    continue
                while not _reached(run, stop.time) and not flag.raised:
                    # A time halfway between two steps may round to neither: no step taken means as near as it gets.
                    if not clock.advance(run, stop.time):
                        break
                    check_finite(run)
                    check_tools(run)
                    squeezes.check(run)
                    for observer in observers:
                        observer.tick(run)
                if flag.raised:
                    status, code = "interrupted", EXIT_INTERRUPTED
                    message = f"interrupted at t = {run.simulation.time:.6g} s"
                    break
                for observer in observers:
                    observer.stop(run, stop)
        except Stopped as error:
            status, message, code = "diverged", str(error), EXIT_DIVERGED
            if error.time is None:
                message = f"the run stopped after t = {run.simulation.time:.6g} s: {message}"
        except BaseException as error:
            for observer in observers:
                observer.finish(run, status="failed", message=str(error))
            raise
        for observer in observers:
            observer.finish(run, status=status, message=message)
    return Outcome(
        status=status,
        message=message,
        exit_code=code,
        time=run.simulation.time,
        steps=run.simulation.step_count,
        solve_seconds=clock.solve,
        loop_seconds=perf_counter() - begin,
        processor_seconds=clock.processor,
    )
