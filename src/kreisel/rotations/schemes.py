r"""One-step schemes of order two for the rate equations x' = f(x, omega(t)), and what they do to linear ones.

For x' = A x with a constant A a step is x+ = Lambda x, with a polynomial or rational function of hA:

.. math:: \Lambda = D(hA)^{-1} N(hA) .

Source: Sadlowski, 2.4, with (2.147) and the determinants of the six- and four-parameter forms corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Rhs = Callable[[ca.SX, ca.SX], ca.SX]


class Scheme:
    """A one-step scheme. To add one, say in ``nodes`` at which fractions of a step omega is needed, write :meth:`step` or, if it is
    implicit, :meth:`residual`, and give the coefficients of N and D, lowest first."""

    nodes: ClassVar[tuple[float, ...]]
    implicit: ClassVar[bool] = False

    @property
    def numerator(self) -> tuple[float, ...]:
        """The coefficients of N."""
        raise NotImplementedError

    @property
    def denominator(self) -> tuple[float, ...]:
        """The coefficients of D."""
        return (1.0,)

    def step(self, f: Rhs, x: ca.SX, w: Sequence[ca.SX], h: ca.SX) -> ca.SX:
        """x at the end of the step; w: omega at the nodes."""
        raise NotImplementedError

    def residual(self, f: Rhs, x: ca.SX, y: ca.SX, w: Sequence[ca.SX], h: ca.SX) -> ca.SX:
        """Zero if y is x at the end of the step."""
        raise NotImplementedError

    def amplification(self, z: ArrayLike) -> NDArray[np.complex128]:
        """N(z) / D(z): the factor per step of x' = lambda x, z = h lambda (2.161), (2.164).

        >>> (abs(ExplicitMidpoint().amplification(1j)) ** 2).round(12)
        np.float64(1.25)
        """
        z = np.asarray(z, dtype=complex)
        return np.asarray(np.polyval(self.numerator[::-1], z) / np.polyval(self.denominator[::-1], z))

    def step_operator(self, A: ArrayLike, h: float) -> Array:
        """Lambda, for a constant matrix A (..., n, n) (2.130), (2.132)-(2.136)."""
        hA = h * np.asarray(A, dtype=float)
        if hA.ndim < 2 or hA.shape[-1] != hA.shape[-2] or not np.all(np.isfinite(hA)):
            raise ValueError(f"step_operator: A must be a square matrix of finite numbers, got shape {hA.shape}")
        return np.asarray(np.linalg.solve(_polynomial(self.denominator, hA), _polynomial(self.numerator, hA)))

    def is_stable(self, z: ArrayLike) -> NDArray[np.bool_]:
        """The spectral criterion (2.171): |N(z) / D(z)| <= 1, up to rounding, for z = h lambda."""
        return np.asarray(np.abs(self.amplification(z)) <= 1 + 4 * np.finfo(float).eps)


@dataclass(frozen=True)
class ExplicitMidpoint(Scheme):
    """x+ = x + h f(x + h/2 f(x, t), t + h/2) (2.116)-(2.118)."""

    nodes: ClassVar = (0.0, 0.5)

    @property
    def numerator(self) -> tuple[float, ...]:
        return (1.0, 1.0, 0.5)

    def step(self, f: Rhs, x: ca.SX, w: Sequence[ca.SX], h: ca.SX) -> ca.SX:
        return x + h * f(x + h / 2 * f(x, w[0]), w[1])


@dataclass(frozen=True)
class Trapezoid(Scheme):
    """x+ = x + h ((1 - alpha) f(x, t) + alpha f(x+, t + h)) (2.119)-(2.125), solved by Newton's method.

    alpha = 1/2 is the trapezoidal rule, of order two; 1 is Euler's implicit method. ``sampling``: which omega enters both terms. One for
    both, at the "middle" of the step, keeps linear forms orthogonal for alpha = 1/2; those at the "ends" do not. The source leaves it open.
    """

    alpha: float = 0.5
    sampling: str = "middle"
    implicit: ClassVar = True

    def __post_init__(self) -> None:
        _check_alpha(self)
        if self.sampling not in ("middle", "ends"):
            raise ValueError(f"Trapezoid: sampling must be 'middle' or 'ends', got {self.sampling!r}")

    @property
    def nodes(self) -> tuple[float, ...]:  # type: ignore[override]
        return (0.5, 0.5) if self.sampling == "middle" else (0.0, 1.0)

    @property
    def numerator(self) -> tuple[float, ...]:
        return (1.0, 1 - self.alpha)

    @property
    def denominator(self) -> tuple[float, ...]:
        return (1.0, -self.alpha)

    def residual(self, f: Rhs, x: ca.SX, y: ca.SX, w: Sequence[ca.SX], h: ca.SX) -> ca.SX:
        return y - x - h * ((1 - self.alpha) * f(x, w[0]) + self.alpha * f(y, w[1]))


@dataclass(frozen=True)
class PredictedTrapezoid(Scheme):
    """The trapezoidal family made explicit: x+ on the right is predicted by Euler's step x + h f(x, t) (2.126).

    alpha = 1/2 is the modified trapezoid (2.127), of order two; for linear equations with constant A it equals the explicit midpoint rule.
    """

    alpha: float = 0.5
    nodes: ClassVar = (0.0, 1.0)

    def __post_init__(self) -> None:
        _check_alpha(self)

    @property
    def numerator(self) -> tuple[float, ...]:
        return (1.0, 1.0, self.alpha)

    def step(self, f: Rhs, x: ca.SX, w: Sequence[ca.SX], h: ca.SX) -> ca.SX:
        slope = f(x, w[0])
        return x + h * ((1 - self.alpha) * slope + self.alpha * f(x + h * slope, w[1]))


def orthogonality_defect(L: ArrayLike) -> Array:
    """The largest entry of Lambda Lambda^T - I in size: zero for orthogonal matrices. Shapes (..., n, n) -> (...)."""
    L = np.asarray(L, dtype=float)
    return np.asarray(np.abs(L @ np.swapaxes(L, -1, -2) - np.eye(L.shape[-1])).max(axis=(-2, -1)))


def determinant_defect(L: ArrayLike) -> Array:
    """det Lambda - 1. Shapes (..., n, n) -> (...)."""
    return np.asarray(np.linalg.det(np.asarray(L, dtype=float)) - 1)


def _check_alpha(scheme: Any) -> None:
    if not 0 <= scheme.alpha <= 1:
        raise ValueError(f"{type(scheme).__name__}: alpha must lie between 0 and 1, got {scheme.alpha}")


def _polynomial(coefficients: Sequence[float], X: Array) -> Array:
    value = np.zeros_like(X)
    for c in reversed(coefficients):
        value = value @ X + c * np.eye(X.shape[-1])
    return value
