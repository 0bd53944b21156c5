"""The three-element step of a truss in Taichi, Warp and JAX, where they are installed: live peers of the kernels.

All have particles by bandwidth and edges by their first end, as the C scatter loop, and the loop over steps inside one
compiled kernel on one thread, which is the fastest way to use them: a launch per step or atomic sums cost more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

Array = Any
XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


@dataclass(frozen=True)
class SortedEdges:
    """A body for loops over edges: pairs (M, 2), positions [m] and velocities [m/s] (N, 3) in one precision.

    `constants` (4, M): viscosity, arm stiffness, decay, gain; `rate` (N,): h/m [s/kg]; `step`: h [s].
    """

    pairs: Array
    positions: Array
    velocities: Array
    constants: Array
    rate: Array
    step: float


@dataclass(frozen=True)
class Peer:
    """Work that takes so many steps more, and the positions (N, 3) [m] they lead to."""

    work: Callable[[], object]
    positions: Callable[[], Array]


def taichi(body: SortedEdges, steps: int) -> Peer:
    """Return Taichi with the loop over steps in one serial kernel."""
    os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
    import taichi as ti

    single = body.positions.dtype == np.float32
    real: Any = ti.f32 if single else ti.f64
    ti.init(
        arch=ti.cpu, cpu_max_num_threads=1, default_fp=real, default_ip=ti.i32, log_level=ti.ERROR, offline_cache=False
    )
    many, count, h = len(body.pairs), len(body.positions), body.step
    rows, vectors = ti.types.ndarray(dtype=real, ndim=1), ti.types.ndarray(dtype=ti.math.vec3, ndim=1)
    whole = ti.types.ndarray(dtype=ti.i32, ndim=2)
    columns = ti.types.ndarray(dtype=real, ndim=2)

    # The compilers want annotations that are objects; in this file those in a signature are text.
    def advance(pairs, x, v, f, c, z, rate):  # type: ignore[no-untyped-def]
        ti.loop_config(serialize=True)
        for _ in range(steps):
            for n in range(count):
                f[n] = ti.math.vec3(0.0)
            for e in range(many):
                i, j = pairs[e, 0], pairs[e, 1]
                d, w = x[j] - x[i], v[j] - v[i]
                inverse = 1.0 / ti.sqrt(d.dot(d))
                change = w.dot(d) * inverse
                z[e] = c[2, e] * z[e] + c[3, e] * change
                pull = (c[1, e] * z[e] + c[0, e] * change) * inverse * d
                f[i] += pull
                f[j] -= pull
            for n in range(count):
                v[n] += rate[n] * f[n]
                x[n] += h * v[n]

    advance.__annotations__ = {
        "pairs": whole,
        "x": vectors,
        "v": vectors,
        "f": vectors,
        "c": columns,
        "z": rows,
        "rate": rows,
    }
    kernel = ti.kernel(advance)
    x, v, f = (ti.ndarray(ti.math.vec3, count) for _ in range(3))
    x.from_numpy(body.positions)
    v.from_numpy(body.velocities)
    pairs, c = ti.ndarray(ti.i32, body.pairs.shape), ti.ndarray(real, body.constants.shape)
    z, rate = ti.ndarray(real, many), ti.ndarray(real, count)
    for array, values in ((pairs, body.pairs), (c, body.constants), (rate, body.rate)):
        array.from_numpy(values)
    return Peer(lambda: kernel(pairs, x, v, f, c, z, rate), x.to_numpy)


def warp(body: SortedEdges, steps: int) -> Peer:
    """Return Warp with the loop over steps in a kernel of one thread."""
    import warp as wp

    wp.config.quiet = True
    single = body.positions.dtype == np.float32
    real, vector = (wp.float32, wp.vec3f) if single else (wp.float64, wp.vec3d)
    many, count = len(body.pairs), len(body.positions)

    def advance(pairs, x, v, f, c, z, rate, h, repeats, edges, particles):  # type: ignore[no-untyped-def]
        for _ in range(repeats):
            for n in range(particles):
                f[n] = vector()
            for e in range(edges):
                i, j = pairs[e, 0], pairs[e, 1]
                d = x[j] - x[i]
                inverse = real(1.0) / wp.sqrt(wp.dot(d, d))
                change = wp.dot(v[j] - v[i], d) * inverse
                state = c[2, e] * z[e] + c[3, e] * change
                z[e] = state
                pull = (c[1, e] * state + c[0, e] * change) * inverse * d
                f[i] = f[i] + pull
                f[j] = f[j] - pull
            for n in range(particles):
                v[n] = v[n] + rate[n] * f[n]
                x[n] = x[n] + h * v[n]

    vectors, rows = wp.array(dtype=vector), wp.array(dtype=real)
    kinds = [wp.array2d(dtype=wp.int32), *[vectors] * 3, wp.array2d(dtype=real), rows, rows, real, *[wp.int32] * 3]
    names = advance.__code__.co_varnames[: len(kinds)]
    advance.__annotations__ = dict(zip(names, kinds, strict=True))
    kernel = wp.Kernel(func=advance, key=f"advance_{body.positions.dtype}", options={"enable_backward": False})
    x, v, f = (wp.array(a, dtype=vector, device="cpu") for a in (body.positions, body.velocities, 0 * body.positions))
    pairs = wp.array(body.pairs, dtype=wp.int32, device="cpu")
    c, z, rate = (wp.array(a, dtype=real, device="cpu") for a in (body.constants, 0 * body.constants[0], body.rate))
    inputs = [pairs, x, v, f, c, z, rate, real(body.step), steps, many, count]
    return Peer(lambda: wp.launch(kernel, dim=1, inputs=inputs, device="cpu"), x.numpy)


def jax(body: SortedEdges, steps: int) -> Peer:
    """Return JAX with the loop over steps compiled; sums over edges are scatter-adds."""
    os.environ.setdefault("XLA_FLAGS", XLA_ONE_THREAD)
    import jax as xla
    import jax.numpy as jnp

    xla.config.update("jax_platforms", "cpu")
    xla.config.update("jax_enable_x64", True)
    first, second = jnp.asarray(body.pairs[:, 0]), jnp.asarray(body.pairs[:, 1])
    eta, kappa, decay, gain = (jnp.asarray(row) for row in body.constants)
    rate, h = jnp.asarray(body.rate)[:, None], body.positions.dtype.type(body.step)

    def one(_: int, state: Any) -> Any:
        x, v, z = state
        d, w = x[second] - x[first], v[second] - v[first]
        inverse = 1.0 / jnp.sqrt(jnp.sum(d * d, axis=1))
        change = jnp.sum(w * d, axis=1) * inverse
        z = decay * z + gain * change
        pull = ((kappa * z + eta * change) * inverse)[:, None] * d
        v = v + rate * jnp.zeros_like(v).at[first].add(pull).at[second].add(-pull)
        return x + h * v, v, z

    advance = xla.jit(lambda state: xla.lax.fori_loop(0, steps, one, state))
    kept = [tuple(jnp.asarray(a) for a in (body.positions, body.velocities, np.zeros_like(body.constants[0])))]

    def work() -> None:
        kept[0] = xla.block_until_ready(advance(kept[0]))

    return Peer(work, lambda: np.asarray(kept[0][0]))


ALL: dict[str, Callable[[SortedEdges, int], Peer]] = {"taichi": taichi, "warp": warp, "jax": jax}


def installed() -> dict[str, Callable[[SortedEdges, int], Peer]]:
    """Return the peers that can be imported here, and say which cannot."""
    found = {name: peer for name, peer in ALL.items() if find_spec(name) is not None}
    for name in ALL.keys() - found.keys():
        print(f"  {name} is not installed, left out")
    return found
