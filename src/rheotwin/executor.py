"""Many evaluations at once: one after the other here (`lanes`), in processes of this machine, or on many by dask.

Every executor does one thing: `each(function, shared, items)` yields (index, function(shared, item)) as they come in.
`shared` travels once, every worker computes with one thread and with the same sources, so that an answer has the same
bits wherever it is computed. A worker that dies costs the evaluation it was at, which is asked again.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import platform
import sys
import tempfile
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rheotwin import same_bits
from rheotwin.errors import RheotwinError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Answer = TypeVar("Answer")

WORDS = "lanes, processes, processes:N, dask or dask:ADDRESS"
HELP = (
    "where to compute: lanes (in this process), processes[:N] (of this machine), dask[:ADDRESS] (workers of a dask "
    "scheduler, of its own without an address); same numbers from each; default: lanes"
)
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "numba", "scikit-fem")
"""Packages whose versions an answer depends on."""
ROOMS = ("rheotwin", *(f"rheotwin.{room}" for room in ("constraints", "fem", "meshing", "particles", "validation")))
PROCESSOR = "processor"
ATTEMPTS = 3
"""An evaluation whose worker dies this often is not asked again."""
PATIENCE = 30.0
"""How long to wait for a scheduler and its first worker [s]."""


class GivenUp(RheotwinError):
    """The evaluation at place `index` of the items ends whoever computes it."""

    def __init__(self, index: int) -> None:
        self.index = index
        super().__init__(
            f"evaluation {index + 1} was given up: its worker was ended from outside {ATTEMPTS} times; "
            "it may want more memory than there is, so give it fewer workers beside it"
        )


class Executor(Protocol):
    """Where evaluations are computed."""

    workers: int
    """How many run at once."""

    def each(
        self, function: Callable[[Shared, Item], Answer], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Answer]]:
        """Yield the place of each item and the answer to it, in whatever order they come in."""
        ...


@contextmanager
def opened(text: str = "lanes") -> Iterator[Executor]:
    """Yield the executor that `--executor` names, and end what it started."""
    kind, colon, rest = text.partition(":")
    with ExitStack() as stack:
        if kind == "lanes" and not colon:
            yield _Here()
        elif kind == "processes" and (not colon or (rest.isdecimal() and int(rest) >= 1)):
            yield stack.enter_context(_processes(int(rest) if colon else _processors()))
        elif kind == "dask" and (not colon or rest):
            yield stack.enter_context(_dask(rest))
        else:
            raise RheotwinError(f"--executor {text}: choose from {WORDS}")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Here:
    """One after the other, in this process; a population fills the lanes of its vectors."""

    workers = 1

    def each(
        self, function: Callable[[Shared, Item], Answer], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Answer]]:
        for index, item in enumerate(items):
            yield index, function(shared, item)


def _one_thread() -> None:
    """Let this worker compute with one thread, whatever was loaded before."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)


