"""The freedoms a joint leaves: angles and strokes, with their rates.

A joint compares two frames that coincide at the start: A, fixed to its first body, and B, fixed to its second. A freedom is a coordinate
of B in A; its rate is linear in the velocities, so that a torque or force u along it has the power u times the rate of a virtual motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from types import SimpleNamespace

import casadi as ca

from kreisel.mechanics.frame import Frame


@dataclass(frozen=True)
class Freedom:
    """A coordinate of a joint. ``turns``: whether it is an angle, which is followed over full turns by memory."""

    turns = False

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

    def direction(self, A: Frame, B: Frame) -> tuple[ca.SX, ca.SX]:
        """Velocity of the origin of B and angular velocity of B, both against A and in space axes, where the rate is one and all others are
        zero: what spans the motions that the joint allows, also in the middle of a step."""
        raise NotImplementedError

    def shifted(self, A: Frame, B: Frame, by: ca.SX) -> ca.SX:
        """A column that is zero where the coordinate has the given value, without a branch: for prescribed motions."""
        return self.value(A, B) - by


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

    def direction(self, A: Frame, B: Frame) -> tuple[ca.SX, ca.SX]:
        return ca.SX.zeros(3), A.R[:, 2]

    def shifted(self, A: Frame, B: Frame, by: ca.SX) -> ca.SX:
        y = self.measures(A, B)
        return y[1] * ca.cos(by) - y[0] * ca.sin(by)


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

    def direction(self, A: Frame, B: Frame) -> tuple[ca.SX, ca.SX]:
        return ca.SX.zeros(3), B.R[:, 0]


@dataclass(frozen=True)
class Slide(Freedom):
    """How far the origin of B is from that of A, along an axis of A."""

    axis: int = 2

    def measures(self, A: Frame, B: Frame) -> ca.SX:
        return ca.dot(A.R[:, self.axis], B.x - A.x)

    def rate(self, A: Frame, B: Frame) -> ca.SX:
        return ca.dot(A.R[:, self.axis], B.velocity - A.velocity - ca.cross(A.space_omega, B.x - A.x))

    def direction(self, A: Frame, B: Frame) -> tuple[ca.SX, ca.SX]:
        return A.dual[:, self.axis], ca.SX.zeros(3)


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
