"""`--reproducible`: processes for different processors give the same bits, and the manifest says so."""

import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import pytest

from rheotwin.errors import EXIT_OK, RheotwinError
from rheotwin.record import Record, open_record
from rheotwin.same_bits import reproducible
from tests.conftest import SOLID, Data, command, cut_off, scene_file

OTHER = {"NUMBA_CPU_NAME": "generic", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2", "OPENBLAS_CORETYPE": "Nehalem"}
"""Settings by which numba, the C library and BLAS take this processor for a lesser one."""
FUSES = "+fma," in f"{llvmlite.binding.get_host_cpu_features().flatten()},"
CUBES = SOLID | {"bodies.block.law": "gel", "forces.push.body": "block", "forces.push.total": [3.0, 0.0, -5.0]}
CUBES["forces.push.where"] = {"side": "top"}
WALKS: dict[str, tuple[str, Data]] = {
    "truss": ("truss", {"tools": {}, "gravity": [0.5, -1.0]}),
    "truss under a bar": ("truss", {}),
    "truss of cubes in single precision": ("truss", CUBES | {"solvers.truss.precision": "single"}),
    "shear-volume": ("shear-volume", {}),
    "local-shape": ("local-shape", {}),
    "explicit fem": ("fem", {"solvers.fem": {"stepper": "central-difference"}}),
    "explicit fem of cubes": ("fem", CUBES | {"solvers.fem": {"stepper": "central-difference"}}),
    "implicit fem": ("fem", {}),
}
SHORT = {"truss"}
"""Each walk compiles its kernels three times; `make test` has one."""


def bits(record: Record) -> dict[str, bytes]:
    """Return all numbers of a record."""
    found = {name: record.field(name).tobytes() for name in record.manifest.fields}
    return found | {f"probe {name}": column.tobytes() for name, column in record.probes.items()}


def recorded(folder: str, name: str, *mode: str) -> Record:
    """Run a walk from the command line."""
    solver, changes = WALKS[name]
    said = command("run", scene_file(changes), "--solver", solver, "--output", folder, "--quiet", *mode)
    assert said.code == EXIT_OK, said.err
    return open_record(Path(folder))


@pytest.mark.parametrize(
    "name", [name if name in SHORT else pytest.param(name, marks=pytest.mark.exhaustive) for name in WALKS]
)
def test_processors_that_fuse_and_that_do_not_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = recorded("here", name, "--reproducible")
    for setting, value in OTHER.items():
        monkeypatch.setenv(setting, value)
    there = recorded("there", name, "--reproducible")
    assert bits(here) == bits(there)
    machines = [record.manifest.environment for record in (here, there)]
    assert [machine is not None and machine.reproducible for machine in machines] == [True, True]
    assert [machine and machine.processor for machine in machines] == [llvmlite.binding.get_host_cpu_name(), "generic"]
    if name in SHORT:
        cut_off(there.folder)
        assert command("run", "--resume", there.folder).sentence.endswith("resume it with --reproducible")
    if FUSES and name in SHORT:
        usual = recorded("usual", name)
        assert usual.manifest.environment is not None and not usual.manifest.environment.reproducible
        assert bits(usual) != bits(here)


def test_a_script_starts_itself_again() -> None:
    Path("script.py").write_text(
        "import sys\nfrom rheotwin import reproducible\nreproducible()\nfrom rheotwin.same_bits import ON\n"
        "print(ON, sys.argv[1:])\n"
    )
    found = subprocess.run([sys.executable, "script.py", "a", "b c"], capture_output=True, text=True, check=True)
    assert found.stdout == "True ['a', 'b c']\n" and found.stderr == ""


def test_a_session_cannot_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    with pytest.raises(RheotwinError, match="RHEOTWIN_REPRODUCIBLE=1"):
        reproducible()
