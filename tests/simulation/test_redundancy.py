"""Redundant constraints are found, named and borne; contradictions and singular positions are not taken for them."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kreisel as kr
from kreisel.simulation.redundancy import ConstraintMatrix, reduce

METHODS = [
    kr.RATTLie(),
    kr.SHAKELie(),
    kr.GeneralizedAlpha(),
    kr.GeneralizedAlpha(index="stabilised-2"),
    kr.BLieDF(2),
    kr.Composition(order=4),
]


def pendulum(joints):
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bob", 1.0, (0.1, 0.1, 0.1), position=(1, 0, 0))
    for k in range(joints):
        m.joint(kr.Spherical("ground", "bob", at_b=(-1, 0, 0), name=f"pivot {k}"))
    return m


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_joints_in_one_place_share_the_load(method):
    """Three identical ball joints move as one, and each bears a third."""
    one, three = (kr.simulate(pendulum(n).system(), until=0.5, step=0.01, method=method) for n in (1, 3))
    assert three.success
    assert three.message.endswith("redundant constraints: 3 of 'pivot 1', 3 of 'pivot 2'")
    assert three.stats.redundant == ("3 of 'pivot 1'", "3 of 'pivot 2'")
    np.testing.assert_allclose(three.q, one.q, atol=1e-13)
    for k in range(3):
        force = three.joint(f"pivot {k}").reaction_force
        np.testing.assert_allclose(force, one.joint("pivot 0").reaction_force / 3, atol=1e-10)
    assert three.constraint_violation.max() < 1e-14


def test_better_multipliers_accelerations_and_the_derivative_of_a_step():
    """As of one joint: each of three bears a third, by every kind of multipliers; steps have the same derivative."""
    one, three = (kr.simulate(pendulum(n).system(), until=0.2, step=0.01) for n in (1, 3))
    np.testing.assert_allclose(three.a, one.a, atol=1e-10)
    for kind in ("interpolated", "separate", "consistent"):
        whole, parts = one.multipliers(kind), three.multipliers(kind).reshape(len(one.t), 3, 3)
        assert np.abs(whole).max() > 1
        np.testing.assert_allclose(parts, np.repeat(whole[:, None] / 3, 3, axis=1), atol=1e-9)
    np.testing.assert_allclose(three.step_matrix(5), one.step_matrix(5), atol=1e-8)


def loop(coordinates="S3R3", lean=0.0):
    """A parallelogram of bars on spatial hinges, of which planar motion needs only a part: 3 redundant rows."""
    m = kr.Mechanism(gravity=(0, -9.81, 0))
    points = np.array([[0, 0, 0], [0.3, 1, 0], [1.3, 1, 0], [1, 0, 0]])
    for k in range(3):
        m.body(f"bar {k}", 1.0, (0.1, 0.1, 0.1), position=(points[k] + points[k + 1]) / 2)
    chain = ["ground", "bar 0", "bar 1", "bar 2", "ground"]
    for k in range(4):
        m.joint(kr.Revolute(chain[k], chain[k + 1], points[k], (lean if k == 2 else 0, 0, 1), name=f"hinge {k}"))
    return m.system(coordinates)


@pytest.mark.parametrize("coordinates", ["SO3xR3", "S3R3", "UDQ"])
def test_planar_loop_of_spatial_hinges(coordinates):
    sol = kr.simulate(loop(coordinates), until=0.4, step=2**-9)
    assert sol.success
    assert sum(int(name.split()[0]) for name in sol.stats.redundant) == 3
    assert sol.constraint_violation.max() < 1e-13  # of all rows, those left out too
    # two bars that turn and one that is carried along: (2 (J + L^2/4) + L^2) phi'' = -2 g L cos phi
    L2 = 1.09
    swing = lambda t, y: [y[1], -2 * 9.81 * np.sqrt(L2) * np.cos(y[0]) / (2 * (0.1 + L2 / 4) + L2)]
    phi = solve_ivp(swing, (0, 0.4), [np.arctan2(1, 0.3), 0], rtol=1e-10, atol=1e-12).y[0]
    assert sol.joint("hinge 0").angle[-1] == pytest.approx(phi[-1] - phi[0], abs=1e-5)
    # nothing pushes out of the plane, so the least multipliers do not either
    for k in range(4):
        reaction = sol.joint(f"hinge {k}")
        assert np.abs(reaction.reaction_force[:, 2]).max() < 1e-9
        assert np.abs(reaction.reaction_moment).max() < 1e-9


def test_the_reactions_are_those_of_the_motion():
    """Sum of the forces on the ground = weight - mass times acceleration of the centre of mass."""
    sol = kr.simulate(loop("SO3xR3"), until=0.4, step=2**-10)
    x = sum(sol.position(f"bar {k}") for k in range(3))
    a = (x[2:] - 2 * x[1:-1] + x[:-2]) / sol.t[1] ** 2
    ground = sol.joint("hinge 0", "interpolated").reaction_force - sol.joint("hinge 3", "interpolated").reaction_force
    np.testing.assert_allclose(ground[1:-1] + np.array([0, -3 * 9.81, 0]), a, atol=2e-3)


def test_a_loop_that_cannot_move_is_no_redundancy_to_be_dropped():
    """With one hinge leaning, the loop is rigid: one row fewer is redundant, and it stays where it is."""
    reduced = reduce(loop(lean=0.4), np.concatenate([n.q for n in loop(lean=0.4).nodes]))
    assert reduced is not None
    assert reduced.system.degrees_of_freedom == 0
    sol = kr.simulate(loop(lean=0.4), until=0.1, step=0.01)
    assert sol.success
    np.testing.assert_allclose(sol.q, sol.q[:1].repeat(len(sol.t), 0), atol=1e-12)


def test_rank_of_nonholonomic_rows():
    system = kr.System(kr.R(2), np.eye(2), pfaffian=lambda t, q, v: ca.vertcat(v[0] - v[1], 2 * v[1] - 2 * v[0]), v=[1.0, 1.0])
    sol = kr.simulate(system, until=1, step=0.1)
    assert sol.success
    assert sol.stats.redundant == ("1 of 'pfaffian'",)
    np.testing.assert_allclose(sol.v, 1.0, atol=1e-13)


def test_controls_of_a_redundant_mechanism():
    """A slider-crank of spatial joints, driven by a function and by numbers: as in the plane, with the work of its torque."""
    u = lambda t: 2 * ca.cos(3 * t)
    middle = 2 * np.cos(3 * (np.arange(100) + 0.5) / 100)
    runs = [
        kr.simulate(kr.models.slider_crank(f), until=1, step=0.01, controls={"u": c})
        for f, c in (("S3R3", u), ("S3R3", middle), ("directors", u))
    ]
    assert runs[0].stats.redundant
    assert not runs[2].stats.redundant
    for sol in runs:
        assert sol.joint("main").angle[-1] == pytest.approx(runs[2].joint("main").angle[-1], abs=5e-3)
        assert sol.work[-1] == pytest.approx(runs[2].work[-1], abs=2e-2)
        assert abs(sol.work[-1]) > 0.1


def test_a_singular_position_is_not_redundancy():
    """Two rods in line: the rank drops there and only there."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.point("p", 1.0, position=(1, 0, 0))
    m.joint(kr.Distance("ground", "p", name="left"))
    m.joint(kr.Constraint("table", "p", lambda t, p: p.x[1]))
    m.joint(kr.Constraint("wall", "p", lambda t, p: (p.x[0] - 1) * (2 + p.x[2]) + p.x[2] ** 2 * (p.x[0] - 1)))
    system = m.system()
    assert reduce(system, system.nodes[0].q) is None
    with pytest.raises(kr.InconsistentStart, match="singular: constraints are redundant or contradict each other"):
        kr.simulate(system, until=1, step=0.1)


