"""What goes wrong is said, with the names the user gave and the time; and what was computed is kept."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr
from kreisel.simulation.program import Program

METHODS = [
    kr.RATTLie(),
    kr.SHAKELie(),
    kr.GeneralizedAlpha(),
    kr.GeneralizedAlpha(index="stabilised-2"),
    kr.BLieDF(2),
    kr.Composition(order=4),
]


def pendulum(coordinates="S3R3", **force):
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bob", 1.0, (0.1, 0.1, 0.1), position=(1, 0, 0))
    m.joint(kr.Spherical("ground", "bob", at_b=(-1, 0, 0), name="pivot"))
    for name, formula in force.items():
        m.force(kr.Force(name, "bob", formula))
    return m.system(coordinates)


# Numbers that are none


@pytest.mark.parametrize("coordinates", ["S3R3", "SO3xR3", "SO3"])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_force_that_becomes_nan(method, coordinates):
    """sqrt(0.5 - t) from t = 0.5 on."""
    system = pendulum(coordinates, wind=lambda t, a, u: ca.sqrt(0.505 - t) * u.velocity[0])
    sol = kr.simulate(system, until=2, step=0.01, method=method)
    assert sol.status is kr.Status.NOT_FINITE
    assert not sol.success
    assert "nan or inf" in sol.message
    assert "'wind'" in sol.message
    assert "pivot" not in sol.message
    # RATTLie evaluates forces at both ends of a step, SHAKELie at its start, the others at its end; substeps reach a little beyond.
    assert 0.49 <= sol.t[-1] <= 0.51
    assert f"t = {sol.t[-1]:.6g}" in sol.message or isinstance(method, kr.Composition)
    assert np.allclose(np.diff(sol.t), 0.01)
    for values in (sol.q, sol.v, sol.lam, sol.energy):
        assert np.all(np.isfinite(values))
    if isinstance(method, kr.SHAKELie):  # which needs no force at the end of a step
        with pytest.raises(ValueError, match=r"at t = 0.51: a force or constraint is nan or inf there"):
            _ = sol.a
    else:
        assert np.all(np.isfinite(sol.a))
    # up to there it is the run without the failure
    whole = kr.simulate(
        pendulum(coordinates, wind=lambda t, a, u: ca.sqrt(ca.fabs(0.505 - t)) * u.velocity[0]), until=2, step=0.01, method=method
    )
    np.testing.assert_array_equal(sol.q[:49], whole.q[:49])


def test_nan_in_a_potential_and_a_constraint_are_told_apart():
    m = kr.Mechanism()
    m.point("p", 1.0, position=(1, 0, 0), velocity=(-1, 0, 0))
    m.force(kr.Potential("wall", "p", lambda p: ca.sqrt(p.x[0] - 0.5) ** 3))
    m.force(kr.Potential("bowl", "p", lambda p: p.x[1] ** 2))
    sol = kr.simulate(m.system(), until=2, step=0.01)
    assert sol.status is kr.Status.NOT_FINITE
    assert "the potential of 'wall'" in sol.message
    assert "bowl" not in sol.message
    m = kr.Mechanism()
    m.point("p", 1.0, position=(0, 0.5, 0), velocity=(1, -1, 0))
    m.joint(kr.Constraint("groove", "p", lambda t, p: p.x[1] - ca.sqrt(0.25 - t)))
    sol = kr.simulate(m.system(), until=1, step=0.01)
    assert 0.2 < sol.t[-1] < 0.25
    assert sol.status is kr.Status.NOT_FINITE
    assert "the constraint of 'groove'" in sol.message


def test_nan_in_the_middle_of_the_start():
    """Before the first step it is an error."""
    with pytest.raises(kr.InconsistentStart, match=r"cannot find accelerations.*the force of 'wind'"):
        kr.simulate(pendulum(wind=lambda t, a, u: ca.log(t - 1) * u.velocity[0]), until=1, step=0.1)


# Newton


def test_a_step_that_is_far_too_long():
    """Fast top, 30 radians in a step: no convergence, the message says what to do, the start is kept."""
    top = kr.models.heavy_top("SO3xR3", "fast")
    sol = kr.simulate(top, until=2, step=0.2)
    assert sol.status is kr.Status.NOT_CONVERGED
    assert "did not converge; try a smaller step, or halvings, in the step from t = 0 with h = 0.2" in sol.message
    assert len(sol.t) >= 1
    np.testing.assert_array_equal(sol.q[0], top.nodes[0].q)


def test_too_few_iterations():
    sol = kr.simulate(kr.models.heavy_top("S3R3", "fast"), until=1, step=2**-8, newton=kr.Newton(max_iterations=2))
    assert sol.status is kr.Status.NOT_CONVERGED
    assert repr(sol).startswith("<Solution: 1 times to t = 0, RATTLie: Newton's method did not converge")


def test_halvings_succeed_where_the_plain_run_fails():
    """A stiff wall that the ball meets in the middle of the run: only those steps are divided."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("top", 15.0, (0.234375, 0.46875, 0.234375), position=(0, 1, 0), omega=(0, 150, -4.61538), velocity=(4.61538, 0, 0))
    m.joint(kr.Spherical("ground", "top", at_b=(0, -1, 0), name="pivot"))
    top = m.system("SO3xR3")
    plain, halved, fine = (
        kr.simulate(top, until=0.5, step=h, newton=kr.Newton(halvings=k, max_iterations=8)) for h, k in ((2**-5, 0), (2**-5, 4), (2**-9, 0))
    )
    assert plain.status is kr.Status.NOT_CONVERGED
    assert halved.success
    assert halved.stats.halvings > 0
    assert len(halved.t) == 17
    np.testing.assert_allclose(halved.t, np.arange(17) / 32, rtol=1e-15)
    # relative 1e-12 of the velocity 150, times the step of 2^-9
    assert halved.constraint_violation.max() < 1e-12
    # 2^-9 and the halved steps have errors of one percent of a turn
    np.testing.assert_allclose(halved.position("top")[-1], fine.position("top")[-1], atol=0.2)


