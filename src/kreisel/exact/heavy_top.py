r"""The heavy symmetric top (Lagrange's top): nutation by elliptic functions, precession and spin by elliptic integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.exact.checks import number, rotation_matrix, times, vector
from kreisel.exact.elliptic import Jacobi, first_kind, jacobi, quarter_period, third_kind
from kreisel.exact.free_body import FreeBody
from kreisel.exact.turning import steady_rotation

Array = NDArray[np.float64]
_DIGITS = 120


class HeavyTop:
    r"""A body with the moments J1 = J2 and J3 about a fixed point, its weight attacking on the third axis; space z points up.

    ``J1``, ``J3``: moments of inertia about the fixed point. ``torque``: m g l, positive if the centre of mass lies on the positive third
    axis. ``omega``: W(0) in body axes. ``rotation``: R(0), body to space.

    With R = Rz(phi) Rx(theta) Rz(psi), the constants p_phi (momentum along z), p_psi = J3 W3 and the energy E, the height
    z = cos(theta) obeys

    .. math:: \dot z^2 = (1 - z^2)\frac{2E - p_\psi^2/J_3 - 2mgl\,z}{J_1} - \frac{(p_\phi - p_\psi z)^2}{J_1^2} , \qquad
              z = z_1 + (z_2 - z_1)\,\mathrm{sn}^2 u, \quad u = \sqrt{\tfrac{mgl}{2 J_1}(z_3 - z_1)}\;t + u_0,

    z1 <= z2 <= 1 <= z3 the roots of the right-hand side, m = (z2 - z1)/(z3 - z1). Precession and spin are integrals of the third kind,

    .. math:: \dot\phi = I_- + I_+, \quad \dot\psi = W_3 - p_\psi/J_1 + I_+ - I_-, \qquad
              I_\mp = \frac{p_\phi \mp p_\psi}{2 J_1 (1 \mp z)} .

    Motions through the vertical, steady precession, the sleeping top and those that approach it are included. The roots are found with
    many digits, so that they may lie close together.

    >>> top = HeavyTop(J1=5.0, J3=1.0, torque=20.0, omega=(0, 0, 50), rotation=steady_rotation((0.3, 0, 0), 1.0))
    >>> [round(angle, 4) for angle in top.nutation_range]
    [0.3, 0.3267]
    """

    def __init__(self, J1: float, J3: float, torque: float, omega: ArrayLike, rotation: ArrayLike | None = None) -> None:
        self.J1, self.J3 = number(J1, "HeavyTop: J1", positive=True), number(J3, "HeavyTop: J3", positive=True)
        self.torque = number(torque, "HeavyTop: torque")
        self._W0, self._R0 = vector(omega, "HeavyTop: omega"), rotation_matrix(rotation, "HeavyTop: rotation")
        # A top that hangs is one that stands, seen with the third axis and the first reversed.
        self._flip = np.diag([-1.0, 1.0, -1.0]) if self.torque < 0 else np.eye(3)
        self._W, self._R = self._flip @ self._W0, self._R0 @ self._flip
        upright = not np.any([self._R[2, :2], self._W[:2]])
        # Without a torque, or asleep, it moves like a free body.
        self._free = FreeBody((J1, J1, J3), omega, self._R0) if upright or self.torque == 0 else None
        if self._free is None:
            self._find_roots()
            self._find_start()

    def _find_roots(self) -> None:
        import mpmath as mp

        with mp.workdps(_DIGITS):
            n, W = [mp.mpf(float(x)) for x in self._R[2]], [mp.mpf(float(x)) for x in self._W]
            length = mp.sqrt(sum(x * x for x in n))
            n = [x / length for x in n]
            J1, J3, Q = mp.mpf(self.J1), mp.mpf(self.J3), mp.mpf(abs(self.torque))
            p_phi, p_psi = J1 * (n[0] * W[0] + n[1] * W[1]) + J3 * n[2] * W[2], J3 * W[2]
            a = (J1 * (W[0] ** 2 + W[1] ** 2) + 2 * Q * n[2]) / J1
            b, f, g = 2 * Q / J1, p_phi / J1, p_psi / J1
            # (1 - z^2)(a - b z) - (f - g z)^2
            z1, z2, z3 = _roots(b, -a - g * g, 2 * f * g - b, a - f * f)
            z1, z2, z3 = max(z1, mp.mpf(-1)), min(z2, mp.mpf(1)), max(z3, mp.mpf(1))
            minus, plus = p_phi - p_psi, p_phi + p_psi
            tiny = mp.mpf(10) ** (-_DIGITS // 5) * (abs(p_phi) + abs(p_psi) + J1 * mp.sqrt(b))
            # Exactly zero: the motion goes through the vertical.
            self._minus, self._plus = (0.0 if abs(p) < tiny else float(p) for p in (minus, plus))
            if not self._plus:
                z1 = mp.mpf(-1)
            #: Whether it goes through the upper vertical; the root 1 may also be the third.
            self._over = not self._minus and 1 - z2 <= z3 - 1
            if not self._minus:
                z2, z3 = (mp.mpf(1), z3) if self._over else (z2, mp.mpf(1))
            self._p_psi = float(p_psi)
            self._span, self._m1 = float(z2 - z1), float((z3 - z2) / (z3 - z1))
            self._above, self._below = float(1 - z1), float(1 + z1)  # from the lowest height up to 1, down to -1
            self._above2 = float(1 - z2)
            self._n_minus, self._n_plus = float((z2 - z1) / (1 - z1)), (-float((z2 - z1) / (1 + z1)) if self._plus else 0.0)
            self._speed = float(mp.sqrt(b * (z3 - z1)) / 2)
            # sn and cn at the start
            if z2 > z1:
                s2 = min(max((n[2] - z1) / (z2 - z1), mp.mpf(0)), mp.mpf(1))
                self._s0, self._c0 = float(mp.sqrt(s2)), float(mp.sqrt(1 - s2))
            else:
                self._s0, self._c0 = 0.0, 1.0
            self._rises = bool(n[0] * W[1] - n[1] * W[0] >= 0)  # z' = (n x W)_3

    def _find_start(self) -> None:
        """u(0), phi(0) and psi(0)."""
        self._u0 = first_kind(self._s0 if self._rises else -self._s0, self._c0, self._m1)
        if not np.isfinite(self._u0):
            raise ValueError("HeavyTop: the top would need infinite time to leave its start")
        half = self._half_angles(self._phase(np.zeros(())))
        R, n = self._R, self._R[2]
        if np.hypot(n[0], n[1]) == 0:
            # Vertical, with the third axis about to tilt: theta' e is the horizontal part of the angular velocity, e the line of nodes.
            # theta' is negative, see _half_angles: sin(theta/2) falls through zero, or cos(theta/2) rises.
            self._psi0 = float(np.arctan2(self._W[1], -self._W[0]))
            turn = float(np.arctan2(R[1, 0], R[0, 0]))
            self._phi0 = turn - self._psi0 if n[2] > 0 else turn + self._psi0
        else:
            side = 1.0 if half[0] * half[1] > 0 else -1.0
            self._psi0 = float(np.arctan2(side * n[0], side * n[1]))
            self._phi0 = float(np.arctan2(side * R[0, 2], -side * R[1, 2]))

    @property
    def nutation_range(self) -> tuple[float, float]:
        """The smallest and the largest angle between the third axis and space z."""
        if self._free is not None:
            return _inclinations(self._free)
        low, high = (
            2 * np.arctan2(np.sqrt(self._above2), np.sqrt(2 - self._above2)),
            2 * np.arctan2(np.sqrt(self._above), np.sqrt(self._below)),
        )
        return (float(low), float(high)) if self.torque > 0 else (float(np.pi - high), float(np.pi - low))

    @property
    def nutation_period(self) -> float:
        """After this time the inclination returns; infinite for motions that approach the vertical, and without nutation."""
        return np.inf if self._free is not None or self._span == 0 else 2 * quarter_period(self._m1) / self._speed

    @property
    def precession_rate(self) -> float:
        """The mean of phi' over a nutation, in rad/s: of the precession of the third axis about space z."""
        if self._free is not None or self._m1 == 0:
            raise ValueError("HeavyTop: without a torque, asleep, or on the way to the vertical, a top has no mean precession")
        period = self.nutation_period if self._span > 0 else 1.0
        phi, _ = self._angles(np.array([0.0, period]))
        return float((phi[1] - phi[0]) / period)

    def axis(self, t: ArrayLike) -> Array:
        """The third body axis in space; shape (..., 3) for t of any shape."""
        return self.rotation(t)[..., :, 2]

    def nutation(self, t: ArrayLike) -> Array:
        """The angle between the third axis and space z."""
        a = self.axis(t)
        return np.asarray(np.arctan2(np.hypot(a[..., 0], a[..., 1]), a[..., 2]))

    def rotation(self, t: ArrayLike) -> Array:
        """R, body to space; shape (..., 3, 3)."""
        t = times(t)
        if self._free is not None:
            return self._free.rotation(t)
        sin_half, cos_half = self._half_angles(self._phase(t))
        theta = 2 * np.arctan2(sin_half, cos_half)
        phi, psi = self._angles(t)
        R = steady_rotation((0, 0, 1), phi) @ steady_rotation((1, 0, 0), theta) @ steady_rotation((0, 0, 1), psi)
        return np.asarray(R @ self._flip)

    def omega(self, t: ArrayLike) -> Array:
        """W in body axes; shape (..., 3)."""
        t = times(t)
        if self._free is not None:
            return self._free.omega(t)
        j = self._phase(t)
        s, c = self._half_angles(j)
        _, psi = self._angles(t)
        # phi' sin(theta), with sin(theta) = 2 s c, 1 - z = 2 s^2, 1 + z = 2 c^2; and theta' = -z' / sin(theta)
        along = ((self._minus * c / s if self._minus else 0 * s) + (self._plus * s / c if self._plus else 0 * s)) / (2 * self.J1)
        across = -self._speed * self._span * self._slope(j, s, c)
        W = np.stack([
            across * np.cos(psi) + along * np.sin(psi),
            -across * np.sin(psi) + along * np.cos(psi),
            np.full(t.shape, self._W[2]),
        ], axis=-1)  # fmt: skip
        return np.asarray(W @ self._flip)

    def _slope(self, j: Jacobi, s: Array, c: Array) -> Array:
        """2 sn cn dn / sin(theta), where sn or cn may be a factor of sin(theta)."""
        top, bottom = j.dn, np.ones_like(s)
        if self._over:
            bottom = bottom * np.sqrt(self._above / 2)
        else:
            top, bottom = top * j.cn, bottom * s
        if self._plus:
            top, bottom = top * j.sn, bottom * c
        else:
            bottom = bottom * np.sqrt(self._span / 2)
        return np.asarray(top / bottom)

    def _phase(self, t: Array) -> Jacobi:
        return jacobi(self._speed * t + self._u0, self._m1)

    def _half_angles(self, j: Jacobi) -> tuple[Array, Array]:
        """sin(theta/2) and cos(theta/2); with a sign where the motion goes through the vertical."""
        s = np.sqrt(self._above / 2) * j.cn if self._over else np.sqrt((self._above2 + self._span * j.cn**2) / 2)
        c = np.sqrt((self._below + self._span * j.sn**2) / 2) if self._plus else np.sqrt(self._span / 2) * j.sn
        return s, c

    def _angles(self, t: Array) -> tuple[Array, Array]:
        """phi and psi."""
        j = self._phase(t)
        minus, plus = np.zeros_like(t), np.zeros_like(t)
        if self._minus:
            Pi = self._third(j, self._n_minus, self._above2 / self._above)
            minus = self._minus / (2 * self.J1 * self._above) * Pi / self._speed
        if self._plus:
            Pi = self._third(j, self._n_plus, (self._below + self._span) / self._below)
            plus = self._plus / (2 * self.J1 * self._below) * Pi / self._speed
        drift = self._W[2] - self._p_psi / self.J1
        return self._phi0 + minus + plus, self._psi0 + drift * t + plus - minus

    def _third(self, j: Jacobi, n: float, rest: float) -> Array:
        """The integral of the third kind, from the start."""
        return third_kind(n, j, self._m1, rest) - third_kind(n, self._phase(np.zeros(())), self._m1, rest)


