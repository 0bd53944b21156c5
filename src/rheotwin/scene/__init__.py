"""Scenes: what is simulated, read from TOML into frozen models, every number in SI units."""

from rheotwin.scene.base import Axis, Dimension, SceneModel
from rheotwin.scene.bodies import (
    BodySpec,
    BoxBody,
    CylinderBody,
    FileBody,
    GridBody,
    LShapeBody,
    SphereBody,
    TriangleBody,
)
from rheotwin.scene.boundary import ForceSpec, ProbeSpec, Ranges, SupportSpec, Where
from rheotwin.scene.contact import ContactSpec, ToolContactSpec
from rheotwin.scene.laws import (
    CaseSpec,
    ElasticSpec,
    GeneralizedMaxwellSpec,
    GeneralizedVoigtSpec,
    LawSpec,
    MaxwellSpec,
    ThreeElementSpec,
    VoigtSpec,
)
from rheotwin.scene.load import load_scene, parse_scene, scene_from_data, scene_schema
from rheotwin.scene.motion import DriveSpec, Motion, ToolMotion
from rheotwin.scene.output import AdaptiveOutput, OutputSpec
from rheotwin.scene.quantities import Quantity, Units
from rheotwin.scene.scene import Scene
from rheotwin.scene.tools import BarTool, BoxTool, CylinderTool, MeshTool, PlaneTool, PrismTool, SphereTool, ToolSpec

__all__ = [
    "AdaptiveOutput",
    "Axis",
    "BarTool",
    "BodySpec",
    "BoxBody",
    "BoxTool",
    "CaseSpec",
    "ContactSpec",
    "CylinderBody",
    "CylinderTool",
    "Dimension",
    "DriveSpec",
    "ElasticSpec",
    "FileBody",
    "ForceSpec",
    "GeneralizedMaxwellSpec",
    "GeneralizedVoigtSpec",
    "GridBody",
    "LShapeBody",
    "LawSpec",
    "MaxwellSpec",
    "MeshTool",
    "Motion",
    "OutputSpec",
    "PlaneTool",
    "PrismTool",
    "ProbeSpec",
    "Quantity",
    "Ranges",
    "Scene",
    "SceneModel",
    "SphereBody",
    "SphereTool",
    "SupportSpec",
    "ThreeElementSpec",
    "ToolContactSpec",
    "ToolMotion",
    "ToolSpec",
    "TriangleBody",
    "Units",
    "VoigtSpec",
    "Where",
    "load_scene",
    "parse_scene",
    "scene_from_data",
    "scene_schema",
]
