"""A million steps: energy stays within what the scheme makes of it, memory does not grow; clocks and folders fail."""

import gc
import os
import shutil
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.arrays import Array
from rheotwin.errors import EXIT_BAD_INPUT, RheotwinError
from rheotwin.observers import Frames
from rheotwin.record import open_record
from rheotwin.validation.checks.running import box_scene, start
from tests.conftest import command, run, scene_file

ELASTIC = {"model": "elastic", "young": 1e4, "poisson": 0.3}
VOIGT = {"model": "voigt", "young": 100.0, "poisson": 0.3, "viscosity": 2.0}
FLOOR = {"floor": {"body": "block", "where": {"side": "bottom"}}}
KEEPING: dict[str, tuple[str, dict[str, Any]]] = {
    "truss": ("truss", {}),
    "truss, one by one": ("truss", {"kernel": "general"}),
    "truss of seven digits": ("truss", {"precision": "single"}),
    "shear-volume": ("shear-volume", {}),
    "local-shape": ("local-shape", {"damping": 0.0}),
    "explicit fem": ("fem", {"stepper": "central-difference"}),
}
"""Solvers and options of rules that keep the energy of an elastic body, but for a ripple of the order (step)^2."""
LONG = pytest.mark.parametrize("steps", [20_000, pytest.param(1_000_000, marks=pytest.mark.exhaustive)])


def swinging(solver: str, **options: Any) -> Any:
    """Start a block of 2 x 2 squares that stands on its foot and is thrown sideways."""
    block = {"cells": [2, 2], "size": [0.2, 0.2], "density": 1e3, "velocity": [0.05, 0.02]}
    return start(box_scene(ELASTIC, **block, supports=FLOOR, duration=1e4), solver, **options)


def memory() -> int:
    """Return the bytes that this process holds; nothing of it is garbage."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def watched(simulation: Any, steps: int, *, looks: int = 200) -> tuple[Array, int]:
    """Take steps; return the energy [J] at `looks` times, and by how many bytes memory grew after the first fifth."""
    energies, held = [], 0
    for look in range(looks):
        simulation.advance(1e9, steps // looks)
        found = simulation.energy()
        energies.append(float(found["kinetic"]) + float(found["stored"]))
        held = memory() if look == looks // 5 else held
    return np.array(energies), memory() - held


@pytest.mark.parametrize("name", KEEPING)
@LONG
def test_energy_does_not_drift_and_memory_does_not_grow(name: str, steps: int) -> None:
    """The ripple of a step of 1/20 of the stable one is 1 %, its mean is seven digits' 3e-4 or better all along."""
    solver, options = KEEPING[name]
    step = 0.05 * swinging(solver, **options).stable_step
    energies, grown = watched(swinging(solver, step=step, **options), steps)
    first, last = energies[: len(energies) // 5], energies[-len(energies) // 5 :]
    assert last.mean() == pytest.approx(first.mean(), rel=3e-4)
    assert 0.0 < np.ptp(first) < 0.02 * first.mean() and np.ptp(last) < 1.5 * np.ptp(first)
    assert np.mean(energies) == pytest.approx(0.0435, rel=2e-3)  # whatever the solver: that of the throw [J]
    assert grown < 1 << 20, f"{grown} bytes"


@LONG
def test_a_circuit_comes_to_rest_and_stays_there(steps: int) -> None:
    """Words that are rounded neither creep nor hum: from some step on the state is the same, digit for digit."""
    scene = box_scene(VOIGT, cells=[2, 2], density=1.0, velocity=[0.5, 0.2], gravity=[0.0, -1.0], supports=FLOOR)
    energies, grown = watched(start(scene | {"duration": 1e4}, "fixed-point"), steps)
    assert energies[0] > 2.0 * energies[-1] > 0.0
    assert np.ptp(energies[-len(energies) // 20 :]) == 0.0
    assert grown < 1 << 20, f"{grown} bytes"


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheme", ["explicit", "semi-implicit"])
def test_masters_and_slaves_come_to_rest_and_memory_does_not_grow(scheme: str) -> None:
    """Their transfer damps: energy falls from fifth to fifth of the run until nothing but rounding is left."""
    block = {"cells": [2, 2, 2], "size": [0.2, 0.2, 0.2], "density": 1e3, "velocity": [0.05, 0.02, 0.0]}
    scene = box_scene(ELASTIC, **block, supports=FLOOR, duration=1e4)
    energies, grown = watched(start(scene, "slave", scheme=scheme), 200_000)
    assert energies[-1] < 1e-3 * energies[0] + 1e-4 * 0.0377  # of the throw [J]
    assert energies[-40:].max() <= 1.01 * energies[:40].max()
    assert grown < 1 << 20, f"{grown} bytes"


def test_a_clock_that_jumps_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    folder, outcome = run("truss", name="steady")
    days = count()
    with monkeypatch.context() as clocks:
        for clock in ("time", "monotonic", "perf_counter", "process_time"):
            clocks.setattr(time, clock, lambda: 86400.0 * (next(days) * 7 % 5 - 2))
            clocks.setattr(f"rheotwin.loop.{clock}", getattr(time, clock), raising=False)
        jumped, other = run("truss", name="jumping")
    assert next(days) > 4
    assert (other.status, other.steps) == (outcome.status, outcome.steps)
    for place in ("displacement", "velocity"):
        assert open_record(folder).field(place).tobytes() == open_record(jumped).field(place).tobytes()


def locked(folder: Path) -> None:
    """Take the right to write into a record; the owner of the machine gives up being that, too."""
    for place in (*folder.rglob("*"), folder):
        place.chmod(0o555 if place.is_dir() else 0o444)
    if os.geteuid() == 0:
        os.seteuid(65534)


@pytest.mark.parametrize("fails", [shutil.rmtree, locked], ids=["deleted", "read-only"])
def test_a_folder_that_fails_in_mid_run_ends_it_with_a_sentence(
    fails: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = Frames.stop, []

    def stop(frames: Frames, run: Any, at: Any) -> None:
        seen.append(at)
        if len(seen) == 3:
            fails(Path("record"))
        real(frames, run, at)

    monkeypatch.setattr(Frames, "stop", stop)
    try:
        said = command("run", scene_file({"output.interval": 0.05}), "--output", "record", "--quiet")
    finally:
        os.seteuid(os.getuid())
    assert said.code == EXIT_BAD_INPUT
    assert "could not write record" in said.sentence and "--resume record" in said.sentence
    if fails is locked:
        assert len(open_record(Path("record")).times) == 2
    else:
        with pytest.raises(RheotwinError):
            open_record(Path("record"))
