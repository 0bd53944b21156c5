"""From a test record to a law: what is known of it, and what is not."""

from rheotwin.validation.identification.identify import identify
from rheotwin.validation.identification.oscillation import identify_oscillation
from rheotwin.validation.identification.record import Geometry, OscillationRecord, Phase, TimeRecord
from rheotwin.validation.identification.result import Identified, LawTable

__all__ = [
    "Geometry",
    "Identified",
    "LawTable",
    "OscillationRecord",
    "Phase",
    "TimeRecord",
    "identify",
    "identify_oscillation",
]
