"""Closed forms the solvers are held against: pure functions of arrays in SI units.

Homogeneous bar without inertia: creep, relaxation and piecewise linear strain of any law (T1).

Stress of a strain history e(t) that starts at rest is the superposition of ramps, one per kink of the history:

    s(t) = sum_k (rate_k - rate_(k-1)) R(t - t_k),    R(t) = g_inf t + sum g tau (1 - exp(-t/tau)) + eta

One Poisson ratio for all parts of a law makes every driven response self-similar (T8).

In persistent contact the force on a tool is the elastic one per unit modulus times the answer of a bar:

    F(t) = (F_el/(E d)) s(t)       with s(t) the stress of a bar whose strain is the tool's depth, F_el at depth d

Creep under uniaxial stress when springs and dashpots have different Poisson ratios (T4).

The true tensor series connection relaxes bulk and shear modulus separately, so for any law

    e(t)/s0 = J_K(t)/9 + J_mu(t)/3           from 1/E = 1/(9 K) + 1/(3 mu) in the Laplace domain,

with the creep functions J of the two channels. The papers' rule relaxes the two Lame constants instead. For a
Maxwell law it gives, with a = lam_e/lam_v, b = mu_e/mu_v,

    P = lam_e + mu_e,  Q = lam_e b + mu_e a,  R = 3 lam_e + 2 mu_e,  S = 3 lam_e b + 2 mu_e a,  r = S/R
    e/s0 = c0 + c1 t + c2 exp(-r t),   c1 = Q b/(mu_e S),  c2 = (Q - P r)(b - r)/(mu_e r^2 R),  c0 = P/(mu_e R) - c2

Thick cylinder under a step of internal pressure: elastic bulk, Maxwell shear, plane strain (T5).

u(r, t) = p a^2/(b^2 - a^2) [ r J(t)/2 + b^2 (1/mu + t/mu_v)/(2 r) ]
J(t) = (1/K) (1 - (mu/3)/(K + mu/3) exp(-K (mu/mu_v) t/(K + mu/3)))

Vibration of a bar with lumped masses in its first discrete mode (T2).

A bar of N elements, held at one end, has the discrete mode sin(pi x/(2 L)) with the eigenvalue

    lambda_1 = (4/(rho h^2)) sin^2(pi h/(4 L)),   h = L/N        of M^-1 J

and the amplitude q of that mode follows

    q' = v,   v' = -lambda_1 (g_inf q + sum w_a + eta v),   w_a' = -w_a/tau_a + g_a v

Wave in a half-infinite Maxwell bar whose end is suddenly loaded by a stress s0 (T9).

    s_tt + s_t/tau = c^2 s_xx,     c = sqrt(E/rho),  tau = viscosity/E,  a = 1/(2 tau)

a telegraph equation. Behind the front x = c t, with z = x/c,

    s/s0 = exp(-a z) + a z int_z^t exp(-a y) I_1(a sqrt(y^2 - z^2))/sqrt(y^2 - z^2) dy

so the front runs at c and decays like exp(-E t/(2 viscosity)). The end moves at

    v(0, t) = (s0/(rho c)) exp(-a t) [(1 + 2 a t) I_0(a t) + 2 a t I_1(a t)]

Manufactured solution u(x, t) = U(x) q(t) of the rheological continuum, q = 1 - exp(-t/T) (T7).

    U_i = a_i phi,   phi = prod_j sin(pi x_j)       on the unit interval, square or cube, zero on its boundary

The body force that makes it a solution without inertia is a sum over the moduli, a factor of time and a field of space,

    f = kappa_lam(t) F_lam + kappa_mu(t) F_mu,    F_lam = -grad div U,    F_mu = -(lap U + grad div U)

where kappa is the answer of the modulus' channel to q:

    kappa(t) = g_inf q + eta q' + sum (g/T) (exp(-t/T) - exp(-t/tau))/(1/tau - 1/T)

Large strain of bodies that keep their volume: energies w of principal stretches, s_i - s_j = l_i dw/dl_i - l_j dw/dl_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.special import ive

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel, Hyperelastic, Law, Maxwell, equal_poisson


def driven_stress(
    channel: Channel, times: ArrayLike, strains: ArrayLike, t: ArrayLike, *, side: Literal["before", "after"] = "after"
) -> Array:
    """Return the stress [Pa] at times t [s] of a strain [1] that is linear between `times` [s] and constant after.

    Where the rate jumps, the viscous part of the stress jumps too: `side` says which of the two values is meant.
    """
    kinks = np.asarray(times, dtype=float)
    rates = np.append(np.diff(np.asarray(strains, dtype=float)) / np.diff(kinks), 0.0)
    jumps = np.diff(rates, prepend=0.0)
    elapsed = np.asarray(t, dtype=float)[..., None] - kinks
    begun = elapsed > 0.0 if side == "before" else elapsed >= 0.0
    return np.asarray(np.where(begun, channel.ramp(np.maximum(elapsed, 0.0)), 0.0) @ jumps)


def tool_force(
    law: Law,
    unit_force: float,
    times: ArrayLike,
    depths: ArrayLike,
    t: ArrayLike,
    *,
    side: Literal["before", "after"] = "after",
) -> Array:
    """Return the force [N] at times t [s] on a tool whose depth [m] is linear between `times` [s].

    `unit_force` [m] is F_el/(E d), the force of an elastic body of the same shape and Poisson ratio per unit
    of Young's modulus and depth.
    """
    if equal_poisson(law) is None:
        raise RheotwinError(
            f"law {law.name}: its parts have different Poisson ratios, so its response is not self-similar; "
            "give them one"
        )
    return unit_force * driven_stress(law.channel("young"), times, depths, t, side=side)


def tensor_creep(law: Law, t: ArrayLike) -> Array:
    """Return e(t)/s0 [1/Pa] at times t [s] of the true tensor law (split by bulk and shear)."""
    return law.channel("bulk").creep(t) / 9.0 + law.channel("shear").creep(t) / 3.0


@dataclass(frozen=True)
class LameCreep:
    """Coefficients of e/s0 = constant + flow t + relaxing exp(-rate t): [1/Pa], [1/(Pa s)], [1/Pa], [1/s]."""

    constant: float
    flow: float
    relaxing: float
    rate: float

    @classmethod
    def of(cls, law: Maxwell) -> LameCreep:
        """Derive the coefficients from the Lame constants of spring and dashpot."""
        lame, shear = law.spring.lame, law.spring.shear
        a, b = lame / law.dashpot.lame, shear / law.dashpot.shear
        p, q = lame + shear, lame * b + shear * a
        r, s = 3.0 * lame + 2.0 * shear, 3.0 * lame * b + 2.0 * shear * a
        rate = s / r
        relaxing = (q - p * rate) * (b - rate) / (shear * rate**2 * r)
        return cls(p / (shear * r) - relaxing, q * b / (shear * s), relaxing, rate)

    def at(self, t: ArrayLike) -> Array:
        """Return e(t)/s0 [1/Pa] at times t [s] after the step of stress."""
        times = np.asarray(t, dtype=float)
        return np.asarray(self.constant + self.flow * times + self.relaxing * np.exp(-self.rate * times))


@dataclass(frozen=True)
class ThickCylinder:
    """Radii [m], internal pressure [Pa], bulk and shear modulus [Pa] and shear viscosity [Pa s]."""

    inner: float
    outer: float
    pressure: float
    bulk: float
    shear: float
    shear_viscosity: float

    def area_compliance(self, t: ArrayLike) -> Array:
        """Return J(t) [1/Pa], the answer of K + mu(t)/3 to a unit step of stress."""
        stiff, third = self.bulk + self.shear / 3.0, self.shear / 3.0
        rate = self.bulk * (self.shear / self.shear_viscosity) / stiff
        decay = np.exp(-rate * np.asarray(t, dtype=float))
        return np.asarray((1.0 - third / stiff * decay) / self.bulk)

    def radial_displacement(self, radius: ArrayLike, t: ArrayLike) -> Array:
        """Return u(r, t) [m] at radii [m] and times [s] after the pressure has stepped up."""
        r, times = np.asarray(radius, dtype=float), np.asarray(t, dtype=float)
        share = self.pressure * self.inner**2 / (self.outer**2 - self.inner**2)
        shearing = self.outer**2 * (1.0 / self.shear + times / self.shear_viscosity) / (2.0 * r)
        return np.asarray(share * (0.5 * r * self.area_compliance(times) + shearing))


@dataclass(frozen=True)
class ModeState:
    """Amplitude q [m], its rate v [m/s] and the memories w (..., arms) [N/m] of one mode."""

    amplitude: Array
    rate: Array
    memories: Array


def first_eigenvalue(elements: int, *, length: float = 1.0, density: float = 1.0) -> float:
    """Return lambda_1 of a bar of that length [m] and density [kg/m3], in [1/(Pa s2)]: omega^2 = E lambda_1."""
    h = length / elements
    return 4.0 / (density * h**2) * float(np.sin(0.25 * np.pi * h / length)) ** 2


def mode_matrix(channel: Channel, eigenvalue: float) -> Array:
    """Return the matrix A of the first-order system y' = A y with y = (q, v, w_1, w_2, ...)."""
    arms = len(channel.times)
    matrix = np.zeros((2 + arms, 2 + arms))
    matrix[0, 1] = 1.0
    matrix[1, 0] = -eigenvalue * channel.equilibrium
    matrix[1, 1] = -eigenvalue * channel.viscosity
    matrix[1, 2:] = -eigenvalue
    matrix[2:, 1] = channel.strengths
    matrix[2:, 2:] -= np.diag(1.0 / np.array(channel.times)) if arms else 0.0
    return matrix


