r"""Mass, centre and inertia of bodies: simple solids, point masses, and whatever is put together from them.

.. math:: J = \int (|X|^2 I - X X^T)\,dm = -\int \tilde X \tilde X\,dm

Momentum, kinetic energy and the equations of motion that belong to them, in space and in body axes. Source: Sadlowski, section 3.

>>> from kreisel import inertia
>>> hammer = inertia.cylinder(0.02, 0.3, density=700) + inertia.box((0.1, 0.03, 0.03), density=7850).moved((0, 0, 0.15))
>>> round(hammer.mass, 4), hammer.centre.round(4)
(0.9704, array([0.    , 0.    , 0.1092]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SO3

Array = NDArray[np.float64]
#: A force or torque in space axes, from the time, the position of the centre of mass and the rotation matrix.
Load = Callable[[float, Array, Array], ArrayLike]


@dataclass(frozen=True, eq=False)
class MassProperties:
    """``mass``, ``centre`` of mass (3,) and ``inertia`` (3, 3) about it, in the axes of the body's frame. SI units.

    Bodies are added (and holes subtracted): ``a + b``, ``sum(parts)``. For a mechanism, whose frames sit at the centre of mass:
    ``m.body(name, mass=b.mass, inertia=b.inertia)``.
    """

    mass: float
    centre: Array
    inertia: Array

    def about(self, point: ArrayLike) -> Array:
        """The inertia about another point, by the parallel-axis theorem: J + m (|s|^2 I - s s^T), s from there to the centre.

        >>> cylinder(1.0, 2.0, mass=3.0).about((0, 0, 1)).diagonal()
        array([4.75, 4.75, 1.5 ])
        """
        return self.inertia + self.mass * _square(self.centre - _vector(point, "point"))

    def moved(self, by: ArrayLike) -> MassProperties:
        """The body shifted in its frame."""
        return MassProperties(self.mass, self.centre + _vector(by, "by"), self.inertia)

    def turned(self, R: ArrayLike) -> MassProperties:
        """The body turned about the origin of its frame by the rotation matrix R: centre R s, inertia R J R^T."""
        R = np.asarray(SO3.matrix(SO3.from_matrix(R)))
        return MassProperties(self.mass, R @ self.centre, R @ self.inertia @ R.T)

    def principal(self) -> tuple[Array, Array]:
        """The principal moments about the centre, in rising order, and a right-handed matrix whose columns are their axes."""
        moments, axes = np.linalg.eigh(self.inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        return moments, axes

    def __add__(self, other: MassProperties) -> MassProperties:
        return self._joined(other, 1)

    def __sub__(self, other: MassProperties) -> MassProperties:
        return self._joined(other, -1)

    def __radd__(self, zero: int) -> MassProperties:
        return self if zero == 0 else NotImplemented  # for sum()

    def _joined(self, other: MassProperties, sign: int) -> MassProperties:
        if not isinstance(other, MassProperties):
            return NotImplemented
        mass = self.mass + sign * other.mass
        if mass <= 0:
            raise ValueError(f"nothing is left: a mass of {self.mass:.6g} without {other.mass:.6g}")
        centre = (self.mass * self.centre + sign * other.mass * other.centre) / mass
        return MassProperties(mass, centre, self.about(centre) + sign * other.about(centre))

    # Of a motion: R body to space; omega in "space" or "body" axes.

    def spatial(self, R: ArrayLike) -> Array:
        """The inertia about the centre in space axes, R J R^T (3.26). Shapes (..., 3, 3)."""
        R = np.asarray(R, dtype=float)
        return np.asarray(R @ self.inertia @ np.swapaxes(R, -1, -2))

    def momentum(self, velocity: ArrayLike) -> Array:
        """The linear momentum m v (3.17), v of the centre of mass."""
        return self.mass * np.asarray(velocity, dtype=float)

    def angular_momentum(self, omega: ArrayLike, R: ArrayLike | None = None) -> Array:
        """About the centre. Body axes: J W (3.28). With a rotation matrix R, for omega in space axes: R J R^T w (3.23). Shape (..., 3)."""
        return _times(self.inertia if R is None else self.spatial(R), omega)

    def kinetic_energy(self, omega: ArrayLike, velocity: ArrayLike = (0, 0, 0), R: ArrayLike | None = None) -> Array:
        """m v^2 / 2 + omega . J omega / 2 (3.51)-(3.58), omega in body axes, or with R in space axes. Shape (...)."""
        omega, v = np.asarray(omega, dtype=float), np.asarray(velocity, dtype=float)
        spin = np.sum(omega * self.angular_momentum(omega, R), axis=-1)
        return np.asarray((self.mass * np.sum(v * v, axis=-1) + spin) / 2)

    def angular_acceleration(self, omega: ArrayLike, torque: ArrayLike = (0, 0, 0), R: ArrayLike | None = None) -> Array:
        """Euler's equation J A + W x J W = M (3.49), (4.51): all in body axes, or with R all in space axes. Shape (..., 3)."""
        omega = np.asarray(omega, dtype=float)
        J = self.inertia if R is None else self.spatial(R)
        M = np.asarray(torque, dtype=float) - np.cross(omega, _times(J, omega))
        return np.asarray(np.linalg.solve(np.broadcast_to(J, (*M.shape, 3)), M[..., None])[..., 0])

    def equations_of_motion(
        self, force: Load | None = None, torque: Load | None = None, frame: str = "body"
    ) -> Callable[[float, ArrayLike], Array]:
        """The equations of motion as a first-order system y' = f(t, y), for any solver of ordinary differential equations (3.33)-(3.50).

        y = (x, R row by row, v, omega), 18 numbers: position and velocity of the centre of mass in space axes; omega in "body" axes,
        R' = R W~, J W' + W x J W = R^T m, or in "space" axes, R' = w~ R, I w' + w x I w = m, I = R J R^T. ``force`` and ``torque``
        (about the centre) are functions of t, x and R, in space axes.

        >>> f = sphere(1.0, mass=2.0).equations_of_motion(force=lambda t, x, R: (0, 0, -9.81 * 2))
        >>> f(0.0, [0, 0, 0, *np.eye(3).ravel(), 1, 0, 0, 0, 0, 3])[12:15]
        array([ 0.  ,  0.  , -9.81])
        """
        if frame not in ("space", "body"):
            raise ValueError(f"equations_of_motion: frame must be 'space' or 'body', got {frame!r}")

        def rate(t: float, y: ArrayLike) -> Array:
            y = np.asarray(y, dtype=float)
            x, R, v, omega = y[:3], y[3:12].reshape(3, 3), y[12:15], y[15:]
            F = np.zeros(3) if force is None else np.asarray(force(t, x, R), dtype=float)
            m = np.zeros(3) if torque is None else np.asarray(torque(t, x, R), dtype=float)
            if frame == "body":
                turn, a = np.cross(omega, -R).ravel(), self.angular_acceleration(omega, R.T @ m)
            else:
                turn, a = np.cross(omega, R.T).T.ravel(), self.angular_acceleration(omega, m, R)
            return np.concatenate([v, turn, F / self.mass, a])

        return rate


