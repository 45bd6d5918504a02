r"""What a Lie group is, once for all groups.

All operators are left trivialised: a velocity :math:`v` at :math:`q` stands for :math:`\dot q = q\,\tilde v`, and a perturbation of
:math:`q` is :math:`q \circ \exp(\varepsilon w)`. Source of the definitions: Hante, section 2; numbers in the docstrings are his.
"""

from __future__ import annotations

from functools import cached_property
from math import factorial
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.symbolic.operator import Operators, finite, operator
from kreisel.symbolic.smallangle import bernoulli

Array = NDArray[np.float64]
# What the operators take and give: SX expressions or arrays. The names say which shape is meant.
Element = Any  # (n_params,): a group element
Vector = Any  # (dim,): an element of the algebra
Square = Any  # (dim, dim): a linear map of the algebra
Embedded = Any  # (n_matrix, n_matrix): a matrix of the matrix group
Tilde = Any  # (n_matrix, n_matrix): a matrix of its algebra
Scalar = Any  # ()

# An element may be this far off the group before it is refused. Products of many elements drift by rounding; what is off by
# more is a mistake.
TOLERANCE = 1e-6


class Group(Operators):
    """A Lie group. To add one of your own, derive from this class and

    1. set ``n_params`` (numbers that describe an element) and ``dim`` (dimension of the algebra), and a ``name``;
    2. write, with CasADi's SX expressions, ``compose(p, q)``, ``inverse(q)`` and ``exp(v)``, and ``log(q)`` if differences
       and interpolation are wanted. Name the arguments as here;
    3. write ``defect(q)``, an expression that is zero on the group, if not every array of numbers is an element;
    4. optionally write any other operator in closed form. What you do not write is derived: Ad and ad by differentiation,
       ``T`` and ``Tinv`` by their series (2.20), (2.21), good to round-off while the angle is below pi;
    5. append an instance to the list in ``tests/groups/conftest.py``: all laws are then tested.

    You get every operator below, in symbols and on arrays. ``examples/galilei.py`` does this for the Galilean group.
    """

    name: str
    n_params: int
    dim: int
    #: Order of the matrices of :meth:`matrix`.
    n_matrix: int = 0
    #: Whether a metric exists that is invariant from both sides.
    bi_invariant: ClassVar[bool] = False
    #: What an element is, for messages.
    element: str = "an element of the group"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __mul__(self, other: Group) -> Group:
        """The direct product: elements and velocities side by side."""
        from kreisel.groups.product import product

        return product(self, other)

    # What makes the group

    @operator
    def compose(self, p: Element, q: Element) -> Element:
        """The product p o q."""
        raise TypeError(f"group {self} does not define compose")

    @operator
    def inverse(self, q: Element) -> Element:
        """The element that undoes q."""
        raise TypeError(f"group {self} does not define inverse")

    @operator
    def exp(self, v: Vector) -> Element:
        """Where the motion with constant velocity v, started at the identity, is after unit time."""
        raise TypeError(f"group {self} does not define exp")

    @operator
    def log(self, q: Element) -> Vector:
        """The shortest v with exp(v) = q."""
        raise TypeError(f"group {self} does not define log, which differences, distances and interpolation need")

    def defect(self, q: ca.SX) -> ca.SX:
        """Zero on the group; in symbols."""
        return ca.SX(0)

    def turn(self, v: ca.SX) -> ca.SX:
        """The angle by which exp(v) turns, in symbols. Here: there are no rotations."""
        return ca.SX(0)

    def identity(self, shape: tuple[int, ...] | int = ()) -> Array:
        """The neutral element, as often as wanted."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return np.broadcast_to(self._identity, (*shape, self.n_params)).copy()

    # The algebra

    @operator
    def Ad(self, q: Element) -> Square:
        """The derivative of g -> q o g o q^-1 at the identity: the velocity v seen from the other side, q v~ = (Ad v)~ q."""
        w = ca.SX.sym("w", self.dim)
        moved = self.compose(self.compose(q, self.exp(w)), self.inverse(q))
        return ca.mtimes(ca.DM(self._to_algebra), _at_zero(ca.jacobian(moved, w), w))

    @operator
    def ad(self, v: Vector) -> Square:
        """The hat operator: ad(v) w = [v, w] (Definition 2.17)."""
        q = ca.SX.sym("q", self.n_params)
        rate = ca.mtimes(ca.DM(self._from_algebra), v)
        d = ca.jtimes(ca.vec(self.Ad(q)), q, rate)
        return ca.reshape(ca.substitute(d, q, ca.DM(self._identity)), self.dim, self.dim)

    @operator
    def bracket(self, v: Vector, w: Vector) -> Vector:
        """The Lie bracket [v, w]."""
        return ca.mtimes(self.ad(v), w)

    @operator
    def bch(self, v: Vector, w: Vector, *, order: int = 2) -> Vector:
        """log(exp(v) o exp(w)) for short v, w, up to terms of the given order (1 to 4) in their length (2.13).

        Source of orders 3 and 4: W. Magnus, Comm. Pure Appl. Math. 7 (1954).
        """
        if order not in (1, 2, 3, 4):
            raise ValueError(f"{self}.bch: order must be 1, 2, 3 or 4, got {order}")
        z = v + w
        c = self.bracket(v, w)
        if order > 1:
            z = z + c / 2
        if order > 2:
            z = z + (self.bracket(v, c) - self.bracket(w, c)) / 12
        if order > 3:
            z = z - self.bracket(w, self.bracket(v, c)) / 24
        return z

    # Tangent operators

    @operator
    def T(self, v: Vector) -> Square:
        """The left-trivialised derivative of exp: d exp(v) = exp(v) (T(v) dv)~ (2.20)."""
        minus = -self.ad(v)
        sum_ = eye = ca.SX.eye(self.dim)
        for k in range(30, 1, -1):
            sum_ = eye + ca.mtimes(minus, sum_) / k
        return sum_

    @operator
    def Tinv(self, v: Vector) -> Square:
        """The inverse of T (2.21), which is also the derivative of log at exp(v) (2.22)."""
        a = self.ad(v)
        square = ca.mtimes(a, a)
        eye = ca.SX.eye(self.dim)
        b = bernoulli(60)
        sum_ = float(b[60]) / factorial(60) * eye
        for k in range(58, -1, -2):
            sum_ = float(b[k]) / factorial(k) * eye + ca.mtimes(square, sum_)
        return sum_ + a / 2

    @operator
    def cotangent_inverse(self, v: Vector, w: Vector) -> Vector:
        """Tinv(v)^T w."""
        return ca.mtimes(self.Tinv(v).T, w)

    @operator
    def S(self, v: Vector, w: Vector) -> Square:
        """The derivative of Tinv(v)^T w with respect to v."""
        x = ca.SX.sym("x", self.dim)
        return ca.substitute(ca.jacobian(self.cotangent_inverse(x, w), x), x, v)

    @operator
    def rate(self, q: Element, v: Vector) -> Element:
        """The derivative of the n_params numbers of q in a motion with velocity v."""
        g = ca.SX.sym("g", self.n_params)
        d = ca.jtimes(self.compose(q, g), g, ca.mtimes(ca.DM(self._from_algebra), v))
        return ca.substitute(d, g, ca.DM(self._identity))

    # Moving along the group

    @operator
    def retract(self, q: Element, v: Vector) -> Element:
        """q o exp(v)."""
        return self.compose(q, self.exp(v))

    @operator
    def difference(self, p: Element, q: Element, h: Scalar = 1.0) -> Vector:
        """The velocity that leads from p to q within time h: log(p^-1 o q) / h (Lemma 2.24)."""
        return self.log(self.compose(self.inverse(p), q)) / h

    @operator
    def difference_derivatives(self, p: Element, q: Element, h: Scalar = 1.0) -> tuple[Square, Square]:
        """The derivatives of :meth:`difference` with respect to p and q (Lemma 2.25)."""
        d = h * self.difference(p, q, h)
        return -self.Tinv(-d) / h, self.Tinv(d) / h

    @operator
    def interpolate(self, p: Element, q: Element, tau: Scalar) -> Element:
        """The element at tau (0: p, 1: q) of the motion with constant velocity from p to q (2.24)."""
        return self.retract(p, tau * self.difference(p, q))

    def piecewise_interpolate(self, t: ArrayLike, grid: ArrayLike, q: ArrayLike) -> Array:
        """The motion through q[n] at the times grid[n], with constant velocity in between (Remark 2.27).

        ``t`` of any shape within the grid, ``grid`` (N,) increasing, ``q`` (N, n_params).
        """
        t, grid, q = (np.asarray(a, dtype=float) for a in (t, grid, q))
        if grid.ndim != 1 or len(grid) < 2 or not np.all(np.diff(grid) > 0):
            raise ValueError(f"{self}.piecewise_interpolate: grid must be a list of at least two increasing numbers")
        if q.shape != (len(grid), self.n_params):
            raise ValueError(f"{self}.piecewise_interpolate: q must have shape {(len(grid), self.n_params)}, got {q.shape}")
        if not np.all((t >= grid[0]) & (t <= grid[-1])):
            raise ValueError(f"{self}.piecewise_interpolate: t must lie within the grid, [{grid[0]}, {grid[-1]}]")
        n = np.clip(np.searchsorted(grid, t, side="right") - 1, 0, len(grid) - 2)
        return np.asarray(self.interpolate(q[n], q[n + 1], (t - grid[n]) / (grid[n + 1] - grid[n])))

    # Metrics and distances

    @operator
    def inner(self, q: Element, v: Vector, w: Vector, *, metric: str = "left") -> Scalar:
        """The product of two velocities at q in an invariant metric.

        ``"left"``: v . w, the same at every q (2.47). ``"right"``: the product of the velocities seen from the right, Ad_q v and
        Ad_q w (Remark 2.47). ``"bi"``: minus the Killing form on the compact factors, v . w on the others (Remark 2.48).
        """
        self._check_metric(metric)
        if metric == "right":
            v, w = ca.mtimes(self.Ad(q), v), ca.mtimes(self.Ad(q), w)
        elif metric == "bi":
            v = ca.mtimes(ca.DM(self._killing()), v)
        return ca.dot(v, w)

    @operator
    def distance(self, p: Element, q: Element, *, metric: str = "left") -> Scalar:
        """The length of the shortest way from p to q in an invariant metric (2.53).

        For a group of your own without a bi-invariant metric: the bound |log(p^-1 o q)| of (2.54).
        """
        self._check_metric(metric)
        if metric == "right":
            return self.distance(self.inverse(p), self.inverse(q))
        d = self.difference(p, q)
        return _size(ca.mtimes(ca.DM(np.linalg.cholesky(self._killing()).T), d) if metric == "bi" else d)

    def state_distance(self, p: ArrayLike, v: ArrayLike, q: ArrayLike, w: ArrayLike) -> Array:
        """Distance of the states (p, v) and (q, w): d(p, q) + |v - w|, with the right-invariant d (3.44)."""
        gap = np.linalg.norm(np.asarray(v, dtype=float) - np.asarray(w, dtype=float), axis=-1)
        return np.asarray(self.distance(p, q, metric="right") + gap)

    # As matrices

    @operator
    def matrix(self, q: Element) -> Embedded:
        """The element as a matrix; composition becomes the matrix product."""
        raise TypeError(f"group {self} does not define matrix")

    @operator
    def from_matrix(self, X: Embedded) -> Element:
        """The element with the given matrix."""
        raise TypeError(f"group {self} does not define from_matrix")

    @operator
    def tilde(self, v: Vector) -> Tilde:
        """The velocity as a matrix: matrix(exp(v)) is its matrix exponential."""
        q = ca.SX.sym("q", self.n_params)
        d = ca.jtimes(ca.vec(self.matrix(q)), q, ca.mtimes(ca.DM(self._from_algebra), v))
        return ca.reshape(ca.substitute(d, q, ca.DM(self._identity)), self.n_matrix, self.n_matrix)

    @operator
    def vee(self, X: Tilde) -> Vector:
        """The velocity with the given matrix; the inverse of tilde."""
        v = ca.SX.sym("v", self.dim)
        E = np.array(ca.DM(ca.jacobian(ca.vec(self.tilde(v)), v)))
        return ca.mtimes(ca.DM(np.linalg.solve(E.T @ E, E.T)), ca.vec(X))

    # Making elements

    def project(self, q: ArrayLike) -> Array:
        """The element nearest to an array that is only almost one. Shape (..., n_params)."""
        q = np.asarray(q, dtype=float)
        if q.shape[-1:] != (self.n_params,):
            raise ValueError(f"{self}.project: q must have shape (..., {self.n_params}), got {q.shape}")
        if not np.all(np.isfinite(q)):
            raise ValueError(f"{self}.project: q contains nan or inf")
        return self._project(q)

    def _project(self, q: Array) -> Array:
        return q.copy()

    def random(self, rng: np.random.Generator | int | None = None, shape: tuple[int, ...] | int = ()) -> Array:
        """Random elements: rotations uniform, everything else normal with unit variance."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return self._random(np.random.default_rng(rng), shape)

    def _random(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return np.asarray(self.exp(rng.standard_normal((*shape, self.dim))))

    def symbol(self, name: str = "q") -> ca.SX:
        """A symbolic element."""
        return ca.SX.sym(name, self.n_params)

    # Behind the scenes

    @cached_property
    def _identity(self) -> Array:
        return np.array(ca.DM(ca.evalf(self.exp(ca.SX.zeros(self.dim))))).ravel()

    @cached_property
    def _from_algebra(self) -> Array:
        """The derivative of the n_params numbers of exp(v) at v = 0."""
        v = ca.SX.sym("v", self.dim)
        return np.array(ca.DM(_at_zero(ca.densify(ca.jacobian(self.exp(v), v)), v)))

    @cached_property
    def _to_algebra(self) -> Array:
        E = self._from_algebra
        return np.asarray(np.linalg.solve(E.T @ E, E.T), dtype=np.float64)

    def _check_metric(self, metric: str) -> None:
        if metric not in ("left", "right", "bi"):
            raise ValueError(f"{self}: metric must be 'left', 'right' or 'bi', got {metric!r}")
        if metric == "bi" and not self.bi_invariant:
            raise ValueError(f"{self} has no bi-invariant metric: only products of compact and Abelian groups have one")

    def _killing(self) -> Array:
        """The Gram matrix of the bi-invariant metric."""
        v = ca.SX.sym("v", self.dim)
        K = -ca.hessian(ca.trace(ca.mtimes(self.ad(v), self.ad(v))), v)[0] / 2
        K = np.array(ca.DM(ca.densify(K)))
        return np.asarray(K + np.diag(np.diag(K) == 0))

    def _shape(self, kind: str) -> tuple[int, ...]:
        return {
            "Element": (self.n_params,),
            "Vector": (self.dim,),
            "Square": (self.dim, self.dim),
            "Embedded": (self.n_matrix, self.n_matrix),
            "Tilde": (self.n_matrix, self.n_matrix),
            "Scalar": (),
        }[kind]

    def _excess(self, kind: str, x: ca.SX) -> ca.SX:
        """How far an argument is off what it should be."""
        if kind == "Element":
            return self.defect(x)
        if kind == "Embedded":
            q = self.from_matrix(x)
            return self.defect(q) + _size(self.matrix(q) - x)
        if kind == "Tilde":
            return _size(self.tilde(self.vee(x)) - x)
        return ca.SX(0)

    def _admissible(self, kind: str, x: ca.SX) -> ca.SX:
        return ca.logic_and(finite(x), self._excess(kind, x) <= TOLERANCE)

    def _problem(self, kind: str, value: Array) -> str:
        """What is wrong with an argument, in words; empty if nothing is."""
        if not np.all(np.isfinite(value)):
            return f"contains nan or inf: {np.array2string(value, precision=6)}"
        excess = float(ca.evalf(self._excess(kind, ca.SX(ca.DM(value)))))
        if excess <= TOLERANCE:
            return ""
        what, hint = {
            "Element": (self.element, "; project() gives the nearest"),
            "Embedded": (f"a matrix of {self}", ""),
            "Tilde": (f"a matrix of the algebra of {self}", ""),
        }[kind]
        return f"is not {what}: {np.array2string(value, precision=6)} is off by {excess:.3g}{hint}"


def _at_zero(expression: ca.SX, symbol: ca.SX) -> ca.SX:
    return ca.substitute(expression, symbol, ca.DM.zeros(*symbol.shape))


def _size(x: ca.SX) -> ca.SX:
    return ca.sqrt(ca.sumsqr(ca.vec(x)))
