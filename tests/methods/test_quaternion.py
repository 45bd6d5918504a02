"""Bodies by quaternions in R^4, and the energy-momentum scheme for them (Siebert, chapter 5)."""

import casadi as ca
import numpy as np
import pytest
from support import fitted_order

import kreisel as kr
from kreisel.mechanics.natural import euler_tensor
from kreisel.mechanics.quaternions import QuaternionNode, convective, left, spatial
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.packs import Layout

FORMS = ["saddle", "reduced"]
J = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])


def value(expression):
    return ca.DM(ca.evalf(expression)).full()


def random_state(seed):
    rng = np.random.default_rng(seed)
    q = rng.standard_normal(4)
    q /= np.linalg.norm(q)
    omega = rng.standard_normal(3)  # body axes
    return ca.SX(q), ca.SX(value(convective(ca.SX(q)).T @ ca.SX(omega)) / 2), omega


def test_operators():
    """R = E_1 E_2^T is the rotation of the group S3; angular velocities; products (Siebert, 5.1, 5.2; spec 001, 3.5)."""
    q, v, omega = random_state(1)
    R = value(spatial(q) @ convective(q).T)
    numbers = value(q).ravel()
    np.testing.assert_allclose(R, kr.convert(numbers, kr.S3, kr.SO3).reshape(3, 3), atol=1e-15)
    np.testing.assert_allclose(2 * value(convective(q) @ v).ravel(), omega, atol=1e-15)
    np.testing.assert_allclose(2 * value(spatial(q) @ v).ravel(), R @ omega, atol=1e-15)
    other = kr.S3.random(3)
    np.testing.assert_allclose(value(left(q) @ ca.SX(other)).ravel(), kr.S3.compose(numbers, other), atol=1e-15)


def test_mass_matrix():
    """4 Q J_4 Q^T = P^T M_9 P with the directors; its inverse; regular; kinetic energy and angular momentum of a rigid body."""
    q, v, omega = random_state(2)
    node = QuaternionNode("body")
    inertia = node.inertia(2.0, J)
    p = type("P", (), {k: ca.SX(a) for k, a in inertia.parameters.items()})
    x = ca.SX.sym("q", 4)
    directors = ca.vec(spatial(x) @ convective(x).T)
    P = value(ca.substitute(ca.jacobian(directors, x), x, q))
    # d_i = R e_i, without R's normalisation: rows of x' = d_i' have the Euler tensor for mass.
    M9 = np.kron(euler_tensor(J), np.eye(3))
    full = value(inertia.mass(p, ca.vertcat(q, ca.SX([1, 2, 3]))))
    np.testing.assert_allclose(full[:4, :4], P.T @ M9 @ P, atol=1e-14)
    np.testing.assert_allclose(full[4:, 4:], 2 * np.eye(3))
    assert np.linalg.cond(full[:4, :4]) < 10
    u = value(v).ravel()
    assert u @ full[:4, :4] @ u / 2 == pytest.approx(omega @ J @ omega / 2, rel=1e-14)
    momentum = value(spatial(q)) @ full[:4, :4] @ u / 2
    np.testing.assert_allclose(momentum, value(spatial(q) @ convective(q).T) @ J @ omega, atol=1e-15)
    y = inertia.body_momentum(q, ca.SX(full[:4, :4] @ u))
    np.testing.assert_allclose(value(left(q) @ inertia.rates(p, ca.vertcat(y, ca.SX.zeros(3)))[:4]).ravel(), u, atol=1e-14)


def free_bodies():
    """Two bodies in space with a spring between points of them."""
    m = kr.Mechanism()
    m.body("a", 2.0, J, omega=(1.0, -2.0, 3.0), velocity=(0.3, -0.1, 0.2))
    m.body("b", 1.0, (0.2, 0.25, 0.3), position=(1, 1, 1), omega=(-1, 0.5, 2), velocity=(0, 1, -1))
    m.force(kr.Spring("a", "b", 20.0, length=0.5, at_a=(0.1, 0.2, 0.3), at_b=(-0.3, 0.1, 0)))
    return m


