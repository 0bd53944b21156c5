"""What a solver is: a plug-in that says what it can do and turns a problem into a running simulation.

Built-in solvers come first. A package adds a solver through the entry-point group `rheotwin.solvers`. A plug-in that
cannot be loaded is a warning, never a crash; an unknown name lists what exists.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from rheotwin.arrays import Array, Reals
from rheotwin.constraints.contact.setup import poses_at
from rheotwin.errors import Fault, InputFaults, RheotwinError, nearest_name
from rheotwin.fields import CELL_STRESS
from rheotwin.materials import Law, is_incompressible
from rheotwin.problem import Problem
from rheotwin.scene.contact import KEYS_OF_LAW
from rheotwin.scene.faults import option_faults
from rheotwin.scene.units import Quantity

RUNAWAY = 100.0
"""A node further from its rest position than this many body diagonals counts as diverged."""

ALL_CELLS = frozenset({"line", "triangle", "quad", "tet", "hex"})
ALL_LAWS = frozenset({"elastic", "voigt", "maxwell", "three-element", "generalized-voigt", "generalized-maxwell"})
EDGE_LAWS = frozenset(
    {"three-element with slider", "three-element with softening", "three-element with friction", "tabulated"}
)
"""Laws that are not linear in the history of strain: edges have them all, continua at most softening."""
YIELDING_LAWS = frozenset({"elastoplastic"})
"""Laws of a continuum that flows beyond a limit."""
LARGE_LAWS = frozenset({"neo-hooke", "mooney-rivlin", "yeoh", "ogden"})
"""Energies of large strain."""
ALL_TOOLS = frozenset({"bar", "plane", "sphere", "cylinder", "prism"})
SOLID_TOOLS = ALL_TOOLS | {"box", "mesh"}
"""Tools of solvers that find contact as `[contact]` describes it."""
ALL_CONTACT = frozenset({*KEYS_OF_LAW, "friction", "bodies", "self", "driven tools"})


@dataclass(frozen=True)
class Capabilities:
    """What a solver can do, in the words of the scene file."""

    dimensions: frozenset[int]
    cells: frozenset[str]
    laws: frozenset[str]
    tools: frozenset[str]
    planes: frozenset[str] = frozenset({"strain", "stress"})
    hanging_nodes: bool = False
    """Whether finer cells may meet coarser ones (`finer` of a body)."""
    incompressible: bool = False
    """Whether laws may have a Poisson ratio of 0.5."""
    links: bool = False
    """Whether rigid links may join nodes (`links` of a scene)."""
    grabs: bool = False
    """Whether hands may hold points (`grabs` of a scene)."""
    parts: bool = False
    """Whether parts of a body may have laws of their own (`parts` of a body)."""
    cell_stress: bool = False
    """Whether simulations have a method `cell_stress()` for the stress (C, 6) [Pa] of the cells of all bodies."""
    moving_start: bool = True
    """Whether bodies may start with a velocity or spin."""
    splits: bool = False
    """Whether bodies may split: its simulations are `Splitting`, too."""
    contact: frozenset[str] = frozenset()
    """What it does of a scene's `[contact]`, of `ALL_CONTACT`; without a word it refuses such scenes."""

    def _laws(self, law: Law) -> frozenset[str]:
        """Return the laws it takes; a law from outside is linear, and asks for no more than its channel."""
        outside = law.name not in ALL_LAWS | EDGE_LAWS | YIELDING_LAWS | LARGE_LAWS and self.laws >= ALL_LAWS
        return self.laws | {law.name} if outside else self.laws

    def shortfalls(self, problem: Problem) -> list[Fault]:
        """List what the problem asks for beyond these capabilities, each with its place in the scene."""
        scene = problem.scene
        asked: list[tuple[str, Any, frozenset[Any]]] = [("dimension", problem.dimension, self.dimensions)]
        if problem.dimension == 2:
            asked.append(("plane", problem.plane, self.planes))
        for body in problem.bodies:
            asked.append((f"bodies.{body.name}.cell", body.cell, self.cells))
            asked.append((f"laws of body {body.name}", body.law.name, self._laws(body.law)))
            asked.extend((part.place, part.law.name, self._laws(part.law)) for part in body.parts)
        asked.extend((f"tools.{name}.shape", tool.shape, self.tools) for name, tool in scene.tools.items())
        asked.extend((place, value, self.contact) for place, value in asked_of_contact(problem))
        hanging = [
            Fault(
                f"bodies.{body.name}",
                f"its node {body.first_node + int(body.hanging.node[0])} hangs on an edge of a coarser cell, which is "
                "beyond this solver; leave `finer` (of a file: `hanging`) out",
            )
            for body in problem.bodies
            if len(body.hanging) and not self.hanging_nodes
        ]
        hanging += [
            Fault(f"bodies.{body.name}.parts", "laws by part are beyond this solver; leave them out")
            for body in problem.bodies
            if body.parts and not self.parts
        ]
        hanging += [
            Fault(
                f"laws of body {body.name}",
                "a Poisson ratio of 0.5 keeps the volume, which is beyond this solver; choose less, or the solver "
                "shear-volume or fem with its option incompressible",
            )
            for body in problem.bodies
            if any(is_incompressible(law) for _, law, _ in body.laws) and not self.incompressible
        ]
        if problem.velocities is not None and not self.moving_start:
            hanging.append(Fault("bodies", "start at rest with this solver; leave `velocity` and `spin` out"))
        if CELL_STRESS in scene.output.fields and not self.cell_stress:
            hanging.append(Fault("output.fields", f"{CELL_STRESS!r} is beyond this solver; leave it out"))
        if problem.links and not self.links:
            hanging.append(Fault("links", "rigid links are beyond this solver; leave them out"))
        if problem.grabs and not self.grabs:
            able = "truss, shear-volume, local-shape, or fem with stepper central-difference"
            hanging.append(Fault("grabs", f"points held by a hand are beyond this solver; choose {able}"))
        return hanging + [
            Fault(place, f"{value!r} is beyond this solver, which does {', '.join(map(str, sorted(able))) or 'none'}")
            for place, value, able in asked
            if value not in able
        ]


