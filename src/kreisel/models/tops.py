"""Spinning tops."""

from __future__ import annotations

from math import pi
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.groups import SO3
from kreisel.mechanics import Element, Frame, Friction, Mechanism, Spherical, System
from kreisel.mechanics.element import Inertia

SPINS = {"fast": (0.0, 150.0, -4.61538), "slow": (0.0, 1.5, -0.0461538)}


def heavy_top(
    formulation: str = "S3R3",
    spin: str = "fast",
    *,
    mass: float = 15.0,
    inertia: ArrayLike = (0.234375, 0.46875, 0.234375),
    centre: ArrayLike = (0.0, 1.0, 0.0),
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    omega: ArrayLike | None = None,
) -> System:
    """The heavy top of Hante (Remark 5.1): a symmetric body that turns about a fixed point, its axis horizontal at the start.

    ``formulation``: "SO3", "S3" (without constraints), "SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ", "directors". ``spin``: "fast" or "slow",
    or give ``omega`` in body axes. ``inertia``: about the centre of mass. ``centre``: of mass, from the fixed point, in body axes.

    >>> heavy_top("SE3", spin="slow").degrees_of_freedom
    3
    """
    if omega is None:
        if spin not in SPINS:
            raise ValueError(f"spin must be 'fast' or 'slow', got {spin!r}")
        omega = SPINS[spin]
    X, W = np.asarray(centre, dtype=float), np.asarray(omega, dtype=float)
    m = Mechanism(gravity)
    m.body("top", mass, inertia, position=X, omega=W, velocity=np.cross(W, X))
    m.joint(Spherical("ground", "top", at_b=-X, name="pivot"))
    return m.system(formulation)


class AxisSpring(Element):
    """A torsion spring about the body's first axis: potential k alpha^2 / 2, alpha = atan2(r32, r33) (Klemps, 2.4).

    ``unwrapped``: the angle is followed over full turns, by memory; else it jumps at +-pi, as in the source.
    """

    def __init__(self, body: str, stiffness: float, unwrapped: bool, start: float, name: str = "spring") -> None:
        super().__init__(name, body)
        self.parameters = {"stiffness": np.array([stiffness], dtype=float)}
        self.unwrapped = unwrapped
        if unwrapped:
            self.memory = {"last": np.array([start]), "rate": np.zeros(1), "time": np.zeros(1)}
            self.remember = self._remember

    def signature(self) -> Any:
        return super().signature(), self.unwrapped

    def angle(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        alpha = ca.atan2(body.R[2, 1], body.R[2, 2])
        if self.unwrapped:
            # Of all angles that differ by full turns, the one nearest to where the mean rate leads: so even a wild first guess is told
            # apart.
            expected = p.last + (t - p.time) * (p.rate + body.omega[0]) / 2
            alpha += 2 * pi * ca.floor((expected - alpha) / (2 * pi) + 0.5)
        return alpha

    def potential(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        return p.stiffness / 2 * self.angle(p, t, body) ** 2

    def _remember(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> dict[str, ca.SX]:
        return {"last": self.angle(p, t, body), "rate": body.omega[0], "time": t}


def extended_top(
    formulation: str = "SO3",
    *,
    stiffness: float = 100.0,
    damping: float = 0.0,
    alpha: float = pi / 4,
    gamma: float = -19 * pi / 40,
    mass: float = 15.0,
    centre: ArrayLike = (1.0, 0.0, 0.0),
    gravity: ArrayLike = (0.0, -9.81, 0.0),
    inertia: str = "corrected",
    angle: str = "wrapped",
) -> System:
    """The extended heavy top of Klemps (2.4, 5.1): with a torsion spring about its axis and viscous friction.

    It starts at rest with R = Rz(gamma) Rx(alpha). ``inertia``: "corrected", diag(0.46875, 0.234375, 0.234375) about the centre of mass
    in all formulations; or "printed": the source interchanges the moments about centre and fixed point, so its formulations describe
    different bodies. ``angle``: "wrapped" or "unwrapped".

    >>> extended_top("SE3", stiffness=1e5, damping=10).index
    3
    """
    if inertia not in ("corrected", "printed"):
        raise ValueError(f"inertia must be 'corrected' or 'printed', got {inertia!r}")
    if angle not in ("wrapped", "unwrapped"):
        raise ValueError(f"angle must be 'wrapped' or 'unwrapped', got {angle!r}")
    about_centre, about_pivot = (0.46875, 0.234375, 0.234375), (0.46875, 15.234375, 15.234375)
    X = np.asarray(centre, dtype=float)
    R0 = np.asarray(SO3.matrix(SO3.compose(SO3.exp([0, 0, gamma]), SO3.exp([alpha, 0, 0]))))
    m = Mechanism(gravity)
    printed = inertia == "printed"
    m.body("top", mass, about_pivot if printed else about_centre, position=R0 @ X, rotation=R0)
    m.joint(Spherical("ground", "top", at_b=-X, name="pivot"))
    if stiffness:
        m.force(AxisSpring("top", stiffness, angle == "unwrapped", alpha))
    if damping:
        m.force(Friction("top", rotational=damping, name="friction"))
    system = m.system(formulation)
    if printed and formulation in ("SO3", "S3"):
        others = [e for e in system.elements if not isinstance(e, Inertia)]
        system = System.of(system.nodes, [*others, Inertia("inertia of top", "top", np.diag(about_centre))])
    return system


def gyro_top(
    formulation: str = "directors",
    *,
    height: float = 0.1,
    radius: float = 0.05,
    density: float = 2700.0,
    inclination: float = pi / 3,
    precession: float = 10.0,
    gravity: float = 9.81,
) -> System:
    r"""The top of Siebert (5.5): a cone on its tip that precesses steadily about the vertical third axis.

    Its axis, the third of the body, starts at (0, -sin, cos) of the ``inclination``; it goes round with the angular velocity
    ``precession`` if it spins about itself with :math:`m g l/(J_3\omega_p) + (J_1 - J_3)/J_3\,\omega_p\cos\theta`, with the moments about
    the tip and the distance l of the centre of mass.

    >>> gyro_top("S3R3").degrees_of_freedom
    3
    """
    mass = density * pi * radius**2 * height / 3
    l, J3 = 3 * height / 4, 3 / 10 * mass * radius**2
    central = 3 * mass / 80 * (4 * radius**2 + height**2)
    J1 = central + mass * l**2
    spin = mass * gravity * l / (J3 * precession) + (J1 - J3) / J3 * precession * np.cos(inclination)
    R = np.asarray(SO3.matrix(SO3.exp([inclination, 0, 0])))
    X = np.array([0, 0, l])
    W = R.T @ np.array([0, 0, precession]) + np.array([0, 0, spin])
    m = Mechanism(gravity=(0, 0, -gravity))
    m.body("top", mass, (central, central, J3), position=R @ X, rotation=R, omega=W, velocity=R @ np.cross(W, X))
    m.joint(Spherical("ground", "top", at_b=-X, name="pivot"))
    return m.system(formulation)
