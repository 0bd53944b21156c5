"""The wheel and the source distribution, built from a copy of the sources and looked into."""

import configparser
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest

import rheotwin
from rheotwin.solver import BUILT_IN

pytestmark = pytest.mark.packaging

ROOT = Path(__file__).parents[2]
ROOMS = ("constraints", "fem", "meshing", "particles", "validation")
LEFT_OUT = shutil.ignore_patterns(
    ".*cache", ".git", ".hypothesis", ".venv*", "__pycache__", "*.egg-info", "build", "dist", "node_modules", "runs"
)
ABOUT = f"rheotwin-{rheotwin.__version__}.dist-info"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources alone: building leaves folders behind."""
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("sources") / "rheotwin", ignore=LEFT_OUT)


def called(*command: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def has_build() -> bool:
    """Tell whether the package `build` is there; a folder of that name is none."""
    try:
        return find_spec("build.__main__") is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(scope="module")
def wheel(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    if has_build():
        words = ("build", "--wheel", "--no-isolation", "--outdir")
    else:
        words = ("pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir")
    called("-m", *words, str(target), str(copy), cwd=target)
    (path,) = target.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sdist")
    script = f"import setuptools.build_meta as backend; backend.build_sdist({str(target)!r})"
    called("-c", script, cwd=copy)
    (path,) = target.glob("*.tar.gz")
    return path


def in_wheel(start: Path, pattern: str) -> set[str]:
    """Names in the wheel of the files below a folder of the sources."""
    package = ROOT / "src"
    shown = (path.relative_to(package if start.is_relative_to(package) else ROOT) for path in start.rglob(pattern))
    return {path.as_posix() if path.parts[0] == "rheotwin" else f"rheotwin/{path.as_posix()}" for path in shown}


def test_the_wheel_holds_every_module_all_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        licence = next(name for name in names if name.endswith("licenses/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    modules = set().union(*(in_wheel(start, "*.py") for start in (ROOT / "src", *(ROOT / room for room in ROOMS))))
    assert {name for name in names if name.endswith(".py")} == modules
    assert {name.partition("/")[0] for name in names} == {"rheotwin", ABOUT}
    validation = ROOT / "validation"
    templates = in_wheel(validation, "templates/*")
    assert {name.rpartition("/")[0] for name in templates} == {
        f"rheotwin/validation/{room}/templates" for room in ("checks", "identification", "report")
    }
    data = in_wheel(validation / "references", "*.toml") | in_wheel(validation / "baselines", "*.toml")
    assert len(templates) >= 3 and len(data) >= 25
    assert "rheotwin/touch/page/index.html" in names and not any("node_modules" in name for name in names)
    assert templates | data | {"rheotwin/py.typed"} <= names


def test_the_wheel_announces_the_command_and_the_solvers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        points = configparser.ConfigParser()
        points.read_string(archive.read(f"{ABOUT}/entry_points.txt").decode())
        about = Parser().parsestr(archive.read(f"{ABOUT}/METADATA").decode())
    assert dict(points["console_scripts"]) == {"rheotwin": "rheotwin.__main__:main"}
    assert dict(points["pytest11"]) == {"rheotwin": "rheotwin.pytest_plugin"}
    assert dict(points["rheotwin.solvers"]) == BUILT_IN
    assert (about["Name"], about["License-Expression"]) == ("rheotwin", "BSD-3-Clause")
    assert about["Requires-Python"] == ">=3.11"


def test_the_wheel_runs_a_scene_where_nothing_else_of_ours_is(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    words = ("install", "--quiet", "--no-deps", "--no-index", "--target", str(site), str(wheel))
    called("-m", "pip", *words, cwd=tmp_path)
    # -I ignores the environment and the working directory; our folder goes before any editable installation
    start = (
        f"import sys; sys.path.insert(0, {str(site)!r}); sys.meta_path[:] = [f for f in sys.meta_path "
        "if '__editable__' not in getattr(f, '__module__', '')]; import rheotwin, rheotwin.fem; "
        f"assert all(m.__file__.startswith({str(site)!r}) for m in (rheotwin, rheotwin.fem)); "
        "from rheotwin.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    scene = str(ROOT / "scenes" / "chain-1d.toml")
    out = called("-I", "-c", start, "run", scene, "--output", "record", "--quiet", cwd=tmp_path)
    assert out.startswith("complete: ")
    assert "a strand" in called("-I", "-c", start, "info", "record", cwd=tmp_path).lower()


def test_the_source_distribution_holds_scenes_tests_and_documents(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in ("scenes", "tests", "src", *ROOMS)
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".toml", ".j2", ".css"} and not {"__pycache__", "build"} & set(path.parts)
    }
    assert {name for name in wanted - names if ".egg-info" not in name} == set()
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"} <= names
    assert not {name for name in names if "__pycache__" in name or name.startswith((".git", "runs/"))}


def test_twine_finds_nothing_to_mend(wheel: Path, sdist: Path) -> None:
    pytest.importorskip("twine")
    assert (
        called("-m", "twine", "--no-color", "check", "--strict", str(wheel), str(sdist), cwd=wheel.parent).count(
            "PASSED"
        )
        == 2
    )


@pytest.mark.exhaustive
def test_the_source_distribution_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    called("-c", "import setuptools.build_meta as backend; backend.build_wheel('.')", cwd=source)
    (again,) = source.glob("*.whl")
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(wheel) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
