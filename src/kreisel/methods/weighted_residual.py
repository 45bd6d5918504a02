"""Weighted residuals in time with independent displacements and velocities (Sadłowski, 4.1.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Columns, Elements, NodeView
from kreisel.methods.newmark import in_a_vector_space, without_constraints
from kreisel.methods.rattlie import constant_mass

Weight = float | str | Callable[[float], float]

#: Points of Gauss's rule for integrals over a step: a load that swings by ten radians within it is integrated to round-off.
POINTS = 16


class Impulse(Stage):
    """Unknown: x = (d_{n+theta} - d_n)/(theta h), which is v_{n+alpha}."""

    def __init__(self, method: WeightedResidual) -> None:
        self.m = method

    def velocity(self, n: NodeView) -> ca.SX:
        """v_{n+1}."""
        return n.v + (n.x - n.v) / self.m.alpha

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.v}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, theta = e.h, self.m.theta
        new = [self.velocity(n) for n in e.nodes]
        v = [n.v + theta * (w - n.v) for n, w in zip(e.nodes, new, strict=True)]
        terms = zip(e.momentum(new), e.momentum(e.get("v")), self.mean_force(e, e.move("x", theta * h), v), strict=True)
        return {"x": [p - p0 - h * f for p, p0, f in terms]}

    def mean_force(self, e: Elements, q: Columns, v: Columns) -> Columns:
        """The weighted mean over the step of the forces at d_{n+theta}, v_{n+theta}, which there depend on time alone."""
        (s, _), *more = points = self.m.points()
        if not more:
            return e.force(e.t + s * e.h, q, v)
        t = ca.SX.sym("t")
        at_t = e.force(t, q, v)
        return [sum((w * ca.substitute(f, t, e.t + s * e.h) for s, w in points), start=ca.SX(0)) for f in at_t]

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"q": n.moved(h * n.x), "v": self.velocity(n)}


@dataclass(frozen=True)
class WeightedResidual(Method):
    r"""Balance of momentum and d' = v, each in the mean over a step with a weight of its own, X and V; in R^n.

    .. math::

       M (v_{n+1} - v_n) = h \frac{\int X f(t, d_{n+\theta}, v_{n+\theta})\,dt}{\int X\,dt}, \quad d_{n+1} - d_n = h v_{n+\alpha}, \quad
       \theta = \frac{\int X s\,ds}{\int X\,ds}, \ \alpha = \frac{\int V s\,ds}{\int V\,ds}, \ s = (t - t_n)/h

    A weight is "uniform", or a function of s in [0, 1], or a number: the s where all of it sits. So X = "uniform" takes the impulse of
    the load (by a quadrature of Gauss with 16 points), X = 0.5 samples the load in the middle; both have theta = 1/2. Of linear systems
    the eigenvalues of a step are those of Newmark's method with beta = alpha theta, gamma = alpha + theta - 1/2, if they are undamped or
    alpha = 1/2; but no acceleration is carried. Order 2 for alpha = theta = 1/2, else 1: with alpha + theta = 1 frequencies are still
    good to order 2, but v_n is the velocity at t_n + (1/2 - alpha) h. Solved for the increment of d_{n+theta}. Source: Sadłowski,
    (4.24)-(4.42), with (4.35), (4.36), where t_n stands in the denominator, and (4.41), which has (1 - 1/alpha) v_n for -v_n/alpha,
    corrected.

    >>> method = WeightedResidual(X=lambda s: s, V=1 / 3)
    >>> round(method.theta, 12), round(method.beta, 12), round(method.gamma, 12)
    (0.666666666667, 0.222222222222, 0.5)
    """

    X: Weight = "uniform"
    V: Weight = "uniform"

    def __post_init__(self) -> None:
        for name, weight in (("X", self.X), ("V", self.V)):
            s, w = _points(weight, f"WeightedResidual: {name}")
            if not 0 < s @ w <= 1:
                raise ValueError(f"WeightedResidual: the centre of the weight {name} must lie in (0, 1], it lies at {s @ w:.6g}")

    @property
    def theta(self) -> float:
        """Where the forces are evaluated: the centre of X."""
        s, w = _points(self.X, "X")
        return float(s @ w)

    @property
    def alpha(self) -> float:
        """Where the velocity is the mean one: the centre of V."""
        s, w = _points(self.V, "V")
        return float(s @ w)

    @property
    def beta(self) -> float:
        """Of the equivalent Newmark method, (4.37)."""
        return self.alpha * self.theta

    @property
    def gamma(self) -> float:
        """Of the equivalent Newmark method, (4.37)."""
        return self.alpha + self.theta - 0.5

    def points(self) -> list[tuple[float, float]]:
        """Where in the step loads are taken, and with which weights."""
        s, w = _points(self.X, "X")
        return list(zip(s.tolist(), w.tolist(), strict=True))

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 if max(abs(self.alpha - 0.5), abs(self.theta - 0.5)) < 1e-12 else 1

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Impulse(self),)

    def refuse(self, system: System) -> str:
        if system.black_boxes and len(self.points()) > 1:
            return f"'{system.black_boxes[0]}' is no formula, so it has no impulse; with a number for X it is sampled"
        return without_constraints(system) or in_a_vector_space(system) or constant_mass(system)


def _points(weight: Weight, what: str) -> tuple[Any, Any]:
    """Points s in [0, 1] and weights with the sum 1 such that sum w f(s) is the weighted mean of f."""
    if isinstance(weight, float | int | np.number):
        if not 0 <= weight <= 1:
            raise ValueError(f"{what} must lie in (0, 1] if it is a number, got {weight}")
        return np.array([float(weight)]), np.ones(1)
    if isinstance(weight, str) and weight != "uniform":
        raise ValueError(f"{what} must be 'uniform', a number or a function, got {weight!r}")
    x, w = np.polynomial.legendre.leggauss(POINTS)
    s = (x + 1) / 2
    if not isinstance(weight, str):
        w = w * np.array([float(weight(a)) for a in s])
    if not np.sum(w) > 0:
        raise ValueError(f"{what}: the integral of the weight must be positive, it is {np.sum(w) / 2:.6g}")
    return s, w / np.sum(w)
