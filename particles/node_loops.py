"""What a step does to all nodes: forces begin as weights, velocities are kicked, positions drift.

Numbers of nodes are taken one after the other: compilers find vectors in that, not in rows of three, and an assignment
of whole arrays looks first whether they overlap, which takes longer than to copy them.
"""

from __future__ import annotations

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled


@compiled(inside=True, vectors=True)
def begin_forces(weight: Array, force: Array) -> None:
    """Put weights (N, 3) [N] where forces are summed."""
    start, sums = weight.reshape(-1), force.reshape(-1)
    for k in range(sums.size):
        sums[k] = start[k]


@compiled(inside=True, vectors=True)
def kick(mass: Array, force: Array, h: float, velocities: Array) -> None:
    """v += h F/m [m/s] with forces (N, 3) [N] and masses (N,) [kg]."""
    pull, speed = force.reshape(-1), velocities.reshape(-1)
    for node in range(mass.size):
        rate = h / mass[node]
        speed[3 * node] += rate * pull[3 * node]
        speed[3 * node + 1] += rate * pull[3 * node + 1]
        speed[3 * node + 2] += rate * pull[3 * node + 2]


@compiled(inside=True, vectors=True)
def drift(velocities: Array, h: float, positions: Array) -> None:
    """x += h v [m]."""
    speed, place = velocities.reshape(-1), positions.reshape(-1)
    for k in range(place.size):
        place[k] += h * speed[k]
