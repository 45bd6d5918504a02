"""Vectors and frames: identities and errors. Numbers: Müller, sections 2 and 3; Sadlowski, 1.4 and 2.1."""

import numpy as np
import pytest

from kreisel.frames import (
    angle,
    angular_velocity,
    axial,
    axis_and_angle,
    change_of_basis,
    direction_cosines,
    from_axes,
    is_basis,
    is_linear,
    skew,
    unit,
)
from kreisel.groups import SO3

RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((2, 4, 5, 3))


def test_skew_and_axial():
    """(1.10)-(1.17)."""
    np.testing.assert_allclose((skew(A) @ B[..., None])[..., 0], np.cross(A, B), atol=1e-15)
    np.testing.assert_array_equal(axial(skew(A)), A)
    np.testing.assert_array_equal(np.swapaxes(skew(A), -1, -2), -skew(A))
    a, b = A[0, 0], B[0, 0]
    np.testing.assert_allclose(skew(a) @ skew(b), np.outer(b, a) - a @ b * np.eye(3), atol=1e-15)
    np.testing.assert_allclose(skew(np.cross(a, b)), skew(a) @ skew(b) - skew(b) @ skew(a), atol=1e-15)


def test_angles():
    """Also tiny and almost straight ones, where the arc cosine has no digits."""
    a = np.array([1.0, 2, -1])
    b = unit(np.cross(a, [0, 0, 1]))
    for phi in (1e-12, 1e-5, 1.0, np.pi - 1e-9):
        assert angle(a, np.cos(phi) * unit(a) + np.sin(phi) * b) == pytest.approx(phi, rel=1e-4 if phi < 1e-9 else 1e-10)
    assert angle([1e-200, 0, 0], [0, 1e200, 0]) == pytest.approx(np.pi / 2)
    np.testing.assert_allclose(np.sum(direction_cosines(A) ** 2, axis=-1), 1, rtol=1e-15)
    np.testing.assert_allclose(direction_cosines(A), [[[np.cos(angle(v, e)) for e in np.eye(3)] for v in row] for row in A], atol=1e-15)


def test_frames_from_two_axes():
    for names in ("xy", "yz", "xz"):
        R = from_axes(**dict(zip(names, (A, B), strict=True)))
        np.testing.assert_allclose(np.linalg.det(R), 1, atol=1e-14)
        np.testing.assert_allclose(np.swapaxes(R, -1, -2) @ R, np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
        first, second = ("xyz".index(n) for n in names)
        np.testing.assert_allclose(R[..., :, first], unit(A), atol=1e-15)
        assert np.all(np.sum(R[..., :, second] * B, axis=-1) > 0)


def test_frames_from_three_axes():
    R = SO3.matrix(SO3.random(1))
    np.testing.assert_allclose(from_axes(2 * R[:, 0], R[:, 1], 3 * R[:, 2]), R, atol=1e-15)


def test_change_of_basis():
    """(3.4), (3.5): between orthonormal bases a rotation; from the standard basis the basis itself."""
    P, Q = SO3.matrix(SO3.random(1, 2))
    R = change_of_basis(P, Q)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(change_of_basis(np.eye(3), Q), Q, atol=0)
    x = np.array([1.0, 2, 3])
    np.testing.assert_allclose(P @ (R @ x), Q @ x, atol=1e-14)


def test_axis_and_angle():
    """Euler's theorem (2.28)-(2.32): R e = e; eigenvalues of length one; tr R = 1 + 2 cos(phi)."""
    R = SO3.matrix(SO3.random(2, 20))
    e, phi = axis_and_angle(R)
    np.testing.assert_allclose((R @ e[..., None])[..., 0], e, atol=1e-14)
    np.testing.assert_allclose(np.trace(R, axis1=-2, axis2=-1), 1 + 2 * np.cos(phi), atol=1e-14)
    np.testing.assert_allclose(np.abs(np.linalg.eigvals(R)), 1, atol=1e-14)


def test_angular_velocity():
    R, w = SO3.matrix(SO3.random(3)), A[0, 0]
    np.testing.assert_allclose(angular_velocity(R, skew(w) @ R), w, atol=1e-15)
    np.testing.assert_allclose(angular_velocity(R, skew(w) @ R, frame="body"), R.T @ w, atol=1e-15)
    np.testing.assert_allclose(angular_velocity(R, R @ skew(w), frame="body"), w, atol=1e-15)


def test_linear_maps_and_bases():
    """Translation is not linear on triples (Müller, 3.2.2), but is in homogeneous coordinates."""
    q = np.array([1.0, 2, 3])
    T = np.block([[np.eye(3), q[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    assert not is_linear(lambda r: r + q, 3)
    assert is_linear(lambda r: T @ r, 4)
    assert is_linear(lambda r: np.cross(q, r), 3)
    assert is_basis(np.eye(3))
    assert not is_basis([[1, 2, 3], [2, 4, 6], [0, 0, 1]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: from_axes((1, 0, 0), (0, 1, 0), (0, 0, -1)), "left-handed"),
        (lambda: from_axes((1, 0, 0), (0.1, 1, 0), (0, 0, 1)), "not at right angles"),
        (lambda: from_axes(x=(1, 0, 0), y=(0, 0, 0)), "the y axis has length zero"),
        (lambda: from_axes(x=(1, 0, 0), z=(2, 0, 0)), "the x and z axes are parallel"),
        (lambda: from_axes(x=(1, 0, 0)), "give two or three axes"),
        (lambda: from_axes(x=(1, 0), y=(0, 1, 0)), r"from_axes: x must be finite numbers of shape \(\.\.\., 3\)"),
        (lambda: unit((0, 0, 0)), "length zero"),
        (lambda: angle((0, 0, 0), (1, 0, 0)), "length zero"),
        (lambda: axial(np.eye(3)), "not skew"),
        (lambda: skew((1, np.nan, 0)), "must be finite numbers"),
        (lambda: axis_and_angle(2 * np.eye(3)), "is not a rotation matrix"),
        (lambda: angular_velocity(np.eye(3), np.eye(3)), "is not the derivative of a rotation"),
        (lambda: angular_velocity(2 * np.eye(3), np.eye(3)), "is not a rotation matrix"),
        (lambda: angular_velocity(np.eye(3), np.zeros((3, 3)), frame="moon"), "frame must be 'space' or 'body'"),
        (lambda: change_of_basis(np.ones((3, 3)), np.eye(3)), "linearly independent"),
        (lambda: is_basis([1, 2, 3]), "as many vectors as dimensions"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
