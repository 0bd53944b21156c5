"""Records: the folder every run leaves behind, and the way back from it."""

from rheotwin.record.checkpoint import load_checkpoint
from rheotwin.record.folder import check_output_folder
from rheotwin.record.grid import CellKind, GridTopology, ToolSurface
from rheotwin.record.manifest import (
    BodyInfo,
    Manifest,
    MeshInfo,
    SeriesFormat,
    SolverInfo,
    StepInfo,
    current_environment,
    describe_fields,
    describe_particles,
    load_manifest,
    save_manifest,
)
from rheotwin.record.reader import Record, open_record
from rheotwin.record.vtu import array_units
from rheotwin.record.writer import RecordWriter

__all__ = [
    "BodyInfo",
    "CellKind",
    "GridTopology",
    "Manifest",
    "MeshInfo",
    "Record",
    "RecordWriter",
    "SeriesFormat",
    "SolverInfo",
    "StepInfo",
    "ToolSurface",
    "array_units",
    "check_output_folder",
    "current_environment",
    "describe_fields",
    "describe_particles",
    "load_checkpoint",
    "load_manifest",
    "open_record",
    "save_manifest",
]