def test_the_last_good_state_can_be_the_next_start():
    system = pendulum(wind=lambda t, a, u: ca.sqrt(0.505 - t) * u.velocity[0])
    sol = kr.simulate(system, until=2, step=0.01)
    again = kr.simulate(pendulum(), until=0.1, step=0.01, initial=sol(sol.t[-1]))
    assert again.success
    np.testing.assert_allclose(again.q[0], sol.q[-1], atol=1e-15)


# Constraints


def test_constraints_that_become_redundant_on_the_way():
    """A point held by a line and a circle that touch only later: at t = 1 the gradients are parallel."""
    m = kr.Mechanism()
    m.point("p", 1.0, position=(0, 0, 0), velocity=(1, 0, 0))
    m.joint(kr.Constraint("table", "p", lambda t, p: p.x[2]))
    m.joint(kr.Constraint("ramp", "p", lambda t, p: p.x[1] * (1 - p.x[0])))
    sol = kr.simulate(m.system(), until=2, step=0.125)
    assert sol.status in (kr.Status.SINGULAR, kr.Status.NOT_CONVERGED)
    assert sol.t[-1] == pytest.approx(0.875, abs=0.13)
    if sol.status is kr.Status.SINGULAR:
        assert "'ramp'" in sol.message


def shifted(position=(1, 0, 0), velocity=(0, 0, 0)):
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bob", 1.0, (0.1, 0.1, 0.1), position=position, velocity=velocity)
    m.joint(kr.Spherical("ground", "bob", at_b=(-1, 0, 0), name="pivot"))
    return m


def test_inconsistent_start_says_by_how_much():
    with pytest.raises(kr.InconsistentStart, match=r"positions by 0.25, velocities by 0; simulate\(..., project=True\)"):
        kr.simulate(shifted(position=(1.25, 0, 0)).system("SO3xR3"), until=1, step=0.01)
    with pytest.raises(kr.InconsistentStart, match=r"positions by 0, velocities by 0\.5"):
        kr.simulate(shifted(velocity=(0.5, 0, 0)).system("SO3xR3"), until=1, step=0.01)


