"""Which solvers exist: built-in ones first, outside ones checked, a broken one a warning."""

import sys
import types
import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pytest

from rheotwin import solver as solvers
from rheotwin.errors import RheotwinError
from rheotwin.fem import FemSolver
from rheotwin.particles import TrussSolver
from rheotwin.solver import all_solvers, find_solver

NAMES = ["fem", "truss", "fixed-point", "shear-volume", "local-shape", "slave", "outside"]


class Unfinished:
    name = "unfinished"
    description = "has neither options nor start"
    capabilities = FemSolver.capabilities


class Outside(Unfinished):
    name = "outside"
    options = FemSolver.options

    def start(self, problem: Any, options: Any) -> Any:
        raise AssertionError("not asked for")


def explode() -> Any:
    raise OSError("its shared library is missing")


@pytest.fixture
def announce(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Announce classes of a module `plug_ins` as entry points."""
    module = types.ModuleType("plug_ins")
    vars(module).update(Outside=Outside, Unfinished=Unfinished, explode=explode)
    monkeypatch.setitem(sys.modules, "plug_ins", module)

    def put(**points: str) -> None:
        found = [EntryPoint(name=name, value=value, group=solvers.GROUP) for name, value in points.items()]
        monkeypatch.setattr(solvers, "entry_points", lambda *, group: [p for p in found if p.group == group])

    return put


def test_built_in_solvers_come_first_and_agree_with_the_entry_points(announce: Any) -> None:
    announced = {point.name: point.value for point in entry_points(group=solvers.GROUP)}
    assert solvers.BUILT_IN.items() <= announced.items()
    for name in solvers.BUILT_IN:
        assert find_solver(name).name == name
    announce(outside="plug_ins:Outside", fem="rheotwin.fem:FemSolver")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(all_solvers()) == NAMES
        for name, kind in (("fem", FemSolver), ("truss", TrussSolver), ("outside", Outside)):
            assert isinstance(find_solver(name), kind)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module:Solver", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("plug_ins:Missing", "AttributeError: "),
        ("plug_ins:explode", "OSError: its shared library is missing"),
        ("plug_ins:Unfinished", "TypeError: it lacks options, start"),
    ],
)
def test_a_broken_plug_in_is_a_warning_to_those_who_ask_for_it(announce: Any, value: str, reason: str) -> None:
    announce(broken=value, outside="plug_ins:Outside")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_solver("truss")
    with pytest.warns(UserWarning, match=r"solver plug-in 'broken' \(\S+\) could not be loaded") as caught:
        assert list(all_solvers()) == NAMES
    (warning,) = caught
    assert reason in str(warning.message) and str(warning.message).endswith(": ignored")


def test_built_in_names_cannot_be_taken_and_unknown_ones_list_what_exists(announce: Any) -> None:
    announce(fem="plug_ins:Outside")
    with pytest.warns(UserWarning, match="'fem' .* has the name of a built-in solver: ignored"):
        assert isinstance(all_solvers()["fem"], FemSolver)
    announce(outside="plug_ins:Outside")
    with pytest.raises(RheotwinError) as caught:
        find_solver("trus")
    said = f"there is no solver named 'trus' (did you mean 'truss'?); installed: {', '.join(NAMES)}"
    assert str(caught.value) == f"solver: {said}"
