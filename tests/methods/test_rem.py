"""The reduced energy-momentum scheme and the midpoint rule in minimal coordinates: REM is the same as BEM, GC differs at second order."""

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kreisel as kr
from kreisel.rotations import EulerAngles, EulerParameters, RotationVector


def relative(x):
    return np.abs(x - x[0]).max() / np.abs(x).max()


def cluster(ball=True):
    """In free space: hinge, slider and ball joint (or not), friction, actuators on two joints, springs of length zero and not."""
    m = kr.Mechanism()
    W = np.array([0.5, -1.0, 2.0])
    m.body("a", 2.0, (0.3, 0.4, 0.5), omega=W)
    for name, mass, J, x in (("b", 1.0, (0.2, 0.25, 0.3), (0.6, 0, 0)), ("c", 0.5, (0.1, 0.1, 0.15), (-0.5, 0.4, 0))):
        m.body(name, mass, J, position=x, omega=W, velocity=np.cross(W, x))
    m.joint(kr.Revolute("b", "a", (0.3, 0.1, -0.2), (1.0, 0.3, 0), friction=0.3, name="hinge"))
    m.joint(kr.Prismatic("a", "c", (-0.5, 0.4, 0), (0, 1, 0.5), friction=0.1, name="slider"))
    m.force(kr.Torque("hinge", control="u"))
    m.force(kr.Thrust("slider", control="w"))
    m.force(kr.Spring("b", "c", 40.0, length=0.8, at_a=(0.1, 0.2, 0.3), name="spring"))
    m.force(kr.Spring("a", "c", 30.0, at_b=(0, 0.2, 0), name="rubber"))
    if ball:
        m.body("d", 0.5, (0.1, 0.12, 0.15), position=(0.9, 0.2, 0), omega=W, velocity=np.cross(W, (0.9, 0.2, 0)))
        m.joint(kr.Spherical("b", "d", (0.8, 0.1, 0), name="ball"))
        m.force(kr.Spring("a", "d", 30.0, at_b=(0, 0.2, 0), name="second rubber"))
    return m


@pytest.mark.parametrize("steps", [10, 100])
def test_the_same_as_bem(steps):
    """Natural coordinates, velocities, multipliers, work and losses; with 11 unknowns instead of 85."""
    system = cluster().system("directors")
    rng = np.random.default_rng(7)
    controls = {"u": rng.uniform(-3, 3, steps), "w": rng.uniform(-3, 3, steps)}
    bem, rem = (kr.simulate(system, until=1, step=1 / steps, method=m, controls=controls) for m in (kr.BEM(), kr.REM()))
    assert rem.success, rem.message
    assert np.ptp(rem.rotation("d"), axis=0).max() > 1
    assert_allclose(rem.q, bem.q, atol=1e-12)
    assert_allclose(rem.v, bem.v, atol=1e-10)
    assert_allclose(rem.lam[1:], bem.lam[1:], atol=1e-8)
    for name in ("energy", "work", "dissipated", "momentum", "angular_momentum"):
        assert_allclose(getattr(rem, name), getattr(bem, name), atol=1e-11)
    assert relative(rem.balance) < 1e-12
    assert np.ptp(rem.angular_momentum, axis=0).max() < 1e-11
    assert rem.constraint_violation.max() < 1e-14
    for joint in ("hinge", "slider"):
        for name, x in bem.joint(joint).coordinates.items():
            assert_allclose(rem.joint(joint).coordinates[name], x, atol=1e-11)
    assert_allclose(rem.joint("ball").reaction_force[1:], bem.joint("ball").reaction_force[1:], atol=1e-8)
    assert {name: list(x) for name, x in rem.controls.items()} == {name: list(x) for name, x in bem.controls.items()}


