"""Cross-sections of beams: stiffness and inertia per length, given or from shape and material."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Section:
    """A cross-section in the plane of its first two axes, the third along the beam. SI units.

    ``EI1``, ``EI2``: bending stiffness about axes 1 and 2; ``GI3``: torsional stiffness; ``GA1``, ``GA2``: shear stiffness along axes 1
    and 2, correction included; ``EA``: extensional stiffness. ``mass``: per length. ``inertia``: rotational inertia per length about the
    three axes, rho I1, rho I2, rho I3.

    >>> steel = dict(E=210e9, nu=0.3, rho=7850)
    >>> round(Section.circle(0.01, **steel).EI1, 3)
    1649.336
    """

    EI1: float
    EI2: float
    GI3: float
    GA1: float
    GA2: float
    EA: float
    mass: float
    inertia: tuple[float, float, float]

    @property
    def stiffness(self) -> Array:
        """(EI1, EI2, GI3, GA1, GA2, EA): the diagonal of C (Hante, 4.2.1)."""
        return np.array([self.EI1, self.EI2, self.GI3, self.GA1, self.GA2, self.EA], dtype=float)

    @property
    def mass_matrix(self) -> Array:
        """N = diag(rho I1, rho I2, rho I3, rho A, rho A, rho A), per length."""
        return np.diag([*self.inertia, self.mass, self.mass, self.mass]).astype(float)

    def problem(self) -> str:
        """What is wrong with the numbers; empty if nothing is."""
        for name in ("EI1", "EI2", "GI3", "GA1", "GA2", "EA", "mass"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                return f"{name} must be positive, got {value}"
        J = np.array(self.inertia, dtype=float)
        if J.shape != (3,) or not np.all(np.isfinite(J)) or not np.all(J > 0):
            return f"the inertia per length must be three positive numbers, got {self.inertia}"
        return ""

    @classmethod
    def circle(
        cls, radius: float, E: float, rho: float, nu: float | None = None, G: float | None = None, shear: float | None = None
    ) -> Section:
        """A full circle. Of ``nu`` and ``G`` give one. ``shear``: the correction factor; by default Cowper's 6 (1 + nu) / (7 + 6 nu)."""
        return cls.tube(radius, 0.0, E, rho, nu, G, shear)

    @classmethod
    def tube(
        cls, outer: float, inner: float, E: float, rho: float, nu: float | None = None, G: float | None = None, shear: float | None = None
    ) -> Section:
        """A circular tube between two radii. Shear correction by default: Cowper (1966), thick-walled."""
        if not 0 <= inner < outer:
            raise ValueError(f"a tube needs 0 <= inner < outer radius, got {inner} and {outer}")
        area, I = np.pi * (outer**2 - inner**2), np.pi / 4 * (outer**4 - inner**4)
        nu, G = _elastic(E, nu, G)
        m = (1 + (inner / outer) ** 2) ** 2
        cowper = 6 * (1 + nu) * m / ((7 + 6 * nu) * m + (20 + 12 * nu) * (inner / outer) ** 2)
        return _section(E, G, rho, area, I, I, 2 * I, *([cowper if shear is None else shear] * 2))

    @classmethod
    def rectangle(
        cls, width: float, height: float, E: float, rho: float, nu: float | None = None, G: float | None = None, shear: float | None = None
    ) -> Section:
        """A rectangle, ``width`` along axis 1, ``height`` along axis 2. Shear correction by default Cowper's 10 (1 + nu) / (12 + 11 nu)."""
        if not (width > 0 and height > 0):
            raise ValueError(f"a rectangle needs positive width and height, got {width} and {height}")
        nu, G = _elastic(E, nu, G)
        a, b = max(width, height), min(width, height)
        # Saint-Venant's series; the terms fall like n^-5.
        n = np.arange(1, 60, 2)
        torsion = a * b**3 * (1 / 3 - 64 / np.pi**5 * b / a * np.sum(np.tanh(n * np.pi * a / (2 * b)) / n**5))
        cowper = 10 * (1 + nu) / (12 + 11 * nu)
        I1, I2 = width * height**3 / 12, height * width**3 / 12
        return _section(E, G, rho, width * height, I1, I2, torsion, *([cowper if shear is None else shear] * 2))

    @classmethod
    def I(  # noqa: E743 (the letter is the shape)
        cls,
        width: float,
        height: float,
        flange: float,
        web: float,
        E: float,
        rho: float,
        nu: float | None = None,
        G: float | None = None,
        shear: tuple[float, float] | None = None,
    ) -> Section:
        """An I: two flanges of ``width`` (along axis 1) and thickness ``flange``, a ``web`` between them, ``height`` over all (axis 2).

        Torsion as of thin strips, sum of b t^3 / 3, without warping. Shear by default: along axis 2 the web alone, along axis 1 5/6 of
        the flanges.
        """
        if not (0 < web <= width and 0 < 2 * flange < height):
            raise ValueError(f"an I needs 0 < web <= width and 0 < 2 flange < height, got {width}, {height}, {flange}, {web}")
        nu, G = _elastic(E, nu, G)
        clear = height - 2 * flange
        area = 2 * width * flange + clear * web
        I1 = (width * height**3 - (width - web) * clear**3) / 12
        I2 = (2 * flange * width**3 + clear * web**3) / 12
        torsion = (2 * width * flange**3 + clear * web**3) / 3
        k1, k2 = (5 / 6 * 2 * width * flange / area, clear * web / area) if shear is None else shear
        return _section(E, G, rho, area, I1, I2, torsion, k1, k2)


def _elastic(E: float, nu: float | None, G: float | None) -> tuple[float, float]:
    """Poisson's ratio and shear modulus, from one of them."""
    if (nu is None) == (G is None):
        raise ValueError("of nu and G give one")
    if not E > 0:
        raise ValueError(f"E must be positive, got {E}")
    if G is not None:
        return E / (2 * G) - 1, G
    assert nu is not None
    if not -1 < nu <= 0.5:
        raise ValueError(f"nu must lie in (-1, 1/2], got {nu}")
    return nu, E / (2 * (1 + nu))


def _section(E: float, G: float, rho: float, A: float, I1: float, I2: float, I3: float, k1: float, k2: float) -> Section:
    # The inertia about axis 3 is that of the area, I1 + I2, whatever the torsional stiffness.
    return Section(E * I1, E * I2, G * I3, k1 * G * A, k2 * G * A, E * A, rho * A, (rho * I1, rho * I2, rho * (I1 + I2)))
