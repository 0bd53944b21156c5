"""Evaluations give the same bits wherever they are computed, with one thread each, and outlive their workers."""

import os
import signal
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from rheotwin import executor
from rheotwin.errors import EXIT_DIVERGED, Diverged, RheotwinError

PLACES = ["lanes", "processes:2", "dask"]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers import this file."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])


def wave(shared: np.ndarray, item: float) -> tuple[bytes, str]:
    return np.sin(item * shared).tobytes(), os.environ.get("NUMBA_NUM_THREADS", "")


def fragile(shared: Path, item: int) -> int:
    """Ends its own process at item 3, the first time it is asked."""
    if item == 3 and not (shared / "died").exists():
        (shared / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (shared / f"{item}-{monotonic()}").touch()
    sleep(0.05)
    return item**2


def hopeless(shared: None, item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def threads(shared: None, item: int) -> int:
    import numba

    return int(numba.get_num_threads())


@pytest.mark.parametrize("place", PLACES)
def test_same_bits_from_every_executor(place: str) -> None:
    if place == "dask":
        pytest.importorskip("distributed")
    shared = np.linspace(0.0, 7.0, 101)
    with executor.opened(place) as workers:
        for items in ([0.5, 1.5, 2.5, 3.5, 4.5], [9.0]):
            found = dict(workers.each(wave, shared, items))
            assert [found[k][0] for k in range(len(items))] == [np.sin(item * shared).tobytes() for item in items]
            assert place == "lanes" or {said for _, said in found.values()} == {"1"}
        assert place == "lanes" or dict(workers.each(threads, None, [0, 0])) == {0: 1, 1: 1}


@pytest.mark.parametrize("place", PLACES[1:])
def test_a_worker_that_dies_costs_the_evaluation_it_was_at_and_nothing_else(place: str, tmp_path: Path) -> None:
    if place == "dask":
        pytest.importorskip("distributed")
    with executor.opened(place) as workers:
        assert dict(workers.each(fragile, tmp_path, range(8))) == {k: k**2 for k in range(8)}
    asked = sorted(int(path.name.partition("-")[0]) for path in tmp_path.iterdir() if path.name != "died")
    assert (tmp_path / "died").exists()
    # dask asks again what the dead worker had finished but not yet handed over
    assert asked == list(range(8)) if place != "dask" else set(asked) == set(range(8))


def test_an_evaluation_that_ends_every_worker_is_given_up_in_one_sentence() -> None:
    with executor.opened("processes:1") as workers, pytest.raises(RheotwinError, match=r"1 was given up.* 3 times"):
        list(workers.each(hopeless, None, [0]))


def refused(shared: None, item: int) -> int:
    if item == 1:
        raise Diverged(time=1.0, body="block", node=3, position=(0.0,), advice="reduce the step")
    sleep(0.2 * item)
    return item


def test_an_error_travels_and_what_was_under_way_is_dropped() -> None:
    with executor.opened("processes:2") as workers:
        for _ in range(2):
            with pytest.raises(RheotwinError, match=r"the run diverged at t = 1 s .*reduce the step") as error:
                list(workers.each(refused, None, range(5)))
            assert error.value.exit_code == EXIT_DIVERGED
        assert dict(workers.each(wave, np.ones(1), [2.0])).keys() == {0}


@pytest.mark.parametrize("text", ["lane", "lanes:2", "processes:0", "processes:", "dask:", ""])
def test_an_unknown_executor_lists_those_there_are(text: str) -> None:
    with pytest.raises(RheotwinError, match="choose from lanes, processes"), executor.opened(text):
        pass


def test_workers_of_a_scheduler_that_is_there_already() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster,
        executor.opened(f"dask:{cluster.scheduler_address}") as workers,
    ):
        assert workers.workers == 2
        assert dict(workers.each(threads, None, [0, 0, 0])) == {0: 1, 1: 1, 2: 1}
        assert len(cluster.scheduler.workers) == 2


def test_no_scheduler_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(executor, "PATIENCE", 0.5)
    with (
        pytest.raises(RheotwinError, match=r"no scheduler with workers answers there within 0\.5 s"),
        executor.opened("dask:tcp://127.0.0.1:9"),
    ):
        pass


def test_a_worker_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(executor, "version", lambda name: "9.9.9")
    executor.fingerprint.cache_clear()
    with pytest.raises(RheotwinError, match=r"has rheotwin 0\.1\.0, this process 9\.9\.9"), executor.opened("dask"):
        pass
    executor.fingerprint.cache_clear()
