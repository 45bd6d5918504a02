"""Beams and shells within a solution: points of them, strains, section forces, at any place and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SO3, R, convert
from kreisel.mechanics.beam import Beam
from kreisel.mechanics.structure import Realised

if TYPE_CHECKING:
    from kreisel.simulation.solution import Solution

Array = NDArray[np.float64]


class StructureMotion:
    """The motion of a beam or shell. Arrays have time first, then the place; ``t``: times, by default those of the solution."""

    def __init__(self, solution: Solution, realised: Realised) -> None:
        self.solution, self.group, self.places = solution, realised.group, realised.places

    def configuration(self, t: ArrayLike | None = None) -> Array:
        """Coordinates of all points on the group of the structure, held ones included, (times, points, n_params)."""
        nodes = self.solution.system.nodes
        ends = np.cumsum([n.group.n_params for n in nodes])
        q = self.solution.q if t is None else self.solution(np.atleast_1d(np.asarray(t, dtype=float))).q
        points = []
        for body, offset in self.places:
            if body == "ground":
                assert offset is not None
                points.append(np.broadcast_to(offset, (len(q), self.group.n_params)))
                continue
            i = self.solution.system.number[body]
            own = q[:, ends[i] - nodes[i].group.n_params : ends[i]]
            points.append(own if offset is None else self.group.compose(own, offset))
        return np.stack(points, axis=1)

    def twist(self, t: ArrayLike | None = None) -> Array:
        """Velocities of all points in section axes, angular and linear, (times, points, 6)."""
        nodes = self.solution.system.nodes
        ends = np.cumsum([n.group.dim for n in nodes])
        points: list[Array] = []
        v = self.solution.v if t is None else self.solution(np.atleast_1d(np.asarray(t, dtype=float))).v
        for body, offset in self.places:
            if body == "ground":
                points.append(np.zeros((len(v), 6)))
                continue
            i = self.solution.system.number[body]
            own = v[:, ends[i] - 6 : ends[i]]
            points.append(own if offset is None else own @ np.asarray(self.group.Ad(self.group.inverse(offset))).T)
        return np.stack(points, axis=1)

    def position(self, t: ArrayLike | None = None) -> Array:
        """Positions of all points, (times, points, 3)."""
        return self._poses(self.configuration(t))[..., 9:]

    def rotation(self, t: ArrayLike | None = None) -> Array:
        """Rotation matrices of all points, section to space, (times, points, 3, 3)."""
        q = self._poses(self.configuration(t))
        return q[..., :9].reshape(*q.shape[:-1], 3, 3)

    def _poses(self, q: Array) -> Array:
        return np.asarray(convert(q, self.group, SO3 * R(3)))


class BeamMotion(StructureMotion):
    """The motion of a beam, from ``solution.beam(name)``.

    >>> import kreisel as kr
    >>> sol = kr.simulate(kr.models.roll_up(), until=0.1, step=1e-3)
    >>> strip = sol.beam("strip")
    >>> strip.position().shape, strip.position_at([2.5, 5.0], t=0.05).shape, strip.moment().shape
    ((101, 9, 3), (1, 2, 3), (101, 8, 3))
    """

    def __init__(self, solution: Solution, realised: Realised) -> None:
        super().__init__(solution, realised)
        assert isinstance(realised.structure, Beam)
        self.beam = realised.structure

    @property
    def s(self) -> Array:
        """Arc lengths of the points."""
        return self.beam.s

    @property
    def middle(self) -> Array:
        """Arc lengths of the middles of the segments, to which strains and section forces belong."""
        return np.asarray((self.s[1:] + self.s[:-1]) / 2)

    def at(self, s: ArrayLike, t: ArrayLike | None = None) -> Array:
        """Coordinates at any arc lengths, on the curves of constant strain between the points, (times, places, n_params)."""
        s = np.atleast_1d(np.asarray(s, dtype=float))
        if not np.all((s >= 0) & (s <= self.beam.length)):
            raise ValueError(f"beam '{self.beam.name}': s must lie in [0, {self.beam.length}]")
        q = self.configuration(t)
        m = np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, len(self.s) - 2)
        tau = (s - self.s[m]) / np.diff(self.s)[m]
        return np.asarray(self.group.interpolate(q[:, m], q[:, m + 1], np.broadcast_to(tau, q[:, m].shape[:-1])))

    def position_at(self, s: ArrayLike, t: ArrayLike | None = None) -> Array:
        """The centre line at any arc lengths, (times, places, 3)."""
        return self._poses(self.at(s, t))[..., 9:]

    def rotation_at(self, s: ArrayLike, t: ArrayLike | None = None) -> Array:
        """Frames at any arc lengths, (times, places, 3, 3)."""
        q = self._poses(self.at(s, t))
        return q[..., :9].reshape(*q.shape[:-1], 3, 3)

    def strain(self, t: ArrayLike | None = None) -> Array:
        """w - w*: curvatures and twist, shears and stretch of the segments in section axes, (times, segments, 6)."""
        q = self.configuration(t)
        return np.asarray(self.group.difference(q[:, :-1], q[:, 1:])) / np.diff(self.s)[:, None] - self.beam.rest

    def section_forces(self, t: ArrayLike | None = None, multipliers: str = "raw") -> Array:
        """g = C (w - w*) + 2 V w' + Psi'^T lam: moments and forces of the segments in section axes, (times, segments, 6).

        ``multipliers``: which ones of the constraints, as in :meth:`Solution.multipliers`; between the times of the solution linear.
        """
        ds, q = np.diff(self.s)[:, None], self.configuration(t)
        d = np.asarray(self.group.difference(q[:, :-1], q[:, 1:]))
        g = self.beam.section.stiffness * (d / ds - self.beam.rest)
        if np.any(self.beam.viscosity):
            v = self.twist(t)
            rate = _times(self.group.Tinv(d), v[:, 1:]) - _times(self.group.Tinv(-d), v[:, :-1])
            g = g + 2 * self.beam.viscosity * rate / ds
        if self.beam.internal is not None:
            g = g + self._reactions(self.beam.internal, d / ds, t, multipliers)
        return np.asarray(g)

    def moment(self, t: ArrayLike | None = None, multipliers: str = "raw") -> Array:
        """Bending moments and torque of the segments, in section axes, (times, segments, 3)."""
        return self.section_forces(t, multipliers)[..., :3]

    def force(self, t: ArrayLike | None = None, multipliers: str = "raw") -> Array:
        """Shear forces and normal force of the segments, in section axes, (times, segments, 3)."""
        return self.section_forces(t, multipliers)[..., 3:]

    def _reactions(self, internal: Callable[..., Any], w: Array, t: ArrayLike | None, multipliers: str) -> Array:
        system, lam = self.solution.system, self.solution.multipliers(multipliers)
        if t is not None:
            lam = np.stack([np.interp(np.atleast_1d(t), self.solution.t, column) for column in lam.T], axis=1)
        ends = dict(zip((e.name for e in system.elements), np.cumsum(system.rows), strict=True))
        W, rest = ca.SX.sym("w", 6), ca.SX.sym("rest", 6)
        psi = ca.SX(internal(W, rest))
        l = ca.SX.sym("l", psi.numel())
        reaction = ca.Function("reaction", [W, rest, l], [ca.densify(ca.gradient(ca.dot(psi, l), W))]).map(len(w))
        out = np.zeros(w.shape)
        for m in range(len(self.s) - 1):
            end = ends[f"{self.beam.name}: constraint {m}"]
            out[:, m] = np.array(reaction(w[:, m].T, self.beam.rest[m], lam[:, end - l.numel() : end].T)).T
        return out


def _times(A: Any, x: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", np.asarray(A), x))
