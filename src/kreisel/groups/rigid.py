r"""Rigid motions: rotation and translation combined, as matrices (SE3), with quaternions (S3R3), as dual quaternions (UDQ).

All three have the algebra of :math:`v = (\Omega, U)`, angular and linear velocity in body axes. With :math:`d = \Omega\cdot U`,

.. math::

   \exp v &= (\exp\Omega,\; T_{SO3}(\Omega)^T U), \qquad
   \widehat v = \begin{pmatrix}\widehat\Omega & 0\\ \widehat U & \widehat\Omega\end{pmatrix},\\
   T &= \begin{pmatrix}T_{SO3} & 0\\ C_1 & T_{SO3}\end{pmatrix},\quad
   C_1 = f_2\widehat U + f_3(\widehat U\widehat\Omega + \widehat\Omega\widehat U) + f_4\, d\,\widehat\Omega - f_5\, d\,\widehat\Omega^2,\\
   T^{-1} &= \begin{pmatrix}T_{SO3}^{-1} & 0\\ C_2 & T_{SO3}^{-1}\end{pmatrix},\quad
   C_2 = \tfrac12\widehat U + f_6(\widehat U\widehat\Omega + \widehat\Omega\widehat U) + f_8\, d\,\widehat\Omega^2 .

Sources: Hante, 2.3, A.3, A.5, A.6. Klemps has the translation first; here the rotation comes first throughout.
"""

from __future__ import annotations

from typing import ClassVar

import casadi as ca
import numpy as np

from kreisel.groups.base import Array, Element, Embedded, Group, Scalar, Square, Vector
from kreisel.groups.rotation import S3, SO3, Rotations, inverse_tangent, tangent
from kreisel.symbolic import smallangle as sa
from kreisel.symbolic.vectors import block, conjugate, hamilton, left_matrix, pure, rotate, rotation_matrix, skew


