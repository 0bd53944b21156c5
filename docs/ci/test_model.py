"""A model gated in continuous integration: against numbers, against another solver, and freely."""

from typing import Any

import pytest


@pytest.mark.rheotwin(scene="strand.toml", solver="fem", reference={"largest displacement": 0.01}, within=1e-3)
def test_the_strand_gives_by_force_over_stiffness() -> None:
    """10 N on a section of 1 m2 of 1000 Pa and 1 m length: 0.01 m."""


@pytest.mark.rheotwin(scene="strand.toml", solver="fem", reference="fem", within={"displacement": 1e-9})
def test_a_run_repeats() -> None:
    """The same solver twice: the same displacements at all times."""


def test_the_support_bears_the_force(rheotwin: Any) -> None:
    """What is pulled with 10 N is held with 10 N, but for the ringing at the beginning."""
    run = rheotwin.run("strand.toml", "fem", options={"step": 0.005})
    assert 10.0 <= run.metrics["peak force, support.hand"] < 12.0
