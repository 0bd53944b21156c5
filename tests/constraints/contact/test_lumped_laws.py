"""Laws of contact at single masses on a tilted floor: spec 8 (R12, R13, R15, resets, friction, bounces)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.contact.lumped import Contact, contact_stages
from rheotwin.constraints.contact.pack import pack_contact
from rheotwin.constraints.contact.setup import ContactSetup, ToolDrive
from rheotwin.constraints.motion import Motion, at_rest
from rheotwin.constraints.tools import CYLINDER, PLANE, RigidTool, pack_geometry
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.program import Clock, Program

Array = np.ndarray
WEIGHT, STIFFNESS = 9.8, 1000.0


def _settling(contact: Contact, x: Array, v: Array, reaction: Array, h: float) -> Program:
    clock, forever = Clock(), Now(np.full(1, np.inf))
    contact.response[:] = 0.0  # all contacts as pairs; `test_lone` compares
    return Program(contact_stages(contact, x, v, reaction, forever, clock.end, looks=False), h, clock)


def _run(
    settling: Program, contact: Contact, x: Array, v: Array, force: Array, mass: Array, reaction: Array, path: Array
) -> None:
    """Take a step of symplectic Euler per row of `path` (n, 3), which gets the first mass's place."""
    h = settling.step
    for step in range(len(path)):
        reaction[:] = 0.0
        contact.before_kick[:] = v
        v += h * force / mass[:, None]
        settling.run(step, 1)
        x += h * v
        path[step] = x[0]


class Masses:
    """Masses with a rigid tool, without anything else between them."""

    def __init__(self, law: ContactLaw, places: Any, tools: Any = None, masses: Any = None, held: Any = None) -> None:
        self.x = np.pad(np.array(places, dtype=float), ((0, 0), (0, 1)))
        self.v, self.reaction = np.zeros_like(self.x), np.zeros_like(self.x)
        self.mass = np.ones(len(self.x)) if masses is None else np.array(masses, dtype=float)
        nodes = np.arange(len(self.x))
        tools = (plane(nodes),) if tools is None else tuple(tools(nodes))
        owners = np.full((len(self.x), 2), -1)
        if held is not None:
            owners[held] = 0
        mesh = SimpleNamespace(p=np.array([[0.0, 1.0], [0.0, 0.0]]), t=np.array([[0], [1]]))
        problem: Any = SimpleNamespace(
            points=self.x[:, :2],
            masses=self.mass,
            dimension=2,
            owners=owners,
            extent=1.0,
            tools=tools,
            contact=ContactSetup(law=law, tool_laws=(law,) * len(tools)),
            bodies=[SimpleNamespace(mesh=mesh)],
        )
        self.contact, self.settling = pack_contact(problem), dict[float, Program]()

    def run(self, duration: float, h: float, force: Any = (0.0, -WEIGHT)) -> Array:
        """Return the path (steps, 3) of the first mass; every mass m has the force m `force`."""
        path = np.zeros((round(duration / h), 3))
        forces = self.mass[:, None] * np.array([*force, 0.0])
        if h not in self.settling:
            self.settling[h] = _settling(self.contact, self.x, self.v, self.reaction, h)
        _run(self.settling[h], self.contact, self.x, self.v, forces, self.mass, self.reaction, path)
        return path


def plane(nodes: Array, normal: Any = (0.0, 1.0), motion: Motion | None = None, **more: Any) -> RigidTool:
    geometry = pack_geometry(center=np.zeros(2), reference=np.array(normal))
    return RigidTool("floor", PLANE, geometry, motion or at_rest(4), nodes, **more)


def soft(law: str = "penalty", **more: Any) -> ContactLaw:
    return ContactLaw(law=law, stiffness=STIFFNESS, **{"damping": 20.0, **more})


def rubbing(law: str = "exact", **more: Any) -> ContactLaw:
    return ContactLaw(law=law, **{"friction": 0.3, "static_friction": 0.3, **more})


