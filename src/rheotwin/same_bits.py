"""The mode `--reproducible`: the same bits on every processor that runs the same versions on the same system.

Processors differ in two ways. Some round a*b + c once and others twice, and wide vectors add in another order. In this
mode kernels round every product and every sum (`rheotwin.kernels`), and the libraries, which choose code by the
processor, are told to use what all processors have: NumPy, BLAS, and the C library's exp, sin and pow.

Libraries read such settings when a process starts, so the mode belongs to a process: `reproducible` starts it again.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from rheotwin.errors import RheotwinError

SWITCH = "RHEOTWIN_REPRODUCIBLE"
ON = os.environ.get(SWITCH, "0") not in ("", "0")
"""Whether this process is in the mode."""
CONTRACT: tuple[str, ...] = () if ON else ("contract",)
"""What LLVM may do with sums and products: round a*b + c once; in this mode nothing."""
_OLDEST = {"x86_64": "Nehalem", "AMD64": "Nehalem", "aarch64": "ARMV8", "arm64": "ARMV8"}
"""OpenBLAS's name of the least processor of a kind."""


def settings() -> dict[str, str]:
    """Return the environment of the mode: least code paths of NumPy, OpenBLAS and glibc, sums of one thread."""
    core = "_core" if find_spec("numpy._core._multiarray_umath") else "core"  # NumPy 2, or 1
    paths = import_module(f"numpy.{core}._multiarray_umath").__cpu_dispatch__
    found = {
        SWITCH: "1",
        "NPY_DISABLE_CPU_FEATURES": " ".join(paths),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2",
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MKL_CBWR": "COMPATIBLE",
    }
    return found | ({"OPENBLAS_CORETYPE": _OLDEST[platform.machine()]} if platform.machine() in _OLDEST else {})


def reproducible() -> None:
    """Put a script into the mode: call it first; the script is started again, unless it already is in the mode."""
    if ON:
        return
    if not getattr(sys.modules["__main__"], "__file__", None) or hasattr(sys, "ps1"):
        raise RheotwinError(
            f"reproducible(): an interactive session cannot be started again; set {SWITCH}=1 and the rest of "
            "rheotwin.same_bits.settings() in the environment it starts in"
        )
    sys.exit(start_again())


def start_again(words: Sequence[str] | None = None) -> int:
    """Run `rheotwin WORDS` in the mode and return its exit code; without words, become this process's own command."""
    command = sys.orig_argv if words is None else [sys.executable, "-P", "-m", "rheotwin", *words]
    environment = os.environ | settings()
    if words is None and sys.platform != "win32":
        sys.stdout.flush()
        os.execve(sys.executable, command, environment)
    return subprocess.run([sys.executable, *command[1:]], env=environment, check=False).returncode


def processor() -> str:
    """Return the processor that kernels are made for, in LLVM's word."""
    from llvmlite import binding

    return os.environ.get("NUMBA_CPU_NAME") or str(binding.get_host_cpu_name())
