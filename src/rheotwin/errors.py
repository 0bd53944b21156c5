"""What can go wrong, as values a command line can turn into one sentence and an exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

EXIT_OK = 0
"""Everything asked for was done."""
EXIT_FALLS_SHORT = 1
"""The work was done and its result is not good enough (a comparison or check beyond its bound)."""
EXIT_BAD_INPUT = 2
"""The request cannot be carried out as stated: the sentence names the place and the remedy."""
EXIT_DIVERGED = 3
"""A run stopped because its numbers blew up; the record keeps every frame before that."""
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


class Diverged(RheotwinError):
    """A simulation left the range of sensible numbers."""

    exit_code = EXIT_DIVERGED

    def __init__(self, *, time: float, body: str, node: int, position: tuple[float, ...], advice: str) -> None:
        self.time, self.body, self.node, self.position, self.advice = time, body, node, position, advice
        where = ", ".join(f"{coordinate:.4g}" for coordinate in position)
        super().__init__(
            f"the run diverged at t = {time:.6g} s in body '{body}' at node {node} (rest position {where}): {advice}"
        )


class Squeezed(Diverged):
    """Tools leave nodes no place to be."""

    def __init__(self, *, time: float, tools: tuple[str, str], body: str, nodes: int) -> None:
        self.time, self.tools, self.body, self.nodes = time, tools, body, nodes
        first, second = tools
        RheotwinError.__init__(
            self,
            f"the contact cannot be satisfied at t = {time:.6g} s: {nodes} nodes of body '{body}' are between "
            f"tools.{first} and tools.{second}, which leave them no place; keep these tools apart, end their motion "
            'earlier, or give one of them a force (`drive`) or law = "penalty"',
        )


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for the closest known name, or an empty string."""
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean '{close[0]}'?)" if close else ""
