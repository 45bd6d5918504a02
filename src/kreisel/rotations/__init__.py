"""Rotations by numbers of many kinds, and the equation that generates them.

>>> from kreisel.rotations import Cayley, EulerAngles, EulerParameters, convert
>>> R = EulerAngles("zxz").matrix([0.1, 0.2, 0.3])
>>> EulerParameters.rate(EulerParameters.of(R), omega=[0, 0, 1], frame="body").shape
(4,)
>>> convert([[0.1, 0.2, 0.3]] * 5, EulerAngles("zxz"), Cayley).shape
(5, 3)
"""

from kreisel.rotations.angles import EulerAngles, Kardan
from kreisel.rotations.base import Parametrisation, convert
from kreisel.rotations.generation import GeneratedRotation, accumulated_angle, generate
from kreisel.rotations.parametrisations import (
    AxisAngle,
    Cayley,
    DirectionCosines,
    EulerParameters,
    RotationMatrix,
    RotationVector,
    SixNumbers,
    Stereographic,
)
from kreisel.rotations.schemes import ExplicitMidpoint, PredictedTrapezoid, Scheme, Trapezoid, determinant_defect, orthogonality_defect

__all__ = [
    "AxisAngle",
    "Cayley",
    "DirectionCosines",
    "EulerAngles",
    "EulerParameters",
    "ExplicitMidpoint",
    "GeneratedRotation",
    "Kardan",
    "Parametrisation",
    "PredictedTrapezoid",
    "RotationMatrix",
    "RotationVector",
    "Scheme",
    "SixNumbers",
    "Stereographic",
    "Trapezoid",
    "accumulated_angle",
    "convert",
    "determinant_defect",
    "generate",
    "orthogonality_defect",
]
