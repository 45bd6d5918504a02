r"""Linearised stability of equilibria and steady motions, on the manifold of the constraints.

In local coordinates q exp(w), v + u the equations of motion are, to first order,

.. math:: \dot w = u - \hat v\,w, \qquad \dot u = a_q w + a_v u,

with the accelerations a(q, v) of the index-1 equations, so that constraints, gyroscopic terms, damping and a mass that depends on q are
all in. The linearised constraints, B w = 0 and their rates and those on velocities, are invariant; on a basis N of them the matrix is
:math:`N^T A N`. Its eigenvalues depend neither on coordinates nor on the group (Klemps, (4.35) to (4.43), Lemma 4.2.8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import null_space
from scipy.optimize import linear_sum_assignment

from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.system import System
from kreisel.methods.base import Method, Stage
from kreisel.methods.elements import Elements
from kreisel.methods.starts import Accelerations
from kreisel.simulation.linearise import Local, Rows, StageDerivative
from kreisel.simulation.packs import Layout
from kreisel.simulation.prepare import kept
from kreisel.simulation.solution import Solution
from kreisel.stability.balance import Equilibrium, equilibrium

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

#: A real part below this part of the largest eigenvalue is zero; next to a multiple eigenvalue rounding is larger than usual.
ZERO = 1e-7


class Moment(Method):
    """A state at rest or in motion, with its accelerations and multipliers."""

    states: ClassVar[tuple[str, ...]] = ("v", "a")
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)
    mu_states: ClassVar[tuple[str, ...]] = ("mu",)


class _Constraints(Stage):
    """Phi, its rate, and the nonholonomic constraints, as rows."""

    unknowns = ()
    lam_unknowns = ("position", "rate")
    mu_unknowns = ("m",)

    def residual(self, e: Elements) -> dict[str, Any]:
        v = e.get("v")
        return {
            "position": e.constraint(e.t, e.q),
            "rate": e.constraint_rate(e.t, e.q, v),
            "m": e.pfaffian(e.t, e.q, v),
        }


@dataclass(frozen=True)
class Linearisation:
    """``A``: the matrix on the basis ``basis`` (2 dim, n) of admissible (w, u), variations of configuration and velocity of all nodes side
    by side. ``eigenvalues``: those that grow fastest first. ``shapes``: (n, 2 dim), complex, the (w, u) of each."""

    system: System
    A: Array
    basis: Array
    eigenvalues: Complex
    shapes: Complex

    @property
    def stability(self) -> str:
        """By the theorem of linearised stability (Klemps, 4.2.9): "asymptotically stable", "unstable", or "undecided" if no real part is
        positive, but one is zero: then the linear part does not tell."""
        largest = float(self.eigenvalues.real.max(initial=-np.inf))
        zero = ZERO * max(1.0, float(np.abs(self.eigenvalues).max(initial=0.0)))
        return "unstable" if largest > zero else "asymptotically stable" if largest < -zero else "undecided"

    @property
    def hyperbolic(self) -> bool:
        """Whether no eigenvalue is on the imaginary axis."""
        return bool(np.abs(self.eigenvalues.real).min(initial=np.inf) > ZERO * max(1.0, float(np.abs(self.eigenvalues).max(initial=0.0))))

    def shape(self, body: str) -> Complex:
        """The variations w of a body in all modes, (n, dim of its group)."""
        i = self.system.number[body]
        at = sum(n.group.dim for n in self.system.nodes[:i])
        return self.shapes[:, at : at + self.system.nodes[i].group.dim]


def linearise(about: System | Solution | Equilibrium) -> Linearisation:
    """The linearisation about an equilibrium or a steady motion.

    ``about``: what :func:`equilibrium` or ``kr.equilibrium`` gives; a solution (its last state); or a system (its start). The state must
    be steady: velocities that do not change, and equations that look the same all along, as those of a top that spins upright, in
    coordinates with velocities in body axes.

    >>> import kreisel as kr
    >>> linearise(equilibrium(kr.models.extended_top("SE3", stiffness=100.0, damping=1.0))).eigenvalues[:2].round(5)
    array([-0.03282+3.10773j, -0.03282+3.10773j])
    """
    about = about.solution if isinstance(about, Equilibrium) else about
    system = about if isinstance(about, System) else about.system
    if isinstance(system, Hamiltonian):
        raise ValueError("a Hamiltonian system has momenta instead of velocities; write it as a kr.System to linearise it")
    if system.black_boxes:
        raise ValueError(f"'{system.black_boxes[0]}' is a plain function: it has no derivative; write it as a formula")
    if isinstance(about, Solution) and not about.success:
        raise ValueError(f"there is no equilibrium to linearise about: {about.message}")
    q = np.concatenate([n.q for n in system.nodes]) if isinstance(about, System) else about.q[-1]
    v = np.concatenate([n.v for n in system.nodes]) if isinstance(about, System) else about.v[-1]
    frozen: _Frozen = kept(system, _Frozen, lambda: _Frozen(system))
    S = Layout(system, Moment()).start()
    A, N = frozen(S, q, v)
    if np.any(v):
        # A tenth of a radian, or of a unit of length, later.
        tau = 0.1 / float(np.abs(v).max())
        B, _ = frozen(S, _moved(system, q, tau * v), v)
        if np.abs(B - A).max() > 1e-6 * np.abs(A).max():
            raise ValueError(
                "in these coordinates the equations change along the motion: if bodies turn, take coordinates with velocities in body "
                "axes, such as SE3; of a periodic motion kr.stability.floquet tells the stability"
            )
    reduced = N.T @ A @ N
    values, vectors = np.linalg.eig(reduced)
    order = np.lexsort((-values.imag, -values.real.round(10)))
    return Linearisation(system, reduced, N, values[order].astype(complex), (N @ vectors[:, order]).T.astype(complex))


def _moved(system: System, q: Array, w: Array) -> Array:
    parts, i, j = [], 0, 0
    for node in system.nodes:
        n, d = node.group.n_params, node.group.dim
        parts.append(node.group.retract(q[i : i + n], w[j : j + d]))
        i, j = i + n, j + d
    return np.concatenate(parts)


class _Frozen:
    """The matrix A of the whole space and the basis N of the constraints, at any state, for systems with the formulas of the given one.
    S holds their numbers."""

    def __init__(self, system: System) -> None:
        self.system, self.layout = system, Layout(system, Moment())
        self.local = Local(self.layout)
        self.motion = StageDerivative(self.layout, self.local, Accelerations(("a",), ("lam",), ("mu",)), steps=False)
        self.constraints = Rows(self.layout, self.local, _Constraints())

    def __call__(self, S: Array, q: Array, v: Array) -> tuple[Array, Array]:
        dim = self.system.dim
        S[0] = 1.0
        self.layout.place(S, q, v)
        derivative, after = self.motion(S)
        a = np.concatenate([after[p["a"] : p["a"] + n.group.dim] for n, p in zip(self.system.nodes, self.layout.nodes, strict=True)])
        w, u, rates = (self.local.columns(name) for name in ("q", "v", "a"))
        A = np.zeros((2 * dim, 2 * dim))
        A[:dim, dim:] = np.eye(dim)
        A[dim:, :dim], A[dim:, dim:] = derivative[np.ix_(rates, w)], derivative[np.ix_(rates, u)]
        size = max(1.0, float(np.abs(A[dim:]).max(initial=0.0)))
        if np.abs(a).max(initial=0.0) > 1e-8 * size:
            raise ValueError(
                f"the state is not steady: there are accelerations of {np.abs(a).max():.3g}; kr.stability.equilibrium(system) finds one"
            )
        at = 0
        for node, places in zip(self.system.nodes, self.layout.nodes, strict=True):
            d = node.group.dim
            A[at : at + d, at : at + d] = -np.asarray(node.group.ad(S[places["v"] : places["v"] + d]))
            at += d
        _, rows = self.constraints(S, np.zeros(self.constraints.unknowns.n))
        C = rows[:, np.concatenate([w, u])]
        return A, null_space(C, rcond=1e-10) if len(C) else np.eye(2 * dim)


@dataclass(frozen=True)
class RootLocus:
    """``values`` of the ``parameter``, and the ``eigenvalues`` (values, n): each column is one of them, followed from value to value."""

    parameter: str
    values: Array
    eigenvalues: Complex

    @property
    def growth(self) -> Array:
        """The largest real part at each value."""
        return np.asarray(self.eigenvalues.real.max(axis=1))

    def crossings(self) -> Array:
        """Values at which the largest real part changes its sign, by linear interpolation."""
        g, p = self.growth, self.values
        k = np.flatnonzero(g[:-1] * g[1:] < 0)
        return np.asarray(p[k] - g[k] * (p[k + 1] - p[k]) / (g[k + 1] - g[k]))


def root_locus(model: Callable[..., System], parameter: str, values: ArrayLike, steady: bool = False, **fixed: Any) -> RootLocus:
    """The eigenvalues of a model's equilibrium over one of its parameters.

    ``steady``: linearise about the start itself, which moves steadily, instead of the equilibrium near it. ``fixed``: other parameters.

    >>> import kreisel as kr
    >>> locus = root_locus(kr.models.extended_top, "damping", [1.0, 2.0, 4.0], formulation="SO3", stiffness=100.0)
    >>> locus.eigenvalues.shape, locus.growth.round(4)
    ((3, 6), array([-0.0328, -0.0656, -0.1313]))
    """
    p = np.asarray(values, dtype=float)
    if p.ndim != 1 or not len(p):
        raise ValueError(f"values must be a sequence of numbers, got {values!r}")
    found: list[Complex] = []
    for value in p:
        system = model(**{parameter: float(value)}, **fixed)
        new = linearise(system if steady else equilibrium(system)).eigenvalues
        if found:
            if len(new) != len(found[-1]):
                raise ValueError(f"the number of eigenvalues changes at {parameter} = {value:g}: the model has another structure there")
            cost = np.abs(_ahead(found)[:, None] - new[None])
            new = new[linear_sum_assignment(cost)[1]]
        found.append(new)
    return RootLocus(parameter, p, np.array(found))


def _ahead(found: Sequence[Complex]) -> Complex:
    """Where the eigenvalues lead: so that crossing branches stay themselves."""
    return found[-1] if len(found) < 2 else 2 * found[-1] - found[-2]
