"""Minimal coordinates: kinematics of every joint, the same motion as in other coordinates, reactions, loops, and what is refused."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import ALL_METHODS

import kreisel as kr
from kreisel.mechanics.node import Ground
from kreisel.mechanics.tree import DirectorTree, Tree, in_trees
from kreisel.view.scene import scene_data

AT, AXIS = (0.9, 0.1, -0.1), (0.3, 1.0, 0.2)
JOINTS = {
    "revolute": lambda a, b: kr.Revolute(a, b, AT, AXIS, name="joint"),
    "prismatic": lambda a, b: kr.Prismatic(a, b, AT, AXIS, name="joint"),
    "cylindrical": lambda a, b: kr.Cylindrical(a, b, AT, AXIS, name="joint"),
    "universal": lambda a, b: kr.Universal(a, b, AT, AXIS, (1.0, -0.3, 0), name="joint"),
    "planar": lambda a, b: kr.Planar(a, b, AT, AXIS, name="joint"),
    "spherical": lambda a, b: kr.Spherical(a, b, AT, name="joint"),
    "fixed": lambda a, b: kr.Fixed(a, b, AT, name="joint"),
}
FREEDOMS = {"revolute": 1, "prismatic": 1, "cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3, "fixed": 0}


def pair(kind, turned=False, held=False):
    """Two bodies and a joint that names the second one first, if ``turned``; free, or the first on a hinge."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    R = kr.SO3.exp([0.2, -0.4, 0.3]).reshape(3, 3)
    m.body("a", 2.0, (0.3, 0.4, 0.5), position=(0.5, 0, 0), rotation=R)
    m.body("b", 1.0, (0.2, 0.25, 0.3), position=(1.2, 0.3, 0.1), rotation=R.T)
    m.joint(JOINTS[kind](*(("b", "a") if turned else ("a", "b"))))
    if held:
        m.joint(kr.Revolute("ground", "a", (0, 0, 0), (0, 1, 0.2), name="hinge"))
    m.force(kr.Spring("a", "b", 60.0, at_a=(0.3, 0.3, 0), at_b=(0.1, 0.2, -0.2), name="spring"))
    return m


def rows(system, element, frames):
    """The rows of a joint, as its class has them, for frames of its bodies."""
    e = next(e for e in system.elements if e.name == element)
    p = SimpleNamespace(**{k: ca.SX(np.ravel(a)) for k, a in e.parameters.items()})
    ground = Ground().frame()
    return type(e).constraint(e, p, ca.SX(0), *(ground if b == "ground" else frames[b] for b in e.bodies))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", JOINTS)
def test_kinematics(kind, turned):
    """Wherever the coordinates are, the joint holds; velocities are the derivatives of places; joint coordinates are the joint's own."""
    system = pair(kind, turned).system("minimal")
    (tree,) = system.nodes
    assert isinstance(tree, Tree)
    assert system.degrees_of_freedom == system.dim == 6 + FREEDOMS[kind]
    rng = np.random.default_rng(3)
    q0, v0 = tree.group.random(rng), rng.standard_normal(tree.group.dim)
    q, v = tree.group.symbol("q"), ca.SX.sym("v", tree.group.dim)
    frames = tree.frames(q, v)
    joint = next(e for e in system.elements if e.name == "joint")
    p = SimpleNamespace(**{k: ca.SX(np.ravel(a)) for k, a in joint.parameters.items()})
    A, B = joint.frames(p, *(frames[b] for b in joint.bodies))
    own = list(joint.freedoms.values())
    outputs = [rows(system, "joint", frames), *(ca.vertcat(f.x, ca.vec(f.R)) for f in frames.values())]
    outputs += [ca.vertcat(*(f.value(A, B) for f in own)), ca.vertcat(*(f.rate(A, B) for f in own))]
    velocities = [ca.vertcat(f.velocity, ca.vec(f.R @ ca.skew(f.omega))) for f in frames.values()]
    f = ca.Function("f", [q, v], [ca.densify(ca.SX(y)) for y in (*outputs, *velocities)])
    gap, _, _, values, rates, a_rate, b_rate = (np.array(y).ravel() for y in f(q0, v0))
    assert np.abs(gap).max() < 1e-14
    e = 1e-6
    ends = [f(tree.group.retract(q0, s * e * v0), v0) for s in (1, -1)]
    for k, rate in ((1, a_rate), (2, b_rate)):
        assert_allclose((np.array(ends[0][k]) - np.array(ends[1][k])).ravel() / (2 * e), rate, atol=1e-8)
    if own:
        assert_allclose(rates, v0[6:], atol=1e-13)
        assert_allclose(np.cos(values - q0[7:]), 1, atol=1e-14)  # angles up to full turns
    assert_allclose(f(tree.q, tree.v)[1].full().ravel()[:3], (0.5, 0, 0), atol=1e-15)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", JOINTS)
