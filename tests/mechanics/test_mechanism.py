"""Mechanisms: the same motion in all coordinates, and what they refuse."""

from functools import cache

import casadi as ca
import numpy as np
import pytest

import kreisel as kr
from kreisel.mechanics.element import Element

RIGID = ["SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"]


def double_pendulum(pivoted=False):
    """Two bodies with spring, damper and friction, under gravity and a load; in a chain or, if pivoted, both hinged to the ground."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    W = np.array([1.0, -0.5, 2.0])
    arm, elbow = np.array([0, 0, -0.5]), np.array([0, 0.1, -0.4])
    m.body("upper", 2.0, (0.3, 0.25, 0.1), position=arm, omega=W, velocity=np.cross(W, arm))
    m.joint(kr.Spherical("ground", "upper", at_b=-arm, name="shoulder"))
    x, V, forearm = arm + elbow, np.array([0.3, 1.0, 0.0]), np.array([0.2, 0, -0.3])
    if pivoted:
        m.body("lower", 1.0, (0.2, 0.15, 0.1), position=x + forearm, omega=V, velocity=np.cross(V, forearm))
        m.joint(kr.Spherical("ground", "lower", at_a=x, at_b=-forearm, name="elbow"))
    else:
        velocity = np.cross(W, arm + elbow) + np.cross(V, forearm)
        m.body("lower", 1.0, (0.2, 0.15, 0.1), position=x + forearm, omega=V, velocity=velocity)
        m.joint(kr.Spherical("upper", "lower", at_a=elbow, at_b=-forearm, name="elbow"))
    m.force(kr.Spring("ground", "lower", 50.0, length=0.3, at_a=(1, 0, 0)))
    m.force(kr.Damper("ground", "lower", 0.5, at_a=(1, 0, 0)))
    m.force(kr.TorsionSpring("upper", "lower", (0, 1, 0), 10.0, 0.1))
    m.force(kr.Friction("upper", rotational=0.2))
    m.force(kr.Load("lower", force=(0, 3, 0), axes="body", history=ca.sin))
    return m


@cache
def ends(pivoted, coordinates, method, h):
    sol = kr.simulate(double_pendulum(pivoted).system(coordinates), until=0.5, step=h, method=method)
    assert sol.success, sol.message
    places = [np.r_[sol.rotation(b)[-1].ravel(), sol.position(b)[-1], sol.velocity(b, "space")[-1]] for b in ("upper", "lower")]
    return np.concatenate(places)


@pytest.mark.parametrize(
    ("coordinates", "pivoted"),
    [("S3xR3", False), ("SE3", False), ("S3R3", False), ("UDQ", False), ("SO3", True), ("S3", True), ("SE3", True)],
)
@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha()], ids=str)
def test_all_coordinates_give_the_same_motion(method, coordinates, pivoted):
    """Up to the order of the method: the difference falls by four when the step is halved."""
    gaps = [np.abs(ends(pivoted, coordinates, method, h) - ends(pivoted, "SO3xR3", method, h)).max() for h in (1 / 256, 1 / 512)]
    if coordinates == "S3xR3":
        assert max(gaps) < 1e-11
        return
    assert 1e-7 < gaps[0] < 1e-2
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.1)


def test_degrees_of_freedom_and_index():
    m = double_pendulum()
    system = m.system("SE3")
    assert (system.dim, system.degrees_of_freedom, system.index) == (12, 6, 3)
    assert (m.system("UDQ").n_params, m.system("S3R3").n_params, m.system("SO3xR3").n_params) == (16, 14, 24)
    pivoted = double_pendulum(pivoted=True).system("S3")
    assert (pivoted.dim, pivoted.degrees_of_freedom, pivoted.index, pivoted.constrained) == (6, 6, 0, False)
    disk = kr.models.rolling_disk()
    assert (disk.index, disk.degrees_of_freedom, disk.nonholonomic) == (3, 3, True)
    sled = kr.System(kr.R(2), np.eye(2), pfaffian=lambda t, q, v: v[0] - q[1] * v[1])
    assert (sled.index, sled.degrees_of_freedom) == (2, 1)


def test_points_and_scalars():
    """A trolley with a pendulum, its rope a constraint between a scalar and a point, against the equations in two coordinates."""
    from scipy.integrate import solve_ivp

    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.scalar("trolley", 3.0, value=0.2, rate=1.0)
    m.point("load", 1.0, position=(0.2 + np.sin(0.5), 0, -np.cos(0.5)), velocity=(1.0, 0, 0))
    m.joint(kr.Constraint("rope", "trolley", "load", lambda t, c, p: (p.x[0] - c.value) ** 2 + p.x[1] ** 2 + p.x[2] ** 2 - 1))
    m.force(kr.Potential("buffer", "trolley", lambda c: 20 * c.value**2))

    def rate(t, y):
        s, a, ds, da = y
        A = [[4.0, np.cos(a)], [np.cos(a), 1.0]]
        return [ds, da, *np.linalg.solve(A, [np.sin(a) * da**2 - 40 * s, -9.81 * np.sin(a)])]

    exact = solve_ivp(rate, (0, 1), [0.2, 0.5, 1.0, 0.0], rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
    sol = kr.simulate(m.system(), until=1, step=2**-7, method=kr.Composition(order=6))
    s = sol.configuration("trolley")[-1, 0]
    assert s == pytest.approx(exact[0], abs=1e-9)
    np.testing.assert_allclose(sol.position("load")[-1], [s + np.sin(exact[1]), 0, -np.cos(exact[1])], atol=1e-9)
    with pytest.raises(TypeError, match="'load' has no rotation"):
        sol.rotation("load")
    with pytest.raises(TypeError, match="'trolley' has no position"):
        sol.position("trolley")


def test_moving_constraints():
    """A point on a rail that moves up and down: x3 = sin(3 t); its force by hand, m (g - 9 sin 3t)."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.point("bead", 2.0, velocity=(1, 0, 3))
    m.joint(kr.Constraint("rail", "bead", lambda t, p: p.x[2] - ca.sin(3 * t)))
    for method in (kr.RATTLie(), kr.GeneralizedAlpha(index="stabilised-2"), kr.BLieDF(2)):
        sol = kr.simulate(m.system(), until=1, step=2**-8, method=method)
        np.testing.assert_allclose(sol.position("bead")[:, 2], np.sin(3 * sol.t), atol=1e-13)
        np.testing.assert_allclose(sol.v[:, 2], 3 * np.cos(3 * sol.t), atol=1e-12)
        force = -2 * (9.81 - 9 * np.sin(3 * sol.t))
        # the fourth derivative of the motion times h^2/12 and the like: 2 * 81 h^2; BLieDF opens with order 1: 2 * 27 h / 2
        lam = sol.multipliers("separate" if isinstance(method, kr.RATTLie) else "raw")
        np.testing.assert_allclose(lam[2:, 0], force[2:], atol=2 * 81 * 2**-16 * 4)
        assert np.abs(lam[:2, 0] - force[:2]).max() < 2 * 27 * 2**-8


