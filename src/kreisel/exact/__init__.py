"""Motions known exactly, as references for methods and for tests. Each takes times of any shape.

>>> import numpy as np
>>> from kreisel.exact import FreeBody, Pendulum
>>> body = FreeBody(inertia=(5, 10, 1), omega=(8, 0, -0.2))
>>> body.rotation(np.linspace(0, 1, 5)).shape, round(Pendulum(angle=3.0).period, 6)
((5, 3, 3), 16.155539)
"""

from kreisel.exact.free_body import FreeBody
from kreisel.exact.heavy_top import HeavyTop
from kreisel.exact.oscillator import DampedOscillator
from kreisel.exact.pendulum import Pendulum
from kreisel.exact.turning import cayley_rotation, lagrange_sylvester, peano_baker, precessing_rotation, riccati, steady_rotation

__all__ = [
    "DampedOscillator",
    "FreeBody",
    "HeavyTop",
    "Pendulum",
    "cayley_rotation",
    "lagrange_sylvester",
    "peano_baker",
    "precessing_rotation",
    "riccati",
    "steady_rotation",
]
