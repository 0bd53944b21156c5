"""The papers' fixed-point circuit: its test vector, its experiments, its cycles, and what of it cannot be repeated."""

from __future__ import annotations

import numpy as np

from rheotwin.particles.fixed_point.arithmetic import Q16, point_position
from rheotwin.particles.fixed_point.body import grid_edges, grid_points
from rheotwin.particles.fixed_point.circuit import tem
from rheotwin.particles.fixed_point.experiments import OBJECT_STEPS, OBJECT_WIDTH, pulled_edge, pulled_object
from rheotwin.particles.fixed_point.kernels import FastCircuit
from rheotwin.particles.fixed_point.parameters import EdgeLaw, Units, circuit_constants, step_constant
from rheotwin.particles.fixed_point.partition import partition
from rheotwin.particles.fixed_point.rtl import missing_tools, resources
from rheotwin.particles.fixed_point.timing import Extras, Machine, bandwidth, block_rams, cycles, predict
from rheotwin.validation.verify.check import Check, Finding, Measurement, Quantity

LARGE = (15, 15, 16)
POSITIONS = {
    100: (10179, 10513, 10179, -10448, 9941, -10449),
    500: (9592, 12218, 9592, -11648, 8093, -11649),
    1000: (8067, 14949, 8080, -13148, 4933, -13149),
}
SUMS = (-302465, 208266, -300428)
"""Raw positions of the pulled corners, and of all points together after 1,000 steps (spec 6.4)."""


def vector() -> Measurement:
    """Put the papers' test vector through the truss element module, L = 10/256."""
    law = EdgeLaw(k1=0.5, c1=0.5, c2=2.3)
    constants = circuit_constants(law, 1.0, 0.01, Units(time=1.0))
    x_i, v_i, x_j, v_j = (Q16.raw(v) for v in ([[1, 2, 3]], [[4, 5, 6]], [[6, 5, 4]], [[3, 2, 1]]))
    found = tem(x_i, v_i, x_j, v_j, Q16.raw([7.0]) - 10, constants)
    x, v = np.array([5.0, 3.0, 1.0]), np.array([-1.0, -3.0, -5.0])
    e = x / np.linalg.norm(x)
    rate = e @ v
    voigt_rate = -0.5 / 2.8 * (7.0 - 10 / 256) + 2.3 / 2.8 * rate
    exact = [*(2.3 * (voigt_rate - rate) * e), voigt_rate]
    raw = [*found.forces[0].tolist(), int(found.voigt_rate[0])]
    names = ("f_x", "f_y", "f_z", "lvd")
    values = {f"{name}, raw": float(word) for name, word in zip(names, raw, strict=True)}
    values |= {
        f"error of {name}": 100.0 * abs((word / 256 - theory) / (word / 256))
        for name, word, theory in zip(names, raw, exact, strict=True)
    }
    inner = zip(("l", "1/l", "ld", "f"), (found.length, found.inverse, found.rate, found.force), strict=True)
    return Measurement(values | {f"{name}, raw": float(words[0]) for name, words in inner})


def constants() -> Measurement:
    """Place the points of the source's constants, and quantise its step in three ways."""
    numbers = {"1": 1.0, "0.5": 0.5, "2": 2.0, "10": 10.0, "100": 100.0, "250/120": 250 / 120, "0.01": 0.01}
    values = {f"w of {name}": float(point_position(number)) for name, number in numbers.items()}
    steps = {how: float(step_constant(0.01, how).value) for how in ("plain8", "printed", "eq218")}
    return Measurement(values | {f"h, {how}": step for how, step in steps.items()})


def figure() -> Measurement:
    """Pull an edge for one second of two (Figure 2.10), and let truncating words drift."""
    values = {f"{how}, rounded": 100.0 * pulled_edge(how).error for how in ("plain8", "printed", "eq218")}
    values |= {f"{how}, cut": 100.0 * pulled_edge(how, rounding=False).error for how in ("plain8", "printed")}
    drift = np.diff(pulled_edge("plain8", rounding=False, steps=4000).fixed[2400:])
    values |= {"drift, least": float(drift.min()), "drift, most": float(drift.max())}
    return Measurement(values)


def corners() -> Measurement:
    """Pull the object of 9 x 9 x 9 points at two corners for 1,000 steps."""
    case = pulled_object()
    circuit = FastCircuit(case.body, case.constants, case.points)
    values: dict[str, float] = {}
    done = 0
    for step in POSITIONS:
        circuit.advance(step - done)
        done = step
        circuit.store(case.body)
        words = case.body.position[list(case.corners)].ravel()
        values |= {f"corner {n}, step {step}": float(word) for n, word in enumerate(words)}
    values |= {f"sum {n}": float(word) for n, word in enumerate(case.body.position.sum(axis=0, dtype=np.int64))}
    values["overflows"] = float(circuit.counters.sum())
    return Measurement(values)


