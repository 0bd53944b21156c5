"""From a body's law to the networks of its shear and its change of volume: nothing is tuned (spec sections 1, 3.3).

    plane strain     mu and   bulk + mu/3  (`bulk-shear`)   or   lambda + mu     (`lame`)
    plane stress     mu and   E/(2 (1 - nu)),  one Poisson ratio for all parts
    space            mu and   bulk         (`bulk-shear`)   or   lambda + 2 mu/3 (`lame`)

Moduli that relax at different times give the volume one arm for each of them. A law named for shear or volume alone
has its numbers there as they are: young is G or K of every element.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.materials import Channel, equal_poisson
from rheotwin.particles.shear_volume.options import OPTIONS, ShearVolumeOptions
from rheotwin.problem import Problem, ProblemBody


@dataclass(frozen=True)
class BodyChannels:
    """Shear and volume (2D: area) networks of a body [Pa, Pa s]."""

    shear: Channel
    volume: Channel
    incompressible: bool = False

    @property
    def poisson(self) -> float:
        """Out-of-plane stress per s_xx + s_yy of plane strain at once after a load: lambda/(2 (lambda + mu))."""
        if self.incompressible:
            return 0.5
        shear, area = self.shear.instantaneous, self.volume.instantaneous
        return (area - shear) / (2.0 * area) if area > 0.0 else 0.0


def body_channels(problem: Problem, body: ProblemBody, options: ShearVolumeOptions) -> BodyChannels:
    """Return the networks of a body; where constraints keep the volumes of patches, the soft elements in them (spec 5).

    Constraints keep the mean of S/S0 at one, so that what holds single elements near it are volume elements.
    """
    shear, volume = options.shear_law, options.volume_law
    found = body.law.channel("shear") if shear is None else _named(problem, shear, "shear_law")
    if options.incompressible != "none":
        return BodyChannels(found, found.scaled(options.soft_volume), incompressible=True)
    return BodyChannels(
        found, _volume(problem, body, options) if volume is None else _named(problem, volume, "volume_law")
    )


def _volume(problem: Problem, body: ProblemBody, options: ShearVolumeOptions) -> Channel:
    law, space = body.law, problem.dimension == 3
    if not space and problem.plane == "stress":
        return _plane_stress(body)
    if options.split == "lame":
        return law.channel("lame") + law.channel("shear").scaled(2.0 / 3.0 if space else 1.0)
    return law.channel("bulk") if space else law.channel("bulk") + law.channel("shear").scaled(1.0 / 3.0)


def _plane_stress(body: ProblemBody) -> Channel:
    ratio = equal_poisson(body.law)
    if ratio is None:
        raise RheotwinError(
            f"bodies.{body.name}: in plane stress {OPTIONS} needs one Poisson ratio for all parts of a law; give its "
            'parts the same, or choose plane = "strain" or the solver fem'
        )
    return body.law.channel("young").scaled(0.5 / (1.0 - ratio))


def _named(problem: Problem, name: str, key: str) -> Channel:
    known = problem.scene.laws
    if name not in known:
        raise RheotwinError(
            f"{OPTIONS}.{key}: no law is named '{name}'{nearest_name(name, known)}; law names here: {', '.join(known)}"
        )
    return known[name].law().channel("young")
