"""Cases: variants of one scene that differ in what the bodies are made of."""

from __future__ import annotations

from pydantic import Field

from rheotwin.scene.base import Name, SceneModel


class CaseSpec(SceneModel):
    """Which law each body has in this variant; bodies not named keep theirs."""

    laws: dict[Name, Name] = Field(default_factory=dict)
    """Name of a body -> name of its law."""
    description: str = ""
    """One sentence for reports."""
