"""A moment of a motion in symbols: what costs, bounds and conditions are written with."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from kreisel.groups import Group
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.freedom import Freedom
from kreisel.mechanics.joints import Joint
from kreisel.mechanics.node import Ground
from kreisel.mechanics.system import System
from kreisel.mechanics.tree import Tree


class Moment:
    """The system at one moment. Everything is a CasADi SX expression, SI units, vectors in space axes.

    ``t``: time. ``u``: controls by name, ``s.u["u1"]``; at the end, those of the last step. ``q``, ``v``: of all nodes side by side, as a
    solution shows them. ``horizon``: the length of the whole motion.
    """

    def __init__(
        self,
        system: System,
        shown: System,
        nodes: list[tuple[ca.SX, ca.SX]],
        t: ca.SX,
        u: Mapping[str, ca.SX],
        horizon: ca.SX,
    ) -> None:
        self.t, self.u, self.horizon = t, dict(u), horizon
        self._system, self._shown, self._nodes = system, shown, nodes

    @property
    def q(self) -> ca.SX:
        return ca.vertcat(*(q for _, q, _ in self.parts))

    @property
    def v(self) -> ca.SX:
        return ca.vertcat(*(v for _, _, v in self.parts))

    @property
    def parts(self) -> list[tuple[Group, ca.SX, ca.SX]]:
        """Group, coordinates and velocities of all nodes of a solution."""
        out = []
        for node in self._shown.nodes:
            i = self._system.number[node.name]
            carrier, (q, v) = self._system.nodes[i], self._nodes[i]
            if carrier.name != node.name:
                q, v = carrier.seen(q, v)[node.name]  # type: ignore[attr-defined]
            out.append((node.group, q, v))
        return out

    def node(self, name: str) -> Frame:
        """Coordinates ``.q`` and velocities ``.v`` by name; of a body also ``.R``, ``.x``, ``.velocity``, ``.omega``."""
        if name == Ground.name:
            return Ground().frame()
        if name not in self._system.number:
            raise ValueError(f"there is no body '{name}'; there are {sorted(self._system.number)}")
        q, v = self._nodes[self._system.number[name]]
        return self._system.seat(name).frame(q, v)  # type: ignore[no-any-return]

    def position(self, body: str, at: ArrayLike = (0, 0, 0)) -> ca.SX:
        """Where a point of a body is, given in body axes from its centre of mass: (3,)."""
        return self.node(body).point(ca.DM(np.asarray(at, dtype=float)))

    def velocity(self, body: str, at: ArrayLike = (0, 0, 0)) -> ca.SX:
        """The velocity of a point of a body: (3,)."""
        return self.node(body).point_velocity(ca.DM(np.asarray(at, dtype=float)))

    def rotation(self, body: str) -> ca.SX:
        """The rotation matrix of a body, body to space: (3, 3)."""
        return self.node(body).R

    def omega(self, body: str) -> ca.SX:
        """The angular velocity of a body: (3,)."""
        return self.node(body).space_omega

    def coordinate(self, joint: str, coordinate: str = "", near: float = 0.0) -> ca.SX:
        """A joint coordinate, zero at the start. In minimal coordinates full turns count; else an angle is given within half a turn of
        ``near``."""
        e, freedom = self._freedom(joint, coordinate)
        place = self._in_tree(e, freedom)
        if place is not None:
            tree, (at, _) = place
            return self._nodes[tree][0][at]
        A, B = self._frames(e)
        if not freedom.turns:
            return freedom.value(A, B)
        y = freedom.measures(A, B)
        c, s = np.cos(near), np.sin(near)
        return near + ca.atan2(y[1] * c - y[0] * s, y[0] * c + y[1] * s)

    def rate(self, joint: str, coordinate: str = "") -> ca.SX:
        """The rate of a joint coordinate."""
        e, freedom = self._freedom(joint, coordinate)
        return freedom.rate(*self._frames(e))

    @property
    def joints(self) -> dict[str, Joint]:
        """All joints by name."""
        return {e.name: e for e in self._shown.elements if isinstance(e, Joint)}

    def _freedom(self, joint: str, coordinate: str) -> tuple[Joint, Freedom]:
        if joint not in self.joints:
            raise ValueError(f"there is no joint '{joint}'; there are {sorted(self.joints)}")
        e = self.joints[joint]
        names = list(e.freedoms)
        if coordinate and coordinate not in names:
            raise ValueError(f"'{joint}' has no coordinate '{coordinate}'; there are {', '.join(names) or 'none'}")
        if not coordinate and len(names) != 1:
            raise ValueError(f"'{joint}' has the coordinates {', '.join(names) or 'none'}; say which one, as ('{joint}', 'angle')")
        return e, e.freedoms[coordinate or names[0]]

    def _frames(self, e: Joint) -> tuple[Frame, Frame]:
        p = SimpleNamespace(**{name: ca.DM(np.ravel(a)) for name, a in e.parameters.items()})
        a, b = (self.node(body) for body in e.bodies)
        return e.frames(p, a, b)

    def _in_tree(self, e: Joint, freedom: Freedom) -> tuple[int, tuple[slice, slice]] | None:
        """Where a freedom is among minimal coordinates: number of the node, places of coordinate and rate."""
        for i, node in enumerate(self._system.nodes):
            for link in node.links if isinstance(node, Tree) else ():
                if link.joint is not None and link.joint.name == e.name and freedom in link.freedoms:
                    return i, link.at[link.freedoms.index(freedom)]
        return None
