"""Time integration schemes, one short file each."""

from kreisel.methods.alpha import GeneralizedAlpha
from kreisel.methods.base import Method
from kreisel.methods.bem import BEM
from kreisel.methods.blie import BLieDF
from kreisel.methods.composition import Composition
from kreisel.methods.gc import GC
from kreisel.methods.hamiltonian import Gonzalez, Greenspan
from kreisel.methods.index_one import Baumgarte, Projection
from kreisel.methods.midpoint import Midpoint
from kreisel.methods.newmark import Newmark
from kreisel.methods.outside import Ida, SolveIvp
from kreisel.methods.quaternion import QuaternionEM
from kreisel.methods.rattlie import RATTLie
from kreisel.methods.rem import REM
from kreisel.methods.rotational import A1, A2, A3, A4
from kreisel.methods.shake import SHAKELie
from kreisel.methods.weighted_residual import WeightedResidual

__all__ = [
    "A1",
    "A2",
    "A3",
    "A4",
    "BEM",
    "GC",
    "REM",
    "BLieDF",
    "Baumgarte",
    "Composition",
    "GeneralizedAlpha",
    "Gonzalez",
    "Greenspan",
    "Ida",
    "Method",
    "Midpoint",
    "Newmark",
    "Projection",
    "QuaternionEM",
    "RATTLie",
    "SHAKELie",
    "SolveIvp",
    "WeightedResidual",
]
