"""Check types on the installed package and assert that mypy really looked at every module."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def expected_modules() -> int:
    """Count the modules of every package that pyproject.toml lists."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    homes = tool["package-dir"]
    count = 0
    for package in tool["packages"]:
        parent = max((p for p in homes if package == p or package.startswith(p + ".")), key=len)
        folder = ROOT / homes[parent] / package.removeprefix(parent).lstrip(".").replace(".", "/")
        count += len(list(folder.glob("*.py")))
    return count


def main() -> int:
    """Run mypy away from the checkout, so that only the installed package can be found."""
    with tempfile.TemporaryDirectory() as elsewhere:
        command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
        command += ["--no-namespace-packages", "-p", "rheotwin"]
        done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="", end="")
    if done.returncode:
        return done.returncode
    found = re.search(r"(\d+) source files", done.stdout)
    checked, wanted = int(found.group(1)) if found else 0, expected_modules()
    if checked != wanted:
        print(f"types: mypy checked {checked} files but the packages hold {wanted}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
