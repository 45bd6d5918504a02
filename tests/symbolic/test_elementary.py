"""Sine, cosine and arc tangent of the compiled kernels against arithmetic with many digits."""

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

from kreisel.symbolic import ArrayFunction, elementary

EPS = np.finfo(float).eps


def units(value, exact):
    """Distance in units in the last place of the exact result."""
    return np.array([float(abs(mp.mpf(float(v)) - e)) / np.spacing(abs(float(e))) for v, e in zip(value, exact, strict=True)])


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_to_a_unit_in_the_last_place(name):
    rng = np.random.default_rng(1)
    x = np.concatenate([
        rng.uniform(-10, 10, 3000), rng.uniform(-1.6e6, 1.6e6, 2000), np.geomspace(1e-300, 1, 200),
        (np.arange(1, 200) * np.pi / 2), np.nextafter(np.arange(1, 200) * np.pi / 2, 0), np.geomspace(1.6e6, 1e300, 100),
    ])  # fmt: skip
    f = ArrayFunction(name, getattr(ca, name), {"x": ()}, [()])
    with mp.workdps(400):
        exact = [getattr(mp, name)(mp.mpf(float(a))) for a in x]
    assert units(f(x), exact).max() < 1.0


def test_arc_tangent_to_two_units_in_the_last_place():
    rng = np.random.default_rng(2)
    angle, size = rng.uniform(-np.pi, np.pi, 4000), 10 ** rng.uniform(-200, 200, 4000)
    x = np.concatenate([size * np.cos(angle), [1.0] * 400, rng.standard_normal(500)])
    y = np.concatenate([size * np.sin(angle), 10 ** rng.uniform(-300, 300, 400), 1e-3 * rng.standard_normal(500)])
    f = ArrayFunction("atan2", ca.atan2, {"y": (), "x": ()}, [()])
    with mp.workdps(60):
        exact = [mp.atan2(mp.mpf(float(b)), mp.mpf(float(a))) for a, b in zip(x, y, strict=True)]
    assert units(f(y, x), exact).max() < 1.6


def test_parts_of_half_pi():
    with mp.workdps(50):
        first, second, third = elementary.HALF_PI
        assert abs(sum(map(mp.mpf, elementary.HALF_PI)) - mp.pi / 2) < mp.mpf(2) ** -120
        for k in (2**20 - 1, 2**19 + 1):  # exact products
            assert mp.mpf(first * k) == mp.mpf(first) * k
            assert mp.mpf(second * k) == mp.mpf(second) * k
    assert third != 0


def test_coefficients_of_the_arc_tangent_come_from_chebyshev_points():
    n = len(elementary.ATAN)
    with mp.workdps(50):
        top = mp.tan(mp.pi / 8) ** 2 * (1 + mp.mpf(2) ** -40)
        points = [top * (1 + mp.cos(mp.pi * (2 * k + 1) / (2 * n))) / 2 for k in range(n)]
        A = mp.matrix([[u**j for j in range(n)] for u in points])
        b = mp.matrix([(mp.atan(mp.sqrt(u)) / mp.sqrt(u) - 1) / u for u in points])
        assert [float(c) for c in mp.lu_solve(A, b)] == elementary.ATAN
