"""The runs of a comparison: planned, carried out or gone on with, and those of the reference the program chooses."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rheotwin.errors import RheotwinError
from rheotwin.refinements import Refinements, check_reference, mesh_label, record_part, refined_options

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rheotwin.executor import Executor
    from rheotwin.loop import Outcome
    from rheotwin.problem import Problem
    from rheotwin.record import Manifest
    from rheotwin.running import RunRequest
    from rheotwin.scene import Scene
    from rheotwin.validation import RunView
    from rheotwin.validation.checks.outcome import Verification

MIXED = ("b-bar", "p2-p0", "taylor-hood", "mini")
"""Formulations that elements of large strain have too, without inertia."""
STEP_SHARE = 0.01
"""Step of a large-strain reference on the scene's own mesh, over the duration."""
REFERENCE = "fem"
"""Solver whose runs the program takes for a reference where it is compared."""


@dataclass(frozen=True)
class Task:
    """One run of the comparison, and what it takes: a new run, the rest of one, or nothing (a record to keep)."""

    request: RunRequest
    action: Literal["run", "resume", "keep"]
    method: str
    """What its run goes by: the solver, or the solver with options of the program's."""

    @property
    def label(self) -> str:
        """Case, solver and refinement, as shown to the user."""
        return " ".join(part for part in (self.request.case, mesh_label(self.request, self.method)) if part)


@dataclass(frozen=True)
class Plan:
    """What a comparison runs: the scene, its cases, the solvers' options, and where records go."""

    scene: Scene
    cases: list[str | None]
    settings: dict[str, dict[str, Any]]
    output: Path
    overwrite: bool
    go_on: bool
    quiet: bool
    workers: Executor

    def tasks(
        self, meshes: Refinements, *, method: str | None = None, options: Mapping[str, Any] | None = None
    ) -> list[Task]:
        """Return a checked task per case, solver and mesh, with records in OUTPUT/runs.

        `method` names records after a solver with other `options`, which replace the user's.
        """
        from rheotwin.running import RunRequest

        requests = [
            RunRequest(
                scene=self._scene(refinement, solver if options is not None else None),
                solver=solver,
                folder=self.output
                / "runs"
                / "-".join(part for part in (case, record_part(method or solver, refinement)) if part),
                case=case,
                options=refined_options(
                    self.scene, solver, self.settings.get(solver) if options is None else options, refinement
                ),
                overwrite=self.overwrite,
            )
            for case in self.cases
            for solver, refinements in meshes.items()
            for refinement in refinements
        ]
        return [_task(request, go_on=self.go_on, method=method or request.solver) for request in requests]

    def _scene(self, refinement: int | None, without_options_of: str | None) -> Scene:
        scene = self.scene if refinement is None else self.scene.refined(refinement)
        if without_options_of is None:
            return scene
        kept = {name: table for name, table in scene.solvers.items() if name != without_options_of}
        return scene.model_copy(update={"solvers": kept})

    def large_strain_options(self) -> dict[str, Any]:
        """Return the options of finite elements of large strain, with the user's elements, step and rule if they fit.

        Else steps are a hundredth of the duration: they shrink with the cells, so what they cost in accuracy is seen.
        """
        given = {**self.scene.solvers.get(REFERENCE, {}), **self.settings.get(REFERENCE, {})}
        kept = {name: value for name, value in given.items() if name in ("step", "stepper")}
        if kept.get("stepper") not in (None, "midpoint", "quasi-static"):
            kept.clear()
        kept |= {name: value for name, value in given.items() if name == "order"}
        if kept.get("stepper") == "quasi-static" and given.get("formulation") in MIXED:
            kept |= {name: value for name, value in given.items() if name in ("formulation", "incompressible")}
        return {"kinematics": "total-lagrangian", "step": STEP_SHARE * self.scene.duration, **kept}


