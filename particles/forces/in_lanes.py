"""Loops over particles and elements with one set of laws in each lane of a vector (`rheotwin.particles.populations`).

Particle i of lane s lies in column i S + s of arrays (3, N S). Edges belong to their first particle, whose place,
velocity and force stay in registers meanwhile. There is no root and no division: 1/l is a state that one Newton step
keeps,

    r <- r (3 - l^2 r^2)/2,      l' = r d.u,      f = law(l', l^2 r - l0),      force d r f

and the law is that of all loops (`linear_response`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.layouts import subtract
from rheotwin.kernels.vectors import load, numbers_of, put_rows, slots, store
from rheotwin.particles.forces.edges import dot
from rheotwin.particles.forces.elements import linear_response


@cache
def edges_in_lanes(lanes: int, arms: int, spring: bool) -> Any:
    """Return the loop over edges of laws with so many arms."""
    slot, three, response = slots(lanes), numbers_of(3), linear_response(spring, arms, None)

    @compiled(vectors=True, inside=True)
    def add_edge_forces(
        first: Any, other: Any, group: Any, rest: Any, inverse: Any, states: Any, constants: Any,
        x: Any, v: Any, force: Any,
    ) -> None:  # fmt: skip
        """Advance the states (M, arms, S) and 1/l (1, M S) of edges, and add their forces; first (N+1,), other (M,)."""
        for i in range(first.shape[0] - 1):
            here = slot(i * lanes)
            a, u, f = three(x, here), three(v, here), three(force, here)
            for e in range(first[i], first[i + 1]):
                there, at = slot(other[e] * lanes), slot(e * lanes)
                b, w = three(x, there), three(v, there)
                d = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
                square, r = dot(d, d), load(inverse, 0, at)
                r = r * (1.5 - 0.5 * square * r * r)
                store(inverse, 0, at, r)
                rate = r * dot(d, (w[0] - u[0], w[1] - u[1], w[2] - u[2]))
                strain = square * r - rest[e] if spring else r
                t = r * response(constants[group[e]], rest, states[e], slot(0), strain, rate)
                g = (t * d[0], t * d[1], t * d[2])
                f = (f[0] + g[0], f[1] + g[1], f[2] + g[2])
                subtract(force, there, g)
            put_rows(force, here, f)

    return add_edge_forces


@cache
def halves_in_lanes(lanes: int, arms: int, spring: bool) -> Any:
    """Return the loop over half elements."""
    slot, three, response = slots(lanes), numbers_of(3), linear_response(spring, arms, None)

    @compiled(vectors=True, inside=True)
    def add_half_forces(
        cells: Any, group: Any, rest: Any, inverse: Any, states: Any, constants: Any, x: Any, v: Any, force: Any
    ) -> None:
        """The same between the corners of cells (C, 8) and their middle, which has the force of its corners' mean."""
        corners = cells.shape[1]
        part = 1.0 / corners
        for c in range(cells.shape[0]):
            here = slot(cells[c, 0] * lanes)
            a, u = three(x, here), three(v, here)
            for k in range(1, corners):
                there = slot(cells[c, k] * lanes)
                b, w = three(x, there), three(v, there)
                a, u = (a[0] + b[0], a[1] + b[1], a[2] + b[2]), (u[0] + w[0], u[1] + w[1], u[2] + w[2])
            a, u = (a[0] * part, a[1] * part, a[2] * part), (u[0] * part, u[1] * part, u[2] * part)
            whole = (0.0 * a[0], 0.0 * a[1], 0.0 * a[2])
            for k in range(corners):
                e, there = corners * c + k, slot(cells[c, k] * lanes)
                b, w, at = three(x, there), three(v, there), slot(e * lanes)
                d = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
                square, r = dot(d, d), load(inverse, 0, at)
                r = r * (1.5 - 0.5 * square * r * r)
                store(inverse, 0, at, r)
                rate = r * dot(d, (w[0] - u[0], w[1] - u[1], w[2] - u[2]))
                strain = square * r - rest[e] if spring else r
                t = r * response(constants[group[c]], rest, states[e], slot(0), strain, rate)
                g = (t * d[0], t * d[1], t * d[2])
                whole = (whole[0] + g[0], whole[1] + g[1], whole[2] + g[2])
                subtract(force, there, g)
            whole = (part * whole[0], part * whole[1], part * whole[2])
            for k in range(corners):
                there = slot(cells[c, k] * lanes)
                f = three(force, there)
                put_rows(force, there, (f[0] + whole[0], f[1] + whole[1], f[2] + whole[2]))

    return add_half_forces


