"""The geometry of groups as surfaces, and Lyapunov functions."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr
from kreisel.stability import Lyapunov, dual_basis, equilibrium, first_fundamental, hilbert_distance, surface_gradient, tangent_basis

GROUPS = [kr.R(3), kr.SO3, kr.SE3, kr.SO3 * kr.R(3)]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_bases_of_the_tangent_space(group):
    q = group.random(1)
    tau, dual = tangent_basis(group, q), dual_basis(group, q)
    np.testing.assert_allclose(np.einsum("iab,jab->ij", dual, tau), np.eye(group.dim), atol=1e-12)
    # tau_i is the derivative of the matrix of q exp(t e_i).
    e = 1e-6
    for i, direction in enumerate(np.eye(group.dim)):
        ahead, behind = (group.matrix(group.retract(q, s * e * direction)) for s in (1, -1))
        np.testing.assert_allclose((ahead - behind) / (2 * e), tau[i], atol=1e-9)
    if group is kr.SO3:
        np.testing.assert_allclose(first_fundamental(group, q), 2 * np.eye(3), atol=1e-15)


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_the_product_of_the_gradient_with_a_motion_is_the_rate(group):
    q, v = group.random(2), np.random.default_rng(0).standard_normal(group.dim)
    weights = np.random.default_rng(1).standard_normal(group.n_params)

    def V(x):
        return ca.sin(ca.dot(ca.DM(weights), x)) + ca.sumsqr(x[:3])

    gradient = surface_gradient(V, group, q)
    rate = np.sum(gradient * (group.matrix(q) @ group.tilde(v)))
    f = ca.SX.sym("x", group.n_params)
    value = ca.Function("V", [f], [V(f)])
    e = 1e-6
    difference = (float(value(group.retract(q, e * v))) - float(value(group.retract(q, -e * v)))) / (2 * e)
    assert rate == pytest.approx(difference, abs=1e-7)


def test_distance_of_rotations():
    """|R - I| = 2 sqrt(2) |sin(phi/2)|, and velocities beside it."""
    phi = np.linspace(0, np.pi, 7)
    R = kr.SO3.exp(np.stack([0 * phi, phi, 0 * phi], axis=1))
    d = hilbert_distance(kr.SO3, R, np.tile([3.0, 0, 0], (7, 1)), kr.SO3.identity(), np.zeros(3))
    np.testing.assert_allclose(d, np.sqrt(8 * np.sin(phi / 2) ** 2 + 9), rtol=1e-14)


def test_energy_and_what_is_none():
    """A function that does not decrease is told by its samples; a maximum by its second derivative."""
    top = kr.models.extended_top("SE3", stiffness=100.0, damping=2.0, gamma=-np.pi / 2, alpha=0.0)
    e = equilibrium(top)
    energy = Lyapunov(top)
    assert energy.value(e.solution.q[-1], np.zeros(6)) == pytest.approx(e.energy)
    assert energy.definiteness(e) == "positive definite"
    other = Lyapunov(top, lambda q, v: ca.dot(v[:3], v[:3]) / 2)
    assert other.sample(e, radius=0.3, count=50).rate.max() > 0
    inverted = kr.models.extended_top("SE3", stiffness=100.0, damping=2.0, gamma=np.pi / 2, alpha=0.0)
    assert Lyapunov(inverted).definiteness(equilibrium(inverted)) == "indefinite"


def test_the_orbital_derivative_is_the_rate_along_a_motion():
    """Of a function of one's own, on the constraints: against differences of a simulation with short steps."""
    top = kr.models.extended_top("S3xR3", stiffness=30.0, damping=1.0)
    V = Lyapunov(top, lambda q, v: ca.sin(q[0]) * v[0] + q[5] * v[2] ** 2)
    sol = kr.simulate(top, until=0.5, step=1e-4)
    k = 3000
    values = [V.value(sol.q[i], sol.v[i]) for i in (k - 1, k, k + 1)]
    assert V.orbital_derivative(sol.q[k], sol.v[k]) == pytest.approx((values[2] - values[0]) / 2e-4, rel=1e-5)


def test_samples_are_on_the_constraints():
    top = kr.models.extended_top("SE3", stiffness=100.0, damping=2.0, gamma=-np.pi / 2, alpha=0.0)
    s = Lyapunov(top).sample(equilibrium(top), radius=0.4, count=40, seed=5)
    x = s.q[:, 9:]
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, atol=1e-12)
    assert 0 < s.distance.min() < s.distance.max() < 2
