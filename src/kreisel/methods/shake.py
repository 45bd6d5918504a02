"""SHAKELie: SHAKE on Lie groups (Hante, 3.16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kreisel.mechanics.system import System
from kreisel.methods import rattlie
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, MultiplierView, NodeView


class Shake(Stage):
    """Unknowns: w_{n+1/2} and h lam_n."""

    lam_unknowns = ("l",)

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.w}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"l": h * lam.lam}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, w, old = e.h, e.get("x"), e.get("w")
        v = [(a + b) / 2 for a, b in zip(w, old, strict=True)]
        terms = zip(
            e.cotangent([-h * x for x in w], e.momentum(w)),
            e.cotangent([h * x for x in old], e.momentum(old)),
            e.force(e.t, e.q, v),
            e.constraint_force(e.t, e.q, e.lam.l),
            strict=True,
        )
        return {"x": [p - p0 - h * f + b for p, p0, f, b in terms], "l": e.constraint(e.t + h, e.move("x")) / h}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        # v, extrapolated, is for events and for elements that remember; the next step gives the final one.
        return {"w": n.x, "q": n.moved(h * n.x), "v": (3 * n.x - n.w) / 2}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"lam": lam.l / h}


class Opening(rattlie.Half):
    """The first step of RATTLie."""

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.v}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"l": h * lam.lam}

    def residual(self, e: Elements) -> dict[str, Any]:
        e.mu = MultiplierView(0, ("mu",))
        return super().residual(e)

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {**super().update(n, h), "v": 2 * n.x - n.v}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"lam": lam.l / h}


@dataclass(frozen=True)
class SHAKELie(Method):
    r"""The two-step form of RATTLie: velocities between the grid points.

    .. math::

       T^{-T}(-h w_{n+1/2}) M w_{n+1/2} - T^{-T}(h w_{n-1/2}) M w_{n-1/2} = h f_n - h B_n^T \lambda_n, \quad
       q_{n+1} = q_n \circ \exp(h w_{n+1/2}), \quad \Phi(q_{n+1}) = 0

    Velocities at grid points are the means of their neighbours. ``start="rattlie"`` opens with RATTLie's first half step and then follows
    its trajectory; ``"simple"`` sets w_{-1/2} = v_0, which is of first order only, unless v_0 and the load start at zero. Source: Hante,
    (3.16).
    """

    start: str = "rattlie"

    variable_steps: ClassVar[bool] = False
    symmetric: ClassVar[bool] = True
    states: ClassVar[tuple[str, ...]] = ("v", "w")
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = ((), ("lam",), ())
    extra_steps: ClassVar[int] = 1
    late_multipliers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.start not in ("rattlie", "simple"):
            raise ValueError(f"SHAKELie: start must be 'rattlie' or 'simple', got {self.start!r}")

    @property
    def order(self) -> int:  # type: ignore[override]
        return 1 if self.start == "simple" else 2

    @property
    def order_multipliers(self) -> int:  # type: ignore[override]
        return self.order

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Shake(),)

    @property
    def opening(self) -> tuple[Stage, ...]:
        return (Opening(),) if self.start == "rattlie" else ()

    def refuse(self, system: System) -> str:
        if system.nonholonomic:
            return "it does not treat nonholonomic constraints; RATTLie does"
        return rattlie.constant_mass(system)

    def velocities(self, solution: Any) -> Any:
        """v_n = (w_{n-1/2} + w_{n+1/2})/2; at the start, what was given."""
        if solution._every > 1:
            raise ValueError("SHAKELie has velocities only between steps: to show them it needs every step on record (every=1)")
        given = solution._state("v")[:1]
        w = np.concatenate([solution._state("w"), solution._state("w", solution._beyond)])
        if len(w) == len(solution.t):  # the run ended early: the last velocity is half a step old
            w = np.concatenate([w, w[-1:]])
        return np.concatenate([given, (w[1:-1] + w[2:]) / 2])
