r"""A1, A2, A3, A4: Newmark's idea on rotations (Sadłowski, 4.2).

R_{n+1} = R_n exp(Theta). In A1, A2, A3 the rotation vector Theta of the step is the unknown, and the rates follow from it,

.. math::

   W_{n+1} = \frac{\gamma}{\beta h}\Theta - W_n + \Big(2 - \frac\gamma\beta\Big)\Big(W_n + \frac h2 A_n\Big), \qquad
   A_{n+1} = \frac{\Theta}{\beta h^2} - \frac{W_n}{\beta h} - \Big(\frac1{2\beta} - 1\Big) A_n .

Theta is an element of the algebra, so Newton's method adds to it, and its matrix is the derivative of the residual by Theta: that of
R_n exp(s Theta) is s T(s Theta). (The source turns the last iterate on, with d Theta_{n+1} = T(Theta) d Theta; its matrices times T(Theta)
are these.) Formulas hold on any group: with q for R, the mass for J, Ad(exp(-d))^T for the rotation exp(d) of momenta. In vector spaces
A1 is Newmark's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Columns, Elements, NodeView
from kreisel.methods.newmark import without_constraints
from kreisel.methods.rattlie import constant_mass


class Turn(Stage):
    """Unknown: x = Theta/h, the mean velocity of the step."""

    def __init__(self, method: Implicit) -> None:
        self.m = method

    def rates(self, n: NodeView, h: ca.SX) -> tuple[ca.SX, ca.SX]:
        """W_{n+1} and A_{n+1}, (A.81), (A.82)."""
        beta, ratio = self.m.beta, self.m.gamma / self.m.beta
        return ratio * n.x - n.v + (2 - ratio) * (n.v + h / 2 * n.a), (n.x - n.v) / (beta * h) - (0.5 / beta - 1) * n.a

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.v + h / 2 * n.a}

    def new(self, e: Elements) -> tuple[Columns, Columns]:
        v, a = (list(c) for c in zip(*(self.rates(n, e.h) for n in e.nodes), strict=True))
        return v, a

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        v, a = self.rates(n, h)
        return {"q": n.moved(h * n.x), "v": v, "a": a}

    def increment(self, n: NodeView, h: ca.SX) -> ca.SX:
        return h * n.x


class End(Turn):
    """Balance at t_{n+1}."""

    def residual(self, e: Elements) -> dict[str, Any]:
        h, t, q, (v, a) = e.h, e.t + e.h, e.move("x"), self.new(e)
        return {"x": [h * (inertia - f) for inertia, f in zip(e.inertia(q, v, a), e.force(t, q, v), strict=True)]}


class Within(Turn):
    """Balance at t_{n+gamma}."""

    def residual(self, e: Elements) -> dict[str, Any]:
        h, gamma, (v, a) = e.h, self.m.gamma, self.new(e)
        t, q = e.t + gamma * h, e.move("x", gamma * h)
        v = [(1 - gamma) * n.v + gamma * new for n, new in zip(e.nodes, v, strict=True)]
        a = [(1 - gamma) * n.a + gamma * new for n, new in zip(e.nodes, a, strict=True)]
        return {"x": [h * (inertia - f) for inertia, f in zip(e.inertia(q, v, a), e.force(t, q, v), strict=True)]}


class Whole(Turn):
    """Balance of momentum over the step, seen from q_n: exp(Theta) J W_{n+1} - J W_n = h exp(alpha Theta) R_{n+alpha}^T m_{n+alpha}.

    Not from q_{n+alpha}, which were shorter: exp(Theta) is the one that leads to q_{n+1}, to the last bit, so momentum does not drift.
    """

    def residual(self, e: Elements) -> dict[str, Any]:
        h, alpha, x, (v, _) = e.h, min(self.m.beta / self.m.gamma, 1.0), e.get("x"), self.new(e)
        q = e.move("x", alpha * h)
        within = [(1 - alpha) * n.v + alpha * new for n, new in zip(e.nodes, v, strict=True)]
        terms = zip(
            e.transport([h * y for y in x], e.momentum(v)),
            e.momentum(e.get("v")),
            e.transport([alpha * h * y for y in x], e.force(e.t + alpha * h, q, within)),
            strict=True,
        )
        return {"x": [p - p0 - h * f for p, p0, f in terms]}


class Explicit(Stage):
    """Theta is known; unknown: W_{n+1}, by one linear equation with the constant mass."""

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    def increment(self, n: NodeView, h: ca.SX) -> ca.SX:
        return h * n.v + h**2 / 2 * n.a

    def residual(self, e: Elements) -> dict[str, Any]:
        h, d = e.h, [self.increment(n, e.h) for n in e.nodes]
        half = [x / 2 for x in d]
        f = e.force(e.t + h / 2, e.retract(half), [n.v + h / 2 * n.a for n in e.nodes])
        pushed = [p + h * y for p, y in zip(e.momentum(e.get("v")), e.transport(half, f), strict=True)]
        terms = zip(e.momentum(e.get("x")), e.transport([-x for x in d], pushed), strict=True)
        return {"x": [p - p0 for p, p0 in terms]}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        a = (n.x - n.v) / (self.gamma * h) + (1 - 1 / self.gamma) * n.a
        return {"q": n.moved(self.increment(n, h)), "v": n.x, "a": a}


@dataclass(frozen=True)
class Rotational(Method):
    """What A1, A2, A3 and A4 share. A step must turn by less than 2 pi; else the run ends with ``Status.TOO_FAR``."""

    states: ClassVar[tuple[str, ...]] = ("v", "a")
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = (("a",), (), ())

    def refuse(self, system: System) -> str:
        return without_constraints(system) or constant_mass(system)


@dataclass(frozen=True)
class Implicit(Rotational):
    """What A1, A2 and A3 share."""

    beta: float = 0.25
    gamma: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.beta < np.inf and 0 < self.gamma < np.inf):
            who = type(self).__name__
            raise ValueError(f"{who}: beta and gamma must be positive, got {self.beta} and {self.gamma} (A4 is the explicit one, beta = 0)")

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 if self.gamma == 0.5 else 1

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.gamma == 0.5


@dataclass(frozen=True)
class A1(Implicit):
    r"""Newmark's method on rotations, the balance at the end of the step; conserves neither energy nor momentum.

    .. math:: J A_{n+1} + W_{n+1} \times J W_{n+1} = R_{n+1}^T m_{n+1}

    Order 2 for gamma = 1/2, else 1. It is GeneralizedAlpha with alpha_m = alpha_f = 0. Source: Sadłowski, Table 4.1, (4.51)-(4.54).
    """

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (End(self),)


@dataclass(frozen=True)
class A2(Implicit):
    r"""Newmark's method on rotations, the balance within the step, at t_{n+gamma}.

    .. math:: J A_\gamma + W_\gamma \times J W_\gamma = R_\gamma^T m_\gamma, \quad R_\gamma = R_n \exp(\gamma\Theta), \quad
              (\cdot)_\gamma = (1-\gamma)(\cdot)_n + \gamma(\cdot)_{n+1}

    With beta = 1/4, gamma = 1/2 a free body keeps its energy and the length of its momentum, not the direction. Accelerations ring after
    a jump of the load, since A_{n+1} = 2 A_{n+1/2} - A_n; W and R do not. Order 2 for gamma = 1/2, else 1. Source: Sadłowski, Table 4.2,
    (4.55)-(4.68).
    """

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Within(self),)


@dataclass(frozen=True)
class A3(Implicit):
    r"""Balance of the momentum in space, pi = R J W, over the step; a free body keeps it whatever beta and gamma.

    .. math:: R_{n+1} J W_{n+1} - R_n J W_n = h\,m_{n+\alpha}, \quad \alpha = \min(\beta/\gamma, 1), \quad
              R_{n+\alpha} = R_n \exp(\alpha\Theta)

    It also keeps its energy if, and only if, beta/gamma = 1/2; then Theta = h (W_n + W_{n+1})/2, the motion does not depend on the single
    values, and the order is 2 (else 1 with loads). On SO3 the rotations are composed as matrices, on S3 as quaternions. What Newton's
    method leaves of the residual is what momentum drifts by: over 1e5 steps it pays to have Newton(atol=1e-17, rtol=1e-17). Source:
    Sadłowski, Table 4.3, (4.69)-(4.78).

    >>> import kreisel as kr
    >>> body = kr.models.intermediate_axis("S3", torque=0, impulse=0, omega=(2, 0.5, -1))
    >>> sol = kr.simulate(body, until=10, step=0.1, method=A3())
    >>> bool(abs(sol.kinetic_energy - sol.kinetic_energy[0]).max() < 1e-12), bool(abs(sol.angular_momentum - [10, 5, -1]).max() < 1e-12)
    (True, True)
    """

    beta: float = 0.5
    gamma: float = 1.0

    @property
    def order(self) -> int:  # type: ignore[override]
        return 2 if self.symmetric else 1

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return 2 * self.beta == self.gamma

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Whole(self),)


@dataclass(frozen=True)
class A4(Rotational):
    r"""The explicit variant of A3: a free body keeps its momentum, not its energy.

    .. math:: \Theta = h W_n + \tfrac{h^2}2 A_n, \quad R_{n+1} J W_{n+1} = R_n J W_n + h\,m_{n+1/2}, \quad
              A_{n+1} = \frac{W_{n+1} - W_n}{\gamma h} + \Big(1 - \frac1\gamma\Big) A_n

    with R_{n+1/2} = R_n exp(Theta/2) in loads that depend on the attitude, and W_n + h A_n/2 in those that depend on velocities. Order 2.
    For gamma < 1/2 the accelerations swing up. Source: Sadłowski, Table 4.4.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.gamma <= 1:
            raise ValueError(f"A4: gamma must lie in (0, 1], got {self.gamma}")

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Explicit(self.gamma),)
