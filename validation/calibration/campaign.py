"""A search from several seeds at once: what all of them ask for is one population, whoever evaluates it.

Every search runs in a thread of its own and waits for its answers, so that even a search that asks for one set at a
time fills the lanes. What was evaluated is kept on disk: the same searches, begun again, are told from there and go on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.executor import Executor
from rheotwin.record.atomic import creating, write_text
from rheotwin.texts import read_json
from rheotwin.validation.calibration.problem import Evaluation, Parameter
from rheotwin.validation.calibration.searches import BY_SQUARES, SEARCHES, Normal, Space, first_ask

LANES = 8
"""Sets that are best evaluated in one call."""


class Problem(Protocol):
    """What is searched: `CalibrationProblem`, or anything like it."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The numbers to be found."""
        ...

    def evaluate(self, thetas: Array) -> list[Evaluation]:
        """Return what sets (m, n) are worth."""
        ...

    def residuals(self, thetas: Array) -> list[Array | None]:
        """Return the residuals (r,) of sets, None for those without a result."""
        ...


@dataclass(frozen=True)
class Task:
    """Sets (m, n) to evaluate, or with `steps` (m - 1,) the sums around the first of them."""

    thetas: Array
    steps: Array | None = None

    @property
    def key(self) -> bytes:
        """What tells it from others."""
        return self.thetas.tobytes() + (b"" if self.steps is None else b"|" + self.steps.tobytes())


def answer(problem: Problem, tasks: Sequence[Task]) -> list[Any]:
    """Carry out tasks of one kind, all their sets in one population; return evaluations or sums of each."""
    thetas, ends = np.concatenate([task.thetas for task in tasks]), np.cumsum([len(task.thetas) for task in tasks])[:-1]
    if tasks[0].steps is None:
        return [list(own) for own in _split(problem.evaluate(thetas), ends)]
    left = _split(problem.residuals(thetas), ends)
    return [_sums(own, task.steps) for own, task in zip(left, tasks, strict=True) if task.steps is not None]


def _split(found: list[Any], ends: Indices) -> list[list[Any]]:
    places = [0, *ends.tolist(), len(found)]
    return [found[first:last] for first, last in pairwise(places)]


def _sums(residuals: list[Array | None], steps: Array) -> Normal | None:
    """Return sums of the slopes between the first set and each other; None where one has no result."""
    known = [left for left in residuals if left is not None]
    if len(known) < len(residuals):
        return None
    slopes = (np.array(known[1:]) - known[0]) / steps[:, None]
    return Normal(slopes @ slopes.T, slopes @ known[0], float(known[0] @ known[0]), len(known[0]))


@dataclass(frozen=True)
class Progress:
    """How far the searches are: evaluations done and to do at most, least cost so far [m], time left at most [s]."""

    done: int
    budget: int
    best: float
    left: float


Watch = Callable[[Progress], None]


@dataclass(frozen=True)
class Found:
    """What the search of one seed came to: its best set, by cost or by squares as the search goes.

    `course` has (evaluations spent, cost or squares) whenever it got better.
    """

    seed: int
    best: Evaluation
    by_squares: bool
    spent: int
    course: tuple[tuple[int, float], ...]

    @property
    def value(self) -> float:
        """Its cost or squares."""
        return self.best.squares if self.by_squares else self.best.total


