"""`solvers`, `schema`, `info`, `mesh` and help: for people as text, for machines as JSON; none loads what is heavy."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rheotwin
from rheotwin import __version__
from rheotwin.__main__ import VERBS
from rheotwin.cli import doctor
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_OK
from tests.conftest import command, scene_file

HEAVY = set("h5py jinja2 matplotlib meshio numba numpy pydantic pyvista rich scipy skfem vtk vtkmodules".split())  # noqa: SIM905
SCRIPT = """
import sys
from rheotwin.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit as leave:
    print("left with", leave.code)
print("loaded", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_solvers_lists_what_each_can_do() -> None:
    said = command("solvers")
    assert said.code == EXIT_OK
    assert re.findall(r"^(\w+): ", said.out, flags=re.MULTILINE)[:2] == ["fem", "truss"]
    for line in (
        "  dimensions: 1, 2, 3",
        "  planes:     strain, stress",
        r"  --set truss.step=…  step .* \(number above 0; may be left out\)",
        r"  --set truss.safety=…  .*\(number above 0 and at most 1; default: 0.5\)",
        r"  --set truss.local_volume=…  .*\(true or false; default: false\)",
        r"  --set fem.mass=…  mass matrix \(lumped, consistent; default: lumped\)",
    ):
        assert re.search(f"^{line}$", said.out, flags=re.MULTILINE), line
    described = json.loads(command("solvers", "--json").out)
    assert list(described)[:2] == ["fem", "truss"]
    for about in (described["fem"], described["truss"]):
        assert about["dimensions"] == [1, 2, 3]
        assert {"elastic", "voigt", "maxwell", "three-element"} <= set(about["laws"])
        assert all(option["description"] and option["allowed"] for option in about["options"].values())
        assert about["description"]


def test_info_describes_a_scene_and_its_record() -> None:
    scene = scene_file()
    said = command("info", scene)
    assert said.code == EXIT_OK and re.search(r"^title +a small press$", said.out, flags=re.MULTILINE)
    assert re.search(r"^bodies +block: box, law dough$", said.out, flags=re.MULTILINE)
    about = json.loads(command("info", scene, "--json").out)
    assert {name: words.partition(",")[0] for name, words in about["laws"].items()} == {
        "dough": "three-element",
        "gel": "elastic",
    }
    assert (about["tools"], about["duration_s"]) == ({"bar": "bar"}, 0.2)
    solver = about["linear_solver"]
    explicit = command("info", scene, "--set", "fem.stepper=central-difference", "--json")
    assert json.loads(explicit.out)["linear_solver"] == "none, as nothing is solved for"

    command("run", scene, "--output", "run", "--quiet")
    said = command("info", "run")
    assert said.code == EXIT_OK and re.search(r"^status +complete$", said.out, flags=re.MULTILINE)
    about = json.loads(command("info", "run", "--json").out)
    assert (about["solver"], about["frames"], about["nodes"], about["cells"]) == ("fem", 3, 15, 16)
    assert (about["steps"], about["step_s"], about["stable_step_s"]) == (100, 0.002, None)
    assert about["last_time_s"] == pytest.approx(0.2)
    found = about["statistics"]
    assert f"{found['linear_solver']}, {found['linear_solver_reason']}" == solver == "splu, 20 unknowns are few"
    assert (about["fields"]["stress"], about["probes"]["tool.bar.force_y"]) == ("Pa", "N")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere", "nowhere: there is no such record folder or scene file"),
        (".", "not a record (manifest.json is missing); give the folder of a record"),
    ],
)
def test_info_on_nothing(path: str, words: str) -> None:
    said = command("info", path)
    assert said.code == EXIT_BAD_INPUT and words in said.sentence


def test_a_reader_that_goes_away_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    call = [sys.executable, "-m", "rheotwin", "schema"]
    with os.fdopen(write, "wb") as gone:
        done = subprocess.run(call, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == ""


def test_the_module_and_the_installed_script_are_the_same_command() -> None:
    script = Path(sys.executable).with_name("rheotwin")
    if not script.exists():
        pytest.skip("the console script is not installed beside this interpreter")
    first, second = (
        subprocess.run([*start, "info", scene_file(), "--json"], capture_output=True, text=True, check=True).stdout
        for start in ([sys.executable, "-m", "rheotwin"], [str(script)])
    )
    assert first == second and json.loads(first)["dimension"] == 2


def loaded_by(script: str, *words: str) -> tuple[str, set[str]]:
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "COV_"))}
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True, env=bare)
    text, _, modules = done.stdout.rpartition("loaded ")
    return text, set(modules.split())


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_loads_nothing_heavy(verb: str) -> None:
    text, modules = loaded_by(SCRIPT, *([verb] if verb else []), "--help")
    assert text.rstrip().endswith("left with 0")
    assert text.startswith(f"usage: rheotwin {verb}".rstrip()) and modules & HEAVY == set()


def test_help_names_verbs_and_exit_codes_and_public_names_load_on_first_use() -> None:
    _, modules = loaded_by("import sys, rheotwin; print('loaded', *{m.partition('.')[0] for m in sys.modules})")
    assert modules & HEAVY == set() and "rheotwin" in modules
    for name in rheotwin.__all__:
        assert getattr(rheotwin, name) is not None
    assert set(rheotwin.__all__) <= set(dir(rheotwin))
    with pytest.raises(AttributeError, match="has no attribute 'run_scenes'"):
        _ = rheotwin.run_scenes
    said = command("--help")
    assert said.code == 0
    assert all(f"\n    {verb} " in said.out or f"\n    {verb}\n" in said.out for verb in VERBS)
    assert all(f"\n  {code} " in said.out for code in (0, 1, 2, 3, 130))
    said = command("--version")
    assert (said.code, said.out) == (0, f"rheotwin {__version__}\n")


@pytest.mark.parametrize("words", [[], ["rn"], ["run", "--colour"], ["run", "a.toml", "--format", "xdmf"]])
def test_a_command_that_is_none_is_refused_with_its_usage(words: list[str]) -> None:
    said = command(*words)
    assert (said.code, said.out) == (2, "") and said.err.startswith("usage: rheotwin")


@pytest.mark.parametrize("name", ["", "mutations"])
def test_help_of_the_benchmarks_measures_nothing(name: str) -> None:
    start = [sys.executable, "-m", "benchmarks", *([name] if name else []), "--help"]
    said = subprocess.run(start, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], timeout=20)
    assert f"python -m benchmarks {name}" in said.stdout and "mutations:" not in said.stdout


def test_the_doctor_finds_an_installation_sound_and_says_what_is_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = json.loads(command("doctor", "--json").out)
    assert said["sound"] and said["versions"]["rheotwin"] == __version__ and said["self-test"]["fem"] == "3.976 mm"
    assert {"numpy", "numba", "scikit-fem"} < set(said["versions"]) and "present" in said["extras"]["test"]
    monkeypatch.setattr(doctor, "AGREE", 1e-9)
    (tmp_path / "file").touch()
    monkeypatch.setenv("RHEOTWIN_CACHE_DIR", str(tmp_path / "file" / "in"))
    said = command("doctor")
    assert said.code == EXIT_FALLS_SHORT
    assert re.search(r"^broken: cache: folder .*name another with RHEOTWIN_CACHE_DIR$", said.out, flags=re.MULTILINE)
    assert re.search(r"^broken: self-test: truss 3\.97. mm for 3\.973 mm$", said.out, flags=re.MULTILINE)
