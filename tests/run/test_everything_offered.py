"""Whatever word a solver offers, from a scene file to a record, a checkpoint and its continuation; else a refusal.

The words are read from the solvers' options and capabilities, so that a new one is walked without being named here.
`make test` takes every word of every solver and every pair of words of `fem`, `make test-all` the full product.
"""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest

from rheotwin.__main__ import main
from rheotwin.build import build_problem
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK, RheotwinError
from rheotwin.problem import Problem
from rheotwin.record import open_record
from rheotwin.registry import BUILT_IN, find_solver
from rheotwin.scene import load_scene
from rheotwin.solver import check_capabilities, checked_options

Word = str | int | bool | None
Row = dict[str, Word]
"""One word for each option; `body` and `law` are options of the scene."""
Part = frozenset[tuple[str, Word]]
"""Some words of a row."""

NAMED = ("stepper", "kinematics", "formulation", "linear_solver", "kernel")
"""Options whose full product is walked."""
DEPTH, DURATION, STEP = 0.004, 0.036, 3e-3
"""How deep the tool presses a body of 0.2 m [m], until when and in which steps [s]."""
DIMENSION = {"line": 1, "triangle": 2, "quad": 2, "tet": 3, "hex": 3}
REST = "voigt_viscosity = 200.0\nseries_viscosity = 5.0e3"
LAWS = {
    "three-element": f'model = "three-element"\nyoung = 1.0e4\npoisson = 0.3\n{REST}',
    "elastic": 'model = "elastic"\nyoung = 1.0e4\npoisson = 0.3',
    "voigt": 'model = "voigt"\nyoung = 1.0e4\npoisson = 0.3\nviscosity = 60.0',
    "maxwell": 'model = "maxwell"\nyoung = 1.0e4\npoisson = 0.3\nviscosity = 500.0',
    "generalized-voigt": 'model = "generalized-voigt"\npoisson = 0.3\n'
    "units = [{ young = 2.0e4 }, { young = 2.0e4, viscosity = 500.0 }]",
    "generalized-maxwell": 'model = "generalized-maxwell"\npoisson = 0.3\nequilibrium = 5.0e3\n'
    "units = [{ young = 5.0e3, viscosity = 100.0 }, { young = 5.0e3, viscosity = 900.0 }]",
    "three-element with slider": f'model = "three-element"\nyoung = 1.0e4\npoisson = 0.3\n{REST}\nslider = {{}}',
    "three-element with softening": f'model = "three-element"\nyoung = 1.0e4\npoisson = 0.3\n{REST}\n'
    "softening = { viscosity = 2.0e3, from_stress = 10.0, to_stress = 200.0 }",
    "tabulated": 'model = "tabulated"\npoisson = 0.3\nstrain = [-0.5, 0.0, 0.5]\nstress = [-4.0e3, 0.0, 2.0e3]\n'
    "viscosity = 60.0",
    "three-element with friction": f'model = "three-element"\nyoung = 1.0e4\npoisson = 0.3\n{REST}\nfriction = 20.0',
}


def scene_text(body: str, law: str, *, tool: bool) -> str:
    """Return a block of two cells along each edge on rollers, pressed by a tool from above or by its own weight."""
    cell, _, plane = body.partition(", plane ")
    d = DIMENSION[cell]
    up = [0.0] * (d - 1) + [1.0]
    top = [0.1] * (d - 1) + [0.2]
    sides = [("left", "x"), ("bottom", "y")] if d < 3 else [("left", "x"), ("front", "y"), ("bottom", "z")]
    supports = "\n".join(
        f'[supports.{side}]\nbody = "block"\nwhere = {{ side = "{side}" }}\nfix = ["{axis}"]\n'
        for side, axis in sides[:d]
    )
    return f"""
schema = 1
title = "a tiny press"
dimension = {d}
duration = {DURATION}
gravity = {[0.0 if tool else -9.81 * part for part in up]}
{f'plane = "{plane}"' if plane else ""}

[laws.stuff]
{LAWS[law]}

[bodies.block]
shape = "box"
size = {[0.2] * d}
cells = {[2] * d}
cell = "{cell}"
law = "stuff"
density = 1000.0

{supports}
[output]
interval = {DURATION / 3}
probe_interval = {DURATION / 6}
checkpoint_interval = {DURATION / 2}
""" + (
        f"""
[tools.press]
shape = "plane"
center = {top}
normal = {[-part for part in up]}

[tools.press.motion]
times = [0.0, {DURATION}]
displacement = {[[0.0] * d, [-DEPTH * part for part in up]]}
"""
        if tool
        else ""
    )


