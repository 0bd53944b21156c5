"""`rheotwin view`: a picture without a screen, and plain words where there is nothing to show."""

from pathlib import Path
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

from rheotwin.cli.view import _add_frame
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK
from rheotwin.record import load_manifest, open_record, save_manifest
from rheotwin.record.pvd import write_pvd
from tests.conftest import Said, command, scene_file


@pytest.fixture(autouse=True)
def record(in_own_folder: None) -> None:
    assert command("run", scene_file(), "--output", "run", "--quiet").code == EXIT_OK


def view(*words: str) -> Said:
    return command("view", "run", "--screenshot", "a.png", *words)


def test_a_picture_of_the_last_frame() -> None:
    said = view("--field", "stress")
    if "could not render off-screen" in said.err:
        pytest.skip(f"no off-screen rendering here: {said.err.strip()}")
    assert (said.code, said.out, said.err) == (EXIT_OK, "a.png\n", "")
    image = matplotlib.image.imread("a.png")[..., :3]
    assert image.shape[:2] == (800, 1200)
    assert 0.05 < (np.ptp(image, axis=2) > 0.05).mean() < 0.9, "a body in colours on a plain ground"
    before = Path("a.png").read_bytes()
    said = view("--frame", "0")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "a.png: exists already; add --overwrite to replace it"
    assert Path("a.png").read_bytes() == before and view("--frame", "0", "--overwrite").code == EXIT_OK
    assert Path("a.png").read_bytes() != before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--frame 3", "--frame 3: the record has 3 frames; choose from -3 to 2"),
        ("--frame -4", "--frame -4: the record has 3 frames; choose from -3 to 2"),
        ("--field strss", "--field: the record has no field 'strss' (did you mean 'stress'?); it has displacement"),
        ("--screenshot a.xyz", "a.xyz: pictures are PNG files; name one that ends in .png"),
        ("--screenshot no/a.png", "no/a.png: could not write the picture: there is no folder no"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(words: str, sentence: str) -> None:
    said = view(*words.split())
    assert said.code == EXIT_BAD_INPUT and said.sentence.startswith(sentence)
    assert not list(Path().glob("*.png"))


def test_the_stress_of_cells_is_drawn_as_its_von_mises_equivalent() -> None:
    file = scene_file({"output.fields": ["displacement", "cell_stress"]}, name="cells.toml")
    assert command("run", file, "--output", "cells", "--quiet").code == EXIT_OK
    assert command("view", "cells", "--field", "cell_stress", "--screenshot", "cells.png").code == EXIT_OK
    grid, label = open_record("cells").frame(-1), "cell stress [Pa]"
    record = SimpleNamespace(
        frame=lambda _: grid, tools=lambda _: None, times=[0.0], particles=None, manifest=SimpleNamespace(particles={})
    )
    drawn = SimpleNamespace(add_mesh=lambda *_, **__: None, add_text=lambda *_, **__: None)
    _add_frame(drawn, record, 0, "cell_stress", label, 1.0)
    np.testing.assert_array_equal(grid.cell_data[label], grid.cell_data["cell_stress"][:, 1])


def test_what_stops_a_picture_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rheotwin.cli.view.__name__", "rheotwin.there_is_no_renderer")
    said = view()
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("view: could not render off-screen (the renderer ended with 1)")
    assert not Path("a.png").exists()
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    said = command("view", "run")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "view: there is no display; add --screenshot FILE.png to write a picture instead"
    write_pvd(Path("run/series.pvd"))
    save_manifest(load_manifest(Path("run")).changed(files={}), Path("run"))
    assert view().sentence == "run: the record has no frame yet; run its scene again"
    assert command("view", "nowhere").sentence == "nowhere: there is no such folder; give the folder of a record"
