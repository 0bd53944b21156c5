"""`rheotwin view`: a picture without a screen, and plain words where there is nothing to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK

Command = Callable[..., Any]


@pytest.fixture
def record(command: Command, scene: Path) -> Path:
    assert command("run", scene, "--output", "run", "--quiet").code == EXIT_OK
    return Path("run")


def test_a_picture_of_the_last_frame(command: Command, record: Path) -> None:
    said = command("view", record, "--screenshot", "picture.png", "--field", "stress")
    if "could not render off-screen" in said.err:
        pytest.skip(f"no off-screen rendering here: {said.err.strip()}")
    assert (said.code, said.out, said.err) == (EXIT_OK, "picture.png\n", "")
    image = matplotlib.image.imread("picture.png")[..., :3]
    assert image.shape[:2] == (800, 1200)
    colourful = (np.ptp(image, axis=2) > 0.05).mean()
    assert 0.05 < colourful < 0.9, "a body in colours on a plain ground"

    before = Path("picture.png").read_bytes()
    said = command("view", record, "--screenshot", "picture.png", "--frame", "0")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "picture.png: exists already; add --overwrite to replace it"
    assert Path("picture.png").read_bytes() == before
    assert command("view", record, "--screenshot", "picture.png", "--frame", "0", "--overwrite").code == EXIT_OK
    assert Path("picture.png").read_bytes() != before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--frame", "3"], "--frame 3: the record has 3 frames; choose from -3 to 2"),
        (["--frame", "-4"], "--frame -4: the record has 3 frames; choose from -3 to 2"),
        (
            ["--field", "strss"],
            "--field: the record has no field 'strss' (did you mean 'stress'?); it has displacement",
        ),
        (["--screenshot", "a.xyz"], "a.xyz: pictures are PNG files; name one that ends in .png"),
        (["--screenshot", "no/a.png"], "no/a.png: could not write the picture: there is no folder no"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(command: Command, record: Path, words: list[str], sentence: str) -> None:
    target = [] if "--screenshot" in words else ["--screenshot", "a.png"]
    said = command("view", record, *words, *target)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith(sentence)
    assert not list(Path().glob("*.png"))


def test_a_record_without_a_frame_yet(command: Command, record: Path) -> None:
    from rheotwin.record.pvd import write_pvd

    write_pvd(record / "series.pvd")
    said = command("view", record, "--screenshot", "a.png")
    assert said.sentence == "run: the record has no frame yet; run its scene again"


def test_without_a_display_a_window_is_refused_in_words(
    command: Command, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    said = command("view", record)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "view: there is no display; add --screenshot FILE.png to write a picture instead"


def test_a_renderer_that_crashes_is_one_sentence(
    command: Command, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rheotwin.viewer.__name__", "rheotwin.there_is_no_renderer")
    said = command("view", record, "--screenshot", "a.png")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("view: could not render off-screen (the renderer ended with 1)")
    assert not Path("a.png").exists()


def test_there_is_no_such_record(command: Command) -> None:
    assert command("view", "nowhere").sentence == "nowhere: there is no such folder; give the folder of a record"
