"""`rheotwin verify`: compute the reference numbers of the specification anew and hold them against it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rheotwin.validation.verify.check import Check

NAME = "verify"
HELP = "check the finite-element solver against closed forms and reference numbers (table, report)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--select", metavar="IDS", help="comma-separated ids or names, e.g. R7,R8,T9; default: all")
    parser.add_argument("--quick", action="store_true", help="only checks that take about a second or less")
    parser.add_argument("--list", action="store_true", help="list the checks without running them")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write report.html, verify.json and plots there")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier verification in the folder")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no remarks while it runs")


def execute(args: argparse.Namespace) -> int:
    """List or run the selected checks; 0 if all hold, 1 if one falls short, 2 if one could not run."""
    from rheotwin.validation.verify.registry import all_checks
    from rheotwin.validation.verify.suite import chosen, verify
    from rheotwin.validation.verify.table import print_list, print_table

    words = [word.strip() for word in (args.select or "").split(",") if word.strip()]
    checks = chosen(all_checks(), select=words, quick=args.quick)
    if args.list:
        print_list(checks, as_json=args.json)
        return 0
    if args.output is not None:
        from rheotwin.validation.verify.folder import refuse_existing

        refuse_existing(args.output, overwrite=args.overwrite)
    verification = verify(checks, watch=_say_nothing if args.quiet else _announce)
    if args.json:
        print(json.dumps(verification.to_data(), indent=2))
    else:
        print_table(verification)
    if args.output is not None:
        from rheotwin.validation.verify.folder import write_verification

        report = write_verification(args.output, verification, overwrite=args.overwrite)
        print(f"report: {report}", file=sys.stderr if args.json else sys.stdout)
    return verification.exit_code


def _announce(check: Check) -> None:
    """Say on a terminal what is being computed; the line is overwritten by the next one."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{check.reference} {check.title}", end="\r", file=sys.stderr, flush=True)


def _say_nothing(check: Check) -> None:
    """Stay silent."""
