"""Programs of stages: what stages are given, how the driver jumps and ends, and what is kept of them on disk."""

import copy
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rheotwin.kernels import cache
from rheotwin.kernels.blocks import STEP, TIME, Now, kind_of
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import LAST, Stage


@compiled(contract=True)
def pull(x: Any, rate: float, v: Any, h: float) -> None:
    for k in range(x.size):
        v[k] -= h * rate * x[k]


@compiled(contract=True)
def drift(x: Any, v: Any, h: float) -> None:
    for k in range(x.size):
        x[k] += h * v[k]


def test_semi_implicit_steps_of_an_oscillator_keep_their_invariant() -> None:
    h, rate = 0.01, 4.0  # v_(n+1) = v - h w^2 x, x_(n+1) = x + h v_(n+1): w^2 x^2 + v^2 - h w^2 x v is constant
    x, v = np.array([1.0, 0.5]), np.array([0.0, 1.0])
    invariant = rate * x**2 + v**2 - h * rate * x * v
    program = Program([Stage(pull, (x, rate, v, STEP)), Stage(drift, (x, v, STEP))], h, Clock())
    assert program.run(0, 10_000) == 10_000 and program.ended_by is None
    assert rate * x**2 + v**2 - h * rate * x * v == pytest.approx(invariant, rel=1e-10)
    phase = 2.0 * np.arcsin(np.sqrt(rate) * h / 2.0) * 10_000  # per step, exactly
    start, way = np.array([1.0, 0.5]), np.array([0.0, 1.0])
    turned = start * np.cos(phase) + (way - h * rate * start / 2.0) * h / np.sin(phase / 1e4) * np.sin(phase)
    assert x == pytest.approx(turned, abs=1e-9)


class Part(NamedTuple):
    values: Any
    count: int


class Whole(NamedTuple):
    part: Part
    missing: Any
    sign: float
    active: bool


@compiled
def weigh(whole: Whole, strided: Any, single: Any, indices: Any, t: float, end: float, h: float) -> float:
    total = t + 10.0 * end + 100.0 * h
    if whole.missing is None and whole.active:
        total += whole.sign * whole.part.count * whole.part.values[1, 2]
    return total + strided[1, 0] + single[0] + indices[1]


VALUES, STRIDED = np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 4)[:, 1::2]
WHOLE = Whole(Part(VALUES, 7), None, -1.0, True)
WEIGHED = (WHOLE, STRIDED, np.array([0.5], np.float32), np.array([3, 9], np.int32), TIME)


def test_what_stages_take_and_return() -> None:
    found, clock, expected = np.array([1, 7], np.float32), Clock(), 0.75 + 10.0 + 25.0 - 35.0 + 5.0 + 0.5 + 9.0
    for end in (1.0, clock.end):
        Program([Stage(weigh, (*WEIGHED, end, STEP), into=found[:1])], 0.25, clock).run(3, 1)
        assert found.tolist() == [np.float32(expected), 7.0]
    with pytest.raises(TypeError, match="a stage returns nothing or a whole number"):
        Program([Stage(weigh, (*WEIGHED, 1.0, STEP))], 0.25, Clock()).run(3, 1)
    with pytest.raises(TypeError, match=r"no str: 'word'"):
        _ = Stage(drift, ("word", np.zeros(1), STEP)).code
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(Program([Stage(drift, (np.zeros(1), np.zeros(1), STEP))], 1.0, Clock()))


@compiled
def multiply(matrix: Any, x: Any, y: Any) -> None:
    for i in range(x.size):
        y[i] = 0.0
        for j in range(x.size):
            y[i] += matrix[i, j] * x[j]


@compiled
def turn(x: Any, residual: Any, direction: Any, product: Any, rounds: Any, back: int, most: int) -> int:
    """One step of conjugate gradients; jumps back until nothing is left."""
    square, work, after = 0.0, 0.0, 0.0
    for i in range(x.size):
        square += residual[i] * residual[i]
        work += direction[i] * product[i]
    for i in range(x.size):
        x[i] += square / work * direction[i]
        residual[i] -= square / work * product[i]
        after += residual[i] * residual[i]
    for i in range(x.size):
        direction[i] = residual[i] + after / square * direction[i]
    rounds[0] += 1
    if after < 1e-24:
        return 0
    return back if rounds[0] < most else -LAST - 3


