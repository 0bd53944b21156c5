"""The ground every table of a scene file stands on: frozen, nothing unknown, nothing guessed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticKnownError

NAME_PATTERN = r"^[A-Za-z0-9_-]+$"
NAME_RULE = "names use letters, digits, '-' and '_' only"


def _whole(value: Any) -> Any:
    """Refuse true and 2.0, which Python takes for 1 and 2."""
    if isinstance(value, bool | float):
        raise PydanticKnownError("int_type")
    return value


Dimension = Annotated[Literal[1, 2, 3], BeforeValidator(_whole)]
SchemaVersion = Annotated[Literal[1], BeforeValidator(_whole)]
Axis = Literal["x", "y", "z"]
AXES: tuple[Axis, ...] = ("x", "y", "z")

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]


class SceneModel(BaseModel):
    """One table of a scene file; attribute docstrings become the descriptions of the JSON schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, serialize_by_alias=True)
