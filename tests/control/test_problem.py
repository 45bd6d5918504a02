"""Problems of optimal control: what is refused, how a search may end, solutions in closed form, guesses."""

import os
import signal
import threading

import casadi as ca
import numpy as np
import pytest

import kreisel as kr
from kreisel.control.outcome import Ending


def slider(mass=1.0, **options):
    """A double integrator: a mass on a line, pushed by "u"."""
    return kr.System(kr.R(1), mass=[[mass]], q=[0.0], v=[0.0], controls=["u"], **options)


def cart(**options):
    """The swing-up of a pole."""
    given = {"end": kr.Target({"rail": 1.0, "hinge": np.pi}, rates="rest")} | options
    return kr.OptimalControl(kr.models.cart_pole(given.pop("formulation", "minimal")), 2.0, given.pop("steps", 20), **given)


REST = kr.Target(q=[1.0], v=[0.0])


def with_black_box():
    m = kr.Mechanism(plane=True)
    m.body("disc", 1.0, 1.0)
    m.joint(kr.Revolute("ground", "disc", at=(0, 0, 0), axis=(0, 0, 1), name="pin"))
    m.force(kr.Torque("pin", control="u"))
    m.force(kr.BlackBox("wind", "disc", lambda t, q, v: -0.1 * v))
    return m.system("directors")


# Bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cart(bounds={"forse": (-1, 1)}), "there is no control and no joint 'forse'; there are the controls \\['force'\\]"),
        (lambda: cart(steps=1), "steps must be at least 2, got 1"),
        (lambda: cart(steps=2.5), "steps must be at least 2, got 2.5"),
        (lambda: cart(bounds={"force": (1, -1)}), "bounds of 'force': the lower one, 1.0, is above the upper one, -1.0"),
        (lambda: cart(bounds={"rail": (2, 1)}), "bounds of 'rail': the lower one, 2.0, is above"),
        (lambda: cart(guess={"hinge": np.full(21, np.nan)}), "guess: 'hinge' needs \\(21,\\) finite numbers"),
        (lambda: cart(guess={"hinge": np.zeros(20)}), "guess: 'hinge' needs \\(21,\\) finite numbers.*got \\(20,\\)"),
        (lambda: cart(guess={"hinged": np.zeros(21)}), "guess: there is no joint, body, coordinate or control 'hinged'"),
        (lambda: cart(guess="random"), "guess must be 'constant', 'linear'"),
        (lambda: cart(steps=2), "end: 4 conditions are more than 2 steps with 1 controls can meet"),
        (lambda: cart(end=kr.Target({"rails": 1.0})), "there is no joint 'rails'; there are \\['hinge', 'rail'\\]"),
        (lambda: cart(end=kr.Target({"rail": 1.0}, rates="still")), "rates must be 'rest' or a number for each joint, got 'still'"),
        (lambda: cart(end=kr.Target(q=[1.0])), "end: q must have shape \\(2,\\), got \\(1,\\)"),
        (lambda: cart(cost=kr.final(lambda s: s.u["force"])), "depends on the control 'force', which the end does not have"),
        (lambda: cart(cost=kr.effort({"torque": 2.0})), "effort: there is no control 'torque'; there are \\['force'\\]"),
        (lambda: cart(path=[kr.Condition("clear", lambda s: s.q[0], lower=2, upper=1)]), "'clear': the lower bound 2 is above"),
        (lambda: cart(path=[kr.Condition("clear", lambda s: s.position("wall"))]), "there is no body 'wall'"),
        (lambda: kr.OptimalControl(slider(), -1.0, 10, end=REST), "horizon must be positive"),
        (lambda: kr.OptimalControl(slider(), (2.0, 1.0), 10, end=REST), "horizon must be positive, or \\(shortest, longest\\)"),
        (lambda: kr.OptimalControl(kr.models.oscillator(), 1.0, 10, end=kr.Target()), "the system has no controls"),
        (lambda: kr.OptimalControl(with_black_box(), 1.0, 10, end=kr.Target({"pin": 1.0})), "'wind' is a plain function"),
    ],
)
def test_bad_input(make, message):
    class Never:
        def solve(self, *_):
            raise AssertionError("the solver started")

    with pytest.raises(ValueError, match=message):
        make().solve(method=kr.BEM() if "'wind'" in message else kr.GC(), solver=Never())


def test_a_method_that_does_not_fit():
    with pytest.raises(ValueError, match="RATTLie does not fit this system: the mass matrix must be constant"):
        cart().solve(method=kr.RATTLie())
    with pytest.raises(ValueError, match="SHAKELie takes another first step: it is no transcription"):
        kr.OptimalControl(slider(), 1.0, 10, end=REST).solve(method=kr.SHAKELie())


