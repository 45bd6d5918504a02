"""Nodes that carry bodies: the coordinates of several bodies as functions of fewer ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import Group
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.node import Node

Array = NDArray[np.float64]

#: Configurations and velocities whose carried ones are kept, so that all elements share their expressions.
KEPT = 16


class Carrier(Node):
    r"""A node whose coordinates determine those of the bodies it carries. To add a kind, derive from this class and write

    ``inside(q, v)``: coordinates and velocities of each carried node, ``{name: (q, v)}``, in symbols; velocities are linear in v.

    Elements see the frames of the carried bodies, whose nodes they name. Generalised forces and inertia follow: with :math:`v_b = P_b(q)
    v` the kinetic energy is that of the mass :math:`\tilde M = \sum P_b^T M_b P_b` (Siebert, (3.35)-(3.39)).
    """

    def __init__(self, name: str, group: Group, carried: Sequence[Node], q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        self.carried = {node.name: node for node in carried}
        super().__init__(name, group, q, v)
        self._kept: dict[Any, tuple[ca.SX, ca.SX, dict[str, tuple[ca.SX, ca.SX]]]] = {}

    def signature(self) -> Any:
        return type(self), id(self)

    @property
    def bodies(self) -> list[Node]:
        return list(self.carried.values())

    def inside(self, q: ca.SX, v: ca.SX) -> dict[str, tuple[ca.SX, ca.SX]]:
        raise NotImplementedError

    def seen(self, q: ca.SX, v: ca.SX) -> dict[str, tuple[ca.SX, ca.SX]]:
        """The same as ``inside``, made once for the same arguments."""
        key = tuple(x.element_hash() for x in (*ca.vertsplit(ca.densify(q)), *ca.vertsplit(ca.densify(v))))
        if key not in self._kept:
            if len(self._kept) == KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = q, v, self.inside(q, v)  # q and v are kept alive: their addresses are the key
        return self._kept[key][2]

    def seat(self, body: str) -> Any:
        return self if body == self.name else Seat(self, body)

    def evaluate(self, body: str, q: Array, v: Array, a: Array | None = None) -> tuple[Array, Array]:
        """Coordinates and velocities of a carried body for arrays, time first; with ``a``, accelerations in the place of velocities."""
        Q, V, A = self.group.symbol("q"), ca.SX.sym("v", v.shape[1]), ca.SX.sym("a", v.shape[1])
        q_b, v_b = self.seen(Q, V)[body]
        if a is not None:
            v_b = ca.jtimes(v_b, Q, self.group.rate(Q, V)) + ca.jtimes(v_b, V, A)
        f = ca.Function("inside", [Q, V, A], [ca.densify(q_b), ca.densify(v_b)])
        values = f.map(len(q))(q.T, v.T, 0 * v.T if a is None else a.T)
        return np.array(values[0]).T, np.array(values[1]).T


class Redundant(Carrier):
    """A carrier whose velocity is that of all it carries, one after the other: in an energy-momentum scheme these are not quite the ones
    that its coordinates allow. To be put before a kind of carrier on vector spaces; ``null_space`` is what is to be written."""

    def size(self, state: str) -> int:
        return sum(node.group.dim for node in self.carried.values()) if state == "v" else self.group.dim

    def inside(self, q: ca.SX, v: ca.SX) -> dict[str, tuple[ca.SX, ca.SX]]:
        places = super().inside(q, ca.SX.zeros(self.group.dim))
        ends = np.cumsum([0, *(node.group.dim for node in self.bodies)]).tolist()
        return {node.name: (places[node.name][0], v_b) for node, v_b in zip(self.bodies, ca.vertsplit(v, ends), strict=True)}

    @property
    def freedoms(self) -> int:
        """How many rates a virtual motion has."""
        return int(self.group.dim)

    def coordinates(self, q: ca.SX) -> ca.SX:
        """The coordinates of all it carries, one after the other."""
        return ca.vertcat(*(q_b for q_b, _ in self.seen(q, ca.SX.zeros(self.size("v"))).values()))

    def null_space(self, theta: ca.SX, middle: Mapping[str, ca.SX], u: ca.SX) -> dict[str, ca.SX]:
        """P u: velocities of what it carries in a virtual motion with rates u, such that no constraint notices in the middle of a step.

        ``theta``: its coordinates there; ``middle``: the means of the carried ones, ``{name: column}`` as is the answer.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Seat:
    """The place of a body on a carrier, with the coordinates of the carrier."""

    carrier: Carrier
    name: str

    @property
    def group(self) -> Group:
        return self.carrier.group

    @property
    def node(self) -> Node:
        """The node that is carried."""
        return self.carrier.carried[self.name]

    def signature(self) -> Any:
        return self.carrier.signature(), self.name

    def size(self, state: str) -> int:
        return self.carrier.size(state)

    def frame(self, q: ca.SX, v: ca.SX) -> Frame:
        """The frame of the body; its q and v are those of the carried node."""
        return self.node.frame(*self.carrier.seen(q, v)[self.name])
