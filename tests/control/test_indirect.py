"""The indirect transcription: exact derivatives, limits of its quotients, what it conserves, what it refuses."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr
from kreisel.control import indirect
from kreisel.control.batch import Batch
from kreisel.control.structured import Structured

RNG = np.random.default_rng


def double_pendulum(controls=("u1", "u2"), inputs=None, q=(0.3, -0.4)):
    """Two unit masses on unit rods, gravity 1, absolute angles from the vertical: the mass depends on q."""

    def H(q, p):
        c = ca.cos(q[0] - q[1])
        return (p[0] ** 2 + 2 * p[1] ** 2 - 2 * c * p[0] * p[1]) / (2 * (2 - c**2)) - 2 * ca.cos(q[0]) - ca.cos(q[1])

    return kr.Hamiltonian(H, 2, q=q, controls=controls, inputs=inputs)


CASES = [
    (kr.models.mathematical_pendulum, kr.Greenspan(), "quotient"),
    (kr.models.mathematical_pendulum, kr.Midpoint(), "quotient"),
    (kr.models.mathematical_pendulum, kr.Greenspan(), "node"),
    (double_pendulum, kr.Midpoint(), "node"),
    (double_pendulum, kr.Gonzalez(), "node"),
    (double_pendulum, kr.Gonzalez(), "average"),
    (double_pendulum, kr.Gonzalez("average"), "node"),
    (double_pendulum, kr.Gonzalez("average"), "average"),
]
NAMES = [f"{method}-{method.gradient}-{hessian}" if hasattr(method, "gradient") else f"{method}-{hessian}" for _, method, hessian in CASES]


def conditions(model, method, hessian, steps=5):
    system = model()
    return indirect.Conditions(system, method, 1.3, steps, np.full(system.dim, 0.7), np.full(system.dim, 0.2), hessian=hessian)


def equations(c, x, l):
    """All of them, in the order of the rows of the matrix."""
    (state, _), (costate, _) = c.evaluate(x, l)
    rows = np.empty((2 * c.steps - 1, 2 * c.n))
    rows[0::2], rows[1::2] = state, costate
    return rows.ravel()


@pytest.mark.parametrize(("model", "method", "hessian"), CASES, ids=NAMES)
def test_newtons_increment_is_that_of_the_full_matrix_by_differences(model, method, hessian):
    """So blocks, their places in the band and the scaling are all held against central differences."""
    c = conditions(model, method, hessian)
    rng, N, d = RNG(3), c.steps, 2 * c.n
    x, l = rng.normal(size=(N + 1, d)), rng.normal(size=(N, d))

    def shifted(z):
        dz = z.reshape(2 * N - 1, d)
        y = x.copy()
        y[1:-1] += dz[1::2]
        return equations(c, y, l + dz[0::2])

    size, e = d * (2 * N - 1), 1e-6
    J = np.array([(shifted(e * i) - shifted(-e * i)) / (2 * e) for i in np.eye(size)]).T
    expected = -np.linalg.solve(J, shifted(np.zeros(size))).reshape(2 * N - 1, d)
    (f, f_y), (g, g_y) = c.evaluate(x, l)
    sx, sl = rng.uniform(0.5, 2, d), rng.uniform(0.5, 2, d)
    dx, dl = c.increment(c.factor(f_y, g_y, sx, sl), f, g, sx, sl)
    assert np.abs(dx[1:-1] - expected[1::2]).max() < 1e-6 * np.abs(expected).max()
    assert np.abs(dl - expected[0::2]).max() < 1e-6 * np.abs(expected).max()
    assert not dx[[0, -1]].any()


@pytest.mark.parametrize(("model", "method", "hessian"), CASES, ids=NAMES)
def test_the_second_discrete_derivative_is_one(model, method, hessian):
    """DDH dx = DH(x_k, x_{k+1}) - DH(x_{k-1}, x_k), from which the conservation of the Hamiltonian follows (Siebert, (8.21), (8.50)
    corrected): for any states, no equation need hold."""
    c = conditions(model, method, hessian)
    n, rng = c.n, RNG(4)
    x, l = rng.normal(size=(c.steps + 1, 2 * n)), rng.normal(size=(c.steps, 2 * n))
    (f, _), (g, _) = c.evaluate(x, l)
    rate = (np.diff(x, axis=0) - f) / c.h  # J DH + (0, B u)
    rate[:, n:] -= l[:, n:]
    change = np.sum((l[1:] + l[:-1]) * np.diff(rate, axis=0), axis=1)
    product = np.sum((x[2:] - x[:-2]) / 2 * (g - np.diff(l, axis=0)), axis=1) * 2 / c.h  # w . DDH dx, w = J^T (l_k + l_{k-1})
    np.testing.assert_allclose(product, change, atol=1e-12)


@pytest.mark.parametrize(("model", "method", "hessian"), CASES, ids=NAMES)
def test_quotients_that_are_nothing_by_nothing(model, method, hessian):
    """All states the same, and states that go forth and back: values and derivatives are finite, and DDH is the Hessian."""
    c = conditions(model, method, hessian, 4)
    n, rng = c.n, RNG(5)
    l = rng.normal(size=(4, 2 * n))
    here, there = rng.normal(size=(2, 2 * n))
    for x in (np.tile(here, (5, 1)), np.array([here, there, here, there, here])):
        (f, f_y), (g, g_y) = c.evaluate(x, l)
        assert all(np.all(np.isfinite(a)) for a in (f, f_y, g, g_y))
        w = np.hstack([-(l[1:] + l[:-1])[:, n:], (l[1:] + l[:-1])[:, :n]])
        A = c.energy(x[1:-1])[2]
        if hessian == "average":
            middle = c.energy((x[1:] + x[:-1]) / 2)[2]
            A = (middle[1:] + middle[:-1]) / 2
        expected = np.diff(l, axis=0) + c.h / 2 * np.einsum("kij,kj->ki", A, w)
        np.testing.assert_allclose(g, expected, atol=1e-14)


@pytest.mark.parametrize(("model", "method", "hessian"), CASES, ids=NAMES)
def test_what_a_solution_conserves(model, method, hessian):
    """The Hamiltonian of the problem always, energy minus work with Gonzalez and Greenspan, with few steps."""
    system = model()
    end = np.full(system.dim, 0.7), np.full(system.dim, 0.2)
    found = indirect.solve(system, method, 1.3, 10, *end, hessian=hessian)
    assert found.success, found.message
    np.testing.assert_array_equal(found.x[0], np.r_[system.nodes[0].q, system.nodes[0].v])
    np.testing.assert_array_equal(found.x[-1], np.concatenate(end))
    assert found.hamiltonian_spread < 1e-10 * np.abs(found.hamiltonian).max()
    balance = np.ptp(found.solution.balance)
    assert balance > 1e-6 if isinstance(method, kr.Midpoint) else balance < 1e-13
    # The inputs lead there.
    run = kr.simulate(system, 1.3, 0.13, method, controls=found.controls)
    np.testing.assert_allclose(run.q, found.x[:, : system.dim], atol=1e-9)
    np.testing.assert_allclose(run.work, found.solution.work, atol=1e-9)


def test_few_inputs_and_weights():
    """One input for two angles; and weights: twice the weight is half the input, if the input is the same twice over."""
    one = double_pendulum(controls="u", inputs=[[1.0], [0.0]], q=(0.1, 0.1))
    found = indirect.solve(one, kr.Gonzalez(), 4.0, 60, [0.0, 0.0], [0.0, 0.0])
    assert found.success, found.message
    assert found.hamiltonian_spread < 1e-10 * max(1, np.abs(found.hamiltonian).max())
    twice = double_pendulum(controls=("a", "b"), inputs=[[1.0, 1.0], [0.0, 0.0]], q=(0.1, 0.1))
    shared = indirect.solve(twice, kr.Gonzalez(), 4.0, 60, [0.0, 0.0], [0.0, 0.0], weights=[1.0, 2.0])
    assert shared.success, shared.message
    np.testing.assert_allclose(shared.controls["a"], 2 * shared.controls["b"], rtol=1e-9)
    np.testing.assert_allclose(shared.controls["a"] + shared.controls["b"], found.controls["u"], atol=1e-9)
    assert shared.cost == pytest.approx(found.cost * 2 / 3, rel=1e-9)


def test_guesses_lead_to_the_same_solution():
    system, end = kr.models.mathematical_pendulum(), ([np.pi / 2], [0.0])
    first = indirect.solve(system, kr.Greenspan(), 3.0, 20, *end)
    assert first.start.success
    assert first.start.cost < first.cost  # the direct one is the least of its kind
    for guess in (first.start, first.x, (first.x, first.costates), indirect.solve(system, kr.Greenspan(), 3.0, 30, *end)):
        again = indirect.solve(system, kr.Greenspan(), 3.0, 20, *end, guess=guess)
        assert again.success
        np.testing.assert_allclose(again.costates, first.costates, atol=1e-9)


def test_another_start_and_solver():
    end = [np.pi / 2], [0.0]
    moved = indirect.solve(kr.models.mathematical_pendulum(angle=0.4, momentum=0.3), kr.Greenspan(), 3.0, 20, *end)
    found = indirect.solve(kr.models.mathematical_pendulum(), kr.Greenspan(), 3.0, 20, *end, start=([0.4], [0.3]), solver=Structured())
    assert found.success, found.message
    np.testing.assert_allclose(found.x, moved.x, atol=1e-9)


def test_as_a_route_of_a_problem():
    """kr.OptimalControl gives the same, for what the route is for, and refuses the rest."""
    pendulum = kr.models.mathematical_pendulum()
    end, more = kr.Target(q=np.array([np.pi / 2]), v=np.zeros(1)), {"cost": kr.effort({"u": 2.0})}
    found = kr.OptimalControl(pendulum, 3.0, 20, end, {"q": ([0.4], [0.3])}, **more).solve(kr.Greenspan(), route="indirect")
    expected = indirect.solve(pendulum, kr.Greenspan(), 3.0, 20, [np.pi / 2], [0.0], [2.0], start=([0.4], [0.3]))
    assert found.success, found.message
    assert found.cost == pytest.approx(expected.cost, rel=1e-12)
    refined = kr.OptimalControl(pendulum, 3.0, 40, end, {"q": ([0.4], [0.3])}, guess=found, **more).solve(kr.Greenspan(), route="indirect")
    assert refined.success, refined.message
    assert refined.start is None  # at once from the coarser one
    free = kr.OptimalControl(pendulum, 3.0, 20, kr.Target(q=[np.pi / 2]))
    with pytest.raises(ValueError, match="needs q and v, the momenta, at the end"):
        free.solve(kr.Greenspan(), route="indirect")
    with pytest.raises(ValueError, match="for effort alone as cost, without bounds"):
        kr.OptimalControl(pendulum, 3.0, 20, end, bounds={"u": (0, None)}).solve(kr.Greenspan(), route="indirect")


def test_a_failure_says_so():
    system, end = kr.models.mathematical_pendulum(), ([np.pi / 2], [0.0])
    rng = RNG(0)
    guess = rng.normal(size=(21, 2)), rng.normal(size=(20, 2))
    bad = indirect.solve(system, kr.Greenspan(), 3.0, 20, *end, guess=guess, iterations=1)
    assert not bad.success
    assert bad.message == "no solution after 1 iterations"
    # Through the centre of attraction
    far = indirect.solve(kr.models.particle(), kr.Midpoint(), 1.0, 4, [0, 0, 1], [0, 0, 0], guess=(np.zeros((5, 6)), np.ones((4, 6))))
    assert not far.success
    assert far.message == "the energy or its derivatives are not finite on the path"
    # Nothing reaches the second coordinate.
    alone = kr.Hamiltonian(lambda q, p: ca.sumsqr(p) / 2, 2, controls="u", inputs=[[1.0], [0.0]])
    stuck = indirect.solve(alone, kr.Midpoint(), 1.0, 4, [1, 1], [0, 0], guess=(np.ones((5, 4)), np.ones((4, 4))))
    assert not stuck.success
    assert stuck.message == "the matrix of the conditions is singular; do the inputs reach all coordinates?"


def test_what_makes_no_sense():
    pendulum = kr.models.mathematical_pendulum()

    def solve(system=pendulum, method=None, horizon=3.0, steps=20, q=(1.0,), p=(0.0,), **more):
        return indirect.solve(system, method or kr.Greenspan(), horizon, steps, q, p, **more)

    for error, match, wrong in (
        (TypeError, r"for Hamiltonian systems; kr.hamiltonian_of\(system\) may give one, got System", {"system": kr.models.oscillator()}),
        (TypeError, r"takes kr.Greenspan\(\), .* got RATTLie", {"method": kr.RATTLie()}),
        (ValueError, "Greenspan does not fit this system: .* one degree of freedom, not 2", {"system": double_pendulum()}),
        (ValueError, "has no inputs", {"system": kr.Hamiltonian(pendulum.H, 1)}),
        (ValueError, "horizon must be positive, got -1", {"horizon": -1}),
        (ValueError, "steps must be a whole number, at least 2, got 1", {"steps": 1}),
        (ValueError, "start: p must be 1 finite numbers", {"start": ([0.0], [1.0, 2.0])}),
        (ValueError, "end_q must be 1 finite numbers", {"q": [1.0, 2.0]}),
        (ValueError, "end_p must be 1 finite numbers", {"p": [np.nan]}),
        (ValueError, "weights must be positive", {"weights": [0.0]}),
        (ValueError, "hessian must be one of .* got 'nodes'", {"hessian": "nodes"}),
        (
            ValueError,
            "'quotient' is for one degree of freedom",
            {"system": double_pendulum(), "method": kr.Gonzalez(), "q": (1, 1), "p": (0, 0), "hessian": "quotient"},
        ),
        (ValueError, r"guess must be states \(21, 2\) and costates \(20, 2\), got \(3, 2\)", {"guess": np.zeros((3, 2))}),
        (ValueError, "guess must be finite", {"guess": np.full((21, 2), np.nan)}),
    ):
        with pytest.raises(error, match=match):
            solve(**wrong)


def test_batch_against_casadi():
    x = ca.SX.sym("x", 3)
    outputs = [(ca.sumsqr(x), ()), (x[0] * x, (3,)), (ca.mtimes(x, x[:2].T), (3, 2)), (ca.SX(2, 1), (2, 1))]
    values = RNG(1).normal(size=(11, 3))
    a, b, c, zero = Batch(x, outputs)(values)
    np.testing.assert_allclose(a, np.sum(values**2, axis=1), rtol=1e-14)
    np.testing.assert_allclose(b, values[:, :1] * values, rtol=1e-14)
    np.testing.assert_allclose(c, values[:, :, None] * values[:, None, :2], rtol=1e-14)
    assert zero.shape == (11, 2, 1)
    assert not zero.any()
