"""The reference numbers of the specifications as data: one TOML file each, read and checked once."""

from rheotwin.validation.references.catalogue import KINDS, Catalogue, Entry, Kind, Specification, load_catalogue
from rheotwin.validation.references.catalogue import catalogue as catalogue

__all__ = ["KINDS", "Catalogue", "Entry", "Kind", "Specification", "load_catalogue"]
