"""The equations of motion in index-1 form, stabilised, and explicit steps of order 4 on them (Müller, digest items 30 to 32)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Columns, Elements, NodeView
from kreisel.methods.starts import Accelerations, ProjectPosition, ProjectVelocity


class Stabilised(Accelerations):
    r"""Accelerations and multipliers from

    .. math:: \ddot\Phi + 2\alpha\dot\Phi + \beta^2\Phi = 0, \qquad \frac{\mathrm d}{\mathrm dt}(A v) + 2\alpha\,A v = 0

    in the place of the constraints.
    """

    def __init__(self, alpha: float, beta: float, *targets: tuple[str, ...]) -> None:
        super().__init__(*(targets or ((), (), ())))
        self.alpha, self.beta = alpha, beta

    def residual(self, e: Elements) -> dict[str, Any]:
        t, q, v = self.place(e)
        rows = super().residual(e)
        if self.alpha:
            rows["l"] += 2 * self.alpha * e.constraint_rate(t, q, v)
            rows["m"] += 2 * self.alpha * e.pfaffian(t, q, v)
        if self.beta:
            rows["l"] += self.beta**2 * e.constraint(t, q)
        return rows


class Inner(Stabilised):
    """An inner stage of the classical Runge-Kutta method in canonical coordinates d of q_n o exp(d), where d' = T^-1(d) v.

    At d = c h d', v = v_n + c h a, with the rates of the stage before. ``rates``: their names, and ``results``, those of the new ones.
    """

    def __init__(self, alpha: float, beta: float, c: float, rates: tuple[str, str], results: tuple[str, str]) -> None:
        super().__init__(alpha, beta)
        self.c, self.rates, self.results = c, rates, results

    def increment_of(self, n: NodeView, h: ca.SX) -> tuple[ca.SX, ca.SX]:
        """d, and the velocity there."""
        d, a = (getattr(n, name) for name in self.rates)
        return self.c * h * d, n.v + self.c * h * a

    def place(self, e: Elements) -> tuple[ca.SX, Columns, Columns]:
        d, v = zip(*(self.increment_of(n, e.h) for n in e.nodes), strict=True)
        return e.t + self.c * e.h, e.retract(list(d)), list(v)

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        d, v = self.increment_of(n, h)
        return {self.results[0]: ca.mtimes(n.group.Tinv(d), v), self.results[1]: n.x}


class Last(Inner):
    """The fourth stage, and the step."""

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        d4, a4 = super().update(n, h).values()
        return {"q": n.moved(h / 6 * (n.v + 2 * n.d2 + 2 * n.d3 + d4)), "v": n.v + h / 6 * (n.a1 + 2 * n.a2 + 2 * n.a3 + a4)}


class Closing(Stabilised):
    """Accelerations and multipliers at the end of the step. The next one begins with its own: inputs may jump in between."""

    def place(self, e: Elements) -> tuple[ca.SX, Columns, Columns]:
        return e.t + e.h, e.q, e.get("v")


@dataclass(frozen=True)
class _RungeKutta(Method):
    """What the two below share: the classical Runge-Kutta method on a Lie group (Munthe-Kaas 1999), and the multipliers at its end."""

    order: ClassVar[int] = 4  # type: ignore[misc]
    order_multipliers: ClassVar[int] = 4  # type: ignore[misc]
    states: ClassVar[tuple[str, ...]] = ("v", "a", "a1", "d2", "a2", "d3", "a3")
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    mu_states: ClassVar[tuple[str, ...]] = ("mu",)
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = (("a",), ("lam",), ("mu",))

    def _step(self, alpha: float, beta: float) -> tuple[Stage, ...]:
        return (
            Stabilised(alpha, beta, ("a1",), (), ()),
            Inner(alpha, beta, 0.5, ("v", "a1"), ("d2", "a2")),
            Inner(alpha, beta, 0.5, ("d2", "a2"), ("d3", "a3")),
            Last(alpha, beta, 1.0, ("d3", "a3"), ("", " ")),
        )


@dataclass(frozen=True)
class Baumgarte(_RungeKutta):
    r"""Explicit steps of order 4 on the index-1 form, where the constraints are replaced by a damped oscillation about them:

    .. math::

       M\dot v - \hat v^T M v + B^T\lambda = f, \qquad \ddot\Phi + 2\alpha\,\dot\Phi + \beta^2\,\Phi = 0

    The rows of index-1 form alone, ``Baumgarte(0, 0)``, hold the constraints only up to an error that grows with time; alpha = beta is the
    aperiodic limit, in which errors decay as exp(-alpha t). There is no rule for their size: a large one makes the equations stiff, and
    then the step must be small, about h < 2.7/alpha. Any group, any constraints. Source: Müller, (4.27); Baumgarte (1972).
    """

    alpha: float = 5.0
    beta: float = 5.0

    def __post_init__(self) -> None:
        check_parameters("Baumgarte", self.alpha, self.beta)

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (*self._step(self.alpha, self.beta), Closing(self.alpha, self.beta, *self.acceleration_targets))


@dataclass(frozen=True)
class Projection(_RungeKutta):
    """Explicit steps of order 4 on the index-1 form, and after each step back onto the constraints: first positions, then velocities,
    by the shortest way in the metric of the mass. Any group, any constraints. Source: Müller, digest items 30 and 32."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        back = ProjectPosition(late=True), ProjectVelocity(late=True)
        return (*self._step(0.0, 0.0), *back, Closing(0.0, 0.0, *self.acceleration_targets))


def check_parameters(name: str, alpha: float, beta: float) -> None:
    """Neither may be negative; the oscillation would grow."""
    if not (0 <= alpha < float("inf") and 0 <= beta < float("inf")):
        raise ValueError(f"{name}: alpha and beta must not be negative, got {alpha} and {beta}")
