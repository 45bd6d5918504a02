"""The generalized-alpha method on Lie groups (Klemps, (3.1); Hante, digest 3.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements, MultiplierView, NodeView


class Alpha(Stage):
    """Unknowns: Dq, h lam, h mu; stabilised, also D* = Dq + B(q_n)^T eta and eta."""

    mu_unknowns = ("m",)

    def __init__(self, method: GeneralizedAlpha) -> None:
        self.m = method
        self.stabilised = method.index == "stabilised-2"
        self.lam_unknowns = ("l", "eta") if self.stabilised else ("l",)
        self.unknowns = ("x", "d") if self.stabilised else ("x",)

    def rates(self, n: NodeView, h: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """v_{n+1}, a_{n+1} and the acceleration v'_{n+1}, from the increment."""
        m = self.m
        d, old = n.d if self.stabilised else n.x, self.auxiliary(n, h)
        a = (d - n.v - h * (0.5 - m.beta) * old) / (h * m.beta)
        v = n.v + h * ((1 - m.gamma) * old + m.gamma * a)
        return v, a, ((1 - m.alpha_m) * a + m.alpha_m * old - m.alpha_f * n.a) / (1 - m.alpha_f)

    def auxiliary(self, n: NodeView, h: ca.SX) -> ca.SX:
        """a_n, which stands for the acceleration at t_n + (alpha_m - alpha_f) h: its distance from v'_n is proportional to the step."""
        return n.a + h * n.offset

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        x = n.v + h / 2 * self.auxiliary(n, h)
        return {"x": x, "d": x} if self.stabilised else {"x": x}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"l": h * lam.lam}

    def start_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"m": h * mu.mu}

    def residual(self, e: Elements) -> dict[str, Any]:
        h, t, q = e.h, e.t + e.h, e.move("x")
        v, _, a = (list(c) for c in zip(*(self.rates(n, h) for n in e.nodes), strict=True))
        terms = zip(e.inertia(q, v, a), e.force(t, q, v), e.constraint_force(t, q, e.lam.l), e.pfaffian_force(t, q, e.mu.m), strict=True)
        rows: dict[str, Any] = {
            "x": [h * (inertia - f) + b + c for inertia, f, b, c in terms],
            "l": e.constraint(t, q) / h,
            "m": e.pfaffian(t, q, v),
        }
        if self.stabilised:
            rows["d"] = [-b for b in e.constraint_force(e.t, e.q, e.lam.eta)]
            rows["eta"] = e.constraint_rate(t, q, v)
        return rows

    def node_residual(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"d": n.d - n.x} if self.stabilised else {}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        v, a, acceleration = self.rates(n, h)
        return {"q": n.moved(h * n.x), "v": v, "a": acceleration, "offset": (a - acceleration) / h}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"lam": lam.l / h}

    def update_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {"mu": mu.m / h}


@dataclass(frozen=True)
class GeneralizedAlpha(Method):
    r"""Second order with adjustable numerical dissipation: rho_inf = 1 none, 0 strongest, for motions far faster than the step.

    .. math::

       q_{n+1} &= q_n \circ \exp(h\,\Delta q), \quad \Delta q = v_n + h(\tfrac12 - \beta) a_n + h \beta a_{n+1}, \quad
       v_{n+1} = v_n + h (1-\gamma) a_n + h\gamma a_{n+1},\\
       &(1-\alpha_m) a_{n+1} + \alpha_m a_n = (1-\alpha_f) \dot v_{n+1} + \alpha_f \dot v_n,\\
       & M\dot v_{n+1} - \hat v^T M v + B^T\lambda = f \ \text{at } t_{n+1}, \quad \Phi(q_{n+1}) = 0 .

    ``index="stabilised-2"`` also satisfies B v = 0, with one more multiplier eta in the increment of v: D* = Dq + B(q_n)^T eta. A
    nonholonomic constraint is satisfied on velocity level. ``corrected_start`` shifts a_0 by (alpha_m - alpha_f) h v''_0, since a_n
    approximates v' at t_n + (alpha_m - alpha_f) h; without it the first steps are of first order in the accelerations. Sources: Klemps,
    (3.1), (3.2); Brüls, Cardona, Arnold (2012).
    """

    rho_inf: float = 0.9
    index: int | str = 3
    corrected_start: bool = False

    states: ClassVar[tuple[str, ...]] = ("v", "a", "offset")
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    mu_states: ClassVar[tuple[str, ...]] = ("mu",)
    needs_acceleration: ClassVar[bool] = True
    acceleration_targets: ClassVar[Any] = (("a",), ("lam",), ("mu",))

    def __post_init__(self) -> None:
        if not 0 <= self.rho_inf <= 1:
            raise ValueError(f"GeneralizedAlpha: rho_inf must lie in [0, 1], got {self.rho_inf}")
        if self.index not in (3, "stabilised-2"):
            raise ValueError(f"GeneralizedAlpha: index must be 3 or 'stabilised-2', got {self.index!r}")

    @property
    def alpha_m(self) -> float:
        return (2 * self.rho_inf - 1) / (self.rho_inf + 1)

    @property
    def alpha_f(self) -> float:
        return self.rho_inf / (self.rho_inf + 1)

    @property
    def gamma(self) -> float:
        return 0.5 + self.alpha_f - self.alpha_m

    @property
    def beta(self) -> float:
        return (self.gamma + 0.5) ** 2 / 4

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Alpha(self),)

    def prepare(self, layout: Any, S: Any, h: float, accelerations: Any) -> Any:
        """a_0 shifted to the time it stands for, with v'' from the accelerations a little later and a little earlier on the motion."""
        if not self.corrected_start:
            return S
        nodes = list(zip(layout.system.nodes, layout.nodes, strict=True))
        found = []
        for e in (h, -h):
            # To second order the motion is q exp(e v + e^2 v'/2), v + e v'.
            moved = S.copy()
            moved[1] += e
            for node, places in nodes:
                q, v, a = (slice(places[k], places[k] + (node.group.n_params if k == "q" else node.group.dim)) for k in ("q", "v", "a"))
                moved[q] = node.group.retract(S[q], e * S[v] + e**2 / 2 * S[a])
                moved[v] = S[v] + e * S[a]
            found.append(accelerations(moved))
        for node, places in nodes:
            a, offset = (slice(places[k], places[k] + node.group.dim) for k in ("a", "offset"))
            S[offset] = (self.alpha_m - self.alpha_f) * (found[0][a] - found[1][a]) / (2 * h)
        return S
