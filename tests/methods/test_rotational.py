"""Newmark, weighted residuals and A1-A4: what they conserve, what they are in special cases, what they refuse."""

import casadi as ca
import numpy as np
import pytest
from support import Masses, fitted_order, masses

import kreisel as kr

J = np.diag([5.0, 10.0, 1.0])
ROTATIONAL = [kr.A1(), kr.A2(), kr.A3(), kr.A4()]


def free_body(formulation="SO3", omega=(2, 0.5, -1)):
    return kr.models.intermediate_axis(formulation, torque=0, impulse=0, omega=omega)


def loaded_body(formulation):
    """A torque in space, a weight, friction: everything depends on something."""
    m = kr.Mechanism(gravity=(0.3, 0.2, -9.81))
    m.body("body", 1.5, (0.5, 0.4, 0.3), position=(0.2, 0.1, 0.5), omega=(1, -2, 3))
    m.joint(kr.Spherical("ground", "body", at_b=(-0.2, -0.1, -0.5), name="pivot"))
    m.force(kr.Load("body", moment=(1, 0.3, -0.2), history=ca.cos, name="torque"))
    m.force(kr.Friction("body", rotational=0.1))
    return m.system(formulation)


def swarm():
    """Two bodies, with springs between points off their centres, and a point mass; nothing from outside."""
    m = kr.Mechanism()
    m.body("a", 2.0, (0.3, 0.4, 0.5), omega=(0.5, -1, 2), velocity=(0.3, -0.1, 0.2))
    m.body("b", 1.0, np.array([[0.2, 0.01, 0.02], [0.01, 0.25, 0.03], [0.02, 0.03, 0.3]]), position=(1, 1, 1), omega=(3, 0, 1))
    m.point("c", 0.5, position=(-1, 0, 1), velocity=(0, 1, 0))
    m.force(kr.Spring("a", "b", 40.0, at_a=(0.1, 0.2, 0.3), at_b=(0, 0.2, 0)))
    m.force(kr.Spring("b", "c", 30.0, length=0.8, at_a=(-0.1, 0, 0.2)))
    return m


# Conservation


def drifts(sol):
    """Of the energy, the length of the momentum, and the momentum, relative."""
    pi, E = sol.angular_momentum, sol.kinetic_energy
    length = np.linalg.norm(pi, axis=1)
    return np.ptp(E) / E[0], np.ptp(length) / length[0], np.linalg.norm(pi - pi[0], axis=1).max() / length[0]


@pytest.mark.parametrize("formulation", ["SO3", "S3"])
@pytest.mark.parametrize(
    ("method", "kept"),
    [
        (kr.A1(), (False, False, False)),
        (kr.A2(), (True, True, False)),
        (kr.A3(), (True, True, True)),
        (kr.A3(0.25, 0.5), (True, True, True)),
        (kr.A3(0.3, 0.7), (False, True, True)),
        (kr.A4(), (False, True, True)),
    ],
    ids=repr,
)
def test_what_a_free_body_keeps(method, kept, formulation):
    """Digest 3.11."""
    sol = kr.simulate(free_body(formulation), 20, 0.1, method)
    assert sol.success
    for drift, is_kept in zip(drifts(sol), kept, strict=True):
        assert drift < 5e-14 if is_kept else drift > 1e-3


def test_balance_of_a2():
    """(4.59): (Pi+ - Pi) + h/4 (W+ + W) x (Pi+ + Pi) = 0."""
    h, sol = 0.1, kr.simulate(free_body(), 5, 0.1, kr.A2())
    W, Pi = sol.v, sol.v @ J
    r = np.diff(Pi, axis=0) + h / 4 * np.cross(W[1:] + W[:-1], Pi[1:] + Pi[:-1])
    assert np.abs(r).max() < 1e-13 * np.abs(Pi).max()


@pytest.mark.parametrize(("beta", "gamma"), [(0.3, 0.7), (0.25, 0.6), (0.5, 0.8)])
def test_energy_of_a3(beta, gamma):
    """2 (E+ - E) = (2 - gamma/beta) (Pi+ - Pi) . (W + h A/2)."""
    h, sol = 0.05, kr.simulate(free_body(), 2, 0.05, kr.A3(beta, gamma))
    W, Pi, A = sol.v, sol.v @ J, sol.a
    change = (2 - gamma / beta) * np.einsum("ni,ni->n", np.diff(Pi, axis=0), W[:-1] + h / 2 * A[:-1])
    np.testing.assert_allclose(2 * np.diff(sol.kinetic_energy), change, rtol=0, atol=2e-13 * sol.kinetic_energy[0])
    assert np.abs(change).max() > 1e-3


