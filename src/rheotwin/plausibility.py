"""What the numbers of a scene amount to: mass, size, times and wave speed of its bodies, and which of them look wrong.

`rheotwin info` and the start of a run print them, because a slip of a unit shows here before it costs a run. So do
tools that start inside a body, and tools too fast for the steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import CENTER, PLANE, REFERENCE, RigidTool, gaps_in_pose, turning_reach
from rheotwin.errors import RheotwinError
from rheotwin.materials import Law
from rheotwin.materials.channel import Channel
from rheotwin.meshing import smallest_surface_edge
from rheotwin.problem import Problem, ProblemBody
from rheotwin.tensors import padded

TOUCHING = 1e-6
"""A tool deeper inside than this share of a body's size at the start is worth a warning."""
MOST_PARTS = 64
"""Parts a default step is divided into, at most, for the sake of fast tools."""
CLOSE = 0.9
"""Share of the smallest edge that a tool then moves in a step."""
SAMPLES, SOON = 512, 1e-7
"""Times at which the speed of a tool that forces move is looked at, and the first as a share of the duration."""


def warn_of_buried_tools(tools: tuple[RigidTool, ...], bodies: tuple[ProblemBody, ...], points: Array) -> None:
    """Warn of tools that have nodes inside them at the start, or start inside a body themselves."""
    size = float(np.max(np.ptp(points, axis=0)))
    places = padded(points)
    for tool in tools:
        gaps = gaps_in_pose(tool, tool.motion.at(0.0), places[tool.candidates])
        inside = int(np.count_nonzero(gaps < -TOUCHING * size))
        if inside:
            warnings.warn(
                f"tools.{tool.name}: {inside} surface nodes start inside it, by up to {-gaps.min():.4g} m; the first "
                "step pushes them out at once; move `center` or start the motion outside",
                stacklevel=2,
            )
        for body in bodies:
            if _starts_within(tool, body, TOUCHING * size):
                warnings.warn(
                    f"tools.{tool.name}: it starts inside body '{body.name}', whose surface it cannot touch from "
                    "there; move `center` outside",
                    stacklevel=2,
                )


def _starts_within(tool: RigidTool, body: ProblemBody, margin: float) -> bool:
    """Tell whether the tool's centre (of a bar's face: a point just behind it) lies in an element of the body."""
    center = tool.geometry[CENTER : CENTER + 3] + tool.motion.at(0.0)[:3]
    if tool.surface is not None:
        # the centre of a surface from a file may be anywhere, its points are on the tool
        center = center + tool.surface.corner[0, :3]
    if tool.shape == PLANE:
        center = center - 10.0 * margin * tool.geometry[REFERENCE : REFERENCE + 3]
    low, high = body.mesh.p.min(axis=1), body.mesh.p.max(axis=1)
    place = center[: len(low)]
    if np.any(place <= low + margin) or np.any(place >= high - margin):
        return False
    try:
        body.mesh.element_finder()(*place[:, None])
    except ValueError:  # scikit-fem's word for a point outside of all elements
        return False
    return True


def warn_of_fast_tools(problem: Problem, step: float) -> None:
    """Warn of tools that move further than the smallest edge of a body's surface in one `step` [s].

    Contact is looked for at the end of each step: what was passed meanwhile is never felt.
    """
    for tool in problem.tools:
        smallest, speed = _edge_and_speed(tool, problem)
        if speed * step > smallest:
            warnings.warn(
                f"tools.{tool.name}: it moves up to {speed * step:.4g} m in a step of {step:.4g} s, further than the "
                f"smallest surface edge ({smallest:.4g} m), and can jump over nodes; take steps below "
                f"{smallest / speed:.4g} s or move it more slowly",
                stacklevel=2,
            )


def divided_for_fast_tools(problem: Problem, usual: float) -> float:
    """Return a default step of `usual` [s], or so short that no tool passes the smallest edge of a surface in one.

    It is divided by 64 at most: beyond that a warning remains, because such a tool is more likely a slip of the pen.
    """
    pairs = (_edge_and_speed(tool, problem) for tool in problem.tools)
    passing = min((smallest / speed for smallest, speed in pairs if speed > 0.0), default=np.inf)
    return float(min(usual, max(CLOSE * passing, usual / MOST_PARTS)))