@pytest.mark.parametrize(("most", "taken", "ended"), [(50, 1, None), (2, 0, -LAST - 3)])
def test_iterations_jump_back_and_say_when_they_fail(most: int, taken: int, ended: int | None) -> None:
    n = 8
    matrix = np.diag(np.full(n, 2.5)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    x, residual, direction, product, rounds = np.zeros(n), np.ones(n), np.ones(n), np.zeros(n), np.zeros(1, np.int64)
    iterate = Stage(turn, (x, residual, direction, product, rounds, -2, most))
    program = Program([Stage(multiply, (matrix, direction, product)), iterate], 1.0, Clock())
    assert program.run(0, 1) == taken
    assert program.ended_by == (None if ended is None else (f"{turn.__module__}.turn", ended))
    if ended is None:
        assert x == pytest.approx(np.linalg.solve(matrix, np.ones(n)), rel=1e-10)


@compiled
def stop_beyond(x: Any, limit: float) -> int:
    return LAST if x[0] > limit else 0


@compiled
def halve(clock: Any) -> None:
    clock[1] *= 0.5


def test_stages_may_change_the_clock_and_last_steps_are_taken_to_their_end() -> None:
    x, clock = np.zeros(1), Clock()
    move = Stage(drift, (x, np.ones(1), STEP))
    Program([Stage(halve, (clock.values,)), move, move], 1.0, clock).run(0, 3)
    assert x[0] == 3.0
    v, rate = np.zeros(1), np.zeros(1)
    program = Program([Stage(pull, (np.ones(1), Now(rate), v, STEP))], 1.0, Clock())
    program.run(0, 1)
    rate[0] = 3.0
    program.run(1, 1)
    assert v[0] == -3.0
    x = np.zeros(1)
    program = Program([Stage(stop_beyond, (x, 2.5)), Stage(drift, (x, np.ones(1), STEP))], 1.0, Clock())
    assert (program.run(0, 100), x[0]) == (4, 4.0)
    assert program.ended_by == (f"{stop_beyond.__module__}.stop_beyond", LAST)


@compiled
def divide(x: Any, by: Any) -> None:
    for k in range(x.size):
        x[k] = 1.0 / by[k]


def test_an_exception_in_a_stage_ends_the_run() -> None:
    x, by, reached = np.zeros(2), np.array([1.0, 0.0]), np.zeros(1)
    program = Program([Stage(divide, (x, by)), Stage(drift, (reached, np.ones(1), STEP))], 1.0, Clock())
    with pytest.raises(ArithmeticError, match=r"divide in step 5: an exception was raised"):
        program.run(5, 3)
    assert reached[0] == 0.0
    by[1] = 2.0
    assert program.run(5, 3) == 3 and x.tolist() == [1.0, 0.5]


@compiled
def jump(by: int) -> int:
    return by


@pytest.mark.parametrize("by", [-2, 1])
def test_a_jump_out_of_the_program_ends_the_run(by: int) -> None:
    with pytest.raises(IndexError, match="jumps out of the program"):
        Program([Stage(jump, (by,))], 1.0, Clock()).run(0, 1)


def test_what_code_depends_on_is_in_the_name_of_a_kernel() -> None:
    swapped = namedtuple("Part", ["count", "values"])
    values = np.zeros(2)
    assert str(kind_of(Part(values, values))) != str(kind_of(swapped(values, values)))
    frozen = values.copy()
    frozen.flags.writeable = False
    assert kind_of(values) != kind_of(frozen)
    one, other = compiled(lambda x: x + 1.0), compiled(lambda x: 100.0 * x)
    assert (one(2.0), other(2.0)) == (3.0, 200.0)


AGAIN = """
import numpy as np
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import LAST, Stage
from rheotwin.particles.state import drift
for dtype in (np.float64, np.float32):
    x = np.zeros((2, 3), dtype)
    Program([Stage(drift, (np.ones((2, 3), dtype), STEP, x))], 0.5, Clock()).run(0, 2)
    print(x.sum())
"""


def test_stages_are_kept_on_disk(tmp_path: Path) -> None:
    there = os.environ | {cache.PLACE: str(tmp_path)}
    written = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", AGAIN], capture_output=True, text=True, check=True, env=there)
        assert done.stdout.split() == ["6.0", "6.0"]
        written.append({(file.name, file.stat().st_ino) for file in tmp_path.iterdir()})
    assert written[0] == written[1]  # the second process found them all and wrote none
    # with what they call
    assert sorted(name.partition("-")[0] for name, _ in written[0]) == ["_drive", *["drift"] * 4, "drive"]
