"""Joints within a solution: what they measure, and what they bear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.actuators import PrescribedJoint
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.joints import Joint
from kreisel.symbolic.vectors import skew

if TYPE_CHECKING:
    from kreisel.simulation.solution import Solution

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointMotion:
    """The motion of a joint. Arrays have time first.

    ``element``: the joint, or the prescribed motion of one. ``kind``: of the multipliers that reactions are computed from.
    """

    solution: Solution
    element: Joint | PrescribedJoint
    kind: str

    @classmethod
    def of(cls, solution: Solution, name: str, kind: str) -> JointMotion:
        found = {e.name: e for e in solution.system.elements if isinstance(e, Joint | PrescribedJoint)}
        if name not in found:
            raise KeyError(f"there is no joint '{name}'; there are {sorted(found)}")
        return cls(solution, found[name], kind)

    @property
    def _joint(self) -> Joint:
        """The joint, as the system has it: perhaps without some of its rows."""
        name = self.element.name if isinstance(self.element, Joint) else self.element.joint.name
        found = next(e for e in self.solution.system.elements if e.name == name)
        assert isinstance(found, Joint)
        return found

    @property
    def coordinates(self) -> dict[str, Array]:
        """All joint coordinates by name, (n,) each; angles in radians, followed over full turns from the start."""
        e = self._joint
        return {name: self._values(e, lambda p, t, a, b, name=name: e.coordinate(name, p, t, a, b))[:, 0] for name in e.freedoms}

    @property
    def rates(self) -> dict[str, Array]:
        """The rates of all joint coordinates by name, (n,) each."""
        e = self._joint
        return {name: self._values(e, lambda p, t, a, b, name=name: e.rate(name, p, a, b))[:, 0] for name in e.freedoms}

    @property
    def coordinate(self) -> Array:
        """The joint coordinate, where there is just one."""
        return self._only(self.coordinates)

    @property
    def rate(self) -> Array:
        """The rate of the joint coordinate, where there is just one."""
        return self._only(self.rates)

    @property
    def angle(self) -> Array:
        """The angle about the axis."""
        return self._named("angle")

    @property
    def stroke(self) -> Array:
        """The displacement along the axis."""
        return self._named("stroke")

    @property
    def reaction_force(self) -> Array:
        """The force that the joint exerts on its second body, in space axes, (n, 3). Without friction and actuators."""
        return self._reaction[:, :3]

    @property
    def reaction_moment(self) -> Array:
        """The moment that the joint exerts on its second body about the joint's point of that body, in space axes, (n, 3)."""
        return self._reaction[:, 3:]

    @property
    def drive(self) -> Array:
        """Of a prescribed motion: the torque (force) that it takes, along the joint coordinate, (n,)."""
        if not isinstance(self.element, PrescribedJoint):
            raise AttributeError(f"'{self.element.name}' is no prescribed motion; what drives a joint is an element of its own")
        rows = self.solution.system.rows
        at = sum(rows[: self.solution.system.elements.index(self.element)])
        # Its row grows with the coordinate at the rate one.
        return -self.solution.multipliers(self.kind)[:, at]

    @property
    def _reaction(self) -> Array:
        """From the principle of virtual power: -lam . D Phi in a virtual motion u + w x (r - point) of the second body."""
        e, joint = self.element, self._joint
        rows = self.solution.system.rows
        k = self.solution.system.elements.index(e)
        original = self.solution.system.original
        if original is not None and rows[k] < original.rows[k]:
            # Coordinates satisfy it, all or in part; not so those of the bodies by themselves.
            return JointMotion.of(self.solution._apart, e.name, "consistent")._reaction

        def derivative(p: SimpleNamespace, t: ca.SX, a: Frame, b: Frame) -> ca.SX:
            u, w = ca.SX.sym("u", 3), ca.SX.sym("w", 3)
            _, B = joint.frames(p, a, b)
            zero = ca.SX.zeros(3)
            moved = Frame(b.q, b.v, b.R + ca.mtimes(skew(w), b.R), b.x + u + ca.cross(w, b.x - B.x), zero, zero)
            still = Frame(a.q, a.v, a.R, a.x, zero, zero)
            D = ca.jacobian(ca.SX(e.constraint(p, t, still, moved)), ca.vertcat(u, w))
            return ca.vec(ca.densify(ca.substitute(D, ca.vertcat(u, w), ca.SX.zeros(6))))

        n = rows[k]
        D = self._values(e, derivative).reshape(-1, 6, n)
        at = sum(rows[:k])
        lam = self.solution.multipliers(self.kind)[:, at : at + n]
        return np.asarray(-np.einsum("nij,nj->ni", D, lam))

    def _values(self, e: Any, formula: Callable[..., ca.SX]) -> Array:
        from kreisel.simulation.diagnose import seen_at

        symbols, expression, sources = seen_at(self.solution._layout, e, formula)
        f = ca.Function("f", [ca.vertcat(ca.SX(0, 1), *symbols)], [expression])
        S = self.solution._seen
        return np.array(f.map(len(S))(S[:, sources[0]].T)).T

    def _named(self, name: str) -> Array:
        if name not in self._joint.freedoms:
            raise AttributeError(f"{self._joint.kind} '{self._joint.name}' has no {name}; {self._has}")
        e = self._joint
        return self._values(e, lambda p, t, a, b: e.coordinate(name, p, t, a, b))[:, 0]

    def _only(self, values: dict[str, Array]) -> Array:
        if len(values) != 1:
            raise AttributeError(f"{self._joint.kind} '{self._joint.name}' has not just one coordinate; {self._has}")
        return next(iter(values.values()))

    @property
    def _has(self) -> str:
        return f"its coordinates are: {', '.join(self._joint.freedoms) or 'none'}"
