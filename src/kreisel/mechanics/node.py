"""Nodes: the coordinates of a body, and the frame they stand for."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import S3, SE3, SO3, Group, R, convert, convert_velocity
from kreisel.groups.rigid import RigidMotions
from kreisel.mechanics.element import Element, Inertia
from kreisel.mechanics.frame import End, Frame, Relative

Array = NDArray[np.float64]


class Node:
    """Coordinates on a group, with a start. To add a kind of coordinates, derive from this class and

    1. give ``frame(q, v)``: the frame, in symbols;
    2. give ``mass_matrix(mass, inertia)``: the constant matrix M of the kinetic energy v . M v / 2;
    3. give ``place(R, x, omega, velocity)``: the coordinates and velocities of a given pose.
    """

    def __init__(self, name: str, group: Group, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        self.name, self.group = name, group
        self.q = group.identity() if q is None else np.array(q, dtype=float)
        dim = self.size("v")
        self.v = np.zeros(dim) if v is None else np.array(v, dtype=float)
        if self.q.shape != (group.n_params,):
            raise ValueError(f"'{name}': the configuration must have shape ({group.n_params},), got {self.q.shape}")
        if self.v.shape != (dim,):
            raise ValueError(f"'{name}': the velocity must have shape ({dim},), got {self.v.shape}")
        if q is not None:
            group.inverse(self.q)  # refuses what is no element

    def signature(self) -> Any:
        """Nodes with equal signatures have equal formulas."""
        return str(self.group)

    def frame(self, q: ca.SX, v: ca.SX) -> Frame:
        """The frame, in symbols. Here, for a group that is no motion: only q and v."""
        nothing = ca.SX.nan(3)
        return Frame(q, v, ca.SX.nan(3, 3), nothing, nothing, nothing)

    @property
    def bodies(self) -> list[Node]:
        """What it stands for: itself, or the bodies it carries (see :class:`~kreisel.mechanics.carrier.Carrier`)."""
        return [self]

    def seat(self, body: str) -> Any:
        """The place of a body on it, which has a frame: itself."""
        return self

    def size(self, state: str) -> int:
        """How many numbers a state of this name has."""
        return self.group.dim

    def mass_matrix(self, mass: float, inertia: Array) -> Array:
        raise TypeError(f"'{self.name}' is no body")

    def inertia(self, mass: float, inertia: Array) -> Element:
        """The inertia of a body: here, the constant matrix."""
        return Inertia(f"inertia of {self.name}", self.name, self.mass_matrix(mass, inertia))

    def place(self, rotation: Array, position: Array, omega: Array, velocity: Array) -> tuple[Array, Array]:
        raise TypeError(f"'{self.name}' is no body")

    def of_frame(self, frame: Frame) -> tuple[ca.SX, ca.SX]:
        """Coordinates and velocities of a body with the given frame, in symbols."""
        raise TypeError(f"'{self.name}' is not described by its frame")

    def mean_velocity(self, q: ca.SX, v: ca.SX, h: ca.SX) -> ca.SX:
        """The velocity with which a step of length h would be made, without forces: a first guess, on a vector space."""
        return v

    def momenta(self, q: ca.SX, v: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Linear momentum, and angular momentum about the origin, in space axes, from p = M v. Here: neither exists."""
        return ca.SX.zeros(3), ca.SX.zeros(3)


