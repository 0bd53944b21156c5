"""How loops of many small steps are compiled: without counting references to the arrays they are handed.

A compiled function counts up and down for every array of its arguments, hundreds of atomic operations for nested tuples
of arrays, which costs more than a step of contact. What is compiled `borrowing` does not, nor does what it calls: they
may neither allocate nor return an array, and the caller keeps the arrays alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


class Compiled(Protocol):
    """A decorator that leaves the types of a function as they are."""

    def __call__(self, function: Function, /) -> Function:
        """Return the compiled function."""
        ...


_njit: Any = njit  # its types leave out the option that counts references

_inside: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""For functions that only compiled ones call: unpacking some hundred arrays for Python takes ten times as long to
compile as a small function itself. Nothing is there for Python to call; what it does call is `offered`."""

inner: Compiled = _njit(cache=True, **_inside)
"""Decorator of functions that are compiled as usual, but for compiled callers only."""
borrowing: Any = _njit(cache=True, _nrt=False, **_inside)
"""Decorator of functions that only read and write arrays of their caller."""
merged: Any = _njit(cache=True, _nrt=False, forceinline=True, **_inside)
"""The same for functions with few callers: to hand over some hundred arrays takes as long as to settle ten contacts."""
woven: Any = _njit(cache=True, inline="always", **_inside)
"""Functions with few callers, which are compiled as if they stood there: every level of calls is optimised together
with all that is below it, so that a chain of functions takes as many times as long as it has levels. It does not do
where `is None` chooses a branch by the type of an argument."""
straight: Any = _njit(cache=True, _nrt=False, error_model="numpy", fastmath={"contract"}, **_inside)
"""The same for loops that compilers turn into vectors: a division by zero gives infinity, without a branch, and a sum
takes its product unrounded."""
summing: Any = _njit(cache=True, _nrt=False, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}, **_inside)
"""The same for sums, which vectors take in another order."""
counting: Any = _njit(cache=True, _nrt=True, **_inside)
"""The opposite, for what allocates although its callers borrow: by default a function is compiled like its caller."""
offered: Any = _njit(cache=True, _nrt=False, no_cfunc_wrapper=True)
"""What borrows and is called from Python, too."""
offered_counting: Compiled = _njit(cache=True, _nrt=True, no_cfunc_wrapper=True)
"""What allocates and is called from Python."""
entered: Any = _njit(cache=True, nogil=True, _nrt=False, no_cfunc_wrapper=True)
"""The same for the loop over steps, during which other threads of Python go on; it is handed all room it needs."""
entered_counting: Any = _njit(cache=True, nogil=True, no_cfunc_wrapper=True)
"""Such a loop where something below takes slices or allocates."""
