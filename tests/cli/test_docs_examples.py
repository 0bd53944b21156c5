"""What the documentation shows is true: its scenes run, its commands exist, its tables name every option."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from rheotwin.__main__ import build_parser
from rheotwin.errors import EXIT_OK
from rheotwin.fem.options import FemOptions
from rheotwin.particles.fixed_point.prepare import FixedPointOptions
from rheotwin.particles.local_shape.options import LocalShapeOptions
from rheotwin.particles.shear_volume.options import ShearVolumeOptions
from rheotwin.particles.slave.options import SlaveOptions
from rheotwin.particles.truss import TrussOptions
from rheotwin.record import open_record
from rheotwin.running import RunRequest, check_request
from rheotwin.scene import parse_scene
from tests.conftest import command

ROOT = Path(__file__).parents[2]
GUIDES: dict[str, tuple[Path, type[BaseModel]]] = {
    "fem": (ROOT / "docs" / "finite-elements.md", FemOptions),
    "truss": (ROOT / "docs" / "particles.md", TrussOptions),
    "fixed-point": (ROOT / "docs" / "fixed-point.md", FixedPointOptions),
    "shear-volume": (ROOT / "docs" / "continuum-particles.md", ShearVolumeOptions),
}
TABLES = GUIDES | {
    "local-shape": (ROOT / "docs" / "particles.md", LocalShapeOptions),
    "slave": (ROOT / "docs" / "particles.md", SlaveOptions),
}
PAGES = [page for folder in (".", "docs", "docs/tutorials") for page in sorted((ROOT / folder).glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def guide_scenes(page: Path) -> list[str]:
    first, *others = blocks(page, "toml")
    return [first, *(block if block.startswith("schema") else f"{first}\n{block}" for block in others)]


SCENES = {solver: guide_scenes(page) for solver, (page, _) in GUIDES.items()}


def text_values(annotation: Any) -> list[str]:
    found = [[value] if isinstance(value, str) else text_values(value) for value in get_args(annotation)]
    return [word for words in found for word in words]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("solver", "number"),
    [
        pytest.param(solver, number, marks=[pytest.mark.exhaustive] if number else [])
        for solver in SCENES
        for number in range(len(SCENES[solver]))
    ],
)
def test_scene_of_the_guide_runs(solver: str, number: int) -> None:
    text = SCENES[solver][number]
    case = [word for name in tomllib.loads(text).get("cases", {}) for word in ("--case", name)]
    Path("guide.toml").write_text(text)
    said = command("run", "guide.toml", "--solver", solver, "--output", "record", *case, "--quiet")
    assert (said.code, said.err) == (EXIT_OK, "")
    record = open_record(Path("record"))
    asked = tomllib.loads(text).get("solvers", {}).get(solver, {})
    used = record.manifest.solver.options
    assert {name: used[name] for name in asked} == asked


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", SCENES)
def test_scenes_of_the_guide_are_accepted(solver: str) -> None:
    for text in SCENES[solver]:
        check_request(RunRequest(parse_scene(text, base=Path()), solver, Path("record")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_links_of_the_page_lead_somewhere(page: Path) -> None:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("rheotwin ")]
    lines += re.findall(r"`(rheotwin [a-z]+ [^`]*)`", page.read_text())
    for line in lines:
        words = shlex.split(line.partition("#")[0].partition(">")[0])
        args = build_parser().parse_args(words[1:])  # leaves with an error otherwise
        if page.name == "README.md" and (scene := getattr(args, "scene", None) or getattr(args, "source", None)):
            assert (ROOT / scene).is_file()
    targets = re.findall(r"\]\((?!https?:|#|reference/)([^)#]+)", page.read_text())  # reference/: `make docs` writes it
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("solver", TABLES)
def test_guide_names_every_option_and_choice(solver: str) -> None:
    page, options = TABLES[solver]
    text = page.read_text()
    for name, field in options.model_fields.items():
        assert re.search(rf"`{name}\b", text), name
        for word in text_values(field.annotation):
            assert re.search(rf'[`"]{re.escape(word)}[`"]', text), f"{name} = {word}"
