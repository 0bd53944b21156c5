"""A problem as the circuit sees it: edges of one law each, point masses, held components, loads; all in SI units.

The edges' constants are those of the truss network, turned back into spring k1, dashpot c1 and series dashpot c2:

    channel k B^2 exp(-t/tau) + B c1 delta(t):   c2 = eta + g tau,   c1 = eta c2/(c2 - eta),   k1 = (c1 + c2)/tau

Its float form is what the circuit would do with words without end (spec fpga-fixed-point.md section 1): explicit Euler,
every slope at the start of the step,

    ld = e.(v_j - v_i)    lvd = A lam + B ld    f = c2 (lvd - ld)    lam += h lvd    x += h v    v += h a

Without a series dashpot, c2 infinite, f = K lam + C ld with K = -k1 B and C = -c1 B, which is the same else.

Any other law is a chain of n Voigt parts, as every channel is (`rheotwin.materials.voigt_chain`), by (2.8) and (2.9):

    d_n = l - L - sum d_a    f = sum K_a d_a + C ld    d_a += h (G_a f + A_a d_a)    a = 1 .. n - 1

The last part is the one without a dashpot, else the slowest: the extension of a free dashpot gives no force.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.springs import contact_stiffness
from rheotwin.constraints.motion import table_value
from rheotwin.errors import RheotwinError
from rheotwin.kernels.blocks import STEP, TIME
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.materials.voigt_chain import Spectrum, chain_of_spectrum
from rheotwin.particles.element_match import Method
from rheotwin.particles.fixed_point.body import class_order
from rheotwin.particles.fixed_point.parameters import ChainLaw, EdgeLaw
from rheotwin.particles.fixed_point.touching import Touching, float_stages
from rheotwin.particles.network import Constants, TrussNetwork, build_network, check_network, check_rest_shape
from rheotwin.particles.stability import StepBound
from rheotwin.particles.steppers.advisor import network_families, step_bound
from rheotwin.particles.steps import Held, Loads, apply_loads, pack_held, pack_loads
from rheotwin.plausibility import divided_for_fast_tools
from rheotwin.problem import Problem
from rheotwin.schedule import require_reachable, step_dividing
from rheotwin.tensors import padded

SAME = 1e-9
"""Constants that differ by less than this share count as one: rounding must not cost a table of constants."""
OPTIONS = "solvers.fixed-point"


@dataclass(frozen=True)
class CircuitModel:
    """Everything the circuit, its float form and the analyses of both start from."""

    problem: Problem
    network: TrussNetwork
    order: Indices
    """Edge of the network in each slot of the circuit."""
    centre: Array
    """Point (3,) [m] that is the origin of the circuit: the middle of the bodies at rest."""
    points: Array
    """Rest positions (N, 3) [m] from the centre."""
    edges: Indices
    lengths: Array
    k1: Array
    c1: Array
    c2: Array
    mass: Array
    """Masses (N, 3) [kg], infinite where a component is held."""
    weight: Array
    held: Held
    loads: Loads
    bound: StepBound = field(repr=False)
    chain: ChainLaw | None = None
    """Chains of Voigt parts in place of k1, c1 and c2."""

    @property
    def share(self) -> Array:
        """B = c2/(c1 + c2), where c2 may be infinite."""
        return np.asarray(1.0 / (1.0 + self.c1 / self.c2))

    @property
    def viscosity(self) -> Array:
        """Dashpot (M,) [N s/m] beside what remembers."""
        if self.chain is None:
            return np.asarray(self.c1 * self.share)
        return self.chain.viscosity

    @property
    def fastest(self) -> float:
        """Largest rate [1/s] at which a part relaxes."""
        if self.chain is None:
            return float(np.max(self.k1 / (self.c1 + self.c2)))
        return float(np.abs(self.chain.rates[0]).max())

    @property
    def law(self) -> EdgeLaw | ChainLaw:
        """Constants of the edges [N/m, N s/m]: numbers where all edges share them, else one per slot."""
        if self.chain is not None:
            return self.chain
        return EdgeLaw(*(_common(values) for values in (self.k1, self.c1, self.c2)))

    @property
    def point_mass(self) -> Array:
        """Mass [kg]: a number where all points share it and none is held, else (N, 3)."""
        return _common(self.mass)

    @property
    def moves_supports(self) -> bool:
        """Whether the host has to write positions of held points during the run."""
        return any(item.motion.moves for item in self.problem.prescribed)


def _common(values: Array) -> Array:
    """Return one number where all agree, else the values."""
    if np.isinf(values).all():
        return np.asarray(np.inf)
    if np.isinf(values).any() or np.ptp(values) > SAME * np.abs(values).max():
        return values
    return np.asarray(values.flat[0])


def is_three_element(constants: Constants) -> bool:
    """Tell whether every edge has at most one arm beside a dashpot or a spring."""
    strong = constants.arm_stiffness > 0.0
    return not (np.any(strong.sum(axis=0) > 1) or np.any(strong.any(axis=0) & (constants.stiffness > 0.0)))


def three_elements(constants: Constants, relaxing: float) -> tuple[Array, Array, Array]:
    """Return k1 [N/m], c1 and c2 [N s/m] of such edges.

    A Voigt edge has no series dashpot: it gets one whose flow relaxes the spring in `relaxing` [s], which may be
    infinite.
    """
    stiffness, eta = constants.stiffness, constants.viscosity
    strong = constants.arm_stiffness > 0.0
    g = constants.arm_stiffness.sum(axis=0)
    tau = 1.0 / np.where(strong, constants.arm_rate, 0.0).sum(axis=0, where=strong, initial=1e-300)
    arm = g > 0.0
    c2 = np.where(arm, eta + g * tau, stiffness * relaxing if np.isfinite(relaxing) else np.inf)
    c1 = np.where(arm, eta * np.where(arm, c2, 1.0) / np.where(arm, c2 - eta, 1.0), eta)
    k1 = np.where(arm, (c1 + c2) / tau, stiffness)
    return k1, c1, c2


def voigt_parts(constants: Constants) -> ChainLaw:
    """Return the chains (n, M) that edges with any constants equal; shorter ones begin with rigid parts."""
    size = constants.instantaneous
    size = np.where(size > 0.0, size, constants.viscosity)
    rows = np.stack([constants.stiffness, constants.viscosity, *constants.arm_stiffness]) / size
    rows = np.concatenate([rows, constants.arm_rate]).T
    # Laws are few; single precision tells them apart.
    _, first, which = np.unique(rows.astype(np.float32), axis=0, return_index=True, return_inverse=True)
    chains = []
    for stiffness, viscosity, *arms in rows[first]:
        strengths, rates = np.split(np.array(arms), 2)
        used = strengths > 0.0
        chain = chain_of_spectrum(Spectrum(stiffness, strengths[used], 1.0 / rates[used], viscosity))
        k, c = np.array(chain.ks), np.array(chain.bs)
        chains.append((k, c) if c[-1] == 0.0 else (np.roll(k, -1), np.roll(c, -1)))
    parts = max(2, *(len(k) for k, _ in chains))
    k, c = (
        np.stack([np.concatenate([np.full(parts - len(row), rigid), row]) for row in table])
        for rigid, table in zip((0.0, np.inf), zip(*chains, strict=True), strict=True)
    )
    return ChainLaw(k[which.ravel()].T * size, c[which.ravel()].T * size)


def build_model(problem: Problem, *, match: Method, relaxing: float) -> CircuitModel:
    """Make the edges, points and loads of the circuit from a problem; `relaxing` [s] is for Voigt edges."""
    check_rest_shape(problem)
    network = build_network(problem, volume_term=False, method=match)
    check_network(problem, network)
    rest = padded(problem.points)
    centre = 0.5 * (rest.min(axis=0) + rest.max(axis=0))
    used = np.flatnonzero(network.edge_constants.instantaneous + network.edge_constants.viscosity > 0.0)
    ends = network.edges[used]
    order = used[class_order(rest, ends[:, 0], ends[:, 1])]
    constants, chain, nothing_of_it = network.edge_constants, None, np.zeros(len(order))
    k1 = c1 = c2 = nothing_of_it
    if is_three_element(constants):
        k1, c1, c2 = (values[order] for values in three_elements(constants, relaxing))
    else:
        chain = voigt_parts(constants)
        chain = ChainLaw(chain.k[:, order], chain.c[:, order])
    free = padded((problem.owners < 0).astype(float))
    free[:, problem.dimension :] = 0.0
    families = network_families(problem, network)
    nothing = (csr_matrix((problem.points.size,) * 2), 0.0)
    return CircuitModel(
        problem=problem,
        network=network,
        order=order,
        centre=centre,
        points=rest - centre,
        edges=np.ascontiguousarray(network.edges[order]),
        lengths=network.rest_length[order],
        k1=k1,
        c1=c1,
        c2=c2,
        mass=np.where(free > 0.0, problem.masses[:, None], np.inf),
        weight=padded(problem.masses[:, None] * problem.gravity),
        held=pack_held(problem),
        loads=pack_loads(problem),
        bound=_with_contact(step_bound(problem, families[:1], families[1], "euler", (nothing, nothing)), problem),
        chain=chain,
    )


def contact_limit(problem: Problem) -> float:
    """Return the longest time [s] between two turns of contact with springs: K T^2/m < 4, and infinity without."""
    fastest = float(np.max(contact_stiffness(problem) / problem.masses))
    return 2.0 / np.sqrt(fastest) if fastest > 0.0 else np.inf


def _with_contact(bound: StepBound, problem: Problem) -> StepBound:
    limit = contact_limit(problem)
    return bound if bound.step <= limit else StepBound(limit, "the springs of contact (K h^2/m < 4)")


def choose_step(model: CircuitModel, step: float | None, safety: float) -> Fraction:
    """Return the step: as asked, or a share of the stable one, rounded down to divide the output times."""
    stable, duration = model.bound.step, model.problem.scene.duration
    if stable == 0.0:
        raise RheotwinError(
            f"{OPTIONS}.step: the circuit's explicit rule diverges at any step, because of {model.bound.reason}; give "
            "the law a viscosity beside its springs"
        )
    wanted = step if step is not None else divided_for_fast_tools(model.problem, safety * min(stable, duration))
    if wanted > stable:
        raise RheotwinError(
            f"{OPTIONS}.step: {wanted:.6g} s is above the stable step of {stable:.6g} s, which a body's law, `match` "
            f"and mesh set by {model.bound.reason}; choose at most {0.9 * stable:.3g} or leave it out"
        )
    require_reachable(wanted, duration, f"{OPTIONS}.step")
    return step_dividing(model.problem.tick, wanted)


SIGNALS = ("x", "length", "v", "ld", "lvd", "lambda", "f", "F", "F_ext", "a", "inverse", "vr")
"""What the reference keeps the largest absolute value of; x, v and the rest lane by lane, forces F as sums, 1/l.

