"""A synthetic experiment: what cameras or beads, a load cell and a balance would have seen of a fine simulation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.validation.experiments.metadata import Punch, Specimen, Uncertainty
from rheotwin.validation.experiments.record import (
    Course,
    ExperimentRecord,
    Frame,
    VolumeCourse,
)
from rheotwin.validation.metrics import at_times, surface_of
from rheotwin.validation.run_view import (
    RunView,
    bodies_with_volume,
    body_grid,
    names_with,
    vector,
    view_of,
)


def sample_nodes(nodes: int, count: int, chance: np.random.Generator) -> Indices:
    """Return `count` different nodes (all of them if there are fewer), in order."""
    return np.sort(chance.choice(nodes, size=min(count, nodes), replace=False))


def sample_surface(
    run: RunView, place: Array, count: int, chance: np.random.Generator, *, hidden: Flags
) -> tuple[Array, Array]:
    """Return points (count, 3) [m] on the outer surface of a body at `place` (N, 3) [m], and outward normals there.

    They are spread evenly by area (in a plane by length of the outline). What faces down at the bottom of the rest
    shape stands on the floor and is not seen, nor is a face all of whose nodes are `hidden` (under a tool).
    """
    if run.dimension == 1:
        raise RheotwinError("a body in one dimension has no surface to see; ask for tracked points")
    at_rest = surface_of(run.rest, run.cells, run.cell_kind)
    corners = run.dimension
    # the surface of the rest shape gives the connectivity; its points are nodes of the body
    owner = _nearest_nodes(run.rest, np.asarray(at_rest.points, dtype=float))
    faces = owner[_faces(at_rest, corners)]
    up = run.rest[:, run.dimension - 1]
    floor = np.isclose(up[faces], up.min(), rtol=0.0, atol=1e-9 * float(np.ptp(up))).all(axis=1)
    faces = faces[~floor & ~hidden[faces].all(axis=1)]
    if not len(faces):
        raise RheotwinError("nothing of the body's surface is free to be seen; ask for tracked points")
    normals, sizes = _normals(place, faces, run)
    chosen = chance.choice(len(faces), size=count, p=sizes / sizes.sum())
    shares = chance.dirichlet(np.ones(corners), size=count)
    return np.einsum("mk,mkc->mc", shares, place[faces[chosen]]), normals[chosen]


def _nearest_nodes(nodes: Array, points: Array) -> Indices:
    return np.asarray(cKDTree(nodes).query(points)[1], dtype=np.int64)


def _faces(surface: Any, corners: int) -> Indices:
    """Return the triangles (or lines) of a pyvista surface."""
    padded = surface.lines if corners == 2 else surface.faces
    return np.asarray(padded, dtype=np.int64).reshape(-1, corners + 1)[:, 1:]


def _normals(place: Array, faces: Indices, run: RunView) -> tuple[Array, Array]:
    """Return unit normals that point away from the body, and areas [m2] (lengths [m])."""
    a, b = place[faces[:, 0]], place[faces[:, 1]]
    along = b - a
    if faces.shape[1] == 2:
        across = np.stack([along[:, 1], -along[:, 0], np.zeros(len(along))], axis=1)
        sizes = np.linalg.norm(along, axis=1)
    else:
        across = np.cross(along, place[faces[:, 2]] - a)
        sizes = 0.5 * np.linalg.norm(across, axis=1)
    unit = across / np.linalg.norm(across, axis=1, keepdims=True)
    # a step along the normal that leads into the body turns the normal around
    grid = body_grid(place, run.cells, run.cell_kind)
    step = 1e-3 * np.sqrt(sizes.mean()) if faces.shape[1] == 3 else 1e-3 * sizes.mean()
    inside = np.asarray(grid.find_containing_cell(place[faces].mean(axis=1) + step * unit)) >= 0
    return np.where(inside[:, None], -unit, unit), sizes


SIGMA_OF_MEAN = float(np.sqrt(np.pi / 2.0))
"""Standard deviation of a normal error over its mean size (calibration spec, 6)."""
POINTS, FRAMES = 15_000, 4
"""Points in total and times of the papers' records."""


