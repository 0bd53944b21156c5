"""How far a run is from its reference, how sure that is, and what follows (after ASME V&V 20).

Of a curve f (the force on a tool, else the displacements of all nodes) and its reference r,

    E = int f.r dt / int r.r dt - 1,      U^2 = sum of the squares of its parts,

E is the factor by which f is too large, U half of its 95 % interval. Its parts: meshes and steps of the run and of the
reference, from the same runs on other meshes (`metrics.fits`); the material, where run and reference do not share it;
noise of data. A part that nobody estimated leaves U unknown, and then nothing can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.refinements import LIMIT
from rheotwin.validation.comparison import Part, Verdict, Words
from rheotwin.validation.experiments.record import ExperimentRecord
from rheotwin.validation.metrics import Match, at_times, common_times, curve_match, field_match
from rheotwin.validation.metrics.fits import BIASED, Convergence, convergence
from rheotwin.validation.metrics.meshes import at_nodes_of, pairing_obstacle
from rheotwin.validation.run_view import RunView, force_sources, vector

WANTED = 0.05
"""Error of a run that the advice takes for good enough [1]."""
WIDE = 0.25
"""U above which agreement says nothing [1]."""
LARGE = 0.05
"""Gradient of displacements, exceeded in a tenth of the body, from which a small-strain reference is none [1]."""
NARROWER = {
    "mesh and step": "finer meshes make it smaller",
    "reference": "finer meshes of the reference make it smaller",
    "material": "a law known better makes it smaller",
    "data": "data of less noise make it smaller",
}
"""What makes a part of U smaller."""
REST = 0.05
"""What a curve may differ by beside a factor before it counts, where U is smaller [1]."""


@dataclass(frozen=True)
class Quantity:
    """What runs are judged by: its name and how a run's course matches the reference's; None where a run has none."""

    name: str
    match: Callable[[RunView], Match | None]


@dataclass(frozen=True)
class Judgement:
    """A row for each solver, its run on the finest mesh, and the advice that all runs lead to."""

    rows: tuple[Verdict, ...]
    advice: str


def quantity_of(reference: RunView) -> Quantity:
    """Return what runs are judged by: the largest force of the reference, else its displacements."""
    sources = force_sources(reference.probes)
    forces = {source: vector(reference.probes, *source, "force") for source in sources}
    if not any(force.any() for force in forces.values()):
        return Quantity("displacement", lambda run: _of_fields(run, reference))
    kind, name = max(sources, key=lambda source: float(np.abs(forces[source]).max()))

    def match(run: RunView) -> Match | None:
        if (kind, name) not in force_sources(run.probes):
            return None
        force = vector(run.probes, kind, name, "force")
        return curve_match(run.probe_times, force, reference.probe_times, forces[kind, name])

    return Quantity(f"force on {name}", match)


def _of_fields(run: RunView, reference: RunView) -> Match | None:
    if not reference.displacement.any() or pairing_obstacle(run, reference) is not None:
        return None
    common = common_times(run.times, reference.times)
    mine = at_times(run.times, at_nodes_of(reference, run)(run.displacement), common)
    theirs = at_times(reference.times, reference.displacement, common)
    return field_match(common, mine, theirs, reference.node_weights)


def judged(runs: Sequence[RunView], reference: RunView) -> Judgement:
    """Judge the runs of a case by one of them, or by the limit of one solver's meshes."""
    quantity = quantity_of(reference)
    shared = [of_reference(runs, reference)[0], *_other_scenes(runs, reference), _material(runs)]
    return _judged([run for run in runs if run is not reference], quantity, shared, reference)


