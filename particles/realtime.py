"""How large a body holds an update rate on this machine: the papers' Table 1.1 measured anew (R18, R19).

The body is a box of n x n x (n + 1) particles, each cube split into five tetrahedra, of three-element edges, held at
its bottom. With its extras on a ball presses on its top (the manipulation point), and it has the papers' shape-keeping
forces and softening dashpots. A body holds a rate when one step takes no longer than one period of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.particles.truss import TrussSimulation, TrussSolver
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options

SMALLEST = 3
"""Particles along the shorter sides of the smallest body tried."""
ROUND_SECONDS = 2e-3
"""Shortest round of steps that is timed [s]: long against one call, short against other programs' turns."""

PUBLISHED = {100.0: {False: 2857, True: 1385}, 1000.0: {False: 661, True: 252}}
"""Edges of the largest bodies in Table 1.1 (AthlonXP 2400+), by rate [Hz] and whether the extras are on."""

LAW: dict[str, Any] = {
    "model": "three-element",
    "young": 2.0e4,
    "poisson": 0.25,
    "voigt_viscosity": 200.0,
    "series_viscosity": 2.0e4,
}
SOFTENING = {"viscosity": 2.0e3, "from_stress": 50.0, "to_stress": 500.0}
SHAPE_KEEPING = {
    "topology_stiffness": 10.0,
    "topology_damping": 0.01,
    "global_pressure": 1.0e6,
    "global_pressure_damping": 1.0e3,
}
SPACING = 0.01
"""Distance of neighbours along the axes [m]."""


@dataclass(frozen=True)
class Body:
    """One body that was timed: its size in particles, its edges, and what one step takes [s]."""

    particles: tuple[int, int, int]
    edges: int
    step_seconds: float


@dataclass(frozen=True)
class Held:
    """The largest body that holds `rate` [Hz], or none; `limited` if a larger one might."""

    rate: float
    extras: bool
    body: Body | None
    limited: bool

    @property
    def published(self) -> int | None:
        """Edges of the papers' largest body at this rate, if they give one."""
        return PUBLISHED.get(self.rate, {}).get(self.extras)

    def to_data(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self) | {"published_edges": self.published}


def counted_edges(particles: tuple[int, int, int]) -> int:
    """Return the edges of a box split into five tetrahedra per cube: axis edges and one diagonal per face (R1).

    >>> counted_edges((7, 7, 6)), counted_edges((15, 15, 16))
    (1385, 19531)
    """
    nx, ny, nz = particles
    axes = (nx - 1) * ny * nz + nx * (ny - 1) * nz + nx * ny * (nz - 1)
    faces = (nx - 1) * (ny - 1) * nz + (nx - 1) * ny * (nz - 1) + nx * (ny - 1) * (nz - 1)
    return axes + faces


def scene_data(particles: tuple[int, int, int], *, extras: bool) -> dict[str, Any]:
    """Return the scene of a body of so many particles along each axis."""
    size = [SPACING * (count - 1) for count in particles]
    radius = 2.0 * SPACING
    top = [size[0] / 2.0, size[1] / 2.0, size[2] + radius]
    data: dict[str, Any] = {
        "schema": 1,
        "dimension": 3,
        "duration": 1e6,
        "laws": {"stuff": LAW | ({"softening": SOFTENING} if extras else {})},
        "bodies": {
            "block": {
                "shape": "box",
                "size": size,
                "cells": [count - 1 for count in particles],
                "pattern": "five",
                "law": "stuff",
                "density": 1000.0,
            }
        },
        "supports": {"table": {"body": "block", "where": {"side": "bottom"}}},
        "output": {"interval": 1e6},
    }
    if extras:
        data["tools"] = {
            "finger": {
                "shape": "sphere",
                "center": top,
                "radius": radius,
                "motion": {"times": [0.0, 0.1], "displacement": [[0.0, 0.0, 0.0], [0.0, 0.0, -0.5 * SPACING]]},
            }
        }
    return data


def timed_body(side: int, *, extras: bool, seconds: float, options: Mapping[str, Any]) -> Body:
    """Build the body with `side` particles along x and y, and time its steps for about `seconds` [s]."""
    particles = (side, side, side + 1)
    problem = build_problem(scene_from_data(scene_data(particles, extras=extras)))
    chosen = {"volume_term": False} | (SHAPE_KEEPING if extras else {}) | dict(options)
    solver = TrussSolver()
    simulation = solver.start(problem, checked_options(solver, chosen))
    return Body(particles, simulation.statistics()["edges"], _step_seconds(simulation, seconds))


def largest_bodies(
    rates: Sequence[float],
    *,
    extras: bool,
    most_edges: int,
    seconds: float = 0.2,
    options: Mapping[str, Any] | None = None,
    measure: Callable[[int], Body] | None = None,
) -> Iterator[Held]:
    """Find the largest body that holds each rate [Hz], up to `most_edges`; every size is timed once.

    `options` are those of the truss solver; `measure` times a body of so many particles a side (default: `timed_body`).
    """
    timed: dict[int, Body] = {}
    chosen = dict(options or {})

    def time_of_side(side: int) -> float:
        if side not in timed:
            timed[side] = (
                timed_body(side, extras=extras, seconds=seconds, options=chosen) if measure is None else measure(side)
            )
        return timed[side].step_seconds

    most = SMALLEST
    while counted_edges((most + 1, most + 1, most + 2)) <= most_edges:
        most += 1
    for rate in sorted(rates, reverse=True):
        side = _largest_side(1.0 / rate, most, time_of_side, sorted(timed))
        yield Held(rate, extras, None if side is None else timed[side], limited=side == most)


def _largest_side(period: float, most: int, seconds: Callable[[int], float], known: Sequence[int]) -> int | None:
    """Return the largest side up to `most` whose step takes at most `period` [s]; None if the smallest takes longer.

    Sizes grow by a half from the largest `known` one that holds, then the gap is halved.
    """
    holding = max((side for side in known if seconds(side) <= period), default=None)
    if holding is None:
        if seconds(SMALLEST) > period:
            return None
        holding = SMALLEST
    failing = min((side for side in known if side > holding), default=None)
    while failing is None and holding < most:
        side = min(most, max(holding + 1, round(1.5 * holding)))
        holding, failing = (side, None) if seconds(side) <= period else (holding, side)
    while failing is not None and failing - holding > 1:
        middle = (holding + failing) // 2
        holding, failing = (middle, failing) if seconds(middle) <= period else (holding, middle)
    return holding


def _step_seconds(simulation: TrussSimulation, seconds: float) -> float:
    """Return the time of one step [s]: the fastest of many short rounds, when no other program wanted the processor."""
    steps = 1
    while (spent := _taken(simulation, steps)) < ROUND_SECONDS:
        steps *= 2
    return min(_taken(simulation, steps) / steps for _ in range(max(3, round(seconds / spent))))


def _taken(simulation: TrussSimulation, steps: int) -> float:
    """Take so many steps in one call and return how long that took [s]."""
    before = simulation.step_count
    begin = perf_counter()
    simulation.advance((before + steps + 0.25) * simulation.step_size, steps)
    spent = perf_counter() - begin
    if simulation.step_count != before + steps:
        raise RheotwinError("realtime: the body ran away from its tool; leave out the options (--set) that made it")
    return spent
