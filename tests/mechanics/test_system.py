"""System(...): equations of motion from functions of q and v."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kreisel as kr

REFERENCE = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}


def double_pendulum(mass):
    """Angles from the vertical, unit lengths and masses: M(q) = [[2, cos d], [cos d, 1]]."""
    return kr.System(
        kr.R(2),
        mass=mass,
        potential=lambda q: -9.81 * (2 * ca.cos(q[0]) + ca.cos(q[1])),
        force=lambda t, q, v: -0.1 * v,
        q=[1.0, 0.3],
        v=[0.5, -1.0],
    )


@pytest.mark.parametrize("method", [kr.GeneralizedAlpha(), kr.GeneralizedAlpha(index="stabilised-2"), kr.BLieDF(2)], ids=str)
def test_mass_that_depends_on_q(method):
    system = double_pendulum(lambda q: ca.blockcat([[2, ca.cos(q[0] - q[1])], [ca.cos(q[0] - q[1]), 1]]))

    def rate(t, y):
        a, b, da, db = y
        c, s = np.cos(a - b), np.sin(a - b)
        force = [-s * db**2 - 2 * 9.81 * np.sin(a) - 0.1 * da, s * da**2 - 9.81 * np.sin(b) - 0.1 * db]
        return [da, db, *np.linalg.solve([[2, c], [c, 1]], force)]

    exact = solve_ivp(rate, (0, 1), [1.0, 0.3, 0.5, -1.0], **REFERENCE).y[:, -1]
    errors = []
    for n in (256, 512, 1024):
        sol = kr.simulate(system, until=1, step=1 / n, method=method)
        errors.append(np.abs(np.r_[sol.q[-1], sol.v[-1]] - exact).max())
    assert errors[-1] < 1e-3
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("method", [kr.RATTLie(), kr.SHAKELie()], ids=str)
def test_mass_that_depends_on_q_is_refused_by_methods_that_cannot(method):
    system = double_pendulum(lambda q: ca.blockcat([[2, ca.cos(q[0] - q[1])], [ca.cos(q[0] - q[1]), 1]]))
    with pytest.raises(
        ValueError, match=f"{method} does not fit this system: the mass matrix must be constant, that of 'mass' depends on q"
    ):
        kr.simulate(system, until=1, step=0.1, method=method)


def test_mass_that_depends_on_q_on_a_group():
    """M = J + c r33^2 I on SO(3): the energy is kept to second order, and the acceleration is that of Lagrange's equations, by hand."""
    J, c = np.diag([1.0, 2.0, 2.5]), 0.8
    system = kr.System(kr.SO3, mass=lambda q: ca.DM(J) + c * q[8] ** 2 * ca.DM.eye(3), q=kr.SO3.exp([0.4, -0.3, 0.2]), v=[1.0, 2.0, -0.5])
    drifts = []
    for n in (100, 200, 400):
        sol = kr.simulate(system, until=2, step=2 / n, method=kr.GeneralizedAlpha(rho_inf=1.0))
        drifts.append(np.ptp(sol.energy))
    assert drifts[-1] < 1e-3
    assert np.log2(drifts[1] / drifts[2]) == pytest.approx(2, abs=0.1)
    # (M v)' - ad(v)^T M v = D(v . M v / 2), with D r33 along w: (R skew(w))_33
    R, v = np.asarray(kr.SO3.matrix(sol.q[0])), sol.v[0]
    M = J + c * R[2, 2] ** 2 * np.eye(3)
    D = np.array([-R[2, 1], R[2, 0], 0])
    rate = 2 * c * R[2, 2] * (D @ v)
    a = np.linalg.solve(M, -rate * v - np.cross(v, M @ v) + c * R[2, 2] * D * (v @ v))
    np.testing.assert_allclose(sol.a[0], a, atol=1e-12)