def test_rest_height_of_a_penalty() -> None:
    """R12: -m g/K."""
    masses = Masses(soft(), [(0.0, 0.5)])
    assert masses.run(40.0, 1e-3)[-1, 1] == pytest.approx(-WEIGHT / STIFFNESS, abs=1e-12)
    np.testing.assert_allclose(masses.contact.exerted.tool_force, [[0.0, -WEIGHT, 0.0]], rtol=1e-9)


@pytest.mark.parametrize("gain", [500.0, 2000.0])
def test_rest_height_of_an_integrated_penalty(gain: float) -> None:
    """R12: 0, with J = -m g/I; the slow pole is about -I/K, so exp(-40 I/K) is left."""
    masses = Masses(soft("integrated", integral=gain), [(0.0, 0.5)])
    assert abs(masses.run(40.0, 1e-3)[-1, 1]) < 1e-9
    assert masses.contact.contacts.history.integral[0] == pytest.approx(-WEIGHT / gain, rel=1e-8)


@pytest.mark.parametrize(("gain", "region", "settles"), [(1e4, 0.0, False), (1e4, 1e-3, False), (1e4, 0.01, True)])
def test_region_ends_the_resets_of_a_strong_integral(gain: float, region: float, settles: bool) -> None:
    """Spec 8 [V]: J is forgotten at every lift-off further than the region; -12e-3..3e-3 without end, or 1e-17."""
    path = Masses(soft("integrated", integral=gain, region=region), [(0.0, 0.5)]).run(40.0, 1e-3)
    low, high = path[-5000:, 1].min(), path[-5000:, 1].max()
    if settles:
        assert max(-low, high) < 1e-12
    else:
        assert low == pytest.approx(-12e-3, rel=0.1)
        assert 1e-3 < high < 4e-3


def test_integral_beyond_the_bound_never_settles() -> None:
    """I < C K/m = 20000; 19000 is too near to it."""
    path = Masses(soft("integrated", integral=19000.0, region=0.01), [(0.0, 0.5)]).run(40.0, 1e-3)
    assert np.ptp(path[-5000:, 1]) > 0.01


@pytest.mark.parametrize("law", ["integrated", "penalty"])
@pytest.mark.parametrize("region", [0.005, 0.009, 0.0098, 0.012, 0.02])
def test_rest_height_of_the_offset_form(region: float, law: str) -> None:
    """R13: max(0, delta - m g/K); a penalty without integral rests at delta - m g/K in any case."""
    more = {"integral": 2000.0} if law == "integrated" else {}
    path = Masses(soft(law, damping=40.0, region=region, offset=True, **more), [(0.0, 0.5)]).run(40.0, 1e-3)
    rest = region - WEIGHT / STIFFNESS
    assert path[-1, 1] == pytest.approx(max(0.0, rest) if law == "integrated" else rest, abs=1e-9)


@pytest.mark.parametrize("law", ["exact", "impulse", "penalty"])
@pytest.mark.parametrize("rule", ["exact", "regularised"])
def test_stop_distance(law: str, rule: str) -> None:
    """R15: v0^2/(2 mu g); symplectic Euler loses half a step's way, v0 h/2, which is 0.15 % here."""
    springs = {"stiffness": 1e4, "damping": 100.0} if law == "penalty" else {}
    slow = {"slip_speed": 1e-3} if rule == "regularised" else {}
    masses = Masses(rubbing(law, friction_rule=rule, **slow, **springs), [(0.0, -WEIGHT / 1e4 if springs else 0.0)])
    masses.v[0, 0] = 2.0
    end = masses.run(1.0, 1e-3)[-1, 0]
    exact = 2.0**2 / (2.0 * 0.3 * WEIGHT)
    assert end == pytest.approx(exact, rel=2e-3)
    assert end == pytest.approx(exact - 1e-3, abs=5e-6)
    assert abs(masses.v[0, 0]) < 1e-12


