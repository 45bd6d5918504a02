"""Formulas of the sources, as corrected, against the operators of the groups."""

import numpy as np
import pytest
from numpy.linalg import norm
from scipy.linalg import block_diag, expm

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, R


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def f6(x):
    return (2 - x / np.tan(x / 2)) / (2 * x**2)


def f8(x):
    return (x * np.sin(x) + 4 * np.cos(x) + x**2 - 4) / (4 * np.sin(x / 2) ** 2 * x**4)


def f9(x):
    return (64 - 12 * x / np.tan(x / 2) + 4 * x**2 * (3 + x / np.tan(x / 2)) / (np.cos(x) - 1)) / (8 * x**6)


def s_rotation(v, w):
    """Hante, A.2, with the second term corrected: + f8 (v x (v x w)) v^T."""
    x, c = norm(v), np.cross(v, w)
    return skew(w) / 2 + f8(x) * np.outer(np.cross(v, c), v) - f6(x) * (skew(v) @ skew(w) + skew(c))


VELOCITIES = np.random.default_rng(1).standard_normal((20, 6))
COVECTORS = np.random.default_rng(2).standard_normal((20, 6))


@pytest.mark.parametrize("group", [SO3, S3], ids=str)
def test_derivative_of_the_inverse_tangent_of_rotations(group):
    for v, w in zip(VELOCITIES[:, :3], COVECTORS[:, :3], strict=True):
        np.testing.assert_allclose(group.S(v, w), s_rotation(v, w), atol=1e-12)


@pytest.mark.parametrize("group", [SE3, S3R3, UDQ], ids=str)
def test_derivative_of_the_inverse_tangent_of_rigid_motions(group):
    """Hante, A.3: C3, with the corrected rotational part and the corrected f9."""
    for v, w in zip(VELOCITIES, COVECTORS, strict=True):
        Om, U, A, W = v[:3], v[3:], w[:3], w[3:]
        x, d = norm(Om), Om @ U
        OW = np.cross(Om, W)
        C3 = (
            -f6(x) * (skew(U) @ skew(W) - skew(np.cross(W, U)))
            - f8(x) * d * (skew(Om) @ skew(W) + skew(OW))
            + f8(x) * (np.outer(np.cross(Om, OW), U) + np.outer(np.cross(U, OW) + np.cross(Om, np.cross(U, W)), Om))
            + f9(x) * d * np.outer(np.cross(Om, OW), Om)
        )
        expected = np.block([[s_rotation(Om, A) + C3, s_rotation(Om, W)], [s_rotation(Om, W), np.zeros((3, 3))]])
        np.testing.assert_allclose(group.S(v, w), expected, atol=1e-10)


def test_tangent_operator_with_the_translation_first():
    """Klemps, 3.1: T of SE(3) for v = (U, Omega), with S in the upper right block (printed: lower left)."""
    swap = np.r_[3:6, 0:3]
    for v in VELOCITIES:
        Om, U, p = v[:3], v[3:], norm(v[:3])
        O, V, d = skew(Om), skew(U), Om @ U
        c, s = np.cos(p), np.sin(p)
        S = (
            (c - 1) * V
            + (1 - s / p) * (V @ O + O @ V)
            + (2 * (1 - c) / p**2 - s / p) * d * O
            + (1 - c - 3 * (1 - s / p)) / p**2 * d * O @ O
        ) / p**2
        T = np.eye(3) + (c - 1) / p**2 * O + (1 - s / p) / p**2 * O @ O
        expected = np.block([[T, S], [np.zeros((3, 3)), T]])
        np.testing.assert_allclose(SE3.T(v)[np.ix_(swap, swap)], expected, atol=1e-12)


def test_matrices_of_the_sources():
    x, v = np.array([1.0, 2, 3]), np.array([0.3, -0.4, 0.5])
    np.testing.assert_array_equal(R(3).matrix(x), np.block([[np.eye(3), x[:, None]], [np.zeros((1, 3)), 1]]))
    rotation = SO3.exp(v)
    np.testing.assert_allclose(rotation.reshape(3, 3), expm(skew(v)), atol=1e-15)
    # Klemps, example: blockdiag(R, [[I, x], [0, 1]]), 7 x 7
    np.testing.assert_array_equal((SO3 * R(3)).matrix(np.r_[rotation, x]), block_diag(rotation.reshape(3, 3), R(3).matrix(x)))
    np.testing.assert_array_equal((SO3 * R(3)).ad(np.r_[v, x]), block_diag(skew(v), np.zeros((3, 3))))
    np.testing.assert_array_equal(SE3.ad(np.r_[v, x]), np.block([[skew(v), np.zeros((3, 3))], [skew(x), skew(v)]]))
    # Hante, Remark 2.29: p * q = Q(p) q
    p, q = S3.random(1), S3.random(2)
    np.testing.assert_allclose(S3.matrix(p) @ q, S3.compose(p, q), atol=1e-15)
    np.testing.assert_array_equal(S3.tilde(v)[:, 0], np.r_[0, v / 2])
    # Remark 2.31: S^3 x R^3 in GL(8)
    m = S3R3.matrix(np.r_[p, x])
    np.testing.assert_allclose(m, block_diag(S3.matrix(p), np.block([[S3.Ad(p), x[:, None]], [np.zeros((1, 3)), 1]])), atol=1e-15)
    # Remark 2.33: the vector (0, U/2) belongs to the dual part
    np.testing.assert_array_equal(UDQ.tilde(np.r_[v, x])[:, 0], np.r_[0, v / 2, 0, x / 2])


def test_killing_form_of_rotations():
    """-trace(ad v ad w) = 2 v . w."""
    v, w = VELOCITIES[:2, :3]
    assert SO3.inner(SO3.identity(), v, w, metric="bi") == pytest.approx(2 * v @ w, rel=1e-15)
    G = S3 * R(2)
    a, b = VELOCITIES[:2, :5]
    assert G.inner(G.identity(), a, b, metric="bi") == pytest.approx(2 * a[:3] @ b[:3] + a[3:] @ b[3:], rel=1e-14)


def test_interpolation_is_the_shortest_way_where_it_should_be():
    """Geodesic for R^3, S^3, SO(3) and direct products, not for SE(3), S^3 x R^3, UDQ (Hante, Remark 2.48)."""
    tau = np.linspace(0, 1, 2001)
    for G, shortest in [(SO3, True), (S3, True), (SO3 * R(3), True), (SE3, False), (S3R3, False), (UDQ, False)]:
        v = np.array([0.9, -0.7, 1.1, 2.0, -1.0, 0.5])[: G.dim]
        p = G.random(3)
        way = G.interpolate(p, G.retract(p, v), tau)
        length = np.sum(G.distance(way[1:], way[:-1]))
        distance = G.distance(way[0], way[-1])
        assert length == pytest.approx(norm(v), rel=1e-6)  # (2.54): the length of the motion with constant velocity
        assert (length < distance * (1 + 1e-6)) == shortest
