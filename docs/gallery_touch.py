"""Draw the moving picture of `rheotwin touch`: a session by a script, its page in headless Chromium, frame by frame.

`make page`, then `python docs/gallery_touch.py`.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.touch.browser import Browser  # noqa: E402

SIZE, EVERY, SECONDS, SHOWN = (960, 500), 3, 0.12, (720, 375)
SCRIPT = """time,what,x,y,z
0,tool.thumb,0,0,0
0,tool.finger,0,0,0
0.5,tool.thumb,0.024,0,0
0.5,tool.finger,-0.024,0,0
0.8,tool.thumb,0.024,0,0
0.8,tool.finger,-0.024,0,0
1.1,tool.thumb,-0.01,0,0
1.1,tool.finger,0.01,0,0
1.4,grab,0.1,0,0.06
2.0,move,0.12,-0.01,0.075
2.5,move,0.11,0.0,0.085
2.6,release
3.6,release
"""


async def frames(page: Path, folder: Path) -> list[Image.Image]:
    """Return a picture of every second frame of a page."""
    found = []
    async with Browser(folder / "profile", width=SIZE[0], height=SIZE[1]) as browser:
        await browser.open(page.as_uri())
        last = int(await browser.value("document.getElementById('slider').max"))
        for frame in range(0, last + 1, EVERY):
            drawn = await browser.value("touch.drawn")
            await browser.value(f"(slider.value = {frame}, slider.oninput(), 1)")
            await browser.until(f"touch.drawn > {drawn} + 1 || touch.version == {frame + 1} && touch.drawn > {drawn}")
            found.append(Image.open(io.BytesIO(await browser.picture())).convert("RGB"))
    return found


def main() -> None:
    """Write docs/images/touch.gif."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "path.csv").write_text(SCRIPT)
        scene, page = ROOT / "scenes" / "touch-dough-3d.toml", folder / "page.html"
        words = ["--script", folder / "path.csv", "--output", folder / "session", "--page", page]
        subprocess.run([sys.executable, "-m", "rheotwin", "touch", scene, *words], check=True)
        drawn = asyncio.run(frames(page, folder))
    small = [image.resize(SHOWN) for image in drawn]
    colours = small[len(small) // 2].quantize(64, dither=Image.Dither.NONE)
    few = [image.quantize(palette=colours, dither=Image.Dither.NONE) for image in small]
    target = ROOT / "docs" / "images" / "touch.gif"
    few[0].save(target, save_all=True, append_images=few[1:], duration=int(1e3 * SECONDS), loop=0, optimize=True)
    print(target, target.stat().st_size)


if __name__ == "__main__":
    main()
