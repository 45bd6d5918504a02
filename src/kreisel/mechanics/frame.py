"""Frames and relative motions: what joints, forces and structures see of bodies, whatever their coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kreisel.groups import Group


@dataclass(frozen=True)
class Frame:
    """Place and velocity of a body, in symbols. SI units.

    ``R``: rotation matrix, body to space. ``x``: position of the centre of mass, in space axes. ``omega``: angular velocity in body axes.
    ``velocity``: of the centre of mass, in space axes. ``q`` and ``v`` are the coordinates behind them; the group's own. A point has R =
    I and no angular velocity; a scalar has only ``value`` and ``rate``.
    """

    q: ca.SX
    v: ca.SX
    R: ca.SX
    x: ca.SX
    omega: ca.SX
    velocity: ca.SX

    def point(self, r: ca.SX | ca.DM) -> ca.SX:
        """Where the point with body coordinates r is, in space."""
        return self.x + ca.mtimes(self.R, r)

    def point_velocity(self, r: ca.SX | ca.DM) -> ca.SX:
        """The velocity of that point, in space axes."""
        return self.velocity + ca.mtimes(self.R, ca.cross(self.omega, r))

    def fixed(self, at: ca.SX | ca.DM, axes: ca.SX | ca.DM) -> Frame:
        """A frame fixed to the body: its origin, and its axes as columns, in body coordinates."""
        turned = ca.mtimes(axes.T, self.omega)
        return Frame(self.q, self.v, ca.mtimes(self.R, axes), self.point(at), turned, self.point_velocity(at))

    @property
    def space_omega(self) -> ca.SX:
        """The angular velocity in space axes."""
        return ca.mtimes(self.R, self.omega)

    @property
    def dual(self) -> ca.SX:
        """The reciprocal axes R^-T: R itself, where R is a rotation (see :class:`DirectorFrame`)."""
        return self.R

    @property
    def value(self) -> ca.SX:
        """The first coordinate, of a scalar."""
        return self.q[0]

    @property
    def rate(self) -> ca.SX:
        """The first velocity, of a scalar."""
        return self.v[0]

    def covariant(self) -> Frame:
        """The same with the axes in place of the reciprocal ones: no difference, where R is a rotation."""
        return self


@dataclass(frozen=True)
class DirectorFrame(Frame):
    r"""The frame of a body given by three directors, the columns of R, which in the middle of a step are not quite orthonormal.

    Points move as :math:`\dot x + \dot R r`. The angular velocity is :math:`\omega = \frac12\sum d^i\times\dot d_i` with the reciprocal
    directors :math:`[d^1, d^2, d^3] = R^{-T}`: only then does a torque change the angular momentum of the step by just itself (Siebert,
    (4.28)-(4.34)). ``rates``: the derivative of R; ``reciprocal``: R^-T; ``turning``: omega.
    """

    rates: ca.SX
    reciprocal: ca.SX
    turning: ca.SX

    @classmethod
    def of(cls, q: ca.SX, v: ca.SX, R: ca.SX, x: ca.SX, rates: ca.SX, velocity: ca.SX, reciprocal: ca.SX | None = None) -> DirectorFrame:
        """From directors, their rates, centre and velocity."""
        if reciprocal is None:
            d = ca.horzsplit(R)
            across = [ca.cross(d[1], d[2]), ca.cross(d[2], d[0]), ca.cross(d[0], d[1])]
            reciprocal = ca.horzcat(*across) / ca.dot(d[0], across[0])
        omega = sum((ca.cross(reciprocal[:, i], rates[:, i]) for i in range(3)), start=ca.SX.zeros(3)) / 2
        return cls(q, v, R, x, ca.mtimes(R.T, omega), velocity, rates, reciprocal, omega)

    def point_velocity(self, r: ca.SX | ca.DM) -> ca.SX:
        return self.velocity + ca.mtimes(self.rates, r)

    def fixed(self, at: ca.SX | ca.DM, axes: ca.SX | ca.DM) -> Frame:
        R, rates, reciprocal = (ca.mtimes(X, axes) for X in (self.R, self.rates, self.reciprocal))
        omega = ca.mtimes(axes.T, self.omega)
        return DirectorFrame(self.q, self.v, R, self.point(at), omega, self.point_velocity(at), rates, reciprocal, self.turning)

    @property
    def space_omega(self) -> ca.SX:
        return self.turning

    @property
    def dual(self) -> ca.SX:
        return self.reciprocal

    def covariant(self) -> Frame:
        return DirectorFrame.of(self.q, self.v, self.R, self.x, self.rates, self.velocity, self.R)


@dataclass(frozen=True)
class Relative:
    """The motion of a body b as seen from a body a, both on one group: d = log(q_a^-1 q_b), and its rate, in symbols.

    What depends on the relative motion alone does not notice a rigid motion of both bodies: its forces have no resultant.
    """

    d: ca.SX
    rate: ca.SX

    @classmethod
    def between(cls, group: Group, ends: tuple[End, End], d: ca.SX | None = None) -> Relative:
        """From the two ends. ``d``: a symbol that stands for log(q_a^-1 q_b), if there is one."""
        d = group.difference(ends[0].place(group), ends[1].place(group)) if d is None else d
        rate = ca.SX.zeros(group.dim)
        for D, end in zip(cls.derivatives(group, ends, d), ends, strict=True):
            if end.v is not None:
                rate += ca.mtimes(D, end.v)
        return cls(d, rate)

    @staticmethod
    def derivatives(group: Group, ends: tuple[End, End], d: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The derivatives of d along q_a exp(w) and q_b exp(w): -T^-1(-d) and T^-1(d) (Hante, Lemma 2.25), as seen from the offsets."""
        a, b = (None if end.offset is None else group.Ad(group.inverse(end.offset)) for end in ends)
        D_a, D_b = -group.Tinv(-d), group.Tinv(d)
        return D_a if a is None else ca.mtimes(D_a, a), D_b if b is None else ca.mtimes(D_b, b)


@dataclass(frozen=True)
class End:
    """An end of a relative motion: configuration (None: the ground) and velocity of a body, and a frame fixed to it (None: its own)."""

    q: ca.SX | None
    v: ca.SX | None
    offset: ca.SX | None

    def place(self, group: Group) -> ca.SX:
        """The configuration of the frame."""
        if self.q is None or self.offset is None:
            return self.offset if self.q is None else self.q
        return group.compose(self.q, self.offset)
