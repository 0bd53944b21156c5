"""What is compiled does not depend on what was compiled before it, nor on who calls."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, typeof

from rheotwin.kernels import cache
from rheotwin.kernels.compiled import _named_tuples, compiled
from rheotwin.solver import solver_names

SCENES = Path(__file__).parents[2] / "scenes"
RUN = """
import hashlib, sys
import numpy as np
from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.solver import find_solver
from rheotwin.scene import load_scene
from rheotwin.solver import check_capabilities, checked_options

for words in sys.argv[1:]:
    name, scene, steps = words.split(",")
    solver = find_solver(name)
    problem = build_problem(load_scene(scene))
    try:
        check_capabilities(solver, problem)
        simulation = solver.start(problem, checked_options(solver, problem.scene.solvers.get(name, {})))
    except RheotwinError:
        print(words, "refused")
        continue
    simulation.advance(problem.scene.duration, int(steps))
    state = simulation.save()
    digest = hashlib.sha256()
    for key in sorted(state):
        digest.update(key.encode() + np.ascontiguousarray(state[key]).tobytes())
    print(words, digest.hexdigest())
"""


def digests(folder: Path, *runs: str) -> dict[str, str]:
    there = os.environ | {cache.PLACE: str(folder)}
    done = subprocess.run([sys.executable, "-c", RUN, *runs], capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.mark.exhaustive
def test_the_gallery_gives_the_same_bits_alone_and_after_all_others(tmp_path: Path) -> None:
    runs = [f"{name},{scene},20" for scene in sorted(SCENES.glob("*.toml")) for name in solver_names()]
    together = digests(tmp_path / "together", *runs)
    assert len([digest for digest in together.values() if digest != "refused"]) > len(list(SCENES.glob("*.toml")))
    for run in reversed(runs):
        if together[run] != "refused":
            assert digests(tmp_path / "alone", run) == {run: together[run]}
            shutil.rmtree(tmp_path / "alone")


def instructions(function: object, *kinds: object) -> list[str]:
    code = function.inspect_llvm(tuple(kinds))  # type: ignore[attr-defined]
    return re.findall(r"\b(?:fadd|fmul|fdiv|call \w+ @llvm\.fma)\b[ a-z]*", code)


def test_a_function_is_compiled_as_it_says_whoever_calls_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def formula(a: float, b: float, c: float) -> float:
        return a * b + c / a

    alone, called = compiled(formula), compiled(formula)

    @njit(fastmath=True, error_model="numpy", forceinline=True)
    def caller(a: float, b: float, c: float) -> float:
        return called(a, b, c)

    monkeypatch.setenv(cache.PLACE, str(tmp_path / "alone"))  # numba shows the code of what it has compiled itself
    expected = alone(0.1, 0.2, 0.3)
    monkeypatch.setenv(cache.PLACE, str(tmp_path / "called"))
    assert caller(0.1, 0.2, 0.3) == expected
    kinds = tuple(called.signatures[0])
    assert instructions(called, *kinds) == instructions(alone, *kinds)
    with pytest.raises(ZeroDivisionError):
        caller(0.0, 1.0, 1.0)


def test_a_function_is_compiled_once_for_all_whole_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.PLACE, str(tmp_path))  # nothing of an earlier run is found there

    @compiled(inside=True)
    def entry(x: np.ndarray, k: int) -> float:
        return float(x[k])

    @compiled
    def total(x: np.ndarray) -> float:
        k, sum_of = 0, entry(x, 0)
        while k < len(x):
            sum_of += entry(x, k)
            k += 1
        return sum_of

    assert total(np.array([1.0, 2.0])) == 4.0
    assert len(entry.signatures) == 1  # type: ignore[attr-defined]


def test_arrays_are_made_only_by_what_says_so() -> None:
    @compiled
    def returned(x: np.ndarray) -> np.ndarray:
        return x

    @compiled(allocates=True)
    def made(n: int) -> np.ndarray:
        return np.zeros(n)

    @compiled
    def lost(n: int) -> float:
        return made(n)[0]

    with pytest.raises(TypeError, match="returned returns an array: write @compiled"):
        returned(np.zeros(2))
    with pytest.raises(TypeError, match="lost calls what returns an array: write @compiled"):
        lost(2)
    assert made(2).tolist() == [0.0, 0.0]


def test_no_odd_closures_and_named_tuples_are_found() -> None:
    class Odd:
        pass

    odd = Odd()

    @compiled
    def function(x: float) -> float:
        return x if odd is None else -x

    with pytest.raises(TypeError, match="no lasting name: close over constants"):
        function(1.0)
    # A kernel holds where they stand: found under its name after a class has moved it could not be read.
    inner = _Inner(1.0, 2)
    assert set(_named_tuples((typeof(_Outer(inner, (inner, inner))), typeof(1.0)))) == {_Inner, _Outer}


class _Inner(NamedTuple):
    number: float
    count: int


class _Outer(NamedTuple):
    inner: _Inner
    pair: tuple[_Inner, _Inner]
