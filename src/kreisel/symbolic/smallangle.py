r"""Functions of an angle that are regular at zero although their formulas are not.

Exponentials, logarithms and tangent operators of rotations are polynomials in a skew matrix whose coefficients are
analytic functions of the *squared* angle :math:`s = x^2`: no square root, no singularity. Near zero their closed
forms cancel, so below a switch point a power series stands in. Three things make them good to
a few units in the last place, in value and in first and second derivative:

- the closed forms are rewritten with half angles, :math:`1 - \cos x = 2\sin^2(x/2)`, before anything is switched;
- the switch is late, where the closed form and its derivatives no longer cancel;
- the functions of the inverse tangent operator have a pole at :math:`x = 2\pi`. It is split off,

  .. math:: f_6 = \frac{1 - \tfrac{x}{2}\cot\tfrac{x}{2}}{x^2} = \frac{2}{4\pi^2 - s} + \sum_{j\ge 0} r_j s^j,\qquad
            r_j = 2\sum_{m \ge 2} (4\pi^2 m^2)^{-(j+1)},

  which leaves a series that converges up to :math:`4\pi`.

Both branches are always evaluated (a symbolic expression has no jumps), so the closed forms are fed an argument that stays
away from zero: no division by zero can leak out of the branch not taken, nor out of its derivatives.

The names f1 to f9 are those of Hante, appendix B (f7 with arctangent instead of arccosine). Each takes
:math:`s`, except :func:`f7`.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial, pi

import casadi as ca

# Number of terms. At the switch points the last one is below 1e-17 of the sum, also after two differentiations.
_TERMS = 18

# Below: the series. Found by measuring both branches and their derivatives (tests/symbolic/test_smallangle.py).
_SWITCH = {"smooth": 9.0, "cancelling": 20.0, "inverse": 12.0}
_GUARD = 1.0


def f1(s: ca.SX) -> ca.SX:
    r"""sin x / x."""
    x, sin_half, cos_half = _half_angle(s)
    return _switch(s, "smooth", _F1, 2 * sin_half * cos_half / x)


def f2(s: ca.SX) -> ca.SX:
    r"""(cos x - 1) / x^2."""
    x, sin_half, _ = _half_angle(s)
    return _switch(s, "smooth", _F2, -2 * (sin_half / x) ** 2)


def f3(s: ca.SX) -> ca.SX:
    r"""(x - sin x) / x^3."""
    x, sin_half, cos_half = _half_angle(s)
    return _switch(s, "cancelling", _F3, (1 - 2 * sin_half * cos_half / x) / x**2)


def f4(s: ca.SX) -> ca.SX:
    r"""(2 - 2 cos x - x sin x) / x^4 = f2'(x) / x."""
    x, sin_half, cos_half = _half_angle(s)
    return _switch(s, "cancelling", _derivative(_F2), 2 * sin_half * (2 * sin_half - x * cos_half) / x**4)


def f5(s: ca.SX) -> ca.SX:
    r"""(x (2 + cos x) - 3 sin x) / x^5 = -f3'(x) / x."""
    x, sin_half, cos_half = _half_angle(s)
    closed = (3 - 2 * sin_half**2 - 6 * sin_half * cos_half / x) / x**4
    return _switch(s, "cancelling", [-c for c in _derivative(_F3)], closed)


def f6(s: ca.SX) -> ca.SX:
    r"""(2 - x cot(x/2)) / (2 x^2)."""
    x, sin_half, cos_half = _half_angle(s)
    return _switch(s, "inverse", _F6, (1 - x * cos_half / (2 * sin_half)) / x**2, 2 / _pole(s))


def f8(s: ca.SX) -> ca.SX:
    r"""f6'(x) / x."""
    x, sin_half, cos_half = _half_angle(s)
    closed = (-2 / x**2 + cos_half / (2 * x * sin_half) + 1 / (4 * sin_half**2)) / x**2
    return _switch(s, "inverse", _derivative(_F6), closed, 4 / _pole(s) ** 2)


def f9(s: ca.SX) -> ca.SX:
    r"""f8'(x) / x."""
    x, sin_half, cos_half = _half_angle(s)
    cot, d2 = cos_half / sin_half, sin_half**2
    closed = (8 / x**2 - 3 * cot / (2 * x) - 3 / (4 * d2) - x * cot / (4 * d2)) / x**4
    return _switch(s, "inverse", _derivative(_derivative(_F6)), closed, 16 / _pole(s) ** 3)


