"""All elements packed for steps of one size, the state of a body, and the stages that add all forces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.particles.base import at_rest
from rheotwin.particles.shear_volume.cotangent_triangle import COTANGENT
from rheotwin.particles.shear_volume.elements import AllElements, Elements
from rheotwin.particles.shear_volume.neo_hooke_triangle import NEO_HOOKE
from rheotwin.particles.shear_volume.seed import Remembered, Strains, all_shear_elements, pressure_elements
from rheotwin.particles.shear_volume.simplex_loops import add_forces, add_recovery, mark_inverted
from rheotwin.particles.shear_volume.simplices import Group, Memory, Simplex, no_memory, pack_group
from rheotwin.particles.shear_volume.tet_shear import TETRAHEDRON

SIMPLICES: dict[str, Simplex] = {"cotangent": COTANGENT, "neo_hooke": NEO_HOOKE, "tets": TETRAHEDRON}
"""Consistent elements by the name of their kind."""
RECOVERING = ("neo_hooke", "tets")
PARTS = 5
"""Kinds that say into how many parts a step has to be divided: elements of three kinds, and two that are inverted."""


@dataclass(frozen=True)
class Forces:
    """Consistent elements and the papers' shear and pressures, by name; `inverted` (bodies,) is scratch."""

    groups: dict[str, Group]
    strains: dict[str, Strains]
    inverted: Flags

    def without_springs(self) -> Forces:
        """Return forces whose arms act alone, for the stress they remember in a body that does not move."""
        groups = {name: group.without_springs() for name, group in self.groups.items()}
        return replace(
            self, groups=groups, strains={name: part.without_springs() for name, part in self.strains.items()}
        )


class State(NamedTuple):
    """What a step changes; vectors are (N, 3), multipliers those of patches that keep their volume.

    `..._voigt` are Voigt parts of softening networks, empty without; their stress is the last of the arms beside them.

    `part` (1,) is the step that led here where it was divided, else 0 [s]; `divided` (1,) counts such steps.
    """

    positions: Array
    velocities: Array
    force: Array
    reaction: Array
    multipliers: Array
    part: Array
    divided: Indices
    cotangent: Memory
    neo_hooke: Memory
    tets: Memory
    seed_arms: Array
    cell_arms: Array
    quadrilateral_arms: Array
    seed_voigt: Array
    cell_voigt: Array
    quadrilateral_voigt: Array

    def copied(self) -> State:
        """Return a state with arrays of its own."""
        values: dict[str, Any] = {}
        for name, value in self._asdict().items():
            values[name] = Memory(*(array.copy() for array in value)) if isinstance(value, Memory) else value.copy()
        return State(**values)


def pack_forces(
    elements: AllElements, points: Array, h: float, stable: float = np.inf, recovery: float = np.inf
) -> Forces:
    """Pack all elements with rest points (N, 3) [m] for steps of `h` [s]; with h = 0 arms stay as they are.

    `stable` [s] is the stable step at rest, which tells where steps have to be divided, `recovery` [s] that of the
    dashpots of inverted bodies; infinite without any.
    """
    simplices, quadrilaterals = elements.kinds["seed_simplices"], elements.kinds["seed_quadrilaterals"]
    groups = {
        name: pack_group(kind, elements.kinds[name], points, h, h / stable, h / recovery if name in RECOVERING else 0.0)
        for name, kind in SIMPLICES.items()
    }
    strains = {
        "seed": all_shear_elements(simplices, quadrilaterals, points, h),
        "cell": pressure_elements(simplices, h, simplices.cells.shape[1] - 1),
        "quadrilateral": pressure_elements(quadrilaterals, h, 2),
    }
    return Forces(groups, strains, np.zeros(elements.bodies, np.bool_))


def exploded(elements: AllElements, points: Array) -> tuple[AllElements, Array, Indices]:
    """Return elements that share no nodes, their points, and the node (n,) each of their corners was."""
    changed: dict[str, Elements] = {}
    nodes, first = [np.zeros(0, np.int64)], 0
    for name, kind in elements.kinds.items():
        changed[name] = replace(kind, cells=first + np.arange(kind.cells.size).reshape(kind.cells.shape))
        nodes.append(kind.cells.ravel())
        first += kind.cells.size
    node = np.concatenate(nodes)
    return AllElements(changed, elements.channels), points[node], node


def rest_state(forces: Forces, rest: Array, multipliers: int = 0) -> State:
    """Return the state at rest positions (N, 3) [m], with room for as many multipliers."""
    memories = {name: part.nothing() for name, part in forces.strains.items()}
    arrays: dict[str, Any] = {**at_rest(rest)}
    arrays |= {name: no_memory(group) for name, group in forces.groups.items()}
    arrays |= {f"{name}_arms": memory.arms for name, memory in memories.items()}
    arrays |= {f"{name}_voigt": memory.voigt for name, memory in memories.items()}
    arrays |= {"multipliers": np.zeros((2, multipliers)), "part": np.zeros(1), "divided": np.zeros(1, np.int64)}
    return State(**arrays)


def element_stages(
    forces: Forces, state: State, x: Array, v: Array, part: Array, force: Array, parts: Array
) -> list[Stage]:
    """Return the stages that advance arms to positions `x` (N, 3) [m] and add all forces at velocities `v` [m/s].

    `part` (1,) [s] is the step that led here, 0 for a whole one. `parts` (PARTS,) takes into how many parts the next
    has to be divided; it is zero before.
    """
    stages, recovering = [], []
    for kind, (name, group) in enumerate(forces.groups.items()):
        if group.number:
            add = add_forces(SIMPLICES[name], group.remembers, group.viscous, group.softens)
            arguments = (group, getattr(state, name), x, v, Now(part), force)
            stages.append(Stage(add, arguments, into=parts[kind : kind + 1]))
            if name in RECOVERING:
                recovering.append((SIMPLICES[name], group, parts[kind + 2 : kind + 3]))
    for name, strains in forces.strains.items():
        memory = Remembered(getattr(state, f"{name}_arms"), getattr(state, f"{name}_voigt"))
        stages += strains.stages(memory, x, v, force)
    if recovering:
        inverted, count = forces.inverted, len(recovering)
        # Inverted elements ask for a look at the step: without such a look there is nothing to do.
        stages += [Stage(pass_unless_asked, (parts, inverted, 2 * count + 1))]
        stages += [Stage(mark_inverted(kind), (group, x, inverted)) for kind, group, _ in recovering]
        stages += [Stage(pass_unless_inverted, (inverted, count))]
        stages += [
            Stage(add_recovery(kind), (group, inverted, x, v, force), into=said) for kind, group, said in recovering
        ]
    return stages


@compiled
def pass_unless_asked(parts: Array, inverted: Flags, ahead: int) -> int:
    """Skip so many stages if no element has asked for a look at the step; nothing is known to be inverted yet."""
    for body in range(inverted.shape[0]):
        inverted[body] = False
    for kind in range(parts.shape[0]):
        if parts[kind] > 0.0:
            return 0
    return ahead


@compiled
def pass_unless_inverted(inverted: Flags, ahead: int) -> int:
    """Skip so many stages if no body has inverted elements."""
    for body in range(inverted.shape[0]):
        if inverted[body]:
            return 0
    return ahead


def add_element_forces(forces: Forces, state: State, x: Array, v: Array, part: float, force: Array) -> float:
    """Take those stages once; return into how many parts the next step has to be divided."""
    parts = np.zeros(PARTS)
    Program(element_stages(forces, state, x, v, np.array([part]), force, parts), 0.0, Clock()).run(0, 1)
    return float(parts.max())
