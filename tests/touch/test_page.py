"""The page of a session: who may see it, whom the hand obeys, and the real page in a headless browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.scene import scene_from_data
from rheotwin.touch.beside import Beside
from rheotwin.touch.hand import Live
from rheotwin.touch.session import FORCES, replay
from rheotwin.touch.show import Show
from tests.touch.test_session import block

aiohttp = pytest.importorskip("aiohttp")

from rheotwin.touch import server as serving  # noqa: E402
from rheotwin.touch.server import Server  # noqa: E402
from tests.touch.browser import CHROMIUM, Browser  # noqa: E402

Talk = Callable[[Server, aiohttp.ClientSession], Coroutine[Any, Any, None]]
BUNDLE = Path(serving.__file__).parent / "page" / "bundle.js"
in_browser = pytest.mark.skipif(CHROMIUM is None or not BUNDLE.exists(), reason="needs Chromium and `make page`")


@asynccontextmanager
async def served(port: int, *, against: str | None = None) -> AsyncIterator[Server]:
    """A session on a port, until the block ends."""
    live = Live(scene_from_data(block()), "truss", {}, period=1e-3)
    beside = None if against is None else Beside(live, live.scene, against, {})
    show = Show(live, Path("session"), pace=1.0, beside=beside)
    thread, server, ready = Thread(target=show.loop.run, daemon=True), Server(show, "127.0.0.1", port), asyncio.Event()
    if beside is not None:
        beside.start()

    def begin() -> None:
        thread.start()
        ready.set()

    serves = asyncio.create_task(server.serve(begin))
    await asyncio.wait([serves, asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
    try:
        yield server
    finally:
        show.loop.ended = True
        await serves
        thread.join()
        if beside is not None:
            beside.ended = True


@pytest.fixture
def bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a server start where the page has not been built."""
    real = serving.page_file
    monkeypatch.setattr(serving, "page_file", lambda name: b"" if name == serving.BUNDLE else real(name))


def talk(work: Talk, port: int, **more: Any) -> None:
    """Serve a session and let a client work with it."""

    async def all_of_it() -> None:
        async with (
            served(port, **more) as server,
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client,
        ):
            await asyncio.wait_for(work(server, client), 60.0)

    asyncio.run(all_of_it())


async def entered(server: Server, client: aiohttp.ClientSession) -> Any:
    """Open the address, then the socket; return it behind the words of the scene."""
    async with client.get(server.address) as answer:
        assert answer.status == 200 and answer.url.query_string == ""
    socket = await client.ws_connect(f"http://127.0.0.1:{server.port}/socket", origin=f"http://127.0.0.1:{server.port}")
    told = json.loads((await socket.receive()).data)
    assert told["scene"]["forces"][0].startswith("tool.finger")
    return socket


async def picture(socket: Any, words: str | None = None) -> Any:
    """Return the numbers of the next picture, and acknowledge it; with `words` wait until they are said."""
    while True:
        message = await asyncio.wait_for(socket.receive(), 20.0)
        if words is not None and message.type == aiohttp.WSMsgType.TEXT and words in message.data:
            return None
        if message.type == aiohttp.WSMsgType.BINARY:
            head = np.frombuffer(message.data[:32])
            await socket.send_str(json.dumps({"seen": head[0]}))
            if words is None:
                return np.frombuffer(message.data[32 : 32 + 8 * int(head[1])])


def test_only_who_has_the_token_and_comes_from_the_page_is_let_in(bundle: None) -> None:
    async def work(server: Server, client: aiohttp.ClientSession) -> None:
        root = f"http://127.0.0.1:{server.port}"
        for path in ("/", "/?token=wrong", "/bundle.js", "/socket", "/../pyproject.toml"):
            async with client.get(root + path) as answer:
                assert answer.status in (403, 404), path
        async with client.get(server.address, allow_redirects=False) as answer:
            cookie = answer.headers["Set-Cookie"]
            assert answer.status == 303 and "HttpOnly" in cookie and "SameSite=Strict" in cookie
            assert server.token not in cookie
        for origin in (None, "http://elsewhere.example", f"http://localhost:{server.port}"):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await client.ws_connect(root + "/socket", origin=origin)
        await (await entered(server, client)).close()

    talk(work, 8901)


def test_of_ten_viewers_one_has_the_hand_and_those_that_vanish_disturb_nobody(bundle: None) -> None:
    async def work(server: Server, client: aiohttp.ClientSession) -> None:
        sockets = [await entered(server, client) for _ in range(10)]
        first, second = sockets[:2]
        press = {"press": {"face": 0, "hit": [0.05, 0.05, 0.06], "view": [0.0, 1.0, 0.0]}}
        await first.send_str(json.dumps(press))
        while (await picture(first))[5] == 0.0:
            pass
        await second.send_str(json.dumps(press))
        await picture(second, "another viewer has the hand")
        for bad in ("[", "{}", '{"seen": "x"}', '{"press": {"face": -1}}', '{"do": "law", "value": [1, 2, 3]}', "[1]"):
            await second.send_str(bad)
        await second.send_bytes(b"x" * 48)
        for socket in (first, *sockets[3:]):
            socket._response.connection.transport.abort()  # vanishes without a word
        while (await picture(second))[5] == 1.0:  # the hand of who has vanished lets go
            pass
        await second.send_str(json.dumps(press))
        while (await picture(second))[5] == 0.0:
            pass
        before = server.show.live.row
        for _ in range(3 * serving.MOST_A_SECOND):
            await sockets[2].send_str("{}")
        while not sockets[2].closed:
            await sockets[2].receive()
        assert len(server.viewers) <= 2
        while server.show.live.row <= before:  # the physics goes on
            await picture(second)

    talk(work, 8902)