@pytest.mark.parametrize("coordinates", ["SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"])
@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha()], ids=str)
def test_projection_repairs_the_start(method, coordinates):
    system = shifted((1.2, 0.1, 0), (0.5, 1, 0)).system(coordinates)
    sol = kr.simulate(system, until=0.1, step=0.01, method=method, project=True)
    assert sol.success
    assert sol.constraint_violation[0] < 1e-13
    assert sol.velocity_violation[0] < 1e-13
    # as a mass-weighted projection: v = v0 - M^-1 B^T l
    if coordinates == "SO3xR3":
        R, x = sol.rotation("bob")[0], sol.position("bob")[0]
        np.testing.assert_allclose(R @ [1, 0, 0], x, atol=1e-13)
        B = np.hstack([np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0.0]]), R.T])
        M = np.diag([0.1, 0.1, 0.1, 1, 1, 1])
        v0 = np.array([0, 0, 0, 0.5, 1, 0])
        np.testing.assert_allclose(
            sol.v[0], v0 - np.linalg.solve(M, B.T @ np.linalg.solve(B @ np.linalg.solve(M, B.T), B @ v0)), atol=1e-12
        )


def test_projection_of_nonholonomic_constraints():
    system = kr.System(kr.R(2), np.diag([1.0, 2.0]), pfaffian=lambda t, q, v: v[0] - v[1], v=[3.0, 0.0])
    with pytest.raises(kr.InconsistentStart, match="positions by 0, velocities by 3"):
        kr.simulate(system, until=1, step=0.1)
    sol = kr.simulate(system, until=1, step=0.1, project=True)
    np.testing.assert_allclose(sol.v, 1.0, atol=1e-13)  # momentum along (1, 1): 3 = (1 + 2) v


# Before anything runs


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: kr.simulate(s, until=1, step=0), "step must be positive, got 0"),
        (lambda s: kr.simulate(s, until=1, step=-0.1), "step must be positive, got -0.1"),
        (lambda s: kr.simulate(s, until=1, step=np.nan), "step must be positive, got nan"),
        (lambda s: kr.simulate(s, until=1, step=[0.5, -0.1, 0.6]), "step must be positive"),
        (lambda s: kr.simulate(s, until=1, step=[0.5, 0.4]), "the sequence of steps must add up to until = 1, it adds up to 0.9"),
        (lambda s: kr.simulate(s, until=0, step=0.1), "until must be positive, got 0"),
        (lambda s: kr.simulate(s, until=np.inf, step=0.1), "until must be positive, got inf"),
        (lambda s: kr.simulate(s, until=1, step=0.1, every=0), "every must be at least 1, got 0"),
        (lambda s: kr.simulate(s, until=1, step=[0.5, 0.3, 0.2], method=kr.BLieDF(2)), "BLieDF.* needs constant steps"),
        (lambda s: kr.simulate(s, until=1, step=[0.5, 0.3, 0.2], method=kr.SHAKELie()), "SHAKELie.* needs constant steps"),
        (lambda s: kr.simulate(kr.models.rolling_disk(), 1, 0.1, kr.BLieDF(2)), "BLieDF.* does not fit this system: it does not treat"),
        (lambda s: kr.simulate(kr.models.rolling_disk(), 1, 0.1, kr.SHAKELie()), "SHAKELie.* does not fit this system: it does not treat"),
        (lambda s: kr.Composition(kr.GeneralizedAlpha()), "Composition: GeneralizedAlpha.* is not symmetric"),
        (lambda s: kr.Composition(kr.BLieDF(2)), "Composition: BLieDF.* is not symmetric"),
        (lambda s: kr.Composition(kr.SHAKELie()), "Composition: SHAKELie.* is no one-step method"),
        (lambda s: kr.Composition(order=5), "Composition: order must be 4, 6 or 8, got 5"),
        (lambda s: kr.Composition(kind="leap"), "Composition: kind must be 'suzuki' or 'triple jump', got 'leap'"),
        (lambda s: kr.GeneralizedAlpha(rho_inf=1.1), r"GeneralizedAlpha: rho_inf must lie in \[0, 1\], got 1.1"),
        (lambda s: kr.GeneralizedAlpha(index=2), "GeneralizedAlpha: index must be 3 or 'stabilised-2', got 2"),
        (lambda s: kr.BLieDF(3), "BLieDF: k must be 1 or 2, got 3"),
        (lambda s: kr.SHAKELie("warm"), "SHAKELie: start must be 'rattlie' or 'simple', got 'warm'"),
        (lambda s: kr.simulate(s, 1, 0.1, initial={"bob": (np.ones(3), np.zeros(6))}), r"'bob' needs q of shape \(7,\) and v"),
        (lambda s: kr.simulate(s, 1, 0.1, initial={"bob": (np.ones(7), np.zeros(6))}), "is not a unit quaternion"),
        (lambda s: kr.simulate(s, 1, 0.1, initial={"rob": (np.ones(7), np.zeros(6))}), r"there is no body 'rob'; there are \['bob'\]"),
        (lambda s: kr.simulate(s, 1, 0.1, kr.GeneralizedAlpha(), acceleration={"rob": np.zeros(6)}), "there is no body 'rob'"),
        (lambda s: kr.simulate(s, 1, 0.1, kr.GeneralizedAlpha(), acceleration={"bob": np.zeros(3)}), r"'bob' needs shape \(6,\)"),
        (lambda s: kr.simulate(s, 1, 0.1, events=[kr.When("e", "rob", lambda t, b: b.x[0])]), "event 'e' refers to 'rob'"),
        (lambda s: kr.simulate(s, 1, 0.1, newton=kr.Newton(atol=np.ones(4))), "numbers or arrays of the 9 unknowns of a stage, got 4"),
        (lambda s: kr.Newton(matrix="wrong"), "Newton: matrix must be one of 'exact', 'simplified', 'frozen', got 'wrong'"),
        (lambda s: kr.Newton(norm="1"), "Newton: norm must be 'max' or 'rms', got '1'"),
        (lambda s: kr.Newton(start="best"), "Newton: start must be 'extrapolated', 'zero' or a function, got 'best'"),
        (lambda s: kr.Newton(max_iterations=0), "Newton: max_iterations must be at least 1"),
        (lambda s: kr.Newton(atol=-1.0), "Newton: atol and rtol must not be negative, nor both zero"),
        (lambda s: kr.Newton(atol=0.0, rtol=0.0), "Newton: atol and rtol must not be negative, nor both zero"),
    ],
)  # fmt: skip
def test_message(call, words):
    with pytest.raises(ValueError, match=words):
        call(pendulum())


