"""The Newmark family in vector spaces (Sadłowski, 4.1.1, 4.1.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kreisel.groups import Group, Product, R
from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, NodeView


class Balance(Stage):
    """Unknown: the acceleration a_{n+1}."""

    def __init__(self, method: Newmark) -> None:
        self.m = method

    def rates(self, n: NodeView, h: ca.SX) -> tuple[ca.SX, ca.SX]:
        """d_{n+1} - d_n and v_{n+1}: the predictors and what the acceleration adds."""
        beta, gamma = self.m.beta, self.m.gamma
        return h * n.v + h**2 * ((0.5 - beta) * n.a + beta * n.x), n.v + h * ((1 - gamma) * n.a + gamma * n.x)

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.a}

    def residual(self, e: Elements) -> dict[str, Any]:
        d, v = (list(c) for c in zip(*(self.rates(n, e.h) for n in e.nodes), strict=True))
        t, q = e.t + e.h, e.retract(d)
        return {"x": [inertia - f for inertia, f in zip(e.inertia(q, v, e.get("x")), e.force(t, q, v), strict=True)]}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        d, v = self.rates(n, h)
        return {"q": n.moved(d), "v": v, "a": n.x}


@dataclass(frozen=True)
class Newmark(Method):
    r"""Newmark's family for linear and nonlinear systems in R^n, in the acceleration.

    .. math::

       d_{n+1} = d_n + h v_n + h^2 ((\tfrac12 - \beta) a_n + \beta a_{n+1}), \quad v_{n+1} = v_n + h ((1 - \gamma) a_n + \gamma a_{n+1}),
       \quad M a_{n+1} = f(t_{n+1}, d_{n+1}, v_{n+1})

    beta = 1/4, gamma = 1/2: constant average acceleration; of linear systems it conserves the energy. beta = 0: explicit, if the damping
    is. Order 2 for gamma = 1/2, else 1. Source: Sadłowski, (4.1)-(4.22).

    >>> Newmark(0.0).critical_frequency(), Newmark().critical_frequency()
    (2.0, inf)
    """

    beta: float = 0.25
    gamma: float = 0.5

    states: ClassVar[tuple[str, ...]] = ("v", "a")
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = (("a",), (), ())

    def __post_init__(self) -> None:
        if not (0 <= self.beta < np.inf and 0 < self.gamma < np.inf):
            raise ValueError(f"Newmark: beta must not be negative and gamma must be positive, got {self.beta} and {self.gamma}")

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 if self.gamma == 0.5 else 1

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.gamma == 0.5

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Balance(self),)

    def refuse(self, system: System) -> str:
        return without_constraints(system) or in_a_vector_space(system)

    def critical_frequency(self, damping: float = 0.0) -> float:
        r"""The largest omega h of a stable oscillator x'' + 2 xi omega x' + omega^2 x = 0, xi the ``damping`` ratio.

        .. math:: \omega h \le \frac{\xi (\gamma - 1/2) + \sqrt{\gamma/2 - \beta + \xi^2 (\gamma - 1/2)^2}}{\gamma/2 - \beta}

        for gamma >= 1/2 (below, no step is stable without damping: 0); infinite for 2 beta >= gamma.
        """
        k, g = self.gamma / 2 - self.beta, self.gamma - 0.5
        if g < 0:
            return 0.0
        return float((damping * g + np.sqrt(k + (damping * g) ** 2)) / k) if k > 0 else float("inf")


def without_constraints(system: System) -> str:
    """For methods that know no multipliers."""
    if system.constrained or system.nonholonomic:
        rows = zip(system.elements, system.rows, system.pfaffian_rows, strict=True)
        name = next(e.name for e, holonomic, nonholonomic in rows if holonomic or nonholonomic)
        return f"it does not treat constraints such as '{name}'; RATTLie and GeneralizedAlpha do"
    return ""


def in_a_vector_space(system: System) -> str:
    """For methods that add displacements."""
    for node in system.nodes:
        if not _flat(node.group):
            return f"'{node.name}' moves on {node.group}, which is no vector space; A1, A2, A3 and A4 are its like for rotations"
    return ""


def _flat(group: Group) -> bool:
    return all(isinstance(g, R) for g in (group.factors if isinstance(group, Product) else (group,)))
