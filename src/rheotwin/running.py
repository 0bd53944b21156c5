"""One run from a scene to a record, and its continuation from a checkpoint."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np
from pydantic import BaseModel

import rheotwin
from rheotwin import same_bits
from rheotwin.build import build_problem
from rheotwin.errors import EXIT_OK, RheotwinError, nearest_name
from rheotwin.loop import Outcome, run_loop
from rheotwin.meshing import MIXED, mesh_hash
from rheotwin.meshing.files import geometry_mesh, is_script
from rheotwin.observers import Checkpoints, Frames, LastFrame, Observer, Probes, Watched, probe_columns
from rheotwin.phases import start_simulation
from rheotwin.plausibility import BodyFacts, doubts, facts, warn_of_fast_tools
from rheotwin.problem import Problem
from rheotwin.record import (
    BodyInfo,
    CellKind,
    GridTopology,
    Manifest,
    MeshInfo,
    Record,
    RecordWriter,
    SeriesFormat,
    SolverInfo,
    StepInfo,
    check_output_folder,
    current_environment,
    describe_fields,
    describe_particles,
    load_checkpoint,
    open_record,
)
from rheotwin.record.folder import Lock, geometry_file
from rheotwin.record.stored import read_checked
from rheotwin.scene import FileBody, MeshTool, Scene, scene_from_data
from rheotwin.scene.write import with_absolute_files
from rheotwin.schedule import plan
from rheotwin.solver import (
    Simulation,
    Solver,
    Splitting,
    answering_for,
    check_capabilities,
    checked_options,
    find_solver,
    solver_names,
)

Announce = Callable[[Problem, Simulation, Mapping[str, BodyFacts]], None]
"""Told what is about to run and what the numbers of its bodies amount to."""


@dataclass(frozen=True)
class RunRequest:
    """What to run: scene, solver, case, the solver's options, and where and how to write it."""

    scene: Scene
    solver: str
    folder: Path
    case: str | None = None
    options: Mapping[str, Any] | None = None
    format: SeriesFormat = "pvd"
    overwrite: bool = False

    def __post_init__(self) -> None:
        """Take a folder given as text."""
        object.__setattr__(self, "folder", Path(self.folder))


