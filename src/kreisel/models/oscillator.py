"""Oscillators: damped, quadratic, forced."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import casadi as ca
import numpy as np

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
    waves = np.array(load, dtype=float).reshape(-1, 2)
    return System(
        R(1),
        mass=[[mass]],
        potential=_quadratic_spring if quadratic else _spring,
        force=_load if len(waves) else _damper if damping else None,
        q=[position],
        v=[velocity],
        parameters={"k": stiffness, "d": damping, "c": quadratic, "A": waves[:, 0], "w": waves[:, 1]},
    )


def _spring(q: ca.SX, p: SimpleNamespace) -> ca.SX:
    return p.k / 2 * q[0] ** 2


def _quadratic_spring(q: ca.SX, p: SimpleNamespace) -> ca.SX:
    return _spring(q, p) + p.c / 3 * q[0] ** 3


def _damper(t: ca.SX, q: ca.SX, v: ca.SX, p: SimpleNamespace) -> ca.SX:
    return -p.d * v


def _load(t: ca.SX, q: ca.SX, v: ca.SX, p: SimpleNamespace) -> ca.SX:
    return ca.dot(p.A, ca.sin(p.w * t)) + _damper(t, q, v, p)
