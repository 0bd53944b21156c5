"""A session in real time: periods met without and with a page, pictures, what the server costs, from hand to picture.

The page is drawn by software in headless Chromium on the same processors, where it and `make page` are there. Limits
are for two idle cores; the load stands beside what was measured. Shares and rates are measured as limit over value, so
that more than the limit is OVER.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.side_by_side import Ratio
from rheotwin.scene import scene_from_data
from rheotwin.touch.hand import Live
from rheotwin.touch.page_files import BUNDLE, page_file
from rheotwin.touch.show import Show

CELLS = {3600: [14, 14, 15], 20_000: [26, 26, 26], 8000: [34, 34, 6]}
"""Cubes of bodies of some 3,600 and 20,000 particles, and of one of 8,000 seen triangles."""
SECONDS, PORT, MOVES = 10.0, 8917, 40


def live(cells: list[int], period: float) -> Live:
    """Return a block of cubes of one centimetre with a finger above it."""
    size = [0.01 * count for count in cells]
    body = {"shape": "box", "size": size, "cells": cells, "pattern": "five", "law": "gel", "density": 1000.0}
    law = {"model": "voigt", "young": 2e3, "poisson": 0.25, "viscosity": 2.0}
    finger = {"shape": "sphere", "center": [0.5 * size[0], 0.5 * size[1], size[2] + 0.03], "radius": 0.02}
    data: dict[str, Any] = {
        "schema": 1,
        "dimension": 3,
        "duration": 1.0,
        "laws": {"gel": law},
        "bodies": {"block": body},
    }
    data["supports"] = {"table": {"body": "block", "where": {"side": "bottom"}}}
    options = {"volume_term": False, "safety": 0.5}
    return Live(scene_from_data(data | {"tools": {"finger": finger}}), "truss", options, period=period)


@contextmanager
def running(simulation: Live) -> Iterator[Show]:
    """Run a session."""
    with tempfile.TemporaryDirectory() as folder:
        show = Show(simulation, Path(folder) / "session", pace=1.0)
        thread = Thread(target=show.loop.run, daemon=True)
        thread.start()
        try:
            yield show
        finally:
            show.loop.ended = True
            thread.join()


def closed(name: str, cells: list[int], period: float, wanted: float) -> Ratio:
    """Measure the share of periods met with nobody looking."""
    with running(live(cells, period)) as show:
        asyncio.run(asyncio.sleep(SECONDS))
    kept = show.loop.kept
    return Ratio(
        f"{name}: {wanted:g} over periods met", wanted / max(1e-9, kept.met / kept.periods), 1.0, kept.sentence()
    )


async def looked_at(show: Show) -> tuple[float, float, list[float]]:
    """Return pictures a second, the server's share of a core, and times from hand to picture [ms]."""
    from rheotwin.touch.server import Server
    from tests.touch.browser import Browser

    middle = show.live.problem.points.mean(axis=0)
    server, ready = Server(show, "127.0.0.1", PORT), asyncio.Event()
    serving = asyncio.create_task(server.serve(ready.set))
    await ready.wait()
    with tempfile.TemporaryDirectory() as profile:
        async with Browser(Path(profile) / "profile") as page:
            await page.open(server.address)
            begin, drawn = perf_counter(), await page.value("touch.drawn")
            await asyncio.sleep(SECONDS)
            rate = (await page.value("touch.drawn") - drawn) / (perf_counter() - begin)
            spent = server.seconds / max(1e-9, perf_counter() - begin)
            x, y = await page.value(f"touch.where({middle[0]}, 0, {middle[2]})")
            await page.mouse("mousePressed", x, y)
            await page.until("touch.numbers.held")
            delays = [await page.value(DELAY % (x + 9 * (k % 8), y)) for k in range(MOVES)]
            await page.mouse("mouseReleased", x, y)
    show.loop.ended = True
    await serving
    return rate, spent, [delay for delay in delays if delay is not None]


DELAY = """(() => { const view = document.getElementById("view"), old = touch.numbers["hand.x"];
  const begin = performance.now();
  view.dispatchEvent(new PointerEvent("pointermove", { pointerId: 1, clientX: %g, clientY: %g }));
  return new Promise((done) => { const look = () => {
    if (Math.abs(touch.numbers["hand.x"] - old) > 1e-5) requestAnimationFrame(() => done(performance.now() - begin));
    else if (performance.now() - begin > 1000) done(null); else setTimeout(look, 1); }; look(); }); })()"""
"""Moves the hand and waits until a picture shows it elsewhere."""


def with_a_page(cells: list[int], name: str) -> list[Ratio]:
    """Measure a session that is looked at."""
    with running(live(cells, 1e-3)) as show:
        begin = process_time()
        rate, spent, delays = asyncio.run(looked_at(show))
        busy = process_time() - begin
    met = 0.9 * show.loop.kept.periods / max(1, show.loop.kept.met)
    kept, median = show.loop.kept, float(np.median(delays)) if delays else np.inf
    return [
        Ratio(f"{name}, page open: 0.9 over periods met", met, 1.0, kept.sentence()),
        Ratio(f"{name}, page open: 30 over pictures a second", 30.0 / max(rate, 1e-9), 1.0, f"{rate:.1f} a second"),
        Ratio(f"{name}, page open: server's share of a core", spent, 0.1, f"whole process {busy:.1f} CPU s"),
        Ratio(f"{name}, page open: hand to picture, median [ms]", median, 60.0, f"{len(delays)} moves"),
    ]


def measure() -> list[Ratio]:
    """Measure everything."""
    from tests.touch.browser import CHROMIUM

    found = [closed("3,600 particles at 1 kHz", CELLS[3600], 1e-3, 0.99)]
    found += [closed("20,000 particles at 100 Hz", CELLS[20_000], 1e-2, 0.99)]
    if CHROMIUM is not None and page_file(BUNDLE):
        found += with_a_page(CELLS[3600], "3,600 particles") + with_a_page(CELLS[8000], "8,000 triangles")
    return found