def words_of(annotation: Any) -> tuple[Word, ...]:
    """Return the words of a type: literals, true and false, and none for what may be left out."""
    if annotation is bool:
        return (False, True)
    if annotation is type(None):
        return (None,)
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        parts = [words_of(part) for part in get_args(annotation)]
        found = tuple(word for part in parts for word in part)
        return found if found != (None,) else ()
    return ()


def columns_of(solver: str) -> dict[str, tuple[Word, ...]]:
    """Return the words of every option of a solver, and the cells, planes and laws it takes; the default first."""
    plugin = find_solver(solver)
    able = plugin.capabilities
    cells = sorted(able.cells, key=lambda cell: (cell != "triangle", cell))
    planes = [f"{cell}, plane {plane}" for cell in cells for plane in sorted(able.planes - {"strain"})]
    columns: dict[str, tuple[Word, ...]] = {
        "body": (*cells, *(body for body in planes if DIMENSION[body.partition(",")[0]] == 2)),
        "law": tuple(sorted(able.laws, key=lambda law: (law != "three-element", law))),
    }
    for name, info in plugin.options.model_fields.items():
        words = words_of(info.annotation)
        if words:
            columns[name] = (info.default, *(word for word in words if word != info.default))
    return columns


def parts(row: Row, size: int) -> Iterator[Part]:
    """Return all choices of `size` words of a row."""
    return map(frozenset, combinations(row.items(), size))


def shown(words: Iterable[tuple[str, Word]]) -> str:
    """Say a row or a part of one."""
    return ", ".join(f"{name} = {word}" for name, word in words)


def _short(error: Exception) -> str:
    """Return what an error says, without the values that pytest adds to a failed assertion."""
    return str(error).partition("\nassert ")[0].strip()[:600]


