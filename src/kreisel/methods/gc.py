"""The midpoint rule in minimal coordinates (Siebert, 3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, NodeView


class Middle(Stage):
    """Unknowns: the mean velocity x = v_{n+1/2}."""

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.v}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, t, x, middle = e.h, e.t + e.h / 2, e.get("x"), e.move("x", e.h / 2)
        a = [2 * (x_i - v_i) / h for x_i, v_i in zip(x, e.get("v"), strict=True)]
        return {"x": [h * (p - f) for p, f in zip(e.inertia(middle, x, a), e.force(t, middle, x), strict=True)]}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"q": n.moved(h * n.x), "v": 2 * n.x - n.v}


@dataclass(frozen=True)
class GC(Method):
    r"""The midpoint rule in minimal coordinates, of order 2: no multipliers, no constraints, but neither energy nor momenta are kept.

    .. math::

       q_{n+1} = q_n \circ \exp(h\,v_{n+1/2}), \qquad
       \tilde M\,(v_{n+1} - v_n) + h\,(\tilde M' v - \hat v^T\tilde M v - \mathrm{D}(v\cdot\tilde M v/2) + \mathrm{D}V - f) = 0
       \ \text{ at } q_n\circ\exp(\tfrac h2 v_{n+1/2}),\ v_{n+1/2} = \tfrac12(v_n + v_{n+1})

    For systems without constraints: ``coordinates="minimal"`` of an open tree. Source: Siebert, (3.40)-(3.42), "GC"; on R(n) the same: her
    Euler angles are ``rotation=kr.rotations.EulerAngles("zxz")`` of :meth:`Mechanism.system`.

    >>> import kreisel as kr
    >>> m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    >>> rod = m.body("rod", mass=1.0, inertia=1 / 12, position=(0.5, 0))
    >>> m.joint(kr.Revolute("ground", rod, at=(0, 0, 0), axis=(0, 0, 1), name="pin"))
    >>> sol = kr.simulate(m.system("minimal"), until=1, step=0.01, method=kr.GC())
    >>> sol.q.shape, bool(abs(sol.energy).max() < 1e-3)
    ((101, 1), True)
    """

    symmetric: ClassVar[bool] = True

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Middle(),)

    def refuse(self, system: System) -> str:
        for e, rows, pfaffian in zip(system.elements, system.rows, system.pfaffian_rows, strict=True):
            if rows or pfaffian:
                return f"'{e.name}' is a constraint; it needs the minimal coordinates of an open tree, as coordinates='minimal'"
        return ""
