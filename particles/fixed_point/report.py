"""Everything there is to say about a scene on the circuit: words, cycles, memory, gates, errors, as values and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from rheotwin.errors import EXIT_DIVERGED
from rheotwin.particles.fixed_point.errors import Account, OperationError, account, operation_errors
from rheotwin.particles.fixed_point.model import CircuitModel
from rheotwin.particles.fixed_point.parameters import CircuitConstants
from rheotwin.particles.fixed_point.partition import BUBBLE, LATENCY, Partition, hazard_free_order, hazards, partition
from rheotwin.particles.fixed_point.prepare import Prepared
from rheotwin.particles.fixed_point.ranges import suggest_units
from rheotwin.particles.fixed_point.stepping import Stepping
from rheotwin.particles.fixed_point.timing import (
    RAM_BITS,
    Device,
    Extras,
    Links,
    Machine,
    Prediction,
    check_memory,
    predict,
)


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
    edge_tables = sum(not isinstance(part.raw, int) for part in constants.of_edge)
    if constants.chain is not None:  # its other words and the natural length
        edge_tables += constants.chain.parts - 1
    wide = -(-constants.form.word // RAM_BITS)
    if isinstance(constants.Minv.raw, int):
        return Extras(edge_tables, wide=wide)
    inverse = np.asarray(constants.Minv.raw)
    held, free = inverse == 0, inverse[inverse != 0]
    return Extras(edge_tables, wide=wide, point_tables=int(held.any()) + int(len(np.unique(free)) > 1))


def timing(
    model: CircuitModel,
    constants: CircuitConstants,
    machine: Machine,
    kind: Partition,
    device: Device,
    links: Links | None = None,
) -> Timing:
    """Predict the step of a body, split by `kind` over the machine's modules; refuse what does not fit the chip.

    With `links` every module has a chip of its own.
    """
    group = partition(model.problem.points, model.edges, machine.modules, kind)
    prediction = predict(machine, model.edges, group, extras_of(constants), links)
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
        "points": None if constants.points is None else list(astuple(constants.points)),
        "constants": {
            name: {"largest": float(np.abs(part.value).max()), "bits_after_point": part.w}
            for name, part in constants.named.items()
        },
        "remarks": prepared.remarks,
        "supports_change_at_s": prepared.until,
    }
    if ranges is not None:
        found["range_used"] = ranges.shares(units, form, constants.points)
    if ranges is not None and constants.points is None:
        best = suggest_units(ranges, prepared.model, form, own_points=prepared.options.tem_wmod)
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
    halfway.take(round((prepared.until or prepared.model.problem.scene.duration) / float(prepared.step)) // 2)
    operations = operation_errors(halfway.settled, prepared.constants, prepared.model, float(prepared.step))
    return account(prepared, samples), operations


About = Mapping[str, Any]


def report_text(about: About) -> str:
    """Return all parts of the report, a paragraph each."""
    parts = [
        f"{about['title']}: {about['points']} points, {about['edges']} edges",
        _words(about["words"]),
        _timing(about["timing"], about["chip_block_rams"]),
        _resources(about["resources"]),
        _errors(about["errors"]),
    ]
    if "sweep" in about:
        parts.append(_sweep(about["sweep"]))
    if "verilog" in about:
        parts.append("Verilog: " + ", ".join(about["verilog"]))
    return "\n\n".join(parts)


def _words(words: About) -> str:
    lines = [
        f"words      {words['word']} bits, {words['fraction']} after the point; units {words['time_unit_s']:g} s, "
        f"{words['length_unit_m']:g} m, {words['mass_unit_kg']:g} kg",
        f"step       {words['step_s']:.6g} s, in the circuit {words['circuit_step_s']:.6g} s",
    ]
    if "range_used" in words:
        used = ", ".join(f"{name} {100 * share:.3g}" for name, share in words["range_used"].items())
        lines.append(f"range used {used} %")
    if "suggested_units" in words:
        best = words["suggested_units"]
        lines.append(
            f"suggested  time_unit = {best['time_unit_s']:g}, length_unit = {best['length_unit_m']:g}, "
            f"mass_unit = {best['mass_unit_kg']:g}"
        )
    if words.get("points"):
        direction, inverse, lam, acceleration, rate = words["points"]
        lines.append(
            f"points     directions {direction}, 1/l {inverse}; more than the others: extensions {lam}, accelerations "
            f"{acceleration}, rates {rate}"
        )
    if words["supports_change_at_s"] is not None:
        lines.append(
            f"phases     supports first change at t = {words['supports_change_at_s']:.6g} s, where errors below end; "
            "announced is that of the whole scene"
        )
    if words.get("announced_error") is not None:
        lines.append(
            f"announced  {100 * words['announced_error']:.3g} % of the mean displacement, against double precision"
        )
    if words.get("stops_at_s") is not None:
        lines.append(f"stops      a run ends with exit code {EXIT_DIVERGED} at t = {words['stops_at_s']:.6g} s")
    return "\n".join(lines + [f"warning    {remark}" for remark in words["remarks"]])


def _timing(timing: About, chip: int) -> str:
    lines = [
        f"cycles     {timing['cycles']:g} a step, {1e3 * timing['step_s']:.4g} ms, {timing['rate_hz']:,.0f} Hz with "
        f"{timing['modules']} module(s) at {timing['clock_hz'] / 1e6:g} MHz",
    ]
    if timing["modules"] > 1:
        lines.append(
            f"slowest    {timing['slowest_module_cycles']} a step, {1e3 * timing['slowest_module_step_s']:.4g} ms, "
            f"{timing['slowest_module_rate_hz']:,.0f} Hz; {timing['edges_between_modules']} edges between modules"
        )
    if "sent_cycles" in timing:
        lines.append(
            f"chips      one for each group, with lines to at most {max(timing['lines_of_chips'])} others; "
            f"{timing['sent_cycles']} cycles of a step to send the borders"
        )
    lines.append(f"memory     {timing['block_rams']} of {chip} BlockRAMs, {timing['ram_bytes_per_s'] / 1e9:.2f} GB/s")
    if timing["empty_slots"]:
        lines.append(
            f"order      {timing['empty_slots']} empty slots more, so that no sum is read within "
            f"{timing['accumulator_latency']} cycles of its change"
        )
    return "\n".join(lines)


def _resources(resources: About) -> str:
    if "missing" in resources:
        return f"gates      {resources['missing']}"
    lines = [f"gates      {resources['family']}, element module of {resources['depth']} stages"]
    lines += [
        f"  {part['name']:8s} {part['multipliers']} multipliers, {part['flip_flops']} flip-flops, "
        f"{part['luts']} look-up tables, {part['block_rams']} BlockRAMs"
        for part in resources["parts"]
    ]
    return "\n".join(lines)


def _errors(errors: About) -> str:
    lines = ["error      against the same rule in double precision"]
    lines.append(f"  {'time':>10s} {'mean, % of width':>17s} {'worst [m]':>11s} {'mean travel [m]':>16s}")
    columns = ("times_s", "mean_error_of_width", "worst_error_m", "mean_travel_m")
    for time, mean, worst, travel in zip(*(errors[name] for name in columns), strict=True):
        lines.append(f"  {time:>8.4g} s {100 * mean:>17.4g} {worst:>11.3g} {travel:>16.3g}")
    lines.append("halfway    rounding of each operation in units of the last place; accumulated: against the law")
    lines.append(f"  {'':20s} {'rms':>8s} {'mean':>8s} {'worst':>8s} {'accumulated':>12s}")
    for item in errors["operations"]:
        name = f"{item['module']} {item['circuit']} {item['operation']}"
        lines.append(
            f"  {name:20s} {item['rms']:>8.3f} {item['mean']:>8.3f} {item['worst']:>8.3f} "
            f"{100 * item['accumulated']:>10.3g} %"
        )
    lines.append(
        f"dead band  points slower than {errors['dead_band_m_per_s']:.3g} m/s stand still, accelerations below "
        f"{errors['dead_band_m_per_s2']:.3g} m/s2 do nothing"
    )
    return "\n".join(lines + [f"diagnosis  {sentence}" for sentence in errors["diagnosis"]])


def _sweep(sweep: About) -> str:
    lines = ["sweep      mean error at the end, % of the width; the point of every word with the least error"]
    words = sorted({row["word"] for row in sweep["rows"]})
    for word in words:
        kept = [r for r in sweep["rows"] if r["word"] == word and r["error"] is not None and not r["overflows"]]
        best = min(kept, key=lambda row: row["error"], default=None)
        if best is None:
            lines.append(f"  {word} bits: none runs without overflow")
            continue
        said = f"  {word} bits, {best['fraction']} after the point: {100 * best['error']:.4g}"
        lines.append(said + "; units {:g} s, {:g} m, {:g} kg".format(*best["units"]))
    good = sweep["shortest"]
    if good is None:
        lines.append(f"no word within {100 * sweep['tolerance']:g} %")
    else:
        lines.append(
            f"shortest   within {100 * sweep['tolerance']:g} %: word = {good['word']}, fraction = {good['fraction']}"
        )
    return "\n".join(lines)
