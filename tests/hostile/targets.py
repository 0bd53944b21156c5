"""The readers that the fuzz target damages, and the seeds of each: small folders that are read without a word."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import meshio
import numpy as np
import pyvista

from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.meshing import BoxShape, make_shape, write_mesh
from rheotwin.meshing.files import read_mesh, read_surface, readable_suffixes
from rheotwin.record import load_checkpoint, load_manifest, open_record, save_manifest
from rheotwin.record.checkpoint import save_checkpoint
from rheotwin.record.stored import digest_of
from rheotwin.running import RunRequest, resume_run, run_scene
from rheotwin.scene import load_scene
from rheotwin.validation.baselines.files import load_baseline
from rheotwin.validation.experiments.reader import read_experiment
from rheotwin.validation.experiments.writer import write_experiment
from tests.conftest import QUICK, TWIN, data, scene_with, toml
from tests.hostile.fuzz import Target

MOST_CELLS = 2000
"""A damaged scene of more cells is read but not built: that would be slow, not wrong."""


def make_targets(folder: Path, *, quick: bool = False) -> list[Target]:
    """Make all seeds in a folder and return the targets."""
    folder.mkdir(exist_ok=True)
    return [
        *_scenes(folder),
        *(() if quick else (*_meshes(folder), *_states(folder))),
        *_records(folder),
        *_experiments(folder),
        *_rest(folder),
    ]


def _scenes(folder: Path) -> Iterator[Target]:
    (folder / "scene").mkdir()
    text = "".join(f"{key} = {toml(value)}\n" for key, value in data(QUICK).items())
    (folder / "scene" / "a.toml").write_text('units = { length = "m" }\n' + text)

    def read(place: Path) -> Any:
        (path,) = place.glob("*.toml")
        scene = load_scene(path)
        cells = [np.prod([float(count) for count in getattr(body, "cells", [1.0])]) for body in scene.bodies.values()]
        if max(cells, default=0) * scene.refinement**scene.dimension < MOST_CELLS:
            return build_problem(scene).points
        return scene.title

    yield Target("scene", folder / "scene", read)
    (folder / "scene-files").mkdir()
    write_mesh(folder / "scene-files" / "body.inp", make_shape(BoxShape((0.2, 0.1), (4, 2))))
    block = {"shape": "file", "path": "body.inp", "law": "dough", "density": 1000.0}
    text = "".join(f"{key} = {toml(value)}\n" for key, value in data(QUICK, {"bodies.block": block}).items())
    (folder / "scene-files" / "a.toml").write_text(text)
    yield Target("scene-files", folder / "scene-files", read)


def _meshes(folder: Path) -> Iterator[Target]:
    def read(place: Path) -> Any:
        path = min(item for item in place.iterdir() if item.suffix != ".ele")
        try:
            mesh = read_mesh(path, drop_unused=True)
        except RheotwinError as error:
            if "surface in space" in str(error):
                return read_surface(path)
            raise
        return mesh.mesh.p, mesh.mesh.t, mesh.regions, mesh.cell_regions

    tet = make_shape(BoxShape((1.0, 1.0, 1.0), (1, 1, 1)))
    triangles = ("triangle", np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]]))
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    solid = meshio.Mesh(tet.p.T, [("tetra", tet.t.T)], point_sets={"floor": np.array([0, 1, 2])})
    for suffix in readable_suffixes():
        if suffix in (".geo", ".dato.gz", ".post.gz", ".vol.gz"):
            continue
        for name, raw in (("solid", solid), ("skin", meshio.Mesh(corners, [triangles]))):
            place = folder / f"mesh{suffix}-{name}"
            place.mkdir()
            with suppress(Exception, SystemExit):
                meshio.write(place / f"body{suffix}", raw)
                read(place)
                yield Target(f"mesh{suffix}-{name}", place, read)
    (folder / "mesh.msh4").mkdir()
    write_mesh(folder / "mesh.msh4" / "body.msh", tet)
    yield Target("mesh.msh4", folder / "mesh.msh4", read)


def read_record(folder: Path) -> Any:
    """Return everything a record says."""
    record = open_record(folder)
    grids = range(len(record.times))
    state = load_checkpoint(record.checkpoint_path) if record.checkpoint_path is not None else {}
    return (
        {name: value for name, value in record.manifest.model_dump().items() if name not in ("timings", "created")},
        record.times,
        record.probes,
        record.topology().cells,
        [record.positions(index) for index in grids],
        [record.field(name) for name in record.manifest.fields],
        [tools.points for index in grids if (tools := record.tools(index)) is not None],
        {name: np.asarray(value) for name, value in state.items()},
    )


def _records(folder: Path) -> Iterator[Target]:
    changes = {
        "output": {"interval": 0.05, "checkpoint_interval": 0.05},
        "probes.tip": {"body": "block", "at": [0.1, 0.1]},
    }
    for form in ("pvd", "vtkhdf"):
        place, half = folder / f"record-{form}" / "run", folder / f"resume-{form}" / "run"
        for path in (place, half):
            run_scene(RunRequest(scene_with(QUICK, {"probes": {}}, changes), "truss", path, format=form))
        # as a kill leaves it: running, and its last checkpoints those of earlier
        save_manifest(load_manifest(half).changed(status="running"), half)
        newest = open_record(half).checkpoint_path
        assert newest is not None
        newest.unlink()
        yield Target(
            f"record-{form}",
            place.parent,
            lambda place: read_record(place / "run"),
            sealed=lambda name: "checkpoints" not in name,  # a damaged one gives way to the one before it
        )
        yield Target(f"resume-{form}", half.parent, _resumed, sealed=lambda name: True)


def _resumed(place: Path) -> Any:
    """Return what a resumed record says that the whole one says as well."""
    resume_run(place / "run")
    record = open_record(place / "run")
    fields = {name: record.field(name) for name in record.manifest.fields}
    return record.manifest.status, record.times, record.probes, fields


def _experiments(folder: Path) -> Iterator[Target]:
    from tests.validation.experiments.test_record import RECORD, TABLES

    place = folder / "own"
    (place / "clouds").mkdir(parents=True)
    for name, text in {"record.toml": RECORD.replace('"clouds/b.csv"', '"clouds/b.ply"'), **TABLES}.items():
        (place / name).write_text(text)
    points = np.array([[1.0, 6.0, 5.0], [9.0, 5.5, 5.0], [2.0, 5.5, 5.0]])
    for form in (True, False):
        pyvista.PolyData(points).save(place / "clouds" / "b.ply", binary=form)
        seed = folder / f"experiment-{'binary' if form else 'text'}"
        seed.mkdir()
        for path in sorted(place.rglob("*")):
            target = seed / path.relative_to(place)
            target.mkdir() if path.is_dir() else target.write_bytes(path.read_bytes())
        yield Target(seed.name, seed, lambda here: _plain(read_experiment(here)))
    write_experiment(folder / "experiment-sealed", read_experiment(place))
    yield Target(
        "experiment-sealed",
        folder / "experiment-sealed",
        lambda here: _plain(read_experiment(here)),
        sealed=lambda name: name != "record.toml",  # written by hand, and changed by it
    )


def _plain(value: Any) -> Any:
    """Return the contents of data classes and models as tables."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    inner = getattr(value, "__dict__", None)
    return value if inner is None or isinstance(value, np.ndarray) else {k: _plain(item) for k, item in inner.items()}


