"""The push that tells most is found before it is made; parameters without effect are last."""

import numpy as np
import pytest

from rheotwin.scene import scene_from_data
from rheotwin.validation.calibration import CalibrationProblem, Costs, Evaluation, Parameter
from rheotwin.validation.calibration.design import sensitivities, shrinkage
from rheotwin.validation.calibration.twins import twin
from tests.conftest import DOUGH, pushed_lump


def test_a_deeper_push_tells_more_and_its_gain_is_that_of_its_record() -> None:
    scenes = {depth: scene_from_data(pushed_lump(depth)) for depth in (0.002, 0.004, 0.008)}
    times = [0.5, 1.4, 1.55, 1.7, 2.0]
    records = {depth: twin(scene, "truss", times)[0] for depth, scene in scenes.items()}
    first = CalibrationProblem(scenes[0.004], "truss", [records[0.004]], costs=Costs(forces=1.0))
    found = shrinkage(
        first, np.array(list(DOUGH.values())), {f"{depth:g}": scene for depth, scene in scenes.items()}, times
    )
    assert list(found) == ["0.008", "0.004", "0.002"] and 0.0 < found["0.008"] < found["0.002"] < 1.0
    # the same push again doubles A, so that the volume shrinks by 2^(n/2)
    assert found["0.004"] == pytest.approx(2.0**-1.5, rel=0.02)


def test_parameters_without_effect_are_last() -> None:
    pytest.importorskip("SALib")

    class Power:
        parameters = tuple(Parameter(name, f"laws.{name}.young", 1.0, np.e, 2.0) for name in ("idle", "weak", "strong"))

        def evaluate(self, thetas: np.ndarray) -> list[Evaluation]:
            return [Evaluation(theta, float(theta[1] * theta[2] ** 3)) for theta in thetas]

    found = sensitivities(Power())  # type: ignore[arg-type]
    assert list(found) == ["strong", "weak", "idle"]
    assert list(found.values()) == pytest.approx([3.0, 1.0, 0.0], abs=1e-9)
