"""Schemes for Hamiltonian systems that conserve the energy at any step size (Siebert, 8.1, 8.2)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.system import System
from kreisel.methods.discrete import Field, completed
from kreisel.methods.midpoint import HamiltonianMethod


@dataclass(frozen=True)
class Greenspan(HamiltonianMethod):
    r"""Conserves the energy T(p) + V(q) of one degree of freedom at any step size; symmetric, of order 2.

    .. math::

       (q_{n+1} - q_n)/h = \frac{T(p_{n+1}) - T(p_n)}{p_{n+1} - p_n}, \qquad
       (p_{n+1} - p_n)/h = -\frac{V(q_{n+1}) - V(q_n)}{q_{n+1} - q_n} + B\,u

    For T quadratic the first is the midpoint rule. Where a quotient is 0/0, at a turning point, the derivative in the middle stands in.
    The energy changes exactly by the work of inputs, :math:`u\cdot B^T(q_{n+1} - q_n)`.
    Source: Siebert, (8.6)-(8.9), after Greenspan (1984).

    >>> import kreisel as kr
    >>> pendulum = kr.Hamiltonian(lambda q, p: p[0] ** 2 / 2 - ca.cos(q[0]), 1, q=[3.0])
    >>> sol = kr.simulate(pendulum, until=100, step=0.2, method=Greenspan())
    >>> bool(abs(sol.energy - sol.energy[0]).max() < 1e-13)
    True
    """

    def discrete_gradient(self, H: Field, x0: ca.SX, x1: ca.SX) -> ca.SX:
        """The difference quotients by q and by p, each with the other one in the middle."""
        middle, out = (x0 + x1) / 2, []
        for k in range(2):
            before, after = ca.SX(middle), ca.SX(middle)
            before[k], after[k] = x0[k], x1[k]
            out.append(completed(H.gradient(middle)[k], H.value(before), H.value(after), x0[k], x1[k]))
        return ca.vertcat(*out)

    def refuse(self, system: System) -> str:
        if system.dim != 1:
            return f"it is for one degree of freedom, not {system.dim}; kr.Gonzalez() fits"
        return "" if not isinstance(system, Hamiltonian) or separable(system) else "its energy is no sum T(p) + V(q); kr.Gonzalez() fits"


def separable(system: Hamiltonian) -> bool:
    """Whether the energy is a sum T(p) + V(q)."""
    q, p = (ca.SX.sym(name, system.dim) for name in "qp")
    return bool(ca.simplify(ca.jacobian(ca.gradient(system.H(q, p), q), p)).is_zero())


@dataclass(frozen=True)
class Gonzalez(HamiltonianMethod):
    r"""Conserves the energy H(q, p) at any step size, also with a mass that depends on q; symmetric, of order 2.

    .. math::

       (x_{n+1} - x_n)/h = J\,\bar\nabla H + (0, B\,u), \qquad
       \bar\nabla H = g + \frac{H(x_{n+1}) - H(x_n) - g\cdot\Delta x}{\Delta x\cdot\Delta x}\,\Delta x, \qquad
       x = (q, p), \ \Delta x = x_{n+1} - x_n

    ``gradient``: g, "midpoint", that in the middle, or "average", the mean of those at the ends. Coordinates and momenta are added in
    :math:`\Delta x\cdot\Delta x` as they are, so results depend on their units. The energy changes exactly by the work of inputs,
    :math:`u\cdot B^T(q_{n+1} - q_n)`. Source: Siebert, (8.33)-(8.39), where the work (8.39) is corrected; after Gonzalez (1996).

    >>> import kreisel as kr
    >>> planet = kr.Hamiltonian(lambda q, p: ca.sumsqr(p) / 2 - 1 / ca.norm_2(q), 2, q=[1.0, 0.0], p=[0.0, 1.2])
    >>> sol = kr.simulate(planet, until=20, step=0.1, method=Gonzalez())
    >>> bool(abs(sol.energy - sol.energy[0]).max() < 1e-13)
    True
    """

    gradient: str = "midpoint"

    def __post_init__(self) -> None:
        if self.gradient not in ("midpoint", "average"):
            raise ValueError(f"Gonzalez: gradient must be 'midpoint' or 'average', got {self.gradient!r}")

    def discrete_gradient(self, H: Field, x0: ca.SX, x1: ca.SX) -> ca.SX:
        g = H.gradient((x0 + x1) / 2) if self.gradient == "midpoint" else (H.gradient(x0) + H.gradient(x1)) / 2
        return completed(g, H.value(x0), H.value(x1), x0, x1)
