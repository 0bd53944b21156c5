"""Checks made up for the test, and the command line called in this process."""

from collections.abc import Callable
from typing import Any

import pytest

from rheotwin.__main__ import main
from rheotwin.validation.checks.check import Check, Measurement, Quantity


@pytest.fixture
def made_up() -> Callable[..., Check]:
    """Return a check whose quantity has the given reference and whose computation gives 2.0, or raises."""

    def build(
        reference: float = 2.0,
        *,
        identity: str = "fem.R7",
        name: str = "made-up",
        fails: BaseException | None = None,
        **more: Any,
    ) -> Check:
        def compute() -> Measurement:
            if fails is not None:
                raise fails
            return Measurement({"F": 2.0}, {"F": 1.97})

        quantities = (Quantity("F", reference, 1e-3, unit="N"),)
        return Check(identity, name, "a made-up check", quantities, **({"compute": compute} | more))

    return build


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `rheotwin validate WORDS`; return exit code, standard output and standard error."""

    def call(*words: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["validate", *(str(word) for word in words)])
        streams = capsys.readouterr()
        assert "Traceback" not in streams.err
        return code, streams.out, streams.err

    return call
