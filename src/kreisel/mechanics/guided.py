"""Bodies that are led, and bodies that roll: constraints on a single body."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import vector
from kreisel.mechanics.frame import Frame

if TYPE_CHECKING:
    from kreisel.mechanics.mechanism import Mechanism


class Prescribed(Element):
    """A motion that a body is forced to make: its position, its rotation matrix, or both, as functions of time.

    ``position``: of the point ``at`` (in body axes, from the centre of mass), in space. The multipliers of these rows are the force that
    the body exerts on its guide. To prescribe the coordinate of a joint, see :class:`PrescribedJoint`.

    >>> Prescribed("table", position=lambda t: ca.vertcat(0, 0, 0.1 * ca.sin(5 * t)))
    Prescribed 'motion of table'
    """

    def __init__(
        self,
        body: str,
        position: Callable[[ca.SX], ca.SX] | None = None,
        rotation: Callable[[ca.SX], ca.SX] | None = None,
        at: ArrayLike = (0, 0, 0),
        name: str = "",
    ) -> None:
        super().__init__(name or f"motion of {body}", body)
        if position is None and rotation is None:
            raise ValueError(f"'{self.name}' prescribes neither a position nor a rotation")
        self.position, self.rotation = position, rotation
        self.parameters = {"at": vector(at, f"'{self.name}': at")}

    def constraint(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        rows = ca.SX(0, 1)
        if self.position is not None:
            rows = ca.vertcat(rows, body.point(p.at) - self.position(t))
        if self.rotation is not None:
            A = ca.SX(self.rotation(t))
            for i, j in ((2, 0), (2, 1), (0, 1)):
                rows = ca.vertcat(rows, ca.dot(A[:, i], body.R[:, j]))
        return rows

    def signature(self) -> Any:
        return super().signature(), id(self.position), id(self.rotation)


class KnifeEdge(Element):
    """A blade: a point of a body does not move along one direction that is fixed to the body, across the blade.

    ``at``, ``across``: in space, as the body stands at the start.

    >>> KnifeEdge("sled", at=(0, 0, 0), across=(0, 1, 0))
    KnifeEdge 'blade of sled'
    """

    def __init__(self, body: str, at: ArrayLike, across: ArrayLike, name: str = "") -> None:
        super().__init__(name or f"blade of {body}", body)
        self.at, self.across = vector(at, f"'{self.name}': at"), vector(across, f"'{self.name}': across")
        if np.linalg.norm(self.across) == 0:
            raise ValueError(f"'{self.name}': the direction across has length zero")

    def settle(self, mechanism: Mechanism) -> None:
        start = mechanism.start(self.bodies[0])
        if start is not None:
            R, x = start
            self.parameters = {"at": R.T @ (self.at - x), "across": R.T @ self.across / np.linalg.norm(self.across)}

    def pfaffian(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        return ca.dot(ca.mtimes(body.R, p.across), body.point_velocity(p.at))


class Rolling(Element):
    r"""A wheel that rolls on a plane of space without sliding: a torus, or with ``tube=0`` a disk with a sharp rim.

    With the normal n of the plane, the axis a of the wheel and the steepest direction down in the wheel,

    .. math:: e = (a\,(a\cdot n) - n)/s, \quad s = \sqrt{1 - (a\cdot n)^2}, \qquad p = x + (r - \rho)\,e - \rho\,n,

    the lowest point p lies in the plane (holonomic), and the point of the wheel that is there has no velocity in the plane (nonholonomic,
    two rows). Not for a wheel that lies flat. ``radius``: r, the outer one. ``tube``: rho. ``centre``, ``axis``: of the wheel, in space, at
    the start; ``normal``, ``height``: the plane n . x = height. (Müller, digest 4.5.)

    >>> Rolling("wheel", radius=0.3, axis=(0, 1, 0), tube=0.02)
    Rolling 'wheel on the plane'
    """

    def __init__(
        self,
        body: str,
        radius: float,
        axis: ArrayLike,
        tube: float = 0.0,
        centre: ArrayLike | None = None,
        normal: ArrayLike = (0, 0, 1),
        height: float = 0.0,
        name: str = "",
    ) -> None:
        super().__init__(name or f"{body} on the plane", body)
        if not 0 <= tube < radius:
            raise ValueError(f"'{self.name}': the radius must be positive and the tube in [0, radius), got {radius} and {tube}")
        self.axis, n = vector(axis, f"'{self.name}': axis"), vector(normal, f"'{self.name}': normal")
        if np.linalg.norm(self.axis) == 0 or np.linalg.norm(n) == 0:
            raise ValueError(f"'{self.name}': axis and normal must not have length zero")
        self.centre = None if centre is None else vector(centre, f"'{self.name}': centre")
        n = n / np.linalg.norm(n)
        across = np.linalg.svd(n[None])[2][1:]
        self.plane = {
            "normal": n,
            "across": np.ravel(across),
            "height": np.array([height], dtype=float),
            "radii": np.array([radius - tube, tube], dtype=float),
        }

    def settle(self, mechanism: Mechanism) -> None:
        start = mechanism.start(self.bodies[0])
        if start is not None:
            R, x = start
            at = np.zeros(3) if self.centre is None else R.T @ (self.centre - x)
            self.parameters = {**self.plane, "axis": R.T @ self.axis / np.linalg.norm(self.axis), "at": at}

    def lowest(self, p: SimpleNamespace, body: Frame) -> ca.SX:
        """The lowest point, from the centre of the wheel."""
        a = ca.mtimes(body.R, p.axis)
        c = ca.dot(a, p.normal)
        return p.radii[0] * (a * c - p.normal) / ca.sqrt(1 - c**2) - p.radii[1] * p.normal

    def constraint(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        return ca.dot(p.normal, body.point(p.at) + self.lowest(p, body)) - p.height

    def pfaffian(self, p: SimpleNamespace, t: ca.SX, body: Frame) -> ca.SX:
        velocity = body.point_velocity(p.at) + ca.cross(body.space_omega, self.lowest(p, body))
        return ca.mtimes(ca.reshape(p.across, 3, 2).T, velocity)
