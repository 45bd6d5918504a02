"""RATTLie: RATTLE on Lie groups (Hante, 3.1, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, MultiplierView, NodeView


class Half(Stage):
    """Unknowns: the velocity w = v_{n+1/2} of the step, and h lam^+."""

    lam_unknowns = ("l",)

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        # Extrapolated: with the mean velocities 2 v_n - v_{n-1/2}.
        return {"x": 2 * n.v - n.w}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"l": h * lam.minus}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, w, v = e.h, e.get("x"), e.get("v")
        terms = zip(
            e.cotangent([-h * x for x in w], e.momentum(w)),
            e.momentum(v),
            e.force(e.t, e.q, v),
            e.constraint_force(e.t, e.q, e.lam.l),
            e.pfaffian_force(e.t, e.q, e.mu.mu),
            strict=True,
        )
        return {
            "x": [p - p0 - h / 2 * f + b / 2 + h / 2 * c for p, p0, f, b, c in terms],
            "l": e.constraint(e.t + h, e.move("x")) / (2 * h),
        }

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"w": n.x, "q": n.moved(h * n.x)}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"plus": lam.l / h}


class Full(Stage):
    """Unknowns: the velocity v_{n+1}, h lam^- and h mu. (q is q_{n+1} by now.)"""

    lam_unknowns = ("l",)
    mu_unknowns = ("m",)

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": 2 * n.w - n.v}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"l": h * lam.plus}

    def start_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"m": h * mu.mu}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, w, v, t = e.h, e.get("w"), e.get("x"), e.t + e.h
        terms = zip(
            e.cotangent([h * x for x in w], e.momentum(w)),
            e.momentum(v),
            e.force(t, e.q, v),
            e.constraint_force(t, e.q, e.lam.l),
            e.pfaffian_force(t, e.q, e.mu.m),
            strict=True,
        )
        return {
            "x": [p - p1 + h / 2 * f - b / 2 - c / 2 for p, p1, f, b, c in terms],
            "l": -e.constraint_rate(t, e.q, v) / 2,
            "m": -e.pfaffian(t, e.q, v) / 2,
        }

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"v": n.x}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"minus": lam.l / h}

    def update_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"mu": mu.m / h}


@dataclass(frozen=True)
class RATTLie(Method):
    r"""Variational, symmetric, of order 2 in q and v, with constraints on both levels satisfied to round-off.

    .. math::

       q_{n+1} &= q_n \circ \exp(h w), \qquad \Phi(q_{n+1}) = 0, \qquad B(q_{n+1}) v_{n+1} = 0,\\
       M v_n &= T^{-T}(-h w) M w - \tfrac h2 f_n + \tfrac h2 B_n^T \lambda_n^+ + \tfrac h2 A_n^T \mu_n,\\
       M v_{n+1} &= T^{-T}(h w) M w + \tfrac h2 f_{n+1} - \tfrac h2 B_{n+1}^T \lambda_{n+1}^- - \tfrac h2 A_{n+1}^T \mu_{n+1},
       \qquad A(q_{n+1}) v_{n+1} = 0.

    Explicit in the potential; forces may depend on velocities. Without constraints it is the Störmer-Verlet scheme of the group. Source:
    Hante, (3.1), (3.19).
    """

    symmetric: ClassVar[bool] = True
    order_multipliers = 1
    states: ClassVar[tuple[str, ...]] = ("v", "w")
    lam_states: ClassVar[tuple[str, ...]] = ("plus", "minus")
    mu_states: ClassVar[tuple[str, ...]] = ("mu",)
    lam_shown: ClassVar[str] = "minus"
    lam_of_step: ClassVar[tuple[str, ...]] = ("plus", "minus")
    needs_acceleration: ClassVar[bool] = True
    # lam at the end, interpolated or separate, needs lam^+ and q of the step after it.
    extra_steps: ClassVar[int] = 1
    acceleration_targets: ClassVar[Any] = ((), ("plus", "minus"), ("mu",))

    @property
    def stages(self) -> tuple[Stage, ...]:
        return Half(), Full()

    def refuse(self, system: System) -> str:
        return constant_mass(system)


def constant_mass(system: System) -> str:
    """Variational schemes in momenta need a constant mass matrix."""
    for e in system.elements:
        if e.mass is not None:
            node = system.seat(e.bodies[0])
            q, v = node.group.symbol("q"), ca.SX.sym("v", node.group.dim)
            p = SimpleNamespace(**{k: ca.SX.sym(k, np.size(a)) for k, a in (e.parameters | e.memory).items()})
            frame = node.frame(q, v)
            if ca.depends_on(ca.hessian(ca.dot(frame.v, ca.mtimes(ca.SX(e.mass(p, frame.q)), frame.v)), v)[0], q):
                return f"the mass matrix must be constant, that of '{e.name}' depends on q"
    return ""