def asked_of_contact(problem: Problem) -> list[tuple[str, str]]:
    """Return what the contact of a problem needs, as words of `ALL_CONTACT` with their places in the scene."""
    contact = problem.contact
    if contact is None:
        return []
    laws = [("contact", contact.law)] if contact.between_bodies else []
    laws += [
        (f"tools.{tool.name}.contact" if problem.scene.tools[tool.name].contact is not None else "contact", law)
        for tool, law in zip(problem.tools, contact.tool_laws, strict=True)
    ]
    asked = [(f"{place}.law", str(law.law)) for place, law in laws]
    asked += [(f"{place}.friction", "friction") for place, law in laws if law.friction or law.static_friction]
    asked += [("contact.bodies", "bodies")] * contact.bodies + [("contact.self", "self")] * bool(contact.self_bodies)
    asked += [(f"tools.{tool.name}.drive", "driven tools") for tool in problem.tools if tool.drive is not None]
    return list(dict.fromkeys(asked))


def cell_stress(simulation: Simulation) -> Array:
    """Return the stress (C, 6) [Pa] of the cells of all bodies, of a simulation whose solver is capable of it."""
    return np.asarray(getattr(simulation, CELL_STRESS)(), dtype=np.float64)


def tool_poses(problem: Problem, simulation: Simulation) -> Array:
    """Return the poses (T, 4) [m, m, m, rad] of all tools: the simulation's own, else those of their motions.

    A simulation that moves tools by forces has a method `tool_poses()` that returns them.
    """
    own = getattr(simulation, "tool_poses", None)
    if own is not None:
        return np.asarray(own(), dtype=np.float64)
    return poses_at(problem.tools, simulation.time)


@runtime_checkable
class Simulation(Protocol):
    """A running simulation of one problem.

    `positions` and `velocities` are (N, d) in SI units, all bodies one after the other.
    """

    @property
    def time(self) -> float:
        """Time reached [s]."""

    @property
    def step_count(self) -> int:
        """Number of steps taken since time zero."""

    @property
    def step_size(self) -> float:
        """Length of a step [s]."""

    @property
    def stable_step(self) -> float:
        """Largest stable step [s]; infinity for an unconditionally stable scheme."""

    @property
    def positions(self) -> Array:
        """Current node positions [m]."""

    @property
    def velocities(self) -> Array:
        """Current node velocities [m/s]."""

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], landing on it, but take at most `max_steps` steps in this call."""

    def fields(self) -> dict[str, Array]:
        """Return the nodal results of `rheotwin.fields` as (N,) or (N, components)."""

    def reactions(self) -> dict[str, Array]:
        """Return the force [N] that the bodies exert on each tool and support, by name.

        A problem with `contact` has the moment [N m] about the current centre of each tool, too: "tool.X.moment",
        (1,) about z in 2D, (3,) in 3D.
        """

    def energy(self) -> dict[str, float]:
        """Return energies [J], at least `kinetic` and `stored`."""

    def statistics(self) -> dict[str, Any]:
        """Return what the manifest should tell about the set-up and the run (plain JSON values)."""

    def save(self) -> dict[str, Array]:
        """Return the complete state; restoring it continues bit for bit."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a state that `save` returned."""


@runtime_checkable
class Splitting(Protocol):
    """What a simulation of bodies that may split has beside `Simulation`.

    Its particles have a series of their own, and may change in number. Results on nodes are recorded until the first
    split. `positions` and `velocities` of nodes stay finite after it.
    """

    @property
    def first_split(self) -> float:
        """Time [s] at which a pair first broke or a node was taken away; infinity before."""

    def particles(self) -> tuple[Array, dict[str, Reals]]:
        """Return the places (M, 3) [m] of the particles and all `PARTICLE_FIELDS` (M,) or (M, components)."""

    def counts(self) -> dict[str, int]:
        """Return whole numbers for the probe table: pieces, slaves, what was added, removed or broken since time 0."""