def test_discrete_null_space(kind, turned):
    """G P = 0 in the middle of a step, for joints and directors (digest 3.3, corrected), and B P = I but for the universal joint."""
    system = pair(kind, turned).system("directors")
    (tree,), _ = in_trees(system.nodes, system.elements, False)
    assert isinstance(tree, DirectorTree)
    rng = np.random.default_rng(4)
    theta = ca.SX.sym("theta", tree.group.n_params)
    natural = ca.Function("q", [theta], [tree.coordinates(theta)])
    q0 = tree.group.random(rng)
    q1 = tree.group.retract(q0, 0.8 * rng.standard_normal(tree.group.dim))
    middle = (natural(q0).full() + natural(q1).full()).ravel() / 2
    assert np.abs(middle[3:6] @ middle[3:6] - 1) > 1e-2
    q, u, v = ca.SX.sym("q", 24), ca.SX.sym("u", tree.group.dim), ca.SX.sym("v", 24)
    columns = dict(zip(tree.carried, ca.vertsplit(q, [0, 12, 24]), strict=True))
    P = ca.jacobian(ca.vertcat(*tree.null_space(theta, columns, u).values()), u)
    frames = {b: tree.carried[b].frame(q[i : i + 12], v[i : i + 12]) for b, i in (("a", 0), ("b", 12))}
    phi = [rows(system, name, frames) for name in ("joint", "directors of a", "directors of b")]
    G = ca.jacobian(ca.vertcat(*phi), q)
    A, B = tree.links[1].frames(frames)
    rates = [frames["a"].velocity, frames["a"].space_omega] + [f.rate(A, B) for f in tree.links[1].freedoms if f.group == kr.R(1)]
    f = ca.Function("f", [q], [ca.densify(y) for y in (P, G, ca.jacobian(ca.vertcat(*rates), v))])
    P, G, B = (np.array(y) for y in f(middle))
    assert np.linalg.matrix_rank(P) == tree.group.dim
    assert np.abs(G @ P).max() < 1e-14
    assert np.linalg.matrix_rank(np.concatenate([G, P.T])) == 24
    if kind != "universal":
        assert np.abs(B @ P - np.eye(len(B), P.shape[1])).max() < 1e-14


@pytest.mark.parametrize(
    "kind", ["cylindrical", *(pytest.param(k, marks=pytest.mark.slow) for k in JOINTS if k not in ("cylindrical", "fixed"))]
)
def test_same_motion_in_other_coordinates(kind):
    """Places and joint coordinates agree with S3R3 to the order of generalized-alpha, and so do reactions."""
    gaps = []
    for h in (2**-8, 2**-9):
        seen = []
        for coordinates in ("minimal", "S3R3"):
            system = pair(kind, kind in ("revolute", "planar"), held=True).system(coordinates)
            sol = kr.simulate(system, until=0.25, step=h, method=kr.GeneralizedAlpha())
            assert sol.success, sol.message
            joint = sol.joint("joint")
            coordinate = np.array([x[-1] for x in joint.coordinates.values()])
            places = np.r_[sol.position("b")[-1], sol.rotation("b")[-1].ravel(), coordinate]
            seen.append((places, sol.velocity("b", "space")[-1], joint.reaction_force[-1], joint.reaction_moment[-1]))
        gaps.append([np.abs(x - y).max() for x, y in zip(*seen, strict=True)])
    assert gaps[1][0] < 2e-4
    assert gaps[1][2] < 0.02
    for coarse, fine in zip(*gaps, strict=True):
        assert fine < 1e-12 or coarse / fine == pytest.approx(4, rel=0.25)


