"""Energy: work done on springs is stored, and the ledger of stored, dissipated and outside work closes."""

from typing import Any

import numpy as np
import pytest

from rheotwin.validation.checks.running import ELASTIC, EQUAL_RATIO, FLOOR, Data, box_scene, path, run_to, side

STEPS = np.array([0.1, 0.05, 0.025])


def stretched(law: Data) -> Data:
    supports = FLOOR | {"lid": side("top", motion=path([0.0, 1.0], [[0.0, 0.0], [0.3, 0.4]]))}
    return box_scene(law, size=[1.0, 1.0], cells=[3, 3], cell="quad", supports=supports)


def test_work_on_springs_is_stored(description: str, begin: Any) -> None:
    """Reaction times path by the trapezoidal rule against the stored energy: an error of order h^2, which falls so."""
    errors = []
    for step in STEPS:
        simulation = begin(stretched(ELASTIC), description, step=step)
        work, before = 0.0, np.zeros(2)
        while simulation.time < 1.0:
            simulation.advance(1.0, 1)
            now = -simulation.reactions()["support.lid"]
            work, before = work + 0.5 * step * float((before + now) @ [0.3, 0.4]), now
        energy = simulation.energy()
        assert energy["kinetic"] == energy["dissipated"] == 0.0
        assert energy["external"] == pytest.approx(work, rel=1e-9)
        errors.append(abs(work - energy["stored"]) / work)
    assert errors[-1] < 1e-3
    assert np.polyfit(np.log(STEPS), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("total-lagrangian", "voigt"),
        ("corotational", "generalized-maxwell"),
        *(
            pytest.param("corotational", name, marks=pytest.mark.exhaustive)
            for name in ("voigt", "maxwell", "three-element")
        ),
    ],
)
def test_ledger_closes_in_second_order(description: str, name: str, begin: Any) -> None:
    """Outside work less stored and dissipated energy vanishes with h^2."""
    defects = []
    for step in STEPS:
        energy = run_to(begin(stretched(EQUAL_RATIO[name]), description, step=step), 1.0).energy()
        defects.append(abs(energy["defect"]) / energy["external"])
        assert energy["dissipated"] > 0.05 * energy["external"]
    assert defects[-1] < 2e-3
    assert np.polyfit(np.log(STEPS), np.log(defects), 1)[0] == pytest.approx(2.0, abs=0.2)


def test_defect_of_total_lagrangian_arms_is_of_the_order_of_the_strain(begin: Any) -> None:
    """Arms that relax at large strain have no exact energy in this law: the share that is amiss falls with strain."""
    shares = []
    for scale in (0.1, 0.01):
        data = stretched(EQUAL_RATIO["maxwell"])
        data["supports"]["lid"]["motion"]["displacement"][1] = [0.3 * scale, 0.4 * scale]
        simulation = run_to(begin(data, "total-lagrangian", step=0.02), 1.0)
        shares.append(abs(simulation.energy()["defect"]) / simulation.energy()["external"])
    assert shares[0] < 0.05 and shares[1] < 0.3 * shares[0]


def test_ledger_closes_with_inertia_and_impacts(description: str, begin: Any) -> None:
    """The lid starts at full speed: its impulse does work, half of which is lost at once; the rest is accounted for."""
    data = stretched(EQUAL_RATIO["voigt"])
    data["bodies"]["block"]["density"] = 20.0
    energy = run_to(begin(data, description, step=0.01, inertia=True), 1.0).energy()
    # four nodes of the lid carry a sixth of the mass and take up the speed 0.5: m v^2/2 = 20/6 * 0.25/2
    assert energy["impact"] == pytest.approx(20.0 / 6.0 * 0.125, rel=1e-6)
    assert energy["kinetic"] > 0.1 and abs(energy["defect"]) < 2e-3 * energy["impact"]