vr are differences of velocities, v those before a turn of contact, too.
"""


class FloatBody(NamedTuple):
    """State of the float form: positions and velocities (N, 3) [m, m/s], lam = lv - L (M,) [m], peaks of SIGNALS.

    Of chains lam is (n - 1, M).
    """

    position: Array
    velocity: Array
    lam: Array
    peaks: Array


class FloatChains(NamedTuple):
    """Chains in SI units: natural length (M,), A [1/s] and G [m/(N s)] (n - 1, M), K [N/m] (n, M), C [N s/m] (M,)."""

    length: Array
    A: Array
    G: Array
    K: Array
    C: Array


class FloatParts(NamedTuple):
    """Constants of the float form in SI units: edges (M, 2), A [1/s], B, c2 [N s/m] (M,), 1/m (N, 3), weight [N].

    Where c2 is infinite, K [N/m] and C [N s/m] (M,) give the force.
    """

    edges: Indices
    A: Array
    B: Array
    c2: Array
    inverse_mass: Array
    rest: Array
    weight: Array
    held: Held
    loads: Loads
    K: Array = np.zeros(0)
    C: Array = np.zeros(0)
    chains: FloatChains | None = None
    centre: Array = np.zeros(3)


def float_parts(model: CircuitModel) -> FloatParts:
    """Return the constants of the float form."""
    chain, nothing = model.chain, np.zeros(0)
    share = model.share if chain is None else nothing
    direct = chain is None and bool(np.isinf(model.c2).any())
    chains = None if chain is None else FloatChains(model.lengths, *chain.rates, chain.springs, -chain.viscosity)
    return FloatParts(
        edges=model.edges,
        A=-model.k1 / (model.c1 + model.c2) if chain is None else nothing,
        B=share,
        c2=model.c2,
        inverse_mass=1.0 / model.mass,
        rest=model.points,
        weight=model.weight,
        held=model.held,
        loads=model.loads,
        K=-model.k1 * share if direct else np.zeros(0),
        C=-model.c1 * share if direct else np.zeros(0),
        chains=chains,
        centre=model.centre,
    )


def float_body(model: CircuitModel) -> FloatBody:
    """Return the float form at rest."""
    shape, edges = model.points.shape, len(model.edges)
    lam = np.zeros(edges if model.chain is None else (len(model.chain.k) - 1, edges))
    return FloatBody(model.points.copy(), np.zeros(shape), lam, np.zeros(len(SIGNALS)))


NO_LENGTH = 1e-12
"""Length [m] at which an edge has no direction any more: its reciprocal then tells that no format holds it."""


@compiled
def _add_edges(parts: FloatParts, body: FloatBody, force: Array, h: float) -> None:
    x, v, lam, peaks = body
    for e in range(parts.edges.shape[0]):
        i, j = parts.edges[e, 0], parts.edges[e, 1]
        dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        ux, uy, uz = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[j, 2] - v[i, 2]
        length = max(np.sqrt(dx * dx + dy * dy + dz * dz), NO_LENGTH)
        rate = (dx * ux + dy * uy + dz * uz) / length
        voigt_rate = parts.A[e] * lam[e] + parts.B[e] * rate
        f = parts.K[e] * lam[e] + parts.C[e] * rate if parts.K.size else parts.c2[e] * (voigt_rate - rate)
        pull = f / length
        force[j, 0] += pull * dx
        force[j, 1] += pull * dy
        force[j, 2] += pull * dz
        force[i, 0] -= pull * dx
        force[i, 1] -= pull * dy
        force[i, 2] -= pull * dz
        lam[e] += h * voigt_rate
        peaks[1] = max(peaks[1], length)
        peaks[3] = max(peaks[3], abs(rate))
        peaks[4] = max(peaks[4], abs(voigt_rate))
        peaks[5] = max(peaks[5], abs(lam[e]))
        peaks[6] = max(peaks[6], abs(f))
        peaks[10] = max(peaks[10], 1.0 / length)
        peaks[11] = max(peaks[11], max(abs(ux), max(abs(uy), abs(uz))))


@compiled
def _add_chains(chains: FloatChains, edges: Indices, body: FloatBody, force: Array, h: float) -> None:
    x, v, lam, peaks = body
    many = lam.shape[0]
    for e in range(edges.shape[0]):
        i, j = edges[e, 0], edges[e, 1]
        square, rate, last = 0.0, 0.0, -chains.length[e]
        for c in range(3):
            apart = x[j, c] - x[i, c]
            square += apart * apart
            rate += apart * (v[j, c] - v[i, c])
            peaks[11] = max(peaks[11], abs(v[j, c] - v[i, c]))
        length = max(np.sqrt(square), NO_LENGTH)
        rate /= length
        f, last = chains.C[e] * rate, last + length
        for a in range(many):
            f += chains.K[a, e] * lam[a, e]
            last -= lam[a, e]
        f += chains.K[many, e] * last
        for c in range(3):
            pull = f / length * (x[j, c] - x[i, c])
            force[j, c] += pull
            force[i, c] -= pull
        for a in range(many):
            flow = chains.G[a, e] * f + chains.A[a, e] * lam[a, e]
            lam[a, e] += h * flow
            peaks[4] = max(peaks[4], abs(flow))
            peaks[5] = max(peaks[5], abs(lam[a, e]))
        peaks[1] = max(peaks[1], length)
        peaks[3] = max(peaks[3], abs(rate))
        peaks[5] = max(peaks[5], abs(last))
        peaks[6] = max(peaks[6], abs(f))
        peaks[10] = max(peaks[10], 1.0 / length)


@compiled
def _move_points(parts: FloatParts, body: FloatBody, external: Array, force: Array, h: float) -> None:
    x, v, _, peaks = body
    for node in range(x.shape[0]):
        for c in range(3):
            a = force[node, c] * parts.inverse_mass[node, c]
            x[node, c] += h * v[node, c]
            v[node, c] += h * a
            peaks[0] = max(peaks[0], abs(x[node, c]))
            peaks[2] = max(peaks[2], max(abs(v[node, c]), abs(v[node, c] - h * a)))
            peaks[8] = max(peaks[8], abs(external[node, c]))
            peaks[7] = max(peaks[7], abs(force[node, c]))  # of held points too: their sums would count as overflows
            peaks[9] = max(peaks[9], abs(a))


@compiled
def drive_held(held: Held, rest: Array, x: Array, v: Array, end: float, h: float) -> None:
    """Give held components the velocity that takes them to where their motion is at `end` [s]."""
    target, current = held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, target)
        v[node, c] = (rest[node, c] + target[c] - x[node, c]) / h


@compiled
def _copy(source: Array, target: Array) -> None:
    for node in range(source.shape[0]):
        for c in range(3):
            target[node, c] = source[node, c]


def run_reference(
    parts: FloatParts, body: FloatBody, first: int, count: int, h: float, there: Touching | None = None
) -> None:
    """Take `count` steps of `h` [s] from step number `first`; peaks grow with every step.

    `there` is contact with tools and between bodies, settled before every step.
    """
    if there is None:
        _reference(parts, body, h, None).run(first, count)
    else:
        there.run(lambda: _reference(parts, body, h, there), first, count, body, None)


def _reference(parts: FloatParts, body: FloatBody, h: float, there: Touching | None) -> Program:
    external, force, clock = np.empty_like(body.position), np.empty_like(body.position), Clock()
    stages = [
        Stage(drive_held, (parts.held, parts.rest, body.position, body.velocity, clock.end, STEP)),
        *([] if there is None else float_stages(there, body.position, body.velocity, parts.centre, clock)),
        Stage(_copy, (parts.weight, external)),
        Stage(apply_loads, (parts.loads, TIME, external)),
        Stage(_copy, (external, force)),
        Stage(_add_edges, (parts, body, force, STEP))
        if parts.chains is None
        else Stage(_add_chains, (parts.chains, parts.edges, body, force, STEP)),
        Stage(_move_points, (parts, body, external, force, STEP)),
    ]
    return Program(stages, h, clock)
