"""Formulas with an energy in them, at all steps at once, by way of its values and derivatives at some points.

The energy may be long and the formula too; differentiated together they would be far longer. So each is compiled by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.control.batch import Batch

Array = NDArray[np.float64]


@dataclass
class Point:
    """A place where the energy is wanted, with symbols for its value and gradient there, and for its Hessian times w."""

    at: ca.SX
    value: ca.SX
    gradient: ca.SX
    bent: ca.SX


@dataclass
class Points:
    """An energy whose values and derivatives are named by symbols: formulas stay short, whatever the energy is."""

    found: list[Point] = field(default_factory=list)

    def at(self, z: ca.SX) -> Point:
        for point in self.found:
            if ca.is_equal(point.at, z, 3):
                return point
        n = z.numel()
        self.found.append(Point(z, ca.SX.sym("E"), ca.SX.sym("g", n), ca.SX.sym("b", n)))
        return self.found[-1]

    def value(self, z: ca.SX) -> ca.SX:
        return self.at(z).value

    def gradient(self, z: ca.SX) -> ca.SX:
        return self.at(z).gradient

    def bent(self, z: ca.SX) -> ca.SX:
        return self.at(z).bent


class Equation:
    """A formula f(y) at all steps at once, with its derivative, by way of the energy at some points that are linear in y.

    Derivatives are multiplied up over the points: compiled is only what is between. ``w``: the direction of ``Point.bent``, linear in y.
    """

    def __init__(self, y: ca.SX, points: Points, w: ca.SX, f: ca.SX, h: ca.SX, gain: ca.SX) -> None:
        found, size, rows = points.found, y.numel(), f.numel()
        self.count, self.n = len(found), w.numel()
        self.at, self.along = (
            ca.evalf(ca.jacobian(z, y)).full().reshape(shape)
            for z, shape in ((ca.vertcat(*(p.at for p in found)), (self.count, self.n, size)), (w, (self.n, size)))
        )
        named = [ca.vertcat(*(p.value for p in found)), *(ca.vertcat(*(getattr(p, k) for p in found)) for k in ("gradient", "bent"))]
        #: The points whose Hessian occurs in the formula, so that its derivative is needed.
        self.curved = [i for i, p in enumerate(found) if ca.depends_on(f, p.bent)]
        partial = [(ca.jacobian(f, s), (rows, s.numel())) for s in (y, *named)]
        self.between = Batch(ca.vertcat(y, *named, h, ca.vec(gain)), [(f, (rows,)), *partial])

    def __call__(self, energy: Batch, third: Batch, y: Array, h: float, gain: Array) -> tuple[Array, Array]:
        """Values (steps, rows) and derivatives (steps, rows, variables)."""
        K, n, count = len(y), self.n, self.count
        z, w = np.einsum("pij,kj->kpi", self.at, y), y @ self.along.T
        value, gradient, A = (a.reshape(K, count, *a.shape[1:]) for a in energy(z.reshape(K * count, n)))
        bent = np.einsum("kpij,kj->kpi", A, w)
        others = np.broadcast_to(np.concatenate([[h], gain.ravel()]), (K, 1 + gain.size))
        given = np.hstack([y, value, gradient.reshape(K, -1), bent.reshape(K, -1), others])
        f, J, by_value, by_gradient, by_bent = self.between(given)
        J = J + by_value @ np.einsum("kpi,pij->kpj", gradient, self.at) + by_gradient @ (A @ self.at).reshape(K, count * n, -1)
        for i in self.curved:
            (T,) = third(np.hstack([z[:, i], w]))
            J += by_bent[:, :, i * n : (i + 1) * n] @ (T @ self.at[i] + A[:, i] @ self.along)
        return f, J
