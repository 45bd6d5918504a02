"""Structures: beams and shells as nodes with mass and elements between them, described once and realised on a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import S3, SE3, Group, convert
from kreisel.groups.rigid import RigidMotions
from kreisel.mechanics.element import Element, Inertia
from kreisel.mechanics.forces import Gravity, History, Load, vector
from kreisel.mechanics.node import Node, RigidNode

if TYPE_CHECKING:
    from kreisel.mechanics.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Host:
    """What carries a point of a structure: a node of its own (``offset`` None), the ground (``body`` None), or a frame fixed to a body.

    ``offset``: that frame by its coordinates in SE3, relative to the body, or to space.
    """

    body: str | None
    offset: Array | None = None


class Structure:
    """Points with poses, mass and hosts; what connects them is told by those derived from it.

    ``points``: names of the points. ``poses``: at the start, in SE3, (n, 12). ``hosts``: what carries them. ``masses``: 6 x 6 matrices in
    body axes, one per point. ``twists``: angular and linear velocities at the start, in body axes, (n, 6).
    """

    mechanism: Mechanism
    name: str
    kind: str
    points: list[str]
    poses: Array
    hosts: list[Host]
    masses: Array
    twists: Array

    def node(self, index: int) -> str:
        """The name of a node of one's own, to tie joints, loads and springs to; negative numbers count from the end."""
        if not -len(self.points) <= index < len(self.points):
            raise ValueError(f"{self.kind} '{self.name}' has no node {index}; they are 0 to {len(self.points) - 1}")
        host = self.hosts[index]
        if host.body is None:
            raise ValueError(f"{self.kind} '{self.name}': node {index} is clamped to the ground, nothing can be tied to it")
        if host.offset is not None:
            raise ValueError(f"{self.kind} '{self.name}': node {index} is part of '{host.body}'; tie it to that")
        return host.body

    def missing(self, body: str) -> str:
        """Why a name that looks like one of its nodes is none."""
        if body in self.points:
            return f"that node of {self.kind} '{self.name}' is held by {'the ground' if self._host(body).body is None else 'a body'}"
        own = [p for p, host in zip(self.points, self.hosts, strict=True) if host.offset is None]
        return f"the nodes of {self.kind} '{self.name}' are {own[0]} to {own[-1]}"

    def _host(self, point: str) -> Host:
        return self.hosts[self.points.index(point)]

    def _rigid_motion(self, omega: ArrayLike, velocity: ArrayLike) -> Array:
        """The twists of a rigid motion, from its angular velocity and the velocity of the first point, in space axes."""
        w, u = vector(omega, f"{self.kind} '{self.name}': omega"), vector(velocity, f"{self.kind} '{self.name}': velocity")
        R, x = self.poses[:, :9].reshape(-1, 3, 3), self.poses[:, 9:]
        space = u + np.cross(w, x - x[0])
        return np.concatenate([np.einsum("nji,j->ni", R, w), np.einsum("nji,nj->ni", R, space)], axis=1)

    _loads = 0

    def _load_name(self) -> str:
        self._loads += 1
        return f"load {self._loads} on {self.name}"

    def _apply(self, forces: Array, moments: Array, axes: str, history: History | None, name: str) -> None:
        """Adds forces and moments on the points, in space axes or those of the points, to what carries them. The ground takes its share."""
        for point, host, F, M in zip(self.points, self.hosts, forces, moments, strict=True):
            if host.body is None or not (np.any(F) or np.any(M)):
                continue
            place = np.zeros(3)
            if host.offset is not None:
                place = host.offset[9:]
                if axes == "body":
                    R = host.offset[:9].reshape(3, 3)
                    F, M = R @ F, R @ M
            self.mechanism.force(Load(host.body, F, M, place, axes, history, name=f"{name} at {point}"))

    def _before(self, k: int) -> int:
        """A point earlier in the list and next to point k, whose quaternion shall be on the same side."""
        return k - 1

    def connections(self, group: Group, places: list[tuple[str, Array | None]], q: Array) -> list[Element]:
        """The elements between points: ``places`` are their bodies and offsets on the group, ``q`` their configurations at the start."""
        raise NotImplementedError

    def realise(self, group: Group, nodes: dict[str, Node], gravity: Array) -> tuple[list[Node], list[Element], Realised]:
        """Nodes and elements on a group of rigid motions; ``nodes``: those that are there already."""
        own: list[Node] = []
        elements: list[Element] = []
        q: list[Array] = []
        places: list[tuple[str, Array | None]] = []
        described = zip(self.points, self.poses, self.hosts, self.masses, self.twists, strict=True)
        for k, (point, pose, host, M, twist) in enumerate(described):
            near = q[self._before(k)] if k else None
            offset = None if host.offset is None else convert(host.offset, SE3, group)
            if offset is None:
                q_point = _near(group, convert(pose, SE3, group), near)
                node = RigidNode(point, group, q_point, twist)
                own.append(node)
                elements.append(Inertia(f"inertia of {point}", point, M))
            elif host.body is None:
                q_point = offset = _near(group, offset, near)
            else:
                carrier = nodes.get(host.body) or next(n for n in own if n.name == host.body)
                if carrier.group != group:
                    raise ValueError(
                        f"{self.kind} '{self.name}' is part of '{host.body}', which then needs the same coordinates ({group}); "
                        "use these, or tie them with a joint"
                    )
                q_point = group.compose(carrier.q, offset)
                if not np.array_equal(_near(group, q_point, near), q_point):  # the other quaternion of the same place
                    q_point, offset = _other(q_point), _other(offset)
                A = np.asarray(group.Ad(group.inverse(offset)))
                elements.append(Inertia(f"inertia of {point}", host.body, A.T @ M @ A))
            if np.any(gravity) and host.body is not None:
                at = (0, 0, 0) if host.offset is None else host.offset[9:]
                elements.append(Gravity(host.body, M[3, 3], gravity, at, name=f"weight of {point}"))
            q.append(q_point)
            places.append((host.body or "ground", offset))
        elements += self.connections(group, places, np.array(q))
        return own, elements, Realised(self, group, places)


@dataclass(frozen=True)
class Realised:
    """A structure in its coordinates: per point the body that carries it and the offset on the group."""

    structure: Structure
    group: Group
    places: list[tuple[str, Array | None]]

    @property
    def own(self) -> list[str]:
        """The nodes of its own."""
        return [body for body, offset in self.places if offset is None]


def bodies_and_offsets(places: list[tuple[str, Array | None]]) -> tuple[list[str], dict[str, Array]]:
    """What an element on these places needs: its bodies, and the offsets among its parameters."""
    return [body for body, _ in places], {f"offset{k}": offset for k, (_, offset) in enumerate(places) if offset is not None}


def _near(group: Group, q: Array, before: Array | None) -> Array:
    """Of the two quaternions of a place, that on the side of the point before."""
    assert isinstance(group, RigidMotions)
    if group.rotations is S3 and before is not None and q[:4] @ before[:4] < 0:
        return _other(q)
    return q


def _other(q: Array) -> Array:
    """The other quaternion of the same place: of S3R3 (7 numbers) the position stays, of UDQ (8 numbers) all change sign."""
    return -q if len(q) == 8 else np.concatenate([-q[:4], q[4:]])
