"""Closed forms against networks as differential equations, Laplace inversion, residuals, and the numbers printed."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rheotwin.errors import RheotwinError
from rheotwin.fem.finite.measures import Isochoric
from rheotwin.materials import (
    Channel,
    GeneralizedMaxwell,
    Hyperelastic,
    Maxwell,
    Moduli,
    MooneyRivlin,
    NeoHooke,
    Ogden,
    ThreeElement,
    Yeoh,
)
from rheotwin.validation import closed_forms
from rheotwin.validation.closed_forms import (
    held_share,
    inflation_pressure,
    simple_shear_stress,
    torsion_loads,
    uniaxial_stress,
)
from rheotwin.validation.references import catalogue

TIMES = np.array([0.3, 1.0, 4.0])
RICH = Channel.prony(2.0, [5.0, 3.0], [0.4, 6.0], viscosity=0.7)


def inverted(transform: Callable[[np.ndarray], np.ndarray], t: np.ndarray, terms: int = 24) -> np.ndarray:
    """Numerical inverse Laplace transform on Talbot's contour (Abate and Valko); 24 terms reach about 1e-9."""
    angle = np.arange(1, terms) * np.pi / terms
    cot = 1 / np.tan(angle)
    found = []
    for time in t:
        scale = 0.4 * terms / time
        s = scale * angle * (cot + 1j)
        weight = np.exp(s * time) * (1 + 1j * (angle + (angle * cot - 1) * cot))
        half = 0.5 * np.exp(scale * time) * transform(np.array([scale + 0j]))[0]
        found.append(scale / terms * (half + np.sum(weight * transform(s))).real)
    return np.array(found)


def test_driven_stress_solves_the_network() -> None:
    """Down, hold, back up: the memory equations integrated piece by piece."""
    kinks, strains = np.array([0.0, 1.0, 2.5, 4.0]), np.array([0.0, 0.2, 0.2, -0.1])
    taus, gains = np.array(RICH.times), np.array(RICH.strengths)
    memory, expected = np.zeros(2), []
    for start, end, first, last in zip(kinks[:-1], kinks[1:], strains[:-1], strains[1:], strict=True):
        rate = (last - first) / (end - start)
        run = solve_ivp(lambda t, w, r=rate: gains * r - w / taus, (start, end), memory, rtol=1e-11, atol=1e-13)
        memory = run.y[:, -1]
        expected.append(RICH.equilibrium * last + memory.sum() + RICH.viscosity * rate)
    np.testing.assert_allclose(
        closed_forms.driven_stress(RICH, kinks, strains, kinks[1:], side="before"), expected, rtol=1e-8
    )
    after = closed_forms.driven_stress(RICH, kinks, strains, [4.0 + 1e-12])[0]
    assert after == pytest.approx(expected[-1] + RICH.viscosity * 0.2, rel=1e-9)


def test_tensor_creep_by_laplace_inversion() -> None:
    """e = s0/(s Z_E(s)) with 1/Z_E = 1/(9 Z_K) + 1/(3 Z_mu), each Z built from the parts by hand."""
    spring, first, second = (Moduli.from_young(*pair) for pair in ((30, 0.35), (20, 0.1), (500, 0.45)))
    law = ThreeElement(spring, first, second)

    def series(s: np.ndarray, k: float, b: float, c: float) -> np.ndarray:
        return 1 / (1 / (k + b * s) + 1 / (c * s))

    def transform(s: np.ndarray) -> np.ndarray:
        bulk = series(s, spring.bulk, first.bulk, second.bulk)
        shear = series(s, spring.shear, first.shear, second.shear)
        return (1 / (9 * bulk) + 1 / (3 * shear)) / s

    np.testing.assert_allclose(closed_forms.tensor_creep(law, TIMES), inverted(transform, TIMES), rtol=1e-7)