def test_momenta_energies_and_measurements():
    """Of a free pair on which nothing acts but its own spring: momenta as in SO3xR3 at the start, conserved to the order of the method."""
    m = kr.Mechanism()
    W, U = np.array([0.5, -1.0, 2.0]), np.array([0.3, 0.2, -0.1])
    m.body("a", 2.0, (0.3, 0.4, 0.5), omega=W, velocity=U)
    at, axis = np.array([0.6, 0.1, 0]), np.array([0, 0.6, 0.8])
    m.body("b", 1.0, (0.2, 0.25, 0.3), position=at, omega=W + 1.5 * axis, velocity=U + np.cross(W, at))
    m.joint(kr.Revolute("a", "b", at, axis, friction=0.2, name="hinge"))
    m.force(kr.Torque("hinge", control="u"))
    other = kr.simulate(m.system("SO3xR3"), until=0.1, step=0.01, method=kr.GeneralizedAlpha())
    drift = []
    for h in (0.02, 0.01):
        sol = kr.simulate(m.system("minimal"), until=1, step=h, method=kr.GC(), controls={"u": 0.5})
        for name in ("kinetic_energy", "momentum", "angular_momentum"):
            assert_allclose(getattr(sol, name)[0], getattr(other, name)[0], atol=1e-13)
        assert_allclose(sol.momentum, np.tile(sol.momentum[0], (len(sol.t), 1)), atol=2e-3)
        drift.append([np.ptp(sol.angular_momentum, axis=0).max(), np.ptp(sol.balance)])
        assert np.abs(sol.joint("hinge").angle[-1] - sol.q[-1, 7]) < 1e-13
        assert np.abs(sol.joint("hinge").rate - sol.v[:, 6]).max() < 1e-13
    for coarse, fine in zip(*drift, strict=True):
        assert coarse / fine == pytest.approx(4, rel=0.25)
    assert sol.work[-1] > 0.1
    # What a body feels is also what its velocities do.
    rate = (sol.velocity("b")[2:] - sol.velocity("b")[:-2]) / 0.02
    assert_allclose(sol.acceleration("b")[1:-1], rate, atol=5e-3)
    data = sol.to_xarray()
    assert data["position_b"].shape == (101, 3)


def test_angles_are_followed_and_start_anywhere():
    m = kr.Mechanism(plane=True)
    m.body("wheel", 1.0, 0.5, omega=20.0, rotation=0.4)
    m.joint(kr.Revolute("ground", "wheel", (0, 0, 0), (0, 0, 1), name="axle"))
    sol = kr.simulate(m.system("minimal"), until=1, step=0.05, method=kr.GC())
    assert sol.joint("axle").angle[-1] == pytest.approx(20, abs=1e-12)
    assert sol.q[-1, 0] == pytest.approx(20, abs=1e-12)
    assert_allclose(sol.rotation("wheel")[-1][:2, 0], (np.cos(20.4), np.sin(20.4)), atol=1e-12)


def distances(make, names, coordinates, until=0.5, method=None):
    """How far bodies are apart at the end in two sets of coordinates, for a step and half of it: of second order."""
    gaps = []
    for h in (2**-7, 2**-8):
        first, second = (kr.simulate(make(c), until, h, method or kr.GeneralizedAlpha()) for c in coordinates)
        assert first.success
        assert second.success
        gaps.append(max(np.abs(first.position(name)[-1] - second.position(name)[-1]).max() for name in names))
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.25)
    return gaps[1]


def planar_chain(loop=False):
    """In the plane: a free body with a pin, a slider and a rigid part."""
    m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    m.body("a", 1.0, 0.1, position=(0.5, 0))
    m.body("b", 1.0, 0.1, position=(1.5, 0))
    m.body("c", 0.5, 0.1, position=(2.0, 0.5))
    m.joint(kr.Spherical("ground", "a", (0, 0, 0), name="pivot"))
    m.joint(kr.Revolute("b", "a", (1, 0, 0), (0, 0, 1), name="pin"))
    m.joint(kr.Prismatic("b", "c", (2, 0, 0), (0, 1, 0), name="slider"))
    if loop:
        m.joint(kr.Distance("ground", "c", (2, 1, 0), name="rod"))
    return m


