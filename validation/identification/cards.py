"""A law as cards of other programs, as text in SI: Abaqus, Ansys and LS-DYNA.

A bank r(t) = g_inf + sum_a g_a exp(-t/tau_a) of one Poisson ratio, as shares g_a/r(0) of the modulus at once (Abaqus,
Ansys) or as moduli G_a, K_a with rates 1/tau_a (LS-DYNA). None of them has a dashpot beside the arms: it becomes an arm
of a hundredth of the shortest time, g = eta/tau, which differs by w tau in storage, by its square in loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.validation.identification.result import LawTable

SHORTER = 0.01
"""Time of the arm that stands for a dashpot, over the shortest of the others."""
NEARLY_INCOMPRESSIBLE = 0.4995
"""Largest Poisson ratio of the cards: a bulk modulus must be finite."""
MOST_LS_DYNA = 18
"""Arms that *MAT_GENERAL_VISCOELASTIC takes, the spring among them."""


@dataclass(frozen=True)
class Bank:
    """What the cards need: Young's moduli [Pa] of spring and arms, times [s], Poisson's ratio, remarks."""

    name: str
    channel: Channel
    poisson: float
    density: float
    remarks: tuple[str, ...]

    @property
    def at_once(self) -> float:
        """Modulus at once, g_inf + sum g_a [Pa]."""
        return self.channel.equilibrium + sum(self.channel.strengths)

    @property
    def arms(self) -> list[tuple[float, float]]:
        """Strengths [Pa] and times [s]."""
        return list(zip(self.channel.strengths, self.channel.times, strict=True))


def bank_of(law: LawTable, name: str, density: float) -> Bank:
    """Return what the cards are written from; a dashpot becomes a fast arm."""
    if law.friction is not None:
        raise RheotwinError("the cards hold linear laws; one with friction has none, so use it in a scene")
    channel, remarks = law.channel, []
    poisson = min(law.poisson, NEARLY_INCOMPRESSIBLE)
    if poisson < law.poisson:
        remarks.append(f"Poisson's ratio {law.poisson:g} written as {poisson:g}: the bulk modulus must be finite")
    if channel.viscosity:
        time = SHORTER * min(channel.times, default=channel.viscosity / (channel.equilibrium or channel.viscosity))
        remarks.append(f"the dashpot of {channel.viscosity:.6g} Pa s is the arm of {time:.6g} s")
        channel = channel + Channel.maxwell(channel.viscosity / time, channel.viscosity)
        channel = Channel(channel.equilibrium, channel.strengths, channel.times, 0.0)
    return Bank(name, channel, poisson, density, tuple(remarks))


def abaqus(bank: Bank) -> str:
    """Return *ELASTIC of the modulus at once and *VISCOELASTIC, TIME=PRONY: g_a, k_a, tau_a."""
    shares = [(strength / bank.at_once, time) for strength, time in bank.arms]
    return _lines(
        *(f"** {remark}" for remark in _head(bank)),
        f"*MATERIAL, NAME={bank.name}",
        "*DENSITY",
        f"{bank.density:.9g}",
        "*ELASTIC, MODULI=INSTANTANEOUS",
        f"{bank.at_once:.9g}, {bank.poisson:.9g}",
        *(["*VISCOELASTIC, TIME=PRONY"] if shares else []),
        *(f"{share:.9g}, {share:.9g}, {time:.9g}" for share, time in shares),
    )


def ansys(bank: Bank) -> str:
    """Return MP of the modulus at once and TB,PRONY for SHEAR and BULK: pairs of share and time, three a row."""
    pairs = [(strength / bank.at_once, time) for strength, time in bank.arms]
    tables = []
    for option in ("SHEAR", "BULK"):
        tables.append(f"TB,PRONY,1,1,{len(pairs)},{option}")
        for first in range(0, len(pairs), 3):
            values = ",".join(f"{share:.9g},{time:.9g}" for share, time in pairs[first : first + 3])
            tables.append(f"TBDATA,{1 + 2 * first},{values}")
    return _lines(
        *(f"! {remark}" for remark in _head(bank)),
        f"MP,DENS,1,{bank.density:.9g}",
        f"MP,EX,1,{bank.at_once:.9g}",
        f"MP,PRXY,1,{bank.poisson:.9g}",
        *(tables if pairs else []),
    )


def ls_dyna(bank: Bank) -> str:
    """Return *MAT_GENERAL_VISCOELASTIC: G_a, beta_a, K_a, beta_a in columns of ten; the spring has beta = 0."""
    rows = [(bank.channel.equilibrium, 0.0)] * bool(bank.channel.equilibrium)
    rows += [(strength, 1.0 / time) for strength, time in bank.arms]
    if len(rows) > MOST_LS_DYNA:
        raise RheotwinError(
            f"*MAT_GENERAL_VISCOELASTIC takes {MOST_LS_DYNA} arms and the law has {len(rows)}; identify fewer terms"
        )
    shear, bulk = 1.0 / (2.0 * (1.0 + bank.poisson)), 1.0 / (3.0 * (1.0 - 2.0 * bank.poisson))
    return _lines(
        "*KEYWORD",
        *(f"$ {remark}" for remark in _head(bank)),
        "*MAT_GENERAL_VISCOELASTIC_TITLE",
        bank.name,
        "$      MID        RO      BULK       PCF        EF      TREF         A         B",
        _columns(1, bank.density, bulk * bank.at_once),
        "$     LCID        NT    BSTART     TRAMP     LCIDK       NTK   BSTARTK    TRAMPK",
        "",
        "$       GI     BETAI        KI    BETAKI",
        *(_columns(shear * young, beta, bulk * young, beta) for young, beta in rows),
        "*END",
    )


PROGRAMS: dict[str, tuple[str, Callable[[Bank], str]]] = {
    "abaqus": ("abaqus.inp", abaqus),
    "ansys": ("ansys.mac", ansys),
    "ls-dyna": ("ls-dyna.k", ls_dyna),
}
"""Programs, the files of their cards and what writes them."""


def cards(law: LawTable, name: str = "identified", density: float = 1000.0) -> dict[str, str]:
    """Return the text of each file of cards, by file name; a program that cannot take the law says why in its file.

    `density` [kg/m3] was not identified.
    """
    bank = bank_of(law, name, density)
    found = {}
    for file, write in PROGRAMS.values():
        try:
            found[file] = write(bank)
        except RheotwinError as error:
            found[file] = f"$ {error}\n"
    return found


def _head(bank: Bank) -> tuple[str, ...]:
    return (f"{bank.name}, identified by rheotwin; SI units; the density was not identified", *bank.remarks)


def _columns(*values: float) -> str:
    return "".join(_nine(value).rjust(10) for value in values)


def _nine(value: float) -> str:
    """Return a number in nine characters with as many digits as fit."""
    for digits in range(8, 0, -1):
        head, _, power = f"{value:.{digits}g}".partition("e")
        text = f"{head}e{int(power)}" if power else head
        if len(text) <= 9:
            return text
    return f"{value:.1g}"


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"
