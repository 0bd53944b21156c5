"""Whatever word a solver offers, from a scene file to a record, a checkpoint and its continuation; else a refusal.
The words are read from the solvers' options and capabilities, so that a new one is walked without being named here.
`make test` takes every word of every solver, `make test-all` every pair of words of `fem` and the full product."""

import re
import shutil
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, product
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK, RheotwinError
from rheotwin.record import open_record
from rheotwin.scene import load_scene
from rheotwin.solver import BUILT_IN, check_capabilities, checked_options, find_solver
from tests.conftest import Data, Said, command, cut_off, settings, write_scene

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
ELASTIC = {"model": "elastic", "young": 1e4, "poisson": 0.3}
REST = ELASTIC | {"model": "three-element", "voigt_viscosity": 200.0, "series_viscosity": 5e3}
SOFTENING = {"viscosity": 2e3, "from_stress": 10.0, "to_stress": 200.0}
ARMS = [{"young": 5e3, "viscosity": 100.0}, {"young": 5e3, "viscosity": 900.0}]
LAWS: dict[str, Data] = {
    "three-element": REST,
    "elastic": ELASTIC,
    "voigt": ELASTIC | {"model": "voigt", "viscosity": 60.0},
    "maxwell": ELASTIC | {"model": "maxwell", "viscosity": 500.0},
    "generalized-voigt": {"poisson": 0.3, "units": [{"young": 2e4}, {"young": 2e4, "viscosity": 500.0}]},
    "generalized-maxwell": {"poisson": 0.3, "equilibrium": 5e3, "units": ARMS},
    "three-element with slider": REST | {"slider": {}},
    "three-element with softening": REST | {"softening": SOFTENING},
    "tabulated": {"poisson": 0.3, "strain": [-0.5, 0.0, 0.5], "stress": [-4e3, 0.0, 2e3], "viscosity": 60.0},
    "elastoplastic": {"young": 1e4, "poisson": 0.3, "yield_stress": 60.0, "hardening_modulus": 400.0},
    "three-element with friction": REST | {"friction": 20.0},
    "neo-hooke": {"shear": 4e3, "poisson": 0.3},
    "mooney-rivlin": {"c10": 1e3, "c01": 1e3, "poisson": 0.3},
    "yeoh": {"c10": 2e3, "c20": 1e2, "poisson": 0.3},
    "ogden": {"terms": [{"shear": 4e3, "exponent": 3.0}], "poisson": 0.3},
}


def scene_of(body: str, law: str, *, tool: bool) -> Data:
    """Return a block of two cells along each edge on rollers, pressed by a tool from above or by its own weight."""
    cell, _, plane = body.partition(", plane ")
    d = DIMENSION[cell]
    up = [0.0] * (d - 1) + [1.0]
    sides = [("left", "x"), ("bottom", "y")] if d < 3 else [("left", "x"), ("front", "y"), ("bottom", "z")]
    rollers = {side: {"body": "block", "where": {"side": side}, "fix": [axis]} for side, axis in sides[:d]}
    block = {"shape": "box", "size": [0.2] * d, "cells": [2] * d, "cell": cell, "law": "stuff", "density": 1000.0}
    scene = {
        "schema": 1,
        "dimension": d,
        "duration": DURATION,
        "gravity": [0.0 if tool else -9.81 * part for part in up],
        "laws": {"stuff": {"model": law} | LAWS[law]},
        "bodies": {"block": block},
        "supports": rollers,
        "output": {"interval": DURATION / 3, "probe_interval": DURATION / 6, "checkpoint_interval": DURATION / 2},
    }
    if tool:
        down = [-part for part in up]
        motion = {"times": [0.0, DURATION], "displacement": [[0.0] * d, [DEPTH * part for part in down]]}
        press = {"shape": "plane", "center": [0.1] * (d - 1) + [0.2], "normal": down, "motion": motion}
        scene["tools"] = {"press": press}
    return scene | ({"plane": plane} if plane else {})


def words_of(annotation: Any) -> tuple[Word, ...]:
    """Return the words of a type: literals, true and false, and none for what may be left out."""
    if annotation is bool:
        return (False, True)
    if annotation is type(None):
        return (None,)
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        found = tuple(word for part in get_args(annotation) for word in words_of(part))
        return found if found != (None,) else ()
    return ()


