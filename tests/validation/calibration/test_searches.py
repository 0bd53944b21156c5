"""Searches on functions whose minimum is known: they find it, keep to their budget, and can be gone on with."""

import threading
from pathlib import Path

import numpy as np
import pytest

from rheotwin import executor
from rheotwin.errors import RheotwinError
from rheotwin.validation.calibration import Evaluation, Parameter
from rheotwin.validation.calibration.campaign import Found, Progress, Store, search
from rheotwin.validation.calibration.searches import BITS, SEARCHES, Space, first_ask

TRUTH = np.array([1990.0, 900.0, 3470.0])
BOUNDS = [(100.0, 3000.0), (500.0, 10000.0), (500.0, 20000.0)]
PARTS = ("young", "voigt_viscosity", "series_viscosity")
DOUGH = tuple(
    Parameter(part, f"laws.dough.{part}", low, high, start)
    for part, (low, high), start in zip(PARTS, BOUNDS, (400.0, 2000.0, 2000.0), strict=True)
)


class Valley:
    """Relaxation of a three-element body at some times: curved, and narrow along C1; fails where K < `wall`."""

    parameters = DOUGH

    def __init__(self, wall: float = 0.0) -> None:
        self.wall, self.asked = wall, 0

    def _shown(self, theta: np.ndarray) -> np.ndarray:
        k, c1, c2 = theta
        times = np.array([0.02, 0.1, 0.5, 1.0, 3.0, 9.0])
        return np.concatenate([np.exp(-times * k / (c1 + c2)) * c2 / (c1 + c2), [0.3 * np.log(c1 * c2 / (c1 + c2))]])

    def residuals(self, thetas: np.ndarray) -> list[np.ndarray | None]:
        return [None if theta[0] < self.wall else 100.0 * (self._shown(theta) - self._shown(TRUTH)) for theta in thetas]

    def evaluate(self, thetas: np.ndarray) -> list[Evaluation]:
        self.asked += len(thetas)
        return [
            Evaluation(theta, np.inf, reason=f"the run diverged below {self.wall:g}")
            if left is None
            else Evaluation(theta, float(left @ left), per_time=(1.0, 2.0), counts=(3,), squares=float(left @ left))
            for theta, left in zip(thetas, self.residuals(thetas), strict=True)
        ]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3])


def found(problem: Valley, name: str, budget: int = 400, seeds: int = 2, **how: object) -> list[Found]:
    with executor.opened() as here:
        return search(problem, name, budget, here, seeds=range(seeds), **how)


REACHED = {"least-squares": 1e-6, "nelder-mead": 1e-9, "cma": 1e-6, "differential-evolution": 1e-2}
"""Share of the cost at the start that is left after 400 evaluations; least squares keep a pull to their start."""


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_keeps_to_its_budget_and_gets_better(name: str) -> None:
    if name == "cma":
        pytest.importorskip("cma")
    problem = Valley()
    runs = found(problem, name)
    start = problem.evaluate(Space(DOUGH).start[None])[0].total
    for run in runs:
        spent, costs = np.transpose(run.course)
        assert run.spent <= 400 and np.all(np.diff(costs) < 0.0) and np.all(np.diff(spent) > 0.0)
        assert np.all((run.best.theta >= Space(DOUGH).low) & (run.best.theta <= Space(DOUGH).high))
        assert problem.evaluate(run.best.theta[None])[0].total == run.best.total == costs[-1]
    assert runs[0].best.total < REACHED.get(name, 0.7) * start
    if REACHED.get(name, 1.0) <= 1e-6:
        assert runs[0].best.theta == pytest.approx(TRUTH, rel=3e-3)


def test_the_papers_descent_goes_to_the_best_corner_until_none_is_better() -> None:
    (run,) = found(Valley(), "steepest", 10**5, seeds=1)
    step, at = (Space(DOUGH).high - Space(DOUGH).low) / 290.0, Space(DOUGH).start
    corners = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
    cost, asked = Valley().evaluate(at[None])[0].total, [1]
    while True:
        asked.append(len(corners))
        around = Space(DOUGH).clipped(at + step * corners)
        costs = [item.total for item in Valley().evaluate(around)]
        if min(costs) >= cost:
            break
        at, cost = around[np.argmin(costs)], min(costs)
    assert np.array_equal(run.best.theta, at) and run.best.total == cost
    assert run.spent == sum(asked) > 100


