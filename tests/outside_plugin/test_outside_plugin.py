"""A solver from a package of its own: installed, listed, run; and packages that are broken or ill-mannered."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.record import open_record, save_manifest

HERE = Path(__file__).parent
SCENE = """
schema = 1
title = "one block stands, one falls"
dimension = 2
duration = 0.4
gravity = [0.0, -9.81]

[laws.gel]
model = "elastic"
young = 1.0e4
poisson = 0.3

[bodies.standing]
shape = "box"
size = [0.2, 0.1]
cells = [4, 2]
law = "gel"
mass = 3.0

[bodies.falling]
shape = "box"
size = [0.2, 0.1]
cells = [2, 1]
law = "gel"
mass = 1.0
origin = [1.0, 0.0]

[supports.floor]
body = "standing"
where = { side = "bottom" }

[output]
interval = 0.1
"""
PLANE = '\n[tools.floor]\nshape = "plane"\ncenter = [0.0, 0.0]\nnormal = [0.0, 1.0]\n'
Rheotwin = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder for packages beside those of the interpreter."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def rheotwin(tmp_path: Path, site: Path) -> Rheotwin:
    """Run the command line in a process that sees the packages of `site`."""
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rheotwin", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    return call


def announce(
    site: Path, package: str, name: str, value: str, module: str | None = None, group: str = "solvers"
) -> None:
    """Put a package into `site` as an installer would: its module and the metadata that announce a solver or law."""
    metadata = site / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[rheotwin.{group}]\n{name} = {value}\n")
    if module is not None:
        (site / f"{value.partition(':')[0]}.py").write_text(module)


@pytest.mark.packaging
def test_an_installed_package_adds_a_solver(rheotwin: Rheotwin, site: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*install, "--no-index", "--target", str(site), str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    check_solver(rheotwin, tmp_path)


def test_a_package_put_in_place_by_hand_does_the_same(rheotwin: Rheotwin, site: Path, tmp_path: Path) -> None:
    announce(site, "rheotwin_still", "still", "rheotwin_still:StillSolver")
    shutil.copy(HERE / "rheotwin_still.py", site)
    check_solver(rheotwin, tmp_path)


def check_solver(rheotwin: Rheotwin, tmp_path: Path) -> None:
    listed = rheotwin("solvers", "--json")
    assert (listed.returncode, listed.stderr) == (0, "")
    about = json.loads(listed.stdout)
    assert list(about) == ["fem", "truss", "fixed-point", "shear-volume", "still"]
    assert about["still"]["tools"] == []
    assert list(about["still"]["options"]) == ["step"]

    (tmp_path / "scene.toml").write_text(SCENE)
    ran = rheotwin("run", "scene.toml", "--solver", "still", "--json", "--set", "still.step=0.02")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["steps"] == 20
    record = open_record(tmp_path / "runs" / "scene-still")
    assert (record.manifest.solver.name, record.manifest.solver.version) == ("still", "0.3.0")
    moved = record.field("displacement")
    falling = np.arange(moved.shape[1]) >= record.manifest.mesh.bodies[0].points
    # a fall from rest: -g t^2/2 for each node of the free body, exactly, and nothing else moves
    for time, frame in zip(record.times, moved, strict=True):
        np.testing.assert_allclose(frame[falling, 1], -0.5 * 9.81 * time**2, rtol=1e-12, atol=1e-15)
    assert not moved[:, ~falling].any() and not moved[:, :, [0, 2]].any()
    np.testing.assert_allclose(record.probes["support.floor.force_y"], -3.0 * 9.81, rtol=1e-12)
    np.testing.assert_allclose(record.probes["energy.kinetic"], 0.5 * (9.81 * record.probes["time"]) ** 2, atol=1e-12)

    # it resumes, refuses what it cannot do, and takes part in the list of what exists
    save_manifest(record.manifest.changed(status="interrupted"), record.folder)
    resumed = rheotwin("run", "--resume", "runs/scene-still", "--quiet")
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert open_record(record.folder).manifest.status == "complete"
    (tmp_path / "tool.toml").write_text(SCENE + PLANE)
    refused = rheotwin("run", "tool.toml", "--solver", "still")
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "error: solver 'still' cannot run this scene: 1 fault",
        "  tools.floor.shape: 'plane' is beyond this solver, which does none",
    ]
    unknown = rheotwin("run", "scene.toml", "--solver", "stil")
    assert "(did you mean 'still'?); installed: fem, truss, fixed-point, shear-volume, still" in unknown.stderr


def test_it_can_be_compared_with_the_built_in_solvers(rheotwin: Rheotwin, site: Path, tmp_path: Path) -> None:
    announce(site, "rheotwin_still", "still", "rheotwin_still:StillSolver")
    shutil.copy(HERE / "rheotwin_still.py", site)
    (tmp_path / "scene.toml").write_text(SCENE)
    done = rheotwin("compare", "scene.toml", "--solvers", "fem,still", "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    numbers = json.loads((tmp_path / "runs/compare-scene/comparison.json").read_text())
    assert [run["solver"] for run in numbers["cases"][0]["runs"]] == ["fem", "still"]


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("raise ImportError('libgpu.so is missing')", "ImportError: libgpu.so is missing"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("class Solver:\n    def __init__(self):\n        1 / 0", "ZeroDivisionError"),
        ("class Solver:\n    name = 'gpu'", "TypeError: it lacks description, capabilities, options, start"),
        ("def Solver(:", "SyntaxError"),
        (None, "ModuleNotFoundError"),
    ],
)
def test_a_broken_plug_in_is_a_warning_and_not_a_crash(
    rheotwin: Rheotwin, site: Path, module: str | None, reason: str
) -> None:
    announce(site, "rheotwin_gpu", "gpu", "rheotwin_gpu:Solver", module)
    listed = rheotwin("solvers", "--json")
    assert listed.returncode == 0
    assert list(json.loads(listed.stdout)) == ["fem", "truss", "fixed-point", "shear-volume"]
    assert "Traceback" not in listed.stderr
    assert listed.stderr.startswith(
        "warning: solver plug-in 'gpu' (rheotwin_gpu:Solver) could not be loaded (" + reason
    )
    assert listed.stderr.endswith("): ignored\n")


def test_asking_for_a_broken_plug_in_says_why_it_is_not_there(rheotwin: Rheotwin, site: Path, tmp_path: Path) -> None:
    announce(site, "rheotwin_gpu", "gpu", "rheotwin_gpu:Solver", "raise ImportError('libgpu.so is missing')")
    (tmp_path / "scene.toml").write_text(SCENE)
    asked = rheotwin("run", "scene.toml", "--solver", "gpu")
    assert asked.returncode == 2
    warning, error = asked.stderr.splitlines()
    assert warning.startswith("warning: solver plug-in 'gpu'") and "libgpu.so is missing" in warning
    assert error == "error: solver: there is no solver named 'gpu'; installed: fem, truss, fixed-point, shear-volume"
    # whoever does not ask for it is not bothered
    other = rheotwin("run", "scene.toml", "--solver", "truss", "--quiet")
    assert (other.returncode, other.stderr) == (0, "")


def test_a_built_in_solver_cannot_be_replaced(rheotwin: Rheotwin, site: Path) -> None:
    announce(site, "rheotwin_still", "fem", "rheotwin_still:StillSolver")
    shutil.copy(HERE / "rheotwin_still.py", site)
    listed = rheotwin("solvers", "--json")
    about: dict[str, Any] = json.loads(listed.stdout)
    assert listed.returncode == 0
    assert list(about) == ["fem", "truss", "fixed-point", "shear-volume"]
    assert "finite elements" in about["fem"]["description"]
    assert listed.stderr == (
        "warning: solver plug-in 'fem' (rheotwin_still:StillSolver) has the name of a built-in solver: ignored\n"
    )


HELD = """
schema = 1
title = "a block pulled and held"
dimension = 2
duration = 0.4