def against_experiment(runs: Sequence[RunView], record: ExperimentRecord, tool: str | None = None) -> Judgement | None:
    """Judge runs of one scene by the force of an experiment; None where there is none to compare."""
    sources = runs[0].pushers
    if record.force is None or not sources:
        return None
    kind, name = next((source for source in sources if source[1] == tool), sources[0])
    course = record.force

    def match(run: RunView) -> Match | None:
        if (kind, name) not in force_sources(run.probes):
            return None
        # a record holds what the tool does to the body, a probe what the body does to the tool
        exerted = -vector(run.probes, kind, name, "force")
        return curve_match(run.probe_times, exerted, course.times, course.values, noisy=True)

    quantity = Quantity(f"force on {name}", match)
    stated = [max((float(law.get("uncertainty") or 0.0) for law in _laws(run)), default=0.0) for run in runs]
    interval = max(stated) if all(stated) else 0.0
    why = "" if interval else "no law states its `uncertainty`: give half the 95 % interval of its moduli"
    return _judged(list(runs), quantity, [Part("material", interval or None, why), _noise(record)], None)


def _laws(run: RunView) -> list[dict[str, Any]]:
    return [dict(law) for law in dict(dict(run.manifest.get("scene") or {}).get("laws") or {}).values()]


def _material(runs: Sequence[RunView]) -> Part:
    """Return the part of the laws: none where all runs share them."""
    alike = all(_laws(run) == _laws(runs[0]) for run in runs)
    return Part("material", 0.0 if alike else None, "the same laws in all runs" if alike else "runs of different laws")


LOADS = ("dimension", "plane", "thickness", "duration", "gravity", "supports", "tools", "forces", "links")
"""Tables of a scene that all runs of a comparison share; cells of bodies may differ."""
BODIES = ("size", "radius", "height", "base", "cut", "origin", "rotation", "mass", "density", "velocity", "spin")
"""What bodies of all runs share."""


def _other_scenes(runs: Sequence[RunView], reference: RunView) -> list[Part]:
    """Return a part nobody can estimate where a run was loaded in another way than the reference."""
    scenes = [dict(run.manifest.get("scene") or {}) for run in (reference, *runs)]
    differing = [name for name in LOADS if any(scene.get(name) != scenes[0].get(name) for scene in scenes)]
    differing += ["bodies"] * any(_other_bodies(scene, scenes[0]) for scene in scenes)
    return [Part("scene", None, f"runs of other scenes: {', '.join(differing)} differ")] if differing else []


