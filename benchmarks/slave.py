"""Masters and slaves as `rheotwin run` takes them, beside a point method on a grid; one thread, CPU time.

Cubes of 4,096, 17,576 and 64,000 masters fall, as the papers' do; lists are kept as long as they may be. The point
method is our own: the affine one with 27 nodes of a grid around every point and the same stress, .43 and 1.7 ms a step
where Warp's takes .57 and 1.96 ms, so that 2.2 times Warp's is 2.6 times this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.side_by_side import Ratio, microseconds
from rheotwin.arrays import Array
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import load, slots, store
from rheotwin.particles.slave.cloud import Masters
from rheotwin.particles.slave.forces import Scratch, find_stress
from rheotwin.particles.slave.lists import UNMADE
from rheotwin.particles.slave.solver import SlaveSimulation
from rheotwin.phases import start_simulation
from rheotwin.solver import checked_options, find_solver
from rheotwin.validation.checks.running import problem_of
from rheotwin.validation.checks.slave import FALL, PLANE, cubes, dropped, elastic

STEPS, SIDES = 8, (16, 26, 40)
"""Steps per round; masters a side of the cubes."""
four = slots(4)


@compiled(inside=True, vectors=True)
def point_method(masters: Masters, grid: Array, many: int, width: float, weights: Array, room: Array, h: float) -> None:
    """Take points to the nodes of a grid and back: quadratic splines, the affine method, B-splines' K = d^2/4."""
    per, x, c, tau = 1.0 / width, masters.x, masters.c, masters.tau
    scale = -4.0 * per * per * h * width**3
    grid[:] = 0.0
    for back in (False, True):
        for m in range(x.shape[0]):
            first = 0
            for a in range(3):
                low = np.floor(x[m, a] * per - 0.5)
                f = x[m, a] * per - low
                weights[0, a], weights[1, a] = 0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2
                weights[2, a], weights[3, a] = 0.5 * (f - 0.5) ** 2, (low - x[m, a] * per) * width
                first = first * many + int(low)
            mass = masters.mass[m]
            q = (tau[0, m], tau[1, m], tau[2, m]), (tau[1, m], tau[3, m], tau[4, m]), (tau[2, m], tau[4, m], tau[5, m])
            for a in range(3):
                for b in range(3):
                    room[1 + b, a] = scale * q[a][b] + mass * c[m, 4 * b + a]
                room[0, a] = mass * masters.v[m, a]
            room[0, 3], room[1, 3], room[2, 3], room[3, 3] = mass, 0.0, 0.0, 0.0
            r0, r1 = load(room, 0, four(0)), load(room, 1, four(0))
            r2, r3 = load(room, 2, four(0)), load(room, 3, four(0))
            s0 = s1 = s2 = s3 = 0.0 * r0
            for i in range(3):
                u = weights[3, 0] + i * width
                for j in range(3):
                    v, wij = weights[3, 1] + j * width, weights[i, 0] * weights[j, 1]
                    line = r0 + u * r1 + v * r2
                    for k in range(3):
                        w, z = wij * weights[k, 2], weights[3, 2] + k * width
                        node = first + (i * many + j) * many + k
                        if back:
                            speed = w * load(grid, node, four(0))
                            s0, s1, s2, s3 = s0 + speed, s1 + u * speed, s2 + v * speed, s3 + z * speed
                        else:
                            store(grid, node, four(0), load(grid, node, four(0)) + w * (line + z * r3))
            if back:
                store(masters.v, m, four(0), s0)
                store(c, m, four(0), 4.0 * per * per * s1)
                store(c, m, four(4), 4.0 * per * per * s2)
                store(c, m, four(8), 4.0 * per * per * s3)
                for row in range(3):
                    e0, e1, e2 = masters.elastic[row, m], masters.elastic[3 + row, m], masters.elastic[6 + row, m]
                    for a in range(3):
                        masters.elastic[3 * a + row, m] += h * (c[m, a] * e0 + c[m, 4 + a] * e1 + c[m, 8 + a] * e2)
                for a in range(3):
                    x[m, a] += h * masters.v[m, a]
        for node in range(0 if back else grid.shape[0]):
            mass = grid[node, 3]
            inverse = 1.0 / mass if mass > 0.0 else 0.0
            for a in range(3):
                grid[node, a] *= inverse


