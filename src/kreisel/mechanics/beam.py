r"""Geometrically exact beams on a staggered grid (Hante, 4.2).

Nodes carry a frame each, third axis along the beam; between them the strain is constant:

.. math::

   w_{m-1/2} = \frac{1}{\Delta s}\log(q_{m-1}^{-1} q_m), \qquad
   U = \sum \frac{\Delta s}{2} (w - w^*)^T C (w - w^*), \qquad \Phi = \Delta s\,\Psi(w), \qquad
   g = C (w - w^*) + 2 V \dot w + \Psi'(w)^T\lambda,

with :math:`w = (K, \Gamma)`: curvatures and twist, shears and stretch, in the axes of the section; :math:`w^* = (0, 0, 0, 0, 0, 1)` for a
straight beam without stress. The scheme knows circles and helices exactly, so it does not lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SE3, Group
from kreisel.mechanics.curve import Curve, poses, straight
from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import History, vector
from kreisel.mechanics.frame import Relative
from kreisel.mechanics.joints import Spherical
from kreisel.mechanics.section import Section
from kreisel.mechanics.structure import Host, Structure, bodies_and_offsets

if TYPE_CHECKING:
    from kreisel.mechanics.mechanism import Mechanism

Array = NDArray[np.float64]
#: A column of constraints from the strains w and w*, both (6,).
Internal = Callable[[ca.SX, ca.SX], ca.SX]

#: Strains that a beam may keep fixed: no shear; neither shear nor stretch.
VARIANTS: dict[str, Internal | None] = {
    "cosserat": None,
    "kirchhoff": lambda w, rest: w[3:5] - rest[3:5],
    "inextensible": lambda w, rest: w[3:] - rest[3:],
}


class Segment(Element):
    """The elastic energy between two points of a beam: ds/2 (w - w*) . C (w - w*)."""

    pairs = ((0, 1),)

    def __init__(self, name: str, places: Sequence[Any], ds: float, rest: Array, numbers: dict[str, Array]) -> None:
        bodies, offsets = bodies_and_offsets(list(places))
        super().__init__(name, *bodies)
        self.parameters = {"ds": np.array([ds]), "rest": rest, **numbers, **offsets}

    def strain(self, p: SimpleNamespace, motion: Relative) -> ca.SX:
        return motion.d / p.ds

    def potential(self, p: SimpleNamespace, t: ca.SX, motion: Relative) -> ca.SX:
        e = self.strain(p, motion) - p.rest
        return p.ds / 2 * ca.dot(p.stiffness, e**2)


class Viscosity(Segment):
    """Kelvin-Voigt damping between two points of a beam: section forces 2 V w' (Hante, Remark 4.3)."""

    dissipative = True
    potential = None  # type: ignore[assignment]

    def power(self, p: SimpleNamespace, t: ca.SX, motion: list[Relative], virtual: list[Relative]) -> ca.SX:
        return -2 / p.ds * ca.dot(p.viscosity * motion[0].rate, virtual[0].rate)


class InternalConstraint(Segment):
    """Strains that are kept fixed between two points of a beam: ds Psi(w) = 0."""

    potential = None  # type: ignore[assignment]

    def __init__(self, name: str, places: Sequence[Any], ds: float, rest: Array, internal: Internal) -> None:
        super().__init__(name, places, ds, rest, {})
        self.internal = internal

    def signature(self) -> Any:
        return super().signature(), id(self.internal)

    def constraint(self, p: SimpleNamespace, t: ca.SX, motion: Relative) -> ca.SX:
        return p.ds * self.internal(self.strain(p, motion), p.rest)


