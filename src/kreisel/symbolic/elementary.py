"""Sine, cosine and arc tangent as straight-line machine code for any number of lanes.

A mathematics library works on one number at a time. The kernels of this package work on
several instances per instruction, so the three functions that rotations cannot do without are
written out here with vector arithmetic. One definition serves the scalar kernels too: a result
does not depend on how many instances share a call. Arguments for which the short reduction
would be inexact (beyond a million, or not finite) take a branch to the C library, lane by lane.

Errors, measured against 40-digit arithmetic in ``tests/symbolic/test_elementary.py``: below one
unit in the last place for sine and cosine, below 1.6 for the arc tangent.
"""

from __future__ import annotations

from math import factorial, pi, tan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kreisel.symbolic.translate import Builder

SIN = [(-1.0) ** k / factorial(2 * k + 1) for k in range(1, 9)]
COS = [(-1.0) ** k / factorial(2 * k) for k in range(2, 10)]

# pi/2 in three parts. The first two have 33 significant bits, so that k times a part is exact
# for |k| < 2**20 and the reduction loses nothing. (W. Cody, W. Waite: Software Manual for the
# Elementary Functions, 1980.)
HALF_PI = (float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a6p-34"), float.fromhex("0x1.3198a2e037073p-69"))
REDUCIBLE = 1.6e6

# atan(z)/z = 1 + u P(u), u = z**2 <= tan(pi/8)**2: interpolation in Chebyshev points with 50
# digits; the same test regenerates the coefficients.
ATAN = [
    -0.3333333333333333,
    0.1999999999999552,
    -0.14285714284666542,
    0.11111111015256361,
    -0.09090904578123901,
    0.07692183190826087,
    -0.06664511447381939,
    0.05858148912802137,
    -0.05085449737939879,
    0.039231658295576184,
    -0.019176887119048774,
]
ATAN_RANGE = tan(pi / 8)
PI_LOW = 1.2246467991473532e-16  # pi - float(pi)


def horner(b: Builder, coefficients: list[float], u: str) -> str:
    """c0 + u (c1 + u (c2 + ...))."""
    y = b.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        y = b.add(b.mul(y, u), b.constant(c))
    return y


def sin_cos(b: Builder, x: str, shift: int) -> str:
    """sin(x) for shift 0, cos(x) = sin(x + pi/2) for shift 1."""
    size = b.call("llvm.fabs", x)
    k = b.call("llvm.rint", b.mul(x, b.constant(2 / pi)))
    # x - k pi/2 = r + rest: the first difference is exact, of the others the rounding errors are kept.
    r0 = b.sub(x, b.mul(k, b.constant(HALF_PI[0])))
    kp = b.mul(k, b.constant(HALF_PI[1]))
    r1 = b.sub(r0, kp)
    kp = b.sub(b.mul(k, b.constant(HALF_PI[2])), b.sub(b.sub(r0, r1), kp))
    r = b.sub(r1, kp)
    rest = b.sub(b.sub(r1, r), kp)
    u = b.mul(r, r)
    sine = b.add(r, b.add(rest, b.mul(b.mul(r, u), horner(b, SIN, u))))
    half = b.mul(u, b.constant(0.5))
    head = b.sub(b.constant(1.0), half)
    # (1 - head) - half is the rounding error of head.
    tail = b.sub(b.sub(b.constant(1.0), head), half)
    tail = b.sub(tail, b.mul(r, rest))
    cosine = b.add(head, b.add(tail, b.mul(b.mul(u, u), horner(b, COS, u))))
    if shift:
        k = b.add(k, b.constant(1.0))
    # The quadrant from k/4 and k/2: odd quadrants exchange sine and cosine, the upper two change sign.
    odd = b.compare("one", b.mul(b.constant(2.0), b.call("llvm.floor", b.mul(k, b.constant(0.5)))), k)
    turn = b.sub(k, b.mul(b.constant(4.0), b.call("llvm.floor", b.mul(k, b.constant(0.25)))))
    y = b.select(odd, cosine, sine)
    y = b.select(b.compare("oge", turn, b.constant(2.0)), b.neg(y), y)
    return b.unless(b.compare("ugt", size, b.constant(REDUCIBLE)), y, "cos" if shift else "sin", x)


def atan2(b: Builder, y: str, x: str) -> str:
    """The angle of the point (x, y), in [-pi, pi]."""
    ax, ay = b.call("llvm.fabs", x), b.call("llvm.fabs", y)
    steep = b.compare("ogt", ay, ax)
    low, high = b.select(steep, ax, ay), b.select(steep, ay, ax)
    # atan(low/high) = pi/4 + atan((low - high)/(low + high)): one division either way.
    middle = b.compare("ogt", low, b.mul(high, b.constant(ATAN_RANGE)))
    z = b.div(b.select(middle, b.sub(low, high), low), b.select(middle, b.add(low, high), high))
    u = b.mul(z, z)
    angle = b.mul(b.mul(z, u), horner(b, ATAN, u))
    # Angle = base + sign * (z + angle), base a multiple of pi/4 in two parts.
    left = b.compare("olt", x, b.constant(0.0))
    base = b.select(middle, b.constant(0.25), b.constant(0.0))
    base = b.select(steep, b.sub(b.constant(0.5), base), base)
    base = b.select(left, b.sub(b.constant(1.0), base), base)
    flip = b.bits("xor", steep, left)
    z, angle = (b.select(flip, b.neg(a), a) for a in (z, angle))
    angle = b.add(angle, b.mul(base, b.constant(PI_LOW)))
    # base * pi is exact (a power of two times pi, or 3/4 pi rounded): its error is in PI_LOW for
    # the former and below a quarter unit for the latter.
    angle = b.add(b.mul(base, b.constant(pi)), b.add(z, angle))
    angle = b.call("llvm.copysign", angle, y)
    regular = b.compare("olt", high, b.constant(1e307))
    regular = b.bits("and", regular, b.compare("ogt", high, b.constant(1e-290)))
    return b.unless(b.bits("not", regular), angle, "atan2", y, x)
