"""`rheotwin realtime`: how large a body of particles holds an update rate on this machine."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from rheotwin.cli.run import parse_settings
from rheotwin.errors import RheotwinError

if TYPE_CHECKING:
    from rheotwin.particles.realtime import Held

NAME = "realtime"
HELP = "find the largest truss body that holds 100 Hz, 1 kHz and 10 kHz on this machine, extras on and off"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--rates", metavar="HZ", default="100,1000,10000", help="update rates [Hz], with commas; default: %(default)s"
    )
    parser.add_argument(
        "--extras",
        choices=("off", "on", "both"),
        default="both",
        help="topology, volume, softening dashpots and a ball that presses; default: %(default)s",
    )
    parser.add_argument(
        "--most-edges", type=int, default=200_000, metavar="N", help="do not try larger bodies; default: %(default)s"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.2, metavar="S", help="time each body for about so long; default: %(default)s"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="truss.OPTION=VALUE", help="an option of the truss solver"
    )
    parser.add_argument("--json", action="store_true", help="print as JSON")
    parser.add_argument("--quiet", action="store_true", help="no remarks while it runs")


def execute(args: argparse.Namespace) -> int:
    """Time bodies of growing size and print the largest that hold each rate."""
    rates = _rates(args.rates)
    settings = parse_settings(args.set)
    settings.only_for("truss")
    if settings.scene:
        raise RheotwinError(
            f"--set {next(iter(settings.scene))}: there is no scene here; only options of the truss count"
        )
    if args.most_edges < 1 or not args.seconds > 0.0:
        raise RheotwinError("--most-edges and --seconds: must be above 0")
    from rheotwin.particles.realtime import largest_bodies

    found: list[Held] = []
    for extras in {"off": (False,), "on": (True,), "both": (False, True)}[args.extras]:
        _say(f"timing bodies with extras {'on' if extras else 'off'} …", args)
        found += largest_bodies(
            rates,
            extras=extras,
            most_edges=args.most_edges,
            seconds=args.seconds,
            options=settings.options.get("truss"),
        )
    if args.json:
        print(json.dumps([held.to_data() for held in found], indent=2))
    else:
        print(_table(found))
    return 0


def _rates(text: str) -> list[float]:
    """Read the rates [Hz]."""
    try:
        rates = [float(word) for word in text.split(",")]
    except ValueError:
        rates = []
    if not rates or not all(0.0 < rate < float("inf") for rate in rates):
        raise RheotwinError(f"--rates {text}: write rates above 0 in Hz, separated by commas, for example 100,1000")
    return rates


def _say(text: str, args: argparse.Namespace) -> None:
    if not args.quiet:
        print(text, file=sys.stderr)


def _table(found: list[Held]) -> str:
    """Return one line for each rate; the last column is the published size of Table 1.1."""
    lines = [f"{'rate':>9s}  {'extras':6s}  {'particles':>14s}  {'edges':>8s}  {'us a step':>9s}  {'published':>9s}"]
    for held in found:
        body = held.body
        size = "none" if body is None else " x ".join(str(count) for count in body.particles)
        edges = "-" if body is None else f"{'>= ' if held.limited else ''}{body.edges}"
        spent = "-" if body is None else f"{1e6 * body.step_seconds:.1f}"
        published = "-" if held.published is None else str(held.published)
        lines.append(
            f"{held.rate:>6g} Hz  {'on' if held.extras else 'off':6s}  {size:>14s}  {edges:>8s}  {spent:>9s}  "
            f"{published:>9s}"
        )
    return "\n".join(lines)
