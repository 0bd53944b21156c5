"""`rheotwin validate`: compute every reference number and baseline anew and hold it against what it should be."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rheotwin import executor
from rheotwin.cli.run import add_reproducible_argument
from rheotwin.errors import EXIT_OK, RheotwinError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rheotwin.validation.checks.check import Check
    from rheotwin.validation.checks.outcome import Verification
    from rheotwin.validation.checks.registry import Selection

NAME = "validate"
HELP = "check the solvers against reference numbers, closed forms and baselines (table, report, JSON, JUnit XML)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    choice = parser.add_argument_group("which checks", "Lists may be given several times.")
    choice.add_argument(
        "--select", action="append", metavar="IDS", help="ids, names or patterns, e.g. R7,fem.R1*,truss.*; default: all"
    )
    choice.add_argument(
        "--tag",
        action="append",
        metavar="TAGS",
        help="specification, theme or kind, e.g. circuit,contact,exact,baseline",
    )
    choice.add_argument(
        "--solver", action="append", metavar="NAMES", help="checks that run one of these solvers, e.g. truss"
    )
    choice.add_argument("--quick", action="store_true", help="only checks that take about a second or less")
    choice.add_argument(
        "--baselines", type=Path, metavar="DIR", help="folder of your baselines; default: the built-in ones"
    )
    parser.add_argument("--list", action="store_true", help="list the checks without running them")
    parser.add_argument("--executor", default="lanes", help=executor.HELP)
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write report.html, validate.json, junit.xml, summary.md, plots"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier validation in the folder")
    parser.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        help="keep the finished checks of the folder if version, catalogue and baselines are the same",
    )
    add_reproducible_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no remarks while it runs")
    bless = parser.add_argument_group("baselines")
    bless.add_argument("--bless", metavar="IDS", help="measure baselines anew and write their values; needs --reason")
    bless.add_argument("--reason", default="", metavar="TEXT", help="why the values may change; kept in the baseline")
    bless.add_argument("--yes", action="store_true", help="bless several baselines at once")


def execute(args: argparse.Namespace) -> int:
    """List, bless or run; 0 if all hold, 1 if one falls short, 2 if one could not run or nothing was selected."""
    if args.bless is not None:
        return _bless(args)
    if args.reason or args.yes:
        raise RheotwinError("--reason and --yes belong to --bless; name the baselines to bless, or leave them out")
    from rheotwin.validation.baselines import BUILT_IN
    from rheotwin.validation.checks import registry
    from rheotwin.validation.checks.registry import selected
    from rheotwin.validation.checks.texts import print_list, print_table

    if args.go_on and args.output is None:
        raise RheotwinError("--continue: name the folder to go on with, --output FOLDER")
    everything = registry.all_checks() if args.baselines is None else registry.all_checks(args.baselines)
    checks = selected(everything, _selection(args))
    if args.list:
        print_list(checks, as_json=args.json)
        return EXIT_OK
    if args.output is not None:
        from rheotwin.validation.checks.folder import refuse_existing

        refuse_existing(args.output, overwrite=args.overwrite, go_on=args.go_on)
    verification = _run(args, everything, checks, args.baselines or BUILT_IN)
    if args.json:
        print(json.dumps(verification.to_data(), indent=2))
    else:
        print_table(verification)
    if args.output is not None:
        from rheotwin.validation.checks.folder import write_validation

        report = write_validation(args.output, verification)
        print(f"report: {report}", file=sys.stderr if args.json else sys.stdout)
    return verification.exit_code


def _selection(args: argparse.Namespace) -> Selection:
    from rheotwin.validation.checks.registry import Selection

    return Selection(
        _words(args.select, "--select"), _words(args.tag, "--tag"), _words(args.solver, "--solver"), args.quick
    )


def _words(lists: list[str] | None, flag: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in ",".join(lists or ()).split(",") if word.strip())
    if lists is not None and not words:
        raise RheotwinError(f"{flag}: the selection is empty; name at least one, or leave {flag} out")
    return words


def _run(
    args: argparse.Namespace, everything: Iterable[Check], checks: tuple[Check, ...], baselines: Path
) -> Verification:
    """Run the checks, keeping each result in the output folder as soon as it is there."""
    from rheotwin.validation.baselines import digest
    from rheotwin.validation.checks import outcome
    from rheotwin.validation.checks.outcome import Result, coverage
    from rheotwin.validation.checks.registry import verify
    from rheotwin.validation.references import catalogue

    folder: Path | None = args.output
    agreed = outcome.key(digest(baselines))
    known = outcome.kept(folder, agreed) if folder is not None and args.go_on else {}
    finished = [check.name for check in checks if check.name in known]

    def note(result: Result) -> None:
        finished.append(result.name)
        if folder is not None:
            outcome.keep(folder, result, agreed)

    if folder is not None and not args.go_on:
        outcome.clear(folder)
    if finished and not args.quiet:
        print(f"{len(finished)} of {len(checks)} checks are kept", file=sys.stderr)
    try:
        with executor.opened(args.executor) as workers:
            return verify(
                checks,
                watch=(lambda check: None) if args.quiet else _announce,
                kept=known,
                note=note,
                workers=workers,
                baselines=args.baselines,
                coverage=coverage(catalogue(), everything),
            )
    except KeyboardInterrupt:
        if folder is not None:
            print(
                f"{len(finished)} of {len(checks)} checks are finished; give the same command with --continue to go on",
                file=sys.stderr,
            )
        raise


def _bless(args: argparse.Namespace) -> int:
    """Bless the baselines named; several at once only when that is confirmed."""
    from rheotwin.validation.baselines import BUILT_IN, bless, load_baselines

    known = load_baselines(args.baselines or BUILT_IN)
    words = _words([args.bless], "--bless")
    if len(words) > 1 and not args.yes:
        raise RheotwinError(f"--bless: {len(words)} baselines would change; bless one at a time, or confirm with --yes")
    for word in words:
        old = {value.name: value.value for value in known[word].values} if word in known else {}
        changed = bless(known, word, reason=args.reason, date=datetime.now(UTC).date().isoformat())
        print(f"{changed.path}: blessed")
        for value in changed.values:
            before = f" (was {old[value.name]:.8g})" if value.name in old else ""
            print(f"  {value.name} = {value.value:.8g} {value.unit}{before}, tolerance {value.tolerance:.2g}")
    return EXIT_OK


def _announce(check: Check) -> None:
    """Say on a terminal what is being computed; the line is overwritten by the next one."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{check.reference} {check.title}", end="\r", file=sys.stderr, flush=True)
