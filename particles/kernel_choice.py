"""Which compiled loop steps a truss: structured in boxes, unstructured elsewhere, general for all kinds of force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from rheotwin.errors import RheotwinError
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.forces.edge_group import EdgeGroup
from rheotwin.particles.forces.placed import PLACEABLE
from rheotwin.particles.placed import PlacedBody
from rheotwin.particles.state import State
from rheotwin.particles.structured.body import mixed_body, structured_body
from rheotwin.particles.structured.layout import LEAST_FILLING, find_layout
from rheotwin.particles.unstructured.body import unstructured_body

KernelName = Literal["auto", "general", "unstructured", "structured"]
FAST = frozenset({"edges", "cells", "nonlinear"})
"""Kinds of force that fast kernels know, and edges of nonlinear laws, which are named by their laws."""


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


def fast_body(
    options: KernelOptions,
    stepper: str,
    forces: Forces,
    nonlinear: Sequence[EdgeGroup],
    state: State,
    boundary: Boundary,
    h: float,
) -> PlacedBody | None:
    """Return the body bound to the fastest loop the options allow, None for the general one; steps of `h` [s].

    `nonlinear` are the nonlinear edges of the forces by law.
    """
    _check(options)
    if options.kernel == "general":
        return None
    reason = _not_fast(stepper, forces)
    if reason is not None:
        _require_auto(options, reason)
        return None
    others = _others(forces, nonlinear)
    _check_others(options, others)
    edges, cells = forces.edges, forces.cells
    dtype = np.float32 if options.precision == "single" else np.float64
    if options.kernel != "unstructured":
        ends = np.concatenate([edges.corners, *(group.corners for group in nonlinear)])
        filling = 0.0 if options.kernel == "structured" else LEAST_FILLING
        layout = find_layout(boundary.nodes.rest, ends, dtype, filling)
        if layout is not None:
            if others:
                return mixed_body(layout, forces, nonlinear, state, boundary, h)
            return structured_body(layout, edges, cells, state, boundary, h, dtype)
        if options.kernel == "structured":
            remedy = '"auto"' if others else '"auto" or "unstructured"'
            raise RheotwinError(
                f"solvers.truss.kernel: the bodies are not all boxes of rows, or too many; use kernel = {remedy}"
            )
    if others:
        return None
    return unstructured_body(edges, cells, state, boundary, h, dtype)


def _check(options: KernelOptions) -> None:
    if options.kernel == "general" and options.precision == "single":
        raise RheotwinError(
            'solvers.truss.precision: the general kernel has double precision only; use kernel = "auto" or leave it out'
        )


def _not_fast(stepper: str, forces: Forces) -> str | None:
    """Say why the fast kernels cannot step this body, None if they can."""
    if stepper != "semi-implicit":
        return f"with stepper = {stepper!r}"
    if len(forces.constraints.right):
        return "with constraints"
    unknown = set(forces._fields) - PLACEABLE - {"constraints"}
    for name in sorted(unknown):
        if not _is_empty(getattr(forces, name)):
            return f"with {_words(name)}"
    return None if len(forces.edges.rest) + len(forces.nonlinear.softening.corners) else "without linear edges"


def _others(forces: Forces, nonlinear: Sequence[EdgeGroup]) -> list[str]:
    """Name what a body has beside linear edges and cells."""
    names = [name for name in forces._fields if name in PLACEABLE - FAST and not _is_empty(getattr(forces, name))]
    return [*sorted({f"{group.law.name} edges" for group in nonlinear}), *(_words(name) for name in names)]


def _words(name: str) -> str:
    return f"{name.replace('_', ' ')} forces"


def _check_others(options: KernelOptions, others: Sequence[str]) -> None:
    """Refuse what only a body without others could have."""
    if not others:
        return
    asked = {
        "kernel": options.kernel == "unstructured",
        "precision": options.precision == "single",
    }
    for name, is_asked in asked.items():
        if is_asked:
            raise RheotwinError(
                f"solvers.truss.{name}: {getattr(options, name)!r} is for linear edges and volume springs alone, and "
                f"this body has {', '.join(others)}; leave {name} out"
            )


def _require_auto(options: KernelOptions, reason: str) -> None:
    """Refuse what only the fast kernels could give."""
    asked = [name for name in ("kernel", "precision") if getattr(options, name) != _default(name)]
    if asked:
        raise RheotwinError(
            f"solvers.truss.{asked[0]}: only the general kernel, of double precision, can step a body "
            f"{reason}; leave {asked[0]} out"
        )


def _default(name: str) -> Any:
    return KernelOptions.model_fields[name].default


def _is_empty(kind: Any) -> bool:
    """Whether a kind of force, arrays led by what it acts on, acts on nothing."""
    if not len(kind):
        return True
    leading = kind[0]
    if not isinstance(leading, tuple | np.ndarray):
        return False
    return all(_is_empty(part) for part in kind) if isinstance(leading, tuple) else len(leading) == 0