def linked():
    """A double pendulum in space: a ball joint and a hinge."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("upper", 2.0, J, position=(0.5, 0, 0), omega=(0, 0, 2.0), velocity=(0, 1.0, 0))
    m.body("lower", 1.0, (0.02, 0.1, 0.1), position=(1.4, 0, 0), omega=(0, 0, 2.0), velocity=(0, 2.8, 0))
    m.joint(kr.Spherical("ground", "upper", at_b=(-0.5, 0, 0), name="shoulder"))
    m.joint(kr.Revolute("upper", "lower", at=(1, 0, 0), axis=(0, 1, 1), name="elbow"))
    return m


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("h", [0.2, 0.05])
def test_conservation_of_free_bodies(form, h):
    """Energy, and the momenta of bodies without forces, at any step size."""
    m = kr.Mechanism()
    m.body("a", 2.0, J, position=(1, 2, 3), omega=(1.0, -2.0, 3.0), velocity=(0.3, -0.1, 0.2))
    sol = kr.simulate(m.system("quaternions"), 100 * h, h, kr.QuaternionEM(form))
    assert sol.success
    for monitor in (sol.energy, sol.momentum, sol.angular_momentum):
        np.testing.assert_allclose(monitor - monitor[:1], 0, atol=2e-12)
    assert sol.constraint_violation.max() < 1e-14
    assert np.ptp(sol.rotation("a"), axis=0).max() > 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mechanism", [free_bodies, linked])
def test_energy_with_springs_and_joints(form, mechanism):
    """Nonlinear potentials and cubic constraints by discrete gradients: the energy is kept; the joints are, too."""
    sol = kr.simulate(mechanism().system("quaternions"), 4, 0.04, kr.QuaternionEM(form))
    assert sol.success, sol.message
    np.testing.assert_allclose(sol.energy, sol.energy[0], atol=1e-11)
    assert sol.constraint_violation.max() < 1e-13


@pytest.mark.parametrize("mechanism", [free_bodies, linked])
def test_both_forms_are_one_scheme_of_order_two(mechanism):
    exact = kr.simulate(mechanism().system("S3R3"), 1, 1 / 1024, kr.Projection())
    bodies = list(mechanism().bodies)
    steps, errors = 1 / 2.0 ** np.arange(5, 9), []
    for h in steps:
        one, other = (kr.simulate(mechanism().system("quaternions"), 1, h, kr.QuaternionEM(form)) for form in FORMS)
        np.testing.assert_allclose(one.q, other.q, atol=1e-10)
        np.testing.assert_allclose(one.lam, other.lam, atol=1e-7 * (1 + np.abs(one.lam).max()))
        errors.append(
            max(
                max(np.abs(one.rotation(b)[-1] - exact.rotation(b)[-1]).max(), np.abs(one.position(b)[-1] - exact.position(b)[-1]).max())
                for b in bodies
            )
        )
    assert fitted_order(steps, errors) == pytest.approx(2, abs=0.1)
    velocities = [one.velocity(bodies[0], "space")[-1], exact.velocity(bodies[0], "space")[-1]]
    np.testing.assert_allclose(*velocities, atol=0.02)


@pytest.mark.parametrize("form", FORMS)
def test_a_torque_changes_the_angular_momentum_by_itself(form):
    """J_{n+1} - J_n = h M, to round-off, for a moment in space axes."""
    moment = np.array([0.3, -0.2, 0.5])
    m = kr.Mechanism()
    m.body("a", 2.0, J, omega=(1.0, -2.0, 3.0))
    m.force(kr.Load("a", moment=moment))
    sol = kr.simulate(m.system("quaternions"), 2, 0.1, kr.QuaternionEM(form))
    np.testing.assert_allclose(np.diff(sol.angular_momentum, axis=0), 0.1 * moment[None].repeat(20, 0), atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_matrix_of_a_step(form):
    """Against central differences of the residual, at a state that is no solution."""
    system, method = linked().system("quaternions"), kr.QuaternionEM(form)
    layout = Layout(system, method)
    assembly, rng, S = Assembly(layout, method.stages[0]), np.random.default_rng(7), layout.start()
    S[0] = 0.1
    x, e = rng.standard_normal(assembly.n), 1e-6
    matrix = assembly(S, x)[1].toarray()
    differences = np.stack([(assembly.residual(S, x + d) - assembly.residual(S, x - d)) / (2 * e) for d in e * np.eye(len(x))], axis=1)
    np.testing.assert_allclose(matrix, differences, atol=1e-7 * np.abs(matrix).max())


def test_other_methods_on_quaternions():
    """What knows a mass that depends on q knows quaternions."""
    exact = kr.simulate(linked().system("S3R3"), 0.5, 1 / 1024, kr.Projection())
    system = linked().system("quaternions")
    for method, error in ((kr.Projection(), 1e-6), (kr.SolveIvp(project=True), 1e-6), (kr.GeneralizedAlpha(), 1e-2)):
        sol = kr.simulate(system, 0.5, 1 / 256, method)
        assert np.abs(sol.rotation("lower")[-1] - exact.rotation("lower")[-1]).max() < error
    reaction = kr.simulate(system, 0.5, 1 / 256, kr.Projection()).joint("elbow").reaction_force[-1]
    np.testing.assert_allclose(reaction, exact.joint("elbow").reaction_force[-1], rtol=1e-5)


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="form must be 'saddle' or 'reduced', got 'full'"):
        kr.QuaternionEM("full")
    with pytest.raises(ValueError, match=r"QuaternionEM does not fit.*'upper' has coordinates on .*; it needs coordinates='quaternions'"):
        kr.simulate(linked().system("S3R3"), 1, 0.1, kr.QuaternionEM())
    with pytest.raises(ValueError, match=r"RATTLie does not fit.*the mass matrix must be constant"):
        kr.simulate(linked().system("quaternions"), 1, 0.1, kr.RATTLie())
    with pytest.raises(ValueError, match=r"coordinates must be one of .*directors, natural, quaternions, .*got 'euler'"):
        linked().system("euler")
