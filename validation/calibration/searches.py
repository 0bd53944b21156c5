"""Searches for the least cost: each asks for populations of parameter sets and is told what they cost.

A search is a function of (ask, space, chance, start): `ask(thetas)` gives the costs of sets (m, n), infinite for sets
without a result, and ends the search when its budget is spent. The searches of the calibration papers are as printed
there: neighbours are all 2^n corners at one step D, walks take `WALK` random steps. The others work in logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from scipy.optimize import differential_evolution, minimize

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError
from rheotwin.validation.calibration.problem import Parameter

if TYPE_CHECKING:
    Chance = np.random.Generator

INTERVALS = 290
"""Steps of the papers between the bounds of a stiffness: 10 of 2900 [1]."""
WALK = 100
"""Random steps between two descents."""
ROUNDS = 5
"""Starts of the global part of the efficient search."""
POPULATION = 10
"""Individuals of differential evolution for each parameter."""
INDIVIDUALS, SURVIVORS, MUTATION, BITS = 50, 10, 0.01, 16
SIMPLEX, CLOSE = 0.3, 1e-4
"""First size of the simplex and its last, in logarithms."""
DIFFERENCE = 5e-3
"""Step of differences in logarithms: above what is left of rounding, below the curvature."""
DAMPINGS = 10.0 ** (0.5 * np.arange(-4, 4))
"""Dampings tried at once, half a decade apart."""
STARTS = 3
"""Starts of least squares: there are poor basins, few and far from each other."""
GAIN = 1e-4
"""A descent whose cost falls by less than this share is at its end."""
BAD = 1e30
"""What stands for a set without a result where infinity cannot be worked with."""


@dataclass(frozen=True)
class Normal:
    """Sums around a set: matrix J^T J (n, n), vector J^T r (n,), squares r^T r and their count."""

    matrix: Array
    vector: Array
    squares: float
    count: int


class Ask(Protocol):
    """What a search sees of the evaluator."""

    def __call__(self, thetas: Array) -> Array:
        """Return the costs (m,) of sets (m, n), or the sums of squares where the search goes by these."""
        ...

    def normal(self, thetas: Array, steps: Array) -> Normal | None:
        """Return sums of the slopes between the first set and each other, `steps` (n,) apart; None without a result."""
        ...


@dataclass(frozen=True)
class Space:
    """Where sets of parameters are: between bounds, in logarithms where these are positive.

    The `inner` coordinates replace log K, log C1, log C2 of a three-element law by log((C1+C2)/K), log(C1/C2) and
    log(C1 C2/(C1+C2)): shapes depend on the first two alone, and hardly on the last where all laws share it.
    """

    parameters: tuple[Parameter, ...]

    @property
    def low(self) -> Array:
        """Lower bounds (n,)."""
        return np.array([item.low for item in self.parameters])

    @property
    def high(self) -> Array:
        """Upper bounds (n,)."""
        return np.array([item.high for item in self.parameters])

    @property
    def start(self) -> Array:
        """Where a search begins (n,)."""
        return np.array([item.start for item in self.parameters])

    @cached_property
    def logs(self) -> Flags:
        """Which parameters are looked for in logarithms."""
        return self.low > 0.0

    @cached_property
    def chains(self) -> tuple[Indices, ...]:
        """Places of (K, C1, C2) of every three-element law that is looked for as a whole."""
        places = {item.place: k for k, item in enumerate(self.parameters)}
        laws = dict.fromkeys(place.rpartition(".")[0] for place in places)
        wanted = [[f"{law}.{part}" for part in ("young", "voigt_viscosity", "series_viscosity")] for law in laws]
        return tuple(np.array([places[name] for name in names]) for names in wanted if set(names) <= set(places))

    def clipped(self, thetas: Array) -> Array:
        """Return sets within their bounds."""
        return np.clip(thetas, self.low, self.high)

    def linear(self, thetas: Array) -> Array:
        """Return logarithms, or shares of the interval where these do not exist."""
        with np.errstate(all="ignore"):
            return np.where(self.logs, np.log(thetas), thetas / (self.high - self.low))

    def unlinear(self, values: Array) -> Array:
        """Return sets of parameters from `linear` coordinates."""
        with np.errstate(over="ignore"):
            return np.where(self.logs, np.exp(values), values * (self.high - self.low))

    def inner(self, thetas: Array) -> Array:
        """Return inner coordinates (.., n) of sets."""
        values = self.linear(thetas)
        for chain in self.chains:
            k, c1, c2 = np.moveaxis(values[..., chain], -1, 0)
            both = np.logaddexp(c1, c2)
            values[..., chain] = np.stack([both - k, c1 - c2, c1 + c2 - both], axis=-1)
        return values

    def outer(self, values: Array) -> Array:
        """Return sets of parameters from inner coordinates, within their bounds.

        Laws that leave them are scaled back together, as far as that goes: shapes stay the same.
        """
        logs = self._unchained(values)
        if self.chains:
            rows = np.concatenate(self.chains)
            down = np.min(np.log(self.high[rows]) - logs[..., rows], axis=-1)
            up = np.max(np.log(self.low[rows]) - logs[..., rows], axis=-1)
            shift = np.where(up <= down, np.clip(0.0, up, np.maximum(up, down)), 0.0)
            logs[..., rows] += shift[..., None]
        return self.clipped(self.unlinear(logs))

    def inside(self, values: Array) -> Flags:
        """Return which sets (m,) of inner coordinates (m, n) lie within all bounds."""
        logs = self._unchained(values)
        return np.asarray(np.all((logs >= self.linear(self.low)) & (logs <= self.linear(self.high)), axis=-1))

    def _unchained(self, values: Array) -> Array:
        values = np.array(values)
        for chain in self.chains:
            slow, share, series = np.moveaxis(values[..., chain], -1, 0)
            c1, c2 = series + np.logaddexp(0.0, share), series + np.logaddexp(0.0, -share)
            values[..., chain] = np.stack([np.logaddexp(c1, c2) - slow, c1, c2], axis=-1)
        return values

    def unit(self, values: Array) -> Array:
        """Return sets from coordinates between 0 and 1, logarithmic where bounds are positive."""
        low, high = self.linear(self.low), self.linear(self.high)
        return self.clipped(self.unlinear(low + np.clip(values, 0.0, 1.0) * (high - low)))

    def anywhere(self, chance: Chance) -> Array:
        """Return a set drawn between the bounds, evenly in `unit`."""
        return self.unit(chance.random(len(self.parameters)))


Search = Callable[[Ask, Space, "Chance", Array], object]


# ------------------------------------------------------------------------------- searches of the papers


def _corners(count: int) -> Array:
    return np.array(list(product((-1.0, 1.0), repeat=count)))


def _step(space: Space) -> Array:
    return (space.high - space.low) / INTERVALS


def _descent(ask: Ask, space: Space, at: Array, cost: float) -> tuple[Array, float]:
    """Go to the best of all corners as long as it is better; return where that ends, and its cost."""
    while True:
        around = space.clipped(at + _step(space) * _corners(len(at)))
        costs = ask(around)
        best = int(np.argmin(costs))
        if not costs[best] < cost:
            return at, cost
        at, cost = around[best], float(costs[best])


def _walk(space: Space, chance: Chance, at: Array) -> Array:
    """Return where `WALK` random steps lead."""
    for _ in range(WALK):
        at = space.clipped(at + _step(space) * chance.choice((-1.0, 1.0), len(at)))
    return at


def _cost(ask: Ask, at: Array) -> float:
    return float(ask(at[None])[0])


def steepest(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """Steepest descent, once."""
    _descent(ask, space, start, _cost(ask, start))


def local(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """Descents with random walks between them."""
    at = start
    while True:
        at, _ = _descent(ask, space, at, _cost(ask, at))
        at = _walk(space, chance, at)


def random(ask: Ask, space: Space, chance: Chance, start: Array, rounds: float = np.inf) -> tuple[Array, float]:
    """The global search: descents from random starts; return the best."""
    best = _descent(ask, space, start, _cost(ask, start))
    while (rounds := rounds - 1) > 0:
        at = chance.uniform(space.low, space.high)
        best = min(best, _descent(ask, space, at, _cost(ask, at)), key=lambda found: found[1])
    return best


def efficient(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """The global search from `ROUNDS` starts, then the local one from its best."""
    local(ask, space, chance, random(ask, space, chance, start, ROUNDS)[0])


def modified(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """Descents from where walks lead, where that is no worse than the last descent's end; else the walk goes on."""
    at, reached = _descent(ask, space, start, _cost(ask, start))
    while True:
        at = _walk(space, chance, at)
        cost = _cost(ask, at)
        if cost <= reached:
            at, reached = _descent(ask, space, at, cost)


