"""The page and the picture of what was identified, and the files of its folder."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.scene import scene_from_data
from rheotwin.validation.checks.running import row
from rheotwin.validation.identification import Identified, OscillationRecord
from rheotwin.validation.identification.oscillation import identify_oscillation
from rheotwin.validation.identification.page import MOST_ORDERS, interval, page, picture, shown, value
from rheotwin.validation.identification.result import Curve, Flat, Parameter


def from_oscillation() -> Identified:
    frequency = np.logspace(-2.0, 2.5, 30)
    z = Channel.prony(5.0, (20.0, 8.0), (0.05, 4.0)).complex_modulus(frequency)
    draw = np.random.default_rng(1).normal(1.0, 0.01, (2, 30))
    record = OscillationRecord("foam & <co>", frequency, z.real * draw[0], z.imag * draw[1])
    return identify_oscillation(record, poisson=0.3)


def over_time() -> Identified:
    """The same with curves of two time records, one of them predicted."""
    t = np.linspace(0.0, 10.0, 2000)
    curves = []
    for name, fitted in (("fast", True), ("slow", False)):
        force = np.exp(-t / (3.0 if fitted else 5.0))
        curves.append(
            Curve(name, "force", "N", t, force + 0.01 * np.sin(40 * t), force, force - 0.02, force + 0.02, fitted)
        )
        curves.append(Curve(name, "displacement", "m", t, 0.1 * force, 0.1 * force, 0.09 * force, 0.11 * force, fitted))
    flat = Flat("k1 b2^-0.5", 30.0, "hold for 30 s")
    return replace(
        from_oscillation(), curves=tuple(curves), flat=(flat,), law=None, no_law="a power is no law of a scene"
    )


def test_the_folder_holds_everything_and_the_law_runs(tmp_path: Path) -> None:
    found = from_oscillation()
    folder = found.save(tmp_path / "out")
    names = {"result.json", "law.toml", "report.html", "picture.png", "abaqus.inp", "ansys.mac", "ls-dyna.k"}
    assert {file.name for file in folder.iterdir()} == names
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((folder / "result.json").read_text())["parameters"][0]["name"] == "g_inf"
    law = tomllib.loads((folder / "law.toml").read_text())["laws"]["identified"]
    channel = scene_from_data(row(law)).laws["stuff"].law().channel("young")
    assert found.law is not None
    np.testing.assert_allclose(channel.strengths, found.law.channel.strengths, rtol=1e-12)


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)  # of the picture, after all texts
    with pytest.raises(RheotwinError, match=r"could not write the law to .*/out: No space left"):
        from_oscillation().save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RheotwinError, match="choose another one"):
        from_oscillation().save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_the_page_says_it_all_and_takes_nothing_from_the_network() -> None:
    text = page(from_oscillation())
    assert "foam &amp; &lt;co&gt;" in text and "<co>" not in text
    for said in ("Adequate: ", "tau2", "storage modulus", "loss modulus", "[laws.identified]", "chosen"):
        assert said in text, said
    assert ".." not in text.split("<main")[0].split("</style>")[1]
    assert "http" not in text.replace("http://www.w3.org", "")


def test_the_page_of_time_records() -> None:
    text = page(over_time())
    for said in ("slow, predicted (", "time [s]", "left [% of peak]", "a power is no law of a scene"):
        assert said in text, said
    assert "<b>k1 b2^-0.5</b> is known within a factor of 30 only: hold for 30 s." in text


def test_the_picture_speaks_and_draws_few_points() -> None:
    plot = picture(over_time())
    assert "force, displacement of data and of the model" in plot.alt
    assert plot.svg.count("<use") < 4 * 2 * 500  # records of 2,000 points are thinned


def test_the_table_keeps_the_chosen_order() -> None:
    found = from_oscillation()
    many = tuple(replace(one, bic=one.bic + n, verdict="possible") for n in range(4) for one in found.orders)
    worst = replace(found.orders[0], verdict="chosen", bic=1e6)
    kept = shown((*many, worst))
    assert worst in kept and len(kept) == MOST_ORDERS


@pytest.mark.parametrize(
    ("low", "middle", "high", "said"),
    [
        (9.98, 10.0013, 10.02, ("10.001", "9.98 to 10.02")),
        (1.2e-9, 3.4e-9, 9.1e-9, ("3.4e-09", "1.2e-09 to 9.1e-09")),
        (-0.31, -0.2512, -0.19, ("-0.251", "-0.31 to -0.19")),
        (5.0, 5.0, 5.0, ("5", "5 to 5")),
    ],
)
def test_digits_are_those_that_are_known(low: float, middle: float, high: float, said: tuple[str, str]) -> None:
    parameter = Parameter("k", middle, low, high, "1")
    assert (value(parameter), interval(parameter)) == said
