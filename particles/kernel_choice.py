"""How a truss lies in memory: boxes in runs, other bodies in batches, element after element where that is asked."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from rheotwin.errors import RheotwinError
from rheotwin.kernels.boxes import LEAST_FILLING, find_layout
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.boxes import InBoxes
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.placed import PlacedBody, placed_body, placed_boundary
from rheotwin.particles.rows import SPARE, InRows, row_places
from rheotwin.particles.state import State

KernelName = Literal["auto", "general", "unstructured", "structured"]


class KernelOptions(BaseModel):
    """Options of the compiled loop."""

    kernel: KernelName = Field(
        default="auto",
        description="compiled loop: `structured` for bodies that are boxes of rows, `unstructured` for any others, "
        "`general` takes one element after the other; `auto` takes the fastest that can",
    )
    precision: Literal["double", "single"] = Field(
        default="double", description="numbers of the structured and unstructured loops; `single` keeps seven digits"
    )


def fast_body(
    options: KernelOptions, stepper: str, forces: Forces, state: State, boundary: Boundary, h: float
) -> PlacedBody | None:
    """Return the body bound to the fastest loop the options allow, None for the general one; steps of `h` [s]."""
    if options.kernel == "general":
        if options.precision == "single":
            raise RheotwinError(
                "solvers.truss.precision: the general kernel has double precision only; "
                'use kernel = "auto" or leave it out'
            )
        return None
    reason = _not_fast(stepper, forces)
    if reason is not None:
        _require_auto(options, reason)
        return None
    ends = np.concatenate([forces.edges.corners, *(group.corners for group in forces.nonlinear)])
    dtype = np.float32 if options.precision == "single" else np.float64
    if options.kernel != "unstructured":
        filling = 0.0 if options.kernel == "structured" else LEAST_FILLING
        layout = find_layout(boundary.nodes.rest, ends, dtype, filling)
        if layout is not None:
            there = placed_boundary(boundary, layout.places, layout.size)
            return placed_body(InBoxes.of(layout, there.nodes, h, dtype), layout.places, forces, state, there, h)
        if options.kernel == "structured":
            raise RheotwinError(
                "solvers.truss.kernel: the bodies are not all boxes of rows, or too many; "
                'use kernel = "auto" or "unstructured"'
            )
    places = row_places(ends, len(boundary.nodes.mass))
    there = placed_boundary(boundary, places, len(places) + SPARE)
    return placed_body(InRows.of(places, there.nodes, h, dtype), places, forces, state, there, h)


def _not_fast(stepper: str, forces: Forces) -> str | None:
    """Say why the fast kernels cannot step this body, None if they can."""
    if stepper != "semi-implicit":
        return f"with stepper = {stepper!r}"
    if len(forces.constraints.right):
        return "with constraints"
    if forces.outside:
        return "with forces of other packages"
    return None if len(forces.edges.rest) or forces.nonlinear else "without edges"


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
