"""Mutated inputs over all readers: `make fuzz`, or `python -m tests.hostile.fuzz --seconds 600 --seed 1 [TARGET ...]`.

Every input is damaged in a way that its number alone decides, and read in a child process that may crash or hang. An
answer is what was read, or one sentence (`RheotwinError`). All else is a find: a Python error, a crash, a hang, and of
files with checksums also other numbers without a word. Finds are kept in a folder and printed with the words that
repeat them; each becomes a line of `FINDS` in test_finds.py.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.meshing import guarded

PATIENCE = 60.0
"""Seconds by the clock after which a child counts as hanging: the machine may be busy."""
BATCH = 10
NASTY = (
    *(b"-1", b"0", b"nan", b"inf", b"1e309", b"1e-320", b"4294967296", b"-9223372036854775808", b"999999999", b""),
    *(b"9" * 5000, b"[" * 3000, b"\x1b[2J", b"\xff\xfe", b"=1+1", b"x" * 200_000, b"\0", b"../../x", b"true", b'"'),
)


@dataclass(frozen=True)
class Target:
    """One reader: the folders it reads whole, the files of them that are damaged, and whether damage must be seen."""

    name: str
    seed: Path
    read: Callable[[Path], Any]
    files: str = "*"
    sealed: Callable[[str], bool] = field(default=lambda name: False)


def mutated(data: bytes, chance: Random) -> bytes:
    """Return the data with one to three wounds."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data = _wounded(data, chance)
    return data


def _wounded(data: bytes, chance: Random) -> bytes:
    size = len(data)
    if size == 0:
        return chance.choice(NASTY)
    place = chance.randrange(size)
    end = chance.randrange(place, size) + 1
    kind = chance.randrange(10)
    if kind < 2:  # one bit
        return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    if kind == 2:  # one letter
        return data[:place] + bytes([chance.choice(b"0123456789-+.eE\n ,;[]{}()<>\"'=abz")]) + data[place + 1 :]
    if kind == 3:
        return data[:place]
    if kind == 4:
        return data[:place] + data[min(end, place + chance.randrange(1, 64)) :]
    if kind == 5:
        return data[:end] + data[place:end][:100_000] + data[end:]
    if kind == 6:
        return data[:place] + chance.choice(NASTY) + data[place:]
    if kind == 7:  # a number or word
        words = list(re.finditer(rb"[\w.+-]+", data[:20_000]))
        if words:
            word = chance.choice(words)
            return data[: word.start()] + chance.choice(NASTY) + data[word.end() :]
    lines = data.split(b"\n")
    here, there = chance.randrange(len(lines)), chance.randrange(len(lines))
    if kind == 8:
        lines[here], lines[there] = lines[there], lines[here]
    else:
        del lines[here]
    return b"\n".join(lines)


def digest(value: Any) -> str:
    """Return what identifies numbers and words that were read."""
    found = sha256()

    def feed(item: Any) -> None:
        if isinstance(item, np.ndarray):
            found.update(f"{item.dtype}{item.shape}".encode() + np.ascontiguousarray(item).tobytes())
        elif isinstance(item, dict):
            for key in sorted(item, key=str):
                feed(str(key))
                feed(item[key])
        elif isinstance(item, list | tuple):
            for part in item:
                feed(part)
        else:
            found.update(repr(item).encode())

    feed(value)
    return found.hexdigest()


def case(target: Target, number: int, seed: int, folder: Path) -> str:
    """Put one damaged copy of the seed into a folder; return the name of the file that was damaged."""
    chance = Random(f"{seed}:{target.name}:{number}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(target.seed, folder)
    path = chance.choice(sorted(item for item in folder.rglob(target.files) if item.is_file()))
    path.write_bytes(mutated(path.read_bytes(), chance))
    return str(path.relative_to(folder))


def verdict(target: Target, number: int, seed: int, folder: Path, whole: str) -> str:
    """Return what is wrong with the answer to one damaged input, nothing if it is a good one."""
    name = case(target, number, seed, folder)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            found = digest(target.read(folder))
    except RheotwinError:
        return ""
    except MemoryError:
        return f"{name}: out of memory"
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
        return f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:150]}{where}"
    return f"{name}: other numbers without a word" if target.sealed(name) and found != whole else ""


def batch(target: Target, numbers: range, seed: int, whole: str, folder: Path) -> Iterator[tuple[int, str]]:
    """Yield the finds among some numbers, in a child that may crash or hang; what killed it is one of them."""
    first = numbers.start
    while first < numbers.stop:
        source, sink = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _child(target, range(first, numbers.stop), seed, whole, folder, sink)
        os.close(sink)
        at, deadline, rest = first, time.monotonic() + PATIENCE, b""
        while select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(source, 1 << 16)
            if not part:
                break
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                deadline, at = time.monotonic() + PATIENCE, at + 1
                if line:
                    yield at - 1, line.decode(errors="replace")
        else:
            os.kill(child, signal.SIGKILL)
        os.close(source)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if at < numbers.stop:
            yield at, "hangs" if status == -signal.SIGKILL else f"crashes ({status})"
            at += 1
        first = at


def _child(target: Target, numbers: range, seed: int, whole: str, folder: Path, sink: int) -> None:
    code = 1
    try:
        for number in numbers:
            os.write(sink, verdict(target, number, seed, folder, whole).replace("\n", " ").encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def hunt(
    targets: list[Target], *, seed: int, seconds: float, most: int = 10**9, keep: Path | None = None
) -> tuple[int, list[str]]:
    """Damage the seeds of all targets in turn until time or number is up; return how often, and what was found."""
    guarded.SECONDS = 0.3  # the files are small, and many readers loop
    finds, done, end = list[str](), 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as place:
        wholes = {target.name: _whole(target, Path(place) / "whole") for target in targets}
        start = 0
        while done < most and time.monotonic() < end:
            for target in targets:
                size = min(BATCH, most - done, max(1, most // len(targets)))
                for number, said in batch(
                    target, range(start, start + size), seed, wholes[target.name], Path(place) / "case"
                ):
                    finds.append(f"{target.name} {number} (seed {seed}): {said}")
                    print(finds[-1], flush=True)
                    if keep is not None:
                        case(target, number, seed, keep / f"{target.name}-{seed}-{number}")
                done += size
                if done >= most or time.monotonic() >= end:
                    break
            start += min(BATCH, max(1, most // len(targets)))
    return done, finds


def _whole(target: Target, folder: Path) -> str:
    """Return what the undamaged seed is read as."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(target.seed, folder)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return "" if target.files == "seed" else digest(target.read(folder))


def main() -> int:
    """Hunt for a while; the exit code is 1 if anything was found."""
    from tests.hostile.targets import make_targets

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="begins of names of targets; default: all")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--most", type=int, default=10**9, help="stop after so many inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-finds"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as seeds:
        targets = [
            item for item in make_targets(Path(seeds)) if not args.targets or item.name.startswith(tuple(args.targets))
        ]
        print(f"{len(targets)} targets: {', '.join(item.name for item in targets)}", flush=True)
        done, finds = hunt(targets, seed=args.seed, seconds=args.seconds, most=args.most, keep=args.keep)
    print(f"{done} inputs, {len(finds)} finds")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