def points(masses: ArrayLike, positions: ArrayLike) -> MassProperties:
    """Point masses: masses (n,), positions (n, 3)."""
    m, X = np.atleast_1d(np.asarray(masses, dtype=float)), np.atleast_2d(np.asarray(positions, dtype=float))
    if X.shape != (len(m), 3) or not np.all(np.isfinite(X)):
        raise ValueError(f"points: positions must be finite numbers of shape ({len(m)}, 3), got {X.shape}")
    if not np.all(np.isfinite(m)) or np.any(m < 0) or m.sum() <= 0:
        raise ValueError("points: masses must not be negative, and not all zero")
    centre = m @ X / m.sum()
    return MassProperties(float(m.sum()), centre, np.tensordot(m, _square(X - centre), 1))


def box(lengths: ArrayLike, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """A box with the given edges along the three axes, its centre at the origin. Give mass or density."""
    a = _vector(lengths, "lengths")
    _positive(lengths=a.min())
    m = _mass("box", mass, density, float(a.prod()))
    return _solid(m, 0.0, m / 12 * (a @ a - a**2))


def cylinder(
    radius: float, length: float, *, inner: float = 0.0, mass: float | None = None, density: float | None = None
) -> MassProperties:
    """A cylinder along the third axis, its centre at the origin; a tube with the radius ``inner``. Give mass or density."""
    _positive(radius=radius, length=length)
    if not 0 <= inner < radius:
        raise ValueError(f"cylinder: the inner radius must lie between 0 and the radius {radius}, got {inner}")
    m = _mass("cylinder", mass, density, np.pi * (radius**2 - inner**2) * length)
    r2 = radius**2 + inner**2
    return _solid(m, 0.0, m * np.array([r2 / 4 + length**2 / 12, r2 / 4 + length**2 / 12, r2 / 2]))


def cone(radius: float, height: float, *, mass: float | None = None, density: float | None = None) -> MassProperties:
    """A cone along the third axis with its tip at the origin, like a top; the centre of mass is at 3/4 of the height."""
    _positive(radius=radius, height=height)
    m = _mass("cone", mass, density, np.pi / 3 * radius**2 * height)
    across = 3 / 20 * radius**2 + 3 / 80 * height**2
    return _solid(m, 0.75 * height, m * np.array([across, across, 3 / 10 * radius**2]))


def sphere(radius: float, *, inner: float = 0.0, mass: float | None = None, density: float | None = None) -> MassProperties:
    """A sphere about the origin; hollow with the radius ``inner``. Give mass or density."""
    _positive(radius=radius)
    if not 0 <= inner < radius:
        raise ValueError(f"sphere: the inner radius must lie between 0 and the radius {radius}, got {inner}")
    m = _mass("sphere", mass, density, 4 / 3 * np.pi * (radius**3 - inner**3))
    return _solid(m, 0.0, np.full(3, 2 / 5 * m * (radius**5 - inner**5) / (radius**3 - inner**3)))


def composite(parts: Sequence[MassProperties]) -> MassProperties:
    """Several bodies as one."""
    if not parts:
        raise ValueError("composite: give at least one part")
    body = parts[0]
    for part in parts[1:]:
        body = body + part
    return body


def _solid(mass: float, height: float, moments: Array) -> MassProperties:
    return MassProperties(mass, np.array([0.0, 0.0, height]), np.diag(moments))


def _square(s: Array) -> Array:
    """|s|^2 I - s s^T; shapes (..., 3) -> (..., 3, 3)."""
    return np.asarray(np.sum(s * s, axis=-1)[..., None, None] * np.eye(3) - s[..., :, None] * s[..., None, :])


def _times(J: Array, omega: ArrayLike) -> Array:
    return np.asarray((J @ np.asarray(omega, dtype=float)[..., None])[..., 0])


def _vector(a: ArrayLike, what: str) -> Array:
    x = np.asarray(a, dtype=float)
    if x.shape != (3,) or not np.all(np.isfinite(x)):
        raise ValueError(f"{what} must be three finite numbers, got {a!r}")
    return x


def _positive(**sizes: float) -> None:
    for name, size in sizes.items():
        if not (np.isfinite(size) and size > 0):
            raise ValueError(f"{name} must be positive, got {size}")


def _mass(solid: str, mass: float | None, density: float | None, volume: float) -> float:
    if (mass is None) == (density is None):
        raise ValueError(f"{solid}: give either the mass or the density")
    m = mass if mass is not None else volume * float(density or 0.0)
    if not (np.isfinite(m) and m > 0):
        raise ValueError(f"{solid}: mass and density must be positive, got a mass of {m}")
    return float(m)
