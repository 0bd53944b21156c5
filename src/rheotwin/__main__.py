"""The command line: one verb per file, loaded only when it is used.

Exit codes: 0 done; 1 done but the result falls short; 2 the request cannot be carried out; 3 the run diverged;
130 interrupted with ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rheotwin import __version__, same_bits
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_INTERRUPTED, RheotwinError, visible

VERBS = (
    *("run", "compare", "sweep", "validate", "mesh", "solvers", "schema", "view", "info", "realtime", "circuit"),
    *("experiment", "identify", "calibrate", "cache", "doctor", "touch"),
)
READS_GEOMETRY = ("run", "compare", "sweep", "mesh", "calibrate")
"""Verbs that mesh .geo scripts where they are told that these may be run."""
TRUST = "RHEOTWIN_TRUST_GEOMETRY"
"""Environment variable by which `--trust-geometry` reaches the processes of a command (`meshing.files` reads it)."""
RENAMED = {"verify": "validate"}
"""Verbs of earlier versions and what they are called now."""

DEBUG = "RHEOTWIN_DEBUG"
"""Environment variable that asks for the traceback of an internal error."""

EPILOG = """exit codes:
  0    done
  1    done, but the result falls short of a bound you gave
  2    the request cannot be carried out as stated (one sentence says where and why)
  3    the run diverged; its record keeps everything before that
  130  interrupted with ctrl-C; a run can be resumed with: rheotwin run --resume FOLDER"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all verbs."""
    parser = argparse.ArgumentParser(
        prog="rheotwin",
        description="Finite-element and particle models of soft rheological bodies, on one scene, compared.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rheotwin {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in VERBS:
        module: Any = import_module(f"rheotwin.cli.{name}")
        sub = verbs.add_parser(module.NAME, help=module.HELP, description=module.HELP)
        module.add_arguments(sub)
        if name in READS_GEOMETRY:
            sub.add_argument("--trust-geometry", action="store_true", help="run .geo scripts: they can do what you can")
        sub.set_defaults(execute=module.execute)
    return parser


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {visible(message)}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; user faults become one message without a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in RENAMED:
        print(f"error: `rheotwin {words[0]}` is now called `rheotwin {RENAMED[words[0]]}`; use that", file=sys.stderr)
        return EXIT_BAD_INPUT
    if words and words[0].endswith(".toml"):
        print(f"error: {words[0]}: say what to do with it first: `rheotwin run {words[0]}`", file=sys.stderr)
        return EXIT_BAD_INPUT
    args = build_parser().parse_args(words)
    if getattr(args, "reproducible", False) and not same_bits.ON:
        return same_bits.start_again(arguments)
    trusted = os.environ.get(TRUST)
    if getattr(args, "trust_geometry", False):
        os.environ[TRUST] = "1"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _show_warning
            code = int(args.execute(args))
            sys.stdout.flush()
            return code
    except RheotwinError as error:
        print(f"error: {visible(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except MemoryError:
        return _unexpected("out of memory: the scene is too large for this machine; use fewer cells or frames")
    except BrokenPipeError:  # the reader of a pipe went away: not our fault, and nothing more to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BAD_INPUT
    except OSError as error:
        if error.filename is None:
            return _unexpected(f"the system says: {error.strerror or error}")
        return _unexpected(f"{error.filename}: {error.strerror}; name another path, or make this one usable")
    except Exception as error:
        text = " ".join(str(error).split())
        return _unexpected(
            f"internal error: {type(error).__name__}: {text}; please report it with the scene; "
            f"{DEBUG}=1 shows the traceback"
        )
    finally:
        if trusted is None:
            os.environ.pop(TRUST, None)


def _unexpected(sentence: str) -> int:
    """Print what nobody foresaw in one sentence, after its traceback if that is asked for."""
    if os.environ.get(DEBUG, "") not in ("", "0"):
        traceback.print_exc()
    print(f"error: {visible(sentence)}", file=sys.stderr)
    return EXIT_BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