def cos_half(s: ca.SX) -> ca.SX:
    r"""cos(x/2)."""
    return _switch(s, "smooth", _COS_HALF, _half_angle(s)[2])


def sinc_half(s: ca.SX) -> ca.SX:
    r"""sin(x/2) / x."""
    x, sin_half, _ = _half_angle(s)
    return _switch(s, "smooth", _SINC_HALF, sin_half / x)


def f7(w: ca.SX, n2: ca.SX) -> ca.SX:
    r"""x / sin(x/2), the angle of a unit quaternion over the length of its vector part, for x in [0, 2 pi).

    From the scalar part w = cos(x/2) and the squared length n2 = sin^2(x/2) of the vector part. With t = tan(x/4),

    .. math:: \frac{x}{\sin(x/2)} = \frac{4 \arctan t}{\sin(x/2)} = \frac{4}{1 + w}\,\frac{\arctan t}{t},

    whose series in t^2 serves up to a quarter turn, with the polar angle of (w, sin(x/2)) beyond.
    """
    near = ca.logic_and(n2 < _F7_SWITCH, w > 0)
    one_plus = 1 + ca.if_else(near, w, 1)
    u = ca.if_else(near, n2, 0) / one_plus**2
    n = ca.sqrt(ca.if_else(near, 1, n2))
    return ca.if_else(near, 4 * _horner(_ATAN, u) / one_plus, 2 * ca.atan2(n, w) / n)


def f6_quaternion(w: ca.SX, n2: ca.SX, s: ca.SX) -> ca.SX:
    """f6 at the squared angle s of a unit quaternion with parts as in :func:`f7`.

    Next to its pole at 2 pi the cotangent is w / n, without any loss; from the angle alone it would lose what the angle does.
    """
    far = s >= _SWITCH["inverse"]
    x = ca.sqrt(ca.if_else(far, s, _GUARD))
    n = ca.sqrt(ca.if_else(far, n2, _GUARD))
    return _switch(s, "inverse", _F6, (1 - x * w / (2 * n)) / x**2, 2 / _pole(s))


def _half_angle(s: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """x, sin(x/2) and cos(x/2), of an x that is never small."""
    x = ca.sqrt(ca.if_else(s < _GUARD, _GUARD, s))
    return x, ca.sin(x / 2), ca.cos(x / 2)


def _pole(s: ca.SX) -> ca.SX:
    """4 pi^2 - s where the series is used, else far from zero."""
    return 4 * pi**2 - ca.if_else(s < _SWITCH["inverse"], s, 0)


def _switch(s: ca.SX, kind: str, series: list[float], closed: ca.SX, pole: ca.SX | float = 0.0) -> ca.SX:
    near = s < _SWITCH[kind]
    # The polynomial, too, must stay finite where it is not used: a huge s would overflow it.
    return ca.if_else(near, pole + _horner(series, ca.if_else(near, s, 0)), closed)


def _horner(coefficients: list[float], u: ca.SX) -> ca.SX:
    y = ca.SX(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        y = y * u + c
    return y


def _alternating(start: int, scale: float = 1.0) -> list[float]:
    """Coefficients (-scale)^k / (2k + start)!."""
    return [(-scale) ** k / factorial(2 * k + start) for k in range(_TERMS)]


def _derivative(coefficients: list[float]) -> list[float]:
    """Of f'(x)/x = 2 df/ds."""
    return [2 * (k + 1) * c for k, c in enumerate(coefficients[1:])]


def bernoulli(n: int) -> list[Fraction]:
    """The Bernoulli numbers B_0 to B_n, B_1 = -1/2."""
    b = [Fraction(1)]
    for m in range(1, n + 1):
        b.append(-sum((comb(m + 1, k) * b[k] for k in range(m)), Fraction(0)) / (m + 1))
    return b


def _inverse_series() -> list[float]:
    """The r_j: f6 = sum |B_2k| / (2k)! s^(k-1), less the series of the pole."""
    b = bernoulli(2 * _TERMS)
    return [float(abs(b[2 * k])) / factorial(2 * k) - 2 / (4 * pi**2) ** k for k in range(1, _TERMS + 1)]


_F1 = _alternating(1)
_F2 = [-c for c in _alternating(2)]
_F3 = _alternating(3)
_F6 = _inverse_series()
_COS_HALF = _alternating(0, 0.25)
_SINC_HALF = [c / 2 for c in _alternating(1, 0.25)]
_F7_SWITCH = 0.4
_ATAN = [(-1.0) ** k / (2 * k + 1) for k in range(24)]
