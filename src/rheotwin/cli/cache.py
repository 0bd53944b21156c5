"""`rheotwin cache`: where compiled kernels are kept and how much room they take."""

from __future__ import annotations

import argparse

NAME = "cache"
HELP = "tell where compiled kernels are kept and how much room they take, or delete them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--clear", action="store_true", help="delete them; the next runs compile what they need")


def execute(args: argparse.Namespace) -> int:
    """Print place, number and size; return the exit code."""
    from rheotwin.errors import EXIT_OK, RheotwinError
    from rheotwin.kernels import cache

    try:
        count, size = cache.clear() if args.clear else cache.usage()
    except OSError as error:
        raise RheotwinError(f"{cache.PLACE}: the cache cannot be read: {error}; name another folder") from None
    said = "deleted" if args.clear else "kernels"
    print(f"{cache.folder()}\n{said}: {count} ({size / 1e6:.1f} MB)")
    return EXIT_OK
