"""The scene: bodies, laws, supports, tools, forces, duration and output of one simulation, in SI units."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from rheotwin.errors import Fault, RheotwinError, nearest_name
from rheotwin.scene.base import Count, Dimension, Line, Name, SceneModel, SchemaVersion
from rheotwin.scene.bodies import BodySpec
from rheotwin.scene.boundary import ForceSpec, GrabSpec, LinkSpec, ProbeSpec, SupportSpec
from rheotwin.scene.calibrate import CalibratedSpec, Place
from rheotwin.scene.checks import cross_faults, draft_of, reading_of
from rheotwin.scene.contact import ContactSpec
from rheotwin.scene.laws import CaseSpec, LawSpec
from rheotwin.scene.motion import GravityPart, gravity_rows
from rheotwin.scene.output import OutputSpec
from rheotwin.scene.quantities import PositiveArea, PositiveLength, PositiveTime
from rheotwin.scene.tools import ToolSpec
from rheotwin.scene.units import Units, reading

if TYPE_CHECKING:
    from rheotwin.materials import Law

CROSS = "across_tables"
"""Error type of faults found across tables: their place is final."""
_ONLY_IN = {"plane": 2, "thickness": 2, "section": 1}


def _line_error(fault: Fault) -> InitErrorDetails:
    """Turn a fault found across tables into a pydantic error at the same place."""
    kind = PydanticCustomError(CROSS, "{message}", {"message": fault.message})
    return InitErrorDetails(type=kind, loc=tuple(fault.place.split(".")), input=None)


def _check_ring(name: str, value: Any) -> None:
    """Refuse what an axisymmetric scene cannot have."""
    if name == "thickness":
        raise PydanticCustomError("plane", "an axisymmetric scene has no thickness: its rings are closed, leave it out")
    if name == "gravity" and any(pull and pull[0] != 0.0 for pull in gravity_rows(value)):
        raise PydanticCustomError("plane", "gravity of an axisymmetric scene acts along its axis: give 0 for x")


class Scene(SceneModel):
    """One simulation, complete and checked; every number is in SI units, whatever the file used."""

    schema_version: SchemaVersion = Field(alias="schema")
    """Version of this format."""
    title: Line = ""
    """One line for reports and progress."""
    dimension: Dimension
    """1, 2 or 3."""
    plane: Literal["strain", "stress", "axisymmetric"] = "strain"
    """2D only: nothing moves out of the plane, nothing presses out of it, or it turns about its y axis (x: radius)."""
    thickness: PositiveLength = 1.0
    """2D only, not axisymmetric: thickness out of the plane; default: 1 m."""
    section: PositiveArea = 1.0
    """1D only: area of the cross section; default: 1 m2."""
    gravity: GravityPart = ()
    """Acceleration of gravity, one component for each dimension, or a table of it over time; default: none."""
    duration: PositiveTime
    """How long is simulated."""
    refinement: Count = 1
    """Divide the cells of all bodies into this many along each side; default: as the bodies say."""
    units: Units = Units()
    """Units the numbers of this file are written in."""
    laws: Annotated[dict[Name, LawSpec], Field(min_length=1)]
    """Materials, by name."""
    bodies: Annotated[dict[Name, BodySpec], Field(min_length=1)]
    """Deformable bodies, by name."""
    supports: dict[Name, SupportSpec] = Field(default_factory=dict)
    """Held or driven nodes, by name."""
    tools: dict[Name, ToolSpec] = Field(default_factory=dict)
    """Rigid tools, by name."""
    contact: ContactSpec | None = None
    """How bodies touch; default: tools exact and frictionless, bodies pass through each other."""
    forces: dict[Name, ForceSpec] = Field(default_factory=dict)
    """Forces, by name."""
    links: dict[Name, LinkSpec] = Field(default_factory=dict)
    """Rigid links between nodes, by name."""
    grabs: dict[Name, GrabSpec] = Field(default_factory=dict)
    """Points held by a hand, by name."""
    probes: dict[Name, ProbeSpec] = Field(default_factory=dict)
    """Nodes followed closely, by name."""
    cases: dict[Name, CaseSpec] = Field(default_factory=dict)
    """Variants of the scene, by name; the first is run unless another is asked for."""
    case: Name | None = None
    """The variant the bodies' laws stand for; default: the scene as written."""
    output: OutputSpec = OutputSpec()
    """What is written, and when."""
    solvers: dict[Name, dict[str, JsonValue]] = Field(default_factory=dict)
    """Options of solvers, by solver name, always in SI units; each solver checks its own."""
    calibrate: dict[Place, CalibratedSpec] = Field(default_factory=dict)
    """Numbers that `rheotwin calibrate` finds from experiments, by their dotted places in SI units."""

    _source: Path | None = PrivateAttr(default=None)
    _base: Path = PrivateAttr(default=Path())

    @field_validator("gravity", "plane", "thickness", "section")
    @classmethod
    def _fits_dimension(cls, value: Any, info: ValidationInfo) -> Any:
        dimension = info.data.get("dimension")
        name = str(info.field_name)
        if dimension is None:
            return value
        for pull in gravity_rows(value) if name == "gravity" else ():
            if pull and len(pull) != dimension:
                raise PydanticCustomError(
                    "axes", f"needs {dimension} component(s) in a {dimension}D scene, has {len(pull)}"
                )
        if name in _ONLY_IN and dimension != _ONLY_IN[name]:
            raise PydanticCustomError(
                "dimension", f"is for {_ONLY_IN[name]}D scenes; this one is {dimension}D, leave it out"
            )
        if info.data.get("plane") == "axisymmetric":
            _check_ring(name, value)
        return value

    @model_serializer(mode="wrap")
    def _without_other_dimensions(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what only scenes of another dimension have: reading it back would refuse it."""
        dump: dict[str, Any] = handler(self)
        if self.axisymmetric:
            dump.pop("thickness", None)
        return {key: value for key, value in dump.items() if _ONLY_IN.get(key, self.dimension) == self.dimension}

    @model_validator(mode="wrap")
    @classmethod
    def _complete(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Read numbers as SI, check across tables, fill in what depends on dimension, duration or case."""
        if isinstance(data, cls):
            return handler(data)
        with reading(reading_of(data)):
            scene = handler(data)
        if isinstance(data, Mapping):
            faults = [_line_error(fault) for fault in scene._case_faults(draft_faults(data))]
            if faults:
                raise ValidationError.from_exception_data(cls.__name__, faults)
        filled = scene._filled_in()
        filled = filled if filled.case is None else filled.with_case(filled.case)
        scene.__dict__.update(filled.__dict__)  # in place, as `Scene(..)` keeps the object it began with
        scene.model_fields_set.update(filled.model_fields_set)
        return scene

    def _case_faults(self, faults: list[Fault]) -> list[Fault]:
        if self.case is None or self.case in self.cases:
            return faults
        known = ", ".join(self.cases) or "none"
        message = f"no case is named '{self.case}'{nearest_name(self.case, self.cases)}; cases here: {known}"
        return [*faults, Fault("case", message)]

    def _filled_in(self) -> Self:
        """Return the scene with the defaults that depend on other entries."""
        dimension = self.dimension
        update: dict[str, Any] = {
            "gravity": self.gravity or (0.0,) * dimension,
            "units": Units(virtual=self.units.virtual),
            "bodies": {name: body.in_metres(self.units).completed(dimension) for name, body in self.bodies.items()},
            "tools": {name: tool.in_metres(self.units) for name, tool in self.tools.items()},
            "supports": {name: support.completed(dimension) for name, support in self.supports.items()},
            "output": self.output.completed(self.duration),
            "contact": None if self.contact is None else self.contact.completed(dimension),
        }
        return self.model_copy(update=update)

    @property
    def source(self) -> Path | None:
        """File the scene was read from, if it was."""
        return self._source

    @property
    def axisymmetric(self) -> bool:
        """Whether the plane stands for the rings it sweeps about its y axis."""
        return self.dimension == 2 and self.plane == "axisymmetric"

    @property
    def cross_section(self) -> float:
        """Factor from measure to volume of a mesh: section [m2] in 1D, thickness [m] in 2D, 1 in 3D and for rings."""
        return {1: self.section, 2: self.thickness, 3: 1.0}[self.dimension]

    @property
    def case_names(self) -> tuple[str, ...]:
        """Names of the variants, in the order of the file."""
        return tuple(self.cases)

    def located(self, *, base: Path, source: Path | None = None) -> Self:
        """Return the scene knowing the folder its mesh files are relative to, and the file it came from."""
        scene = self.model_copy()
        scene._base, scene._source = base, source
        return scene

    def resolve(self, path: str | Path) -> Path:
        """Return where a file named in the scene is: relative names start at the scene's own folder."""
        return self._base / path

    def to_toml(self) -> str:
        """Return the scene as TOML, in SI units, defaults left out."""
        from rheotwin.scene.write import scene_text

        return scene_text(self)

    def write(self, path: str | Path) -> Path:
        """Write the scene to a TOML file and return its path; mesh files beside another one are named absolutely."""
        from rheotwin.record.atomic import write_text
        from rheotwin.scene.write import scene_text, with_absolute_files

        file = Path(path)
        beside = file.parent.absolute() == self._base.absolute()
        write_text(file, scene_text(self if beside else with_absolute_files(self)))
        return file

    def with_case(self, name: str | None = None) -> Self:
        """Return a variant: bodies and their parts have its laws, solvers its options, and `case` names it.

        Without a name it is the one already chosen, else the first; a scene without cases stays as it is.
        """
        chosen = name or self.case or next(iter(self.cases), None)
        if chosen is None:
            return self
        case = self._case(chosen)
        bodies = {key: body.with_laws(case.laws, key) for key, body in self.bodies.items()}
        solvers = self.solvers | {key: self.solvers.get(key, {}) | own for key, own in case.solvers.items()}
        return self.model_copy(update={"bodies": bodies, "solvers": solvers, "case": chosen})

    def refined(self, parts: int) -> Self:
        """Return the scene with `refinement` set, whatever it was."""
        return self.model_copy(update={"refinement": parts})

    def law_for(self, body: str, case: str | None = None) -> Law:
        """Return the material law of a body, as the scene stands or in one of its cases."""
        own = self.bodies[body].law
        return self.laws[own if case is None else self._case(case).laws.get(body, own)].law()

    def _case(self, name: str) -> CaseSpec:
        if name not in self.cases:
            known = ", ".join(self.cases) or "none: the scene has no cases"
            place = "the scene" if self.source is None else str(self.source)
            raise RheotwinError(f"{place}: no case '{name}'{nearest_name(name, self.cases)}; cases: {known}")
        return self.cases[name]

    def __repr__(self) -> str:
        said = f"{len(self.bodies)} {'body' if len(self.bodies) == 1 else 'bodies'} in {self.dimension}D"
        return f"<{self.title or 'a scene'}: {said}, {self.duration:g} s>"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        """Scenes are equal when they describe the same simulation, wherever they were read from."""
        return isinstance(other, Scene) and self.model_dump() == other.model_dump()


def draft_faults(data: Mapping[str, Any]) -> list[Fault]:
    """Return every fault across the tables of raw scene data, as far as it can be read."""
    return list(cross_faults(draft_of(data)))
