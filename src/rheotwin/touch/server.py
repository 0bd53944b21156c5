"""The page of a session over a local address: who may see it, who has the hand, and pictures that nobody waits for.

A token in the address sets a cookie; the socket wants that cookie and an origin of its own. A front end acknowledges
every picture, and is sent the newest after that: a slow line sees fewer of them, and the physics waits for none.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from struct import unpack
from typing import Any

import numpy as np
from aiohttp import WSMsgType, web

from rheotwin.errors import RheotwinError
from rheotwin.touch.page_files import BUNDLE, page_file
from rheotwin.touch.show import Show, text

COOKIE = "rheotwin-touch"
MOST_CLIENTS, MOST_BYTES, MOST_A_SECOND = 20, 2048, 400
"""Viewers of a session; bytes of a message and messages a second beyond which a front end is sent away."""
PICTURES_A_SECOND = 60.0
PATIENCE = 20.0
"""A front end that takes no picture for so long [s] is gone."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; frame-ancestors 'self'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Viewer:
    """One front end: its socket, the last picture it has acknowledged, and how much it says."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket, self.sent, self.acknowledged = socket, -1, -1
        self.said, self.since = 0, 0.0

    def floods(self, now: float) -> bool:
        """Count a message; tell whether there are too many in this second."""
        if now - self.since > 1.0:
            self.said, self.since = 0, now
        self.said += 1
        return self.said > MOST_A_SECOND


class Server:
    """Serves one session; what it shows is made in the thread of the loop."""

    def __init__(self, show: Show, host: str, port: int, token: str | None = None) -> None:
        self.show, self.host, self.port = show, host, port
        self.token = token or secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(24)
        self.viewers: set[Viewer] = set()
        self.owner: Viewer | None = None
        self._tool: int | None = None
        self._plane: tuple[Any, ...] = ()
        self.pictures, self.seconds = 0, 0.0

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return f"http://{self.host}:{self.port}/?token={self.token}"

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until the loop ends; `ready` is called once the port is ours."""
        page_file(BUNDLE)
        app = web.Application()
        app.add_routes(
            [web.get("/", self._index), web.get(f"/{BUNDLE}", self._bundle), web.get("/socket", self._socket)]
        )
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self.host, self.port, reuse_address=True)
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise RheotwinError(
                f"--port {self.port}: {self.host} does not give it ({error.strerror}); choose another port"
            ) from None
        ready()
        try:
            while not self.show.loop.ended:
                await asyncio.sleep(0.1)
        finally:
            await runner.cleanup()

    # -- who may see it -----------------------------------------------------------------------------------------------

    def _known(self, request: web.Request) -> bool:
        return secrets.compare_digest(request.cookies.get(COOKIE, "").encode(), self._cookie.encode())

    async def _index(self, request: web.Request) -> web.Response:
        token = request.query.get("token")
        if token is not None and secrets.compare_digest(token.encode(), self.token.encode()):
            answer = web.Response(status=303, headers={**HEADERS, "Location": "/"})
            answer.set_cookie(COOKIE, self._cookie, httponly=True, samesite="Strict", path="/")
            return answer
        if not self._known(request):
            return web.Response(status=403, text="Open the whole address that `rheotwin touch` has printed.")
        return web.Response(body=page_file("index.html"), content_type="text/html", charset="utf-8", headers=HEADERS)

    async def _bundle(self, request: web.Request) -> web.Response:
        if not self._known(request):
            return web.Response(status=403, text="no")
        return web.Response(body=page_file(BUNDLE), content_type="text/javascript", headers=HEADERS)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        own = {f"http://{request.host}", f"https://{request.host}"}
        if not self._known(request) or request.headers.get("Origin") not in own:
            return web.Response(status=403, text="no")
        if len(self.viewers) >= MOST_CLIENTS:
            return web.Response(status=503, text="too many viewers")
        socket = web.WebSocketResponse(heartbeat=PATIENCE, max_msg_size=MOST_BYTES, compress=False)
        await socket.prepare(request)
        viewer = Viewer(socket)
        self.viewers.add(viewer)
        sending = asyncio.create_task(self._send(viewer))
        try:
            await socket.send_str(text(self.show))
            async for message in socket:
                if viewer.floods(asyncio.get_running_loop().time()):
                    await socket.close(message=b"too many messages")
                    break
                with suppress(ValueError, TypeError, KeyError):
                    if message.type == WSMsgType.BINARY:
                        self._moved(viewer, message.data)
                    elif message.type == WSMsgType.TEXT:
                        await self._told(viewer, json.loads(message.data))
        finally:
            sending.cancel()
            self.viewers.discard(viewer)
            if self.owner is viewer:
                self._let_go()
        return socket

    # -- pictures -----------------------------------------------------------------------------------------------------

    async def _send(self, viewer: Viewer) -> None:
        """Send the newest picture whenever the last one has been acknowledged."""
        clock, live, told = asyncio.get_running_loop().time, self.show.live, ("", "")
        with suppress(ConnectionError, asyncio.TimeoutError):
            while not viewer.socket.closed:
                begin = clock()
                version = self.show.version
                if version > viewer.sent and viewer.acknowledged >= viewer.sent:
                    viewer.sent = int(version)
                    self.pictures += 1
                    await asyncio.wait_for(viewer.socket.send_bytes(self.show.picture()), PATIENCE)
                    self.seconds += clock() - begin
                now = (self.show.loop.message, self.show.saved)
                if now != told or self.show.live is not live:
                    told, live = now, self.show.live
                    await asyncio.wait_for(
                        viewer.socket.send_str(json.dumps({"message": told[0], "saved": told[1]})), PATIENCE
                    )
                await asyncio.sleep(max(0.001, 1.0 / PICTURES_A_SECOND - (clock() - begin)))
        if not viewer.socket.closed:
            await viewer.socket.close()

    # -- the hand -----------------------------------------------------------------------------------------------------

    async def _told(self, viewer: Viewer, order: dict[str, Any]) -> None:
        if "seen" in order:
            viewer.acknowledged = max(viewer.acknowledged, min(int(order["seen"]), viewer.sent))
        elif "press" in order:
            await self._press(viewer, order["press"])
        elif "release" in order:
            if self.owner is viewer:
                self._let_go()
        elif "do" in order:
            self.show.do(str(order["do"]), order.get("value"))

    async def _press(self, viewer: Viewer, press: dict[str, Any]) -> None:
        """Give the hand to who presses first: a face, or a tool, where it was hit, and where the camera looks."""
        if self.owner not in (None, viewer):
            await viewer.socket.send_str(
                json.dumps({"message": "another viewer has the hand", "saved": self.show.saved})
            )
            return
        hit, view = np.array(press["hit"], float), np.array(press["view"], float)
        if hit.shape != (3,) or view.shape != (3,) or not np.isfinite([*hit, *view]).all():
            return
        self.owner, self._tool = viewer, None
        if "tool" in press:
            self._tool = int(press["tool"])
            start = np.zeros(3)
            for tool in self.show.live.tools:
                if tool.row == self._tool:
                    start = self.show.live.poses(tool)[-1][:3]
            self._plane = (hit, view, start)
        else:
            self._plane = (hit, view, np.zeros(3))
            self.show.press_body(int(press["face"]), hit)

    def _moved(self, viewer: Viewer, data: bytes) -> None:
        """Bring the hand onto the plane through the hit that faces the camera: h = o + d ((s - o).D)/(d.D)."""
        if viewer is not self.owner or len(data) != 48 or not self._plane:
            return
        ray = np.array(unpack("<6d", data))
        (hit, view, start), origin, direction = self._plane, ray[:3], ray[3:]
        along = float(direction @ view)
        if not np.isfinite(ray).all() or abs(along) < 1e-9:
            return
        place = origin + direction * (float((hit - origin) @ view) / along)
        if self._tool is None:
            self.show.lead(place)
        else:
            self.show.lead_tool(self._tool, start + place - hit)

    def _let_go(self) -> None:
        self.owner = None
        if self._tool is None:
            self.show.release()
        self._tool, self._plane = None, ()
