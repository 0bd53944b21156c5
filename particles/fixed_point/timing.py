"""How long a step of the circuit takes and how much memory it needs: equations (2.15) and (2.19) to (2.21).

With n_es edges inside groups, n_et edges between groups (each is worked on once for either end), P_m modules:

    c_te = (n_es + 2 n_et)/P_m + d_te        c_mm = n_m/P_m + d_mm        t_s = (c_te + c_mm + o)/r_c
    n_br = 15 n_mr + 3 n_er,   n_mr = ceil(n_m/1024),   n_er = ceil(n_e/1024)

Over several chips (section 2.4 of the source) every group has a chip of its own, and lines to six others at most. After
its mass phase a chip sends positions and velocities of the points at its borders, six words each; edges over corners of
boxes go through a neighbour, in two rounds more. With n_b points over the busiest line of a round, b words a cycle,

    c_tr = sum over rounds of ceil(6 n_b / b) + d_tr

is added to the cycles of the slowest chip. None of these numbers grows with the number of chips.

`cycles` is that, literally, which takes perfect balance for granted; `slowest_cycles` is what the fullest module of
a real partition needs. The overhead o of the controller is 0 in the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.arrays import Indices
from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import inverse_gain
from rheotwin.particles.fixed_point.parameters import CircuitConstants

BLOCK_WORDS = 1024
"""Words of 16 bits in one BlockRAM."""
POINT_RAMS, EDGE_RAMS, BUFFER_RAMS = 15, 3, 3
"""RAMs over points (x, v, F_ext, sums at starts and ends; three lanes each), over edges (memory, two ends), buffers."""
INDEX_RAMS = 2
WORD_BITS, PORTS = 16, 2
RAM_BITS = 18
"""Bits of a BlockRAM's word with its parity bits."""


DEPTH = 90
"""Stages of the papers' element module, d_te; ours needs 48 of them and waits in the others."""


def needed_depth(constants: CircuitConstants) -> int:
    """Return the least depth: root, reciprocal, and 14 stages of sums and products around them.

    The CORDIC root takes stages to normalise, to begin, for the rotations, for digits of 1/K and the tree that adds
    them, and to undo the normalisation; the reciprocal one for each digit and one for the limit.
    """
    root, (bits, iterations, _) = constants.form.word, constants.root
    if constants.sqrt == "cordic":
        root = iterations + 4 + (inverse_gain(bits, iterations).bit_count() - 1).bit_length()
    return root + constants.point.inverse + 16


def depth_of(constants: CircuitConstants) -> int:
    """Return the depth of the papers, or the least one where that is more."""
    return max(DEPTH, needed_depth(constants))


@dataclass(frozen=True)
class Machine:
    """The circuit as a machine: modules P_m, clock r_c [Hz], pipeline depths, controller cycles o per step."""

    modules: int = 1
    clock: float = 33.0e6
    edge_depth: int = DEPTH
    point_depth: int = 8
    overhead: int = 0

    def __post_init__(self) -> None:
        if self.modules < 1 or not self.clock > 0.0:
            raise RheotwinError(
                f"the circuit needs at least one module and a clock above 0 Hz, not {self.modules} and {self.clock:g}"
            )


@dataclass(frozen=True)
class Device:
    """What a programmable chip holds."""

    name: str
    slices: int
    flip_flops: int
    block_rams: int
    multipliers: int


XC2V6000 = Device("XC2V6000", slices=33_792, flip_flops=67_584, block_rams=144, multipliers=144)
"""The chip of the papers."""


def blocks(words: int) -> int:
    """Return how many BlockRAMs hold `words` words of 16 bits."""
    return (words - 1) // BLOCK_WORDS + 1


@dataclass(frozen=True)
class Extras:
    """RAMs beyond (2.15): tables of constants that differ between edges or points, buffers for a host that reads."""

    edge_tables: int = 0
    point_tables: int = 0
    buffered: bool = False
    wide: int = 1
    """RAMs side by side that a word takes: they have 18 bits."""

    @property
    def over_points(self) -> int:
        """All RAMs over points."""
        return POINT_RAMS + self.point_tables + BUFFER_RAMS * self.buffered

    @property
    def over_edges(self) -> int:
        """All RAMs over edges."""
        return EDGE_RAMS + self.edge_tables


PLAIN = Extras()
"""One law for all edges, one mass for all points, none held: (2.15)."""