def genetic(ask: Ask, space: Space, chance: Chance, start: Array, mutation: Literal["paper", "bits"] = "bits") -> None:
    """Survivors and their children: strings of bits, one-point crossing, mutation of all bits or of single ones."""
    length = BITS * len(start)
    weights = 2.0 ** np.arange(BITS)[::-1] / (2.0**BITS - 1.0)

    def decoded(strings: Indices) -> Array:
        return space.low + (strings.reshape(len(strings), -1, BITS) @ weights) * (space.high - space.low)

    strings = chance.integers(0, 2, (INDIVIDUALS, length))
    costs = ask(decoded(strings))
    while True:
        order = np.argsort(costs, kind="stable")[:SURVIVORS]
        strings, costs = strings[order], costs[order]
        children = []
        for _ in range(INDIVIDUALS - SURVIVORS):
            front, back = strings[chance.choice(SURVIVORS, 2, replace=False)]
            cut = chance.integers(1, length)
            child = np.concatenate([front[:cut], back[cut:]])
            turned = chance.random(1 if mutation == "paper" else length) < MUTATION
            children.append(np.where(turned, 1 - child, child))
        strings = np.concatenate([strings, children])
        costs = np.concatenate([costs, ask(decoded(strings[SURVIVORS:]))])


# ----------------------------------------------------------------------------------------- other searches


