"""Lone contacts settled on the spot against the same contacts as pairs, and lists of near candidates that hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.contact.lumped import Contact, contact_stages, look_back
from rheotwin.constraints.contact.near_tools import forget_list
from rheotwin.constraints.contact.pack import pack_contact
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import PLANE, SPHERE, RigidTool, pack_geometry
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.program import Clock, Program

Array = np.ndarray


STEP, STEPS = 1e-3, 600
LAWS = (
    ContactLaw(law="exact"),
    ContactLaw(law="exact", friction=0.2, static_friction=0.4),
    ContactLaw(law="impulse", restitution=0.5, friction=0.3, static_friction=0.3),
    ContactLaw(law="penalty", stiffness=2e3, damping=5.0, friction=0.3, friction_rule="regularised", slip_speed=1e-2),
    ContactLaw(law="integrated", stiffness=2e3, damping=20.0, integral=2e3, region=5e-3),
)


class Settling:
    """The stages of contact as a program of their own."""

    def __init__(self, contact: Contact, x: Array, v: Array, reaction: Array, lone: bool = True) -> None:
        clock, self._fastest = Clock(), np.zeros(1)
        if not lone:
            contact.response[:] = 0.0
        stages = contact_stages(contact, x, v, reaction, Now(self._fastest), clock.end)
        self._program = Program(stages, STEP, clock)

    def take(self, step: int, fastest: float) -> None:
        """Settle the contacts of a step in which nobody is faster than that."""
        self._fastest[0] = fastest
        assert self._program.run(step, 1) == 1


def packed(law: ContactLaw, places: Array) -> Contact:
    """Return contact of masses with a floor that rises and sinks, and a ball that comes and goes beside them."""
    nodes, times = np.arange(len(places)), np.array([0.0, 0.2, 0.4, 0.6])
    floor = Motion(times, np.array([[0, 0, z, 0] for z in (0.0, 0.05, -0.02, 0.03)], float), smooth=True)
    ball = Motion(times, np.array([[x, 0, 0, w] for x, w in ((0, 0), (-0.3, 1), (-0.1, 2), (-0.5, 2))], float))
    up = np.array([0.0, 0.0, 1.0])
    tools = (
        RigidTool("floor", PLANE, pack_geometry(center=np.zeros(3), reference=up), floor, nodes),
        RigidTool("ball", SPHERE, pack_geometry(center=np.array([1.3, 0.0, 0.3]), radius=0.4), ball, nodes),
    )
    mesh = SimpleNamespace(p=np.array([[0.0, 0.1], [0.0, 0.0], [0.0, 0.0]]), t=np.array([[0], [1]]))
    problem: Any = SimpleNamespace(
        points=places, masses=np.linspace(0.5, 2.0, len(places)), dimension=3, owners=np.full(places.shape, -1),
        extent=1.0, tools=tools, contact=ContactSetup(law=law, tool_laws=(law, law)),
        bodies=[SimpleNamespace(mesh=mesh)],
    )  # fmt: skip
    contact = pack_contact(problem)
    return contact


def run(law: ContactLaw, how: str) -> tuple[Array, Array, Contact, int]:
    """Return places and the impulse on both tools after the run, and how often somebody was pushed."""
    random = np.random.default_rng(3)
    x = random.uniform(0.0, 1.0, (40, 3)) * [1.0, 1.0, 0.2]
    v, reaction, contact = random.normal(0.0, 0.3, x.shape), np.zeros_like(x), packed(law, x.copy())
    settling = Settling(contact, x, v, reaction, how != "pairs")
    total, pushed = np.zeros((2, 3)), 0
    for step in range(STEPS):
        look_back(contact, v)
        v[:, 2] -= STEP * 9.81
        if how == "anew":
            forget_list(contact.close)
        fastest = np.inf if how in ("unknown", "pairs") else float(np.linalg.norm(v, axis=1).max())
        settling.take(step, fastest)
        total += STEP * contact.exerted.tool_force
        pushed += int(contact.exerted.active[0])
        x += STEP * v
    return x, total, contact, pushed


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.law}-{law.friction}")
def test_lone_contacts_are_those_of_pairs(law: ContactLaw) -> None:
    """The closed form against projected Gauss-Seidel: rounding, grown by as many bounces as there are."""
    (x, total, contact, pushed), (wanted, forces, other, count) = run(law, "fast"), run(law, "pairs")
    assert pushed == count > 500
    np.testing.assert_allclose(x, wanted, atol=1e-8)
    np.testing.assert_allclose(total, forces, atol=1e-7)
    np.testing.assert_allclose(contact.exerted.tool_moment, other.exerted.tool_moment, atol=1e-5)
    np.testing.assert_array_equal(contact.contacts.history.active, other.contacts.history.active)


@pytest.mark.parametrize("how", ["anew", "unknown"])
def test_lists_change_nothing(how: str) -> None:
    """Bit for bit, so that a restart, which begins with a new list, does not show."""
    kept, made = run(LAWS[1], "fast"), run(LAWS[1], how)
    np.testing.assert_array_equal(kept[0], made[0])
    np.testing.assert_array_equal(kept[1], made[1])


def test_list_holds_for_many_steps() -> None:
    """The list of a mass at rest far away is made once: its pose is the tool's of the first step."""
    contact = packed(LAWS[0], np.array([[0.0, 0.0, 5.0]]))
    x, v, reaction = np.array([[0.0, 0.0, 5.0]]), np.array([[1.0, 0.0, 0.0]]), np.zeros((1, 3))
    settling, made = Settling(contact, x, v, reaction), []
    for step in range(40):
        settling.take(step, 1.0)
        x += STEP * v
        made.append(contact.close.pose[1, 0])
    assert 1 < len(set(made)) < 5


def test_masses_between_closing_walls_are_counted_once() -> None:
    """What one wall throws into the other is not settled there as well: no list of nodes is longer than the nodes."""
    law, x = ContactLaw(law="impulse", restitution=0.5), np.column_stack([np.linspace(0.0, 0.1, 5), np.zeros((5, 2))])
    nodes, still = np.arange(5), np.zeros((1, 4))
    right = Motion(np.array([0.0, 0.1]), np.array([[0.0, 0, 0, 0], [-0.12, 0, 0, 0]]))
    along = np.array([1.0, 0.0, 0.0])
    tools = (
        RigidTool("l", PLANE, pack_geometry(center=np.zeros(3), reference=along), Motion(np.zeros(1), still), nodes),
        RigidTool("r", PLANE, pack_geometry(center=0.1 * along, reference=-along), right, nodes),
    )
    mesh = SimpleNamespace(p=np.array([[0.0, 0.025], [0.0, 0.0], [0.0, 0.0]]), t=np.array([[0], [1]]))
    problem: Any = SimpleNamespace(
        points=x, masses=np.ones(5), dimension=3, owners=np.full((5, 3), -1), extent=0.1, tools=tools,
        contact=ContactSetup(law=law, tool_laws=(law, law)), bodies=[SimpleNamespace(mesh=mesh)],
    )  # fmt: skip
    contact = pack_contact(problem)
    touched = contact.exerted.touched
    contact = contact._replace(
        exerted=contact.exerted._replace(touched=np.full(50, -1))
    )  # room to see what is too much
    assert len(touched) == 5
    v, reaction = np.zeros_like(x), np.zeros_like(x)
    settling = Settling(contact, x, v, reaction)
    for step in range(100):
        settling.take(step, np.inf)
        x += STEP * v
        filled = int(contact.exerted.filled[0])
        assert len(set(contact.exerted.touched[:filled].tolist())) == filled
