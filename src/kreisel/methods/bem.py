"""The energy-momentum scheme for natural coordinates (Siebert, 3.2, 4.1, 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.groups import R
from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.discrete import discrete_gradient
from kreisel.methods.elements import Columns, Elements, Member, MultiplierView, NodeView
from kreisel.methods.rattlie import constant_mass


class Mean(Stage):
    """Unknowns: the mean velocity x = v_{n+1/2}, h lam and h mu."""

    lam_unknowns = ("l",)
    mu_unknowns = ("m",)

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.node.mean_velocity(n.q, n.v, h)}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"l": h * lam.lam}

    def start_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"m": h * mu.mu}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, t, x, q1 = e.h, e.t + e.h / 2, e.get("x"), e.move("x")
        step = Step(e, q1)
        terms = zip(
            e.momentum([2 * (x_i - v_i) for x_i, v_i in zip(x, e.get("v"), strict=True)]),
            step.at_middle(e.force(t, step.middle, x, potentials=False)),
            step.potential_gradient(t),
            step.constraint_force(t, e.lam.l),
            step.at_middle(e.pfaffian_force(t, step.middle, e.mu.m)),
            strict=True,
        )
        for probe in e.probes:
            (probe.arguments,) = step.at_middle([probe.arguments])
        return {
            "x": [p - h * f + h * g + b + c for p, f, g, b, c in terms],
            "l": e.constraint(e.t + h, q1) / h,
            "m": step.at_middle([e.pfaffian(t, step.middle, x)])[0],
        }

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"q": n.moved(h * n.x), "v": 2 * n.x - n.v}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"lam": lam.l / h}

    def update_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"mu": mu.m / h}


class Step:
    """The two ends and the middle of a step, and discrete gradients between them."""

    def __init__(self, e: Elements, q1: Columns) -> None:
        self.e, self.q0, self.q1 = e, e.q, q1
        #: Symbols for the configurations in the middle.
        self.middle = [n.group.symbol("m") for n in e.nodes]

    def at_middle(self, columns: Columns) -> Columns:
        """The columns with (q_n + q_{n+1})/2 written out."""
        means = [(q0 + q1) / 2 for q0, q1 in zip(self.q0, self.q1, strict=True)]
        return ca.substitute(columns, self.middle, means) if self.middle else columns

    def gradient(self, f: ca.SX, places: list[int]) -> dict[int, ca.SX]:
        """The discrete gradient of a scalar function of the middle configurations of some nodes (Gonzalez 1996): that in the middle, plus
        what is missing along the step, so that its product with q_{n+1} - q_n is the difference of the values. For a quadratic function
        nothing is missing."""
        symbols = ca.vertcat(*(self.middle[i] for i in places))
        g = ca.gradient(f, symbols)
        if not ca.is_quadratic(f, symbols):
            ends = [ca.vertcat(*(q[i] for i in places)) for q in (self.q0, self.q1)]
            g = discrete_gradient(f, symbols, g, *ends)
        (g,) = self.at_middle([g])
        parts = ca.vertsplit(g, [0, *_ends([self.middle[i].numel() for i in places])])
        return dict(zip(places, parts, strict=True))

    def _sum(self, gradients: list[dict[int, ca.SX]]) -> Columns:
        out = [ca.SX.zeros(n.group.dim) for n in self.e.nodes]
        for gradient in gradients:
            for i, g in gradient.items():
                out[i] += g
        return out

    def potential_gradient(self, t: ca.SX) -> Columns:
        """The discrete gradient of all potentials."""
        found = []
        for m in self.e.members:
            if m.element.stored is not None:
                found += self._by_measures(m, t, m.element.stored, (m.parameters,))
            elif m.element.potential is not None:
                found.append(self.gradient(self._of(m, m.element.potential, t, self.middle), list(self.e._places(m))))
        return self._sum(found)

    def constraint_force(self, t: ca.SX, lam: ca.SX) -> Columns:
        """The discrete derivative of the constraints, times lam."""
        found = []
        for m in self.e.members:
            if m.rows.start == m.rows.stop:
                continue
            if m.element.coupled is not None:
                found += self._by_measures(m, t, m.element.coupled, (m.parameters, t), lam[m.rows])
                continue
            assert m.element.constraint is not None
            phi = self._of(m, m.element.constraint, t, self.middle)
            for k in range(phi.numel()):
                row = self.gradient(phi[k], list(self.e._places(m)))
                found.append({i: g * lam[m.rows.start + k] for i, g in row.items()})
        return self._sum(found)

    def _by_measures(
        self, m: Member, t: ca.SX, formula: Callable[..., Any], arguments: tuple[Any, ...], factor: ca.SX | float = 1.0
    ) -> list[dict[int, ca.SX]]:
        """The discrete gradient of a function of measures: by these, times theirs. What they are indifferent to, as a rotation of
        everything, then leaves its momentum alone."""
        assert m.element.measures is not None
        y0, y, y1 = (self._of(m, m.element.measures, t, q) for q in (self.q0, self.middle, self.q1))
        z, w = ca.SX.sym("z", y.numel()), ca.SX.sym("w", y.numel())
        f = ca.SX(formula(*arguments, z))
        weights = factor * ca.substitute(discrete_gradient(f, z, ca.gradient(f, z), y0, y1), z, (y0 + y1) / 2)
        return [{i: ca.substitute(g, w, weights)} for i, g in self.gradient(ca.dot(w, y), list(self.e._places(m))).items()]

    def _of(self, m: Member, formula: Callable[..., Any], t: ca.SX, q: Columns) -> ca.SX:
        return ca.SX(formula(m.parameters, t, *self.e._frames(m, q, [ca.SX.zeros(n.group.dim) for n in self.e.nodes])))


def _ends(sizes: list[int]) -> list[int]:
    out, at = [], 0
    for n in sizes:
        at += n
        out.append(at)
    return out


@dataclass(frozen=True)
class BEM(Method):
    r"""Conserves energy and momenta at any step size: the basic energy-momentum scheme in natural coordinates, of order 2.

    .. math::

       q_{n+1} - q_n &= h\,v_{n+1/2}, \qquad v_{n+1/2} = \tfrac12(v_n + v_{n+1}), \qquad \Phi(q_{n+1}) = 0,\\
       M(v_{n+1} - v_n) &= h\,(f - \bar\nabla V - \bar\nabla\Phi^T\lambda - A^T\mu)(q_{n+1/2}, v_{n+1/2}), \quad
       A(q_{n+1/2})\,v_{n+1/2} = 0

    with discrete gradients, which for quadratic functions are those in the middle. Torques, friction and other inputs f act through the
    reciprocal directors of the middle, so that T + V + dissipated - work and the angular momentum are balanced to round-off;
    ``covariant=True`` takes the directors themselves, for comparison, and violates the latter. lam belongs to the step that led to a
    time: ``sol.multipliers("interpolated")`` is of second order. For coordinates in vector spaces: "directors". Source: Siebert,
    (3.21)-(3.30), (4.28)-(4.34); Gonzalez (1996) for potentials that are not quadratic.
    """

    covariant: bool = False

    order_multipliers = 1
    symmetric: ClassVar[bool] = True
    midpoint_work: ClassVar[bool] = True
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    mu_states: ClassVar[tuple[str, ...]] = ("mu",)
    lam_of_step: ClassVar[tuple[str, ...]] = ("lam",)
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = ((), ("lam",), ("mu",))
    extra_steps: ClassVar[int] = 1

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Mean(),)

    @property
    def covariant_inputs(self) -> bool:
        return self.covariant

    def refuse(self, system: System) -> str:
        for node in system.nodes:
            if not isinstance(node.group, R):
                return f"'{node.name}' has coordinates on {node.group}; it needs a vector space, as coordinates='directors'"
        return constant_mass(system)