def test_wrong_kinds():
    with pytest.raises(TypeError, match=r"simulate takes a system; a mechanism gives one with .system\(coordinates=...\), got Mechanism"):
        kr.simulate(shifted(), until=1, step=0.1)
    with pytest.raises(TypeError, match=r"method must be a method such as kr.RATTLie\(\), got 'RATTLie'"):
        kr.simulate(pendulum(), until=1, step=0.1, method="RATTLie")
    sol = kr.simulate(pendulum(), until=0.1, step=0.1)
    with pytest.raises(KeyError, match="there is no body 'rob'"):
        sol.position("rob")
    with pytest.raises(ValueError, match="frame must be 'own', 'body' or 'space', got 'moon'"):
        sol.velocity("bob", frame="moon")
    with pytest.raises(ValueError, match=r"t must lie within the run, \[0.0, 0.1\]"):
        sol(0.2)
    with pytest.raises(ValueError, match="multipliers must be 'raw', 'interpolated', 'separate' or 'consistent', got 'best'"):
        sol.multipliers("best")


# Interruption


def test_interruption_keeps_what_was_computed(monkeypatch):
    """Ctrl-C while the third chunk of steps is under way."""
    system, calls, run = pendulum(), [], Program.run

    def interrupted(self, S, hs, *rest, **options):
        if len(hs) > 1:
            calls.append(None)
            if len(calls) == 3:
                raise KeyboardInterrupt
        return run(self, S, hs, *rest, **options)

    monkeypatch.setattr(Program, "run", interrupted)
    sol = kr.simulate(system, until=100, step=0.01)
    monkeypatch.undo()
    assert sol.status is kr.Status.INTERRUPTED
    assert not sol.success
    assert sol.message == f"interrupted from the keyboard at t = {sol.t[-1]:.6g}"
    whole = kr.simulate(system, until=100, step=0.01)
    assert 64 < len(sol.t) < len(whole.t)
    for name in ("t", "q", "v"):
        np.testing.assert_array_equal(getattr(sol, name), getattr(whole, name)[: len(sol.t)])