def incline(degrees: float) -> Any:
    slope = np.radians(degrees)
    return lambda nodes: [plane(nodes, (np.sin(slope), np.cos(slope)))], np.array([np.cos(slope), -np.sin(slope)])


def test_acceleration_on_an_incline() -> None:
    """R15: 30 degrees, mu = 0.3: g (sin - mu cos) = 2.3539."""
    tools, down = incline(30.0)
    masses = Masses(rubbing(), [(0.0, 0.0)], tools)
    masses.run(1.0, 1e-3)
    assert masses.v[0, :2] @ down == pytest.approx(WEIGHT * (0.5 - 0.3 * np.sqrt(0.75)), rel=1e-12)


def test_static_friction_holds_and_kinetic_friction_does_not() -> None:
    """22 degrees, between mu = 0.3 and mu_s = 0.5 (tan = 0.404): at rest it stays, pushed it goes on sliding."""
    tools, down = incline(22.0)
    law = rubbing(static_friction=0.5)
    resting, pushed = Masses(law, [(0.0, 0.0)], tools), Masses(law, [(0.0, 0.0)], tools)
    pushed.v[0, :2] = 0.5 * down
    pushed.run(1e-3, 1e-3, (0.0, -WEIGHT))
    for masses in (resting, pushed):
        masses.run(1.0, 1e-3)
    assert np.linalg.norm(resting.x) < 1e-12
    gained = WEIGHT * (np.sin(np.radians(22.0)) - 0.3 * np.cos(np.radians(22.0)))
    assert pushed.v[0, :2] @ down == pytest.approx(0.5 + 1.001 * gained, rel=1e-9)


def test_what_is_pressed_into_a_viscous_floor_sinks_as_in_mud() -> None:
    """m v' = -m g - C v from rest at the surface, v = -(m g/C)(1 - (1 + h C/m)^-n): order 1, and no pull."""
    damping, errors = 4.0, []
    for h in (0.01, 0.005):
        masses = Masses(ContactLaw(law="viscous", damping=damping), [(0.0, -1e-12)])
        path = masses.run(1.0, h)
        steps = len(path)
        assert masses.v[0, 1] == pytest.approx(-WEIGHT / damping * (1 - (1 + h * damping) ** -steps), rel=1e-12)
        errors.append(path[-1, 1] + WEIGHT / damping * (1.0 - (1.0 - np.exp(-damping)) / damping))
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)
    assert masses.contact.exerted.tool_force[0, 1] == pytest.approx(damping * masses.v[0, 1], rel=1e-12)
    masses.run(0.3, 0.01, (0.0, 2.0 * WEIGHT))
    assert masses.v[0, 1] > 0.0
    assert masses.contact.exerted.active[0] == 0


def test_regularised_friction_creeps() -> None:
    """Below the limit the slip balances the pull: v_eps g sin/(mu g cos)."""
    tools, down = incline(10.0)
    masses = Masses(rubbing(friction_rule="regularised", slip_speed=0.01), [(0.0, 0.0)], tools)
    masses.run(1.0, 1e-3)
    assert masses.v[0, :2] @ down == pytest.approx(0.01 * np.tan(np.radians(10.0)) / 0.3, rel=1e-9)


def test_belt_carries_along_and_roller_turns() -> None:
    """A floor that moves in its own plane, and a roller turning below: both bring a mass to their surface's speed."""
    belt = Motion(np.array([0.0, 1.0]), np.array([[0.0] * 4, [0.5, 0.0, 0.0, 0.0]]))
    masses = Masses(rubbing(), [(0.0, 0.0)], lambda nodes: [plane(nodes, motion=belt)])
    masses.run(0.1, 1e-3)
    assert masses.v[0, 0] == pytest.approx(0.3 * WEIGHT * 0.1, rel=1e-12)
    masses.run(0.2, 1e-3)
    turning = Motion(np.array([0.0, 1.0]), np.array([[0.0] * 4, [0.0, 0.0, 0.0, -2.0]]))
    geometry = pack_geometry(center=np.array([0.0, -0.25]), axis=np.array([0.0, 0.0, 1.0]), radius=0.25)
    roller = Masses(
        rubbing(friction=50.0, static_friction=50.0),
        [(0.0, 0.0)],
        lambda nodes: [RigidTool("roller", CYLINDER, geometry, turning, nodes)],
    )
    roller.run(2e-3, 1e-4)
    assert roller.v[0, 0] == pytest.approx(0.25 * 2.0, rel=1e-3)
    force, moment = roller.contact.exerted.tool_force[0], roller.contact.exerted.tool_moment[0]
    arm = roller.x[0] + np.array([0.0, 0.25, 0.0])
    np.testing.assert_allclose(moment, np.cross(arm, force), atol=1e-5)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.9, 1.0])
