"""The exported Verilog, compiled: ten thousand vectors per module, a body over many steps, a second simulator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.particles.fixed_point import circuit
from rheotwin.particles.fixed_point.parameters import CircuitConstants, Constant, EdgeLaw, Units, circuit_constants
from rheotwin.particles.fixed_point.timing import Machine, cycles

COUNT = 12_000
"""Vectors; the spec asks for 10,000."""
pytestmark = pytest.mark.slow


def edge_rows(rtl: SimpleNamespace, module: Any, vectors: dict[str, Any], constants: CircuitConstants) -> Any:
    """Return rows that feed one edge a cycle, then let the last one come out."""
    padded = {name: np.concatenate([part, np.zeros_like(part[:90])]) for name, part in vectors.items()}
    raw = {"a": constants.A.raw, "b": constants.B.raw, "c2": constants.C2.raw, "h": constants.H.raw}
    return rtl.bench.rows_of(module, len(padded["lam"]), {**padded, **raw, "valid": 1})


@pytest.fixture(scope="module")
def edge_bench(compiled_rtl: SimpleNamespace, papers: CircuitConstants) -> Any:
    module = compiled_rtl.tem.Tem(papers)
    return module, compiled_rtl.bench.CompiledBench(module)


def test_the_truss_element_module_on_many_vectors(
    compiled_rtl: SimpleNamespace,
    edge_bench: Any,
    edge_vectors: Callable[[int], dict[str, NDArray[Any]]],
    papers: CircuitConstants,
) -> None:
    module, bench = edge_bench
    vectors = edge_vectors(COUNT)
    # Other constants than those the module was built for: its inputs, not its structure.
    for constants in (papers, circuit_constants(EdgeLaw(0.5, 0.5, 2.3), 1.0, 0.01, Units(time=1.0), h_const="printed")):
        rows = edge_rows(compiled_rtl, module, vectors, constants)
        found = compiled_rtl.bench.named(module, bench.run(rows))
        model = circuit.tem(*(vectors[name] for name in ("xi", "vi", "xj", "vj", "lam")), constants=constants)
        np.testing.assert_array_equal(found["force"][90:], model.forces)
        np.testing.assert_array_equal(found["lam_new"][90:], model.lam)
        assert len(np.unique(model.forces)) > COUNT / 2


def test_the_mass_module_on_many_vectors(
    compiled_rtl: SimpleNamespace, draw_words: Callable[..., NDArray[Any]], papers: CircuitConstants
) -> None:
    module = compiled_rtl.mpm.Mpm(papers)
    drawn = draw_words(COUNT, 18, seed=7)
    names = ("x", "v", "external", "sum_start", "sum_end", "minv")
    vectors = {name: drawn[:, 3 * number : 3 * number + 3] for number, name in enumerate(names)}
    padded = {name: np.concatenate([part, np.zeros_like(part[:8])]) for name, part in vectors.items()}
    rows = compiled_rtl.bench.rows_of(module, COUNT + 8, {**padded, "h": papers.H.raw})
    found = compiled_rtl.bench.named(module, compiled_rtl.bench.CompiledBench(module).run(rows))
    constants = replace(papers, Minv=Constant(vectors["minv"], papers.Minv.w))
    model = circuit.mpm(*(vectors[name] for name in names[:5]), constants=constants)
    np.testing.assert_array_equal(found["v_new"][8:], model.velocity)
    np.testing.assert_array_equal(found["x_new"][8:], model.position)


def test_a_body_over_many_steps(compiled_rtl: SimpleNamespace, make_body: Any, assert_same_run: Any) -> None:
    body, constants = make_body(h_const="printed")
    assert (len(body.position), len(body.start)) == (27, 90)
    run = compiled_rtl.run.simulate(body, constants, 40)
    assert_same_run(run, body, constants)
    assert run.cycles_per_step == cycles(Machine(), 27, 90) + 4
    # 40 steps of 219 cycles: nothing is left running between steps.
    assert run.cycles == 40 * 219


def test_both_simulators_agree_on_every_output(
    compiled_rtl: SimpleNamespace, edge_bench: Any, edge_vectors: Any, papers: CircuitConstants
) -> None:
    module, bench = edge_bench
    rows = edge_rows(compiled_rtl, module, edge_vectors(100), papers)
    rows[::3, 0] = 2  # two cycles in a row
    np.testing.assert_array_equal(bench.run(rows), compiled_rtl.bench.simulated(module, rows))


def test_icarus_agrees_on_the_exported_verilog(
    compiled_rtl: SimpleNamespace, edge_bench: Any, edge_vectors: Any, papers: CircuitConstants, tmp_path: Path
) -> None:
    if not (shutil.which("iverilog") and shutil.which("vvp")):
        pytest.skip("Icarus Verilog (iverilog, vvp), the independent second simulator, is not installed")
    module, bench = edge_bench
    rows = edge_rows(compiled_rtl, module, edge_vectors(1000), papers)
    compiled_rtl.bench.write_verilog(module, tmp_path / "tem.v")
    inputs, outputs = compiled_rtl.bench.ports(module)
    (tmp_path / "rows.hex").write_text("\n".join(f"{word & 0xFFFFFFFF:08x}" for word in rows[:, 1:].ravel().tolist()))
    declared = [f"reg [{len(port) - 1}:0] {port.name};" for port in inputs]
    declared += [f"wire {'signed' if port.shape().signed else ''} [{len(port) - 1}:0] {port.name};" for port in outputs]
    set_inputs = [f"{port.name} = rows[row * {len(inputs)} + {place}];" for place, port in enumerate(inputs)]
    shown = ", ".join(port.name for port in outputs)
    bench_text = f"""
module bench;
  reg clk = 0;
  reg [31:0] rows [0:{rows[:, 1:].size - 1}];
  integer row;
  {" ".join(declared)}
  circuit dut(.clk(clk), .rst(1'b0), {", ".join(f".{port.name}({port.name})" for port in (*inputs, *outputs))});
  initial begin
    $readmemh("rows.hex", rows);
    for (row = 0; row < {len(rows)}; row = row + 1) begin
      {" ".join(set_inputs)}
      #1 $display("{" ".join(["%0d"] * len(outputs))}", {shown});
      clk = 1; #1 clk = 0; #1;
    end
    $finish;
  end
endmodule
"""
    (tmp_path / "bench.v").write_text(bench_text)
    subprocess.run(["iverilog", "-g2012", "-o", "bench.vvp", "bench.v", "tem.v"], cwd=tmp_path, check=True)
    shown_rows = subprocess.run(["vvp", "bench.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in shown_rows.splitlines() if "finish" not in line][90:]
    expected = bench.run(rows)[90:]
    # Before the first edge comes out its registers hold nothing yet, which Icarus shows as x.
    forces = [place for place, port in enumerate(outputs) if port.name != "overflow"]
    found = np.array([[int(line[place]) for place in forces] for line in lines])
    np.testing.assert_array_equal(found, expected[:, forces])
