"""Shape-keeping options: what is off by default, and what is refused."""

from __future__ import annotations

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.shape_options import ShapeOptions
from rheotwin.validation.checks.running import block, truss


def test_everything_is_off_by_default() -> None:
    assert not ShapeOptions().keeps_shape
    for key, value in (
        ("topology_stiffness", 1.0),
        ("global_pressure", 1.0),
        ("global_pressure_damping", 1.0),
        ("element_pressure", 1.0),
        ("element_pressure_damping", 1.0),
        ("local_volume", True),
    ):
        assert ShapeOptions.model_validate({key: value}).keeps_shape


def test_what_cells_cannot_have_is_refused() -> None:
    elastic = {"model": "elastic", "young": 1.0, "poisson": 0.25}
    boxes = block(3, elastic, body={"cell": "hex"})
    for key in ("topology_stiffness", "element_pressure"):
        with pytest.raises(RheotwinError, match=rf"solvers\.truss\.{key}: it needs triangle or tet cells.* hex"):
            truss(boxes, **{key: 1.0})
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.local_volume: it needs quad or hex cells.* tet"):
        truss(block(3, elastic), local_volume=True)
    with pytest.raises(RheotwinError, match="lines have no shape to keep"):
        truss(block(1, elastic), global_pressure=1.0)
    with pytest.raises(RheotwinError, match=r"`topology_distance` has no effect without `topology_stiffness`"):
        truss(boxes, topology_distance=0.1)
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.global_pressure"):
        truss(boxes, global_pressure=-1.0)
