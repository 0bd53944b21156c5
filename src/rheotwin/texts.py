"""TOML and JSON of files from outside: whatever is wrong with the text is one kind of error each."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any


def read_toml(text: str) -> dict[str, Any]:
    """Return the table that TOML text is; any fault of it is a `tomllib.TOMLDecodeError`."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("Brackets are nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # Python reads no whole number of more than 4300 digits, no date of month 13
        said = "A whole number has too many digits" if "digits" in str(error) else str(error)
        raise tomllib.TOMLDecodeError(said) from None


def is_file(path: Path) -> bool:
    """Tell whether there is a file; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_json(text: str) -> Any:
    """Return the value that JSON text is; any fault of it is a `ValueError`."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None
