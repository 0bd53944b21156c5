"""Evaluations: the papers' twin, lanes against set after set, every term of the cost, sets that fail, bad input."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.executor import opened
from rheotwin.scene import Scene, load_scene, scene_from_data
from rheotwin.validation.calibration import CalibrationProblem, Costs, Parameter, parameters_of, twin
from rheotwin.validation.calibration.campaign import search
from rheotwin.validation.calibration.measured import pusher_of
from rheotwin.validation.calibration.registration import TURNS
from rheotwin.validation.checks.running import Data, box_scene, path, side
from rheotwin.validation.experiments.metadata import Specimen
from rheotwin.validation.experiments.reader import read_experiment
from rheotwin.validation.experiments.record import Course, ExperimentRecord
from rheotwin.validation.experiments.synthetic import Noise
from rheotwin.validation.experiments.writer import write_experiment
from tests.conftest import DOUGH, pushed_lump

TIMES = (0.1, 0.25, 0.4)
LAW = {"model": "three-element", "young": 2000.0, "poisson": 0.25, "voigt_viscosity": 500.0, "series_viscosity": 3000.0}
NUMBERS = ("young", "voigt_viscosity", "series_viscosity")
TRUTH = np.array([LAW[name] for name in NUMBERS], dtype=float)
MARKED = {f"laws.stuff.{name}": {"low": 100.0, "high": 10_000.0} for name in NUMBERS}


def pushed(**more: Any) -> Scene:
    """A block of 3 x 2 x 2 cells of a centimetre, pushed at a part of its top, and let go."""
    punch = side("top", motion=path((0.0, 0.25), [[0.0] * 3, [0.0, 0.0, -0.003]]), until=0.3)
    punch["where"] = more.pop("punch_at", {"box": {"x": [0.009, 0.021], "z": [0.019, 0.021]}})
    supports = {"floor": side("bottom"), "punch": punch}
    data: Data = {"calibrate": MARKED, "solvers": {"truss": {"match": "edge"}}}
    data |= {"size": [0.03, 0.02, 0.02], "cell": "hex", "equal_mass": 36.0, "duration": 0.4, "supports": supports}
    data |= more
    return scene_from_data(box_scene(LAW, cells=[3, 2, 2], **data))


def seen(**more: Any) -> ExperimentRecord:
    return twin(pushed(), "truss", TIMES, **{"scale": 2.0, "points": 1500, **more})[0]


def around_truth(count: int, spread: float = 0.3) -> Array:
    return TRUTH * np.exp(spread * np.random.default_rng(0).standard_normal((count, 3)))


def test_the_papers_twin_has_the_difference_of_a_perfect_model() -> None:
    """A5: S at the truth within three standard deviations of 554.1 cm, that of the first start well above it."""
    marks = {"calibrate": {f"laws.R2-M1.{name}": {"low": 100.0, "high": 20_000.0} for name in NUMBERS}}
    scene = load_scene("scenes/calibrated-lattice-3d.toml", marks).with_case("R2-M1")
    record, truth = twin(scene, "truss", (1.0, 3.3, 3.6, 4.0), scale=2.0, points=15_235)
    problem = CalibrationProblem(scene, "truss", [record])
    assert problem.ways == ("8 sets at a time",)
    right, start = problem.evaluate([[1990.0, 510.0, 3470.0], [400.0, 2000.0, 2000.0]])
    assert 100.0 * right.total == pytest.approx(554.1, abs=13.0)
    assert start.total > 1.3 * right.total
    np.testing.assert_allclose(np.array(right.volume[-1]) / 8e-6, 68.47, atol=0.05)
    assert problem.points() == 15_235
    assert '"voigt_viscosity": 510.0' in truth
    assert record.seal is not None and "R2-M1" not in record.source


def test_lanes_and_set_after_set_agree_and_a_set_alone_has_the_same_bits() -> None:
    problem, slow = (CalibrationProblem(pushed(), "truss", [seen()], lanes=lanes) for lanes in (True, False))
    assert slow.ways == ("set after set (as asked for)",)
    sets = around_truth(11)
    together = problem.evaluate(sets)
    for one, other, theta in zip(together, slow.evaluate(sets), sets, strict=True):
        assert one.total == pytest.approx(other.total, rel=0.02)
        np.testing.assert_allclose(one.volume, other.volume, rtol=2e-3)
        np.testing.assert_allclose(one.force, other.force, rtol=0.02, atol=0.01 * max(other.force))
        (alone,) = problem.evaluate(theta)
        assert (alone.total, alone.per_time, alone.force) == (one.total, one.per_time, one.force)
        assert (alone.theta == theta).all()


def test_scaling_a_law_moves_no_shape_and_forces_fix_the_scale() -> None:
    """A4: shapes alone leave one direction flat."""
    record, sets = seen(), np.array([TRUTH, 2.0 * TRUTH])
    one, two = CalibrationProblem(pushed(), "truss", [record]).evaluate(sets)
    assert two.total == pytest.approx(one.total, rel=0.01)
    assert np.array(two.force[:2]) / np.array(one.force[:2]) == pytest.approx(2.0, rel=0.01)
    one, two = CalibrationProblem(pushed(), "truss", [record], costs=Costs(forces=1.0)).evaluate(sets)
    assert two.total > 1.5 * one.total


def test_every_term_is_least_at_the_truth_and_is_that_of_the_noise_there() -> None:
    quiet = Noise(points=1e-4, force=0.02, volume=0.001)
    cloud, field = seen(noise=quiet), seen(noise=quiet, tracked=True, points=90)
    for record, term in ((cloud, "shapes"), (cloud, "forces"), (cloud, "volumes"), (field, "fields")):
        costs = Costs(**({"shapes": 0.0} | {term: 1.0}))
        problem = CalibrationProblem(pushed(), "truss", [record], costs=costs)
        right, wrong = problem.evaluate([TRUTH, TRUTH * [1.0, 4.0, 0.4]])
        assert wrong.total > 1.2 * right.total, term
        if term != "shapes":
            assert right.terms is not None and 0.2 < right.terms[term] < 2.0, (term, right.terms)
        if term == "fields":
            assert right.terms is not None and right.terms[term] == pytest.approx(1.0, rel=0.1)
        residual, off = problem.residuals([TRUTH, TRUTH * [1.0, 4.0, 0.4]])
        assert residual is not None and off is not None and np.mean(off**2) > np.mean(residual**2)
        assert np.mean(residual**2) < 5.4  # 99.9 % of the mean of three squares


def test_the_parts_of_a_total_add_up() -> None:
    record = seen()
    sets = around_truth(2)
    problem = CalibrationProblem(pushed(), "truss", [record], costs=Costs(shapes=2.0, forces=0.5, volumes=0.1))
    for found in problem.evaluate(sets):
        assert found.terms is not None
        unit = 0.05e-2 * record.points
        wanted = 2.0 * sum(found.per_time) + unit * (0.5 * found.terms["forces"] + 0.1 * found.terms["volumes"])
        assert found.total == pytest.approx(wanted, rel=1e-12)
        assert len(found.counts) == len(found.volume) == len(found.force) == len(TIMES)


def test_records_are_fitted_validated_or_foretold() -> None:
    first, other = seen(seed=1), seen(seed=2, points=700)
    problem = CalibrationProblem(pushed(), "truss", [first, other], parts=("fit", "predict"))
    alone = CalibrationProblem(pushed(), "truss", [other])
    assert (problem.points("fit"), problem.points("validate"), problem.points("predict")) == (1500, 0, 700)
    assert problem.evaluate(TRUTH, "predict")[0].total == pytest.approx(alone.evaluate(TRUTH)[0].total, rel=1e-12)
    both = CalibrationProblem(pushed(), "truss", [first, other]).evaluate(TRUTH)[0]
    parts = [problem.evaluate(TRUTH, part)[0].total for part in ("fit", "predict")]
    assert both.total == pytest.approx(sum(parts), rel=1e-12)


def test_the_punch_of_a_record_drives_the_scene() -> None:
    data = pushed().model_dump(mode="json")
    data["supports"]["punch"]["motion"]["displacement"][1][2] = -0.004
    record, _ = twin(scene_from_data(data), "truss", TIMES, scale=2.0, points=1500)
    driven = CalibrationProblem(pushed(), "truss", [record]).evaluate(TRUTH)[0]
    own = CalibrationProblem(pushed(), "truss", [replace(record, path=None)]).evaluate(TRUTH)[0]
    assert driven.total < 0.7 * own.total


def test_a_record_brings_what_of_the_scene_is_its_own(tmp_path: Path) -> None:
    """A record of another body and punch: the same as if the scene had them; what does not fit is one sentence."""
    size, where = [0.03, 0.02, 0.03], {"box": {"x": [-0.001, 0.011], "z": [0.029, 0.031]}}
    other = pushed(size=size, punch_at=where)
    record = twin(other, "truss", TIMES, points=500)[0]
    own = {"bodies.block.size": size, "supports.punch.where": where}
    write_experiment(tmp_path / "own", replace(record, setup=own))
    again = read_experiment(tmp_path / "own")
    assert again.setup == own
    found = CalibrationProblem(pushed(), "truss", [again]).evaluate(TRUTH)[0]
    assert found.total == CalibrationProblem(other, "truss", [record]).evaluate(TRUTH)[0].total
    with pytest.raises(RheotwinError, match=r"record '.*': setup bodies\.blok\.size: bodies has no 'blok'"):
        CalibrationProblem(pushed(), "truss", [replace(again, setup={"bodies.blok.size": size})])


def test_what_stands_still_pushes_nothing() -> None:
    table = {"shape": "plane", "center": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}
    ball = {"shape": "sphere", "center": [0.015, 0.01, 0.03], "radius": 0.01}
    ball["motion"] = path((0.0, 1.0), [[0.0] * 3, [0.0, 0.0, -0.003]])
    assert pusher_of(pushed(tools={"table": table, "ball": ball}, supports={})) == ("tools", "ball")


def test_a_record_in_other_axes_is_worth_the_same() -> None:
    """With y upright, the origin in the middle and a frame of the body at rest."""
    record = twin(pushed(), "truss", (0.0, *TIMES), scale=2.0, points=2000)[0]
    turn = TURNS["y"].T
    middle = 0.5 * np.array(record.specimen.size)

    def turned(values: Array) -> Array:
        return np.asarray(values @ turn.T)

    assert record.force is not None and record.path is not None
    other = replace(
        record,
        specimen=Specimen.model_validate(
            {"size": np.abs(turned(2.0 * middle)).tolist(), "up": "y", "origin": "center"}
        ),
        frames=tuple(replace(frame, points=turned(frame.points - middle), normals=None) for frame in record.frames),
        force=replace(record.force, values=turned(record.force.values)),
        path=replace(record.path, values=turned(record.path.values)),
    )
    costs = Costs(forces=0.2, volumes=0.2)
    problems = [CalibrationProblem(pushed(), "truss", [seen], costs=costs) for seen in (record, other)]
    assert all(problem.registrations[0].at_rest for problem in problems)
    for one, two in zip(*(problem.evaluate(around_truth(3)) for problem in problems), strict=True):
        assert two.total == pytest.approx(one.total, rel=1e-3)
        assert len(one.per_time) == 4 and one.volume[0] == pytest.approx(8.0 * 12e-6, rel=1e-9)


def test_the_error_of_lanes_is_told() -> None:
    problem = CalibrationProblem(pushed(), "truss", [seen()])
    assert 0.0 < problem.error_of_lanes() < 0.02
    assert CalibrationProblem(pushed(), "truss", [seen()], lanes=False).error_of_lanes() == 0.0


def test_a_record_of_forces_drives_a_scene_that_forces_push() -> None:
    """The force that the punch has needed leads to the same shapes, and is no term of the cost then."""
    times = np.linspace(0.01, 0.25, 25).tolist()
    data = pushed().model_dump(mode="json")
    where = data["supports"].pop("punch")["where"]
    data["forces"] = {"press": {"body": "block", "where": where, "total": [0.0, 0.0, -100.0]}}
    data |= {"duration": 0.25, "output": {"interval": 0.25}}
    factor = {"times": [0.0, 0.25], "factor": [0.0, 1.0]}
    ramp = scene_from_data(data | {"forces": {"press": data["forces"]["press"] | factor}})
    record, _ = twin(ramp, "truss", [0.1, 0.2, 0.25], points=1500)
    assert record.force is None and record.path is None
    along = Course(np.array(times), np.outer(times, [0.0, 0.0, -400.0]))
    driven = CalibrationProblem(scene_from_data(data), "truss", [replace(record, force=along)])
    same, own = driven.evaluate(TRUTH)[0], CalibrationProblem(ramp, "truss", [record]).evaluate(TRUTH)[0]
    assert driven.ways == ("8 sets at a time",)
    assert same.total == pytest.approx(own.total, rel=0.01)
    assert same.force == () and same.terms is not None and "forces" not in same.terms


def test_a_problem_goes_to_other_processes() -> None:
    problem = CalibrationProblem(pushed(), "truss", [seen()], costs=Costs(forces=0.1))
    other = pickle.loads(pickle.dumps(problem))
    sets = around_truth(3)
    assert [e.total for e in other.evaluate(sets)] == [e.total for e in problem.evaluate(sets)]


def test_a_set_that_fails_has_an_infinite_cost_and_a_reason() -> None:
    problem = CalibrationProblem(pushed(), "truss", [seen()])
    bad, good = problem.evaluate([[-1.0, 500.0, 3000.0], TRUTH])
    assert bad.total == np.inf and bad.reason is not None and bad.reason.startswith("laws.stuff")
    assert good.reason is None and good.total < np.inf
    assert problem.residuals([[-1.0, 500.0, 3000.0]]) == [None]
    deep = pushed().model_dump(mode="json")
    deep["supports"]["punch"]["motion"]["displacement"][1][2] = -0.0195
    record = replace(seen(), path=None)
    for lanes in (True, False):
        crushed = CalibrationProblem(scene_from_data(deep), "truss", [record], lanes=lanes).evaluate(TRUTH)[0]
        assert crushed.total == np.inf and crushed.reason is not None and "inverted" in crushed.reason


def test_any_solver_is_evaluated_set_after_set() -> None:
    scene = pushed(solvers={})
    law = {"model": "voigt", "young": 2000.0, "poisson": 0.3, "viscosity": 200.0}
    data = scene.model_dump(mode="json") | {"laws": {"stuff": law}}
    data["bodies"]["block"] |= {"mass": 0.01}
    data["calibrate"] = {
        "laws.stuff.poisson": {"low": 0.1, "high": 0.45},
        "laws.stuff.young": {"low": 1e3, "high": 4e3},
    }
    scene = scene_from_data(data)
    record, _ = twin(scene, "fem", TIMES, points=600, noise=Noise(points=1e-5, volume=1e-4))
    problem = CalibrationProblem(scene, "fem", [record], costs=Costs(volumes=1.0))
    assert problem.ways == ("set after set (the solver 'fem' has no populations)",)
    right, wrong = problem.evaluate([[0.3, 2000.0], [0.15, 2000.0]])
    assert right.total < 0.5 * wrong.total


def test_parameters_that_do_not_act_are_named() -> None:
    more = MARKED | {"laws.other.young": {"low": 1.0, "high": 2.0}}
    data = pushed().model_dump(mode="json")
    data["laws"]["other"] = dict(data["laws"]["stuff"])
    data["calibrate"] = more
    problem = CalibrationProblem(scene_from_data(data), "truss", [seen()], costs=Costs(forces=1.0))
    assert problem.idle() == ("laws.other.young",)


def test_a_marked_scene_has_its_parameters_and_takes_others() -> None:
    scene = pushed()
    first = parameters_of(scene)[0]
    assert first == Parameter("laws.stuff.young", "laws.stuff.young", 100.0, 10_000.0, 1000.0)
    found = CalibrationProblem(scene, "truss", [seen()]).with_parameters([1.5e3, 600.0, 700.0])
    assert [found.model_dump()["laws"]["stuff"][name] for name in NUMBERS] == [1.5e3, 600.0, 700.0]


BOUNDS = {"low": 1.0, "high": 2.0}


def problem_with(**changes: Any) -> CalibrationProblem:
    """The problem, with entries of the scene's data or arguments of the problem changed."""
    data = pushed().model_dump(mode="json") | changes.pop("data", {})
    given = {"records": [seen()], **changes}
    return CalibrationProblem(scene_from_data(data), "truss", **given)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"data": {"calibrate": {}}}, r"calibrate: no parameter is marked"),
        ({"data": {"calibrate": {"laws.stuf.young": BOUNDS}}}, r"calibrate.laws.stuf.young: laws has no"),
        ({"data": {"calibrate": {"laws.stuff.model": BOUNDS}}}, r"there is 'three-element' at this place"),
        ({"parameters": [Parameter("E", "laws.stuff.young", 2.0, 1.0, 1.5)]}, r"calibrate.E: its bounds 2 and 1 are"),
        ({"parts": ("predict",)}, r"say of each record whether"),
        ({"costs": Costs(shapes=0.0, fields=1.0)}, r"hold shapes, forces, volumes, and none of it has a weight"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        problem_with(**changes)


def test_a_record_without_its_punch_is_refused_where_the_scene_has_none() -> None:
    data = pushed().model_dump(mode="json")
    data["supports"]["punch"]["motion"] = None
    with pytest.raises(RheotwinError, match="scene: nothing pushes the body"):
        CalibrationProblem(scene_from_data(data), "truss", [replace(seen(), path=None)])


@pytest.mark.parametrize("bounds", [{"low": 2.0, "high": 1.0}, {"low": 1.0, "high": 2.0, "start": 3.0}])
def test_crossed_bounds_are_a_fault_of_the_scene(bounds: Data) -> None:
    with pytest.raises(RheotwinError, match=r"calibrate\.laws\.stuff\.young"):
        pushed(calibrate={"laws.stuff.young": bounds})


def test_plane_bodies_run_in_lanes_too() -> None:
    punch = side("top", motion=path((0.0, 0.25), [[0.0] * 2, [0.0, -0.003]]), until=0.3)
    punch["where"] = {"box": {"x": [0.009, 0.021], "y": [0.019, 0.021]}}
    supports = {"floor": side("bottom"), "punch": punch}
    data: Data = {"calibrate": MARKED, "solvers": {"truss": {"match": "edge"}}, "supports": supports}
    data |= {"size": [0.03, 0.02], "cell": "quad", "equal_mass": 12.0, "duration": 0.4}
    scene = scene_from_data(box_scene(LAW, cells=[3, 2], **data))
    record, _ = twin(scene, "truss", TIMES, points=300, noise=Noise(points=1e-4))
    problem, slow = (
        CalibrationProblem(scene, "truss", [record], costs=Costs(shapes=0.0, forces=1.0), lanes=lanes)
        for lanes in (True, False)
    )
    assert problem.ways == ("8 sets at a time",)
    for one, other in zip(problem.evaluate(around_truth(3)), slow.evaluate(around_truth(3)), strict=True):
        assert one.total == pytest.approx(other.total, rel=0.02)
        np.testing.assert_allclose(one.volume, other.volume, rtol=2e-3)


def test_ratios_come_back_within_two_percent_where_frames_follow_the_release() -> None:
    """Without noise, at steps so short that raised masses do not show: what they shift goes with the step."""
    times, data = [0.5, 1.4, 1.52, 1.55, 1.6, 1.7, 2.0], pushed_lump()
    record, _ = twin(scene_from_data(data), "truss", times, noise=Noise(0.0, 0.0, 0.0), points=4000)
    data["solvers"]["truss"]["step"] = 2.5e-4
    problem = CalibrationProblem(scene_from_data(data), "truss", [record])
    with opened("lanes") as workers:
        young, *viscosities = search(problem, "least-squares", 60, workers, seeds=[0])[0].best.theta
    truth = [DOUGH[f"{kind}_viscosity"] / DOUGH["young"] for kind in ("voigt", "series")]
    assert np.array(viscosities) / young == pytest.approx(truth, rel=0.02)