class RigidMotions(Group):
    """What SE3, S3R3 and UDQ have in common: the algebra, and a rotation and a position behind every element."""

    dim = 6
    rotations: ClassVar[Rotations]

    def split(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The rotation, as an element of ``self.rotations``, and the position; in symbols."""
        n = self.rotations.n_params
        return q[:n], q[n:]

    def join(self, r: ca.SX, x: ca.SX) -> ca.SX:
        """The inverse of split."""
        return ca.vertcat(r, x)

    def exp(self, v: Vector) -> Element:
        W, U = v[:3], v[3:]
        # T^T U, without the matrix
        s, c = ca.dot(W, W), ca.cross(W, U)
        return self.join(self.rotations.exp(W), U - sa.f2(s) * c + sa.f3(s) * ca.cross(W, c))

    def log(self, q: Element) -> Vector:
        r, x = self.split(q)
        p = S3.from_rotations(self.rotations, r)
        n2 = ca.dot(p[1:], p[1:])
        per_sine = sa.f7(p[0], n2)
        W = per_sine * p[1:]
        c = ca.cross(W, x)
        return ca.vertcat(W, x - c / 2 + sa.f6_quaternion(p[0], n2, per_sine**2 * n2) * ca.cross(W, c))

    def Ad(self, q: Element) -> Square:
        r, x = self.split(q)
        A = self.rotations.Ad(r)
        return block([[A, ca.SX(3, 3)], [ca.mtimes(skew(x), A), A]])

    def ad(self, v: Vector) -> Square:
        W, U = skew(v[:3]), skew(v[3:])
        return block([[W, ca.SX(3, 3)], [U, W]])

    def T(self, v: Vector) -> Square:
        W, U, s, d = skew(v[:3]), skew(v[3:]), ca.dot(v[:3], v[:3]), ca.dot(v[:3], v[3:])
        C1 = sa.f2(s) * U + sa.f3(s) * (ca.mtimes(U, W) + ca.mtimes(W, U)) + sa.f4(s) * d * W - sa.f5(s) * d * ca.mtimes(W, W)
        D = tangent(v[:3])
        return block([[D, ca.SX(3, 3)], [C1, D]])

    def Tinv(self, v: Vector) -> Square:
        W, U, s, d = skew(v[:3]), skew(v[3:]), ca.dot(v[:3], v[:3]), ca.dot(v[:3], v[3:])
        C2 = U / 2 + sa.f6(s) * (ca.mtimes(U, W) + ca.mtimes(W, U)) + sa.f8(s) * d * ca.mtimes(W, W)
        D = inverse_tangent(v[:3])
        return block([[D, ca.SX(3, 3)], [C2, D]])

    def distance(self, p: Element, q: Element, *, metric: str = "left") -> Scalar:
        """The length of the shortest way from p to q in an invariant metric.

        The left-invariant metric |Omega|^2 + |U|^2 equals |Omega|^2 + |x'|^2: shortest ways turn and move independently,
        sqrt(|log(R_p^T R_q)|^2 + |x_q - x_p|^2). They are not the motions with constant velocity.
        """
        self._check_metric(metric)
        if metric == "right":
            return self.distance(self.inverse(p), self.inverse(q))
        (r, x), (s, y) = self.split(p), self.split(q)
        angle = self.rotations.difference(r, s)
        return ca.sqrt(ca.sumsqr(angle) + ca.sumsqr(y - x))

    def turn(self, v: ca.SX) -> ca.SX:
        return self.rotations.turn(v[:3])

    def defect(self, q: ca.SX) -> ca.SX:
        return self.rotations.defect(self.split(q)[0])

    def _random(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        from kreisel.groups.convert import convert

        r, x = self.rotations.random(rng, shape), rng.standard_normal((*shape, 3))
        return convert(np.concatenate([r, x], axis=-1), SE3 if self.rotations is SO3 else S3R3, self)

    def _project(self, q: Array) -> Array:
        n = self.rotations.n_params
        return np.concatenate([self.rotations.project(q[..., :n]), q[..., n:]], axis=-1)


class _SE3(RigidMotions):
    """Rotation matrix and position: nine entries of R, row by row, then x. Matrices: [[R, x], [0, 1]].

    ``log`` is right up to and at the angle pi, see SO3.

    >>> SE3.exp([0, 0, np.pi, 1, 0, 0])[9:].round(6)
    array([0.     , 0.63662, 0.     ])
    """

    name = "SE3"
    n_params = 12
    n_matrix = 4
    element = "a rotation matrix (R^T R = I, det R = 1) and a position"
    rotations = SO3

    def compose(self, p: Element, q: Element) -> Element:
        (r, x), (s, y) = self.split(p), self.split(q)
        return self.join(SO3.compose(r, s), x + ca.mtimes(SO3.matrix(r), y))

    def inverse(self, q: Element) -> Element:
        r, x = self.split(q)
        return self.join(SO3.inverse(r), -ca.mtimes(SO3.matrix(r).T, x))

    def matrix(self, q: Element) -> Embedded:
        r, x = self.split(q)
        return block([[SO3.matrix(r), x], [ca.SX(1, 3), 1]])

    def from_matrix(self, X: Embedded) -> Element:
        return self.join(SO3.from_matrix(X[:3, :3]), X[:3, 3])


class _S3R3(RigidMotions):
    """The semidirect product of unit quaternions and positions: p, then x. Matrices: blockdiag(Q(p), [[R(p), x], [0, 1]]).

    ``log`` gives angles from 0 to just below 2 pi, see S3.

    >>> S3R3.compose(S3R3.exp([0, 0, np.pi, 0, 0, 0]), [1, 0, 0, 0, 1, 0, 0]).round(6) + 0.0
    array([ 0.,  0.,  0.,  1., -1.,  0.,  0.])
    """

    name = "S3R3"
    n_params = 7
    n_matrix = 8
    element = "a unit quaternion (|p| = 1) and a position"
    rotations = S3

    def compose(self, p: Element, q: Element) -> Element:
        (r, x), (s, y) = self.split(p), self.split(q)
        return self.join(hamilton(r, s), x + rotate(r, y))

    def inverse(self, q: Element) -> Element:
        r, x = self.split(q)
        return self.join(conjugate(r), -rotate(conjugate(r), x))

    def matrix(self, q: Element) -> Embedded:
        r, x = self.split(q)
        motion = block([[rotation_matrix(r), x], [ca.SX(1, 3), 1]])
        return ca.diagcat(left_matrix(r), motion)

    def from_matrix(self, X: Embedded) -> Element:
        return self.join(X[:4, 0], X[4:7, 7])


class _UDQ(RigidMotions):
    """The unit dual quaternions p + e r, |p| = 1, p . r = 0: p, then r = (0, x) * p / 2. Matrices: [[Q(p), 0], [Q(r), Q(p)]].

    ``log`` gives angles from 0 to just below 2 pi, see S3.

    >>> UDQ.exp([0, 0, 0, 2, 4, 6]) + 0.0
    array([1., 0., 0., 0., 0., 1., 2., 3.])
    """

    name = "UDQ"
    n_params = 8
    n_matrix = 8
    element = "a unit dual quaternion (|p| = 1, p . r = 0)"
    rotations = S3

    def split(self, q: ca.SX) -> tuple[ca.SX, ca.SX]:
        return q[:4], 2 * hamilton(q[4:], conjugate(q[:4]))[1:]

    def join(self, r: ca.SX, x: ca.SX) -> ca.SX:
        return ca.vertcat(r, hamilton(pure(x), r) / 2)

    def compose(self, p: Element, q: Element) -> Element:
        return ca.vertcat(hamilton(p[:4], q[:4]), hamilton(p[4:], q[:4]) + hamilton(p[:4], q[4:]))

    def inverse(self, q: Element) -> Element:
        return ca.vertcat(conjugate(q[:4]), conjugate(q[4:]))

    def matrix(self, q: Element) -> Embedded:
        P = left_matrix(q[:4])
        return block([[P, ca.SX(4, 4)], [left_matrix(q[4:]), P]])

    def from_matrix(self, X: Embedded) -> Element:
        return X[:, 0]

    def defect(self, q: ca.SX) -> ca.SX:
        return S3.defect(q[:4]) + ca.fabs(ca.dot(q[:4], q[4:]))

    def _project(self, q: Array) -> Array:
        """p / |p|, and of r / |p| the part orthogonal to p."""
        p = S3.project(q[..., :4])
        r = q[..., 4:] / np.linalg.norm(q[..., :4], axis=-1, keepdims=True)
        return np.concatenate([p, r - np.sum(p * r, axis=-1, keepdims=True) * p], axis=-1)


SE3 = _SE3()
S3R3 = _S3R3()
UDQ = _UDQ()
