"""Records of a scene whose laws are known: what an experiment on a model would have seen (calibration, section 10).

G0 is the model itself, so that searches, metric and identifiability are tested; G1 is a continuum by finite elements of
its own (`continuum`), that shares no code with the particles that are calibrated on it; G2 the same with large strain,
friction and numbers that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.running import grid_topology, scene_as_run
from rheotwin.scene import Scene, scene_from_data
from rheotwin.tensors import padded
from rheotwin.texts import read_json
from rheotwin.validation.calibration.continuum import continuum_course
from rheotwin.validation.calibration.measured import pusher_of
from rheotwin.validation.calibration.problem import run_scene_at
from rheotwin.validation.calibration.surface import Bodies
from rheotwin.validation.experiments.metadata import Punch
from rheotwin.validation.experiments.reader import read_experiment
from rheotwin.validation.experiments.record import Course, ExperimentRecord
from rheotwin.validation.experiments.synthetic import POINTS, Noise, from_view
from rheotwin.validation.experiments.writer import SEALED, TRUTH
from rheotwin.validation.run_view import RunView, tributary_weights

CONTINUUM = "continuum"
"""What stands for G1 where others name a solver."""


def twin(
    scene: Scene,
    solver: str,
    times: Sequence[float],
    *,
    noise: Noise | None = None,
    seed: int = 0,
    points: int = POINTS,
    scale: float = 1.0,
    tracked: bool = False,
) -> tuple[ExperimentRecord, str]:
    """Return the record of a scene run by a solver or as "continuum", and the sealed truth as JSON text.

    Clouds at `times` [s] hold `points` in total, or nodes with known rest places if `tracked`; the real body is `scale`
    times as large as that of the scene. Force and volume are known at those times.
    """
    seen = np.unique(np.asarray(times, dtype=float))
    data = scene_as_run(scene.with_case()) | {"output": {"times": seen[seen > 0.0].tolist()}}
    scene = scene_from_data(data, base=scene.resolve("."), source=scene.source)
    problem = build_problem(scene)
    courses = continuum_course(problem, seen) if solver == CONTINUUM else run_scene_at(scene, solver, seen)
    if courses.reasons[0] is not None:
        raise RheotwinError(f"twin: the run of '{solver}' gives no record: {courses.reasons[0]}")
    rest, topology = scale * padded(problem.points), grid_topology(problem)
    cells, name = topology.vtk_cells(), "scene" if scene.source is None else scene.source.stem
    pusher, probes = pusher_of(scene), {}
    if pusher is not None:
        of = f"{pusher[0].removesuffix('s')}.{pusher[1]}"
        force = courses.forces[of][..., 0]
        probes = {f"{of}.force_{axis}": force[:, k] for k, axis in enumerate("xyz"[: problem.dimension])}
    if problem.dimension == 3:
        volumes = np.array([Bodies(problem).sizes(place)[0][0] for place in courses.places])
        probes["volume.bodies"] = scale**3 * volumes
    run = RunView(
        label=solver,
        solver=solver,
        case=scene.case,
        times=seen,
        displacement=scale * courses.places[..., 0].transpose(0, 2, 1) - rest,
        rest=rest,
        cells=cells,
        cell_kind=topology.cell_kind,
        node_weights=tributary_weights(rest, cells, topology.cell_kind),
        probe_times=seen,
        probes=probes,
        manifest={"scene": scene_as_run(scene), "case": scene.case, "solver": solver, "title": scene.title},
    )
    record, truth = from_view(
        run, name, noise=noise or Noise(), seed=seed, times=seen.tolist(), points=points, tracked=tracked
    )
    if pusher is None or pusher[0] != "supports":
        return record, truth
    release = scene.supports[pusher[1]].until
    return replace(record, path=_path(problem, pusher[1], scale), punch=Punch(release=release)), truth


def hidden(scene: Scene, factor: float, chance: np.random.Generator) -> Scene:
    """Return the scene with the moduli and viscosities of its laws, and what the continuum has beside them, drawn anew.

    They are spread evenly in the logarithm within `factor` of those of the scene.
    """

    def drawn(table: dict[str, Any]) -> dict[str, Any]:
        return {name: _drawn(name, value) for name, value in table.items()}

    def _drawn(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return drawn(value)
        known = isinstance(value, bool | str) or value is None or name in ("poisson", "step")
        return value if known else float(value * factor ** chance.uniform(-1.0, 1.0))

    data = scene_as_run(scene)
    data["laws"] = drawn(data["laws"])
    data["solvers"][CONTINUUM] = drawn(data["solvers"].get(CONTINUUM, {}))
    return scene_from_data(data, base=scene.resolve("."), source=scene.source)


def as_hidden(scene: Scene, folder: Path) -> Scene:
    """Return the scene with the hidden numbers of a record: the same body, for another push."""
    known = opened_seal(folder)["scene"]
    data = scene_as_run(scene)
    data["laws"] = known["laws"]
    data["solvers"][CONTINUUM] = known["solvers"].get(CONTINUUM, {})
    return scene_from_data(data, base=scene.resolve("."), source=scene.source)


def opened_seal(folder: Path) -> dict[str, Any]:
    """Return the truth of a record, which must be the one whose SHA-256 the record has."""
    file, record = folder / SEALED / TRUTH, read_experiment(folder)
    if not file.is_file():
        raise RheotwinError(f"{folder}: it has no {SEALED}/{TRUTH}; ask whoever made the record")
    if sha256(file.read_bytes()).hexdigest() != record.seal:
        raise RheotwinError(f"{folder}: {SEALED}/{TRUTH} is not the truth whose SHA-256 the record has")
    truth: dict[str, Any] = read_json(file.read_text(encoding="utf-8"))
    return truth


def _path(problem: Problem, support: str, scale: float) -> Course | None:
    """Return how far a support moves (F, 3) [m], None if its parts move each on their own."""
    items = [item for item in problem.prescribed if item.support == support]
    motion = items[0].motion
    ways = np.array([[item.motion.at(float(time)) for time in motion.times] for item in items])
    if items[0].begin > 0.0 or motion.smooth or np.any(ways != ways[0]):
        return None
    return Course(motion.times.copy(), scale * padded(ways[0]))
