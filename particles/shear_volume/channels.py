"""From a body's law to the networks of its shear and its change of volume: nothing is tuned (spec sections 1, 3.3).

    plane strain     mu and   bulk + mu/3  (`bulk-shear`)   or   lambda + mu     (`lame`)
    plane stress     mu and   E/(2 (1 - nu)),  one Poisson ratio for all parts
    space            mu and   bulk         (`bulk-shear`)   or   lambda + 2 mu/3 (`lame`)

Moduli that relax at different times give the volume one arm for each of them. A law named for shear or volume alone
has its numbers there as they are: young is G or K of every element.

A law that softens does so in shear: its thresholds are uniaxial stresses, von Mises stresses of any other load, and
shear stresses of 1/sqrt(3) of them. Flow keeps the volume, so that the dashpots of volume keep the viscosities they
have without softening. In plane stress areas change without volumes: there the whole stress softens both, which takes
no more than one equation, as both have one Poisson ratio. Named for shear or for volume alone the thresholds are shear
stresses or pressures as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.materials import Channel, Modulus, SofteningChannel, SofteningThreeElement, equal_poisson
from rheotwin.particles.shear_volume.options import OPTIONS, ShearVolumeOptions
from rheotwin.problem import BodyPart, Problem

NOTHING = Channel.elastic(0.0)
Found = tuple[Channel, SofteningChannel | None]
"""A linear network, and what softens in its place."""


@dataclass(frozen=True)
class LawChannels:
    """Shear and volume (2D: area) networks of a law [Pa, Pa s]; of what softens, those up to its threshold."""

    shear: Channel
    volume: Channel
    incompressible: bool = False
    soft_shear: SofteningChannel | None = None
    soft_volume: SofteningChannel | None = None
    together: bool = False
    """Whether shear and area soften by one stress."""

    @property
    def linear_shear(self) -> Channel:
        """Linear network of shear: nothing where it softens."""
        return self.shear if self.soft_shear is None else NOTHING

    @property
    def linear_volume(self) -> Channel:
        """Linear network of volume: nothing where it softens."""
        return self.volume if self.soft_volume is None else NOTHING

    @property
    def poisson(self) -> float:
        """Out-of-plane stress per s_xx + s_yy of plane strain at once after a load: lambda/(2 (lambda + mu))."""
        if self.incompressible:
            return 0.5
        shear, area = self.shear.instantaneous, self.volume.instantaneous
        return (area - shear) / (2.0 * area) if area > 0.0 else 0.0


def law_channels(problem: Problem, part: BodyPart, options: ShearVolumeOptions) -> LawChannels:
    """Return the networks of one law of a body (spec 5); where constraints keep volumes, the soft elements of patches.

    Constraints keep the mean of S/S0 at one, so that what holds single elements near it are volume elements.
    """
    found, soft_shear = _shear(problem, part, options)
    if options.incompressible != "none":
        held = found.scaled(options.soft_volume)
        return LawChannels(found, held, incompressible=True, soft_shear=soft_shear)
    if isinstance(part.law, SofteningThreeElement) and _plane_stress_alone(problem, options):
        soft_area = _soft_area(part, part.law, options)
        return LawChannels(found, soft_area.unsoftened, soft_shear=soft_shear, soft_volume=soft_area, together=True)
    volume, soft_volume = _volume(problem, part, options)
    return LawChannels(found, volume, soft_shear=soft_shear, soft_volume=soft_volume)


def _plane_stress_alone(problem: Problem, options: ShearVolumeOptions) -> bool:
    """Tell whether bodies have the shear and the area of plane stress from their own laws."""
    plane_stress = problem.dimension == 2 and problem.plane == "stress"
    return plane_stress and options.shear_law is None and options.volume_law is None


def _shear(problem: Problem, part: BodyPart, options: ShearVolumeOptions) -> Found:
    if options.shear_law is not None:
        return _named(problem, options.shear_law, "shear_law")
    if isinstance(part.law, SofteningThreeElement):
        return _softening(part.law, "shear", part.place)
    return part.law.channel("shear"), None


def _volume(problem: Problem, part: BodyPart, options: ShearVolumeOptions) -> Found:
    if options.volume_law is not None:
        return _named(problem, options.volume_law, "volume_law")
    law, space = part.law, problem.dimension == 3
    law = law.unsoftened if isinstance(law, SofteningThreeElement) else law
    if not space and problem.plane == "stress":
        return law.channel("young").scaled(0.5 / (1.0 - _one_ratio(part))), None
    if options.split == "lame":
        return law.channel("lame") + law.channel("shear").scaled(2.0 / 3.0 if space else 1.0), None
    return law.channel("bulk") if space else law.channel("bulk") + law.channel("shear").scaled(1.0 / 3.0), None


def _soft_area(part: BodyPart, law: SofteningThreeElement, options: ShearVolumeOptions) -> SofteningChannel:
    """Return E/(2 (1 - nu)) of all parts with the thresholds of shear, whose sizes both have."""
    if options.shear == "seed":
        raise RheotwinError(
            f"{part.place}: in plane stress shear and area of a law that softens do so together, which the "
            'papers\' elements cannot: choose another `shear`, or plane = "strain"'
        )
    young, shear, scale = law.softening_channel("young"), law.softening_channel("shear"), 0.5 / (1.0 - _one_ratio(part))
    return SofteningChannel(
        young.spring * scale,
        young.voigt_viscosity * scale,
        young.series_viscosity * scale,
        young.soft_viscosity * scale,
        shear.from_stress,
        shear.to_stress,
    )


def _one_ratio(part: BodyPart) -> float:
    ratio = equal_poisson(part.law)
    if ratio is None:
        raise RheotwinError(
            f"{part.place}: in plane stress {OPTIONS} needs one Poisson ratio for all parts of a law; give its "
            'parts the same, or choose plane = "strain" or the solver fem'
        )
    return ratio


def _named(problem: Problem, name: str, key: str) -> Found:
    known = problem.scene.laws
    if name not in known:
        raise RheotwinError(
            f"{OPTIONS}.{key}: no law is named '{name}'{nearest_name(name, known)}; law names here: {', '.join(known)}"
        )
    law = known[name].law()
    if isinstance(law, SofteningThreeElement):
        return _softening(law, "young", f"{OPTIONS}.{key}: the law '{name}'")
    return law.channel("young"), None


def _softening(law: SofteningThreeElement, modulus: Modulus, whose: str) -> Found:
    if law.slider is not None:
        raise RheotwinError(
            f"{whose} has a slider beside its softening, which bounds the share of an edge's length: leave `slider` "
            "out, or choose the solver truss"
        )
    channel = law.softening_channel(modulus)
    return channel.unsoftened, channel
