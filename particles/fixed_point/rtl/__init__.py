"""The fixed-point circuit as hardware: Amaranth source, cycle-exact simulation, Verilog, resource counts.

Spec fpga-fixed-point.md section 8. The tools are an extra, `pip install 'rheotwin[rtl]'`; `missing_tools` says in a
sentence what is not there. Nothing of them is imported before it is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.rtl.tools import missing_tools, require_tools

if TYPE_CHECKING:
    from rheotwin.particles.fixed_point.rtl.run import CircuitRun
    from rheotwin.particles.fixed_point.rtl.synthesis import Resources

__all__ = ["export_verilog", "missing_tools", "resources", "simulate"]


def simulate(body: CircuitBody, constants: CircuitConstants, steps: int) -> CircuitRun:
    """Step a body by the compiled circuit; see `rheotwin.particles.fixed_point.rtl.run.simulate`."""
    require_tools(compiler=True)
    from rheotwin.particles.fixed_point.rtl import run

    return run.simulate(body, constants, steps)


def resources(
    family: str = "xc2v", constants: CircuitConstants | None = None, *, points: int = 1024, edges: int = 1024
) -> Resources:
    """Count what the circuit takes of a chip family; see `rheotwin.particles.fixed_point.rtl.synthesis.resources`."""
    require_tools()
    from rheotwin.particles.fixed_point.rtl import synthesis

    return synthesis.resources(family, constants, points=points, edges=edges)


def export_verilog(
    folder: Path, constants: CircuitConstants | None = None, *, points: int = 1024, edges: int = 1024
) -> tuple[Path, ...]:
    """Write the circuit as Verilog; see `rheotwin.particles.fixed_point.rtl.export.export_verilog`."""
    require_tools()
    from rheotwin.particles.fixed_point.rtl import export

    return export.export_verilog(folder, constants, points=points, edges=edges)