@contextmanager
def _same_modules() -> Iterator[None]:
    """Say in one sentence that a worker lacks what is to run there."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise RheotwinError(
            f"a worker cannot load what it is to run: {error}; install the same rheotwin on every host"
        ) from error


# ---------------------------------------------------------------------------------------------- processes


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    with tempfile.TemporaryDirectory(prefix="rheotwin-") as folder:
        pool = _Processes(workers, Path(folder))
        try:
            yield pool
        finally:
            pool.end()


class _Processes:
    """Fresh processes, each a pool of its own: the death of one breaks no other."""

    def __init__(self, workers: int, folder: Path) -> None:
        self.workers = workers
        self._folder = folder
        self._idle = [self._fresh() for _ in range(workers)]
        self._busy: dict[Future[Any], tuple[int, ProcessPoolExecutor]] = {}
        self._shared: object = None
        self._file: Path | None = None

    @staticmethod
    def _fresh() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))

    def end(self) -> None:
        """End all processes."""
        for pool in self._idle:
            _stop(pool)

    def each(
        self, function: Callable[[Shared, Item], Answer], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Answer]]:
        if shared is not self._shared or self._file is None:
            blob = pickle.dumps(shared)
            self._shared, self._file = shared, self._folder / hashlib.sha256(blob).hexdigest()
            self._file.write_bytes(blob)
        waiting, deaths = deque(range(len(items))), Counter[int]()
        try:
            while waiting or self._busy:
                while waiting and self._idle:
                    self._begin(waiting.popleft(), function, items)
                for future in wait(self._busy, return_when=FIRST_COMPLETED).done:
                    index, pool = self._busy.pop(future)
                    try:
                        with _same_modules():
                            answer = future.result()
                    except BrokenProcessPool as error:
                        self._idle.append(self._fresh())
                        deaths[index] += 1
                        if deaths[index] == ATTEMPTS:
                            raise GivenUp(index) from error
                        waiting.appendleft(index)
                    except BaseException:
                        self._idle.append(pool)
                        raise
                    else:
                        self._idle.append(pool)
                        yield index, answer
        finally:  # whoever stops asking does not want what is under way
            for _, pool in self._busy.values():
                _stop(pool)
                self._idle.append(self._fresh())
            self._busy.clear()

    def _begin(self, index: int, function: Callable[[Shared, Item], Answer], items: Sequence[Item]) -> None:
        """Let an idle process begin with an item."""
        pool, asked = self._idle.pop(), (self._file, pickle.dumps((function, items[index])))
        try:
            future = pool.submit(_answer_in_process, *asked)
        except BrokenProcessPool:  # it died while it had nothing to do
            pool = self._fresh()
            future = pool.submit(_answer_in_process, *asked)
        self._busy[future] = index, pool


def _stop(pool: ProcessPoolExecutor) -> None:
    for process in (pool._processes or {}).values():
        process.terminate()
    pool.shutdown(wait=True, cancel_futures=True)


def _answer_in_process(file: Path | None, asked: bytes) -> Any:
    _one_thread()
    function, item = pickle.loads(asked)  # here, so that what cannot be loaded is an answer and not a death
    with _travelling():
        return function(_shared(file), item)


@lru_cache(maxsize=1)
def _shared(file: Path | None) -> Any:
    assert file is not None
    return pickle.loads(file.read_bytes())


@contextmanager
def _travelling() -> Iterator[None]:
    """Turn errors of any form into one that other processes can read."""
    try:
        yield
    except RheotwinError as error:
        plain = RheotwinError(str(error))
        plain.exit_code = error.exit_code
        raise plain from None


# --------------------------------------------------------------------------------------------------- dask


@cache
def fingerprint() -> dict[str, str]:
    """Return what the bits of an answer depend on: versions, digest of all sources, processor."""
    sources: dict[str, bytes] = {}
    for room in ROOMS:
        spec = find_spec(room)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path in Path(folder).rglob("*.py"):
                sources[".".join((room, *path.relative_to(folder).parts))] = path.read_bytes()
    digest = hashlib.sha256(b"".join(name.encode() + text for name, text in sorted(sources.items())))
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("rheotwin", *PACKAGES)},
        "sources": digest.hexdigest()[:12],
        "arithmetic": "reproducible" if same_bits.ON else "usual",
        PROCESSOR: same_bits.processor(),
    }


def _check(own: dict[str, str], wanted: dict[str, str], host: str) -> None:
    """Refuse a worker of other versions."""
    for name, value in wanted.items():
        if name != PROCESSOR and own[name] != value:
            raise RheotwinError(
                f"--executor dask: the worker on {host} has {name} {own[name]}, this process {value}; "
                "install the same on every host, and start all with the same settings"
            )


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise RheotwinError(
            "--executor dask: dask is not installed; install it with: pip install 'rheotwin[cluster]'"
        ) from error
    with ExitStack() as stack:
        if not address:
            cluster = distributed.LocalCluster(_processors(), threads_per_worker=1, dashboard_address=":0")
            address = stack.enter_context(cluster).scheduler_address
        try:
            client = stack.enter_context(distributed.Client(address, timeout=PATIENCE))
            client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, ValueError) as error:  # a timeout is an OSError
            raise RheotwinError(
                f"--executor dask:{address}: no scheduler with workers answers there within {PATIENCE:g} s; start them "
                "with: dask scheduler, and on every host: dask worker ADDRESS --nthreads 1"
            ) from error
        yield _Dask(client)


class _Dask:
    """Workers of a dask scheduler, which asks again what a dead one was at."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._shared: object = None
        self._packed: Any = None
        with _same_modules():
            found: dict[str, dict[str, str]] = client.run(fingerprint)
        self.workers = len(found)
        for host, own in found.items():
            _check(own, fingerprint(), host)
        others = {own[PROCESSOR] for own in found.values()} - {fingerprint()[PROCESSOR]}
        if others and not same_bits.ON:
            warnings.warn(
                f"--executor dask: there are workers on other processors ({', '.join(sorted(others))}) than this one "
                f"({fingerprint()[PROCESSOR]}); their numbers may differ from its own in the last digits",
                stacklevel=2,
            )

    def each(
        self, function: Callable[[Shared, Item], Answer], shared: Shared, items: Sequence[Item]
    ) -> Iterator[tuple[int, Answer]]:
        distributed: Any = import_module("distributed")
        if shared is not self._shared or self._packed is None:
            # a task and no scattered data: the scheduler makes it again on a worker that comes later
            self._shared, self._packed = shared, self._client.submit(pickle.loads, pickle.dumps(shared), pure=False)
        futures = {
            self._client.submit(_answer_on_host, fingerprint(), function, self._packed, item, pure=False): index
            for index, item in enumerate(items)
        }
        try:
            for future in distributed.as_completed(futures):
                try:
                    with _same_modules():
                        answer = future.result()
                except distributed.KilledWorker as error:
                    raise GivenUp(futures[future]) from error
                yield futures[future], answer
        finally:
            self._client.cancel(list(futures))


def _answer_on_host(wanted: dict[str, str], function: Callable[[Any, Item], Answer], shared: Any, item: Item) -> Answer:
    _one_thread()
    _check(fingerprint(), wanted, platform.node())  # it may have come later
    with _travelling():
        return function(shared, item)
