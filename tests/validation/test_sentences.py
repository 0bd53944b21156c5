"""Numbers in words."""

import pytest

from rheotwin.validation.comparison import ErrorHistory, ForceError
from rheotwin.validation.report.sentences import cost_phrase, percent, run_sentence


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "-"), (0.0, "0 %"), (1e-5, "< 0.1 %"), (0.0123, "1.2 %"), (0.1249, "12 %"), (1.8, "180 %")],
)
def test_percent(value: float | None, words: str) -> None:
    assert percent(value) == words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1 / 7, "at 1/7 of its cost"),
        (0.6, "at 0.60 of its cost"),
        (1.1, "at about the same cost"),
        (3.24, "at 3.2 times its cost"),
        (41.7, "at 42 times its cost"),
    ],
)
def test_cost_phrase(ratio: float, words: str) -> None:
    assert cost_phrase(ratio) == words


def test_forces_are_named_when_there_are_several_and_missing_cost_is_left_out() -> None:
    history = ErrorHistory(times=(0.0,), values=(0.03,), rms=0.03, largest=0.03, final=0.03)
    forces = [ForceError("tool", name, 1.0, 0.0, error) for name, error in (("left", 0.1), ("right", None))]
    words = run_sentence("truss", "fem", displacement=history, forces=forces, ratio=None)
    assert words == "truss: 3.0 % displacement error at worst, 10 % force error on left against fem."


def test_nothing_in_common_is_said() -> None:
    words = run_sentence("truss", "fem", displacement=None, forces=[], ratio=None)
    assert words == "truss: no quantity in common against fem."


def test_two_runs_at_rest_are_said_to_be() -> None:
    words = run_sentence("truss", "fem", displacement=None, forces=[], ratio=0.1, at_rest=True)
    assert words == "truss: both stay at rest, it and fem."
    assert run_sentence("fem", "fem", displacement=None, forces=[], ratio=1.0, at_rest=True).endswith("of this case.")
