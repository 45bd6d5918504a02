"""Masses and moments against clouds of points; momentum, energy and equations of motion in both frames. Numbers: Sadlowski, section 3."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kreisel as kr
from kreisel.exact import FreeBody, HeavyTop
from kreisel.groups import SO3

RNG = np.random.default_rng(9)
I = kr.inertia
R0 = SO3.matrix(SO3.random(1))
W0 = np.array([0.3, -1.0, 2.0])


def skew(a):
    return np.cross(np.eye(3), np.asarray(a)[..., None, :])


def grid(inside, size, n=80):
    """The body that is ``inside``, from little cubes within a cube of the given half width: mass 1."""
    s = (np.arange(n) + 0.5) / n * 2 * size - size
    X = np.stack(np.meshgrid(s, s, s, indexing="ij"), axis=-1).reshape(-1, 3)
    X = X[inside(*X.T)]
    return I.points(np.full(len(X), 1 / len(X)), X)


SOLIDS = {
    "box": (I.box((1.0, 0.6, 1.4), mass=1.0), lambda x, y, z: (abs(x) < 0.5) & (abs(y) < 0.3) & (abs(z) < 0.7)),
    "cylinder": (I.cylinder(0.5, 1.6, mass=1.0), lambda x, y, z: (x**2 + y**2 < 0.25) & (abs(z) < 0.8)),
    "tube": (I.cylinder(0.7, 1.0, inner=0.4, mass=1.0), lambda x, y, z: (x**2 + y**2 < 0.49) & (x**2 + y**2 > 0.16) & (abs(z) < 0.5)),
    "cone": (I.cone(0.6, 0.9, mass=1.0), lambda x, y, z: (z > 0) & (z < 0.9) & (np.hypot(x, y) < z / 0.9 * 0.6)),
    "sphere": (I.sphere(0.9, mass=1.0), lambda x, y, z: x**2 + y**2 + z**2 < 0.81),
    "hollow sphere": (I.sphere(0.9, inner=0.6, mass=1.0), lambda x, y, z: (x**2 + y**2 + z**2 < 0.81) & (x**2 + y**2 + z**2 > 0.36)),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_against_little_cubes(name):
    solid, inside = SOLIDS[name]
    cubes = grid(inside, 1.0)
    np.testing.assert_allclose(solid.inertia, cubes.inertia, atol=0.006 * np.abs(cubes.inertia).max())
    np.testing.assert_allclose(solid.centre, cubes.centre, atol=0.006)


def test_volumes():
    for solid, volume in [
        (I.box((1, 2, 3), density=2), 6),
        (I.cylinder(1, 2, density=2), 2 * np.pi),
        (I.cone(1, 3, density=2), np.pi),
        (I.sphere(3, density=2), 36 * np.pi),
    ]:
        assert solid.mass == pytest.approx(2 * volume)


def test_two_formulas_of_the_inertia():
    """(3.25), (3.32): - sum m X~ X~ = sum m (|X|^2 I - X X^T)."""
    m, X = RNG.uniform(0.1, 1, 20), RNG.standard_normal((20, 3))
    cloud = I.points(m, X)
    Y = X - cloud.centre
    np.testing.assert_allclose(cloud.inertia, -np.einsum("n,nij,njk->ik", m, skew(Y), skew(Y)), atol=1e-13)
    np.testing.assert_allclose(cloud.about((0, 0, 0)), -np.einsum("n,nij,njk->ik", m, skew(X), skew(X)), atol=1e-13)


def test_composites():
    """A box of two halves; a tube as a cylinder with a hole; any cloud, in parts, moved and turned."""
    half = I.box((1, 1, 2), mass=3)
    both = half.moved((-0.5, 0, 0)) + half.moved((0.5, 0, 0))
    np.testing.assert_allclose(both.inertia, I.box((2, 1, 2), mass=6).inertia, atol=1e-14)
    np.testing.assert_allclose(both.centre, 0, atol=1e-15)
    tube = I.cylinder(0.7, 1, density=5) - I.cylinder(0.4, 1, density=5)
    whole = I.cylinder(0.7, 1, inner=0.4, density=5)
    assert tube.mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(tube.inertia, whole.inertia, atol=1e-14)
    m, X = RNG.uniform(0.1, 1, 9), RNG.standard_normal((9, 3))
    parts = [I.points(m[k : k + 3], X[k : k + 3]) for k in (0, 3, 6)]
    for together in (sum(parts), I.composite(parts)):
        np.testing.assert_allclose(together.inertia, I.points(m, X).inertia, atol=1e-13)
        np.testing.assert_allclose(together.centre, I.points(m, X).centre, atol=1e-14)
    turned = parts[0].turned(R0).moved((1, 2, 3))
    exact = I.points(m[:3], X[:3] @ R0.T + [1, 2, 3])
    np.testing.assert_allclose(turned.inertia, exact.inertia, atol=1e-13)
    np.testing.assert_allclose(turned.centre, exact.centre, atol=1e-14)


def test_principal_axes():
    body = I.box((1, 2, 3), mass=2).turned(R0)
    moments, axes = body.principal()
    np.testing.assert_allclose(moments, [5 / 6, 10 / 6, 13 / 6], rtol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1)
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, body.inertia, atol=1e-14)


def test_momentum_and_energy_of_a_cloud():
    """(3.17)-(3.32), (3.51)-(3.58): sums over the points of a moving cloud, in both frames."""
    m, X = RNG.uniform(0.1, 1, 30), RNG.standard_normal((30, 3))
    body = I.points(m, X)
    v, w = np.array([1.0, -2, 0.5]), R0 @ W0
    r = (X - body.centre) @ R0.T
    velocities = v + np.cross(w, r)
    np.testing.assert_allclose(body.momentum(v), m @ velocities, atol=1e-13)
    np.testing.assert_allclose(body.angular_momentum(w, R0), m @ np.cross(r, velocities), atol=1e-13)
    np.testing.assert_allclose(R0 @ body.angular_momentum(W0), body.angular_momentum(w, R0), atol=1e-13)
    energy = m @ np.sum(velocities**2, axis=1) / 2
    assert body.kinetic_energy(W0, v) == pytest.approx(energy)
    assert body.kinetic_energy(w, v, R0) == pytest.approx(energy)
    np.testing.assert_allclose(body.spatial(R0), R0 @ body.inertia @ R0.T, atol=1e-15)
    m = np.array([0.5, 1.0, -2.0])
    np.testing.assert_allclose(R0 @ body.angular_acceleration(W0, R0.T @ m), body.angular_acceleration(w, m, R0), atol=1e-13)
    many = body.angular_momentum(np.stack([w, 2 * w]), np.stack([R0, R0]))
    np.testing.assert_allclose(many[1], 2 * many[0], atol=1e-14)


@pytest.mark.parametrize("frame", ["body", "space"])
def test_equations_of_motion_of_a_free_flight(frame):
    """(3.33)-(3.50): a parabola and Euler's top."""
    body = I.box((1.0, 2, 3), mass=2.0)
    f = body.equations_of_motion(force=lambda t, x, R: (0, 0, -9.81 * body.mass), frame=frame)
    omega = W0 if frame == "body" else R0 @ W0
    t = np.linspace(0, 2, 5)
    y = solve_ivp(f, (0, 2), np.r_[0, 0, 1, R0.ravel(), 1, 0, 3, omega], "DOP853", t, rtol=1e-12, atol=1e-13).y.T
    exact = FreeBody(body.inertia, W0, R0)
    R = exact.rotation(t)
    np.testing.assert_allclose(y[:, 3:12].reshape(-1, 3, 3), R, atol=1e-10)
    W = exact.omega(t)
    np.testing.assert_allclose(y[:, 15:], W if frame == "body" else np.einsum("nij,nj->ni", R, W), atol=1e-10)
    np.testing.assert_allclose(y[:, 2], 1 + 3 * t - 9.81 / 2 * t**2, atol=1e-11)


