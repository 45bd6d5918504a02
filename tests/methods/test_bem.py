"""The energy-momentum scheme: balances to round-off at any step size, order, and its rules for inputs."""

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kreisel as kr
from kreisel.mechanics.freedom import Slide, Turn
from kreisel.mechanics.natural import NaturalNode
from kreisel.simulation.linearise import step_matrix

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


def _frames(q, v):
    node = NaturalNode("n")
    return node.frame(ca.SX(q), ca.SX(v))


def middle_of(turn):
    """Directors in the middle of a step: the mean of two rotations."""
    R = kr.SO3.exp([0.3, -0.8, 0.5]).reshape(3, 3)
    return (R + kr.SO3.exp(turn).reshape(3, 3) @ R) / 2


def turning(w, A):
    """w x d for all columns d."""
    return np.stack([np.cross(w, d) for d in A.T], axis=1)


def test_rule_of_the_hinge():
    """B P = I in the middle of a step (Siebert, (4.55), (4.56); digest 3.3): bodies that move as one, and besides turn about the axis n
    of body 1 with some rate, have just this rate; with the directors in place of the reciprocal ones they do not."""
    R1 = middle_of([0.9, -0.7, 0.4])
    Q = kr.SO3.exp([1.0, 0.4, -0.3]).reshape(3, 3)  # its third axis, in the axes of both bodies, is that of the hinge
    R2 = R1 @ Q @ kr.SO3.exp([0, 0, 0.7]).reshape(3, 3) @ Q.T
    n = R1 @ Q[:, 2]
    x1, x2, w, u = np.random.default_rng(5).standard_normal((4, 3))
    for rate in (0.0, 1.7):
        v1 = kr.natural.coordinates(turning(w, R1), u)
        v2 = kr.natural.coordinates(turning(w + rate * n, R2), u)
        A, B = (_frames(kr.natural.coordinates(R, x), v).fixed(ca.DM.zeros(3), ca.DM(Q)) for R, x, v in ((R1, x1, v1), (R2, x2, v2)))
        assert float(ca.evalf(Turn().rate(A, B))) == pytest.approx(rate, abs=1e-14)
    assert abs(float(ca.evalf(Turn().rate(A.covariant(), B.covariant()))) - rate) > 0.1


def test_rule_of_the_slider():
    """The same for a slider: P has the reciprocal axis, B the axis itself (corrected, digest 3.3)."""
    R1 = middle_of([0.9, -0.7, 0.4])
    reciprocal = np.linalg.inv(R1).T[:, 1]
    axes = np.eye(3)[:, [2, 0, 1]]  # the third axis of the joint is the second director
    x1, x2, w, u, at = np.random.default_rng(6).standard_normal((5, 3))
    for rate in (0.0, 1.3):
        v1 = kr.natural.coordinates(turning(w, R1), u)
        v2 = kr.natural.coordinates(turning(w, R1), u + np.cross(w, x2 - x1) + rate * reciprocal)
        A, B = (_frames(kr.natural.coordinates(R1, x), v).fixed(ca.DM(at), ca.DM(axes)) for x, v in ((x1, v1), (x2, v2)))
        assert float(ca.evalf(Slide().rate(A, B))) == pytest.approx(rate, abs=1e-13)


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
    D = step_matrix(sol._layout, sol._records[0], h)
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
