"""The manifest of a run: what ran, on what, how, with which numbers."""

from __future__ import annotations

import platform
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rheotwin
from rheotwin.build import build_problem
from rheotwin.fields import NODE_FIELDS
from rheotwin.meshing import mesh_hash
from rheotwin.observers import Observer, Watched, probe_columns
from rheotwin.record import load_manifest
from rheotwin.run import solver_options
from rheotwin.scene import Scene, scene_from_data
from rheotwin.schedule import Stop

Run = Callable[..., tuple[Path, Any]]
FEM_ACCOUNT = ("dissipated", "impact", "external", "defect")


def test_a_run_tells_everything_about_itself(run: Run, scene_with: Callable[..., Scene], solver: str) -> None:
    folder, outcome = run(solver)
    manifest = load_manifest(folder)
    problem = build_problem(scene_with())
    assert (manifest.status, manifest.message, manifest.title) == ("complete", "", "a small press")
    assert manifest.rheotwin_version == manifest.solver.version == rheotwin.__version__
    assert scene_from_data(manifest.scene) == scene_with()
    assert (manifest.solver.name, manifest.solver.options["step"]) == (solver, 1e-3)
    assert (manifest.mesh.points, manifest.mesh.cells) == (15, 16)
    (body,) = manifest.mesh.bodies
    assert (body.name, body.cell, body.points, body.cells) == ("block", "triangle", 15, 16)
    assert manifest.mesh.hash == sha256(mesh_hash(problem.bodies[0].mesh).encode()).hexdigest()
    assert (manifest.step.size, manifest.step.count) == (1e-3, 400)
    assert (manifest.step.stable is None) == (solver == "fem")
    assert outcome.steps == 400
    assert manifest.timings["solve"] <= manifest.timings["total"] - manifest.timings["setup"] + 1e-9
    assert manifest.environment is not None
    assert manifest.environment.python == platform.python_version()
    assert {"numpy", "scikit-fem"} <= set(manifest.environment.packages)
    assert {name: info.unit for name, info in manifest.fields.items()} == {
        name: spec.unit for name, spec in NODE_FIELDS.items()
    }
    energies = ("kinetic", "stored", *(FEM_ACCOUNT if solver == "fem" else ()))
    assert manifest.probes == probe_columns(problem, energies)
    assert manifest.statistics["scheme"]


def test_both_solvers_share_mesh_fields_and_columns(run: Run) -> None:
    fem, truss = (load_manifest(run(solver, name=solver)[0]) for solver in ("fem", "truss"))
    account = {f"energy.{name}" for name in FEM_ACCOUNT}
    assert account <= fem.probes.keys()
    assert fem.mesh == truss.mesh
    assert fem.fields == truss.fields
    assert {name: unit for name, unit in fem.probes.items() if name not in account} == truss.probes
    assert fem.scene == truss.scene


def test_only_the_fields_asked_for_are_written(run: Run, solver: str, series_format: str) -> None:
    from rheotwin.record import open_record

    folder, _ = run(solver, {"output.fields": ["stress", "displacement"]}, format=series_format)
    record = open_record(folder)
    assert list(record.manifest.fields) == ["stress", "displacement"]
    assert set(record.frame(-1).point_data) == {"stress", "displacement"}


def test_a_scene_in_other_units_is_recorded_in_si(run: Run) -> None:
    folder, _ = run("fem", {"units": {"length": "cm"}})
    scene = load_manifest(folder).scene
    assert scene["bodies"]["block"]["size"] == pytest.approx([0.002, 0.001])
    assert scene["units"]["length"] == "m"


def test_a_running_record_says_so_and_no_later_number_than_its_checkpoint(run: Run, tmp_path: Path) -> None:
    seen = []

    class Look(Observer):
        def stop(self, run: Watched, stop: Stop) -> None:
            manifest = load_manifest(tmp_path / "run")
            seen.append((manifest.status, manifest.step.count))

    run("fem", observers=[Look()])
    # checkpoints are due at 0.2 and 0.4 s, observers of ours come after those that write
    assert seen == [("running", 0)] * 4 + [("running", 200)] * 4 + [("running", 400)]


def test_options_of_the_caller_go_before_those_of_the_scene(scene_with: Callable[..., Scene]) -> None:
    scene = scene_with()
    assert solver_options(scene, "fem", None) == {"step": 1e-3}
    assert solver_options(scene, "fem", {"step": 0.5, "mass": "lumped"}) == {"step": 0.5, "mass": "lumped"}
    assert solver_options(scene, "other", {}) == {}


def test_several_bodies_are_told_apart_in_the_series(run: Run, solver: str) -> None:
    from rheotwin.record import open_record

    twin = {"shape": "box", "size": [0.2, 0.1], "cells": [4, 2], "law": "dough", "mass": 20.0, "origin": [1.0, 0.0]}
    folder, _ = run(solver, {"bodies.twin": twin, "gravity": [0.0, 0.0], "duration": 0.1, "output": {}})
    record = open_record(folder)
    assert [body.name for body in record.manifest.mesh.bodies] == ["block", "twin"]
    topology = record.topology()
    np.testing.assert_array_equal(topology.body, [0] * 16 + [1] * 16)
    assert record.rest_positions[topology.cells[topology.body == 1]][..., 0].min() == 1.0
    assert {"volume.block", "volume.twin"} <= set(record.probes)