def _rest(folder: Path) -> Iterator[Target]:
    (folder / "baseline").mkdir()
    text = 'schema = 1\ntitle = "t"\nscene = "a.toml"\nsolver = "truss"\n[options]\nstep = 1e-3\n'
    text += '[[values]]\nname = "v"\nvalue = 1.0\ntolerance = 0.1\n[[history]]\ndate = "2026-01-01"\nreason = "r"\n'
    (folder / "baseline" / "a.toml").write_text(text + 'rheotwin_version = "1"\nvalues = { v = 1.0 }\n')
    yield Target("baseline", folder / "baseline", lambda place: _plain(load_baseline(place / "a.toml")))
    (folder / "plug-in").mkdir()
    (folder / "plug-in" / "seed").write_bytes(b"0123456789")
    yield Target("plug-in", folder / "plug-in", _misbehaving, files="seed")


def _states(folder: Path) -> Iterator[Target]:
    """Yield resumed runs whose checkpoints are valid files of wrong states, with the checksums to match."""
    contact = {"contact": {"law": "penalty", "stiffness": 1e4, "friction": 0.3, "bodies": True}, "bodies.twin": TWIN}
    for solver, changes in (("truss", contact), ("fem", {}), ("fem", contact), ("local-shape", contact)):
        place = folder / f"state-{solver}{'-contact' if changes else ''}"
        (place / "run").parent.mkdir(parents=True)
        output = {"output": {"interval": 0.1, "checkpoint_interval": 0.05}}
        run_scene(RunRequest(scene_with(QUICK, changes, output), solver, place / "run"))
        save_manifest(load_manifest(place / "run").changed(status="running"), place / "run")
        newest = open_record(place / "run").checkpoint_path
        assert newest is not None
        newest.unlink()
        (place / "seed").write_bytes(b"0123456789")
        yield Target(place.name, place, _resumed_wrong, files="seed")


