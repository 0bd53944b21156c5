"""Static analysis: long-term moduli, and the refusal of bodies that flow for ever."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]
PULL = {
    "supports": {"wall": {"body": "block", "where": {"side": "left"}}},
    "forces": {"pull": {"body": "block", "where": {"side": "right"}, "total": [2.0]}},
}


@pytest.mark.parametrize(
    ("law", "young"), [("elastic", 300.0), ("voigt", 300.0), ("generalized-voigt", 1 / (1 / 300 + 1 / 100 + 1 / 40))]
)
def test_bar_rests_at_its_long_term_modulus(
    law: str, young: float, scene: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    """u = F L/(E_inf A), at once and for ever; springs in series add their compliances."""
    simulation = start(scene(laws[law], size=[4.0], cells=[3], section=2.0, **PULL), stepper="static", step=1.0)
    for time in (1.0, 10.0):
        simulation.advance(time, 10**9)
        assert simulation.positions[-1, 0] - 4.0 == pytest.approx(2.0 * 4.0 / (young * 2.0), rel=1e-12)
        np.testing.assert_allclose(simulation.reactions()["support.wall"], [2.0], rtol=1e-12)


def test_is_the_limit_of_the_quasi_static_run(scene: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    """After 100 of the longest retardation time (10 s) nothing is left to come."""
    data = scene(laws["generalized-voigt"], size=[4.0], cells=[3], duration=1000.0, **PULL)
    ends = []
    for stepper, step in (("static", 1000.0), ("quasi-static", 5.0)):
        simulation = start(data, stepper=stepper, step=step)
        simulation.advance(1000.0, 10**9)
        ends.append(simulation.positions[-1, 0] - 4.0)
    assert ends[1] == pytest.approx(ends[0], rel=1e-9)


@pytest.mark.parametrize("law", ["maxwell", "three-element"])
def test_a_law_that_relaxes_to_nothing_is_refused(
    law: str, scene: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    with pytest.raises(RheotwinError, match=rf"bodies\.block\.law: a {law} law relaxes to nothing.*quasi-static"):
        start(scene(laws[law], size=[4.0], cells=[3], **PULL), stepper="static")
