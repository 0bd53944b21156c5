"""Scene F1 in dolfinx 0.5 with PETSc's GAMG: `python3 fem_f1_dolfinx.py MESH NUMBERS` (see fem.py).

The same mesh, the same nodal history, conjugate gradients to the same tolerance, rigid body modes as near-null space,
Chebyshev-Jacobi smoothing as in the elasticity demo of dolfinx. Steps start from the last solution or, where asked,
from PETSc's own projection on the last four.
"""

import json
import sys
from pathlib import Path
from time import process_time

import dolfinx
import numpy as np
import ufl
from dolfinx import fem, la
from mpi4py import MPI
from petsc4py import PETSc


def near_null_space(space):
    """Return the six rigid body modes."""
    index = space.dofmap.index_map
    modes = [la.create_petsc_vector(index, 3) for _ in range(6)]
    x = space.tabulate_dof_coordinates()
    with_locals = [mode.localForm() for mode in modes]
    arrays = [local.__enter__().array for local in with_locals]
    for c in range(3):
        arrays[c][c::3] = 1.0
    for mode, (a, b) in zip(arrays[3:], ((0, 1), (2, 0), (1, 2)), strict=True):
        mode[a::3], mode[b::3] = -x[:, b], x[:, a]
    for local in with_locals:
        local.__exit__(None, None, None)
    la.orthonormalize(modes)
    return PETSc.NullSpace().create(vectors=modes)


def run(path, numbers):
    """Run the scene on one mesh."""
    data = np.load(path)
    cell = ufl.Mesh(ufl.VectorElement("Lagrange", ufl.tetrahedron, 1))
    mesh = dolfinx.mesh.create_mesh(MPI.COMM_SELF, data["corners"].astype(np.int64), data["points"], cell)
    order = np.array(mesh.topology.original_cell_index)
    viscous = data["viscous"][order]
    h, tau, share = numbers["step"], numbers["time"], numbers["share"]
    decay = np.exp(-h / tau)
    gain = share * (1 - decay) / (h / tau)
    kappa = 1 - share + gain
    young, nu = numbers["young"], numbers["poisson"]
    lame, shear = young * nu / (1 + nu) / (1 - 2 * nu), young / 2 / (1 + nu)

    space = fem.VectorFunctionSpace(mesh, ("Lagrange", 1))
    constant = fem.FunctionSpace(mesh, ("DG", 0))
    factor, half = fem.Function(constant), fem.Function(constant)
    factor.x.array[:] = np.where(viscous, kappa, 1.0)
    half.x.array[:] = viscous
    tags = dolfinx.mesh.meshtags(mesh, 3, np.flatnonzero(viscous).astype(np.int32), np.ones(viscous.sum(), np.int32))
    dx = ufl.Measure("dx", domain=mesh, subdomain_data=tags)

    def stress(e):
        return lame * ufl.tr(e) * ufl.Identity(3) + 2 * shear * e

    u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
    past, solution, memory = (fem.Function(space) for _ in range(3))
    a = fem.form(factor * ufl.inner(stress(ufl.sym(ufl.grad(u))), ufl.sym(ufl.grad(v))) * ufl.dx)
    right = fem.form(-ufl.inner(stress(ufl.sym(ufl.grad(past))), ufl.sym(ufl.grad(v))) * dx(1))
    facets = [dolfinx.mesh.locate_entities_boundary(mesh, 2, lambda x, z=z: np.isclose(x[2], z)) for z in (0.0, 1.0)]
    dofs = [fem.locate_dofs_topological(space, 2, f) for f in facets]
    push = fem.Constant(mesh, PETSc.ScalarType((0.0, 0.0, 0.0)))
    fixed = fem.Constant(mesh, PETSc.ScalarType((0.0, 0.0, 0.0)))
    supports = [fem.dirichletbc(fixed, dofs[0], space), fem.dirichletbc(push, dofs[1], space)]
    matrix = fem.petsc.assemble_matrix(a, supports)
    matrix.assemble()

    matrix.setNearNullSpace(near_null_space(space))
    options = PETSc.Options()
    for name, value in {
        "ksp_type": "cg",
        "ksp_rtol": numbers["tolerance"],
        "pc_type": "gamg",
        "mg_levels_ksp_type": "chebyshev",
        "mg_levels_pc_type": "jacobi",
        "mg_levels_esteig_ksp_type": "cg",
        "mg_levels_ksp_chebyshev_esteig_steps": 20,
    }.items():
        options[name] = value
    if numbers["projected"]:
        options["ksp_guess_type"], options["ksp_guess_fischer_model"] = "fischer", "1,4"
    solver = PETSc.KSP().create(MPI.COMM_SELF)
    solver.setOperators(matrix)
    solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    solver.setInitialGuessNonzero(True)
    solver.setFromOptions()
    solver.setUp()
    ready = process_time()

    b, iterations = fem.petsc.create_vector(right), 0
    before = np.zeros_like(solution.x.array)
    for depth in numbers["pressed"]:
        push.value[2] = -depth
        past.x.array[:] = decay * memory.x.array - gain * before
        b.zeroEntries()
        fem.petsc.assemble_vector(b, right)
        fem.petsc.apply_lifting(b, [a], [supports])
        fem.petsc.set_bc(b, supports)
        solver.solve(b, solution.vector)
        iterations += solver.getIterationNumber()
        memory.x.array[:] = decay * memory.x.array + gain * (solution.x.array - before)
        before[:] = solution.x.array
    done = process_time()

    strain = ufl.sym(ufl.grad(solution))
    relaxed = stress((1 - share) * strain + ufl.sym(ufl.grad(memory)))
    state = (1 - half) * stress(strain) + half * relaxed
    residual = fem.petsc.assemble_vector(fem.form(ufl.inner(state, ufl.sym(ufl.grad(v))) * ufl.dx))
    force = float(residual.array.reshape(-1, 3)[dofs[1], 2].sum())
    return {"stepping": done - ready, "force": force, "iterations": iterations}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), json.loads(sys.argv[2]))))