@pytest.mark.parametrize("frame", ["body", "space"])
def test_equations_of_motion_with_a_torque(frame):
    """The heavy top about its support: the frame's origin is taken as the centre, with the inertia about it."""
    top = I.MassProperties(20.0, np.zeros(3), np.diag([5.0, 5, 1]))
    f = top.equations_of_motion(torque=lambda t, x, R: -20 * np.cross(R[:, 2], [0, 0, 1.0]), frame=frame)
    start = np.array([1.0, 2, 5])
    exact = HeavyTop(5, 1, 20, start, R0)
    omega = start if frame == "body" else R0 @ start
    y = solve_ivp(f, (0, 1), np.r_[0, 0, 0, R0.ravel(), 0, 0, 0, omega], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(y[3:12].reshape(3, 3), exact.rotation(1.0), atol=1e-10)


def test_in_a_mechanism():
    hammer = I.cylinder(0.02, 0.3, density=700) + I.box((0.1, 0.03, 0.03), density=7850).moved((0, 0, 0.15))
    m = kr.Mechanism()
    m.body("hammer", mass=hammer.mass, inertia=hammer.inertia)
    assert m.system("SE3").degrees_of_freedom == 6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: I.box((1, 2, 3)), "box: give either the mass or the density"),
        (lambda: I.box((1, 2, 3), mass=1, density=2), "either"),
        (lambda: I.box((1, 0, 3), mass=1), "lengths must be positive"),
        (lambda: I.sphere(-1, mass=1), "radius must be positive, got -1"),
        (lambda: I.sphere(1, inner=2, mass=1), "inner radius must lie between"),
        (lambda: I.cylinder(1, 1, inner=1, mass=1), "inner radius must lie between"),
        (lambda: I.cone(1, 1, mass=-2), "mass and density must be positive"),
        (lambda: I.cone(1, 1, density=0), "mass and density must be positive"),
        (lambda: I.points([1, 2], [[0, 0, 0]]), r"positions must be finite numbers of shape \(2, 3\)"),
        (lambda: I.points([-1, 2], np.zeros((2, 3))), "must not be negative"),
        (lambda: I.sphere(1, mass=1) - I.sphere(2, mass=3), "nothing is left"),
        (lambda: I.composite([]), "at least one part"),
        (lambda: I.sphere(1, mass=1).turned(2 * np.eye(3)), "is not a"),
        (lambda: I.sphere(1, mass=1).moved((1, 2)), "three finite numbers"),
        (lambda: I.sphere(1, mass=1).equations_of_motion(frame="sky"), "frame must be 'space' or 'body'"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
