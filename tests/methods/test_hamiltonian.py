"""Greenspan and Gonzalez: energy at any step size, order, symmetry, and the limits of their quotients (Siebert, 8.1, 8.2)."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from support import fitted_order

import kreisel as kr

#: Beyond the estimate of Newton's method that nothing is left, which is too hopeful for steps as long as these.
TO_THE_FLOOR = kr.Newton(atol=1e-20, rtol=1e-20)

METHODS = [kr.Greenspan(), kr.Gonzalez(), kr.Gonzalez("average")]


def pendulum(q=1.0, p=0.0):
    return kr.Hamiltonian(lambda q, p: p[0] ** 2 / 2 - ca.cos(q[0]), 1, q=[q], p=[p])


def double_pendulum(q=(1.0, 2.0), p=(0.0, 0.0)):
    """Two unit masses on unit rods, gravity 1, absolute angles: the mass depends on q."""

    def H(q, p):
        c = ca.cos(q[0] - q[1])
        M = ca.vertcat(ca.horzcat(2, c), ca.horzcat(c, 1))
        return ca.dot(p, ca.solve(M, p)) / 2 - 2 * ca.cos(q[0]) - ca.cos(q[1])

    return kr.Hamiltonian(H, 2, q=q, p=p)


def drift(sol):
    assert sol.success, sol.message
    return np.abs(sol.energy - sol.energy[0]).max()


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("h", [1.0, 0.1, 0.01, 0.001])
def test_energy_of_a_pendulum(method, h):
    """Swinging wide, with turning points where the quotient is nearly 0/0; and turning over, far from q = 0."""
    assert drift(kr.simulate(pendulum(3.0), 1000 * h, h, method, newton=TO_THE_FLOOR)) < 2e-14
    over = kr.simulate(pendulum(200.0, 3.0), 1000 * h, h, method, newton=TO_THE_FLOOR)
    # Of q = 200, and of 2000 at the end of the longest run, so many digits are left.
    assert drift(over) < 10 * np.finfo(float).eps * np.abs(over.q).max()
    assert drift(kr.simulate(pendulum(200.0, 3.0), 1000 * h, h, kr.Midpoint())) > 1e-7


@pytest.mark.parametrize("method", METHODS[1:], ids=repr)
@pytest.mark.parametrize("h", [0.3, 0.1, 0.01])
def test_energy_with_a_mass_that_depends_on_the_configuration(method, h):
    """A chaotic motion, whose energy the midpoint rule does not keep."""
    assert drift(kr.simulate(double_pendulum(), 300 * h, h, method, newton=TO_THE_FLOOR)) < 3e-14
    assert drift(kr.simulate(double_pendulum(), 100 * h, h, kr.Midpoint())) > 1e-9


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_order(method):
    system = pendulum(2.0, 0.5) if isinstance(method, kr.Greenspan) else double_pendulum((0.5, 1.0), (0.3, -0.2))
    n = system.dim
    q, p = ca.SX.sym("q", n), ca.SX.sym("p", n)
    H = system.elements[0].formula(q, p)
    f = ca.Function("f", [ca.vertcat(q, p)], [ca.vertcat(ca.gradient(H, p), -ca.gradient(H, q))])
    start = np.r_[system.nodes[0].q, system.nodes[0].v]
    exact = solve_ivp(lambda t, z: f(z).full().ravel(), (0, 2), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    steps = 2.0 ** -np.arange(4, 9)
    ends = [kr.simulate(system, 2, h, method) for h in steps]
    errors = [np.abs(np.r_[s.q[-1], s.v[-1]] - exact).max() for s in ends]
    assert fitted_order(steps, errors) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_step_back_undoes_a_step(method):
    """With time reversed, p -> -p."""
    there = kr.simulate(pendulum(1.0, 0.3), 2, 0.1, method, newton=TO_THE_FLOOR)
    back = kr.simulate(pendulum(there.q[-1, 0], -there.v[-1, 0]), 2, 0.1, method, newton=TO_THE_FLOOR)
    assert [back.q[-1, 0], back.v[-1, 0]] == pytest.approx([1.0, -0.3], abs=1e-13)


def test_greenspan_against_its_closed_form():
    """Of the pendulum the quotient is sin(q_mid) sinc(d/2) (spec 001, 3.7): one equation for d, solved apart."""
    q, p, h = 1.0, 0.5, 0.4

    def equation(d):
        mean = d / h  # p_mid
        return 2 * (mean - p) + h * np.sin(q + d / 2) * np.sinc(d / 2 / np.pi)

    d = brentq(equation, -1, 1, xtol=1e-15)
    sol = kr.simulate(pendulum(q, p), h, h, kr.Greenspan())
    assert [sol.q[-1, 0], sol.v[-1, 0]] == pytest.approx([q + d, 2 * d / h - p], abs=1e-14)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_nothing_moves(method):
    """In an equilibrium, stable or not, all quotients are 0/0."""
    for q in (0.0, np.pi):
        sol = kr.simulate(pendulum(q), 1, 0.1, method)
        assert sol.success
        np.testing.assert_allclose(sol.q[:, 0], q, atol=1e-14)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_turning_point_within_a_step(method):
    """Steps symmetric about a turning point have equal ends: q_{n+1} = q_n to all digits or nearly so."""
    h = 0.1
    forth = kr.simulate(pendulum(1.0), h / 2, h / 2, method)
    # The step from there back through the turning point
    for shift in (0.0, 1e-15, 1e-12, 1e-9, 1e-6):
        sol = kr.simulate(pendulum(forth.q[-1, 0] + shift, -forth.v[-1, 0]), h, h, method)
        assert drift(sol) < 1e-15


def test_what_does_not_fit():
    with pytest.raises(ValueError, match=r"Greenspan.* one degree of freedom, not 2; kr.Gonzalez\(\) fits"):
        kr.simulate(double_pendulum(), 1, 0.1, kr.Greenspan())
    mixed = kr.Hamiltonian(lambda q, p: p[0] ** 2 / 2 + p[0] * q[0] ** 2, 1)
    with pytest.raises(ValueError, match=r"Greenspan.* no sum T\(p\) \+ V\(q\)"):
        kr.simulate(mixed, 1, 0.1, kr.Greenspan())
    with pytest.raises(ValueError, match="gradient must be 'midpoint' or 'average', got 'mean'"):
        kr.Gonzalez("mean")
    with pytest.raises(ValueError, match="it is for Hamiltonian systems"):
        kr.simulate(kr.models.oscillator(), 1, 0.1, kr.Gonzalez())


# Inputs


def driven(n=2, **more):
    """The double pendulum with inputs at its angles."""
    free = double_pendulum()
    return kr.Hamiltonian(free.H, n, q=free.nodes[0].q, p=free.nodes[0].v, **more)


@pytest.mark.parametrize("method", [kr.Midpoint(), kr.Gonzalez(), kr.Gonzalez("average")], ids=repr)
def test_inputs_drive_their_coordinates(method):
    """Against the equations of motion with forces that are functions of time, B no unit matrix; order 2."""
    B = np.array([[1.0, 0.5], [-2.0, 0.0]])
    system = driven(controls=("u", "w"), inputs=B)
    assert system.controls == ["u", "w"]
    np.testing.assert_array_equal(system.inputs, B)
    q, p, t = ca.SX.sym("q", 2), ca.SX.sym("p", 2), ca.SX.sym("t")
    H, u = system.H(q, p), {"u": lambda t: ca.cos(3 * t), "w": lambda t: 1 + t}
    force = ca.mtimes(ca.DM(B), ca.vertcat(*(f(t) for f in u.values())))
    f = ca.Function("f", [t, ca.vertcat(q, p)], [ca.vertcat(ca.gradient(H, p), -ca.gradient(H, q) + force)])
    exact = solve_ivp(
        lambda t, z: f(t, z).full().ravel(), (0, 1), np.r_[system.nodes[0].q, 0, 0], method="DOP853", rtol=1e-13, atol=1e-14
    ).y[:, -1]
    steps = 2.0 ** -np.arange(4, 9)
    ends = [kr.simulate(system, 1, h, method, controls=u) for h in steps]
    assert fitted_order(steps, [np.abs(np.r_[s.q[-1], s.v[-1]] - exact).max() for s in ends]) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("kind", ["values", "function"])
def test_the_energy_changes_by_the_work_of_inputs(method, kind):
    """Siebert's (8.39), corrected: u . (q_{k+1} - q_k). The midpoint rule misses it."""
    steps, one = 40, isinstance(method, kr.Greenspan)
    if one:
        system = kr.Hamiltonian(pendulum().H, 1, q=[2.5], controls="u")
    else:
        system = driven(controls=("u", "w"), inputs=[[1.0, 0.5], [-2.0, 0.0]])
    values = np.random.default_rng(1).normal(0.5, 0.5, size=(steps, len(system.controls)))
    u = dict(zip(system.controls, values.T, strict=True)) if kind == "values" else {"u": ca.cos}
    sol = kr.simulate(system, 4, 0.1, method, controls=u, newton=TO_THE_FLOOR)
    assert sol.success, sol.message
    if kind == "values":
        expected = np.r_[0, np.cumsum(np.sum(values * (np.diff(sol.q, axis=0) @ system.inputs), axis=1))]
        np.testing.assert_allclose(sol.work, expected, atol=1e-13)
    assert np.ptp(sol.work) > 0.1
    assert np.ptp(sol.balance) < 1e-13
    assert np.ptp(kr.simulate(system, 4, 0.1, kr.Midpoint(), controls=u).balance) > 1e-5


def test_work_between_records_far_apart_is_found_by_quadrature():
    system = kr.Hamiltonian(pendulum().H, 1, q=[1.0], controls="u")
    sol = kr.simulate(system, 2, 1e-3, kr.Greenspan(), controls={"u": 0.7}, every=10)
    np.testing.assert_allclose(sol.work, 0.7 * (sol.q[:, 0] - 1), atol=1e-5)


def test_inputs_that_make_no_sense():
    with pytest.raises(ValueError, match=r"1 controls \['u'\] for 2 coordinates; `inputs` must say how they act"):
        driven(controls="u")
    with pytest.raises(ValueError, match=r"inputs must be \(2, 1\) finite numbers, .* got \(1, 2\)"):
        driven(controls="u", inputs=[[1.0, 0.0]])
    with pytest.raises(ValueError, match="two things are called 'input u'"):
        driven(controls=("u", "u"))
    with pytest.raises(ValueError, match="there is no control 'w'"):
        kr.simulate(driven(controls="u", inputs=[[1.0], [0.0]]), 1, 0.1, kr.Gonzalez(), controls={"w": 1.0})