[bodies.block]
shape = "box"
size = [0.2, 0.1]
cells = [2, 1]
law = "gel"
density = 1000.0

[supports.left]
body = "block"
where = { side = "left" }

[supports.right]
body = "block"
where = { side = "right" }
motion = { times = [0.0, 0.1], displacement = [[0.0, 0.0], [0.01, 0.0]] }

[output]
interval = 0.1

[laws.gel]
"""
POWER_LAW = """\
model = "power-law"
young = 2.0e4
poisson = 0.3
exponent = 0.25
shortest = 0.01
longest = 10.0
arms = 4
"""


def same_arms() -> str:
    """Return the arms of that law as a built-in one."""
    rates = np.geomspace(0.1, 100.0, 4)
    strengths = 2.0e4 / math.gamma(0.25) * rates**0.25 * np.log(1000.0) / 3.0
    units = [
        f"{{ young = {g!r}, viscosity = {g / s!r} }}" for g, s in zip(strengths.tolist(), rates.tolist(), strict=True)
    ]
    return f'model = "generalized-maxwell"\npoisson = 0.3\nunits = [{", ".join(units)}]\n'


@pytest.mark.parametrize("solver", ["fem", "truss", "shear-volume"])
def test_a_package_adds_a_law_to_all_solvers(rheotwin: Rheotwin, site: Path, tmp_path: Path, solver: str) -> None:
    """Its arms written out as a built-in law give the same forces."""
    announce(site, "rheotwin_power_law", "power-law", "rheotwin_power_law:PowerLawSpec", group="laws")
    shutil.copy(HERE / "rheotwin_power_law.py", site)
    forces = []
    for name, law in (("outside", POWER_LAW), ("inside", same_arms())):
        (tmp_path / f"{name}.toml").write_text(HELD + law)
        ran = rheotwin("run", f"{name}.toml", "--solver", solver, "--quiet")
        assert ran.returncode == 0, ran.stderr
        forces.append(open_record(tmp_path / "runs" / f"{name}-{solver}").probes["support.right.force_x"])
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-9)
    assert abs(forces[0][-1]) > 1.0
    assert '"power-law"' in rheotwin("schema").stdout
    bad = POWER_LAW.replace("0.25", "1.5")
    (tmp_path / "bad.toml").write_text(HELD + bad)
    refused = rheotwin("run", "bad.toml", "--solver", solver)
    assert refused.returncode == 2
    assert "laws.gel.exponent" in refused.stderr


def test_a_law_that_cannot_be_used_is_a_warning(rheotwin: Rheotwin, site: Path, tmp_path: Path) -> None:
    announce(site, "broken", "broken", "no_such_module:Spec", group="laws")
    (tmp_path / "inside.toml").write_text(HELD + same_arms())
    told = rheotwin("info", "inside.toml")
    assert told.returncode == 0
    assert "law plug-in 'broken' (no_such_module:Spec) is ignored: ModuleNotFoundError" in told.stderr
    unknown = rheotwin("info", str(tmp_path / "outside.toml"))
    assert unknown.returncode == 2


SWINGING = """
schema = 1
dimension = 2
duration = 2.0
gravity = [0.0, -9.81]

