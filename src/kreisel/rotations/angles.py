"""Rotations as three turns about coordinate axes: Euler angles and Kardan angles."""

from __future__ import annotations

from math import pi

import casadi as ca
import numpy as np

from kreisel.rotations.base import Matrix, Parametrisation, Point, Reached, Scalar
from kreisel.symbolic.vectors import hamilton, quaternion

#: Sines below this are rounding: gimbal lock.
LOCK = 4 * np.finfo(float).eps


def elementary(axis: int, angle: ca.SX) -> ca.SX:
    """The elementary rotation matrix R_x, R_y or R_z (axis 0, 1, 2), in symbols."""
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R = ca.SX.eye(3)
    R[j, j] = R[k, k] = ca.cos(angle)
    R[k, j] = ca.sin(angle)
    R[j, k] = -ca.sin(angle)
    return ca.densify(R)


class EulerAngles(Parametrisation):
    r"""Three angles x = (a, b, c), R = R_i(a) R_j(b) R_k(c), for each of the twelve sequences of axes "zxz", "xyz", ...

    The axes are carried along: about the first, then about the turned second, then about the third as turned twice. Turns about axes
    fixed in space are the same with sequence and angles reversed. With the columns b_1 = e_i, b_2 = R_i e_j, b_3 = R_i R_j e_k,

    .. math:: \omega = \dot a\,b_1 + \dot b\,b_2 + \dot c\,b_3 , \qquad \det[b_1\, b_2\, b_3] = \pm\sin b \text{ or } \pm\cos b .

    ``regularity(x)`` is the size of that determinant: |sin b| if first and last axis are the same (Euler), |cos b| if all three differ
    (Kardan). Where it is zero (gimbal lock) only the sum or the difference of a and c counts: ``rate`` is an error there, ``of`` gives
    c = 0. Else ``of`` gives a and c in (-pi, pi] and b in [0, pi], or in [-pi/2, pi/2] for Kardan angles. It goes over the
    quaternion, in which a + c and a - c stand apart (E. Bernardes, S. Viollet, PLoS ONE 17, 2022), so nothing is lost next to the lock.

    >>> EulerAngles("zxz").of(EulerAngles("zxz").matrix([0.3, 0.2, 0.1])).round(12)
    array([0.3, 0.2, 0.1])
    >>> Kardan.of(Kardan.matrix([0.3, np.pi / 2, 0.1])).round(6) + 0.0, Kardan.regularity([0.3, np.pi / 2, 0.1]).round(12)
    (array([0.4     , 1.570796, 0.      ]), np.float64(0.0))
    """

    n_params = 3
    element = "three angles"

    def __init__(self, sequence: str = "zxz") -> None:
        word = sequence.lower() if isinstance(sequence, str) else ""
        if len(word) != 3 or set(word) - set("xyz") or word[0] == word[1] or word[1] == word[2]:
            raise ValueError(
                f"EulerAngles: a sequence is three letters out of x, y, z, neighbours different, such as 'zxz'; got {sequence!r}"
            )
        self.sequence = word
        self.axes = tuple("xyz".index(letter) for letter in word)
        self.name = f"EulerAngles('{word}')"
        self.is_kardan = word[0] != word[2]
        self.singular = f"gimbal lock: {'cos' if self.is_kardan else 'sin'} b = 0, the first and the last axis coincide"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EulerAngles) and self.sequence == other.sequence

    def __hash__(self) -> int:
        return hash(self.sequence)

    def matrix(self, x: Point) -> Matrix:
        A, B, C = (elementary(axis, x[n]) for n, axis in enumerate(self.axes))
        return ca.mtimes(A, ca.mtimes(B, C))

    def of(self, R: Reached) -> Point:
        i, j, k = self.axes
        q = quaternion(R)
        if self.is_kardan:
            # R_k(c) = R_j(pi/2) R_i(-sign c) R_j(-pi/2): Euler angles (a, b + pi/2, -sign c) of R R_j(pi/2).
            quarter = ca.SX.zeros(4)
            quarter[0] = quarter[1 + j] = np.sqrt(0.5)
            q = hamilton(q, quarter)
        last = 3 - i - j
        sign = 1 if (j - i) % 3 == 1 else -1
        # q = cos(b/2) (cos s + e_i sin s) + sin(b/2) (e_j cos d + sign e_l sin d), s = (a + c)/2, d = (a - c)/2
        cosine, sine = _length(q[0], q[1 + i]), _length(q[1 + j], q[1 + last])
        s, d = _polar(q[1 + i], q[0], cosine), _polar(sign * q[1 + last], q[1 + j], sine)
        s, d = ca.if_else(cosine <= LOCK, d, s), ca.if_else(sine <= LOCK, s, d)
        a, c = _wrapped(s + d), _wrapped(s - d)
        if self.is_kardan:
            # sin b is an entry of R: taken from there, small angles keep their digits.
            return ca.vertcat(a, ca.atan2(sign * R[i, k], 2 * sine * cosine), -sign * c)
        return ca.vertcat(a, 2 * ca.atan2(sine, cosine), c)

    def regularity(self, x: Point) -> Scalar:
        return ca.fabs(ca.cos(x[1]) if self.is_kardan else ca.sin(x[1]))

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        i, j, k = self.axes
        A, B = elementary(i, x[0]), elementary(j, x[1])
        u, v, w = ca.SX.eye(3)[:, i], A[:, j], ca.mtimes(A, B)[:, k]
        volume = ca.dot(u, ca.cross(v, w))
        return ca.vertcat(*(ca.dot(omega, ca.cross(*pair)) for pair in ((v, w), (w, u), (u, v)))) / volume


def _length(a: ca.SX, b: ca.SX) -> ca.SX:
    return ca.sqrt(a * a + b * b)


def _polar(y: ca.SX, x: ca.SX, r: ca.SX) -> ca.SX:
    """atan2(y, x), and zero where both are rounding."""
    return ca.atan2(ca.if_else(r <= LOCK, 0, y), ca.if_else(r <= LOCK, 1, x))


def _wrapped(angle: ca.SX) -> ca.SX:
    """The same angle in (-pi, pi]; between -3 pi and 3 pi."""
    return angle - 2 * pi * (angle > pi) + 2 * pi * (angle <= -pi)


Kardan = EulerAngles("xyz")