def test_point_on_a_surface():
    """z = x^2/2 + y^2, with friction, against the equations in x and y."""
    z = 0.5 * 0.3**2 + 0.2**2
    system = kr.System(
        kr.R(3),
        mass=np.eye(3),
        potential=lambda q: 9.81 * q[2],
        force=lambda t, q, v: -0.2 * v,
        constraint=lambda t, q: q[2] - q[0] ** 2 / 2 - q[1] ** 2,
        q=[0.3, 0.2, z],
        v=[1.0, -0.5, 0.3 * 1.0 + 2 * 0.2 * -0.5],
    )

    def rate(t, y):
        x, y, u, v = y
        n, w = np.array([-x, -2 * y, 1.0]), x * u + 2 * y * v
        f = np.array([0, 0, -9.81]) - 0.2 * np.array([u, v, w])
        # n . a = u^2 + 2 v^2, a = f + mu n
        mu = (u**2 + 2 * v**2 - n @ f) / (n @ n)
        return [u, v, *(f + mu * n)[:2]]

    exact = solve_ivp(rate, (0, 1), [0.3, 0.2, 1.0, -0.5], **REFERENCE).y[:, -1]
    sol = kr.simulate(system, until=1, step=2**-7, method=kr.Composition(order=6))
    np.testing.assert_allclose(np.r_[sol.q[-1, :2], sol.v[-1, :2]], exact, atol=1e-8)
    assert (system.index, system.degrees_of_freedom) == (3, 2)


@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha()], ids=str)
def test_nonholonomic_constraint(method):
    """A knife edge on an inclined plane slides down, stops, and comes back on a cycloid: x = g t-terms in closed form."""
    w, g = 2.0, 3.0
    system = kr.System(
        kr.R(3),
        mass=np.diag([1.0, 1.0, 0.5]),
        potential=lambda q: -g * q[0],
        pfaffian=lambda t, q, v: v[0] * ca.sin(q[2]) - v[1] * ca.cos(q[2]),
        v=[0, 0, w],
    )
    errors = []
    for n in (256, 512):
        sol = kr.simulate(system, until=2, step=2 / n, method=method)
        # s' = g cos(w t), so s = g sin(w t)/w; x' = s cos, y' = s sin
        exact = np.stack(
            [g * np.sin(w * sol.t) ** 2 / (2 * w**2), g * (2 * w * sol.t - np.sin(2 * w * sol.t)) / (4 * w**2), w * sol.t], axis=1
        )
        errors.append(np.abs(sol.q - exact).max())
        # mu holds the edge against centrifugal force and gravity: with n = (sin, -cos), A^T mu = f - M a
        s, phi = g * np.sin(w * sol.t) / w, w * sol.t
        errors_mu = np.abs(sol.mu[5:, 0] - (g * np.sin(phi) + s * w)[5:]).max()
        assert errors_mu < 50 * (2 / n) ** 2 if isinstance(method, kr.RATTLie) else errors_mu < 0.1
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert sol.velocity_violation.max() < 1e-12


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: kr.System(kr.R(2), mass=np.eye(3)), r"mass must have shape \(2, 2\), got \(3, 3\)"),
        (lambda: kr.System(kr.R(2), mass=[[1, 2], [0, 1]]), "mass must be symmetric"),
        (lambda: kr.System(kr.R(2), mass=[[1, 2], [2, 1]]), "mass must be positive definite"),
        (lambda: kr.System(kr.R(2), mass=np.eye(2), q=[1.0]), r"'q': the configuration must have shape \(2,\), got \(1,\)"),
        (lambda: kr.System(kr.R(2), mass=np.eye(2), v=[1.0]), r"'q': the velocity must have shape \(2,\), got \(1,\)"),
        (lambda: kr.System(kr.SO3, mass=np.eye(3), q=np.ones(9)), "is not a rotation matrix"),
    ],
)
def test_messages(make, words):
    with pytest.raises(ValueError, match=words):
        make()
