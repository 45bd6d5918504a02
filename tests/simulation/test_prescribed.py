"""Assembly, prescribed motions and inverse dynamics."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr

Z = {"axis_a": (0, 0, 1), "axis_b": (0, 0, 1)}


def four_bar(coupler=2.0, spread=0.0, prescribed=None, coordinates="directors", plane=True):
    """Ground, crank 1, coupler, rocker 2, with A = (0, 0) and D = (2.5, 0); bodies where they roughly belong, off by ``spread``."""
    rng = np.random.default_rng(4)
    m = kr.Mechanism(gravity=(0, -9.81, 0)[: 2 if plane else 3], plane=plane)

    def body(name, length, centre, angle):
        off = spread * rng.uniform(-1, 1, 3)
        x, phi = np.add(centre, off[:2]), angle + off[2]
        if plane:
            m.body(name, length, length**3 / 12, x, phi)
        else:
            R = np.array([[np.cos(phi), -np.sin(phi), 0], [np.sin(phi), np.cos(phi), 0], [0, 0, 1]])
            m.body(name, length, (0.01, length**3 / 12, length**3 / 12), (*x, 0), R)

    body("crank", 1.0, (0.25, 0.43), np.pi / 3)
    body("coupler", coupler, (1.45, 1.2), 0.35)
    body("rocker", 2.0, (2.45, 1.0), 1.6)
    m.joint(kr.Revolute("ground", "crank", at_a=(0, 0, 0), at_b=(-0.5, 0, 0), **Z, name="A"))
    m.joint(kr.Revolute("crank", "coupler", at_a=(0.5, 0, 0), at_b=(-coupler / 2, 0, 0), **Z, name="B"))
    m.joint(kr.Revolute("coupler", "rocker", at_a=(coupler / 2, 0, 0), at_b=(1.0, 0, 0), **Z, name="C"))
    m.joint(kr.Revolute("ground", "rocker", at_a=(2.5, 0, 0), at_b=(-1.0, 0, 0), **Z, name="D"))
    if prescribed:
        m.joint(kr.PrescribedJoint("A", prescribed, name="motor"))
    return m.system(coordinates)


def violation(system):
    sol = kr.simulate(system, 1e-6, 1e-6, kr.Projection())
    return sol.constraint_violation[0], sol.velocity_violation[0]


@pytest.mark.parametrize("coordinates", ["directors", "S3R3", "SE3"])
@pytest.mark.parametrize("spread", [0.1, 0.6])
def test_assembly_from_a_rough_guess(coordinates, spread):
    plane = coordinates == "directors"
    rough = four_bar(spread=spread, coordinates=coordinates, plane=plane)
    with pytest.raises(kr.InconsistentStart):
        kr.simulate(rough, 0.1, 0.01)
    assert max(violation(kr.assemble(rough))) < 1e-14


def test_assembly_holds_bodies():
    """The crank stays; the rest comes to it."""
    rough = kr.assemble(four_bar(spread=0.2))
    crank, coupler, _ = rough.nodes
    coupler.q[:2] += 0.1
    held, free = kr.assemble(rough, hold="crank"), kr.assemble(rough)
    np.testing.assert_array_equal(held.nodes[0].q, crank.q)
    assert np.abs(free.nodes[0].q - crank.q).max() > 1e-3
    assert max(violation(held)) < 1e-14
    with pytest.raises(ValueError, match="hold: there is no body 'lever'"):
        kr.assemble(rough, hold="lever")


def test_what_cannot_be_assembled():
    """A coupler that is too long: what stays open is named."""
    with pytest.raises(kr.UnassembledError, match=r"cannot be assembled.*'[ABCD]' stays open by 0\.\d+"):
        kr.assemble(four_bar(coupler=6.0, spread=0.1))
    # A rod alone is to blame, and named first.
    m = kr.Mechanism()
    m.body("bar", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    m.joint(kr.Spherical("ground", "bar", at_b=(-0.5, 0, 0), name="pivot"))
    m.joint(kr.Fixed("ground", "bar", name="weld"))
    m.joint(kr.Distance("ground", "bar", at_a=(5, 0, 0), length=1.0, name="rope"))
    with pytest.raises(kr.UnassembledError, match="'rope' stays open"):
        kr.assemble(m.system())


def test_the_wrong_way_round():
    """Axes that would be opposite, an angle off by half a turn, directors inside out: products that vanish all the same."""
    m = kr.Mechanism()
    turned = np.diag([1.0, -1.0, -1.0])
    m.body("bar", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0.01, 0), rotation=turned)
    m.joint(kr.Revolute("ground", "bar", at_a=(0, 0, 0), at_b=(-0.5, 0, 0), **Z, name="hinge"))
    with pytest.raises(kr.UnassembledError, match="'hinge' the wrong way round"):
        kr.assemble(m.system())
    m = kr.Mechanism()
    m.body("bar", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    m.joint(kr.Revolute("ground", "bar", at=(0, 0, 0), axis=(0, 0, 1), name="hinge"))
    m.joint(kr.PrescribedJoint("hinge", lambda t: 3.1 + t, name="motor"))
    with pytest.raises(kr.UnassembledError, match="'motor' the wrong way round"):
        kr.assemble(m.system())
    free = kr.Mechanism()
    free.body("bar", 1.0, (0.1, 0.1, 0.1))
    system = free.system("directors")
    system.nodes[0].q[9:] *= -1  # d3
    with pytest.raises(kr.UnassembledError, match="'bar' inside out"):
        kr.assemble(system)


def test_velocities_of_a_moving_start():
    """The drive turns at 2 rad/s: so does the crank."""
    placed = kr.assemble(four_bar(prescribed=lambda t: 2 * t))
    sol = kr.simulate(placed, 0.1, 0.01, kr.Projection())
    assert sol.joint("A").rate[0] == pytest.approx(2, abs=1e-12)


@pytest.mark.parametrize(("coordinates", "plane"), [("directors", True), ("directors", False), ("S3R3", False)])
def test_a_prescribed_four_bar(coordinates, plane):
    """Positions against the law of cosines, velocities and accelerations against differences, the torque against the power of everything;
    in space nine rows are redundant."""

    def angle(t):
        return 3 * t + ca.sin(2 * t) / 4

    n = 300
    sol = kr.kinematics(four_bar(prescribed=angle, coordinates=coordinates, plane=plane), until=2.5, step=2.5 / n)
    assert sol.success
    h, t = 2.5 / n, sol.t
    assert sol.constraint_violation.max() < 1e-13
    assert sol.velocity_violation.max() < 1e-12
    theta = sol.joint("A").angle + np.arctan2(*sol.position("crank")[0, [1, 0]])
    assert theta[-1] - theta[0] == pytest.approx(float(angle(2.5)), abs=1e-12)
    B = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    d = np.array([2.5, 0]) - B
    r = np.linalg.norm(d, axis=1)
    turn = np.arctan2(d[:, 1], d[:, 0]) + np.arccos((2.0**2 + r**2 - 2.0**2) / (2 * 2.0 * r))
    C = B + 2 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    np.testing.assert_allclose(sol.position("coupler")[:, :2], (B + C) / 2, atol=1e-12)
    for velocities, positions in ((sol.velocity("rocker", "space")[:, 3:], sol.position("rocker")),):
        middle = (positions[2:] - positions[:-2]) / (2 * h)
        np.testing.assert_allclose(velocities[1:-1], middle, atol=20 * h**2)
    # Power of the drive: the rate of the energy of everything.
    power = sol.joint("motor").drive * sol.joint("A").rate
    rate = (sol.energy[2:] - sol.energy[:-2]) / (2 * h)
    np.testing.assert_allclose(power[1:-1], rate, atol=2e-3 * np.abs(rate).max())
    if not plane:
        free = kr.kinematics(four_bar(prescribed=angle), until=2.5, step=2.5 / n)
        np.testing.assert_allclose(sol.joint("motor").drive, free.joint("motor").drive, atol=1e-9)
    assert t[-1] == 2.5


def arm(coordinates="S3R3"):
    """Two links in space, the hinges at right angles, with friction."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("upper", 2.0, (0.02, 0.2, 0.2), position=(0.5, 0, 0))
    m.body("lower", 1.0, (0.01, 0.1, 0.1), position=(1.4, 0, 0))
    m.joint(kr.Revolute("ground", "upper", at=(0, 0, 0), axis=(0, 1, 0), friction=0.3, name="shoulder"))
    m.joint(kr.Revolute("upper", "lower", at=(1, 0, 0), axis=(0, 0, 1), friction=0.1, name="elbow"))
    m.force(kr.Torque("shoulder", control="u1"))
    m.force(kr.Torque("elbow", control="u2"))
    return m.system(coordinates)


