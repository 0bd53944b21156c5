"""Real records: the law that is identified from some of them, what it leaves, and what it foretells of the others.

Adhesive: a bank with a cubic spring, from two of five rates. Silicone: chains behind |x|^p, from measured force. Foam:
Prony terms and shifts of 19 temperatures. What a record leaves is the rms over its peak [%], of moduli relative [%].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.validation.checks.check import Check, Values, check
from rheotwin.validation.checks.running import with_data
from rheotwin.validation.experiments import datasets as data
from rheotwin.validation.identification import Geometry, Identified, OscillationRecord, TimeRecord, identify
from rheotwin.validation.identification.oscillation import identify_oscillation
from rheotwin.validation.identification.result import Curve

PERCENT, KILO = 100.0, 1e-3
FITTED = ("step_relaxation_5-per-min", "step_relaxation_1-per-min")
RATES = dict(zip(data.OCA_TESTS, ("5 per min", "2 per min", "1 per min", "0.1 per s", "0.05 per s"), strict=True))
"""Tests of the adhesive, by the word of their rate."""
BLIND_LEVEL = 20.0
"""Temperature [Celsius] that is left out and foretold."""


def adhesive(test: str) -> TimeRecord:
    """Return shear and nominal stress [Pa] of one test, from rest on."""
    found = data.read_oca_shear(test)
    columns = np.stack([found.times, found.shear, found.stress])
    if columns[1, 0] > 0.0:
        columns = np.concatenate([np.zeros((3, 1)), columns], axis=1)
    time, shear, stress = columns
    return replace(TimeRecord.driven(time, shear, stress, name=RATES[test]), geometry=Geometry("shear-strain"))


def silicone(test: str) -> TimeRecord:
    """Return indentation [m] and force [N], which drives; the first three samples, before contact, are its zero."""
    found = data.read_silicone_indentation(test)
    assert found.path is not None and found.force is not None
    force = -found.force.values[:, 2]
    return TimeRecord.driven(found.path.times, -found.path.values[:, 2], force - force[:3].mean(), "force", name=test)


def loading(record: TimeRecord) -> TimeRecord:
    """Return ramp and hold of an indentation, driven by the displacement."""
    x = np.maximum(record.displacement, 0.0)
    top = int(np.argmax(x))
    end = top + int(np.argmax(x[top:] < 0.995 * x[top]))
    return TimeRecord.driven(record.time[:end], x[:end], record.force[:end], name=record.name)


@cache
def foam() -> OscillationRecord:
    """Return all temperatures of the foam; the unit of its moduli is not stated, so Pa stands for it."""
    found = data.read_vinyl_foam()
    return OscillationRecord("vinyl foam", found.frequency, found.storage, found.loss, found.temperature)


def part(record: OscillationRecord, rows: Array) -> OscillationRecord:
    """Return some rows (F,) of a record."""
    assert record.temperature is not None
    columns = (record.frequency, record.storage, record.loss, record.temperature)
    return OscillationRecord(record.name, *(column[rows] for column in columns))


def _left(curve: Curve) -> float:
    return PERCENT * curve.misfit


@cache
def adhesive_law(terms: int) -> Identified:
    """Return what two rates say, and what that foretells of the others."""
    records = {test: adhesive(test) for test in data.OCA_TESTS}
    blind = [record for test, record in records.items() if test not in FITTED]
    return identify([records[test] for test in FITTED], law=f"cubic-bank-{terms}", blind=blind, open_ended=True)


def adhesive_rates() -> Values:
    """Return what is left of fitted and blind rates with two and three terms [%]; the law of two terms [kPa, s]."""
    found: dict[str, float] = {}
    for terms in (2, 3):
        for curve in adhesive_law(terms).curves:
            kind = "fitted" if curve.fitted else "blind"
            found[f"{kind} {curve.record}, {terms} terms"] = _left(curve)
    law = adhesive_law(2)
    found |= {name: KILO * law.value(name) for name in ("k_inf", "g1", "g2")}
    return found | {name: law.value(name) for name in ("tau1", "tau2")}


def silicone_chains() -> Values:
    """Return what chains leave [%], whether they will do, and the power with its 95 % interval."""
    record = silicone("P002-1")
    found: dict[str, float] = {}
    for law in ("chain-2", "chain-3", "power-chain-1", "power-chain-2", "power-chain-3"):
        one = identify(record, law=law, open_ended=True)
        found[law] = _left(one.curves[0])
        if law in ("chain-2", "power-chain-2"):
            found[f"{law} will do"] = float(one.adequacy.adequate)
        if law == "power-chain-2":
            power = next(parameter for parameter in one.parameters if parameter.name == "p")
            found |= {"p": power.value, "p, low": power.low, "p, high": power.high}
    found["chosen unasked"] = float(identify(record).model == "power-chain-2")
    return found


def silicone_loading() -> Values:
    """Return power, time [s] and what is left [%] of ramp and hold alone, and what one test says of the other [%]."""
    found: dict[str, float] = {}
    first, second = (loading(silicone(test)) for test in data.SILICONE_TESTS)
    for record, blind in ((first, (second,)), (second, ())):
        one = identify(record, law="power-bank-1", blind=blind, open_ended=True)
        found |= {f"{name}, {record.name}": one.value(name) for name in ("p", "tau1")}
        found[f"left, {record.name}"] = _left(one.curves[0])
        found |= {f"blind, {curve.record}": _left(curve) for curve in one.curves if not curve.fitted}
    return found


def relative(record: OscillationRecord, law: Identified) -> tuple[float, float]:
    """Return how far a law is from storage and loss [%], rms of what is relative."""
    assert law.law is not None
    z = law.law.channel.complex_modulus(record.frequency)
    pairs = ((z.real, record.storage), (z.imag, record.loss))
    storage, loss = (PERCENT * float(np.sqrt(np.mean((one / other - 1.0) ** 2))) for one, other in pairs)
    return storage, loss


@cache
def foam_law() -> Identified:
    """Return terms and shifts of all temperatures, at the middle one of 10 Celsius."""
    return identify_oscillation(foam())


def foam_terms() -> Values:
    """Return terms, what they leave [%] and how well shifts are known; least and most of short series, each alone."""
    law, record = foam_law(), foam()
    assert law.law is not None and record.temperature is not None
    row = next(row for row in law.orders if row.verdict == "chosen")
    shifts = [parameter for parameter in law.parameters if parameter.name.startswith("log10 a")]
    found = {
        "terms": float(len(law.law.channel.times)),
        "left": PERCENT * row.misfit,
        "half an interval of shifts": max(0.5 * (shift.high - shift.low) for shift in shifts),
    }
    peaks = record.loss / record.storage
    found["peak loss factor"] = float(peaks.max())
    for terms in (2, 3):
        alone = [
            identify_oscillation(part(record, record.temperature == t), terms=terms)
            for t in np.unique(record.temperature)
        ]
        left = [PERCENT * row.misfit for one in alone for row in one.orders if row.verdict == "chosen"]
        found |= {f"{terms} terms, least": min(left), f"{terms} terms, most": max(left)}
    return found


def foam_blind() -> Values:
    """Return how far WLF of the other temperatures is from storage and loss at one [%]."""
    record = foam()
    assert record.temperature is not None
    there = record.temperature == BLIND_LEVEL
    law = identify_oscillation(part(record, ~there), shift="wlf", reference=BLIND_LEVEL)
    storage, loss = relative(part(record, there), law)
    return {"storage": storage, "loss": loss}


def _check(identity: str, name: str, source: str, compute: Callable[[], Values], **more: Any) -> Check:
    return check(f"measured.{identity}", with_data(source, compute), name=name, solvers=(), **more)


CHECKS = {
    "measured": (
        _check("adhesive", "adhesive-rates", data.OCA, adhesive_rates, quick=True),
        _check("silicone", "silicone-chains", data.SILICONE, silicone_chains),
        _check("silicone/loading", "silicone-loading", data.SILICONE, silicone_loading, quick=True),
        _check("foam", "foam-terms", data.VINYL, foam_terms),
        _check("foam/blind", "foam-blind", data.VINYL, foam_blind),
    )
}