class RigidNode(Node):
    """A rigid body by rotation and position of its centre of mass: SE3, S3R3, UDQ, SO3 * R(3) or S3 * R(3)."""

    @property
    def body_axes(self) -> bool:
        """Whether linear velocities are in body axes."""
        return isinstance(self.group, RigidMotions)

    def frame(self, q: ca.SX, v: ca.SX) -> Frame:
        if isinstance(self.group, RigidMotions):
            r, x = self.group.split(q)
            A = self.group.rotations.Ad(r)
            return Frame(q, v, A, x, v[:3], ca.mtimes(A, v[3:]))
        n = self.group.n_params - 3
        A = (SO3 if n == 9 else S3).Ad(q[:n])
        return Frame(q, v, A, q[n:], v[:3], v[3:])

    def mass_matrix(self, mass: float, inertia: Array) -> Array:
        return np.block([[inertia, np.zeros((3, 3))], [np.zeros((3, 3)), mass * np.eye(3)]])

    def place(self, rotation: Array, position: Array, omega: Array, velocity: Array) -> tuple[Array, Array]:
        q = np.concatenate([np.ravel(rotation), position])
        direct = np.concatenate([omega, velocity])
        v = convert_velocity(q, direct, SO3 * R(3), self.group)
        return convert(q, SE3, self.group), v

    def of_frame(self, frame: Frame) -> tuple[ca.SX, ca.SX]:
        assert self.group == SO3 * R(3)
        return ca.vertcat(ca.vec(frame.R.T), frame.x), ca.vertcat(frame.omega, frame.velocity)

    def momenta(self, q: ca.SX, v: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
        f = self.frame(q, v)
        linear = ca.mtimes(f.R, p[3:]) if isinstance(self.group, RigidMotions) else p[3:]
        return linear, ca.mtimes(f.R, p[:3]) + ca.cross(f.x, linear)


class PivotNode(Node):
    """A rigid body that turns about a fixed point, by its rotation alone: SO3 or S3.

    ``pivot``: the fixed point, in space. ``arm``: from there to the centre of mass, in body axes.
    """

    def __init__(self, name: str, group: Group, pivot: Array, arm: Array) -> None:
        super().__init__(name, group)
        self.pivot, self.arm = np.array(pivot, dtype=float), np.array(arm, dtype=float)

    def signature(self) -> Any:
        return str(self.group), tuple(self.pivot), tuple(self.arm)

    def frame(self, q: ca.SX, v: ca.SX) -> Frame:
        A = self.group.Ad(q)
        arm = ca.DM(self.arm)
        return Frame(q, v, A, ca.DM(self.pivot) + ca.mtimes(A, arm), v, ca.mtimes(A, ca.cross(v, arm)))

    def mass_matrix(self, mass: float, inertia: Array) -> Array:
        x, y, z = self.arm
        X = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        self.mass = mass
        return np.asarray(inertia - mass * X @ X)

    def place(self, rotation: Array, position: Array, omega: Array, velocity: Array) -> tuple[Array, Array]:
        return convert(np.ravel(rotation), SO3, self.group), np.array(omega, dtype=float)

    def momenta(self, q: ca.SX, v: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
        f = self.frame(q, v)
        linear = self.mass * f.velocity
        # p is the angular momentum about the pivot
        return linear, ca.mtimes(f.R, p) + ca.cross(ca.DM(self.pivot), linear)


class PointNode(Node):
    """A point mass by its position: R(3); in the plane of the first two axes R(2). ``position``, ``velocity``: three numbers anyway."""

    def __init__(self, name: str, position: ArrayLike = (0, 0, 0), velocity: ArrayLike = (0, 0, 0), plane: bool = False) -> None:
        self.n = 2 if plane else 3
        super().__init__(name, R(self.n), np.asarray(position)[: self.n], np.asarray(velocity)[: self.n])

    def signature(self) -> Any:
        return type(self), self.n

    def _in_space(self, y: ca.SX) -> ca.SX:
        return ca.vertcat(y, ca.SX.zeros(3 - self.n))

    def frame(self, q: ca.SX, v: ca.SX) -> Frame:
        return Frame(q, v, ca.SX.eye(3), self._in_space(q), ca.SX.zeros(3), self._in_space(v))

    def momenta(self, q: ca.SX, v: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
        p = self._in_space(p)
        return p, ca.cross(self._in_space(q), p)

    def position(self, q: Array) -> Array:
        """In space, (n, 3), from coordinates (n, 2) or (n, 3)."""
        return np.pad(q, ((0, 0), (0, 3 - self.n)))


class ScalarNode(Node):
    """A single coordinate: R(1)."""

    def __init__(self, name: str, value: float = 0.0, rate: float = 0.0) -> None:
        super().__init__(name, R(1), [value], [rate])


class Ground:
    """What stands still: the frame of space itself."""

    name = "ground"

    def frame(self) -> Frame:
        zero = ca.SX.zeros(3)
        return Frame(ca.SX(0, 1), ca.SX(0, 1), ca.SX.eye(3), zero, zero, zero)


def seen_by(e: Element, p: Any, nodes: list[Node | None], q: list[ca.SX], v: list[ca.SX]) -> list[Any]:
    """What the hooks of an element get of its bodies (None: the ground): a frame each, or the relative motions of its pairs."""
    if not e.pairs:
        return [Ground().frame() if n is None else n.frame(q_i, v_i) for n, q_i, v_i in zip(nodes, q, v, strict=True)]
    (group,) = {n.group for n in nodes if n is not None}
    ends = [End(None if n is None else q[k], None if n is None else v[k], getattr(p, f"offset{k}", None)) for k, n in enumerate(nodes)]
    return [Relative.between(group, (ends[a], ends[b])) for a, b in e.pairs]