[laws.gel]
model = "voigt"
young = 1.0e4
poisson = 0.3
viscosity = 100.0

[bodies.block]
shape = "box"
size = [0.2, 0.1]
cells = [2, 1]
law = "gel"
density = 1000.0

[output]
interval = 0.1

[probes.corner]
body = "block"
at = [0.0, 0.0]

[solvers.truss.forces.foundation]
frequency = 5.0
"""


@pytest.mark.parametrize("stepper", ["semi-implicit", "euler", "rk4", "implicit"])
def test_a_package_adds_a_force(rheotwin: Rheotwin, site: Path, tmp_path: Path, stepper: str) -> None:
    """A free block on a foundation under its weight: y = -g (1 - cos w t)/w^2, to the order of the rule."""
    announce(site, "rheotwin_foundation", "foundation", "rheotwin_foundation:Foundation", group="forces")
    shutil.copy(HERE / "rheotwin_foundation.py", site)
    (tmp_path / "scene.toml").write_text(SWINGING)
    words = ("run", "scene.toml", "--solver", "truss", "--quiet", "--set", f"truss.stepper={stepper}")
    ran = rheotwin(*words, "--set", "truss.step=1e-4")
    assert ran.returncode == 0, ran.stderr
    probes = open_record(tmp_path / "runs" / "scene-truss").probes
    expected = -9.81 / 25.0 * (1.0 - np.cos(5.0 * probes["time"]))
    error = {"semi-implicit": 1e-3, "euler": 2e-3, "rk4": 1e-9, "implicit": 2e-3}[stepper]
    np.testing.assert_allclose(probes["probe.corner.displacement_y"], expected, atol=error)
    work = 20.0 * 9.81 * -expected  # of the weight: all of it is kinetic or stored
    np.testing.assert_allclose(probes["energy.kinetic"] + probes["energy.stored"], work, atol=400.0 * error)


def test_a_force_that_does_not_exist_or_is_asked_wrongly_is_refused(
    rheotwin: Rheotwin, site: Path, tmp_path: Path
) -> None:
    (tmp_path / "scene.toml").write_text(SWINGING)
    refused = rheotwin("run", "scene.toml", "--solver", "truss")
    assert refused.returncode == 2
    assert "solvers.truss.forces.foundation: no force is named 'foundation'" in refused.stderr
    announce(site, "rheotwin_foundation", "foundation", "rheotwin_foundation:Foundation", group="forces")
    shutil.copy(HERE / "rheotwin_foundation.py", site)
    (tmp_path / "scene.toml").write_text(SWINGING.replace("frequency = 5.0", "frequency = -5.0"))
    refused = rheotwin("run", "scene.toml", "--solver", "truss")
    assert refused.returncode == 2
    assert "solvers.truss.forces.foundation.frequency" in refused.stderr
