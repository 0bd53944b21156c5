"""Material laws: how stress follows strain, in one channel form for finite elements and edges alike."""

from rheotwin.materials.channel import Channel, maxwell_bank_to_voigt_chain, voigt_chain_to_maxwell_bank
from rheotwin.materials.elastoplastic import CriticalStretch, Elastoplastic, VonMises
from rheotwin.materials.hyperelastic import Hyperelastic, MooneyRivlin, NeoHooke, Ogden, Yeoh
from rheotwin.materials.linear import (
    EdgeNetwork,
    Elastic,
    GeneralizedMaxwell,
    GeneralizedVoigt,
    Law,
    Maxwell,
    ThreeElement,
    Voigt,
    complex_modulus,
    creep_function,
    edge_network,
    equal_poisson,
    is_incompressible,
    relaxation_function,
)
from rheotwin.materials.moduli import Moduli, Modulus
from rheotwin.materials.nonlinear import (
    FrictionThreeElement,
    NonlinearThreeElement,
    Slider,
    SliderThreeElement,
    Softening,
    SofteningChannel,
    SofteningThreeElement,
    Tabulated,
)
from rheotwin.materials.voigt_chain import VoigtChain

__all__ = [
    "Channel",
    "CriticalStretch",
    "EdgeNetwork",
    "Elastic",
    "Elastoplastic",
    "FrictionThreeElement",
    "GeneralizedMaxwell",
    "GeneralizedVoigt",
    "Hyperelastic",
    "Law",
    "Maxwell",
    "Moduli",
    "Modulus",
    "MooneyRivlin",
    "NeoHooke",
    "NonlinearThreeElement",
    "Ogden",
    "Slider",
    "SliderThreeElement",
    "Softening",
    "SofteningChannel",
    "SofteningThreeElement",
    "Tabulated",
    "ThreeElement",
    "Voigt",
    "VoigtChain",
    "VonMises",
    "Yeoh",
    "complex_modulus",
    "creep_function",
    "edge_network",
    "equal_poisson",
    "is_incompressible",
    "maxwell_bank_to_voigt_chain",
    "relaxation_function",
    "voigt_chain_to_maxwell_bank",
]
