"""Courses over time: expressions are arithmetic and nothing else, tables follow them."""

import numpy as np
import pytest
from pydantic_core import PydanticCustomError

from rheotwin.errors import InputFaults
from rheotwin.scene import scene_from_data
from rheotwin.scene.course import expression, sampled
from rheotwin.validation.checks.running import Data, row, side

SPRING = {"model": "elastic", "young": 4.0}


def test_expressions_are_computed_and_tables_follow_them() -> None:
    assert expression("2*sin(pi*t)**2 - max(t, 1)/4 + -t")(0.5) == pytest.approx(2.0 - 0.25 - 0.5)
    assert expression("min(t, 2, 3) + exp(0) + sqrt(4) + abs(-1) + log(1) + cos(0) + tan(0)")(5.0) == 7.0
    for text in ("sin(2*pi*t)", "min(t, 0.37)", "abs(t - 0.123)", "exp(-20*t)"):
        times, rows = sampled([expression(text)], 2.0)
        fine = np.linspace(0.0, 2.0, 5001)
        exact = np.array([expression(text)(time) for time in fine])
        missed = np.abs(np.interp(fine, times, [value for (value,) in rows]) - exact).max()
        assert missed <= 2e-5 * np.ptp(exact), text
        assert len(times) < 5000


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')", "t.real", "open('x')", "[t][0]", "lambda: t", "t if t else 0", "x", "'a'",
        "t()", "sin", "sin(t, t)", "min(t)", "sin(x=t)", "True", "1_0 if 1 else 2", "t and 1", "t;t", "(", "", "1j",
        "f'{t}'", "t" + "+t" * 400, "(" * 300 + "t" + ")" * 300, "10**10**10", "1/t", "log(t - 10)", "sqrt(-1)",
        "(-1)**0.5",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(PydanticCustomError, match=r"arithmetic|finite|characters|value"):
        expression(text)(0.0)


def moved(motion: Data, **units: str) -> np.ndarray:
    data = row(SPRING, supports={"hand": side("right", motion=motion)}, duration=4.0)
    scene = scene_from_data(data | {"units": units})
    found = scene.supports["hand"].motion
    assert found is not None and scene_from_data(scene.model_dump(mode="json")) == scene
    return np.array([np.interp(time, found.times, [x for (x,) in found.displacement]) for time in (0.5, 1.0, 3.0)])


def test_courses_become_tables_in_the_units_of_the_file() -> None:
    np.testing.assert_allclose(moved({"ramp": {"to": [0.2], "time": 1.0, "hold": 1.0, "back": 2.0}}), [0.1, 0.2, 0.1])
    sine = moved({"sine": {"amplitude": [0.2], "frequency": 0.25}})
    np.testing.assert_allclose(sine, 0.2 * np.sin(0.5 * np.pi * np.array([0.5, 1.0, 3.0])), atol=1e-5)
    np.testing.assert_allclose(moved({"expression": ["0.1*t"]}), [0.05, 0.1, 0.3], rtol=1e-12)
    law = {"model": "elastic", "young": "4 Pa"}
    data = row(law, supports={"hand": side("right", motion={"expression": ["10*t"]})}, duration=4.0)
    data["bodies"]["block"]["mass"] = 2.0
    found = scene_from_data(data | {"units": {"length": "mm", "time": "min"}}).supports["hand"].motion
    assert found is not None
    assert found.times[-1] == pytest.approx(240.0) and found.displacement[-1][0] == pytest.approx(0.04)
    with pytest.raises(InputFaults, match=r"supports\.hand\.motion: 't\.real'"):
        moved({"expression": ["t.real"]})