def test_constraints_that_contradict_each_other():
    """A point that shall be in two places: the start cannot be on both, and projection says so."""
    m = kr.Mechanism()
    m.point("p", 1.0)
    m.joint(kr.Constraint("here", "p", lambda t, p: p.x))
    m.joint(kr.Constraint("there", "p", lambda t, p: p.x - 1))
    with pytest.raises(kr.InconsistentStart, match="the start violates the constraints: positions by 1"):
        kr.simulate(m.system(), until=1, step=0.1)
    with pytest.raises(kr.InconsistentStart, match=r"cannot all be met near the start: '(here|there)' is left with a gap of 0.5"):
        kr.simulate(m.system(), until=1, step=0.1, project=True)


def test_a_mechanism_that_cannot_be_assembled():
    """Two bars that are too short to reach from one hinge to the other."""
    m = kr.Mechanism(plane=True)
    m.body("left", 1.0, 0.1, position=(0.5, 0.1))
    m.body("right", 1.0, 0.1, position=(2.5, 0))
    m.joint(kr.Spherical("ground", "left", at_a=(0, 0, 0), at_b=(-0.5, 0, 0), name="A"))
    m.joint(kr.Spherical("left", "right", at_a=(0.5, 0, 0), at_b=(-0.5, 0, 0), name="B"))
    m.joint(kr.Spherical("ground", "right", at_a=(3, 0, 0), at_b=(0.5, 0, 0), name="C"))
    for coordinates in ("directors", "SE3"):
        with pytest.raises(kr.InconsistentStart, match=r"the constraints cannot all be met near the start: '.*' is left with a gap of 0\."):
            kr.simulate(m.system(coordinates), until=1, step=0.1, project=True)


