"""Elliptic functions against arithmetic with 40 digits, up to the separatrix."""

import mpmath as mp
import numpy as np
import pytest

from kreisel.exact.elliptic import first_kind, jacobi, quarter_period, third_kind

FRACTIONS = (1e-9, 0.1, 0.3, 0.49, 0.51, 0.7, 0.9, 1.3, 2.6, -3.7)


@pytest.mark.parametrize("m1", [1.0, 0.9, 0.5, 0.1, 1e-3, 1e-8, 1e-16])
def test_jacobi(m1):
    """Relative errors of all three; the argument is known to a unit in its last place, which next to a zero is all there is."""
    K = quarter_period(m1)
    for f in FRACTIONS:
        u = K * f
        j = jacobi(np.array(u), m1)
        with mp.workdps(40):
            m = 1 - mp.mpf(m1)
            exact = [mp.ellipfun(name, mp.mpf(u), m=m) for name in ("sn", "cn", "dn")]
        for value, reference in zip((j.sn, j.cn, j.dn), exact, strict=True):
            assert abs(float((float(value) - reference) / reference)) < 1e-15 * (2 + 3 * abs(u))
        assert np.sin(j.am) == pytest.approx(float(j.sn), abs=1e-14)


def test_the_separatrix_is_the_limit():
    u = np.linspace(-15, 15, 31)
    for limit, close in zip(jacobi(u, 0.0), jacobi(u, 1e-40), strict=True):
        np.testing.assert_allclose(limit, close, rtol=1e-13, atol=1e-15)
    far = jacobi(np.array([800.0, -1e5]), 0.0)
    np.testing.assert_array_equal(far.sn, [1, -1])
    assert np.all(np.isfinite(far.cn))


@pytest.mark.parametrize("m1", [1.0, 0.5, 1e-3])
@pytest.mark.parametrize("n", [-1e8, -3.0, -0.1, 0.0, 0.3, 0.999])
def test_third_kind(n, m1):
    for f in (0.1, 0.9, 2.6, -7.3):
        j = jacobi(np.array(quarter_period(m1) * f), m1)
        with mp.workdps(30):
            m, phi = 1 - mp.mpf(m1), mp.mpf(float(j.am))
            k = mp.nint(phi / mp.pi)
            exact = 2 * k * mp.ellippi(n, m) + mp.ellippi(n, phi - k * mp.pi, m)
        assert float(third_kind(n, j, m1)) == pytest.approx(float(exact), rel=3e-14)


def test_first_kind_inverts():
    for m1 in (0.7, 1e-6, 0.0):
        u = np.array([-1.2, 0.0, 0.4, 1.1])
        j = jacobi(u, m1)
        np.testing.assert_allclose([first_kind(s, c, m1) for s, c in zip(j.sn, j.cn, strict=True)], u, atol=1e-14)