@cache
def pressure_in_lanes(lanes: int) -> Any:
    """Return the pressure of a closed body."""
    slot, three = slots(lanes), numbers_of(3)

    @compiled(vectors=True, inside=True)
    def add_pressure_forces(
        faces: Any, weight: Any, nodes: Any, rest: float, stiffness: float, damping: float,
        x: Any, v: Any, gradient: Any, force: Any,
    ) -> None:  # fmt: skip
        """p = -k (V - V0) - c V' on the outer triangles (F, 3) of one body, corners numbered as in its `nodes`."""
        for n in range(nodes.shape[0]):
            for c in range(3):
                store(gradient, c, slot(n * lanes), 0.0)
        for f in range(faces.shape[0]):
            a, b, c = slot(faces[f, 0] * lanes), slot(faces[f, 1] * lanes), slot(faces[f, 2] * lanes)
            p = three(x, slot(nodes[faces[f, 0]] * lanes))
            q = three(x, slot(nodes[faces[f, 1]] * lanes))
            s = three(x, slot(nodes[faces[f, 2]] * lanes))
            k = (q[0] - p[0], q[1] - p[1], q[2] - p[2])
            m = (s[0] - p[0], s[1] - p[1], s[2] - p[2])
            third = weight[f]
            g = (
                third * (k[1] * m[2] - k[2] * m[1]),
                third * (k[2] * m[0] - k[0] * m[2]),
                third * (k[0] * m[1] - k[1] * m[0]),
            )
            for corner in (a, b, c):
                old = three(gradient, corner)
                put_rows(gradient, corner, (old[0] + g[0], old[1] + g[1], old[2] + g[2]))
        origin = three(x, slot(nodes[0] * lanes))
        volume = flow = 0.0 * origin[0]
        for n in range(nodes.shape[0]):
            g, p, u = (
                three(gradient, slot(n * lanes)),
                three(x, slot(nodes[n] * lanes)),
                three(v, slot(nodes[n] * lanes)),
            )
            volume = volume + dot(g, (p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]))
            flow = flow + dot(g, u)
        pressure = stiffness * (rest - volume * (1.0 / 3.0)) - damping * flow
        for n in range(nodes.shape[0]):
            there = slot(nodes[n] * lanes)
            g, f = three(gradient, slot(n * lanes)), three(force, there)
            put_rows(force, there, (f[0] + pressure * g[0], f[1] + pressure * g[1], f[2] + pressure * g[2]))

    return add_pressure_forces


@cache
def moves_in_lanes(lanes: int) -> tuple[Any, Any]:
    """Return what begins the forces of a step, and what ends it."""
    slot, three = slots(lanes), numbers_of(3)

    @compiled(vectors=True, inside=True)
    def begin_forces(weight: Any, node: Any, share: Any, which: Any, factors: Any, number: float, force: Any) -> None:
        """Put weights (N, 3) and loads, shares (L, 3) times the factors (steps, tables) of this step."""
        for i in range(weight.shape[0]):
            for c in range(3):
                store(force, c, slot(i * lanes), weight[i, c])
        for k in range(node.shape[0]):
            factor = factors[int(number), which[k]]
            for c in range(3):
                there = slot(node[k] * lanes)
                store(force, c, there, load(force, c, there) + factor * share[k, c])

    @compiled(vectors=True, inside=True)
    def move(
        lightness: Any, node: Any, component: Any, motion: Any, speeds: Any, number: float, h: float,
        x: Any, v: Any, force: Any,
    ) -> None:  # fmt: skip
        """v += (h/M) F, held components at their speed (steps, motions, 3), x += h v."""
        count = x.shape[1] // lanes
        for i in range(count):
            here = slot(i * lanes)
            u, f, w = three(v, here), three(force, here), load(lightness, 0, here)
            put_rows(v, here, (u[0] + w * f[0], u[1] + w * f[1], u[2] + w * f[2]))
        for k in range(node.shape[0]):
            store(v, component[k], slot(node[k] * lanes), speeds[int(number), motion[k], component[k]])
        for i in range(count):
            here = slot(i * lanes)
            a, u = three(x, here), three(v, here)
            put_rows(x, here, (a[0] + h * u[0], a[1] + h * u[1], a[2] + h * u[2]))

    return begin_forces, move
