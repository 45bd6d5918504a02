"""Joints: the same motion and the same reactions in all coordinates, and each against what is known of it."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kreisel as kr

COORDINATES = ["S3xR3", "SE3", "S3R3", "UDQ", "directors"]
GRAVITY = (0.0, 0.0, -9.81)


def zoo():
    """A hub that hangs on a ball joint, and on the hub one body per kind of joint, with friction, actuators and a gear; it starts at rest,
    leaning."""
    m = kr.Mechanism(gravity=GRAVITY)
    turn = kr.SO3.exp([0.3, -0.2, 0.5]).reshape(3, 3)
    hub = m.body("hub", 5.0, (0.4, 0.5, 0.6), position=(0.1, 0.2, -0.6), rotation=turn)
    m.joint(kr.Spherical("ground", hub, at=(0, 0, 0), name="pivot"))
    joints = {
        "revolute": lambda b, at: kr.Revolute(hub, b, at, (1, 0.3, 0), friction=0.02, name="revolute"),
        "prismatic": lambda b, at: kr.Prismatic(hub, b, at, (0.2, 1, 0.5), friction=0.5, name="prismatic"),
        "cylindrical": lambda b, at: kr.Cylindrical(hub, b, at, (0, 1, 0.2), friction=(0.01, 0.4), name="cylindrical"),
        "universal": lambda b, at: kr.Universal(hub, b, at, (1, 0, 0), (0, 1, 0), friction=0.02, name="universal"),
        "planar": lambda b, at: kr.Planar(hub, b, at, (0.3, 0.2, 1), friction=(1.0, 0.5, 0.01), name="planar"),
        "fixed": lambda b, at: kr.Fixed(hub, b, name="fixed"),
        "spherical": lambda b, at: kr.Spherical(hub, b, at, name="spherical"),
    }
    for k, (name, joint) in enumerate(joints.items()):
        phi = 2 * np.pi * k / len(joints)
        at = np.array([0.1 + 0.5 * np.cos(phi), 0.2 + 0.5 * np.sin(phi), -0.6])
        m.body(name + "_b", 0.5 + 0.1 * k, (0.02, 0.03, 0.025), position=at + np.array([0.1 * np.cos(phi), 0.1 * np.sin(phi), -0.2]))
        m.joint(joint(name + "_b", at))
    m.joint(kr.Distance("spherical_b", "revolute_b", at_a=(0, 0, -0.1), at_b=(0, 0.05, -0.1), name="rod"))
    m.force(kr.Torque("revolute", control="u"))
    m.force(kr.Thrust("cylindrical", history=lambda t: 3 * ca.cos(5 * t), coordinate="stroke"))
    m.joint(kr.Gear("revolute", "cylindrical", 0.7, ("", "angle"), name="gear"))
    m.joint(kr.PrescribedJoint("universal", lambda t: 0.5 * t**3, "second", name="drive"))
    return m


JOINTS = ["pivot", "revolute", "prismatic", "cylindrical", "universal", "planar", "fixed", "spherical", "rod", "drive"]


@cache
def zoo_run(coordinates, h, method=kr.RATTLie()):  # noqa: B008
    sol = kr.simulate(zoo().system(coordinates), until=0.25, step=h, method=method, controls={"u": 0.8})
    assert sol.success, sol.message
    return sol


def seen(sol, kind="interpolated"):
    """Poses at the end; joint coordinates and rates; reactions."""
    poses = [np.r_[sol.rotation(n.name)[-1].ravel(), sol.position(n.name)[-1]] for n in sol.system.bodies]
    motions = [sol.joint(j, kind) for j in JOINTS]
    coordinates = [x[-1] for j in motions for x in (*j.coordinates.values(), *j.rates.values())]
    # in the middle of the run: the last multipliers have no step after them in every method
    k = len(sol.t) // 2
    reactions = [np.r_[j.reaction_force[k], j.reaction_moment[k]] for j in motions]
    return np.concatenate(poses), np.array(coordinates), np.concatenate(reactions)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_every_joint_in_all_coordinates(coordinates):
    """Up to the order of the method: differences fall by four when the step is halved."""
    gaps = []
    for h in (1 / 256, 1 / 512):
        gaps.append([np.abs(a - b).max() for a, b in zip(seen(zoo_run(coordinates, h)), seen(zoo_run("SO3xR3", h)), strict=True)])
    if coordinates == "S3xR3":  # the same scheme in other numbers
        assert np.max(gaps) < 1e-9
        return
    for coarse, fine in zip(*gaps, strict=True):
        assert coarse < 5e-2
        assert coarse / fine == pytest.approx(4, rel=0.15)


@pytest.mark.slow  # minutes of compiling
def test_every_joint_in_minimal_and_shared_coordinates():
    """Against SE3, and directors as well: motion, joint coordinates, reactions, to second order (or to rounding)."""
    gaps = {}
    method = kr.GeneralizedAlpha()
    for h in (1 / 256, 1 / 512):
        reference = seen(zoo_run("SE3", h, method), "consistent")
        for coordinates in ("minimal", "natural", "directors", "S3R3"):
            found = seen(zoo_run(coordinates, h, method), "consistent")
            gaps.setdefault(coordinates, []).append([np.abs(a - b).max() for a, b in zip(found, reference, strict=True)])
    assert [zoo().system(c).dim for c in ("minimal", "natural", "directors", "SE3")] == [15, 54, 96, 48]
    for coordinates in ("minimal", "directors"):
        for coarse, fine in zip(*gaps[coordinates], strict=True):
            assert coarse < 5e-3
            assert coarse / fine == pytest.approx(4, rel=0.15)
    np.testing.assert_allclose(gaps["natural"], gaps["directors"], rtol=1e-4)
    assert np.max(gaps["S3R3"]) < 1e-8  # the same scheme in other numbers


@pytest.mark.slow  # half a minute of compiling
def test_bem_on_every_joint():
    """Against RATTLie in the same coordinates: differences of second order, in motion, joint coordinates and reactions."""
    gaps = []
    for h in (1 / 256, 1 / 512):
        runs = zoo_run("directors", h, kr.BEM()), zoo_run("SO3xR3", h)
        gaps.append([np.abs(a - b).max() for a, b in zip(*map(seen, runs), strict=True)])
    assert runs[0].constraint_violation.max() < 1e-13
    for coarse, fine in zip(*gaps, strict=True):
        assert coarse < 5e-2
        assert coarse / fine == pytest.approx(4, rel=0.15)


def test_joints_on_nodes_of_beams():
    """A stiff beam on a hinge, a body on a slider at its end: as with a rigid bar, up to its bending."""
    ends = []
    for flexible in (True, False):
        m = kr.Mechanism(gravity=GRAVITY)
        if flexible:
            section = kr.Section.circle(0.05, E=2e11, nu=0.3, rho=1000)
            beam = m.beam("bar", 1.0, 2, section, curve=kr.straight(direction=(1, 0, 0)), start="free")
            first, last = beam.start, beam.end
        else:
            section = kr.Section.circle(0.05, E=2e11, nu=0.3, rho=1000)
            # as the beam has it: halves and quarters of its mass in three points, each a disk
            M, disk = section.mass, section.mass_matrix
            J = np.diag([disk[2, 2], disk[0, 0] + M / 8 * 1.0, disk[0, 0] + M / 8 * 1.0])
            first = last = m.body("bar", M, J, position=(0.5, 0, 0))
        m.joint(kr.Revolute("ground", first, (0, 0, 0), (0, 1, 0), name="hinge"))
        m.body("block", 2.0, (0.1, 0.1, 0.1), position=(1.2, 0, 0))
        m.joint(kr.Prismatic(last, "block", (1, 0, 0), (1, 0, 0), friction=5.0, name="slider"))
        sol = kr.simulate(m.system("S3R3"), until=0.3, step=0.002, method=kr.GeneralizedAlpha(rho_inf=0.5))
        assert sol.success, sol.message
        ends.append([sol.joint("hinge").angle[-1], sol.joint("slider").stroke[-1], *sol.position("block")[-1]])
    assert abs(ends[0][0]) > 0.3
    np.testing.assert_allclose(*ends, atol=2e-3)


def test_coordinates_and_rates_belong_together():
    """The rate is the derivative of the coordinate, for every freedom; the gear and the drive do as told."""
    sol = zoo_run("S3R3", 1 / 512)
    h = sol.t[1]
    for name in JOINTS[:-1]:
        motion = sol.joint(name)
        for c, rate in zip(motion.coordinates.values(), motion.rates.values(), strict=True):
            assert np.abs(c).max() > 1e-3
            np.testing.assert_allclose((c[2:] - c[:-2]) / (2 * h), rate[1:-1], atol=2e-4 * max(1, np.abs(rate).max()))
    np.testing.assert_allclose(sol.joint("cylindrical").angle, 0.7 * sol.joint("revolute").angle, atol=1e-12)
    np.testing.assert_allclose(sol.joint("universal").coordinates["second"], 0.5 * sol.t**3, atol=1e-12)


def test_newton_and_euler_agree_with_the_reactions():
    """For each body on the hub: m a = weight + forces at its joints, from positions alone."""
    sol = zoo_run("SE3", 1 / 512)
    h, k = sol.t[1], len(sol.t) // 2
    for name, mass in (("prismatic", 0.6), ("fixed", 1.0), ("universal", 0.8)):
        x = sol.position(name + "_b")
        a = (x[k + 1] - 2 * x[k] + x[k - 1]) / h**2
        force = sol.joint(name, "interpolated").reaction_force[k] + mass * np.array(GRAVITY)
        if name == "prismatic":  # friction acts along the axis
            axis = sol.rotation("hub")[k] @ sol.rotation("hub")[0].T @ np.array([0.2, 1, 0.5]) / np.linalg.norm([0.2, 1, 0.5])
            force = force - 0.5 * sol.joint(name).rate[k] * axis
        np.testing.assert_allclose(mass * a, force, atol=2e-3)


def test_static_reactions():
    """A cantilever: the wall bears weight and moment."""
    m = kr.Mechanism(gravity=GRAVITY)
    m.body("arm", 2.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    m.joint(kr.Fixed("ground", "arm", at=(0, 0, 0), name="wall"))
    for method in (kr.RATTLie(), kr.GeneralizedAlpha()):
        wall = kr.simulate(m.system(), until=0.1, step=0.01, method=method).joint("wall")
        np.testing.assert_allclose(wall.reaction_force[1:], np.tile([0, 0, 2 * 9.81], (10, 1)), atol=1e-10)
        np.testing.assert_allclose(wall.reaction_moment[1:], np.tile([0, -0.5 * 2 * 9.81, 0], (10, 1)), atol=1e-10)


def test_hinge_and_slider_against_their_equations():
    """A pendulum about a hinge with friction; a block on a slope with a thrust."""
    m = kr.Mechanism(gravity=GRAVITY)
    m.body("bar", 1.5, (0.2, 0.3, 0.25), position=(0, 0.4, 0))
    m.joint(kr.Revolute("ground", "bar", at=(0, 0, 0), axis=(1, 0, 0), friction=0.3, name="hinge"))
    slope = np.array([np.cos(0.4), 0, np.sin(0.4)])
    m.body("block", 2.0, (0.1, 0.1, 0.1), position=(1, 1, 1))
    m.joint(kr.Prismatic("ground", "block", at=(1, 1, 1), axis=slope, name="slope"))
    m.force(kr.Thrust("slope", control="push"))
    sol = kr.simulate(m.system(), until=1, step=2**-6, method=kr.Composition(order=6), controls={"push": 5.0})

    def rate(t, y):
        return [y[1], (-1.5 * 9.81 * 0.4 * np.cos(y[0]) - 0.3 * y[1]) / (0.2 + 1.5 * 0.16)]

    exact = solve_ivp(rate, (0, 1), [0, 0], rtol=1e-12, atol=1e-13).y[:, -1]
    assert sol.joint("hinge").angle[-1] == pytest.approx(exact[0], abs=1e-7)
    assert sol.joint("hinge").rate[-1] == pytest.approx(exact[1], abs=1e-6)
    assert sol.joint("slope").stroke[-1] == pytest.approx((5 / 2 - 9.81 * np.sin(0.4)) / 2, abs=1e-10)
    assert sol.joint("slope").rate[-1] == pytest.approx(5 / 2 - 9.81 * np.sin(0.4), abs=1e-10)


@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha()], ids=str)
def test_angles_are_followed_over_many_turns(method):
    """A flywheel under constant torque: 40 turns, up to a third of a turn per step; recorded every fifth step."""
    m = kr.Mechanism()
    m.body("wheel", 1.0, (0.2, 0.2, 0.3))
    m.joint(kr.Revolute("ground", "wheel", at=(0, 0, 0), axis=(0, 0, 2), name="axle"))
    m.force(kr.Torque("axle", control="u"))
    sol = kr.simulate(m.system(), until=10, step=0.04, method=method, controls={"u": 1.5}, every=5)
    np.testing.assert_allclose(sol.joint("axle").angle, 2.5 * sol.t**2, atol=1e-9)
    assert sol.work[-1] == pytest.approx(1.5 * 250, rel=1e-9)
    np.testing.assert_array_equal(sol.controls["u"], 1.5)


def test_gear_turns_both_wheels():
    """Torque on the first wheel, the second four times as slow and backwards: (J1 + J2/16) a = u."""
    m = kr.Mechanism()
    for k, J in enumerate((0.1, 2.0)):
        m.body(f"wheel{k}", 1.0, (2.0, 2.0, J), position=(k, 0, 0))
        m.joint(kr.Revolute("ground", f"wheel{k}", at=(k, 0, 0), axis=(0, 0, 1), name=f"axle{k}"))
    m.joint(kr.Gear("axle0", "axle1", ratio=-0.25))
    m.force(kr.Torque("axle0", control="u"))
    sol = kr.simulate(m.system("SO3xR3"), until=5, step=0.01, controls={"u": 0.6})
    a = 0.6 / (0.1 + 2 / 16)
    np.testing.assert_allclose(sol.joint("axle0").angle, a / 2 * sol.t**2, atol=1e-9)
    np.testing.assert_allclose(sol.joint("axle1").angle, -a / 8 * sol.t**2, atol=1e-9)


def test_prescribed_motions():
    """A body led along a curve, turning; the force on it is that of Newton. A crank driven at constant rate needs the torque of gravity."""
    m = kr.Mechanism(gravity=GRAVITY)
    m.body("table", 2.0, (0.1, 0.2, 0.3), velocity=(1, 0, 0), omega=(0, 0, 2))
    turn = lambda t: ca.vertcat(
        ca.horzcat(ca.cos(2 * t), -ca.sin(2 * t), 0), ca.horzcat(ca.sin(2 * t), ca.cos(2 * t), 0), ca.DM([[0, 0, 1]])
    )
    m.joint(kr.Prescribed("table", position=lambda t: ca.vertcat(ca.sin(t), 0, 0), rotation=turn, name="guide"))
    m.body("crank", 1.0, (0.1, 0.1, 0.2), position=(0.5, 3, 0), omega=(0, 4, 0), velocity=(0, 0, -2))
    m.joint(kr.Revolute("ground", "crank", at=(0, 3, 0), axis=(0, 1, 0), name="hinge"))
    m.joint(kr.PrescribedJoint("hinge", lambda t: 4 * t, name="motor"))
    sol = kr.simulate(m.system(), until=2, step=2**-8)
    np.testing.assert_allclose(sol.position("table")[:, 0], np.sin(sol.t), atol=1e-12)
    np.testing.assert_allclose(sol.rotation("table")[:, 0, 0], np.cos(2 * sol.t), atol=1e-12)
    np.testing.assert_allclose(sol.joint("hinge").angle, 4 * sol.t, atol=1e-12)
    torque = sol.joint("motor", "interpolated").reaction_moment[:, 1]
    np.testing.assert_allclose(torque[1:-1], -9.81 * 0.5 * np.cos(4 * sol.t[1:-1]), atol=1e-3)


def driven():
    """A crank with a prescribed angle, a body on it, and a table on a prescribed way to which that body is tied by a spring."""
    m = kr.Mechanism(gravity=GRAVITY)
    m.body("crank", 1.0, (0.1, 0.1, 0.2), position=(0.5, 0, 0))
    m.joint(kr.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), name="hinge"))
    m.joint(kr.PrescribedJoint("hinge", lambda t: 1.5 * t**2 + ca.sin(3 * t) - 3 * t, name="motor"))
    m.body("bob", 0.5, (0.02, 0.03, 0.04), position=(1.2, 0, 0))
    m.joint(kr.Spherical("crank", "bob", at=(1, 0, 0), name="ball"))
    m.body("table", 2.0, (0.1, 0.2, 0.3), position=(3, 0, 0), velocity=(1, 0, 0))
    m.joint(kr.Prescribed("table", position=lambda t: ca.vertcat(3 + ca.sin(t), 0, 0.3 * t**2), name="guide"))
    m.force(kr.Spring("bob", "table", 30.0, name="spring"))
    return m


def belt():
    """A sled on a blade that is carried along across, by a given velocity."""
    m = kr.Mechanism()
    m.body("sled", 1.0, (0.1, 0.1, 0.2), velocity=(1, 0.5, 0), omega=(0, 0, 2))
    m.joint(kr.Pfaffian("belt", "sled", lambda t, sled: ca.dot(sled.R[:, 1], sled.velocity) - 0.5 * ca.cos(t)))
    return m


@pytest.mark.parametrize("make", [driven, belt])
def test_prescribed_motions_do_work(make):
    """It is in the balance of energy: by BEM exactly, by others to their order."""
    sol = kr.simulate(make().system("directors"), 1, 0.02, kr.BEM())
    assert np.ptp(sol.energy) > 1
    assert np.ptp(sol.balance) < 1e-14 * max(np.ptp(sol.energy), 20)
    for coordinates, method in (("S3R3", kr.RATTLie()), ("SE3", kr.GeneralizedAlpha())):
        drift = [np.ptp(kr.simulate(make().system(coordinates), 1, h, method).balance) for h in (0.02, 0.01)]
        assert drift[0] < 1e-3 * np.ptp(sol.energy)
        assert drift[0] / drift[1] == pytest.approx(4, rel=0.1)
    assert make().system().rheonomic
    assert not kr.models.four_bar().rheonomic


def test_knife_edge_runs_in_circles():
    """A sled that spins and moves along its blade goes round at constant speed."""
    m = kr.Mechanism()
    m.body("sled", 1.0, (0.1, 0.1, 0.2), velocity=(1, 0, 0), omega=(0, 0, 2))
    m.joint(kr.KnifeEdge("sled", at=(0, 0, 0), across=(0, 3, 0)))
    sol = kr.simulate(m.system(), until=3, step=2**-8)
    t = sol.t
    np.testing.assert_allclose(sol.position("sled"), np.stack([np.sin(2 * t) / 2, (1 - np.cos(2 * t)) / 2, 0 * t], 1), atol=1e-4)
    assert sol.velocity_violation.max() < 1e-13


def test_rolling_is_that_of_the_disk_model():
    """The joint against the model of the thesis, whose constraints are written differently."""
    disk = kr.models.rolling_disk("S3R3")
    node = disk.nodes[0]
    R, x, W = kr.convert(node.q, kr.S3R3, kr.SE3)[:9].reshape(3, 3), node.q[4:], node.v[:3]
    m = kr.Mechanism(gravity=GRAVITY)
    m.body("disk", 15.0, (3.75, 3.75, 7.5), position=x, rotation=R, omega=W, velocity=R @ node.v[3:])
    m.joint(kr.Rolling("disk", radius=1.0, axis=R[:, 2]))
    ours, theirs = (kr.simulate(s, until=0.5, step=2**-10) for s in (m.system("S3R3"), disk))
    np.testing.assert_allclose(ours.position("disk"), theirs.position("disk"), atol=1e-9)
    assert ours.constraint_violation.max() < 1e-13
    assert ours.velocity_violation.max() < 1e-11


def test_a_torus_rolls_with_its_effective_radius():
    """Upright, the outer radius counts; leaning by phi, the centre is at the height (R - rho) cos(phi) + rho."""
    m = kr.Mechanism(gravity=GRAVITY)
    m.body("wheel", 1.0, (0.01, 0.02, 0.01), position=(0, 0, 0.3), omega=(0, 10, 0), velocity=(3, 0, 0))
    m.joint(kr.Rolling("wheel", radius=0.3, tube=0.05, axis=(0, 1, 0)))
    sol = kr.simulate(m.system("SO3xR3"), until=0.5, step=0.01)
    np.testing.assert_allclose(sol.position("wheel")[:, 0], 3 * sol.t, atol=1e-12)
    phi = 0.3
    lean = kr.SO3.exp([phi, 0, 0]).reshape(3, 3)
    m = kr.Mechanism(gravity=GRAVITY)
    m.body("wheel", 1.0, (0.01, 0.02, 0.01), position=(0, 0, 0.25 * np.cos(phi) + 0.05), rotation=lean)
    m.joint(kr.Rolling("wheel", radius=0.3, tube=0.05, axis=lean[:, 1]))
    sol = kr.simulate(m.system(), until=0.05, step=0.01)
    assert sol.success
    assert sol.constraint_violation[0] < 1e-15


def test_piecewise_constant_controls():
    """An array has one value per step: against the sum of the pulses; each substep of a composition gets that of its step."""
    m = kr.Mechanism()
    m.body("wheel", 1.0, (0.3, 0.3, 0.5))
    m.joint(kr.Revolute("ground", "wheel", at=(0, 0, 0), axis=(0, 0, 1), name="axle"))
    m.force(kr.Torque("axle", control="u"))
    u = np.sin(np.arange(20.0))
    for method in (kr.RATTLie(), kr.Composition(order=4)):
        sol = kr.simulate(m.system(), until=2, step=0.1, method=method, controls={"u": u})
        np.testing.assert_allclose(sol.joint("axle").rate, np.r_[0, np.cumsum(u)] * 0.1 / 0.5, atol=1e-12)
        np.testing.assert_allclose(sol.controls["u"], np.r_[u[0], u])
        assert abs(sol.balance - sol.balance[0]).max() < 1e-12


def with_bodies():
    m = kr.Mechanism()
    m.body("a", 1.0, (1, 1, 1))
    m.body("b", 1.0, (1, 1, 1), position=(1, 0, 0))
    m.point("p", 1.0)
    return m


def system_with(*things):
    m = with_bodies()
    for thing in things:
        (m.joint if thing.constraint is not None or thing.pfaffian is not None else m.force)(thing)
    return m.system()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: kr.Revolute("a", "a", (0, 0, 0), (0, 0, 1), name="h"), "'h' connects 'a' with itself"),
        (lambda: kr.Revolute("a", "b", (0, 0, 0), (0, 0, 0), name="h"), "hinge 'h': the axis has length zero"),
        (lambda: kr.Revolute("a", "b", (0, 0, 0)), "hinge 'hinge between a and b' needs either axis, or axis_a and axis_b"),
        (lambda: kr.Revolute("a", "b", axis=(0, 0, 1)), "needs either at, or at_a and at_b"),
        (lambda: kr.Revolute("a", "b", (0, 0), (0, 0, 1)), "at must be three finite numbers"),
        (lambda: kr.Revolute("a", "b", (0, 0, 0), axis_a=(0, 0, 1)), "needs axis_a and axis_b, both"),
        (lambda: kr.Revolute("a", "b", (0, 0, 0), (0, 0, 1), friction=-1.0), "friction must be one number or 1, for angle; none"),
        (lambda: kr.Planar("a", "b", (0, 0, 0), (0, 0, 1), friction=(1, 2)), "friction must be one number or 3, for first, second, angle"),
        (lambda: kr.Universal("a", "b", (0, 0, 0), (0, 0, 1), (0, 1, 1), name="u"), "'u': the axes must be at right angles"),
        (lambda: kr.Distance("a", "b", length=0.0), "the length must be positive"),
        (lambda: system_with(kr.Distance("a", "b", at_a=(1, 0, 0), name="rod")), "rod 'rod': its ends are at one place"),
        (lambda: system_with(kr.Revolute("a", "p", (0, 0, 0), (0, 0, 1), name="h")), "hinge 'h': 'p' is a point, it has no axes"),
        (lambda: system_with(kr.Revolute("a", "c", (0, 0, 0), (0, 0, 1), name="h")), "'h' refers to 'c', which does not exist"),
        (lambda: kr.Torque("h"), "'torque on h' needs either a control or a history"),
        (lambda: system_with(kr.Torque("h", control="u")), r"'torque on h' refers to the joint 'h', which does not exist; there are \[\]"),
        (lambda: system_with(kr.Spherical("a", "b", name="h"), kr.Torque("h", "u")), "ball joint 'h' has no joint coordinate"),
        (lambda: system_with(kr.Cylindrical("a", "b", (0, 0, 0), (0, 0, 1), name="c"), kr.Torque("c", "u")), "angle, stroke; say which"),
        (lambda: system_with(kr.Prismatic("a", "b", (0, 0, 0), (0, 0, 1), name="c"), kr.Torque("c", "u")), "is a stroke; use kr.Thrust"),
        (lambda: system_with(kr.Revolute("a", "b", (0, 0, 0), (0, 0, 1), name="c"), kr.Thrust("c", "u")), "is an angle; use kr.Torque"),
        (lambda: kr.Gear("x", "y", 0.0), "the ratio must be finite and not zero"),
        (lambda: kr.Gear("x", "x", 1.0), "connects 'x' with itself"),
        (lambda: kr.Prescribed("a"), "prescribes neither a position nor a rotation"),
        (lambda: kr.KnifeEdge("a", (0, 0, 0), (0, 0, 0)), "has length zero"),
        (lambda: kr.Rolling("a", 0.1, (0, 0, 1), tube=0.2), "the tube in"),
    ],
)  # fmt: skip
def test_messages(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_messages_of_controls_and_motions():
    m = with_bodies()
    m.joint(kr.Revolute("a", "b", (0, 0, 0), (0, 0, 1), name="h"))
    m.force(kr.Torque("h", control="u"))
    system = m.system()
    with pytest.raises(ValueError, match=r"there is no control 'w'; there are \['u'\]"):
        kr.simulate(system, until=1, step=0.1, controls={"w": 1.0})
    with pytest.raises(ValueError, match="control 'u' must be a number, a function of time, or 10 finite numbers"):
        kr.simulate(system, until=1, step=0.1, controls={"u": np.ones(9)})
    sol = kr.simulate(system, until=1, step=0.1)
    with pytest.raises(KeyError, match=r"there is no joint 'g'; there are \['h'\]"):
        sol.joint("g")
    with pytest.raises(AttributeError, match="hinge 'h' has no stroke; its coordinates are: angle"):
        _ = sol.joint("h").stroke
