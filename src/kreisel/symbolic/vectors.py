"""Vectors of three and quaternions, in symbols. Quaternions have the scalar part first."""

from __future__ import annotations

import casadi as ca


def skew(a: ca.SX) -> ca.SX:
    """The matrix of the cross product: skew(a) @ b = a x b."""
    return ca.skew(a)


def axial(A: ca.SX) -> ca.SX:
    """The vector of the skew part of a matrix; the inverse of :func:`skew`."""
    return ca.vertcat(A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]) / 2


def block(rows: list[list[ca.SX]]) -> ca.SX:
    """A matrix from its blocks."""
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def hamilton(p: ca.SX, q: ca.SX) -> ca.SX:
    """The product p * q of two quaternions."""
    return ca.vertcat(p[0] * q[0] - ca.dot(p[1:], q[1:]), p[0] * q[1:] + q[0] * p[1:] + ca.cross(p[1:], q[1:]))


def conjugate(p: ca.SX) -> ca.SX:
    """The quaternion with the vector part reversed."""
    return ca.vertcat(p[0], -p[1:])


def pure(a: ca.SX) -> ca.SX:
    """The quaternion (0, a)."""
    return ca.vertcat(0, a)


def rotate(p: ca.SX, a: ca.SX) -> ca.SX:
    """The vector part of p * (0, a) * conj(p), for a unit quaternion p."""
    t = 2 * ca.cross(p[1:], a)
    return a + p[0] * t + ca.cross(p[1:], t)


def left_matrix(p: ca.SX) -> ca.SX:
    """Q(p) with Q(p) q = p * q (Hante, Remark 2.29)."""
    return block([[p[0], -p[1:].T], [p[1:], p[0] * ca.SX.eye(3) + skew(p[1:])]])


def rotation_matrix(p: ca.SX) -> ca.SX:
    """The Euler map R(p): the rotation matrix of a unit quaternion."""
    w, v = p[0], p[1:]
    return ca.SX.eye(3) + 2 * (w * skew(v) + ca.mtimes(skew(v), skew(v)))


def quaternion(R: ca.SX) -> ca.SX:
    """The unit quaternion of a rotation matrix, with a scalar part that is not negative.

    At half a turn, where both signs have scalar part zero, the component largest in size is positive. Of the four squares of
    the components the largest is used to divide by (S. Shepperd, J. Guidance and Control 1, 1978), so nothing cancels.
    """
    r = R
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    # Columns of 4 p p^T: column k divided by the root of its k-th entry is 2 p, up to sign.
    squares = [1 + trace] + [1 + 2 * r[i, i] - trace for i in range(3)]
    a, b, c = (2 * axial(r))[0], (2 * axial(r))[1], (2 * axial(r))[2]
    d, e, f = r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1]
    columns = [[squares[0], a, b, c], [a, squares[1], d, e], [b, d, squares[2], f], [c, e, f, squares[3]]]
    p, open_ = ca.SX.zeros(4), ca.SX(1)
    for k in range(4):
        largest = open_
        for j in range(k + 1, 4):
            largest = ca.logic_and(largest, squares[k] >= squares[j])
        open_ = ca.logic_and(open_, ca.logic_not(largest))
        root = ca.sqrt(ca.if_else(largest, squares[k], 1))
        sign = ca.if_else(columns[k][0] < 0, -1, 1)
        p += ca.if_else(largest, sign * ca.vertcat(*columns[k]) / (2 * root), ca.SX.zeros(4))
    return p
