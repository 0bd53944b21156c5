"""The ground every table of a scene file stands on: frozen, nothing unknown, nothing guessed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NAME_PATTERN = r"^[A-Za-z0-9_-]+$"
NAME_RULE = "names use letters, digits, '-' and '_' only"

Dimension = Literal[1, 2, 3]
Axis = Literal["x", "y", "z"]
AXES: tuple[Axis, ...] = ("x", "y", "z")

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]


class SceneModel(BaseModel):
    """One table of a scene file; attribute docstrings become the descriptions of the JSON schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, serialize_by_alias=True)
