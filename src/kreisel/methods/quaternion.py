"""The energy-momentum scheme for bodies by quaternions (Siebert, 5.3, 5.4, corrected)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.groups import S3, R
from kreisel.mechanics.quaternions import QuaternionInertia, QuaternionNode, Unit, convective
from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.bem import Mean, Step
from kreisel.methods.elements import Columns, Elements, NodeView
from kreisel.methods.rattlie import constant_mass


class QuaternionStep(Mean):
    """Unknowns: the mean rate x of q, the velocity y at the end, h lam and h mu. ``reduced``: x = (0, theta, ...), with q_{n+1} =
    exp(h theta/2) o q_n."""

    unknowns = ("x", "y")

    def __init__(self, reduced: bool) -> None:
        self.reduced = reduced

    def _turns(self, n: NodeView) -> bool:
        return self.reduced and isinstance(n.node, QuaternionNode)

    def _increment(self, n: NodeView, h: ca.SX) -> ca.SX:
        """q_{n+1} - q_n."""
        if not self._turns(n):
            return h * n.x
        return ca.vertcat(S3.compose(S3.exp(h * n.x[1:4]), n.q[:4]) - n.q[:4], h * n.x[4:])

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        if not isinstance(n.node, QuaternionNode):
            return {"x": n.v, "y": n.v}
        x, y = n.node.mean_velocity(n.q, n.v, h), n.node.turned(n.q, n.v, h)[1]
        return {"x": ca.vertcat(0, n.node.frame(n.q, n.v).space_omega, n.v[4:]) if self.reduced else x, "y": y}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, t = e.h, e.t + e.h / 2
        q1 = e.retract([self._increment(n, h) for n in e.nodes])
        step = Ends(e, q1)
        rate = [(z - n.q) / h if self._turns(n) else n.x for n, z in zip(e.nodes, q1, strict=True)]
        p0, p1 = e.momentum(e.get("v")), e.momentum(e.get("y"), q1)
        driven, forces = step.kinetic(p0, p1)
        terms = zip(
            p0,
            p1,
            forces,
            step.at_middle(e.force(t, step.middle, rate, potentials=False)),
            step.potential_gradient(t),
            step.constraint_force(t, e.lam.l),
            step.at_middle(e.pfaffian_force(t, step.middle, e.mu.m)),
            strict=True,
        )
        balance = [b - a + h * (k - f + g) + c + d for a, b, k, f, g, c, d in terms]
        for probe in e.probes:
            (probe.arguments,) = step.at_middle([probe.arguments])
        gap = e.constraint(e.t + h, q1) / h
        if self.reduced:
            balance = [self._split(n, z, r) for n, z, r in zip(e.nodes, q1, balance, strict=True)]
            for m in e.members:
                if isinstance(m.element, Unit):  # holds by itself
                    (i,) = e._places(m)
                    gap[m.rows.start] = e.nodes[i].x[0]
        # Where the inertia is, there the rate belongs: once per node.
        owned = {i for m in e.members if m.element.mass is not None for i in e._places(m)}
        zero = [ca.SX.zeros(n.group.dim) for n in e.nodes]
        return {
            "x": [rate[i] - driven[i] if i in owned else zero[i] for i in range(len(e.nodes))],
            "y": balance,
            "l": gap,
            "m": step.at_middle([e.pfaffian(t, step.middle, rate)])[0],
        }

    def _split(self, n: NodeView, q1: ca.SX, r: ca.SX) -> ca.SX:
        """The rows along the null space P = E(q_{n+1/2})^T, free of the multiplier, and the one along q_{n+1/2}, which gives it."""
        if not isinstance(n.node, QuaternionNode):
            return r
        middle = (n.q[:4] + q1[:4]) / 2
        return ca.vertcat(ca.mtimes(convective(middle), r[:4]), ca.dot(middle, r[:4]), r[4:])

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"q": n.moved(self._increment(n, h)), "v": n.y}


class Ends(Step):
    """The two ends of a step, and the discrete gradient of the kinetic energy as a function of q and p between them."""

    def at_middle(self, columns: Columns) -> Columns:
        means = [(a + b) / 2 for a, b in zip(self.q0, self.q1, strict=True)]
        return ca.substitute(columns, self.middle, means) if self.middle else columns

    def kinetic(self, p0: Columns, p1: Columns) -> tuple[Columns, Columns]:
        """Its parts by p and by q. T depends on y = Q(q)^T p, which is bilinear: so the gradient of y is that in the middle, times the mean
        of dT/dy, T being quadratic in y."""
        rates = [(n.v + n.y) / 2 for n in self.e.nodes]
        forces = [ca.SX.zeros(n.group.dim) for n in self.e.nodes]
        for m in self.e.members:
            if isinstance(m.element, QuaternionInertia):
                (i,) = self.e._places(m)
                y0, y1 = (m.element.body_momentum(q, p) for q, p in ((self.q0[i], p0[i]), (self.q1[i], p1[i])))
                q, p, w = self.middle[i], ca.SX.sym("p", p0[i].numel()), ca.SX.sym("w", y0.numel())
                f = ca.dot(w, m.element.body_momentum(q, p))
                values = [m.element.rates(m.parameters, (y0 + y1) / 2), (p0[i] + p1[i]) / 2]
                parts = ca.substitute([ca.gradient(f, p), ca.gradient(f, q)], [w, p], values)
                rates[i], forces[i] = self.at_middle(parts)
        return rates, forces


@dataclass(frozen=True)
class QuaternionEM(Method):
    r"""Conserves energy and angular momentum at any step size, for bodies by quaternions in R^4: coordinates "quaternions"; of order 2.

    .. math::

       q_{n+1} - q_n &= \tfrac h8\,Q(q_{n+1/2})\,J_4^{-1}(\pi_n + \pi_{n+1}), \qquad \pi = Q(q)^T p, \quad p = M v, \quad |q_{n+1}| = 1,\\
       p_{n+1} - p_n &= -\tfrac h8\,Q(p_{n+1/2})\,J_4^{-1}\,\overline{(\pi_n + \pi_{n+1})} + h\,(f - \bar\nabla V)(q_{n+1/2})
                        - h\,\gamma\,q_{n+1/2}

    with the conjugate, which is missing in the source. ``form``: "saddle", with the multiplier gamma; "reduced", with
    :math:`q_{n+1} = \exp(h\theta/2)\circ q_n` and the second equation projected by :math:`E(q_{n+1/2})`, which leaves seven equations for
    theta and p without gamma (an eighth gives it). Both have the same solution. Joints and nonlinear potentials enter by discrete
    gradients, as in :class:`BEM`; the energy is then kept, too, but momenta only to second order: here distances are no quadratic
    functions of the coordinates. Source: Siebert, (5.43), (5.45)-(5.47).
    """

    form: str = "saddle"

    order_multipliers = 1
    symmetric: ClassVar[bool] = True
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    mu_states: ClassVar[tuple[str, ...]] = ("mu",)
    lam_of_step: ClassVar[tuple[str, ...]] = ("lam",)
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = ((), ("lam",), ("mu",))
    extra_steps: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.form not in ("saddle", "reduced"):
            raise ValueError(f"QuaternionEM: form must be 'saddle' or 'reduced', got {self.form!r}")

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (QuaternionStep(self.form == "reduced"),)

    def refuse(self, system: System) -> str:
        for node in system.nodes:
            if not isinstance(node.group, R):
                return f"'{node.name}' has coordinates on {node.group}; it needs coordinates='quaternions'"
            masses = [e for e in system.elements if e.mass is not None and node.name in e.bodies]
            if len(masses) != 1:
                return f"'{node.name}' needs just one inertia, it has {len(masses)}"
        return constant_mass(System.of(system.nodes, [e for e in system.elements if not isinstance(e, QuaternionInertia)]))