def block_rams(points: int, edges: int, extras: Extras = PLAIN) -> int:
    """Return n_br of one group (2.15); indices stay as short as they are."""
    numbers = extras.over_edges - INDEX_RAMS
    return extras.wide * (extras.over_points * blocks(points) + numbers * blocks(edges)) + INDEX_RAMS * blocks(edges)


def bandwidth(clock: float) -> float:
    """Return the bytes per second [B/s] that the 15 RAMs of one group move through both ports."""
    return POINT_RAMS * PORTS * WORD_BITS / 8 * clock


MOST_NEIGHBOURS, WORDS_OF_A_POINT = 6, 6
"""Lines that a chip has, and words that go over one for a point: position and velocity."""


@dataclass(frozen=True)
class Links:
    """Lines between chips: words a cycle over each, and cycles until the first has arrived, d_tr."""

    words: int = 1
    depth: int = 8

    def __post_init__(self) -> None:
        if self.words < 1 or self.depth < 0:
            raise RheotwinError(f"lines between chips take at least one word a cycle, not {self.words}")


@dataclass(frozen=True)
class Exchange:
    """What chips send each other: lines of every chip, and the most points over one line in each round."""

    lines: Indices
    rounds: tuple[int, ...]


def exchange(edges: Indices, group: Indices) -> Exchange:
    """Lay lines between groups and send border points; `edges` (M, 2), `group` (N,).

    A point goes to each group that it has an edge to: directly where the border is among the widest six, else through
    a chip that has lines to both, in two rounds more.
    """
    ends, count = group[edges], int(group.max()) + 1
    apart = ends[:, 0] != ends[:, 1]
    both = np.concatenate([edges[apart], edges[apart, ::-1]])
    sent = np.unique(np.column_stack([group[both[:, 0]], group[both[:, 1]], both[:, 0]]), axis=0)
    points = np.zeros((count, count), dtype=np.int64)
    np.add.at(points, (sent[:, 0], sent[:, 1]), 1)
    widths = np.triu(points + points.T)
    line = np.zeros((count, count), dtype=bool)
    for a, b in sorted(np.argwhere(widths > 0).tolist(), key=lambda pair: -int(widths[tuple(pair)])):
        if max(line[a].sum(), line[b].sum()) < MOST_NEIGHBOURS:
            line[a, b] = line[b, a] = True
    there, onward = np.zeros_like(points), np.zeros_like(points)
    for a, b in np.argwhere((points > 0) & ~line).tolist():
        through = np.flatnonzero(line[a] & line[b])
        if not len(through):
            raise RheotwinError(
                f"chips {a} and {b} share edges, have no line, and no chip has lines to both: a chip has "
                f"{MOST_NEIGHBOURS}; take the partition `slabs` or `boxes`"
            )
        by = through[np.argmin(there[a, through])]
        there[a, by] += points[a, b]
        onward[by, b] += points[a, b]
    rounds = (int((points * line).max(initial=0)), int(there.max(initial=0)), int(onward.max(initial=0)))
    return Exchange(line.sum(axis=1), tuple(number for number in rounds if number))


