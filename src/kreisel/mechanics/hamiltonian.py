"""Hamiltonian systems: what is given by an energy H(q, p) instead of a mass and forces."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import casadi as ca
from numpy.typing import ArrayLike

from kreisel.groups import R
from kreisel.mechanics.element import Element
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.node import Node
from kreisel.mechanics.system import System


class HamiltonFunction(Element):
    """The energy of a node with coordinates q and momenta p (in the place of velocities)."""

    def __init__(self, formula: Callable[[ca.SX, ca.SX], ca.SX]) -> None:
        super().__init__("H", "q")
        self.formula = formula

    def signature(self) -> Any:
        return type(self), id(self.formula)

    def potential(self, p: SimpleNamespace, t: ca.SX, node: Frame) -> ca.SX:
        """All of the energy: there is no mass that would add to it."""
        return ca.SX(self.formula(node.q, node.v))


class Hamiltonian(System):
    """q' = dH/dp, p' = -dH/dq, with n coordinates and momenta. A solution shows the momenta as ``v``.

    >>> import kreisel as kr
    >>> pendulum = Hamiltonian(lambda q, p: p[0] ** 2 / 2 - ca.cos(q[0]), 1, q=[1.0])
    >>> sol = kr.simulate(pendulum, until=10, step=0.01, method=kr.Midpoint())
    >>> bool(abs(sol.energy - sol.energy[0]).max() < 1e-5)
    True
    """

    def __init__(self, H: Callable[[ca.SX, ca.SX], ca.SX], n: int, q: ArrayLike | None = None, p: ArrayLike | None = None) -> None:
        self._set([Node("q", R(n), q, p)], [HamiltonFunction(H)])