def _edge_and_speed(tool: RigidTool, problem: Problem) -> tuple[float, float]:
    """Return the smallest edge [m] of the surfaces a tool may touch and the largest speed [m/s] of its own surface."""
    bodies = [
        body for body in problem.bodies if np.isin(tool.candidates, np.arange(body.nodes.start, body.nodes.stop)).any()
    ]
    smallest = min((smallest_surface_edge(body.mesh) for body in bodies), default=np.inf)
    return smallest, max(_top_speed(tool, problem.extent), _driven_speed(tool, problem))


def table_rates(motion: Motion) -> Array:
    """Return the largest rate of each piece of a motion (pieces, components); a cubic ease has 1.5 times its mean."""
    if len(motion.times) < 2:
        return np.zeros((1, motion.values.shape[1]))
    peak = 1.5 if motion.smooth else 1.0
    return np.asarray(peak * np.diff(motion.values, axis=0) / np.diff(motion.times)[:, None])


def _top_speed(tool: RigidTool, extent: float) -> float:
    """Return the largest speed [m/s] of a tool's surface along its table; turning round tools stay where they are."""
    rates = table_rates(tool.motion)
    if tool.drive is not None:
        rates = np.where(tool.drive.free, 0.0, rates) + np.where(tool.drive.free, tool.drive.velocity, 0.0)
    speeds = np.linalg.norm(rates[:, :3], axis=1) + np.abs(rates[:, 3]) * _reach(tool, extent)
    return float(speeds.max())


def _driven_speed(tool: RigidTool, problem: Problem) -> float:
    """Return the largest speed [m/s] that forces alone, v = v0 + int F/M dt, give a tool on its way through the bodies.

    Beyond the gap at the start and the extent of the bodies it has either met what holds it up or passed by.
    """
    if tool.drive is None or len(tool.candidates) == 0:
        return 0.0
    end, force = problem.scene.duration, tool.drive.force
    early = end * np.geomspace(SOON, 1.0, SAMPLES)  # a strong force is through long before a weak one has begun
    times = np.unique(np.concatenate([np.linspace(0.0, end, SAMPLES), early, force.times[force.times < end]]))
    times = times[times >= 0.0]
    rates = np.array([force.at(time) for time in times]) * tool.drive.inverse_masses
    start = np.where(tool.drive.free, tool.drive.velocity, 0.0)
    from scipy.integrate import cumulative_trapezoid  # loads much that few runs need

    velocities = start + cumulative_trapezoid(rates, times, axis=0, initial=0.0)
    way = np.linalg.norm(cumulative_trapezoid(velocities, times, axis=0, initial=0.0)[:, :3], axis=1)
    gaps = gaps_in_pose(tool, tool.motion.at(0.0), padded(problem.points)[tool.candidates])
    through = max(0.0, float(gaps.min())) + problem.extent
    count = min(len(times), int(np.count_nonzero(np.maximum.accumulate(way) < through)) + 1)
    speeds = np.linalg.norm(velocities[:, :3], axis=1) + np.abs(velocities[:, 3]) * _reach(tool, problem.extent)
    return float(speeds[:count].max())


def _reach(tool: RigidTool, extent: float) -> float:
    """Return how far [m] from its axis a tool has surface that moves across itself when it turns."""
    reach = turning_reach(tool)
    return reach if np.isfinite(reach) else extent


LIGHTEST, HEAVIEST = 1.0, 25_000.0
"""Densities [kg/m3] of solids and foams: aerogel to osmium."""
STIFFEST = 1.3e12
"""Young's modulus [Pa] of diamond."""


