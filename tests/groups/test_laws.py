"""What holds in every group. Numbers in the names of the sources: Hante, section 2."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from support import elements, vectors

from kreisel.groups import S3, SE3, SO3, R
from kreisel.symbolic import ArrayFunction

settings.register_profile("laws", max_examples=40, deadline=None)
settings.load_profile("laws")


def close(a, b, tolerance=1e-13):
    scale = 1 + np.max(np.abs(b))
    assert np.shape(a) == np.shape(b)
    assert np.max(np.abs(np.asarray(a) - b), initial=0) <= tolerance * scale


@given(data=st.data())
def test_group_axioms(G, data):
    p, q, r = (data.draw(elements(G)) for _ in range(3))
    e = G.identity()
    close(G.compose(G.compose(p, q), r), G.compose(p, G.compose(q, r)))
    close(G.compose(p, e), p)
    close(G.compose(e, p), p)
    close(G.compose(p, G.inverse(p)), e)
    close(G.compose(G.inverse(p), p), e)


@given(data=st.data())
def test_exp_is_a_one_parameter_group(G, data):
    v = data.draw(vectors(G))
    a, b = data.draw(st.floats(-2, 2)), data.draw(st.floats(-2, 2))
    close(G.compose(G.exp(a * v), G.exp(b * v)), G.exp((a + b) * v))
    close(G.exp(-v), G.inverse(G.exp(v)))


@given(data=st.data())
def test_log_inverts_exp(G, data):
    v = data.draw(vectors(G))
    w = G.log(G.exp(v))
    assert np.max(np.abs(w - v)) <= 1e-13 * np.max(np.abs(v), initial=1e-300)
    q = data.draw(elements(G))
    try:
        v = G.log(q)
    except ValueError:  # within a hair of a full turn
        return
    # Next to a full turn (quaternions only) the translational part of log is large, and so is its error.
    close(G.exp(v), q, 1e-13 * (1 + np.abs(v).max()))


@given(data=st.data())
def test_adjoint(G, data):
    p, q, v = data.draw(elements(G)), data.draw(elements(G)), data.draw(vectors(G))
    close(G.compose(q, G.exp(v)), G.compose(G.exp(G.Ad(q) @ v), q), 1e-12)
    close(G.Ad(G.compose(p, q)), G.Ad(p) @ G.Ad(q))
    close(G.Ad(G.exp(v)), expm(G.ad(v)), 1e-12)
    close(G.Ad(G.exp(v)) @ G.T(v), G.T(-v), 1e-12)


@given(data=st.data())
def test_bracket(G, data):
    u, v, w = (data.draw(vectors(G)) for _ in range(3))
    b = G.bracket
    close(b(v, w), -b(w, v))
    close(b(v, w), G.ad(v) @ w)
    close(b(u, b(v, w)) + b(v, b(w, u)) + b(w, b(u, v)), np.zeros(G.dim), 1e-12 * (1 + np.abs(u).max() * np.abs(v).max() * np.abs(w).max()))
    close(G.tilde(b(v, w)), G.tilde(v) @ G.tilde(w) - G.tilde(w) @ G.tilde(v))


@given(data=st.data())
def test_matrices(G, data):
    p, q, v = data.draw(elements(G)), data.draw(elements(G)), data.draw(vectors(G))
    close(G.matrix(G.compose(p, q)), G.matrix(p) @ G.matrix(q))
    close(G.matrix(G.exp(v)), expm(G.tilde(v)), 1e-12)
    close(G.from_matrix(G.matrix(q)), q)
    close(G.vee(G.tilde(v)), v, 1e-15)


def step(f, h=1e-6):
    """Central difference of f at 0."""
    return (f(h) - f(-h)) / (2 * h)


@given(data=st.data())
def test_tangent_operators(G, data):
    v, w = data.draw(vectors(G)), data.draw(vectors(G, angle=1.0))
    close(G.T(v) @ G.Tinv(v), np.eye(G.dim), 1e-12)
    # d exp(v) = exp(v) (T dv)~ and its inverse, the derivative of log
    close(step(lambda e: G.difference(G.exp(v), G.exp(v + e * w))), G.T(v) @ w, 1e-8)
    close(step(lambda e: G.log(G.retract(G.exp(v), e * w))), G.Tinv(v) @ w, 1e-8 * (1 + np.abs(G.Tinv(v)).max() ** 2))
    close(step(lambda e: G.retract(G.exp(v), e * w)), G.rate(G.exp(v), w), 1e-8)


@given(data=st.data())
def test_derivative_of_the_transposed_inverse(G, data):
    v, w, u = data.draw(vectors(G, angle=2.5)), data.draw(vectors(G, angle=1.0)), data.draw(vectors(G, angle=1.0))
    close(step(lambda e: G.Tinv(v + e * u).T @ w), G.S(v, w) @ u, 1e-8)


@given(data=st.data())
def test_series_of_the_tangent_operators(G, data):
    """(2.20), (2.21): what a group without closed forms gets is the same."""
    v = data.draw(vectors(G, angle=1.7))
    series, inverse = np.eye(G.dim), np.eye(G.dim)
    power, factorial = np.eye(G.dim), 1.0
    for k in range(1, 40):
        power = power @ -G.ad(v)
        factorial *= k + 1
        series = series + power / factorial
    inverse = np.linalg.inv(series)
    close(G.T(v), series, 1e-13)
    close(G.Tinv(v), inverse, 1e-12)
    from kreisel.groups import Group

    x = ca.SX.sym("v", G.dim)
    fall_back = ca.Function(
        "f", [x], [Group.T.formula(G, x), Group.Tinv.formula(G, x), Group.ad.formula(G, x), Group.Ad.formula(G, G.exp(x))]
    )
    for value, expected in zip(fall_back(v), (G.T(v), G.Tinv(v), G.ad(v), G.Ad(G.exp(v))), strict=True):
        close(value.full(), expected, 1e-12)


@given(data=st.data())
def test_difference(G, data):
    p, v, h = data.draw(elements(G)), data.draw(vectors(G)), data.draw(st.floats(0.1, 10))
    q = G.retract(p, v)
    close(G.difference(p, q, h), v / h, 1e-12 * (1 + np.abs(p).max()) * (1 + 1 / h))
    close(G.retract(p, h * G.difference(p, q, h)), q, 1e-12)


@given(data=st.data())
def test_derivatives_of_the_difference(G, data):
    """Lemma 2.25."""
    p, v, h, w = data.draw(elements(G)), data.draw(vectors(G, angle=2.0)), data.draw(st.floats(0.5, 2)), data.draw(vectors(G, angle=1.0))
    q = G.retract(p, v)
    D1, D2 = G.difference_derivatives(p, q, h)
    close(step(lambda e: G.difference(G.retract(p, e * w), q, h)), D1 @ w, 1e-7)
    close(step(lambda e: G.difference(p, G.retract(q, e * w), h)), D2 @ w, 1e-7)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_composition_formula(G, order):
    """Halving the arguments divides the error by 2^(order + 1)."""
    rng = np.random.default_rng(order)
    v, w = rng.standard_normal((2, G.dim))
    error = [np.abs(G.log(G.compose(G.exp(h * v), G.exp(h * w))) - G.bch(h * v, h * w, order=order)).max() for h in (0.08, 0.04)]
    if error[0] < 1e-14:  # an Abelian group
        return
    assert np.log2(error[0] / error[1]) == pytest.approx(order + 1, abs=0.5)


def test_mixed_derivatives_commute_up_to_the_bracket(G):
    """Lemma 2.23: for q(s, t) with q_s = q a~ and q_t = q b~: a_t - b_s = [a, b]."""
    rng = np.random.default_rng(5)
    c = rng.standard_normal((4, G.dim))

    def formula(s, t):
        q = G.compose(G.exp(c[0] * s + c[1] * s * t), G.exp(c[2] * ca.sin(t) + c[3] * s**2))
        # q^-1 q_s, in the coordinates of the algebra
        back = ca.SX.sym("back", G.n_params)
        to_algebra = ca.DM(G._to_algebra)
        shift = ca.jacobian(G.compose(G.inverse(q), back), back)

        def velocity(x):
            return to_algebra @ ca.substitute(shift, back, q) @ ca.jacobian(q, x)

        a, b = velocity(s), velocity(t)
        return ca.jacobian(a, t) - ca.jacobian(b, s), G.bracket(a, b)

    f = ArrayFunction("mixed", formula, {"s": (), "t": ()}, [(G.dim,), (G.dim,)])
    gap, bracket = f(0.3, 0.4)
    close(gap, bracket, 1e-12)


@given(data=st.data())
def test_interpolation(G, data):
    p, v = data.draw(elements(G)), data.draw(vectors(G, angle=2.0))
    q = G.retract(p, v)
    close(G.interpolate(p, q, 0.0), p)
    close(G.interpolate(p, q, 1.0), q, 1e-12)
    close(G.interpolate(p, q, 0.25), G.retract(p, v / 4), 1e-12)


def test_piecewise_interpolation_is_of_second_order(G):
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((2, G.dim))

    def motion(t):
        return G.compose(G.exp(np.multiply.outer(np.sin(t), a)), G.exp(np.multiply.outer(t**2, b)))

    t = np.linspace(0, 1, 101)
    errors = []
    for n in (10, 20, 40):
        grid = np.linspace(0, 1, n + 1) ** 1.2
        errors.append(np.abs(G.piecewise_interpolate(t, grid, motion(grid)) - motion(t)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.4)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.3)
    close(G.piecewise_interpolate(grid, grid, motion(grid)), motion(grid), 1e-12)


@given(data=st.data())
def test_metrics_are_invariant(G, data):
    p, q, r = (data.draw(elements(G)) for _ in range(3))
    v, w = data.draw(vectors(G)), data.draw(vectors(G))
    # A left-trivialised velocity is the same after a translation from the left, and seen through Ad^-1 after one from the right.
    moved = G.compose(r, q)
    close(G.inner(moved, v, w), G.inner(q, v, w))
    moved, back = G.compose(q, r), G.Ad(G.inverse(r))
    close(G.inner(moved, back @ v, back @ w, metric="right"), G.inner(q, v, w, metric="right"), 1e-11)
    close(G.distance(G.compose(r, p), G.compose(r, q)), G.distance(p, q), 1e-7)
    close(G.distance(G.compose(p, r), G.compose(q, r), metric="right"), G.distance(p, q, metric="right"), 1e-7)
    if G.bi_invariant:
        close(G.inner(moved, back @ v, back @ w, metric="bi"), G.inner(q, v, w, metric="bi"), 1e-12)
        close(G.distance(G.compose(p, r), G.compose(q, r), metric="bi"), G.distance(p, q, metric="bi"), 1e-7)
    else:
        with pytest.raises(ValueError, match="no bi-invariant metric"):
            G.inner(q, v, w, metric="bi")
        with pytest.raises(ValueError, match="no bi-invariant metric"):
            G.distance(p, q, metric="bi")


@given(data=st.data())
def test_distance(G, data):
    p, q, r = (data.draw(elements(G)) for _ in range(3))
    d = G.distance
    close(d(p, p), 0.0, 1e-7)
    close(d(p, q), d(q, p), 1e-7)
    if G.name != "Galilei":  # there distance is only a bound
        assert d(p, q) <= d(p, r) + d(r, q) + 1e-7
    assert d(p, q) <= np.linalg.norm(G.difference(p, q)) + 1e-7  # (2.54)
    v, w = data.draw(vectors(G)), data.draw(vectors(G))
    close(G.state_distance(p, v, q, w), d(p, q, metric="right") + np.linalg.norm(v - w), 1e-12)


def test_projection(G):
    rng = np.random.default_rng(7)
    q = G.random(rng, 50)
    close(G.project(q), q, 1e-14)
    off = q + 0.05 * rng.standard_normal(q.shape)
    if G.name == "Galilei":  # has no projection of its own
        return
    near = G.project(off)
    G.inverse(near)  # is accepted as an element
    close(G.project(near), near, 1e-14)
    if G in (SO3, S3, SE3, R(3), SO3 * R(3), S3 * R(3)):
        # In the first order no neighbour on the group is nearer.
        for v in 1e-4 * np.eye(G.dim):
            for w in (v, -v):
                assert np.all(np.linalg.norm(G.retract(near, w) - off, axis=-1) >= np.linalg.norm(near - off, axis=-1) - 1e-12)


def test_random_elements_are_reproducible(G):
    assert np.array_equal(G.random(1, (2, 3)), G.random(1, (2, 3)))
    assert G.random(1, (2, 3)).shape == (2, 3, G.n_params)
    assert not np.array_equal(G.random(1), G.random(2))


def test_batches_and_symbols_agree(G):
    v = np.random.default_rng(8).standard_normal((4, 5, G.dim))
    x = G.symbol("q")
    w = ca.SX.sym("v", G.dim)
    f = ca.Function("f", [w], [G.exp(w)])
    single = np.array([[f(b).full().ravel() for b in a] for a in v])
    close(G.exp(v), single, 1e-14)
    assert G.inverse(x).shape == (G.n_params, 1)