def _resumed_wrong(place: Path) -> Any:
    """Resume from a state one array of which has other values, another shape or type, or is gone."""
    chance, path = Random((place / "seed").read_bytes()), open_record(place / "run").checkpoint_path
    assert path is not None
    state = load_checkpoint(path)
    name = chance.choice(sorted(state))
    value = np.array(state[name])
    kind = chance.randrange(7)
    if kind == 0:
        del state[name]
    elif kind == 1:
        state[name] = value.ravel()[: chance.randrange(value.size + 1)]
    elif kind == 2:
        state[name] = np.array(["text"])
    elif kind == 3:
        state[name] = np.concatenate([value.ravel(), value.ravel()])
    elif value.size:
        if value.dtype.kind == "f":  # of wrong whole numbers docs/reliability.md promises nothing
            value.flat[chance.randrange(value.size)] = chance.choice((np.nan, np.inf, -1e300, 1e-300))
        state[name] = value
    save_checkpoint(path.parent, int(path.stem[5:]), state)
    manifest = load_manifest(place / "run")
    files = {**manifest.files, f"checkpoints/{path.name}": digest_of(path.read_bytes())}
    save_manifest(manifest.changed(files=files), place / "run")
    return resume_run(place / "run").status


TROUBLE: tuple[Any, ...] = (None, "text", -1, float("nan"), [], {}, np.zeros((2, 2)), object(), 10**400)


def _misbehaving(place: Path) -> Any:
    """Run a solver that is the truss but for one part of it, which raises or returns what it should not."""
    from importlib.metadata import EntryPoint

    from rheotwin import solver as solvers
    from rheotwin.particles import TrussSolver

    chance = Random((place / "seed").read_bytes())
    part = chance.choice(
        (
            *("import", "make", "name", "description", "capabilities", "options", "start", "time", "step_count"),
            *("step_size", "stable_step", "positions", "velocities", "advance", "fields", "reactions", "energy"),
            *("statistics", "save"),
        )
    )
    trouble = chance.choice((*TROUBLE, ValueError("no"), KeyError("no"), SystemExit(3), RuntimeError("\x1b[2J")))

    def answer(*_: Any, **__: Any) -> Any:
        if isinstance(trouble, BaseException):
            raise trouble
        return trouble

    class Wrong:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            if name != part:
                return getattr(self.inner, name)
            is_method = name in ("advance", "fields", "reactions", "energy", "statistics", "save", "restore")
            return answer if is_method else answer()

    class Plugged(TrussSolver):
        name = "plugged"

        def start(self, problem: Any, options: Any) -> Any:
            return answer() if part == "start" else Wrong(super().start(problem, options))

    module = ModuleType("plugged_in")
    module.Plugged = answer if part == "make" else Plugged  # type: ignore[attr-defined]
    if part in ("name", "description", "capabilities", "options") and not isinstance(trouble, BaseException):
        setattr(Plugged, part, trouble)
    Plugged.__module__ = "plugged_in"
    sys.modules["plugged_in"] = None if part == "import" else module  # type: ignore[assignment]
    point = EntryPoint(name="plugged", value="plugged_in:Plugged", group=solvers.GROUP)
    solvers.entry_points = lambda *, group: [point] if group == solvers.GROUP else []  # type: ignore[attr-defined]
    run_scene(RunRequest(scene_with(QUICK), "plugged", place / "run"))
    return 0
