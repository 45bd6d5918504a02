"""Exact solutions of the rotation-generating equation and of the Riccati equation. Numbers: Sadlowski, 2.3, A.3."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from kreisel.exact import cayley_rotation, lagrange_sylvester, peano_baker, precessing_rotation, riccati, steady_rotation
from kreisel.rotations import Cayley

OMEGA, TURN = np.array([0.3, -0.5, 0.8]), np.array([0.2, 0.4, -0.1])
T = np.linspace(0, 3, 7)


def skew(a):
    return np.cross(np.eye(3), np.asarray(a)[..., None, :])


def test_constant_omega():
    """(2.87), with w^2 = -tr(Omega^2)/2: the radicand is printed without the minus sign."""
    O = skew(OMEGA)
    w = np.sqrt(-np.trace(O @ O) / 2)
    assert w == pytest.approx(np.linalg.norm(OMEGA))
    for t, R in zip(T, steady_rotation(OMEGA, T), strict=True):
        np.testing.assert_allclose(R, np.eye(3) + np.sin(w * t) / w * O + (1 - np.cos(w * t)) / w**2 * O @ O, atol=1e-15)
        np.testing.assert_allclose(R, expm(t * O), atol=2e-15)
    np.testing.assert_array_equal(steady_rotation([0, 0, 0], [0, 5.0]), [np.eye(3)] * 2)


def test_omega_that_turns():
    def rate(t, y):
        return (skew(steady_rotation(TURN, t) @ OMEGA) @ y.reshape(3, 3)).ravel()

    y = solve_ivp(rate, (0, 3), np.eye(3).ravel(), "DOP853", T, rtol=1e-13, atol=1e-14).y.T.reshape(-1, 3, 3)
    np.testing.assert_allclose(precessing_rotation(OMEGA, TURN, T), y, atol=1e-12)
    np.testing.assert_allclose(precessing_rotation(OMEGA, [0, 0, 0], T), steady_rotation(OMEGA, T), atol=1e-15)
    _, R = peano_baker(lambda t: skew(steady_rotation(TURN, t) @ OMEGA), 3.0, step=0.02)
    np.testing.assert_allclose(R[-1], y[-1], atol=1e-8)


def test_riccati_scalar():
    """x' = 1 + x^2 is the tangent, x' = x (1 - x) the logistic curve, x' = a x + b is linear."""
    t = np.array([0.1, 0.7, 1.2])
    np.testing.assert_allclose(riccati([[0]], [[1]], [[1]], [[0]], [[0]], t)[:, 0, 0], np.tan(t), rtol=1e-14)
    np.testing.assert_allclose(riccati([[1]], [[-1]], [[0]], [[0]], [[0.2]], t)[:, 0, 0], 1 / (1 + 4 * np.exp(-t)), rtol=1e-14)
    np.testing.assert_allclose(riccati([[0]], [[0]], [[3]], [[2]], [[1]], t)[:, 0, 0], 2.5 * np.exp(2 * t) - 1.5, rtol=1e-13)


def test_riccati_matrices():
    """(2.95)-(2.99) against a method of order 8."""
    rng = np.random.default_rng(2)
    A11, A12, A21, A22, X0 = rng.standard_normal((5, 3, 3)) / 2

    def rate(_, y):
        X = y.reshape(3, 3)
        return (X @ A12 @ X + A22 @ X + X @ A11 + A21).ravel()

    t = np.linspace(0, 0.6, 5)
    y = solve_ivp(rate, (0, 0.6), X0.ravel(), "DOP853", t, rtol=1e-13, atol=1e-14).y.T.reshape(-1, 3, 3)
    np.testing.assert_allclose(riccati(A11, A12, A21, A22, X0, t), y, atol=1e-11)


def test_cayley_equation_is_a_riccati_equation():
    """P' = (Omega + Omega P - P Omega - P Omega P)/2, by the doubled system, in closed form, and as the Cayley vector of exp(t Omega)."""
    O, start = skew(OMEGA), np.array([0.2, 0.1, -0.4])
    P = riccati(-O / 2, -O / 2, O / 2, O / 2, skew(start), T)
    psi = cayley_rotation(OMEGA, T, start)
    np.testing.assert_allclose(P, skew(psi), atol=1e-14)
    np.testing.assert_allclose(Cayley.matrix(psi), steady_rotation(OMEGA, T) @ Cayley.matrix(start), atol=2e-15)
    w = np.linalg.norm(OMEGA)
    np.testing.assert_allclose(cayley_rotation(OMEGA, T), np.tan(w * T / 2)[:, None] * OMEGA / w, atol=1e-14)
    np.testing.assert_array_equal(cayley_rotation([0, 0, 0], 2.0, start), start)


def test_printed_form_belongs_to_the_negative():
    """With the Y matrix as printed, [[Omega, -Omega], [-Omega, Omega]]/2, X = (I - E)(I + E)^-1: minus the Cayley matrix of E (2.114)."""
    O = skew(OMEGA)
    X = riccati(-O / 2, O / 2, -O / 2, O / 2, np.zeros((3, 3)), 1.3)
    E = steady_rotation(OMEGA, 1.3)
    np.testing.assert_allclose(X, (np.eye(3) - E) @ np.linalg.inv(np.eye(3) + E), atol=1e-15)
    np.testing.assert_allclose(X, -skew(Cayley.of(E)), atol=1e-15)


def test_lagrange_sylvester():
    """(2.100)-(2.114): the minimal polynomial of the doubled matrix is l (l^2 + w^2), of degree three for a 6 x 6 matrix."""
    O, w = skew(OMEGA), np.linalg.norm(OMEGA)
    A = np.block([[O, -O], [-O, O]]) / 2
    characteristic = np.poly(A)
    np.testing.assert_allclose(characteristic, [1, 0, w**2, 0, 0, 0, 0], atol=1e-14)
    roots = [0, 1j * w, -1j * w]
    for t in (0.4, 2.0):
        E = lagrange_sylvester(lambda z: np.exp(z * t), A, roots)  # noqa: B023
        assert np.abs(E.imag).max() < 1e-15
        np.testing.assert_allclose(E.real, expm(t * A), atol=1e-14)
        np.testing.assert_allclose(E.real, np.eye(6) + np.sin(w * t) / w * A + (1 - np.cos(w * t)) / w**2 * A @ A, atol=1e-14)
    np.testing.assert_allclose(lagrange_sylvester(np.sqrt, np.diag([4.0, 9.0]), [4, 9]), np.diag([2, 3]), atol=1e-15)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cayley_rotation([0, 0, 1], np.pi), "half a turn"),
        (lambda: cayley_rotation([0, 0, 1], [1.0, np.pi]), "infinite"),
        (lambda: riccati([[0]], [[1]], [[1]], [[0]], [[0]], np.pi / 2), "infinite: Y1 is singular"),
        (lambda: riccati([[0]], [[1]], np.eye(2), [[0]], [[0]], 1), "square and of one size"),
        (lambda: lagrange_sylvester(np.exp, np.eye(2), [1, 1]), "must be distinct"),
        (lambda: lagrange_sylvester(np.exp, np.diag([1, 2, 3]), [1, 2]), "not the roots of the minimal polynomial"),
        (lambda: lagrange_sylvester(np.exp, [1, 2], [1]), "must be a square matrix"),
        (lambda: peano_baker(lambda t: [1, 2], 1.0), "must be a square matrix"),
        (lambda: peano_baker(lambda t: np.eye(2), -1.0), "must be positive"),
        (lambda: steady_rotation([0, 1], 1.0), "omega must be three finite numbers"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