def test_a_start_off_the_constraints():
    system = kr.models.cart_pole("directors")
    q, v = np.concatenate([n.q for n in system.nodes]), np.zeros(system.dim)
    off = kr.OptimalControl(system, 2.0, 20, start=kr.State(0.0, q + 0.1, v), end=kr.Target({"rail": 1.0}))
    with pytest.raises(kr.InconsistentStart, match=r"the start violates the constraints: positions by 0\.22"):
        off.solve(method=kr.BEM())


# How a search ends


def test_too_small_a_force_is_named():
    res = kr.OptimalControl(slider(), 1.0, 10, end=REST, bounds={"u": (-1.0, 1.0)}).solve()
    assert not res.success
    assert res.status is Ending.INFEASIBLE
    assert "contradict each other" in res.message
    assert "most violated: 'configuration at the end'" in res.message


def test_a_cost_without_bound():
    res = kr.OptimalControl(slider(), 1.0, 10, end=kr.Target(), cost=kr.final(lambda s: s.q[0])).solve()
    assert not res.success
    assert res.status is Ending.UNBOUNDED
    assert res.message.startswith("the cost falls without bound")


def test_too_few_iterations():
    res = cart(steps=40).solve(method=kr.GC(), solver=kr.Ipopt(max_iterations=3))
    assert res.status is Ending.ITERATION_LIMIT
    assert "the number of iterations was not enough; most violated: the equations of motion of" in res.message


def test_an_interrupt_keeps_what_was_found():
    seen = []

    class Slowly(kr.Ipopt):
        def solve(self, stages, y, end, multipliers=None, callback=None):
            def then(iteration):
                seen.append(iteration)
                if len(seen) == 4:
                    timer = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
                    timer.start()
                    timer.join()
                callback(iteration)

            return super().solve(stages, y, end, multipliers, then)

    before = signal.getsignal(signal.SIGINT)
    res = cart(steps=40).solve(method=kr.GC(), solver=Slowly())
    assert res.status is Ending.INTERRUPTED
    assert "interrupted from the keyboard" in res.message
    assert len(seen) < 10
    assert np.all(np.isfinite(res.solution.q))
    assert signal.getsignal(signal.SIGINT) is before


# Solutions in closed form


def test_least_effort_of_a_double_integrator():
    """u = 6 d / T^2 (1 - 2 t/T), with the effort 6 d^2 / T^3; with N steps of constant u the least one is that over 1 - 1/N^2."""
    T, N = 2.0, 16
    res = kr.OptimalControl(slider(), T, N, end=REST).solve()
    assert res.cost == pytest.approx(6 / T**3 / (1 - 1 / N**2), rel=1e-12)
    assert np.ptp(res.hamiltonian) < 1e-11
    np.testing.assert_allclose(res.controls["u"], 1.5 * (1 - 2 * (np.arange(N) + 0.5) / N), atol=0.02)


@pytest.mark.parametrize("force", [1.0, 3.0])
def test_minimum_time(force):
    """A mass moved by d with |u| <= u_max takes T = 2 sqrt(m d / u_max); with an even number of steps, the switch is at a step."""
    d, m = 2.0, 1.5
    problem = kr.OptimalControl(
        slider(m), (0.1, 10.0), 20, end=kr.Target(q=[d], v=[0.0]), cost=kr.duration(), bounds={"u": (-force, force)}
    )
    res = problem.solve()
    assert res.success
    assert res.horizon == pytest.approx(2 * np.sqrt(m * d / force), rel=1e-6)
    np.testing.assert_allclose(res.controls["u"], force * np.repeat([1, -1], 10), rtol=1e-4)
    assert res.t[-1] == pytest.approx(res.horizon)


