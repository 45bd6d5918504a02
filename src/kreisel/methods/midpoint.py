"""The implicit midpoint rule for Hamiltonian systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, NodeView


class Middle(Stage):
    """Unknowns: the mean rates of q and p."""

    unknowns = ("x", "d")

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.last_x, "d": n.last_d}

    def residual(self, e: Elements) -> dict[str, Any]:
        h = e.h
        q, p = ([ca.SX.sym("m", n.group.dim) for n in e.nodes] for _ in range(2))
        H = e.energy(e.t + h / 2, q, p)
        middle = {"q": [n.q + h / 2 * n.x for n in e.nodes], "p": [n.v + h / 2 * n.d for n in e.nodes]}

        def at_middle(y: ca.SX) -> ca.SX:
            return ca.substitute(y, ca.vertcat(*q, *p), ca.vertcat(*middle["q"], *middle["p"]))

        return {
            "x": [n.x - at_middle(ca.gradient(H, p_i)) for n, p_i in zip(e.nodes, p, strict=True)],
            "d": [
                n.d + at_middle(ca.gradient(H, q_i)) - f
                for n, q_i, f in zip(e.nodes, q, e.force(e.t + h / 2, e.q, e.get("v"), potentials=False), strict=True)
            ],
        }

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"q": n.q + h * n.x, "v": n.v + h * n.d, "last_x": n.x, "last_d": n.d}


@dataclass(frozen=True)
class Midpoint(Method):
    r"""Symplectic and symmetric, of order 2; conserves quadratic invariants.

    .. math::

       (q_{n+1} - q_n)/h = H_p(\bar q, \bar p), \quad (p_{n+1} - p_n)/h = -H_q(\bar q, \bar p) + B\,u, \quad
       \bar q = (q_n + q_{n+1})/2, \ \bar p = (p_n + p_{n+1})/2
    """

    symmetric: ClassVar[bool] = True
    hamiltonian: ClassVar[bool] = True
    midpoint_work: ClassVar[bool] = True
    states: ClassVar[tuple[str, ...]] = ("v", "last_x", "last_d")

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Middle(),)
