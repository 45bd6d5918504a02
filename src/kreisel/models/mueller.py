"""Mechanisms directly in natural coordinates, as systems of formulas: points, and frames whose origin is any point of the body
(Müller, digest items 18, 19, 25)."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.groups import R
from kreisel.mechanics import System, natural


def point_four_bar(*, angle: float = np.pi / 6, mass: float = 1.0, length: float = 1.0, gravity: float = 9.81) -> System:
    """A parallelogram of three equal thin bars by the points B and C, q = (B, C) in R^4; A = (0, 0) and D = (length, 0) are fixed.

    Three distances are constraints, (|d|^2 - length^2)/2. A bar with ends P, Q has the mass matrix m/6 [[2 I, I], [I, 2 I]]. It starts at
    rest, ``angle`` from hanging, and swings as phi'' = -(6 g/5 L) sin phi. Source: Müller, digest item 18, E4.

    >>> point_four_bar().degrees_of_freedom
    1
    """
    B = length * np.array([np.sin(angle), -np.cos(angle)])

    def bars(t: ca.SX, q: ca.SX) -> ca.SX:
        B, C = q[:2], q[2:]
        return ca.vertcat(*((ca.sumsqr(d) - length**2) / 2 for d in (B, C - B, C - ca.DM([length, 0]))))

    return System(
        R(4),
        mass=mass / 6 * np.kron([[4.0, 1.0], [1.0, 4.0]], np.eye(2)),
        potential=lambda q: mass * gravity * (q[1] + q[3]),
        constraint=bars,
        q=np.concatenate([B, B + np.array([length, 0.0])]),
    )


def natural_brick(*, size: ArrayLike = (0.4, 0.1, 0.2), mass: float = 2.0, angle: float = np.pi / 3, gravity: float = 9.81) -> System:
    """A brick by the middle x of an end face and its axes, q = (x, d1, d2, d3) in R^12, that swings about d2 through x; it starts at rest,
    ``angle`` from hanging, gravity along the third axis of space, downwards.

    Six constraints keep the axes orthonormal, five are the hinge: x = 0, d2 has no first and third component. Source: Müller, digest E5.

    >>> natural_brick().degrees_of_freedom
    1
    """
    a, b, c = np.asarray(size, dtype=float)
    s, k = np.sin(angle), np.cos(angle)
    axes = np.array([[s, 0, k], [0, 1, 0], [-k, 0, s]])
    inertia = mass / 12 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2])

    def hinge(t: ca.SX, q: ca.SX) -> ca.SX:
        return ca.vertcat(_orthonormal(q), q[:3], q[6], q[8])

    return System(
        R(12),
        mass=natural.mass_matrix(natural.pseudo_inertia(mass, inertia, (a / 2, 0, 0))),
        potential=lambda q: mass * gravity * (q[2] + a / 2 * q[5]),
        constraint=hinge,
        q=natural.coordinates(axes, (0, 0, 0)),
    )


def natural_body(
    *,
    mass: float = 1.0,
    inertia: ArrayLike = (0.3, 0.4, 0.5),
    centre: ArrayLike = (0.1, -0.2, 0.3),
    omega: ArrayLike = (1.0, 2.0, 3.0),
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    force: ArrayLike = (0.0, 0.0, 0.0),
    at: ArrayLike = (0.0, 0.0, 0.0),
    moment: ArrayLike = (0.0, 0.0, 0.0),
) -> System:
    """A free body by a point x of it and its axes, q = (x, d1, d2, d3) in R^12, with a constant force and moment.

    ``inertia``: about the centre of mass, three moments or a matrix. ``centre``: of mass, from x, in body axes. ``omega``: in body axes.
    ``velocity``: of x. ``force``: in space axes, at the point ``at``, in body axes from x. ``moment``: in body axes. Source: Müller, digest
    items 25 to 27, E6.

    >>> natural_body().degrees_of_freedom
    6
    """
    J, W = np.asarray(inertia, dtype=float), np.asarray(omega, dtype=float)
    J = np.diag(J) if J.ndim == 1 else J
    F, r, M = (np.asarray(x, dtype=float) for x in (force, at, moment))

    def load(t: ca.SX, q: ca.SX, v: ca.SX) -> ca.SX:
        d1, d2, d3 = q[3:6], q[6:9], q[9:]
        turning = ca.vertcat(ca.SX.zeros(3), M[2] * d2, M[0] * d3, M[1] * d1)
        return ca.DM(natural.point_matrix(r).T @ F) + turning

    options: dict[str, Any] = {"force": load} if np.any(F) or np.any(M) else {}
    return System(
        R(12),
        mass=natural.mass_matrix(natural.pseudo_inertia(mass, J, centre)),
        constraint=lambda t, q: _orthonormal(q),
        q=natural.coordinates(np.eye(3), (0, 0, 0)),
        v=np.concatenate([np.asarray(velocity, dtype=float), np.cross(np.eye(3), W).T.ravel("F")]),
        **options,
    )


def _orthonormal(q: ca.SX) -> ca.SX:
    d = ca.reshape(q[3:], 3, 3)
    lengths = [(ca.sumsqr(d[:, i]) - 1) / 2 for i in range(3)]
    return ca.vertcat(*lengths, *(ca.dot(d[:, i], d[:, j]) for i in range(3) for j in range(i + 1, 3)))
