"""The papers' fixed-point circuit: its test vector, its experiments, its cycles, and what of it cannot be repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheotwin.particles.fixed_point.arithmetic import Q16, cordic_root, isqrt, point_position
from rheotwin.particles.fixed_point.body import grid_edges, grid_points
from rheotwin.particles.fixed_point.circuit import tem
from rheotwin.particles.fixed_point.experiments import OBJECT_STEPS, OBJECT_WIDTH, pulled_edge, pulled_object
from rheotwin.particles.fixed_point.kernels import FastCircuit
from rheotwin.particles.fixed_point.parameters import EdgeLaw, StepPoint, Units, circuit_constants, step_constant
from rheotwin.particles.fixed_point.partition import partition
from rheotwin.particles.fixed_point.ranges import dead_band
from rheotwin.particles.fixed_point.rtl import missing_tools, resources
from rheotwin.particles.fixed_point.timing import Extras, Machine, bandwidth, block_rams, cycles, predict
from rheotwin.validation.checks.check import Check, Compute, Values, check

LARGE = (15, 15, 16)
STEPS = (100, 500, 1000)
"""When the raw positions of the pulled corners are looked at (spec 6.4); sums of all points at the last."""

EVERY = 300
"""Steps between two looks at the error of the object."""


def vector() -> Values:
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
    return values | {f"{name}, raw": float(words[0]) for name, words in inner}


def constants() -> Values:
    """Place the points of the source's constants, and quantise its step in three ways."""
    numbers = {"1": 1.0, "0.5": 0.5, "2": 2.0, "10": 10.0, "100": 100.0, "250/120": 250 / 120, "0.01": 0.01}
    values = {f"w of {name}": float(point_position(number)) for name, number in numbers.items()}
    steps = {how: float(step_constant(0.01, how).value) for how in ("plain8", "printed", "eq218")}
    return values | {f"h, {how}": step for how, step in steps.items()}


def band() -> Values:
    """Look for the largest word that both printed steps round to no move."""
    law = EdgeLaw(k1=250.0, c1=20.0, c2=100.0)
    steps: dict[str, StepPoint] = {"327/15": "printed", "655/16": "eq218"}
    circuits = {name: circuit_constants(law, 1.0, 0.01, Units(time=1.0), h_const=how) for name, how in steps.items()}
    return {f"rounded, {name}": float(dead_band(constants).raw) for name, constants in circuits.items()}


def cordic() -> Values:
    """Hold roots by shifts and additions against their floor, for random words below 2^30."""
    squares = np.random.default_rng(0).integers(0, 2**30, 200_000)
    apart = {bits: np.abs(cordic_root(squares, bits, 16) - isqrt(squares)) for bits in (20, 22, 24)}
    shares = {f"W = {bits}, n = 16": 100.0 * float(np.mean(found == 0)) for bits, found in apart.items()}
    return shares | {"largest deviation": float(max(found.max() for found in apart.values()))}


def figure() -> Values:
    """Pull an edge for one second of two (Figure 2.10), and let truncating words drift."""
    values = {f"{how}, rounded": 100.0 * pulled_edge(how).error for how in ("plain8", "printed", "eq218")}
    values |= {f"{how}, cut": 100.0 * pulled_edge(how, rounding=False).error for how in ("plain8", "printed")}
    drift = np.diff(pulled_edge("plain8", rounding=False, steps=4000).fixed[2400:])
    values |= {"drift, least": float(drift.min()), "drift, most": float(drift.max())}
    return values


def corners() -> Values:
    """Pull the object of 9 x 9 x 9 points at two corners for 1,000 steps."""
    case = pulled_object()
    circuit = FastCircuit(case.body, case.constants, case.points)
    values: dict[str, float] = {}
    for step, before in zip(STEPS, (0, *STEPS), strict=False):
        circuit.advance(step - before)
        circuit.store(case.body)
        words = case.body.position[list(case.corners)].ravel()
        values |= {f"corner {n}, step {step}": float(word) for n, word in enumerate(words)}
    values |= {f"sum {n}": float(word) for n, word in enumerate(case.body.position.sum(axis=0, dtype=np.int64))}
    values["overflows"] = float(circuit.counters.sum())
    return values


def object_error() -> Values:
    """Hold the object against double precision over 3,000 steps."""
    case = pulled_object()
    circuit = FastCircuit(case.body, case.constants, case.points)
    x, v, lam = case.points.copy(), np.zeros_like(case.points), np.zeros(len(case.body.start))
    start, end, load = case.body.start, case.body.end, Q16.value(case.body.force)
    values = {}
    for done in range(1, OBJECT_STEPS + 1):
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
        if done % EVERY == 0:
            circuit.advance(EVERY)
            circuit.store(case.body)
            error = np.linalg.norm(Q16.value(case.body.position) - x, axis=1).mean()
            values[f"mean error, t = {done // 100}"] = 100.0 * float(error) / OBJECT_WIDTH
    return values


def performance() -> Values:
    """Count edges, cycles and memory of the papers' bodies."""
    counted = {size: len(grid_edges(size)[0]) for size in ((9, 9, 9), LARGE, (11, 11, 11), (6, 5, 5))}
    points, edges = grid_points(LARGE, 1.0), np.stack(grid_edges(LARGE), axis=1)
    four = Machine(modules=4, clock=66.0e6)
    slabs = predict(four, edges, partition(points, edges, 4, "slabs"))
    values = {f"edges, {' x '.join(map(str, size))}": float(count) for size, count in counted.items()}
    values |= {"x".join(map(str, size)): float(len(grid_points(size, 1.0))) for size in counted}
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
    return values


def gates() -> Values:
    """Synthesise the circuit for Virtex-II."""
    parts = {part.name: part for part in resources("xc2v").parts}
    return {f"multipliers, {name}": float(parts[name].multipliers) for name in ("TEM", "MPM", "all")}


_LACKING = missing_tools()


def _circuit(label: str, name: str, compute: Compute | None, **more: Any) -> Check:
    return check(f"circuit.{label}", compute, name=f"circuit-{name}", solvers=("fixed-point",), **more)


CHECKS = {
    "circuit": (
        _circuit("F1", "vector", vector, quick=True),
        _circuit("F2", "constants", constants, quick=True),
        _circuit("F3", "pulled-edge", figure, quick=True),
        _circuit("F4", "object", corners, quick=True),
        _circuit("F5", "object-error", object_error),
        _circuit("F6", "performance", performance, quick=True),
        _circuit("S1.points", "points", performance, quick=True),
        _circuit("F7", "printed-times", performance, quick=True),
        _circuit("F8", "gates", None if _LACKING else gates, waits_for=_LACKING),
        _circuit("F9", "measured", None),
        _circuit("S4.band", "dead-band", band, quick=True),
        _circuit("S4.cordic", "roots", cordic, quick=True),
    )
}
