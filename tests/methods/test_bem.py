"""The energy-momentum scheme: balances to round-off at any step size, order, and its rules for inputs."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kreisel as kr
from kreisel.mechanics.natural import NaturalNode, Orthonormal
from kreisel.simulation.linearise import StepDerivative

rng = np.random.default_rng(11)


def relative(x):
    return np.abs(x - x[0]).max() / np.abs(x).max()


def cluster(force=None):
    """Three bodies in free space: hinge and slider with friction and actuators, springs of length zero and not, a torsion spring."""
    m = kr.Mechanism()
    m.body("a", 2.0, (0.3, 0.4, 0.5), omega=(0.5, -1.0, 2.0))
    W = np.array([0.5, -1.0, 2.0])
    axis, at = np.array([1.0, 0.3, 0]), np.array([0.3, 0.1, -0.2])
    m.body("b", 1.0, (0.2, 0.25, 0.3), position=(0.6, 0, 0), omega=W, velocity=np.cross(W, [0.6, 0, 0]))
    m.joint(kr.Revolute("a", "b", at, axis, friction=0.3, name="hinge"))
    m.body("c", 0.5, (0.1, 0.1, 0.15), position=(-0.5, 0.4, 0), omega=W, velocity=np.cross(W, [-0.5, 0.4, 0]))
    m.joint(kr.Prismatic("a", "c", (-0.5, 0.4, 0), (0, 1, 0.5), friction=0.1, name="slider"))
    m.force(kr.Torque("hinge", control="u"))
    m.force(kr.Thrust("slider", control="w"))
    m.force(kr.Spring("b", "c", 40.0, length=0.8, at_a=(0.1, 0.2, 0.3), name="spring"))
    m.force(kr.Spring("a", "c", 30.0, at_b=(0, 0.2, 0), name="rubber"))
    m.force(kr.TorsionSpring("a", "b", axis, 5.0))
    if force is not None:
        m.force(force)
    return m.system("directors")


@pytest.mark.parametrize("steps", [20, 40, 400])
def test_balances_at_any_step_size(steps):
    """Energy with dissipation and work, linear and angular momentum, constraints."""
    u, w = rng.uniform(-3, 3, (2, steps))
    sol = kr.simulate(cluster(), until=4, step=4 / steps, method=kr.BEM(), controls={"u": u, "w": w})
    assert sol.success, sol.message
    assert min(sol.dissipated[-1], np.abs(sol.work).max()) > 0.1
    assert relative(sol.balance) < 1e-12
    size = 2.0  # the largest momenta of the bodies
    assert np.abs(sol.momentum - sol.momentum[0]).max() < 1e-12 * size
    assert np.abs(sol.angular_momentum - sol.angular_momentum[0]).max() < 1e-12 * size
    assert sol.constraint_violation.max() < 1e-13
    assert np.ptp(sol.velocity("a", "space"), axis=0).max() > 1


def test_covariant_inputs_lose_angular_momentum():
    controls = {"u": 2.0, "w": 1.0}
    drift = []
    for h in (0.1, 0.05):
        sol = kr.simulate(cluster(), until=2, step=h, method=kr.BEM(covariant=True), controls=controls)
        drift.append(np.abs(sol.angular_momentum - sol.angular_momentum[0]).max())
        assert relative(sol.balance) < 1e-12  # the work is counted with the same rule
        assert np.abs(sol.momentum - sol.momentum[0]).max() < 1e-12
    assert drift[0] > 1e-3
    assert 2.5 < drift[0] / drift[1] < 6  # of second order


def test_potentials_of_ones_own_keep_the_energy():
    """Discrete gradient in the coordinates themselves: energy yes, angular momentum only to the order of the method."""
    quartic = kr.Potential("well", "a", "b", lambda a, b: 3 * ca.sumsqr(a.x - b.x) ** 2 + ca.sin(b.x[0]))
    sol = kr.simulate(cluster(quartic), until=2, step=0.05, method=kr.BEM())
    assert relative(sol.balance) < 1e-12


def test_gears_keep_the_momenta():
    """Two rotors on a free body, one geared to the other by a ratio that is no whole number."""
    m = kr.Mechanism()
    m.body("frame", 2.0, (0.3, 0.4, 0.5), omega=(0.2, 0.1, -0.3))
    W = np.array([0.2, 0.1, -0.3])
    for k, axis in enumerate(np.array([[1.0, 0, 0], [0, 1.0, 0]])):
        spin = (3.0, -2.1)[k] * axis
        m.body(f"rotor {k}", 0.5, (0.05, 0.06, 0.07), position=axis, omega=W + spin, velocity=np.cross(W, axis))
        m.joint(kr.Revolute("frame", f"rotor {k}", axis, axis, name=f"axle {k}"))
    m.joint(kr.Gear("axle 0", "axle 1", ratio=-0.7))
    sol = kr.simulate(m.system("directors"), until=5, step=0.1, method=kr.BEM())
    assert sol.success
    assert abs(sol.joint("axle 0").angle[-1]) > 10
    np.testing.assert_allclose(sol.joint("axle 1").angle, -0.7 * sol.joint("axle 0").angle, atol=1e-12)
    assert relative(sol.energy) < 1e-13
    assert np.abs(sol.angular_momentum - sol.angular_momentum[0]).max() < 1e-13


def test_energy_at_rest_and_in_slow_motion():
    """Where nothing changes, the discrete gradient is the gradient: no division by zero."""
    m = kr.Mechanism()
    m.point("p", 1.0, position=(1.0, 0, 0))
    m.force(kr.Spring("ground", "p", 10.0, length=1.0))
    for velocity in ((0, 0, 0), (1e-9, 0, 0), (1e-5, 1e-6, 0)):
        m.nodes[0].v = np.array(velocity, dtype=float)
        sol = kr.simulate(m.system(), until=1, step=0.1, method=kr.BEM())
        assert sol.success
        assert np.abs(sol.energy - sol.energy[0]).max() < 1e-16 + 1e-4 * sol.energy[0]


def test_order():
    """Positions, velocities and interpolated multipliers are of second order, raw ones of first; also with variable steps."""
    system = cluster()
    controls = {"u": lambda t: ca.cos(2 * t), "w": lambda t: ca.sin(3 * t)}
    fine = kr.simulate(system, until=1, step=2**-12, method=kr.BEM(), controls=controls)
    errors = []
    for k in (6, 7):
        sol = kr.simulate(system, until=1, step=2.0**-k, method=kr.BEM(), controls=controls)
        n = 2 ** (12 - k)
        middle = 2 ** (k - 1)
        lam = fine.multipliers("interpolated")[middle * n]
        errors.append(
            [
                np.abs(sol.q[-1] - fine.q[-1]).max(),
                np.abs(sol.v[-1] - fine.v[-1]).max(),
                np.abs(sol.multipliers("interpolated")[middle] - lam).max(),
                np.abs(sol.lam[middle] - lam).max(),
            ]
        )
    ratios = np.divide(*errors)
    assert_allclose(ratios[:3], 4, rtol=0.2)
    assert ratios[3] == pytest.approx(2, rel=0.2)
    gaps = []
    for largest in (1 / 32, 1 / 64):
        steps = kr.random_steps(1.0, largest)
        gaps.append(np.abs(kr.simulate(system, 1.0, steps, kr.BEM(), controls=controls).q[-1] - fine.q[-1]).max())
    assert 2.5 < gaps[0] / gaps[1] < 6.5


def test_symmetry():
    """A motion runs back if its velocities are turned round. (Without constraints, whose velocities are not tangent at the grid points.)"""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.point("p", 1.0, position=(1.0, 0, 0), velocity=(0, 2, 0))
    m.force(kr.Spring("ground", "p", 50.0, length=0.7))
    there = kr.simulate(m.system(), until=1, step=0.05, method=kr.BEM())
    back = kr.simulate(m.system(), until=1, step=0.05, method=kr.BEM(), initial={"p": (there.q[-1], -there.v[-1])})
    assert_allclose(back.q[-1], there.q[0], atol=1e-12)


def turned(g, turn, shift):
    """Natural coordinates of a body after a rotation about the origin and a displacement."""
    Q = kr.SO3.exp(turn).reshape(3, 3)
    X = Q @ g.reshape(4, 3).T
    X[:, 0] += shift
    return X.T.ravel()


PAIRS = {
    "hinge": lambda: kr.Revolute("a", "b", (0.3, 0.1, 0), (1, 2, 3)),
    "slider": lambda: kr.Prismatic("a", "b", (0.3, 0.1, 0), (1, 2, 3)),
    "cylindrical": lambda: kr.Cylindrical("a", "b", (0.3, 0.1, 0), (1, 2, 3)),
    "universal": lambda: kr.Universal("a", "b", (0.3, 0.1, 0), (1, 2, 0), (2, -1, 0)),
    "planar": lambda: kr.Planar("a", "b", (0.3, 0.1, 0), (1, 2, 3)),
}


def pair(kind):
    """Two bodies, and their joint with all its formulas in the natural coordinates and velocities of both."""
    m = kr.Mechanism()
    m.body("a", 1.0, (1, 1, 1), rotation=kr.SO3.exp([0.1, 0.5, -0.3]).reshape(3, 3))
    m.body("b", 1.0, (1, 1, 1), position=(1, 0.2, 0.3), rotation=kr.SO3.exp([0.3, 0.2, 0.1]).reshape(3, 3))
    joint = PAIRS[kind]()
    m.joint(joint)
    system = m.system("directors")
    q, v = ca.SX.sym("q", 24), ca.SX.sym("v", 24)
    p = SimpleNamespace(**{k: ca.SX(x) for k, x in joint.parameters.items()})
    a, b = (NaturalNode(n).frame(q[k : k + 12], v[k : k + 12]) for n, k in (("a", 0), ("b", 12)))
    gap = joint.constraint(p, ca.SX(0), a, b)
    G = ca.Function("G", [q], [ca.jacobian(gap, q)])
    A, B = joint.frames(p, a, b)
    rates, rates_covariant = (
        ca.Function("B", [q, v], [ca.jacobian(ca.vertcat(*(f.rate(*pair) for f in joint.freedoms.values())), v)])
        for pair in ((A, B), joint.frames(p, a.covariant(), b.covariant()))
    )
    columns = []
    for f in joint.freedoms.values():
        w, u = f.virtual(A, B, ca.SX(1))
        # velocities of b: its centre moves with the joint's point and turns about it
        columns.append(ca.vertcat(ca.SX.zeros(12), u + ca.cross(w, b.x - B.x), *(ca.cross(w, b.R[:, i]) for i in range(3))))
    free = ca.Function("P", [q], [ca.horzcat(*columns)])
    rigid = [ca.vertcat(*(ca.vertcat(e, ca.SX.zeros(9)) for _ in "ab")) for e in ca.horzsplit(ca.SX.eye(3))]
    rigid += [ca.vertcat(*(ca.cross(e, f[:, 0]) for g in (a, b) for f in (g.x, *ca.horzsplit(g.R)))) for e in ca.horzsplit(ca.SX.eye(3))]
    whole = ca.Function("P", [q], [ca.horzcat(*rigid)])
    phi = ca.vertcat(gap, *(Orthonormal("o").constraint(p, ca.SX(0), f) for f in (a, b)))
    constraints = ca.Function("f", [q], [phi, ca.jacobian(phi, q)])
    return joint, np.concatenate([n.q for n in system.nodes]), G, constraints, rates, rates_covariant, free, whole


@pytest.mark.parametrize("kind", PAIRS)
def test_rules_of_the_joints_in_the_middle_of_a_step(kind):
    """G P = 0 and B P = I (Siebert, 3.3, as corrected), in the middle of a step of a pair that moves within its freedoms and as a whole.

    The directions of a joint violate none of its constraints, and have just their own rates; a rigid motion of both bodies has none. With
    the directors in place of the reciprocal ones this fails."""
    joint, q0, G, constraints, rates, rates_covariant, free, whole = pair(kind)
    q = q0.copy()
    for _ in range(20):  # far away within the freedoms: in small steps, each put right by Newton's method
        q = q + free(q).full() @ np.linspace(0.5, 1, len(joint.freedoms)) / 20
        for _ in range(4):
            value, matrix = constraints(q)
            q = q - np.linalg.lstsq(matrix.full(), value.full().ravel(), rcond=None)[0]
    q = np.concatenate([turned(q[k : k + 12], [0.9, -0.7, 0.4], [0.3, 0.2, -0.5]) for k in (0, 12)])
    middle = (q0 + q) / 2
    P = np.hstack([whole(middle).full(), free(middle).full()])
    n = len(joint.freedoms)
    assert np.abs(G(middle).full() @ P).max() < 1e-14
    np.testing.assert_allclose(rates(middle, np.zeros(24)).full() @ P, np.hstack([np.zeros((n, 6)), np.eye(n)]), rtol=0, atol=1e-14)
    assert np.abs(rates_covariant(middle, np.zeros(24)).full() @ P - np.hstack([np.zeros((n, 6)), np.eye(n)])).max() > 1e-2


def test_composition_keeps_the_energy():
    """Of fourth order: an energy-momentum scheme still."""
    top, gaps = kr.models.gyro_top(), []
    exact = 0.075 * np.array([np.sin(np.pi / 3) * np.sin(10), -np.sin(np.pi / 3) * np.cos(10), 0.5])
    for h in (0.005, 0.0025):
        sol = kr.simulate(top, until=1, step=h, method=kr.Composition(kr.BEM(), order=4))
        assert relative(sol.energy) < 1e-14
        assert np.ptp(sol.angular_momentum[:, 2]) < 1e-14
        gaps.append(np.linalg.norm(sol.position("top")[-1] - exact))
    assert gaps[0] / gaps[1] == pytest.approx(16, rel=0.1)


def test_nonholonomic_constraints_keep_the_energy():
    """A wheel that rolls and falls; a sled."""
    lean = kr.SO3.exp([0.2, 0, 0]).reshape(3, 3)
    spin = lean @ np.array([0, 12.0, 0])
    low = -0.25 * lean[:, 2] - np.array([0, 0, 0.05])
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body(
        "wheel", 1.0, (0.01, 0.02, 0.01), position=-low[2] * np.eye(3)[2], rotation=lean, omega=lean.T @ spin, velocity=-np.cross(spin, low)
    )
    m.joint(kr.Rolling("wheel", radius=0.3, tube=0.05, axis=lean[:, 1]))
    sol = kr.simulate(m.system("directors"), until=1, step=0.01, method=kr.BEM())
    assert sol.success
    assert relative(sol.energy) < 1e-12
    assert np.ptp(sol.position("wheel")[:, 1]) > 0.05
    other = kr.simulate(m.system("S3R3"), until=1, step=0.001)
    assert_allclose(sol.position("wheel")[-1], other.position("wheel")[-1], atol=1e-2)


def test_black_boxes_and_moving_constraints():
    """A force that is no formula, in the middle; a point on a rail that moves."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.point("bead", 2.0, velocity=(1, 0, 3))
    m.joint(kr.Constraint("rail", "bead", lambda t, p: p.x[2] - ca.sin(3 * t)))
    m.force(kr.BlackBox("drag", "bead", lambda t, q, v: -0.5 * v))
    sol = kr.simulate(m.system(), until=1, step=2**-7, method=kr.BEM())
    assert sol.position("bead")[-1, 0] == pytest.approx(4 * (1 - np.exp(-0.25)), abs=1e-5)
    assert sol.position("bead")[-1, 2] == pytest.approx(np.sin(3), abs=1e-13)


