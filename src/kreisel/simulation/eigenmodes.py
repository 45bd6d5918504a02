r"""Natural frequencies and modes of small motions about an equilibrium.

.. math:: M \ddot w + K w + B^T\mu = 0, \quad B w = 0 \qquad\Rightarrow\qquad
          \begin{pmatrix}K & B^T\\ B & 0\end{pmatrix}\begin{pmatrix}w\\ \mu\end{pmatrix} =
          \omega^2 \begin{pmatrix}M & 0\\ 0 & 0\end{pmatrix}\begin{pmatrix}w\\ \mu\end{pmatrix},

with variations q exp(w), the mass matrix M at the equilibrium, and K the derivative of :math:`B^T\lambda - f`, geometric stiffness
included. Damping is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import LinearOperator, eigs, splu

from kreisel.mechanics.system import System
from kreisel.methods.base import Stage
from kreisel.methods.elements import Elements
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.solution import Solution
from kreisel.simulation.statics import Balance, Static, equilibrium

Array = NDArray[np.float64]

#: Up to so many unknowns the whole spectrum is computed; beyond, only what is asked for.
DENSE = 240


class Mass(Stage):
    """M x, row by row."""

    lam_unknowns = ("l",)

    def residual(self, e: Elements) -> dict[str, Any]:
        return {"x": e.momentum(e.get("x")), "l": ca.SX.zeros(sum(m.rows.stop - m.rows.start for m in e.members))}


@dataclass(frozen=True)
class Modes:
    """``omega``: natural frequencies in rad/s, ascending (negative: the rate of growth of an unstable mode). ``shapes``: (modes, dim),
    variations w of all nodes side by side, in their own groups, of unit mass. ``equilibrium``: about which they are."""

    omega: Array
    shapes: Array
    equilibrium: Solution

    @property
    def frequencies(self) -> Array:
        """In Hz."""
        return self.omega / (2 * np.pi)

    def shape(self, body: str) -> Array:
        """The part of a body in all modes, (modes, dim of its group)."""
        system = self.equilibrium.system
        i = system.number[self.equilibrium._node(body).name]
        at = sum(n.group.dim for n in system.nodes[:i])
        return self.shapes[:, at : at + system.nodes[i].group.dim]


def modes(about: System | Solution, count: int = 10) -> Modes:
    """The lowest natural frequencies and their modes.

    ``about``: a system, whose equilibrium under all its loads is sought first, or a solution of :func:`equilibrium`, about whose last
    entry they are. ``count``: so many, at most the degrees of freedom. Rigid motions have the frequency zero.

    >>> import kreisel as kr
    >>> m = kr.Mechanism()
    >>> rod = m.beam("rod", 1.0, 32, kr.Section.circle(0.01, E=70e9, nu=0.3, rho=2700), start="clamped")
    >>> kr.modes(m.system(), count=2).frequencies.round(1)  # Euler and Bernoulli: 14.2
    array([14.2, 14.2])
    """
    sol = equilibrium(about) if isinstance(about, System) else about
    if not isinstance(sol.method, Static):
        raise TypeError("modes are about an equilibrium: give a system, or what kr.equilibrium gives")
    if not sol.success:
        raise ValueError(f"there is no equilibrium to find modes about: {sol.message}")
    layout, system = sol._layout, sol.system
    S = np.concatenate([sol._records[-1], layout.parameter_values])
    x = np.concatenate([np.zeros(system.dim), sol.lam[-1]])
    K, M = Assembly(layout, Balance(sol.method.time))(S, x)[1], Assembly(layout, Mass())(S, x)[1]
    n = system.dim
    count = min(count, system.degrees_of_freedom)
    if count < 1:
        raise ValueError("there are no modes: count, or the number of degrees of freedom, is below 1")
    squares, W = _dense(K, M, n, count) if K.shape[0] <= DENSE else _sparse(K, M, n, count)
    W = W / np.sqrt(np.abs(np.einsum("ik,ik->k", W, M[:n, :n] @ W)))
    return Modes(np.sign(squares) * np.sqrt(np.abs(squares)), W.T, sol)


def _dense(K: csc_matrix, M: csc_matrix, n: int, count: int) -> tuple[Array, Array]:
    """By a basis of the motions that the constraints allow."""
    B = K[n:, :n].toarray()
    N = linalg.null_space(B) if len(B) else np.eye(n)
    A = N.T @ K[:n, :n].toarray() @ N
    squares, y = linalg.eig(A, N.T @ M[:n, :n].toarray() @ N)
    order = np.argsort(squares.real)[:count]
    return squares.real[order], N @ y.real[:, order]


def _sparse(K: csc_matrix, M: csc_matrix, n: int, count: int) -> tuple[Array, Array]:
    """By Arnoldi's method about a shift below zero: the inverse exists although there are rigid motions, and the lowest come first."""
    scale = float(np.abs(K[:n, :n].diagonal()).mean() / M[:n, :n].diagonal().mean())
    shift = -1e-6 * scale
    lu = splu(csc_matrix(K - shift * M))
    total = K.shape[0]
    start = lu.solve(M @ np.random.default_rng(0).standard_normal(total))
    inverse = LinearOperator((total, total), matvec=lambda b: lu.solve(M @ b))
    values, vectors = eigs(inverse, k=count, which="LM", v0=start, ncv=min(total - 1, max(4 * count, 40)), tol=0)
    squares = shift + 1 / values.real
    order = np.argsort(squares)
    return squares[order], vectors.real[:n, order]
