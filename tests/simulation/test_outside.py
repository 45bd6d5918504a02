"""Solvers of others behind simulate(): scipy's, and IDA where scikit-sundae is installed."""

import sys

import casadi as ca
import numpy as np
import pytest
from support import HeavyTop

import kreisel as kr

RIGID = ["SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"]


def needs_sundials():
    pytest.importorskip("sksundae", reason="scikit-sundae is an optional extra")


def errors(sol):
    assert sol.success, sol.message
    exact = HeavyTop("slow", sol.t)
    q, v = exact.errors(sol)
    return q.max(), v.max(), exact.multiplier_errors(sol.lam).max() / np.abs(exact.lam).max() if sol.lam.shape[1] else 0.0


@pytest.mark.parametrize("formulation", ["S3", *RIGID])
def test_the_heavy_top(formulation):
    """q, v and lam on every group, to the tolerance; with projection on the constraints, to round-off."""
    top = kr.models.heavy_top(formulation, "slow")
    plain = kr.simulate(top, 1, 1 / 16, kr.SolveIvp(rtol=1e-10, atol=1e-10))
    assert max(errors(plain)) < 1e-8
    back = kr.simulate(top, 1, 1 / 16, kr.SolveIvp(rtol=1e-10, atol=1e-10, project=True))
    assert max(errors(back)) < 1e-8
    assert back.constraint_violation.max() < 1e-14
    assert back.velocity_violation.max() < 1e-13
    assert len(back.t) == 17
    assert 0 < back.stats.steps < back.stats.evaluations


@pytest.mark.parametrize("method", ["RK23", "RK45", "Radau", "BDF", "LSODA"])
def test_all_of_scipy(method):
    """Tighter tolerances, smaller errors; explicit or not."""
    top = kr.models.heavy_top("S3R3", "slow")
    rough, fine = (errors(kr.simulate(top, 1, 1 / 16, kr.SolveIvp(method, tol, tol, alpha=1, beta=1))) for tol in (1e-4, 1e-7))
    assert max(fine) < 1e-4
    assert all(a > 5 * b for a, b in zip(rough, fine, strict=True))


@pytest.mark.parametrize("formulation", ["S3", "SO3xR3", "S3R3"])
def test_ida(formulation):
    needs_sundials()
    top = kr.models.heavy_top(formulation, "slow")
    rough, fine = (kr.simulate(top, 1, 1 / 16, kr.Ida(tol, tol / 100)) for tol in (1e-4, 1e-8))
    assert max(errors(fine)) < 3e-6
    assert errors(rough)[0] > 10 * errors(fine)[0]
    if fine.lam.shape[1]:
        stable = kr.simulate(top, 1, 1 / 16, kr.Ida(1e-4, 1e-6, alpha=20, beta=20))
        assert stable.constraint_violation.max() < rough.constraint_violation.max() / 3


def test_nonholonomic():
    """The rolling disk, with two solvers of others and one of ours."""
    disk = kr.models.rolling_disk()
    ours = kr.simulate(disk, 1, 2**-11, kr.Projection(), every=2**11)
    scipys = kr.simulate(disk, 1, 0.25, kr.SolveIvp(rtol=1e-10, atol=1e-10, project=True))
    np.testing.assert_allclose(scipys.q[-1], ours.q[-1], atol=1e-7)
    np.testing.assert_allclose(scipys.mu[-1], ours.mu[-1], rtol=1e-5)
    assert scipys.velocity_violation.max() < 1e-13
    needs_sundials()
    np.testing.assert_allclose(kr.simulate(disk, 1, 0.25, kr.Ida(1e-8, 1e-10)).q[-1], ours.q[-1], atol=1e-5)