def mode_response(channel: Channel, eigenvalue: float, t: ArrayLike, *, rate: float = 1.0) -> ModeState:
    """Return the mode at times t [s] that starts at rest position with the given `rate` [m/s]."""
    times = np.asarray(t, dtype=float)
    matrix = mode_matrix(channel, eigenvalue)
    start = np.zeros(len(matrix))
    start[1] = rate
    state = expm(times[..., None, None] * matrix) @ start
    return ModeState(state[..., 0], state[..., 1], state[..., 2:])


_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(48)


@dataclass(frozen=True)
class MaxwellBarWave:
    """A bar of Young's modulus [Pa], viscosity [Pa s] and density [kg/m3] under a step of end stress [Pa]."""

    young: float
    viscosity: float
    density: float
    stress_step: float = 1.0

    @property
    def speed(self) -> float:
        """Speed of the front, sqrt(E/rho) [m/s]."""
        return float(np.sqrt(self.young / self.density))

    @property
    def decay(self) -> float:
        """Rate a = E/(2 viscosity) at which the front decays [1/s]."""
        return 0.5 * self.young / self.viscosity

    def front_stress(self, t: ArrayLike) -> Array:
        """Return the stress [Pa] just behind the front at times t [s]."""
        return np.asarray(self.stress_step * np.exp(-self.decay * np.asarray(t, dtype=float)))

    def stress(self, x: ArrayLike, t: ArrayLike) -> Array:
        """Return the stress [Pa] at distances x [m] from the end and times t [s]; zero ahead of the front."""
        z, times = np.broadcast_arrays(np.asarray(x, dtype=float) / self.speed, np.asarray(t, dtype=float))
        reached = times >= z
        # With y = z + (t - z) p^2 the integrand is smooth in p and Gauss points converge fast.
        p = 0.5 * (_POINTS + 1.0)
        span = np.maximum(times - z, 0.0)[..., None]
        y = z[..., None] + span * p**2
        root = np.sqrt(span * p**2 * (y + z[..., None]))
        a = self.decay
        # exp(-a y) I_1(a root)/root, written so that neither factor over- nor underflows and root may be zero.
        safe = np.where(root > 0.0, root, 1.0)
        kernel = np.where(root > 0.0, np.exp(-a * (y - root)) * ive(1, a * root) / safe, 0.5 * a * np.exp(-a * y))
        integral = np.sum(0.5 * _WEIGHTS * 2.0 * p * span * kernel, axis=-1)
        return np.asarray(np.where(reached, self.stress_step * (np.exp(-a * z) + a * z * integral), 0.0))

    def end_velocity(self, t: ArrayLike) -> Array:
        """Return the velocity [m/s] of the loaded end at times t [s], positive along the load."""
        at = self.decay * np.asarray(t, dtype=float)
        impedance = self.density * self.speed
        return np.asarray(self.stress_step / impedance * ((1.0 + 2.0 * at) * ive(0, at) + 2.0 * at * ive(1, at)))

    def end_displacement(self, t: ArrayLike) -> Array:
        """Return the displacement [m] of the loaded end at times t [s], the integral of its velocity."""
        times = np.asarray(t, dtype=float)
        y = 0.5 * (_POINTS + 1.0) * times[..., None]
        return np.asarray(0.5 * times * np.sum(_WEIGHTS * self.end_velocity(y), axis=-1))


