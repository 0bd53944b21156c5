"""Constraints both backends share: driven motions, rigid tools, unilateral contact."""

from rheotwin.constraints.motion import Motion, at_rest
from rheotwin.constraints.tools import RigidTool, tool_gaps

__all__ = ["Motion", "RigidTool", "at_rest", "tool_gaps"]
