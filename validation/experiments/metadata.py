"""record.toml: what was measured, on which body, with which units and uncertainty (format rheo-record/1)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.scene.base import Axis, Line, Number, SceneModel, Text
from rheotwin.scene.calibrate import Place
from rheotwin.scene.units import SI_VALUE
from rheotwin.texts import read_toml

GRAVITY = 9.80665
"""What a gram or kilogram weighs where forces are given in gf or kgf [m/s2]."""
_FORCES = {"gf": 1e-3 * GRAVITY, "kgf": GRAVITY}
VIRTUAL = 2.0
"""Real lengths over those of the calibration papers' half-scale body (calibration spec, 1)."""


class RecordUnits(SceneModel):
    """How the numbers of a record are meant; after reading everything is SI and real scale."""

    length: Literal["m", "cm", "mm", "um", "in"] = "m"
    """Unit of lengths; volumes are its cube."""
    force: Literal["N", "mN", "kN", "gf", "kgf"] = "N"
    """Unit of forces; moments are force times length."""
    time: Literal["s", "ms", "min", "h"] = "s"
    """Unit of times."""
    mass: Literal["kg", "g", "mg", "t"] = "kg"
    """Unit of masses."""
    angle: Literal["rad", "deg"] = "rad"
    """Unit of the punch's rotations."""
    scale: Literal["real", "virtual"] = "real"
    """Lengths as measured, or of a half-scale body."""

    def name(self, kind: str) -> str:
        """Return how a column of this kind is written in a header: "cm", "gf cm", "cm3", "1"."""
        length = str(self.length)
        return {"moment": f"{self.force} {length}", "volume": f"{length}3", "number": "1"}.get(kind) or str(
            getattr(self, kind)
        )

    def factor(self, kind: str) -> float:
        """Return what a number of this kind is multiplied by to become SI and real scale."""
        length = SI_VALUE[self.length] * (VIRTUAL if self.scale == "virtual" else 1.0)
        force = _FORCES.get(self.force) or SI_VALUE[self.force]
        derived = {"length": length, "force": force, "moment": force * length, "volume": length**3, "number": 1.0}
        return derived[kind] if kind in derived else SI_VALUE[getattr(self, kind)]


METADATA, SCHEMA = "record.toml", "rheo-record/1"

Positive = Annotated[Number, Field(gt=0.0)]
NotNegative = Annotated[Number, Field(ge=0.0)]


class Specimen(SceneModel):
    """The body at rest: of a record that was read in SI and real scale, of record.toml in its own units."""

    size: tuple[Positive, ...] = Field(min_length=1, max_length=3)
    """Edges of its bounding box along x, y, z."""
    mass: Positive | None = None
    """Its mass."""
    shape: Literal["box", "cylinder"] = "box"
    """What it is; a cylinder stands along `up`."""
    origin: Literal["corner", "center"] = "corner"
    """Where its bounding box has the coordinates zero."""
    up: Axis = "y"
    """Axis that points up."""
    floor: Literal["fixed", "slip", "coulomb"] | None = None
    """How it stands on its floor."""

    @property
    def box(self) -> tuple[Array, Array]:
        """Least and largest coordinates (3,) of the bounding box."""
        size = np.zeros(3)
        size[: len(self.size)] = self.size
        least = np.zeros(3) if self.origin == "corner" else -0.5 * size
        return least, least + size


class Punch(SceneModel):
    """The tool, whose path is in punch.csv."""

    shape: Literal["box", "plate", "sphere", "cylinder", "other"] = "box"
    """What it is."""
    footprint: tuple[Positive, ...] = ()
    """Edges of its face; of a sphere or cylinder its radius."""
    contact: Literal["stick", "slip", "coulomb"] | None = None
    """How it holds what it touches."""
    release: Number | None = None
    """When it lets go."""


class FramePart(SceneModel):
    """One cloud of points."""

    file: str
    """Its table, relative to the record."""
    t: Number
    """When it was taken."""
    phase: Line = ""
    """What was going on: push, hold, after."""
    faces: tuple[Line, ...] = ()
    """Faces of the body that were seen."""
    mirrored: tuple[Line, ...] = ()
    """Faces that were not seen but copied from their opposite."""


class Uncertainty(SceneModel):
    """Uncertainty of what was measured."""

    mean_abs: NotNegative | None = None
    """Mean distance of points from where they should be."""
    model: Literal["normal"] = "normal"
    """How it is distributed."""
    force_rel: NotNegative | None = None
    """Relative uncertainty of forces."""
    volume_rel: NotNegative | None = None
    """Relative uncertainty of volumes."""
    clock: NotNegative | None = None
    """Uncertainty of the frames' times."""


class SealPart(SceneModel):
    """What proves that the truth of a synthetic record was fixed before it was identified."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Hash of the sealed truth."""


class Metadata(SceneModel):
    """The whole of record.toml, in its own units."""

    schema_name: Literal["rheo-record/1"] = Field(alias="schema")
    """Format of the record."""
    id: Line = Field(min_length=1, max_length=200)
    """Name of the experiment."""
    kind: Literal["measured", "synthetic"]
    """Where its numbers come from."""
    title: Line = ""
    """One line for reports."""
    source: Text = ""
    """Origin and licence."""
    notes: Text = ""
    """What one should know of it."""
    units: RecordUnits = RecordUnits()
    body: Specimen
    punch: Punch | None = None
    frames: tuple[FramePart, ...] = ()
    noise: Uncertainty = Uncertainty()
    seal: SealPart | None = None
    setup: dict[Place, Any] = Field(default_factory=dict)
    """What of a scene is of this experiment, in SI units: values or tables by their dotted places; files lie here."""
    files: dict[str, Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]] = Field(default_factory=dict)
    """Hashes of the tables, by their names."""


def read_metadata(folder: Path) -> Metadata:
    """Read record.toml of a folder; what is wrong with it is one sentence."""
    path = folder / METADATA
    if not folder.is_dir():
        raise RheotwinError(f"{folder}: there is no such folder; give the folder of an experiment record")
    try:
        data = read_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RheotwinError(f"{folder}: not an experiment record ({METADATA} is missing); add one") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RheotwinError(f"{path}: cannot be read ({error}); make it a readable UTF-8 file") from error
    except tomllib.TOMLDecodeError as error:
        raise RheotwinError(f"{path}: not a TOML file: {error}; correct that line") from error
    try:
        return Metadata.model_validate(data)
    except ValidationError as error:
        raise RheotwinError(f"{path}: {_sentence(error)}") from error


def _sentence(error: ValidationError) -> str:
    """Say the first fault with its place and what would be right."""
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        known = _known(fault["loc"])
        return f"{place}: unknown key{nearest_name(str(fault['loc'][-1]), known)}; known here: {', '.join(known)}"
    if fault["type"] == "missing":
        return f"{place}: is missing; add it"
    if fault["type"] == "literal_error":
        return f"{place}: {_shown(fault['input'])} is not possible here; write {fault['ctx']['expected']}"
    return f"{place}: {_shown(fault['input'])} will not do: {fault['msg'][:1].lower()}{fault['msg'][1:]}; correct it"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _known(place: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the table in which an unknown one stands."""
    model = _PARTS.get(str(place[0]), Metadata) if len(place) > 1 else Metadata
    return [field.alias or name for name, field in model.model_fields.items()]


_PARTS: dict[str, type[SceneModel]] = {
    "units": RecordUnits,
    "body": Specimen,
    "punch": Punch,
    "frames": FramePart,
    "noise": Uncertainty,
    "seal": SealPart,
}
