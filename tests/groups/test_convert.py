"""Groups that describe the same motions."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, R, convert, convert_velocity, embedding_norm

ROTATIONS = [SO3, S3]
MOTIONS = [SE3, S3R3, UDQ, SO3 * R(3), S3 * R(3)]
PAIRS = [*itertools.product(ROTATIONS, repeat=2), *itertools.product(MOTIONS, repeat=2)]


def frame(group, q):
    """Rotation matrix and position, by other means."""
    if group in ROTATIONS:
        return SO3.matrix(convert(q, group, SO3)), np.zeros((*q.shape[:-1], 3))
    X = SE3.matrix(convert(q, group, SE3))
    return X[..., :3, :3], X[..., :3, 3]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda g: str(g))
def test_there_and_back(source, target):
    q = source.random(1, 200)
    p = convert(q, source, target)
    back = convert(p, target, source, near=q if source in (S3, S3R3, UDQ, S3 * R(3)) and source != target else None)
    np.testing.assert_allclose(back, q, atol=5e-15)
    for a, b in zip(frame(source, q), frame(target, p), strict=True):
        np.testing.assert_allclose(a, b, atol=5e-15)


@pytest.mark.parametrize(("source", "target"), [(S3R3, UDQ), (S3R3, SE3), (UDQ, SE3), (SO3 * R(3), S3 * R(3)), (S3, SO3)], ids=str)
def test_conversions_are_homomorphisms(source, target):
    p, q = source.random(1, 100), source.random(2, 100)
    near = convert(source.compose(p, q), source, target)
    together = target.compose(convert(p, source, target), convert(q, source, target))
    if target == S3 * R(3):  # up to the sign of the quaternion
        sign = np.sign(np.sum(together[:, :4] * near[:, :4], axis=-1, keepdims=True))
        together[:, :4] *= sign
    np.testing.assert_allclose(together, near, atol=1e-14)


def test_against_scipy():
    p = S3.random(3, 500)
    R_ = Rotation.from_quat(p, scalar_first=True)
    np.testing.assert_allclose(SO3.matrix(convert(p, S3, SO3)), R_.as_matrix(), atol=1e-15)
    back = convert(convert(p, S3, SO3), SO3, S3)
    np.testing.assert_allclose(back, Rotation.from_matrix(R_.as_matrix()).as_quat(scalar_first=True, canonical=True), atol=1e-15)
    assert np.all(back[:, 0] >= 0)


def test_half_turns():
    """Where log changes sides: the component largest in size is positive."""
    rng = np.random.default_rng(4)
    axes = rng.standard_normal((50, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    half = (2 * np.einsum("ni,nj->nij", axes, axes) - np.eye(3)).reshape(-1, 9)
    v = SO3.log(half)
    sign = np.sign(axes[np.arange(50), np.abs(axes).argmax(axis=1)])[:, None]
    np.testing.assert_allclose(v, np.pi * sign * axes, atol=1e-14)
    for d in (np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1]), np.diag([-1.0, -1, 1])):
        np.testing.assert_allclose(SO3.log(d.ravel()), np.pi * (np.diag(d) > 0), atol=1e-15)
    np.testing.assert_allclose(SE3.log(np.r_[half[0], 1, 2, 3])[:3], v[0], atol=1e-14)


def test_quaternion_logarithms_reach_almost_a_full_turn():
    for angle in (3.0, 4.0, 6.0, 2 * np.pi - 1e-3, 2 * np.pi - 1e-9):
        v = angle * np.array([0.6, 0.0, 0.8])
        np.testing.assert_allclose(S3.log(S3.exp(v)), v, rtol=1e-14)
    for G in (S3, S3R3, UDQ):
        with pytest.raises(ValueError, match=r"log: there is no finite result for q = \[-1"):
            G.log(-G.identity() if G is not S3R3 else np.r_[-1, np.zeros(6)])


def test_near_chooses_the_sign():
    path = S3R3.exp(np.outer(np.linspace(0, 12, 200), [0.3, 0.5, -0.8, 1, 0, 0]))
    matrices = convert(path, S3R3, SE3)
    assert np.abs(convert(matrices, SE3, S3R3) - path).max() > 1  # the sign jumps
    np.testing.assert_allclose(convert(matrices, SE3, S3R3, near=path), path, atol=1e-14)
    dual = convert(path, S3R3, UDQ)
    np.testing.assert_allclose(convert(matrices, SE3, UDQ, near=dual), dual, atol=1e-13)
    np.testing.assert_allclose(convert(matrices[5], SE3, S3R3, near=path[:7]).shape, (7, 7))


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda g: str(g))
def test_velocities(source, target):
    """The converted velocity moves the converted element as the velocity moves the element."""
    rng = np.random.default_rng(5)
    q, v, h = source.random(rng, 20), rng.standard_normal((20, source.dim)), 1e-6
    w = convert_velocity(q, v, source, target)
    ahead, behind = (convert(source.retract(q, s * h * v), source, target, near=_near(source, target, q)) for s in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * h), target.rate(convert(q, source, target), w), atol=1e-7)
    np.testing.assert_allclose(convert_velocity(convert(q, source, target), w, target, source), v, atol=1e-14)


def _near(source, target, q):
    return convert(q, source, target) if target in (S3, S3R3, UDQ, S3 * R(3)) and source != target else None


def test_what_cannot_be_converted_is_named():
    with pytest.raises(ValueError, match="cannot convert SO3 to SE3: they describe different motions"):
        convert(SO3.identity(), SO3, SE3)
    with pytest.raises(ValueError, match=r"convert: \(SE3 \* SE3\) is none of SO3"):
        convert((SE3 * SE3).identity(), SE3 * SE3, SE3)
    with pytest.raises(ValueError, match="near chooses between the quaternions"):
        convert(S3.identity(), S3, SO3, near=SO3.identity())
    with pytest.raises(ValueError, match=r"near must have shape \(\.\.\., 4\)"):
        convert(SO3.identity(), SO3, S3, near=[1, 0, 0])
    with pytest.raises(ValueError, match=r"convert: q is not a unit quaternion"):
        convert([1, 1, 0, 0], S3, SO3)
    with pytest.raises(ValueError, match="cannot convert velocities of R"):
        convert_velocity([1.0], [1.0], R(1), R(2))
    np.testing.assert_array_equal(convert([1.0, 2.0], R(2), R(2)), [1, 2])


def test_error_norm_of_the_experiments():
    assert embedding_norm([3.0, 4.0, 0.0, 0.0]) == 2.5
    assert embedding_norm(np.ones((7, 4))).shape == (7,)
