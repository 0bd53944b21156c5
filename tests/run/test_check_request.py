"""Everything that can be known to be wrong is said before a file is written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin.errors import EXIT_BAD_INPUT, RheotwinError
from rheotwin.record import load_manifest
from rheotwin.run import RunRequest, check_request, run_scene
from rheotwin.scene import Scene

SceneWith = Callable[..., Scene]
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # changes of the scene, of the request, words of the sentence
    "no such solver": ({}, {"solver": "fam"}, r"no solver named 'fam' \(did you mean 'fem'\?\); installed: fem, truss"),
    "no such case": ({"cases": {"soft": {}}}, {"case": "sof"}, r"no case 'sof' \(did you mean 'soft'\?\)"),
    "no such option": ({}, {"options": {"stp": 1}}, r"solvers.fem.stp: unknown option \(did you mean 'step'\?\)"),
    "no such option in the scene": (
        {"solvers.fem.mas": "lumped"},
        {},
        r"solvers.fem.mas: unknown option \(did you mean 'mass'\?\); allowed: constraint_frequency, .*, mass, .*",
    ),
    "bad value of an option": ({}, {"options": {"step": -1.0}}, "solvers.fem.step: must be greater than 0, got -1.0"),
    "no such choice of an option": (
        {},
        {"options": {"mass": "heavy"}},
        "solvers.fem.mass: 'heavy' is not allowed; use lumped or consistent",
    ),
    "text for a number": ({}, {"options": {"step": "soon"}}, "solvers.fem.step: must be a number, not 'soon'"),
    "truth": (
        {},
        {"solver": "truss", "options": {"volume_term": "perhaps"}},
        "solvers.truss.volume_term: must be true or false, not 'perhaps'",
    ),
    "a step too short for the run": (
        {},
        {"options": {"step": 1e-300}},
        "solvers.fem.step: 1e-300 s would take .* steps for the duration of 0.4 s, .*; choose at least 4e-13",
    ),
    "a step too short for the truss": (
        {},
        {"solver": "truss", "options": {"step": 1e-300}},
        "solvers.truss.step: .*; choose at least 4e-13",
    ),
    "a step without end": ({}, {"options": {"step": float("inf")}}, "solvers.fem.step: must be a finite number"),
    "nothing selected": (
        {"supports.floor.where": {"box": {"x": [7.0, 8.0]}}},
        {},
        r"supports.floor.where: selects no node",
    ),
    "a bar beside the body": ({"tools.bar.center": [9.0, 0.1]}, {}, "tools.bar: no surface node lies in front"),
    "a step above the stable one": (
        {},
        {"solver": "truss", "options": {"step": 0.05}},
        r"solvers.truss.step: 0.05 s is above the stable step of \S+ s.*; choose at most",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_leaves_no_trace(scene_with: SceneWith, tmp_path: Path, name: str) -> None:
    changes, request, words = FAULTS[name]
    folder = tmp_path / "deep" / "run"
    with pytest.raises(RheotwinError, match=words) as caught:
        run_scene(RunRequest(**{"scene": scene_with(changes), "solver": "fem", "folder": folder, **request}))
    assert caught.value.exit_code == EXIT_BAD_INPUT
    assert list(tmp_path.iterdir()) == []


def test_checking_writes_nothing_and_returns_what_will_run(scene_with: SceneWith, tmp_path: Path) -> None:
    problem, solver, options = check_request(RunRequest(scene_with(), "fem", tmp_path / "run"))
    assert len(problem.points) == 15
    assert solver.name == "fem"
    assert options.model_dump()["step"] == 1e-3
    assert list(tmp_path.iterdir()) == []


def test_announcement_comes_before_anything_is_written(scene_with: SceneWith, tmp_path: Path) -> None:
    def announce(problem: Any, simulation: Any) -> None:
        assert (len(problem.points), simulation.step_size) == (15, 1e-3)
        assert list(tmp_path.iterdir()) == []
        raise RheotwinError("on second thoughts: no")

    with pytest.raises(RheotwinError, match="second thoughts"):
        run_scene(RunRequest(scene_with(), "fem", tmp_path / "run"), announce=announce)
    assert list(tmp_path.iterdir()) == []


def test_options_for_a_solver_that_is_not_here_are_a_warning(scene_with: SceneWith, tmp_path: Path) -> None:
    scene = scene_with({"solvers.tress.step": 1e-3})
    with pytest.warns(UserWarning) as caught:
        check_request(RunRequest(scene, "fem", tmp_path / "run"))
    assert [str(warning.message) for warning in caught] == [
        "solvers.tress: no solver of that name is installed (did you mean 'truss'?); "
        "its options have no effect here (installed: fem, truss, fixed-point, shear-volume)"
    ]


def test_laws_of_edges_are_not_moduli(scene_with: SceneWith, tmp_path: Path) -> None:
    scene = scene_with({"solvers.truss.match": "edge"})
    with pytest.warns(
        UserWarning, match=r"solvers\.truss\.match = \"edge\".*in N/m and N s/m, and 'fem' takes"
    ) as caught:
        check_request(RunRequest(scene, "fem", tmp_path / "run"))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_request(RunRequest(scene, "truss", tmp_path / "run"))


def test_an_existing_record_stays_unless_overwriting_is_asked_for(scene_with: SceneWith, tmp_path: Path) -> None:
    quick = {"duration": 0.1, "output": {"interval": 0.05}}
    request = RunRequest(scene_with(quick), "fem", tmp_path / "run")
    run_scene(request)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RheotwinError, match="already holds a record; choose another output folder or add --overwrite"):
        run_scene(request)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before

    # a request that is wrong in itself does not cost the old record either
    bad = RunRequest(scene_with({**quick, "solvers.fem.stp": 1}), "fem", tmp_path / "run", overwrite=True)
    with pytest.raises(RheotwinError, match="unknown option"):
        run_scene(bad)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before

    run_scene(RunRequest(scene_with(quick), "truss", tmp_path / "run", overwrite=True))
    assert load_manifest(tmp_path / "run").solver.name == "truss"


def test_a_folder_of_something_else_is_never_taken(scene_with: SceneWith, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(RheotwinError, match="is not empty and is not a record"):
            run_scene(RunRequest(scene_with(), "fem", tmp_path, overwrite=overwrite))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_capabilities_are_told_with_place_and_what_is_possible(
    problem_with: Callable[..., Any],
) -> None:
    from rheotwin.solver import Capabilities, check_capabilities

    class Picky:
        name = "picky"
        capabilities = Capabilities(
            dimensions=frozenset({1, 3}),
            cells=frozenset({"tet"}),
            laws=frozenset({"elastic", "voigt"}),
            tools=frozenset(),
            planes=frozenset({"stress"}),
        )

    with pytest.raises(RheotwinError) as caught:
        check_capabilities(Picky(), problem_with())  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "solver 'picky' cannot run this scene: 5 faults",
        "  dimension: 2 is beyond this solver, which does 1, 3",
        "  plane: 'strain' is beyond this solver, which does stress",
        "  bodies.block.cell: 'triangle' is beyond this solver, which does tet",
        "  laws of body block: 'three-element' is beyond this solver, which does elastic, voigt",
        "  tools.bar.shape: 'bar' is beyond this solver, which does none",
    ]
