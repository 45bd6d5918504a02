"""Lagrange's top against a method of order 8, against our integrators, and in its limits."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kreisel as kr
from kreisel.exact import HeavyTop, Pendulum, steady_rotation
from kreisel.groups import SO3

ANY = SO3.matrix(SO3.exp([0.5, -1.0, 2.0]))


def tilted(angle):
    return steady_rotation((1, 0, 0), angle)


def steady(angle, W3, J1=5.0, J3=1.0, Q=20.0):
    """W of the slow steady precession: J1 p^2 cos - J3 W3 p + Q = 0."""
    c = np.cos(angle)
    p = (J3 * W3 - np.sqrt((J3 * W3) ** 2 - 4 * J1 * c * Q)) / (2 * J1 * c)
    return 0, p * np.sin(angle), W3


def homoclinic(angle, W3, J1=5.0, J3=1.0, Q=20.0):
    """W with the constants of the sleeping top."""
    W2 = J3 * W3 * (1 - np.cos(angle)) / (J1 * np.sin(angle))
    return np.sqrt(2 * Q * (1 - np.cos(angle)) / J1 - W2**2), W2, W3


def reference(J1, J3, Q, W, R, t):
    J = np.array([J1, J1, J3])

    def rate(_, y):
        R, W = y[:9].reshape(3, 3), y[9:]
        torque = Q * np.array([R[2, 1], -R[2, 0], 0])  # -Q e3 x R^T e_z
        return np.concatenate([np.cross(W, -R).ravel(), (torque - np.cross(W, J * W)) / J])

    y = solve_ivp(rate, (0, t[-1]), np.r_[R.ravel(), W], "DOP853", t, rtol=1e-13, atol=1e-15).y.T
    return y[:, :9].reshape(-1, 3, 3), y[:, 9:]


#: J1, J3, torque, W, R and the tolerance: next to the vertical, and for fast spins over many turns, a reference has less to offer.
CASES = {
    "fast, of the source": (5, 1, 20, (0, 0, 50), tilted(0.3), 1e-11),
    "fast, of the source, g = 9.81": (5, 1, 196.2, (0, 0, 50), tilted(0.3), 1e-11),
    "any": (5, 1, 20, (1, 2, 5), ANY, 2e-12),
    "hanging": (5, 1, -20, (1, 2, 5), ANY, 2e-12),
    "oblate, backwards": (5, 8, 20, (1, 2, -5), ANY, 2e-12),
    "cusps": (5, 1, 20, (0, 0, 5), tilted(np.pi / 2), 2e-12),
    "loops": (5, 1, 20, (0, -2, 20), tilted(1.0), 2e-12),
    "asleep": (5, 1, 20, (0, 0, 30), np.eye(3), 2e-12),
    "upright, but not asleep": (5, 1, 20, (0, 0, 3), np.eye(3), 2e-12),
    "through the top": (5, 1, 20, (1, 0.3, 3), np.eye(3), 2e-12),
    "through the top, turned": (5, 1, 20, (1, 0.3, 3), steady_rotation((0, 0, 1), 0.7), 2e-12),
    "through the bottom": (5, 1, 20, (1, 0.3, 3), np.diag([1.0, -1, -1]), 2e-12),
    "plane pendulum": (5, 1, 20, (1, 0, 0), tilted(2.3), 2e-12),
    "plane, turning over": (5, 1, 20, (3, 0, 0), tilted(0.3), 2e-12),
    "plane, from the top": (5, 1, 20, (1, 0.3, 0), np.eye(3), 2e-12),
    "almost plane": (5, 1, 20, (1, 1e-8, 0), tilted(2.3), 2e-12),
    "almost plane, with a little spin": (5, 1, 20, (1, 0, 1e-9), tilted(2.3), 2e-12),
    "steady precession": (5, 1, 20, steady(0.5, 40), tilted(0.5), 1e-11),
    "from the sleeping top": (5, 1, 20, homoclinic(1.0, 5.0), tilted(1.0), 1e-10),
    "to the sleeping top": (5, 1, 20, np.array([-1, 1, 1]) * homoclinic(1.0, 5.0), tilted(1.0), 1e-9),
    "off the vertical by a hair": (5, 1, 20, (0, 0, 0), tilted(1e-17), 2e-12),
    "hanging still, by a hair": (5, 1, 20, (0, 0, 3), tilted(np.pi), 2e-12),
    "without weight": (5, 1, 0, (1, 2, 3), tilted(0.3), 2e-12),
    "a sphere": (2, 2, 3, (1, 2, 3), ANY, 2e-12),
}


@pytest.mark.parametrize("case", CASES)
def test_against_order_eight(case):
    J1, J3, Q, W, R0, tolerance = CASES[case]
    t = np.linspace(0, 3, 13)
    top = HeavyTop(J1, J3, Q, W, R0)
    R, omega = reference(J1, J3, Q, np.asarray(W, dtype=float), R0, t)
    np.testing.assert_allclose(top.rotation(t), R, atol=tolerance)
    np.testing.assert_allclose(top.omega(t), omega, atol=tolerance * (1 + np.abs(omega).max() / 5))
    np.testing.assert_allclose(top.rotation(0.0), R0, atol=3e-15)


@pytest.mark.parametrize("case", CASES)
def test_constants_of_motion(case):
    """Energy, momentum along z and spin, at late times and in the past."""
    J1, J3, Q, W, R0, _ = CASES[case]
    top = HeavyTop(J1, J3, Q, W, R0)
    J = np.array([J1, J1, J3])

    def constants(t):
        R, W = top.rotation(t), top.omega(t)
        return np.stack([np.sum(W * J * W, axis=-1) / 2 + Q * R[..., 2, 2], np.sum(R[..., 2, :] * J * W, axis=-1), W[..., 2]], axis=-1)

    start = constants(np.zeros(()))
    t = np.linspace(-20, 100, 7)
    np.testing.assert_allclose(constants(t), np.broadcast_to(start, (7, 3)), rtol=2e-13, atol=2e-13 * np.abs(start).max())
    z = top.axis(np.linspace(0, 50, 2000))[:, 2]
    low, high = top.nutation_range
    assert np.cos(high) - 1e-12 <= z.min()
    assert z.max() <= np.cos(low) + 1e-12


def test_numbers_of_the_source():
    """Sadlowski 5.2 with Mgl = 20: nutation 0.3000-0.3267; with 196.2: 0.30-1.3666. Fast tops (5.3): omega_p = 0.4, omega_n = 10."""
    top = HeavyTop(5, 1, 20, (0, 0, 50), tilted(0.3))
    assert [f"{a:.4f}" for a in top.nutation_range] == ["0.3000", "0.3267"]
    heavy = HeavyTop(5, 1, 196.2, (0, 0, 50), tilted(0.3))
    assert [f"{a:.4f}" for a in heavy.nutation_range] == ["0.3000", "1.3666"]
    assert top.precession_rate == pytest.approx(0.4, rel=0.1)
    assert 2 * np.pi / top.nutation_period == pytest.approx(10, rel=0.1)
    precession = steady(0.5, 40)[1] / np.sin(0.5)
    assert HeavyTop(5, 1, 20, steady(0.5, 40), tilted(0.5)).precession_rate == pytest.approx(precession, rel=1e-12)
    np.testing.assert_allclose(top.nutation([0, top.nutation_period / 2]), top.nutation_range, rtol=1e-13)


def test_fast_formulas_are_the_limit():
    for spin in (100.0, 1000.0, 10000.0):
        top = HeavyTop(5, 1, 20, (0, 0, spin), tilted(0.3))
        rel = 3 * 5 * 20 / spin**2
        assert top.precession_rate == pytest.approx(20 / spin, rel=rel)
        assert 2 * np.pi / top.nutation_period == pytest.approx(spin / 5, rel=rel)


def test_plane_motion_is_the_pendulum():
    t = np.linspace(0, 7, 30)
    top, pendulum = HeavyTop(5, 1, 20, (0.7, 0, 0), tilted(2.3)), Pendulum(np.pi - 2.3, -0.7, frequency=2.0)
    np.testing.assert_allclose(top.axis(t)[:, 2], -np.cos(pendulum.angle(t)), atol=1e-13)
    np.testing.assert_allclose(top.omega(t)[:, 0], -pendulum.rate(t), atol=1e-12)


def test_our_integrator_converges_to_it():
    """The heavy top of Hante, its axis along y, turned so that it is along z: order two."""
    turn = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # its columns: z, x and y, the new axes
    exact = HeavyTop(15.234375, 0.46875, 15 * 9.81, turn.T @ [0, 1.5, -0.0461538], turn)
    errors = []
    for h in (2**-8, 2**-9):
        sol = kr.simulate(kr.models.heavy_top("SO3", spin="slow"), until=1.0, step=h)
        errors.append(np.abs(sol.rotation("top") - exact.rotation(sol.t) @ turn.T).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.02)
    assert errors[1] < 2e-4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: HeavyTop(0, 1, 20, (0, 0, 1)), "J1 must be a positive number"),
        (lambda: HeavyTop(5, 1, np.nan, (0, 0, 1)), "torque must be a finite number"),
        (lambda: HeavyTop(5, 1, 20, (0, 0)), "omega must be three finite numbers"),
        (lambda: HeavyTop(5, 1, 20, (0, 0, 1), 2 * np.eye(3)), "HeavyTop: rotation"),
        (lambda: HeavyTop(5, 1, 20, (0, 0, 50)).precession_rate, "no mean precession"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