def exchange_cycles(sent: Exchange, links: Links) -> int:
    """Return the cycles of c_tr: all lines of a round work at once."""
    return sum(-(-WORDS_OF_A_POINT * points // links.words) + links.depth for points in sent.rounds)


@dataclass(frozen=True)
class Schedule:
    """A body split into groups, one per module: `group` (N,) of every point; counts per group."""

    group: Indices
    points: Indices
    inside: Indices
    """Edges with both ends in the group."""
    crossing: Indices
    """Edges with one end in the group: each takes one slot here and one in the other group."""

    @property
    def slots(self) -> Indices:
        """Edges each module works on in a step."""
        return self.inside + self.crossing

    @property
    def edges_inside(self) -> int:
        """n_es: edges inside groups."""
        return int(self.inside.sum())

    @property
    def edges_between(self) -> int:
        """n_et: edges between groups."""
        return int(self.crossing.sum()) // 2


def schedule(edges: Indices, group: Indices) -> Schedule:
    """Count what every module has to do; `edges` (M, 2), `group` (N,) from 0 without gaps."""
    count = int(group.max()) + 1
    ends = group[edges]
    same = ends[:, 0] == ends[:, 1]
    points, inside, crossing = (
        np.bincount(numbers, minlength=count) for numbers in (group, ends[same, 0], ends[~same].ravel())
    )
    if not points.all():
        raise RheotwinError(f"group {int(points.argmin())} of the partition has no points; take fewer modules")
    return Schedule(group, points, inside, crossing)


def cycles(machine: Machine, points: int, inside: int, between: int = 0) -> float:
    """Return the cycles of a step, (2.19) + (2.20) + o, for n_m points and n_es, n_et edges."""
    for_edges = (inside + 2 * between) / machine.modules + machine.edge_depth
    return for_edges + points / machine.modules + machine.point_depth + machine.overhead


def slowest_cycles(machine: Machine, plan: Schedule) -> int:
    """Return the cycles of a step when every phase waits for the module with the most to do."""
    for_edges = int(plan.slots.max()) + machine.edge_depth
    return for_edges + int(plan.points.max()) + machine.point_depth + machine.overhead


@dataclass(frozen=True)
class Prediction:
    """Cycles and seconds of a step, ideal (2.21) and with the partition at hand, and the memory it takes."""

    machine: Machine
    plan: Schedule
    cycles: float
    slowest_cycles: int
    block_rams: int
    """Of all groups; an edge between two groups is stored in both."""
    extras: Extras
    sent: Exchange | None = None
    """What chips send each other, where every group has its own."""
    links: Links = Links()

    @property
    def sent_cycles(self) -> int:
        """c_tr, zero on one chip."""
        return 0 if self.sent is None else exchange_cycles(self.sent, self.links)

    @property
    def seconds(self) -> float:
        """t_s [s] by (2.21)."""
        return self.cycles / self.machine.clock

    @property
    def slowest_seconds(self) -> float:
        """Step time [s] with the slowest module, and with what chips send each other."""
        return (self.slowest_cycles + self.sent_cycles) / self.machine.clock

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON values."""
        chips = (
            {} if self.sent is None else {"lines_of_chips": self.sent.lines.tolist(), "sent_cycles": self.sent_cycles}
        )
        return chips | {
            "modules": self.machine.modules,
            "clock_hz": self.machine.clock,
            "cycles": self.cycles,
            "step_s": self.seconds,
            "rate_hz": 1.0 / self.seconds,
            "slowest_module_cycles": self.slowest_cycles,
            "slowest_module_step_s": self.slowest_seconds,
            "slowest_module_rate_hz": 1.0 / self.slowest_seconds,
            "points_per_module": self.plan.points.tolist(),
            "edges_per_module": self.plan.slots.tolist(),
            "edges_between_modules": self.plan.edges_between,
            "block_rams": self.block_rams,
            "ram_bytes_per_s": self.machine.modules * bandwidth(self.machine.clock),
        }


def predict(
    machine: Machine, edges: Indices, group: Indices, extras: Extras = PLAIN, links: Links | None = None
) -> Prediction:
    """Predict the step of a body with `edges` (M, 2) whose points belong to the modules `group` (N,).

    With `links` every module has a chip of its own.
    """
    plan = schedule(edges, group)
    if len(plan.points) != machine.modules:
        raise RheotwinError(f"the partition has {len(plan.points)} groups for {machine.modules} modules; give as many")
    return Prediction(
        machine=machine,
        plan=plan,
        cycles=cycles(machine, len(group), plan.edges_inside, plan.edges_between),
        slowest_cycles=slowest_cycles(machine, plan),
        block_rams=sum(block_rams(int(n), int(m), extras) for n, m in zip(plan.points, plan.slots, strict=True)),
        extras=extras,
        sent=None if links is None else exchange(edges, group),
        links=links or Links(),
    )


def check_memory(prediction: Prediction, device: Device = XC2V6000) -> None:
    """Refuse a body that does not fit the RAMs of a chip, or the 16 bits of its indices, saying what would."""
    points, edges, extras = prediction.plan.points, prediction.plan.slots, prediction.extras
    if points.max() > 1 << WORD_BITS:
        raise RheotwinError(
            f"a group has {int(points.max())} points and indices of {WORD_BITS} bits reach {1 << WORD_BITS}: take at "
            f"least {-(-int(points.sum()) // (1 << WORD_BITS))} modules"
        )
    taken, holder = prediction.block_rams, device.name
    if prediction.sent is not None:
        taken = max(block_rams(int(n), int(m), extras) for n, m in zip(points, edges, strict=True))
        holder = f"each of {len(points)} chips"
    if taken <= device.block_rams:
        return
    per_point = extras.wide * (extras.over_points + extras.over_edges * edges.sum() / points.sum())
    raise RheotwinError(
        f"the body has {int(points.sum())} points and {int(edges.sum())} edge slots, which take "
        f"{taken} BlockRAMs where {holder} has {device.block_rams}; take a mesh of about "
        f"{int(BLOCK_WORDS * device.block_rams / per_point)} points, or a larger chip"
    )