def test_plane():
    assert planar_chain().system("minimal").dim == 3
    m = kr.Mechanism(plane=True)
    m.body("plate", 1.0, 0.1, velocity=(1, 2), omega=0.5)
    sol = kr.simulate(m.system("minimal"), until=1, step=0.25, method=kr.GC())
    assert_allclose(sol.q[-1], (1, 2, 0.5), atol=1e-14)
    assert distances(planar_chain().system, "abc", ("minimal", "directors")) < 1e-3


def test_a_joint_that_closes_a_loop_stays_a_constraint():
    """DAE methods run on it; GC refuses it by its name."""
    system = planar_chain(loop=True).system("minimal")
    assert (system.dim, system.degrees_of_freedom) == (3, 2)
    assert distances(planar_chain(True).system, "abc", ("minimal", "directors")) < 1e-3
    sols = [kr.simulate(planar_chain(True).system(c), 0.5, 2**-8, kr.GeneralizedAlpha()) for c in ("minimal", "directors")]
    assert sols[0].constraint_violation.max() < 1e-14
    assert_allclose(sols[0].joint("rod").reaction_force[-1], sols[1].joint("rod").reaction_force[-1], rtol=1e-3)
    with pytest.raises(ValueError, match=r"GC does not fit this system: 'rod' is a constraint; it needs the minimal coordinates"):
        kr.simulate(system, 0.5, 0.01, kr.GC())


def test_several_trees_points_and_black_boxes():
    """Each tree is a node of its own; points stay as they are; a plain function sees a body in SO3 * R(3)."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    for name, y in (("left", 0.0), ("right", 1.0)):
        m.body(name, 1.0, (0.1, 0.1, 0.1), position=(0.5, y, 0))
        m.joint(kr.Revolute("ground", name, (0, y, 0), (0, 1, 0), name=f"hinge of {name}"))
    m.point("bob", 0.5, position=(0.5, 2, 0))
    m.force(kr.Spring("right", "bob", 20.0, name="spring"))
    m.force(kr.BlackBox("wind", "left", lambda t, q, v: np.r_[0, 0.3 * v[1], 0, 0, 0, 2.0]))
    system = m.system("minimal")
    assert [n.name for n in system.nodes] == ["tree of left", "tree of right", "bob"]
    assert distances(m.system, ("left", "right", "bob"), ("minimal", "SO3xR3")) < 1e-3


def test_gears_drives_and_wheels():
    """Constraints besides those of the tree: a gear, a prescribed motion with its torque, a wheel that rolls."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    for name, x in (("a", (0.5, 0, 0)), ("b", (1.2, 0, 0.1)), ("c", (0, 1.0, 0))):
        m.body(name, 1.0, (0.1, 0.2, 0.15), position=x)
    m.joint(kr.Revolute("ground", "a", (0, 0, 0), (0, 1, 0), name="first"))
    m.joint(kr.Revolute("a", "b", (1, 0, 0), (0, 1, 0), name="second"))
    m.joint(kr.Revolute("ground", "c", (0, 1, 0), (1, 0, 0), name="axle"))
    m.joint(kr.Gear("first", "second", ratio=-2.0, name="gear"))
    m.joint(kr.PrescribedJoint("axle", lambda t: t**2, name="drive"))
    assert distances(m.system, "ab", ("minimal", "SO3xR3")) < 1e-3
    sol = kr.simulate(m.system("minimal"), 0.5, 2**-8, kr.GeneralizedAlpha())
    assert_allclose(sol.joint("second").angle, -2 * sol.joint("first").angle, atol=1e-13)
    assert_allclose(sol.joint("drive").reaction_moment[-1], (0.2, 0, 0), atol=1e-12)
    assert_allclose(sol.joint("drive").angle, sol.t**2, atol=1e-13)
    lean = kr.SO3.exp([0.2, 0, 0]).reshape(3, 3)
    spin, low = lean @ [0, 12.0, 0], -0.3 * lean[:, 2]
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("w", 1.0, (0.01, 0.02, 0.01), (0, 0, -low[2]), lean, omega=lean.T @ spin, velocity=-np.cross(spin, low))
    m.joint(kr.Rolling("w", radius=0.3, axis=lean[:, 1]))
    sols = [kr.simulate(m.system(c), 0.5, 2**-7, kr.GeneralizedAlpha()) for c in ("minimal", "S3xR3")]
    assert_allclose(sols[0].position("w"), sols[1].position("w"), atol=1e-11)