@dataclass
class Walk:
    """A solver's words, the runs made of them and what was found wrong."""

    solver: str
    folder: Path
    capsys: pytest.CaptureFixture[str]
    columns: dict[str, tuple[Word, ...]] = field(init=False)
    refused: dict[Part, Row] = field(default_factory=dict)
    """Words that exclude each other, and the smallest row with them."""
    faults: list[str] = field(default_factory=list)
    runs: int = 0

    def __post_init__(self) -> None:
        self.columns = columns_of(self.solver)
        self.default: Row = {name: words[0] for name, words in self.columns.items()}
        self._tool = bool(find_solver(self.solver).capabilities.tools)
        self._problem = cache(self._build)

    def scene(self, row: Row) -> Path:
        """Write the scene of a row."""
        path = self.folder / f"{row['body']} of {row['law']}.toml"
        if not path.exists():
            path.write_text(scene_text(str(row["body"]), str(row["law"]), tool=self._tool))
        return path

    def options(self, row: Row) -> dict[str, Any]:
        """Return the option table of a row: what differs from the defaults, and the step."""
        given = {name: word for name, word in row.items() if name not in ("body", "law")}
        changed = {name: word for name, word in given.items() if word != self.default[name]}
        return {"step": STEP} | changed

    def _build(self, scene: Path) -> Problem:
        return build_problem(load_scene(scene), None)

    def refusal(self, row: Row) -> str | None:
        """Return why a row cannot start, None if it can."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                solver = find_solver(self.solver)
                options = checked_options(solver, self.options(row))
                problem = self._problem(self.scene(row))
                check_capabilities(solver, problem)
                solver.start(problem, options)
        except RheotwinError as error:
            return str(error)
        except Exception as error:  # a crash is found again, and told, by `check_refusal`
            return f"{type(error).__name__}: {error}"
        return None

    def command(self, *words: str | Path) -> tuple[int, str]:
        """Return the exit code of `rheotwin run WORDS --quiet` and what it said on standard error."""
        self.capsys.readouterr()
        code = main(["run", *map(str, words), "--quiet"])
        said = self.capsys.readouterr().err
        return code, "\n".join(line for line in said.splitlines() if not line.startswith("warning: "))

    def start(self, row: Row) -> tuple[int, str, Path]:
        """Run a row from its scene file; return exit code, what was said and the record's folder."""
        folder = self.folder / "record"
        shutil.rmtree(folder, ignore_errors=True)
        table = {
            name: str(value).lower() if isinstance(value, bool) else value for name, value in self.options(row).items()
        }
        settings = [word for name, value in table.items() for word in ("--set", f"{self.solver}.{name}={value}")]
        code, said = self.command(self.scene(row), "--solver", self.solver, "--output", folder, *settings)
        return code, said, folder

    def check_run(self, row: Row) -> None:
        """Take a row from its file to a record that is whole, makes sense and continues exactly."""
        self.runs += 1
        try:
            code, said, folder = self.start(row)
            assert code == EXIT_OK, said
            self._check_record(folder)
            self._check_resumed(folder)
        except Exception as error:
            self.faults.append(f"{shown(row.items())}: {type(error).__name__}: {_short(error)}")

    def _check_record(self, folder: Path) -> None:
        record = open_record(folder)
        assert record.manifest.status == "complete"
        np.testing.assert_allclose(record.times, np.linspace(0.0, DURATION, 4), atol=1e-12)
        for name in record.manifest.fields:
            assert np.isfinite(record.field(name)).all(), f"{name} is not finite"
        for name, values in record.probes.items():
            assert np.isfinite(values).all(), f"{name} is not finite"
        deepest = -record.field("displacement")[-1].min()
        if self._tool:
            assert 0.99 * DEPTH < deepest < 2.0 * DEPTH, f"pressed by {deepest:.3g} m"
            force = max(np.abs(values).max() for name, values in record.probes.items() if "tool.press.force" in name)
            assert force > 0.0, "the tool feels nothing"
        else:
            assert 0.0 < deepest < 2.0 * DEPTH, f"sinks by {deepest:.3g} m"

    def _check_resumed(self, folder: Path) -> None:
        """Let the record look as a kill after half the time leaves it, and continue it."""
        record = open_record(folder)
        last = record.checkpoint_path
        assert last is not None
        names = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
        whole = {path: path.read_bytes() for path in names if path != last}
        state = record.checkpoint()
        last.unlink()
        manifest = folder / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"status": "complete"', '"status": "running"'))
        code, said = self.command("--resume", folder)
        assert code == EXIT_OK, said
        for path, contents in whole.items():
            assert path.read_bytes() == contents, f"{path.name} is not the same after a resumption"
        again = open_record(folder).checkpoint()
        assert again.keys() == state.keys()
        for name, value in state.items():
            assert np.asarray(again[name]).tobytes() == np.asarray(value).tobytes(), f"{name} after a resumption"

    def check_refusal(self, words: Part, row: Row) -> None:
        """Let the command refuse a row, naming one of the words that exclude each other or their option."""
        try:
            code, said, folder = self.start(row)
            assert code == EXIT_BAD_INPUT, f"exit code {code}: {said}"
            assert not folder.exists()
            assert said.startswith("error: ") and "internal error" not in said, said
            sentence = said.splitlines()[-1]
            names = {place for name, word in words for place in (name, *str(word).split(", plane "))}
            assert any(name in sentence for name in names), f"names none of {sorted(names)}: {said}"
        except AssertionError as error:
            self.faults.append(f"{shown(words)}: {_short(error)}")

    def all(self, size: int) -> None:
        """Walk all choices of `size` words in as few rows as a greedy search finds, avoiding what is refused."""
        chosen = combinations(self.columns.items(), size)
        todo = dict.fromkeys(
            frozenset(zip(names, words, strict=True))
            for columns in chosen
            for names, values in [zip(*columns, strict=True)]
            for words in product(*values)
        )
        while todo:
            first = next(iter(todo))
            row = self._completed(dict(first), todo)
            said = None if row is None else self._kind(row)
            if row is None:
                done: Iterable[Part] = [first]  # each way to complete it meets a refusal
            elif said is None:
                self.check_run(row)
                done = parts(row, size)
            else:
                words = self._conflict(row, said)
                done = [part for part in todo if words <= part]
            for part in done:
                todo.pop(part, None)

    def _completed(self, row: Row, todo: dict[Part, None]) -> Row | None:
        """Return the row with a word for every option, each bringing as much as possible that is still to do."""
        if any(words <= row.items() for words in self.refused):
            return None
        missing = [name for name in self.columns if name not in row]
        if not missing:
            return row
        name = missing[0]

        def gain(word: Word) -> int:
            own = (name, word)
            return sum(frozenset([own, other]) in todo for other in row.items()) + (frozenset([own]) in todo)

        for word in sorted(self.columns[name], key=gain, reverse=True):
            found = self._completed(row | {name: word}, todo)
            if found is not None:
                return found
        return None

    def _kind(self, row: Row) -> str | None:
        """Return why a row cannot start without the numbers in it, None if it can."""
        said = self.refusal(row)
        return None if said is None else re.sub(r"\d[\d.e+-]*", "", said)

    def _conflict(self, row: Row, kind: str) -> Part:
        """Return the words of a row that its refusal is about: those without which it would not be refused so.

        All that can be left at its default is; of the defaults those count that another word could save, and then
        the row's own word stays.
        """
        kept: set[str] = set()
        while True:
            least = self._shrunk(row, kind, kept)
            names = [
                name
                for name, words in self.columns.items()
                if least[name] != words[0] or any(self.refusal(least | {name: other}) is None for other in words[1:])
            ]
            changed = {name for name in names if least[name] != row[name]}
            if not changed:
                break
            kept |= changed
        words = frozenset((name, row[name]) for name in names)
        self.refused[words] = least
        self.check_refusal(words, least)
        return words

    def _shrunk(self, row: Row, kind: str, kept: Collection[str]) -> Row:
        """Return the row with the defaults of all options but `kept` that leave it refused as it was."""
        least, before = dict(row), dict[str, Word]()
        while least != before:
            before = dict(least)
            for name, word in self.default.items():
                if name not in kept and least[name] != word and self._kind(least | {name: word}) == kind:
                    least[name] = word
        return least

    def report(self) -> str:
        """Say what was found wrong."""
        return "\n".join([f"{len(self.faults)} faults in {self.runs} runs", *self.faults])


