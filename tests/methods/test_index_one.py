"""Index reduction, Baumgarte and projection: drift of the constraints, and constraints that move (Müller, digest items 30 to 32)."""

import casadi as ca
import numpy as np
import pytest
from support import fitted_order

import kreisel as kr
from kreisel.methods.index_one import Stabilised
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.packs import Layout


def loop(rate=0.0):
    """A slider-crank in the plane, in directors: a closed loop with quadratic constraints. ``rate``: of a prescribed crank, if any."""
    m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    m.body("crank", 1.0, 1 / 48, (0.25, 0), omega=rate, velocity=(0, 0.25 * rate))
    m.body("rod", 1.0, 1 / 12, (1.0, 0), omega=-rate / 2, velocity=(0, 0.25 * rate))
    m.body("slider", 1.0, 0.01, (1.5, 0))
    m.joint(kr.Revolute("ground", "crank", at=(0, 0, 0), axis=(0, 0, 1), name="main"))
    m.joint(kr.Revolute("crank", "rod", at=(0.5, 0, 0), axis=(0, 0, 1), name="pin"))
    m.joint(kr.Revolute("rod", "slider", at=(1.5, 0, 0), axis=(0, 0, 1), name="wrist"))
    m.joint(kr.Prismatic("ground", "slider", at=(1.5, 0, 0), axis=(1, 0, 0), name="rail"))
    if rate:
        m.joint(kr.PrescribedJoint("main", lambda t: rate * t + 0.1 * t**4, name="motor"))
    return m.system("directors")


def run(method, until=20.0, step=0.02):
    sol = kr.simulate(loop(), until, step, method)
    assert sol.success, sol.message
    return sol


def growth(sol):
    """The power of t with which the violation grows, from the second half of a run."""
    at = len(sol.t) // 2
    largest = np.maximum.accumulate(sol.constraint_violation)
    return np.polyfit(np.log(sol.t[at:]), np.log(largest[at:]), 1)[0]


def test_drift():
    """Index reduction alone drifts on, and with it the energy; Baumgarte bounds it, the more the larger alpha; projection ends it."""
    none, weak, strong, projected = (run(m) for m in (kr.Baumgarte(0, 0), kr.Baumgarte(2, 2), kr.Baumgarte(10, 10), kr.Projection()))
    assert growth(none) > 1.5
    assert abs(growth(weak)) < 0.1
    assert abs(growth(strong)) < 0.1
    assert none.constraint_violation.max() > 30 * weak.constraint_violation.max()
    assert weak.constraint_violation.max() > 1.5 * strong.constraint_violation.max()
    # The drift of the constraints is what spoils the energy.
    energies = [np.abs(sol.energy - sol.energy[0]).max() for sol in (none, weak, strong, projected)]
    assert energies[0] > 100 * max(energies[1:])
    assert projected.constraint_violation.max() < 1e-15
    assert projected.velocity_violation.max() < 1e-13


def test_projection_costs_no_accuracy():
    """Order 4 in a closed loop, towards the motion that BEM approaches with order 2."""
    exact = run(kr.Projection(), 1.0, 1 / 4096).q[-1]
    steps = 1 / 2.0 ** np.arange(8, 11)
    for method in (kr.Projection(), kr.Baumgarte(2, 2)):
        errors = [np.abs(run(method, 1.0, h).q[-1] - exact).max() for h in steps]
        assert fitted_order(steps, errors) == pytest.approx(4, abs=0.3)
    assert np.abs(run(kr.BEM(), 1.0, 1 / 1024).q[-1] - exact).max() < 1e-5