class Solver(Protocol):
    """A plug-in: a name, what it does, the options it takes, and how it starts."""

    name: ClassVar[str]
    description: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    options: ClassVar[type[BaseModel]]

    def start(self, problem: Problem, options: BaseModel) -> Simulation:
        """Set up a simulation at time zero."""


def _in_si(value: Any, field: FieldInfo) -> Any:
    """Return an option, text with a unit as a number in the SI unit that its description names: "step [s]; ..."."""
    unit = re.search(r"\[([^\]]+)\]", field.description or "")
    if not isinstance(value, str) or unit is None or "float" not in str(field.annotation):
        return value
    return Quantity(unit.group(1)).from_text(value)


def checked_options(solver: Solver | type[Solver], raw: Mapping[str, Any]) -> BaseModel:
    """Validate a solver's option table, listing every fault with its place."""
    fields = solver.options.model_fields
    given = {}
    for name, value in raw.items():
        try:
            given[name] = _in_si(value, fields[name]) if name in fields else value
        except PydanticCustomError as error:
            fault = Fault(f"solvers.{solver.name}.{name}", error.message())
            raise InputFaults("solver options", [fault]) from None
    try:
        return solver.options.model_validate(given)
    except ValidationError as error:
        faults = option_faults(error, f"solvers.{solver.name}", solver.options.model_fields)
        raise InputFaults("solver options", faults) from None


def check_capabilities(solver: Solver, problem: Problem) -> None:
    """Refuse a problem that asks for more than the solver can do, saying what it can."""
    shortfalls = solver.capabilities.shortfalls(problem)
    if shortfalls:
        raise InputFaults(f"solver '{solver.name}' cannot run this scene", shortfalls)


def check_same_step(state: Mapping[str, Array], step_size: float) -> None:
    """Refuse a checkpoint that was written with another step: continuing would not be the same run."""
    written = float(state["step_size"])
    if written != step_size:
        raise RheotwinError(
            f"checkpoint: it was written with a step of {written!r} s but this run uses {step_size!r} s; "
            "resume with the options of the original run"
        )


GROUP = "rheotwin.solvers"
BUILT_IN: dict[str, str] = {
    "fem": "rheotwin.fem:FemSolver",
    "truss": "rheotwin.particles:TrussSolver",
    "fixed-point": "rheotwin.particles.fixed_point:FixedPointSolver",
    "shear-volume": "rheotwin.particles.shear_volume:ShearVolumeSolver",
    "local-shape": "rheotwin.particles.local_shape:LocalShapeSolver",
    "slave": "rheotwin.particles.slave:SlaveSolver",
}


def _outside_entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP) if BUILT_IN.get(point.name) != point.value}


def _load_outside(point: EntryPoint) -> Solver | None:
    if point.name in BUILT_IN:
        warnings.warn(
            f"solver plug-in '{point.name}' ({point.value}) has the name of a built-in solver: ignored", stacklevel=3
        )
        return None
    try:
        solver = cast(Solver, point.load()())
        missing = [
            part for part in ("name", "description", "capabilities", "options", "start") if not hasattr(solver, part)
        ]
        if missing:
            raise TypeError(f"it lacks {', '.join(missing)}")
        if not isinstance(solver.capabilities, Capabilities) or not issubclass(solver.options, BaseModel):
            raise TypeError("its capabilities or options are of another type")
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(
            f"solver plug-in '{point.name}' ({point.value}) could not be loaded ({reason}): ignored", stacklevel=3
        )
        return None
    return solver


@contextmanager
def answering_for(solver: Solver) -> Iterator[None]:
    """Say of whatever an outside solver raises that it was that solver: its faults are not ours."""
    try:
        yield
    except (RheotwinError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        home = type(solver).__module__
        if home.startswith("rheotwin."):
            raise
        said = " ".join(str(error).split())[:200]
        raise RheotwinError(
            f"solver '{solver.name}' of {home} broke off ({type(error).__name__}: {said}); tell its authors, "
            "or choose another solver"
        ) from error


def _load_built_in(name: str) -> Solver:
    module, attribute = BUILT_IN[name].split(":")
    return cast(Solver, getattr(import_module(module), attribute)())


def all_solvers() -> dict[str, Solver]:
    """Return every usable solver by name, built-in ones first; broken plug-ins only warn."""
    solvers = {name: _load_built_in(name) for name in BUILT_IN}
    for name, point in sorted(_outside_entry_points().items()):
        solver = _load_outside(point)
        if solver is not None:
            solvers[name] = solver
    return solvers


def solver_names() -> list[str]:
    """Return the names of all solvers that are announced, without loading any."""
    return [*BUILT_IN, *sorted(set(_outside_entry_points()) - set(BUILT_IN))]


def find_solver(name: str) -> Solver:
    """Return the solver of that name; an unknown name raises with what exists and the nearest one."""
    if name in BUILT_IN:
        return _load_built_in(name)
    solvers = all_solvers()
    if name not in solvers:
        raise RheotwinError(
            f"solver: there is no solver named {name!r}{nearest_name(name, solvers)}; installed: {', '.join(solvers)}"
        )
    return solvers[name]
