"""The vector space R^n as a group (Hante, A.1; Klemps, Example 1.1.1)."""

from __future__ import annotations

import casadi as ca

from kreisel.groups.base import Element, Embedded, Group, Square, Vector
from kreisel.symbolic.vectors import block


class R(Group):
    """The vectors of n numbers under addition. Matrices: [[I, x], [0, 1]].

    >>> R(2).compose([1, 2], [10, 20])
    array([11., 22.])
    """

    bi_invariant = True

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"R(n): n must be a positive whole number, got {n}")
        self.n_params = self.dim = n
        self.n_matrix = n + 1
        self.name = f"R({n})"
        self.element = f"a vector of {n} numbers"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, R) and self.dim == other.dim

    def __hash__(self) -> int:
        return hash((R, self.dim))

    def compose(self, p: Element, q: Element) -> Element:
        return p + q

    def inverse(self, q: Element) -> Element:
        return -q

    def exp(self, v: Vector) -> Element:
        return v

    def log(self, q: Element) -> Vector:
        return q

    def Ad(self, q: Element) -> Square:
        return ca.SX.eye(self.dim)

    def ad(self, v: Vector) -> Square:
        return ca.SX(self.dim, self.dim)

    def T(self, v: Vector) -> Square:
        return ca.SX.eye(self.dim)

    def Tinv(self, v: Vector) -> Square:
        return ca.SX.eye(self.dim)

    def matrix(self, q: Element) -> Embedded:
        return block([[ca.SX.eye(self.dim), q], [ca.SX(1, self.dim), 1]])

    def from_matrix(self, X: Embedded) -> Element:
        return X[:-1, -1]
