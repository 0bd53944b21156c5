"""What nobody foresaw: one sentence, exit code 2, and the traceback only when asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin.__main__ import main
from rheotwin.cli import info
from rheotwin.errors import EXIT_BAD_INPUT

Command = Callable[..., Any]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Let `rheotwin info` raise."""

    def fail(error: BaseException) -> None:
        def execute(args: Any) -> int:
            raise error

        monkeypatch.setattr(info, "execute", execute)

    monkeypatch.delenv("RHEOTWIN_DEBUG", raising=False)
    return fail


def test_an_internal_error_is_one_sentence(failing: Callable[..., None], command: Command, scene: Path) -> None:
    failing(ZeroDivisionError("division\nby zero"))
    said = command("info", scene)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == (
        "internal error: ZeroDivisionError: division by zero; please report it with the scene; "
        "RHEOTWIN_DEBUG=1 shows the traceback"
    )


def test_too_little_memory_has_its_own_sentence(failing: Callable[..., None], command: Command, scene: Path) -> None:
    failing(MemoryError())
    said = command("info", scene)
    assert (said.code, said.sentence) == (
        EXIT_BAD_INPUT,
        "out of memory: the scene is too large for this machine; use fewer cells or frames",
    )


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_traceback_is_shown_on_request(
    failing: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    value: str,
    shown: bool,
) -> None:
    failing(KeyError("u"))
    monkeypatch.setenv("RHEOTWIN_DEBUG", value)
    assert main(["info", "somewhere"]) == EXIT_BAD_INPUT
    err = capsys.readouterr().err
    assert ("Traceback" in err) == shown
    assert err.splitlines()[-1].startswith("error: internal error: KeyError: 'u'; ")
