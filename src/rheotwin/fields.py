"""The vocabulary of results: every solver reports the same quantity under the same name and unit.

Most belong to nodes; those of `CELL_FIELDS` belong to cells and are recorded where a scene asks for them. Vectors are
stored with three components (zero-padded below 3D). Symmetric tensors are stored as (XX, YY, ZZ, XY, YZ, XZ), the order
ParaView labels by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

TENSOR_COMPONENTS = ("XX", "YY", "ZZ", "XY", "YZ", "XZ")


@dataclass(frozen=True)
class FieldSpec:
    """One result: unit [SI], number of components, and what it means."""

    name: str
    unit: str
    components: int
    description: str


NODE_FIELDS: dict[str, FieldSpec] = {
    spec.name: spec
    for spec in (
        FieldSpec("displacement", "m", 3, "current minus rest position"),
        FieldSpec("velocity", "m/s", 3, "velocity"),
        FieldSpec("stress", "Pa", 6, "Cauchy stress averaged to nodes (edge forces averaged for particles)"),
        FieldSpec("strain", "1", 6, "small strain of the cells, averaged to nodes"),
        FieldSpec("von_mises_stress", "Pa", 1, "von Mises equivalent of the nodal stress"),
        FieldSpec("memory_stress", "Pa", 6, "the part of the stress held by relaxing internal variables"),
        FieldSpec("contact_force", "N", 3, "force that rigid tools exert on the node"),
    )
}
CELL_STRESS = "cell_stress"
CELL_STRESS_COMPONENTS = ("mean", "von Mises")
CELL_FIELDS: dict[str, FieldSpec] = {
    CELL_STRESS: FieldSpec(CELL_STRESS, "Pa", 2, "mean stress of each cell, and von Mises equivalent of its stress"),
}
FIELDS = NODE_FIELDS | CELL_FIELDS
DEFAULT_FIELDS = tuple(NODE_FIELDS)
PARTICLE_FIELDS: dict[str, FieldSpec] = {
    spec.name: spec
    for spec in (
        NODE_FIELDS["velocity"],
        FieldSpec("von_mises_stress", "Pa", 1, "von Mises equivalent of the Cauchy stress of the particle"),
        FieldSpec("elastic_invariants", "1", 3, "I1 and I2 of FE^T FE, and det FE, of the elastic deformation FE"),
        FieldSpec("plastic_volume", "1", 1, "JP, the part of the change of volume that stays"),
        FieldSpec("volume", "m3", 1, "volume as it is now, V0 det FE JP"),
        FieldSpec("body", "1", 1, "number of the body it began in"),
        FieldSpec("piece", "1", 1, "number of the piece it is in, from the largest one on"),
    )
}
"""What is recorded of particles whose bodies may split (`rheotwin.solver.Splitting`), in a series of their own."""
