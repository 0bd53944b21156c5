"""How much of a chip the circuit takes, counted by yosys: multipliers, flip-flops, look-up tables, BlockRAMs.

Limits (spec fpga-fixed-point.md section 8): no placement, so neither slices nor clock rates; for Virtex-II yosys finds
no shift registers in look-up tables, so that every delay counts as flip-flops, many more than the papers report.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import Component

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.particles.fixed_point import timing
from rheotwin.particles.fixed_point.parameters import CircuitConstants, EdgeLaw, Units, circuit_constants
from rheotwin.particles.fixed_point.rtl import require_tools, run_yosys
from rheotwin.particles.fixed_point.rtl.bench import TOP, to_rtlil, write_verilog
from rheotwin.particles.fixed_point.rtl.pipeline import ConstantProduct
from rheotwin.particles.fixed_point.rtl.system import System, host_map

FAMILIES = {"xc2v": "Virtex-II", "xc6v": "Virtex-6", "xc7": "7 series", "xcup": "UltraScale+"}
KINDS = {
    "multipliers": ("MULT18X18", "DSP48"),
    "flip_flops": ("FD",),
    "luts": ("LUT",),
    "shift_registers": ("SRL",),
    "block_rams": ("RAMB",),
}


@dataclass(frozen=True)
class Part:
    """What one part of the circuit takes."""

    name: str
    multipliers: int
    flip_flops: int
    luts: int
    shift_registers: int
    block_rams: int


@dataclass(frozen=True)
class Resources:
    """What the circuit takes of a chip family: the truss element module, the mass module, all of it."""

    family: str
    depth: int
    parts: tuple[Part, ...]

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"family": self.family, "depth": self.depth, "parts": [asdict(part) for part in self.parts]}


PRINTED = (
    Part("TEM", multipliers=16, flip_flops=6_880, luts=0, shift_registers=0, block_rams=0),
    Part("MPM", multipliers=9, flip_flops=1_045, luts=0, shift_registers=0, block_rams=0),
    Part("all", multipliers=25, flip_flops=8_720, luts=0, shift_registers=0, block_rams=30),
)
"""Table 2.2 of the source (slices, not look-up tables); RAMs by (2.15) for a group of 1,024 points and 5,120 edges."""


def papers_constants() -> CircuitConstants:
    """Return the constants of the source's object: k1, c1, c2 = 250, 20, 100, unit mass, h = 0.01 as printed."""
    return circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, Units(time=1.0), h_const="printed")


def resources(
    family: str = "xc2v",
    constants: CircuitConstants | None = None,
    *,
    points: int = 1024,
    edges: int = 1024,
    depth: int = timing.DEPTH,
) -> Resources:
    """Synthesise the whole circuit for a chip family and count; about half a minute."""
    require_tools()
    if family not in FAMILIES:
        known = ", ".join(f"{name} ({title})" for name, title in FAMILIES.items())
        raise RheotwinError(f"chip family '{family}' is unknown{nearest_name(family, FAMILIES)}; choose one of {known}")
    modules = synthesised(System(constants or papers_constants(), points, edges, depth=depth), family)
    named = (("TEM", f"{TOP}.tem"), ("MPM", f"{TOP}.mpm"), ("all", ""))
    return Resources(family, depth, tuple(_part(name, modules[module]) for name, module in named))


def synthesised(component: Component, family: str) -> dict[str, dict[str, int]]:
    """Return how many cells of each type the modules take, by their names; all of them under an empty name."""
    with tempfile.TemporaryDirectory(prefix="rheotwin-synthesis-") as folder:
        place = Path(folder)
        (place / "circuit.il").write_text(to_rtlil(component))
        script = f"synth_xilinx -family {family} -top {TOP} -noiopad; tee -q -o cells.json stat -json"
        run_yosys(f"read_rtlil circuit.il; {script}", place)
        cells = json.loads((place / "cells.json").read_text())
    found = {name.lstrip("\\"): module["num_cells_by_type"] for name, module in cells["modules"].items()}
    return {**found, "": cells["design"]["num_cells_by_type"]}


def _part(name: str, cells: dict[str, int]) -> Part:
    counts = {
        kind: sum(number for cell, number in cells.items() if cell.startswith(prefixes))
        for kind, prefixes in KINDS.items()
    }
    return Part(name=name, **counts)


def export_verilog(
    folder: Path,
    constants: CircuitConstants | None = None,
    *,
    points: int = 1024,
    edges: int = 1024,
    depth: int = timing.DEPTH,
) -> tuple[Path, ...]:
    """Write `circuit.v` (all modules below `circuit`) and `fx_cmul.v` into a folder; both are whole or not there.

    `constants` decides points, roundings and root; their values are written by the host.
    """
    require_tools()
    chosen = constants or papers_constants()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        components = {
            "circuit": System(chosen, points, edges, depth=depth),
            "fx_cmul": ConstantProduct(chosen.H.w, chosen.euler_round, chosen.form),
        }
        with tempfile.TemporaryDirectory(prefix=".rheotwin-verilog-", dir=folder) as place:
            for name, component in components.items():
                written = Path(place) / f"{name}.v"
                write_verilog(component, written, name)
                written.write_text(_heading(name, chosen) + written.read_text())
            return tuple((Path(place) / f"{name}.v").replace(folder / f"{name}.v") for name in components)
    except OSError as error:
        raise RheotwinError(f"cannot write Verilog into {folder}: {error.strerror}; choose another folder") from error


def _heading(name: str, constants: CircuitConstants) -> str:
    lines = [f"{name}: fixed-point circuit for rheological bodies, {constants.form}."]
    if name == "circuit":
        lines += ["Host codes (select) of memories and constants; of vectors this is lane 0, lanes 1 and 2 follow:"]
        codes = sorted(host_map(constants).items(), key=lambda item: item[1])
        lines += [f"  {code:2d} {memory}" for memory, code in codes]
        shifts = ", ".join(f"{name} {part.w}" for name, part in constants.named.items())
        lines += [f"Bits after the point of the constants: {shifts}."]
    return "".join(f"// {line}\n" for line in lines)