class Store:
    """Evaluations in a file, a line each, behind a line that says of what; without a file they are only remembered.

    The file begins with the first set that has a result: a search that finds nothing leaves nothing.
    """

    def __init__(self, path: Path | None = None, identity: Mapping[str, str] | None = None) -> None:
        """Go on with the file if there is one; its identity must be this."""
        self._path, self._known = path, dict[bytes, Evaluation | Normal | None]()
        self._waiting = [json.dumps(dict(identity or {}))]
        if path is None or not path.exists():
            return
        first, *lines = path.read_text(encoding="utf-8").split("\n")
        try:
            earlier = dict(read_json(first))
        except (TypeError, ValueError) as error:
            raise RheotwinError(f"{path}: is damaged ({error}); start over with --overwrite") from error
        for name, value in (identity or {}).items():
            if earlier.get(name) != value:
                raise RheotwinError(f"{path}: its evaluations are of another {name}; start over with --overwrite")
        for line in lines[:-1]:  # what a kill cut off has no end
            try:
                key, found = _read(read_json(line))
            except (LookupError, TypeError, ValueError) as error:
                raise RheotwinError(f"{path}: a line is damaged ({error}); start over with --overwrite") from error
            self._known[key] = found
        self._waiting = []
        write_text(path, "\n".join([first, *lines[:-1], ""]))

    def get(self, task: Task) -> Any:
        """Return what is known of a task: a list for evaluations; raise KeyError where something is missing."""
        if task.steps is not None:
            return self._known[task.key]
        return [self._known[theta.tobytes()] for theta in task.thetas]

    def __contains__(self, key: bytes) -> bool:
        """Whether the answer to a task of that key is known."""
        return key in self._known

    def put(self, task: Task, found: list[Evaluation] | Normal | None) -> None:
        """Keep the answer to a task."""
        good = False
        if isinstance(found, list):
            for theta, item in zip(task.thetas, found, strict=True):
                self._known[theta.tobytes()] = item
                self._waiting.append(json.dumps(_plain(vars(item))))
                good |= bool(np.isfinite(item.total))
        else:
            self._known[task.key] = found
            said = {"thetas": task.thetas, "steps": task.steps, "normal": found and vars(found)}
            self._waiting.append(json.dumps(_plain(said)))
        if self._path is not None and (good or self._path.exists()):
            with creating(self._path.parent):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write("".join(f"{line}\n" for line in self._waiting))
            self._waiting = []


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | tuple | np.generic) else value


def _read(line: dict[str, Any]) -> tuple[bytes, Evaluation | Normal | None]:
    if "thetas" not in line:
        rows = {name: tuple(value) if isinstance(value, list) else value for name, value in line.items()}
        theta = np.array(line["theta"])
        return theta.tobytes(), Evaluation(**rows | {"theta": theta})
    task, normal = Task(np.array(line["thetas"]), np.array(line["steps"])), line["normal"]
    if normal is not None:
        normal = Normal(np.array(normal["matrix"]), np.array(normal["vector"]), normal["squares"], normal["count"])
    return task.key, normal


class _Spent(Exception):
    """The budget of a search is spent."""


@dataclass(eq=False)
class _Asker:
    """What one search sees: it counts, remembers the best, and waits for its answers."""

    seed: int
    name: str
    budget: int
    requests: SimpleQueue[tuple[_Asker, Task | None]]
    replies: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    spent: int = 0
    best: Evaluation | None = None
    course: list[tuple[int, float]] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    error: BaseException | None = None

    @property
    def by_squares(self) -> bool:
        """Whether the search goes by sums of squares."""
        return self.name in BY_SQUARES

    def __call__(self, thetas: Array) -> Array:
        """Return the costs of sets, as long as the budget lasts."""
        allowed = np.ascontiguousarray(thetas[: self.budget - self.spent], dtype=float)
        costs = []
        for item in self._ask(Task(allowed)) if len(allowed) else ():
            self.spent += 1
            costs.append(item.squares if self.by_squares else item.total)
            if item.reason is not None:
                self.reasons[item.reason] += 1
            if not self.course or costs[-1] < self.course[-1][1]:
                self.best = item
                self.course.append((self.spent, costs[-1]))
        if len(allowed) < len(thetas):
            raise _Spent
        return np.array(costs)

    def normal(self, thetas: Array, steps: Array) -> Normal | None:
        """Return the sums around a set, as long as the budget lasts."""
        if self.spent + len(thetas) > self.budget:
            raise _Spent
        self.spent += len(thetas)
        found: Normal | None = self._ask(Task(np.ascontiguousarray(thetas), np.ascontiguousarray(steps)))
        return found

    def _ask(self, task: Task) -> Any:
        self.requests.put((self, task))
        found = self.replies.get()
        if found is _Spent:
            raise _Spent
        return found

    def run(self, space: Space) -> None:
        """Search: the first seed begins at the start of the parameters, the others anywhere."""
        chance = np.random.default_rng(self.seed)
        start = space.start if self.seed == 0 else space.anywhere(chance)
        try:
            SEARCHES[self.name](self, space, chance, start)
        except _Spent:
            pass
        except BaseException as error:  # it belongs to the thread that waits for all
            self.error = error
        finally:
            self.requests.put((self, None))