def _task(request: RunRequest, *, go_on: bool, method: str) -> Task:
    """Check a request; when going on, see whether its record is there already, whole or in part."""
    from rheotwin.record import check_output_folder, load_manifest, open_record
    from rheotwin.record.folder import looks_like_record
    from rheotwin.running import check_request

    if not (go_on and looks_like_record(request.folder)):
        check_request(request)
        return Task(request, "run", method)
    replacing = replace(request, overwrite=True)
    problem, _, options = check_request(replacing)
    manifest = load_manifest(request.folder)
    if not _is_same_run(manifest, request, problem, options):
        check_output_folder(request.folder, overwrite=request.overwrite)
        return Task(request, "run", method)
    if manifest.status in ("complete", "diverged"):  # a run that diverged would diverge again
        return Task(request, "keep", method)
    begun = manifest.status != "failed" and open_record(request.folder).checkpoint_path is not None
    return Task(replacing, "resume" if begun else "run", method)


def _is_same_run(manifest: Manifest, request: RunRequest, problem: Problem, options: BaseModel) -> bool:
    """Return whether a record is of this version, scene, case, solver and options."""
    from rheotwin import __version__
    from rheotwin.running import scene_as_run
    from rheotwin.scene import scene_from_data

    recorded = scene_from_data(manifest.scene, base=request.folder)
    return (
        manifest.rheotwin_version == __version__
        and (manifest.case, manifest.solver.name) == (problem.scene.case, request.solver)
        and manifest.solver.options == options.model_dump(mode="json")
        and scene_as_run(recorded) == scene_as_run(problem.scene)
    )


def run_all(tasks: list[Task], finished: list[str], workers: Executor, *, quiet: bool) -> bool:
    """Carry out all tasks, noting those finished; return whether any run ended early."""
    kept, new = ([task for task in tasks if (task.action == "keep") == keep] for keep in (True, False))
    early = False
    for task in kept:
        early |= _kept(task, quiet)
        finished.append(task.label)
    for place, outcome in workers.each(_carry_out, quiet or workers.workers > 1, new):
        if not quiet or outcome.message:
            _say(new[place], outcome, quiet)
        if outcome.status == "interrupted":
            raise KeyboardInterrupt
        early |= outcome.status != "complete"
        finished.append(new[place].label)
    return early


def _kept(task: Task, quiet: bool) -> bool:
    """Say that a record is kept; return whether its run had ended early."""
    from rheotwin.record import load_manifest

    manifest = load_manifest(task.request.folder)
    if not quiet:
        print(f"{task.label}: kept, {manifest.status}", file=sys.stderr)
    if manifest.message:
        print(f"{task.label}: {manifest.message}", file=sys.stderr)
    return manifest.status != "complete"


def _carry_out(quiet: bool, task: Task) -> Outcome:
    from rheotwin.observers import Progress, told_of_compiling
    from rheotwin.running import resume_run, run_scene

    watchers = [] if quiet else [Progress(task.label)]
    with nullcontext() if quiet else told_of_compiling():
        if task.action == "resume":
            return resume_run(task.request.folder, observers=watchers)
        return run_scene(task.request, observers=watchers)


def _say(task: Task, outcome: Outcome, quiet: bool) -> None:
    if not quiet:
        print(f"{task.label}: {outcome.status}, {outcome.steps} steps in {outcome.loop_seconds:.2f} s", file=sys.stderr)
    if outcome.message:
        print(f"{task.label}: {outcome.message}", file=sys.stderr)