def test_who_reads_nothing_gets_no_more_than_one_picture(bundle: None) -> None:
    async def work(server: Server, client: aiohttp.ClientSession) -> None:
        socket = await entered(server, client)
        while server.show.live.time < 0.5:
            await asyncio.sleep(0.01)
        assert server.pictures == 1
        older = (await picture(socket))[0]
        assert (await picture(socket))[0] > older + 0.3  # what lay between was dropped

    talk(work, 8903)


def test_a_law_changes_on_the_way_and_both_parts_repeat(bundle: None) -> None:
    async def work(server: Server, client: aiohttp.ClientSession) -> None:
        socket = await entered(server, client)
        press = {"press": {"face": 0, "hit": [0.05, 0.05, 0.06], "view": [0.0, 1.0, 0.0]}}
        await socket.send_str(json.dumps(press))
        await socket.send_bytes(np.array([0.0, -1.0, 0.07, 0.08, 1.0, 0.0]).tobytes())
        while (await picture(socket))[0] < 0.1:
            pass
        await socket.send_str(json.dumps({"do": "law", "value": ["stuff", "young", 8e4]}))
        await socket.send_str(json.dumps({"do": "law", "value": ["stuff", "young", -1.0]}))
        while server.show.parts == 1:
            changed = (await picture(socket))[0]
        while (await picture(socket))[0] < changed + 0.2:
            pass
        await socket.send_str(json.dumps({"do": "save"}))
        while not server.show.saved:
            await picture(socket)
        assert server.show.live.scene.laws["stuff"].young == 8e4

    talk(work, 8904)
    for folder in ("session-1", "session"):
        found = replay(Path(folder), Path("record"))
        assert found.same and found.miss == 0.0 and found.times >= 5, folder


def test_a_taken_port_and_a_missing_page_are_said(bundle: None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(server: Server, client: aiohttp.ClientSession) -> None:
        with pytest.raises(RheotwinError, match=r"--port 8905: .*; choose another port"):
            await Server(server.show, "127.0.0.1", 8905).serve(lambda: None)

    talk(work, 8905)
    monkeypatch.undo()
    with pytest.raises(RheotwinError, match=r"touch: this installation has no page; build it with node: `make page`"):
        serving.page_file("no.js")


@pytest.mark.browser
@in_browser
@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_the_real_page_drags_shows_and_keeps_what_replays(width: int, tmp_path: Path) -> None:
    height = 800 if width > 600 else 844

    async def work() -> None:
        against = "local-shape" if width > 600 else None
        async with (
            served(8906, against=against) as server,
            Browser(tmp_path / "profile", width=width, height=height) as page,
        ):
            await page.open(server.address)
            still = await page.picture(tmp_path / "still.png")
            x, y = await page.value("touch.where(0.05, 0, 0.03)")
            await page.mouse("mousePressed", x, y)
            await page.until("touch.numbers.held")
            for k in range(1, 20):
                await page.mouse("mouseMoved", x + 3 * k, y - 2 * k)
            await page.until("touch.numbers.indentation > 0.002 && Math.hypot(...touch.numbers.forces) > 0.02")
            assert await page.picture(tmp_path / "dragged.png") != still
            if width > 600:
                await page.until("/force on hand\\s*[\\d.]*[1-9]/.test(document.getElementById('values').textContent)")
                assert await page.value("touch.numbers.others.length") == 6
            else:
                assert await page.value("[...document.querySelectorAll('details')].every((panel) => !panel.open)")
                assert await page.value("document.documentElement.scrollWidth <= innerWidth")
            await page.mouse("mouseReleased", x + 60, y - 40)
            await page.until("!touch.numbers.held")
            await page.value("[...document.querySelectorAll('button')].pop().click() ?? 1")
            await page.until("/kept in/.test(document.getElementById('message').textContent)")
            shown = await page.value("touch.seen")
            assert page.faults == []
            seen = dict(shown)
        rows = np.loadtxt(Path("session") / FORCES, delimiter=",", skiprows=1)
        both = [(row[1:], seen[row[0]]) for row in rows if row[0] in seen]
        assert len(both) > 5
        assert max(np.abs(row - forces).max() for row, forces in both) <= 1e-12

    asyncio.run(work())
    found = replay(Path("session"), Path("record"))
    assert found.same and found.miss == 0.0
