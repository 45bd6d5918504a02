"""The free body against a method of order 8, against our integrators, and its conserved quantities."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kreisel as kr
from kreisel.exact import FreeBody
from kreisel.groups import SO3

R0 = SO3.matrix(SO3.exp([0.5, -1.0, 2.0]))
FULL = np.diag([1.0, 2, 3]) + 0.2


def reference(J, W, t):
    J = np.diag(J) if np.ndim(J) == 1 else np.asarray(J)

    def rate(_, y):
        R, W = y[:9].reshape(3, 3), y[9:]
        return np.concatenate([np.cross(W, -R).ravel(), np.linalg.solve(J, -np.cross(W, J @ W))])

    y = solve_ivp(rate, (0, t[-1]), np.r_[R0.ravel(), W], "DOP853", t, rtol=1e-13, atol=1e-15).y.T
    return y[:, :9].reshape(-1, 3, 3), y[:, 9:]


CASES = {
    "about the largest moment": ((1, 2, 3), (0.1, 0.3, 2)),
    "about the smallest moment": ((1, 2, 3), (2, 0.3, 0.2)),
    "near the intermediate axis": ((1, 2, 3), (0.1, 2, 0.1)),
    "very near it": ((1, 2, 3), (1e-9, 1.0, 1e-9)),
    "axes in another order": ((5, 10, 1), (2, 0.5, -1)),
    "negative": ((3, 2, 1), (-1, -1, -1)),
    "any inertia matrix": (FULL, (1, -0.5, 0.3)),
    "symmetric, oblate": ((2, 2, 3), (1, 0.3, -0.5)),
    "symmetric, prolate": ((1, 2, 2), (1, 0.3, -0.5)),
    "symmetric about the second axis": ((2, 1, 2), (1, 0.3, -0.5)),
    "almost symmetric": ((1, 1 + 1e-9, 3), (0.4, 1, 0.3)),
    "sphere": ((2, 2, 2), (1, 0.3, -0.5)),
    "symmetric, in the equatorial plane": ((2, 2, 1), (1, 0.5, 0)),
    "no first component": ((1, 2, 3), (0, 1, 0.3)),
    "no third component": ((1, 2, 3), (1, 1, 0)),
    "about an axis, almost": ((1, 2, 3), (1, 0, 1e-9)),
    "about an axis": ((1, 2, 3), (0, 0, 1)),
    "about the intermediate axis": ((1, 2, 3), (0, -1, 0)),
    "at rest": ((1, 2, 3), (0, 0, 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_against_order_eight(case):
    J, W = CASES[case]
    t = np.linspace(0, 10, 21)
    body = FreeBody(J, W, R0)
    R, omega = reference(J, W, t)
    np.testing.assert_allclose(body.omega(t), omega, atol=3e-12)
    np.testing.assert_allclose(body.rotation(t), R, atol=2e-12)
    np.testing.assert_allclose(body.omega(0.0), W, atol=1e-15)
    np.testing.assert_allclose(body.rotation(0.0), R0, atol=2e-15)


@pytest.mark.parametrize("W", [(np.sqrt(3), 1, 1), (-np.sqrt(3), 1, 1), (np.sqrt(3), -1, 1), (np.sqrt(3), 1, -1)])
def test_separatrix(W):
    """J = (1, 2, 3), W1^2 = 3 W3^2: to the intermediate axis and no way back. Rounding grows like exp(1.2 t) in any reference."""
    t = np.linspace(0, 4, 9)
    body = FreeBody((1, 2, 3), W, R0)
    R, omega = reference((1, 2, 3), W, t)
    np.testing.assert_allclose(body.omega(t), omega, atol=1e-12)
    np.testing.assert_allclose(body.rotation(t), R, atol=1e-12)


def test_exactly_on_the_separatrix():
    """J_c (J_c - J_b) W_c^2 = J_a (J_b - J_a) W_a^2 without rounding, 9 * 4 * 1 = 1 * 4 * 9: the period is infinite."""
    body = FreeBody((1, 5, 9), (3, 2, 1), R0)
    assert body.period == np.inf
    t = np.linspace(-1, 1.5, 11)
    forward = t[t >= 0]
    R, omega = reference((1, 5, 9), (3, 2, 1), forward)
    np.testing.assert_allclose(body.omega(forward), omega, atol=1e-12)
    np.testing.assert_allclose(body.rotation(forward), R, atol=1e-12)
    limit = body.omega(1e3)
    np.testing.assert_allclose(limit, [0, np.sqrt(2 * body.energy / 5), 0], atol=1e-12)
    assert np.all(np.isfinite(body.rotation(1e3)))


@pytest.mark.parametrize("case", CASES)
def test_energy_and_momentum(case):
    """Also after many turns, and in the past."""
    J, W = CASES[case]
    body = FreeBody(J, W, R0)
    t = np.linspace(-300, 1000, 27).reshape(9, 3)
    omega, R = body.omega(t), body.rotation(t)
    assert R.shape == (9, 3, 3, 3)
    Pi = omega @ body.inertia
    np.testing.assert_allclose(np.sum(omega * Pi, axis=-1) / 2, body.energy, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose((R @ Pi[..., None])[..., 0], np.broadcast_to(body.momentum, Pi.shape), atol=2e-14)
    np.testing.assert_allclose(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)


def test_period():
    body = FreeBody((1, 2, 3), (0.1, 2, 0.1))
    np.testing.assert_allclose(body.omega(body.period), body.omega(0.0), atol=1e-13)
    assert not body.is_permanent
    assert FreeBody((1, 2, 3), (0, 0, 1)).is_permanent
    assert FreeBody((1, 2, 3), (0, 0, 1)).period == np.inf


def test_our_integrator_converges_to_it():
    """A free body simulated by RATTLie: order two in rotation and angular velocity."""
    exact = FreeBody((1, 2, 3), (0.3, 2, 0.1), R0)
    errors = []
    for h in (0.01, 0.005):
        m = kr.Mechanism()
        m.body("body", mass=1.0, inertia=(1, 2, 3), rotation=R0, omega=(0.3, 2, 0.1))
        sol = kr.simulate(m.system("SO3xR3"), until=2.0, step=h, method=kr.RATTLie())
        gap = np.abs(sol.rotation("body") - exact.rotation(sol.t)).max(), np.abs(sol.velocity("body")[:, :3] - exact.omega(sol.t)).max()
        errors.append(gap)
    np.testing.assert_allclose(np.log2(np.divide(*errors)), 2, atol=0.02)
    assert max(errors[1]) < 2e-4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: FreeBody((1, 2), (0, 0, 1)), "three principal moments or a symmetric 3 x 3 matrix"),
        (lambda: FreeBody(np.arange(9).reshape(3, 3), (0, 0, 1)), "symmetric"),
        (lambda: FreeBody((1, 2, -3), (0, 0, 1)), "must be positive"),
        (lambda: FreeBody((1, 2, 3), (0, np.nan, 1)), "omega must be three finite numbers"),
        (lambda: FreeBody((1, 2, 3), (0, 0, 1), -np.eye(3)), "FreeBody: rotation: .*is not a"),
        (lambda: FreeBody((1, 2, 3), (0, 0, 1)).omega(np.inf), "t contains nan or inf"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
