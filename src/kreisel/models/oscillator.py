"""Oscillators: damped, quadratic, forced."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from kreisel.groups import R
from kreisel.mechanics import System


def oscillator(
    mass: float = 0.46875,
    damping: float = 0.0,
    stiffness: float = 100.0,
    position: float = 0.7853981633974483,
    velocity: float = 0.0,
    *,
    quadratic: float = 0.0,
    load: Sequence[tuple[float, float]] = (),
) -> System:
    """m x'' + d x' + k x + c x^2 = sum of A sin(w t); the default values are those of the comparison in Klemps, (5.5).

    ``quadratic``: c. ``load``: pairs (A, w). Those of Sadłowski start at 0 with velocity 1, or at rest: harmonic with mass and stiffness
    1 (4.1.1), quadratic with also quadratic=1/2 (4.1.2), forced with stiffness 0.95**2 and load=[(-1, 1), (-10, 100)] (4.1.3).

    >>> oscillator().dim
    1
    """
    waves = [(float(amplitude), float(frequency)) for amplitude, frequency in load]

    def force(t: ca.SX, q: ca.SX, v: ca.SX) -> ca.SX:
        return sum((amplitude * ca.sin(frequency * t) for amplitude, frequency in waves), start=-damping * v)

    return System(
        R(1),
        mass=[[mass]],
        potential=lambda q: stiffness / 2 * q[0] ** 2 + quadratic / 3 * q[0] ** 3,
        force=force if damping or waves else None,
        q=[position],
        v=[velocity],
    )
