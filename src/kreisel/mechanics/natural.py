r"""Natural coordinates: a rigid body by a point of it and three directors, g = (x, d1, d2, d3), the twelve numbers of its frame.

The mass matrix is constant, constraints are at most quadratic. In the plane six numbers, (x, d1, d2), will do. What follows are the
building blocks, on arrays; a mechanism in these coordinates is ``mechanism.system(coordinates="directors")``. Sources: Siebert,
(4.1)-(4.9), (6.4)-(6.7); Müller, digest items 19 to 28, whose axes u, w, v are d1, d2, d3 here.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import R
from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import vector
from kreisel.mechanics.frame import DirectorFrame, Frame
from kreisel.mechanics.node import Node
from kreisel.symbolic.vectors import skew

Array = NDArray[np.float64]


def euler_tensor(inertia: ArrayLike) -> Array:
    """E = tr(J)/2 I - J: the integral of r r^T dm, from the inertia tensor about the same point. Shape (3, 3).

    >>> euler_tensor(np.diag([2.0, 3.0, 4.0])).diagonal()
    array([2.5, 1.5, 0.5])
    """
    J = np.asarray(inertia, dtype=float)
    return np.asarray(np.trace(J) / 2 * np.eye(3) - J)


def pseudo_inertia(mass: float, inertia: ArrayLike, centre: ArrayLike = (0, 0, 0)) -> Array:
    r"""The integral of (r, 1)(r, 1)^T dm: [[E + m s s^T, m s], [m s^T, m]] (Müller, item 25), so that T = tr(Z' J Z'^T)/2, Z = (R, x).

    ``inertia``: about the centre of mass, in body axes. ``centre``: of mass, from the point x, in body axes.

    >>> pseudo_inertia(2.0, np.eye(3), (0, 0, 1))[2:, 2:]
    array([[2.5, 2. ],
           [2. , 2. ]])
    """
    s = vector(centre, "pseudo_inertia: centre")
    return np.block([[euler_tensor(inertia) + mass * np.outer(s, s), mass * s[:, None]], [mass * s[None], np.array([[mass]])]])


def mass_matrix(pseudo: ArrayLike) -> Array:
    """The constant 12 x 12 matrix of the kinetic energy g' . M g' / 2, from the pseudo-inertia matrix.

    Its rank is 12 for a solid, 9 for a plate, 6 for a rod; a rod without inertia about its axis leaves that spin undetermined.
    """
    J = np.asarray(pseudo, dtype=float)
    order = [3, 0, 1, 2]
    return np.kron(J[np.ix_(order, order)], np.eye(3))


def coordinates(rotation: ArrayLike, position: ArrayLike) -> Array:
    """g of a pose, (12,).

    >>> coordinates(np.eye(3), (1, 2, 3))[:6]
    array([1., 2., 3., 1., 0., 0.])
    """
    return np.concatenate([np.asarray(position, dtype=float), np.ravel(np.asarray(rotation, dtype=float), "F")])


def point_matrix(r: ArrayLike) -> Array:
    """dp/dg, constant, (3, 12), of the point with body coordinates r: p = x + r1 d1 + r2 d2 + r3 d3 (Müller, item 26)."""
    return np.kron(np.concatenate([[1.0], np.asarray(r, dtype=float)]), np.eye(3))


def rotation_operator(g: ArrayLike) -> Array:
    """B(g), (3, 12): the virtual rotation in body axes is B dg, the angular velocity B g' (Müller, item 26).

    Rows d3 . dd2, d1 . dd3, d2 . dd1.
    """
    g = np.asarray(g, dtype=float)
    B = np.zeros((3, 12))
    B[0, 6:9], B[1, 9:12], B[2, 3:6] = g[9:12], g[3:6], g[6:9]
    return B


def generalised_force(g: ArrayLike, force: ArrayLike = (0, 0, 0), at: ArrayLike = (0, 0, 0), moment: ArrayLike = (0, 0, 0)) -> Array:
    """Q, (12,), of a force (in space axes, at the point with body coordinates ``at``) and a moment (in body axes) (Müller, item 27)."""
    force, moment = np.asarray(force, dtype=float), np.asarray(moment, dtype=float)
    return np.asarray(point_matrix(at).T @ force + rotation_operator(g).T @ moment)


def quadratic(formula: Any, n: int) -> tuple[Array, Array, Array]:
    """(H, l, c) of a column of at most quadratic constraints, q . H_k q / 2 + l_k . q + c_k: shapes (m, n, n), (m, n), (m,).

    ``formula``: a function of a CasADi column q. What is not quadratic is refused. The rows of the matrix are H_k q + l_k, the right side
    of the acceleration equation is -q' . H_k q' (Müller, item 21).

    >>> H, l, c = quadratic(lambda q: q[0] ** 2 + 3 * q[1] - 2, 2)
    >>> H[0].tolist(), l[0].tolist(), c.tolist()
    ([[2.0, 0.0], [0.0, 0.0]], [0.0, 3.0], [-2.0])
    """
    q = ca.SX.sym("q", n)
    phi = ca.SX(formula(q))
    H, l, c = [], [], []
    for k in range(phi.numel()):
        second, first = ca.hessian(phi[k], q)
        if ca.depends_on(second, q):
            raise ValueError(f"row {k} is no quadratic function of the coordinates")
        f = ca.Function("f", [q], [ca.densify(second), ca.densify(first), phi[k]])
        values = f(np.zeros(n))
        H.append(values[0].full())
        l.append(values[1].full().ravel())
        c.append(float(values[2]))
    return np.array(H).reshape(-1, n, n), np.array(l).reshape(-1, n), np.array(c)


class NaturalNode(Node):
    """A body by directors: in space twelve numbers (x, d1, d2, d3), in the plane of the first two axes six, (x, d1, d2).

    The velocities are the derivatives of these. The directors are kept orthonormal by :class:`Orthonormal`.
    """

    def __init__(self, name: str, plane: bool = False) -> None:
        self.plane, self.n = plane, 2 if plane else 3
        super().__init__(name, R(self.n * (self.n + 1)))

    def signature(self) -> Any:
        return type(self), self.n

    def _axes(self, q: ca.SX, last: float) -> tuple[ca.SX, ca.SX]:
        """(x, R) in space from the numbers of the node; ``last``: what the third director has along the third axis, in the plane."""
        X = ca.reshape(q, self.n, self.n + 1)
        if not self.plane:
            return X[:, 0], X[:, 1:]
        A = ca.SX(3, 3)
        A[:2, :2] = X[:, 1:]
        if last:
            A[2, 2] = last
        return ca.vertcat(X[:, 0], 0), A

    def frame(self, q: ca.SX, v: ca.SX) -> Frame:
        (x, A), (velocity, rates) = self._axes(q, 1.0), self._axes(v, 0.0)
        return DirectorFrame.of(q, v, A, x, rates, velocity)

    def mass_matrix(self, mass: float, inertia: Array) -> Array:
        if self.plane:  # only the sum of the two moments of area matters
            return np.asarray(np.kron(np.diag([mass, inertia[2, 2] / 2, inertia[2, 2] / 2]), np.eye(2)))
        return mass_matrix(pseudo_inertia(mass, inertia))

    def place(self, rotation: Array, position: Array, omega: Array, velocity: Array) -> tuple[Array, Array]:
        rates = rotation @ np.cross(np.eye(3), omega)  # R times the cross product matrix of omega
        n = self.n
        q, v = (np.concatenate([x[:n], np.ravel(A[:n, :n], "F")]) for x, A in ((position, rotation), (velocity, rates)))
        return q, v

    def of_frame(self, frame: Frame) -> tuple[ca.SX, ca.SX]:
        n, rates = self.n, ca.mtimes(frame.R, skew(frame.omega))
        return ca.vertcat(frame.x[:n], ca.vec(frame.R[:n, :n])), ca.vertcat(frame.velocity[:n], ca.vec(rates[:n, :n]))

    def momenta(self, q: ca.SX, v: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
        (x, A), (linear, directors) = self._axes(q, 1.0), self._axes(p, 0.0)
        return linear, ca.cross(x, linear) + sum((ca.cross(A[:, i], directors[:, i]) for i in range(self.n)), start=ca.SX.zeros(3))

    def mean_velocity(self, q: ca.SX, v: ca.SX, h: ca.SX) -> ca.SX:
        """That of directors which turn on with their angular velocity w by the Cayley map, as the midpoint rule has it: w x (d_n +
        d_{n+1})/2."""
        frame = self.frame(q, v)
        w, (_, A) = frame.space_omega, self._axes(q, 1.0)
        scale = 1 + h**2 / 4 * ca.sumsqr(w)
        rates = [(ca.cross(w, A[:, i]) + h / 2 * ca.cross(w, ca.cross(w, A[:, i]))) / scale for i in range(self.n)]
        return ca.vertcat(v[: self.n], *(r[: self.n] for r in rates))

    # On arrays, time first

    def pose(self, q: Array, last: float = 1.0) -> tuple[Array, Array]:
        """Matrices of directors (n, 3, 3) and positions (n, 3); of velocities with ``last=0``, their rates."""
        X = np.swapaxes(q.reshape(len(q), self.n + 1, self.n), 1, 2)
        A, x = np.zeros((len(q), 3, 3)), np.zeros((len(q), 3))
        x[:, : self.n], A[:, : self.n, : self.n] = X[:, :, 0], X[:, :, 1:]
        if self.plane:
            A[:, 2, 2] = last
        return A, x

    def twist(self, q: Array, v: Array) -> Array:
        """Angular and linear velocity in space axes, (n, 6)."""
        A, (rates, velocity) = self.pose(q)[0], self.pose(v, last=0.0)
        omega = np.cross(A, rates, axis=1).sum(axis=2) / 2
        return np.concatenate([omega, velocity], axis=1)


class Orthonormal(Element):
    """The directors of a body stay orthonormal: (d_i . d_i - 1)/2 and d_i . d_j (Siebert, (4.2), (6.5))."""

    intrinsic = True

    def __init__(self, body: str, plane: bool = False) -> None:
        super().__init__(f"directors of {body}", body)
        self.n = 2 if plane else 3

    def signature(self) -> Any:
        return type(self), self.n

    def constraint(self, p: Any, t: ca.SX, body: Frame) -> ca.SX:
        d = [body.R[: self.n, i] for i in range(self.n)]
        lengths = [(ca.sumsqr(d_i) - 1) / 2 for d_i in d]
        angles = [ca.dot(d[i], d[j]) for i in range(self.n) for j in range(i + 1, self.n)]
        return ca.vertcat(*lengths, *angles)
