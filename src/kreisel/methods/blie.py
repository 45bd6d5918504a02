"""BLieDF: backward differentiation on Lie groups (Hante, digest 3.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, MultiplierView, NodeView

# Coefficients of the derivative of v, and their cumulative sums for v itself.
_ALPHA = {1: (1.0, -1.0), 2: (1.5, -2.0, 0.5)}
_GAMMA = {1: (1.0,), 2: (1.5, -0.5)}


class Backward(Stage):
    """Unknowns: Dq, D* = Dq + B(q_n)^T eta, h lam, eta."""

    unknowns = ("x", "d")
    lam_unknowns = ("l", "eta")

    def __init__(self, k: int) -> None:
        self.k = k

    def rates(self, n: NodeView, h: ca.SX) -> tuple[ca.SX, ca.SX]:
        """v_{n+1} and its derivative."""
        v = sum((g * d for g, d in zip(_GAMMA[self.k], (n.d, n.star), strict=False)), start=ca.SX.zeros(n.group.dim))
        a = sum((c * u for c, u in zip(_ALPHA[self.k], (v, n.v, n.before), strict=False)), start=ca.SX.zeros(n.group.dim)) / h
        return v, a

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.v, "d": n.v}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"l": h * lam.lam}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, t, q = e.h, e.t + e.h, e.move("x")
        v, a = (list(c) for c in zip(*(self.rates(n, h) for n in e.nodes), strict=True))
        terms = zip(e.inertia(q, v, a), e.force(t, q, v), e.constraint_force(t, q, e.lam.l), strict=True)
        return {
            "x": [h * (inertia - f) + b for inertia, f, b in terms],
            "l": e.constraint(t, q) / h,
            "d": [-b for b in e.constraint_force(e.t, e.q, e.lam.eta)],
            "eta": e.constraint_rate(t, q, v),
        }

    def node_residual(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"d": n.d - n.x}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        v, a = self.rates(n, h)
        return {"q": n.moved(h * n.x), "v": v, "a": a, "before": n.v, "star": n.d}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"lam": lam.l / h}


@dataclass(frozen=True)
class BLieDF(Method):
    r"""Backward differentiation of order k = 1, 2 in stabilised index-2 form; dissipates energy, damps fast motions.

    .. math::

       q_{n+1} = q_n \circ \exp(h\,\Delta q_n), \quad \Delta^*_n = \Delta q_n + B_n^T \eta, \quad
       v_{n+1} = \tfrac32 \Delta^*_n - \tfrac12 \Delta^*_{n-1}, \quad \dot v_{n+1} = (\tfrac32 v_{n+1} - 2 v_n + \tfrac12 v_{n-1})/h

    with the equations of motion, Phi = 0 and B v = 0 at t_{n+1} (k = 2; for k = 1: v = D*, v' = (v_{n+1} - v_n)/h). Opens with one step
    of order 1. Source: Wieloch, Arnold; Hante, section 5.
    """

    k: int = 2

    variable_steps: ClassVar[bool] = False
    states: ClassVar[tuple[str, ...]] = ("v", "a", "before", "star")
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = (("a",), ("lam",), ())

    def __post_init__(self) -> None:
        if self.k not in (1, 2):
            raise ValueError(f"BLieDF: k must be 1 or 2, got {self.k}")

    @property
    def order(self) -> int:  # type: ignore[override]
        return self.k

    @property
    def order_multipliers(self) -> int:  # type: ignore[override]
        return self.k

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Backward(self.k),)

    @property
    def opening(self) -> tuple[Stage, ...]:
        return (Backward(1),) if self.k == 2 else ()

    def refuse(self, system: System) -> str:
        return "it does not treat nonholonomic constraints; RATTLie and GeneralizedAlpha do" if system.nonholonomic else ""
