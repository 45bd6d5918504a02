"""Hamiltonian systems with inputs (Siebert, chapter 8)."""

from __future__ import annotations

import casadi as ca
from numpy.typing import ArrayLike

from kreisel.mechanics import Hamiltonian


def mathematical_pendulum(
    mass: float = 1.0, length: float = 1.0, gravity: float = 9.81, angle: float = 0.0, momentum: float = 0.0
) -> Hamiltonian:
    """A point mass on a rod without mass, with the input "u", a torque in Nm: H = p^2/(2 m l^2) - m g l sin q (Siebert, 8.1).

    ``angle``: q at the start, downwards from the horizontal: it hangs at pi/2. ``momentum``: p at the start, in kg m^2/s.

    >>> mathematical_pendulum().controls
    ['u']
    """
    if not (mass > 0 and length > 0):
        raise ValueError(f"mass and length must be positive, got {mass} and {length}")

    def H(q: ca.SX, p: ca.SX) -> ca.SX:
        return p[0] ** 2 / (2 * mass * length**2) - mass * gravity * length * ca.sin(q[0])

    return Hamiltonian(H, 1, q=[angle], p=[momentum], controls=("u",))


def particle(
    mass: float = 1.0, attraction: float = 1.0, position: ArrayLike = (1.0, 0.0, 0.0), momentum: ArrayLike = (0.0, 1.0, 0.0)
) -> Hamiltonian:
    """A particle in a central field, with the inputs "u1", "u2", "u3", forces in N along the axes: H = p.p/(2 m) - k/|q| (Siebert, 8.2).

    ``attraction``: k, in N m^2. ``position``, ``momentum``: at the start; with the values given it moves in a circle, if nothing drives it.

    >>> particle().dim
    3
    """
    if not mass > 0:
        raise ValueError(f"mass must be positive, got {mass}")

    def H(q: ca.SX, p: ca.SX) -> ca.SX:
        return ca.sumsqr(p) / (2 * mass) - attraction / ca.norm_2(q)

    return Hamiltonian(H, 3, q=position, p=momentum, controls=("u1", "u2", "u3"))
