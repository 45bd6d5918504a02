"""Points, directions and transforms. Numbers: Müller, 2.7, 3.2, 4.1."""

import numpy as np
import pytest

from kreisel.frames import BoundVector, Direction, Point, Screw, Transform, angular_velocity, sequence
from kreisel.groups import SE3, SO3

RNG = np.random.default_rng(4)


def some(source="body", target="space", shape=()):
    return Transform(SE3.matrix(SE3.random(RNG, shape)), source, target)


def test_points_and_directions():
    """Equivalent pairs of points are one direction; a translation moves points, not directions."""
    p, q, d = Point((1, 2, 3)), Point((4, 4, 4)), Direction((1, 0, -1))
    np.testing.assert_array_equal((q - p).components, [3, 2, 1])
    np.testing.assert_array_equal(((q + d) - (p + d)).components, (q - p).components)
    np.testing.assert_array_equal((d + p).coordinates, (p + d).coordinates)
    np.testing.assert_array_equal((p - d).coordinates, [0, 2, 4])
    T = Transform.of(q=(5, 0, 0), source="space")
    np.testing.assert_array_equal((T @ p).homogeneous, [6, 2, 3, 1])
    np.testing.assert_array_equal((T @ d).homogeneous, [1, 0, -1, 0])
    assert d.dot(2 * d) == 4
    assert (d * 3).norm == pytest.approx(3 * np.sqrt(2))
    np.testing.assert_array_equal(d.cross(Direction((0, 1, 0))).components, [1, 0, 1])
    assert d.angle(-d) == pytest.approx(np.pi)
    np.testing.assert_array_equal((d - d).components, [0, 0, 0])


def test_bound_vectors():
    force = BoundVector(Point((1, 0, 0)), Direction((0, 2, 0)))
    np.testing.assert_array_equal(force.tip.coordinates, [1, 2, 0])
    np.testing.assert_array_equal(force.moment(Point((0, 0, 0))).components, [0, 0, 2])
    # along its line of action its moment stays, elsewhere not
    np.testing.assert_array_equal(BoundVector(force.tip, force.vector).moment(Point((0, 0, 0))).components, [0, 0, 2])
    T = some("space", "other")
    moved = (T @ force).moment(T @ Point((0, 0, 0)))
    np.testing.assert_allclose(moved.components, (T @ Direction((0, 0, 2))).components, atol=1e-14)


def test_inverse_and_chain():
    """(3.17), (3.21)-(3.24)."""
    A, B = some("B", "I"), some("C", "B")
    np.testing.assert_allclose(A.inverse.matrix, np.linalg.inv(A.matrix), atol=1e-15)
    C = A @ B
    assert (C.source, C.target) == ("C", "I")
    r = Point((1, 2, 3), "C")
    np.testing.assert_allclose((C @ r).coordinates, (A @ (B @ r)).coordinates, atol=1e-14)
    np.testing.assert_allclose((C.inverse @ (C @ r)).coordinates, r.coordinates, atol=1e-14)
    assert (C.inverse @ (C @ r)).frame == "C"
    np.testing.assert_allclose((C @ r).homogeneous, C.matrix @ r.homogeneous, atol=1e-14)


