"""Solvers, laws and forces from a package of its own: installed, listed, run; broken or ill-mannered ones."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.record import open_record, save_manifest
from rheotwin.validation.checks.running import FLOOR, HELD, Data, box_scene, path, side
from tests.conftest import write_scene

HERE = Path(__file__).parent
GEL: Data = {"model": "elastic", "young": 1.0e4, "poisson": 0.3}
VOIGT: Data = GEL | {"model": "voigt", "viscosity": 100.0}
NAMES = ["fem", "truss", "fixed-point", "shear-volume", "local-shape", "slave"]
FALL: Data = {"duration": 0.4, "gravity": [0.0, -9.81], "output": {"interval": 0.1}}
STANDING: Data = box_scene(GEL, cells=[4, 2], size=[0.2, 0.1], mass=3.0, supports=FLOOR) | FALL
FALLING = STANDING["bodies"]["block"] | {"cells": [2, 1], "mass": 1.0, "origin": [1.0, 0.0]}
BOTH: Data = STANDING | {"bodies": STANDING["bodies"] | {"falling": FALLING}}
PLANE: Data = {"tools": {"floor": {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}}}
STILL = ("rheotwin_still", "still", "StillSolver")
POWER = ("rheotwin_power_law", "power-law", "PowerLawSpec", "laws")
FOUNDATION = ("rheotwin_foundation", "foundation", "Foundation", "forces")


@pytest.fixture(autouse=True)
def site(own_folder: Path) -> Path:
    Path("site").mkdir()
    return Path("site")


def rheotwin(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rheotwin", *words]
    environment = {**os.environ, "PYTHONPATH": str(Path("site").absolute())}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def ran(*words: str) -> str:
    done = rheotwin(*words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def announce(package: str, name: str, value: str, group: str = "solvers", source: str | None = None) -> None:
    """Put a package into the site as an installer would: its module and the metadata that announce what it adds."""
    metadata = Path(f"site/{package}-1.0.dist-info")
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[rheotwin.{group}]\n{name} = {package}:{value}\n")
    if source is not None:
        Path(f"site/{package}.py").write_text(source)
    elif (HERE / f"{package}.py").exists():
        shutil.copy(HERE / f"{package}.py", "site")


@pytest.mark.parametrize(
    "installed", [pytest.param(True, marks=[pytest.mark.packaging, pytest.mark.exhaustive]), False]
)
def test_a_package_adds_a_solver(installed: bool) -> None:
    """Installed by pip, or put in place by hand."""
    if installed:
        shutil.copytree(HERE, "source", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", "site"]
        install = [sys.executable, "-m", "pip", "install", *options, "./source"]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        announce(*STILL)
    about = json.loads(ran("solvers", "--json"))
    assert list(about) == [*NAMES, "still"]
    assert (about["still"]["tools"], list(about["still"]["options"])) == ([], ["step"])

    write_scene(BOTH)
    run = rheotwin("run", "scene.toml", "--solver", "still", "--json", "--set", "still.step=0.02")
    assert (run.returncode, json.loads(run.stdout)["steps"]) == (0, 20), run.stderr
    record = open_record(Path("runs/scene-still"))
    assert (record.manifest.solver.name, record.manifest.solver.version) == ("still", "0.3.0")
    moved = record.field("displacement")
    falling = np.arange(moved.shape[1]) >= record.manifest.mesh.bodies[0].points
    # a fall from rest: -g t^2/2 for each node of the free body, exactly, and nothing else moves
    expected = np.broadcast_to(-0.5 * 9.81 * record.times[:, None] ** 2, moved[:, falling, 1].shape)
    np.testing.assert_allclose(moved[:, falling, 1], expected, rtol=1e-12, atol=1e-15)
    assert not moved[:, ~falling].any() and not moved[:, :, [0, 2]].any()
    np.testing.assert_allclose(record.probes["support.floor.force_y"], -3.0 * 9.81, rtol=1e-12)
    np.testing.assert_allclose(record.probes["energy.kinetic"], 0.5 * (9.81 * record.probes["time"]) ** 2, atol=1e-12)

    # it resumes, refuses what it cannot do, and takes part in the list of what exists
    save_manifest(record.manifest.changed(status="interrupted"), record.folder)
    ran("run", "--resume", "runs/scene-still", "--quiet")
    assert open_record(record.folder).manifest.status == "complete"
    write_scene(BOTH | PLANE, "tool.toml")
    refused = rheotwin("run", "tool.toml", "--solver", "still")
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "error: solver 'still' cannot run this scene: 1 fault",
        "  tools.floor.shape: 'plane' is beyond this solver, which does none",
    ]
    unknown = rheotwin("run", "scene.toml", "--solver", "stil")
    assert f"(did you mean 'still'?); installed: {', '.join(NAMES)}, still" in unknown.stderr


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise ImportError('libgpu.so is missing')", "ImportError: libgpu.so is missing"),
        ("def Solver(:", "SyntaxError"),
        *(
            pytest.param(source, reason, marks=pytest.mark.exhaustive)
            for source, reason in (
                ("class Solver:\n    def __init__(self):\n        1 / 0", "ZeroDivisionError"),
                ("class Solver:\n    name = 'gpu'", "TypeError: it lacks description, capabilities, options, start"),
                (None, "ModuleNotFoundError"),
            )
        ),
    ],
)
def test_a_broken_plug_in_is_a_warning_and_not_a_crash(source: str | None, reason: str) -> None:
    announce("rheotwin_gpu", "gpu", "Solver", source=source)
    listed = rheotwin("solvers", "--json")
    assert (listed.returncode, list(json.loads(listed.stdout))) == (0, NAMES)
    assert "Traceback" not in listed.stderr
    start = f"warning: solver plug-in 'gpu' (rheotwin_gpu:Solver) could not be loaded ({reason}"
    assert listed.stderr.startswith(start) and listed.stderr.endswith("): ignored\n")


def test_broken_plug_ins_asked_for_and_names_of_built_in_solvers() -> None:
    announce("rheotwin_gpu", "gpu", "Solver", source="raise ImportError('libgpu.so is missing')")
    write_scene(BOTH)
    asked = rheotwin("run", "scene.toml", "--solver", "gpu")
    assert asked.returncode == 2
    warning, error = asked.stderr.splitlines()
    assert warning.startswith("warning: solver plug-in 'gpu'") and "libgpu.so is missing" in warning
    assert error == f"error: solver: there is no solver named 'gpu'; installed: {', '.join(NAMES)}"
    # whoever does not ask for it is not bothered
    ran("run", "scene.toml", "--solver", "truss", "--quiet")
    announce("rheotwin_still", "fem", "StillSolver")
    listed = rheotwin("solvers", "--json")
    about: dict[str, Any] = json.loads(listed.stdout)
    assert (listed.returncode, list(about)) == (0, NAMES) and "finite elements" in about["fem"]["description"]
    warning = "solver plug-in 'fem' (rheotwin_still:StillSolver) has the name of a built-in solver: ignored"
    assert f"warning: {warning}\n" in listed.stderr


PULLED: Data = {"right": side("right", motion=path([0.0, 0.1], [[0.0, 0.0], [0.01, 0.0]]))}
POWER_LAW: Data = {"model": "power-law", "young": 2.0e4, "poisson": 0.3, "exponent": 0.25, "arms": 4}
POWER_LAW |= {"shortest": 0.01, "longest": 10.0}


def held(law: Data, name: str) -> None:
    scene = box_scene(law, cells=[2, 1], size=[0.2, 0.1], density=1000.0, duration=0.4, supports=HELD | PULLED)
    write_scene(scene | {"output": {"interval": 0.1}}, name)


def same_arms() -> Data:
    rates = np.geomspace(0.1, 100.0, 4)
    strengths = 2.0e4 / math.gamma(0.25) * rates**0.25 * np.log(1000.0) / 3.0
    units = [{"young": g, "viscosity": g / s} for g, s in zip(strengths.tolist(), rates.tolist(), strict=True)]
    return {"model": "generalized-maxwell", "poisson": 0.3, "units": units}


@pytest.mark.parametrize("solver", ["fem", "truss", pytest.param("shear-volume", marks=pytest.mark.exhaustive)])
def test_a_package_adds_a_law_to_all_solvers(solver: str) -> None:
    """Its arms written out as a built-in law give the same forces."""
    announce(*POWER)
    forces = []
    for name, law in (("outside", POWER_LAW), ("inside", same_arms())):
        held(law, f"{name}.toml")
        ran("run", f"{name}.toml", "--solver", solver, "--quiet")
        forces.append(open_record(Path(f"runs/{name}-{solver}")).probes["support.right.force_x"])
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-9)
    assert abs(forces[0][-1]) > 1.0


def test_laws_are_in_the_schema_and_checked_and_a_broken_one_is_a_warning() -> None:
    announce(*POWER)
    assert '"power-law"' in ran("schema")
    held(POWER_LAW | {"exponent": 1.5}, "bad.toml")
    refused = rheotwin("run", "bad.toml")
    assert refused.returncode == 2 and "laws.stuff.exponent" in refused.stderr
    announce("no_such_module", "broken", "Spec", "laws")
    held(same_arms(), "inside.toml")
    told = rheotwin("info", "inside.toml")
    assert told.returncode == 0
    assert "law plug-in 'broken' (no_such_module:Spec) is ignored: ModuleNotFoundError" in told.stderr


def swinging(frequency: float) -> None:
    scene = box_scene(VOIGT, cells=[2, 1], size=[0.2, 0.1], density=1000.0, gravity=[0.0, -9.81], duration=2.0)
    options = {"solvers": {"truss": {"forces": {"foundation": {"frequency": frequency}}}}}
    probe = {"probes": {"corner": {"body": "block", "at": [0.0, 0.0]}}, "output": {"interval": 0.1}}
    write_scene(scene | options | probe)


@pytest.mark.parametrize(
    ("stepper", "error"),
    [
        ("rk4", 1e-9),
        ("implicit", 2e-3),
        pytest.param("semi-implicit", 1e-3, marks=pytest.mark.exhaustive),
        pytest.param("euler", 2e-3, marks=pytest.mark.exhaustive),
    ],
)
def test_a_package_adds_a_force(stepper: str, error: float) -> None:
    """y = -g (1 - cos w t)/w^2, to the order of the rule."""
    announce(*FOUNDATION)
    swinging(5.0)
    settings = ("--set", f"truss.stepper={stepper}", "--set", "truss.step=1e-4")
    ran("run", "scene.toml", "--solver", "truss", "--quiet", *settings)
    probes = open_record(Path("runs/scene-truss")).probes
    expected = -9.81 / 25.0 * (1.0 - np.cos(5.0 * probes["time"]))
    np.testing.assert_allclose(probes["probe.corner.displacement_y"], expected, atol=error)
    work = 20.0 * 9.81 * -expected  # of the weight: all of it is kinetic or stored
    np.testing.assert_allclose(probes["energy.kinetic"] + probes["energy.stored"], work, atol=400.0 * error)


@pytest.mark.parametrize(
    ("there", "words"), [(False, "foundation: no force is named 'foundation'"), (True, "foundation.frequency")]
)
def test_a_force_that_does_not_exist_or_is_asked_wrongly_is_refused(there: bool, words: str) -> None:
    if there:
        announce(*FOUNDATION)
    swinging(-5.0)
    refused = rheotwin("run", "scene.toml", "--solver", "truss")
    assert refused.returncode == 2 and f"solvers.truss.forces.{words}" in refused.stderr
