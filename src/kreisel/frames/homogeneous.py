r"""Points, directions and transforms in homogeneous coordinates, each with the name of its frame.

A point has the fourth component 1, a direction (a velocity, a force, a free vector) 0; a rigid motion is the matrix

.. math:: T = \begin{pmatrix} R & q\\ 0 & 1\end{pmatrix}, \qquad T^{-1} = \begin{pmatrix} R^T & -R^T q\\ 0 & 1\end{pmatrix} .

What belongs to different frames is not mixed: that is an error. Source: Müller, 2.7, 3.2.2, 3.2.3, 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.frames.vectors import _vectors, angle, axis_and_angle, skew, unit
from kreisel.groups import SE3, SO3
from kreisel.rotations.base import check_frame

Array = NDArray[np.float64]

#: A rotation by less is rounding, and its motion a translation.
NO_ANGLE = 1e-14


@dataclass(frozen=True, eq=False)
class Direction:
    """A free vector: length and direction without a place, components (..., 3) in the axes of a frame."""

    components: Array
    frame: str = "space"

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", _vectors(self.components, "Direction: components"))

    @property
    def homogeneous(self) -> Array:
        """(x, y, z, 0)."""
        return _fourth(self.components, 0.0)

    def __add__(self, other: Direction) -> Direction:
        if not isinstance(other, Direction):
            return NotImplemented
        _same(self, other, "added")
        return Direction(self.components + other.components, self.frame)

    def __sub__(self, other: Direction) -> Direction:
        return self + -other if isinstance(other, Direction) else NotImplemented

    def __neg__(self) -> Direction:
        return Direction(-self.components, self.frame)

    def __mul__(self, factor: ArrayLike) -> Direction:
        return Direction(self.components * np.asarray(factor, dtype=float)[..., None], self.frame)

    __rmul__ = __mul__

    @property
    def norm(self) -> Array:
        """The length."""
        return np.asarray(np.linalg.norm(self.components, axis=-1))

    def dot(self, other: Direction) -> Array:
        """The scalar product."""
        _same(self, other, "multiplied")
        return np.asarray(np.sum(self.components * other.components, axis=-1))

    def cross(self, other: Direction) -> Direction:
        """The cross product."""
        _same(self, other, "multiplied")
        return Direction(np.cross(self.components, other.components), self.frame)

    def angle(self, other: Direction) -> Array:
        """The angle to another direction."""
        _same(self, other, "compared")
        return angle(self.components, other.components)


@dataclass(frozen=True, eq=False)
class Point:
    """A place, coordinates (..., 3) in a frame. Points differ by directions; they cannot be added.

    >>> p, q = Point((1, 2, 3)), Point((0, 2, 3))
    >>> (p - q).components, (q + 2 * (p - q)).homogeneous
    (array([1., 0., 0.]), array([2., 2., 3., 1.]))
    """

    coordinates: Array
    frame: str = "space"

    def __post_init__(self) -> None:
        object.__setattr__(self, "coordinates", _vectors(self.coordinates, "Point: coordinates"))

    @property
    def homogeneous(self) -> Array:
        """(x, y, z, 1)."""
        return _fourth(self.coordinates, 1.0)

    def __add__(self, other: Direction) -> Point:
        if isinstance(other, Point):
            raise TypeError("points cannot be added; a direction can be added to a point")
        if not isinstance(other, Direction):
            return NotImplemented
        _same(self, other, "added")
        return Point(self.coordinates + other.components, self.frame)

    __radd__ = __add__

    @overload
    def __sub__(self, other: Point) -> Direction: ...
    @overload
    def __sub__(self, other: Direction) -> Point: ...
    def __sub__(self, other: Point | Direction) -> Point | Direction:
        if isinstance(other, Direction):
            return self + -other
        if not isinstance(other, Point):
            return NotImplemented
        _same(self, other, "subtracted")
        return Direction(self.coordinates - other.coordinates, self.frame)


@dataclass(frozen=True, eq=False)
class BoundVector:
    """A vector that begins at a point: a force with its point of attack. ``vector`` alone is the free vector.

    >>> weight = BoundVector(Point((2, 0, 0)), Direction((0, 0, -9.81)))
    >>> weight.moment(Point((0, 0, 0))).components + 0.0
    array([ 0.  , 19.62,  0.  ])
    """

    at: Point
    vector: Direction

    def __post_init__(self) -> None:
        _same(self.at, self.vector, "bound together")

    @property
    def tip(self) -> Point:
        """Where it ends."""
        return self.at + self.vector

    def moment(self, about: Point) -> Direction:
        """(at - about) x vector."""
        return (self.at - about).cross(self.vector)


@dataclass(frozen=True)
class Screw:
    """A turn by ``angle`` about the line through ``point`` along the unit ``axis``, and a ``shift`` along it. Leading axes are free."""

    axis: Array
    angle: Array
    shift: Array
    point: Array

    @property
    def pitch(self) -> Array:
        """Shift per angle; infinite for a translation, zero if there is no shift."""
        none = self.shift == 0
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(none, 0.0, self.shift / np.where(none, 1.0, self.angle)))


@dataclass(frozen=True, eq=False)
class Transform:
    """A rigid motion: takes what is given in the frame ``source`` to the frame ``target``; the pose of the source in the target.

    ``matrix``: (..., 4, 4). ``T @ p`` transforms points and directions, ``A @ B`` chains transforms if the frames meet.

    >>> wheel = Transform.of(q=(0, 0, 1), source="wheel", target="cart")
    >>> cart = Transform.of(q=(5, 0, 0), source="cart")
    >>> (cart @ wheel @ Point((0, 0, 0), "wheel")).coordinates
    array([5., 0., 1.])
    """

    matrix: Array
    source: str = "body"
    target: str = "space"

    def __post_init__(self) -> None:
        try:
            X = np.asarray(SE3.matrix(SE3.from_matrix(self.matrix)))
        except ValueError as error:
            raise ValueError(f"Transform: {error}") from None
        object.__setattr__(self, "matrix", X)

    @classmethod
    def of(cls, R: ArrayLike | None = None, q: ArrayLike = (0, 0, 0), source: str = "body", target: str = "space") -> Transform:
        """From a rotation matrix (default: none) and the position q of the source's origin in the target."""
        R, q = np.eye(3) if R is None else np.asarray(R, dtype=float), _vectors(q, "Transform: q")
        if R.shape[-2:] != (3, 3):
            raise ValueError(f"Transform: R must have shape (..., 3, 3), got {R.shape}")
        X = np.zeros((*np.broadcast_shapes(R.shape[:-2], q.shape[:-1]), 4, 4))
        X[..., :3, :3], X[..., :3, 3], X[..., 3, 3] = R, q, 1.0
        return cls(X, source, target)

    @classmethod
    def from_screw(cls, screw: Screw, source: str = "body", target: str = "space") -> Transform:
        """R = exp(angle axis), q = (1 - R) point + shift axis."""
        axis = unit(screw.axis)
        R = np.asarray(SO3.matrix(SO3.exp(np.asarray(screw.angle, dtype=float)[..., None] * axis)))
        point = _vectors(screw.point, "Screw: point")
        q = point - (R @ point[..., None])[..., 0] + np.asarray(screw.shift, dtype=float)[..., None] * axis
        return cls.of(R, q, source, target)

    @property
    def R(self) -> Array:
        """The rotation matrix: its columns are the axes of the source in the target."""
        return np.asarray(self.matrix[..., :3, :3])

    @property
    def q(self) -> Array:
        """The origin of the source in the target."""
        return np.asarray(self.matrix[..., :3, 3])

    @property
    def inverse(self) -> Transform:
        """From the target to the source (3.17)."""
        T = np.swapaxes(self.R, -1, -2)
        return Transform.of(T, -(T @ self.q[..., None])[..., 0], self.target, self.source)

    @overload
    def __matmul__(self, other: Transform) -> Transform: ...
    @overload
    def __matmul__(self, other: Point) -> Point: ...
    @overload
    def __matmul__(self, other: Direction) -> Direction: ...
    @overload
    def __matmul__(self, other: BoundVector) -> BoundVector: ...
    def __matmul__(self, other: Transform | Point | Direction | BoundVector) -> Transform | Point | Direction | BoundVector:
        if isinstance(other, BoundVector):
            return BoundVector(self @ other.at, self @ other.vector)
        if not isinstance(other, Transform | Point | Direction):
            return NotImplemented
        frame = other.target if isinstance(other, Transform) else other.frame
        if frame != self.source:
            kind = type(other).__name__.lower()
            raise ValueError(f"a transform from '{self.source}' to '{self.target}' cannot take a {kind} in '{frame}'")
        if isinstance(other, Transform):
            return Transform(self.matrix @ other.matrix, other.source, self.target)
        x = (self.matrix @ other.homogeneous[..., None])[..., :3, 0]
        return Point(x, self.target) if isinstance(other, Point) else Direction(x, self.target)

    def rate(self, omega: ArrayLike, velocity: ArrayLike, frame: str = "space") -> Array:
        """T' = [[R', q'], [0, 0]] (3.20) for an angular velocity and a velocity q' of the origin, both in "space" (target) or "body"
        (source) axes. It is no transform itself. Shape (..., 4, 4)."""
        omega, velocity = _vectors(omega, "Transform.rate: omega"), _vectors(velocity, "Transform.rate: velocity")
        if check_frame(frame, "Transform.rate") == "body":
            omega, velocity = ((self.R @ a[..., None])[..., 0] for a in (omega, velocity))
        D = np.zeros((*np.broadcast_shapes(self.matrix.shape[:-2], omega.shape[:-1], velocity.shape[:-1]), 4, 4))
        D[..., :3, :3], D[..., :3, 3] = skew(omega) @ self.R, velocity
        return D

    def velocity_operator(self, rate: ArrayLike) -> Array:
        """T' T^-1 = [[Omega, q' - Omega q], [0, 0]] (4.1)-(4.5): takes a point of the body, given in the target, to its velocity there."""
        return np.asarray(np.asarray(rate, dtype=float) @ self.inverse.matrix)

    def screw(self) -> Screw:
        """The motion as a turn about a line and a shift along it (Chasles, Mozzi; Remark 3.3).

        h = n . q, and the point c of the line next to the origin from (1 - R) c = q - h n. Without a turn: a shift along q, and the line
        goes through the origin.

        >>> s = Transform.of(np.diag([-1, -1, 1]), (2, 0, 3)).screw()
        >>> s.axis, s.point.round(15), float(s.shift)
        (array([0., 0., 1.]), array([1., 0., 0.]), 3.0)
        """
        axis, phi = (np.asarray(a) for a in axis_and_angle(self.R))
        q, turns = self.q, phi > NO_ANGLE
        size = np.linalg.norm(q, axis=-1)
        along = unit(np.where((size > 0)[..., None], q, axis))
        axis = np.where(turns[..., None], axis, along)
        shift = np.sum(axis * q, axis=-1)
        across = q - shift[..., None] * axis
        half = np.where(turns, phi, np.pi) / 2
        point = (across + np.cross(axis, across) * (np.cos(half) / np.sin(half))[..., None]) / 2
        return Screw(axis, np.where(turns, phi, 0.0), shift, np.where(turns[..., None], point, 0.0))


def sequence(motions: Sequence[Transform], about: str = "current") -> Transform:
    """The pose after several motions, one after the other (Remark 3.4).

    Motions given in the axes of the "current" frame, as it is when its turn comes, are multiplied from the right, T = T1 T2 ... Tn; those
    given in the "fixed" frame from the left, T = Tn ... T2 T1. The frames are those of the first motion.
    """
    if not motions:
        raise ValueError("sequence: give at least one motion")
    if about not in ("current", "fixed"):
        raise ValueError(f"sequence: about must be 'current' or 'fixed', got {about!r}")
    T = motions[0].matrix
    for motion in motions[1:]:
        T = T @ motion.matrix if about == "current" else motion.matrix @ T
    return Transform(T, motions[0].source, motions[0].target)


def _same(a: Point | Direction, b: Point | Direction, verb: str) -> None:
    if a.frame != b.frame:
        raise ValueError(f"components in the frames '{a.frame}' and '{b.frame}' cannot be {verb}; transform one of them first")


def _fourth(x: Array, w: float) -> Array:
    return np.concatenate([x, np.full((*x.shape[:-1], 1), w)], axis=-1)
