"""How loops of many small steps are compiled: without counting references to the arrays they are handed.

A compiled function counts up and down for every array of its arguments, hundreds of atomic operations for nested tuples
of arrays, which costs more than a step of contact. What is compiled `borrowing` does not, nor does what it calls: they
may neither allocate nor return an array, and the caller keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_njit: Any = njit  # its types leave out the option that counts references

borrowing: Any = _njit(cache=True, _nrt=False)
"""Decorator of functions that only read and write arrays of their caller."""
merged: Any = _njit(cache=True, _nrt=False, forceinline=True)
"""The same for functions with one caller: to hand over some hundred arrays takes as long as to settle ten contacts."""
straight: Any = _njit(cache=True, _nrt=False, error_model="numpy")
"""The same for loops that compilers turn into vectors: a division by zero gives infinity, without a branch."""
counting: Any = _njit(cache=True, _nrt=True)
"""The opposite, for what allocates although its callers borrow: by default a function is compiled like its caller."""
