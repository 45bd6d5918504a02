"""The small-angle functions: value, first and second derivative, to a few units in the last place over the whole range."""

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

from kreisel.symbolic import ArrayFunction
from kreisel.symbolic import smallangle as sa

EPS = np.finfo(float).eps

# In terms of s = x^2.
EXACT = {
    "f1": lambda x: mp.sin(x) / x,
    "f2": lambda x: (mp.cos(x) - 1) / x**2,
    "f3": lambda x: (x - mp.sin(x)) / x**3,
    "f4": lambda x: (2 - 2 * mp.cos(x) - x * mp.sin(x)) / x**4,
    "f5": lambda x: (x * (2 + mp.cos(x)) - 3 * mp.sin(x)) / x**5,
    "f6": lambda x: (2 - x * mp.cot(x / 2)) / (2 * x**2),
    "f8": lambda x: (x * mp.sin(x) + 4 * mp.cos(x) + x**2 - 4) / (4 * mp.sin(x / 2) ** 2 * x**4),
    "f9": lambda x: (64 - 12 * x * mp.cot(x / 2) + 4 * x**2 * (3 + x * mp.cot(x / 2)) / (mp.cos(x) - 1)) / (8 * x**6),
    "cos_half": lambda x: mp.cos(x / 2),
    "sinc_half": lambda x: mp.sin(x / 2) / x,
}
AT_ZERO = {"f1": 1, "f2": -1 / 2, "f3": 1 / 6, "f4": 1 / 12, "f5": 1 / 60, "f6": 1 / 12, "f8": 1 / 360, "f9": 1 / 3780}  # Hante, App. B


def with_derivatives(name):
    def formula(s):
        y = getattr(sa, name)(s)
        d = ca.gradient(y, s)
        return y, d, ca.gradient(d, s)

    return ArrayFunction(name, formula, {"s": ()}, [(), (), ()])


@pytest.mark.parametrize("name", EXACT)
def test_value_and_derivatives(name):
    switches = np.sqrt(list(sa._SWITCH.values()))
    x = np.concatenate([
        np.geomspace(1e-12, 0.1, 12), np.linspace(0.15, 6.2, 70), *(np.nextafter(s, [0, 10]) for s in switches),
        [] if name in ("f6", "f8", "f9") else np.linspace(6.4, 40, 20),
    ])  # fmt: skip
    s = x**2
    got = with_derivatives(name)(s)
    # An error of half a unit in s already moves f by |s f'| eps/2, so that is part of the scale.
    limits = (4, 8, 16)
    with mp.workdps(150):
        for a, values in zip(s, zip(*got, strict=True), strict=True):
            S = mp.mpf(float(a))
            # The k-th derivative by Cauchy's formula on a circle would do; a symmetric Taylor fit is simpler.
            h = S * mp.mpf(10) ** -20
            f = [EXACT[name](mp.sqrt(S + k * h)) for k in range(-2, 3)]
            exact = [f[2], (f[3] - f[1]) / (2 * h), (f[3] - 2 * f[2] + f[1]) / h**2, (f[4] - 2 * f[3] + 2 * f[1] - f[0]) / (2 * h**3)]
            for k, limit in enumerate(limits):
                scale = max(abs(exact[k]), abs(S * exact[k + 1]))
                assert abs(mp.mpf(float(values[k])) - exact[k]) / scale < limit * EPS, (name, float(mp.sqrt(S)), k)


@pytest.mark.parametrize("name", AT_ZERO)
def test_value_at_zero(name):
    assert with_derivatives(name)(0.0)[0] == pytest.approx(AT_ZERO[name], rel=EPS)


@pytest.mark.parametrize("name", EXACT)
def test_nothing_leaks_from_the_branch_not_taken(name):
    s = np.array([0.0, 5e-324, 1e-300, 1e-8, 1.0, 1e10, 1e200])
    for y in with_derivatives(name)(s):
        assert np.all(np.isfinite(y)), y


def test_angle_over_sine_of_half():
    """f7 along the circle of unit quaternions: value and two derivatives with respect to the angle."""
    w, n = ca.SX.sym("w"), ca.SX.sym("n")
    y = sa.f7(w, n**2)

    def along(f):  # d/dx of (cos(x/2), sin(x/2))
        return ca.jacobian(f, w) * (-n) / 2 + ca.jacobian(f, n) * w / 2

    d = along(y)
    f = ca.Function("f7", [w, n], [y, d, along(d)])
    angles = np.concatenate([np.geomspace(1e-9, 0.1, 12), np.linspace(0.15, 2 * np.pi - 0.05, 120)])
    with mp.workdps(50):
        for angle in angles:
            W, N = (float(g(mp.mpf(float(angle)) / 2)) for g in (mp.cos, mp.sin))
            X = 2 * mp.atan2(mp.mpf(N), mp.mpf(W))
            exact = [mp.diff(lambda x: x / mp.sin(x / 2), X, k) for k in range(4)]
            for k, value in enumerate(f(W, N)):
                scale = max(abs(exact[k]), abs(X * exact[k + 1]), abs(exact[0]) if k else 0)
                assert abs(mp.mpf(float(value)) - exact[k]) / scale < 4 * EPS, (angle, k)


def test_the_remainder_of_the_pole_series():
    """r_j = 2 sum over m >= 2 of (4 pi^2 m^2)^-(j+1), to the accuracy with which it counts at the switch."""
    with mp.workdps(40):
        for j, r in enumerate(sa._F6):
            exact = 2 * (mp.zeta(2 * j + 2) - 1) / (4 * mp.pi**2) ** (j + 1)
            assert abs(r - exact) * sa._SWITCH["inverse"] ** j < EPS * sa._F6[0]