@dataclass(frozen=True)
class BodyFacts:
    """What one body's numbers amount to, in SI units."""

    mass: float
    size: tuple[float, ...]
    density: float
    young: float
    """Stiffest sudden Young's modulus of its laws [Pa]; 0 for a fluid."""
    wave_speed: float
    """c = sqrt((K + 4/3 G)/rho) of the stiffest law, in 1D sqrt(E/rho) [m/s]."""
    times: tuple[float, float] | None
    """Fastest and slowest time of its laws [s]; none for springs alone."""
    explicit_step: float
    """Smallest edge over wave speed [s]: about where explicit steps end."""

    def sentence(self) -> str:
        """Return the facts in one line."""
        size = " x ".join(f"{edge:.4g}" for edge in self.size)
        said = f"{self.mass:.4g} kg, {size} m, {self.density:.4g} kg/m3, waves of {self.wave_speed:.4g} m/s"
        if np.isfinite(self.explicit_step):
            said += f" (explicit steps end near {self.explicit_step:.2g} s)"
        if self.times is not None:
            fast, slow = self.times
            said += f", times of {fast:.3g} s" if fast == slow else f", times of {fast:.3g} to {slow:.3g} s"
        return said


def _channel(law: Law, modulus: str) -> Channel | None:
    """Return one relaxation function of a law; none for laws that are not linear in the history of strain."""
    try:
        return law.channel(modulus)  # type: ignore[arg-type]
    except RheotwinError:
        return None


def _young(law: Law) -> float:
    """Return the sudden Young's modulus [Pa]: of a nonlinear law that of its first spring."""
    channel = _channel(law, "young")
    return law.parts[0].young if channel is None else channel.instantaneous


def _stiffness(law: Law, dimension: int) -> float:
    """Return the modulus of fast waves [Pa]: E in 1D, else K + 4/3 G; E where the volume cannot change."""
    bulk, shear = _channel(law, "bulk"), _channel(law, "shear")
    if dimension == 1 or bulk is None or shear is None or not np.isfinite(bulk.instantaneous):
        return _young(law)
    return bulk.instantaneous + 4.0 / 3.0 * shear.instantaneous


def _times(law: Law) -> list[float]:
    """Return the times [s] of a law: of relaxation, and eta/g of a spring beside a dashpot."""
    channel = _channel(law, "young")
    if channel is None:
        spring, *dashpots = (part.young for part in law.parts)
        return [eta / spring for eta in dashpots if eta > 0.0 and spring > 0.0]
    delayed = [channel.viscosity / channel.instantaneous] if channel.viscosity and channel.instantaneous else []
    return [*channel.times, *delayed]


def behaviour(law: Law) -> str:
    """Say whether bodies of a law bounce and what they keep (EN tables 1, 2).

    A spring bounces and keeps nothing, a dashpot keeps all and does not bounce. In a row, either part's bounce and
    either part's residue is left; side by side either's bounce, but a residue only if both keep one. So a law bounces
    when a sudden strain meets a modulus, and keeps a deformation when it has no equilibrium stress: a stress s that
    acted for t leaves the strain s t/eta.
    """
    channel = _channel(law, "young")
    if channel is None:
        return "bounces; what it keeps depends on how far or how hard it is pressed"
    bounces = "bounces" if channel.instantaneous > 0.0 else "does not bounce"
    if channel.equilibrium > 0.0 or channel.steady_viscosity <= 0.0:
        return f"{bounces}, returns to its shape"
    return f"{bounces}, keeps {100.0 / channel.steady_viscosity:.3g} % of strain for every Pa and second it is pressed"


def body_facts(problem: Problem, body: ProblemBody) -> BodyFacts:
    """Return what the numbers of one body amount to."""
    laws = [part.law for part in body.laws]
    own = problem.points[body.nodes]
    times = [time for law in laws for time in _times(law)]
    stiffness = max(_stiffness(law, problem.dimension) for law in laws)
    speed = float(np.sqrt(max(stiffness, 0.0) / body.density))
    return BodyFacts(
        mass=float(problem.masses[body.nodes].sum()),
        size=tuple(float(edge) for edge in np.ptp(own, axis=0)),
        density=body.density,
        young=max(_young(law) for law in laws),
        wave_speed=speed,
        times=(min(times), max(times)) if times else None,
        explicit_step=smallest_surface_edge(body.mesh) / speed if speed > 0.0 else np.inf,
    )


def facts(problem: Problem) -> dict[str, BodyFacts]:
    """Return what the numbers of every body amount to, by its name."""
    return {body.name: body_facts(problem, body) for body in problem.bodies}