def test_running_and_final_cost():
    """x'' = u, cost int (x^2 + u^2)/2 dt + (c/2) |end|^2: a linear-quadratic problem, solved by the Riccati equation."""
    from scipy.integrate import solve_ivp

    T, c = 2.0, 3.0
    A, B, Q = np.array([[0, 1.0], [0, 0]]), np.array([[0], [1.0]]), np.diag([1.0, 0])

    def riccati(s, p):
        P = p.reshape(2, 2)
        return (A.T @ P + P @ A - P @ B @ B.T @ P + Q).ravel()

    P = solve_ivp(riccati, (0, T), c * np.eye(2).ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(2, 2)
    x0 = np.array([1.0, -0.5])
    system = kr.System(kr.R(1), mass=[[1.0]], q=x0[:1], v=x0[1:], controls=["u"])
    cost = kr.effort() + 0.5 * kr.running(lambda s: s.q[0] ** 2) + (c / 2) * kr.final(lambda s: s.q[0] ** 2 + s.v[0] ** 2)
    coarse, fine = (kr.OptimalControl(system, T, N, end=kr.Target(), cost=cost).solve().cost for N in (50, 100))
    assert (4 * fine - coarse) / 3 == pytest.approx(x0 @ P @ x0 / 2, rel=1e-6)


def test_a_path_condition_is_kept():
    """Rest to rest with |v| <= w below the free maximum 1.5 d/T: u is linear, then zero, then linear; 2 a^2 / (3 b) per side."""
    T, w = 2.0, 0.6
    limit = kr.Condition("speed", lambda s: s.v[0], upper=w)
    coarse, res = (kr.OptimalControl(slider(), T, N, end=REST, path=[limit]).solve() for N in (100, 200))
    assert res.solution.v.max() == pytest.approx(w, abs=1e-7)
    # While v rises to w in the time tau, with u = 2 w / tau (1 - t/tau), the way is 2 w tau / 3.
    tau = (w * T - 1.0) / (2 * w / 3)
    exact = 2 * (2 * w / tau) ** 2 * tau / 6
    assert res.cost == pytest.approx(exact, rel=2e-3)
    assert abs(res.cost - exact) < abs(coarse.cost - exact)


# Targets


def test_targets_by_joint_frame_and_angle_agree():
    """One goal in four words: joint coordinates, the frames of bodies, q and v, and an angle by arccos as in (7.10) of Siebert."""
    m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    m.body("rod", 1.0, 1 / 12, (0, -0.5))
    m.joint(kr.Revolute("ground", "rod", at=(0, 0, 0), axis=(0, 0, 1), name="pin"))
    m.force(kr.Torque("pin", control="u"))
    system, angle = m.system("directors"), 1.0
    c, s = np.cos(angle), np.sin(angle)
    R, x = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), np.array([s / 2, -c / 2, 0])
    q = np.concatenate([x[:2], R[:2, 0], R[:2, 1]])
    rest = kr.Condition.equal("rate", lambda s: s.rate("pin"))
    by_angle = kr.Condition.equal("angle", lambda s: ca.acos(s.rotation("rod")[0, 0]), angle)
    targets = [
        kr.Target({"pin": angle}, rates="rest"),
        kr.Target({"pin": angle}, rates={"pin": 0.0}),
        kr.Target(q=q, rates="rest"),
        kr.Target(conditions=[kr.Condition.equal("place", lambda s: s.position("rod")[0], x[0]), rest]),
        kr.Target(conditions=[by_angle, rest]),
    ]
    guess = {"pin": lambda s: angle * s}
    results = [kr.OptimalControl(system, 1.0, 10, end=target, guess=guess).solve(method=kr.BEM()) for target in targets]
    for res in results:
        assert res.success
        assert res.cost == pytest.approx(results[0].cost, rel=1e-9)
        np.testing.assert_allclose(res.solution.rotation("rod")[-1], R, atol=1e-9)


def test_a_target_of_the_whole_velocity():
    res = kr.OptimalControl(kr.models.steered_body("S3"), 1.0, 10, end=kr.Target(v=[0.1, 0.2, 0.3])).solve()
    assert res.success
    np.testing.assert_allclose(res.solution.v[-1], [0.1, 0.2, 0.3], atol=1e-12)


# Guesses


def test_a_warm_start_takes_few_iterations():
    first = cart(steps=40).solve(method=kr.GC())
    again = cart(steps=40, guess=first).solve(method=kr.GC())
    assert again.iterations <= 3 < first.iterations
    assert again.cost == pytest.approx(first.cost, rel=1e-9)
    near = cart(steps=40, guess=first, end=kr.Target({"rail": 1.01, "hinge": np.pi}, rates="rest")).solve(method=kr.GC())
    assert near.iterations < first.iterations


def test_refining():
    res = cart(steps=20).solve(method=kr.GC(), refine=2)
    straight = cart(steps=80).solve(method=kr.GC())
    assert len(res.t) == 81
    assert res.cost == pytest.approx(straight.cost, rel=1e-9)
    assert res.iterations < straight.iterations


def test_from_one_method_to_the_next():
    gc = cart(steps=40).solve(method=kr.GC())
    bem = cart(steps=40, formulation="directors", guess=gc).solve(method=kr.BEM())
    rem = cart(steps=40, formulation="directors", guess=bem).solve(method=kr.REM())
    assert bem.success
    assert rem.success
    assert rem.cost == pytest.approx(bem.cost, rel=1e-9)
    assert bem.cost == pytest.approx(gc.cost, rel=0.02)
    assert max(bem.iterations, rem.iterations) < 15


def test_from_a_simulation():
    gc = cart(steps=40).solve(method=kr.GC())
    sol = kr.simulate(kr.models.cart_pole(), 2.0, 2.0 / 40, kr.GC(), controls=gc.controls)
    np.testing.assert_allclose(sol.q, gc.solution.q, atol=1e-8)
    res = cart(steps=40, guess=sol).solve(method=kr.GC())
    assert res.success
    assert res.cost == pytest.approx(gc.cost, rel=1e-9)
