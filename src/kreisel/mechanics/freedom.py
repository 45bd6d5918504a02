"""The freedoms a joint leaves: angles and strokes, with their rates.

A joint compares two frames that coincide at the start: A, fixed to its first body, and B, fixed to its second. A freedom is a coordinate
of B in A; its rate is linear in the velocities, so that a torque or force u along it has the power u times the rate of a virtual motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import pi
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca

from kreisel.groups import S3, SO3, Group, R
from kreisel.mechanics.frame import Frame
from kreisel.rotations import Parametrisation


@dataclass(frozen=True)
class Freedom:
    """A coordinate of a joint. ``turns``: whether it is an angle, which is followed over full turns by memory.

    ``group``: where it lives. In minimal coordinates the freedoms of a joint, one after the other, lead from A to B (:meth:`moved`);
    :meth:`virtual` is the motion they leave, which in the middle of a step in directors is the discrete null space.
    """

    turns = False
    group: ClassVar[Group] = R(1)

    def measures(self, A: Frame, B: Frame) -> ca.SX:
        """What the coordinate depends on, quadratic in points and axes: itself, or cosine and sine."""
        raise NotImplementedError

    def of_measures(self, y: ca.SX) -> ca.SX:
        """The coordinate by these."""
        return y

    def value(self, A: Frame, B: Frame) -> ca.SX:
        """The coordinate; of an angle, in (-pi, pi]."""
        return self.of_measures(self.measures(A, B))

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        """Its derivative. With directors that are not quite orthonormal, in the middle of a step, this is the rule for the discrete input
        (Siebert, 3.3, corrected): angles about the reciprocal axis, strokes along the axis itself."""
        raise NotImplementedError

    def spin(self, A: Frame, B: Frame) -> ca.SX | None:
        """The angular velocity, or its one component, that is described by the coordinate; None, if B does not turn with it."""
        return self.rate(A, B) if self.turns else None

    def shifted(self, A: Frame, B: Frame, by: ca.SX) -> ca.SX:
        """A column that is zero where the coordinate has the given value, without a branch: for prescribed motions."""
        return self.value(A, B) - by

    def moved(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        """The frame to which this freedom leads from the given one."""
        raise NotImplementedError

    def undone(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        """The frame from which this freedom leads to the given one."""
        return self.moved(frame, self.group.inverse(value), -ca.mtimes(self.group.Ad(value), rate))

    def virtual(self, A: Frame, B: Frame, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Angular and linear velocity of B as seen from A, in space axes, of a virtual motion with the given rate: such that no row of a
        joint notices, also where directors are not quite orthonormal (Siebert, (4.55), (4.69), corrected: angles about the axis itself,
        strokes along the reciprocal one)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Turn(Freedom):
    """The angle by which B is turned against A about the third axis of A."""

    turns = True

    def measures(self, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(ca.dot(A.R[:, 0], B.R[:, 0]), ca.dot(A.R[:, 1], B.R[:, 0]))

    def of_measures(self, y: ca.SX) -> ca.SX:
        return ca.atan2(y[1], y[0])

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return ca.dot(A.dual[:, 2], B.space_omega - A.space_omega)

    def shifted(self, A: Frame, B: Frame, by: ca.SX) -> ca.SX:
        y = self.measures(A, B)
        return y[1] * ca.cos(by) - y[0] * ca.sin(by)

    def moved(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        c, s = ca.cos(value), ca.sin(value)
        return _turned(frame, _matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]), ca.vertcat(0, 0, rate))

    def virtual(self, A: Frame, B: Frame, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        return A.R[:, 2] * rate, ca.SX.zeros(3)


@dataclass(frozen=True)
class FirstTurn(Turn):
    """The same as the first angle of a universal joint, whose second one is about the first axis of B."""

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return ca.dot(_reciprocal(A.R[:, 2], B.R[:, 0]), B.space_omega - A.space_omega)


@dataclass(frozen=True)
class SecondTurn(Turn):
    """The angle by which B is turned about its own first axis, as the second one of a universal joint."""

    def measures(self, A: Frame, B: Frame) -> ca.SX:
        return ca.vertcat(ca.dot(A.R[:, 2], B.R[:, 2]), ca.dot(A.R[:, 2], B.R[:, 1]))

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return ca.dot(_reciprocal(B.R[:, 0], A.R[:, 2]), B.space_omega - A.space_omega)

    def moved(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        c, s = ca.cos(value), ca.sin(value)
        return _turned(frame, _matrix([[1, 0, 0], [0, c, -s], [0, s, c]]), ca.vertcat(rate, 0, 0))

    def virtual(self, A: Frame, B: Frame, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        return B.R[:, 0] * rate, ca.SX.zeros(3)


@dataclass(frozen=True)
class Slide(Freedom):
    """How far the origin of B is from that of A, along an axis of A."""

    axis: int = 2

    def measures(self, A: Frame, B: Frame) -> ca.SX:
        return ca.dot(A.R[:, self.axis], B.x - A.x)

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return ca.dot(A.R[:, self.axis], B.velocity - A.velocity - ca.cross(A.space_omega, B.x - A.x))

    def moved(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        e = ca.DM.eye(3)[:, self.axis]
        return _shifted(frame, e * value, e * rate)

    def virtual(self, A: Frame, B: Frame, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX.zeros(3), A.dual[:, self.axis] * rate


@dataclass(frozen=True)
class Ball(Freedom):
    """Any rotation of B against A, as a unit quaternion: no position is singular. Its rate is the angular velocity in the axes of B."""

    group: ClassVar[Group] = S3

    def value(self, A: Frame, B: Frame) -> ca.SX:
        return S3.from_rotations(SO3, SO3.from_matrix(ca.mtimes(A.R.T, B.R)))

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return ca.mtimes(B.R.T, B.space_omega - A.space_omega)

    def spin(self, A: Frame, B: Frame) -> ca.SX:
        return self.rate(A, B)

    def moved(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        return _turned(frame, S3.Ad(value), rate)

    def virtual(self, A: Frame, B: Frame, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        return rate, ca.SX.zeros(3)


@dataclass(frozen=True)
class Attitude(Freedom):
    """Any rotation of B against A, by the three numbers x of a parametrisation: angles, or a vector. Its rate is their derivative.

    No three numbers are regular everywhere: where these are singular, no rates of them make some angular velocities.
    """

    rotation: Parametrisation

    group: ClassVar[Group] = R(3)

    def value(self, A: Frame, B: Frame) -> ca.SX:
        return self.rotation.of(ca.mtimes(A.R.T, B.R))

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return self.rotation.rate(self.value(A, B), self.spin(A, B), frame="body")

    def spin(self, A: Frame, B: Frame) -> ca.SX:
        return ca.mtimes(B.R.T, B.space_omega - A.space_omega)

    def moved(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        return _turned(frame, self.rotation.matrix(value), self.rotation.omega(value, rate, frame="body"))

    def undone(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        return _turned(frame, self.rotation.matrix(value).T, -self.rotation.omega(value, rate, frame="space"))

    def virtual(self, A: Frame, B: Frame, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        return rate, ca.SX.zeros(3)


@dataclass(frozen=True)
class Shift(Freedom):
    """Any displacement of B against A, by its components in the axes of A."""

    group: ClassVar[Group] = R(3)

    def value(self, A: Frame, B: Frame) -> ca.SX:
        return ca.mtimes(A.R.T, B.x - A.x)

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return ca.mtimes(A.R.T, B.velocity - A.velocity - ca.cross(A.space_omega, B.x - A.x))

    def moved(self, frame: Frame, value: ca.SX, rate: ca.SX) -> Frame:
        return _shifted(frame, value, rate)

    def virtual(self, A: Frame, B: Frame, rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX.zeros(3), rate


def _turned(frame: Frame, turn: ca.SX, rate: ca.SX) -> Frame:
    """The frame turned about its origin; ``rate``: angular velocity against it, in the new axes."""
    return replace(frame, R=ca.mtimes(frame.R, turn), omega=ca.mtimes(turn.T, frame.omega) + rate)


def _shifted(frame: Frame, by: ca.SX, rate: ca.SX) -> Frame:
    """The frame shifted along its own axes."""
    velocity = frame.velocity + ca.mtimes(frame.R, ca.cross(frame.omega, by) + rate)
    return replace(frame, x=frame.point(by), velocity=velocity)


def _matrix(rows: list[list[Any]]) -> ca.SX:
    """A sparse matrix of the given entries."""
    return ca.sparsify(ca.vertcat(*(ca.horzcat(*(ca.SX(x) for x in row)) for row in rows)))


def _reciprocal(a: ca.SX, b: ca.SX) -> ca.SX:
    """The vector in the plane of two axes whose product with the first is one and with the second zero."""
    aa, ab, bb = ca.sumsqr(a), ca.dot(a, b), ca.sumsqr(b)
    return (a * bb - b * ab) / (aa * bb - ab**2)


def unwrapped(angle: ca.SX, expected: ca.SX) -> ca.SX:
    """Of all angles that differ by full turns, the one nearest to what is expected."""
    return angle + 2 * pi * ca.floor((expected - angle) / (2 * pi) + 0.5)


def followed(name: str, freedom: Freedom, p: SimpleNamespace, t: ca.SX, measures: ca.SX) -> ca.SX:
    """The coordinate; of an angle, as the memory ``{name}_last``, ``{name}_rate`` and ``time`` in p leads to expect it."""
    value = freedom.of_measures(measures)
    if not freedom.turns:
        return value
    return unwrapped(value, getattr(p, f"{name}_last") + (t - p.time) * getattr(p, f"{name}_rate"))
