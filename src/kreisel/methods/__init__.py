"""Time integration schemes, one short file each."""

from kreisel.methods.alpha import GeneralizedAlpha
from kreisel.methods.base import Method
from kreisel.methods.bem import BEM
from kreisel.methods.blie import BLieDF
from kreisel.methods.composition import Composition
from kreisel.methods.midpoint import Midpoint
from kreisel.methods.rattlie import RATTLie
from kreisel.methods.shake import SHAKELie

__all__ = ["BEM", "BLieDF", "Composition", "GeneralizedAlpha", "Method", "Midpoint", "RATTLie", "SHAKELie"]
