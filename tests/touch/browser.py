"""A headless Chromium led over its DevTools protocol: as much as a test of the page needs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--remote-debugging-port=0"]
PATIENCE = 60.0


class Browser:
    """One page of a browser; `faults` are exceptions and refused requests."""

    def __init__(self, profile: Path, *, width: int = 1280, height: int = 800) -> None:
        self._profile, self._size, self._number = profile, (width, height), 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self.faults: list[str] = []

    async def __aenter__(self) -> Browser:
        log = self._profile.with_suffix(".log")
        with log.open("w") as file:
            command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
            self._process = subprocess.Popen(command, stderr=file, stdout=file, start_new_session=True)
        for _ in range(int(10 * PATIENCE)):
            if found := re.search(r"ws://([\d.]+:\d+)/", log.read_text()):
                break
            await asyncio.sleep(0.1)
        self._http = aiohttp.ClientSession()
        async with self._http.get(f"http://{found[1]}/json") as answer:
            page = next(item for item in await answer.json() if item["type"] == "page")
        self._socket = await self._http.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0)
        self._listening = asyncio.create_task(self._listen())
        width, height = self._size
        for domain in ("Runtime", "Log", "Page"):
            await self.call(f"{domain}.enable")
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._listening.cancel()
        await self._socket.close()
        await self._http.close()
        os.killpg(self._process.pid, 9)  # a group of our own
        self._process.wait()

    async def _listen(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                self._answers.pop(told["id"]).set_result(told)
            elif told["method"] in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.faults.append(json.dumps(told["params"])[:500])

    async def call(self, method: str, **values: Any) -> Any:
        """Carry out a command of the protocol."""
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": values})
        told = await asyncio.wait_for(answer, PATIENCE)
        assert "error" not in told, told
        return told["result"]

    async def open(self, address: str) -> None:
        """Go to an address and wait for the first picture."""
        await self.call("Page.navigate", url=address)
        await self.until("window.touch && touch.ready")

    async def value(self, expression: str) -> Any:
        """Return what an expression is in the page."""
        whole = f"Promise.resolve({expression}).then((found) => JSON.stringify(found))"
        told = await self.call("Runtime.evaluate", expression=whole, awaitPromise=True)
        text = told["result"].get("value")
        return None if text is None else json.loads(text)

    async def until(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        for _ in range(int(20 * PATIENCE)):
            if await self.value(f"!!({expression})"):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {expression}; {self.faults}")

    async def mouse(self, kind: str, x: float, y: float) -> None:
        """Press, move or release ("mousePressed", "mouseMoved", "mouseReleased")."""
        down = int(kind != "mouseReleased")
        await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=down, clickCount=1)

    async def picture(self, path: Path | None = None) -> bytes:
        """Return a screenshot as PNG, and keep it."""
        found = b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])
        if path is not None:
            path.write_bytes(found)
        return found
