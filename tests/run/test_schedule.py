"""Planned times: what is written when, on decimal times that no step may miss."""

from fractions import Fraction
from itertools import pairwise
from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.errors import RheotwinError
from rheotwin.scene import scene_from_data
from rheotwin.schedule import Stop, common_tick, frame_times, plan, require_reachable, step_dividing
from rheotwin.validation.checks.running import ELASTIC, box_scene
from tests.conftest import Data, scene_with

decimals = st.integers(1, 10**6).map(lambda number: number / 1000)


def test_frames_probes_and_checkpoints_merge_into_one_list() -> None:
    assert plan(scene_with({"output": {"interval": 0.2, "probe_interval": 0.1, "checkpoint_interval": 0.3}})) == [
        Stop(0.0, frame=True, probe=True, checkpoint=False),
        Stop(0.1, frame=False, probe=True, checkpoint=False),
        Stop(0.2, frame=True, probe=True, checkpoint=False),
        Stop(0.3, frame=False, probe=True, checkpoint=True),
        Stop(0.4, frame=True, probe=True, checkpoint=True),
    ]
    # rows follow the frames unless they have their own rhythm
    stops = plan(scene_with({"output": {"times": [0.05, 0.3]}}))
    assert [(stop.time, stop.frame, stop.probe) for stop in stops] == [(t, True, True) for t in (0.05, 0.3, 0.4)]


@pytest.mark.parametrize(
    ("output", "times"),
    [
        ({}, [0.008 * index for index in range(51)]),  # fifty frames without a rhythm
        ({"interval": 0.15}, [0.0, 0.15, 0.3, 0.4]),  # ends with a shorter one
        # every time at which a frame may be due
        ({"adaptive": {"shortest": 0.1, "longest": 0.3, "change": 1e-3}}, [0.0, 0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_times_of_frames(output: Data, times: list[float]) -> None:
    assert frame_times(scene_with({"output": output})) == pytest.approx(times)


@settings(max_examples=40, deadline=None)
@given(duration=decimals, frames=st.integers(1, 40), rows=st.integers(1, 40), saved=st.integers(1, 40))
def test_a_plan_increases_strictly_and_ends_with_both(duration: float, frames: int, rows: int, saved: int) -> None:
    intervals = {"interval": duration / frames, "probe_interval": duration / rows}
    output = intervals | {"checkpoint_interval": 1.1 * duration / saved}
    stops = plan(scene_from_data(box_scene(ELASTIC, cells=[1], duration=duration) | {"output": output}))
    times = [stop.time for stop in stops]
    # two times that should coincide may differ by rounding only, and rounding to 1e-12 s makes them one
    assert all(after - before > 1e-5 * duration for before, after in pairwise(times))
    assert stops[0].time == 0.0 and not stops[0].checkpoint
    assert stops[-1].frame and stops[-1].probe and isclose(times[-1], duration, rel_tol=1e-12)
    assert sum(stop.frame for stop in stops) == frames + 1 and sum(stop.probe for stop in stops) == rows + 1


@given(times=st.lists(decimals, min_size=1, max_size=6))
def test_the_tick_divides_every_time_and_nothing_larger_does(times: list[float]) -> None:
    tick = common_tick(times, max(times))
    if tick == 0:
        # it is given up only below a millionth of the run; these times are whole thousandths
        assert max(times) > 0.999e-3 / 1e-6
        return
    multiples = [Fraction(str(time)) / tick for time in times]
    assert all(multiple.denominator == 1 for multiple in multiples)
    assert not any(all((m / factor).denominator == 1 for m in multiples) for factor in (2, 3, 5, 7, 11, 13))


def test_ticks_and_steps_of_decimal_and_odd_times() -> None:
    assert common_tick([1.0, 0.123456789012], 1.0) == 0
    assert common_tick([0.1, 0.30000000000000004], 1.0) == 0  # binary noise is not taken for a decimal
    assert common_tick([0.0, 0.1, 0.25], 1.0) == Fraction(1, 20)
    assert step_dividing(Fraction(1, 10), 0.001) == Fraction(1, 1000)
    assert step_dividing(Fraction(0), 0.3) == Fraction(0.3)
    require_reachable(1e-12, 1.0, "here")
    with pytest.raises(RheotwinError, match=r"^here: 1e-13 s would take 1e\+13 steps .* choose at least 1e-12$"):
        require_reachable(1e-13, 1.0, "here")
    for step in (float("inf"), float("nan")):
        with pytest.raises(RheotwinError, match=r"^here: must be a finite number"):
            require_reachable(step, 1.0, "here")


@given(tick=st.fractions(min_value="0.001", max_value=1000, max_denominator=1000), wanted=st.floats(1e-6, 1e6))
def test_a_step_divides_the_tick_and_is_the_largest_that_does(tick: Fraction, wanted: float) -> None:
    step = step_dividing(tick, wanted)
    count = tick / step
    assert count.denominator == 1 and float(step) <= wanted * (1 + 1e-8)
    assert count == 1 or float(tick / (count - 1)) > wanted * (1 - 1e-12)
