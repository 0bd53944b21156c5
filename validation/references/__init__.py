"""The reference numbers of the specifications as data: one TOML file each, read and checked once."""

from rheotwin.validation.references.catalogue import KINDS, Catalogue, Entry, Kind, Specification
from rheotwin.validation.references.load import catalogue, load_catalogue

__all__ = ["KINDS", "Catalogue", "Entry", "Kind", "Specification", "catalogue", "load_catalogue"]
