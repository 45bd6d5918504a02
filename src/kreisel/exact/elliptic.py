r"""Jacobi's elliptic functions and Legendre's integral of the third kind, with the complementary parameter m1 = 1 - m given.

Motions near a separatrix have m next to 1, where m itself has forgotten what matters; so m1 is the argument everywhere. m1 = 0 is the
separatrix itself. All functions take arrays for u and one m1 in [0, 1].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Jacobi(NamedTuple):
    """sn, cn, dn of an argument u = 2 K ``turns`` + ``rest``; and its amplitude, sn = sin am, cn = cos am."""

    turns: Array
    rest: Array
    am: Array
    sn: Array
    cn: Array
    dn: Array


def quarter_period(m1: float) -> float:
    """K(m): infinite for m1 = 0."""
    from scipy.special import ellipkm1

    return float(ellipkm1(m1))


def jacobi(u: Array, m1: float) -> Jacobi:
    """sn, cn, dn and am of u, with small relative errors up to and on the separatrix.

    Full periods are taken off first. For m1 > 1/2 by the arithmetic-geometric mean (Abramowitz and Stegun, 16.4), else by the series of
    hyperbolic functions (their q-series, 16.23, after the imaginary transformation of Jacobi); beyond half the quarter period from the
    complement K - u (16.8).

    >>> float(jacobi(np.array(1.0), 0.5).sn.round(12)), float(jacobi(np.array(1.0), 0.0).sn - np.tanh(1.0))
    (0.803001824896, 0.0)
    """
    u = np.asarray(u, dtype=float)
    if m1 == 0.0:
        sech = _sech(u)
        return Jacobi(np.zeros_like(u), u, 2 * np.arctan(np.tanh(u / 2)), np.tanh(u), sech, sech)
    K = quarter_period(m1)
    turns = np.round(u / (2 * K))
    v = u - 2 * K * turns
    far = np.abs(v) > K / 2
    w = np.where(far, K - np.abs(v), v)
    s, c = _by_means(w, m1) if m1 > 0.5 else _by_series(w, m1, K)
    d = np.sqrt(m1 + (1 - m1) * c**2)
    sn, cn, dn = (np.where(far, np.copysign(c / d, v), s), np.where(far, np.sqrt(m1) * s / d, c), np.where(far, np.sqrt(m1) / d, d))
    sign = np.where(turns % 2 == 0, 1.0, -1.0)
    return Jacobi(turns, v, np.arctan2(sn, cn) + np.pi * turns, sign * sn, sign * cn, dn)


def _by_means(u: Array, m1: float) -> tuple[Array, Array]:
    a, b, c = [1.0], float(np.sqrt(m1)), [float(np.sqrt(1 - m1))]
    while c[-1] > np.finfo(float).eps * a[-1]:
        mean = (a[-1] + b) / 2
        c.append((a[-1] - b) / 2)
        b = float(np.sqrt(a[-1] * b))
        a.append(mean)
    phi = 2.0 ** (len(a) - 1) * a[-1] * u
    for n in range(len(a) - 1, 0, -1):
        phi = (phi + np.arcsin(c[n] / a[n] * np.sin(phi))) / 2
    return np.sin(phi), np.cos(phi)


def _by_series(u: Array, m1: float, K: float) -> tuple[Array, Array]:
    """sn = f sum (-1)^n tanh(x - n a), cn = f sum (-1)^n sech(x - n a), x = pi u / (2 K'), a = pi K / K', f = pi / (2 sqrt(m) K')."""
    other = quarter_period(1 - m1)  # K'
    x, a, f = np.pi * u / (2 * other), np.pi * K / other, np.pi / (2 * np.sqrt(1 - m1) * other)
    sn, cn = np.tanh(x), _sech(x)
    for n in range(1, int(40 / a) + 2):
        # The terms n and -n together, without cancellation and overflow.
        both = 4 * np.exp(-2 * n * a) * np.sinh(2 * x) / ((1 + np.exp(2 * (x - n * a))) * (1 + np.exp(-2 * (x + n * a))))
        sn, cn = sn + (-1) ** n * both, cn + (-1) ** n * (_sech(x - n * a) + _sech(x + n * a))
    return f * sn, f * cn


def _sech(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.asarray(2 * e / (1 + e * e))


def first_kind(sn: float, cn: float, m1: float) -> float:
    """F: the argument u, |u| <= K, at which Jacobi's functions have these values; cn >= 0."""
    from scipy.special import elliprf

    return float(sn * elliprf(cn**2, m1 + (1 - m1) * cn**2, 1.0))


def third_kind(n: float, j: Jacobi, m1: float, rest: float | None = None) -> Array:
    r"""Pi(n; am | m) = integral of du / (1 - n sn^2 u), for n < 1, by Carlson's integrals. ``rest``: 1 - n, if it is known better.

    .. math:: \Pi = s\,R_F(c^2, d^2, 1) + \tfrac n3\,s^3 R_J(c^2, d^2, 1, 1 - n s^2)

    For n < 0 this is a difference, so there it is replaced by the same with N = (m - n)/(1 - n) > 0 (DLMF 19.7.9),

    .. math:: (m - n)\,\Pi(n) = m F + (N - m)\,\Pi(N) - n N\,s c\,R_C\bigl(d^2, (1 - n s^2)(1 - N s^2)\bigr) .
    """
    from scipy.special import elliprc, elliprj

    rest = 1 - n if rest is None else rest
    m = 1 - m1
    N, rest_N = (n, rest) if n >= 0 else ((m - n) / rest, m1 / rest)

    def integral(F: Array | float, s: Array, c: Array, d2: Array) -> Array:
        # F = s R_F(c^2, d^2, 1) is known
        c2 = c**2
        p = rest_N + N * c2  # 1 - N s^2
        Pi = F + N / 3 * s**3 * elliprj(c2, d2, 1.0, p) if m1 > 0 or n >= 0 else np.zeros(())
        if n < 0:
            Pi = (m * F + m1 * -n / rest * Pi - n * N * s * c * elliprc(d2, (1 - n * s * s) * p)) / (m - n)
        return np.asarray(Pi)

    sign = np.where(j.turns % 2 == 0, 1.0, -1.0)
    far = 1e-150  # out on the separatrix cn and dn are zero
    value = integral(j.rest, sign * j.sn, np.maximum(sign * j.cn, far if m1 == 0 else 0.0), np.maximum(j.dn, far) ** 2)
    if np.any(j.turns):
        value = value + 2 * j.turns * integral(quarter_period(m1), np.ones(()), np.zeros(()), np.asarray(m1))
    return value