def solver_options(scene: Scene, solver: str, extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the scene's option table for a solver, overridden by `extra`."""
    return {**scene.solvers.get(solver, {}), **(extra or {})}


def _mesh_info(problem: Problem) -> MeshInfo:
    """Describe the meshes; the hash covers all bodies in order."""
    digest = sha256("".join(mesh_hash(body.mesh) for body in problem.bodies).encode()).hexdigest()
    bodies = tuple(
        BodyInfo(name=b.name, cell=b.cell, points=b.mesh.p.shape[1], cells=b.mesh.t.shape[1]) for b in problem.bodies
    )
    return MeshInfo(hash=digest, points=len(problem.points), cells=sum(b.cells for b in bodies), bodies=bodies)


def grid_topology(problem: Problem) -> GridTopology:
    """Return the cells of all bodies in one grid."""
    counts, mixed = [body.mesh.t.shape[1] for body in problem.bodies], problem.bodies[0].cell == MIXED
    return GridTopology(
        cells=np.concatenate([body.mesh.t.T.astype(np.int64) + body.first_node for body in problem.bodies]),
        cell_kind=cast(
            CellKind, "quad" if mixed and problem.dimension == 2 else "hex" if mixed else problem.bodies[0].cell
        ),
        body=np.repeat(np.arange(len(counts)), counts),
        points=len(problem.points),
    )


def scene_as_run(scene: Scene) -> dict[str, Any]:
    """Return the scene's data with its files named absolutely, so that a record can be resumed from anywhere."""
    data: dict[str, Any] = with_absolute_files(scene).model_dump(mode="json")
    return data


def _manifest(problem: Problem, solver: Solver, options: BaseModel, simulation: Simulation) -> Manifest:
    splitting = simulation if isinstance(simulation, Splitting) else None
    stable, version = simulation.stable_step, str(getattr(solver, "version", rheotwin.__version__))
    return Manifest(
        title=problem.scene.title,
        scene=scene_as_run(problem.scene),
        case=problem.scene.case,
        solver=SolverInfo(name=solver.name, version=version, options=options.model_dump(mode="json")),
        mesh=_mesh_info(problem),
        step=StepInfo(size=simulation.step_size, stable=stable if np.isfinite(stable) else None),
        statistics=simulation.statistics(),
        environment=current_environment(),
        fields=describe_fields(problem.scene.output.fields),
        particles={} if splitting is None else describe_particles(),
        probes=probe_columns(problem, simulation.energy(), () if splitting is None else splitting.counts()),
    )


def check_request(request: RunRequest) -> tuple[Problem, Solver, BaseModel]:
    """Raise for everything that can be known to be wrong before a run; return its problem, solver and options."""
    check_output_folder(request.folder, overwrite=request.overwrite)
    solver = find_solver(request.solver)
    scene = request.scene.with_case(request.case)
    _warn_of_strangers(scene)
    options = checked_options(solver, solver_options(scene, request.solver, request.options))
    _warn_of_edge_numbers(scene, solver)
    problem = build_problem(scene)
    check_capabilities(solver, problem)
    return _adapted(problem, solver, options), solver, options


def _adapted(problem: Problem, solver: Solver, options: BaseModel) -> Problem:
    """Return the problem on the meshes that a solver makes of the scene's, if it does (`adapted`); always the same."""
    adapt = getattr(solver, "adapted", None)
    return problem if adapt is None else cast(Problem, adapt(problem, options))


def _warn_of_strangers(scene: Scene) -> None:
    """Warn of option tables for solvers that are not here: a slip of the pen, or a plug-in of another machine."""
    installed = solver_names()
    for name in scene.solvers:
        if name not in installed:
            warnings.warn(
                f"solvers.{name}: no solver of that name is installed{nearest_name(name, installed)}; "
                f"its options have no effect here (installed: {', '.join(installed)})",
                stacklevel=2,
            )


def _warn_of_edge_numbers(scene: Scene, solver: Solver) -> None:
    """Warn when a solver without edges takes laws whose numbers are those of single edges."""
    for name, options in scene.solvers.items():
        if options.get("match") == "edge" and "match" not in solver.options.model_fields:
            warnings.warn(
                f'solvers.{name}.match = "edge": this scene\'s laws are written for edges, in N/m and N s/m, and '
                f"'{solver.name}' takes their numbers for Pa and Pa s; forces of the two do not compare, "
                "so give the laws moduli and leave `match` out to compare them",
                stacklevel=3,
            )


def _warn_of_other_step(options: BaseModel, solver: Solver, taken: float) -> None:
    """Warn where the step asked for is not taken, because it does not divide the times between outputs.

    Whoever asks for shorter steps where they must be (`unstable = "substep"`) gets them without a word.
    """
    asked, shorter = getattr(options, "step", None), getattr(options, "unstable", "") == "substep"
    if isinstance(asked, float) and not shorter and abs(taken - asked) > 0.01 * asked:
        warnings.warn(
            f"solvers.{solver.name}.step: steps of {taken:.6g} s are taken, not of {asked:.6g} s, so that they end on "
            "every time of output; choose a step that divides these times",
            stacklevel=3,
        )


def run_scene(request: RunRequest, *, observers: Sequence[Observer] = (), announce: Announce | None = None) -> Outcome:
    """Run one scene with one solver into a record folder and return how it ended.

    `announce` is called once everything is set up and nothing has been written yet.
    """
    with answering_for(find_solver(request.solver)):
        return _run_scene(request, observers, announce)


def _run_scene(request: RunRequest, observers: Sequence[Observer], announce: Announce | None) -> Outcome:
    begin = perf_counter()
    problem, solver, options = check_request(request)
    simulation = start_simulation(solver, problem, options)
    warn_of_fast_tools(problem, simulation.step_size)
    _warn_of_other_step(options, solver, simulation.step_size)
    known = facts(problem)
    for doubt in doubts(problem, known):
        warnings.warn(doubt, stacklevel=2)
    setup = perf_counter() - begin
    if announce is not None:
        announce(problem, simulation, known)
    writer = RecordWriter.create(
        request.folder,
        manifest=_manifest(problem, solver, options, simulation),
        grid=grid_topology(problem),
        format=request.format,
        overwrite=request.overwrite,
    )
    for name, path in _scripts(problem.scene):
        writer.keep_geometry(name, geometry_mesh(path))
    return _carry_out(problem, simulation, writer, observers, setup)


def _scripts(scene: Scene) -> Iterator[tuple[str, Path]]:
    """Yield the geometry scripts of a scene by the dotted place of what they make."""
    for table, items in (("bodies", scene.bodies), ("tools", scene.tools)):
        for name, item in items.items():
            if isinstance(item, FileBody | MeshTool) and item.path is not None and is_script(item.path):
                yield f"{table}.{name}", scene.resolve(item.path)


def _without_scripts(scene: Scene, folder: Path, files: Mapping[str, str]) -> Scene:
    """Return a recorded scene with the meshes that its geometry scripts made: a record runs no scripts."""
    tables: dict[str, dict[str, Any]] = {"bodies": dict(scene.bodies), "tools": dict(scene.tools)}
    for place, script in _scripts(scene):
        mesh = geometry_file(place)
        if mesh not in files:
            raise RheotwinError(
                f"{folder}: {place} is made by {script}, and no script is run from a record; run the scene again with "
                "--trust-geometry"
            )
        read_checked(folder / mesh, files[mesh], "the mesh")
        table, _, name = place.partition(".")
        more = {"path": str((folder / mesh).absolute())} | ({"drop_unused": True} if table == "bodies" else {})
        tables[table][name] = tables[table][name].model_copy(update=more)
    return scene.model_copy(update=tables)


def resume_run(folder: Path | str, *, observers: Sequence[Observer] = (), announce: Announce | None = None) -> Outcome:
    """Continue the record in `folder` from its newest checkpoint, bit for bit as if never stopped.

    A complete record is left as it is, and `announce` is not called.
    """
    folder = Path(folder)
    lock = Lock(folder) if folder.is_dir() else None
    record = open_record(folder)
    with answering_for(find_solver(record.manifest.solver.name)):
        try:
            return _resume(record, lock, observers, announce)
        except (RheotwinError, OSError, MemoryError):
            raise
        except Exception as error:  # whatever a wrong state leads to
            said = " ".join(str(error).split())[:120]
            raise RheotwinError(
                f"{folder}: the run broke off when it went on from its checkpoint ({type(error).__name__}: {said}); "
                "run the scene again with --overwrite"
            ) from error


def _resume(record: Record, lock: Lock | None, observers: Sequence[Observer], announce: Announce | None) -> Outcome:
    folder, manifest = record.folder, record.manifest
    if manifest.status == "complete":
        return Outcome("complete", "already complete", EXIT_OK, record.last_time or 0.0, manifest.step.count, 0.0, 0.0)
    checkpoint = record.checkpoint_path
    if checkpoint is None:
        raise RheotwinError(f"{folder}: has no checkpoint to resume from; run the scene again with --overwrite")
    if manifest.environment is not None and manifest.environment.reproducible != same_bits.ON:
        how = "without" if same_bits.ON else "with"
        raise RheotwinError(f"{folder}: its other half has other bits in this mode; resume it {how} --reproducible")
    begin = perf_counter()
    scene = _without_scripts(scene_from_data(manifest.scene, base=folder), folder, manifest.files)
    solver = find_solver(manifest.solver.name)
    options = checked_options(solver, manifest.solver.options)
    problem = _adapted(build_problem(scene, None), solver, options)
    if _mesh_info(problem).hash != manifest.mesh.hash:
        raise RheotwinError(f"{folder}: its mesh is no longer the one the scene makes; run the scene again")
    simulation = start_simulation(solver, problem, options)
    try:
        simulation.restore(load_checkpoint(checkpoint))
    except KeyError as error:
        raise RheotwinError(
            f"{checkpoint}: the solver misses {error} in it; resume with the version that wrote it "
            f"({manifest.rheotwin_version}), or run the scene again with --overwrite"
        ) from error
    sensible = np.isfinite(simulation.positions).all() and np.isfinite(simulation.velocities).all()
    at = simulation.time
    if (
        not sensible
        or not 0.0 <= at <= problem.scene.duration * (1.0 + 1e-9)
        or checkpoint.stem != f"step-{simulation.step_count:09d}"
    ):
        raise RheotwinError(
            f"{checkpoint}: it is no state of this run (step {simulation.step_count}, t = {at:.6g} s, "
            f"{'finite' if sensible else 'not finite'}); run the scene again with --overwrite"
        )
    if announce is not None:
        announce(problem, simulation, facts(problem))
    last = _last_frame(record, simulation.time) if scene.output.adaptive is not None else None
    writer = RecordWriter.resume(folder, time=simulation.time, lock=lock)
    writer.update(status="running", message="")
    return _carry_out(problem, simulation, writer, observers, perf_counter() - begin, last_frame=last)


def _last_frame(record: Record, time: float) -> LastFrame | None:
    """Return the last frame up to `time` [s]: what adaptive output compares with."""
    times = record.times if record.particles is None else record.particles.times
    kept = np.flatnonzero(times <= time * (1.0 + 1e-12))
    if not kept.size:
        return None
    last = int(kept[-1])
    shown = record.positions(last) if record.particles is None else np.asarray(record.particles.cloud(last).points)
    return LastFrame(float(times[last]), shown)


def _carry_out(
    problem: Problem,
    simulation: Simulation,
    writer: RecordWriter,
    observers: Sequence[Observer],
    setup: float,
    *,
    last_frame: LastFrame | None = None,
) -> Outcome:
    """Run the loop with the record's observers and close the manifest, however it ends."""
    run = Watched(problem, simulation, problem.scene.duration)
    everyone = [Frames(writer, last_frame), Probes(writer), Checkpoints(writer), *observers]
    with writer:
        try:
            outcome = run_loop(run, plan(problem.scene), everyone)
        except RheotwinError as error:
            _mark_failed(writer, str(error))
            raise
        except Exception as error:
            _mark_failed(writer, f"{type(error).__name__}: {error}")
            raise
        writer.update(
            status=outcome.status,
            message=outcome.message,
            # what counts along the run (iterations, inverted cells) is known now; a diverged state may not be
            statistics=writer.manifest.statistics if outcome.status == "diverged" else simulation.statistics(),
            step=writer.manifest.step.model_copy(update={"count": outcome.steps}),
            timings={
                "setup": setup + writer.manifest.timings.get("setup", 0.0),
                "solve": outcome.solve_seconds + writer.manifest.timings.get("solve", 0.0),
                "processor": outcome.processor_seconds + writer.manifest.timings.get("processor", 0.0),
                "total": setup + outcome.loop_seconds + writer.manifest.timings.get("total", 0.0),
            },
        )
    return outcome


def _mark_failed(writer: RecordWriter, message: str) -> None:
    """Say in the manifest that the run failed, if it can still be written at all."""
    try:
        writer.update(status="failed", message=message)
    except RheotwinError:
        return


__all__ = ["RunRequest", "check_request", "resume_run", "run_scene", "scene_as_run", "solver_options"]
