"""Scenes: what is simulated, read from TOML into frozen models, every number in SI units."""

from rheotwin.scene.base import SceneModel
from rheotwin.scene.bodies import BodySpec, BoxBody, FileBody, SphereBody
from rheotwin.scene.boundary import Where
from rheotwin.scene.contact import ContactSpec, ToolContactSpec
from rheotwin.scene.laws import LawSpec
from rheotwin.scene.load import load_scene, parse_scene, scene_from_data, scene_schema
from rheotwin.scene.motion import DriveSpec, ToolMotion
from rheotwin.scene.scene import Scene
from rheotwin.scene.tools import BarTool, MeshTool, ToolSpec
from rheotwin.scene.units import Quantity, Units

__all__ = [
    "BarTool",
    "BodySpec",
    "BoxBody",
    "ContactSpec",
    "DriveSpec",
    "FileBody",
    "LawSpec",
    "MeshTool",
    "Quantity",
    "Scene",
    "SceneModel",
    "SphereBody",
    "ToolContactSpec",
    "ToolMotion",
    "ToolSpec",
    "Units",
    "Where",
    "load_scene",
    "parse_scene",
    "scene_from_data",
    "scene_schema",
]