def _starts(space: Space, chance: Chance, start: Array) -> Iterator[Array]:
    """Yield the start, then others forever."""
    yield start
    while True:
        yield space.anywhere(chance)


def nelder_mead(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """A simplex that moves away from its worst corner, from start after start (scipy).

    Outside of the bounds a set costs what the nearest one inside does, times 1 + its distance: the simplex stays whole.
    """

    def cost(values: Array) -> float:
        theta = space.outer(values)
        return min(_cost(ask, theta), BAD) * (1.0 + float(np.linalg.norm(values - space.inner(theta))))

    for at in _starts(space, chance, start):
        center = space.inner(at)
        simplex = center + SIMPLEX * np.vstack([np.zeros(len(center)), np.eye(len(center))])
        minimize(
            cost,
            center,
            method="Nelder-Mead",
            options={"initial_simplex": simplex, "xatol": CLOSE, "fatol": 0.0, "maxfev": 10**9, "maxiter": 10**9},
        )


def evolution(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """Differential evolution, again and again (scipy)."""
    low, high = space.linear(space.low), space.linear(space.high)
    while True:
        differential_evolution(
            lambda values: np.minimum(ask(space.unit(values.T)), BAD),
            [(0.0, 1.0)] * len(start),
            x0=(space.linear(start) - low) / (high - low),
            popsize=POPULATION,
            seed=chance,
            maxiter=10**9,
            polish=False,
            vectorized=True,
            updating="deferred",
        )


def covariance(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """CMA-ES: normal samples whose covariance follows the best of them (package `cma`)."""
    cma = _cma()
    low, high = space.linear(space.low), space.linear(space.high)
    for at in _starts(space, chance, start):
        options: dict[str, Any] = {
            "bounds": [0.0, 1.0],
            "popsize": 8 * (1 + len(at) // 8),
            "verbose": -9,
            "tolfun": 0.0,
        }
        options |= {"seed": np.nan, "randn": lambda *size: chance.standard_normal(size)}
        strategy = cma.CMAEvolutionStrategy((space.linear(at) - low) / (high - low), 0.25, options)
        while not strategy.stop():
            values = strategy.ask()
            strategy.tell(values, np.minimum(ask(space.unit(np.array(values))), BAD).tolist())


def _cma() -> Any:
    try:
        import cma
    except ImportError as error:
        raise RheotwinError(
            "--search cma: the package is not installed; install it with: pip install 'rheotwin[search]'"
        ) from error
    return cma


def least_squares(ask: Ask, space: Space, chance: Chance, start: Array) -> None:
    """Levenberg and Marquardt, from start after start: one call for a set and its slopes, one for eight dampings.

    d = -(A + l diag A)^-1 (J^T r + p), A = J^T J + 1, p = x - x_start in the inner coordinates: to r^T r comes a pull
    back to the start by a standard deviation for each factor e, so that what records do not tell stays where it is.
    """
    starts = ((at, cost) for at in _starts(space, chance, start) if np.isfinite(cost := _cost(ask, at)))
    for at, cost in islice(starts, STARTS):
        first = here = space.inner(at)
        normal, damping, idle = None, 1.0, 0
        while idle < 3:
            normal = normal or slopes(ask, space, here)
            if normal is None:
                break
            matrix, vector = normal.matrix + np.eye(len(here)), normal.vector + here - first
            scale = np.diag(np.diag(matrix))
            tried = [here - np.linalg.solve(matrix + damping * part * scale, vector) for part in DAMPINGS]
            thetas = space.outer(np.array(tried))
            costs = ask(thetas) + np.sum((space.inner(thetas) - first) ** 2, axis=1)
            best = int(np.argmin(costs))
            idle = 0 if costs[best] < (1.0 - GAIN) * cost else idle + 1
            if costs[best] < cost:
                here, cost, normal = space.inner(thetas[best]), float(costs[best]), None
                damping *= DAMPINGS[best]
            else:
                damping *= 1e2


def slopes(ask: Ask, space: Space, here: Array) -> Normal | None:
    """Return the sums around a set in inner coordinates, by differences that point away from the bounds."""
    beside = here + DIFFERENCE * np.eye(len(here))
    steps = np.where(space.inside(beside), DIFFERENCE, -DIFFERENCE)
    return ask.normal(space.outer(np.vstack([here, here + np.diag(steps)])), steps)


SEARCHES: Mapping[str, Search] = {
    "least-squares": least_squares,
    "nelder-mead": nelder_mead,
    "cma": covariance,
    "differential-evolution": evolution,
    "genetic": genetic,
    "genetic-paper": partial(genetic, mutation="paper"),
    "steepest": steepest,
    "local": local,
    "global": random,
    "efficient": efficient,
    "modified": modified,
}
"""All searches by name."""
BY_SQUARES = ("least-squares",)
"""Searches that go by sums of squares and not by costs."""


def first_ask(name: str, parameters: int) -> int:
    """Return how many evaluations a search asks for before it can get better."""
    corners = 1 + int(2**parameters)
    known: dict[str, int] = {"genetic": INDIVIDUALS, "genetic-paper": INDIVIDUALS, "nelder-mead": parameters + 1}
    known |= {"least-squares": parameters + 2 + len(DAMPINGS), "cma": 8 * (1 + parameters // 8)}
    known |= {"differential-evolution": max(5, POPULATION * parameters)}
    return known.get(name, corners)