def _other_bodies(scene: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether bodies of one name differ in what both scenes say of `BODIES`."""
    mine, theirs = (dict(one.get("bodies") or {}) for one in (scene, other))
    return any(
        None not in (pair := (mine[name].get(key), theirs[name].get(key))) and pair[0] != pair[1]
        for name in mine.keys() & theirs.keys()
        for key in BODIES
    )


def _noise(record: ExperimentRecord) -> Part:
    """Return the part of the noise in the measured force.

    Rows with a `sigma` of their own err independently: var E = sum (sigma r dt)^2 / (sum r.r dt)^2. Without them
    `force_rel` is a factor that all rows share.
    """
    assert record.force is not None
    course, relative = record.force, record.uncertainty.force_rel
    if course.sigma is None and relative is None:
        return Part("data", None, "the record has no noise of its forces: give `noise.force_rel` or a column sigma")
    if course.sigma is None:
        return Part("data", 2.0 * float(relative or 0.0))
    power, width = np.sum(course.values**2, axis=1), np.gradient(course.times)
    spread = np.sqrt(np.sum(course.sigma**2 * power * width**2)) / np.sum(power * width)
    return Part("data", 2.0 * float(spread))


def of_reference(runs: Sequence[RunView], reference: RunView) -> tuple[Part, bool]:
    """Return the part of the reference, from its own meshes, and whether these show an order of convergence."""
    family = _family(runs, reference.solver)
    if early := [run for run in (reference, *family) if _ended_early(run)]:
        why = f"the reference did not reach the end, {_ended_early(early[0])}: give it smaller steps or an easier path"
        return Part("reference", None, why), False
    if (gradient := small_strain_gradient(reference)) > LARGE:
        why = (
            f"finite elements of small strain are no reference where a tenth of the body strains by more than "
            f"{100.0 * gradient:.0f} %, take --reference auto"
        )
        return Part("reference", None, why), False
    found = _settling(family, quantity_of(reference))
    if found is None or found.uncertainty is None:
        name = dict(reference.manifest.get("solver") or {}).get("name") or reference.solver
        auto = "" if name == reference.solver else "--reference auto "  # a method of the program's own choice
        why = f"one mesh of the reference, {reference.solver}: add finer ones with {auto}--refine {name}=1,2,4"
        return Part("reference", None, why), False
    steady = found.verdict in ("converging", "settled")
    at_limit = reference.label.endswith(f"@{LIMIT}") and found.verdict == "converging"
    return Part("reference", abs(found.values[-1] - 1.0) if at_limit else BIASED * found.uncertainty), steady


def _ended_early(run: RunView) -> str:
    """Return how a run ended that did not reach its end, else nothing."""
    status = run.manifest.get("status", "complete")
    return "" if status == "complete" else f"{run.shown} ends at t = {run.times[-1]:.4g} s ({status})"


def _family(runs: Sequence[RunView], solver: str) -> list[RunView]:
    """Return the runs of a solver, from its coarsest mesh to its finest; limits are none."""
    own = [run for run in runs if run.solver == solver and not run.label.endswith(f"@{LIMIT}")]
    return sorted(own, key=lambda run: run.refinement)


def _settling(family: Sequence[RunView], quantity: Quantity) -> Convergence | None:
    """Return how 1 + E settles over the meshes of one solver; None on one mesh."""
    matches = [quantity.match(run) for run in family]
    meshes = [run.refinement for run in family]
    if len(set(meshes)) < 2 or len(set(meshes)) < len(meshes) or any(match is None for match in matches):
        return None
    return convergence(meshes, [1.0 + match.error for match in matches if match is not None])


def _judged(
    runs: Sequence[RunView], quantity: Quantity, shared: Sequence[Part], reference: RunView | None
) -> Judgement:
    """Return a row per solver and the advice."""
    rows = []
    for solver in dict.fromkeys(run.solver for run in runs):
        family = _family(runs, solver)
        if not family or (reference is not None and solver == reference.solver):
            continue
        rows.append(_row(family, quantity, shared, reference))
    return Judgement(tuple(rows), _advice(runs, quantity, shared, reference))


def _row(
    family: Sequence[RunView],
    quantity: Quantity,
    shared: Sequence[Part],
    reference: RunView | None,
) -> Verdict:
    run = family[-1]
    settling, match = _settling(family, quantity), quantity.match(run)
    of_meshes = None if settling is None else settling.uncertainty
    if early := [one for one in family if _ended_early(one)]:
        own = Part("mesh and step", None, _ended_early(early[-1]))
    elif of_meshes is None:
        own = Part("mesh and step", None, f"one mesh of {run.solver}: add --refine {run.solver}=1,2")
    else:
        own = Part("mesh and step", BIASED * of_meshes)
    parts = (own, *shared)
    uncertainty = _total(parts)
    words, reason = _told(match, uncertainty, parts)
    return Verdict(
        label=run.label,
        quantity=quantity.name,
        error=None if match is None else match.error,
        rest=None if match is None else match.rest,
        uncertainty=uncertainty,
        parts=parts,
        cost=_cost(run, reference),
        words=words,
        reason=reason,
    )


def _total(parts: Sequence[Part]) -> float | None:
    values = [part.value for part in parts if part.value is not None]
    return float(np.sqrt(np.sum(np.square(values)))) if len(values) == len(parts) else None


def _told(match: Match | None, uncertainty: float | None, parts: Sequence[Part]) -> tuple[Words, str]:
    """Return the verdict in words and what it rests on."""
    if match is None:
        return "cannot be told", "no quantity in common with the reference"
    if uncertainty is None:
        return "cannot be told", "; ".join(part.why for part in parts if part.value is None)
    if abs(match.error) > uncertainty:
        return "differs", "too large" if match.error > 0.0 else "too small"
    if uncertainty > WIDE:
        widest = max(parts, key=lambda part: part.value or 0.0)
        return "cannot be told", f"U is too wide, most of it from {widest.source}: {NARROWER[widest.source]}"
    if match.rest > max(uncertainty, REST):
        return "differs", f"right in size, but its course differs by {100.0 * match.rest:.0f} %"
    return "agrees within U", ""


def _cost(run: RunView, reference: RunView | None) -> float | None:
    if reference is None or not run.cost.wall_time or not reference.cost.wall_time:
        return None
    return run.cost.wall_time / reference.cost.wall_time


def _advice(runs: Sequence[RunView], quantity: Quantity, shared: Sequence[Part], reference: RunView | None) -> str:
    """Say which run to take for an error of `WANTED`: the cheapest with |E| + U below, U without the run's own mesh."""
    against = "the measurement" if reference is None else reference.shown
    outer = _total(shared)
    matched = [
        (run, match.error)
        for run in runs
        if not run.label.endswith(f"@{LIMIT}") and run is not reference and (match := quantity.match(run)) is not None
    ]
    if not [run for run in runs if run is not reference]:
        return f"There is nothing to judge: {against} was compared with no other run."
    if not matched:
        return f"No run has a quantity in common with {against}."
    sure = "" if outer is not None else "; how sure that is, nothing here shows"
    known = "" if outer is None else f" ± {100.0 * outer:.1f}"
    good = [(run, error) for run, error in matched if abs(error) + (outer or 0.0) <= WANTED]
    if not good:
        run, error = min(matched, key=lambda pair: abs(pair[1]))
        return (
            f"No run is known to be within {100.0 * WANTED:.0f} % of {against} in the {quantity.name}: the nearest is "
            f"{run.shown} with {100.0 * error:+.1f}{known} %{sure}."
        )
    run, error = min(good, key=lambda pair: _spent(pair[0]))
    found = f"{100.0 * error:+.1f}{known} %"
    # The fair price of a model is that of the reference's method where it is no better than it has to be.
    rivals = [other for other, _ in good if reference is not None and other.solver == reference.solver != run.solver]
    named = [min(rivals, key=_spent)] if rivals else []
    ratios = [(other.shown, _cost(run, other)) for other in (*named, *([reference] if reference else []))]
    costs = [f"{_times(ratio)} than {name}" for name, ratio in ratios if ratio is not None]
    cost = f", {' and '.join(costs)}" if costs else ""
    return f"For {100.0 * WANTED:.0f} % of the {quantity.name} take {run.shown}: {found}{cost}{sure}."


def _spent(run: RunView) -> float:
    return run.cost.wall_time or np.inf


def _times(ratio: float) -> str:
    """Return "63 times cheaper", "1.3 times dearer"."""
    factor = max(ratio, 1.0 / ratio)
    return f"{factor:.{0 if factor >= 10.0 else 1}f} times {'cheaper' if ratio < 1.0 else 'dearer'}"


def small_strain_gradient(run: RunView) -> float:
    """Return what a tenth of the body's gradients of displacement exceed [1] if a run is of small strain, else 0.

    The norm is the largest singular value of dx/dX - 1, at the frame that moved most.
    """
    options = dict(dict(run.manifest.get("solver") or {}).get("options") or {})
    if run.manifest and options.get("kinematics") == "small" and run.dimension > 1:
        return displacement_gradient(run)
    return 0.0


CORNERS = {"triangle": (0, 1, 2), "quad": (0, 1, 3), "tet": (0, 1, 2, 3), "hex": (0, 1, 3, 4)}
"""Nodes at whose edges a cell's gradient is taken, in VTK order."""


def displacement_gradient(run: RunView) -> float:
    """Return the norm of the displacement gradient that a tenth of the cells exceed [1], where the body moved most."""
    d = run.dimension
    frame = int(np.argmax(np.einsum("fnc,fnc,n->f", run.displacement, run.displacement, run.node_weights)))
    corners = run.cells[:, CORNERS[run.cell_kind]]
    edges = np.diff(run.rest[corners, :d], axis=1)
    moved = np.diff(run.displacement[frame][corners, :d], axis=1)
    gradient = np.linalg.solve(edges, moved)
    return float(np.quantile(np.linalg.norm(gradient, ord=2, axis=(1, 2)), 0.9))