def test_bounce_height(restitution: float) -> None:
    """e^2 of the height fallen; a step of symplectic Euler shifts heights by at most the way of one step, v h."""
    for h in (1e-3, 1e-4):
        path = Masses(ContactLaw(law="impulse", restitution=restitution), [(0.0, 0.5)]).run(0.8, h)[:, 1]
        low = int(np.argmin(path[: int(0.36 / h)]))
        assert path[low] > -1e-12
        assert path[low:].max() == pytest.approx(restitution**2 * 0.5, abs=h * np.sqrt(WEIGHT))


def test_impact_law_of_the_paper() -> None:
    """One step: the speed along the normal ends at e |v_n|, the tangential one at v_t - mu (1 + e) |v_n|.

    Both last all of the step, without the paper's remaining time. What is inside and leaves is lifted to the surface.
    """
    masses = Masses(rubbing("impulse", restitution=0.5), [(0.0, 0.02)])
    masses.v[0, :2] = 3.0, -5.0
    masses.run(0.01, 0.01, (0.0, 0.0))
    speed = 3.0 - 0.3 * 1.5 * 5.0
    np.testing.assert_allclose(masses.v[0], [speed, 2.5, 0.0], atol=1e-14)
    np.testing.assert_allclose(masses.x[0], [0.01 * speed, 0.02 + 0.01 * 2.5, 0.0], atol=1e-14)
    leaving = Masses(rubbing("impulse", restitution=0.5), [(0.0, -0.02)])
    leaving.v[0, 1] = 1.0
    leaving.run(0.01, 0.01, (0.0, 0.0))
    np.testing.assert_allclose([leaving.x[0, 1], leaving.v[0, 1]], [0.0, 1.0], atol=1e-14)


def test_rebounds_give_no_energy() -> None:
    """A mass that a spring of 400 rad/s presses on the floor, h om = 0.8, e = 1: its energy is kept to rounding.

    Symplectic Euler keeps v_before v_after/2 + om^2 x^2/2 where nothing touches, and rebounds change it by
    J (v_before + v_after)/2 = 0, whatever the step. The rebound of what the kick made of the speed gains every time.
    """
    square, h = 400.0**2, 2e-3
    masses = Masses(ContactLaw(law="impulse", restitution=1.0), [(0.0, 0.1)])
    energies, hits = [], 0
    for _ in range(2000):
        before, stretch = masses.v[0, 1], masses.x[0, 1] + 0.05
        masses.run(h, h, (0.0, -square * stretch))
        after = masses.v[0, 1]
        if after == pytest.approx(before - h * square * stretch, abs=1e-9):
            energies.append(0.5 * before * after + 0.5 * square * stretch**2)
        else:
            hits += 1
    assert hits > 300
    np.testing.assert_allclose(energies, energies[0], rtol=1e-9)


def test_energy_after_a_frictionless_bounce_off_a_spring() -> None:
    """Without damping the scheme keeps a nearby energy: the error is of its order, one, and has no trend."""
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        masses = Masses(soft(damping=0.0), [(0.0, 0.5)])
        path = masses.run(20.0, h)[:, 1]
        tops = path[1:-1][(path[1:-1] > path[:-2]) & (path[1:-1] >= path[2:])]
        assert len(tops) > 25
        errors.append(np.abs(tops - 0.5).max())
    slope = np.polyfit(np.log([4.0, 2.0, 1.0]), np.log(errors), 1)[0]
    assert slope > 0.8
    assert errors[-1] < 0.01


