"""Meshes: shapes, files, orientation, quality, topology, identity; a mesh is a first-order scikit-fem mesh"""

from rheotwin.meshing.box import hex_grid, line, quad_grid, tet_grid, triangle_grid
from rheotwin.meshing.cells import CELL_DIMENSION, Mesh, build_mesh, cell_kind
from rheotwin.meshing.files import ImportedMesh, read_mesh, read_surface, write_mesh
from rheotwin.meshing.graded import NO_HANGING_NODES, HangingNodes, Refinement, hanging_nodes, refined
from rheotwin.meshing.mixed import MIXED, body_cell, cell_blocks, is_mixed, mixed_mesh
from rheotwin.meshing.quality import MeshSummary, QualityReport, element_quality, mesh_hash, quality_report, summarise
from rheotwin.meshing.round import ball, cylinder, disc, l_shape
from rheotwin.meshing.shapes import (
    BoxShape,
    CylinderShape,
    GridShape,
    LShape,
    ShapeSpec,
    SphereShape,
    TriangleShape,
    make_shape,
    with_finer_cells,
)
from rheotwin.meshing.topology import (
    boundary_faces,
    boundary_nodes,
    check_elements,
    element_edges,
    element_measures,
    lattice_edges,
    oriented,
    smallest_surface_edge,
    truss_edges,
)
from rheotwin.meshing.voxels import voxelised

__all__ = [
    "CELL_DIMENSION",
    "MIXED",
    "NO_HANGING_NODES",
    "BoxShape",
    "CylinderShape",
    "GridShape",
    "HangingNodes",
    "ImportedMesh",
    "LShape",
    "Mesh",
    "MeshSummary",
    "QualityReport",
    "Refinement",
    "ShapeSpec",
    "SphereShape",
    "TriangleShape",
    "ball",
    "body_cell",
    "boundary_faces",
    "boundary_nodes",
    "build_mesh",
    "cell_blocks",
    "cell_kind",
    "check_elements",
    "cylinder",
    "disc",
    "element_edges",
    "element_measures",
    "element_quality",
    "hanging_nodes",
    "hex_grid",
    "is_mixed",
    "l_shape",
    "lattice_edges",
    "line",
    "make_shape",
    "mesh_hash",
    "mixed_mesh",
    "oriented",
    "quad_grid",
    "quality_report",
    "read_mesh",
    "read_surface",
    "refined",
    "smallest_surface_edge",
    "summarise",
    "tet_grid",
    "triangle_grid",
    "truss_edges",
    "voxelised",
    "with_finer_cells",
    "write_mesh",
]
