"""Threads are used while they are faster, and trying them costs next to nothing while they are not."""

from __future__ import annotations

from rheotwin.particles.unstructured.race import Race


class Machine:
    """A clock, and steps that take their time on it."""

    def __init__(self, serial: float, threaded: float) -> None:
        self.now, self.times = 0.0, {"serial": serial, "threaded": threaded}
        self.steps = {"serial": 0, "threaded": 0}
        self.numbers: list[int] = []
        self.stop_at = 10**9

    def take(self, kind: str, first: int, count: int) -> int:
        done = max(0, min(count, self.stop_at - first))
        self.numbers.extend(range(first, first + done))
        self.now += done * self.times[kind]
        self.steps[kind] += done
        return done

    def race(self) -> Race:
        return Race(
            lambda first, count: self.take("serial", first, count),
            lambda first, count: self.take("threaded", first, count),
            clock=lambda: self.now,
        )


def test_threads_that_win_do_nearly_all_steps() -> None:
    machine = Machine(serial=1.0, threaded=0.55)
    assert machine.race().take(0, 20_000) == 20_000
    assert machine.numbers == list(range(20_000))
    assert machine.steps["threaded"] > 0.98 * 20_000
    assert machine.now < 20_000 * 1.0 / 1.6


def test_threads_that_lose_cost_less_than_five_percent() -> None:
    for slower in (1.1, 5.0, 100.0):
        machine = Machine(serial=1.0, threaded=slower)
        assert machine.race().take(7, 20_000) == 20_000
        assert machine.numbers == list(range(7, 20_007))
        assert machine.now < 1.05 * 20_000


def test_a_neighbour_that_comes_and_goes() -> None:
    machine = Machine(serial=1.0, threaded=0.55)
    race = machine.race()
    race.take(0, 5_000)
    assert race.threads_win
    machine.times["threaded"] = 50.0
    begin = machine.now
    race.take(5_000, 20_000)
    assert not race.threads_win
    assert machine.now - begin < 1.1 * 20_000
    machine.times["threaded"] = 0.55
    race.take(25_000, 20_000)
    assert race.threads_win


def test_a_body_that_stops_stops_the_race() -> None:
    machine = Machine(serial=1.0, threaded=0.5)
    machine.stop_at = 333
    assert machine.race().take(0, 1_000) == 333