@dataclass(frozen=True)
class Noise:
    """How the instruments err: `points` [m] mean distance, `force` and `volume` relative [1], `clock` [s]."""

    points: float = 0.5e-3
    force: float = 0.10
    volume: float = 0.005
    clock: float = 0.0


def from_run(
    folder: str | Path,
    *,
    noise: Noise,
    seed: int,
    times: Sequence[float] = (),
    points: int = POINTS,
    tracked: bool = False,
    tool: str | None = None,
) -> tuple[ExperimentRecord, str]:
    """Return the record of an experiment on the body of a run, and the sealed truth as JSON text.

    Points, `points` in total, lie on the deformed surface, spread evenly by area, not on the floor or under a tool,
    each moved along the normal by N(0, sigma), sigma = sqrt(pi/2) `noise.points`. With `tracked` they are nodes of the
    body with known rest positions, moved in every direction. `times` [s] default to four over the run's frames;
    `tool` is the one whose force and path are kept, by default the first that moves. The same seed gives the
    same record.
    """
    from rheotwin.record import open_record

    opened = open_record(folder)
    contact = np.asarray(opened.field("contact_force")) if "contact_force" in opened.manifest.fields else None
    name, run = Path(folder).resolve().name, view_of(opened)
    return from_view(
        run, name, noise=noise, seed=seed, times=times, points=points, tracked=tracked, tool=tool, contact=contact
    )


def from_view(
    run: RunView,
    name: str,
    *,
    noise: Noise,
    seed: int,
    times: Sequence[float] = (),
    points: int = POINTS,
    tracked: bool = False,
    tool: str | None = None,
    contact: Array | None = None,
) -> tuple[ExperimentRecord, str]:
    """Return the same of a run as arrays; `contact` (F, N, 3) [N] are the forces of tools on nodes, which hide them."""
    _check(noise, points)
    chance = np.random.default_rng(seed)
    instants = _instants(run, times)
    frames = _frames(run, instants, contact, chance, noise, points, tracked=tracked)
    source, path, force = _tool(run, tool, chance, noise)
    truth = _truth(run, seed, noise)
    record = ExperimentRecord(
        id=f"{name}-seed-{seed}",
        kind="synthetic",
        specimen=_specimen(run),
        frames=frames,
        punch=_punch(run, source),
        path=path,
        force=force,
        volume=_volume(run, chance, noise),
        uncertainty=Uncertainty(
            mean_abs=noise.points, force_rel=noise.force, volume_rel=noise.volume, clock=noise.clock or None
        ),
        title=str(run.manifest.get("title") or ""),
        source=f"generated by rheotwin {run.manifest.get('rheotwin_version', '')} from a run of '{run.solver}'",
        seal=sha256(truth.encode()).hexdigest(),
    )
    return record, truth


def _check(noise: Noise, points: int) -> None:
    for name, value in vars(noise).items():
        if not 0.0 <= value < float("inf"):
            raise RheotwinError(f"noise of {name}: {value:g} is not possible; it is 0 or more")
    if points < 1:
        raise RheotwinError(f"points: {points} will not do; ask for at least one")


def _instants(run: RunView, times: Sequence[float]) -> Array:
    """Return the times of the frames [s], all within the run."""
    if not len(times):
        count = min(FRAMES, len(run.times) - 1) or 1
        return np.asarray(run.times[np.linspace(0, len(run.times) - 1, count + 1).round().astype(int)[1:]])
    wanted = np.sort(np.asarray(times, dtype=float))
    slack = 1e-9 * max(1.0, float(run.times[-1]))
    if wanted[0] < run.times[0] - slack or wanted[-1] > run.times[-1] + slack:
        raise RheotwinError(
            f"times: the run covers {run.times[0]:g} to {run.times[-1]:g} s, not {wanted[0]:g} to {wanted[-1]:g} s; "
            "choose times within it"
        )
    return wanted