# What is refused


def mechanism():
    m = kr.Mechanism()
    m.body("arm", 1.0, (1, 1, 1))
    return m


def with_joint(joint):
    m = mechanism()
    m.joint(joint)
    return m


def with_force(force):
    m = mechanism()
    m.force(force)
    return m


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mechanism().body("b", 0.0, (1, 1, 1)), "body 'b': the mass must be positive, got 0"),
        (lambda: mechanism().body("b", -1.0, (1, 1, 1)), "body 'b': the mass must be positive, got -1"),
        (lambda: mechanism().body("b", np.nan, (1, 1, 1)), "body 'b': the mass must be positive, got nan"),
        (lambda: mechanism().body("b", 1.0, (1, 1, 3)), "body 'b': no body has the principal moments 1, 1, 3: the sum of two"),
        (lambda: mechanism().body("b", 1.0, (1, 0, 1)), "body 'b': the principal moments of inertia must be positive"),
        (lambda: mechanism().body("b", 1.0, np.triu(np.ones((3, 3)))), "body 'b': inertia must be three principal moments or a symmetric"),
        (lambda: mechanism().body("b", 1.0, (1, 1)), "body 'b': inertia must be three"),
        (lambda: mechanism().body("b", 1.0, (1, 1, 1), rotation=np.diag([1, 1, -1])), "body 'b': rotation must be a 3 x 3 rotation matrix"),
        (lambda: mechanism().body("b", 1.0, (1, 1, 1), position=(0, 0)), "body 'b': position must be three finite numbers"),
        (lambda: mechanism().body("arm", 1.0, (1, 1, 1)), "'arm' cannot be the name of a body: it is empty, taken, or has a bracket"),
        (lambda: mechanism().body("ground", 1.0, (1, 1, 1)), "'ground' cannot be the name"),
        (lambda: mechanism().point("arm", 1.0), "'arm' cannot be the name"),
        (lambda: mechanism().point("p", 0), "point 'p': the mass must be positive"),
        (lambda: mechanism().scalar("s", -1), "scalar 's': the mass must be positive"),
        (lambda: kr.Mechanism(gravity=9.81), "gravity must be three finite numbers"),
        (lambda: with_force(kr.Drive("arm", control="u")).system(), "'drive of arm' refers to the scalar 'arm', which does not exist"),
        (lambda: kr.Drive("trolley"), "'drive of trolley' needs either a control or a history"),
        (lambda: kr.models.overhead_crane("SE3"), "formulation must be 'directors' or 'minimal', got 'SE3'"),
        (lambda: kr.models.overhead_crane(length=0), "the length of the rope must be positive"),
        (lambda: mechanism().system("Euler"), "coordinates must be one of SO3xR3, S3xR3, .*, minimal, got 'Euler'"),
        (lambda: mechanism().system("SO3"), "body 'arm' is not held by a ball joint to the ground"),
        (lambda: with_joint(kr.Spherical("ground", "leg")).system(), r"refers to 'leg', which does not exist; there are \['arm'\]"),
        (lambda: with_joint(kr.Constraint("arm", "arm", lambda t, a: a.x[0])).system(), "two things are called 'arm'"),
        (lambda: kr.models.heavy_top("SO4"), "coordinates must be one of"),
        (lambda: kr.models.heavy_top(spin="wild"), "spin must be 'fast' or 'slow', got 'wild'"),
        (lambda: kr.models.extended_top(inertia="guessed"), "inertia must be 'corrected' or 'printed'"),
        (lambda: kr.models.extended_top(angle="open"), "angle must be 'wrapped' or 'unwrapped'"),
    ],
)  # fmt: skip
def test_messages(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_bodies_that_just_exist_are_accepted():
    """A thin plate: one moment is the sum of the others."""
    mechanism().body("plate", 1.0, (0.1, 0.2, 0.30000000000000004))


def test_two_springs_between_the_same_bodies_need_names():
    m = kr.Mechanism()
    m.body("a", 1.0, (1, 1, 1))
    m.force(kr.Spring("ground", "a", 1.0))
    m.force(kr.Spring("ground", "a", 1.0))
    with pytest.raises(ValueError, match="two things are called 'spring between ground and a'; give them different names"):
        m.system()


def test_joints_and_forces_are_told_apart():
    with pytest.raises(TypeError, match=r"Spring 'k' is no joint; forces are added with force\(\)"):
        mechanism().joint(kr.Spring("ground", "arm", 1.0, name="k"))
    with pytest.raises(TypeError, match=r"Spherical 'hip' is no force; joints are added with joint\(\)"):
        mechanism().force(kr.Spherical("ground", "arm", name="hip"))


def test_an_element_of_ones_own():
    """Ten lines: a magnet that pulls with k / r, in any coordinates; with its parameters shared code for two of them."""

    class Magnet(Element):
        def __init__(self, name, body, strength, at):
            super().__init__(name, body)
            self.parameters = {"strength": np.array([strength]), "at": np.array(at, dtype=float)}

        def potential(self, p, t, body):
            return p.strength * ca.log(ca.norm_2(body.x - p.at))

    found = []
    for coordinates in ("SO3xR3", "S3xR3"):
        m = kr.Mechanism()
        m.body("ball", 1.0, (1, 1, 1), position=(1, 0, 0))
        m.force(Magnet("left", "ball", 2.0, (-1, 0, 0)))
        m.force(Magnet("right", "ball", 3.0, (3, 0, 0)))
        found.append(kr.simulate(m.system(coordinates), until=0.5, step=0.01))
        assert found[-1].a[0] == pytest.approx([0, 0, 0, -2 / 2 + 3 / 2, 0, 0], abs=1e-14)
    np.testing.assert_allclose(found[0].position("ball"), found[1].position("ball"), atol=1e-14)
