"""What all tables of a scene file are made of: frozen models that refuse unknown keys, and plain numbers and names."""

from __future__ import annotations

import ast
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError

from rheotwin.errors import visible

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
Count = Annotated[int, Field(strict=True, ge=1, le=10**9)]
Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, AfterValidator(visible)]
"""Words for people: what would steer a terminal is shown, not obeyed."""
Line = Annotated[str, AfterValidator(lambda text: visible(text).replace("\n", "\\n"))]
"""Such words on one line."""
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=100)]
NameOrPart = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)?$")]
"""Name of a body, or of a body and one of its parts: `block.top`."""


class SceneModel(BaseModel):
    """One table of a scene file; attribute docstrings become the descriptions of the JSON schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe every field by its docstring."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in cls.model_fields.items():
            said = field_description(cls, name)
            if said and (field.alias or name) in properties:
                properties[field.alias or name]["description"] = said
        return schema


def field_description(model: type[BaseModel], name: str) -> str | None:
    """Return what a field says of itself, or the docstring below it in the class that declares it.

    Sources are read when somebody asks, not when the model is made, which every run would wait for.
    """
    own = model.model_fields[name].description
    if own is not None:
        return own
    owner = next((base for base in model.__mro__ if name in base.__dict__.get("__annotations__", {})), model)
    return _attribute_docstrings(owner).get(name)


@cache
def _attribute_docstrings(model: type) -> dict[str, str]:
    """Return the docstrings that stand below the annotated attributes of a class; none where there is no source."""
    try:
        source = getsource(model)
    except (OSError, TypeError):
        return {}
    (definition,) = ast.parse(dedent(source)).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for above, below in pairwise(definition.body):
        match above, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = cleandoc(text)
    return found
