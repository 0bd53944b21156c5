"""docs/identification.md: its examples run and say what it promises, every option of the command stands in it."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from rheotwin.__main__ import main
from rheotwin.cli.identify import add_arguments
from rheotwin.validation.identification.candidate import LAWS

PAGE = (Path(__file__).parents[3] / "docs" / "identification.md").read_text(encoding="utf-8")


def test_the_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    make, python = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(make, {})
    command = re.findall(r"^rheotwin (identify press.*)$", PAGE, re.MULTILINE)[0]
    assert main(shlex.split(command)) == 0
    said = capsys.readouterr().out
    assert re.search(r"chain-2 .* chosen", said) and "known to no better than 100 %" in said
    exec(python, {})
    assert "chain-2" in capsys.readouterr().out
    for file in re.findall(r"^\| `(\w+\.\w+)` \|", PAGE, re.MULTILINE):
        assert (tmp_path / "press" / file).is_file()


def test_every_option_and_law_is_there() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = {word for action in parser._actions for word in action.option_strings if word.startswith("--")}
    for word in options - {"--help", "--json", "--seed", "--poisson"}:
        assert word in PAGE, word
    for name in {re.sub(r"-\d$", "", name) for name in LAWS}:
        assert f"`{name}`" in PAGE, name
