r"""Exact solutions of the rotation-generating equation :math:`\dot R = \tilde\omega R`, and of its Riccati form.

Source: Sadlowski, 2.3 and A.3, with the radicand of (2.87) and the sign of (2.94) corrected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.exact.checks import vector
from kreisel.groups import SO3

Array = NDArray[np.float64]


def steady_rotation(omega: ArrayLike, t: ArrayLike) -> Array:
    r"""R(t) for a constant omega (2.87): I + sin(wt)/w Omega + (1 - cos wt)/w^2 Omega^2, w = |omega|. Shape (..., 3, 3) for t of any shape.

    >>> steady_rotation([0, 0, np.pi], 0.5).round(12) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    return np.asarray(SO3.matrix(SO3.exp(np.asarray(t, dtype=float)[..., None] * vector(omega, "omega"))))


def precessing_rotation(omega: ArrayLike, precession: ArrayLike, t: ArrayLike) -> Array:
    r"""R(t) for an omega that itself turns with the constant angular velocity s = ``precession``, omega(t) = exp(t s~) omega(0).

    .. math:: R(t) = \exp(t\,\tilde s)\,\exp\bigl(t\,(\tilde\omega(0) - \tilde s)\bigr)

    In the frame that turns with s the motion is steady. All vectors in space axes.
    """
    omega, s = vector(omega, "omega"), vector(precession, "precession")
    return np.asarray(steady_rotation(s, t) @ steady_rotation(omega - s, t))


def peano_baker(A: Callable[[float], ArrayLike], until: float, terms: int = 40, step: float = 0.005) -> tuple[Array, Array]:
    r"""The matrix solution of Y' = A(t) Y, Y(0) = I, by its series of iterated integrals (2.88), (A.26)-(A.30).

    .. math:: Y = I + \int A + \int A \int A + \dots

    ``terms``: of the series, after I. The integrals are those of the parabolas through neighbouring points, ``step`` apart.
    Returns the times (n,) and Y (n, m, m). With the defaults, and |A| = 1, good to 8e-11 at t = 5 and 3e-9 at t = 10.

    >>> t, Y = peano_baker(lambda t: [[0, -1], [1, 0]], until=1.0)
    >>> abs(Y[-1] - [[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]).max().round(12)
    np.float64(1.2e-11)
    """
    from scipy.integrate import cumulative_simpson

    if not (until > 0 and step > 0 and terms >= 1):
        raise ValueError(f"peano_baker: until, step and terms must be positive, got {until}, {step}, {terms}")
    # An even number of intervals, at least two, for the parabolas.
    t = np.linspace(0.0, until, 2 * max(1, int(np.ceil(until / step / 2))) + 1)
    M = np.stack([np.asarray(A(s), dtype=float) for s in t])
    if M.ndim != 3 or M.shape[1] != M.shape[2]:
        raise ValueError(f"peano_baker: A(t) must be a square matrix, got shape {M.shape[1:]}")
    term = np.broadcast_to(np.eye(M.shape[1]), M.shape)
    Y = term.copy()
    for _ in range(terms):
        term = cumulative_simpson(M @ term, dx=t[1] - t[0], axis=0, initial=0)
        Y += term
    return t, Y


def lagrange_sylvester(f: Callable[[Any], Any], A: ArrayLike, eigenvalues: ArrayLike) -> NDArray[np.complex128]:
    r"""f(A) from the values of f at the distinct roots of the minimal polynomial of A (2.107), (2.108), if these are simple.

    .. math:: f(A) = \sum_i f(\lambda_i) \prod_{j \ne i} \frac{A - \lambda_j I}{\lambda_i - \lambda_j}

    >>> J = np.array([[0, -2], [2, 0]])
    >>> lagrange_sylvester(np.exp, J, [2j, -2j]).real.round(6)
    array([[-0.416147, -0.909297],
           [ 0.909297, -0.416147]])
    """
    A, roots = np.asarray(A, dtype=complex), np.atleast_1d(np.asarray(eigenvalues, dtype=complex))
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"lagrange_sylvester: A must be a square matrix, got shape {A.shape}")
    eye = np.eye(len(A))
    gaps = np.abs(roots[:, None] - roots) + np.eye(len(roots))
    if gaps.min() == 0:
        raise ValueError("lagrange_sylvester: the eigenvalues must be distinct")
    minimal = eye
    for root in roots:
        minimal = minimal @ (A - root * eye)
    if np.abs(minimal).max() > 1e-9 * (1 + np.abs(A).max()) ** len(roots):
        raise ValueError("lagrange_sylvester: the eigenvalues are not the roots of the minimal polynomial of A")
    result = np.zeros_like(A)
    for i, root in enumerate(roots):
        product = f(root) * eye
        for j, other in enumerate(roots):
            if j != i:
                product = product @ (A - other * eye) / (root - other)
        result += product
    return result


