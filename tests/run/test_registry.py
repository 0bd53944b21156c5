"""Which solvers exist: built-in ones first, outside ones checked, a broken one a warning."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from rheotwin import registry
from rheotwin.errors import RheotwinError
from rheotwin.fem import FemSolver
from rheotwin.particles import TrussSolver
from rheotwin.registry import all_solvers, find_solver


class Outside:
    name = "outside"
    description = "does nothing"
    capabilities = FemSolver.capabilities
    options = FemSolver.options

    def start(self, problem: Any, options: Any) -> Any:
        raise AssertionError("not asked for")


class Unfinished:
    name = "unfinished"
    description = "has neither options nor start"
    capabilities = FemSolver.capabilities


def explode() -> Any:
    raise OSError("its shared library is missing")


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A module whose classes are announced as entry points."""
    module = types.ModuleType("some_plug_ins")
    module.Outside, module.Unfinished, module.explode = Outside, Unfinished, explode  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_plug_ins", module)
    yield module


def announce(monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    found = [EntryPoint(name=name, value=value, group=registry.GROUP) for name, value in points.items()]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: [p for p in found if p.group == group])


def test_built_in_solvers_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, outside="some_plug_ins:Outside", fem="rheotwin.fem:FemSolver")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(all_solvers()) == ["fem", "truss", "fixed-point", "shear-volume", "outside"]
        assert isinstance(find_solver("fem"), FemSolver)
        assert isinstance(find_solver("truss"), TrussSolver)
        assert isinstance(find_solver("outside"), Outside)


def test_the_table_of_built_in_solvers_agrees_with_the_entry_points() -> None:
    from importlib.metadata import entry_points

    announced = {point.name: point.value for point in entry_points(group=registry.GROUP)}
    assert registry.BUILT_IN.items() <= announced.items()
    for name in registry.BUILT_IN:
        assert find_solver(name).name == name


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module:Solver", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("some_plug_ins:Missing", "AttributeError: "),
        ("some_plug_ins:explode", "OSError: its shared library is missing"),
        ("some_plug_ins:Unfinished", "TypeError: it lacks options, start"),
    ],
)
def test_a_broken_plug_in_is_a_warning(monkeypatch: pytest.MonkeyPatch, value: str, reason: str) -> None:
    announce(monkeypatch, broken=value, outside="some_plug_ins:Outside")
    with pytest.warns(UserWarning, match=r"solver plug-in 'broken' \(\S+\) could not be loaded") as caught:
        assert list(all_solvers()) == ["fem", "truss", "fixed-point", "shear-volume", "outside"]
    (warning,) = caught
    assert reason in str(warning.message)
    assert str(warning.message).endswith(": ignored")


def test_a_plug_in_cannot_take_the_name_of_a_built_in_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, fem="some_plug_ins:Outside")
    with pytest.warns(UserWarning, match="'fem' .* has the name of a built-in solver: ignored"):
        assert isinstance(all_solvers()["fem"], FemSolver)


def test_a_broken_plug_in_does_not_disturb_those_who_do_not_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, broken="no_such_module:Solver")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_solver("truss")


def test_an_unknown_name_lists_what_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, outside="some_plug_ins:Outside")
    with pytest.raises(RheotwinError) as caught:
        find_solver("trus")
    assert str(caught.value) == (
        "solver: there is no solver named 'trus' (did you mean 'truss'?); "
        "installed: fem, truss, fixed-point, shear-volume, outside"
    )
