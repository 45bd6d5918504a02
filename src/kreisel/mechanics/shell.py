r"""Micropolar shells on a rectangular grid (Hante, appendix D, with its slips corrected).

Every node carries a frame, third axis across the shell. Along the edges of the grid the strains are constant,

.. math:: w^{(1)}_{m_1-1/2,m_2} = \frac{1}{\Delta s_1}\log(q_{m_1-1,m_2}^{-1} q_{m_1,m_2}), \qquad
          w^{(2)}_{m_1,m_2-1/2} = \frac{1}{\Delta s_2}\log(q_{m_1,m_2-1}^{-1} q_{m_1,m_2}),

and with e = w - w^*, means over parallel edges of a cell, and weights chi (1/2 for edges on the boundary, else 1) the energy is

.. math:: U = \Delta s_1\Delta s_2\Bigl(\sum \tfrac{\chi}{2} e_1^T C^{11} e_1 + \sum \tfrac{\chi}{2} e_2^T C^{22} e_2
          + \sum_{cells} \bar e_1^T C^{12} \bar e_2\Bigr).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import SE3, SO3, Group
from kreisel.mechanics.element import Element
from kreisel.mechanics.forces import History, vector
from kreisel.mechanics.frame import Relative
from kreisel.mechanics.structure import Host, Structure, bodies_and_offsets

if TYPE_CHECKING:
    from kreisel.mechanics.mechanism import Mechanism

Array = NDArray[np.float64]

#: Strains of a flat shell without stress: the tangents are the first two axes.
FLAT = np.array([[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]], dtype=float)
EDGES = ("s1=0", "s1=L1", "s2=0", "s2=L2")


@dataclass(frozen=True)
class Layer:
    """What a shell is made of: ``thickness``, ``density`` (mass per volume) and ``stiffness``, the 12 x 12 matrix C of e = (e1, e2).

    SI units. ``Layer.isotropic`` makes the matrix.
    """

    thickness: float
    density: float
    stiffness: Array

    @classmethod
    def isotropic(
        cls,
        thickness: float,
        E: float,
        nu: float,
        rho: float,
        shear: float = 5 / 6,
        coupling: float | None = None,
        drilling: float | None = None,
    ) -> Layer:
        r"""An isotropic shell in plane stress, with D = E h^3 / (12 (1 - nu^2)) and G = E / (2 (1 + nu)).

        With the stretches :math:`\varepsilon_{ij} = \Gamma^{(i)}_j - \delta_{ij}` and the bendings
        :math:`\kappa_{1j} = (K^{(1)}_2, -K^{(1)}_1)`, :math:`\kappa_{2j} = (K^{(2)}_2, -K^{(2)}_1)`, twice the energy per area is

        .. math:: \tfrac{Eh}{1-\nu^2}(\varepsilon_{11}^2 + \varepsilon_{22}^2 + 2\nu\varepsilon_{11}\varepsilon_{22})
           + h [(G + G_c)(\varepsilon_{12}^2 + \varepsilon_{21}^2) + 2 (G - G_c)\varepsilon_{12}\varepsilon_{21}] + \ldots

        and so for the bendings with :math:`h^3/12` instead of h, plus :math:`k G h` times the squared transverse shears and ``drilling``
        times the squared drilling curvatures. ``shear``: k. ``coupling``: :math:`G_c`, how firmly the frames follow the turning of the
        surface in its plane, by default G. ``drilling``: by default :math:`G h^3 / 12`.
        """
        if not (thickness > 0 and E > 0 and rho > 0 and -1 < nu <= 0.5):
            raise ValueError(f"a shell needs positive thickness, E and rho, and -1 < nu <= 1/2, got {thickness}, {E}, {rho}, {nu}")
        h, G = thickness, E / (2 * (1 + nu))
        Gc = G if coupling is None else coupling
        drill = G * h**3 / 12 if drilling is None else drilling
        bend, stretch = E * h**3 / 12 / (1 - nu**2), E * h / (1 - nu**2)
        C = np.zeros((12, 12))
        C[:6, :6] = np.diag([(G + Gc) * h**3 / 12, bend, drill, stretch, (G + Gc) * h, shear * G * h])
        C[6:, 6:] = np.diag([bend, (G + Gc) * h**3 / 12, drill, (G + Gc) * h, stretch, shear * G * h])
        for i, j, c in ((1, 0, -nu * bend), (0, 1, -(G - Gc) * h**3 / 12), (3, 4, nu * stretch), (4, 3, (G - Gc) * h)):
            C[i, 6 + j] = C[6 + j, i] = c
        return cls(thickness, rho, C)

    def problem(self) -> str:
        """What is wrong with the numbers; empty if nothing is."""
        C = np.asarray(self.stiffness, dtype=float)
        if not (self.thickness > 0 and self.density > 0):
            return f"thickness and density must be positive, got {self.thickness} and {self.density}"
        if C.shape != (12, 12) or not np.all(np.isfinite(C)) or not np.allclose(C, C.T, rtol=1e-12, atol=1e-12 * np.abs(C).max()):
            return "the stiffness must be a symmetric 12 x 12 matrix"
        if np.linalg.eigvalsh(C).min() < -1e-12 * np.abs(C).max():
            return f"the stiffness must not be negative, an eigenvalue is {np.linalg.eigvalsh(C).min():.6g}"
        return ""


class Edge(Element):
    """The energy of an edge of the grid: area/2 (w - w*) . C (w - w*), w = d / ds."""

    pairs = ((0, 1),)

    def __init__(self, name: str, places: Sequence[Any], ds: float, area: float, rest: Array, C: Array) -> None:
        bodies, offsets = bodies_and_offsets(list(places))
        super().__init__(name, *bodies)
        self.entries = _pattern(C)
        self.parameters = {"ds": np.array([ds]), "area": np.array([area]), "rest": rest, "C": C[self.entries], **offsets}

    def signature(self) -> Any:
        return super().signature(), self.entries[0].tobytes(), self.entries[1].tobytes()

    def potential(self, p: SimpleNamespace, t: ca.SX, motion: Relative) -> ca.SX:
        e = motion.d / p.ds - p.rest
        return p.area / 2 * _form(p.C, self.entries, e, e)


class Cell(Element):
    """The energy that couples both directions in a cell: area times mean e1 . C12 mean e2. Bodies: (00), (10), (01), (11)."""

    pairs = ((0, 1), (2, 3), (0, 2), (1, 3))

    def __init__(self, name: str, places: Sequence[Any], ds: Array, rest: Array, C: Array) -> None:
        bodies, offsets = bodies_and_offsets(list(places))
        super().__init__(name, *bodies)
        self.entries = _pattern(C)
        self.parameters = {"ds": ds, "rest": rest, "C": C[self.entries], **offsets}

    def signature(self) -> Any:
        return super().signature(), self.entries[0].tobytes(), self.entries[1].tobytes()

    def potential(self, p: SimpleNamespace, t: ca.SX, *motions: Relative) -> ca.SX:
        a, b, c, d = (motion.d for motion in motions)
        e1 = (a + b) / (2 * p.ds[0]) - p.rest[:6]
        e2 = (c + d) / (2 * p.ds[1]) - p.rest[6:]
        return p.ds[0] * p.ds[1] * _form(p.C, self.entries, e1, e2)


def _pattern(C: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    i, j = np.nonzero(C)
    return i.astype(np.int64), j.astype(np.int64)


def _form(C: ca.SX, entries: Any, x: ca.SX, y: ca.SX) -> ca.SX:
    """x . C y, of the entries that are not zero."""
    return sum((C[k] * x[int(i)] * y[int(j)] for k, (i, j) in enumerate(zip(*entries, strict=True))), start=ca.SX(0))


class Shell(Structure):
    """A shell. Made by :meth:`Mechanism.shell`, which says what the arguments mean."""

    kind = "shell"

    def __init__(
        self,
        mechanism: Mechanism,
        name: str,
        lengths: tuple[float, float],
        cells: tuple[int, int],
        layer: Layer,
        surface: Callable[[float, float], Any] | None = None,
        clamped: str | Iterable[str] = (),
        rest: str = "initial",
        omega: ArrayLike = (0, 0, 0),
        velocity: ArrayLike = (0, 0, 0),
    ) -> None:
        self.mechanism, self.name, self.layer = mechanism, name, layer
        L, M = np.array(lengths, dtype=float), np.array(cells)
        if L.shape != (2,) or not (np.all(np.isfinite(L)) and np.all(L > 0)):
            raise ValueError(f"shell '{name}': lengths must be two positive numbers, got {lengths}")
        if M.shape != (2,) or not np.all(M.astype(int) == M) or not np.all(M >= 1):
            raise ValueError(f"shell '{name}': cells must be two whole numbers, at least 1, got {cells}")
        if not isinstance(layer, Layer):
            raise TypeError(f"shell '{name}': layer must be a kr.Layer, got {layer!r}")
        if problem := layer.problem():
            raise ValueError(f"shell '{name}': {problem}")
        self.lengths, self.cells, self.ds = L, (int(M[0]), int(M[1])), L / M
        self.points = [f"{name}[{i},{j}]" for i, j in self._grid()]
        self.poses = self._place(surface)
        self.rest = self._strains() if rest == "initial" else None
        if rest not in ("initial", "flat"):
            raise ValueError(f"shell '{name}': rest must be 'initial' or 'flat', got {rest!r}")
        self.masses = self._masses()
        self.twists = self._rigid_motion(omega, velocity)
        held = self._held([clamped] if isinstance(clamped, str) else list(clamped))
        self.hosts = [Host(None, q) if fixed else Host(p) for p, q, fixed in zip(self.points, self.poses, held, strict=True)]
        if all(held):
            raise ValueError(f"shell '{name}': every node is clamped")

    def _grid(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.cells[0] + 1) for j in range(self.cells[1] + 1)]

    def index(self, i: int, j: int) -> int:
        """The number of the node (i, j), to be used with :meth:`node`."""
        M1, M2 = self.cells
        if not (-M1 - 1 <= i <= M1 and -M2 - 1 <= j <= M2):
            raise ValueError(f"shell '{self.name}' has no node ({i}, {j}); they are (0, 0) to ({M1}, {M2})")
        return (i % (M1 + 1)) * (M2 + 1) + j % (M2 + 1)

    def _before(self, k: int) -> int:
        # Within the first row the point before, from there on the point of the row before: nowhere a jump across the shell.
        return k - 1 if k <= self.cells[1] else k - self.cells[1] - 1

    def _place(self, surface: Callable[[float, float], Any] | None) -> Array:
        poses = []
        for i, j in self._grid():
            s1, s2 = i * self.ds[0], j * self.ds[1]
            x, R = (np.array([s1, s2, 0]), np.eye(3)) if surface is None else surface(float(s1), float(s2))
            R = np.array(R, dtype=float)
            if R.shape != (3, 3) or np.abs(R.T @ R - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
                raise ValueError(f"shell '{self.name}': surface({s1:.6g}, {s2:.6g}) must give a position and a rotation matrix")
            poses.append(np.concatenate([R.ravel(), vector(x, f"shell '{self.name}': surface({s1:.6g}, {s2:.6g})")]))
        q = np.array(poses)
        SO3.inverse(q[:, :9])
        return q

    def _edges(self) -> list[tuple[int, int, int, float]]:
        """All edges: direction, first and second point, weight chi."""
        edges = []
        for i, j in self._grid():
            if i < self.cells[0]:
                edges.append((0, self.index(i, j), self.index(i + 1, j), 0.5 if j in (0, self.cells[1]) else 1.0))
            if j < self.cells[1]:
                edges.append((1, self.index(i, j), self.index(i, j + 1), 0.5 if i in (0, self.cells[0]) else 1.0))
        return edges

    def _strains(self) -> dict[tuple[int, int], Array]:
        """Strains of the initial surface, per edge."""
        out = {}
        for k, a, b, _ in self._edges():
            out[a, b] = np.asarray(SE3.difference(self.poses[a], self.poses[b])) / self.ds[k]
        return out

    def _masses(self) -> Array:
        """Mass matrices of the nodes: those of their rectangles, with an inertia that is not singular (Hante, D.4, times the density)."""
        h, (d1, d2) = self.layer.thickness, self.ds
        rho = self.layer.density * h
        N = np.diag([rho / 12 * (d2**2 + h**2), rho / 12 * (d1**2 + h**2), rho / 12 * (d1**2 + d2**2), rho, rho, rho])
        return np.array([chi * d1 * d2 * N for chi in self._shares()])

    def _shares(self) -> Array:
        """The part of a cell that belongs to each node: 1/4 at corners, 1/2 at edges, 1 inside."""
        M1, M2 = self.cells
        return np.array([(0.5 if i in (0, M1) else 1.0) * (0.5 if j in (0, M2) else 1.0) for i, j in self._grid()])

    def _held(self, clamped: list[str]) -> list[bool]:
        for edge in clamped:
            if edge not in EDGES:
                raise ValueError(f"shell '{self.name}': clamped must name edges out of {', '.join(EDGES)}, got {edge!r}")
        M1, M2 = self.cells
        on = {"s1=0": lambda i, j: i == 0, "s1=L1": lambda i, j: i == M1, "s2=0": lambda i, j: j == 0, "s2=L2": lambda i, j: j == M2}
        return [any(on[edge](i, j) for edge in clamped) for i, j in self._grid()]

    def load(
        self,
        force: ArrayLike = (0, 0, 0),
        moment: ArrayLike = (0, 0, 0),
        at: tuple[int, int] | None = None,
        axes: str = "space",
        history: History | None = None,
        name: str = "",
    ) -> None:
        """Adds a load: at the node ``at``, or else all over the shell, per area. ``axes``: "space", or "body" (a pressure: axis 3)."""
        name = name or self._load_name()
        F, M = (vector(a, f"shell '{self.name}', {name}: {k}") for a, k in ((force, "force"), (moment, "moment")))
        weights = self._shares() * self.ds.prod()
        if at is not None:
            weights = np.zeros(len(self.points))
            weights[self.index(*at)] = 1.0
        self._apply(np.outer(weights, F), np.outer(weights, M), axes, history, name)

    def connections(self, group: Group, places: list[tuple[str, Array | None]], q: Array) -> list[Element]:
        elements: list[Element] = []
        C, area = np.asarray(self.layer.stiffness, dtype=float), float(self.ds.prod())
        blocks = C[:6, :6], C[6:, 6:]

        def rest(k: int, a: int, b: int) -> Array:
            return FLAT[k] if self.rest is None else self.rest[a, b]

        for k, a, b, chi in self._edges():
            ends = [places[a], places[b]]
            if any(body != "ground" for body, _ in ends):
                name = f"{self.name}: edge {self.points[a]} to {self.points[b]}"
                elements.append(Edge(name, ends, self.ds[k], chi * area, rest(k, a, b), blocks[k]))
        for i in range(self.cells[0]):
            for j in range(self.cells[1]):
                a, b, c, d = self.index(i, j), self.index(i + 1, j), self.index(i, j + 1), self.index(i + 1, j + 1)
                corners = [places[n] for n in (a, b, c, d)]
                if np.any(C[:6, 6:]) and any(body != "ground" for body, _ in corners):
                    mean = np.concatenate([(rest(0, a, b) + rest(0, c, d)) / 2, (rest(1, a, c) + rest(1, b, d)) / 2])
                    elements.append(Cell(f"{self.name}: cell {i},{j}", corners, self.ds, mean, C[:6, 6:]))
        return elements