@pytest.mark.parametrize("coordinates", ["S3R3", "directors"])
def test_inverse_dynamics_gives_back_the_torques(coordinates):
    """Of a motion that is given by functions; the torques, fed to the arm as inputs, lead to that motion."""
    motion = {"shoulder": lambda t: ca.sin(2 * t) - 2 * t, "elbow": lambda t: 1.5 * (1 - ca.cos(3 * t))}
    n = 400
    sol = kr.inverse_dynamics(arm(coordinates), motion, until=2, step=2 / n)
    assert sol.success
    middles = kr.inverse_dynamics(arm(coordinates), motion, until=2, step=1 / n)
    u = {f"u{k}": middles.joint(f"motion of {name}").drive[1::2] for k, name in ((1, "shoulder"), (2, "elbow"))}
    forward = kr.simulate(arm("S3R3"), 2, 2 / n, kr.Projection(), controls=u, initial={
        "upper": ([1, 0, 0, 0, 0.5, 0, 0], np.zeros(6)), "lower": ([1, 0, 0, 0, 1.4, 0, 0], np.zeros(6))})  # fmt: skip
    for name in motion:
        np.testing.assert_allclose(forward.joint(name).angle, sol.joint(name).angle, atol=2e-4)  # inputs constant in each step
    with pytest.raises(AttributeError, match="'elbow' is no prescribed motion"):
        _ = sol.joint("elbow").drive