def test_lame_creep_as_a_differential_equation() -> None:
    """sigma_xx = 1, lateral stress 0: rates of both strains from the two relaxing Lame channels."""
    law = Maxwell(Moduli.from_young(300, 0.35), Moduli.from_young(500, 0.25))
    lame, shear = law.channel("lame"), law.channel("shear")
    (gl,), (gm,), (tl,), (tm,) = lame.strengths, shear.strengths, lame.times, shear.times
    stiffness = np.array([[gl + 2 * gm, 2 * gl], [gl, 2 * gl + 2 * gm]])  # (axial, lateral) strain -> stress

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        volume, axial, lateral = y[2:]
        strain = np.linalg.solve(stiffness, np.array([volume / tl + axial / tm, volume / tl + lateral / tm]))
        trace = strain[0] + 2 * strain[1]
        memory = gl * trace - volume / tl, 2 * gm * strain[0] - axial / tm, 2 * gm * strain[1] - lateral / tm
        return np.array([*strain, *memory])

    e0 = np.linalg.solve(stiffness, [1.0, 0.0])
    start = [*e0, gl * (e0[0] + 2 * e0[1]), 2 * gm * e0[0], 2 * gm * e0[1]]
    found = solve_ivp(rates, (0, 4), start, t_eval=TIMES, rtol=1e-11, atol=1e-14).y[0]
    np.testing.assert_allclose(closed_forms.LameCreep.of(law).at(TIMES), found, rtol=1e-8)


def test_fields_vanish_on_the_boundary_modes_are_those_of_matrices_and_equal_ratios_one_split() -> None:
    law = Maxwell(Moduli.from_young(300, 0.3), Moduli.from_young(500, 0.3))
    for found in (closed_forms.LameCreep.of(law).at(TIMES), law.channel("young").creep(TIMES)):
        np.testing.assert_allclose(found, closed_forms.tensor_creep(law, TIMES), rtol=1e-12)
    # sin(pi x/2) is an eigenvector of the bar's M^-1 J: half a mass at the free end.
    n, density, length = 7, 3.0, 2.0
    stiffness = (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)) * n / length
    stiffness[-1, -1] = n / length
    values = np.linalg.eigvals(stiffness / (np.array([*[1.0] * (n - 1), 0.5]) * density * length / n)[:, None])
    assert closed_forms.first_eigenvalue(n, length=length, density=density) == pytest.approx(
        values.real.min(), rel=1e-12
    )
    x = np.random.default_rng(0).uniform(size=(2, 5, 4))
    x[0, 0], x[1, 1] = 0.0, 1.0
    u = closed_forms.SineField((1.0, 2.0)).displacement(x)
    assert u.shape == (2, 5, 4) and np.abs(u[:, :2]).max() < 1e-15


def test_cylinder_by_the_correspondence_principle() -> None:
    """The elastic tube u = p a^2/(b^2 - a^2) [r/(2 (K + mu/3)) + b^2/(2 mu r)] with mu -> Maxwell's Z(s), over s."""
    tube = closed_forms.ThickCylinder(inner=1.0, outer=2.5, pressure=3.0, bulk=70.0, shear=20.0, shear_viscosity=30.0)
    channel, radius = Channel.maxwell(20.0, 30.0), 1.7

    def transform(s: np.ndarray) -> np.ndarray:
        shear = channel.operational_modulus(s)
        return 3.0 * 1.0 / (2.5**2 - 1.0) * (radius / (2 * (70.0 + shear / 3)) + 2.5**2 / (2 * shear * radius)) / s

    np.testing.assert_allclose(tube.radial_displacement(radius, TIMES), inverted(transform, TIMES), rtol=1e-7)


def test_mode_of_a_rich_channel_as_a_differential_equation() -> None:
    """q'' = -lambda_1 (g_inf q + sum w + eta q') with w' = -w/tau + g q', integrated in steps."""
    eigenvalue = closed_forms.first_eigenvalue(10)
    taus, gains = np.array(RICH.times), np.array(RICH.strengths)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        q, v, w = y[0], y[1], y[2:]
        stress = RICH.equilibrium * q + w.sum() + RICH.viscosity * v
        return np.array([v, -eigenvalue * stress, *(gains * v - w / taus)])

    run = solve_ivp(rates, (0, 4), [0.0, 1.0, 0.0, 0.0], t_eval=TIMES, rtol=1e-11, atol=1e-13)
    state = closed_forms.mode_response(RICH, eigenvalue, TIMES)
    np.testing.assert_allclose([state.amplitude, state.rate, *state.memories.T], run.y, atol=1e-9)
    # spec T2: Maxwell's mode comes to rest away from where it started, at (1/tau)/(g lambda_1)
    resting = closed_forms.mode_response(Channel.maxwell(1.0, 2.0), eigenvalue, 300.0)
    assert resting.amplitude == pytest.approx(0.5 / eigenvalue, rel=1e-10)


