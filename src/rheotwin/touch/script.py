"""A hand that follows a file: lines of `time,what,x,y,z`.

grab        takes hold of the place of the body nearest to x, y, z
move        where the hand is, straight from line to line
release     lets go
tool.NAME   where the tool is, from its place at rest, straight from line to line
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.motion import Motion
from rheotwin.errors import RheotwinError
from rheotwin.touch.hand import Live

GRAB, MOVE, RELEASE, TOOL = "grab", "move", "release", "tool."


@dataclass
class Script:
    """A path of the hand and of tools over time; `grabs` and `releases` are when it takes hold and lets go."""

    end: float
    grabs: list[tuple[float, Array]]
    releases: list[float]
    hand: Motion | None
    tools: Mapping[str, Motion]
    _next: list[int] = field(default_factory=lambda: [0, 0])

    def guide(self, live: Live) -> tuple[Array | None, dict[str, Array], float]:
        """Do what the file says up to the row that is written now."""
        now, ahead = live.time + 0.5 * live.period, live.time + 2.0 * live.period
        if self._next[1] < len(self.releases) and self.releases[self._next[1]] < now and live.held is not None:
            live.release()
            self._next[1] += 1
        if self._next[0] < len(self.grabs) and self.grabs[self._next[0]][0] < now and live.held is None:
            live.pick(*live.nearest(self.grabs[self._next[0]][1][: live.problem.dimension]))
            self._next[0] += 1
        hand = None if self.hand is None else self.hand.at(ahead)[: live.problem.dimension]
        return hand, {name: np.append(motion.at(ahead), 0.0) for name, motion in self.tools.items()}, 1.0


def read_script(path: Path, live: Live) -> Script:
    """Read a script for a live scene; every fault is named with its line."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = [(number, row) for number, row in enumerate(csv.reader(file), start=1) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise RheotwinError(f"{path}: cannot be read ({getattr(error, 'strerror', 'no text')})") from None
    rows: dict[str, list[tuple[float, Array]]] = {}
    names, last = [TOOL + tool.name for tool in live.tools], 0.0
    for number, row in lines:
        place = f"{path}, line {number}"
        if number == 1 and row[0].strip() == "time":
            continue
        try:
            time, what = float(row[0]), row[1].strip()
            point = np.zeros(3)
            given = [float(text) for text in row[2:5] if text.strip()]
            point[: len(given)] = given
        except (ValueError, IndexError):
            raise RheotwinError(f"{place}: write time,what,x,y,z with numbers, for example 0.1,grab,0,0,0.05") from None
        if not np.isfinite([time, *point]).all() or time < last:
            raise RheotwinError(f"{place}: times are finite and never go back")
        if what not in (GRAB, MOVE, RELEASE, *names):
            raise RheotwinError(
                f"{place}: there is no {what!r} here; write one of {', '.join((GRAB, MOVE, RELEASE, *names))}"
            )
        last = time
        rows.setdefault(what, []).append((time, point))
    hand = sorted(rows.get(GRAB, []) + rows.get(MOVE, []), key=lambda item: item[0])
    return Script(
        end=last,
        grabs=rows.get(GRAB, []),
        releases=[time for time, _ in rows.get(RELEASE, [])],
        hand=_path(hand) if hand else None,
        tools={name.removeprefix(TOOL): _path(rows[name]) for name in names if name in rows},
    )


def _path(rows: list[tuple[float, Array]]) -> Motion:
    times, first = np.unique([time for time, _ in rows], return_index=True)
    return Motion(times, np.array([rows[k][1] for k in first]))
