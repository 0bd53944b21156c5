"""Intervals, ratios, flat directions and noise floor against closed forms; calibrated scenes read back as they were."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheotwin.scene import load_scene, parse_scene
from rheotwin.scene.write import scene_text
from rheotwin.validation.calibration import Evaluation, Parameter
from rheotwin.validation.calibration.campaign import Found
from rheotwin.validation.calibration.result import (
    Result,
    covariance_of,
    flat,
    floor,
    normal_at,
    result,
    sentences,
)
from rheotwin.validation.calibration.searches import Space
from rheotwin.validation.experiments.metadata import Specimen, Uncertainty
from rheotwin.validation.experiments.record import ExperimentRecord, Frame

NAMES = ("young", "voigt_viscosity", "series_viscosity")
DOUGH = tuple(Parameter(name, f"laws.dough.{name}", 10.0, 1e5, 1e3) for name in NAMES)
TRUTH = np.array([2000.0, 500.0, 3500.0])
SHAPES = np.array([[-40.0, 40.0, 0.0], [-50.0, 0.0, 50.0], [30.0, 30.0, -60.0]])
"""Residuals over logarithms that know ratios alone."""
FORCES = np.array([[20.0, 0.0, 0.0]])


class Straight:
    """Residuals linear in the logarithms, with a rest of unit size that no parameter explains."""

    parameters = DOUGH

    def __init__(self, matrix: np.ndarray, rest: float = 0.0) -> None:
        self.matrix, self.rest = matrix, rest

    def residuals(self, thetas: np.ndarray) -> list[np.ndarray]:
        left = np.full(100, self.rest)
        return [np.concatenate([self.matrix @ np.log(theta / TRUTH), left]) for theta in thetas]

    def by_record(self, thetas: np.ndarray) -> list[list[np.ndarray]]:
        return [[own] for own in self.residuals(thetas)]

    def evaluate(self, thetas: np.ndarray, part: str = "fit") -> list[Evaluation]:
        """Cost: squares; of the records to validate, how far the modulus is from 1900."""
        squares = [float(left @ left) for left in self.residuals(thetas)]
        return [
            Evaluation(theta, abs(theta[0] - 1900.0) if part == "validate" else own, (own,), (0,), squares=own)
            for theta, own in zip(thetas, squares, strict=True)
        ]

    def points(self, part: str = "fit") -> int:
        return 50


def record(mean_abs: float | None = 0.05e-2, points: int = 50) -> ExperimentRecord:
    specimen = Specimen.model_validate({"size": [0.1, 0.06, 0.1]})
    frame = Frame(1.0, np.zeros((points, 3)))
    return ExperimentRecord("r", "measured", specimen, (frame,), uncertainty=Uncertainty(mean_abs=mean_abs))


def found(problem: Straight, *thetas: np.ndarray) -> list[Found]:
    runs = [Found(seed, own, True, 9, ()) for seed, own in enumerate(problem.evaluate(np.array(thetas)))]
    return sorted(runs, key=lambda run: run.value)


def result_of(problem: Straight, *thetas: np.ndarray, validate: bool = False) -> Result:
    return result(problem, {"fit": [record()], "validate": [record()] if validate else []}, found(problem, *thetas))


@pytest.mark.parametrize("rest", [0.0, 3.0])
def test_intervals_are_those_of_least_squares(rest: float) -> None:
    matrix = np.concatenate([SHAPES, FORCES])
    wanted = np.linalg.inv(matrix.T @ matrix) * max(1.0, 100 * rest**2 / (104 - 3))
    got, noise = covariance_of(normal_at(Straight(matrix, rest), Space(DOUGH), TRUTH), 3)
    assert got == pytest.approx(wanted, rel=1e-6) and noise == pytest.approx(max(1.0, 900 / 101 if rest else 0.0))
    made = result_of(Straight(matrix, rest), TRUTH)
    for k, item in enumerate(made.parameters):
        half = 1.96 * np.sqrt(wanted[k, k])
        assert (item.low, item.high) == pytest.approx(TRUTH[k] * np.exp([-half, half]))
    ratio = made.ratios[0]
    half = 1.96 * np.sqrt(wanted[1, 1] + wanted[0, 0] - 2.0 * wanted[0, 1])
    assert (ratio.name, ratio.value) == ("voigt_viscosity/young", 0.25)
    assert (ratio.low, ratio.high) == pytest.approx((0.25 * np.exp(-half), 0.25 * np.exp(half)))
    assert made.flat == ()


def test_what_nothing_tells_is_named_with_its_remedy() -> None:
    made = result_of(Straight(SHAPES), TRUTH)
    (open_,) = made.flat
    assert sorted(open_.combination.split()) == sorted(NAMES) and open_.factor > 1e6
    assert open_.remedy == "only a force, or the weight of the body, tells the scale of all"
    assert all((item.low, item.high) == pytest.approx((10.0, 1e5)) for item in made.parameters)
    assert all(item.high < 1.1 * item.low for item in made.ratios)
    covariance = np.diag([1e-4, 1.0, 1e-4])
    assert [item.combination for item in flat(Space(DOUGH), covariance)] == ["voigt_viscosity"]
    assert "only a force" in flat(Space(DOUGH), np.diag([1.0, 1e-4, 1e-4]))[0].remedy
    assert "a frame within a tenth of a second after the release" in flat(Space(DOUGH), covariance)[0].remedy


def test_seeds_apart_bounds_and_worse_places_are_said() -> None:
    problem = Straight(np.concatenate([SHAPES, FORCES]))
    near, far = TRUTH * [1.02, 1.02, 1.02], TRUTH * [3.0, 1.0, 1.0]
    made = result_of(problem, TRUTH, near, far)
    assert [run["close"] for run in made.seeds] == [True, True, False]
    assert made.parameters[0].largest == near[0] and made.parameters[0].agrees
    said = "\n".join(sentences(made))
    assert "2 of 3 seeds came as far as the best" in said and "further apart" not in said
    apart = "\n".join(sentences(replace(made, ratios=(replace(made.ratios[0], largest=9.0),))))
    assert "voigt_viscosity/young: the seeds lie between 0.25 and 9, further apart than the interval" in apart


def test_a_bound_is_to_be_widened_unless_nothing_tells_its_parameter() -> None:
    for matrix, advice in (
        (np.concatenate([SHAPES, FORCES]), "voigt_viscosity lies on its low bound: widen it"),
        (SHAPES, "only a force, or the weight of the body, tells the scale of all; or fix one of "),
    ):
        problem = Straight(matrix)
        problem.parameters = (DOUGH[0], replace(DOUGH[1], low=TRUTH[1]), DOUGH[2])
        made = result_of(problem, TRUTH)
        assert [item.bound for item in made.parameters] == ["", "low", ""]
        assert advice in sentences(made)[0]


def test_a_search_that_ended_too_soon_says_what_a_step_promises() -> None:
    problem = Straight(np.concatenate([SHAPES, FORCES]), rest=1.0)
    assert result_of(problem, TRUTH).promise == 0.0
    made = result_of(problem, TRUTH * [1.1, 1.0, 0.9])
    left = problem.residuals((TRUTH * [1.1, 1.0, 0.9])[None])[0]
    assert made.promise == pytest.approx(1.0 - 100.0 / float(left @ left), rel=1e-3)
    assert "the search ended too soon: one more step promises" in sentences(made)[0]


def test_what_is_common_to_a_record_widens_the_intervals() -> None:
    """Two records whose slopes are opposite: each alone would go somewhere else."""
    matrix = np.concatenate([SHAPES, FORCES])
    sums = normal_at(Straight(matrix), Space(DOUGH), TRUTH)
    apart = matrix.T @ matrix @ np.array([0.1, 0.0, 0.0])
    plain, clustered = covariance_of(sums, 3)[0], covariance_of(sums, 3, [apart, -apart])[0]
    wide = (12.706 / 1.96) ** 2 * 2 * (0.1**2 + 0.1**2)
    assert plain[0, 0] < 0.01 and clustered[0, 0] == pytest.approx(wide, rel=0.05)
    assert np.linalg.eigvalsh(clustered - plain).min() > -1e-9


def test_records_for_validation_choose_among_the_seeds() -> None:
    problem, other = Straight(np.concatenate([SHAPES, FORCES])), TRUTH * 0.95
    assert result_of(problem, TRUTH, other).theta == pytest.approx(TRUTH)
    assert result_of(problem, TRUTH, other, validate=True).theta == pytest.approx(other)


def test_noise_alone_leaves_the_distances_that_count() -> None:
    assert floor([record()]) == pytest.approx(0.03637e-2, rel=1e-4)
    sizes = np.abs(np.random.default_rng(0).normal(0.0, 0.08e-2 * np.sqrt(0.5 * np.pi), 400_000))
    assert floor([record(0.08e-2)]) == pytest.approx(np.mean(np.where(sizes >= 0.05e-2, sizes, 0.0)), rel=5e-3)
    assert floor([record(), record(0.0, points=150)]) == pytest.approx(0.25 * 0.03637e-2, rel=1e-4)
    assert floor([record(None)]) is None


def test_scenes_are_written_as_they_are() -> None:
    for file in sorted((Path(__file__).parents[3] / "scenes").glob("*.toml")):
        scene = load_scene(file)
        assert parse_scene(scene_text(scene, "two\nlines"), base=file.parent) == scene, file.name
