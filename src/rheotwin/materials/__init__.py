"""Material laws: how stress follows strain, in one channel form for finite elements and edges alike."""

from rheotwin.materials.channel import Channel
from rheotwin.materials.conversion import maxwell_bank_to_voigt_chain, voigt_chain_to_maxwell_bank
from rheotwin.materials.elastic import Elastic
from rheotwin.materials.friction_three_element import FrictionThreeElement
from rheotwin.materials.generalized_maxwell import GeneralizedMaxwell
from rheotwin.materials.generalized_voigt import GeneralizedVoigt
from rheotwin.materials.law import (
    Law,
    complex_modulus,
    creep_function,
    edge_network,
    equal_poisson,
    is_incompressible,
    relaxation_function,
)
from rheotwin.materials.maxwell import Maxwell
from rheotwin.materials.moduli import Moduli, Modulus
from rheotwin.materials.network import EdgeNetwork
from rheotwin.materials.nonlinear_three_element import NonlinearThreeElement
from rheotwin.materials.slider import Slider
from rheotwin.materials.slider_three_element import SliderThreeElement
from rheotwin.materials.softening import Softening
from rheotwin.materials.softening_channel import SofteningChannel
from rheotwin.materials.softening_three_element import SofteningThreeElement
from rheotwin.materials.tabulated import Tabulated
from rheotwin.materials.three_element import ThreeElement
from rheotwin.materials.voigt import Voigt
from rheotwin.materials.voigt_chain import VoigtChain

__all__ = [
    "Channel",
    "EdgeNetwork",
    "Elastic",
    "FrictionThreeElement",
    "GeneralizedMaxwell",
    "GeneralizedVoigt",
    "Law",
    "Maxwell",
    "Moduli",
    "Modulus",
    "NonlinearThreeElement",
    "Slider",
    "SliderThreeElement",
    "Softening",
    "SofteningChannel",
    "SofteningThreeElement",
    "Tabulated",
    "ThreeElement",
    "Voigt",
    "VoigtChain",
    "complex_modulus",
    "creep_function",
    "edge_network",
    "equal_poisson",
    "is_incompressible",
    "maxwell_bank_to_voigt_chain",
    "relaxation_function",
    "voigt_chain_to_maxwell_bank",
]