def test_only_the_ratio_matters_to_a3():
    """With beta/gamma = 1/2 the motion does not depend on the values; the accelerations do."""
    a, b = (kr.simulate(kr.models.intermediate_axis(pulse=0.05), 5, 0.05, m) for m in (kr.A3(0.5, 1), kr.A3(0.3, 0.6)))
    np.testing.assert_allclose(a.v, b.v, atol=1e-10)
    assert np.abs(a.a - b.a).max() > 1


@pytest.mark.parametrize("coordinates", ["SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"])
def test_a3_keeps_energy_and_momentum_on_any_group(coordinates):
    """Of a single free body, translating and turning."""
    m = kr.Mechanism()
    m.body("body", 2.0, (0.3, 0.4, 0.5), position=(1, 0, 0), omega=(0.5, -3, 0.2), velocity=(0.3, -1, 2))
    sol = kr.simulate(m.system(coordinates), 20, 0.05, kr.A3())
    assert np.ptp(sol.energy) < 1e-13 * sol.energy[0]
    for p in (sol.momentum, sol.angular_momentum):
        # Angular momentum about the origin is x x p, and x grows.
        assert np.abs(p - p[0]).max() < 1e-12 * np.linalg.norm(sol.position("body")[-1])


def test_a3_keeps_momenta_of_bodies_that_pull_each_other():
    """In SO3xR3: levers are those in the middle of the step, where translations are, too."""
    sol = kr.simulate(swarm().system("SO3xR3"), 5, 0.02, kr.A3())
    assert sol.success
    np.testing.assert_allclose(sol.momentum, sol.momentum[:1].repeat(len(sol.t), 0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(sol.angular_momentum, sol.angular_momentum[:1].repeat(len(sol.t), 0), rtol=0, atol=1e-12)
    other = kr.simulate(swarm().system("SO3xR3"), 5, 0.02, kr.A2())
    assert np.abs(other.angular_momentum - other.angular_momentum[0]).max() > 1e-3


# Matrices and quaternions; the same and other methods


@pytest.mark.parametrize("method", ROTATIONAL, ids=str)
def test_matrices_and_quaternions_agree(method):
    a, b = (kr.simulate(loaded_body(f), 5, 0.02, method) for f in ("SO3", "S3"))
    np.testing.assert_allclose(a.rotation("body"), b.rotation("body"), rtol=0, atol=1e-11)
    np.testing.assert_allclose(a.v, b.v, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ROTATIONAL, ids=str)
@pytest.mark.parametrize("coordinates", ["SO3xR3", "S3xR3"])
def test_rotation_and_translation_do_not_disturb_each_other(method, coordinates):
    """The rotation of a body in free flight is that of the body held at its centre."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("body", 2.0, (0.3, 0.4, 0.5), omega=(0.5, -3, 0.2), velocity=(0.3, -1, 2))
    flight = kr.simulate(m.system(coordinates), 2, 0.02, method)
    m.joint(kr.Spherical("ground", "body"))
    held = kr.simulate(m.system("SO3"), 2, 0.02, method)
    np.testing.assert_allclose(flight.rotation("body"), held.rotation("body"), rtol=0, atol=1e-12)
    t = flight.t[:, None]
    np.testing.assert_allclose(flight.position("body"), t * [0.3, -1, 2] - 9.81 / 2 * t**2 * [0, 0, 1], atol=1e-12)


def test_a3_keeps_the_momenta_of_a_beam():
    """Its nodes are rigid bodies on SE3 like any others."""
    beam = kr.models.flying_spaghetti("SE3", variant="cosserat", segments=4)
    sol = kr.simulate(beam, 6, 2**-6, kr.A3())
    assert sol.success
    after = sol.t > 5 + 2**-6  # the load is gone
    for p in (sol.momentum[after], sol.angular_momentum[after]):
        np.testing.assert_allclose(p, p[:1].repeat(len(p), 0), rtol=1e-13, atol=1e-11)


def test_a1_is_generalized_alpha_without_means():
    class Plain(kr.GeneralizedAlpha):
        alpha_m, alpha_f, gamma, beta = 0.0, 0.0, 0.5, 0.25

    a, b = (kr.simulate(loaded_body("S3"), 5, 0.02, m) for m in (kr.A1(), Plain()))
    np.testing.assert_allclose(a.q, b.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.v, b.v, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("beta", "gamma"), [(0.25, 0.5), (0.3, 0.6)])
def test_a1_in_a_vector_space_is_newmark(beta, gamma):
    """The same method, once with the displacement and once with the acceleration as unknown."""
    a, b = (kr.simulate(masses(), 5, 0.05, m) for m in (kr.A1(beta, gamma), kr.Newmark(beta, gamma)))
    for name in ("q", "v"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.a, b.a, rtol=0, atol=1e-9)


def test_newmark_is_the_printed_recursion():
    """(4.6)-(4.13), with damping."""
    m, c, k, h, beta, gamma = 2.0, 0.3, 5.0, 0.1, 0.3, 0.6
    sol = kr.simulate(kr.models.oscillator(m, c, k, 0.7, -0.2, load=[(1.5, 3.0)]), 5, h, kr.Newmark(beta, gamma))
    d, v = 0.7, -0.2
    a = (-c * v - k * d) / m
    for n, t in enumerate(sol.t):
        assert (sol.q[n, 0], sol.v[n, 0], sol.a[n, 0]) == pytest.approx((d, v, a), abs=1e-12)
        d_, v_ = d + h * v + h**2 / 2 * (1 - 2 * beta) * a, v + h * (1 - gamma) * a
        a = (1.5 * np.sin(3 * (t + h)) - c * v_ - k * d_) / (m + gamma * h * c + beta * h**2 * k)
        d, v = d_ + beta * h**2 * a, v_ + gamma * h * a


@pytest.mark.parametrize(("theta", "alpha"), [(0.5, 0.5), (0.6, 0.7), (1 / 3, 1.0)])
def test_weighted_residual_is_the_corrected_recursion(theta, alpha):
    """(4.38)-(4.42): D d_{n+theta} = Imp - M A - C B, with A corrected; as printed it is another method."""
    m, c, k, h = 2.0, 0.3, 5.0, 0.1
    sol = kr.simulate(kr.models.oscillator(m, c, k, 0.7, -0.2, load=[(1.5, 3.0)]), 5, h, kr.WeightedResidual(X=theta, V=alpha))
    d, v = 0.7, -0.2
    for n, t in enumerate(sol.t):
        assert (sol.q[n, 0], sol.v[n, 0]) == pytest.approx((d, v), abs=1e-11)
        A = -v / alpha - d / (alpha * theta * h)
        B = ((alpha - theta) * h * v - d) / alpha
        impulse = h * 1.5 * np.sin(3 * (t + theta * h))
        d_theta = (impulse - m * A - c * B) / (m / (alpha * theta * h) + c / alpha + h * k)
        d, v = d + (d_theta - d) / theta, (1 - 1 / alpha) * v + (d_theta - d) / (alpha * theta * h)


@pytest.mark.parametrize("damping", [0.0, 0.2])
@pytest.mark.parametrize(("theta", "alpha"), [(0.5, 0.5), (0.7, 0.5), (0.6, 0.7), (1 / 3, 1.0)])
def test_weighted_residual_has_the_eigenvalues_of_newmark(theta, alpha, damping):
    """beta = alpha theta, gamma = alpha + theta - 1/2, (4.37): without damping, or with alpha = 1/2, and only then."""
    weighted = kr.WeightedResidual(X=theta, V=alpha)
    newmark = kr.Newmark(weighted.beta, weighted.gamma)
    assert (weighted.beta, weighted.gamma) == pytest.approx((alpha * theta, alpha + theta - 0.5))
    for h in (0.1, 1.0, 5.0):
        system = kr.models.oscillator(1.0, damping, 1.0, 1.0, 0.0)
        one, other = (np.linalg.eigvals(kr.simulate(system, h, h, m).step_matrix(0)) for m in (weighted, newmark))
        # Newmark carries the acceleration, which no later step sees: an eigenvalue zero.
        other = other[np.argsort(np.abs(other))][1:]
        gap = np.abs(np.sort_complex(one) - np.sort_complex(other)).max()
        assert gap < 1e-9 if damping == 0 or alpha == 0.5 else gap > 1e-4


def test_weights():
    """theta is the centre of X, the impulse the integral with X."""
    method = kr.WeightedResidual(X=lambda s: 1 + s**2, V=lambda s: 2 - s)
    assert (method.theta, method.alpha) == pytest.approx((0.75 / (4 / 3), (1 - 1 / 3) / 1.5), abs=1e-14)
    h, w = 0.1, 40.0
    free = kr.System(kr.R(1), mass=[[2.0]], force=lambda t, q, v: ca.sin(w * t))
    sol = kr.simulate(free, 0.3, h, method)
    s = np.linspace(0, 1, 200_001)
    for n, t in enumerate(sol.t[:-1]):
        impulse = h * np.trapezoid((1 + s**2) * np.sin(w * (t + s * h)), s) / (4 / 3)
        assert 2 * (sol.v[n + 1, 0] - sol.v[n, 0]) == pytest.approx(impulse, abs=1e-10)


def test_a_weight_off_the_middle_shifts_the_velocity():
    """With alpha + theta = 1 only: order 1, for v_n is the velocity at t_n + (1/2 - alpha) h."""
    method, errors = kr.WeightedResidual(X=lambda s: s, V=1 / 3), []
    assert method.order == 1
    for n in (128, 256, 512):
        sol = kr.simulate(masses(), 1, 1 / n, method)
        exact = Masses(np.append(0, np.minimum(sol.t[1:] + (1 / 2 - 1 / 3) / n, 1)))
        errors.append(Masses(sol.t).errors(sol)[1].max())
        # The start is given for t_0, so the shift of v_0 is an error of order 1 that stays; it is not larger than that shift.
        assert np.abs(sol.v[1:-1] - exact.v[1:-1]).max() < 10 / n
    assert fitted_order(np.array([1 / 128, 1 / 256, 1 / 512]), errors) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("damping", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("beta", "gamma"), [(0.0, 0.5), (1 / 6, 0.5), (0.1, 0.6), (0.25, 0.7)])
def test_critical_frequency_of_newmark(beta, gamma, damping):
    """Spectral radius 0.1 % below and above; (1/4, 1/2) is stable for all steps."""
    method, radii = kr.Newmark(beta, gamma), []
    critical = method.critical_frequency(damping)
    for factor in (0.999, 1.001):
        w = critical * factor
        system = kr.models.oscillator(1.0, 2 * damping * w, w**2, 1.0, 0.0)
        radii.append(np.abs(np.linalg.eigvals(kr.simulate(system, 1.0, 1.0, method).step_matrix(0))).max())
    assert radii[0] < 1 + 1e-9
    assert radii[1] > 1 + 1e-5


def test_stability_of_newmark_at_its_limits():
    assert kr.Newmark().critical_frequency() == np.inf
    assert kr.Newmark(0.3, 0.4).critical_frequency() == 0
    for method, w in ((kr.Newmark(), 1e3), (kr.Newmark(0.3, 0.6), 1e3), (kr.Newmark(0.3, 0.4), 0.3)):
        system = kr.models.oscillator(1.0, 0.0, w**2, 1.0, 0.0)
        radius = np.abs(np.linalg.eigvals(kr.simulate(system, 1.0, 1.0, method).step_matrix(0))).max()
        assert (radius > 1 + 1e-4) == (method.gamma < 0.5)


@pytest.mark.parametrize("method", [kr.A1(), kr.A2(), kr.A3(), kr.A4(), kr.A4(0.5)], ids=repr)
def test_variable_steps(method):
    """Random steps in [hmax/4, hmax] keep order 2."""
    from kreisel.studies.rotational_dynamics import motion

    exact = motion(np.array([0.0, 2.0]), J, np.eye(3), np.array([2, 0.5, -1]), [(2.0, lambda R: np.zeros(3))])
    hmax, errors, rng = [], [], np.random.default_rng(1)
    for n in 100 * 2 ** np.arange(5):
        steps = rng.uniform(0.25, 1, n)
        steps *= 2 / steps.sum()
        hmax.append(steps.max())
        sol = kr.simulate(free_body(), 2, steps, method)
        errors.append([np.abs(sol.v[-1] - exact.W[-1]).max(), np.abs(sol.rotation("body")[-1] - exact.R[-1]).max()])
    assert [fitted_order(hmax, e) for e in np.transpose(errors)] == pytest.approx([2, 2], abs=0.15)


def test_a_composition_of_a3_has_order_four():
    errors = []
    fine = kr.simulate(loaded_body("S3"), 1, 2**-11, kr.Composition(order=6))
    for n in (16, 32, 64, 128):
        sol = kr.simulate(loaded_body("S3"), 1, 1 / n, kr.Composition(kr.A3(), order=4))
        errors.append(np.abs(sol.v[-1] - fine.v[-1]).max())
    assert fitted_order(1 / np.array([16, 32, 64, 128]), errors) == pytest.approx(4, abs=0.15)


def test_gamma_below_one_half_swings_up_in_a4():
    quiet, loud = (kr.simulate(free_body(), 5, 0.01, kr.A4(g)) for g in (0.6, 0.4))
    assert np.abs(quiet.a).max() < 20
    assert not loud.success or np.abs(loud.a).max() > 1e3


# What does not fit


@pytest.mark.parametrize("method", [*ROTATIONAL, kr.Newmark(), kr.WeightedResidual()], ids=str)
def test_constraints_are_refused(method):
    with pytest.raises(ValueError, match=r"does not treat constraints such as 'pivot'; RATTLie"):
        kr.simulate(kr.models.heavy_top("S3R3"), 1, 0.1, method)
    with pytest.raises(ValueError, match="does not treat constraints"):
        kr.simulate(kr.models.rolling_disk(), 1, 0.1, method)


@pytest.mark.parametrize("method", [kr.Newmark(), kr.WeightedResidual()], ids=str)
def test_groups_are_refused_by_methods_for_vector_spaces(method):
    with pytest.raises(ValueError, match=r"'top' moves on S3, which is no vector space; A1, A2, A3"):
        kr.simulate(kr.models.heavy_top("S3"), 1, 0.1, method)
    product = kr.System(kr.R(1) * kr.R(2), mass=np.eye(3), potential=ca.sumsqr, q=[1, 0, 0])
    assert kr.simulate(product, 1, 0.1, method).success


@pytest.mark.parametrize("method", ROTATIONAL, ids=str)
def test_a_mass_that_depends_on_the_place_is_refused(method):
    system = kr.System(kr.R(1), mass=lambda q: 1 + q**2, potential=ca.sumsqr, q=[1])
    with pytest.raises(ValueError, match="mass matrix must be constant"):
        kr.simulate(system, 1, 0.1, method)
    assert kr.simulate(system, 1, 0.1, kr.Newmark()).success


def test_a_force_that_is_no_formula_has_no_impulse():
    m = kr.Mechanism()
    m.point("p", 1.0)
    m.force(kr.BlackBox("wind", "p", lambda t, q, v: np.array([np.sin(t), 0, 0])))
    with pytest.raises(ValueError, match="'wind' is no formula, so it has no impulse; with a number for X it is sampled"):
        kr.simulate(m.system(), 1, 0.1, kr.WeightedResidual())
    sampled = kr.simulate(m.system(), 1, 0.1, kr.WeightedResidual(X=0.5))
    assert sampled.v[-1, 0] == pytest.approx(1 - np.cos(1), abs=1e-3)


@pytest.mark.parametrize("make", [kr.A1, kr.A2, kr.A3], ids=lambda m: m.__name__)
def test_bad_parameters(make):
    for beta, gamma in ((0, 0.5), (-0.1, 0.5), (0.25, 0), (0.25, -1), (np.nan, 0.5), (0.25, np.inf)):
        with pytest.raises(ValueError, match=f"{make.__name__}: beta and gamma must be positive.*A4 is the explicit one"):
            make(beta, gamma)


def test_more_bad_parameters():
    for gamma in (0, -0.5, 1.1, np.nan):
        with pytest.raises(ValueError, match=r"A4: gamma must lie in \(0, 1\]"):
            kr.A4(gamma)
    for beta, gamma in ((-0.1, 0.5), (0.25, 0), (np.nan, 0.5)):
        with pytest.raises(ValueError, match="Newmark: beta must not be negative and gamma must be positive"):
            kr.Newmark(beta, gamma)
    for X in (1.5, -0.1, 0, np.nan):
        with pytest.raises(ValueError, match=r"WeightedResidual: (the centre of the weight )?X must lie in \(0, 1\]"):
            kr.WeightedResidual(X=X)
    with pytest.raises(ValueError, match="V must be 'uniform', a number or a function"):
        kr.WeightedResidual(V="even")
    with pytest.raises(ValueError, match="V: the integral of the weight must be positive, it is -1"):
        kr.WeightedResidual(V=lambda s: -1)
    with pytest.raises(ValueError, match=r"centre of the weight V must lie in \(0, 1\], it lies at -"):
        kr.WeightedResidual(V=lambda s: 1 - 1.8 * s)


@pytest.mark.parametrize("formulation", ["SO3", "S3", "SO3xR3", "UDQ"])
@pytest.mark.parametrize("method", ROTATIONAL, ids=str)
def test_a_step_beyond_a_full_turn_ends_the_run(method, formulation):
    body = free_body(formulation, omega=(20, 0.5, -1))
    for h in (0.4, 0.5, 1.0, 7.0):
        sol = kr.simulate(body, 10 * h, h, method)
        assert sol.status is kr.Status.TOO_FAR
        assert "a step turned a body by 2 pi or more" in sol.message
        assert "'body'" in sol.message
        assert np.all(np.isfinite(sol._records))
        assert np.all(np.isfinite(sol.energy))
    assert kr.simulate(body, 1.0, 0.5, method, newton=kr.Newton(halvings=9)).success


def test_the_culprit_is_named():
    m = kr.Mechanism()
    m.body("slow", 1.0, (1, 1, 1), position=(3, 0, 0), omega=(1, 0, 0))
    m.body("fast", 1.0, (1, 1, 1), omega=(0, 30, 0))
    sol = kr.simulate(m.system("SO3xR3"), 1, 0.25, kr.A3())
    assert sol.status is kr.Status.TOO_FAR
    assert "'fast'" in sol.message
    assert len(sol.t) == 1


def test_translations_may_go_as_far_as_they_like():
    sol = kr.simulate(kr.System(kr.R(3), mass=np.eye(3), v=[100, 0, 0]), 10, 1, kr.A3())
    assert sol.q[-1, 0] == pytest.approx(1000)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (kr.models.intermediate_axis, {"pulse": 2.0}, "pulse must lie between 0 and loaded_until"),
        (kr.models.intermediate_axis, {"formulation": "SO4"}, "formulation must be one of SO3, S3, SO3xR3"),
        (kr.models.intermediate_axis, {"inertia": (1, 0, 1)}, "inertia must be three positive moments"),
        (kr.models.symmetric_top, {"formulation": "SE3"}, "formulation must be 'SO3' or 'S3'"),
        (kr.models.symmetric_top, {"omega": (1, 2)}, "omega must be three finite numbers"),
    ],
)
def test_models_refuse(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize("formulation", ["SO3", "S3", "SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"])
def test_the_intermediate_axis_in_all_formulations(formulation):
    """Turning and translating apart: the same rotation; and the torque is the one that was asked for."""
    sol = kr.simulate(kr.models.intermediate_axis(formulation, pulse=0.05), 2.5, 0.05, kr.A3())
    other = kr.simulate(kr.models.intermediate_axis(pulse=0.05), 2.5, 0.05, kr.A3())
    np.testing.assert_allclose(sol.rotation("body"), other.rotation("body"), rtol=0, atol=1e-11)
    np.testing.assert_allclose(sol.angular_momentum[[39, -1]], [[39, 0, 0], [39, 0.2, 0]], rtol=0, atol=1e-12)


def test_accelerations_of_bodies():
    system = swarm().system("SO3xR3")
    sol = kr.simulate(system, 0.1, 0.01, kr.A1())
    parts = [sol.acceleration(name) for name in ("a", "b", "c")]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), sol.a)
    assert [p.shape[1] for p in parts] == [6, 6, 3]
