"""Everything that can be known to be wrong is said before a file is written."""

import warnings
from pathlib import Path
from typing import Any

import pytest

from rheotwin.errors import EXIT_BAD_INPUT, RheotwinError
from rheotwin.record import load_manifest
from rheotwin.running import RunRequest, check_request, run_scene
from rheotwin.solver import Capabilities, check_capabilities
from tests.conftest import Data, problem_with, scene_with

FOLDER = Path("deep/run")
FEM, TRUSS = "solvers.fem.", "solvers.truss."
FAULTS: list[tuple[Data, Data, str]] = [
    # changes of the scene, of the request, words of the sentence
    ({}, {"solver": "fam"}, r"no solver named 'fam' \(did you mean 'fem'\?\); installed: fem, truss"),
    ({"cases": {"soft": {}}}, {"case": "sof"}, r"no case 'sof' \(did you mean 'soft'\?\)"),
    ({}, {"options": {"stp": 1}}, FEM + r"stp: unknown option \(did you mean 'step'\?\)"),
    ({"solvers.fem.mas": 1}, {}, FEM + r"mas: unknown .* 'mass'\?\); allowed: constraint_frequency, .*, mass, .*"),
    ({}, {"options": {"step": -1.0}}, FEM + "step: must be greater than 0, got -1.0"),
    ({}, {"options": {"mass": "heavy"}}, FEM + "mass: 'heavy' is not allowed; use lumped or consistent"),
    ({}, {"options": {"step": "soon"}}, FEM + "step: must be a number, not 'soon'"),
    ({}, {"solver": "truss", "options": {"volume_term": "so"}}, TRUSS + "volume_term: must be true or false, not 'so'"),
    (
        {},
        {"options": {"step": 1e-300}},
        FEM + "step: 1e-300 s would take .* steps for the duration of 0.4 s, .*; choose at least 4e-13",
    ),
    ({}, {"solver": "truss", "options": {"step": 1e-300}}, TRUSS + "step: .*; choose at least 4e-13"),
    ({}, {"options": {"step": float("inf")}}, FEM + "step: must be a finite number"),
    ({"supports.floor.where": {"box": {"x": [7.0, 8.0]}}}, {}, r"supports.floor.where: selects no node"),
    ({"tools.bar.center": [9.0, 0.1]}, {}, "tools.bar: no surface node lies in front"),
    ({}, {"solver": "truss", "options": {"step": 0.05}}, TRUSS + "step: 0.05 s is above the stable .*; choose at most"),
]


def contents() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize(("changes", "request_", "words"), FAULTS)
def test_a_fault_leaves_no_trace(changes: Data, request_: Data, words: str) -> None:
    with pytest.raises(RheotwinError, match=words) as caught:
        run_scene(RunRequest(**{"scene": scene_with(changes), "solver": "fem", "folder": FOLDER, **request_}))
    assert caught.value.exit_code == EXIT_BAD_INPUT and list(Path().iterdir()) == []


def test_checking_and_announcing_write_nothing() -> None:
    problem, solver, options = check_request(RunRequest(scene_with(), "fem", FOLDER))
    assert (len(problem.points), solver.name, options.model_dump()["step"]) == (15, "fem", 1e-3)
    assert list(Path().iterdir()) == []

    def announce(problem: Any, simulation: Any, known: Any) -> None:
        assert (len(problem.points), simulation.step_size) == (15, 1e-3)
        raise RheotwinError("on second thoughts: no")

    with pytest.raises(RheotwinError, match="second thoughts"):
        run_scene(RunRequest(scene_with(), "fem", FOLDER), announce=announce)
    assert list(Path().iterdir()) == []


def test_what_has_no_effect_here_is_a_warning() -> None:
    with pytest.warns(UserWarning) as caught:
        check_request(RunRequest(scene_with({"solvers.tress.step": 1e-3}), "fem", FOLDER))
    assert [str(warning.message) for warning in caught] == [
        "solvers.tress: no solver of that name is installed (did you mean 'truss'?); "
        "its options have no effect here (installed: fem, truss, fixed-point, shear-volume, local-shape, slave)"
    ]
    scene = scene_with({"solvers.truss.match": "edge"})
    words = r"solvers\.truss\.match = \"edge\".*in N/m and N s/m, and 'fem' takes"
    with pytest.warns(UserWarning, match=words) as caught:
        check_request(RunRequest(scene, "fem", FOLDER))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_request(RunRequest(scene, "truss", FOLDER))


def test_an_existing_record_stays_unless_overwriting_is_asked_for() -> None:
    quick = {"duration": 0.1, "output": {"interval": 0.05}}
    request = RunRequest(scene_with(quick), "fem", FOLDER)
    run_scene(request)
    before = contents()
    # a request that is wrong in itself does not cost the old record either
    bad = RunRequest(scene_with({**quick, "solvers.fem.stp": 1}), "fem", FOLDER, overwrite=True)
    words = "already holds a record; choose another output folder or add --overwrite"
    for wrong, sentence in ((request, words), (bad, "unknown option")):
        with pytest.raises(RheotwinError, match=sentence):
            run_scene(wrong)
        assert contents() == before
    run_scene(RunRequest(scene_with(quick), "truss", FOLDER, overwrite=True))
    assert load_manifest(FOLDER).solver.name == "truss"


def test_capabilities_are_told_with_place_and_what_is_possible() -> None:
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
        half = {"where": {"box": {"x": [0.1, 0.2]}}, "law": "gel"}
        check_capabilities(Picky(), problem_with({"bodies.block.parts": {"half": half}}))  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "solver 'picky' cannot run this scene: 6 faults",
        "  bodies.block.parts: laws by part are beyond this solver; leave them out",
        "  dimension: 2 is beyond this solver, which does 1, 3",
        "  plane: 'strain' is beyond this solver, which does stress",
        "  bodies.block.cell: 'triangle' is beyond this solver, which does tet",
        "  laws of body block: 'three-element' is beyond this solver, which does elastic, voigt",
        "  tools.bar.shape: 'bar' is beyond this solver, which does none",
    ]


def test_a_case_has_options_of_its_own_beside_those_of_the_scene() -> None:
    cases = {
        "plain": {},
        "coarse": {"solvers": {"truss": {"safety": 0.25}}},
        "wrong": {"solvers": {"truss": {"safty": 1.0}}},
    }
    scene = scene_with({"cases": cases, "solvers": {"truss": {"safety": 0.4, "volume_term": False}}})
    found = [check_request(RunRequest(scene, "truss", FOLDER, case=case))[2] for case in ("plain", "coarse")]
    assert [(options.safety, options.volume_term) for options in found] == [(0.4, False), (0.25, False)]  # type: ignore[attr-defined]
    with pytest.raises(RheotwinError, match=TRUSS + "safty: unknown option"):
        check_request(RunRequest(scene, "truss", FOLDER, case="wrong"))
