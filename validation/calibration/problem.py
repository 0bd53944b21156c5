"""What is asked of a calibration: numbers of a scene, records they have to explain, and what a set of them costs.

    total = w_S S + N e (w_F rms((F - F')/sigma_F) + w_V rms((V - V')/sigma_V) + w_U rms((u - u')/sigma_U))   [m]

S is the shape difference of the calibration papers, e = 0.05 cm the noise below which a distance does not count and N
the number of points (N e = 1 m without points): what misses by its uncertainty weighs like points that all miss by e.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.arrays import Array
from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.materials import Law
from rheotwin.phases import start_simulation
from rheotwin.population import Courses, Population
from rheotwin.running import scene_as_run, solver_options
from rheotwin.scene import Scene, scene_from_data
from rheotwin.scene.load import law_from_data, put_at
from rheotwin.solver import RUNAWAY, check_capabilities, checked_options, find_solver
from rheotwin.validation.calibration.measured import Measured, Score, scene_of, set_up, sigma_of
from rheotwin.validation.calibration.registration import Registration, registered
from rheotwin.validation.experiments.record import ExperimentRecord
from rheotwin.validation.metrics.meshes import NOISE

MOST = 10**12
"""Steps to any time."""
Part = Literal["fit", "validate", "predict"]
FIT: Part = "fit"
"""What a record is for: to find parameters, to stop a search, to be foretold."""


@dataclass(frozen=True)
class Parameter:
    """A number of the scene at a dotted `place` (as `--set` takes it, in SI units), between `low` and `high`."""

    name: str
    place: str
    low: float
    high: float
    start: float


@dataclass(frozen=True)
class Costs:
    """Weights of what a set of parameters is judged by; what is 0, or what no record holds, does not count."""

    shapes: float = 1.0
    forces: float = 0.0
    volumes: float = 0.0
    fields: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """What a set `theta` of parameters is worth.

    `total` is the cost [m], infinite with a `reason` where the set is refused, diverges or inverts a cell. Per frame:
    `per_time` the part of S [m], `counts` the points beyond 0.25 cm, `volume` of the bodies [m3], `force` of the punch
    on them [N], all of the real body. `terms` are the unweighted terms of the cost, `squares` the sum of the weighted
    residuals' squares, which least squares and intervals go by.
    """

    theta: Array
    total: float
    per_time: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    volume: tuple[float, ...] = ()
    force: tuple[float, ...] = ()
    reason: str | None = None
    terms: dict[str, float] | None = None
    squares: float = np.inf
    powers: tuple[float, ...] = ()
    """Sums of squares [m2], cubes [m3] and fourth powers [m4] of the distances in S."""

    @property
    def shape(self) -> float:
        """S [m]."""
        return float(np.sum(self.per_time)) if self.reason is None else np.inf


@dataclass(frozen=True)
class CloudError:
    """Points (P, 3) [m] of one frame of a record, as they lie in the scene, and their signed distances [m], real."""

    record: str
    time: float
    points: Array
    distances: Array


def parameters_of(scene: Scene) -> tuple[Parameter, ...]:
    """Return the parameters that a scene marks in `[calibrate]`; their names are their places."""
    return tuple(Parameter(place, place, spec.low, spec.high, spec.first) for place, spec in scene.calibrate.items())


class CalibrationProblem:
    """Numbers of a scene to be found, by what a solver makes of the scene and what records say.

    A truss whose parameters are all in its laws runs as a population, eight or sixteen sets at a time; anything else
    runs set after set. `way` says which it is, and why.
    """

    def __init__(
        self,
        scene: Scene,
        solver: str,
        records: Sequence[ExperimentRecord],
        parameters: Sequence[Parameter] = (),
        costs: Costs | None = None,
        *,
        parts: Sequence[Part] = (),
        lanes: bool = True,
    ) -> None:
        """Take the parameters of the scene unless others are given; all records are to be fitted without `parts`.

        `lanes` is False for set after set, whatever the solver offers.
        """
        self.scene, self.solver = scene.with_case(), solver
        self.parameters = tuple(parameters) or parameters_of(scene)
        self.costs = costs or Costs()
        self.records = tuple(records)
        self._parts: tuple[Part, ...] = tuple(parts) or (FIT,) * len(records)
        self._data, self._lanes = scene_as_run(self.scene), lanes
        self._check()
        start = self.with_parameters([parameter.start for parameter in self.parameters])
        self._runs = [self._run(record, start, lanes) for record in self.records]
        self.ways = tuple(run.way for run in self._runs)

    def __reduce__(self) -> Any:
        """Let other processes make the same problem: what is compiled and bound stays here."""
        given = (self.scene, self.solver, self.records, self.parameters, self.costs)
        return partial(CalibrationProblem, parts=self._parts, lanes=self._lanes), given

    def _check(self) -> None:
        if not self.parameters:
            raise RheotwinError("calibrate: no parameter is marked; name places and bounds in [calibrate] of the scene")
        if len(self._parts) != len(self.records) or "fit" not in self._parts:
            raise RheotwinError("calibrate: say of each record whether to fit, validate or predict it, and fit one")
        for parameter in self.parameters:
            if not parameter.low < parameter.high or not parameter.low <= parameter.start <= parameter.high:
                raise RheotwinError(
                    f"calibrate.{parameter.name}: its bounds {parameter.low:g} and {parameter.high:g} are crossed, or "
                    f"its start {parameter.start:g} lies outside of them"
                )
            self._put(self._copy(), parameter, parameter.start)
        held = {
            "shapes": any(frame.rest is None for record in self.records for frame in record.frames),
            "fields": any(frame.rest is not None for record in self.records for frame in record.frames),
            "forces": any(record.force is not None for record in self.records),
            "volumes": any(record.volume is not None for record in self.records),
        }
        if not any(held[term] and getattr(self.costs, term) > 0.0 for term in held):
            there = ", ".join(term for term in held if held[term]) or "nothing"
            raise RheotwinError(f"calibrate: the records hold {there}, and none of it has a weight in the cost")

    def _copy(self) -> dict[str, Any]:
        return deepcopy(self._data)

    def _put(self, data: dict[str, Any], parameter: Parameter, value: float) -> None:
        """Put a number at its place, which must be one of a number."""
        place = f"calibrate.{parameter.name}"
        try:
            old = put_at(data, parameter.place, value)
        except RheotwinError as error:
            raise RheotwinError(str(error).replace(f"--set {parameter.place}", place)) from None
        if isinstance(old, bool) or not isinstance(old, int | float | None):
            raise RheotwinError(f"{place}: there is {old!r} at this place, and no number")

    def _run(self, record: ExperimentRecord, start: Scene, lanes: bool) -> _Run:
        """Return the runs of a record: its scene, what is compared, and how sets are run."""
        start = set_up(record, start)
        registration = registered(record, build_problem(start))
        scene = scene_of(record, start, registration)
        solver = find_solver(self.solver)
        options = checked_options(solver, solver_options(scene, self.solver, None))
        problem = build_problem(scene)
        check_capabilities(solver, problem)
        measured = Measured(record, problem, registration)
        population, way = None, "set after set"
        offered = getattr(solver, "population", None)
        if not lanes or offered is None:
            why = "as asked for" if not lanes else f"the solver '{self.solver}' has no populations"
        elif strange := [p.name for p in self.parameters if not p.place.startswith("laws.") or "poisson" in p.place]:
            why = f"{strange[0]} is no number of a law's springs and dashpots"
        else:
            try:
                population, why = offered(problem, options), ""
                way = f"{population.lanes} sets at a time"
            except RheotwinError as error:
                why = str(error)
        return _Run(measured, scene, population, f"{way} ({why})" if why else way)

    def points(self, part: Part = "fit") -> int:
        """Return the number N of points in S."""
        return sum(run.measured.points for run in self._of(part))

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """How each record lies in the scene."""
        return tuple(run.measured.registration for run in self._runs)

    def _of(self, part: Part) -> list[_Run]:
        return [run for run, own in zip(self._runs, self._parts, strict=True) if own == part]

    def evaluate(self, thetas: ArrayLike, part: Part = "fit") -> list[Evaluation]:
        """Return what sets (m, n) of parameters are worth on the records of a part."""
        sets = self._sets(thetas)
        return [self._evaluation(theta, own, part) for theta, own in zip(sets, self._scores(sets, part), strict=True)]

    def residuals(self, thetas: ArrayLike, part: Part = "fit") -> list[Array | None]:
        """Return signed residuals (r,) over their noise for least squares, None for sets without a result.

        Distances are positive outside of the body; a term of weight w counts by its square root.
        """
        return [None if own is None else np.concatenate(own) for own in self.by_record(thetas, part)]

    def by_record(self, thetas: ArrayLike, part: Part = "fit") -> list[list[Array] | None]:
        """Return `residuals` record by record."""

        def weighted(score: Score) -> Array:
            terms = [(getattr(self.costs, term), own) for term, own in (score.residuals or {}).items()]
            return np.concatenate([np.sqrt(weight) * own for weight, own in terms if weight > 0.0] or [np.zeros(0)])

        return [
            None if any(score.reason is not None for score in scores) else [weighted(score) for score in scores]
            for scores in self._scores(self._sets(thetas), part)
        ]

    def cloud_errors(self, theta: ArrayLike, part: Part = "fit") -> list[CloudError]:
        """Return how far every point of every cloud is from the surface of a set (n,); nothing without a result."""
        (scores,) = self._scores(self._sets(theta), part)
        found: list[CloudError] = []
        for run, distances in zip(self._of(part), self._distances(scores, part), strict=False):
            frames = [frame for frame in run.measured.record.frames if frame.rest is None]
            ends = np.cumsum([len(frame.points) for frame in frames])[:-1]
            for frame, own in zip(frames, np.split(distances, ends) if frames else [], strict=True):
                place = run.measured.registration.place(frame.points)
                found.append(CloudError(run.measured.record.id, frame.time, place, own))
        return found

    def _distances(self, scores: Sequence[Score], part: Part) -> list[Array]:
        """Return the signed distances [m] by record; nothing where a record has no result."""
        if any(score.residuals is None for score in scores):
            return []
        return [
            sigma_of(run.measured.record) * (score.residuals or {}).get("shapes", np.zeros(0))
            for run, score in zip(self._of(part), scores, strict=True)
        ]

    def idle(self) -> tuple[str, ...]:
        """Return the names of parameters that change nothing between their bounds, all others at their start."""
        start = np.array([parameter.start for parameter in self.parameters])
        sets = np.tile(start, (1 + 2 * len(start), 1))
        for k, parameter in enumerate(self.parameters):
            sets[1 + 2 * k, k], sets[2 + 2 * k, k] = parameter.low, parameter.high
        first, *others = (evaluation.total for evaluation in self.evaluate(sets))
        if not np.isfinite(first):
            return ()
        pairs = zip(others[::2], others[1::2], strict=True)
        return tuple(p.name for p, pair in zip(self.parameters, pairs, strict=True) if set(pair) == {first})

    def error_of_lanes(self) -> float:
        """Return the relative error of the cost that raised masses make at the start; 0 where sets run alone."""
        start = [parameter.start for parameter in self.parameters]
        if all(run.population is None for run in self._of("fit")):
            return 0.0
        given = (self.scene, self.solver, self.records, self.parameters, self.costs)
        alone = CalibrationProblem(*given, parts=self._parts, lanes=False)
        (one,), (other,) = self.evaluate(start), alone.evaluate(start)
        return abs(one.total / other.total - 1.0)

    def with_parameters(self, theta: ArrayLike) -> Scene:
        """Return the scene with a set (n,) of parameters."""
        data = self._copy()
        for parameter, value in zip(self.parameters, np.asarray(theta, dtype=float), strict=True):
            self._put(data, parameter, float(value))
        return scene_from_data(data, base=self.scene.resolve("."), source=self.scene.source)

    def _sets(self, thetas: ArrayLike) -> Array:
        sets = np.atleast_2d(np.asarray(thetas, dtype=float))
        if sets.shape[1] != len(self.parameters):
            raise RheotwinError(f"calibrate: sets of {sets.shape[1]} numbers for {len(self.parameters)} parameters")
        return sets

    def _scores(self, sets: Array, part: Part) -> list[list[Score]]:
        """Return what every set is worth by every record of a part."""
        runs = self._of(part)
        for run in runs:
            if not run.measured.has_reference:
                self._refer(run)
        by_run = [self._scored(run, sets) for run in runs]
        return [list(own) for own in zip(*by_run, strict=True)] if runs else [[] for _ in sets]

    def _refer(self, run: _Run) -> None:
        """Let clouds know the shape at the start of the search, or that at rest where it has none."""
        start = np.array([[parameter.start for parameter in self.parameters]])
        courses, where = self._courses(run, start)
        good = where[0] is None and courses is not None and courses.reasons[0] is None
        run.measured.refer_to(courses.places[..., 0] if courses is not None and good else None)

    def _scored(self, run: _Run, sets: Array) -> list[Score]:
        step, found = run.lanes, []
        for first in range(0, len(sets), step):
            part = sets[first : first + step]
            courses, reasons = self._courses(run, part)
            kept = iter([] if courses is None else run.measured.scores(courses, reasons.count(None)))
            found += [next(kept) if reason is None else Score(reason=reason) for reason in reasons]
        return found

    def _courses(self, run: _Run, sets: Array) -> tuple[Courses | None, list[str | None]]:
        """Return the courses of those sets that are not refused, and why others are."""
        taken: list[Any] = []
        reasons: list[str | None] = []
        for theta in sets:
            try:
                taken.append(self._laws(theta) if run.population is not None else self._changed(run, theta))
                reasons.append(None)
            except RheotwinError as error:
                reasons.append(str(error))
        if not taken:
            return None, reasons
        if run.population is not None:
            return run.population.run(taken, run.measured.times), reasons
        courses = run_scene_at(taken[0], self.solver, run.measured.times)
        return (courses if courses.reasons[0] is None else None), list(courses.reasons)

    def _laws(self, theta: Array) -> dict[str, Law]:
        """Return the laws that a set changes."""
        tables: dict[str, Any] = {}
        for parameter, value in zip(self.parameters, theta, strict=True):
            name = parameter.place.split(".")[1]
            tables.setdefault(name, deepcopy(self._data["laws"][name]))
            put_at({"laws": tables}, parameter.place, float(value))
        return {name: law_from_data(name, table) for name, table in tables.items()}

    def _changed(self, run: _Run, theta: Array) -> Scene:
        """Return the scene of a record with a set of parameters."""
        data = scene_as_run(run.scene)
        for parameter, value in zip(self.parameters, theta, strict=True):
            put_at(data, parameter.place, float(value))
        return scene_from_data(data, base=self.scene.resolve("."), source=self.scene.source)

    def _evaluation(self, theta: Array, scores: Sequence[Score], part: Part) -> Evaluation:
        reason = next((score.reason for score in scores if score.reason is not None), None)
        if reason is not None:
            return Evaluation(theta, np.inf, reason=reason)

        def joined(name: str) -> tuple[Any, ...]:
            return tuple(value for score in scores for value in getattr(score, name))

        per_time = joined("per_time")
        terms, total = {"shapes": float(np.sum(per_time))}, self.costs.shapes * float(np.sum(per_time))
        unit = NOISE * self.points(part) or 1.0
        for term in ("forces", "volumes", "fields"):
            parts = [score.residuals[term] for score in scores if score.residuals and term in score.residuals]
            if parts:
                terms[term] = float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))
                total += getattr(self.costs, term) * unit * terms[term]
        squares = sum(
            getattr(self.costs, term) * float(np.sum(part * part))
            for score in scores
            for term, part in (score.residuals or {}).items()
        )
        distances = np.abs(np.concatenate([np.zeros(0), *self._distances(scores, part)]))
        counted = distances[distances >= NOISE]
        powers = tuple(float(np.sum(counted**n)) for n in (2, 3, 4))
        counts, volume, force = joined("counts"), joined("volume"), joined("force")
        if not np.isfinite(total):
            return Evaluation(theta, np.inf, reason="diverged")
        return Evaluation(theta, total, per_time, counts, volume, force, None, terms, squares, powers)


@dataclass(frozen=True)
class _Run:
    """A record, its scene at the start of the search, and how sets are run."""

    measured: Measured
    scene: Scene
    population: Population | None
    way: str

    @property
    def lanes(self) -> int:
        """How many sets run at a time."""
        return 1 if self.population is None else self.population.lanes


def run_scene_at(scene: Scene, solver: str, times: Array) -> Courses:
    """Return the course of one scene at increasing times [s] by any solver, as that of one set."""
    try:
        found, problem = find_solver(solver), build_problem(scene)
        simulation = start_simulation(found, problem, checked_options(found, solver_options(scene, solver, None)))
        places = np.zeros((len(times), 3, len(problem.points), 1))
        forces: dict[str, Array] = {}
        for k, time in enumerate(times):
            simulation.advance(float(time), MOST)
            place = simulation.positions
            away = np.abs(place - problem.points).max()
            if not (away <= RUNAWAY * problem.extent and simulation.time >= time - 0.51 * simulation.step_size):
                return Courses(places, {}, (f"diverged before {time:g} s",))
            places[k, : problem.dimension, :, 0] = place.T
            for name, force in simulation.reactions().items():
                if len(force) == problem.dimension and not name.endswith(".moment"):
                    forces.setdefault(name, np.zeros((len(times), 3, 1)))[k, : problem.dimension, 0] = force
    except RheotwinError as error:
        return Courses(np.zeros((len(times), 3, 0, 1)), {}, (str(error),))
    return Courses(places, forces, (None,))
