r"""A rotating body by four numbers: a quaternion as a column of R^4, kept at length one by a constraint (Siebert, 5.1-5.3).

The mass matrix is 4 x 4 and regular, M(q) = 4 Q(q) J_4 Q(q)^T with J_4 = diag(tr J/2, J) and Q(q) = [q, E(q)^T], and the momentum in body
axes, pi = Q(q)^T p, is bilinear: that is what an energy-momentum scheme builds upon. Quaternions are (scalar, vector).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.groups import S3, SO3, R, convert
from kreisel.mechanics.element import Element
from kreisel.mechanics.frame import DirectorFrame, Frame
from kreisel.mechanics.node import Node
from kreisel.symbolic.vectors import skew

Array = NDArray[np.float64]


def convective(q: ca.SX) -> ca.SX:
    """E(q) = [-q_v, q_0 I - hat q_v], 3 x 4: the angular velocity in body axes is 2 E(q) q' (Siebert, E_2)."""
    return ca.horzcat(-q[1:4], q[0] * ca.SX.eye(3) - skew(q[1:4]))


def spatial(q: ca.SX) -> ca.SX:
    """[-q_v, q_0 I + hat q_v], 3 x 4: the angular velocity in space axes is twice its product with q' (Siebert, E_1)."""
    return ca.horzcat(-q[1:4], q[0] * ca.SX.eye(3) + skew(q[1:4]))


def left(q: ca.SX) -> ca.SX:
    """Q(q) = [q, E(q)^T], 4 x 4: Q(q) p is the product q o p."""
    return ca.horzcat(q[:4], convective(q).T)


class QuaternionNode(Node):
    """A body by a quaternion in R^4 and the position of its centre of mass, R(7); or, if it turns about a fixed point, by the quaternion
    alone, R(4). ``pivot``, ``arm``: as in :class:`PivotNode`."""

    def __init__(self, name: str, pivot: Array | None = None, arm: Array | None = None) -> None:
        super().__init__(name, R(7 if pivot is None else 4), [1, 0, 0, 0] + [0] * (3 if pivot is None else 0))
        self.pivot, self.arm = pivot, arm

    def signature(self) -> Any:
        return type(self), None if self.pivot is None or self.arm is None else (tuple(self.pivot), tuple(self.arm))

    def frame(self, q: ca.SX, v: ca.SX) -> Frame:
        """In the middle of a step, where the quaternion is a little too short, R is a rotation times its squared length: so its columns are
        directors that are not quite of length one."""
        A = ca.mtimes(spatial(q), convective(q).T)
        rates = ca.reshape(ca.jtimes(ca.vec(A), q, v), 3, 3)
        if self.pivot is None:
            return DirectorFrame.of(q, v, A, q[4:], rates, v[4:])
        return DirectorFrame.of(q, v, A, ca.DM(self.pivot) + ca.mtimes(A, ca.DM(self.arm)), rates, ca.mtimes(rates, ca.DM(self.arm)))

    def inertia(self, mass: float, inertia: Array) -> Element:
        if self.arm is not None:
            inertia = inertia + mass * (self.arm @ self.arm * np.eye(3) - np.outer(self.arm, self.arm))
        self.mass = mass
        return QuaternionInertia(self.name, mass, inertia, self.pivot is None)

    def place(self, rotation: Array, position: Array, omega: Array, velocity: Array) -> tuple[Array, Array]:
        q = convert(np.ravel(rotation), SO3, S3)
        v = ca.DM(ca.evalf(ca.mtimes(convective(ca.SX(q)).T, ca.SX(omega)) / 2)).full().ravel()
        return (q, v) if self.pivot is not None else (np.concatenate([q, position]), np.concatenate([v, velocity]))

    def momenta(self, q: ca.SX, v: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
        f = self.frame(q, v)
        linear = self.mass * f.velocity
        return linear, ca.mtimes(spatial(q), p[:4]) / 2 + ca.cross(f.x if self.pivot is None else ca.DM(self.pivot), linear)

    def turned(self, q: ca.SX, v: ca.SX, h: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Where the body is and how it moves after a time h without forces, with its angular velocity in body axes: a first guess."""
        omega = 2 * ca.mtimes(convective(q), v[:4])
        new = S3.retract(q[:4], h * omega)
        return ca.vertcat(new, q[4:] + h * v[4:]), ca.vertcat(ca.mtimes(convective(new).T, omega) / 2, v[4:])

    def mean_velocity(self, q: ca.SX, v: ca.SX, h: ca.SX) -> ca.SX:
        return (self.turned(q, v, h)[0] - q) / h

    # On arrays, time first

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Rotation matrices (n, 3, 3) and positions (n, 3)."""
        A = np.asarray(convert(S3.project(q[:, :4]), S3, SO3)).reshape(-1, 3, 3)
        return A, q[:, 4:] if self.pivot is None or self.arm is None else np.asarray(self.pivot + A @ self.arm)

    def twist(self, q: Array, v: Array) -> Array:
        """Angular and linear velocity in space axes, (n, 6)."""
        s, u, ds, du = q[:, :1], q[:, 1:4], v[:, :1], v[:, 1:4]
        omega = 2 * (s * du - ds * u + np.cross(u, du))
        velocity = v[:, 4:] if self.arm is None else np.cross(omega, self.pose(q)[0] @ self.arm)
        return np.concatenate([omega, velocity], axis=1)


class Unit(Element):
    """The quaternion of a body keeps its length: (q . q - 1)/2."""

    intrinsic = True

    def __init__(self, body: str) -> None:
        super().__init__(f"quaternion of {body}", body)

    def constraint(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        return (ca.sumsqr(body.q[:4]) - 1) / 2


class QuaternionInertia(Element):
    """The inertia of a body by a quaternion: M(q) = 4 Q J_4 Q^T, and m I if it moves freely."""

    def __init__(self, body: str, mass: float, inertia: Array, free: bool) -> None:
        super().__init__(f"inertia of {body}", body)
        self.free = free
        J = np.block([[np.array([[np.trace(inertia) / 2]]), np.zeros((1, 3))], [np.zeros((3, 1)), inertia]])
        self.parameters = {"J": np.ravel(J), "inverse": np.ravel(np.linalg.inv(J)), "mass": np.array([mass], dtype=float)}

    def signature(self) -> Any:
        return super().signature(), self.free

    def mass(self, p: SimpleNamespace, q: ca.SX) -> ca.SX:
        M = 4 * ca.mtimes(left(q), ca.mtimes(ca.reshape(p.J, 4, 4), left(q).T))
        return ca.diagcat(M, p.mass * ca.SX.eye(3)) if self.free else M

    def body_momentum(self, q: ca.SX, p: ca.SX) -> ca.SX:
        """y = (Q(q)^T p, m x'), from the momenta p: bilinear."""
        return ca.vertcat(ca.mtimes(left(q).T, p[:4]), p[4:])

    def rates(self, p: SimpleNamespace, y: ca.SX) -> ca.SX:
        """dT/dy of the kinetic energy T = y . J_4^-1 y / 8 + ..."""
        return ca.vertcat(ca.mtimes(ca.reshape(p.inverse, 4, 4), y[:4]) / 4, y[4:] / p.mass)