@dataclass(frozen=True)
class SineField:
    """U(x) with the amplitudes a_i [m], one per space dimension; positions come and vectors go as (d, ...)."""

    amplitudes: tuple[float, ...]

    @property
    def dimension(self) -> int:
        """Number of space dimensions."""
        return len(self.amplitudes)

    def displacement(self, x: ArrayLike) -> Array:
        """Return U [m]."""
        return self._along(np.prod(np.sin(np.pi * np.asarray(x, dtype=float)), axis=0))

    def gradient(self, x: ArrayLike) -> Array:
        """Return dU_i/dx_j [1] as (d, d, ...)."""
        slopes = np.stack([self._derivative(x, j) for j in range(self.dimension)])
        return np.stack([amplitude * slopes for amplitude in self.amplitudes])

    def laplacian(self, x: ArrayLike) -> Array:
        """Return lap U = -d pi^2 U [1/m]."""
        return -self.dimension * np.pi**2 * self.displacement(x)

    def gradient_of_divergence(self, x: ArrayLike) -> Array:
        """Return grad div U [1/m]: component i is sum_j a_j d2 phi/(dx_i dx_j)."""
        return np.stack(
            [
                np.sum([a * self._derivative(x, i, j) for j, a in enumerate(self.amplitudes)], axis=0)
                for i in range(self.dimension)
            ]
        )

    def lame_field(self, x: ArrayLike) -> Array:
        """Return F_lam [1/m], the body force per unit of lambda."""
        return -self.gradient_of_divergence(x)

    def shear_field(self, x: ArrayLike) -> Array:
        """Return F_mu [1/m], the body force per unit of mu beside lambda."""
        return -(self.laplacian(x) + self.gradient_of_divergence(x))

    def _along(self, scalar: Array) -> Array:
        return np.stack([amplitude * scalar for amplitude in self.amplitudes])

    def _derivative(self, x: ArrayLike, *axes: int) -> Array:
        """Return the derivative of phi along the given axes: each turns sin to pi cos and that to -pi^2 sin."""
        product = np.ones(np.asarray(x).shape[1:])
        for axis, coordinate in enumerate(np.asarray(x, dtype=float)):
            count = axes.count(axis)
            product = product * np.pi**count * np.sin(np.pi * coordinate + 0.5 * np.pi * count)
        return product


