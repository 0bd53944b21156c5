"""Modules on few vectors in Amaranth's simulator: the printed vector, corners, roots, the hazard bit."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point import circuit
from rheotwin.particles.fixed_point.arithmetic import Format, cmul, wrap
from rheotwin.particles.fixed_point.parameters import CircuitConstants, EdgeLaw, Points, Units, circuit_constants

SHORT = 48


def tem_answers(rtl: SimpleNamespace, module: Any, depth: int, vectors: dict[str, Any], constants: Any) -> Any:
    count = len(vectors["lam"])
    padded = {name: np.concatenate([part, np.zeros_like(part[:1]).repeat(depth, 0)]) for name, part in vectors.items()}
    raw = {"a": constants.A.raw, "b": constants.B.raw, "c2": constants.of_tem[2].raw, "h": constants.H.raw, "valid": 1}
    raw |= {"c": constants.of_tem[3].raw} if constants.direct else {}
    rows = rtl.bench.rows_of(module, count + depth, {**padded, **raw})
    answers = rtl.bench.named(module, rtl.bench.simulated(module, rows))
    return {name: part[depth:] for name, part in answers.items()}


def test_the_truss_element_module_gives_the_printed_vector(rtl: SimpleNamespace) -> None:
    # k1, c1, c2 = 0.5, 0.5, 2.3; lv = 7, L = 10/256; table of the second appended paper: forces -338, -203, -68.
    constants = circuit_constants(EdgeLaw(0.5, 0.5, 2.3), 1.0, 0.01, Units(time=1.0))
    points = np.array([[1, 2, 3], [6, 5, 4], [4, 5, 6], [3, 2, 1]]) * 256
    named = dict(zip(("xi", "xj", "vi", "vj"), points[:, None], strict=True))
    lam = np.array([7 * 256 - 10])
    found = tem_answers(rtl, rtl.tem.Tem(constants), 90, {**named, "lam": lam}, constants)
    assert found["force"].tolist() == [[-338, -203, -68]]
    # lvd = -992: -992 x 655 / 2^16 = -9.91, rounded -10
    assert found["lam_new"].tolist() == [7 * 256 - 10 - 10]
    assert found["valid_out"].tolist() == [1]


@pytest.mark.parametrize(
    ("depth", "options"),
    [
        (SHORT, {}),
        (60, {"tem_round": True, "tem_wmod": True}),
        (SHORT, {"overflow": "saturate", "euler_round": False}),
        (56, {"sqrt": "cordic"}),
        (66, {"form": Format(18, 9), "sqrt": "cordic", "tem_wmod": True}),
        (60, {"points": Points(14, 28, 3, -2, 2), "tem_wmod": True, "tem_round": True}),
        (72, {"form": Format(20, 10), "points": Points(18, 36, 5, 2, 1), "tem_wmod": True}),
    ],
    ids=["floor", "rounded", "saturating", "cordic", "18 bits, cordic", "own points", "own points, 20 bits"],
)
def test_the_truss_element_module_on_corners(
    rtl: SimpleNamespace, edge_vectors: Callable[[int], dict[str, NDArray[Any]]], depth: int, options: dict[str, Any]
) -> None:
    constants = circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, Units(time=1.0), **options)
    vectors = edge_vectors(60)
    found = tem_answers(rtl, rtl.tem.Tem(constants, depth=depth), depth, vectors, constants)
    model = circuit.tem(*(vectors[name] for name in ("xi", "vi", "xj", "vj", "lam")), constants=constants)
    np.testing.assert_array_equal(found["force"], model.forces)
    np.testing.assert_array_equal(found["lam_new"], model.lam)


def test_overflows_are_noted_by_class(rtl: SimpleNamespace) -> None:
    constants = circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, Units(time=1.0))
    module = rtl.tem.Tem(constants, depth=SHORT)
    still, near, far = np.array([[0, 0, 0]]), np.array([[256, 256, 256]]), np.array([[32767, 32767, 32767]])
    rest = {"xi": still, "xj": near, "vi": still, "vj": still, "lam": np.array([0])}
    # lvd = A lam = -2.1 x 128; ld = 1.7 x 128; wrapped lvd may still push lambda out of range.
    cases = ({}, {"xi": -far, "xj": far}, {"lam": np.array([32767])}, {"vj": far}, {"vj": near * 50, "lam": [32767]})
    reached = set()
    for case in cases:
        inputs = {name: np.asarray(part) for name, part in (rest | case).items()}
        bits = tem_answers(rtl, module, SHORT, inputs, constants)["overflow"][-1]
        noted = {name for bit, name in enumerate(rtl.tem.OPERATORS) if bits >> bit & 1}
        counters = circuit.no_overflows()
        circuit.tem(*(inputs[name] for name in ("xi", "vi", "xj", "vj", "lam")), constants=constants, counters=counters)
        assert noted == {name for name, count in zip(circuit.OPERATORS, counters, strict=True) if count}
        assert bool(noted) == bool(case)
        reached |= noted
    assert reached == set(rtl.tem.OPERATORS)


@pytest.mark.filterwarnings("ignore:.*created but never used")
@pytest.mark.parametrize(("sqrt", "needed"), [("floor", 48), ("cordic", 56)])
def test_a_module_that_is_too_short_is_refused(rtl: SimpleNamespace, sqrt: Any, needed: int) -> None:
    constants = circuit_constants(EdgeLaw(1.0, 1.0, 1.0), 1.0, 0.01, Units(time=1.0), sqrt=sqrt)
    with pytest.raises(RheotwinError, match=f"depth {needed - 1} is too short; it needs {needed} stages"):
        rtl.tem.Tem(constants, depth=needed - 1)
    rtl.bench.to_rtlil(rtl.tem.Tem(constants, depth=needed))


@pytest.mark.parametrize("rounding", [False, True])
def test_the_product_with_a_constant(rtl: SimpleNamespace, rounding: bool) -> None:
    module = rtl.pipeline.ConstantProduct(15, rounding)
    b = np.array([-32768, -51, -50, -1, 0, 1, 50, 51, 32767, 12345])
    rows = rtl.bench.rows_of(module, len(b) + 2, {"constant": 327, "b": np.concatenate([b, [0, 0]])})
    found = rtl.bench.named(module, rtl.bench.simulated(module, rows))["y"][2:]
    np.testing.assert_array_equal(found, wrap(cmul(327, 15, b, rounding)))


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_the_mass_module_on_corners(rtl: SimpleNamespace, overflow: Any) -> None:
    constants = circuit_constants(EdgeLaw(1.0, 1.0, 1.0), 0.7, 0.01, Units(time=1.0), overflow=overflow)
    generator = np.random.default_rng(6)
    corners = np.array([-32768, -1, 0, 1, 32767])
    names = ("x", "v", "external", "sum_start", "sum_end")
    vectors = {name: np.zeros((48, 3), dtype=np.int64) for name in names}
    for name in names:
        vectors[name][:20] = generator.choice(corners, (20, 3))
        vectors[name][20:40] = generator.integers(-9000, 9000, (20, 3))
    module = rtl.mpm.Mpm(constants)
    inputs = {**vectors, "minv": constants.Minv.raw, "h": constants.H.raw, "valid": 1}
    found = rtl.bench.named(module, rtl.bench.simulated(module, rtl.bench.rows_of(module, 48, inputs)))
    counters = circuit.no_overflows()
    model = circuit.mpm(*(vectors[name][:40] for name in names), constants=constants, counters=counters)
    over = {name for name, count in zip(circuit.OPERATORS, counters, strict=True) if count}
    assert {name for bit, name in enumerate(rtl.mpm.OPERATORS) if found["overflow"][-1] >> bit & 1} == over != set()
    np.testing.assert_array_equal(found["v_new"][8:], model.velocity)
    np.testing.assert_array_equal(found["x_new"][8:], model.position)
    assert found["valid_out"].tolist() == [0] * 8 + [1] * 40


@pytest.mark.parametrize(("apart", "collides"), [(1, True), (2, True), (3, False)])
def test_sums_that_come_again_too_soon_are_told(
    rtl: SimpleNamespace, papers: CircuitConstants, apart: int, collides: bool
) -> None:
    module = rtl.accumulator.Accumulator(papers, 8)
    count = 12
    address, forces = np.arange(count) % 8, np.zeros(count, dtype=int)
    address[:4] = 7
    address[1 : 1 + apart] = np.arange(1, 1 + apart)
    address[apart] = 7  # again after `apart` slots
    address[apart + 1 :] = 2
    address[-2] = 7  # read the sum
    add = np.zeros(count, dtype=int)
    add[[0, apart]] = 1
    forces[[1, apart + 1]] = (100, 20)
    rows = rtl.bench.rows_of(
        module,
        count,
        {"address": np.where(np.arange(count) == count - 2, 7, address), "add": add, "forces": forces[:, None]},
    )
    found = rtl.bench.named(module, rtl.bench.simulated(module, rows))
    assert bool(found["hazard"][-1]) == collides
    # A collision loses the first force, which had not been written when the second was added.
    assert found["sums"][-1].tolist() == [20 if collides else 120] * 3