@pytest.fixture
def walk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    return lambda solver: Walk(solver, tmp_path, capsys)


def test_words_are_read_from_types() -> None:
    columns = columns_of("fem")
    assert columns["stepper"][0] == "midpoint" and "adaptive" in columns["stepper"]
    assert columns["energy_balance"] == (True, False)
    assert "quad, plane axisymmetric" in columns["body"] and columns["order"] == (1, 2)
    assert columns_of("truss")["incompressible"][0] is None
    assert {"step", "tolerance"}.isdisjoint(columns)


@pytest.mark.parametrize("solver", [name for name in BUILT_IN if name != "fem"])
def test_every_word(solver: str, walk: Any) -> None:
    taken = walk(solver)
    taken.all(1)
    assert not taken.faults, taken.report()


def test_every_pair_of_words_of_fem(walk: Any) -> None:
    taken = walk("fem")
    taken.all(2)
    assert not taken.faults, taken.report()


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", BUILT_IN)
def test_everything_with_everything(solver: str, walk: Any) -> None:
    taken = walk(solver)
    names = ["body", *(name for name in taken.columns if name in NAMED)]
    for words in product(*(taken.columns[name] for name in names)):
        row = taken.default | dict(zip(names, words, strict=True))
        if taken.refusal(row) is None:
            taken.check_run(row)
        else:
            taken.check_refusal(frozenset(row.items()), row)
    assert not taken.faults, taken.report()
