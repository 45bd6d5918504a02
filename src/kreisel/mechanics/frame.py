"""Frames: what joints and forces see of a body, whatever its coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


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

    @property
    def space_omega(self) -> ca.SX:
        """The angular velocity in space axes."""
        return ca.mtimes(self.R, self.omega)

    @property
    def value(self) -> ca.SX:
        """The first coordinate, of a scalar."""
        return self.q[0]

    @property
    def rate(self) -> ca.SX:
        """The first velocity, of a scalar."""
        return self.v[0]