def test_reactions_of_a_given_motion():
    """A bar that turns steadily about a vertical axis: the hinge bears its weight and pulls it inwards with m omega^2 r."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bar", 3.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    m.joint(kr.Cylindrical("ground", "bar", at=(0, 0, 0), axis=(0, 0, 1), name="pole"))
    sol = kr.inverse_dynamics(m.system(), {"pole": {"angle": lambda t: 4 * t, "stroke": lambda t: t**2}}, until=1, step=0.1)
    np.testing.assert_allclose(sol.joint("motion of pole, stroke").drive, 3 * (9.81 + 2), atol=1e-10)
    np.testing.assert_allclose(sol.joint("motion of pole, angle").drive, 0, atol=1e-10)
    inwards = np.einsum("ni,ni->n", sol.joint("pole").reaction_force, sol.position("bar") * [1, 1, 0]) / 0.5
    np.testing.assert_allclose(inwards, -3 * 16 * 0.5, rtol=1e-10)


def test_full_turns_and_gears():
    """Angles over several turns, and a gear, which remembers them."""
    m = kr.Mechanism()
    for k, name in enumerate(("pinion", "wheel")):
        m.body(name, 1.0, (0.1, 0.1, 0.1), position=(k, 0, 0))
        m.joint(kr.Revolute("ground", name, at=(k, 0, 0), axis=(0, 0, 1), name=f"axle of {name}"))
    m.joint(kr.Gear("axle of pinion", "axle of wheel", ratio=-0.3))
    m.joint(kr.PrescribedJoint("axle of pinion", lambda t: 20 * t, name="motor"))
    sol = kr.kinematics(m.system(), until=1, step=0.02)
    np.testing.assert_allclose(sol.joint("axle of pinion").angle, 20 * sol.t, atol=1e-12)
    np.testing.assert_allclose(sol.joint("axle of wheel").angle, -6 * sol.t, atol=1e-12)


def test_what_is_not_prescribed_or_twice():
    with pytest.raises(ValueError, match=r"not all freedoms are prescribed: 1 left, '(crank|coupler|rocker)' can still move"):
        kr.kinematics(four_bar(), 1, 0.1)
    with pytest.raises(ValueError, match="does not know nonholonomic constraints"):
        kr.kinematics(kr.models.rolling_disk(), 1, 0.1)
    # Two drives that agree at the start only
    m = kr.Mechanism()
    m.body("bar", 1.0, (0.1, 0.1, 0.1))
    m.joint(kr.Prismatic("ground", "bar", at=(0, 0, 0), axis=(1, 0, 0), name="rail"))
    m.joint(kr.PrescribedJoint("rail", lambda t: t**2, name="first"))
    m.joint(kr.PrescribedJoint("rail", lambda t: 2 * t**2, name="second"))
    sol = kr.kinematics(m.system(), 1, 0.1)
    assert not sol.success
    assert sol.status is kr.Status.NOT_CONVERGED
    assert "'first' stays open" in sol.message
    assert "'second' stays open" in sol.message
    assert "at t = 0.1" in sol.message
    with pytest.raises(TypeError, match="kinematics takes a system; a mechanism gives one with"):
        kr.kinematics(m, 1, 0.1)
    with pytest.raises(TypeError, match=r"assemble takes a system; .* got Hamiltonian"):
        kr.assemble(kr.Hamiltonian(lambda q, p: p[0] ** 2, 1))
    m.force(kr.BlackBox("wind", "bar", lambda t, q, v: np.zeros(6)))
    with pytest.raises(ValueError, match="'wind' is a plain function"):
        kr.kinematics(m.system(), 1, 0.1)
    with pytest.raises(ValueError, match="refers to the joint 'knee', which does not exist"):
        kr.inverse_dynamics(arm(), {"knee": lambda t: t}, 1, 0.1)


def test_a_motion_that_cannot_go_on():
    """A crank longer than the loop allows comes to a dead centre and stops there, with what was found before."""
    system = four_bar(coupler=1.2, prescribed=lambda t: -2 * t)
    sol = kr.kinematics(system, 3, 0.01)
    assert sol.status in (kr.Status.NOT_CONVERGED, kr.Status.SINGULAR)
    assert 0 < sol.t[-1] < 3
    assert sol.constraint_violation.max() < 1e-10