@pytest.mark.parametrize("method", [kr.Baumgarte(2, 2), kr.Projection()], ids=repr)
def test_moving_constraints(method):
    """A crank that turns as 3 t + t^4/10: its angle is exact, and the torque is that of the equations of motion, to order 4."""
    errors, steps = [], 1 / 2.0 ** np.arange(4, 9)
    torques = []
    for h in steps:
        sol = kr.simulate(loop(3.0), 1, h, method)
        t = sol.t
        angle = 3 * t + 0.1 * t**4
        errors.append(np.abs(sol.joint("main").angle - angle).max())
        torques.append(sol.joint("motor").reaction_moment[-1, 2])
    # Kinetic energy and potential of the one coordinate, by hand
    x, w = ca.SX.sym("x"), ca.SX.sym("w")
    s = ca.asin(0.5 * ca.sin(x))
    rate = -ca.jacobian(s, x) * w
    ends = [ca.vertcat(0.5 * ca.cos(x), 0.5 * ca.sin(x)), ca.vertcat(0.5 * ca.cos(x) + ca.cos(s), 0)]
    rod = sum(ends) / 2
    speed = [ca.jacobian(p, x) * w for p in (ends[0] / 2, rod, ends[1])]
    T = sum(ca.sumsqr(v) for v in speed) / 2 + w**2 / 96 + rate**2 / 24
    V = 9.81 * (ends[0][1] / 2 + rod[1])
    a = ca.SX.sym("a")
    momentum = ca.gradient(T, w)
    torque = ca.Function("f", [x, w, a], [ca.jacobian(momentum, x) * w + ca.jacobian(momentum, w) * a - ca.gradient(T - V, x)])
    exact = float(torque(3.1, 3.4, 1.2))
    gaps = np.abs(np.array(torques) - exact) / abs(exact)
    if isinstance(method, kr.Projection):  # nothing is left to integrate
        assert max(errors) < 1e-14
        assert max(gaps) < 1e-12
    else:
        assert [fitted_order(steps, e) for e in (errors, gaps)] == pytest.approx([4, 4], abs=0.4)
        assert gaps[-1] < 1e-6


def test_nonholonomic_constraints():
    """The rolling disk: both and RATTLie, which is of order 2, approach the same motion; projection rolls to round-off."""
    disk = kr.models.rolling_disk()
    exact = kr.simulate(disk, 1, 2**-12, kr.Projection()).q[-1]
    steps = 2.0 ** -np.arange(11, 14)
    errors = [np.abs(kr.simulate(disk, 1, h).q[-1] - exact).max() for h in steps]
    assert fitted_order(steps, errors) == pytest.approx(2, abs=0.05)
    for method in (kr.Baumgarte(), kr.Projection()):
        sol = kr.simulate(disk, 1, 2**-9, method)
        assert np.abs(sol.q[-1] - exact).max() < 1e-6
        assert sol.velocity_violation.max() < (1e-13 if isinstance(method, kr.Projection) else 1e-5)


def test_the_equation_of_a_violation():
    """phi'' + 2 alpha phi' + beta^2 phi = 0, off the constraints: for a pendulum in the plane, by hand."""
    alpha, beta, q, v = 3.0, 4.0, np.array([1.1, 0.2]), np.array([0.3, -0.4])
    system = kr.System(kr.R(2), mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint=lambda t, q: (ca.sumsqr(q) - 1) / 2, q=q, v=v)
    layout = Layout(system, kr.Baumgarte(alpha, beta))
    residual, matrix = Assembly(layout, Stabilised(alpha, beta))(layout.start(), np.zeros(3))
    a_x, a_y, lam = np.linalg.solve(matrix.toarray(), -residual)
    assert lam == pytest.approx((v @ v - 9.81 * q[1] + 2 * alpha * (q @ v) + beta**2 * (q @ q - 1) / 2) / (q @ q), rel=1e-14)
    assert [a_x, a_y] == pytest.approx([-lam * q[0], -lam * q[1] - 9.81], rel=1e-14)


def test_bad_parameters():
    with pytest.raises(ValueError, match="Baumgarte: alpha and beta must not be negative, got -1 and 2"):
        kr.Baumgarte(-1, 2)
