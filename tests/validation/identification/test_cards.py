"""Cards of other programs: read back by their rules, they are the law."""

from dataclasses import replace

import numpy as np
import pytest

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.validation.identification import LawTable
from rheotwin.validation.identification.cards import cards

CHANNEL = Channel.prony(3.0e4, (1.25e4, 7.5e3, 2.0e3, 1.0e3), (0.02, 0.65, 9.0, 150.0))
LAW = LawTable("generalized-maxwell", CHANNEL, 0.3)
TIMES = np.array([0.0, 0.01, 0.5, 8.0, 90.0, 1e4])
SHEAR, BULK = 1.0 / 2.6, 1.0 / 1.2


def relaxation(at_once: float, rows: Array) -> Array:
    """Return E (1 - sum g_a (1 - exp(-t/tau_a))), as the manuals of Abaqus and Ansys write it, of rows (g, tau)."""
    return at_once * (1.0 - sum(g * -np.expm1(-TIMES / tau) for g, tau in rows))


def after(text: str, keyword: str) -> list[str]:
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(keyword)) + 1
    stop = next((n for n in range(start, len(lines)) if lines[n].startswith("*")), len(lines))
    return lines[start:stop]


def test_abaqus() -> None:
    text = cards(LAW)["abaqus.inp"]
    young, poisson = map(float, after(text, "*ELASTIC, MODULI=INSTANTANEOUS")[0].split(","))
    rows = np.array([list(map(float, line.split(","))) for line in after(text, "*VISCOELASTIC, TIME=PRONY")])
    assert poisson == 0.3
    np.testing.assert_array_equal(rows[:, 0], rows[:, 1])
    np.testing.assert_allclose(relaxation(young, rows[:, [0, 2]]), CHANNEL.relaxation(TIMES), rtol=1e-8)


@pytest.mark.parametrize("option", ["SHEAR", "BULK"])
def test_ansys(option: str) -> None:
    lines = cards(LAW)["ansys.mac"].splitlines()
    young = float(next(line for line in lines if line.startswith("MP,EX")).split(",")[-1])
    start = lines.index(f"TB,PRONY,1,1,4,{option}")
    places: dict[int, float] = {}
    for line in lines[start + 1 : start + 3]:
        word, first, *values = line.split(",")
        assert word == "TBDATA"
        places |= {int(first) + n: float(value) for n, value in enumerate(values)}
    assert sorted(places) == list(range(1, 9))
    rows = np.array([places[n] for n in sorted(places)]).reshape(-1, 2)
    np.testing.assert_allclose(relaxation(young, rows), CHANNEL.relaxation(TIMES), rtol=1e-8)


def ls_dyna_rows(text: str) -> Array:
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("$       GI"))
    rows = [line for line in lines[start + 1 :] if not line.startswith("*")]
    return np.array([[float(row[k : k + 10]) for k in range(0, 40, 10)] for row in rows])


def test_ls_dyna() -> None:
    rows = ls_dyna_rows(cards(LAW)["ls-dyna.k"])
    shear = sum(g * np.exp(-beta * TIMES) for g, beta, _, _ in rows)
    bulk = sum(k * np.exp(-beta * TIMES) for _, _, k, beta in rows)
    np.testing.assert_allclose(shear, SHEAR * CHANNEL.relaxation(TIMES), rtol=1e-5)
    np.testing.assert_allclose(bulk, BULK * CHANNEL.relaxation(TIMES), rtol=1e-5)


def test_a_dashpot_is_an_arm_of_a_hundredth_of_the_shortest_time() -> None:
    damped = replace(LAW, channel=replace(CHANNEL, viscosity=40.0))
    text = cards(damped)["ls-dyna.k"]
    g, beta, _, rate = ls_dyna_rows(text).T
    omega = np.array([0.01, 1.0, 10.0, 100.0])
    found = (g / SHEAR) @ (1.0 / (1.0 + beta[:, None] / (1j * omega)))
    exact = damped.channel.complex_modulus(omega)
    assert "dashpot of 40 Pa s is the arm of 0.0002 s" in text
    assert np.abs(found / exact - 1.0).max() < 0.02 + 1e-4  # w tau = 0.02 at the last
    np.testing.assert_allclose(beta, rate)


def test_what_a_card_cannot_hold_is_said() -> None:
    incompressible = cards(replace(LAW, poisson=0.5))
    assert all("Poisson's ratio 0.5 written as 0.4995" in text for text in incompressible.values())
    many = Channel.prony(1.0, (1.0,) * 18, tuple(10.0 ** np.linspace(-9.0, 9.0, 18)))
    text = cards(replace(LAW, channel=many))
    assert "takes 18 arms and the law has 19; identify fewer terms" in text["ls-dyna.k"]
    assert "*VISCOELASTIC" in text["abaqus.inp"]
    with pytest.raises(RheotwinError, match="one with friction has none"):
        cards(replace(LAW, friction=2.0))


def test_a_spring_has_no_arms() -> None:
    text = cards(replace(LAW, channel=Channel.elastic(5.0)))
    assert "PRONY" not in text["abaqus.inp"] + text["ansys.mac"] and len(ls_dyna_rows(text["ls-dyna.k"])) == 1
