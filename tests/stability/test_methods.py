"""What steps do to deviations: amplification of oscillations by every method, and Floquet multipliers."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support import ALL_METHODS

import kreisel as kr
from kreisel.stability import amplification, equilibrium, floquet, spectral_radius, step_eigenvalues
from kreisel.studies.stability_region import amplification_matrix, in_states_of_thesis

PLACES = [1e-3, 0.1, 1.0, 1.7, 10.0, 1e3, 1e6]


def verlet(x, zeta, h=1.0):
    """(q, v): a kick of half a step, a drift, a kick that contains the new velocity."""
    w = np.array([-(x**2) * h / 2, 1 - zeta * x * h])
    q = np.array([1.0, 0]) + h * w
    return np.array([q, (w - x**2 * h / 2 * q) / (1 + zeta * x * h)])


def composed(method, x, zeta):
    T = np.eye(2)
    for h in method.substeps():
        T = verlet(x, zeta, h) @ T
    return T


def shake(x, zeta):
    """(q, w): w' - w = -x^2 q - 2 zeta x (w + w')/2, q' = q + w'."""
    w = np.array([-(x**2), 1 - zeta * x]) / (1 + zeta * x)
    return np.array([np.array([1.0, 0]) + w, w])


def backward_euler(x, zeta):
    """(q, v)."""
    v = np.array([-(x**2), 1.0]) / (1 + x**2 + 2 * zeta * x)
    return np.array([np.array([1.0, 0]) + v, v])


def backward_two(x, zeta):
    """(q, v, before, star): 3/2 v' - 2 v + before/2 = -x^2 q' - 2 zeta x v', v' = 3/2 d - star/2, q' = q + d."""
    # (3/2 + 2 zeta x)(3/2 d - star/2) + x^2 d = 2 v - before/2 - x^2 q
    c = 1.5 + 2 * zeta * x
    d = np.array([-(x**2), 2.0, -0.5, c / 2]) / (1.5 * c + x**2)
    return np.array([np.array([1.0, 0, 0, 0]) + d, 1.5 * d - np.array([0, 0, 0, 0.5]), np.array([0, 1.0, 0, 0]), d])


def cayley(x, zeta):
    A = np.array([[0, 1], [-(x**2), -2 * zeta * x]])
    return np.linalg.solve(np.eye(2) - A / 2, np.eye(2) + A / 2)


def of_newmark_kind(method, x, zeta):
    """(q, v, a): q' = q + v + (1/2 - beta) a + beta a', v' = v + (1 - gamma) a + gamma a', and a balance that is the method's own."""
    beta, gamma, name = method.beta, method.gamma, type(method).__name__
    new = [[1.0, 0, -beta], [0, 1.0, -gamma]]
    old = [[1.0, 1.0, 0.5 - beta], [0, 1.0, 1 - gamma]]
    force = np.array([x**2, 2 * zeta * x, 0])
    if name == "A3":  # momentum over the step, the force at alpha within it
        alpha = min(beta / gamma, 1.0)
        balance = np.array([0, 1.0, 0]) + alpha * force, np.array([0, 1.0, 0]) - (1 - alpha) * force
    else:  # at the end, or within the step
        s = gamma if name == "A2" else 1.0
        balance = s * (np.array([0, 0, 1.0]) + force), -(1 - s) * (np.array([0, 0, 1.0]) + force)
    return np.linalg.solve(np.array([*new, balance[0]]), np.array([*old, balance[1]]))


def explicit_turn(method, x, zeta):
    """(q, v, a) of A4."""
    q, kick = np.array([1.0, 1.0, 0.5]), np.array([x**2, x**2 / 2 + 2 * zeta * x, x**2 / 4 + zeta * x])
    return np.array([q, np.array([0, 1.0, 0]) - kick, -kick / method.gamma + np.array([0, 0, 1 - 1 / method.gamma])])


def weighted(method, x, zeta):
    """(q, v): q' - q = (1 - alpha) v + alpha v', and momentum over the step, the force at theta within it."""
    force = np.array([x**2, 2 * zeta * x])
    new = [[1.0, -method.alpha], np.array([0, 1.0]) + method.theta * force]
    return np.linalg.solve(np.array(new), np.array([[1.0, 1 - method.alpha], np.array([0, 1.0]) - (1 - method.theta) * force]))


def runge_kutta(x, zeta):
    """(q, v): the exponential up to its fourth power."""
    A = np.array([[0, 1], [-(x**2), -2 * zeta * x]])
    return np.eye(2) + A @ (np.eye(2) + A @ (np.eye(2) + A @ (np.eye(2) + A / 4) / 3) / 2)