def riccati(A11: ArrayLike, A12: ArrayLike, A21: ArrayLike, A22: ArrayLike, X0: ArrayLike, t: ArrayLike) -> Array:
    r"""The solution of X' = X A12 X + A22 X + X A11 + A21, X(0) = X0, with constant matrices (n, n), at times t of any shape.

    It is X = Y2 Y1^{-1} of a linear system of double size (2.95)-(2.99),

    .. math:: \frac{d}{dt}\begin{pmatrix}Y_1\\Y_2\end{pmatrix} =
              \begin{pmatrix}-A_{11} & -A_{12}\\ A_{21} & A_{22}\end{pmatrix}\begin{pmatrix}Y_1\\Y_2\end{pmatrix}, \qquad
              Y_1(0) = I,\; Y_2(0) = X_0 .

    For coefficients that vary, solve that system by :func:`peano_baker`. Where X becomes infinite, Y1 is singular: an error.

    >>> float(riccati([[0]], [[1]], [[1]], [[0]], [[0]], np.pi / 4)[0, 0].round(12))
    1.0
    """
    from scipy.linalg import expm

    blocks = [np.atleast_2d(np.asarray(a, dtype=float)) for a in (A11, A12, A21, A22, X0)]
    n = len(blocks[0])
    if any(a.shape != (n, n) for a in blocks):
        raise ValueError(f"riccati: all matrices must be square and of one size, got shapes {[a.shape for a in blocks]}")
    a11, a12, a21, a22, x0 = blocks
    E = expm(np.asarray(t, dtype=float)[..., None, None] * np.block([[-a11, -a12], [a21, a22]]))
    return _quotient(E, x0)


def cayley_rotation(omega: ArrayLike, t: ArrayLike, start: ArrayLike = (0, 0, 0)) -> Array:
    r"""The Cayley vector psi(t) of a rotation with constant omega (in space axes), from psi(0) = ``start``; shape (..., 3).

    The Cayley form is a Riccati equation for P = skew(psi), with the doubled matrix
    :math:`A = \tfrac12\begin{pmatrix}\Omega & \Omega\\ \Omega & \Omega\end{pmatrix}`, whose minimal polynomial is
    :math:`\lambda(\lambda^2 + w^2)`. The formula of Lagrange and Sylvester gives its exponential (2.100)-(2.114)

    .. math:: e^{At} = I + \frac{\sin wt}{w} A + \frac{1 - \cos wt}{w^2} A^2 , \qquad P = Y_2 Y_1^{-1} .

    (Printed for -psi.) At half a turn there is no Cayley vector: an error.

    >>> cayley_rotation([0, 0, 1], np.pi / 2).round(12) + 0.0
    array([0., 0., 1.])
    """
    omega, t = vector(omega, "omega"), np.asarray(t, dtype=float)
    w = float(np.linalg.norm(omega))
    O = SO3.tilde(omega)
    A = np.block([[O, O], [O, O]]) / 2
    wt = w * t[..., None, None]
    # sin(wt)/w = t sinc(wt), (1 - cos wt)/w^2 = t^2/2 sinc(wt/2)^2; np.sinc has pi in it
    first = t[..., None, None] * np.sinc(wt / np.pi)
    second = (t[..., None, None] * np.sinc(wt / (2 * np.pi))) ** 2 / 2
    P = _quotient(np.eye(6) + first * A + second * (A @ A), np.asarray(SO3.tilde(vector(start, "start"))))
    return np.stack([P[..., 2, 1], P[..., 0, 2], P[..., 1, 0]], axis=-1)


def _quotient(E: Array, x0: Array) -> Array:
    """Y2 Y1^-1."""
    n = len(x0)
    Y = E @ np.concatenate([np.eye(n), x0])
    Y1, Y2 = Y[..., :n, :], Y[..., n:, :]
    smallest = np.linalg.svd(Y1, compute_uv=False)[..., -1]
    if np.any(smallest <= 1e-12 * np.linalg.norm(Y, axis=(-2, -1))):
        raise ValueError("the solution of the Riccati equation is infinite: Y1 is singular (for rotations: half a turn)")
    return np.asarray(np.swapaxes(np.linalg.solve(np.swapaxes(Y1, -1, -2), np.swapaxes(Y2, -1, -2)), -1, -2))
