"""Everything there is to say about a scene on the circuit: words, cycles, memory, gates, errors, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rheotwin.particles.fixed_point.errors import Account, OperationError, account, operation_errors
from rheotwin.particles.fixed_point.hazards import BUBBLE, LATENCY, hazard_free_order, hazards
from rheotwin.particles.fixed_point.model import CircuitModel
from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.partition import Partition, partition
from rheotwin.particles.fixed_point.prepare import Prepared
from rheotwin.particles.fixed_point.ranges import suggest_units
from rheotwin.particles.fixed_point.stepping import Stepping
from rheotwin.particles.fixed_point.timing import Device, Extras, Machine, Prediction, check_memory, predict


@dataclass(frozen=True)
class Timing:
    """Cycles of a step, and what the order of edges costs: slots left empty so that no sum is read too early."""

    prediction: Prediction
    bubbles: int

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self.prediction.to_data() | {"empty_slots": self.bubbles, "accumulator_latency": LATENCY}


def extras_of(constants: CircuitConstants) -> Extras:
    """Return the tables that constants take which are not the same everywhere."""
    edge_tables = sum(not isinstance(part.raw, int) for part in (constants.A, constants.B, constants.C2))
    if isinstance(constants.Minv.raw, int):
        return Extras(edge_tables)
    inverse = np.asarray(constants.Minv.raw)
    held, free = inverse == 0, inverse[inverse != 0]
    return Extras(edge_tables, int(held.any()) + int(len(np.unique(free)) > 1))


def timing(
    model: CircuitModel, constants: CircuitConstants, machine: Machine, kind: Partition, device: Device
) -> Timing:
    """Predict the step of a body, split by `kind` over the machine's modules; refuse what does not fit the chip."""
    group = partition(model.problem.points, model.edges, machine.modules, kind)
    prediction = predict(machine, model.edges, group, extras_of(constants))
    check_memory(prediction, device)
    bubbles = 0
    for number in range(machine.modules):
        own = model.edges[(group[model.edges] == number).any(axis=1)]
        if hazards(own, LATENCY):
            bubbles = max(bubbles, int(np.count_nonzero(hazard_free_order(own, LATENCY) == BUBBLE)))
    return Timing(prediction, bubbles)


def words_data(prepared: Prepared) -> dict[str, Any]:
    """Return words, units, constants and how full the words get."""
    constants, ranges = prepared.constants, prepared.ranges
    units, form = constants.units, constants.form
    found: dict[str, Any] = {
        "word": form.word,
        "fraction": form.fraction,
        "time_unit_s": units.time,
        "length_unit_m": units.length,
        "mass_unit_kg": units.mass,
        "step_s": float(prepared.step),
        "circuit_step_s": float(constants.H.value) * units.time,
        "constants": {
            name: {"largest": float(np.abs(part.value).max()), "bits_after_point": part.w}
            for name, part in ((name, getattr(constants, name)) for name in ("A", "B", "C2", "H", "Minv"))
        },
        "remarks": prepared.remarks,
    }
    if ranges is not None:
        best = suggest_units(ranges, prepared.model, form, own_points=prepared.options.tem_wmod)
        found["range_used"] = ranges.shares(units, form)
        found["suggested_units"] = {"time_unit_s": best.time, "length_unit_m": best.length, "mass_unit_kg": best.mass}
    return found


def errors_data(found: Account, operations: list[OperationError]) -> dict[str, Any]:
    """Return the error account."""
    return {
        "times_s": found.times.tolist(),
        "mean_error_m": found.mean.tolist(),
        "mean_error_of_width": found.relative.tolist(),
        "worst_error_m": found.worst.tolist(),
        "drift_m": found.drift.tolist(),
        "mean_travel_m": found.travel.tolist(),
        "share_standing": found.standing.tolist(),
        "dead_band_m_per_s": found.band.velocity,
        "dead_band_m_per_s2": found.band.acceleration,
        "overflows": found.overflows,
        "diagnosis": found.diagnosis,
        "operations": [asdict(item) for item in operations],
    }


def error_account(prepared: Prepared, samples: int) -> tuple[Account, list[OperationError]]:
    """Return the account over time, and that of the operations halfway through the scene."""
    halfway = Stepping(prepared)
    halfway.take(round(prepared.model.problem.scene.duration / float(prepared.step)) // 2)
    operations = operation_errors(halfway.body, prepared.constants, prepared.model, float(prepared.step))
    return account(prepared, samples), operations
