"""Hamiltonian systems: what is given by an energy H(q, p) instead of a mass and forces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import R
from kreisel.mechanics.actuators import GeneralisedForce, generalised_forces
from kreisel.mechanics.element import Element
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.node import Node
from kreisel.mechanics.system import System

Array = NDArray[np.float64]


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
    """q' = dH/dp, p' = -dH/dq + B u, with n coordinates and momenta. A solution shows the momenta as ``v``.

    ``controls``: names of the inputs u, generalised forces; a positive one drives its coordinate forward. ``inputs``: the constant matrix
    B, of shape (n, number of controls); if it is not given, there is one input per coordinate.

    >>> import kreisel as kr
    >>> pendulum = Hamiltonian(lambda q, p: p[0] ** 2 / 2 - ca.cos(q[0]), 1, q=[1.0])
    >>> sol = kr.simulate(pendulum, until=10, step=0.01, method=kr.Midpoint())
    >>> bool(abs(sol.energy - sol.energy[0]).max() < 1e-5)
    True
    >>> driven = Hamiltonian(lambda q, p: p[0] ** 2 / 2 - ca.cos(q[0]), 1, controls=("u",))
    >>> sol = kr.simulate(driven, until=10, step=0.1, method=kr.Gonzalez(), controls={"u": ca.sin})
    >>> bool(abs(sol.work).max() > 1), bool(abs(sol.balance - sol.balance[0]).max() < 1e-13)
    (True, True)
    """

    def __init__(
        self,
        H: Callable[[ca.SX, ca.SX], ca.SX],
        n: int,
        q: ArrayLike | None = None,
        p: ArrayLike | None = None,
        controls: Sequence[str] = (),
        inputs: ArrayLike | None = None,
    ) -> None:
        self._set([Node("q", R(n), q, p)], [HamiltonFunction(H), *generalised_forces(controls, inputs, n)])

    @property
    def H(self) -> Callable[[ca.SX, ca.SX], ca.SX]:
        """The energy as a function of q and p, in symbols."""
        return next(e.formula for e in self.elements if isinstance(e, HamiltonFunction))

    @property
    def inputs(self) -> Array:
        """The matrix B of the inputs that are not functions of time: a column per control."""
        columns = [e.parameters["direction"] for e in self.elements if isinstance(e, GeneralisedForce) and e.control is not None]
        return np.array(columns).T.reshape(self.dim, len(columns))