def test_driven_tool_and_mass_exchange_momentum() -> None:
    """A plate of 2 kg falls on a mass of 1 kg: together at 2/3 of its speed, or apart at half of it."""
    drive = ToolDrive((False, True, False, False), 2.0, 0.0, at_rest(4), (0.0, -1.0, 0.0, 0.0))

    def plate(nodes: Array) -> list[RigidTool]:
        geometry = pack_geometry(center=np.array([0.0, 0.105]), reference=np.array([0.0, -1.0]))
        return [RigidTool("plate", PLANE, geometry, at_rest(4), nodes, drive=drive)]

    for law, speeds in ((ContactLaw(), (-2 / 3, -2 / 3)), (ContactLaw(law="impulse", restitution=0.5), (-1.0, -0.5))):
        masses = Masses(law, [(0.0, 0.0)], plate)
        masses.run(0.2, 1e-2, (0.0, 0.0))
        motion = masses.contact.contacts.tools.motion
        np.testing.assert_allclose([masses.v[0, 1], motion.velocity[0, 1]], speeds, atol=1e-13)
        total = masses.mass[0] * masses.v[0, 1] + 2.0 * motion.velocity[0, 1]
        assert total == pytest.approx(-2.0, abs=1e-14)


def test_driven_roller_is_turned_by_friction() -> None:
    """A free roller under a sliding mass: r = 0.25, I = 0.01; slip ends with v = omega r, L about its axis is kept."""
    drive = ToolDrive((False, False, False, True), 1.0, 0.01, at_rest(4))
    geometry = pack_geometry(center=np.array([0.0, -0.25]), axis=np.array([0.0, 0.0, 1.0]), radius=0.25)
    masses = Masses(
        rubbing(friction=0.5, static_friction=0.5),
        [(0.0, 0.0)],
        lambda nodes: [RigidTool("roller", CYLINDER, geometry, at_rest(4), nodes, drive=drive)],
    )
    masses.v[0, 0] = 0.02
    masses.run(0.01, 1e-4)
    spin = masses.contact.contacts.tools.motion.velocity[0, 3]
    assert spin == pytest.approx(-0.25 * 0.02 / (0.01 + 0.25**2), rel=1e-2)


def test_supports_bear_what_they_hold() -> None:
    """A mass held in x on a wall leaning at 45 degrees, pressed down: it may only move in y; the support takes x."""
    wall = lambda nodes: [plane(nodes, (1.0, 1.0))]  # noqa: E731
    masses = Masses(ContactLaw(), [(0.0, 0.0)], wall, held=([0], [0]))
    masses.run(0.1, 1e-3)
    np.testing.assert_allclose(masses.x[0], 0.0, atol=1e-14)
    np.testing.assert_allclose(masses.reaction[0], [-WEIGHT, 0.0, 0.0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(masses.contact.exerted.tool_force[0], [-WEIGHT, -WEIGHT, 0.0], rtol=1e-9, atol=1e-9)


def test_mass_between_two_walls() -> None:
    """A groove of 60 degrees: both walls push, neither gives way to the other, and together they bear the weight."""
    normals = np.array([[np.cos(0.5), np.sin(0.5)], [-np.cos(0.6), np.sin(0.6)]])
    masses = Masses(ContactLaw(), [(0.01, 0.1)], lambda nodes: [plane(nodes, tuple(n)) for n in normals])
    masses.run(1.0, 1e-3)
    assert (normals @ masses.x[0, :2]).min() > -1e-9
    np.testing.assert_allclose(masses.contact.exerted.tool_force.sum(axis=0), [0.0, -WEIGHT, 0.0], atol=1e-6)
