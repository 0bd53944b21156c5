"""Small wrong changes, one at a time: which of them do the nearest tests notice, and which `rheotwin validate --quick`?

`python -m benchmarks mutations [--jobs 2] [--keep]` changes copies of the tree, never the tree itself. What has been
found is kept in runs/mutations.json, so that a run that was ended goes on; it is forgotten when any file changes,
unless `--keep` says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.side_by_side import Ratio

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "runs" / "mutations.json"
ROOMS = ("constraints", "fem", "meshing", "particles", "validation")
LIMIT, HUNG = 1800, 99
"""Seconds after which a run that hangs counts as one that noticed, and its exit code then."""
GOOD = {"holds", "finding", "not yet"}
WHERE = f"import {', '.join(f'rheotwin.{room}' for room in ROOMS)}; print(*(m.__file__ for m in (rheotwin, " + (
    f"{', '.join(f'rheotwin.{room}' for room in ROOMS)})))"
)


@dataclass(frozen=True)
class Mutation:
    """A wrong change of one place, the tests nearest to it, and the quick checks that should notice."""

    why: str
    file: str
    old: str
    new: str
    tests: str
    checks: str

    @property
    def key(self) -> str:
        return hashlib.sha256("\n".join(astuple(self)).encode()).hexdigest()


Noticed = dict[str, str]
"""What noticed among "tests" and "quick"; an empty text is nothing."""


def mutations() -> list[Mutation]:
    """Return all mutations."""
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        return [Mutation(**found) for found in tomllib.load(file)["mutation"]]


def tracked() -> list[str]:
    """Return the files of the tree that git knows or would add."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


def digest() -> str:
    """Return what the tree is."""
    return hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in tracked())).hexdigest()


class Copy:
    """A copy of the tree that runs commands with its own package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in tracked():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((ROOT / name).read_bytes())
        for room in ROOMS:
            (folder / "src" / "rheotwin" / room).symlink_to(folder / room)
        places = self.run("-c", WHERE).stdout.split()
        assert len(places) == 1 + len(ROOMS) and all(Path(place).is_relative_to(folder) for place in places), places

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy."""
        more = {"PYTHONPATH": str(self.folder / "src")}
        words = [sys.executable, *command]
        try:
            return subprocess.run(
                words, cwd=self.folder, env=os.environ | more, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, HUNG, "", "")

    def tests(self, *where: str) -> str:
        """Return the first of the tests that fails, nothing if all pass."""
        done = self.run("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *where)
        if done.returncode == 0:
            return ""
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split(" - ")[0].split(" ", 1)[1] if failed else _hung(done)

    def quick(self, *select: str) -> str:
        """Return the names of the quick checks that fall short."""
        done = self.run("-m", "rheotwin", "validate", "--quick", "--json", "--quiet", *select)
        if done.returncode == 0:
            return ""
        checks = json.loads(done.stdout)["checks"] if done.stdout else []
        return ", ".join(check["name"] for check in checks if check["status"] not in GOOD) or _hung(done)

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        """Change the one place and change it back."""
        place = self.folder / mutation.file
        text = place.read_text()
        if text.count(mutation.old) != 1:
            raise ValueError(f"{mutation.file}: {mutation.old!r} stands there {text.count(mutation.old)} times")
        try:
            self._write(place, text.replace(mutation.old, mutation.new))
            yield
        finally:
            self._write(place, text)

    @staticmethod
    def _write(place: Path, text: str) -> None:
        """Write a module; bytecode of the same second and length would pass for that of the new text."""
        place.write_text(text)
        for old in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
            old.unlink()

    def notices(self, mutation: Mutation) -> Noticed:
        """Return what notices a mutation; all quick checks run only where those that should notice do not."""
        with self.mutated(mutation):
            quick = self.quick("--select", mutation.checks) or self.quick()
            return {"tests": self.tests(*mutation.tests.split()), "quick": quick}


def _hung(done: subprocess.CompletedProcess[str]) -> str:
    """Return that a run has no end; anything else that ran no test and no check is a fault of the list."""
    if done.returncode != HUNG:
        raise RuntimeError(f"{' '.join(done.args)}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return f"no end in {LIMIT} s"


def _known() -> dict[str, Noticed]:
    """Return what was found before on this tree, or with `--keep` on any."""
    if not KEPT.is_file():
        return {}
    kept = json.loads(KEPT.read_text())
    return kept["found"] if kept["tree"] == digest() or "--keep" in sys.argv else {}


def find(chosen: list[Mutation], jobs: int) -> dict[str, Noticed]:
    """Return what notices each mutation, by its key."""
    found, tree = _known(), digest()
    todo = [mutation for mutation in chosen if mutation.key not in found]
    if not todo:
        return found

    def note(key: str, noticed: Noticed) -> None:
        found[key] = noticed
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.with_suffix(".partial").write_text(json.dumps({"tree": tree, "found": found}, indent=1))
        KEPT.with_suffix(".partial").replace(KEPT)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for k in range(jobs):
            copies.put(Copy(Path(folder).resolve() / str(k)))

        def one(mutation: Mutation) -> tuple[Mutation, Noticed]:
            copy = copies.get()
            try:
                return mutation, copy.notices(mutation)
            finally:
                copies.put(copy)

        if "nothing" not in found:
            copy = copies.get()
            if wrong := copy.quick():
                raise SystemExit(f"without any mutation there fall short: {wrong}")
            note("nothing", {})
            copies.put(copy)
        for done in as_completed([pool.submit(one, mutation) for mutation in todo]):
            mutation, noticed = done.result()
            note(mutation.key, noticed)
            print(f"  {noticed['quick'] or '-':40.40s} {noticed['tests'] or '-':60.60s} {mutation.why}", flush=True)
        failed = {found[mutation.key]["tests"] for mutation in chosen if "::" in found[mutation.key]["tests"]}
        if wrong := copies.get().tests(*sorted(failed)):
            raise SystemExit(f"without any mutation there fails: {wrong}")
    return found


def table(chosen: list[Mutation], found: dict[str, Any]) -> str:
    """Return the Markdown table of mutations and what notices them."""
    rows = ["| file | what is wrong | nearest tests | `validate --quick` |", "|---|---|---|---|"]
    for mutation in chosen:
        noticed = found[mutation.key]
        test = noticed["tests"].rpartition("::")[2].partition("[")[0]
        names = noticed["quick"].split(", ")
        quick = f"`{names[0]}`" + (f" and {len(names) - 1} more" if len(names) > 1 else "") if names[0] else "-"
        rows.append(f"| `{mutation.file}` | {mutation.why} | {f'`{test}`' if test else '-'} | {quick} |")
    return "\n".join(rows)


def measure() -> list[Ratio]:
    """Try all mutations; at most two may pass unseen, and a quarter may pass the quick checks."""
    jobs = int(sys.argv[sys.argv.index("--jobs") + 1]) if "--jobs" in sys.argv else 1
    chosen = mutations()
    found = find(chosen, jobs)
    print(table(chosen, found))
    unseen = [m.why for m in chosen if not any(found[m.key].values())]
    by_tests, by_quick = ([m.why for m in chosen if not found[m.key][name]] for name in ("tests", "quick"))
    return [
        Ratio(f"mutations of {len(chosen)} that nothing notices", len(unseen), 2, "; ".join(unseen)),
        Ratio("that the nearest tests miss", len(by_tests), detail="; ".join(by_tests)),
        Ratio("that validate --quick misses", len(by_quick), 10, "; ".join(by_quick)),
    ]
