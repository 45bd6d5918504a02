r"""The linear oscillator with damping and a harmonic force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.exact.checks import number, times

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class DampedOscillator:
    r"""The motion of m x'' + c x' + k x = F cos(Omega t + phase) from x(0), x'(0), whatever the damping, at resonance, too.

    ``mass``, ``damping``, ``stiffness``: m > 0, c, k. ``position``, ``velocity``: at t = 0. ``force``, ``frequency``, ``phase``: F, Omega
    in rad/s, and the phase in rad (a sine force has the phase -pi/2).

    With the roots r, s of m z^2 + c z + k and :math:`e[\dots]` the divided differences of :math:`z \mapsto e^{zt}`,

    .. math:: x = x(0)\,(e[r] - r\,e[r, s]) + x'(0)\,e[r, s] + \frac Fm\,\mathrm{Re}\bigl(e^{i\,phase}\, e[r, s, i\Omega]\bigr) .

    They have no singularity where roots coincide: critical damping and resonance are no special cases.

    >>> critical = DampedOscillator(damping=2.0, position=1.0)
    >>> critical.kind, float(critical.position_at(1.0).round(9))
    ('critically damped', 0.735758882)
    """

    mass: float = 1.0
    damping: float = 0.0
    stiffness: float = 1.0
    position: float = 0.0
    velocity: float = 0.0
    force: float = 0.0
    frequency: float = 0.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        for name in ("damping", "stiffness", "position", "velocity", "force", "frequency", "phase"):
            number(getattr(self, name), f"DampedOscillator: {name}")
        number(self.mass, "DampedOscillator: mass", positive=True)

    @property
    def roots(self) -> tuple[complex, complex]:
        """r and s; the one smaller in size first, if they are real."""
        m, c, k = self.mass, self.damping, self.stiffness
        d = complex(c * c - 4 * m * k) ** 0.5
        if d.imag:
            return complex(-c, d.imag) / (2 * m), complex(-c, -d.imag) / (2 * m)
        # The larger root first, the other from their product: nothing cancels.
        large = -(c + np.copysign(d.real, c)) / (2 * m)
        return complex(k / (m * large) if large else 0.0), complex(large)

    @property
    def kind(self) -> str:
        """Undamped, underdamped, critically damped or overdamped."""
        d = self.damping**2 - 4 * self.mass * self.stiffness
        if self.damping == 0:
            return "undamped"
        return "underdamped" if d < 0 else "critically damped" if d == 0 else "overdamped"

    def position_at(self, t: ArrayLike) -> Array:
        """x, of the shape of t."""
        return self._motion(t)[0]

    def velocity_at(self, t: ArrayLike) -> Array:
        """x'."""
        return self._motion(t)[1]

    def acceleration_at(self, t: ArrayLike) -> Array:
        """x'', from the equation of motion."""
        x, v = self._motion(t)
        F = self.force * np.cos(self.frequency * times(t) + self.phase)
        return np.asarray((F - self.damping * v - self.stiffness * x) / self.mass)

    def _motion(self, t: ArrayLike) -> tuple[Array, Array]:
        t = times(t)
        r, s = self.roots
        f = self.force / self.mass * np.exp(1j * self.phase)
        er, ers = np.exp(r * t), _two(r, s, t)
        x = self.position * (er - r * ers) + self.velocity * ers
        # e[r, s]' = e[s] + r e[r, s]: the derivative of a divided difference is one of z e^{zt}
        v = self.position * (-r * s) * ers + self.velocity * (np.exp(s * t) + r * ers)
        if f:
            w = 1j * self.frequency
            x, v = x + f * _three(r, s, w, t), v + f * (_two(s, w, t) + r * _three(r, s, w, t))
        return np.asarray(x.real), np.asarray(v.real)


def _two(a: complex, b: complex, t: Array) -> Complex:
    """(e^{at} - e^{bt}) / (a - b): e^{(a+b)t/2} t sinh(z)/z with z = (a - b) t / 2, if z is small."""
    z = (a - b) * t / 2
    near = np.abs(z) < 1
    inside = np.where(near & (z != 0), z, 1)
    small = np.exp((a + b) * t / 2) * t * np.where(z == 0, 1, np.sinh(inside) / inside)
    return np.asarray(np.where(near, small, (np.exp(a * t) - np.exp(b * t)) / (a - b if a != b else 1)))


def _three(a: complex, b: complex, c: complex, t: Array) -> Complex:
    """The second divided difference, over the two points farthest apart."""
    a, b, c = max(((a, b, c), (b, c, a), (c, a, b)), key=lambda p: abs(p[0] - p[2]))
    return np.asarray(t**2 / 2 * np.exp(a * t) if a == c else (_two(a, b, t) - _two(b, c, t)) / (a - c))
