"""Which compiled loop steps a truss: structured in boxes, unstructured elsewhere, general for all kinds of force."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from rheotwin.errors import RheotwinError
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.placed import PlacedBody
from rheotwin.particles.state import State
from rheotwin.particles.structured.body import mixed_body, structured_body
from rheotwin.particles.structured.layout import find_layout
from rheotwin.particles.unstructured.body import unstructured_body

KernelName = Literal["auto", "general", "unstructured", "structured"]
FAST = frozenset({"edges", "cells"})
"""Kinds of force the fast kernels know."""


class KernelOptions(BaseModel):
    """Options of the compiled loop."""

    kernel: KernelName = Field(
        default="auto",
        description="compiled loop: `structured` for bodies that are boxes of rows, `unstructured` for any linear "
        "edges and cells, `general` for every law and force; `auto` takes the fastest that can; `structured` also "
        "steps edges and cells of a box beside other forces",
    )
    precision: Literal["double", "single"] = Field(
        default="double", description="numbers of the structured and unstructured loops; `single` keeps seven digits"
    )
    threads: int = Field(
        default=1,
        ge=1,
        description="most threads of the unstructured loop; used while faster than one: large bodies, idle cores",
    )


def fast_body(
    options: KernelOptions, stepper: str, forces: Forces, state: State, boundary: Boundary, h: float
) -> PlacedBody | None:
    """Return the body bound to the fastest loop the options allow, None for the general one; steps of `h` [s]."""
    _check(options)
    if options.kernel == "general":
        return None
    reason = _not_fast(stepper, forces)
    others = _other_kinds(forces)
    rest, edges, cells = boundary.nodes.rest, forces.edges, forces.cells
    dtype = np.float32 if options.precision == "single" else np.float64
    if reason is not None:
        _require_auto(options, reason)
        return None
    if others:
        layout = find_layout(rest, edges.corners, dtype) if _may_mix(options) else None
        if layout is not None:
            return mixed_body(layout, forces, state, boundary, h)
        _require_auto(options, f"with {', '.join(others).replace('_', ' ')} forces")
        return None
    if options.kernel != "unstructured" and options.threads == 1:
        layout = find_layout(rest, edges.corners, dtype)
        if layout is not None:
            return structured_body(layout, edges, cells, state, boundary, h, dtype)
        if options.kernel == "structured":
            raise RheotwinError(
                'solvers.truss.kernel: the bodies are not all boxes of rows; use kernel = "auto" or "unstructured"'
            )
    return unstructured_body(edges, cells, state, boundary, h, dtype, threads=options.threads)


def _may_mix(options: KernelOptions) -> bool:
    """Whether edges and cells of a box may be stepped in rows beside other forces."""
    return options.kernel in ("auto", "structured") and options.precision == "double" and options.threads == 1


def _check(options: KernelOptions) -> None:
    if options.kernel == "general" and options.precision == "single":
        raise RheotwinError(
            'solvers.truss.precision: the general kernel has double precision only; use kernel = "auto" or leave it out'
        )
    if options.threads > 1 and options.kernel in ("general", "structured"):
        raise RheotwinError(
            f"solvers.truss.threads: the {options.kernel} kernel has one thread only; "
            'use kernel = "unstructured" or threads = 1'
        )


def _not_fast(stepper: str, forces: Forces) -> str | None:
    """Say why the fast kernels cannot step this body, None if they can."""
    if stepper != "semi-implicit":
        return f"with stepper = {stepper!r}"
    return None if len(forces.edges.rest) else "without linear edges"


def _other_kinds(forces: Forces) -> list[str]:
    """Name the kinds of force a body has that the fast kernels do not know."""
    return [name for name, kind in forces._asdict().items() if name not in FAST and not _is_empty(kind)]


def _require_auto(options: KernelOptions, reason: str) -> None:
    """Refuse what only the fast kernels could give."""
    asked = [name for name in ("kernel", "precision", "threads") if getattr(options, name) != _default(name)]
    if asked:
        raise RheotwinError(
            f"solvers.truss.{asked[0]}: only the general kernel, of double precision and one thread, can step a body "
            f"{reason}; leave {asked[0]} out"
        )


def _default(name: str) -> Any:
    return KernelOptions.model_fields[name].default


def _is_empty(kind: Any) -> bool:
    """Whether a kind of force, arrays led by what it acts on, acts on nothing."""
    leading = kind[0]
    return all(_is_empty(part) for part in kind) if isinstance(leading, tuple) else len(leading) == 0