def known(method, x, zeta):
    """The states that count, and the matrix on them, by hand."""
    name = type(method).__name__
    if name in ("RATTLie", "Composition"):
        return ("q", "v"), composed(method, x, zeta)
    if name == "SHAKELie":
        return ("q", "w"), shake(x, zeta)
    if name == "BLieDF":
        return (("q", "v"), backward_euler(x, zeta)) if method.k == 1 else (("q", "v", "before", "star"), backward_two(x, zeta))
    if name in ("Newmark", "A1", "A2", "A3"):
        return ("q", "v", "a"), of_newmark_kind(method, x, zeta)
    if name == "A4":
        return ("q", "v", "a"), explicit_turn(method, x, zeta)
    if name == "WeightedResidual":
        return ("q", "v"), weighted(method, x, zeta)
    if name in ("Baumgarte", "Projection"):
        return ("q", "v"), runge_kutta(x, zeta)
    assert name in ("Midpoint", "GC")
    return ("q", "v"), cayley(x, zeta)


def same(T, exact):
    return np.abs(T - exact).max() <= 1e-12 * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("method", [*ALL_METHODS, kr.Midpoint()], ids=str)
def test_amplification_equals_the_analytic_matrix(method):
    """To 1e-12; generalized-alpha against Klemps, (4.3), which is without damping, and stands for both of its forms."""
    for x in PLACES:
        if isinstance(method, kr.GeneralizedAlpha):
            if method.index == 3:
                assert same(in_states_of_thesis(amplification(method, x), x), amplification_matrix(method, x))
            continue
        for zeta in (0.0,) if method.hamiltonian else (0.0, 0.3, 2.0):
            if isinstance(method, kr.Composition) and x > 10:
                continue  # an explicit method of many stages far beyond its limit: entries of 1e60
            names, exact = known(method, x, zeta)
            T, states = amplification(method, x, zeta), ["q", *method.states]
            pick = [states.index(n) for n in names]
            assert same(T[np.ix_(pick, pick)], exact), (x, zeta)
            others = [k for k in range(len(states)) if k not in pick]
            assert np.abs(T[np.ix_(pick, others)]).max(initial=0) == 0  # nothing else matters


def test_stabilised_alpha_is_alpha_where_there_are_no_constraints():
    for x in PLACES:
        a, b = (amplification(kr.GeneralizedAlpha(0.8, index), x, 0.1) for index in (3, "stabilised-2"))
        assert same(a, b)


@pytest.mark.parametrize("method", ALL_METHODS, ids=str)
def test_amplification_is_the_derivative_of_a_step(method):
    """The step matrix of a run of the oscillator, with h = 1."""
    sol = kr.simulate(kr.models.oscillator(mass=1.0, damping=0.4, stiffness=1.44), until=3.0, step=1.0, method=method)
    np.testing.assert_allclose(sol.step_matrix(2), amplification(method, 1.2, 0.4 / 2.4), atol=1e-12 * 20)


def test_spectral_radius_takes_arrays():
    x, zeta = np.array([0.1, 1.0, 10.0]), np.array([0.0, 0.5])
    radius = spectral_radius(kr.GeneralizedAlpha(0.7), x[:, None], zeta)
    assert radius.shape == (3, 2)
    assert radius[2, 1] == spectral_radius(kr.GeneralizedAlpha(0.7), 10.0, 0.5)
    # Exact: exp(-zeta x) while below critical damping, to the order of the method.
    assert radius[0, 1] == pytest.approx(np.exp(-0.05), abs=1e-4)
    assert np.all(radius <= 1 + 1e-12)
    with pytest.raises(ValueError, match="h_omega must be positive"):
        spectral_radius(kr.RATTLie(), -1.0)
    with pytest.raises(ValueError, match="no damping"):
        spectral_radius(kr.Midpoint(), 1.0, 0.1)


def test_limits_of_stability():
    """Verlet: h omega = 2; implicit methods: none."""
    assert spectral_radius(kr.RATTLie(), [1.999, 2.001]) == pytest.approx([1.0, 1.0653], abs=1e-3)
    for method in (kr.BLieDF(1), kr.BLieDF(2), kr.GeneralizedAlpha(0.0), kr.GeneralizedAlpha(0.9), kr.Midpoint()):
        assert spectral_radius(method, np.logspace(-2, 5, 60)).max() < 1 + 1e-6


