"""Errors name the argument and say what was expected."""

import numpy as np
import pytest

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, R


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SO3.exp([1, 2]), r"SO3.exp: v must have shape \(\.\.\., 3\), got \(2,\)"),
        (lambda: S3R3.compose(np.ones(7), np.ones(6)), r"S3R3.compose: q must have shape \(\.\.\., 7\), got \(6,\)"),
        (lambda: SO3.exp([1, np.nan, 2]), r"SO3.exp: v contains nan or inf: \[ 1. nan  2.\]"),
        (lambda: R(2).compose([1, np.inf], [0, 0]), r"R\(2\).compose: p contains nan or inf"),
        (lambda: SO3.exp([[1, 0, 0], [np.nan, 0, 0]]), r"v contains nan or inf.*at index \(1,\)"),
        (lambda: SO3.log(np.ones(9)), r"SO3.log: q is not a rotation matrix \(R\^T R = I, det R = 1\).*is off by.*project\(\)"),
        (lambda: SO3.log(np.diag([1, 1, -1.0]).ravel()), "SO3.log: q is not a rotation matrix"),
        (lambda: S3.log([0, 0, 0, 0]), r"S3.log: q is not a unit quaternion \(\|p\| = 1\)"),
        (lambda: S3.compose([1, 0, 0, 0], [2, 0, 0, 0]), "S3.compose: q is not a unit quaternion"),
        (lambda: SE3.inverse(np.zeros(12)), "SE3.inverse: q is not a rotation matrix .* and a position"),
        (lambda: UDQ.log([1, 0, 0, 0, 1, 0, 0, 0]), r"UDQ.log: q is not a unit dual quaternion \(\|p\| = 1, p . r = 0\)"),
        (lambda: SO3.from_matrix(2 * np.eye(3)), "SO3.from_matrix: X is not a matrix of SO3"),
        (lambda: SE3.from_matrix(np.eye(4) + np.eye(4)[:, ::-1]), "SE3.from_matrix: X is not a matrix of SE3"),
        (lambda: SO3.vee(np.eye(3)), "SO3.vee: X is not a matrix of the algebra of SO3"),
        (lambda: S3.project([0, 0, 0, 0]), "S3.project: q is a quaternion of norm zero"),
        (lambda: SO3.project(np.zeros(9)), "SO3.project: q has no nearest rotation"),
        (lambda: SO3.project(-np.eye(3).ravel()), "SO3.project: q has no nearest rotation"),
        (lambda: SO3.project([1, 2, 3]), r"SO3.project: q must have shape \(\.\.\., 9\)"),
        (lambda: SO3.project(np.full(9, np.nan)), "SO3.project: q contains nan or inf"),
        (lambda: SO3.bch([1, 0, 0], [0, 1, 0], order=5), "SO3.bch: order must be 1, 2, 3 or 4, got 5"),
        (lambda: SO3.distance(SO3.identity(), SO3.identity(), metric="up"), "metric must be 'left', 'right' or 'bi', got 'up'"),
        (lambda: R(0), r"R\(n\): n must be a positive whole number, got 0"),
        (lambda: SO3.piecewise_interpolate(0.5, [0, 0], SO3.identity(2)), "grid must be a list of at least two increasing numbers"),
        (lambda: SO3.piecewise_interpolate(2, [0, 1], SO3.identity(2)), r"t must lie within the grid, \[0.0, 1.0\]"),
        (lambda: SO3.piecewise_interpolate(0, [0, 1], SO3.identity(3)), r"q must have shape \(2, 9\), got \(3, 9\)"),
    ],
)  # fmt: skip
def test_message(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_too_few_arguments():
    with pytest.raises(TypeError, match=r"SO3.compose takes 2 arguments \(p, q\), got 1"):
        SO3.compose(SO3.identity())


def test_almost_rotations_are_accepted():
    q = SO3.random(1)
    SO3.log(q * (1 + 1e-8))


def test_a_group_without_a_logarithm_says_what_is_missing():
    from kreisel.groups import Group

    class Circle(Group):
        name, n_params, dim = "circle", 1, 1

        def compose(self, p, q):
            return p + q

        def inverse(self, q):
            return -q

        def exp(self, v):
            return v

    circle = Circle()
    assert circle.T([1.0]) == 1.0
    with pytest.raises(TypeError, match="group circle does not define log, which differences, distances and interpolation need"):
        circle.interpolate([0.0], [1.0], 0.5)
    with pytest.raises(TypeError, match="group circle does not define matrix"):
        circle.matrix([0.0])


def test_operators_describe_themselves():
    assert repr(SO3.exp) == "<operator SO3.exp(v)>"
    assert "(2.20)" in SO3.T.__doc__
    assert repr(SO3 * R(3)) == "SO3 * R(3)"
