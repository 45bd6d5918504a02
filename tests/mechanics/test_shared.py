"""Points and vectors that bodies share: the same motion as in directors, to rounding, with a fraction of the coordinates."""

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kreisel as kr
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.parametrised import polynomials

#: Models, and their numbers of coordinates and constraints by directors and by points.
COUNTS = {
    "double_pendulum": ((12, 10), (4, 2)),
    "four_bar": ((18, 17), (4, 3)),
    "slider_crank": ((18, 17), (3, 2)),
    "brick_pendulum": ((12, 11), (4, 3)),
}
AT, AXIS = (0.9, 0.1, -0.1), (0.3, 1.0, 0.2)
#: Joints, what they are, and the coordinates of two bodies with such a joint in space: 24 without it.
JOINTS = {
    "revolute": (lambda a, b: kr.Revolute(a, b, AT, AXIS, friction=0.2, name="joint"), 18),
    "prismatic": (lambda a, b: kr.Prismatic(a, b, AT, AXIS, friction=0.2, name="joint"), 15),
    "cylindrical": (lambda a, b: kr.Cylindrical(a, b, AT, AXIS, name="joint"), 21),
    "universal": (lambda a, b: kr.Universal(a, b, AT, AXIS, (1.0, -0.3, 0), name="joint"), 21),
    "planar": (lambda a, b: kr.Planar(a, b, AT, AXIS, name="joint"), 21),
    "spherical": (lambda a, b: kr.Spherical(a, b, AT, name="joint"), 21),
    "fixed": (lambda a, b: kr.Fixed(a, b, AT, name="joint"), 12),
}


def pair(kind):
    """Two bodies in free space, turning, with a joint and a spring."""
    m = kr.Mechanism()
    R, W = kr.SO3.exp([0.2, -0.4, 0.3]).reshape(3, 3), np.array([0.5, -1.0, 2.0])
    for name, mass, J, x, turn in (("a", 2.0, (0.3, 0.4, 0.5), (0.5, 0, 0), R), ("b", 1.0, (0.2, 0.25, 0.3), (1.2, 0.3, 0.1), R.T)):
        m.body(name, mass, J, position=x, rotation=turn, omega=turn.T @ W, velocity=np.cross(W, x))
    m.joint(JOINTS[kind][0]("a", "b"))
    m.force(kr.Spring("a", "b", 60.0, at_a=(0.3, 0.3, 0), at_b=(0.1, 0.2, -0.2), name="spring"))
    return m


@pytest.mark.parametrize("name", COUNTS)
def test_the_same_motion_with_fewer_coordinates(name):
    """An affine map commutes with these schemes: the steps are the same, not only their limit."""
    make = getattr(kr.models, name)
    systems = make("directors"), make("natural")
    assert tuple((s.dim, sum(s.rows)) for s in systems) == COUNTS[name]
    for method in (kr.BEM(), kr.RATTLie(), kr.GeneralizedAlpha()):
        first, second = (kr.simulate(s, 1, 0.02, method) for s in systems)
        assert second.success, second.message
        for body in (n.name for n in systems[0].nodes):
            assert_allclose(second.position(body), first.position(body), atol=1e-13)
            assert_allclose(second.rotation(body), first.rotation(body), atol=1e-13)
            assert_allclose(second.velocity(body, "space"), first.velocity(body, "space"), atol=1e-11)
        assert_allclose(second.energy, first.energy, atol=1e-11)
        assert second.constraint_violation.max() < 1e-14


@pytest.mark.parametrize("kind", ["prismatic", *(pytest.param(k, marks=pytest.mark.slow) for k in JOINTS if k != "prismatic")])
def test_every_joint(kind):
    """Motion, joint coordinates and reactions as in directors; energy and momenta are balanced by BEM to rounding."""
    systems = [pair(kind).system(c) for c in ("directors", "natural")]
    assert systems[1].dim == JOINTS[kind][1]
    assert systems[1].degrees_of_freedom == systems[0].degrees_of_freedom
    first, second = (kr.simulate(s, 0.5, 0.05, kr.BEM()) for s in systems)
    assert_allclose(second.position("b"), first.position("b"), atol=1e-12)
    assert_allclose(second.rotation("b"), first.rotation("b"), atol=1e-12)
    a, b = (sol.joint("joint", "consistent") for sol in (first, second))
    for name, x in a.coordinates.items():
        assert_allclose(b.coordinates[name], x, atol=1e-12)
        assert_allclose(b.rates[name], a.rates[name], atol=1e-10)
    assert np.abs(a.reaction_force).max() > 0.1
    assert_allclose(b.reaction_force, a.reaction_force, atol=1e-9)
    assert_allclose(b.reaction_moment, a.reaction_moment, atol=1e-9)
    for name in ("balance", "momentum", "angular_momentum"):
        assert np.ptp(getattr(second, name), axis=0).max() < 1e-12


def test_a_bar_is_two_points():
    """The four-bar by its points B and C is the model with the mass matrix m/6 [[2 I, I], [I, 2 I]] of a bar (Müller, digest item 18)."""
    system = kr.models.four_bar("natural")
    (node,) = system.nodes
    assert node.labels == ("point of B [0]", "point of B [1]", "point of C [0]", "point of C [1]")
    first, second = (kr.simulate(s, 1, 0.01, kr.BEM()) for s in (system, kr.models.point_four_bar()))
    assert_allclose(first.q, second.q, atol=1e-13)
    assert_allclose(first.v, second.v, atol=1e-12)
    assert_allclose(first.kinetic_energy, second.kinetic_energy, atol=1e-12)


