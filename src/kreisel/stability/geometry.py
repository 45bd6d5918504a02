r"""A group as a surface in a space of matrices: tangent basis, first fundamental matrix, surface gradient (Klemps, 4.2, (4.10) to (4.20)).

States (q, v) are elements of the Hilbert space of matrices and velocities with the product :math:`\mathrm{tr}(A B^T) + x \cdot y` (4.5).
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import Group

Array = NDArray[np.float64]


def tangent_basis(group: Group, q: ArrayLike) -> Array:
    """tau_i = q e_i~, the matrices that span the tangent space at q: (dim, n, n).

    >>> import kreisel as kr
    >>> tangent_basis(kr.SO3, kr.SO3.identity())[2].astype(int)
    array([[ 0, -1,  0],
           [ 1,  0,  0],
           [ 0,  0,  0]])
    """
    return np.asarray(group.matrix(q) @ group.tilde(np.eye(group.dim)))


def first_fundamental(group: Group, q: ArrayLike) -> Array:
    """C_ij = (tau_i | tau_j); on SO3 it is 2 I everywhere (Klemps, Lemma 4.2.3).

    >>> import kreisel as kr
    >>> bool(abs(first_fundamental(kr.SO3, kr.SO3.random(1)) - 2 * np.eye(3)).max() < 1e-15)
    True
    """
    tau = tangent_basis(group, q)
    return np.asarray(np.einsum("iab,jab->ij", tau, tau))


def dual_basis(group: Group, q: ArrayLike) -> Array:
    """tau^i with (tau^i | tau_j) = 1 if i = j, else 0: (dim, n, n)."""
    return np.tensordot(np.linalg.inv(first_fundamental(group, q)), tangent_basis(group, q), axes=1)


def derivatives(V: Callable[[ca.SX], ca.SX], group: Group, q: ArrayLike) -> Array:
    """d_i V: the derivatives of a function of the coordinates along q exp(w), by w at w = 0."""
    x, w = group.symbol("q"), ca.SX.sym("w", group.dim)
    D = ca.mtimes(ca.jacobian(ca.SX(V(x)), x), ca.jacobian(group.rate(x, w), w))
    return np.asarray(ca.Function("D", [x], [ca.densify(D)])(np.asarray(q, dtype=float)).full()[0])


def surface_gradient(V: Callable[[ca.SX], ca.SX], group: Group, q: ArrayLike) -> Array:
    """grad V = sum of c^ij d_i V tau_j, with c^ij the inverse of the first fundamental matrix: a tangent matrix, (n, n) (Klemps, 4.17).

    ``V``: a function of the coordinates of the group, in CasADi's symbols. Its product with q v~ is the rate of V along a motion.

    >>> import kreisel as kr
    >>> surface_gradient(lambda q: q[0], kr.R(1), [3.0])  # R(1) as matrices [[1, x], [0, 1]]
    array([[0., 1.],
           [0., 0.]])
    """
    return np.tensordot(derivatives(V, group, q), dual_basis(group, q), axes=1)


def hilbert_distance(group: Group, p: ArrayLike, v: ArrayLike, q: ArrayLike, w: ArrayLike) -> Array:
    """The distance of the states (p, v) and (q, w) in the Hilbert space: the norm in which a motion is stable or not (Klemps, 4.5 to 4.8).

    >>> import kreisel as kr
    >>> float(hilbert_distance(kr.SO3, kr.SO3.exp([np.pi, 0, 0]), np.zeros(3), kr.SO3.identity(), np.zeros(3)).round(6))
    2.828427
    """
    gap = np.asarray(group.matrix(p)) - np.asarray(group.matrix(q))
    rates = np.asarray(v, dtype=float) - np.asarray(w, dtype=float)
    return np.asarray(np.sqrt(np.sum(gap**2, axis=(-2, -1)) + np.sum(rates**2, axis=-1)))
