"""`rheotwin touch`: push a body by hand in real time, see the force, keep the session as a scene."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rheotwin.cli.run import add_quiet_arguments, add_set_argument, parse_settings
from rheotwin.errors import EXIT_DIVERGED, EXIT_FALLS_SHORT, EXIT_OK, RheotwinError

if TYPE_CHECKING:
    from threading import Thread

    from rheotwin.touch.hand import Live
    from rheotwin.touch.loop import Loop
    from rheotwin.touch.show import Show

NAME = "touch"
HELP = "push a body by hand in real time, in a browser or by a script, and keep the session as a scene"
SLOW_SOLVER = "fem"
"""It looks at the whole step at every call, and is led less often."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scene", type=Path, help="scene file (TOML); with --replay alone a session's folder")
    parser.add_argument("--solver", default="truss", help="what moves the body; default: %(default)s")
    parser.add_argument("--case", help="which case of the scene; default: the first")
    parser.add_argument("--against", metavar="SOLVER", help="show the same hand on a second body, at its own pace")
    parser.add_argument("--period", type=float, metavar="S", help="period of the hand [s]; default: 0.001, fem 0.01")
    parser.add_argument("--pace", type=float, default=1.0, help="speed against the clock; default: %(default)s")
    parser.add_argument("--script", type=Path, metavar="CSV", help="lead the hand by a file (time,what,x,y,z) headless")
    parser.add_argument("--replay", action="store_true", help="repeat the session from its scene and compare the bits")
    parser.add_argument("--desktop", action="store_true", help="show it in a window of pyvista, without a browser")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve the page on; default: %(default)s")
    parser.add_argument("--port", type=int, default=8765, help="port of the page; default: %(default)s")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="session folder; default: runs/touch-SCENE")
    parser.add_argument(
        "--page",
        type=Path,
        metavar="HTML",
        help="write a session that was kept or scripted as one page to look at offline",
    )
    add_set_argument(parser)
    add_quiet_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Touch, or repeat what was touched."""
    if (args.replay or (args.page is not None and args.scene.is_dir())) and args.script is None:
        folder = args.scene if args.scene.is_dir() else args.scene.parent
        return _replay(folder, args)
    live = _live(args)
    folder = args.output or Path("runs") / f"touch-{args.scene.stem}"
    if args.script is not None:
        return _by_script(live, folder, args)
    return _show(live, folder, args)


def _show(live: Live, folder: Path, args: argparse.Namespace) -> int:
    """Serve the page, or open a window, until it is closed or ctrl-C is pressed; keep the session."""
    from threading import Thread

    from rheotwin.touch.beside import Beside
    from rheotwin.touch.show import Show

    options = parse_settings(args.set).options
    beside = None if args.against is None else Beside(live, live.scene, args.against, options.get(args.against, {}))
    show = Show(live, folder, pace=args.pace, beside=beside)
    thread = Thread(target=show.loop.run, daemon=True)
    front = _desktop if args.desktop else _page
    try:
        front(show, thread, args)
    except KeyboardInterrupt:
        pass
    finally:
        show.loop.ended = True
        if beside is not None:
            beside.ended = True
        if thread.ident is not None:
            thread.join(timeout=5.0)
    if show.live.row:
        keep(show.loop, folder, args)
        if not args.quiet:
            print(show.loop.kept.sentence())
    if show.loop.message:
        print(show.loop.message, file=sys.stderr)
    return EXIT_DIVERGED if show.loop.diverged else EXIT_OK


def _page(show: Show, thread: Thread, args: argparse.Namespace) -> None:
    """Serve the page."""
    import asyncio

    try:
        from rheotwin.touch.server import Server
    except ModuleNotFoundError as error:
        raise RheotwinError('touch: the page needs aiohttp; install it with: pip install "rheotwin[touch]"') from error
    server = Server(show, args.host, args.port)

    def ready() -> None:
        _start(show, thread)
        print(f"open {server.address}", flush=True)
        if not args.no_browser:
            import webbrowser

            webbrowser.open(server.address)

    asyncio.run(server.serve(ready))


def _desktop(show: Show, thread: Thread, args: argparse.Namespace) -> None:
    """Show a window of pyvista."""
    from rheotwin.touch.desktop import open_window

    open_window(show, lambda: _start(show, thread))


def _start(show: Show, thread: Thread) -> None:
    """Let the bodies go."""
    thread.start()
    if show.beside is not None:
        show.beside.start()


def _live(args: argparse.Namespace) -> Live:
    """Make the scene ready for a hand."""
    from rheotwin.scene import load_scene
    from rheotwin.touch.hand import Live

    period = args.period if args.period is not None else 1e-2 if args.solver == SLOW_SOLVER else 1e-3
    if not 1e-5 <= period <= 0.1:
        raise RheotwinError(f"--period {period:g}: choose between 1e-5 and 0.1 s")
    if not 0.0 < args.pace <= 100.0:
        raise RheotwinError(f"--pace {args.pace:g}: choose above 0, at most 100")
    settings = parse_settings(args.set)
    settings.only_for(args.solver, *([args.against] if args.against else []))
    scene = load_scene(args.scene, settings.scene)
    return Live(scene, args.solver, settings.options.get(args.solver, {}), period=period, case=args.case)


def _by_script(live: Live, folder: Path, args: argparse.Namespace) -> int:
    """Lead the hand by a file, as fast as it goes."""
    from rheotwin.touch.loop import Loop
    from rheotwin.touch.script import read_script

    script = read_script(args.script, live)
    loop = Loop(live, script, pace=None)
    loop.run(script.end)
    keep(loop, folder, args)
    if loop.message:
        print(loop.message, file=sys.stderr)
        return EXIT_DIVERGED
    return _replay(folder, args) if args.replay or args.page is not None else EXIT_OK


def keep(loop: Loop, folder: Path, args: argparse.Namespace) -> None:
    """Write the session and say where."""
    from rheotwin.touch.session import save_session

    about = {} if loop.pace is None else {"kept": loop.kept.to_data()}
    save_session(loop.live, folder, loop.forces, about)
    if not args.quiet:
        print(f"session: {folder} ({loop.live.time:g} s); repeat it with: rheotwin touch {folder} --replay")


def _replay(folder: Path, args: argparse.Namespace) -> int:
    """Repeat a session and say whether it is the same."""
    from rheotwin.touch.session import replay

    record = folder / "record"
    found = replay(folder, record)
    if args.page is not None:
        from rheotwin.record import open_record
        from rheotwin.touch.recorded import write_page

        if not (record / "manifest.json").exists():
            raise RheotwinError("--page: a session whose law was changed on the way leaves no record; it is not drawn")
        write_page(open_record(record), args.page)
        print(args.page)
    if args.json:
        print(json.dumps(found.__dict__))
    elif found.same:
        print(f"repeated bit for bit; forces at {found.times} times missed by at most {found.miss:g} N")
    else:
        print(f"not the same: the last state has other bits, forces miss by up to {found.miss:g} N", file=sys.stderr)
    return EXIT_OK if found.same else EXIT_FALLS_SHORT