def test_derivative_of_the_step():
    """Against finite differences of runs, in the direction of an admissible change of the velocity."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("b", 1.0, (0.1, 0.2, 0.3), position=(0.5, 0, 0))
    m.joint(kr.Spherical("ground", "b", (0, 0, 0)))
    system = m.system("directors")
    h, e = 0.05, 1e-5
    node = system.nodes[0]
    ends, starts = [], []
    for sign in (1, -1):
        W = sign * e * np.array([0.3, -0.5, 0.7])
        q, v = node.place(np.eye(3), np.array([0.5, 0, 0]), W, np.cross(W, [0.5, 0, 0]))
        sol = kr.simulate(system, until=h, step=h, method=kr.BEM(), initial={"b": (q, v)})
        starts.append(np.r_[sol.q[0], sol.v[0], sol.lam[0]])
        ends.append(np.r_[sol.q[-1], sol.v[-1], sol.lam[-1]])
    sol = kr.simulate(system, until=h, step=h, method=kr.BEM())
    D, _ = StepDerivative(sol._layout)(sol._records[0], h)
    assert_allclose(D @ (starts[0] - starts[1]) / (2 * e), (ends[0] - ends[1]) / (2 * e), atol=1e-6)


def test_what_it_refuses():
    with pytest.raises(ValueError, match=r"BEM does not fit this system: 'top' has coordinates on S3R3; it needs a vector space"):
        kr.simulate(kr.models.heavy_top("S3R3"), until=1, step=0.1, method=kr.BEM())
    crank = kr.System(kr.R(1), mass=lambda q: 1 + q[0] ** 2, q=[1.0])
    with pytest.raises(ValueError, match="the mass matrix must be constant"):
        kr.simulate(crank, until=1, step=0.1, method=kr.BEM())
    sol = kr.simulate(kr.models.heavy_top("S3R3"), until=0.01, step=0.001, method=kr.GeneralizedAlpha())
    with pytest.raises(ValueError, match="has no multipliers to interpolate; RATTLie and BEM have"):
        sol.multipliers("interpolated")
