"""The implicit midpoint rule for Hamiltonian systems, and what all schemes for these have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.methods.base import Method, Stage
from kreisel.methods.discrete import Field, Formula
from kreisel.methods.elements import Elements, NodeView


class MeanRates(Stage):
    """(x_{n+1} - x_n)/h = J DH + (0, B u), x = (q, p). Unknowns: the mean rates of q and p.

    ``gradient``: DH by the energy and both ends of the step.
    """

    unknowns = ("x", "d")

    def __init__(self, gradient: Callable[[Field, ca.SX, ca.SX], ca.SX]) -> None:
        self.gradient = gradient

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.last_x, "d": n.last_d}

    def residual(self, e: Elements) -> dict[str, Any]:
        h = e.h
        (n,) = e.nodes
        q, p = (ca.SX.sym(name, n.group.dim) for name in "qp")
        before, after = ca.vertcat(n.q, n.v), ca.vertcat(n.q + h * n.x, n.v + h * n.d)
        D = self.gradient(Formula(e.energy(e.t + h / 2, [q], [p]), ca.vertcat(q, p)), before, after)
        (f,) = e.force(e.t + h / 2, e.q, e.get("v"), potentials=False)
        return {"x": [n.x - D[n.group.dim :]], "d": [n.d + D[: n.group.dim] - f]}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"q": n.q + h * n.x, "v": n.v + h * n.d, "last_x": n.x, "last_d": n.d}


@dataclass(frozen=True)
class HamiltonianMethod(Method):
    """A scheme for Hamiltonian systems. To add one, write ``discrete_gradient``, the gradient of the energy that it takes for a step."""

    symmetric: ClassVar[bool] = True
    hamiltonian: ClassVar[bool] = True
    midpoint_work: ClassVar[bool] = True
    states: ClassVar[tuple[str, ...]] = ("v", "last_x", "last_d")

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (MeanRates(self.discrete_gradient),)

    def discrete_gradient(self, H: Field, x0: ca.SX, x1: ca.SX) -> ca.SX:
        """DH by the energy and x = (q, p) at both ends of the step."""
        raise NotImplementedError


@dataclass(frozen=True)
class Midpoint(HamiltonianMethod):
    r"""Symplectic and symmetric, of order 2; conserves quadratic invariants.

    .. math::

       (q_{n+1} - q_n)/h = H_p(\bar q, \bar p), \quad (p_{n+1} - p_n)/h = -H_q(\bar q, \bar p) + B\,u, \quad
       \bar q = (q_n + q_{n+1})/2, \ \bar p = (p_n + p_{n+1})/2
    """

    def discrete_gradient(self, H: Field, x0: ca.SX, x1: ca.SX) -> ca.SX:
        return H.gradient((x0 + x1) / 2)