def test_constant_mass_and_quadratic_constraints():
    """M = sum B^T M B does not depend on q; every row has its H, l, c, of full rank."""
    for system in (kr.models.slider_crank("natural"), pair("universal").system("natural")):
        (node,) = system.nodes
        rows = [row for rows in polynomials(system.elements, node) for row in rows]
        assert len(rows) == sum(system.rows)
        for k, H, l, c in rows:
            assert_allclose(H, H.T, atol=1e-15)
            assert abs(node.q @ H @ node.q / 2 + l @ node.q + c) < 1e-14, k
        G = np.array([H @ node.q + l for _, H, l, _ in rows])
        assert np.linalg.matrix_rank(G) == len(rows)
        assert kr.RATTLie().refuse(system) == ""


def test_points_on_a_line_closed_loops_and_the_ground():
    """Three hinges on one bar need no more than two points; a spatial loop; what stands still or is straight needs no coordinate."""
    m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    m.body("beam", 2.0, 0.5, position=(0, 0))
    m.joint(kr.Revolute("ground", "beam", at=(0, 0, 0), axis=(0, 0, 1), name="middle"))
    for name, x in (("left", -1.0), ("right", 1.0)):
        m.body(name, 1.0 + x / 4, 0.1, position=(x, -0.5))
        m.joint(kr.Revolute("beam", name, at=(x, 0, 0), axis=(0, 0, 1), name=f"{name} pin"))
    systems = [m.system(c) for c in ("directors", "natural")]
    assert [(s.dim, s.degrees_of_freedom) for s in systems] == [(18, 3), (6, 3)]
    first, second = (kr.simulate(s, 1, 0.02, kr.BEM()) for s in systems)
    assert_allclose(second.position("right"), first.position("right"), atol=1e-12)
    loop = kr.models.bricard("natural")
    assert (loop.dim, kr.models.bricard().dim) == (20, 60)
    first, second = (kr.simulate(s, 0.2, 0.02, kr.BEM()) for s in (kr.models.bricard(), loop))
    assert_allclose(second.position("rod 5"), first.position("rod 5"), atol=1e-10)
    forces = [sol.joint("P1", "consistent").reaction_force for sol in (first, second)]
    assert np.abs(forces[0]).max() > 1
    assert_allclose(forces[1], forces[0], atol=1e-6)  # of least norm, both
    assert kr.models.slider_crank("natural").nodes[0].labels[-1] == "point of wrist pin [0]"


def test_actuators_drives_points_and_several_clusters():
    """Inputs and drives act as in directors; bodies that nothing ties together have coordinates of their own, as have point masses."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    for name, y in (("arm", 0.0), ("crank", 2.0)):
        m.body(name, 1.0, (0.1, 0.2, 0.15), position=(0.5, y, 0))
        m.joint(kr.Revolute("ground", name, at=(0, y, 0), axis=(0, 1, 0), name=f"hinge of {name}"))
    m.body("hand", 0.5, (0.05, 0.05, 0.05), position=(1.2, 0, 0.1))
    m.joint(kr.Universal("arm", "hand", at=(1, 0, 0), axis=(0, 1, 0), second=(0, 0, 1), friction=0.1, name="wrist"))
    m.force(kr.Torque("wrist", control="u", coordinate="second"))
    m.joint(kr.PrescribedJoint("hinge of crank", lambda t: t**2, name="drive"))
    m.point("bob", 0.3, position=(0.5, 1, -1))
    m.force(kr.Spring("arm", "bob", 20.0, name="spring"))
    m.joint(kr.Distance("crank", "bob", name="rod"))
    systems = [m.system(c) for c in ("directors", "natural")]
    assert {n.name for n in systems[1].nodes} == {"vectors of arm", "vectors of crank", "bob"}
    first, second = (kr.simulate(s, 0.5, 0.01, kr.BEM(), controls={"u": lambda t: ca.cos(3 * t)}) for s in systems)
    for name in ("hand", "bob", "crank"):
        assert_allclose(second.position(name), first.position(name), atol=1e-11)
    assert_allclose(second.joint("drive").drive[1:], first.joint("drive").drive[1:], atol=1e-8)
    assert_allclose(second.work, first.work, atol=1e-11)
    assert_allclose(*(sol.joint("wrist", "consistent").reaction_force for sol in (second, first)), atol=1e-9)


def test_what_is_refused():
    m = kr.Mechanism()
    m.body("a", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0.1))
    m.joint(kr.Revolute("ground", "a", at_a=(0, 0, 0), at_b=(-0.5, 0, 0), axis=(0, 1, 0), name="hinge"))
    with pytest.raises(
        ValueError, match=r"hinge 'hinge': the place of 'a' at the start does not fit it, by 0.1; bodies that share the point"
    ):
        m.system("natural")
    m.bodies["a"].position[2] = 0
    m.bodies["a"].velocity[2] = 1
    with pytest.raises(ValueError, match=r"hinge 'hinge': the velocity of 'a' at the start does not fit it, by 1;"):
        m.system("natural")
    m.bodies["a"].omega[1] = -2
    system = m.system("natural")
    with pytest.raises(ValueError, match=r"REM does not fit this system: 'a' shares its coordinates with others; it needs"):
        kr.simulate(system, 1, 0.1, kr.REM())
    stiff = kr.Mechanism()
    stiff.body("block", 1.0, (0.1, 0.1, 0.1))
    stiff.joint(kr.Fixed("ground", "block"))
    with pytest.raises(ValueError, match="body 'block' is held fast"):
        stiff.system("natural")
    assert all(not isinstance(n, NaturalNode) for n in system.nodes)
