r"""Natural coordinates in their older form: points and unit vectors that neighbouring bodies share, so that joints need no constraints.

A body by directors is a few vectors, x, d1, d2, d3; a joint says that a point x + r1 d1 + r2 d2 + r3 d3 of one body, or a vector of it, is
one of the other body, too (or stands still). All that is linear, with numbers in front of vectors: L Y = C, one vector per row of Y. What
it leaves free are some vectors Z, points and axes of joints as far as these do, and

.. math:: Y = K Z + Y_0, \qquad g_i = B_i q + b_i, \qquad M = \sum B_i^T M_i B_i,

an affine map: the mass matrix stays constant, constraints stay quadratic, and those that are linear are solved, too. In the plane d2 is d1
turned by a right angle; vectors and numbers are complex there, and two points make a bar. Sources: García de Jalón and Bayo, Kinematic
and Dynamic Simulation of Multibody Systems, Springer (1994); Müller, digest items 18 to 21.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.element import Element
from kreisel.mechanics.joints import Joint
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.node import Ground
from kreisel.mechanics.parametrised import Parametrised, parametrise, polynomials
from kreisel.mechanics.system import System

Array = NDArray[np.float64]
Numbers = NDArray[Any]  # real in space, complex in the plane

#: Points and axes of joints become coordinates, unless they are nearer than this (of 1) to what others determine.
NEAR = 0.1
#: What counts as dependent, and as zero; and what bodies may be away from where their joints put them, at the start.
DEPENDENT, ROUNDING, FITS = 1e-9, 1e-12, 1e-8


def share(system: System) -> System:
    """A system in directors by the points and vectors that its joints make common to bodies.

    Bodies that nothing ties together have coordinates of their own; so have point masses. Coordinates are named in ``node.labels``.
    """
    bodies = [n for n in system.nodes if isinstance(n, NaturalNode)]
    known = {Ground.name, *(n.name for n in bodies)}
    joints = [e for e in system.elements if isinstance(e, Joint) and set(e.bodies) <= known]
    nodes, elements = list(system.nodes), list(system.elements)
    for names in _clusters([n.name for n in bodies], joints):
        own = [n for n in bodies if n.name in names]
        shared = [c for j in joints if set(j.bodies) & names for c in commons(j, own[0].plane)]
        cluster = (Plane if own[0].plane else Space)(own, shared)
        (node, *_), tied = found = parametrise(nodes, elements, cluster.formula, cluster.q, cluster.v, f"vectors of {own[0].name}")
        assert isinstance(node, Parametrised)
        A, c = linear_rows(node, tied)
        if len(A):
            cluster.solve(A, c)
            found = parametrise(nodes, elements, cluster.formula, cluster.q, cluster.v, node.name)
        nodes, elements = found
        assert isinstance(nodes[0], Parametrised)
        nodes[0].labels = tuple(cluster.labels)
    new = System.of(nodes, elements, system.structures)
    new.original = system
    return new


@dataclass(frozen=True)
class Common:
    """A point or a vector as the two bodies of a joint have it: the numbers in front of their vectors."""

    joint: Joint
    what: str
    of: tuple[Numbers, Numbers]


def commons(joint: Joint, plane: bool) -> list[Common]:
    """What the bodies of a joint have in common, by its frames A and B."""
    p = joint.parameters

    def numbers(vector: Array, one: float) -> Numbers:
        return np.array([one, vector[0] + 1j * vector[1]]) if plane else np.array([one, *vector])

    found = []
    if joint.shares_point:
        found.append(Common(joint, "point", (numbers(p["at_a"], 1.0), numbers(p["at_b"], 1.0))))
    for axis in joint.shared_axes:
        a, b = (np.reshape(p[name], (3, 3), "F")[:, axis] for name in ("axes_a", "axes_b"))
        if not (plane and abs(a[2]) > 0.5):  # across the plane
            found.append(Common(joint, "axis" if axis == 2 else f"axis {axis + 1}", (numbers(a, 0.0), numbers(b, 0.0))))
    return found


class Space:
    """Bodies that have vectors in common, in space."""

    #: Vectors of a body, those of the ground, and how many components they have.
    vectors: tuple[str, ...] = ("x", "d1", "d2", "d3")
    ground: Numbers = np.eye(4, 3, -1)
    n = 3

    def __init__(self, bodies: Sequence[NaturalNode], shared: Sequence[Common]) -> None:
        self.bodies = bodies
        size = len(self.vectors)
        at = {body.name: slice(size * i, size * (i + 1)) for i, body in enumerate(bodies)}
        count = size * len(bodies)
        L, C = (np.zeros((len(shared), n), self.ground.dtype) for n in (count, self.ground.shape[1]))
        wanted: list[tuple[str, Numbers]] = []
        for row, common in enumerate(shared):
            for body, numbers, sign in zip(common.joint.bodies, common.of, (-1, 1), strict=True):
                if body == Ground.name:
                    C[row] -= sign * numbers @ self.ground
                else:
                    L[row, at[body]] = sign * numbers
            if Ground.name not in common.joint.bodies:
                vector = np.zeros(count, self.ground.dtype)
                vector[at[common.joint.bodies[1]]] = common.of[1]
                wanted.append((f"{common.what} of {common.joint.name}", vector))
        # Lengths are measured by how far joints are from centres of mass, so that numbers in front of x and of directors compare.
        reach = max((float(np.abs(numbers[1:]).max()) for c in shared for numbers in c.of if c.what == "point"), default=0.0) or 1.0
        scale = np.tile([1.0] + (size - 1) * [1 / reach], len(bodies))
        kept, chosen = _basis(L * scale, [vector * scale for _, vector in wanted], count)
        if not chosen:
            raise ValueError(f"body '{bodies[0].name}' is held fast: there is nothing to describe")
        wanted += zip([f"{what} of {body.name}" for body in bodies for what in self.vectors], np.eye(count), strict=True)
        self.labels = [f"{wanted[k][0]} [{i}]" for k in chosen for i in range(self.n)]
        pick = np.array([wanted[k][1] for k in chosen])
        solved = np.linalg.inv(np.concatenate([L[kept], pick]))
        K, Y_0 = solved[:, len(kept) :], solved[:, : len(kept)] @ C[kept]
        #: B_i and b_i.
        self.maps = {name: (self.matrix(K[part]), self.column(Y_0[part])) for name, part in at.items()}
        Y, V = (np.concatenate([self.of_body(x) for x in columns]) for columns in ([b.q for b in bodies], [b.v for b in bodies]))
        _check(shared, L @ Y - C, L @ V, float(np.abs(Y).max()), float(np.abs(V).max()))
        self.q, self.v = (self.numbers(pick @ X) for X in (Y, V))

    def formula(self, q: ca.SX) -> dict[str, ca.SX]:
        """The natural coordinates of the bodies."""
        short = {name: [ca.sparsify(ca.DM(np.where(np.abs(a) < ROUNDING, 0.0, a))) for a in pair] for name, pair in self.maps.items()}
        return {name: ca.mtimes(B, q) + b for name, (B, b) in short.items()}

    def solve(self, A: Array, c: Array) -> None:
        """Leaves out coordinates that A q + c = 0 determines: in each row that with the largest number, after elimination."""
        rows, solved = np.column_stack([A, c]), []
        for k in range(len(rows)):
            j = int(np.argmax(np.abs(rows[k, :-1])))
            rows[k] /= rows[k, j]
            others = np.arange(len(rows)) != k
            rows[others] -= np.outer(rows[others, j], rows[k])
            solved.append(j)
        free = [j for j in range(A.shape[1]) if j not in solved]
        T, t = np.zeros((A.shape[1], len(free))), np.zeros(A.shape[1])
        T[free, range(len(free))] = 1.0
        T[solved], t[solved] = -rows[:, free], -rows[:, -1]
        self.maps = {name: (B @ T, B @ t + b) for name, (B, b) in self.maps.items()}
        self.q, self.v, self.labels = self.q[free], self.v[free], [self.labels[j] for j in free]

    def of_body(self, g: Array) -> Numbers:
        """The vectors of a body, one per row, from its natural coordinates."""
        return g.reshape(4, 3)

    def numbers(self, Y: Numbers) -> Array:
        """Vectors, one after the other."""
        return np.ravel(Y)

    def matrix(self, K: Numbers) -> Array:
        """B of a body, from the numbers in front of vectors."""
        return np.asarray(np.kron(K, np.eye(3)), dtype=float)

    def column(self, Y: Numbers) -> Array:
        """b of a body."""
        return self.numbers(Y)


class Plane(Space):
    """The same in the plane: vectors are complex numbers, and i times the first director is the second."""

    vectors = ("x", "d1")
    ground = np.array([[0.0], [1.0 + 0.0j]])
    n = 2

    def of_body(self, g: Array) -> Numbers:
        return (g[0:4:2] + 1j * g[1:4:2])[:, None]

    def numbers(self, Y: Numbers) -> Array:
        return np.stack([Y.real, Y.imag], axis=-1).ravel()

    def matrix(self, K: Numbers) -> Array:
        K = np.concatenate([K, 1j * K[1:]])
        return np.kron(K.real, np.eye(2)) + np.kron(K.imag, [[0.0, -1.0], [1.0, 0.0]])

    def column(self, Y: Numbers) -> Array:
        return self.numbers(np.concatenate([Y, 1j * Y[1:]]))


def linear_rows(node: Parametrised, elements: Sequence[Element]) -> tuple[Array, Array]:
    """A and c of all constraints A q + c = 0 on a node."""
    found = [(g, c) for rows in polynomials(elements, node) for _, H, g, c in rows if not np.any(np.abs(H) > ROUNDING)]
    return np.array([g for g, _ in found]).reshape(-1, node.group.dim), np.array([c for _, c in found])


def _basis(L: Numbers, wanted: Sequence[Numbers], count: int) -> tuple[list[int], list[int]]:
    """Independent rows of L; and what completes them: wanted rows, in their order, then those of the identity, numbered on."""
    Q: list[Numbers] = []

    def rest(row: Numbers) -> Numbers:
        for _ in range(2):  # twice is enough
            for q in Q:
                row = row - q * np.vdot(q, row)
        return row

    def take(row: Numbers, least: float) -> bool:
        size = float(np.linalg.norm(row))
        new = rest(row / size) if size > 0 else row
        if np.linalg.norm(new) <= least:
            return False
        Q.append(new / np.linalg.norm(new))
        return True

    kept = [k for k, row in enumerate(L) if take(row, DEPENDENT)]
    chosen = [k for k, row in enumerate(wanted) if take(row, NEAR)]
    identity = np.eye(count)
    while len(Q) < count:
        k = int(np.argmax([np.round(np.linalg.norm(rest(row)), 9) for row in identity]))
        take(identity[k], 0.0)
        chosen.append(len(wanted) + k)
    return kept, chosen


def _check(shared: Sequence[Common], gaps: Numbers, rates: Numbers, extent: float, speed: float) -> None:
    """Bodies must be where their joints put them."""
    for what, values, size in (("place", gaps, extent), ("velocity", rates, speed)):
        for common, gap in zip(shared, np.abs(values), strict=True):
            if gap.max() > FITS * max(1.0, size):
                j = common.joint
                raise ValueError(
                    f"{j.kind} '{j.name}': the {what} of '{j.bodies[1]}' at the start does not fit it, by {gap.max():.3g}; "
                    f"bodies that share the {common.what} of a joint cannot part there"
                )


def _clusters(bodies: Sequence[str], joints: Sequence[Joint]) -> list[set[str]]:
    """Bodies that joints make something common to."""
    clusters = [{body} for body in bodies]
    for j in joints:
        if (j.shares_point or j.shared_axes) and Ground.name not in j.bodies:
            a, b = (next(c for c in clusters if body in c) for body in j.bodies)
            if a is not b:
                a |= b
                clusters.remove(b)
    return clusters
