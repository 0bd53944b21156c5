"""Each test of this room works in a folder of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_own_folder(own_folder: Path) -> None: ...
