"""Equations that belong to no step: accelerations and multipliers of a state, and projections onto the constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from kreisel.methods.base import Stage
from kreisel.methods.elements import Columns, Elements, MultiplierView, NodeView


class Accelerations(Stage):
    r"""Accelerations and multipliers that belong to q and v: the index-1 system (Hante, 2.34; Klemps, 2.19).

    .. math:: M a + B^T\lambda + A^T\mu = f + \hat v^T M v, \quad B a = -Z, \quad A a = -Y
    """

    lam_unknowns = ("l",)
    mu_unknowns = ("m",)

    def __init__(self, acceleration: Sequence[str], lam: Sequence[str], mu: Sequence[str]) -> None:
        self.targets = tuple(acceleration), tuple(lam), tuple(mu)

    def place(self, e: Elements) -> tuple[ca.SX, Columns, Columns]:
        """Where: time, configurations and velocities."""
        return e.t, e.q, e.get("v")

    def residual(self, e: Elements) -> dict[str, Any]:
        (t, q, v), a = self.place(e), e.get("x")
        forces = zip(e.inertia(q, v, a), e.force(t, q, v), e.constraint_force(t, q, e.lam.l), e.pfaffian_force(t, q, e.mu.m), strict=True)
        return {
            "x": [inertia - f + b + c for inertia, f, b, c in forces],
            "l": e.constraint_acceleration(t, q, v, a),
            "m": e.pfaffian_rate(t, q, v, a),
        }

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return dict.fromkeys(self.targets[0], n.x)

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return dict.fromkeys(self.targets[1], lam.l)

    def update_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return dict.fromkeys(self.targets[2], mu.m)


class ProjectPosition(Stage):
    """The configuration on the constraints nearest to q, in the metric of the mass: M x + B(q)^T l = 0, Phi(q o exp(h x)) = 0.

    ``late``: on those of the end of the step.
    """

    lam_unknowns = ("l",)
    mu_unknowns = ()

    def __init__(self, late: bool = False) -> None:
        self.late = late

    def residual(self, e: Elements) -> dict[str, Any]:
        t, q1 = e.t + e.h if self.late else e.t, e.move("x")
        r = zip(e.momentum(e.get("x")), e.constraint_force(t, e.q, e.lam.l), strict=True)
        return {"x": [p + b for p, b in r], "l": e.constraint(t, q1)}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"q": n.moved(h * n.x)}


class ProjectVelocity(Stage):
    """The velocity that satisfies the constraints, nearest to v in the metric of the mass. ``late``: those of the end of the step."""

    lam_unknowns = ("l",)
    mu_unknowns = ("m",)

    def __init__(self, late: bool = False) -> None:
        self.late = late

    def residual(self, e: Elements) -> dict[str, Any]:
        t, q, v = e.t + e.h if self.late else e.t, e.q, e.get("x")
        r = zip(e.momentum(v), e.momentum(e.get("v")), e.constraint_force(t, q, e.lam.l), e.pfaffian_force(t, q, e.mu.m), strict=True)
        return {
            "x": [new - old + b + c for new, old, b, c in r],
            "l": e.constraint_rate(t, q, v),
            "m": e.pfaffian(t, q, v),
        }

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"v": n.x}