def test_equilibrium_modes_and_scenes():
    """A lever on a ball joint, held by springs: the same place and frequencies as in S3R3; every body is drawn."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("a", 2.0, (0.3, 0.4, 0.5), position=(0.5, 0, 0))
    m.body("b", 1.0, (0.2, 0.25, 0.3), position=(1.5, 0, 0))
    m.joint(kr.Revolute("a", "b", (1, 0, 0), (0, 1, 0), name="hinge"))
    m.joint(kr.Spherical("ground", "a", (0, 0, 0), name="ball"))
    for name, body, x, at in (("s1", "a", 0.5, (0.5, 1, 0.2)), ("s2", "a", 0.5, (0.8, -1, 0.6)), ("s3", "b", 1.5, (1.7, 0.3, 0.9))):
        point = np.array([0.2, 0.1, 0.1])
        length = np.linalg.norm(np.array(at) - point - [x, 0, 0])  # without stress at the start
        m.force(kr.Spring("ground", body, 2000.0, length=length, at_a=at, at_b=point, name=name))
    m.force(kr.TorsionSpring("ground", "a", (1, 0, 0), 500.0, name="twist"))
    found = [kr.equilibrium(m.system(c)) for c in ("minimal", "S3R3")]
    assert found[0].success
    assert_allclose(found[0].position("b")[-1], found[1].position("b")[-1], atol=1e-10)
    first, second = (kr.modes(sol).frequencies for sol in found)
    assert_allclose(first, second, rtol=1e-8)
    sol = kr.simulate(m.system("minimal"), 0.1, 0.01, kr.GC())
    data = scene_data(sol)
    assert {body["name"]: body["shape"]["kind"] for body in data["bodies"]} == {"a": "box", "b": "box"}
    assert sum(link["kind"] == "joint" for link in data["links"]) == 2


def test_every_method_fits_or_refuses():
    """On a double pendulum in minimal coordinates, whose mass depends on them: converges with its order, or says that it cannot."""
    m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    for name, before, x in (("a", "ground", 0.0), ("b", "a", 1.0)):
        m.body(name, 1.0, 0.1, position=(x + 0.5, 0))
        m.joint(kr.Revolute(before, name, (x, 0, 0), (0, 0, 1), name=f"pin of {name}"))
    system = m.system("minimal")
    exact = kr.simulate(system, 0.5, 0.5, kr.SolveIvp(rtol=1e-13, atol=1e-14)).q[-1]
    fitting = [method for method in ALL_METHODS if "mass matrix must be constant" not in method.refuse(system)]
    assert {type(method).__name__ for method in fitting} == {"GeneralizedAlpha", "BLieDF", "Newmark", "GC", "Baumgarte", "Projection"}
    for method in fitting:
        first = 2**-4 if method.order > 2 else 2**-7
        errors = [np.abs(kr.simulate(system, 0.5, h, method).q[-1] - exact).max() for h in (first, first / 2)]
        assert np.log2(errors[0] / errors[1]) > method.order - 0.25, method


def test_what_is_refused():
    m = kr.Mechanism()
    m.body("a", 1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0.1))
    m.joint(kr.Revolute("ground", "a", at_a=(0, 0, 0), at_b=(-0.5, 0, 0), axis=(0, 1, 0), name="hinge"))
    with pytest.raises(ValueError, match=r"hinge 'hinge': the place of 'a' at the start does not fit it, by 0.1"):
        m.system("minimal")
    m.bodies["a"].position[2] = 0
    m.bodies["a"].velocity[2] = 1
    with pytest.raises(ValueError, match=r"hinge 'hinge': the velocity of 'a' at the start does not fit it"):
        m.system("minimal")
    m.bodies["a"].omega[1] = -2
    system = m.system("minimal")
    with pytest.raises(ValueError, match="RATTLie does not fit this system: the mass matrix must be constant, that of 'inertia of b'"):
        kr.simulate(pair("revolute").system("minimal"), 1, 0.1)
    with pytest.raises(ValueError, match=r"initial: 'a' is carried by 'tree of a'"):
        kr.simulate(system, 1, 0.1, kr.GC(), initial={"a": ([0.0], [0.0])})
    assert kr.simulate(system, 1, 0.1, kr.GC(), initial={"tree of a": ([0.0], [1.0])}).q[-1, 0] == pytest.approx(1)
    stiff = kr.Mechanism()
    stiff.body("block", 1.0, (0.1, 0.1, 0.1))
    stiff.joint(kr.Fixed("ground", "block"))
    with pytest.raises(ValueError, match="body 'block' is held fast"):
        stiff.system("minimal")
    beam = kr.Mechanism()
    beam.body("hub", 1.0, (0.1, 0.1, 0.1))
    beam.beam("rod", 1.0, 2, kr.Section.circle(0.01, E=70e9, nu=0.3, rho=2700), start="hub")
    with pytest.raises(ValueError, match="beam 'rod' is part of 'hub', which then needs the same coordinates"):
        beam.system("minimal")
    tilted = kr.Mechanism(plane=True)
    tilted.body("p", 1.0, 0.1)
    tilted.joint(kr.Prismatic("ground", "p", (0, 0, 0), (1, 0, 1), name="ramp"))
    with pytest.raises(ValueError, match="slider 'ramp' cannot hold in the plane"):
        tilted.system("minimal")


def every_joint(coordinates):
    """Seven bodies and every kind of joint, some named from the far end, with friction, actuators and springs."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    places = {
        "a": (0.5, 0, 0),
        "b": (1.2, 0.1, 0),
        "c": (1.5, 0.5, 0),
        "d": (1.5, 0.9, 0),
        "e": (0, 0, 1),
        "f": (0.7, 0, 1),
        "g": (1.2, 0.1, 0.3),
    }
    for k, (name, x) in enumerate(places.items()):
        m.body(name, 2 / (1 + k), (0.1, 0.12 + 0.02 * k, 0.15), position=x)
    m.joint(kr.Revolute("ground", "a", (0, 0, 0), (0, 1, 0.2), friction=0.1, name="hinge"))
    m.joint(kr.Spherical("b", "a", (1, 0, 0), name="ball"))
    m.joint(kr.Universal("b", "c", (1.4, 0.2, 0), (0, 0, 1), (1, 0, 0), name="cross"))
    m.joint(kr.Cylindrical("c", "d", (1.5, 0.5, 0), (0, 1, 0), friction=(0.3, 0.2), name="sleeve"))
    m.joint(kr.Prismatic("e", "a", (0, 0, 1), (1, 0, 1), name="slider"))
    m.joint(kr.Planar("a", "f", (0.7, 0, 1), (1, 0, 1), name="table"))
    m.joint(kr.Fixed("g", "b", name="weld"))
    m.force(kr.Spring("e", "a", 100.0, at_b=(-0.5, 0, 1), name="first spring"))
    m.force(kr.Spring("f", "a", 100.0, at_b=(0.2, 0, 1), name="second spring"))
    m.force(kr.Torque("hinge", history=lambda t: 5 * ca.cos(t)))
    m.force(kr.Thrust("sleeve", coordinate="stroke", history=lambda t: 2.0))
    return m.system(coordinates)


@pytest.mark.slow
def test_a_tree_of_every_joint():
    """Minimal, S3R3 and directors: the same motion to the order of each method; and REM as BEM."""
    assert every_joint("minimal").dim == 12
    for coordinates in (("minimal", "S3R3"), ("minimal", "directors")):
        assert distances(every_joint, "abcdefg", coordinates) < 1e-3
    bem, rem = (kr.simulate(every_joint("directors"), 0.5, 2**-5, method) for method in (kr.BEM(), kr.REM()))
    assert_allclose(rem.q, bem.q, atol=1e-10)
    fine = kr.simulate(every_joint("minimal"), 0.5, 2**-9, kr.GC())
    gaps = []
    for h in (2**-6, 2**-7):
        rem = kr.simulate(every_joint("directors"), 0.5, h, kr.REM())
        gaps.append(max(np.abs(rem.position(b)[-1] - fine.position(b)[-1]).max() for b in "abcdefg"))
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.25)
