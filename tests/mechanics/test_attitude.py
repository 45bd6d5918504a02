"""Rotations of free bodies and ball joints by three numbers: the same motion as with quaternions, and their limits."""

from itertools import product

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kreisel as kr
from kreisel.rotations import Cayley, EulerAngles, EulerParameters, RotationVector

SEQUENCES = ["".join(s) for s in product("xyz", repeat=3) if s[0] != s[1] != s[2]]
THREE = [RotationVector, Cayley, *map(EulerAngles, SEQUENCES)]
EULER = EulerAngles("zxz")


def flail(turned=False):
    """A free body, and on it another one with a ball joint, which names that one first if ``turned``."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    R, W = kr.SO3.exp([0.9, -0.7, 0.5]).reshape(3, 3), np.array([1.0, -0.5, 2.0])
    at = np.array([0.6, 0.1, 0.2])
    m.body("a", 2.0, (0.3, 0.4, 0.5), rotation=R, omega=W, velocity=(0.1, 0.2, 0.3))
    velocity = np.array([0.1, 0.2, 0.3]) + np.cross(R @ W, at)
    m.body("b", 1.0, (0.2, 0.25, 0.3), position=at, rotation=R @ R, omega=(0.3, 0.2, -1.0), velocity=velocity)
    m.joint(kr.Spherical(*(("b", "a") if turned else ("a", "b")), at=at, name="ball"))
    return m


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rotation", THREE, ids=str)
def test_kinematics(rotation, turned):
    """Frames at the start are those that were given; velocities are the derivatives of places; so are they with quaternions."""
    tree, other = (flail(turned).system("minimal", rotation=r).nodes[0] for r in (rotation, None))
    assert (tree.group, tree.group.dim) == (kr.R(9), 9)
    q, v = tree.group.symbol("q"), ca.SX.sym("v", 9)
    seen = [ca.vertcat(f.x, ca.vec(f.R)) for f in tree.frames(q, v).values()]
    moving = [ca.vertcat(f.velocity, ca.vec(f.R @ ca.skew(f.omega))) for f in tree.frames(q, v).values()]
    f = ca.Function("f", [q, v], [ca.vertcat(*seen), ca.vertcat(*moving)])
    places, rates = (np.array(y).ravel() for y in f(tree.q, tree.v))
    e = 1e-6
    difference = (np.array(f(tree.q + e * tree.v, tree.v)[0]) - np.array(f(tree.q - e * tree.v, tree.v)[0])).ravel() / (2 * e)
    assert_allclose(rates, difference, atol=1e-8)
    for k, body in enumerate("ab"):
        given = [x[0] for x in other.evaluate(body, other.q[None], other.v[None])]
        assert_allclose(places[12 * k : 12 * k + 3], given[0][9:], atol=1e-14)
        assert_allclose(places[12 * k + 3 : 12 * k + 12].reshape(3, 3).T.ravel(), given[0][:9], atol=1e-14)
        assert_allclose(tree.evaluate(body, tree.q[None], tree.v[None])[1][0], given[1], atol=1e-14)


@pytest.mark.parametrize("rotation", [EulerAngles("yzx"), RotationVector], ids=str)
def test_the_same_motion(rotation):
    """As with quaternions, to the order of the midpoint rule; angular momentum as well; reactions of the ball joint by both."""
    m, gaps = flail(), []
    exact = kr.simulate(m.system("minimal"), 0.5, 2**-11, kr.GC())
    for n in (2**-6, 2**-7):
        sol = kr.simulate(m.system("minimal", rotation=rotation), 0.5, n, kr.GC())
        assert sol.message == kr.Status.REACHED_END.value
        places = [np.abs(sol.rotation(b)[-1] - exact.rotation(b)[-1]).max() for b in "ab"]
        force = np.abs(sol.joint("ball").reaction_force[-1] - exact.joint("ball").reaction_force[-1]).max()
        gaps.append([*places, force])
    assert_allclose(np.divide(*gaps), 4, rtol=0.1)
    assert gaps[1][0] < 1e-3


@pytest.mark.parametrize("rotation", [EULER, Cayley], ids=str)
def test_singularities_are_told_of(rotation):
    """A body that turns past gimbal lock (half a turn): the step that fails, or the loss of accuracy, is explained."""
    m = kr.Mechanism()
    m.body("hull", 1.0, (0.1, 0.2, 0.25), rotation=kr.SO3.exp([1.0, 0, 0]).reshape(3, 3), omega=(2.0, 0.05, 0.02))
    sol = kr.simulate(m.system("minimal", rotation=rotation), 4, 0.02, kr.GC())
    assert sol.success == (rotation is EULER)
    assert "'hull' was near to a singularity of its coordinates" in sol.message
    assert rotation.singular in sol.message


def test_what_is_refused():
    m = kr.Mechanism()
    m.body("hull", 1.0, (0.1, 0.2, 0.25))
    with pytest.raises(
        ValueError, match=r"the rotation of 'hull' at the start is a singularity of EulerAngles\('zxz'\): gimbal lock: sin b = 0"
    ):
        m.system("minimal", rotation=EULER)
    with pytest.raises(ValueError, match=r"rotation=RotationVector belongs to coordinates='minimal'; 'S3R3' has its own way"):
        m.system("S3R3", rotation=RotationVector)
    for wrong in (EulerParameters, "zxz"):
        with pytest.raises(ValueError, match=r"rotation must be three numbers, such as EulerAngles\('zxz'\) or RotationVector, got"):
            m.system("minimal", rotation=wrong)
    with pytest.raises(ValueError, match=r"the mechanism is planar, its rotations are angles"):
        kr.Mechanism(plane=True).system("minimal", rotation=RotationVector)
    m = kr.Mechanism()
    m.body("hull", 1.0, (0.1, 0.2, 0.25), rotation=np.diag([1.0, -1, -1]))
    with pytest.raises(ValueError, match="is a singularity of Cayley: so near to half a turn"):
        m.system("minimal", rotation=Cayley)