def falling(side: int, **options: Any) -> SlaveSimulation:
    """Return a falling cube of so many masters a side, on its way."""
    data = dropped(elastic(1e6, 0.4), FALL, (0.0, 0.0), cubes(elastic(1e6, 0.4), (side,) * 3, 1.0 / side), PLANE)
    solver = find_solver("slave")
    found = start_simulation(solver, problem_of(data | {"duration": 1e6}), checked_options(solver, options))
    assert isinstance(found, SlaveSimulation)
    return found


def on_a_grid(side: int) -> Program:
    """Return the point method for a cube of so many points a side, eight of them in a cell of two spacings."""
    simulation = falling(side, scheme="explicit")
    masters, width, many = simulation.cloud.masters, 2.0 / side, side // 2 + 8
    masters.x[:, :3] += 2.0 * width - masters.x[:, :3].min(axis=0)
    scratch = Scratch(*(np.zeros((3, 8)) for _ in range(3)), np.zeros(3), np.zeros(3))
    constants = np.array([[0.0, 1.4e6, 3.6e5, np.inf, np.inf, 0.0, 0.0, 1e6]])
    there = (masters, np.zeros((many**3, 4)), many, width, np.zeros((4, 3)), np.zeros((4, 4)), STEP)
    stages = [Stage(point_method, there), Stage(find_stress, (masters, constants, scratch, np.inf, STEP))]
    return Program(stages, simulation.step_size, Clock())


def remade(simulation: SlaveSimulation) -> None:
    """Take steps each of which makes lists anew."""
    for _ in range(STEPS):
        simulation.lists.age[0] = UNMADE
        simulation.advance(1e6, 1)


def _iterations(simulation: SlaveSimulation) -> str:
    return f"at most {simulation.statistics()['most_iterations']} iterations"


def measure() -> list[Ratio]:
    """Measure everything."""
    explicit = {side: falling(side, scheme="explicit") for side in SIDES}
    again, solved, usual = falling(16, scheme="explicit"), falling(16, step=3.0 / 16.0 / 46.29), falling(16)
    points = {side: on_a_grid(side) for side in SIDES[:2]}
    for one in (solved, usual):
        one.advance(0.32, 10**6)  # on the floor
    work = {f"{side}": lambda one=one: one.advance(1e6, STEPS) for side, one in explicit.items()}
    work |= {f"{side} on a grid": lambda one=one: one.run(0, STEPS) for side, one in points.items()}
    work |= {"remade": lambda: remade(again), "solved": lambda: solved.advance(1e6, STEPS)}
    work |= {"usual": lambda: usual.advance(1e6, STEPS)}
    spent = microseconds(work, STEPS)
    ns = {side: 1e3 * spent[f"{side}"] / side**3 for side in SIDES}
    detail = ", ".join(f"{side}^3: {one:.0f} ns" for side, one in ns.items())
    found = [
        Ratio(
            f"{side}^3, slaves / grid",
            spent[f"{side}"] / spent[f"{side} on a grid"],
            2.6,
            f"{ns[side]:.0f} ns a master",
        )
        for side in SIDES[:2]
    ]
    return [
        *found,
        Ratio("17,576 masters / 270 ns", ns[26] / 270.0, 1.0, detail),
        Ratio("most / least a master, 4,096 to 64,000", max(ns.values()) / min(ns.values()), 1.3),
        Ratio("lists made anew / a step", (spent["remade"] - spent["16"]) / spent["16"], 1.2),
        Ratio("solve at 3 d/c / explicit", spent["solved"] / spent["16"], 4.0, _iterations(solved)),
        Ratio("solve at 1 ms (.7 d/c) / explicit", spent["usual"] / spent["16"], detail=_iterations(usual)),
    ]