@pytest.mark.parametrize("plane", [True, False])
def test_without_reparametrisation(plane):
    """Her 2n equations (3.31), with constraints in the place of joint coordinates: the same motion, to rounding."""
    system = kr.models.three_link("directors") if plane else cluster().system("directors")
    controls = {"u1": 3000.0, "u2": 500.0, "u3": -200.0} if plane else {"u": 2.0, "w": -1.0}
    bem, reduced, full = (kr.simulate(system, 1, 0.05, m, controls=controls) for m in (kr.BEM(), kr.REM(), kr.REM(reparametrise=False)))
    for rem in (reduced, full):
        assert_allclose(rem.q, bem.q, atol=1e-12)
        assert_allclose(rem.v, bem.v, atol=1e-11)
        assert relative(rem.balance) < 1e-12
    assert full.constraint_violation.max() < 1e-14
    assert_allclose(full.lam[1:], bem.lam[1:], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("rotation", [RotationVector, EulerAngles("xyz")], ids=str)
def test_absolute_rotations(rotation):
    """Other unknowns, the same motion (Siebert, (4.11), (4.12)): of a ball joint and of a free body."""
    system = cluster().system("directors")
    first, second = (kr.simulate(system, 1, 0.05, m, controls={"u": 2.0, "w": -1.0}) for m in (kr.REM(), kr.REM(rotation=rotation)))
    assert second.message == kr.Status.REACHED_END.value
    assert_allclose(second.q, first.q, atol=1e-12)
    assert_allclose(second.v, first.v, atol=1e-10)


@pytest.mark.parametrize(("step", "through"), [(0.02, True), (0.1, False)])
def test_the_absolute_vector_is_singular_at_a_full_turn(step, through):
    """Beyond half a turn it still leads on; past a full one only if it stays away a little, for small steps. Good states are kept."""
    m = kr.Mechanism()
    m.body("hull", 1.0, (0.1, 0.2, 0.25), omega=(2.0, 0.1, 0.04))
    exact, sol = (kr.simulate(m.system("directors"), 8, step, method) for method in (kr.REM(), kr.REM(rotation=RotationVector)))
    assert exact.message == kr.Status.REACHED_END.value
    assert_allclose(sol.q, exact.q[: len(sol.t)], atol=1e-10)
    assert (sol.success, sol.status is kr.Status.NOT_CONVERGED) == (through, not through)
    assert sol.t[-1] > 0.9 * np.pi  # 2 rad/s
    assert "'hull' was near to a singularity of its coordinates (0.0" in sol.message
    assert "the rate equation of the rotation vector is singular at a full turn" in sol.message


def test_covariant_inputs():
    """For comparison, as with BEM: the same motion, and the same loss of angular momentum."""
    system = cluster(ball=False).system("directors")
    bem, rem = (kr.simulate(system, 1, 0.05, m, controls={"u": 2.0}) for m in (kr.BEM(covariant=True), kr.REM(covariant=True)))
    assert_allclose(rem.q, bem.q, atol=1e-11)
    assert np.ptp(rem.angular_momentum, axis=0).max() > 1e-3


def test_orders():
    """REM and GC converge to the same motion with order 2; GC differs from REM at that order, and does not keep the balance of energy."""
    m = cluster(ball=False)
    controls = {"u": lambda t: ca.cos(2 * t), "w": lambda t: ca.sin(3 * t)}
    fine = kr.simulate(m.system("directors"), 0.5, 2**-11, kr.REM(), controls=controls)

    def seen(sol):
        return np.concatenate([np.r_[sol.position(b)[-1], sol.velocity(b, "space")[-1]] for b in "abc"])

    errors, drift = [], []
    for k in (6, 7):
        rem = kr.simulate(m.system("directors"), 0.5, 2.0**-k, kr.REM(), controls=controls)
        gc = kr.simulate(m.system("minimal"), 0.5, 2.0**-k, kr.GC(), controls=controls)
        errors.append([np.abs(x - y).max() for x, y in ((seen(rem), seen(fine)), (seen(gc), seen(fine)), (seen(gc), seen(rem)))])
        drift.append(relative(gc.balance))
    assert_allclose(np.divide(*errors), 4, rtol=0.2)
    assert errors[1][2] > 1e-5
    assert drift[1] > 1e-7
    gaps = []
    for largest in (1 / 32, 1 / 64):
        steps = kr.random_steps(0.5, largest)
        gaps.append(np.abs(seen(kr.simulate(m.system("minimal"), 0.5, steps, kr.GC(), controls=controls)) - seen(fine)).max())
    assert 2.5 < gaps[0] / gaps[1] < 6.5


def test_manipulator():
    """Three links in the plane, with friction: 3 unknowns instead of 27; BEM = REM, GC at second order, and RATTLie on directors."""
    controls = {"u1": 3000.0, "u2": 500.0, "u3": -200.0}
    directors, minimal = (kr.models.three_link(c, friction=30.0, rates=(0.1, -0.2, 0.3)) for c in ("directors", "minimal"))
    assert (directors.dim, minimal.dim, minimal.degrees_of_freedom) == (18, 3, 3)
    gaps = []
    for n in (20, 80, 160):
        bem, rem, rattle = (kr.simulate(directors, 1, 1 / n, m, controls=controls) for m in (kr.BEM(), kr.REM(), kr.RATTLie()))
        gc = kr.simulate(minimal, 1, 1 / n, kr.GC(), controls=controls)
        assert_allclose(rem.q, bem.q, atol=1e-10)
        assert relative(rem.balance) < 1e-11
        gaps.append([np.abs(x.position("link 3") - rem.position("link 3")).max() for x in (gc, rattle)])
        assert relative(gc.balance) > 1e-9
    assert_allclose(np.divide(gaps[1], gaps[2]), 4, rtol=0.1)
    assert rem.work[-1] > 100
    assert rem.dissipated[-1] > 10
    for k, name in enumerate(("shoulder", "elbow", "wrist")):
        assert_allclose(gc.joint(name).angle, gc.q[:, k], atol=1e-12)


def test_a_positive_torque_drives():
    """From rest, without gravity, straight: the angle of the hinge grows, its neighbours give way."""
    for k, name in enumerate(("shoulder", "elbow", "wrist")):
        system = kr.models.three_link(gravity=0, angles=(0, 0, 0))
        sol = kr.simulate(system, 0.1, 0.02, kr.BEM(), controls={f"u{k + 1}": 10.0})
        assert sol.joint(name).angle[-1] > 1e-5
        assert sol.work[-1] > 0


CRANE = {"controls": {"force": lambda t: 300 * ca.cos(3 * t), "winch": -110.0}}


def test_crane():
    """Under-actuated, in mixed coordinates: s, beta, x, z, or s, l and the angle. BEM = REM at any step size, GC at second order."""
    system, small = (kr.models.overhead_crane(c, angle=0.1, rates=(0.1, 0.2, -0.1)) for c in ("directors", "minimal"))
    assert (system.dim, small.dim, small.degrees_of_freedom) == (4, 3, 3)
    gaps = []
    for n in (10, 80, 160):
        bem, rem, gc = (kr.simulate(s, 2, 2 / n, m, **CRANE) for s, m in ((system, kr.BEM()), (small, kr.REM()), (small, kr.GC())))
        assert_allclose(rem.q, bem.q, atol=1e-10)
        assert_allclose(rem.v, bem.v, atol=1e-9)
        assert_allclose(rem.lam[1:], bem.lam[1:], atol=1e-7)
        assert relative(rem.balance) < 1e-12
        assert relative(gc.balance) > 1e-5
        rattle = kr.simulate(system, 2, 2 / n, kr.RATTLie(), **CRANE)
        gaps.append([np.abs(x.position("load") - rem.position("load")).max() for x in (gc, rattle)])
    assert_allclose(np.divide(gaps[1], gaps[2]), 4, rtol=0.2)
    (_, length, angle), (ds, dl, da) = gc.q.T, gc.v.T
    assert_allclose(gc.velocity("load")[:, 0], ds + dl * np.sin(angle) + length * np.cos(angle) * da, atol=1e-12)
    assert_allclose(bem.q[0], [0, 40, 4 * np.sin(0.1), 4 * np.cos(0.1)], atol=1e-14)
    other = kr.simulate(small, 2, 2 / 160, kr.GeneralizedAlpha(), **CRANE)
    assert_allclose(other.position("load"), gc.position("load"), atol=5e-3)


def test_the_crane_holds_its_load():
    """At rest with the torque of the weight; a larger one lets it down."""
    sol = kr.simulate(kr.models.overhead_crane(), 1, 0.1, kr.BEM(), controls={"winch": -98.1})
    assert_allclose(sol.position("load") - [0, 4, 0], 0, atol=1e-12)
    sol = kr.simulate(kr.models.overhead_crane(), 1, 0.1, kr.BEM(), controls={"winch": -90.0, "force": 10.0})
    assert sol.position("load")[-1, 1] > 4.01
    assert sol.q[-1, 0] > 0.05


def test_points_events_and_plain_functions():
    """Points beside a tree; a control as a function of time; an event that ends the run with a state in natural coordinates."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    m.joint(kr.Revolute("ground", "arm", (0, 0, 0), (0, 1, 0), name="hinge"))
    m.point("bob", 0.5, position=(0.5, 2, 0))
    m.force(kr.Spring("arm", "bob", 20.0, name="spring"))
    m.force(kr.BlackBox("wind", "bob", lambda t, q, v: -0.5 * v))
    m.force(kr.Torque("hinge", control="u"))
    low = kr.When("low", "arm", lambda t, arm: arm.x[2] + 0.2, stop=True)
    system = m.system("directors")
    bem, rem = (kr.simulate(system, 1, 0.02, method, controls={"u": lambda t: ca.sin(t)}, events=[low]) for method in (kr.BEM(), kr.REM()))
    assert rem.status is kr.Status.EVENT
    assert rem.events[0].t == pytest.approx(bem.events[0].t, abs=1e-4)
    assert rem.events[0].state.q.shape == (15,)
    n = len(rem.t) - 1
    assert_allclose(rem.q[:n], bem.q[:n], atol=1e-9)
    full = kr.simulate(system, 0.2, 0.02, kr.REM(reparametrise=False), controls={"u": lambda t: ca.sin(t)})
    assert_allclose(full.q, rem.q[: len(full.t)], atol=1e-9)


def test_a_start_of_ones_own():
    """Given, or moved onto the constraints."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0))
    m.joint(kr.Revolute("ground", "arm", at_a=(0, 0, 0), at_b=(-0.5, 0, 0), axis=(0, 1, 0), name="hinge"))
    system = m.system("directors")
    (node,) = system.nodes
    turn = kr.SO3.exp([0, 0.7, 0]).reshape(3, 3)
    start = {"arm": node.place(turn, turn @ [0.5, 0, 0], np.array([0, 2.0, 0]), np.cross([0, 2.0, 0], turn @ [0.5, 0, 0]))}
    bem, rem = (kr.simulate(system, 0.2, 0.02, method, initial=start) for method in (kr.BEM(), kr.REM()))
    assert_allclose(rem.q, bem.q, atol=1e-11)
    m.bodies["arm"].position[2] = 0.1
    with pytest.raises(kr.InconsistentStart, match=r"the start violates the constraints"):
        kr.simulate(m.system("directors"), 0.2, 0.02, kr.REM())
    bem, rem = (kr.simulate(m.system("directors"), 0.2, 0.02, method, project=True) for method in (kr.BEM(), kr.REM()))
    assert_allclose(rem.q, bem.q, atol=1e-9)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"REM does not fit this system: 'top' has coordinates on S3R3; it needs coordinates='directors'"):
        kr.simulate(kr.models.heavy_top("S3R3"), 1, 0.1, kr.REM())
    with pytest.raises(ValueError, match=r"rotation must be three numbers, such as .*, got EulerParameters"):
        kr.simulate(kr.models.three_link(), 1, 0.1, kr.REM(rotation=EulerParameters))
    with pytest.raises(ValueError, match=r"REM does not fit this system: 'tree of link 1' has coordinates on R\(3\)"):
        kr.simulate(kr.models.three_link("minimal"), 1, 0.1, kr.REM())
    m = cluster()
    m.joint(kr.Spherical("c", "d", at_a=(0, 0, 0), at_b=(0, 0, 0), name="lock"))
    with pytest.raises(
        ValueError, match=r"'lock' closes a loop or is a constraint that no joint coordinate describes; it needs an open tree"
    ):
        kr.simulate(m.system("directors"), 1, 0.1, kr.REM())
    with pytest.raises(ValueError, match=r"REM does not fit this system: 'rope' closes a loop or is a constraint"):
        kr.simulate(kr.models.overhead_crane(), 1, 0.1, kr.REM())
    system = kr.models.overhead_crane()
    with pytest.raises(ValueError, match=r"the formula gives coordinates of 'hook', which does not exist"):
        system.reduced(lambda y: {"hook": y}, q=[0.0])
    with pytest.raises(ValueError, match=r"'load' has 2 coordinates, the formula gives 1"):
        system.reduced(lambda y: {"load": y}, q=[0.0])
    with pytest.raises(ValueError, match=r"'top' has coordinates on S3R3; only those in vector spaces"):
        kr.models.heavy_top("S3R3").reduced(lambda y: {"top": y}, q=[0.0])
    with pytest.raises(ValueError, match=r"'crane' has coordinates that satisfy constraints; without reparametrisation it needs"):
        kr.simulate(kr.models.overhead_crane("minimal"), 1, 0.1, kr.REM(reparametrise=False))
    sol = kr.simulate(kr.models.three_link("directors"), 0.1, 0.05, kr.REM())
    with pytest.raises(ValueError, match="REM steps in other coordinates"):
        sol.step_matrix()
    with pytest.raises(ValueError, match="need every step"):
        kr.simulate(kr.models.three_link("directors"), 0.2, 0.05, kr.REM(), every=2).lam  # noqa: B018


def test_a_formula_that_leaves_a_constraint():
    """A constraint that does not hold by itself stays."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.point("load", 1.0, position=(1, 0, 0), velocity=(0, 0, 0.5))
    m.joint(kr.Constraint("plane", "load", lambda t, load: load.x[1]))
    m.joint(kr.Distance("ground", "load", name="rope"))
    system = m.system().reduced(lambda y: {"load": ca.vertcat(y[0], 0, y[1])}, q=[1, 0], v=[0, 0.5])
    assert (system.dim, system.degrees_of_freedom) == (2, 1)
    with pytest.raises(ValueError, match="GC does not fit this system: 'rope' is a constraint"):
        kr.simulate(system, 1, 0.1, kr.GC())
    sols = [kr.simulate(s, 0.5, 2**-7, kr.GeneralizedAlpha()) for s in (system, m.system())]
    assert_allclose(sols[0].position("load"), sols[1].position("load"), atol=1e-11)