def object_error() -> Measurement:
    """Hold the object after 3,000 steps against double precision."""
    case = pulled_object()
    circuit = FastCircuit(case.body, case.constants, case.points)
    circuit.advance(OBJECT_STEPS)
    circuit.store(case.body)
    x, v, lam = case.points.copy(), np.zeros_like(case.points), np.zeros(len(case.body.start))
    start, end, load = case.body.start, case.body.end, Q16.value(case.body.force)
    for _ in range(OBJECT_STEPS):
        apart = x[end] - x[start]
        e = apart / np.linalg.norm(apart, axis=1)[:, None]
        rate = np.einsum("ec,ec->e", e, v[end] - v[start])
        voigt_rate = -250.0 / 120.0 * lam + 100.0 / 120.0 * rate
        pull = (100.0 * (voigt_rate - rate))[:, None] * e
        force = load.copy()
        for c in range(3):
            force[:, c] += np.bincount(end, pull[:, c], len(x)) - np.bincount(start, pull[:, c], len(x))
        lam += 0.01 * voigt_rate
        x, v = x + 0.01 * v, v + 0.01 * force
    error = np.linalg.norm(Q16.value(case.body.position) - x, axis=1).mean()
    return Measurement({"mean error, t = 30": 100.0 * float(error) / OBJECT_WIDTH})


def performance() -> Measurement:
    """Count edges, cycles and memory of the papers' bodies."""
    counted = {size: len(grid_edges(size)[0]) for size in ((9, 9, 9), LARGE, (11, 11, 11), (6, 5, 5))}
    points, edges = grid_points(LARGE, 1.0), np.stack(grid_edges(LARGE), axis=1)
    four = Machine(modules=4, clock=66.0e6)
    slabs = predict(four, edges, partition(points, edges, 4, "slabs"))
    values = {f"edges, {' x '.join(map(str, size))}": float(count) for size, count in counted.items()}
    values |= {
        "step, 9 x 9 x 9": 1e3 * cycles(Machine(), 729, counted[9, 9, 9]) / 33.0e6,
        "step, 15 x 15 x 16": 1e3 * cycles(Machine(), 3600, counted[LARGE]) / 33.0e6,
        "cycles, four slabs": slabs.cycles,
        "cycles, slowest slab": float(slabs.slowest_cycles),
        "RAMs, one group": float(block_rams(1024, 5120)),
        "RAMs, four groups": 4.0 * block_rams(1024, 5120),
        "RAMs, four groups with buffers": 4.0 * block_rams(1024, 5120, Extras(buffered=True)),
        "bandwidth": bandwidth(33.0e6) / 1e9,
        "more edges": counted[11, 11, 11] / counted[6, 5, 5],
        "chapter, one module": 1.14 / 0.138,
        "chapter, four modules": 6.92 / 0.0920,
        "paper, one module": 3.65 / 0.20,
        "paper, four modules": 23.2 / 0.0955,
        "step, four slabs": 1e3 * slabs.seconds,
        "rate, 11 x 11 x 11": 66.0e6 / cycles(Machine(clock=66.0e6), 1331, counted[11, 11, 11]),
    }
    return Measurement(values)


def gates() -> Measurement:
    """Synthesise the circuit for Virtex-II."""
    parts = {part.name: part for part in resources("xc2v").parts}
    return Measurement({f"multipliers, {name}": float(parts[name].multipliers) for name in ("TEM", "MPM", "all")})


def _exactly(values: dict[str, float], unit: str = "") -> tuple[Quantity, ...]:
    return tuple(Quantity(name, value, unit=unit) for name, value in values.items())


def _within(values: dict[str, float], tolerance: float, unit: str = "") -> tuple[Quantity, ...]:
    return tuple(Quantity(name, value, tolerance, unit=unit) for name, value in values.items())


_LACKING = missing_tools()