def _frames(
    run: RunView,
    instants: Array,
    contact: Array | None,
    chance: np.random.Generator,
    noise: Noise,
    points: int,
    *,
    tracked: bool,
) -> tuple[Frame, ...]:
    moved = at_times(run.times, run.displacement, instants)
    pressed = None if contact is None else np.linalg.norm(at_times(run.times, contact, instants), axis=2) > 0.0
    stamps = np.sort(instants + noise.clock * chance.standard_normal(len(instants)))
    sigma = SIGMA_OF_MEAN * noise.points
    shares = np.diff(np.linspace(0, points, len(instants) + 1).round().astype(int))
    found = []
    nodes = sample_nodes(len(run.rest), int(shares[0]), chance) if tracked else None
    for number, (stamp, displacement) in enumerate(zip(stamps, moved, strict=True)):
        place = run.rest + displacement
        if nodes is not None:
            # a body in a plane is seen in that plane
            axes = np.arange(3) < max(run.dimension, 1)
            error = sigma * chance.standard_normal((len(nodes), 3)) * axes
            found.append(Frame(float(stamp), place[nodes] + error, rest=run.rest[nodes]))
            continue
        hidden = np.zeros(len(place), dtype=bool) if pressed is None else pressed[number]
        seen, normals = sample_surface(run, place, int(shares[number]), chance, hidden=hidden)
        error = sigma * chance.standard_normal((len(seen), 1))
        found.append(Frame(float(stamp), seen + error * normals, normals=normals))
    return tuple(found)


def _tool(
    run: RunView, wanted: str | None, chance: np.random.Generator, noise: Noise
) -> tuple[str | None, Course | None, Course | None]:
    """Return the name of the tool, its path and the force it exerts with its error, None where nothing is probed."""
    sources = run.pushers
    names = [name for _, name in sources]
    if wanted is not None and wanted not in names:
        raise RheotwinError(
            f"tool: the run has no force of '{wanted}'{nearest_name(wanted, names)}; "
            f"it has {', '.join(names) or 'none'}"
        )
    if not sources:
        return None, None, None
    kind, name = sources[0] if wanted is None else sources[names.index(wanted)]
    # probes hold the force on the tool; the record holds that on the body
    exact = -vector(run.probes, kind, name, "force")
    seen = exact * (1.0 + noise.force * chance.standard_normal((len(exact), 1)))
    sigma = noise.force * np.linalg.norm(exact, axis=1)
    force = Course(run.probe_times, seen, sigma=sigma)
    if kind != "tool" or name not in names_with(run.probes, "tool", "displacement"):
        return name, None, force
    return name, Course(run.probe_times, vector(run.probes, kind, name, "displacement")), force


def _volume(run: RunView, chance: np.random.Generator, noise: Noise) -> VolumeCourse | None:
    bodies = bodies_with_volume(run.probes)
    if not bodies or run.dimension < 3:
        return None
    exact = np.sum([run.probes[f"volume.{body}"] for body in bodies], axis=0)
    seen = exact * (1.0 + noise.volume * chance.standard_normal(len(exact)))
    return VolumeCourse(run.probe_times, seen, sigma=noise.volume * exact)


def _specimen(run: RunView) -> Specimen:
    least, most = run.rest.min(axis=0), run.rest.max(axis=0)
    origin = "corner" if np.abs(least).max() <= np.abs(least + most).max() else "center"
    offset = np.abs(least if origin == "corner" else least + most).max()
    if offset > 1e-6 * float(np.ptp(run.rest)):
        raise RheotwinError(
            f"the body of the run begins at {np.round(least, 6).tolist()} m; a record needs a body with a corner of "
            "its bounding box, or its middle, at zero: give the body of the scene that `origin`"
        )
    size = (most - least)[: run.dimension]
    up = "xyz"[run.dimension - 1] if run.dimension > 1 else "x"
    return Specimen.model_validate({"size": size.tolist(), "origin": origin, "up": up})


def _punch(run: RunView, tool: str | None) -> Punch | None:
    tools: dict[str, Any] = dict(dict(run.manifest.get("scene") or {}).get("tools") or {})
    if tool not in tools:
        return None
    shape = {"bar": "box", "box": "box", "plane": "plate", "sphere": "sphere", "cylinder": "cylinder"}
    return Punch.model_validate({"shape": shape.get(str(tools[tool].get("shape")), "other")})


def _truth(run: RunView, seed: int, noise: Noise) -> str:
    """Return what a later identification must find: scene, solver, seed; the record holds its hash only."""
    known = {key: run.manifest.get(key) for key in ("scene", "case", "solver", "mesh", "rheotwin_version")}
    return json.dumps(known | {"seed": seed, "noise": vars(noise)}, indent=2, default=str) + "\n"
