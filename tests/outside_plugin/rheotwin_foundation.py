"""A force from a package of its own: an elastic foundation that draws every particle to its place at rest.
f_i = -w^2 m_i (x_i - X_i), E = sum w^2 m_i |x_i - X_i|^2/2
A free body as a whole swings about its place with the angular frequency w, whatever else it does."""

from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.sparse import csr_matrix, diags

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.problem import Problem
from rheotwin.tensors import padded


class FoundationOptions(BaseModel):
    """Options of the foundation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frequency: float = Field(gt=0.0, description="angular frequency w [1/s]")


@compiled(contract=True)
def pull(stiffness: Any, rest: Any, x: Any, force: Any) -> None:
    """Add -k (x - X) [N]."""
    for node in range(x.shape[0]):
        for c in range(3):
            force[node, c] -= stiffness[node] * (x[node, c] - rest[node, c])


class Foundation:
    """Springs to the places at rest."""

    options: ClassVar[type[BaseModel]] = FoundationOptions

    def __init__(self, problem: Problem, options: FoundationOptions) -> None:
        self._stiffness, self._rest = options.frequency**2 * problem.masses, padded(problem.points)
        self._dimension = problem.dimension

    def matrices(self) -> tuple[csr_matrix, csr_matrix]:
        """Return stiffness [N/m] and viscosity [N s/m] on the components."""
        stiffness = csr_matrix(diags(np.repeat(self._stiffness, self._dimension)))
        return stiffness, csr_matrix(stiffness.shape)

    def stages(self, x: Any, v: Any, force: Any) -> list[Stage]:
        return [Stage(pull, (self._stiffness, self._rest, x, force))]

    def energy(self, x: Any) -> float:
        """Return the energy of the springs [J]."""
        return 0.5 * float(np.sum(self._stiffness[:, None] * (x - self._rest) ** 2))