@dataclass(frozen=True)
class SaturatingTime:
    """q(t) = 1 - exp(-t/T) with T [s]; all functions take times t >= 0 [s]."""

    time: float

    def value(self, t: ArrayLike) -> Array:
        """Return q [1]."""
        return np.asarray(-np.expm1(-np.asarray(t, dtype=float) / self.time))

    def rate(self, t: ArrayLike) -> Array:
        """Return q' [1/s]."""
        return np.asarray(np.exp(-np.asarray(t, dtype=float) / self.time) / self.time)

    def kappa(self, channel: Channel, t: ArrayLike) -> Array:
        """Return the channel's answer to q [Pa]."""
        times = np.asarray(t, dtype=float)
        found = channel.equilibrium * self.value(times) + channel.viscosity * self.rate(times)
        for strength, tau in zip(channel.strengths, channel.times, strict=True):
            # Both exponentials may be (nearly) the same one: the difference quotient is taken without cancellation.
            slow, gap = min(1.0 / tau, 1.0 / self.time), abs(1.0 / tau - 1.0 / self.time)
            quotient = times if gap == 0.0 else -np.expm1(-gap * times) / gap
            found = found + strength / self.time * np.exp(-slow * times) * quotient
        return np.asarray(found)


def principal_slopes(energy: Hyperelastic, stretches: ArrayLike) -> Array:
    """Return l dw/dl of each principal stretch (..., 3) of an isochoric energy [Pa].

    Differences of two of them are differences of Cauchy stresses of a body that keeps its volume.
    """
    stretch = np.asarray(stretches, dtype=float)
    square = stretch**2
    first = square.sum(axis=-1, keepdims=True) - 3.0
    c10, c01, c20, c30 = energy.coefficients
    by_first = c10 + 2.0 * c20 * first + 3.0 * c30 * first**2
    found = 2.0 * by_first * square - 2.0 * c01 / square
    for modulus, exponent in energy.principal:
        found = found + 2.0 * modulus / exponent * square ** (0.5 * exponent)
    return np.asarray(found)


