"""A body stepped by the circuit itself: memories written by the host, the run, memories read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rheotwin.arrays import Indices
from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point import timing
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.partition import BUBBLE, hazard_free_order, hazards
from rheotwin.particles.fixed_point.rtl.accumulator import LATENCY
from rheotwin.particles.fixed_point.rtl.bench import CompiledBench, Rows, named, rows_of
from rheotwin.particles.fixed_point.rtl.system import BUBBLE_BIT, OPERATORS, POINT_VECTORS, System, host_map
from rheotwin.particles.fixed_point.rtl.tem import memories_of

Images = list[tuple[int, Indices]]
MOST_POINTS = 1 << BUBBLE_BIT
LONGEST = 30
MOST_CYCLES = 1 << 31
"""The circuit counts further, but an hour of simulation is enough."""


@dataclass(frozen=True)
class CircuitRun:
    """What a run of the circuit left: the body, cycles, slots of the edge sequence, sticky bits of overflow."""

    body: CircuitBody
    steps: int
    cycles: int
    slots: int
    overflow: dict[str, bool]

    @property
    def cycles_per_step(self) -> float:
        """Measured cycles of a step, to be held against (2.19) + (2.20)."""
        return self.cycles / self.steps


class Circuit:
    """A circuit of one body's size, the rows that load, run and read it, and what its answers mean.

    `order` names the edge in each slot, -1 for none; by default that of the body, or one without hazards.
    """

    def __init__(
        self,
        body: CircuitBody,
        constants: CircuitConstants,
        *,
        depth: int | None = None,
        order: Indices | None = None,
    ) -> None:
        if constants.form.word > LONGEST:
            raise RheotwinError(f"a simulated circuit has words of at most {LONGEST} bits, as its sums are 2 longer")
        ends = np.stack([body.start, body.end], axis=-1).astype(np.int64)
        if not 0 < len(body.position) <= MOST_POINTS or len(ends) == 0:
            raise RheotwinError(
                f"the circuit takes 1 to {MOST_POINTS} points and at least one edge, not {len(body.position)} and "
                f"{len(ends)}; take another mesh"
            )
        if order is None:
            order = hazard_free_order(ends, LATENCY) if hazards(ends, LATENCY) else np.arange(len(ends))
        self.order, self._ends, self._body, self._constants = order, ends, body, constants
        self._depth = depth

    @cached_property
    def component(self) -> System:
        """The hardware."""
        return System(self._constants, len(self._body.position), len(self.order), depth=self._depth)

    def rows(self, steps: int) -> Rows:
        """Return the rows of a run: memories in, one start, the wait for its end, memories out."""
        longest = (len(self.order) + len(self._body.position) + 1000) * steps
        if longest >= MOST_CYCLES:
            raise RheotwinError(f"{steps} steps of this body are about {longest:.2g} cycles of the circuit; take fewer")
        images = self._point_images() + self._edge_images()
        select = np.concatenate([np.full(len(words), code) for code, words in images])
        address = np.concatenate([np.arange(len(words)) for _, words in images])
        half = 1 << (len(self.component.written) - 1)
        written = (np.concatenate([words for _, words in images]) + half) % (2 * half) - half
        common: dict[str, Any] = {
            "steps": steps,
            "last_edge": len(self.order) - 1,
            "last_point": len(self._body.position) - 1,
        }
        codes, addresses = self._read_back()
        load = {**common, "select": select, "address": address, "written": written, "write": 1}
        read = {**common, "select": codes, "address": addresses}
        return np.concatenate(
            [
                rows_of(self.component, len(select), load),
                rows_of(self.component, 1, {**common, "start": 1}),
                rows_of(self.component, 1, common, -longest),
                # An answer is there one cycle after its address.
                rows_of(self.component, len(codes), read, 2),
            ]
        )

    def outcome(self, answers: Rows, steps: int) -> CircuitRun:
        """Return what the answers to `rows` say."""
        found = named(self.component, answers)
        if found["busy"][-1] or int(found["step"][-1]) != steps:
            raise RuntimeError(f"the circuit did {int(found['step'][-1])} of {steps} steps")
        if found["hazard"][-1]:
            raise RuntimeError("the circuit read a sum of forces before it was written: its order of edges collides")
        words = found["read"][-len(self._read_back()[0]) :].astype(np.int32)
        points = 3 * len(POINT_VECTORS) * len(self._body.position)
        vectors = words[:points].reshape(len(POINT_VECTORS), 3, -1)
        stored = {name: np.ascontiguousarray(lanes.T) for name, lanes in zip(POINT_VECTORS, vectors, strict=True)}
        lam = np.empty_like(self._body.lam)
        real = self.order != BUBBLE
        lam.reshape(-1, lam.shape[-1])[:, self.order[real]] = words[points:].reshape(-1, len(self.order))[:, real]
        sticky = int(found["overflow"][-1])
        return CircuitRun(
            body=self._body._replace(lam=lam, **stored),
            steps=steps,
            cycles=int(found["cycle"][-1]),
            slots=len(self.order),
            overflow={name: bool(sticky >> bit & 1) for bit, name in enumerate(OPERATORS)},
        )

    def _point_images(self) -> Images:
        """Return what the host writes into memories over points: (code, words from address 0)."""
        codes, masses = host_map(self._constants), np.asarray(self._constants.Minv.raw, dtype=np.int64)
        images = [
            (codes[name] + lane, getattr(self._body, name)[:, lane].astype(np.int64))
            for name in POINT_VECTORS
            for lane in range(3)
        ]
        if masses.ndim == 0:
            return [*images, (codes["Minv"], masses.reshape(1))]
        lanes = np.broadcast_to(masses.reshape(len(masses), -1), self._body.position.shape)
        return [*images, *((codes["Minv"] + lane, lanes[:, lane]) for lane in range(3))]

    def _edge_images(self) -> Images:
        """Return what the host writes into memories over edges, in the order of the slots, and the constants."""
        codes, constants = host_map(self._constants), self._constants
        edge, bubble = np.maximum(self.order, 0), (self.order == BUBBLE).astype(np.int64)
        images = [
            (codes["start"], self._ends[edge, 0] | bubble << BUBBLE_BIT),
            (codes["end"], self._ends[edge, 1]),
            *((codes[name], row[edge].astype(np.int64)) for name, row in self._words.items()),
            (codes["H"], np.asarray(constants.H.raw, dtype=np.int64).reshape(1)),
        ]
        names = ("A", "B", "C2", "C") if constants.direct else ("A", "B", "C2")
        parts = dict(zip(names, constants.of_tem, strict=False)) if constants.chain is None else constants.chain.named
        differ = any(np.ndim(part.raw) > 0 for part in parts.values())
        for name, part in parts.items():
            raw = np.broadcast_to(np.asarray(part.raw, dtype=np.int64), len(self._ends) if differ else 1)
            images.append((codes[name], raw[edge] if differ else raw))
        return images

    def _read_back(self) -> tuple[Indices, Indices]:
        """Return the codes and addresses that the host reads: all vectors over points, then what edges remember."""
        codes, points, slots = host_map(self._constants), len(self._body.position), len(self.order)
        lanes = [codes[name] + lane for name in POINT_VECTORS for lane in range(3)]
        rows = [codes[name] for name in self._words if name != "rest"]
        select = np.concatenate([np.repeat(lanes, points), np.repeat(rows, slots)])
        return select, np.concatenate([np.tile(np.arange(points), len(lanes)), np.tile(np.arange(slots), len(rows))])

    @property
    def _words(self) -> dict[str, Indices]:
        """Words of the edges by the name of their memory."""
        lam = self._body.lam
        rows = [*lam.reshape(-1, lam.shape[-1]), self._body.rest]
        return dict(zip(memories_of(self._constants), rows, strict=False))


def simulate(
    body: CircuitBody,
    constants: CircuitConstants,
    steps: int,
    *,
    depth: int = timing.DEPTH,
    run: Callable[[Circuit, Rows], Rows] | None = None,
) -> CircuitRun:
    """Step a body by the circuit, cycle by cycle, compiled unless `run` does it otherwise; the body stays as it was.

    Edges whose order would collide in the sums of forces are put into another one, which changes no word.
    """
    if steps < 1:
        raise RheotwinError(f"the circuit is asked for {steps} steps; give at least one")
    circuit = Circuit(body, constants, depth=depth)
    rows = circuit.rows(steps)
    answers = CompiledBench(circuit.component).run(rows) if run is None else run(circuit, rows)
    return circuit.outcome(answers, steps)