@pytest.mark.parametrize("amplitudes", [(1.0,), (1.0, -0.5), (1.0, 0.3, -0.7)])
def test_body_force_by_differences(amplitudes: tuple[float, ...]) -> None:
    """-div(lam tr(e) I + 2 mu e) of the stated displacement, by central differences of its exact gradient."""
    field, d = closed_forms.SineField(amplitudes), len(amplitudes)
    x, lame, shear, step = np.array([0.3, 0.7, 0.2])[:d], 2.0, 0.7, 1e-5

    def stress(at: np.ndarray) -> np.ndarray:
        h = field.gradient(at)
        return lame * np.trace(h) * np.eye(d) + shear * (h + h.T)

    def differences(of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.stack([(of(x + step * e) - of(x - step * e)) / (2 * step) for e in np.eye(d)], axis=-1)

    force = -np.einsum("ijj->i", differences(stress))
    np.testing.assert_allclose(lame * field.lame_field(x) + shear * field.shear_field(x), force, atol=1e-7)
    np.testing.assert_allclose(field.gradient(x), differences(field.displacement), atol=1e-8)


@pytest.mark.parametrize("saturation", [0.4, 0.4 * (1 + 1e-9), 2.0, 30.0])
def test_kappa_solves_the_memory_equation(saturation: float) -> None:
    """Also where T equals a relaxation time (here 0.4)."""
    q = closed_forms.SaturatingTime(saturation)
    taus, gains = np.array(RICH.times), np.array(RICH.strengths)
    run = solve_ivp(lambda t, w: gains * q.rate(t) - w / taus, (0, 4), [0, 0], t_eval=TIMES, rtol=1e-11, atol=1e-13)
    expected = RICH.equilibrium * q.value(TIMES) + RICH.viscosity * q.rate(TIMES) + run.y.sum(axis=0)
    np.testing.assert_allclose(q.kappa(RICH, TIMES), expected, rtol=1e-9)


def test_wave_by_laplace_inversion() -> None:
    """s~ = s0/s exp(-(x/c) sqrt(s (s + 1/tau))) and v~ = s~ sqrt(1 + 1/(tau s))/(rho c), well behind the front."""
    wave = closed_forms.MaxwellBarWave(young=4.0, viscosity=2.0, density=0.25, stress_step=3.0)
    c, tau, x = 4.0, 0.5, 0.4
    stress = inverted(lambda s: 3.0 / s * np.exp(-x / c * np.sqrt(s) * np.sqrt(s + 1 / tau)), TIMES)
    np.testing.assert_allclose(wave.stress(x, TIMES), stress, rtol=1e-6)
    velocity = inverted(lambda s: 3.0 / s * np.sqrt(1 + 1 / (tau * s)) / (0.25 * c), TIMES)
    np.testing.assert_allclose(wave.end_velocity(TIMES), velocity, rtol=1e-7)
    moved = inverted(lambda s: 3.0 / s**2 * np.sqrt(1 + 1 / (tau * s)) / (0.25 * c), TIMES)
    np.testing.assert_allclose(wave.end_displacement(TIMES), moved, rtol=1e-7)


def test_front_runs_at_the_speed_of_sound_and_decays_and_the_bar_fills_up() -> None:
    """T9: sqrt(E/rho) and exp(-E t/(2 viscosity)); nothing ahead of the front, the end stress long after it."""
    wave = closed_forms.MaxwellBarWave(young=4.0, viscosity=2.0, density=0.25)
    assert (wave.speed, wave.decay) == (4.0, 1.0)
    front = wave.speed * TIMES
    np.testing.assert_allclose(wave.stress(front * (1 - 1e-12), TIMES), np.exp(-TIMES), rtol=1e-9)
    np.testing.assert_allclose(wave.front_stress(TIMES), np.exp(-TIMES), rtol=1e-15)
    assert not wave.stress(front * (1 + 1e-12), TIMES).any()
    wave = closed_forms.MaxwellBarWave(young=1.0, viscosity=2.0, density=1.0)
    np.testing.assert_allclose(wave.stress(0.0, TIMES), 1.0, rtol=1e-14)
    late = wave.stress(0.5, np.linspace(50, 60, 3))
    assert np.all(np.diff(late) > 0) and np.all((late > 0.9) & (late < 1.0))


def test_tool_force_is_the_bar_scaled_and_needs_one_poisson_ratio() -> None:
    """T8 on R8: force 469.64775/300 per unit modulus and depth."""
    law = ThreeElement(*(Moduli.from_young(value, 0.35) for value in (30, 20, 500)))
    found = closed_forms.tool_force(law, 469.64775 / 300, [0, 10, 20], [0, 10, 0], [5, 10, 12], side="before")
    np.testing.assert_allclose(found, [218.70560, 360.04537, 181.858], rtol=2.8e-6)
    mixed = GeneralizedMaxwell((Moduli.from_young(1, 0.2),), (Moduli.from_young(1, 0.3),))
    with pytest.raises(RheotwinError, match="different Poisson ratios"):
        closed_forms.tool_force(mixed, 1.0, [0, 1], [0, 1], [0.5])


DOUGH = Channel.three_element(30.0, 20.0, 500.0)


def printed(identity: str, *names: str) -> list[float]:
    known = {quantity.name: quantity.reference for quantity in catalogue()[f"fem.{identity}"].quantities}
    return [known[name] for name in names]


def test_the_numbers_printed_for_bars_and_the_cylinder() -> None:
    """R10, R11 (0.01/s for 10 s; at its end the viscous part drops at once), R13, R14 and the lumped bar, R15."""
    np.testing.assert_allclose(DOUGH.creep([1, 5, 20]), printed("R10", "e(1)", "e(5)", "e(20)"), atol=5.1e-8)
    history = [0.0, 10.0], [0.0, 0.1]
    before = closed_forms.driven_stress(DOUGH, *history, [1, 5, 10], side="before")
    np.testing.assert_allclose(before, printed("R11", "s(1)", "s(5)", "s(10-)"), atol=5.1e-8)
    np.testing.assert_allclose(
        closed_forms.driven_stress(DOUGH, *history, [10, 20]), printed("R11", "s(10+)", "s(20)"), atol=5.1e-8
    )
    creep = closed_forms.LameCreep.of(Maxwell(Moduli.from_young(300, 0.35), Moduli.from_young(500, 0.25)))
    assert (creep.rate, creep.flow) == pytest.approx((*printed("R13", "r"), 1 / 500), abs=5.1e-8)
    np.testing.assert_allclose(creep.at([0, 1, 5, 10]), printed("R13", "e(0)", "e(1)", "e(5)", "e(10)"), atol=5.1e-9)
    tube = closed_forms.ThickCylinder(inner=1, outer=2, pressure=1, bulk=1000, shear=100, shear_viscosity=200)
    found = tube.radial_displacement([1, 2, 1, 2], [0, 0, 2, 2])
    np.testing.assert_allclose(found, printed("R14", "u(a, 0)", "u(b, 0)", "u(a, 2)", "u(b, 2)"), atol=5.1e-9)
    eigenvalue, *numbers = printed("R15", "lambda_1", "q(1)", "q(5)", "v(1)", "v(5)")
    assert closed_forms.first_eigenvalue(10) == pytest.approx(eigenvalue, abs=5.1e-9)
    state = closed_forms.mode_response(Channel.maxwell(1.0, 2.0), closed_forms.first_eigenvalue(10), [1.0, 5.0])
    np.testing.assert_allclose([*state.amplitude, *state.rate], numbers, atol=5.1e-9)


NEO_HOOKE = NeoHooke((0.5, 0.0, 0.0, 0.0), (), np.inf)
MIXED = MooneyRivlin((0.3, 0.2, 0.0, 0.0), (), np.inf)
ENERGIES = [
    NEO_HOOKE,
    MIXED,
    Yeoh((0.5, 0.0, -0.1, 0.02), (), np.inf),
    Ogden((0.0, 0.0, 0.0, 0.0), ((0.7, 1.3), (0.3, -2.0)), np.inf),
]


@pytest.mark.parametrize("law", ENERGIES, ids=lambda law: str(law.name))
def test_stress_of_stretch_and_shear_is_the_slope_of_the_energy(law: Hyperelastic) -> None:
    """dw/dl of l, l^-1/2, l^-1/2 is the stress over l; dw/dg of simple shear is the shear stress."""
    measure, h = Isochoric(law.coefficients, law.principal), 1e-5

    def energy(deformation: np.ndarray) -> float:
        green = 0.5 * (deformation.T @ deformation - np.eye(3))
        strain = green[[0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]] * [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
        return float(measure.energy(strain, 0.0, 1.0))

    def pulled(length: float) -> float:
        return energy(np.diag([length, length**-0.5, length**-0.5]))

    def sheared(amount: float) -> float:
        return energy(np.eye(3) + amount * np.outer([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]))

    for length in (0.5, 1.0, 2.0):
        slope = length * (pulled(length + h) - pulled(length - h)) / (2.0 * h)
        assert float(uniaxial_stress(law, length)) == pytest.approx(slope, rel=1e-7, abs=1e-8)
    for amount in (-0.5, 1e-9, 1.5):
        slope = (sheared(amount + h) - sheared(amount - h)) / (2.0 * h)
        assert float(simple_shear_stress(law, amount)) == pytest.approx(slope, rel=1e-7, abs=1e-8)


def test_pressures_of_neo_hookean_tube_and_ball_are_the_known_ones() -> None:
    """p = mu (ln(a/b) + (b^-2 - a^-2)/2) and p = 2 mu (1/b + b^-4/4 - 1/a - a^-4/4), stretches a inside, b outside."""
    inner, outer = 1.8, np.sqrt((4.0 + 1.8**2 - 1.0) / 4.0)
    expected = np.log(inner / outer) + 0.5 * (outer**-2 - inner**-2)
    assert inflation_pressure(NEO_HOOKE, 1.0, 2.0, 0.8, ball=False) == pytest.approx(expected, rel=1e-12)
    outer = ((8.0 + 1.8**3 - 1.0) / 8.0) ** (1 / 3)
    expected = 2.0 * (1.0 / outer + 0.25 * outer**-4 - 1.0 / inner - 0.25 * inner**-4)
    assert inflation_pressure(NEO_HOOKE, 1.0, 2.0, 0.8, ball=True) == pytest.approx(expected, rel=1e-12)


def test_torsion_of_a_cylinder_balances_its_shear_stress() -> None:
    """M = int 2 pi r^2 s(psi r) dr with the stress of simple shear; N from s_zz - s_rr and the pressure of hoops."""
    radius, twist, count = 0.7, 0.9, 4000
    r = (np.arange(count) + 0.5) * radius / count
    moment, force = torsion_loads(0.3, 0.2, radius, twist)
    shear = simple_shear_stress(MIXED, twist * r)
    assert moment == pytest.approx(float(np.sum(2.0 * np.pi * r**2 * shear) * radius / count), rel=1e-6)
    # s_tt - s_rr = 2 c10 g^2, s_zz - s_rr = -2 c01 g^2, ds_rr/dr = (s_tt - s_rr)/r, s_rr = 0 outside
    radial = 0.3 * twist**2 * (r**2 - radius**2)
    axial = radial - 2.0 * 0.2 * (twist * r) ** 2
    assert force == pytest.approx(float(np.sum(2.0 * np.pi * r * axial) * radius / count), rel=1e-6)


def test_a_held_stretch_keeps_the_share_of_its_memories() -> None:
    """q' = r/h - q/tau up to h, then q' = -q/tau, by small steps."""
    q, step = np.zeros(2), 1e-4
    times, shares = np.array([0.5, 4.0]), np.array([0.3, 0.4])
    for k in range(30000):
        q += step * ((1.0 if k < 10000 else 0.0) - q / times)
    assert held_share(shares, times, 1.0, 3.0) == pytest.approx(0.3 + float(shares @ q), abs=1e-4)
