"""Direct products: several groups side by side (Hante, Remark 2.30)."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from kreisel.groups.base import Array, Element, Embedded, Group, Scalar, Square, Vector


def product(*groups: Group) -> Product:
    """The direct product. Products within products are opened, so that (A * B) * C is A * (B * C)."""
    return Product(tuple(f for g in groups for f in (g.factors if isinstance(g, Product) else (g,))))


class Product(Group):
    """Elements, velocities and matrices of the factors one after the other; operators act on each factor.

    >>> from kreisel.groups import R, SO3
    >>> G = SO3 * R(3)
    >>> G.n_params, G.dim
    (12, 6)
    """

    def __init__(self, factors: tuple[Group, ...]) -> None:
        self.factors = factors
        self.name = " * ".join(map(str, factors))
        self.n_params = sum(g.n_params for g in factors)
        self.dim = sum(g.dim for g in factors)
        self.n_matrix = sum(g.n_matrix for g in factors)
        self.bi_invariant = all(g.bi_invariant for g in factors)  # type: ignore[misc]
        self.element = ", then ".join(g.element for g in factors)

    def __str__(self) -> str:
        return f"({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def _each(self, action: Callable[..., ca.SX], *arguments: tuple[str, ca.SX]) -> list[ca.SX]:
        """The action on each factor, with its part of each argument."""
        sizes = {"q": [g.n_params for g in self.factors], "v": [g.dim for g in self.factors]}
        parts = [ca.vertsplit(x, np.cumsum([0, *sizes[kind]]).tolist()) for kind, x in arguments]
        return [action(g, *(part[i] for part in parts)) for i, g in enumerate(self.factors)]

    def compose(self, p: Element, q: Element) -> Element:
        return ca.vertcat(*self._each(lambda g, a, b: g.compose(a, b), ("q", p), ("q", q)))

    def inverse(self, q: Element) -> Element:
        return ca.vertcat(*self._each(lambda g, a: g.inverse(a), ("q", q)))

    def exp(self, v: Vector) -> Element:
        return ca.vertcat(*self._each(lambda g, a: g.exp(a), ("v", v)))

    def log(self, q: Element) -> Vector:
        return ca.vertcat(*self._each(lambda g, a: g.log(a), ("q", q)))

    def Ad(self, q: Element) -> Square:
        return ca.diagcat(*self._each(lambda g, a: g.Ad(a), ("q", q)))

    def ad(self, v: Vector) -> Square:
        return ca.diagcat(*self._each(lambda g, a: g.ad(a), ("v", v)))

    def T(self, v: Vector) -> Square:
        return ca.diagcat(*self._each(lambda g, a: g.T(a), ("v", v)))

    def Tinv(self, v: Vector) -> Square:
        return ca.diagcat(*self._each(lambda g, a: g.Tinv(a), ("v", v)))

    def matrix(self, q: Element) -> Embedded:
        return ca.diagcat(*self._each(lambda g, a: g.matrix(a), ("q", q)))

    def from_matrix(self, X: Embedded) -> Element:
        at = np.cumsum([0] + [g.n_matrix for g in self.factors])
        return ca.vertcat(*(g.from_matrix(X[a:b, a:b]) for g, a, b in zip(self.factors, at, at[1:], strict=False)))

    def distance(self, p: Element, q: Element, *, metric: str = "left") -> Scalar:
        parts = self._each(lambda g, a, b: g.distance(a, b, metric=metric), ("q", p), ("q", q))
        return ca.sqrt(ca.sumsqr(ca.vertcat(*parts)))

    def defect(self, q: ca.SX) -> ca.SX:
        return sum(self._each(lambda g, a: g.defect(a), ("q", q)), start=ca.SX(0))

    def turn(self, v: ca.SX) -> ca.SX:
        return ca.mmax(ca.vertcat(*self._each(lambda g, a: g.turn(a), ("v", v))))

    def _project(self, q: Array) -> Array:
        parts = np.split(q, np.cumsum([g.n_params for g in self.factors])[:-1], axis=-1)
        return np.concatenate([g.project(part) for g, part in zip(self.factors, parts, strict=True)], axis=-1)

    def _random(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return np.concatenate([g.random(rng, shape) for g in self.factors], axis=-1)
