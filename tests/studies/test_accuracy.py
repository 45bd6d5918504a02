"""The operators are good to round-off over their whole range."""

import mpmath as mp
import numpy as np
import pytest

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, R
from kreisel.studies.accuracy import DIGITS, _exp, _mp, _t, _tinv, accuracy


@pytest.mark.parametrize("group", [R(3), SO3, S3, SE3, S3R3, UDQ, SO3 * R(3), S3 * R(3)], ids=str)
def test_against_many_digits(group):
    for name, error in accuracy(group, samples=6).items():
        assert error.value < 2e-15, name
        assert error.derivative < 2e-15, name
        assert error.value_at_end < 2e-15, name


@pytest.mark.parametrize("group", [SO3, S3, SE3, S3R3, UDQ], ids=str)
def test_the_reference_itself_against_series(group):
    """The closed forms with many digits equal the defining series of T, and the exponential of the matrix."""
    v = np.random.default_rng(1).standard_normal(group.dim)
    with mp.workdps(DIGITS):
        minus = -_mp(group.ad(v))
        T = term = _mp(np.eye(group.dim))
        for k in range(1, 90):
            term = term @ minus / (k + 1)
            T = T + term
        assert max(abs((_t(group, _mp(v)) - T).ravel())) < 1e-30
        assert max(abs((_tinv(group, _mp(v)) @ T - np.eye(group.dim)).ravel())) < 1e-30
        X = _mp(group.tilde(v))
        exponential = term = _mp(np.eye(group.n_matrix))
        for k in range(1, 90):
            term = term @ X / k
            exponential = exponential + term
    # from_matrix works on doubles, which is enough to see that both exponentials are one
    assert np.abs(group.from_matrix(exponential.astype(float)) - _exp(group, _mp(v)).astype(float)).max() < 4e-16
