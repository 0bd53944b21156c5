"""The fast form of the circuit: whole steps in compiled loops, the words of `rheotwin.particles.fixed_point.circuit`.

Grids run in vectors without indices, other bodies in batches of edges. Saturation goes through the readable form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.arrays import Indices, Integers
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.layouts import ROW, in_batches, in_runs
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import aligned, spread
from rheotwin.particles.boxes import find_layout, padded, runs_of
from rheotwin.particles.fixed_point.arithmetic import half_unit
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.circuit import no_overflows, step
from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.words import TABLE, kind_of, move_words, word_edge

LONGEST_RUN = 1 << 20
"""Points in a block of runs: memory of a circuit is small, so blocks bring nothing."""


def scalar_table(constants: CircuitConstants) -> Integers:
    """Return the scalars of the circuit in the order of TABLE; constants that differ are zero there."""
    form, point, kind = constants.form, constants.point, kind_of(constants)
    A, B, K, C = constants.of_tem
    named = {"A": A, "B": B, "K": K, "C": C, "H": constants.H, "Minv": constants.Minv}
    named |= {"H_v": constants.step_of_velocity, "H_lam": constants.step_of_lam}
    rounds = dict.fromkeys("ABKC", constants.tem_round)
    found = {name: one.raw if isinstance(one.raw, int) else 0 for name, one in named.items()}
    found |= {f"w_{name}": one.w for name, one in named.items()}
    found |= {f"half_{name}": half_unit(one.w, rounds.get(name, constants.euler_round)) for name, one in named.items()}
    found |= {
        "half_e": half_unit(point.inverse - point.direction, constants.tem_round),
        "half_rate": half_unit(point.direction - point.rate, constants.tem_round),
        "half_product": half_unit(point.direction, constants.tem_round),
        "e_shift": point.inverse - point.direction,
        "direction": point.direction,
        "rate_shift": point.direction - point.rate,
        "word": form.word,
        "unused_bits": 8 * np.dtype(kind.dtype).itemsize - form.word,
        "highest": form.highest,
        "numerator": 1 << point.inverse,
    }
    table = [found[name] for name in TABLE]
    if constants.chain is not None:
        places = [part.w for part in constants.chain.all]
        table += [*places, *(half_unit(w, constants.tem_round) for w in places), point.lam]
    return np.array(table, dtype=kind.dtype)


@compiled
def begin_sums(external: Integers, force: Integers) -> None:
    """Put the external forces where sums are made."""
    for k in range(force.size):
        force[k] = external[k]


@dataclass(frozen=True)
class Lodging:
    """Where a body lives in a kernel: words (n_m, 3) of its vectors among `words`, lanes (n_e,) of its edges.

    `edges`: runs (R, 4) of a grid, or ends (lanes, 2) of the edges of any body, padded with edges from point 0 to
    itself, which give no force.
    """

    words: Indices
    size: int
    lane: Indices
    lanes: int
    edges: NDArray[Any]

    @property
    def structured(self) -> bool:
        """Whether edges are runs without indices."""
        return int(self.edges.shape[1]) == 4


def lodge(body: CircuitBody, points: ArrayLike | None = None) -> Lodging:
    """Find out how a body runs fastest; `points` (n_m, 3) [m] at rest, if given, tell whether it is a grid."""
    edges = np.stack([body.start, body.end], axis=1).astype(np.int64)
    count = len(body.position)
    layout = None if points is None else find_layout(np.asarray(points, dtype=np.float64), edges, np.float32)
    if layout is not None:
        # Runs of circuits have a direction: floors of opposite differences differ.
        runs = runs_of(layout.places[edges], layout.size, LONGEST_RUN)
        words = layout.places[:, None] + layout.size * np.arange(3)
        return Lodging(words, 3 * layout.size, runs.of_element, runs.lanes, runs.table)
    # Sums do not depend on the order: neighbours in memory follow each other.
    order, lanes = np.lexsort((edges.max(axis=1), edges.min(axis=1))), int(padded(len(edges)))
    ends, lane = np.zeros((lanes, 2), dtype=np.int32), np.empty(len(edges), dtype=np.int64)
    ends[: len(edges)], lane[order] = edges[order], np.arange(len(edges))
    words = ROW * np.arange(count)[:, None] + np.arange(3)
    return Lodging(words, int(padded(ROW * count)), lane, lanes, ends)


class FastCircuit:
    """A body in the kernel's memory: `advance` takes steps, `load` and `store` exchange words with a CircuitBody."""

    def __init__(self, body: CircuitBody, constants: CircuitConstants, points: ArrayLike | None = None) -> None:
        if not runs_fast(constants):
            raise ValueError("the fast circuit has sums that wrap")
        self.lodging = there = lodge(body, points)
        self.counters = no_overflows()
        self._kind = kind = kind_of(constants)
        parts, chains = constants.of_edge, constants.chain is not None
        self._own = chains or any(not isinstance(part.raw, int) for part in parts)
        rows = [np.broadcast_to(part.raw, body.start.shape) for part in parts if self._own]
        rows += [body.rest] if chains else []
        self._numbers = spread(np.stack([np.ones_like(body.start), *rows]), there.lane, there.lanes, kind.dtype)
        self._lam = aligned((body.lam.size // len(body.start), there.lanes), kind.dtype)
        self.motion, self._force, self.external = (aligned(n * there.size, kind.dtype) for n in (2, 1, 1))
        self._own_mass = int(not isinstance(constants.Minv.raw, int))
        self._minv = aligned(there.size if self._own_mass else kind.lanes, kind.dtype)
        self._minv[there.words if self._own_mass else slice(None)] = constants.Minv.raw
        self._table = scalar_table(constants)
        self.load(body)

    @property
    def words(self) -> tuple[Integers | Indices, ...]:
        """What steps change."""
        return self._lam, self.motion, self.external, self.counters

    def load(self, body: CircuitBody) -> None:
        """Take over the state and the external forces of a body of the same topology."""
        there = self.lodging
        self._lam[:, there.lane] = body.lam
        self.motion[there.words], self.motion[there.size + there.words] = body.position, body.velocity
        self.external[there.words] = body.force

    def store(self, body: CircuitBody) -> None:
        """Put the state into a body; between steps its force memories are empty."""
        there = self.lodging
        body.lam[:] = self._lam[:, there.lane].reshape(body.lam.shape)
        body.position[:], body.velocity[:] = self.motion[there.words], self.motion[there.size + there.words]
        body.sum_start[:] = 0
        body.sum_end[:] = 0

    @cached_property
    def _program(self) -> Program:
        return Program(self.stages, 1.0, Clock())

    @cached_property
    def stages(self) -> list[Stage]:
        """One step: sums of forces, edge by edge, then all points."""
        grid, rows = self.lodging.structured, (3, -1) if self.lodging.structured else (-1, ROW)
        x, v, force = (words.reshape(rows) for words in (*np.split(self.motion, 2), self._force))
        edge, count = word_edge(self._own, self._kind, grid), self._kind.lanes
        scalars = self._kind.scalars
        add = in_runs(edge, 2, count, scalars) if grid else in_batches(edge, 2, scalars, count)
        words = (self.lodging.edges, x, v, force, self._numbers, self._table, self._lam, self.counters)
        moved = (self.motion.reshape(2, -1), self._force.reshape(1, -1), self._minv.reshape(1, -1), self._table)
        return [
            Stage(begin_sums, (self.external, self._force)),
            Stage(add, words),
            Stage(move_words(count), (*moved, self.counters, self._own_mass)),
        ]

    def advance(self, steps: int) -> None:
        """Take steps."""
        self._program.run(0, steps)


def runs_fast(constants: CircuitConstants) -> bool:
    """Tell whether the kernels give these constants' words to the bit; if not, `circuit.step` does."""
    return constants.overflow == "wrap"


def advance(
    body: CircuitBody,
    constants: CircuitConstants,
    steps: int,
    counters: Indices | None = None,
    points: ArrayLike | None = None,
) -> None:
    """Take steps of a body in place, fast where it can be; `points` (n_m, 3) [m] at rest tell a grid."""
    if not runs_fast(constants):
        for _ in range(steps):
            step(body, constants, counters)
        return
    fast = FastCircuit(body, constants, points)
    fast.advance(steps)
    fast.store(body)
    if counters is not None:
        counters += fast.counters
