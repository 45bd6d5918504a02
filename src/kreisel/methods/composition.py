"""Composition: steps of a symmetric method, put together to a method of higher order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.rattlie import RATTLie


@dataclass(frozen=True)
class Composition(Method):
    r"""A step of length h as steps of lengths gamma_i h of a symmetric method, some of them backwards.

    From order p to p + 2: with the triple jump, gamma = (g, 1 - 2g, g), 1/g = 2 - 2^{1/(p+1)}; with Suzuki's fivefold step, gamma = (g,
    g, 1 - 4g, g, g), 1/g = 4 - 4^{1/(p+1)}, whose error constant is far smaller. Symmetry, constraints and, with RATTLie, symplecticity
    are inherited; so is the conservation of momenta.

    Sources: H. Yoshida, Phys. Lett. A 150 (1990); M. Suzuki, Phys. Lett. A 146 (1990); Hairer, Lubich, Wanner, Geometric Numerical
    Integration, II.4.
    """

    method: Method = field(default_factory=RATTLie)
    order: int = 4
    kind: str = "suzuki"

    def __post_init__(self) -> None:
        if not self.method.symmetric:
            raise ValueError(f"Composition: {self.method} is not symmetric")
        if not self.method.variable_steps or self.method.opening:
            raise ValueError(f"Composition: {self.method} is no one-step method")
        if self.order not in (4, 6, 8):
            raise ValueError(f"Composition: order must be 4, 6 or 8, got {self.order}")
        if self.kind not in ("suzuki", "triple jump"):
            raise ValueError(f"Composition: kind must be 'suzuki' or 'triple jump', got {self.kind!r}")

    def substeps(self) -> tuple[float, ...]:
        fractions = self.method.substeps()
        for p in range(2, self.order, 2):
            if self.kind == "suzuki":
                g = 1 / (4 - 4 ** (1 / (p + 1)))
                gammas: tuple[float, ...] = (g, g, 1 - 4 * g, g, g)
            else:
                g = 1 / (2 - 2 ** (1 / (p + 1)))
                gammas = (g, 1 - 2 * g, g)
            fractions = tuple(a * b for a in gammas for b in fractions)
        return fractions

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.method.stages

    def refuse(self, system: System) -> str:
        return self.method.refuse(system)

    def prepare(self, layout: Any, S: Any, h: float, accelerations: Any) -> Any:
        return self.method.prepare(layout, S, h, accelerations)

    def __getattribute__(self, name: str) -> Any:
        # What the composed method carries from step to step is what its parts do.
        if name in _INHERITED:
            return getattr(object.__getattribute__(self, "method"), name)
        return object.__getattribute__(self, name)

    def __str__(self) -> str:
        return f"Composition({self.method}, order={self.order})"


_INHERITED = {
    "states",
    "lam_states",
    "mu_states",
    "lam_shown",
    "mu_shown",
    "needs_acceleration",
    "acceleration_targets",
    "symmetric",
    "extra_steps",
    "order_multipliers",
    "covariant_inputs",
}
