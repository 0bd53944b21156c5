"""When a run writes what: frames, probe rows and checkpoints as one ordered list of times."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd, isfinite, lcm

from rheotwin.errors import RheotwinError
from rheotwin.scene import Scene

MOST_STEPS = 1e12
"""Steps a run may need: more would take months of the fastest kernel on the smallest scene."""

SAME_TIME = 1e-11
"""Share of the duration by which two times may differ that are one but for rounding."""


@dataclass(frozen=True)
class Stop:
    """One planned time [s] and what is written there."""

    time: float
    frame: bool
    probe: bool
    checkpoint: bool


def _regular(interval: float, duration: float) -> list[float]:
    count = int(round(duration / interval, 9))
    times = [interval * index for index in range(count + 1)]
    return times if abs(times[-1] - duration) <= 1e-9 * duration else [*times, duration]


def frame_times(scene: Scene) -> list[float]:
    """Return the planned frame times [s]; with adaptive output, every time a frame may be written."""
    output = scene.output
    if output.times is not None:
        return [time for time in output.times if time <= scene.duration * (1 + 1e-12)]
    if output.adaptive is not None:
        return _regular(output.adaptive.shortest, scene.duration)
    return _regular(output.interval or scene.duration, scene.duration)


def plan(scene: Scene) -> list[Stop]:
    """Merge all planned times of a scene; the end of the run always has a frame and a probe row."""
    output, duration = scene.output, scene.duration
    frames = frame_times(scene)
    probes = _regular(output.probe_interval, duration) if output.probe_interval else frames
    checkpoints = _regular(output.checkpoint_interval, duration)[1:] if output.checkpoint_interval else []
    due = [(time, "frame") for time in (*frames, duration)] + [(time, "probe") for time in (*probes, duration)]
    due += [(time, "checkpoint") for time in checkpoints]
    stops: list[tuple[float, set[str]]] = []
    for time, kind in sorted(due):
        if not stops or time - stops[-1][0] > SAME_TIME * duration:
            stops.append((time, set()))
        stops[-1][1].add(kind)
    return [Stop(round(time, 12), "frame" in kinds, "probe" in kinds, "checkpoint" in kinds) for time, kinds in stops]


def common_tick(times: list[float], duration: float) -> Fraction:
    """Return the largest time that divides all `times`, or 0 if that would be below 1e-6 of the duration.

    Decimal input is taken at its word: 0.1 is one tenth, so the divisor is computed on exact fractions.

    >>> common_tick([0.5, 0.75, 3.0], 3.0)
    Fraction(1, 4)
    """
    fractions = [Fraction(str(time)) for time in times if time > 0.0]
    denominator = lcm(*(fraction.denominator for fraction in fractions))
    whole = gcd(*(fraction.numerator * (denominator // fraction.denominator) for fraction in fractions))
    tick = Fraction(whole, denominator)
    return tick if tick >= 1e-6 * duration else Fraction(0)


def require_reachable(step: float, duration: float, place: str) -> None:
    """Refuse a step [s] that is no number, or so short that no computer reaches the `duration` [s] with it."""
    if not isfinite(step):
        raise RheotwinError(f"{place}: must be a finite number, not {step}")
    if duration / step > MOST_STEPS:
        raise RheotwinError(
            f"{place}: {step:.6g} s would take {duration / step:.3g} steps for the duration of {duration:.6g} s, "
            f"more than {MOST_STEPS:.0e}; choose at least {duration / MOST_STEPS:.6g}"
        )


def time_of(step: Fraction, count: int) -> float:
    """Return the time [s] after `count` steps: the float nearest to the exact product.

    >>> time_of(Fraction(1, 10), 3)
    0.3
    """
    return count * step.numerator / step.denominator


def step_dividing(tick: Fraction, wanted: float) -> Fraction:
    """Return the largest step not above `wanted` [s] that divides `tick`; `wanted` itself without a tick.

    As a fraction, so that step number n stands at exactly n steps: no time drifts by rounding.

    >>> step_dividing(Fraction(1, 2), 0.3)
    Fraction(1, 4)
    """
    if tick == 0:
        return Fraction(wanted)
    return tick / max(1, ceil(float(tick) / wanted * (1.0 - 1e-9)))
