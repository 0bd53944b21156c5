"""The meshes a comparison runs on: `--refine 1,2,4` for all solvers, `--refine fem=1,2,4` for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rheotwin.errors import RheotwinError

if TYPE_CHECKING:
    from rheotwin.running import RunRequest
    from rheotwin.scene import Scene

Refinements: TypeAlias = Mapping[str, Sequence[int | None]]
"""Refinements by solver; None leaves the scene's own."""
LIMIT = "limit"
"""What stands for a refinement in the name of what the meshes of a solver tend to: SOLVER@limit."""


def parse_refinements(texts: Iterable[str], solvers: Sequence[str]) -> Refinements:
    """Return the refinements of every solver; what names a solver outdoes what does not."""
    general: Sequence[int | None] = [None]
    own: dict[str, Sequence[int | None]] = {}
    for text in texts:
        solver, equals, counts = text.rpartition("=")
        if equals and solver not in solvers:
            raise RheotwinError(f"--refine {text}: the solvers compared are {', '.join(solvers)}")
        if equals:
            own[solver] = _counts(counts, text)
        else:
            general = _counts(counts, text)
    return {solver: own.get(solver, general) for solver in solvers}


def _counts(text: str, flag: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise RheotwinError(f"--refine {flag}: write whole numbers of at least 1, for example --refine 1,2,4")
    return sorted({int(part) for part in parts})


def check_reference(reference: str, meshes: Refinements) -> None:
    """Raise unless the reference names a solver compared, and a mesh it runs on or the limit of several."""
    solver, at, mesh = reference.partition("@")
    if solver not in meshes:
        raise RheotwinError(f"--reference: {reference!r} is not among the solvers compared: {', '.join(meshes)}")
    counts = [count for count in meshes[solver] if count is not None]
    if not at:
        return
    if mesh == LIMIT:
        if len(counts) < 2:
            raise RheotwinError(
                f"--reference {reference}: the limit needs at least two meshes of {solver!r}, three to see their "
                f"order; add --refine {solver}=1,2,4"
            )
    elif len(counts) < 2 or mesh not in map(str, counts):
        known = ", ".join(f"{solver}@{count}" for count in counts) if len(counts) > 1 else solver
        raise RheotwinError(f"--reference {reference}: there is no such run; runs of {solver!r}: {known}")


def record_part(solver: str, refinement: int | None) -> str:
    """Return the part of a record folder's name that tells solver and mesh."""
    return solver if refinement is None else f"{solver}-x{refinement}"


def mesh_label(request: RunRequest, method: str) -> str:
    """Return method and mesh as shown to the user: fem@2."""
    refinement = request.scene.refinement
    return method if refinement == 1 else f"{method}@{refinement}"


def refined_options(
    scene: Scene, solver: str, given: Mapping[str, Any] | None, refinement: int | None
) -> Mapping[str, Any] | None:
    """Return a solver's options for a refined mesh: a fixed `step` shrinks with the cells, as a wave crosses them."""
    if refinement is None or refinement == scene.refinement:
        return given
    step = {**scene.solvers.get(solver, {}), **(given or {})}.get("step")
    if isinstance(step, bool) or not isinstance(step, int | float):
        return given
    return {**(given or {}), "step": step * scene.refinement / refinement}