def arm(coordinates="S3R3"):
    """A bar on a hinge with a motor, in space."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bar", 1.0, (0.01, 0.1, 0.1), position=(0.5, 0, 0))
    m.joint(kr.Revolute("ground", "bar", at=(0, 0, 0), axis=(0, 1, 0), friction=0.2, name="hinge"))
    m.force(kr.Torque("hinge", control="u"))
    return m.system(coordinates)


@pytest.mark.parametrize("method", [kr.SolveIvp(rtol=1e-9, atol=1e-9), kr.Ida(1e-8, 1e-9)], ids=str)
def test_inputs_turns_and_bookkeeping(method):
    """Inputs that jump from step to step; an angle that is followed over full turns; work and losses; everything a solution has."""
    if isinstance(method, kr.Ida):
        needs_sundials()
    u = np.repeat([12.0, -3.0, 9.0, 20.0], 50)
    ours = kr.simulate(arm(), 4, 0.0025, kr.Projection(), controls={"u": np.repeat(u, 8)}, every=8)
    sol = kr.simulate(arm(), 4, 0.02, method, controls={"u": u})
    assert sol.success
    assert ours.joint("hinge").angle[-1] > 2 * np.pi
    np.testing.assert_allclose(sol.joint("hinge").angle, ours.joint("hinge").angle, atol=1e-4)
    np.testing.assert_allclose(sol.joint("hinge").rate, ours.joint("hinge").rate, atol=1e-3)
    force = ours.joint("hinge").reaction_force  # its direction is as good as the angle
    np.testing.assert_allclose(sol.joint("hinge").reaction_force, force, atol=1e-4 * np.abs(force).max())
    np.testing.assert_array_equal(sol.controls["u"][1:], u)
    np.testing.assert_allclose(sol.a, ours.a, atol=1e-4 * np.abs(ours.a).max())
    fine = kr.simulate(arm(), 4, 0.0025, method, controls={"u": np.repeat(u, 8)})
    np.testing.assert_allclose(fine.balance, 0, atol=1e-3 * fine.work.max())  # trapezoidal rule over the outputs
    sparse = kr.simulate(arm(), 4, 0.02, method, controls={"u": u}, every=30)
    np.testing.assert_allclose(sparse.t, [*np.arange(0, 4, 0.6), 4.0])
    np.testing.assert_allclose(sparse.q[-1], sol.q[-1], atol=1e-4)


@pytest.mark.parametrize("method", [kr.SolveIvp(rtol=1e-10, atol=1e-10), kr.Ida(1e-9, 1e-10)], ids=str)
def test_inputs_jump_between_outputs(method):
    """x'' = u, without anything that remembers: exact to the tolerance."""
    if isinstance(method, kr.Ida):
        needs_sundials()
    m = kr.Mechanism()
    m.body("cart", 2.0, (1, 1, 1))
    m.joint(kr.Prismatic("ground", "cart", at=(0, 0, 0), axis=(1, 0, 0), name="rail"))
    m.force(kr.Thrust("rail", control="u"))
    u = np.array([2.0, -4.0, 6.0, 1.0])
    sol = kr.simulate(m.system(), 4, 1.0, method, controls={"u": u}, every=4)
    v = np.r_[0, np.cumsum(u / 2)]
    assert sol.position("cart")[-1, 0] == pytest.approx(np.sum(v[:-1] + u / 4), abs=1e-7)


def test_inputs_as_functions_of_time():
    ours = kr.simulate(arm(), 1, 0.005, kr.Projection(), controls={"u": lambda t: 10 * ca.sin(5 * t)})
    sol = kr.simulate(arm("directors"), 1, 0.5, kr.SolveIvp(rtol=1e-10, atol=1e-10), controls={"u": lambda t: 10 * ca.sin(5 * t)})
    assert sol.joint("hinge").angle[-1] == pytest.approx(ours.joint("hinge").angle[-1], abs=1e-7)


def test_redundant_constraints():
    """A body on two hinges of one axis: five rows follow from the others."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("door", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    for y in (0.0, 0.5):
        m.joint(kr.Revolute("ground", "door", at=(0, y, 0), axis=(0, 1, 0), name=f"hinge {y}"))
    sol = kr.simulate(m.system(), 1, 0.1, kr.SolveIvp())
    assert sol.success
    assert sol.stats.redundant
    ours = kr.simulate(m.system(), 1, 0.002, kr.Projection())
    np.testing.assert_allclose(sol.q[-1], ours.q[-1], atol=1e-6)


def test_a_plain_function_as_force():
    swing = kr.Mechanism(gravity=(0, 0, -9.81))
    swing.point("bob", 1.0, position=(1, 0, 0))
    swing.force(kr.BlackBox("wind", "bob", lambda t, q, v: np.array([0.0, 3.0 * np.sin(t), 0.0]) - 0.1 * v))
    ours = kr.simulate(swing.system(), 1, 0.01, kr.Projection())
    np.testing.assert_allclose(kr.simulate(swing.system(), 1, 0.5, kr.SolveIvp()).q[-1], ours.q[-1], atol=1e-7)
    with pytest.raises(ValueError, match=r"Ida does not fit.*'wind' is a plain function.*kr.SolveIvp\(\) fits"):
        kr.simulate(swing.system(), 1, 0.5, kr.Ida())


def test_missing_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksundae", None)
    monkeypatch.setitem(sys.modules, "sksundae.ida", None)
    with pytest.raises(ImportError, match=r"kr.Ida needs scikit-sundae.*pip install kreisel\[sundials\]"):
        kr.simulate(kr.models.oscillator(), 1, 0.1, kr.Ida())


def test_a_run_that_fails_keeps_what_it_has():
    """A force that is not finite beyond some time, and a solution that ends there: x'' = 100 x^3 x'."""
    bad = kr.System(kr.R(1), mass=[[1.0]], force=lambda t, q, v: ca.sqrt(0.5 - t), q=[1.0])
    sol = kr.simulate(bad, 1, 0.1, kr.SolveIvp("RK45"))
    assert sol.status.name == "NOT_FINITE"
    assert "'force'" in sol.message
    assert 0 <= sol.t[-1] <= 0.5
    explodes = kr.System(kr.R(1), mass=[[1.0]], force=lambda t, q, v: 100 * q**3 * v, q=[1.0], v=[1.0])
    sol = kr.simulate(explodes, 1, 0.001, kr.SolveIvp("RK45"))
    assert not sol.success
    assert 0.005 < sol.t[-1] < 0.2


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="does not look for events"):
        kr.simulate(arm(), 1, 0.1, kr.SolveIvp(), events=[kr.When("down", "bar", lambda t, bar: bar.x[2])])
    with pytest.raises(ValueError, match=r"method must be one of 'RK23'.*got 'Euler'"):
        kr.SolveIvp("Euler")
    with pytest.raises(ValueError, match="BDF remembers earlier steps"):
        kr.SolveIvp("BDF", project=True)
    with pytest.raises(ValueError, match="rtol and atol must not be negative"):
        kr.Ida(rtol=-1e-3)
    with pytest.raises(ValueError, match="has no equations of a step"):
        kr.simulate(arm(), 1, 0.1, kr.SolveIvp()).step_matrix()
    with pytest.raises(kr.InconsistentStart, match="violates the constraints"):
        kr.simulate(arm(), 1, 0.1, kr.SolveIvp(), initial={"bar": ([1, 0, 0, 0, 0.6, 0, 0], np.zeros(6))})
