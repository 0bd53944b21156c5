"""Assert that `rheotwin` is the installed wheel and not the checkout, and that it is the wheel just built."""

from __future__ import annotations

import sys
import sysconfig
import zipfile
from pathlib import Path

import rheotwin

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Compare the installed files with the wheel in dist/, byte for byte."""
    home = Path(rheotwin.__file__).resolve().parent
    site = Path(sysconfig.get_paths()["purelib"]).resolve()
    if site not in home.parents:
        print(f"installed: rheotwin was imported from {home}, not from {site}", file=sys.stderr)
        return 1
    (wheel,) = (ROOT / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("rheotwin/")]
        stale = [name for name in names if (site / name).read_bytes() != archive.read(name)]
    if stale or len(names) < 100:
        print(f"installed: differs from the wheel just built: {stale[:5] or names}", file=sys.stderr)
        return 1
    print(f"installed: {len(names)} files of {wheel.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