def test_children_of_the_genetic_algorithm_are_strings_of_bits_of_their_parents() -> None:
    seen: list[np.ndarray] = []

    def ask(thetas: np.ndarray) -> np.ndarray:
        seen.append(thetas)
        if len(seen) == 2:
            raise StopIteration
        return np.array([item.total for item in Valley().evaluate(thetas)])

    space = Space(DOUGH)
    with pytest.raises(StopIteration):
        SEARCHES["genetic-paper"](ask, space, np.random.default_rng(3), space.start)
    assert [len(thetas) for thetas in seen] == [50, 40]
    places = (np.concatenate(seen) - space.low) / (space.high - space.low) * (2**BITS - 1)
    assert places == pytest.approx(np.round(places), abs=1e-6)
    whole = ["".join(f"{round(value):0{BITS}b}" for value in row) for row in places]
    parents = sorted(range(50), key=lambda k: Valley().evaluate(seen[0][k : k + 1])[0].total)[:10]
    children = 0
    for child in whole[50:]:
        plain = {child, "".join("10"[int(bit)] for bit in child)}  # one in a hundred is turned as a whole
        children += any(
            one[:cut] + other[cut:] in plain
            for one in (whole[k] for k in parents)
            for other in (whole[k] for k in parents)
            for cut in range(1, 3 * BITS)
        )
    assert children == 40


def test_inner_coordinates_are_undone() -> None:
    space = Space((*DOUGH, Parameter("friction", "contact.friction", 0.0, 1.0, 0.3)))
    thetas = np.array([[1990.0, 510.0, 3470.0, 0.4], [400.0, 9000.0, 19000.0, 0.0]])
    assert space.outer(space.inner(thetas)) == pytest.approx(thetas, rel=1e-12)
    k, c1, c2 = thetas[0, :3]
    assert space.inner(thetas)[0] == pytest.approx(
        [np.log((c1 + c2) / k), np.log(c1 / c2), np.log(c1 * c2 / (c1 + c2)), 0.4]
    )


def test_laws_are_scaled_back_into_their_bounds_together() -> None:
    other = tuple(Parameter(f"o-{p.name}", p.place.replace("dough", "skin"), p.low, p.high, p.start) for p in DOUGH)
    space = Space((*DOUGH, *other))
    theta = np.array([6000.0, 1800.0, 10000.0, 5000.0, 1700.0, 9000.0])  # half of it lies within
    assert space.outer(space.inner(theta)) == pytest.approx(theta / 2.0, rel=1e-12)
    assert list(space.inside(space.inner(np.array([theta, theta / 3.0])))) == [False, True]
    wide = np.array([6000.0, 1800.0, 10000.0, 100.0, 1700.0, 9000.0])  # no scale would do
    assert space.outer(space.inner(wide)) == pytest.approx(space.clipped(wide), rel=1e-12)


def test_a_search_gone_on_with_asks_nothing_twice_and_ends_at_the_same_place(tmp_path: Path) -> None:
    def once(problem: Valley, budget: int) -> list[Found]:
        return found(problem, "least-squares", budget, store=Store(tmp_path / "evaluations.jsonl", {"scene": "a"}))

    whole, first, second, third = found(Valley(), "least-squares", 200), Valley(), Valley(), Valley()
    once(first, 60)
    with (tmp_path / "evaluations.jsonl").open("a") as file:
        file.write('{"theta": [1.0, 2.')  # as a kill leaves it
    again = once(second, 200)
    assert [(run.course, run.best.total, *run.best.theta) for run in again] == [
        (run.course, run.best.total, *run.best.theta) for run in whole
    ]
    once(third, 200)
    assert 0 < second.asked < 200 * 2 and third.asked == 0
    with pytest.raises(RheotwinError, match="its evaluations are of another scene; start over with --overwrite"):
        Store(tmp_path / "evaluations.jsonl", {"scene": "b"})


@pytest.mark.parametrize("place", ["processes:2", "dask"])
def test_the_same_search_from_other_processes(place: str) -> None:
    if place == "dask":
        pytest.importorskip("distributed")
    here = found(Valley(), "least-squares", 40, seeds=3)
    with executor.opened(place) as workers:
        there = search(Valley(), "least-squares", 40, workers, seeds=range(3))
    assert [(run.seed, run.course) for run in here] == [(run.seed, run.course) for run in there]


def test_sets_without_a_result_are_costs_and_not_the_end() -> None:
    assert found(Valley(wall=1000.0), "nelder-mead", 600)[0].best.theta == pytest.approx(TRUTH, rel=3e-3)
    with pytest.raises(
        RheotwinError, match=r"none of 100 evaluations .* commonest reason, 100 times: the run diverged below"
    ):
        found(Valley(wall=1e9), "genetic", 50)


def test_faults_before_the_first_evaluation() -> None:
    problem = Valley()
    with pytest.raises(RheotwinError, match="there is no such search; choose from least-squares, nelder-mead"):
        found(problem, "magic")
    for name in SEARCHES:
        with pytest.raises(RheotwinError, match=rf"{name} asks for {first_ask(name, 3)} evaluations of 3 parameters"):
            found(problem, name, first_ask(name, 3) - 1)
    assert problem.asked == 0


def test_an_interrupted_search_ends_all_its_threads_and_progress_is_told() -> None:
    said: list[Progress] = []

    def stop(progress: Progress) -> None:
        said.append(progress)
        if progress.done > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found(Valley(), "nelder-mead", 400, seeds=3, watch=stop)
    assert said[-1].budget == 1200 and said[-1].best < np.inf and said[-1].left > 0.0
    assert not any("(run)" in thread.name for thread in threading.enumerate())
