"""Constants of the circuit in units of their own, and what is refused because it has no form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import Format
from rheotwin.particles.fixed_point.body import circuit_body, grid_edges, grid_points
from rheotwin.particles.fixed_point.parameters import Constant, EdgeLaw, Units, circuit_constants

LAW = EdgeLaw(k1=250.0, c1=20.0, c2=100.0)
SECONDS = Units(time=1.0)


def test_constants_of_the_papers_object() -> None:
    found = circuit_constants(LAW, 1.0, 0.01, SECONDS, h_const="printed")
    assert (Constant(-534, 8), Constant(213, 8), Constant(25600, 8)) == (found.A, found.B, found.C2)
    assert (found.H, found.Minv) == (Constant(327, 15), Constant(2**14, 14))


def test_time_unit_scales_as_in_table_2_1() -> None:
    r = 0.1
    found = circuit_constants(LAW, 1.0, 0.001, Units(time=r), h_const="plain8")
    assert found.H.raw == 2  # the printed bit pattern
    # k r^2, c r: A gains a factor r, B stays, C2 gains r.
    assert found.A.raw == np.floor(-250.0 * r / 120.0 * 256)
    assert found.B.raw == 213
    assert found.C2.raw == 10 * 256
    assert Units(time=r).velocity * r == Units(time=r).force * r**2 == pytest.approx(1.0)


def test_units_can_be_taken_back() -> None:
    there, back = Units(0.1, 0.02, 3.0), Units(10.0, 50.0, 1.0 / 3.0)
    again = LAW.scaled(there).scaled(back)
    assert [float(np.asarray(part)) for part in (again.k1, again.c1, again.c2)] == pytest.approx([250.0, 20.0, 100.0])
    assert there.force * back.force == pytest.approx(1.0)


def test_best_points_use_the_whole_word() -> None:
    found = circuit_constants(LAW, 1.0, 0.01, SECONDS, tem_wmod=True)
    assert (found.A.w, found.B.w, found.C2.w, found.A.raw) == (13, 15, 8, np.floor(-250 / 120 * 2**13))


def test_constants_that_differ_share_a_point_and_infinite_masses_hold() -> None:
    masses = np.array([[1.0, 1.0, np.inf], [2.0, 4.0, 1.0]])
    found = circuit_constants(EdgeLaw(250.0, 20.0, [50.0, 100.0]), masses, 0.01, SECONDS)
    assert np.array_equal(found.C2.raw, [12800, 25600])
    assert np.array_equal(found.Minv.raw, 2**14 / np.array([[1, 1, np.inf], [2, 4, 1]]))
    assert circuit_constants(EdgeLaw(250.0, 20.0, [100.0] * 3), masses, 0.01, SECONDS).C2.raw == 25600


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"law": EdgeLaw(250.0, 20.0, 200.0)},
            r"C2 = c2 = 200 overflows 16 bits with 8 .* 16 bits with 7 .* 17 bits with 8",
        ),
        ({"law": EdgeLaw(5e4, 20.0, 100.0)}, r"A = -k1/\(c1\+c2\) = -416.667 overflows .* 16 bits with 6 .* 18 bits"),
        ({"law": EdgeLaw(0.0, 1.0, 1e5), "tem_wmod": True}, r"C2 = c2 = 100000 overflows .* 18 bits with 0"),
        ({"mass": 1e-5}, r"1/m = 100000 overflows .*larger unit of mass"),
        ({"step": 200.0, "h_const": "plain8"}, r"H \(time step\) = 200 overflows"),
        ({"step": 0.001, "h_const": "plain8"}, r"time step of 0.001 .* rounds to zero with 8 bits .* it needs 10"),
        ({"step": 1e-5}, r"rounds to zero with 16 bits .* it needs 17"),
        ({"step": -1.0}, r"the step of the circuit is -1"),
        ({"h_const": "best"}, r"h_const 'best' is unknown; choose one of plain8, printed, eq218"),
        ({"law": EdgeLaw(250.0, 0.0, 0.0)}, r"a pure spring has no such form"),
        ({"mass": 0.0}, r"masses .* must be positive"),
        ({"law": EdgeLaw(np.nan, 20.0, 100.0)}, r"A = -k1/\(c1\+c2\) of the circuit is not finite"),
        ({"law": EdgeLaw(250.0, 20.0, np.inf)}, r"Voigt edge has no series dashpot: .* points of its own"),
    ],
)
def test_what_does_not_fit_is_named_with_the_format_that_would_do(changed: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"law": LAW, "mass": 1.0, "step": 0.01, "units": SECONDS} | changed
    with pytest.raises(RheotwinError, match=sentence):
        circuit_constants(**given)


def test_the_format_named_for_a_constant_does() -> None:
    for form, raw in ((Format(16, 7), 25600), (Format(17, 8), 51200)):
        assert circuit_constants(EdgeLaw(250.0, 20.0, 200.0), 1.0, 0.01, SECONDS, form=form).C2.raw == raw


def test_a_body_beyond_the_range_is_named_with_the_format_that_would_do() -> None:
    points, edges = grid_points((9, 9, 9), 20.0, origin=(0.0, 0.0, 0.0)), grid_edges((9, 9, 9))
    with pytest.raises(RheotwinError, match=r"position of point .* is 160 circuit units, .*: 17 bits with 8 would do"):
        circuit_body(points, *edges, units=SECONDS)
    assert circuit_body(points, *edges, units=SECONDS, form=Format(17, 8)).position.max() == 160 * 256
    assert circuit_body(grid_points((9, 9, 9), 20.0), *edges, units=SECONDS).position.max() == 80 * 256
    assert circuit_body(points, *edges, units=Units(1.0, length=2.0)).position.max() == 80 * 256


@pytest.mark.parametrize("size", [0.0, -1.0, np.inf])
def test_units_are_positive(size: float) -> None:
    with pytest.raises(RheotwinError, match="unit of time"):
        Units(time=size)
