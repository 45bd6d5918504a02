"""Time integration schemes, one short file each."""

from kreisel.methods.alpha import GeneralizedAlpha
from kreisel.methods.base import Method
from kreisel.methods.rattlie import RATTLie

__all__ = ["GeneralizedAlpha", "Method", "RATTLie"]
