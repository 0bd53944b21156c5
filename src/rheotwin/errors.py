"""What can go wrong, as values a command line can turn into one sentence and an exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from unicodedata import category

EXIT_OK = 0
"""Everything asked for was done."""
EXIT_FALLS_SHORT = 1
"""The work was done and its result is not good enough (a comparison or check beyond its bound)."""
EXIT_BAD_INPUT = 2
"""The request cannot be carried out as stated: the sentence names the place and the remedy."""
EXIT_DIVERGED = 3
"""A run stopped because its numbers blew up or nothing meets its contact; the record keeps every frame before that."""
EXIT_INTERRUPTED = 130
"""The user pressed ctrl-C; the record is valid and can be resumed."""


class RheotwinError(Exception):
    """One clear sentence for the user: where the fault is and what to do about it."""

    exit_code = EXIT_BAD_INPUT


@dataclass(frozen=True)
class Fault:
    """One fault of an input file: its place (dotted path), what is wrong, what is allowed."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class InputFaults(RheotwinError):
    """All faults of one input, listed together."""

    def __init__(self, source: str, faults: Iterable[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        count = f"{len(self.faults)} fault" + ("" if len(self.faults) == 1 else "s")
        super().__init__("\n".join([f"{source}: {count}", *(f"  {fault}" for fault in self.faults)]))


class Stopped(RheotwinError):
    """A run that cannot go on; its record keeps what it had.

    The run loop says after which time, unless `time` [s] is known and in the sentence.
    """

    exit_code = EXIT_DIVERGED

    def __init__(self, message: str, *, time: float | None = None) -> None:
        self.time = time
        super().__init__(message)


class Diverged(Stopped):
    """A simulation left the range of sensible numbers."""

    def __init__(self, *, time: float, body: str, node: int, position: tuple[float, ...], advice: str) -> None:
        self.body, self.node, self.position, self.advice = body, node, position, advice
        where = ", ".join(f"{coordinate:.4g}" for coordinate in position)
        super().__init__(
            f"the run diverged at t = {time:.6g} s in body '{body}' at node {node} (rest position {where}): {advice}",
            time=time,
        )


class NoRoom(Stopped):
    """Contacts of one step that no forces can keep open together: `missing` in the unit of their gaps."""

    def __init__(self, message: str, missing: float) -> None:
        self.missing = missing
        super().__init__(message)


class Squeezed(Stopped):
    """Tools leave nodes no place to be.

    `nodes` of a body are inside of `tools`, the deepest of them, `node`, by `depth` [m]; `supports` hold some of them.
    """

    def __init__(
        self,
        *,
        time: float,
        tools: tuple[str, ...],
        supports: tuple[str, ...],
        body: str,
        node: int,
        nodes: int,
        depth: float,
    ) -> None:
        self.tools, self.supports = tools, supports
        self.body, self.node, self.nodes, self.depth = body, node, nodes, depth
        partners = [f"tools.{name}" for name in tools] + [f"supports.{name}" for name in supports]
        many, one = nodes > 1, len(partners) == 1
        where = f"inside of {partners[0]}" if one else f"between {', '.join(partners[:-1])} and {partners[-1]}"
        super().__init__(
            f"the contact cannot be satisfied at t = {time:.6g} s: {nodes} node{'s' if many else ''} of body '{body}' "
            f"{'are' if many else 'is'} {where}, which {'leaves' if one else 'leave'} {'them' if many else 'it'} no "
            f"place, node {node} lacks {depth:.3g} m; keep {'it away' if one else 'these apart'}, end "
            f"{'its' if one else 'their'} motion earlier, or give {'it' if one else 'a tool'} a force (`drive`) or "
            'law = "penalty"',
            time=time,
        )


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for the closest known name, or an empty string."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""


def visible(text: object) -> str:
    """Return the text with every character that would steer a terminal or turn a line round written as its escape.

    Ends of lines and tabs stay.
    """
    return "".join(
        sign if sign in "\n\t" or category(sign) not in _STEERING else sign.encode("unicode_escape").decode()
        for sign in str(text)
    )


_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of controls, marks of direction, halves of pairs, and ends of lines and paragraphs."""


def table_cell(text: str) -> str:
    """Return a text as a cell of a CSV table that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
