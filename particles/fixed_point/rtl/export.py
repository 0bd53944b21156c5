"""The circuit as Verilog files for the tools of chip makers."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.rtl import tem
from rheotwin.particles.fixed_point.rtl.bench import write_verilog
from rheotwin.particles.fixed_point.rtl.fx_cmul import ConstantProduct
from rheotwin.particles.fixed_point.rtl.synthesis import papers_constants
from rheotwin.particles.fixed_point.rtl.system import System, host_map
from rheotwin.particles.fixed_point.rtl.tools import require_tools


def export_verilog(
    folder: Path,
    constants: CircuitConstants | None = None,
    *,
    points: int = 1024,
    edges: int = 1024,
    depth: int = tem.DEPTH,
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
        lines += [f"  {code:2d} {memory}" for memory, code in sorted(host_map().items(), key=lambda item: item[1])]
        shifts = ", ".join(f"{part} {getattr(constants, part).w}" for part in ("A", "B", "C2", "H", "Minv"))
        lines += [f"Bits after the point of the constants: {shifts}."]
    return "".join(f"// {line}\n" for line in lines)