def test_order_of_motions():
    """Remark 3.4: about the current axes to the right, about fixed axes to the left."""
    x = Transform.of(SO3.matrix(SO3.exp([np.pi / 2, 0, 0])))
    z = Transform.of(SO3.matrix(SO3.exp([0, 0, np.pi / 2])), (1, 0, 0))
    np.testing.assert_allclose(sequence([x, z], about="current").matrix, x.matrix @ z.matrix, atol=0)
    np.testing.assert_allclose(sequence([x, z], about="fixed").matrix, z.matrix @ x.matrix, atol=0)
    # Turned about x, then about the new z axis, which is -y in space.
    np.testing.assert_allclose(sequence([x, z]).R @ [1, 0, 0], [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(sequence([x, z], about="fixed").R @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_velocity_operator():
    """(3.20), (4.1)-(4.5): p' = T' T^-1 p = q' + Omega (p - q), against differences."""
    T = some()
    w, v, r = RNG.standard_normal((3, 3))
    D = T.rate(w, v)
    np.testing.assert_allclose(D[3], 0, atol=0)
    V = T.velocity_operator(D)
    p = (T @ Point(r, "body")).coordinates
    np.testing.assert_allclose((V @ np.r_[p, 1])[:3], v + np.cross(w, p - T.q), atol=1e-14)
    np.testing.assert_allclose(V[:3, 3], v - np.cross(w, T.q), atol=1e-14)
    np.testing.assert_allclose(angular_velocity(T.R, D[:3, :3]), w, atol=1e-14)

    def at(t):
        return Transform.of(SO3.matrix(SO3.exp(t * w)) @ T.R, T.q + t * v).matrix

    np.testing.assert_allclose((at(1e-5) - at(-1e-5)) / 2e-5, D, atol=1e-9)
    body = T.rate(T.R.T @ w, T.R.T @ v, frame="body")
    np.testing.assert_allclose(body, D, atol=1e-14)


def test_screw_decomposition():
    """Remark 3.3: there and back for many; the point is that of the axis next to the origin, and stays on the axis."""
    T = some(shape=(4, 25))
    s = T.screw()
    assert s.axis.shape == (4, 25, 3)
    np.testing.assert_allclose(Transform.from_screw(s).matrix, T.matrix, atol=2e-14)
    np.testing.assert_allclose(np.sum(s.axis * s.point, axis=-1), 0, atol=1e-13)
    on_axis = (T @ Point(s.point, "body")).coordinates
    np.testing.assert_allclose(on_axis, s.point + s.shift[..., None] * s.axis, atol=2e-14)
    np.testing.assert_allclose(s.pitch, s.shift / s.angle, rtol=1e-15)


@pytest.mark.parametrize("angle", [1e-8, 1e-3, 1.0, np.pi - 1e-3, np.pi - 1e-9, np.pi])
def test_screws_near_no_turn_and_half_a_turn(angle):
    axis, point = np.array([2.0, 2, 1]) / 3, np.array([1.0, -1, 0])
    T = Transform.from_screw(Screw(axis, np.array(angle), np.array(0.7), point))
    s = T.screw()
    np.testing.assert_allclose(Transform.from_screw(s).matrix, T.matrix, atol=4e-15)
    np.testing.assert_allclose(s.axis, axis, atol=1e-14)
    assert s.angle == pytest.approx(angle, rel=1e-15)
    assert s.shift == pytest.approx(0.7, rel=1e-14)
    np.testing.assert_allclose(s.point, point, atol=1e-15 / angle + 1e-14)


def test_screws_without_a_turn():
    s = Transform.of(q=(0, 3, 4)).screw()
    np.testing.assert_allclose(s.axis, [0, 0.6, 0.8], atol=1e-16)
    assert (s.angle, s.shift, s.pitch) == (0, 5, np.inf)
    np.testing.assert_array_equal(s.point, [0, 0, 0])
    none = Transform.of().screw()
    assert (none.angle, none.shift, none.pitch) == (0, 0, 0)
    np.testing.assert_array_equal(none.axis, [0, 0, 1])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Direction((1, 0, 0), "A") + Direction((1, 0, 0), "B"), ValueError, "frames 'A' and 'B' cannot be added"),
        (lambda: Point((1, 0, 0), "A") - Point((1, 0, 0), "B"), ValueError, "frames 'A' and 'B' cannot be subtracted"),
        (lambda: Point((1, 0, 0), "A") + Direction((1, 0, 0), "B"), ValueError, "transform one of them first"),
        (lambda: Direction((1, 0, 0), "A").dot(Direction((1, 0, 0), "B")), ValueError, "cannot be multiplied"),
        (lambda: BoundVector(Point((1, 0, 0), "A"), Direction((1, 0, 0), "B")), ValueError, "cannot be bound together"),
        (lambda: Point((1, 0, 0)) + Point((1, 0, 0)), TypeError, "points cannot be added"),
        (lambda: Point((1, 0, 0)) + 3, TypeError, "unsupported operand"),
        (lambda: Transform.of(source="A") @ Point((1, 0, 0), "B"), ValueError, "from 'A' to 'space' cannot take a point in 'B'"),
        (lambda: Transform.of(source="A") @ Transform.of(source="B"), ValueError, "cannot take a transform in 'space'"),
        (lambda: Transform(2 * np.eye(4)), ValueError, "Transform: .* is not a matrix of SE3"),
        (lambda: Transform.of(np.diag([1, 1, -1.0])), ValueError, "is not a matrix of SE3"),
        (lambda: Transform.of(np.eye(2)), ValueError, "R must have shape"),
        (lambda: Transform.of(q=(1, 2)), ValueError, "q must be finite numbers"),
        (lambda: Transform.from_screw(Screw(np.zeros(3), np.array(1.0), np.array(0.0), np.zeros(3))), ValueError, "length zero"),
        (lambda: sequence([]), ValueError, "at least one motion"),
        (lambda: sequence([Transform.of()], about="moon"), ValueError, "about must be 'current' or 'fixed'"),
        (lambda: Transform.of().rate((1, 0, 0), (0, 0, 0), frame="moon"), ValueError, "frame must be"),
    ],
)  # fmt: skip
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
