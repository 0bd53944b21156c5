"""`rheotwin schema`: print the JSON schema of scene files."""

from __future__ import annotations

import argparse
import json

NAME = "schema"
HELP = "print the JSON schema of scene files, for editors that complete and check TOML"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb: it has none of its own, its output is JSON already."""


def execute(args: argparse.Namespace) -> int:
    """Print the schema; return the exit code."""
    from rheotwin.errors import EXIT_OK
    from rheotwin.scene import scene_schema

    print(json.dumps(scene_schema(), indent=2))
    return EXIT_OK
