"""A circuit on the bench: rows of inputs in, rows of outputs out, compiled (CXXRTL) or by Amaranth's simulator.

A row holds its inputs for some cycles; outputs are those right before the clock edge of its last cycle. Where the
cycles are negative, the row is held until the output `busy` is low, at most that many.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.back import rtlil
from amaranth.hdl import Signal
from amaranth.lib.wiring import Component, Flow
from numpy.typing import ArrayLike

from rheotwin.arrays import Integers
from rheotwin.particles.fixed_point.rtl import cxxrtl_headers, require_tools, run_compiler, run_yosys

Rows = Integers
TOP = "circuit"

DRIVER = """
#include "circuit.cc"
#include <cstdint>
using design = cxxrtl_design::p_circuit;
extern "C" long run(const int32_t *rows, int32_t *answers, long count) {
  design top;
  long clocks = 0;
  for (long row = 0; row < count; row++, rows += 1 + INPUTS, answers += OUTPUTS) {
    bool wait = rows[0] < 0;
    int64_t left = wait ? -int64_t(rows[0]) : rows[0];
    SET_INPUTS
    for (bool last = false; !last; left--) {
      top.p_clk.set<uint32_t>(0);
      top.step();
      last = left <= 1 || (wait && !(BUSY));
      if (last) {
        GET_OUTPUTS
      }
      top.p_clk.set<uint32_t>(1);
      top.step();
      clocks++;
    }
  }
  return clocks;
}
"""


def ports(component: Component) -> tuple[list[Signal], list[Signal]]:
    """Return the inputs and the outputs, in the order of the signature, arrays flattened."""
    found: dict[bool, list[Signal]] = {True: [], False: []}
    for _, member, value in component.signature.flatten(component):
        found[member.flow == Flow.In].append(value)
    return found[True], found[False]


def rows_of(component: Component, count: int, inputs: Mapping[str, ArrayLike], cycles: ArrayLike = 1) -> Rows:
    """Return rows from named inputs, one number or (count,) each and (count, 3) for vectors; others are zero."""
    rows = np.zeros((count, 1 + len(ports(component)[0])), dtype=np.int32)
    rows[:, 0] = cycles
    place = {signal.name: 1 + number for number, signal in enumerate(ports(component)[0])}
    for name, values in inputs.items():
        if name in place:
            rows[:, place[name]] = values
        else:
            lanes = np.broadcast_to(np.asarray(values), (count, 3))
            for lane in range(3):
                rows[:, place[f"{name}__{lane}"]] = lanes[:, lane]
    return rows


def named(component: Component, answers: Rows) -> dict[str, Rows]:
    """Return the outputs by name, vectors as (count, 3)."""
    outputs: dict[str, Any] = {}
    for number, signal in enumerate(ports(component)[1]):
        name, _, lane = signal.name.partition("__")
        if lane:
            outputs.setdefault(name, []).append(answers[:, number])
        else:
            outputs[name] = answers[:, number]
    return {name: np.stack(value, axis=-1) if isinstance(value, list) else value for name, value in outputs.items()}


def to_rtlil(component: Component, name: str = TOP) -> str:
    """Return the circuit in the language of yosys."""
    inputs, outputs = ports(component)
    return str(rtlil.convert(component, name=name, ports=[*inputs, *outputs]))


def write_verilog(component: Component, path: Path, name: str = TOP) -> None:
    """Write the circuit as Verilog."""
    with tempfile.TemporaryDirectory(prefix="rheotwin-verilog-", dir=path.parent) as folder:
        place = Path(folder)
        (place / "circuit.il").write_text(to_rtlil(component, name))
        run_yosys("read_rtlil circuit.il; proc -noopt; memory_collect; write_verilog -noattr circuit.v", place)
        (place / "circuit.v").replace(path)


class CompiledBench:
    """A circuit compiled to machine code; every run starts from power-up."""

    def __init__(self, component: Component) -> None:
        require_tools(compiler=True)
        self._inputs, self._outputs = ports(component)
        with tempfile.TemporaryDirectory(prefix="rheotwin-circuit-") as folder:
            place = Path(folder)
            # By way of Verilog: what is exported is what is simulated.
            write_verilog(component, place / "circuit.v")
            script = f"read_verilog circuit.v; hierarchy -top {TOP}; proc; flatten; write_cxxrtl -g0 circuit.cc"
            run_yosys(script, place)
            (place / "driver.cc").write_text(self._driver())
            options = [
                "-std=c++17",
                "-O1",
                "-w",
                "-DNDEBUG",
                "-shared",
                "-fPIC",
                "-I",
                str(cxxrtl_headers()),
            ]
            run_compiler([*options, "driver.cc", "-o", "circuit.so"], place)
            self._run = ctypes.CDLL(str(place / "circuit.so")).run
        self._run.restype = ctypes.c_long

    def run(self, rows: Rows) -> Rows:
        """Return the outputs (rows, outputs) for rows of cycles and inputs."""
        given = np.ascontiguousarray(rows, dtype=np.int32)
        answers = np.zeros((len(given), len(self._outputs)), dtype=np.int32)
        pointer = ctypes.c_void_p
        self._run(pointer(given.ctypes.data), pointer(answers.ctypes.data), ctypes.c_long(len(given)))
        return answers

    def _driver(self) -> str:
        setting, getting = [], []
        for number, signal in enumerate(self._inputs):
            mask = (1 << len(signal)) - 1
            setting.append(f"top.{_member(signal)}.set<uint32_t>(uint32_t(rows[{1 + number}]) & {mask}u);")
        for number, signal in enumerate(self._outputs):
            spare = 32 - len(signal) if signal.shape().signed else 0
            value = f"top.{_member(signal)}.get<uint32_t>()"
            getting.append(f"answers[{number}] = int32_t({value} << {spare}) >> {spare};")
        busy = [number for number, signal in enumerate(self._outputs) if signal.name == "busy"]
        replaced = {
            "SET_INPUTS": "\n    ".join(setting),
            "GET_OUTPUTS": "\n        ".join(getting),
            "BUSY": f"top.{_member(self._outputs[busy[0]])}.get<uint32_t>()" if busy else "false",
            "INPUTS": str(len(self._inputs)),
            "OUTPUTS": str(len(self._outputs)),
        }
        text = DRIVER
        for name, value in replaced.items():
            text = text.replace(name, value)
        return text


def _member(signal: Signal) -> str:
    return "p_" + str(signal.name).replace("_", "__")


def simulated(component: Component, rows: Rows) -> Rows:
    """Return the same outputs by Amaranth's simulator: some hundred cycles a second, nothing to compile."""
    require_tools()
    from amaranth.sim import Simulator

    inputs, outputs = ports(component)
    answers = np.zeros((len(rows), len(outputs)), dtype=np.int32)
    busy = next((signal for signal in outputs if signal.name == "busy"), None)

    async def drive(context: Any) -> None:
        for row, values in enumerate(rows.tolist()):
            for signal, value in zip(inputs, values[1:], strict=True):
                context.set(signal, value)
            for left in range(abs(values[0]), 0, -1):
                last = left == 1 or (values[0] < 0 and busy is not None and not context.get(busy))
                if last:
                    answers[row] = [context.get(signal) for signal in outputs]
                await context.tick()
                if last:
                    break

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.run()
    return answers