@dataclass
class OwnReference:
    """The search for a reference that can judge: records it adds, the methods they belong to, and what there is to say.

    `solver` is what it runs, on `meshes` at least; `views` are all runs so far.
    """

    plan: Plan
    solver: str
    meshes: Sequence[int | None]
    views: list[RunView]
    folders: list[Path] = field(default_factory=list)
    names: dict[Path, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def find(self) -> str:
        """Run what it takes and return the label of the reference."""
        from rheotwin.validation.reference import standing

        method, options = self._kinematics()
        others = [view.solver for view in self.views if view.solver != method]
        for name in (name for name in dict.fromkeys(others) if others.count(name) == len(self.plan.cases)):
            if why_not := self._refine(name, name, None):
                self.said.append(f"{name} on one mesh only: {why_not}")
        found = standing(self.views, method)
        while not found.enough:
            if why_not := self._refine(self.solver, method, options):
                self.said.append(why_not)
                break
            found = standing(self.views, method)
        self.said = [f"{found.label} chosen by the program", *self.said, found.reason]
        return found.label

    def _kinematics(self) -> tuple[str, dict[str, Any] | None]:
        """Return method and options of the reference: of large strain, run once, where small strain cannot judge."""
        from rheotwin.validation.reference import LARGE_STRAIN, wants_large_strain

        strain = wants_large_strain(self.views, self.solver)
        if strain is None:
            return self.solver, None
        grown, options = (
            f"a tenth of the body strains by more than {100 * strain:.0f} %",
            self.plan.large_strain_options(),
        )
        try:
            for mesh in self.meshes:
                self._run(self.solver, mesh, LARGE_STRAIN, options)
        except RheotwinError as error:
            self.said.append(f"{grown}, but finite elements of large strain cannot run: {error}")
            return self.solver, None
        self.said.append(f"{grown}, so finite elements of large strain judge")
        return LARGE_STRAIN, options

    def _refine(self, solver: str, method: str, options: dict[str, Any] | None) -> str:
        """Run the next mesh of a method; return why there is none."""
        from rheotwin.validation.reference import next_mesh

        mesh, why_not = next_mesh(self.views, method)
        if mesh is None:
            return why_not
        try:
            self._run(solver, mesh, method, options)
        except RheotwinError as error:
            return f"finer meshes cannot run: {error}"
        return ""

    def _run(self, solver: str, mesh: int | None, method: str, options: dict[str, Any] | None) -> None:
        from rheotwin.record import open_record
        from rheotwin.validation import view_of

        tasks = self.plan.tasks({solver: [mesh]}, method=method, options=options)
        run_all(tasks, [], self.plan.workers, quiet=self.plan.quiet)
        for task in tasks:
            view = view_of(open_record(task.request.folder))
            self.folders.append(task.request.folder)
            if method != solver:
                self.names[task.request.folder] = method
                view = view.of_method(method)
            self.views.append(view)


AUTO = "auto"
"""Word for the reference that the program chooses."""


def chosen_reference(asked: str | None, solvers: Sequence[str], meshes: Refinements) -> tuple[str, bool]:
    """Return the reference asked for, checked, and whether the program looks for it."""
    one_mesh = all(list(own) == [None] for own in meshes.values())
    word = asked or (AUTO if REFERENCE in solvers and one_mesh else solvers[0])
    reference = word if word != AUTO else REFERENCE if REFERENCE in solvers else solvers[0]
    check_reference(reference, meshes)
    return reference, word == AUTO


def compared(
    plan: Plan,
    tasks: list[Task],
    finished: list[str],
    meshes: Refinements,
    reference: tuple[str, bool],
    references: Verification | None = None,
) -> tuple[Path, list[Path], bool]:
    """Carry out the tasks, find the reference if that is wanted, and compare.

    Return the page of the report, the record folders and whether a run ended early.
    """
    from rheotwin.record import open_record
    from rheotwin.validation import compare_records, view_of

    label, auto = reference
    early = run_all(tasks, finished, plan.workers, quiet=plan.quiet)
    folders, names, reason = [task.request.folder for task in tasks], dict[Path, str](), ""
    if auto and not early:
        search = OwnReference(plan, label, meshes[label], [view_of(open_record(folder)) for folder in folders])
        label = search.find()
        folders, names, reason = [*folders, *search.folders], search.names, "; ".join(search.said)
    if not plan.quiet:
        print("comparing the runs and drawing the report", file=sys.stderr)
    report = compare_records(
        *(folders, plan.output),
        reference=label,
        references=references,
        overwrite=plan.overwrite,
        names=names,
        reason=reason,
    )
    return report, folders, early