@pytest.mark.parametrize("formulation", ["SO3", "SE3", "SO3xR3"])
@pytest.mark.parametrize(
    "method", [kr.RATTLie(), kr.GeneralizedAlpha(0.8), kr.GeneralizedAlpha(0.8, "stabilised-2"), kr.BLieDF(2)], ids=str
)
def test_the_step_of_a_top_is_that_of_three_oscillators(method, formulation):
    """About the hanging equilibrium: the amplification matrices of the motions about and across the axis, whatever the coordinates."""
    k, d, h = 2000.0, 5.0, 0.02
    found = step_eigenvalues(equilibrium(kr.models.extended_top(formulation, stiffness=k, damping=d)), method, h)
    expected = []
    for mass, stiffness in ((0.46875, k), (15.234375, 147.15), (15.234375, 147.15)):
        omega = np.sqrt(stiffness / mass)
        expected += list(np.linalg.eigvals(amplification(method, h * omega, d / (2 * mass * omega))))
    expected = [z for z in expected if abs(z) > 1e-5]
    assert len(expected) >= 6
    large = [z for z in found if abs(z) > 1e-5]
    for z in expected:
        near = int(np.argmin(np.abs(np.array(large) - z)))
        # Constraints may add copies, of the multipliers; nothing that grows.
        assert abs(large[near] - z) < 1e-6
    for z in large:
        assert np.abs(np.array(expected) - z).min() < 1e-6 or abs(z) < 1 - 1e-3


def mathieu(delta, epsilon):
    return kr.System(kr.R(1), mass=[[1.0]], force=lambda t, q, v: -(delta + epsilon * ca.cos(t)) * q)


@pytest.mark.parametrize(("delta", "epsilon", "stable"), [(0.25, 0.2, False), (0.6, 0.2, True)])
def test_floquet_multipliers_of_mathieus_equation(delta, epsilon, stable):
    """About rest, over a period of the coefficient, against the solution of the variational equation to 1e-12; and of second order."""
    exact = np.stack(
        [
            solve_ivp(
                lambda t, y: [y[1], -(delta + epsilon * np.cos(t)) * y[0]], (0, 2 * np.pi), e, rtol=1e-12, atol=1e-13, method="DOP853"
            ).y[:, -1]
            for e in np.eye(2)
        ],
        axis=1,
    )
    reference = np.linalg.eigvals(exact)
    errors = []
    for n in (100, 200):
        found = floquet(kr.simulate(mathieu(delta, epsilon), 2 * np.pi, 2 * np.pi / n))[:2]
        errors.append(max(np.abs(reference - z).min() for z in found))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, abs=0.3)
    assert (np.abs(found).max() < 1 + 1e-6) == stable


def test_floquet_multipliers_of_a_turning_body():
    """A free body about its middle axis: unstable, with the growth of Euler's equations; about the others not."""
    J, period = np.array([1.0, 2.0, 3.0]), 2 * np.pi
    for axis in range(3):
        m = kr.Mechanism()
        m.body("body", 1.0, J, omega=np.eye(3)[axis])
        sol = kr.simulate(m.system("S3R3"), until=period, step=period / 400, method=kr.RATTLie())
        found = np.abs(floquet(sol, tolerance=1e-2))
        a, b = (k for k in range(3) if k != axis)
        growth = (J[axis] - J[a]) * (J[b] - J[axis]) / (J[a] * J[b])
        expected = np.exp(np.sqrt(max(growth, 0)) * period)
        assert found[0] == pytest.approx(expected, rel=2e-3 if growth > 0 else 2e-2)


def test_floquet_refuses_what_is_no_period():
    sol = kr.simulate(kr.models.oscillator(), until=1.0, step=0.01)
    with pytest.raises(ValueError, match="the motion is not periodic: its end differs from its start by"):
        floquet(sol)
    with pytest.raises(ValueError, match="every step"):
        floquet(kr.simulate(kr.models.oscillator(), until=1.0, step=0.01, every=2))


def test_modified_energy_is_for_generalized_alpha():
    with pytest.raises(ValueError, match="belongs to GeneralizedAlpha"):
        kr.stability.modified_energy(kr.simulate(kr.models.oscillator(), until=1.0, step=0.01))
    sol = kr.simulate(kr.models.oscillator(), 1.0, [0.4, 0.6], kr.GeneralizedAlpha())
    with pytest.raises(ValueError, match="constant steps"):
        kr.stability.modified_energy(sol)
