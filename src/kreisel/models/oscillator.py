"""The damped oscillator."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca

from kreisel.groups import R
from kreisel.mechanics import System


def oscillator(
    mass: float = 0.46875, damping: float = 0.0, stiffness: float = 100.0, position: float = 0.7853981633974483, velocity: float = 0.0
) -> System:
    """m x'' + d x' + k x = 0; the values are those of the comparison in Klemps, (5.5).

    >>> oscillator().dim
    1
    """
    return System(
        R(1),
        mass=[[mass]],
        potential=_spring,
        force=_damper if damping else None,
        q=[position],
        v=[velocity],
        parameters={"k": stiffness, "d": damping},
    )


def _spring(q: ca.SX, p: SimpleNamespace) -> ca.SX:
    return p.k / 2 * q[0] ** 2


def _damper(t: ca.SX, q: ca.SX, v: ca.SX, p: SimpleNamespace) -> ca.SX:
    return -p.d * v
