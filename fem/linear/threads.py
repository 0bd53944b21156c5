"""One thread for the dense linear algebra below: small products in many threads cost more than they save."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def single_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread, whatever the environment says."""
    from threadpoolctl import threadpool_limits

    limited: AbstractContextManager[Any] = threadpool_limits(limits=1)
    return limited