def test_a_redundant_loop_is_assembled_from_a_rough_guess():
    """Hinges given on the bodies, which stand a little apart."""
    m = kr.Mechanism(gravity=(0, -9.81, 0))
    rng = np.random.default_rng(3)
    points = np.array([[0, 0, 0], [0.3, 1, 0], [1.3, 1, 0], [1, 0, 0]])
    middle = [np.zeros(3), *((points[k] + points[k + 1]) / 2 for k in range(3)), np.zeros(3)]
    for k in range(3):
        turn = kr.SO3.exp(0.05 * rng.standard_normal(3)).reshape(3, 3)
        m.body(f"bar {k}", 1.0, (0.1, 0.1, 0.1), position=middle[k + 1] + 0.05 * rng.standard_normal(3), rotation=turn)
    chain = ["ground", "bar 0", "bar 1", "bar 2", "ground"]
    for k in range(4):
        places = {"at_a": points[k] - middle[k], "at_b": points[k] - middle[k + 1]}
        m.joint(kr.Revolute(chain[k], chain[k + 1], axis_a=(0, 0, 1), axis_b=(0, 0, 1), name=f"hinge {k}", **places))
    sol = kr.simulate(m.system(), until=0.2, step=0.01, project=True)
    assert sol.success
    assert sol.constraint_violation.max() < 1e-13
    np.testing.assert_allclose([sol.position(f"bar {k}")[0, 2] for k in range(3)], 0, atol=1e-12)


def test_the_matrix_is_the_derivative_of_the_constraints():
    system = loop("SE3")
    G = ConstraintMatrix(system)
    S = G.state(np.concatenate([n.q for n in system.nodes]))
    rng = np.random.default_rng(0)
    S = G.moved(S, 0.1 * rng.standard_normal(system.dim))
    x, e = rng.standard_normal(system.dim), 1e-6
    phi = [G.monitors.rows("constraint", G.moved(S, s * x)[None])[0] for s in (e, -e)]
    np.testing.assert_allclose(G(S) @ x, (phi[0] - phi[1]) / (2 * e), atol=1e-8)
