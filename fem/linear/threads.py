"""One thread for the dense linear algebra below: small products in many threads cost more than they save."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def single_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread, where threadpoolctl is installed; else one that does nothing.

    Without it the environment decides (OPENBLAS_NUM_THREADS, MKL_NUM_THREADS), as it must be set before a start.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limited: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limited