def doubts(problem: Problem, known: dict[str, BodyFacts]) -> Iterator[str]:
    """Yield a sentence for every number that is hardly meant: its place, what follows from it, what to look at."""
    if problem.scene.units.virtual:
        return
    for body in problem.bodies:
        yield from _body_doubts(problem, body, known[body.name])
    if float(problem.gravity[-1]) > 0.0 and not np.any(problem.gravity[:-1]):
        yield (
            f"gravity: {float(problem.gravity[-1]):.4g} m/s2 pulls bodies up; write {-float(problem.gravity[-1]):.4g} "
            "where they should fall"
        )
    for name, probe in problem.scene.probes.items():
        off = float(np.linalg.norm(problem.points[problem.probes[name]] - probe.at))
        if off > max(known[probe.body].size):
            yield (
                f"probes.{name}: the nearest node of '{probe.body}' is {off:.4g} m away, further than the body is "
                "large; check the units of `at`"
            )
    slowest = min((found.wave_speed for found in known.values() if found.wave_speed > 0.0), default=np.inf)
    moved = [(f"tools.{tool.name}.motion", table_rates(tool.motion)[:, :3]) for tool in problem.tools]
    moved += [(f"supports.{item.support}.motion", table_rates(item.motion)) for item in problem.prescribed]
    fastest: dict[str, float] = {}
    for place, rates in moved:
        fastest[place] = max(fastest.get(place, 0.0), float(np.linalg.norm(rates, axis=1).max()))
    for place, speed in fastest.items():
        if speed > slowest:
            yield (
                f"{place}: moves at up to {speed:.4g} m/s, faster than the waves in a body ({slowest:.4g} m/s); check "
                "its times and lengths, the moduli and the density"
            )
    yield from _stroke_doubts(problem)


def _body_doubts(problem: Problem, body: ProblemBody, found: BodyFacts) -> Iterator[str]:
    spec = problem.scene.bodies[body.name]
    place = f"bodies.{body.name}.{'mass' if spec.mass is not None else 'density'}"
    if not LIGHTEST <= found.density <= HEAVIEST:
        yield (
            f"{place}: {found.density:.4g} kg/m3 is no solid or foam ({LIGHTEST:g} to {HEAVIEST:g}); the body has "
            f"{found.mass:.4g} kg at {' x '.join(f'{edge:.4g}' for edge in found.size)} m; check the units"
        )
    if found.young > STIFFEST:
        yield f"bodies.{body.name}.law: {found.young:.4g} Pa is stiffer than diamond; check the units of its moduli"
    if found.young <= 0.0:
        return
    for axis, pull in enumerate(problem.gravity):
        strain = body.density * abs(float(pull)) * found.size[axis] / found.young
        if strain > 1.0:
            yield (
                f"gravity: the weight of '{body.name}' alone strains it by {100.0 * strain:.0f} %; check the units of "
                "gravity, density and moduli"
            )
    for load in problem.loads:
        if load.nodes[0] < body.nodes.start or load.nodes[0] >= body.nodes.stop:
            continue
        total = np.abs(load.factor.values).max() * load.shares.sum(axis=0)
        for axis, force in enumerate(total):
            area = found.mass / body.density / found.size[axis]
            strain = abs(float(force)) / (area * found.young)
            if strain > 1.0:
                yield (
                    f"forces.{load.name}: {abs(force):.4g} N over the body's section of {area:.4g} m2 strains it by "
                    f"{100.0 * strain:.0f} %; check the units of force, lengths and moduli"
                )


def _stroke_doubts(problem: Problem) -> Iterator[str]:
    """Yield flat tools that go further into the bodies than these are thick."""
    for tool in problem.tools:
        if tool.shape != PLANE or tool.drive is not None or not len(tool.candidates):
            continue
        normal = tool.geometry[REFERENCE : REFERENCE + 3]
        places: Array = padded(problem.points)[tool.candidates]
        gap = float(gaps_in_pose(tool, tool.motion.at(0.0), places).min())
        way = float((tool.motion.values[:, :3] @ normal).max()) - max(gap, 0.0)
        depth = float(np.ptp(places @ normal))
        if depth > 0.0 and way > depth:
            yield (
                f"tools.{tool.name}.motion: goes {way:.4g} m into bodies that are {depth:.4g} m thick, a strain of "
                f"{100.0 * way / depth:.0f} %; check the units of its displacements"
            )
