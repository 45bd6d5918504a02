r"""Rotations by nine, six, five, four and three numbers.

Each class has the map, its inverse, the constraints and the rate equation in its formulas; the letters are those of Sadlowski, section 2.
Below, :math:`P` is the skew matrix of :math:`\psi`. Rotations by angles about axes are in :mod:`kreisel.rotations.angles`.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.groups import S3, SO3
from kreisel.groups.rotation import inverse_tangent
from kreisel.rotations.base import Array, Constraint, Matrix, Parametrisation, Point, Reached, Scalar
from kreisel.symbolic import smallangle as sa
from kreisel.symbolic.vectors import hamilton, quaternion, skew


class _RotationMatrix(Parametrisation):
    """The nine entries of R, row by row, as in the group SO3: the matrix of the rotation as a tensor, x_space = R x_body (2.20).

    Its columns are the axes of the body, in space. See :data:`DirectionCosines` for the other convention.
    """

    name = "RotationMatrix"
    n_params = 9
    n_constraints = 6
    linear = True
    element = SO3.element

    def matrix(self, x: Point) -> Matrix:
        return SO3.matrix(x)

    def of(self, R: Reached) -> Point:
        return SO3.from_matrix(R)

    def constraint(self, x: Point) -> Constraint:
        return _gram(self.matrix(x))

    def defect(self, x: ca.SX) -> ca.SX:
        return SO3.defect(x)

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return SO3.from_matrix(ca.mtimes(skew(omega), SO3.matrix(x)))

    def body_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return SO3.from_matrix(ca.mtimes(SO3.matrix(x), skew(omega)))


class _DirectionCosines(Parametrisation):
    """The nine direction cosines c_ij = e'_i . e_j of the turned axes e' to the old ones e, row by row (2.1), (2.2).

    The rows of C are the turned axes, so C takes the components of a fixed vector to the turned axes, and C = R^T: the matrix of the
    rotation as a tensor is the transpose of the matrix of direction cosines (2.27).

    >>> DirectionCosines.of(EulerParameters.matrix([0.8, 0, 0, 0.6])).round(2)[:3]
    array([0.28, 0.96, 0.  ])
    """

    name = "DirectionCosines"
    n_params = 9
    n_constraints = 6
    linear = True
    element = "a matrix of direction cosines (C^T C = I, det C = 1)"

    def matrix(self, x: Point) -> Matrix:
        return SO3.matrix(x).T

    def of(self, R: Reached) -> Point:
        return SO3.from_matrix(R.T)

    def constraint(self, x: Point) -> Constraint:
        return _gram(self.matrix(x))

    def defect(self, x: ca.SX) -> ca.SX:
        return SO3.defect(x)

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return SO3.from_matrix(-ca.mtimes(SO3.matrix(x), skew(omega)))

    def body_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return SO3.from_matrix(-ca.mtimes(skew(omega), SO3.matrix(x)))


class _SixNumbers(Parametrisation):
    r"""The first two columns of R (2.40)-(2.44): x = (x1, x2), orthonormal.

    .. math:: R = [x_1\; x_2\; x_1\times x_2], \qquad \dot x_i = \omega\times x_i \quad (2.89)

    >>> SixNumbers.matrix([0, 1, 0, -1, 0, 0]) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """

    name = "SixNumbers"
    n_params = 6
    n_constraints = 3
    linear = True
    element = "two orthonormal vectors"

    def matrix(self, x: Point) -> Matrix:
        return ca.horzcat(x[:3], x[3:], ca.cross(x[:3], x[3:]))

    def of(self, R: Reached) -> Point:
        return ca.vertcat(R[:, 0], R[:, 1])

    def constraint(self, x: Point) -> Constraint:
        a, b = x[:3], x[3:]
        return ca.vertcat(ca.dot(a, a) - 1, ca.dot(b, b) - 1, ca.dot(a, b))

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return ca.vertcat(ca.cross(omega, x[:3]), ca.cross(omega, x[3:]))


class Stereographic(Parametrisation):
    r"""Five numbers: the stereographic image y of x = (x1, x2)/sqrt 2, the first two columns of R on the unit sphere of R^6.

    .. math:: y = \frac{V x}{1 - a^T x} \quad (2.53), \qquad x = \frac{(y^T y - 1)\,a + 2 V^T y}{1 + y^T y} \quad (2.59)

    ``pole``: the vector a of six numbers, of any length, from which is projected; it must not itself be the image of a rotation. The rows
    of V are orthonormal and orthogonal to a: by default the images of the last five axes under the reflection that takes the first to a,
    or ``basis``. With J1 = diag(I, -I), J2 = [[0, I], [I, 0]] and A = diag(skew omega, skew omega),

    .. math:: x^T J_i x = 0 \quad (2.60), \qquad
              \dot y = \Bigl(\frac{y^T y - 1}{2} I - y y^T\Bigr) V A a + V A V^T y \quad (2.90).

    >>> five = Stereographic(pole=(1, 0, 0, 0, 0, 0))
    >>> five.of(np.eye(3)).round(6)
    array([0.      , 0.      , 0.      , 2.414214, 0.      ])
    """

    n_params = 5
    n_constraints = 2
    element = "a stereographic image of two orthonormal vectors"

    def __init__(self, pole: ArrayLike = (1, 0, 0, 0, 0, 0), basis: ArrayLike | None = None) -> None:
        a = np.array(pole, dtype=float)
        if a.shape != (6,) or not np.all(np.isfinite(a)) or not np.any(a):
            raise ValueError(f"Stereographic: pole must be six finite numbers, not all zero, got {pole!r}")
        a = a / np.linalg.norm(a)
        # Zero just for images of rotations: (|x1|^2 - |x2|^2, 2 x1 . x2).
        if np.hypot(a[:3] @ a[:3] - a[3:] @ a[3:], 2 * a[:3] @ a[3:]) < 1e-6:
            raise ValueError(f"Stereographic: the pole {pole!r} is the image of a rotation, which then has no image itself")
        V = _complement(a) if basis is None else np.array(basis, dtype=float)
        if V.shape != (5, 6) or not np.allclose(V @ np.c_[V.T, a], np.eye(5, 6), atol=1e-12):
            raise ValueError("Stereographic: basis must be five orthonormal rows of six numbers, orthogonal to the pole")
        self.pole, self.basis = a, V
        self.name = "Stereographic()" if basis is None and a[0] == 1 else f"Stereographic(pole={np.array2string(a, precision=3)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stereographic):
            return NotImplemented
        return np.array_equal(self.pole, other.pole) and np.array_equal(self.basis, other.basis)

    def __hash__(self) -> int:
        return hash((self.pole.tobytes(), self.basis.tobytes()))

    def matrix(self, x: Point) -> Matrix:
        return SixNumbers.matrix(np.sqrt(2) * self._on_sphere(x))

    def of(self, R: Reached) -> Point:
        x = SixNumbers.of(R) / np.sqrt(2)
        return ca.mtimes(ca.DM(self.basis), x) / (1 - ca.dot(ca.DM(self.pole), x))

    def constraint(self, x: Point) -> Constraint:
        z = self._on_sphere(x)
        return ca.vertcat(ca.dot(z[:3], z[:3]) - ca.dot(z[3:], z[3:]), 2 * ca.dot(z[:3], z[3:]))

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        a, V = ca.DM(self.pole), ca.DM(self.basis)
        A = ca.diagcat(skew(omega), skew(omega))
        VAa = ca.mtimes(V, ca.mtimes(A, a))
        return (ca.dot(x, x) - 1) / 2 * VAa - x * ca.dot(x, VAa) + ca.mtimes(V, ca.mtimes(A, ca.mtimes(V.T, x)))

    def _on_sphere(self, y: ca.SX) -> ca.SX:
        s = ca.dot(y, y)
        return ((s - 1) * ca.DM(self.pole) + 2 * ca.mtimes(ca.DM(self.basis).T, y)) / (1 + s)


class _EulerParameters(Parametrisation):
    r"""Unit quaternions q = (q0, q) = (cos(phi/2), e sin(phi/2)), as in the group S3; q and -q are one rotation (2.61)-(2.73).

    .. math:: R = (2 q_0^2 - 1) I + 2 (q q^T + q_0 \tilde q), \qquad
              \dot q_0 = -\tfrac12\,\omega\cdot q, \quad \dot q = \tfrac12 (q_0\,\omega + \omega\times q)

    ``of`` gives q0 >= 0, and at half a turn the component largest in size positive. ((2.92) is printed with the opposite sign.)

    >>> EulerParameters.of([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).round(6)
    array([0.707107, 0.      , 0.      , 0.707107])
    """

    name = "EulerParameters"
    n_params = 4
    n_constraints = 1
    linear = True
    element = S3.element

    def matrix(self, x: Point) -> Matrix:
        w, v = x[0], x[1:]
        return (2 * w**2 - 1) * ca.SX.eye(3) + 2 * (ca.mtimes(v, v.T) + w * skew(v))

    def of(self, R: Reached) -> Point:
        return quaternion(R)

    def constraint(self, x: Point) -> Constraint:
        return ca.dot(x, x) - 1

    def compose(self, p: Point, q: Point) -> Point:
        return hamilton(p, q)

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return hamilton(ca.vertcat(0, omega), x) / 2

    def body_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return hamilton(x, ca.vertcat(0, omega)) / 2


class _RotationVector(Parametrisation):
    r"""The canonical vector psi = phi e: axis times angle (2.74)-(2.76), R = exp(P).

    .. math:: \dot\psi = \omega - \tfrac12\,\psi\times\omega + c\,\psi\times(\psi\times\omega), \qquad
              c = \frac{1 - \tfrac\phi2\cot\tfrac\phi2}{\phi^2}

    ``of`` gives angles up to pi; the rate equation fails at full turns. ((2.93) is printed with the sign for omega in body axes.)

    >>> RotationVector.of(RotationVector.matrix([0, 0, 4])).round(6)
    array([ 0.      ,  0.      , -2.283185])
    """

    name = "RotationVector"
    n_params = 3
    element = "a rotation vector"
    singular = "the rate equation of the rotation vector is singular at a full turn"

    def matrix(self, x: Point) -> Matrix:
        return SO3.matrix(SO3.exp(x))

    def of(self, R: Reached) -> Point:
        return SO3.log(SO3.from_matrix(R))

    def regularity(self, x: Point) -> Scalar:
        return 2 * sa.sinc_half(ca.dot(x, x))

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return ca.mtimes(inverse_tangent(-x), omega)

    def body_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return ca.mtimes(inverse_tangent(x), omega)


class _Cayley(Parametrisation):
    r"""The half-tangent vector psi = e tan(phi/2) of Rodrigues and Cayley (2.77)-(2.85). There is none for half a turn.

    .. math:: R = (I + P)(I - P)^{-1} = I + \frac{2}{1 + \psi\cdot\psi}(P + P^2), \qquad
              \dot\psi = \tfrac12\bigl(\omega + \omega\times\psi + (\psi\cdot\omega)\,\psi\bigr)

    ``compose`` is the rule of the half tangents (2.85), R(p) R(q) = R((p + q + p x q) / (1 - p.q)). (The inverse (2.82), (2.83) and the
    rate (2.94) are printed for -psi.)

    >>> Cayley.compose([1, 0, 0], [0, 1, 0])
    array([1., 1., 1.])
    """

    name = "Cayley"
    n_params = 3
    element = "a half-tangent vector"
    singular = "so near to half a turn there is no Cayley vector with a correct digit"
    unreached = "half a turn has no Cayley vector (trace R = -1)"

    def matrix(self, x: Point) -> Matrix:
        P = skew(x)
        return ca.SX.eye(3) + 2 / (1 + ca.dot(x, x)) * (P + ca.mtimes(P, P))

    def of(self, R: Reached) -> Point:
        q = quaternion(R)
        return q[1:] / q[0]

    def reach(self, R: ca.SX) -> ca.SX:
        return quaternion(R)[0]

    def regularity(self, x: Point) -> Scalar:
        return 1 / ca.sqrt(1 + ca.dot(x, x))

    def compose(self, p: Point, q: Point) -> Point:
        return (p + q + ca.cross(p, q)) / (1 - ca.dot(p, q))

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return (omega + ca.cross(omega, x) + ca.dot(x, omega) * x) / 2

    def body_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return (omega - ca.cross(omega, x) + ca.dot(x, omega) * x) / 2


class _AxisAngle(Parametrisation):
    r"""Unit axis e and angle phi, as (e1, e2, e3, phi) (2.33)-(2.37).

    .. math:: R = \cos\phi\,I + (1 - \cos\phi)\,e e^T + \sin\phi\,\tilde e, \qquad \dot\phi = \omega\cdot e, \quad
              \dot e = \tfrac12\bigl(\cot\tfrac\phi2\,(\omega - (\omega\cdot e)\,e) + \omega\times e\bigr)

    ``of`` gives 0 <= phi <= pi; without a rotation every axis would do: there it gives the third. The rate equation fails there, too.

    >>> AxisAngle.of(np.eye(3))
    array([0., 0., 1., 0.])
    """

    name = "AxisAngle"
    n_params = 4
    n_constraints = 1
    element = "a unit axis and an angle"
    singular = "without a rotation, or after full turns, the axis and its rate are not defined"

    def matrix(self, x: Point) -> Matrix:
        e, c, s = x[:3], ca.cos(x[3]), ca.sin(x[3])
        # 1 - cos phi = 2 sin^2(phi/2) keeps small angles.
        return c * ca.SX.eye(3) + 2 * ca.sin(x[3] / 2) ** 2 * ca.mtimes(e, e.T) + s * skew(e)

    def of(self, R: Reached) -> Point:
        q = quaternion(R)
        # The length of the largest component first, so that tiny rotations do not underflow.
        size = ca.fmax(ca.fmax(ca.fabs(q[1]), ca.fabs(q[2])), ca.fabs(q[3]))
        some = size > 0
        v = q[1:] / ca.if_else(some, size, 1)
        n = ca.sqrt(ca.if_else(some, ca.dot(v, v), 1))
        return ca.vertcat(ca.if_else(some, v / n, ca.DM([0, 0, 1])), 2 * ca.atan2(size * n, q[0]))

    def constraint(self, x: Point) -> Constraint:
        return ca.dot(x[:3], x[:3]) - 1

    def regularity(self, x: Point) -> Scalar:
        return ca.sin(x[3] / 2)

    def space_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return self._rate(x, omega, 1)

    def body_rate(self, x: ca.SX, omega: ca.SX) -> ca.SX:
        return self._rate(x, omega, -1)

    def _rate(self, x: ca.SX, omega: ca.SX, side: int) -> ca.SX:
        e, along = x[:3], ca.dot(omega, x[:3])
        across = ca.cos(x[3] / 2) / ca.sin(x[3] / 2) * (omega - along * e)
        return ca.vertcat((across + side * ca.cross(omega, e)) / 2, along)


def _gram(R: ca.SX) -> ca.SX:
    """The six entries of R^T R - I."""
    G = ca.mtimes(R.T, R) - ca.SX.eye(3)
    return ca.vertcat(G[0, 0], G[1, 1], G[2, 2], G[1, 2], G[0, 2], G[0, 1])


def _complement(a: Array) -> Array:
    """Five orthonormal rows orthogonal to a."""
    w = a - np.eye(6)[0]
    size = w @ w
    H = np.eye(6) - (2 / size * np.outer(w, w) if size > 0 else 0)
    return np.asarray(H[1:], dtype=np.float64)


RotationMatrix = _RotationMatrix()
DirectionCosines = _DirectionCosines()
SixNumbers = _SixNumbers()
EulerParameters = _EulerParameters()
RotationVector = _RotationVector()
Cayley = _Cayley()
AxisAngle = _AxisAngle()