def check(problem: Problem, name: str, budget: int) -> None:
    """Raise for what is wrong before the first evaluation."""
    if name not in SEARCHES:
        raise RheotwinError(f"--search {name}: there is no such search; choose from {', '.join(SEARCHES)}")
    least = first_ask(name, len(problem.parameters))
    if budget < least:
        raise RheotwinError(
            f"--budget {budget}: {name} asks for {least} evaluations of {len(problem.parameters)} parameters before it "
            f"can choose; give at least {least}"
        )


def search(
    problem: Problem,
    name: str,
    budget: int,
    executor: Executor,
    *,
    seeds: Sequence[int] = range(5),
    store: Store | None = None,
    watch: Watch = lambda progress: None,
) -> list[Found]:
    """Return what a search finds from each seed within `budget` evaluations, the best first."""
    check(problem, name, budget)
    space = Space(problem.parameters)
    requests: SimpleQueue[tuple[_Asker, Task | None]] = SimpleQueue()
    askers = [_Asker(seed, name, budget, requests) for seed in seeds]
    threads = [Thread(target=asker.run, args=(space,), daemon=True) for asker in askers]
    alive, begin, kept, computed = list(askers), perf_counter(), store or Store(), 0
    for thread in threads:
        thread.start()
    try:
        while alive:
            pending: list[tuple[_Asker, Task]] = []
            while len(pending) < len(alive):
                asker, task = requests.get()
                if task is None:
                    alive.remove(asker)
                else:
                    pending.append((asker, task))
            computed += _compute(problem, executor, kept, [task for _, task in pending])
            for asker, task in pending:
                asker.replies.put(kept.get(task))
            done, best = sum(asker.spent for asker in askers), [a.best.total for a in askers if a.best is not None]
            open_ = sum(asker.budget - asker.spent for asker in alive)
            left = (perf_counter() - begin) / max(computed, 1) * open_
            watch(Progress(done, done + open_, min(best, default=np.inf), left))
    finally:
        for asker in alive:
            asker.replies.put(_Spent)
        for thread in threads:
            thread.join()
    for asker in askers:
        if asker.error is not None:
            raise asker.error
    return _found(askers)


def _found(askers: Iterable[_Asker]) -> list[Found]:
    """Return what was found, or say why nothing was."""
    found = [Found(a.seed, a.best, a.by_squares, a.spent, tuple(a.course)) for a in askers if a.best is not None]
    found.sort(key=lambda item: item.value)
    if found and np.isfinite(found[0].value):
        return found
    reasons: Counter[str] = sum((asker.reasons for asker in askers), Counter())
    reason, times = reasons.most_common(1)[0]
    spent = sum(asker.spent for asker in askers)
    raise RheotwinError(f"none of {spent} evaluations has a result; the commonest reason, {times} times: {reason}")


def _compute(problem: Problem, executor: Executor, store: Store, tasks: Sequence[Task]) -> int:
    """Find the answers that the store lacks, all sets in one population; return how many sets were evaluated."""
    new = {
        theta.tobytes(): theta
        for task in tasks
        if task.steps is None
        for theta in task.thetas
        if theta.tobytes() not in store
    }
    sums = {task.key: task for task in tasks if task.steps is not None and task.key not in store}
    thetas = np.array(list(new.values()))
    each = len(thetas) if executor.workers == 1 else min(-(-len(thetas) // executor.workers), LANES)
    items = [[Task(thetas[k : k + each])] for k in range(0, len(thetas), max(each, 1))]
    items += [list(sums.values())] if executor.workers == 1 and sums else [[task] for task in sums.values()]
    for index, found in executor.each(answer, problem, items):
        for task, own in zip(items[index], found, strict=True):
            store.put(task, own)
    return sum(len(task.thetas) for item in items for task in item)