class Beam(Structure):
    """A beam. Made by :meth:`Mechanism.beam`, which says what the arguments mean."""

    kind = "beam"

    def __init__(
        self,
        mechanism: Mechanism,
        name: str,
        length: float,
        segments: int | ArrayLike,
        section: Section,
        curve: Curve | Callable[[float], Any] | None = None,
        variant: str | Internal = "cosserat",
        start: str = "free",
        end: str = "free",
        closed: bool = False,
        precurvature: ArrayLike | Callable[[float], ArrayLike] | None = None,
        prestrain: ArrayLike | Callable[[float], ArrayLike] | None = None,
        viscosity: float | ArrayLike = 0.0,
        omega: ArrayLike = (0, 0, 0),
        velocity: ArrayLike = (0, 0, 0),
    ) -> None:
        self.mechanism, self.name, self.section, self.closed = mechanism, name, section, closed
        self.s = self._grid(length, segments)
        self.length = float(length)
        if not isinstance(section, Section):
            raise TypeError(f"beam '{name}': section must be a kr.Section, got {section!r}")
        if problem := section.problem():
            raise ValueError(f"beam '{name}': {problem}")
        if isinstance(variant, str) and variant not in VARIANTS:
            raise ValueError(f"beam '{name}': variant must be one of {', '.join(VARIANTS)} or a function of the strains, got '{variant}'")
        self.variant = variant
        self.internal = VARIANTS[variant] if isinstance(variant, str) else variant
        self.viscosity = np.broadcast_to(np.asarray(viscosity, dtype=float), 6).copy()
        if not np.all(self.viscosity >= 0):
            raise ValueError(f"beam '{name}': the viscosity must not be negative, got {viscosity!r}")
        self.poses = poses(straight() if curve is None else curve, self.s, f"beam '{name}'")
        self.points = [f"{name}[{m}]" for m in range(len(self.s))]
        self.rest = self._rest(precurvature, prestrain)
        ds = np.diff(self.s)
        share = np.zeros(len(self.s))
        share[:-1] += ds / 2
        share[1:] += ds / 2
        self.masses = share[:, None, None] * section.mass_matrix
        self.twists = self._rigid_motion(omega, velocity)
        self.hosts = [Host(p) for p in self.points]
        if closed:
            if (start, end) != ("free", "free"):
                raise ValueError(f"beam '{name}': a closed beam has no ends to hold")
            end = self.points[0]
        for index, held in ((0, start), (-1, end)):
            self._hold(index, held)

    # Describing it

    def _grid(self, length: float, segments: int | ArrayLike) -> Array:
        if not (np.isfinite(length) and length > 0):
            raise ValueError(f"beam '{self.name}': the length must be positive, got {length}")
        if isinstance(segments, int | np.integer):
            if segments < 1:
                raise ValueError(f"beam '{self.name}': there must be at least one segment, got {segments}")
            return np.linspace(0.0, length, int(segments) + 1)
        s = np.array(segments, dtype=float)
        if s.ndim != 1 or len(s) < 2 or s[0] != 0 or abs(s[-1] - length) > 1e-12 * length or not np.all(np.diff(s) > 0):
            raise ValueError(f"beam '{self.name}': segments must be a number, or a grid that increases from 0 to the length {length}")
        return s

    def _rest(self, precurvature: Any, prestrain: Any) -> Array:
        """Strains without stress, per segment: those of the initial curve, unless others are given."""
        if precurvature is None and prestrain is None:
            return np.asarray(SE3.difference(self.poses[:-1], self.poses[1:])) / np.diff(self.s)[:, None]
        rest = np.tile([0.0, 0, 0, 0, 0, 1], (len(self.s) - 1, 1))
        for part, given, what in ((slice(0, 3), precurvature, "precurvature"), (slice(3, 6), prestrain, "prestrain")):
            if given is not None:
                for m, middle in enumerate((self.s[1:] + self.s[:-1]) / 2):
                    rest[m, part] += vector(given(float(middle)) if callable(given) else given, f"beam '{self.name}': {what}")
        return rest

    def _hold(self, index: int, held: str) -> None:
        pose = self.poses[index]
        if held == "clamped":
            self.hosts[index] = Host(None, pose)
        elif held == "pinned":
            which = "start" if index == 0 else "end"
            self.mechanism.joint(Spherical("ground", self.points[index], at_a=pose[9:], name=f"{self.name}: pin at the {which}"))
        elif held != "free":
            carrier = self.poses[self.points.index(held)] if held in self.points else self.mechanism.pose(held, f"beam '{self.name}'")
            offset = np.asarray(SE3.compose(SE3.inverse(carrier), pose))
            if self.closed and np.abs(offset - SE3.identity()).max() > 1e-9:
                raise ValueError(f"beam '{self.name}': the initial curve of a closed beam must end where it begins, with the same frame")
            self.hosts[index] = Host(held, offset)

    @property
    def start(self) -> str:
        """The name of the node at s = 0."""
        return self.node(0)

    @property
    def end(self) -> str:
        """The name of the node at the end."""
        return self.node(-1)

    def load(
        self,
        force: ArrayLike = (0, 0, 0),
        moment: ArrayLike = (0, 0, 0),
        at: float | None = None,
        axes: str = "space",
        history: History | None = None,
        name: str = "",
    ) -> None:
        """Adds a load: at the arc length ``at``, or else all along the beam.

        At a point: ``force`` and ``moment``, between nodes split linearly. All along: per length, constant, a function of s, or given
        per segment and already integrated, as an array (segments, 3). ``axes``: "space" (dead load) or "body" (follows the section). What
        meets the ground goes into it. ``history``: a factor over time.

        >>> import kreisel as kr
        >>> m = kr.Mechanism()
        >>> rod = m.beam("rod", 1.0, 4, kr.Section.circle(0.01, E=70e9, nu=0.3, rho=2700), start="clamped")
        >>> rod.load(force=(0, -5, 0), at=1.0)
        >>> rod.load(force=lambda s: (0, 0, -2 * s), name="wind")
        """
        name = name or self._load_name()
        what = f"beam '{self.name}', {name}"
        if at is None:
            forces, moments = (self._spread(a, f"{what}: {k}") for a, k in ((force, "force"), (moment, "moment")))
        else:
            if not 0 <= at <= self.length:
                raise ValueError(f"{what}: s = {at} lies outside the beam, [0, {self.length}]")
            weights = np.array([np.interp(at, self.s, row) for row in np.eye(len(self.s))])
            forces, moments = (np.outer(weights, vector(a, f"{what}: {k}")) for a, k in ((force, "force"), (moment, "moment")))
        self._apply(forces, moments, axes, history, name)

    def _spread(self, given: Any, what: str) -> Array:
        """Loads of the nodes from a density, by the weights of linear interpolation."""
        out, ds = np.zeros((len(self.s), 3)), np.diff(self.s)
        if callable(given):
            # Gauss: exact for densities up to degree 8.
            points, weights = np.polynomial.legendre.leggauss(5)
            for m, h in enumerate(ds):
                for u, w in zip((points + 1) / 2, weights / 2, strict=True):
                    F = vector(given(float(self.s[m] + u * h)), what) * w * h
                    out[m] += (1 - u) * F
                    out[m + 1] += u * F
            return out
        F = np.array(given, dtype=float)
        if F.shape != (len(ds), 3):
            F = ds[:, None] * vector(given, what)
        elif not np.all(np.isfinite(F)):
            raise ValueError(f"{what} must be finite")
        out[:-1] += F / 2
        out[1:] += F / 2
        return out

    # Realising it

    def connections(self, group: Group, places: list[tuple[str, Array | None]], q: Array) -> list[Element]:
        elements: list[Element] = []
        stiffness = {"stiffness": self.section.stiffness}
        for m, ds in enumerate(np.diff(self.s)):
            ends, rest = places[m : m + 2], self.rest[m]
            if all(body == "ground" for body, _ in ends):
                continue
            elements.append(Segment(f"{self.name}: segment {m}", ends, ds, rest, stiffness))
            if np.any(self.viscosity):
                elements.append(Viscosity(f"{self.name}: viscosity {m}", ends, ds, rest, {"viscosity": self.viscosity}))
            if self.internal is not None:
                elements.append(InternalConstraint(f"{self.name}: constraint {m}", ends, ds, rest, self.internal))
        return elements