def columns_of(solver: str) -> dict[str, tuple[Word, ...]]:
    """Return the words of every option of a solver, and the cells, planes and laws it takes; the default first."""
    plugin = find_solver(solver)
    able = plugin.capabilities
    cells = sorted(able.cells - {"mixed"}, key=lambda cell: (cell != "triangle", cell))  # mixed: from files only
    planes = [f"{cell}, plane {p}" for cell in cells if DIMENSION[cell] == 2 for p in sorted(able.planes - {"strain"})]
    laws = tuple(sorted(able.laws, key=lambda law: (law != "three-element", law)))
    columns: dict[str, tuple[Word, ...]] = {"body": (*cells, *planes), "law": laws}
    for name, info in plugin.options.model_fields.items():
        if words := words_of(info.annotation):
            columns[name] = (info.default, *(word for word in words if word != info.default))
    return columns


def shown(words: Iterable[tuple[str, Word]]) -> str:
    return ", ".join(f"{name} = {word}" for name, word in words)


class Walk:
    """A solver's words, the runs made of them and what was found wrong."""

    def __init__(self, solver: str) -> None:
        self.solver, self.columns = solver, columns_of(solver)
        self.default: Row = {name: words[0] for name, words in self.columns.items()}
        self.refused: list[Part] = []
        """Words that exclude each other."""
        self.faults: list[str] = []
        self._tool = bool(find_solver(solver).capabilities.tools)
        self._known: dict[Part, str | None] = {}
        self._problem = cache(lambda path: build_problem(load_scene(path)))

    def scene(self, row: Row) -> Path:
        path = Path(f"{row['body']} of {row['law']}.toml")
        if not path.exists():
            write_scene(scene_of(str(row["body"]), str(row["law"]), tool=self._tool), path.name)
        return path

    def options(self, row: Row) -> Data:
        given = {name: word for name, word in row.items() if name not in ("body", "law")}
        return {"step": STEP} | {name: word for name, word in given.items() if word != self.default[name]}

    def refusal(self, row: Row) -> str | None:
        """Return why a row cannot start, without the numbers in it; None if it can."""
        found = frozenset(row.items())
        if found not in self._known:
            self._known[found] = self._refusal(row)
        return self._known[found]

    def _refusal(self, row: Row) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                solver, problem = find_solver(self.solver), self._problem(self.scene(row))
                options = checked_options(solver, self.options(row))
                check_capabilities(solver, problem)
                solver.start(problem, options)
        except Exception as error:  # a crash is found again, and told, by `check_refusal`
            said = str(error) if isinstance(error, RheotwinError) else f"{type(error).__name__}: {error}"
            return re.sub(r"\d[\d.e+-]*", "", said)
        return None

    def start(self, row: Row) -> Said:
        shutil.rmtree("record", ignore_errors=True)
        words = {key: str(word).lower() if word in (True, False) else word for key, word in self.options(row).items()}
        output = ("--solver", self.solver, "--output", "record", "--quiet")
        return command("run", self.scene(row), *output, *settings(self.solver, **words))

    def check(self, row: Row, refused: Part | None = None) -> None:
        """Take a row from its file to a record that is whole and continues exactly, or to its refusal."""
        try:
            said = self.start(row)
            if refused is None:
                assert said.code == EXIT_OK, said.err
                self._check_record()
                self._check_resumed()
            else:
                self._check_sentence(said, refused)
        except Exception as error:
            short = str(error).partition("\nassert ")[0].strip()[:600]
            self.faults.append(f"{shown(refused or row.items())}: {type(error).__name__}: {short}")

    def _check_record(self) -> None:
        record = open_record("record")
        assert record.manifest.status == "complete"
        np.testing.assert_allclose(record.times, np.linspace(0.0, DURATION, 4), atol=1e-12)
        for name, values in {**{name: record.field(name) for name in record.manifest.fields}, **record.probes}.items():
            assert np.isfinite(values).all(), f"{name} is not finite"
        deepest = -record.field("displacement")[-1].min()
        assert (0.99 * DEPTH if self._tool else 0.0) < deepest < 2.0 * DEPTH, f"moved by {deepest:.3g} m"
        forces = [np.abs(values).max() for name, values in record.probes.items() if "tool.press.force" in name]
        assert not self._tool or max(forces) > 0.0, "the tool feels nothing"

    def _check_resumed(self) -> None:
        """Let the record look as a kill after half the time leaves it, and continue it."""
        folder = Path("record")
        record = open_record(folder)
        state, last = record.checkpoint(), record.checkpoint_path
        apart = (last, folder / "manifest.json")
        whole = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path not in apart}
        cut_off(folder, keep_last=False)
        said = command("run", "--resume", folder, "--quiet")
        assert said.code == EXIT_OK, said.err
        for path, contents in whole.items():
            assert path.read_bytes() == contents, f"{path.name} is not the same after a resumption"
        again = open_record(folder).checkpoint()
        assert again.keys() == state.keys()
        for name, value in state.items():
            assert np.asarray(again[name]).tobytes() == np.asarray(value).tobytes(), f"{name} after a resumption"

    def _check_sentence(self, said: Said, words: Part) -> None:
        """A refusal names one of the words that exclude each other or their option."""
        told = "\n".join(line for line in said.err.splitlines() if not line.startswith("warning: "))
        assert said.code == EXIT_BAD_INPUT, f"exit code {said.code}: {told}"
        assert not Path("record").exists()
        assert told.startswith("error: ") and "internal error" not in told, told
        names = {place for name, word in words for place in (name, *str(word).split(", plane "))}
        assert any(name in told.splitlines()[-1] for name in names), f"names none of {sorted(names)}: {told}"

    def all(self, size: int) -> None:
        """Walk all choices of `size` words in as few rows as a greedy search finds, avoiding what is refused."""
        todo: dict[Part, None] = {}
        for chosen in combinations(self.columns.items(), size):
            names, values = zip(*chosen, strict=True)
            todo |= dict.fromkeys(frozenset(zip(names, words, strict=True)) for words in product(*values))
        while todo:
            first = next(iter(todo))
            row = next(self._completed(dict(first), todo), None)
            if row is None:
                done: Iterable[Part] = [first]  # each way to complete it meets a refusal
            elif (said := self.refusal(row)) is None:
                self.check(row)
                done = map(frozenset, combinations(row.items(), size))
            else:
                words = self._conflict(row, said)
                done = [part for part in todo if words <= part]
            for part in done:
                todo.pop(part, None)

    def _completed(self, row: Row, todo: dict[Part, None]) -> Iterator[Row]:
        """Return rows with a word for every option, each bringing as much as possible that is still to do."""
        if any(words <= row.items() for words in self.refused):
            return
        name = next((name for name in self.columns if name not in row), None)
        if name is None:
            yield row
            return

        def gain(word: Word) -> int:
            own = (name, word)
            return sum(frozenset([own, other]) in todo for other in row.items()) + (frozenset([own]) in todo)

        for word in sorted(self.columns[name], key=gain, reverse=True):
            yield from self._completed(row | {name: word}, todo)

    def _conflict(self, row: Row, kind: str) -> Part:
        """Return the words of a row that its refusal is about: those without which it would not be refused so.
        All that can be left at its default is; of the defaults those count that another word could save, and then
        the row's own word stays."""
        kept: set[str] = set()
        while True:
            least, before = dict(row), Row()
            while least != before:
                before = dict(least)
                for name, word in self.default.items():
                    if name not in kept and least[name] != word and self.refusal(least | {name: word}) == kind:
                        least[name] = word
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
        self.refused.append(words)
        self.check(least, words)
        return words


def test_words_are_read_from_types() -> None:
    columns = columns_of("fem")
    assert columns["stepper"][0] == "midpoint" and "adaptive" in columns["stepper"]
    assert columns["energy_balance"] == (True, False)
    assert "quad, plane axisymmetric" in columns["body"] and columns["order"] == (1, 2)
    assert columns_of("truss")["incompressible"][0] is None and {"step", "tolerance"}.isdisjoint(columns)


@pytest.mark.parametrize(
    ("solver", "size"), [*((name, 1) for name in BUILT_IN), pytest.param("fem", 2, marks=pytest.mark.exhaustive)]
)
def test_every_word_and_every_pair(solver: str, size: int) -> None:
    taken = Walk(solver)
    taken.all(size)
    assert not taken.faults, "\n".join(taken.faults)


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", BUILT_IN)
def test_everything_with_everything(solver: str) -> None:
    taken = Walk(solver)
    names = ["body", *(name for name in taken.columns if name in NAMED)]
    for words in product(*(taken.columns[name] for name in names)):
        row = taken.default | dict(zip(names, words, strict=True))
        taken.check(row, None if taken.refusal(row) is None else frozenset(row.items()))
    assert not taken.faults, "\n".join(taken.faults)