def _roots(a: Any, b: Any, c: Any, d: Any) -> list[Any]:
    """The roots of a z^3 + b z^2 + c z + d, all real, in rising order, by the cosine of a third of an angle."""
    import mpmath as mp

    shift = -b / (3 * a)
    p, q = c / a - b * b / (3 * a * a), 2 * b**3 / (27 * a**3) - b * c / (3 * a * a) + d / a
    size = 2 * mp.sqrt(max(-p / 3, mp.mpf(0)))
    ratio = 3 * q / (p * size) if p and size else mp.mpf(0)
    third = mp.acos(max(mp.mpf(-1), min(mp.mpf(1), ratio))) / 3
    return sorted(shift + size * mp.cos(third - 2 * mp.pi * k / 3) for k in range(3))


def _inclinations(free: FreeBody) -> tuple[float, float]:
    """The smallest and the largest inclination of the third axis of a symmetric free body: it goes round the momentum."""
    L, a = free.momentum, free.rotation(0.0)[:, 2]
    size = np.linalg.norm(L)
    axis = L / size if size else a
    cone = float(np.arctan2(np.linalg.norm(np.cross(axis, a)), axis @ a))
    tilt = float(np.arctan2(np.hypot(axis[0], axis[1]), axis[2]))
    return abs(tilt - cone), min(tilt + cone, 2 * np.pi - tilt - cone)
