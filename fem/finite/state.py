"""What a model at large strain carries from step to step, and how a checkpoint keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.finite.body import BodyState
from rheotwin.fem.finite.model import FiniteModel
from rheotwin.fem.ledger import Ledger

Array = NDArray[np.float64]

_VECTORS = ("u", "v", "rate", "acceleration", "force")


@dataclass(frozen=True)
class State:
    """Displacement and velocity (size,), the states of the bodies, and who touches whom. Never changed in place."""

    u: Array
    v: Array
    rate: Array
    """du/h of the last step [m/s]."""
    acceleration: Array
    force: Array
    """Nodal forces of springs and memories [N]."""
    bodies: tuple[BodyState, ...]
    touching: NDArray[np.bool_]
    """Pairs (tool, node) in contact."""
    ledger: Ledger

    def save(self) -> dict[str, Array]:
        """Return copies of all arrays by name; strains follow from the displacement and are left out."""
        saved = {name: getattr(self, name) for name in (*_VECTORS, "touching")}
        saved["work"] = np.array(astuple(self.ledger))
        for b, body in enumerate(self.bodies):
            saved |= {f"pressures_{b}": body.pressures, f"shears_{b}": body.shears, f"strain_rate_{b}": body.rate}
        return {name: np.array(array) for name, array in saved.items()}


def state_at_rest(model: FiniteModel) -> State:
    """Return the state of a model that has never moved."""
    zeros = np.zeros(model.size)
    pairs = model.frame.contact.pairs(model.problem.points, 0.0)
    bodies = tuple(body.at_rest(zeros) for body in model.bodies)
    vectors = dict.fromkeys(_VECTORS, zeros)
    return State(**vectors, bodies=bodies, touching=np.zeros(len(pairs.tool), bool), ledger=Ledger())


def restored_state(model: FiniteModel, saved: Mapping[str, Array]) -> State:
    """Return the state that `State.save` wrote."""
    vectors = {name: np.array(saved[name]) for name in _VECTORS}
    bodies = tuple(
        replace(
            body.at_rest(vectors["u"]),
            pressures=np.array(saved[f"pressures_{b}"]),
            shears=np.array(saved[f"shears_{b}"]),
            rate=np.array(saved[f"strain_rate_{b}"]),
        )
        for b, body in enumerate(model.bodies)
    )
    ledger = Ledger(*(float(value) for value in saved["work"]))
    return State(**vectors, bodies=bodies, touching=np.array(saved["touching"], dtype=bool), ledger=ledger)
