r"""The simple pendulum, swinging, turning over, and in between."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.exact.checks import number, times
from kreisel.exact.elliptic import Jacobi, first_kind, jacobi, quarter_period

Array = NDArray[np.float64]


class Pendulum:
    r"""The motion of theta'' = -w^2 sin theta, from theta(0) = ``angle`` and theta'(0) = ``rate``; w = ``frequency`` = sqrt(g/l) in rad/s.

    With the energy k^2 = sin^2(theta/2) + (theta'/2w)^2, as a share of that of the upright position,

    .. math:: k < 1:\quad \sin\tfrac\theta2 = k\,\mathrm{sn}(wt + u_0 \mid k^2), \qquad\qquad
              k > 1:\quad \tfrac\theta2 = \pm\mathrm{am}(k\,wt + u_0 \mid k^{-2}) .

    k = 1 is the motion that ends upright. The angle is not wrapped: it counts the turns.

    >>> p = Pendulum(angle=np.pi / 2)
    >>> round(p.period, 9), p.angle(p.period / 4).round(12) + 0.0
    (7.416298709, np.float64(0.0))
    """

    def __init__(self, angle: float = 0.0, rate: float = 0.0, frequency: float = 1.0) -> None:
        self.w = number(frequency, "Pendulum: frequency", positive=True)
        angle, rate = number(angle, "Pendulum: angle"), number(rate, "Pendulum: rate")
        self._turns = float(np.round(angle / (2 * np.pi)))
        half = angle / 2 - np.pi * self._turns  # within a quarter turn of hanging
        s, c, r = np.sin(half), np.cos(half), rate / (2 * self.w)
        self.k = float(np.hypot(s, r))
        above = float((r - c) * (r + c))  # k^2 - 1
        # The number next to pi is upright, too.
        self._upright = bool(r == 0 and c < 1e-16)
        self.swings = above < 0 and not self._upright
        if self._upright:
            self._m1, self._speed, self._sign, self._u0 = 0.0, self.w, float(np.copysign(1.0, s)), 0.0
        elif self.swings:
            self._m1, self._speed = -above, self.w
            # Moving forward: cn > 0.
            self._sign = -1.0 if r < 0 else 1.0
            self._u0 = first_kind(self._sign * s / self.k, abs(r) / self.k, self._m1) if self.k > 0 else 0.0
        else:
            self._m1, self._speed = above / self.k**2, self.k * self.w
            self._sign = -1.0 if r < 0 else 1.0
            self._u0 = first_kind(self._sign * s, c, self._m1)

    @property
    def period(self) -> float:
        """Of a swing there and back, or of a full turn; infinite if the motion ends upright."""
        if self._m1 == 0:
            return np.inf
        return (4 if self.swings else 2) * quarter_period(self._m1) / self._speed

    @property
    def amplitude(self) -> float:
        """The largest angle of a swing from hanging; infinite if the pendulum turns over."""
        return float(2 * np.arctan2(self.k, np.sqrt(self._m1))) if self.swings else np.inf

    def angle(self, t: ArrayLike) -> Array:
        """theta in rad, zero when hanging; of the shape of t."""
        j = self._jacobi(t)
        half = np.arctan2(self.k * j.sn, j.dn) if self.swings else j.am
        return np.asarray(self._sign * 2 * half + 2 * np.pi * self._turns)

    def rate(self, t: ArrayLike) -> Array:
        """theta' in rad/s."""
        j = self._jacobi(t)
        if self._upright:
            return np.zeros_like(j.cn)
        return np.asarray(self._sign * 2 * self.w * self.k * (j.cn if self.swings else j.dn))

    def _jacobi(self, t: ArrayLike) -> Jacobi:
        t = times(t)
        if self._upright:
            return Jacobi(*(np.full(t.shape, x) for x in (0.0, 0.0, np.pi / 2, 1.0, 0.0, 0.0)))
        return jacobi(self._speed * t + self._u0, self._m1)