def uniaxial_stress(energy: Hyperelastic, stretch: ArrayLike) -> Array:
    """Return the stress [Pa] of a bar of constant volume, stretches l, l^-1/2, l^-1/2."""
    length = np.asarray(stretch, dtype=float)
    slopes = principal_slopes(energy, np.stack([length, length**-0.5, length**-0.5], axis=-1))
    return np.asarray(slopes[..., 0] - slopes[..., 1])


def simple_shear_stress(energy: Hyperelastic, shear: ArrayLike) -> Array:
    """Return the shear stress [Pa] of simple shear g: (s1 - s2)/(l + 1/l), l - 1/l = g, of any isotropic energy."""
    amount = np.asarray(shear, dtype=float)
    stretch = 0.5 * amount + np.sqrt(1.0 + 0.25 * amount**2)
    slopes = principal_slopes(energy, np.stack([stretch, 1.0 / stretch, np.ones_like(stretch)], axis=-1))
    return np.asarray((slopes[..., 0] - slopes[..., 1]) / (stretch + 1.0 / stretch))


def inflation_pressure(energy: Hyperelastic, inner: float, outer: float, moved: float, *, ball: bool) -> float:
    """Return the pressure [Pa] in a tube of fixed length or a ball of radii [m] whose inside moves out by `moved` [m].

    Of constant volume, r^n = R^n + const (n = 2, 3), and p = int (n - 1) (s_t - s_r) dr/r with the stretch r/R.
    """
    power = 3 if ball else 2
    more = (inner + moved) ** power - inner**power
    radius, weight = np.polynomial.legendre.leggauss(40)
    first, last = inner + moved, (outer**power + more) ** (1.0 / power)
    radius = 0.5 * (first + last) + 0.5 * (last - first) * radius
    hoop = radius / (radius**power - more) ** (1.0 / power)
    other = hoop if ball else np.ones_like(hoop)
    slopes = principal_slopes(energy, np.stack([hoop ** (1 - power), hoop, other], axis=-1))
    return float((power - 1) * 0.5 * (last - first) * np.sum(weight * (slopes[:, 1] - slopes[:, 0]) / radius))


def torsion_loads(c10: float, c01: float, radius: float, twist: float) -> tuple[float, float]:
    """Return moment [N m] and axial force [N] of a Mooney-Rivlin cylinder turned by `twist` [1/m] at its length.

    M = pi R^4 psi (c10 + c01),   N = -pi/2 R^4 psi^2 (c10 + 2 c01)   (Rivlin 1949)
    """
    quartic = np.pi * radius**4
    return quartic * twist * (c10 + c01), -0.5 * quartic * twist**2 * (c10 + 2.0 * c01)


def held_share(shares: ArrayLike, times: ArrayLike, ramp: float, time: float) -> float:
    """Return the isochoric stress at `time` [s] over that at once, if it grows evenly in `ramp` [s] and is held.

    1 - sum g + sum g tau/h (1 - exp(-h/tau)) exp(-(t - h)/tau), exact at any stretch (Simo 1987)
    """
    share, tau = np.asarray(shares, dtype=float), np.asarray(times, dtype=float)
    arms = share * tau / ramp * -np.expm1(-ramp / tau) * np.exp(-(time - ramp) / tau)
    return float(1.0 - share.sum() + arms.sum())
