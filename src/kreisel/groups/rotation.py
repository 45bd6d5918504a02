r"""Rotations: as matrices (SO3) and as unit quaternions (S3).

A velocity is the body-fixed angular velocity :math:`\Omega`. With :math:`K = \mathrm{skew}(v)` and the functions of
:mod:`kreisel.symbolic.smallangle` at :math:`s = |v|^2`,

.. math:: \exp v = I + f_1 K - f_2 K^2, \quad T = I + f_2 K + f_3 K^2, \quad T^{-1} = I + \tfrac12 K + f_6 K^2 .

Sources: Hante, 2.3, A.2, A.4; Klemps, (1.11), (1.12).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from kreisel.groups.base import Array, Element, Embedded, Group, Square, Vector
from kreisel.symbolic import smallangle as sa
from kreisel.symbolic.vectors import conjugate, hamilton, left_matrix, quaternion, rotation_matrix, skew


def tangent(v: ca.SX) -> ca.SX:
    """T of both rotation groups."""
    K, s = skew(v), ca.dot(v, v)
    return ca.SX.eye(3) + sa.f2(s) * K + sa.f3(s) * ca.mtimes(K, K)


def inverse_tangent(v: ca.SX) -> ca.SX:
    """T^-1 of both rotation groups."""
    K = skew(v)
    return ca.SX.eye(3) + K / 2 + sa.f6(ca.dot(v, v)) * ca.mtimes(K, K)


class Rotations(Group):
    """What SO3 and S3 have in common: the algebra, R^3 with the cross product."""

    dim = 3
    bi_invariant = True

    def ad(self, v: Vector) -> Square:
        return skew(v)

    def T(self, v: Vector) -> Square:
        return tangent(v)

    def Tinv(self, v: Vector) -> Square:
        return inverse_tangent(v)

    def turn(self, v: ca.SX) -> ca.SX:
        return ca.norm_2(v)

    # The rotation part of a rigid motion, see kreisel.groups.convert.

    def from_rotations(self, other: Rotations, q: ca.SX) -> ca.SX:
        """The same rotation, given as an element of the other group."""
        if other is self:
            return q
        return SO3.from_matrix(rotation_matrix(q)) if self is SO3 else quaternion(SO3.matrix(q))


class _SO3(Rotations):
    """The rotation matrices. An element is the nine entries of R, row by row; R maps body to space vectors.

    ``log`` is right up to and at the angle pi. There, where v and -v give the same rotation, it returns the one
    whose component largest in size is positive.

    >>> R = SO3.exp([0, 0, np.pi / 2])
    >>> SO3.matrix(R).round(3) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """

    name = "SO3"
    n_params = 9
    n_matrix = 3
    element = "a rotation matrix (R^T R = I, det R = 1)"

    def compose(self, p: Element, q: Element) -> Element:
        return _row_by_row(ca.mtimes(self.matrix(p), self.matrix(q)))

    def inverse(self, q: Element) -> Element:
        return _row_by_row(self.matrix(q).T)

    def exp(self, v: Vector) -> Element:
        K, s = skew(v), ca.dot(v, v)
        return _row_by_row(ca.SX.eye(3) + sa.f1(s) * K - sa.f2(s) * ca.mtimes(K, K))

    def log(self, q: Element) -> Vector:
        return S3.log(quaternion(self.matrix(q)))

    def Ad(self, q: Element) -> Square:
        return self.matrix(q)

    def matrix(self, q: Element) -> Embedded:
        return ca.reshape(q, 3, 3).T

    def from_matrix(self, X: Embedded) -> Element:
        return _row_by_row(X)

    def defect(self, q: ca.SX) -> ca.SX:
        X = self.matrix(q)
        mirror = ca.fabs(ca.det(X) - 1)  # a reflection satisfies R^T R = I, too
        return ca.sqrt(ca.sumsqr(ca.mtimes(X.T, X) - ca.SX.eye(3))) + mirror

    def _project(self, q: Array) -> Array:
        U, sigma, V = np.linalg.svd(q.reshape(*q.shape[:-1], 3, 3))
        D = np.ones_like(sigma)
        D[..., 2] = np.linalg.det(U @ V)
        # With a determinant that is not positive the nearest rotation is unique only if the two smallest stretches differ.
        if np.any((sigma[..., 1] <= 1e-12 * sigma[..., 0]) | ((D[..., 2] < 0) & (sigma[..., 1] - sigma[..., 2] < 1e-12 * sigma[..., 0]))):
            raise ValueError("SO3.project: q has no nearest rotation: the matrix is singular or a reflection")
        return np.asarray(U * D[..., None, :] @ V).reshape(q.shape)

    def _random(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        from kreisel.groups.convert import convert

        return convert(S3.random(rng, shape), S3, SO3)


class _S3(Rotations):
    """The unit quaternions, scalar part first; p and -p are the same rotation, but not the same element.

    ``log`` gives angles from 0 to just below 2 pi. At p = -1 every axis would do: there it is an error.

    >>> S3.log([0, 0, 1, 0])
    array([0.        , 3.14159265, 0.        ])
    """

    name = "S3"
    n_params = 4
    n_matrix = 4
    element = "a unit quaternion (|p| = 1)"

    def compose(self, p: Element, q: Element) -> Element:
        return hamilton(p, q)

    def inverse(self, q: Element) -> Element:
        return conjugate(q)

    def exp(self, v: Vector) -> Element:
        s = ca.dot(v, v)
        return ca.vertcat(sa.cos_half(s), sa.sinc_half(s) * v)

    def log(self, q: Element) -> Vector:
        return sa.f7(q[0], ca.dot(q[1:], q[1:])) * q[1:]

    def Ad(self, q: Element) -> Square:
        return rotation_matrix(q)

    def matrix(self, q: Element) -> Embedded:
        return left_matrix(q)

    def from_matrix(self, X: Embedded) -> Element:
        return X[:, 0]

    def defect(self, q: ca.SX) -> ca.SX:
        return ca.fabs(ca.dot(q, q) - 1)

    def _project(self, q: Array) -> Array:
        length = np.linalg.norm(q, axis=-1, keepdims=True)
        if np.any(length < 1e-150):
            raise ValueError("S3.project: q is a quaternion of norm zero; every unit quaternion is equally near")
        return np.asarray(q / length)

    def _random(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return self.project(rng.standard_normal((*shape, 4)))


def _row_by_row(X: ca.SX) -> ca.SX:
    return ca.vec(X.T)


SO3 = _SO3()
S3 = _S3()
