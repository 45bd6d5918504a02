"""A disk that rolls on a plane."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.groups import S3, SO3, convert
from kreisel.mechanics import Constraint, Frame, Mechanism, Pfaffian, System


def rolling_disk(
    formulation: str = "S3R3",
    *,
    radius: float = 1.0,
    mass: float = 15.0,
    tilt: float = np.pi / 12,
    omega: ArrayLike = (0.0, 15.0, 5.0),
    gravity: float = 9.81,
) -> System:
    r"""The rolling disk of Hante (Remark 5.2): thin, on the plane x3 = 0, without sliding.

    With the lowest point :math:`X_{low} = -r (r_{31}, r_{32}, 0)/\sqrt{1 - r_{33}^2}` of the disk in body axes,

    .. math:: \Phi = \tfrac12 (x_3^2 - r^2 (1 - r_{33}^2)) = 0, \qquad x_3\,(\dot x + R(\Omega\times X_{low}))_{1,2} = 0 ,

    the second, nonholonomic, written as a polynomial with :math:`x_3 = r\sqrt{1 - r_{33}^2}`. ``tilt``: of the disk against the vertical,
    in radians.

    >>> rolling_disk().degrees_of_freedom
    3
    """
    r2 = radius**2

    def contact(t: ca.SX, disk: Frame) -> ca.SX:
        return (disk.x[2] ** 2 - r2 * (1 - disk.R[2, 2] ** 2)) / 2

    def rolling(t: ca.SX, disk: Frame) -> ca.SX:
        low = -r2 * ca.vertcat(disk.R[2, 0], disk.R[2, 1], 0)
        return (disk.x[2] * disk.velocity + ca.mtimes(disk.R, ca.cross(disk.omega, low)))[:2]

    p = S3.compose(S3.exp([tilt, 0, 0]), np.array([0, 0, 1, 1]) / np.sqrt(2))
    R0 = SO3.matrix(convert(p, S3, SO3))
    height = radius * np.sqrt(1 - R0[2, 2] ** 2)
    X_low = -r2 / height * np.array([R0[2, 0], R0[2, 1], 0])
    W = np.asarray(omega, dtype=float)
    m = Mechanism(gravity=(0, 0, -gravity))
    moment = mass * radius**2 / 4
    m.body("disk", mass, (moment, moment, 2 * moment), position=(0, 0, height), rotation=R0, omega=W, velocity=-R0 @ np.cross(W, X_low))
    m.joint(Constraint("contact", "disk", contact))
    m.joint(Pfaffian("rolling", "disk", rolling))
    return m.system(formulation)