CHECKS = (
    Check(
        reference="F1",
        name="circuit-vector",
        title="test vector of the truss element module (L = 10/256, from the printed errors)",
        quantities=(
            *_exactly({"f_x, raw": -338, "f_y, raw": -203, "f_z, raw": -68, "lvd, raw": -992}),
            *_exactly({"l, raw": 1514, "1/l, raw": 43, "ld, raw": -817, "f, raw": -402}),
            *_within(
                {"error of f_x": 1.4276, "error of f_y": 1.5247, "error of f_z": 2.0075, "error of lvd": 0.1578},
                1e-4,
                "%",
            ),
        ),
        compute=vector,
        quick=True,
    ),
    Check(
        reference="F2",
        name="circuit-constants",
        title="points of the constants and the quantised step",
        quantities=(
            *_exactly({"w of 1": 14, "w of 0.5": 15, "w of 2": 13, "w of 10": 11, "w of 100": 8}),
            *_exactly({"w of 250/120": 13, "w of 0.01": 16, "h, plain8": 0.0078125}),
            Quantity("h, printed", 0.00997925, 5.1e-9),
            Quantity("h, eq218", 0.00999451, 5.1e-9),
        ),
        compute=constants,
        quick=True,
    ),
    Check(
        reference="F3",
        name="circuit-pulled-edge",
        title="Figure 2.10 (L = 20, 2 s and the norm are choices): error, and drift of truncating words after release",
        quantities=(
            Quantity("plain8, rounded", 12.64, 0.02, unit="%"),
            Quantity("printed, rounded", 0.381, 0.002, unit="%"),
            Quantity("eq218, rounded", 0.442, 5.1e-4, unit="%"),
            Quantity("plain8, cut", 16.27, 5.1e-3, unit="%"),
            Quantity("printed, cut", 4.24, 5.1e-3, unit="%"),
            *_exactly({"drift, least": -1, "drift, most": -1}, "LSB/step"),
        ),
        compute=figure,
        quick=True,
    ),
    Check(
        reference="F4",
        name="circuit-object",
        title="object of 9 x 9 x 9 points pulled at two corners (G1): raw words",
        quantities=_exactly(
            {
                f"corner {n}, step {step}": float(word)
                for step, words in POSITIONS.items()
                for n, word in enumerate(words)
            }
            | {f"sum {n}": float(word) for n, word in enumerate(SUMS)}
            | {"overflows": 0.0}
        ),
        compute=corners,
        quick=True,
    ),
    Check(
        reference="F5",
        name="circuit-object-error",
        title="the same after 30 s against double precision (printed 4.22; forces and parameters unscaled, E9)",
        quantities=(Quantity("mean error, t = 30", 4.21, 0.02, unit="%"),),
        compute=object_error,
    ),
    Check(
        reference="F6",
        name="circuit-performance",
        title="cycles, memory and speed-ups of the papers from formulas",
        quantities=(
            *_exactly({"edges, 9 x 9 x 9": 3672, "edges, 15 x 15 x 16": 19531}),
            *_exactly({"edges, 11 x 11 x 11": 6930, "edges, 6 x 5 x 5": 661}),
            *_within({"step, 9 x 9 x 9": 0.1363, "step, 15 x 15 x 16": 0.7039}, 5.1e-5, "ms"),
            *_exactly({"cycles, four slabs": 6364.5, "cycles, slowest slab": 6687}),
            *_exactly({"RAMs, one group": 30, "RAMs, four groups": 120, "RAMs, four groups with buffers": 132}),
            Quantity("bandwidth", 1.98, 1e-12, unit="GB/s"),
            Quantity("more edges", 10.48, 5.1e-3),
            Quantity("chapter, one module", 8.26, 5.1e-3),
            Quantity("chapter, four modules", 75.2, 0.051),
            Quantity("paper, one module", 18.25, 5.1e-3),
            Quantity("paper, four modules", 242.9, 0.051),
        ),
        compute=performance,
        quick=True,
    ),
    Check(
        reference="F7",
        name="circuit-printed-times",
        title="printed times that the papers' own formulas do not give (E4, E6)",
        quantities=(
            Quantity(
                "step, four slabs",
                0.0920,
                5.1e-5,
                unit="ms",
                finding=Finding(
                    0.0964,
                    5.1e-5,
                    "printed 0.0920 ms is 6,072 cycles; (2.19) gives 6,364.5, and 30 to 35 cycles of overhead with "
                    "crossing edges counted once would reproduce it together with 0.137 and 0.704",
                ),
            ),
            Quantity(
                "rate, 11 x 11 x 11",
                1176.0,
                0.51,
                unit="Hz",
                finding=Finding(
                    7896.0,
                    1.0,
                    "printed 1176 Hz is 56.1 thousand cycles, 8.1 per edge: about four passes at two slots per edge",
                ),
            ),
        ),
        compute=performance,
        quick=True,
    ),
    Check(
        reference="F8",
        name="circuit-gates",
        title="multipliers of the circuit on Virtex-II",
        quantities=_exactly({"multipliers, TEM": 16, "multipliers, MPM": 9, "multipliers, all": 25}),
        compute=None if _LACKING else gates,
        waits_for=_LACKING,
    ),
    Check(
        reference="F9",
        name="circuit-measured",
        title="what the papers measured on their boards and computers, or read off a placed design",
        quantities=(
            *_within({"step, 9 x 9 x 9 on the board": 0.138, "computer": 1.14, "computer, large": 6.92}, 5.1e-4, "ms"),
            *_exactly({"flip-flops": 8720, "slices": 6875}),
        ),
        waits_for="needs the papers' boards, and placement for Virtex-II",
    ),
)
